/* See advisor.h. */
#include "insight/advisor/advisor.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/log.h"
#include "insight/facts/evidence.h"

enum { MINUTE_S = 60 };

#define MINUTE_NS (MINUTE_S * INT64_C(1000000000))

/* --- what is known of the data of a table --- */

static tv_evidence_partition *partition_of(tv_evidence_table *table, tv_slice partition_key)
{
    for (size_t i = 0; i < table->partition_count; i++) {
        if (tv_slice_eq(table->partitions[i].partition_key, partition_key))
            return &table->partitions[i];
    }
    return NULL;
}

/* How large the partition is that a shape has asked for and that had most to look at. */
static void fill_shapes(tv_evidence_table *table)
{
    for (size_t i = 0; i < table->shape_count; i++) {
        tv_evidence_shape *shape = &table->shapes[i];
        const tv_evidence_partition *partition = partition_of(table, shape->largest_partition);

        if (shape->largest_partition.len && partition && partition->entities_now) {
            shape->partition_entities_max = partition->entities_now;
            shape->partition_entities_known = shape->partitions_asked < 1.5;
        }
    }
}

static void fill_table(tv_advisor *advisor, tv_arena *arena, tv_evidence_table *table)
{
    tv_container *container = tv_catalog_find(advisor->tables, table->account, table->name);

    if (container == NULL)
        return;
    tv_facts_fill_evidence(advisor->facts, container->account, container->id, arena, table);
    fill_shapes(table);
    tv_container_unref(container);
}

static void fill(tv_advisor *advisor, tv_arena *arena, tv_evidence *evidence)
{
    evidence->has_targets = advisor->has_targets;
    for (size_t i = 0; advisor->facts && i < evidence->table_count; i++)
        fill_table(advisor, arena, &evidence->tables[i]);
}

/* --- judging --- */

static void judge(tv_advisor *advisor)
{
    tv_params params = tv_params_default(TV_EVIDENCE_LIVE);
    tv_evidence *evidence;
    tv_findings found;
    tv_arena arena;

    tv_arena_init(&arena);
    if (tv_watch_take(advisor->watch, &arena, NULL, &evidence) == TV_OK) { /* else the next time */
        fill(advisor, &arena, evidence);
        found = tv_rules_judge(&arena, evidence, &params);
        tv_advice_keep(advisor->advice, evidence, &found);
    }
    tv_arena_done(&arena);
}

bool tv_advisor_judge_run(tv_advisor *advisor, tv_slice mark, const tv_params *params,
                          const tv_advice_query *query, tv_buf *out)
{
    tv_evidence *evidence;
    tv_findings found;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    tv_watch_fold(advisor->watch);
    err = tv_watch_take(advisor->watch, &arena,
                        tv_arena_printf(&arena, "%.*s", TV_FMT(mark)).data, &evidence);
    if (err == TV_ERR_OVERLOADED) {
        out->is_lost = true;
    } else if (!err) {
        fill(advisor, &arena, evidence);
        found = tv_rules_judge(&arena, evidence, params);
        tv_advice_write_run(advisor->advice, query, &arena, evidence, &found, out);
    }
    tv_arena_done(&arena);
    return err != TV_ERR_NOT_FOUND;
}

/* --- traffic by key --- */

/*
 * Only of tables whose traffic is in columns, so they were found in the catalogue before it is
 * looked at here, once for all tables of a longer column.  Of many nodes' catalogue a node may
 * not know all tables, so nothing is left out there.
 */
static bool is_dropped(void *ctx, tv_slice account, int64_t table_id)
{
    tv_advisor *advisor = ctx;

    if (tv_catalog_is_shared(advisor->tables))
        return false;
    if (!advisor->has_known)
        tv_catalog_ids_take(advisor->tables, &advisor->known);
    advisor->has_known = true;
    return !tv_catalog_ids_have(&advisor->known, account, table_id);
}

static void close_minute(tv_advisor *advisor, int64_t time_ns)
{
    tv_err err = tv_traffic_close_minute(advisor->traffic, (uint32_t)(time_ns / MINUTE_NS));

    tv_catalog_ids_done(&advisor->known);
    advisor->has_known = false;
    if (err && !advisor->has_told)
        tv_log(TV_LOG_WARN, "traffic", "problem=\"a minute could not be kept: %s\"",
               tv_err_name(err));
    advisor->has_told = err != TV_OK;
}

static void open_traffic(tv_advisor *advisor, const tv_advisor_options *options)
{
    char trouble[1200];

    advisor->traffic = tv_traffic_open(
        &(tv_traffic_options){.dir = options->data,
                              .shard_count = options->loop_count,
                              .now_minute = (uint32_t)(tv_watch_start_ns() / MINUTE_NS),
                              .is_dropped = is_dropped,
                              .ctx = advisor},
        trouble, sizeof trouble);
    if (trouble[0])
        tv_log(TV_LOG_WARN, "traffic", "problem=\"%s\"", trouble);
}

/* --- time --- */

/* What has fallen due by now. */
static void step(tv_advisor *advisor)
{
    tv_watch_span span = tv_watch_step(advisor->watch);

    if (tv_watch_span_ends(span, TV_WATCH_JUDGE_S)) {
        tv_traffic_step(advisor->traffic);
        judge(advisor);
    }
    if (tv_watch_span_ends(span, MINUTE_S))
        close_minute(advisor, span.from_ns);
}

void tv_advisor_advance(tv_advisor *advisor, int64_t ns)
{
    int64_t to;

    pthread_mutex_lock(&advisor->stepping);
    to = tv_watch_now(advisor->watch) + ns;
    tv_watch_fold(advisor->watch);
    while (tv_watch_move_clock(advisor->watch, to))
        step(advisor);
    pthread_mutex_unlock(&advisor->stepping);
}

static void run(tv_background *thread, void *ctx)
{
    tv_advisor *advisor = ctx;

    while (tv_background_sleep(thread, advisor->is_prompt ? 50 : 1000)) {
        pthread_mutex_lock(&advisor->stepping);
        step(advisor);
        pthread_mutex_unlock(&advisor->stepping);
    }
}

/* --- life --- */

tv_advisor *tv_advisor_new(const tv_advisor_options *options)
{
    tv_advisor *advisor = tv_calloc(1, sizeof *advisor);
    bool samples_all = strcmp(options->watch, "all") == 0;

    advisor->facts = options->facts;
    advisor->tables = options->tables;
    advisor->has_targets = options->has_targets;
    advisor->is_prompt = samples_all || options->is_clock_manual; /* sheets fill up sooner */
    pthread_mutex_init(&advisor->stepping, NULL);
    open_traffic(advisor, options);
    advisor->watch = tv_watch_new(&(tv_watch_options){
        .shard_count = options->loop_count,
        .samples_all = samples_all,
        .is_clock_manual = options->is_clock_manual,
        .memory_mb = options->memory_mb,
        .traffic = advisor->traffic,
    });
    advisor->advice = tv_advice_new(options->data);
    judge(advisor); /* so that there is a window to tell of */
    return advisor;
}

void tv_advisor_start(tv_advisor *advisor)
{
    /* It does not give way: requests may wait for its locks, which it holds for microseconds. */
    tv_background_start(&advisor->thread,
                        &(tv_background_options){.name = "advisor", .run = run, .ctx = advisor});
    advisor->is_started = true;
}

void tv_advisor_stop(tv_advisor *advisor)
{
    if (advisor == NULL || advisor->is_stopped)
        return;
    advisor->is_stopped = true;
    if (advisor->is_started)
        tv_background_done(&advisor->thread);
    tv_advice_free(advisor->advice);
    advisor->advice = NULL;
    close_minute(advisor, tv_watch_now(advisor->watch));
    if (tv_traffic_sync(advisor->traffic))
        tv_log(TV_LOG_WARN, "traffic", "problem=\"it could not be made durable\"");
}

void tv_advisor_free(tv_advisor *advisor)
{
    if (advisor == NULL)
        return;
    tv_advisor_stop(advisor);
    tv_watch_free(advisor->watch);
    tv_traffic_free(advisor->traffic);
    pthread_mutex_destroy(&advisor->stepping);
    free(advisor);
}
