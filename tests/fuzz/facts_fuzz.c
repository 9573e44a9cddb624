/*
 * The rows of facts: sums and keys.  The first byte of the input says which; the rest is refused,
 * or is just what encoding its meaning gives again.
 */
#include "base/assert.h"
#include "fuzz.h"
#include "insight/facts/rows.h"

static void look_at_sums(tv_slice value)
{
    char again[TV_FACTS_SUMS_BYTES_MAX];
    tv_facts_sums sums;

    if (tv_facts_sums_parse(value, &sums))
        return;
    tv_assert(tv_slice_eq((tv_slice){again, tv_facts_sums_format(&sums, again)}, value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice value = {(const char *)data + 1, size ? size - 1 : 0};
    tv_facts_row_key key;

    if (size == 0)
        return 0;
    if (data[0] == 'c')
        look_at_sums(value);
    else if (tv_facts_row_key_parse(value, &key) == TV_OK)
        tv_assert(key.table.len < value.len);
    return 0;
}
