/*
 * Key encoding against arbitrary bytes: whatever is accepted comes back as it
 * was, holds no byte below a blank, and sorts as its UTF-16 units do.  The
 * input is cut in two at its first NUL, so that the order can be compared.
 */
#include "base/assert.h"
#include "fuzz.h"
#include "store/engine/key.h"

/* The next UTF-16 unit of text that has been accepted, held as decoded code points. */
typedef struct units {
    tv_slice rest;
    uint32_t low; /* the second half of a pair, 0 when there is none */
} units;

static int next_unit(units *text)
{
    if (text->low) {
        int low = (int)text->low;

        text->low = 0;
        return low;
    }
    if (text->rest.len == 0)
        return -1;

    const unsigned char *in = (const unsigned char *)text->rest.data;
    int count = in[0] < 0x80 ? 1 : in[0] < 0xE0 ? 2 : in[0] < 0xF0 ? 3 : 4;
    uint32_t code_point = count == 1 ? in[0] : in[0] & (0xFFu >> (count + 1));

    for (int i = 1; i < count; i++)
        code_point = code_point << 6 | (in[i] & 0x3F);
    text->rest = tv_slice_skip(text->rest, (size_t)count);
    if (code_point < 0x10000)
        return (int)code_point;

    text->low = 0xDC00 + ((code_point - 0x10000) & 0x3FF);
    return (int)(0xD800 + ((code_point - 0x10000) >> 10));
}

static int compare_units(tv_slice a, tv_slice b)
{
    units left = {a, 0}, right = {b, 0};

    for (;;) {
        int x = next_unit(&left), y = next_unit(&right);

        if (x != y)
            return x < y ? -1 : 1;
        if (x < 0)
            return 0;
    }
}

static bool round_trips(tv_arena *arena, tv_slice text, tv_slice *ret_encoded)
{
    tv_slice back;

    if (tv_key_encode_text(arena, text, ret_encoded) != TV_OK)
        return false;

    for (size_t i = 0; i < ret_encoded->len; i++)
        tv_assert((unsigned char)ret_encoded->data[i] >= 0x20);
    tv_assert(tv_key_decode_text(arena, *ret_encoded, &back) == TV_OK);
    tv_assert(tv_slice_eq(back, text));
    return true;
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice input = {(const char *)data, size};
    size_t cut = tv_slice_find(input, '\0');
    tv_slice a = tv_slice_take(input, cut);
    tv_slice b = cut < input.len ? tv_slice_skip(input, cut + 1) : TV_NONE;
    tv_slice encoded_a, encoded_b, decoded, again, partition_key, row_key;
    tv_arena arena;

    tv_arena_init(&arena);
    bool both = round_trips(&arena, a, &encoded_a) && round_trips(&arena, b, &encoded_b);
    if (both)
        tv_assert(sign(tv_slice_cmp(encoded_a, encoded_b)) == sign(compare_units(a, b)));

    /* The other direction: what decodes must be what encoding would have made. */
    if (tv_key_decode_text(&arena, input, &decoded) == TV_OK) {
        tv_assert(tv_key_encode_text(&arena, decoded, &again) == TV_OK);
        tv_assert(tv_slice_eq(again, input));
    }

    /* Any bytes after a table's prefix are taken apart or refused. */
    if (tv_key_split_row(&arena, TV_NONE, input, &partition_key, &row_key) == TV_OK)
        tv_assert(partition_key.len + row_key.len < input.len);
    tv_arena_done(&arena);
    return 0;
}
