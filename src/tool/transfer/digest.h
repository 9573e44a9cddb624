/*
 * Checksums: of bytes that come in pieces, and of entities in any order.
 *
 * They find accidents, a changed file or a lost entity, and are no protection against someone who
 * makes two of the same checksum on purpose.
 */
#ifndef XFER_DIGEST_H
#define XFER_DIGEST_H

#include <tavola.h>

#include <stddef.h>
#include <stdint.h>

uint64_t xfer_hash(uint64_t seed, const void *data, size_t len);

/** A checksum of bytes, however they are cut into pieces. */
typedef struct xfer_digest {
    uint64_t value, size;
    char rest[64];
    size_t rest_len;
} xfer_digest;

void xfer_digest_add(xfer_digest *digest, const char *data, size_t len);
uint64_t xfer_digest_value(const xfer_digest *digest);

/**
 * How many entities, and a sum over their keys and properties: types, names and values.  Timestamp,
 * etag, the order of properties and that of entities do not matter.
 */
typedef struct xfer_tally {
    uint64_t count, sum[2];
} xfer_tally;

void xfer_tally_add(xfer_tally *tally, const tavola_entity *entity);

#endif
