/* What happens to a request when it is done: on its network thread, without waiting. */
#include "insight/watch/record.h"
#include "base/assert.h"
#include "insight/watch/conn.h"

/* --- entities --- */

static int batch_slot(size_t count)
{
    return count <= 1 ? 0 : count < 10 ? 1 : count < 50 ? 2 : count < 100 ? 3 : 4;
}

static int age_slot(int64_t age_s)
{
    uint64_t hours = (uint64_t)age_s / 3600;
    int slot = hours ? 64 - __builtin_clzll(hours) : 0;

    return slot < TV_WATCH_TABLE_SUMS - TV_WATCH_TABLE_AGES
               ? slot
               : TV_WATCH_TABLE_SUMS - TV_WATCH_TABLE_AGES - 1;
}

static void record_read(tv_sheet_table *table, const tv_watch_event *event, const tv_watch_key *key)
{
    table->sums[TV_WATCH_TABLE_POINT_READS]++;
    if (key->outcome == TV_WATCH_MISSING)
        table->sums[TV_WATCH_TABLE_POINT_MISSES]++;
    if (key->outcome == TV_WATCH_FOUND && event->query.select.data == NULL) {
        table->sums[TV_WATCH_TABLE_POINT_WHOLE]++;
        table->sums[TV_WATCH_TABLE_POINT_BYTES] += event->bytes_out;
    }
}

static void record_write(tv_sheet_table *table, const tv_watch_event *event,
                         const tv_watch_key *key)
{
    bool is_batched = event->op == TV_ENTITY_OP_BATCH;

    table->sums[TV_WATCH_TABLE_WRITES]++;
    table->sums[TV_WATCH_TABLE_BATCHED_WRITES] += is_batched && event->key_count >= 2;
    table->sums[TV_WATCH_TABLE_CONDITIONAL] += key->condition == TV_WATCH_IF_ETAG;
    table->sums[TV_WATCH_TABLE_INSERTS] += key->outcome == TV_WATCH_CREATED;
    table->sums[TV_WATCH_TABLE_UPDATES] += key->outcome == TV_WATCH_CHANGED;
    table->sums[TV_WATCH_TABLE_CONFLICTS] += key->outcome == TV_WATCH_CONFLICT;
    if (key->outcome != TV_WATCH_DELETED)
        return;
    table->sums[is_batched ? TV_WATCH_TABLE_DELETES_BATCHED : TV_WATCH_TABLE_DELETES_SINGLE]++;
    if (key->age_s >= 0)
        table->sums[TV_WATCH_TABLE_AGES + age_slot(key->age_s)]++;
}

static void record_keys(tv_watch_shard *shard, tv_sheet *sheet, tv_sheet_table *table,
                        const tv_watch_event *event)
{
    for (size_t i = 0; i < event->key_count; i++) {
        const tv_watch_key *key = &event->keys[i];

        if (key->outcome == TV_WATCH_REFUSED && event->throttle == TV_WATCH_NOT_THROTTLED)
            continue;
        if (tv_entity_op_is_write((tv_entity_op)key->op))
            record_write(table, event, key);
        else
            record_read(table, event, key);
        table->sums[TV_WATCH_TABLE_UNITS] += key->units;
        tv_record_sample_key(shard, sheet, event, key);
    }
    if (event->conn && event->key_count == 1 && event->op != TV_ENTITY_OP_BATCH)
        tv_watch_run_add(event->conn, table, event, &event->keys[0]);
}

static void record_batch(tv_sheet_table *table, const tv_watch_event *event)
{
    if (event->across_partitions) {
        table->sums[TV_WATCH_TABLE_ACROSS]++;
        tv_raise(&table->maxima[TV_WATCH_TABLE_ACROSS_MAX], event->across_partitions);
        return;
    }
    table->sums[TV_WATCH_TABLE_BATCH_SIZES + batch_slot(event->key_count)]++;
    table->sums[TV_WATCH_TABLE_BATCH_CHANGES] += event->key_count;
}

static void record_refusal(tv_sheet_table *table, const tv_watch_event *event)
{
    table->sums[TV_WATCH_TABLE_THROTTLED] += event->throttle != TV_WATCH_NOT_THROTTLED;
    table->sums[TV_WATCH_TABLE_THROTTLED_ACCOUNT] += event->throttle == TV_WATCH_THROTTLED_ACCOUNT;
    table->sums[TV_WATCH_TABLE_REFUSED_PROPERTIES] += event->error == TV_ERR_TOO_MANY_PROPERTIES;
    table->sums[TV_WATCH_TABLE_REFUSED_ENTITY] += event->error == TV_ERR_ENTITY_TOO_LARGE;
    table->sums[TV_WATCH_TABLE_REFUSED_VALUE] += event->error == TV_ERR_PROPERTY_VALUE_TOO_LARGE;
}

static void record(tv_watch_shard *shard, tv_sheet *sheet, const tv_watch_event *event)
{
    tv_sheet_table *table = tv_sheet_table_of(sheet, event->table);

    sheet->requests++;
    if (table->first_ns == 0)
        table->first_ns = event->time_ns;
    table->last_ns = event->time_ns;
    table->sums[TV_WATCH_TABLE_REQUESTS]++;
    table->sums[TV_WATCH_TABLE_OPS + event->op]++;
    table->sums[TV_WATCH_TABLE_LANGUAGES + event->client.language]++;
    table->sums[event->status < 300   ? TV_WATCH_TABLE_STATUS_2XX
                : event->status < 500 ? TV_WATCH_TABLE_STATUS_4XX
                                      : TV_WATCH_TABLE_STATUS_5XX]++;
    if (event->error || event->throttle)
        record_refusal(table, event);
    if (event->op == TV_ENTITY_OP_QUERY_ENTITIES)
        tv_record_query(shard, sheet, table, event);
    else if (event->op == TV_ENTITY_OP_BATCH)
        record_batch(table, event);
    record_keys(shard, sheet, table, event);
}

bool tv_watch_wants_id(const tv_watch *watch, int status)
{
    return tv_retries_wants(&watch->retries, status);
}

void tv_watch_record(tv_watch_shard *shard, const tv_watch_event *event)
{
    tv_watch *watch = shard->watch;

    tv_assert(event->op < TV_ENTITY_OP_COUNT);
    if (event->client.is_own_tool || event->is_overloaded)
        return;

    tv_epoch_enter(shard->epoch);
    if (tv_watch_has_table(watch, event->table)) {
        tv_traffic_table *traffic =
            atomic_load(&watch->places[tv_watch_place(event->table)].traffic);

        record(shard, atomic_load(&shard->sheet), event);
        if (traffic)
            tv_record_traffic(traffic, shard->index, event);
    }
    tv_epoch_leave(shard->epoch);
    tv_retries_record(&watch->retries, event);
}
