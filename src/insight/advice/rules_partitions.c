/* P01 to P03: traffic that meets in one place. */
#include <math.h>

#include "base/clock.h"
#include "insight/advice/judging.h"
#include "insight/advice/proposal.h"
#include "insight/advice/shares.h"

static const double ten_minutes = 600;
static const double top_row_share = 0.05; /* of a partition's units: a row is worth naming */

static void add_top_rows(tv_judging *j, tv_finding *finding, const tv_evidence_partition *partition)
{
    tv_slice top[4];
    size_t count = 0;
    double units = 0;

    for (size_t i = 0; i < j->table->row_count && count < 4; i++) {
        const tv_evidence_row *row = &j->table->rows[i];

        if (tv_slice_eq(row->partition_key, partition->partition_key) &&
            row->rate.units >= top_row_share * partition->rate.units) {
            top[count++] = row->row_key;
            units += row->rate.units;
        }
    }
    tv_find_keys(finding, "topRows", top, count);
    tv_find_number(finding, "topRowsShare", fmin(1, tv_ratio(units, partition->rate.units)));
}

/* What one partition, or one entity, has of the reads and of the writes of its table. */
typedef struct key_portion {
    double reads, writes;
    double reads_error, writes_error; /* of what was sampled, as in evidence.h */
    const char *hot_of; /* "reads" or "writes" when it stands out at any rate, or NULL */
    double hot;         /* its share of these */
} key_portion;

static double share_of(uint64_t part, double all)
{
    return fmin(1, tv_ratio((double)part, all));
}

/* The error of a part of the requests that `rate` is made of, from the error of all of their units:
 * that of a count grows with its root. */
static double error_of(const tv_evidence_rate *rate, uint64_t part, uint64_t all)
{
    double each = tv_ratio(rate->units, (double)all);

    return tv_ratio(rate->units_error, each) * sqrt(tv_ratio((double)part, (double)all));
}

static key_portion portion_of(const tv_judging *j, const tv_evidence_rate *rate, uint64_t reads,
                              uint64_t writes)
{
    const tv_evidence_table *table = j->table;
    double all_reads = (double)(table->point_reads + table->query_executions);

    return (key_portion){
        .reads = share_of(reads, all_reads),
        .writes = share_of(writes, (double)table->writes),
        .reads_error = tv_ratio(error_of(rate, reads, reads + writes), all_reads),
        .writes_error = tv_ratio(error_of(rate, writes, reads + writes), (double)table->writes),
    };
}

/* Whether one row has 80 % of a partition's traffic, or of what makes the partition stand out. */
static bool is_one_row(const tv_judging *j, const tv_evidence_partition *partition,
                       const key_portion *portion)
{
    for (size_t i = 0; i < j->table->row_count; i++) {
        const tv_evidence_row *row = &j->table->rows[i];
        key_portion of_row = portion_of(j, &row->rate, row->reads, row->writes);

        if (tv_slice_eq(row->partition_key, partition->partition_key) &&
            (portion->hot_of == NULL          ? row->rate.units >= 0.8 * partition->rate.units
             : portion->hot == portion->reads ? of_row.reads >= 0.8 * portion->reads
                                              : of_row.writes >= 0.8 * portion->writes))
            return true;
    }
    return false;
}

/* Those of its kind: how many were read, and written, and whether there are more. */
typedef struct company {
    uint32_t read, written;
    bool may_be_read, may_be_written;
} company;

/* Not by what a load has written, nor in a run, where tests use what they have made. */
static void find_hot(const tv_judging *j, key_portion *portion, double least, double requests,
                     const company *of)
{
    const tv_evidence_table *table = j->table;

    if (tv_is_run(j))
        return;
    if ((double)(table->point_reads + table->query_executions) >= requests &&
        tv_share_is_hot(portion->reads, least, of->read, of->may_be_read)) {
        portion->hot_of = "reads";
        portion->hot = portion->reads;
    }
    if ((double)table->writes - j->rate.load_writes >= requests &&
        2 * j->rate.load_writes <= (double)table->writes && portion->writes > portion->hot &&
        tv_share_is_hot(portion->writes, least, of->written, of->may_be_written)) {
        portion->hot_of = "writes";
        portion->hot = portion->writes;
    }
}

/* A new one that is hardly read yet: filled once, it will not be hot tomorrow. */
static bool is_filled(const tv_judging *j, const tv_evidence_partition *partition)
{
    return !partition->throttled && !tv_is_run(j) && partition->is_new &&
           partition->active_seconds < ten_minutes && partition->writes > 9 * partition->reads;
}

static bool hot_severity(const tv_judging *j, const tv_evidence_partition *partition,
                         key_portion *portion, tv_severity *ret_severity)
{
    const tv_evidence_table *table = j->table;
    bool has_others = table->partitions_now >= 2;
    /* What is new may all go to the partition of today: that is an append. */
    company of = {table->partitions_read, table->partitions_written, has_others,
                  has_others && !tv_inserts_move(j)};

    if (partition->throttled ||
        partition->rate.peak_per_second >= TV_THRESHOLD(j, P01, error_per_second))
        *ret_severity = TV_SEVERITY_ERROR;
    else if (partition->rate.sustained_per_second >= TV_THRESHOLD(j, P01, warning_per_second))
        *ret_severity = TV_SEVERITY_WARNING;
    else if (partition->active_seconds >= TV_THRESHOLD(j, P01, share_seconds))
        find_hot(j, portion, TV_THRESHOLD(j, P01, share), TV_THRESHOLD(j, P01, share_requests),
                 &of);
    if (portion->hot_of)
        *ret_severity = TV_SEVERITY_INFO;
    else if (*ret_severity == TV_SEVERITIES)
        return false;
    if (is_filled(j, partition))
        *ret_severity = TV_SEVERITY_INFO;
    return true;
}

/* How much it had, with the errors of what was sampled. */
static void find_portion(const tv_judging *j, tv_finding *finding, const key_portion *portion,
                         const tv_evidence_rate *rate, double share, uint64_t reads,
                         uint64_t writes)
{
    tv_find_sampled(finding, "share", share, tv_ratio(rate->units_error, j->table->rate.units));
    tv_find_sampled(finding, "reads", (double)reads, error_of(rate, reads, reads + writes));
    tv_find_sampled(finding, "writes", (double)writes, error_of(rate, writes, reads + writes));
    tv_find_sampled(finding, "readShare", portion->reads, portion->reads_error);
    tv_find_sampled(finding, "writeShare", portion->writes, portion->writes_error);
}

void tv_judge_hot_partition(tv_judging *j, const tv_evidence_partition *partition)
{
    key_portion portion = portion_of(j, &partition->rate, partition->reads, partition->writes);
    tv_severity severity = TV_SEVERITIES; /* none yet */
    tv_finding *finding;

    if (!hot_severity(j, partition, &portion, &severity) ||
        (partition->throttled == 0 && (is_one_row(j, partition, &portion) || !tv_has_rates(j))))
        return;
    finding = tv_find(j, TV_RULE_P01, severity,
                      partition->throttled ? TV_CONFIDENCE_CERTAIN : TV_CONFIDENCE_HIGH);
    if (portion.hot_of)
        finding->title = tv_arena_printf(j->arena, "Partition {pk} takes %.*s of the table's %s",
                                         TV_FMT(tv_percent(j, portion.hot)), portion.hot_of);
    else if (is_filled(j, partition))
        finding->title = TV_LIT("Partition {pk} is filled near what Azure gives one partition");
    tv_find_on_partition(j, finding, partition->partition_key);
    tv_find_number(finding, "peakPerSecond", partition->rate.peak_per_second);
    tv_find_sampled(finding, "meanPerSecond", partition->rate.units / j->rate.seconds,
                    partition->rate.units_error / j->rate.seconds);
    tv_find_number(finding, "target", TV_THRESHOLD(j, P01, target));
    find_portion(j, finding, &portion, &partition->rate, partition->share, partition->reads,
                 partition->writes);
    tv_find_number(finding, "throttled", (double)partition->throttled);
    if (partition->throttled)
        tv_find_number(finding, "rateAtThrottle", partition->rate_at_throttle);
    add_top_rows(j, finding, partition);
    TV_COMPARED(j, finding, P01, warning_per_second);
    TV_COMPARED(j, finding, P01, warning_slots);
    TV_COMPARED(j, finding, P01, error_per_second);
    TV_COMPARED(j, finding, P01, share);
    TV_COMPARED(j, finding, P01, share_requests);
    if (partition->throttled)
        finding->cure = tv_arena_printf(
            j->arena,
            "Azure's target for one partition is %.0f entities of 1 KiB a second; this one reached "
            "%.0f, and %llu requests were refused as Azure may refuse them. %s",
            TV_THRESHOLD(j, P01, target), partition->rate.peak_per_second,
            (unsigned long long)partition->throttled, tv_rule_info_of(TV_RULE_P01)->cure);
    finding->proposal = tv_propose_spread(j, partition->rate.peak_per_second);
    finding->cost.throttled = tv_per_hour(j, (double)partition->throttled);
}

/* So many rows and partitions that traffic goes to; one partition is the row's own. */
static uint32_t others_of(uint32_t rows, uint32_t partitions)
{
    return rows && partitions ? rows + partitions - 1 : rows;
}

/* A table of one or two counters has nothing else to read. */
static bool has_few_entities(const tv_judging *j)
{
    return j->table->is_exact && j->table->entities_now <= TV_FEW_ENTITIES;
}

static bool hot_row_severity(const tv_judging *j, const tv_evidence_row *row, key_portion *portion,
                             tv_severity *ret_severity)
{
    const tv_evidence_table *table = j->table;
    bool has_others = !has_few_entities(j);
    company of = {others_of(table->rows_read, table->partitions_read),
                  others_of(table->rows_written, table->partitions_written), has_others,
                  has_others};

    if (row->rate.peak_per_second >= TV_THRESHOLD(j, P02, error_per_second)) {
        *ret_severity = TV_SEVERITY_ERROR;
        return true;
    }
    if (row->rate.sustained_per_second >= TV_THRESHOLD(j, P02, warning_per_second) ||
        (row->share >= TV_THRESHOLD(j, P02, share) &&
         j->rate.lasting_per_second >= TV_THRESHOLD(j, P02, share_per_second))) {
        *ret_severity = TV_SEVERITY_WARNING;
        return true;
    }
    if (row->active_seconds >= TV_THRESHOLD(j, P02, share_seconds))
        find_hot(j, portion, TV_THRESHOLD(j, P02, share), TV_THRESHOLD(j, P02, share_requests),
                 &of);
    *ret_severity = TV_SEVERITY_INFO;
    return portion->hot_of != NULL;
}

void tv_judge_hot_entity(tv_judging *j, const tv_evidence_row *row)
{
    key_portion portion = portion_of(j, &row->rate, row->reads, row->writes);
    tv_severity severity;
    tv_finding *finding;

    if (!hot_row_severity(j, row, &portion, &severity))
        return;
    if (has_few_entities(j) &&
        row->rate.sustained_per_second < TV_THRESHOLD(j, P02, warning_per_second) &&
        severity < TV_SEVERITY_ERROR)
        return;
    if (!tv_has_rates(j))
        return;
    finding = tv_find(j, TV_RULE_P02, severity, TV_CONFIDENCE_HIGH);
    tv_find_on_entity(j, finding, row->partition_key, row->row_key);
    tv_find_title(j, finding, "share", tv_percent(j, portion.hot_of ? portion.hot : row->share));
    tv_find_title(j, finding, "traffic", tv_slice_of(portion.hot_of ? portion.hot_of : "traffic"));
    tv_find_sampled(finding, "perSecond", row->rate.units / j->rate.seconds,
                    row->rate.units_error / j->rate.seconds);
    tv_find_number(finding, "peakPerSecond", row->rate.peak_per_second);
    find_portion(j, finding, &portion, &row->rate, row->share, row->reads, row->writes);
    TV_COMPARED(j, finding, P02, warning_per_second);
    TV_COMPARED(j, finding, P02, error_per_second);
    TV_COMPARED(j, finding, P02, share);
    TV_COMPARED(j, finding, P02, share_per_second);
    TV_COMPARED(j, finding, P02, share_requests);
    finding->cure =
        row->reads > row->writes
            ? TV_LIT("Keep it in the client for as long as it may be old, and read it again only "
                     "then.")
            : TV_LIT("Let one worker apply the changes, from a queue. A counter can be split over "
                     "several entities, of which one is changed at random.");
    finding->cost.requests = tv_per_hour(j, row->rate.units) / 2;
}

/* Conflicts are counted over the last minutes of the clock, with the one at hand. */
static int64_t conflicts_since(const tv_judging *j)
{
    const int64_t minute = 60 * TV_TICKS_PER_SECOND;
    int64_t since =
        (j->evidence->to_ticks / minute + 1 - (int64_t)TV_THRESHOLD(j, P03, window_min)) * minute;

    return since > j->rate.from_ticks ? since : j->rate.from_ticks;
}

void tv_judge_etag_contention(tv_judging *j, const tv_evidence_row *row)
{
    /* A lock that is given up by deletion, and a request that came twice, are no contention. */
    double conflicts =
        (double)row->conflicts - (double)row->conflicts_gone - (double)row->conflicts_replayed;
    double ratio = tv_ratio(conflicts, (double)row->conditional_writes);
    size_t named = row->changed_count < 4 ? row->changed_count : 4;
    tv_severity severity = TV_SEVERITY_WARNING;
    tv_finding *finding;

    if (conflicts < TV_THRESHOLD(j, P03, conflicts) || ratio < TV_THRESHOLD(j, P03, ratio)) {
        /* At a small rate: half of the writes and more. */
        if (conflicts < TV_THRESHOLD(j, P03, few_conflicts) ||
            ratio < TV_THRESHOLD(j, P03, few_ratio))
            return;
        severity = TV_SEVERITY_INFO;
    } else if (conflicts >= TV_THRESHOLD(j, P03, error_conflicts) &&
               ratio >= TV_THRESHOLD(j, P03, error_ratio))
        severity = TV_SEVERITY_ERROR;
    finding = tv_find(j, TV_RULE_P03, severity, TV_CONFIDENCE_CERTAIN);
    if (!tv_is_run(j))
        tv_find_since(finding, conflicts_since(j));
    tv_find_on_entity(j, finding, row->partition_key, row->row_key);
    tv_find_number(finding, "conflicts", conflicts);
    tv_find_number(finding, "conditionalWrites", (double)row->conditional_writes);
    tv_find_number(finding, "ratio", ratio);
    tv_find_number(finding, "clients", row->conflict_clients);
    tv_find_texts(finding, "changedProperties", row->changed, named);
    tv_find_number(finding, "attemptsPerSuccess",
                   tv_ratio((double)row->conditional_writes,
                            (double)row->conditional_writes - (double)row->conflicts));
    TV_COMPARED(j, finding, P03, window_min);
    TV_COMPARED(j, finding, P03, conflicts);
    TV_COMPARED(j, finding, P03, ratio);
    TV_COMPARED(j, finding, P03, error_conflicts);
    TV_COMPARED(j, finding, P03, error_ratio);
    finding->cost.requests = 2 * tv_per_hour(j, conflicts);
    if (row->changed_count > 0 && row->changed_count <= 2 &&
        row->changed_numbers == row->changed_count)
        finding->proposal = (tv_proposal){
            .is_set = true,
            .pattern = TV_LIT("split-counter"),
            .function = TV_LIT("tavola_update"),
            .partition_key = TV_LIT("{PartitionKey}"),
            .row_key =
                tv_arena_printf(j->arena, "{RowKey}%c{bucket:2}", tv_key_separator(j->table)),
            .notes = {tv_arena_printf(j->arena, "add to one of %u at random, sum them in one range",
                                      row->conflict_clients < 2 ? 2 : row->conflict_clients)},
            .note_count = 1,
        };
}
