/* Ranges of bytes. */
#include "services/blob/body/range.h"

#include "base/number.h"

bool tv_blob_range_parse(tv_slice text, tv_blob_range *ret_range)
{
    tv_blob_range range = {.is_given = true, .last = UINT64_MAX};
    tv_slice unit, first;

    if (!tv_slice_next(&text, '=', &unit) || text.data == NULL ||
        !tv_slice_eq_nocase(unit, TV_LIT("bytes")))
        return false;
    if (!tv_slice_next(&text, '-', &first) || text.data == NULL)
        return false;
    if (first.len == 0) {
        *ret_range = (tv_blob_range){.is_given = false};
        return true;
    }
    if (!tv_parse_uint64(first, &range.first))
        return false;
    if (text.len && (!tv_parse_uint64(text, &range.last) || range.last < range.first))
        return false;

    *ret_range = range;
    return true;
}

tv_err tv_blob_range_resolve(const tv_blob_range *range, uint64_t length, uint64_t *ret_offset,
                             uint64_t *ret_length)
{
    if (!range->is_given) {
        *ret_offset = 0;
        *ret_length = length;
        return TV_OK;
    }
    if (range->first >= length)
        return TV_ERR_BLOB_RANGE;

    *ret_offset = range->first;
    *ret_length = (range->last < length ? range->last + 1 : length) - range->first;
    return TV_OK;
}
