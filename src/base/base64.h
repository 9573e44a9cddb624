/* Base 64 with the standard alphabet and padding, strict. */
#ifndef TV_BASE_BASE64_H
#define TV_BASE_BASE64_H

#include "base/slice.h"

static inline size_t tv_base64_encoded_len(size_t len)
{
    return (len + 2) / 3 * 4;
}

/** Room that tv_base64_decode needs at most. */
static inline size_t tv_base64_decoded_max(size_t len)
{
    return len / 4 * 3;
}

/** Writes tv_base64_encoded_len(bytes.len) characters. */
void tv_base64_encode(char *to, tv_slice bytes);

/** False unless `text` is whole groups of four, padded only at its end, unused bits zero. */
bool tv_base64_decode(char *to, tv_slice text, size_t *ret_len);

#endif
