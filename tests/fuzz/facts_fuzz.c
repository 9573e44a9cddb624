/*
 * The rows of facts: sums and sketches.  The first byte of the input says which; the rest is
 * refused, or is just what encoding its meaning gives again.
 */
#include "base/assert.h"
#include "fuzz.h"
#include "insight/facts/rows.h"
#include "insight/facts/sketch.h"

static void look_at_sums(tv_slice value)
{
    char again[TV_FACTS_SUMS_BYTES_MAX];
    tv_facts_sums sums;

    if (tv_facts_sums_parse(value, &sums))
        return;
    tv_assert(tv_slice_eq((tv_slice){again, tv_facts_sums_format(&sums, again)}, value));
}

static void look_at_sketch(tv_slice value)
{
    tv_sketch *sketch, *second;
    uint64_t changes, changes_again;
    tv_buf again = TV_BUF_EMPTY, third = TV_BUF_EMPTY;

    if (tv_sketch_load(value, TV_FACTS_SAMPLE_MAX, &sketch, &changes))
        return;

    /* Extremes of 0 lose their names, so one round settles the form. */
    tv_sketch_save(sketch, changes, &again);
    tv_assert(tv_sketch_load(tv_buf_slice(&again), TV_FACTS_SAMPLE_MAX, &second, &changes_again) ==
              TV_OK);
    tv_sketch_save(second, changes_again, &third);
    tv_assert(changes == changes_again && tv_slice_eq(tv_buf_slice(&again), tv_buf_slice(&third)));
    tv_sketch_free(sketch);
    tv_sketch_free(second);
    tv_buf_done(&again);
    tv_buf_done(&third);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice value = {(const char *)data + 1, size ? size - 1 : 0};
    tv_facts_row_key key;

    if (size == 0)
        return 0;
    if (data[0] == 's')
        look_at_sketch(value);
    else if (data[0] == 'c')
        look_at_sums(value);
    else if (tv_facts_row_key_parse(value, &key) == TV_OK)
        tv_assert(key.table.len < value.len);
    return 0;
}
