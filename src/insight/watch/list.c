/* Shapes of the last hour, or since a mark, as JSON for GET /shapes. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "insight/watch/internal.h"
#include "insight/watch/snapshot.h"

static void begin(tv_buf *out, tv_slice account, tv_slice table, const char *operation,
                  uint64_t fingerprint)
{
    tv_json_open(out, NULL, '{');
    tv_json_text(out, "account", account);
    tv_json_text(out, "table", table);
    tv_buf_printf(out, ",\"operation\":\"%s\",\"fingerprint\":\"%016" PRIx64 "\"", operation,
                  fingerprint);
}

/* --- queries --- */

static void add_plans(tv_buf *out, const tv_evidence_shape *shape)
{
    tv_json_open(out, "plans", '{');
    for (int i = 0; i < TV_PLAN_KINDS; i++)
        tv_json_number(out, tv_plan_kind_name((tv_plan_kind)i), shape->plans[i]);
    tv_buf_add_char(out, '}');
}

static void add_walks(tv_buf *out, const tv_evidence_walks *walks)
{
    tv_json_open(out, "walks", '{');
    tv_json_number(out, "toEnd", walks->to_end);
    tv_json_number(out, "left", walks->left);
    tv_json_number(out, "ignored", walks->ignored);
    tv_buf_add_char(out, '}');
}

static void add_sources(tv_buf *out, const tv_evidence_shape *shape)
{
    tv_json_open(out, "sources", '[');
    for (size_t i = 0; i < shape->source_count; i++)
        tv_json_text(out, NULL, shape->sources[i]);
    tv_buf_add_char(out, ']');
}

static void add_query(tv_buf *out, const tv_evidence_table *table, const tv_evidence_shape *shape)
{
    begin(out, table->account, table->name, "QueryEntities", shape->fingerprint);
    tv_json_text(out, "text", shape->text);
    tv_json_bool(out, "select", shape->has_select);
    tv_json_bool(out, "top", shape->has_top);
    tv_json_number(out, "executions", shape->executions);
    tv_json_number(out, "pages", shape->pages);
    add_plans(out, shape);
    tv_json_number(out, "ranges", shape->ranges_sum);
    tv_json_number(out, "rangesMax", shape->ranges_max);
    tv_json_number(out, "list", shape->list_sum);
    tv_json_number(out, "listMax", shape->list_max);
    tv_json_number(out, "comparisonsMax", shape->comparisons_max);
    tv_json_number(out, "examined", shape->examined);
    tv_json_number(out, "examinedMax", shape->examined_max);
    tv_json_number(out, "returned", shape->returned);
    tv_json_number(out, "returnedMax", shape->returned_max);
    tv_json_number(out, "bytesOut", shape->bytes_out);
    tv_buf_printf(out, ",\"p50Ms\":%.3f,\"p99Ms\":%.3f", shape->p50_ms, shape->p99_ms);
    add_walks(out, &shape->walks);
    tv_json_time(out, "firstSeen", shape->first_ticks);
    tv_json_time(out, "lastSeen", shape->last_ticks);
    tv_json_text(out, "example", shape->example);
    tv_json_text(out, "selected", shape->select);
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

static void add_operations(tv_buf *out, tv_watch *watch, const tv_table_entry *table, int mark)
{
    for (int op = TV_ENTITY_OP_QUERY_ENTITIES + 1; op < TV_ENTITY_OP_COUNT; op++) {
        uint64_t count = tv_tally_sum(&table->tally, watch->slot, mark, TV_WATCH_TABLE_OPS + op);

        if (count == 0)
            continue;
        begin(out, tv_slice_of(table->account), tv_slice_of(table->name),
              tv_entity_op_name((tv_entity_op)op), fingerprint_of((tv_entity_op)op));
        tv_json_number(out, "executions", count);
        tv_buf_add_char(out, '}');
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

static void add_queries(tv_buf *out, const tv_watch_list *asked, const tv_evidence_table *table)
{
    if (!is_asked(asked, table->account, table->name))
        return;
    for (size_t i = 0; i < table->shape_count; i++) {
        if (asked->since.len == 0 || table->shapes[i].pages)
            add_query(out, table, &table->shapes[i]);
    }
}

static void add_all_operations(tv_buf *out, const tv_watch_list *asked, tv_watch *watch,
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
            add_operations(out, watch, of, mark);
    }
    pthread_mutex_unlock(&watch->lock);
}

static double window_seconds(const tv_evidence *evidence)
{
    return (double)(evidence->to_ticks - evidence->from_ticks) / (double)TV_TICKS_PER_SECOND;
}

bool tv_watch_list_shapes(tv_watch *watch, const tv_watch_list *asked, tv_buf *out)
{
    char mark[TV_WATCH_MARK_SIZE];
    const char *since = asked->since.len ? mark : NULL;
    tv_evidence *evidence;
    tv_arena arena;
    tv_err err;

    if (asked->since.len >= sizeof mark)
        return false;
    snprintf(mark, sizeof mark, "%.*s", TV_FMT(asked->since));
    tv_arena_init(&arena);
    tv_watch_fold(watch);
    err = tv_watch_take(watch, &arena, since, &evidence);
    if (err == TV_ERR_OVERLOADED) {
        out->is_lost = true;
    } else if (!err) {
        tv_buf_printf(out,
                      "{\"version\":1,\"windowSeconds\":%.1f,\"requests\":%" PRIu64
                      ",\"samplePeriod\":%" PRIu32 ",\"dropped\":%" PRIu64
                      ",\"evictedShapes\":%" PRIu64 ",\"shapes\":[",
                      window_seconds(evidence), evidence->requests, evidence->sample_period,
                      evidence->dropped, evidence->evicted_shapes);
        for (size_t i = 0; i < evidence->table_count; i++)
            add_queries(out, asked, &evidence->tables[i]);
        add_all_operations(out, asked, watch, since);
        tv_buf_add_lit(out, "]}\n");
    }
    tv_arena_done(&arena);
    return err != TV_ERR_NOT_FOUND;
}
