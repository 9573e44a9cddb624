/*
 * Against the prepend/append anti-pattern: a partition in several buckets, and a scan that merges
 * them by RowKey.  The buckets are scanned side by side, each with its next page on its way.
 */
#include "base/utf8.h"
#include "client/patterns/pattern.h"
#include "client/query/query.h"
#include "client/table/scan.h"

enum { BUCKETS_MAX = 10000, DIGITS_SIZE = 12 };

/** Digits that the largest bucket has. */
static unsigned width_of(uint32_t buckets)
{
    unsigned width = 1;

    for (uint32_t largest = buckets - 1; largest >= 10; largest /= 10)
        width++;
    return width;
}

void tavola_key_spread(const char *key, uint32_t buckets, char *ret_prefix, size_t size)
{
    if (ret_prefix == NULL || size == 0)
        return;
    ret_prefix[0] = '\0';
    if (key == NULL || buckets == 0)
        return;

    uint8_t digest[32];

    tvc_sha256(tv_slice_of(key), digest);

    uint32_t number = (uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 |
                      (uint32_t)digest[2] << 8 | digest[3];

    tavola_key_padded(number % buckets, width_of(buckets), ret_prefix, size);
}

typedef struct bucket {
    tavola_scan *scan;
    const tavola_entity *head; /* its next entity, or NULL */
    bool is_at_end;
} bucket;

typedef struct spread_scan {
    tavola_scan scan;
    bucket *buckets;
    uint32_t count;
    bucket *last;   /* whose head was handed out: it lives until the next one is asked for */
    uint64_t left;  /* of the query's limit */
    tavola_err err; /* once it is not OK it stays */
} spread_scan;

/* By UTF-16 units, as the service orders keys: those beyond the BMP come before U+E000. */
static int compare_keys(const char *a, const char *b)
{
    tv_slice x = tv_slice_of(a), y = tv_slice_of(b);

    while (x.len && y.len) {
        uint32_t p = tv_utf8_next(&x), q = tv_utf8_next(&y);

        if (p == q)
            continue;
        if ((p > 0xffff) != (q > 0xffff)) {
            uint32_t p_unit = p > 0xffff ? 0xd800 : p, q_unit = q > 0xffff ? 0xd800 : q;

            return p_unit < q_unit ? -1 : 1;
        }
        return p < q ? -1 : 1;
    }
    return (x.len > 0) - (y.len > 0);
}

static tavola_err fill_head(bucket *one)
{
    if (one->head || one->is_at_end)
        return TAVOLA_OK;

    tavola_err err = tavola_scan_next(one->scan, &one->head);

    if (err != TAVOLA_END)
        return err;
    one->head = NULL;
    one->is_at_end = true;
    return TAVOLA_OK;
}

static tavola_err next_of_all(spread_scan *self, const tavola_entity **ret_entity)
{
    bucket *first = NULL;

    if (self->last)
        self->last->head = NULL;
    self->last = NULL;
    if (self->left == 0)
        return TAVOLA_END;

    for (uint32_t i = 0; i < self->count; i++) {
        bucket *one = &self->buckets[i];
        tavola_err err = fill_head(one);

        if (err)
            return err;
        if (one->head && (first == NULL || compare_keys(tavola_entity_row_key(one->head),
                                                        tavola_entity_row_key(first->head)) < 0))
            first = one;
    }
    if (first == NULL)
        return TAVOLA_END;
    self->last = first;
    if (self->left != UINT64_MAX)
        self->left--;
    *ret_entity = first->head;
    return TAVOLA_OK;
}

static tavola_err spread_next(tavola_scan *scan, const tavola_entity **ret_entity)
{
    spread_scan *self = (spread_scan *)scan;

    if (self->err == TAVOLA_OK)
        self->err = next_of_all(self, ret_entity);
    return self->err;
}

static void spread_close(tavola_scan *scan)
{
    spread_scan *self = (spread_scan *)scan;

    for (uint32_t i = 0; self->buckets && i < self->count; i++)
        tavola_scan_close(self->buckets[i].scan);
    tvc_release(self->buckets);
    tvc_release(self);
}

static tavola_err open_bucket(spread_scan *self, uint32_t i, tavola_table *table,
                              const tavola_query *query, const char *partition_key,
                              tavola_call *call)
{
    char digits[DIGITS_SIZE];

    tavola_key_padded(i, width_of(self->count), digits, sizeof digits);

    char *bucket_key = tvc_joined(digits, partition_key);
    tavola_query *narrowed = NULL;

    if (bucket_key)
        narrowed = tvc_query_narrow(
            query, tavola_where("PartitionKey", TAVOLA_EQ, tavola_string(bucket_key)));
    tvc_release(bucket_key);
    if (narrowed == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = tavola_scan_open(table, narrowed, call, &self->buckets[i].scan);

    tavola_query_free(narrowed);
    if (err == TAVOLA_OK)
        tvc_scan_send_ahead(self->buckets[i].scan);
    return err;
}

tavola_err tavola_scan_open_spread(tavola_table *table, const tavola_query *query, uint32_t buckets,
                                   const char *partition_key, tavola_call *call,
                                   tavola_scan **ret_scan)
{
    if (buckets == 0 || buckets > BUCKETS_MAX || ret_scan == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "there is no place, or not from 1 to 10,000 buckets");

    spread_scan *self = tvc_zalloc(sizeof *self);

    if (self == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    self->scan = (tavola_scan){.next = spread_next, .close = spread_close};
    self->count = buckets;
    self->left = tvc_query_limit(query);
    self->buckets = tvc_calloc(buckets, sizeof *self->buckets);

    tavola_err err = self->buckets ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;

    for (uint32_t i = 0; err == TAVOLA_OK && i < buckets; i++)
        err = open_bucket(self, i, table, query, partition_key ? partition_key : "", call);
    if (err)
        spread_close(&self->scan);
    else
        *ret_scan = &self->scan;
    return err;
}
