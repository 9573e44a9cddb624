/*
 * The JSON reader against simdjson: both accept the same objects with the same
 * names, kinds and values in the same order, and both refuse the rest.
 *
 * Known differences, and how they are handled:
 *  - Numbers beyond 64 bits or beyond a finite double: simdjson refuses them,
 *    we keep their text.  The oracle replaces them; then values of numbers and
 *    of nested texts are not compared, all else is.
 *  - Depth: simdjson stops at 1024 levels, we at TV_JSON_DEPTH_MAX below the
 *    object.  What it accepts and finds deeper we must refuse.
 *  - Duplicate names: both hand out every one of them.
 *  - A byte order mark: both refuse it.
 *
 * Strings that were read are also written and read again.
 */
#include "fuzz.h"
#include "json_oracle.h"

#include "base/json.h"
#include "base/number.h"

static tv_slice slice_of(oracle_text text)
{
    return (tv_slice){text.data, text.len};
}

static tv_json_kind kind_of(oracle_kind kind)
{
    static const tv_json_kind kinds[] = {
        [ORACLE_NULL] = TV_JSON_NULL,     [ORACLE_TRUE] = TV_JSON_TRUE,
        [ORACLE_FALSE] = TV_JSON_FALSE,   [ORACLE_INT64] = TV_JSON_NUMBER,
        [ORACLE_UINT64] = TV_JSON_NUMBER, [ORACLE_DOUBLE] = TV_JSON_NUMBER,
        [ORACLE_STRING] = TV_JSON_STRING, [ORACLE_NESTED] = TV_JSON_NESTED,
    };

    return kinds[kind];
}

static void check_number(tv_slice text, const oracle_member *want)
{
    int64_t int64_value;
    uint64_t uint64_value;
    double double_value;

    tv_assert(tv_parse_double(text, &double_value));
    if (want->kind == ORACLE_INT64) {
        tv_assert(tv_parse_int64(text, &int64_value));
        tv_assert(int64_value == want->int64_value);
        tv_assert(double_value == (double)want->int64_value);
    } else if (want->kind == ORACLE_UINT64) {
        tv_assert(tv_parse_uint64(text, &uint64_value));
        tv_assert(uint64_value == want->uint64_value);
        tv_assert(double_value == (double)want->uint64_value);
    } else {
        tv_assert(!tv_parse_int64(text, &int64_value));
        tv_assert(double_value == want->double_value);
    }
}

/* Write a string as the value of a member and read it again. */
static void check_writer(tv_arena *arena, tv_slice text)
{
    tv_buf buf = TV_BUF_EMPTY;
    tv_json_reader reader;
    tv_json_member member;

    tv_buf_add_lit(&buf, "{\"s\":");
    tv_json_add_string(&buf, text);
    tv_buf_add_char(&buf, '}');
    for (size_t i = 0; i < buf.len; i++)
        tv_assert((unsigned char)buf.data[i] >= 0x20 && (unsigned char)buf.data[i] < 0x80);

    tv_json_reader_init(&reader, arena, tv_buf_slice(&buf));
    tv_assert(tv_json_next(&reader, &member));
    tv_assert(member.kind == TV_JSON_STRING && tv_slice_eq(member.text, text));
    tv_assert(!tv_json_next(&reader, &member) && !reader.failed);
    tv_buf_done(&buf);
}

static void check_member(tv_arena *arena, const tv_json_member *got, const oracle_member *want,
                         bool numbers_replaced)
{
    tv_assert(tv_slice_eq(got->name, slice_of(want->name)));
    tv_assert(got->kind == kind_of(want->kind));
    check_writer(arena, got->name);
    if (got->kind == TV_JSON_STRING) {
        tv_assert(tv_slice_eq(got->text, slice_of(want->text)));
        check_writer(arena, got->text);
    } else if (got->kind == TV_JSON_NUMBER && !numbers_replaced) {
        check_number(got->text, want);
    } else if (got->kind == TV_JSON_NESTED && !numbers_replaced) {
        oracle_text minified = oracle_minify(got->text.data, got->text.len);

        tv_assert(tv_slice_eq(slice_of(minified), slice_of(want->text)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice text = {(const char *)data, size};
    oracle_result want = oracle_read(text.data, text.len);
    bool too_deep = want.accepted && want.depth > 1 + TV_JSON_DEPTH_MAX;
    tv_arena arena;
    tv_json_reader reader;
    tv_json_member member;
    size_t count = 0;

    tv_arena_init(&arena);
    tv_json_reader_init(&reader, &arena, text);
    while (tv_json_next(&reader, &member)) {
        /* Members in front of an error are handed out although the oracle has none of them. */
        if (want.accepted) {
            tv_assert(count < want.member_count);
            check_member(&arena, &member, &want.members[count], want.numbers_replaced);
        }
        count++;
    }
    tv_assert(reader.failed == (!want.accepted || too_deep));
    tv_assert(reader.failed || count == want.member_count);
    tv_assert(!tv_json_next(&reader, &member));
    tv_arena_done(&arena);
    return 0;
}
