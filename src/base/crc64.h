/*
 * The CRC-64 of Azure Storage: what x-ms-content-crc64 carries.
 *
 * It is the CRC that is also known as CRC-64/NVME: the polynomial
 * 0xAD93D23594C93659, bits reflected in and out, all ones before and after.
 * That of "123456789" is 0xAE8B14860A799888.  The wire carries the base 64 of
 * its eight bytes, the lowest first: that of "Hello Azure!" is "DtjZpL9/o8c=".
 *
 * Any thread; a state belongs to one thread at a time.
 */
#ifndef TV_BASE_CRC64_H
#define TV_BASE_CRC64_H

#include <stdint.h>

#include "base/slice.h"

enum { TV_CRC64_BYTES = 8 };

/** A CRC under way: a plain value, which may be copied and simply be forgotten. */
typedef struct tv_crc64 {
    uint64_t state;
} tv_crc64;

void tv_crc64_init(tv_crc64 *crc);
void tv_crc64_update(tv_crc64 *crc, tv_slice bytes);

/** The CRC of all bytes so far; more may follow. */
uint64_t tv_crc64_final(const tv_crc64 *crc);

/** The CRC of one run of bytes. */
uint64_t tv_crc64_of(tv_slice bytes);

/** The eight bytes whose base 64 goes over the wire. */
void tv_crc64_encode(uint64_t value, unsigned char ret_bytes[TV_CRC64_BYTES]);

/**
 * tv_crc64_update as it is on a machine without carry-less multiplication: the
 * same result, more slowly.  For tests, which compare the two.
 */
void tv_crc64_update_portable(tv_crc64 *crc, tv_slice bytes);

#endif
