/*
 * Ranges of bytes, as the Range and x-ms-range headers have them: "bytes=0-99"
 * and "bytes=100-". One range, from its start; the service has no other forms.
 */
#ifndef TV_BLOB_RANGE_H
#define TV_BLOB_RANGE_H

#include <stdint.h>

#include "base/err.h"

typedef struct tv_blob_range {
    bool is_given;
    uint64_t first;
    uint64_t last; /* included; UINT64_MAX for the rest */
} tv_blob_range;

/**
 * False for another form, and when the last byte comes before the first.  A range without a first
 * byte, "bytes=-3" or "bytes=-1-", does not count as one, as for the cloud service: the whole blob
 * is asked for.
 */
bool tv_blob_range_parse(tv_slice text, tv_blob_range *ret_range);

/**
 * What a range covers of `length` bytes; all of them when none is given.
 * TV_ERR_BLOB_RANGE when it begins after the last of them.
 */
tv_err tv_blob_range_resolve(const tv_blob_range *range, uint64_t length, uint64_t *ret_offset,
                             uint64_t *ret_length) TV_WARN_UNUSED;

#endif
