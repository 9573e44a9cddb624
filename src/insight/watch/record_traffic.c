/* What a finished request is to traffic by key. */
#include "insight/traffic/traffic.h"
#include "insight/watch/record.h"

/* Divide a count between the buckets of all keys from `first` to `last`. */
static void add_between(tv_traffic_table *table, int shard, tv_slice first, tv_slice last,
                        tv_traffic_measure measure, uint64_t count)
{
    tv_traffic_bucket_map *map = atomic_load_explicit(&table->map, memory_order_seq_cst);
    size_t from = tv_traffic_bucket_map_find(map, first),
           to = tv_traffic_bucket_map_find(map, last), buckets;

    if (count == 0)
        return;
    if (to < from)
        to = from;
    buckets = to - from + 1;
    for (size_t i = 0; i < buckets; i++) {
        /* The parts differ by one at most, and their sum is the count. */
        uint64_t part = count * (i + 1) / buckets - count * i / buckets;

        if (part)
            tv_traffic_bucket_add(tv_traffic_bucket_map_at(map, shard, from + i), measure, part);
    }
}

static void record_query(tv_traffic_table *table, int shard, const tv_watch_event *event)
{
    const tv_watch_query *query = &event->query;

    add_between(table, shard, query->first_looked, query->last_looked, TV_MEASURE_SCANNED,
                query->examined);
    add_between(table, shard, query->first_key, query->last_key, TV_MEASURE_READS, query->returned);
    if (query->returned)
        add_between(table, shard, query->first_key, query->last_key, TV_MEASURE_BYTES,
                    event->bytes_out);
    else if (event->throttle && query->from.data)
        tv_traffic_bucket_add(tv_traffic_find(table, shard, query->from), TV_MEASURE_THROTTLED, 1);
}

static void record_key(tv_traffic_table *table, int shard, const tv_watch_event *event,
                       const tv_watch_key *key)
{
    tv_traffic_bucket *bucket = tv_traffic_find(table, shard, key->key);

    if (event->throttle) {
        tv_traffic_bucket_add(bucket, TV_MEASURE_THROTTLED, 1);
        return;
    }
    switch ((tv_watch_outcome)key->outcome) {
    case TV_WATCH_FOUND:
        tv_traffic_bucket_add(bucket, TV_MEASURE_READS, 1);
        tv_traffic_bucket_add(bucket, TV_MEASURE_BYTES, key->bytes);
        break;
    case TV_WATCH_MISSING:
        tv_traffic_bucket_add(bucket, TV_MEASURE_READS, 1);
        break;
    case TV_WATCH_CREATED:
        tv_traffic_bucket_add(bucket, TV_MEASURE_INSERTS, 1);
        tv_traffic_bucket_add(bucket, TV_MEASURE_WRITES, 1);
        tv_traffic_bucket_add(bucket, TV_MEASURE_BYTES, key->bytes);
        break;
    case TV_WATCH_CHANGED:
        tv_traffic_bucket_add(bucket, TV_MEASURE_WRITES, 1);
        tv_traffic_bucket_add(bucket, TV_MEASURE_BYTES, key->bytes);
        break;
    case TV_WATCH_DELETED:
        tv_traffic_bucket_add(bucket, TV_MEASURE_DELETES, 1);
        break;
    case TV_WATCH_CONFLICT:
        tv_traffic_bucket_add(bucket, TV_MEASURE_CONFLICTS, 1);
        break;
    case TV_WATCH_EXISTS:
    case TV_WATCH_REFUSED:
        break;
    }
}

void tv_record_traffic(tv_traffic_table *table, int shard, const tv_watch_event *event)
{
    for (size_t i = 0; i < event->key_count; i++)
        record_key(table, shard, event, &event->keys[i]);
    if (event->op == TV_ENTITY_OP_QUERY_ENTITIES)
        record_query(table, shard, event);
}
