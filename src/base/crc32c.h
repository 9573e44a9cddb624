/*
 * CRC-32C (Castagnoli): the checksum of RocksDB's files and of extents.  The
 * polynomial is 0x1EDC6F41, bits reflected in and out, all ones before and after;
 * that of "123456789" is 0xE3069283.  Any thread.
 */
#ifndef TV_BASE_CRC32C_H
#define TV_BASE_CRC32C_H

#include <stdint.h>

#include "base/slice.h"

/** The CRC of `bytes` after others whose CRC is `before`; 0 when there are none. */
uint32_t tv_crc32c(uint32_t before, tv_slice bytes);

/** The same as on a machine without an instruction for it.  For tests, which compare the two. */
uint32_t tv_crc32c_portable(uint32_t before, tv_slice bytes);

#endif
