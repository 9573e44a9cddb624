/* What the patterns share. */
#include "client/patterns/pattern.h"

#include <openssl/sha.h>
#include <time.h>

#include "base/random.h"
#include "client/client.h"

enum { PAUSE_FIRST_US = 2000, PAUSE_MAX_US = 250000 };

void tvc_pause(unsigned round)
{
    uint64_t most_us = (uint64_t)PAUSE_FIRST_US << (round < 16 ? round : 16);
    uint64_t pause_us = tv_random_u64() % (most_us < PAUSE_MAX_US ? most_us : PAUSE_MAX_US);
    struct timespec pause = {.tv_nsec = (long)pause_us * 1000};

    nanosleep(&pause, NULL);
}

static const char *keep_key(tavola_entity *entity, const char *key)
{
    size_t size = strlen(key) + 1;
    char *kept = tvc_entity_room(entity, size);

    return kept ? memcpy(kept, key, size) : NULL;
}

static bool rekey(tavola_entity *entity, const char *partition_key, const char *row_key)
{
    const char *kept_partition = keep_key(entity, partition_key);
    const char *kept_row = keep_key(entity, row_key);

    if (kept_partition == NULL || kept_row == NULL)
        return false;

    entity->partition_key = kept_partition;
    entity->row_key = kept_row;
    return true;
}

tavola_entity *tvc_entity_copy_as(const tavola_entity *entity, const char *partition_key,
                                  const char *row_key)
{
    tavola_entity *copy = tavola_entity_copy(entity);

    if (copy == NULL || !rekey(copy, partition_key, row_key)) {
        tavola_entity_free(copy);
        return NULL;
    }
    copy->etag = NULL;
    if (!tavola_key_is_valid(partition_key))
        tvc_entity_fail(copy, TAVOLA_ERR_INVALID, "its PartitionKey would not be a valid key");
    if (!tavola_key_is_valid(row_key))
        tvc_entity_fail(copy, TAVOLA_ERR_INVALID, "its RowKey would not be a valid key");
    return copy;
}

void tvc_entity_forget(tavola_entity *entity, const char *name)
{
    int at = tvc_entity_find(entity, tv_slice_of(name));

    if (at >= 0)
        tvc_entity_drop(entity, at);
}

char *tvc_joined(const char *a, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b);
    char *joined = tvc_alloc(a_len + b_len + 1);

    if (joined == NULL)
        return NULL;
    memcpy(joined, a, a_len);
    memcpy(joined + a_len, b, b_len + 1);
    return joined;
}

const char *tvc_entity_text(const tavola_entity *entity, const char *name)
{
    const char *text = NULL;

    return tavola_entity_get_string(entity, name, &text) ? text : NULL;
}

bool tvc_table_is_same(const tavola_table *a, const tavola_table *b)
{
    const tvc_endpoint *at_a = a->client->primary[TV_SERVICE_TABLE];
    const tvc_endpoint *at_b = b->client->primary[TV_SERVICE_TABLE];

    if (!tv_slice_eq_nocase(tv_slice_of(a->name), tv_slice_of(b->name)))
        return false;
    if (at_a == at_b)
        return true;
    return at_a && at_b && tv_slice_eq(tvc_endpoint_host(at_a), tvc_endpoint_host(at_b)) &&
           tv_slice_eq(tvc_endpoint_path(at_a), tvc_endpoint_path(at_b));
}

void tvc_sha256(tv_slice bytes, uint8_t ret_digest[32])
{
    SHA256((const unsigned char *)bytes.data, bytes.len, ret_digest);
}

void tvc_sha256_hex(tv_slice bytes, char ret_hex[65])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[32];

    tvc_sha256(bytes, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        ret_hex[2 * i] = digits[digest[i] >> 4];
        ret_hex[2 * i + 1] = digits[digest[i] & 15];
    }
    ret_hex[64] = '\0';
}
