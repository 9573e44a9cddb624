/* Checksums.  The hash takes 8 bytes at a time and mixes them by a multiplication to 128 bits. */
#include "digest.h"

#include <string.h>

static const uint64_t ODD_A = 0x9e3779b97f4a7c15, ODD_B = 0xe7037ed1a0b428db;

static uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t xfer_hash(uint64_t seed, const void *data, size_t len)
{
    const char *at = data;
    uint64_t hash = seed ^ ODD_A ^ len, word;

    for (; len >= sizeof word; at += sizeof word, len -= sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = mix(hash ^ word, ODD_B) + ODD_A;
    }
    word = 0;
    if (len)
        memcpy(&word, at, len);
    return mix(mix(hash ^ word, ODD_B) ^ ODD_A, ODD_B);
}

void xfer_digest_add(xfer_digest *digest, const char *data, size_t len)
{
    digest->size += len;
    while (len) {
        size_t room = sizeof digest->rest - digest->rest_len;

        if (digest->rest_len == 0 && len >= room) {
            digest->value = xfer_hash(digest->value, data, room);
        } else {
            if (room > len)
                room = len;
            memcpy(digest->rest + digest->rest_len, data, room);
            digest->rest_len += room;
            if (digest->rest_len == sizeof digest->rest) {
                digest->value = xfer_hash(digest->value, digest->rest, sizeof digest->rest);
                digest->rest_len = 0;
            }
        }
        data += room;
        len -= room;
    }
}

uint64_t xfer_digest_value(const xfer_digest *digest)
{
    return xfer_hash(digest->value + digest->size, digest->rest, digest->rest_len);
}

static uint64_t hash_value(uint64_t seed, const tavola_value *value)
{
    seed += (uint64_t)value->type * ODD_A;
    switch (value->type) {
    case TAVOLA_STRING:
    case TAVOLA_BINARY:
        return xfer_hash(seed, value->as.ptr, value->size);
    case TAVOLA_BOOLEAN:
        return xfer_hash(seed, value->as.boolean ? "t" : "f", 1);
    case TAVOLA_INT32:
        return xfer_hash(seed, &value->as.int32, sizeof value->as.int32);
    case TAVOLA_GUID:
        return xfer_hash(seed, &value->as.guid, sizeof value->as.guid);
    case TAVOLA_DOUBLE: {
        double real = value->as.real == 0 ? 0 : value->as.real; /* services forget its sign */

        if (real != real)
            return xfer_hash(seed, "NaN", 3);
        return xfer_hash(seed, &real, sizeof real);
    }
    case TAVOLA_INT64:
        return xfer_hash(seed, &value->as.int64, sizeof value->as.int64);
    case TAVOLA_DATETIME:
        return xfer_hash(seed, &value->as.ticks, sizeof value->as.ticks);
    case TAVOLA_NONE:
        break;
    }
    return seed;
}

static uint64_t hash_entity(uint64_t seed, const tavola_entity *entity)
{
    const char *partition_key = tavola_entity_partition_key(entity);
    const char *row_key = tavola_entity_row_key(entity), *name;
    uint64_t hash = xfer_hash(seed, partition_key, strlen(partition_key)), sum = 0;
    tavola_value value;

    hash = xfer_hash(hash, row_key, strlen(row_key));
    for (size_t i = 0; (name = tavola_entity_name_at(entity, i, &value)) != NULL; i++)
        sum += hash_value(xfer_hash(seed, name, strlen(name)), &value);
    return mix(hash ^ sum ^ ODD_A, ODD_B) + sum;
}

void xfer_tally_add(xfer_tally *tally, const tavola_entity *entity)
{
    tally->count++;
    tally->sum[0] += hash_entity(0, entity);
    tally->sum[1] += hash_entity(ODD_B, entity);
}
