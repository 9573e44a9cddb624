/* Shapes of the last hour, or since a mark, as JSON for GET /shapes. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "base/hash.h"
#include "base/json.h"
#include "insight/watch/internal.h"
#include "insight/watch/snapshot.h"

typedef struct list {
    tv_buf *out;
    bool has_one;
} list;

static void add_text(tv_buf *out, const char *name, tv_slice text)
{
    tv_buf_printf(out, ",\"%s\":", name);
    tv_json_add_string(out, text);
}

static void add_time(tv_buf *out, const char *name, int64_t ticks)
{
    char text[TV_DATETIME_TEXT_MAX];
    size_t len = tv_datetime_format(text, ticks);

    tv_buf_printf(out, ",\"%s\":\"%.*s\"", name, (int)len, text);
}

static void add_number(tv_buf *out, const char *name, uint64_t number)
{
    tv_buf_printf(out, ",\"%s\":%" PRIu64, name, number);
}

static void begin(list *l, tv_slice account, tv_slice table, const char *operation,
                  uint64_t fingerprint)
{
    if (l->has_one)
        tv_buf_add_char(l->out, ',');
    l->has_one = true;
    tv_buf_add_lit(l->out, "{\"account\":");
    tv_json_add_string(l->out, account);
    add_text(l->out, "table", table);
    tv_buf_printf(l->out, ",\"operation\":\"%s\",\"fingerprint\":\"%016" PRIx64 "\"", operation,
                  fingerprint);
}

/* --- queries --- */

static void add_plans(tv_buf *out, const tv_evidence_shape *shape)
{
    tv_buf_add_lit(out, ",\"plans\":{");
    for (int i = 0; i < TV_PLAN_KINDS; i++)
        tv_buf_printf(out, "%s\"%s\":%" PRIu64, i ? "," : "", tv_plan_kind_name((tv_plan_kind)i),
                      shape->plans[i]);
    tv_buf_add_char(out, '}');
}

static void add_walks(tv_buf *out, const tv_evidence_walks *walks)
{
    tv_buf_printf(out,
                  ",\"walks\":{\"toEnd\":%" PRIu64 ",\"left\":%" PRIu64 ",\"ignored\":%" PRIu64 "}",
                  walks->to_end, walks->left, walks->ignored);
}

static void add_sources(tv_buf *out, const tv_evidence_shape *shape)
{
    tv_buf_add_lit(out, ",\"sources\":[");
    for (size_t i = 0; i < shape->source_count; i++) {
        if (i)
            tv_buf_add_char(out, ',');
        tv_json_add_string(out, shape->sources[i]);
    }
    tv_buf_add_char(out, ']');
}

static void add_query(list *l, const tv_evidence_table *table, const tv_evidence_shape *shape)
{
    tv_buf *out = l->out;

    begin(l, table->account, table->name, "QueryEntities", shape->fingerprint);
    add_text(out, "text", shape->text);
    tv_buf_printf(out, ",\"select\":%s,\"top\":%s", shape->has_select ? "true" : "false",
                  shape->has_top ? "true" : "false");
    add_number(out, "executions", shape->executions);
    add_number(out, "pages", shape->pages);
    add_plans(out, shape);
    add_number(out, "ranges", shape->ranges_sum);
    add_number(out, "rangesMax", shape->ranges_max);
    add_number(out, "list", shape->list_sum);
    add_number(out, "listMax", shape->list_max);
    add_number(out, "comparisonsMax", shape->comparisons_max);
    add_number(out, "examined", shape->examined);
    add_number(out, "examinedMax", shape->examined_max);
    add_number(out, "returned", shape->returned);
    add_number(out, "returnedMax", shape->returned_max);
    add_number(out, "bytesOut", shape->bytes_out);
    tv_buf_printf(out, ",\"p50Ms\":%.3f,\"p99Ms\":%.3f", shape->p50_ms, shape->p99_ms);
    add_walks(out, &shape->walks);
    add_time(out, "firstSeen", shape->first_ticks);
    add_time(out, "lastSeen", shape->last_ticks);
    add_text(out, "example", shape->example);
    add_text(out, "selected", shape->select);
    add_sources(out, shape);
    tv_buf_add_char(out, '}');
}

/* --- the other operations, which have one shape each --- */

static uint64_t fingerprint_of(tv_entity_op op)
{
    char text[64];

    snprintf(text, sizeof text, "v1|%s", tv_entity_op_name(op));
    return tv_fnv(tv_slice_of(text));
}

static void add_operations(list *l, tv_watch *watch, const tv_table_entry *table, int mark)
{
    for (int op = TV_ENTITY_OP_QUERY_ENTITIES + 1; op < TV_ENTITY_OP_COUNT; op++) {
        uint64_t count = tv_tally_sum(&table->tally, watch->slot, mark, TV_WATCH_TABLE_OPS + op);

        if (count == 0)
            continue;
        begin(l, tv_slice_of(table->account), tv_slice_of(table->name),
              tv_entity_op_name((tv_entity_op)op), fingerprint_of((tv_entity_op)op));
        add_number(l->out, "executions", count);
        tv_buf_add_char(l->out, '}');
    }
}

static bool is_wanted(tv_slice wanted, tv_slice name)
{
    return wanted.len == 0 || tv_slice_eq_nocase(wanted, name);
}

static bool is_asked(const tv_watch_list *asked, tv_slice account, tv_slice table)
{
    return is_wanted(asked->table, table) && is_wanted(asked->account, account);
}

static void add_queries(list *l, const tv_watch_list *asked, const tv_evidence_table *table)
{
    if (!is_asked(asked, table->account, table->name))
        return;
    for (size_t i = 0; i < table->shape_count; i++) {
        if (asked->since.len == 0 || table->shapes[i].pages)
            add_query(l, table, &table->shapes[i]);
    }
}

static void add_all_operations(list *l, const tv_watch_list *asked, tv_watch *watch,
                               const char *since)
{
    int mark;

    pthread_mutex_lock(&watch->lock);
    if (!tv_watch_find_mark(watch, since, &mark)) {
        pthread_mutex_unlock(&watch->lock); /* it was forgotten just now */
        return;
    }
    for (tv_table_entry *of = NULL; (of = tv_watch_next_table(watch, of));) {
        if (is_asked(asked, tv_slice_of(of->account), tv_slice_of(of->name)))
            add_operations(l, watch, of, mark);
    }
    pthread_mutex_unlock(&watch->lock);
}

/* How long it is since the counts of the window began: see tally.h. */
static double window_seconds(tv_watch *watch, const char *since)
{
    int64_t from_ns = watch->started_ns, slot_ns;
    int mark;

    pthread_mutex_lock(&watch->lock);
    slot_ns = (watch->slot - TV_TALLY_SLOTS + 1) * TV_TALLY_SLOT_S * TV_WATCH_SECOND_NS;
    if (since == NULL && from_ns < slot_ns)
        from_ns = slot_ns;
    else if (since && tv_watch_find_mark(watch, since, &mark))
        from_ns = watch->marks[mark].time_ns;
    pthread_mutex_unlock(&watch->lock);
    return (double)(tv_watch_now(watch) - from_ns) / (double)TV_WATCH_SECOND_NS;
}

bool tv_watch_list_shapes(tv_watch *watch, const tv_watch_list *asked, tv_buf *out)
{
    char mark[TV_WATCH_MARK_SIZE];
    const char *since = asked->since.len ? mark : NULL;
    const tv_evidence *evidence;
    list l = {.out = out};
    tv_arena arena;

    if (asked->since.len >= sizeof mark)
        return false;
    snprintf(mark, sizeof mark, "%.*s", TV_FMT(asked->since));
    tv_arena_init(&arena);
    tv_watch_fold(watch);
    evidence = tv_watch_take(watch, &arena, since);
    if (evidence) {
        tv_buf_printf(out,
                      "{\"version\":1,\"windowSeconds\":%.1f,\"requests\":%" PRIu64
                      ",\"samplePeriod\":%" PRIu32 ",\"dropped\":%" PRIu64
                      ",\"evictedShapes\":%" PRIu64 ",\"shapes\":[",
                      window_seconds(watch, since), evidence->requests, evidence->sample_period,
                      evidence->dropped, evidence->evicted_shapes);
        for (size_t i = 0; i < evidence->table_count; i++)
            add_queries(&l, asked, &evidence->tables[i]);
        add_all_operations(&l, asked, watch, since);
        tv_buf_add_lit(out, "]}\n");
    }
    tv_arena_done(&arena);
    return evidence != NULL;
}
