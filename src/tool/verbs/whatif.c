/*
 * tavola whatif: what the queries and writes of a trace would cost under other keys.  The table's
 * entities are read into memory and put under the keys of each design; the trace's queries are
 * run over them, before and after (src/insight/whatif/).  Nothing is written anywhere.
 */
#include "../output/output.h"
#include "../text.h"
#include "../verbs.h"
#include "insight/whatif/writes.h"
#include "prices.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { COPIES_MAX = TV_SCRATCH_DESIGNS_MAX - 2, ENTITIES_MAX = 1000 * 1000, PROPERTIES_MAX = 256 };
#define BYTES_MAX (UINT64_C(2) << 30)

typedef struct whatif {
    tv_scratch *scratch;
    tv_values *values;
    tv_trace trace;
    tv_design designs[TV_SCRATCH_DESIGNS_MAX]; /* of the layouts of the same number; 0: as it is */
    size_t first, count;                       /* those that queries may use afterwards */
    tv_scratch_fit before, after;              /* of the table itself */
    uint64_t copied_bytes;
    double transactions[2];    /* of the whole trace, before and after */
    const tool_prices *prices; /* or NULL */
    tool_prices own_prices;
} whatif;

/* Of one shape, or of all. */
typedef struct cost {
    uint64_t runs;
    double examined_before, examined_after, pages_before, pages_after, returned; /* sums */
    tv_plan_kind plan_before, plan_after; /* the worst of them */
    size_t design;                        /* that answered last */
    uint64_t skipped;                     /* samples that could not be run */
    uint64_t outside;                     /* of partitions that are not in the sample */
    uint64_t wrong;                       /* whose results differ: a mistake of ours */
} cost;

/* ---- the data -------------------------------------------------------------------------------- */

static tv_property property_of(const char *name, const tavola_value *value)
{
    tv_property property = {.name = tv_slice_of(name)};

    switch (value->type) {
    case TAVOLA_STRING:
    case TAVOLA_BINARY:
        property.type = value->type == TAVOLA_STRING ? TV_EDM_STRING : TV_EDM_BINARY;
        property.bytes = (tv_slice){value->as.ptr, value->size};
        break;
    case TAVOLA_BOOLEAN:
        property.type = TV_EDM_BOOLEAN;
        property.boolean = value->as.boolean;
        break;
    case TAVOLA_INT32:
        property.type = TV_EDM_INT32;
        property.int32 = value->as.int32;
        break;
    case TAVOLA_INT64:
        property.type = TV_EDM_INT64;
        property.int64 = value->as.int64;
        break;
    case TAVOLA_DOUBLE:
        property.type = TV_EDM_DOUBLE;
        property.real = value->as.real;
        break;
    case TAVOLA_DATETIME:
        property.type = TV_EDM_DATETIME;
        property.ticks = value->as.ticks;
        break;
    case TAVOLA_GUID:
        property.type = TV_EDM_GUID;
        memcpy(&property.guid, value->as.guid.bytes, sizeof property.guid);
        break;
    case TAVOLA_NONE:
        break;
    }
    return property;
}

static void add_entity(whatif *w, const tavola_entity *entity)
{
    tv_property properties[PROPERTIES_MAX];
    size_t count = tavola_entity_count(entity), kept = 0;

    for (size_t i = 0; i < count && kept < PROPERTIES_MAX; i++) {
        tavola_value value;
        const char *name = tavola_entity_name_at(entity, i, &value);

        if (value.type != TAVOLA_NONE)
            properties[kept++] = property_of(name, &value);
    }
    tv_scratch_add(w->scratch, tv_slice_of(tavola_entity_partition_key(entity)),
                   tv_slice_of(tavola_entity_row_key(entity)), tavola_entity_timestamp(entity),
                   properties, kept);
}

static tool_exit read_table(tool_run *run, whatif *w, const char *name)
{
    const tavola_entity *entity;
    tavola_table *table = NULL;
    tavola_scan *scan = NULL;
    tavola_query *query = NULL;
    int64_t limit = ENTITIES_MAX;
    tool_exit exit = tool_number_of(run, TOOL_FLAG_LIMIT, 1, ENTITIES_MAX, &limit);
    tavola_err err = TAVOLA_OK;

    if (!exit)
        exit = tool_table(run, name, &table);
    if (!exit) {
        tv_scratch_limit(w->scratch, (size_t)limit, BYTES_MAX);
        query = tavola_query_new(NULL);
        err = tavola_scan_open(table, query, run->call, &scan);
    }
    while (!exit && !err && (err = tavola_scan_next(scan, &entity)) == TAVOLA_OK)
        add_entity(w, entity);
    if (!exit && err == TAVOLA_END && tv_scratch_added(w->scratch) &&
        tv_scratch_count(w->scratch) == 0)
        exit = tool_refuse("the partitions of %s are too large: no sample of whole ones has less "
                           "than %" PRId64 " entities and 2 GiB",
                           name, limit);
    if (!exit && err && err != TAVOLA_END)
        exit = tool_fail(run, err, NULL);
    tavola_scan_close(scan);
    tavola_query_free(query);
    tavola_table_close(table);
    return exit;
}

/* ---- the designs ----------------------------------------------------------------------------- */

static tool_exit refuse_collisions(const tv_design *design, const tv_scratch_fit *fit)
{
    tool_text shown = {0};
    tool_exit exit;

    tool_text_puts(&shown, "");
    for (size_t i = 0; i < fit->shown_count; i++)
        tool_text_printf(&shown, "%s(%.*s)", i ? ", " : "", TV_FMT(fit->shown[i]));
    exit = tool_refuse("the keys of '%.*s' are not unique: %zu entities have those of another, "
                       "such as %s; add _{RowKey}",
                       TV_FMT(design->text), fit->colliding, shown.at);
    tool_text_done(&shown);
    return exit;
}

static tool_exit add_design(whatif *w, const char *text, bool is_base)
{
    tv_scratch_fit fit;
    char problem[1024];

    if (!tv_design_parse(tv_slice_of(text), &w->designs[w->count], problem, sizeof problem))
        return tool_refuse("%s", problem);
    tv_scratch_add_design(w->scratch, &w->designs[w->count], &fit);
    if (fit.colliding)
        return refuse_collisions(&w->designs[w->count], &fit);
    if (fit.missing && is_base)
        return tool_refuse("%zu entities have no %.*s, or none that can be part of a key: '%s' is "
                           "no key for all of them; it can be a --copy",
                           fit.missing, TV_FMT(fit.missing_name), text);
    if (fit.missing)
        tool_note("%zu entities are not in the copy '%s': they have no %.*s", fit.missing, text,
                  TV_FMT(fit.missing_name));
    if (is_base)
        w->after = fit;
    else
        w->copied_bytes += fit.bytes;
    w->count++;
    return TOOL_OK;
}

static tool_exit add_designs(const tool_run *run, whatif *w)
{
    const char *key = tool_value_of(run, TOOL_FLAG_KEY);
    const char *copy;
    tool_exit exit = TOOL_OK;

    tv_scratch_add_design(w->scratch, NULL, &w->before);
    w->after = w->before;
    w->first = key ? 1 : 0; /* a new key takes the place of the old one */
    w->count = 1;
    if (key)
        exit = add_design(w, key, true);
    for (size_t i = 0; !exit && (copy = tool_value_nth(run, TOOL_FLAG_COPY, i)); i++)
        exit = i < COPIES_MAX ? add_design(w, copy, false)
                              : tool_refuse("there can be %d copies at most", COPIES_MAX);
    return exit;
}

/* ---- queries --------------------------------------------------------------------------------- */

static void run_sample(whatif *w, const tv_filter *filter, tv_arena *arena, cost *of)
{
    tv_scratch_result before, best = {0}, other;
    bool has_best = false;

    if (tv_scratch_is_outside(w->scratch, filter)) {
        of->outside++;
        return;
    }
    if (!tv_scratch_run(w->scratch, 0, filter, arena, &before))
        return;
    for (size_t i = w->first; i < w->count; i++) {
        if (!tv_scratch_run(w->scratch, i, filter, arena, &other) ||
            (has_best && other.examined >= best.examined))
            continue;
        best = other;
        has_best = true;
        of->design = i;
    }
    if (!has_best) {
        of->skipped++;
        return;
    }
    of->runs++;
    of->examined_before += before.examined;
    of->examined_after += best.examined;
    of->pages_before += before.pages;
    of->pages_after += best.pages;
    of->returned += before.returned;
    of->wrong += before.sum != best.sum || before.matches != best.matches;
    if (before.plan > of->plan_before)
        of->plan_before = before.plan;
    if (best.plan > of->plan_after)
        of->plan_after = best.plan;
}

static cost run_shape(whatif *w, const tv_trace_shape *shape)
{
    cost of = {0};

    for (size_t i = 0; i < shape->sample_count; i++) {
        tv_arena arena;
        tv_filter *filter;

        tv_arena_init(&arena);
        if (tv_trace_filter(shape, &shape->samples[i], w->values, &arena, &filter))
            run_sample(w, filter, &arena, &of);
        else
            of.skipped++;
        tv_arena_done(&arena);
    }
    return of;
}

static double mean(double sum, uint64_t count)
{
    return count ? sum / (double)count : 0;
}

static void print_shape(tool_output *output, const whatif *w, const tv_trace_shape *shape,
                        const cost *of)
{
    char *text = tool_copy_part(shape->text.data, shape->text.len);
    char fingerprint[17], by[32] = "the table";

    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, shape->fingerprint);
    if (of->design > w->first)
        snprintf(by, sizeof by, "copy %zu", of->design - w->first);

    bool has_run = of->runs > 0;
    tool_field fields[] = {
        {"Shape", tavola_string(fingerprint)},
        {"Query", tavola_string(text)},
        {"Executions", tavola_int64((int64_t)shape->executions)},
        {"Replayed", tavola_int64((int64_t)of->runs)},
        {"PlanBefore", tool_text_value(has_run ? tv_plan_kind_name(of->plan_before) : NULL)},
        {"ExaminedBefore", tavola_double(mean(of->examined_before, of->runs))},
        {"PagesBefore", tavola_double(mean(of->pages_before, of->runs))},
        {"PlanAfter", tool_text_value(has_run ? tv_plan_kind_name(of->plan_after) : NULL)},
        {"ExaminedAfter", tavola_double(mean(of->examined_after, of->runs))},
        {"PagesAfter", tavola_double(mean(of->pages_after, of->runs))},
        {"Returned", tavola_double(mean(of->returned, of->runs))},
        {"By", tool_text_value(has_run ? by : NULL)},
    };

    tool_output_record(output, fields, sizeof fields / sizeof fields[0]);
    free(text);
}

/* ---- the report ------------------------------------------------------------------------------ */

/* What the requests of the trace and the stored entities cost, by the user's own prices. */
static void print_cost(const whatif *w)
{
    double factor = tv_scratch_bytes_factor(w->scratch);
    double bytes = factor * (double)w->before.bytes;
    double then = factor * (double)(w->after.bytes + w->copied_bytes);

    if (w->prices)
        tool_note("cost: %.0f -> %.0f transactions of the trace, %.6g -> %.6g %s; %.0f -> %.0f "
                  "bytes, %.6g -> %.6g %s a month",
                  w->transactions[0], w->transactions[1],
                  tool_price_of_transactions(w->prices, w->transactions[0]),
                  tool_price_of_transactions(w->prices, w->transactions[1]), w->prices->currency,
                  bytes, then, tool_price_of_bytes(w->prices, bytes),
                  tool_price_of_bytes(w->prices, then), w->prices->currency);
}

/* Requests: pages of queries, and a write for each copy beside each of the trace. */
static void count_transactions(whatif *w)
{
    size_t copies = w->count - w->first - 1;

    w->transactions[0] += (double)w->trace.write_requests;
    w->transactions[1] += (double)w->trace.write_requests * (1 + (double)copies);
}

static const char *end_of_table(int moves)
{
    return moves > 0 ? "the end" : moves < 0 ? "the beginning" : "all over";
}

static void print_writes(const tv_writes *of)
{
    const tv_writes_side *before = &of->before, *after = &of->after;

    if (of->writes)
        tool_note("hottest partition: %.0f %% -> %.0f %% of %" PRIu64 " units of 1 KiB written; in "
                  "its worst 10 s %.4g -> %.4g units a second, %.0f %% -> %.0f %% of that time's",
                  100 * before->hottest, 100 * after->hottest, of->units, before->worst_second,
                  after->worst_second, 100 * before->worst_share, 100 * after->worst_share);
    if (before->has_direction)
        tool_note("inserts go to %s (D %.2f) -> %s (D %.2f)", end_of_table(before->moves),
                  before->direction, end_of_table(after->moves), after->direction);
    if (of->unknown)
        tool_note("the trace does not show the keys of %" PRIu64 " writes", of->unknown);
    if (of->gone)
        tool_note("%" PRIu64 " writes are of entities that are not in the data", of->gone);
}

static void print_limits(const whatif *w, const cost *all, const tv_writes *of)
{
    if (tv_scratch_count(w->scratch) < tv_scratch_added(w->scratch))
        tool_note("a sample of whole partitions, %zu of %zu entities: examined entities, pages and "
                  "bytes are scaled by up to %.4g; the largest partition is that of the sample",
                  tv_scratch_count(w->scratch), tv_scratch_added(w->scratch),
                  tv_scratch_factor(w->scratch));
    if (all->outside)
        tool_note("%" PRIu64 " executions name partitions that are not in the sample",
                  all->outside);
    if (all->skipped)
        tool_note("%" PRIu64 " executions were not replayed: their shape or values are not in the "
                  "trace, or not in the data",
                  all->skipped);
    if (w->trace.unnamed)
        tool_note("%" PRIu64 " pages were not looked at: the trace does not have the text of their "
                  "shape",
                  w->trace.unnamed);
    if (w->trace.lost)
        tool_note("the trace is incomplete: %" PRIu64 " requests are missing", w->trace.lost);
    if (w->trace.head.values == TV_WATCH_TRACE_HASH && of->writes)
        tool_note("the keys of writes are hashes: entities of the data stand in for them, the "
                  "largest partition for the one with most rows");
}

static void print_verdict(whatif *w, const cost *all, const tv_writes *of)
{
    size_t copies = w->count - w->first - 1;
    double factor = tv_scratch_bytes_factor(w->scratch);

    if (of->broken)
        tool_note("breaks: %" PRIu64 " transactions of the trace would span partitions",
                  of->broken);
    tool_note(
        "%" PRIu64 " queries replayed: %.1f -> %.1f examined each; largest partition %zu -> "
        "%zu of %zu entities; %zu writes per insert; %" PRIu64 " transactions break; %.0f -> "
        "%.0f bytes",
        all->runs, mean(all->examined_before, all->runs), mean(all->examined_after, all->runs),
        w->before.largest, w->after.largest, tv_scratch_count(w->scratch), copies + 1, of->broken,
        factor * (double)w->before.bytes, factor * (double)(w->after.bytes + w->copied_bytes));
    print_writes(of);
    print_limits(w, all, of);
    print_cost(w);
    tool_note(
        "the data are those of now, not of the trace; no times are predicted; copies are taken "
        "for up to date");
}

static tool_exit report(const tool_run *run, whatif *w)
{
    tool_output *output = NULL;
    tool_exit exit = tool_output_open(run, true, &output);
    cost all = {0};
    tv_writes written;

    if (exit)
        return exit;
    tv_trace_count_hashes(&w->trace, w->values);
    for (size_t i = 0; i < w->trace.shape_count; i++) {
        cost of;

        if (tool_stop_signal()) {
            tool_output_close(output);
            return tool_stopped();
        }
        of = run_shape(w, &w->trace.shapes[i]);
        print_shape(output, w, &w->trace.shapes[i], &of);
        w->transactions[0] +=
            (double)w->trace.shapes[i].executions * mean(of.pages_before, of.runs);
        w->transactions[1] += (double)w->trace.shapes[i].executions * mean(of.pages_after, of.runs);
        all.runs += of.runs;
        all.examined_before += of.examined_before;
        all.examined_after += of.examined_after;
        all.skipped += of.skipped;
        all.outside += of.outside;
        all.wrong += of.wrong;
    }
    tool_output_close(output);
    written = tv_writes_follow(&w->trace, w->scratch, w->first);
    count_transactions(w);
    print_verdict(w, &all, &written);
    if (all.wrong)
        return tool_trouble("%" PRIu64
                            " queries return something else under the new keys: this is a "
                            "mistake of tavola whatif",
                            all.wrong);
    return TOOL_OK;
}

static tool_exit run_whatif(tool_run *run)
{
    const char *table = tool_value_of(run, TOOL_FLAG_TABLE);
    char problem[1024];
    tavola_client *client = NULL;
    tool_exit exit;
    whatif *w;

    if (table == NULL)
        return tool_refuse("which table? --table NAME");
    if (!tool_has(run, TOOL_FLAG_KEY) && !tool_has(run, TOOL_FLAG_COPY))
        return tool_refuse("which keys? --key \"PartitionKey=...;RowKey=...\", or --copy for an "
                           "index beside the table");
    w = tool_alloc(sizeof *w);
    memset(w, 0, sizeof *w);
    w->scratch = tv_scratch_new();
    w->values = tv_values_new(w->scratch);
    tv_arena_init(&w->trace.arena);
    exit = tool_client(run, &client);
    if (!exit && tool_has(run, TOOL_FLAG_PRICES)) {
        exit = tool_prices_read(tool_value_of(run, TOOL_FLAG_PRICES), &w->own_prices);
        w->prices = &w->own_prices;
    }
    if (!exit && !tv_trace_load(run->args[0], tv_slice_of(tavola_client_account(client)),
                                tv_slice_of(table), &w->trace, problem, sizeof problem))
        exit = tool_trouble("%s", problem);
    if (!exit && w->trace.head.hides_names)
        exit = tool_refuse("%s hides names (--trace-names hash), so nothing can be said of %s",
                           run->args[0], table);
    if (!exit && w->trace.shape_count == 0 && w->trace.write_count == 0)
        exit = tool_refuse("%s has no request for the table %s", run->args[0], table);
    if (!exit)
        exit = read_table(run, w, table);
    if (!exit)
        exit = add_designs(run, w);
    if (!exit)
        exit = report(run, w);
    tv_trace_done(&w->trace);
    tv_values_free(w->values);
    tv_scratch_free(w->scratch);
    free(w);
    return exit;
}

const tool_verb tool_whatif_verbs[] = {
    {"whatif", "TRACE", "What the queries of a trace would cost under other keys", 1, 1,
     TOOL_BIT(TABLE) | TOOL_BIT(KEY) | TOOL_BIT(COPY) | TOOL_BIT(PRICES) | TOOL_BIT(LIMIT),
     .run = run_whatif,
     .examples = "  tavola whatif run.trace --table Employees \\\n"
                 "      --copy \"PartitionKey=email_{Email};RowKey={PartitionKey}_{RowKey}\"\n"},
    {0},
};
