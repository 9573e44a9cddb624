/* Wiring of what records and judges. */
#include "server/main/advisor.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/log.h"
#include "insight/facts/evidence.h"

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

static void fill_facts(void *ctx, tv_arena *arena, tv_evidence_table *table)
{
    tv_advisor *advisor = ctx;
    tv_container *container = tv_catalog_find(advisor->tables, table->account, table->name);

    if (container == NULL)
        return;
    tv_facts_fill_evidence(advisor->facts, container->account, container->id, arena, table);
    fill_shapes(table);
    tv_container_unref(container);
}

#define MINUTE_NS INT64_C(60000000000)

/* --- the watcher's calls --- */

static void judge(void *ctx)
{
    tv_advisor *advisor = ctx;

    tv_traffic_step(advisor->traffic);
    tv_advice_judge(advisor->advice);
}

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

static void close_minute(void *ctx, uint32_t minute)
{
    tv_advisor *advisor = ctx;
    tv_err err = tv_traffic_close_minute(advisor->traffic, minute);

    tv_catalog_ids_done(&advisor->known);
    advisor->has_known = false;
    if (err && !advisor->has_told)
        tv_log(TV_LOG_WARN, "traffic", "problem=\"a minute could not be kept: %s\"",
               tv_err_name(err));
    advisor->has_told = err != TV_OK;
}

static void sample(void *ctx, uint32_t table, tv_slice key, unsigned weight)
{
    tv_advisor *advisor = ctx;

    tv_traffic_sample_number(advisor->traffic, table, key, weight);
}

/* Once, when a finding begins to be active; without keys. */
static void on_open(const tv_finding *finding)
{
    const tv_rule_info *rule = tv_rule_info_of(finding->rule);

    tv_log(TV_LOG_INFO, "advice", "rule=%s code=%s severity=%s account=%.*s table=%.*s id=\"%.*s\"",
           rule->name, rule->code, tv_severity_name(finding->severity), TV_FMT(finding->account),
           TV_FMT(finding->table), TV_FMT(finding->id));
}

static void on_trouble(const char *what)
{
    tv_log(TV_LOG_WARN, "advice", "problem=\"%s\"", what);
}

static void open_traffic(tv_advisor *advisor, const tv_advisor_options *options)
{
    char trouble[1200];

    advisor->traffic = tv_traffic_open(
        &(tv_traffic_options){.dir = options->data,
                              .shard_count = options->loop_count,
                              .now_minute = (uint32_t)(tv_watch_now(advisor->watch) / MINUTE_NS),
                              .is_dropped = is_dropped,
                              .ctx = advisor},
        trouble, sizeof trouble);
    if (trouble[0])
        tv_log(TV_LOG_WARN, "traffic", "problem=\"%s\"", trouble);
}

tv_advisor *tv_advisor_new(const tv_advisor_options *options)
{
    tv_advisor *advisor = tv_calloc(1, sizeof *advisor);

    advisor->facts = options->facts;
    advisor->tables = options->tables;
    advisor->watch = tv_watch_new(&(tv_watch_options){
        .shard_count = options->loop_count,
        .samples_all = strcmp(options->watch, "all") == 0,
        .is_clock_manual = options->is_clock_manual,
        .memory_mb = options->memory_mb,
        .judge = judge,
        .close_minute = close_minute,
        .sample = sample,
        .ctx = advisor,
    });
    open_traffic(advisor, options);
    advisor->source = (tv_watch_source){.watch = advisor->watch,
                                        .has_targets = options->has_targets,
                                        .fill_facts = options->facts ? fill_facts : NULL,
                                        .ctx = advisor};
    advisor->advice = tv_advice_new(&(tv_advice_options){
        .data = options->data,
        .source = tv_watch_evidence_source(&advisor->source),
        .on_open = on_open,
        .on_trouble = on_trouble,
    });
    return advisor;
}

void tv_advisor_start(tv_advisor *advisor)
{
    tv_watch_start(advisor->watch);
}

void tv_advisor_stop(tv_advisor *advisor)
{
    if (advisor == NULL || advisor->is_stopped)
        return;
    advisor->is_stopped = true;
    tv_watch_stop(advisor->watch);
    tv_advice_free(advisor->advice);
    advisor->advice = NULL;
    close_minute(advisor, (uint32_t)(tv_watch_now(advisor->watch) / MINUTE_NS));
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
    free(advisor);
}
