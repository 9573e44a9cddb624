/*
 * Keys: their text form, their order and their parts.  The properties are
 * tried on random strings; TAVOLA_SEED=n repeats a run.
 */
#include "check.h"
#include "seed.h"
#include "store/engine/engine.h"
#include "store/engine/key.h"

static tv_arena arena;

static int set_up(void **state)
{
    (void)state;
    tv_arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tv_arena_done(&arena);
    return 0;
}

static const struct {
    const char *what, *utf8;
    tv_err err;
    const char *cesu8;
} texts[] = {
    {"empty text", "", TV_OK, ""},
    {"ASCII stays", "Sales 42/~", TV_OK, "Sales 42/~"},
    {"two bytes stay", "\xC3\xA9", TV_OK, "\xC3\xA9"},
    {"three bytes stay", "\xE2\x82\xAC", TV_OK, "\xE2\x82\xAC"},
    {"beyond the BMP are two surrogates", "\xF0\x9F\x98\x80", TV_OK, "\xED\xA0\xBD\xED\xB8\x80"},
    {"the first beyond", "\xF0\x90\x80\x80", TV_OK, "\xED\xA0\x80\xED\xB0\x80"},
    {"the last code point", "\xF4\x8F\xBF\xBF", TV_OK, "\xED\xAF\xBF\xED\xBF\xBF"},
    {"U+FFFF is a legal unit", "\xEF\xBF\xBF", TV_OK, "\xEF\xBF\xBF"},
    {"U+00A0 is the first after C1", "\xC2\xA0", TV_OK, "\xC2\xA0"},
    {"a control character", "a\tb", TV_ERR_OUT_OF_RANGE, ""},
    {"the terminator", "a\x01", TV_ERR_OUT_OF_RANGE, ""},
    {"DEL", "\x7F", TV_ERR_OUT_OF_RANGE, ""},
    {"C1: the first", "\xC2\x80", TV_ERR_OUT_OF_RANGE, ""},
    {"C1: the last", "\xC2\x9F", TV_ERR_OUT_OF_RANGE, ""},
    {"an overlong slash", "\xC0\xAF", TV_ERR_OUT_OF_RANGE, ""},
    {"overlong in three bytes", "\xE0\x80\xAF", TV_ERR_OUT_OF_RANGE, ""},
    {"overlong in four bytes", "\xF0\x80\x80\xAF", TV_ERR_OUT_OF_RANGE, ""},
    {"a surrogate in UTF-8", "\xED\xA0\x80", TV_ERR_OUT_OF_RANGE, ""},
    {"past U+10FFFF", "\xF4\x90\x80\x80", TV_ERR_OUT_OF_RANGE, ""},
    {"five bytes", "\xF8\x88\x80\x80\x80", TV_ERR_OUT_OF_RANGE, ""},
    {"a stray continuation", "a\x80", TV_ERR_OUT_OF_RANGE, ""},
    {"cut short", "\xE2\x82", TV_ERR_OUT_OF_RANGE, ""},
    {"0xFF", "\xFF", TV_ERR_OUT_OF_RANGE, ""},
};

TEST(text_is_encoded_strictly)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tv_slice got = TV_NONE;

        t_row = texts[i].what;
        CHECK_ERR(tv_key_encode_text(&arena, tv_slice_of(texts[i].utf8), &got), texts[i].err);
        if (texts[i].err)
            continue;

        CHECK_TEXT(got, texts[i].cesu8);
        CHECK_OK(tv_key_decode_text(&arena, got, &got));
        CHECK_TEXT(got, texts[i].utf8);
    }
}

TEST(a_nul_is_refused)
{
    tv_slice got;

    CHECK_ERR(tv_key_encode_text(&arena, TV_LIT("a\0b"), &got), TV_ERR_OUT_OF_RANGE);
    CHECK_ERR(tv_key_decode_text(&arena, TV_LIT("a\0b"), &got), TV_ERR_CORRUPT);
}

static const struct {
    const char *what, *cesu8;
} broken[] = {
    {"a high surrogate alone", "\xED\xA0\xBD"},
    {"a high surrogate before a letter", "\xED\xA0\xBDxyz"},
    {"a low surrogate alone", "\xED\xB8\x80"},
    {"two high surrogates", "\xED\xA0\xBD\xED\xA0\xBD"},
    {"four bytes, as in UTF-8", "\xF0\x9F\x98\x80"},
    {"a terminator", "a\x01"},
    {"overlong", "\xC1\x81"},
    {"C1", "\xC2\x85"},
    {"cut short", "\xED\xA0"},
};

TEST(text_that_no_key_can_hold_is_corrupt)
{
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        tv_slice got;

        t_row = broken[i].what;
        CHECK_ERR(tv_key_decode_text(&arena, tv_slice_of(broken[i].cesu8), &got), TV_ERR_CORRUPT);
    }
}

/* A random legal key: its UTF-16 units, and the same as UTF-8. */
typedef struct random_key {
    uint16_t units[24];
    size_t unit_count;
    tv_slice utf8;
} random_key;

static uint32_t random_code_point(void)
{
    /* The borders of UTF-8, of the surrogates and of the planes, and a few letters that repeat. */
    static const uint32_t near[] = {'a',    'b',    0x7E,   0xA0,    0x7FF,   0x800,   0xD7FF,
                                    0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x10FFF, 0x1F600, 0x10FFFF};
    uint32_t code_point;

    if (seed_below(3))
        return near[seed_below(sizeof near / sizeof *near)];
    do {
        code_point = (uint32_t)seed_below(seed_below(2) ? 0x110000 : 0x300);
    } while (code_point < 0x20 || (code_point >= 0x7F && code_point <= 0x9F) ||
             (code_point >= 0xD800 && code_point <= 0xDFFF));
    return code_point;
}

static random_key make_random_key(void)
{
    random_key key = {0};
    size_t code_points = seed_below(9);
    char *utf8 = tv_arena_bytes(&arena, 4 * code_points);
    size_t len = 0;

    for (size_t i = 0; i < code_points; i++) {
        uint32_t c = random_code_point();

        if (c >= 0x10000) {
            key.units[key.unit_count++] = (uint16_t)(0xD800 + ((c - 0x10000) >> 10));
            key.units[key.unit_count++] = (uint16_t)(0xDC00 + ((c - 0x10000) & 0x3FF));
        } else {
            key.units[key.unit_count++] = (uint16_t)c;
        }
        if (c < 0x80) {
            utf8[len++] = (char)c;
        } else if (c < 0x800) {
            utf8[len++] = (char)(0xC0 | c >> 6);
            utf8[len++] = (char)(0x80 | (c & 0x3F));
        } else if (c < 0x10000) {
            utf8[len++] = (char)(0xE0 | c >> 12);
            utf8[len++] = (char)(0x80 | (c >> 6 & 0x3F));
            utf8[len++] = (char)(0x80 | (c & 0x3F));
        } else {
            utf8[len++] = (char)(0xF0 | c >> 18);
            utf8[len++] = (char)(0x80 | (c >> 12 & 0x3F));
            utf8[len++] = (char)(0x80 | (c >> 6 & 0x3F));
            utf8[len++] = (char)(0x80 | (c & 0x3F));
        }
    }
    key.utf8 = (tv_slice){utf8, len};
    return key;
}

static int compare_units(const random_key *a, const random_key *b)
{
    for (size_t i = 0; i < a->unit_count && i < b->unit_count; i++) {
        if (a->units[i] != b->units[i])
            return a->units[i] < b->units[i] ? -1 : 1;
    }
    return (a->unit_count > b->unit_count) - (a->unit_count < b->unit_count);
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static tv_slice row_of(const random_key *partition, const random_key *row)
{
    tv_slice prefix, key;

    CHECK_OK(tv_key_partition(&arena, TV_LIT("acct"), 7, partition->utf8, &prefix));
    CHECK_OK(tv_key_row(&arena, prefix, row->utf8, &key));
    return key;
}

TEST(rows_sort_by_the_utf16_units_of_partition_key_then_row_key)
{
    seed_start();
    for (int i = 0; i < 20000; i++) {
        random_key p1 = make_random_key(), r1 = make_random_key();
        random_key p2 = make_random_key(), r2 = make_random_key();

        /* Pairs that begin alike are where an encoding goes wrong. */
        if (seed_below(3) == 0)
            p2 = p1;
        if (seed_below(4) == 0) {
            r2 = r1;
            r2.unit_count = 0;
            r2.utf8.len = 0;
        }

        int want = compare_units(&p1, &p2);

        if (want == 0)
            want = compare_units(&r1, &r2);
        tv_slice a = row_of(&p1, &r1), b = row_of(&p2, &r2);

        if (sign(tv_slice_cmp(a, b)) != want)
            CHECK_FAIL("\"%.*s\" and \"%.*s\" in the wrong order", TV_FMT(a), TV_FMT(b));
        tv_arena_reset(&arena);
    }
}

TEST(rows_are_taken_apart_into_what_they_were_made_of)
{
    tv_slice table = tv_key_table(&arena, TV_LIT("acct"), 7);
    tv_arena table_arena;

    tv_arena_init(&table_arena);
    table = tv_arena_dup(&table_arena, table);
    seed_start();
    for (int i = 0; i < 5000; i++) {
        random_key partition = make_random_key(), row = make_random_key();
        tv_slice partition_key, row_key;

        CHECK_OK(
            tv_key_split_row(&arena, table, row_of(&partition, &row), &partition_key, &row_key));
        CHECK_SLICE(partition_key, partition.utf8);
        CHECK_SLICE(row_key, row.utf8);
        tv_arena_reset(&arena);
    }
    tv_arena_done(&table_arena);
}

TEST(partitions_never_interleave)
{
    seed_start();
    for (int i = 0; i < 10000; i++) {
        random_key p1 = make_random_key(), p2 = make_random_key(), r = make_random_key();
        tv_slice prefix1, prefix2, key;

        if (compare_units(&p1, &p2) == 0)
            continue;
        CHECK_OK(tv_key_partition(&arena, TV_LIT("acct"), 7, p1.utf8, &prefix1));
        CHECK_OK(tv_key_partition(&arena, TV_LIT("acct"), 7, p2.utf8, &prefix2));
        CHECK_OK(tv_key_row(&arena, prefix2, r.utf8, &key));

        bool is_inside =
            tv_slice_cmp(key, prefix1) >= 0 && tv_slice_cmp(key, tv_key_after(&arena, prefix1)) < 0;

        CHECK(!is_inside);
        CHECK(!tv_slice_starts_with(key, prefix1));
        tv_arena_reset(&arena);
    }
}

TEST(the_longest_keys_fit_the_engine)
{
    char longest[TV_KEY_UNITS_MAX * 3];
    tv_slice text = {longest, sizeof longest}, prefix, key;

    for (size_t i = 0; i < sizeof longest; i += 3)
        memcpy(longest + i, "\xEF\xBF\xBF", 3);
    CHECK_OK(tv_key_partition(&arena, TV_LIT("accountaccountaccountacc"), TV_TABLE_ID_MAX, text,
                              &prefix));
    CHECK_OK(tv_key_row(&arena, prefix, text, &key));
    CHECK(key.len <= TV_KEY_BYTES_MAX);
}

TEST(a_key_of_1025_units_is_refused)
{
    char text[TV_KEY_UNITS_MAX + 1];
    tv_slice prefix, key;

    memset(text, 'x', sizeof text);
    CHECK_ERR(tv_key_partition(&arena, TV_LIT("a"), 1, (tv_slice){text, sizeof text}, &prefix),
              TV_ERR_OUT_OF_RANGE);
    CHECK_OK(tv_key_partition(&arena, TV_LIT("a"), 1, (tv_slice){text, sizeof text - 1}, &prefix));
    CHECK_ERR(tv_key_row(&arena, prefix, (tv_slice){text, sizeof text}, &key), TV_ERR_OUT_OF_RANGE);
}

TEST(the_keyspace_is_laid_out_as_the_header_says)
{
    tv_slice account = TV_LIT("acct"), key;

    CHECK_TEXT(tv_key_queue(&arena, account, 33), "sacct\x01"
                                                  "00000011");
    CHECK_TEXT(tv_key_table(&arena, account, 33), "racct\x01"
                                                  "00000011");
    CHECK_OK(tv_key_partition(&arena, account, 33, TV_LIT("P"), &key));
    CHECK_TEXT(key, "racct\x01"
                    "00000011P\x01");
    CHECK_OK(tv_key_row(&arena, key, TV_LIT("R"), &key));
    CHECK_TEXT(key, "racct\x01"
                    "00000011P\x01R");
    CHECK_TEXT(tv_key_catalog(&arena, TV_SPACE_TABLES, account), "tacct\x01");
    CHECK_TEXT(tv_key_catalog_name(&arena, TV_SPACE_TABLES, account, TV_LIT("PeoplE")),
               "tacct\x01npeople");
    CHECK_TEXT(tv_key_catalog_dropped(&arena, TV_SPACE_TABLES, account), "tacct\x01"
                                                                         "d");
    CHECK_TEXT(tv_key_catalog_dropped_id(&arena, TV_SPACE_TABLES, account, TV_TABLE_ID_MAX),
               "tacct\x01"
               "dvvvvvvvv");
    CHECK_TEXT(tv_key_catalog_last_id(&arena, TV_SPACE_TABLES, account), "tacct\x01i");
    CHECK_TEXT(tv_key_catalog_policies(&arena, TV_SPACE_TABLES, account, TV_LIT("PeoplE")),
               "tacct\x01"
               "apeople");
    CHECK_TEXT(tv_key_catalog_properties(&arena, TV_SPACE_TABLES, account), "tacct\x01p");
}

TEST(table_ids_sort_as_numbers_and_come_back)
{
    static const int64_t ids[] = {
        0, 1, 9, 10, 31, 32, 1023, 1024, INT64_C(1) << 35, TV_TABLE_ID_MAX};
    tv_slice prefix = tv_key_catalog_dropped(&arena, TV_SPACE_TABLES, TV_LIT("a")), last = TV_NONE;

    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        tv_slice key = tv_key_catalog_dropped_id(&arena, TV_SPACE_TABLES, TV_LIT("a"), ids[i]);
        int64_t id;

        CHECK_OK(tv_key_split_dropped(prefix, key, &id));
        CHECK_INT(id, ids[i]);
        CHECK(tv_slice_cmp(last, key) < 0);
        last = key;
    }

    int64_t id;

    CHECK_ERR(tv_key_split_dropped(prefix,
                                   TV_LIT("a\x01"
                                          "d0000000W"),
                                   &id),
              TV_ERR_CORRUPT);
    CHECK_ERR(tv_key_split_dropped(prefix, prefix, &id), TV_ERR_CORRUPT);
}

TEST(numbers_sort_as_their_digits_do_and_come_back)
{
    static const int64_t numbers[] = {0, 1, 31, 32, INT64_C(1) << 60, INT64_MAX - 1, INT64_MAX};
    char last[13] = "", digits[13];
    int64_t number;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        CHECK(tv_key_put_number(digits, numbers[i], sizeof digits) == digits + sizeof digits);
        CHECK(i == 0 || memcmp(last, digits, sizeof digits) < 0);
        memcpy(last, digits, sizeof digits);
        CHECK_OK(tv_key_read_number((tv_slice){digits, sizeof digits}, &number));
        CHECK_INT(number, numbers[i]);
    }
    CHECK_ERR(tv_key_read_number(TV_LIT(""), &number), TV_ERR_CORRUPT);
    CHECK_ERR(tv_key_read_number(TV_LIT("00A"), &number), TV_ERR_CORRUPT);
    CHECK_ERR(tv_key_read_number(TV_LIT("8000000000000"), &number), TV_ERR_CORRUPT);
    CHECK_ERR(tv_key_read_number(TV_LIT("00000000000000"), &number), TV_ERR_CORRUPT);
}

TEST(after_is_the_least_key_after_a_prefix)
{
    CHECK_TEXT(tv_key_after(&arena, TV_LIT("ab")), "ac");
    CHECK_TEXT(tv_key_after(&arena, TV_LIT("a\xFF\xFF")), "b");
    CHECK_TEXT(tv_key_after(&arena, TV_LIT("a\x7F")), "a\x80");
}

TEST(a_row_without_a_terminator_is_corrupt)
{
    tv_slice partition_key, row_key;

    CHECK_ERR(tv_key_split_row(&arena, TV_LIT("t"), TV_LIT("tabc"), &partition_key, &row_key),
              TV_ERR_CORRUPT);
    CHECK_ERR(tv_key_split_row(&arena, TV_LIT("t"),
                               TV_LIT("ta\x01"
                                      "b\x01"
                                      "c"),
                               &partition_key, &row_key),
              TV_ERR_CORRUPT);
}

/* A blob's rows are together, and those of a longer name with the same beginning after them. */
TEST(blobs_are_partitions_of_their_container)
{
    tv_slice container = tv_key_container(&arena, TV_LIT("acct"), 33);
    tv_slice blob, longer, prefix, name;
    char units[TV_KEY_UNITS_MAX + 1];

    CHECK_TEXT(container, "oacct\x01"
                          "00000011");
    CHECK_OK(tv_key_blob(&arena, container, TV_LIT("a/b \xF0\x9F\x98\x80"), &blob));
    CHECK_TEXT(blob, "oacct\x01"
                     "00000011a/b \xED\xA0\xBD\xED\xB8\x80\x01");
    CHECK_OK(tv_key_blob(&arena, container, TV_LIT("a/b \xF0\x9F\x98\x80 "), &longer));
    CHECK(tv_slice_cmp(tv_key_after(&arena, blob), longer) <= 0);

    tv_slice key = tv_arena_printf(&arena, "%.*sb", TV_FMT(blob));

    CHECK_OK(tv_key_split_blob(&arena, container, key, &prefix, &name));
    CHECK_SLICE(prefix, blob);
    CHECK_TEXT(name, "a/b \xF0\x9F\x98\x80");
    CHECK_OK(tv_key_split_blob(&arena, container, key, &prefix, NULL));
    CHECK_ERR(tv_key_split_blob(&arena, container, container, &prefix, &name), TV_ERR_CORRUPT);

    CHECK_ERR(tv_key_blob(&arena, container, TV_LIT(""), &blob), TV_ERR_OUT_OF_RANGE);
    CHECK_ERR(tv_key_blob(&arena, container, TV_LIT("a\x01"), &blob), TV_ERR_OUT_OF_RANGE);
    memset(units, 'x', sizeof units);
    CHECK_OK(tv_key_blob(&arena, container, (tv_slice){units, TV_KEY_UNITS_MAX}, &blob));
    CHECK_ERR(tv_key_blob(&arena, container, (tv_slice){units, sizeof units}, &blob),
              TV_ERR_OUT_OF_RANGE);
}

/* Every key of a partition gives its prefix, and so does the prefix itself. */
TEST(a_key_tells_its_partition)
{
    tv_slice account = TV_LIT("acct"), container = tv_key_container(&arena, account, 33);
    tv_slice unknown[] = {TV_LIT("x"),
                          TV_LIT("xacct\x01more"),
                          TV_LIT("r"),
                          TV_LIT("racct\x01"),
                          TV_LIT("racct\x01"
                                 "00000001P"),
                          TV_LIT("sacct\x01"
                                 "0000"),
                          TV_LIT("t")};
    tv_arena prefixes;

    tv_arena_init(&prefixes);
    container = tv_arena_dup(&prefixes, container);
    CHECK_TEXT(tv_key_partition_of(TV_KEY_FORMAT), "m");
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        CHECK_SLICE(tv_key_partition_of(unknown[i]), unknown[i]);
    seed_start();
    for (int i = 0; i < 5000; i++) {
        random_key name = make_random_key(), rest = make_random_key();
        tv_slice prefix, key;
        int64_t id = (int64_t)seed_below(TV_TABLE_ID_MAX);

        CHECK_OK(tv_key_partition(&arena, account, id, name.utf8, &prefix));
        CHECK_SLICE(tv_key_partition_of(prefix), prefix);
        CHECK_OK(tv_key_row(&arena, prefix, rest.utf8, &key));
        CHECK_SLICE(tv_key_partition_of(key), prefix);

        prefix = tv_key_queue(&arena, account, id);
        CHECK_SLICE(tv_key_partition_of(prefix), prefix);
        key = tv_arena_printf(&arena, "%.*sm\x01%.*s", TV_FMT(prefix), TV_FMT(rest.utf8));
        CHECK_SLICE(tv_key_partition_of(key), prefix);

        prefix = tv_key_catalog(&arena, TV_SPACE_QUEUES, account);
        CHECK_SLICE(tv_key_partition_of(prefix), prefix);
        key = tv_key_catalog_name(&arena, TV_SPACE_QUEUES, account, TV_LIT("Name"));
        CHECK_SLICE(tv_key_partition_of(key), prefix);

        if (name.utf8.len) {
            CHECK_OK(tv_key_blob(&arena, container, name.utf8, &prefix));
            CHECK_SLICE(tv_key_partition_of(prefix), prefix);
            key = tv_arena_printf(&arena, "%.*sc\x01%.*s", TV_FMT(prefix), TV_FMT(rest.utf8));
            CHECK_SLICE(tv_key_partition_of(key), prefix);
        }
        tv_arena_reset(&arena);
    }
    tv_arena_done(&prefixes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_is_encoded_strictly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_nul_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_key_tells_its_partition, set_up, tear_down),
        cmocka_unit_test_setup_teardown(text_that_no_key_can_hold_is_corrupt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_sort_by_the_utf16_units_of_partition_key_then_row_key,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_are_taken_apart_into_what_they_were_made_of, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(partitions_never_interleave, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_longest_keys_fit_the_engine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_key_of_1025_units_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_keyspace_is_laid_out_as_the_header_says, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(table_ids_sort_as_numbers_and_come_back, set_up, tear_down),
        cmocka_unit_test(numbers_sort_as_their_digits_do_and_come_back),
        cmocka_unit_test_setup_teardown(after_is_the_least_key_after_a_prefix, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_row_without_a_terminator_is_corrupt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blobs_are_partitions_of_their_container, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
