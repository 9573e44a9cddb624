/* Runs of requests on one connection. */
#include "insight/watch/conn.h"

#include "insight/watch/watch.h"

_Static_assert(sizeof(struct tv_watch_conn) <= TV_WATCH_CONN_BYTES, "fits its room");

/* Between two requests of a run: so close comes what a loop asks for one by one; what people or timers
 * ask for has longer gaps, whatever its partition. */
static const int64_t read_gap_ns = INT64_C(100000000), write_gap_ns = INT64_C(50000000);

/* As far as keys are kept. */
static bool is_same_partition(const tv_watch_run *run, const tv_watch_event *event,
                              const tv_watch_key *key)
{
    size_t len = key->partition_len < TV_WATCH_KEY_BYTES ? key->partition_len : TV_WATCH_KEY_BYTES;

    return run->count && run->table == event->table && run->last.partition_len == len &&
           memcmp(run->last.bytes, key->key.data, len) == 0;
}

static void begin(tv_watch_run *run, const tv_watch_event *event, const tv_watch_key *key)
{
    run->first_ns = run->last_ns = event->time_ns;
    run->table = event->table;
    run->count = 1;
    run->is_ordered = run->is_one_key = true;
    tv_kept_key_set(&run->last, key->key, key->partition_len);
}

/* The next key of the run; how it compares with the one before. */
static int go_on(tv_watch_run *run, const tv_watch_event *event, const tv_watch_key *key)
{
    size_t len = key->key.len < TV_WATCH_KEY_BYTES ? key->key.len : TV_WATCH_KEY_BYTES;
    int order = tv_slice_cmp(tv_slice_take(key->key, len), tv_kept_key_slice(&run->last));

    if (run->count == 1)
        tv_kept_key_copy(&run->first, &run->last);
    run->count++;
    run->is_ordered = run->is_ordered && order > 0;
    run->is_one_key = run->is_one_key && order == 0;
    run->last_ns = event->time_ns;
    if (order != 0)
        tv_kept_key_set(&run->last, key->key, key->partition_len);
    return order;
}

static void add_read(tv_watch_run *run, tv_sheet_table *sheet, const tv_watch_event *event,
                     const tv_watch_key *key)
{
    int64_t gap = event->time_ns - run->last_ns;

    if (!is_same_partition(run, event, key) || gap > read_gap_ns) {
        begin(run, event, key);
        return;
    }
    go_on(run, event, key);
    if (run->count < TV_RUN_MIN)
        return;

    /* What it turned out to be with its tenth read it stays. */
    if (run->count == TV_RUN_MIN) {
        sheet->sums[TV_WATCH_TABLE_READ_RUNS]++;
        sheet->sums[TV_WATCH_TABLE_READ_RUN_REQUESTS] += TV_RUN_MIN;
        sheet->sums[TV_WATCH_TABLE_READ_RUN_NS] += (uint64_t)(run->last_ns - run->first_ns);
        sheet->sums[TV_WATCH_TABLE_READ_RUN_SAME] += run->is_one_key;
        sheet->sums[TV_WATCH_TABLE_READ_RUN_ORDERED] += run->is_ordered;
        tv_few_clients_add(&sheet->read_clients, event->client.hash);
    } else {
        sheet->sums[TV_WATCH_TABLE_READ_RUN_REQUESTS]++;
        sheet->sums[TV_WATCH_TABLE_READ_RUN_NS] += (uint64_t)gap;
    }
    tv_raise(&sheet->maxima[TV_WATCH_TABLE_READ_RUN_MAX], run->count);
    tv_kept_key_copy(&sheet->read_first, &run->first);
    tv_kept_key_copy(&sheet->read_last, &run->last);
}

static void add_write(tv_watch_run *run, tv_sheet_table *sheet, const tv_watch_event *event,
                      const tv_watch_key *key)
{
    int64_t gap = event->time_ns - run->last_ns;
    bool is_same = is_same_partition(run, event, key);

    if (event->op == TV_ENTITY_OP_DELETE_ENTITY && !is_same)
        sheet->sums[TV_WATCH_TABLE_DELETE_RUNS]++;
    if (!is_same || gap > write_gap_ns || go_on(run, event, key) == 0) {
        begin(run, event, key);
        return;
    }
    if (run->count < TV_RUN_MIN)
        return;

    if (run->count == TV_RUN_MIN) {
        sheet->sums[TV_WATCH_TABLE_WRITE_RUNS]++;
        sheet->sums[TV_WATCH_TABLE_WRITE_RUN_REQUESTS] += TV_RUN_MIN;
        sheet->sums[TV_WATCH_TABLE_WRITE_RUN_NS] += (uint64_t)(run->last_ns - run->first_ns);
        tv_few_clients_add(&sheet->write_clients, event->client.hash);
    } else {
        sheet->sums[TV_WATCH_TABLE_WRITE_RUN_REQUESTS]++;
        sheet->sums[TV_WATCH_TABLE_WRITE_RUN_NS] += (uint64_t)gap;
    }
    tv_raise(&sheet->maxima[TV_WATCH_TABLE_WRITE_RUN_MAX], run->count);
    tv_kept_key_copy(&sheet->write_first, &run->first);
    tv_kept_key_copy(&sheet->write_last, &run->last);
}

void tv_watch_run_add(struct tv_watch_conn *conn, tv_sheet_table *sheet,
                      const tv_watch_event *event, const tv_watch_key *key)
{
    if (tv_entity_op_is_write((tv_entity_op)event->op)) {
        add_write(&conn->writes, sheet, event, key);
    } else {
        add_read(&conn->reads, sheet, event, key);
        /* What is written next may depend on it; deletes of one partition stay a run of them. */
        conn->writes.last_ns = INT64_MIN / 2;
    }
}
