/* W01 to W05: deletes and batches. */
#include <math.h>

#include "insight/advice/judging.h"

void tv_judge_single_deletes(tv_judging *j)
{
    const tv_evidence_deletes *deletes = &j->table->deletes;
    double single = (double)deletes->single, all = single + (double)deletes->batched;
    bool is_scattered = deletes->age_p90_hours > 2 * deletes->age_p10_hours;
    tv_finding *finding;

    if (single < TV_THRESHOLD(j, W01, deletes) || single < TV_THRESHOLD(j, W01, share) * all)
        return;
    /* Nothing to batch; or a queue, where what comes goes again. */
    if (deletes->run_per_partition < TV_THRESHOLD(j, W01, run_per_partition) && is_scattered)
        return;
    if (!tv_is_run(j) && deletes->aged > 0 && deletes->age_p50_hours < 1)
        return;
    finding = tv_find(j, TV_RULE_W01,
                      single >= TV_THRESHOLD(j, W01, warning_deletes) ? TV_SEVERITY_WARNING
                                                                      : TV_SEVERITY_INFO,
                      TV_CONFIDENCE_CERTAIN);
    tv_find_number(finding, "single", single);
    tv_find_number(finding, "batched", (double)deletes->batched);
    tv_find_number(finding, "perPartitionRun", deletes->run_per_partition);
    tv_find_number(finding, "ageMedianHours", deletes->age_p50_hours);
    TV_COMPARED(j, finding, W01, deletes);
    TV_COMPARED(j, finding, W01, share);
    TV_COMPARED(j, finding, W01, warning_deletes);
    TV_COMPARED(j, finding, W01, run_per_partition);
    finding->cost.requests =
        tv_per_hour(j, single - single / fmin(fmax(deletes->run_per_partition, 1), 100));
}

/* The shape that the scans before deletes had. */
static const tv_shape_view *scan_view(const tv_judging *j, tv_slice *ret_text)
{
    for (size_t i = 0; i < j->table->shape_count; i++) {
        if (j->table->shapes[i].fingerprint == j->table->deletes.scan_fingerprint) {
            *ret_text = j->table->shapes[i].text;
            return j->views[i];
        }
    }
    *ret_text = TV_LIT("");
    return NULL;
}

/* The period of the tables that would replace it: a thirtieth of what is kept. */
static const char *period_of(double age_hours)
{
    double days = age_hours / 24 / 30;

    return days >= 20 ? "month" : days >= 5 ? "week" : "day";
}

void tv_judge_delete_old_by_scan(tv_judging *j)
{
    const tv_evidence_deletes *deletes = &j->table->deletes;
    double all = (double)(deletes->single_day + deletes->batched_day);
    double after = (double)deletes->after_scan_day;
    double day_hours = tv_evidence_hours(j->evidence, j->evidence->day_from_ticks);
    const tv_shape_view *view;
    bool is_by_time, is_one_age;
    const char *period;
    tv_finding *finding;
    tv_slice text;

    if (all < TV_THRESHOLD(j, W02, deletes) || after < TV_THRESHOLD(j, W02, after_scan_share) * all)
        return;
    if (!tv_is_run(j) && all < 0.01 * (double)j->table->entities_now)
        return;
    view = scan_view(j, &text);
    is_by_time = view && view->has_old;
    is_one_age =
        deletes->aged > 0 && deletes->age_p10_hours >= TV_THRESHOLD(j, W02, age_min_hours) &&
        deletes->age_p90_hours <= TV_THRESHOLD(j, W02, age_spread) * deletes->age_p10_hours;
    if (!is_by_time && !is_one_age)
        return;
    finding = tv_find(j, TV_RULE_W02, TV_SEVERITY_WARNING,
                      is_by_time ? TV_CONFIDENCE_HIGH : TV_CONFIDENCE_MEDIUM);
    tv_find_since(finding, j->evidence->day_from_ticks);
    tv_find_number(finding, "deletes", all);
    tv_find_text(finding, "scanShape", text);
    tv_find_number(finding, "examinedPerDelete",
                   tv_ratio((double)deletes->scan_examined_day, after));
    tv_find_number(finding, "ageDaysFrom", deletes->age_p10_hours / 24);
    tv_find_number(finding, "ageDaysTo", deletes->age_p90_hours / 24);
    tv_find_number(finding, "everyHours", deletes->every_hours);
    TV_COMPARED(j, finding, W02, deletes);
    TV_COMPARED(j, finding, W02, after_scan_share);
    TV_COMPARED(j, finding, W02, age_min_hours);
    TV_COMPARED(j, finding, W02, age_spread);
    finding->cost.requests = all / day_hours;
    finding->cost.rows = (double)deletes->scan_examined_day / day_hours;
    period = period_of(deletes->age_p50_hours);
    tv_find_text(finding, "period", tv_slice_of(period));
    finding->proposal = (tv_proposal){
        .is_set = true,
        .pattern = TV_LIT("table-per-period"),
        .function = TV_LIT("tavola_dated_name"),
        .partition_key = TV_LIT("{PartitionKey}"),
        .row_key = TV_LIT("{RowKey}"),
        .notes = {tv_arena_printf(j->arena, "one table for each %s: {Table}{yyyyMMdd}%s", period,
                                  period[0] == 'd' ? "" : ", named by its first day")},
        .note_count = 1,
    };
}

void tv_judge_batch_of_one(tv_judging *j)
{
    const tv_evidence_batches *batches = &j->table->batches;
    double count = (double)batches->count, ones = (double)batches->sizes[0];
    uint64_t some = batches->sizes[1],
             many = batches->sizes[2] + batches->sizes[3] + batches->sizes[4];
    static const char *const names[TV_EVIDENCE_BATCH_SLOTS] = {"of1", "of2to9", "of10to49",
                                                               "of50to99", "of100"};
    tv_finding *finding;

    if (count < TV_THRESHOLD(j, W03, batches) || ones < TV_THRESHOLD(j, W03, share) * count)
        return;
    /* A bulk writer whose rest happened to be one. */
    if (many > 0 && some == 0)
        return;
    finding = tv_find(j, TV_RULE_W03, TV_SEVERITY_INFO, TV_CONFIDENCE_CERTAIN);
    tv_find_number(finding, "batches", count);
    for (int i = 0; i < TV_EVIDENCE_BATCH_SLOTS; i++)
        tv_find_number(finding, names[i], (double)batches->sizes[i]);
    TV_COMPARED(j, finding, W03, batches);
    TV_COMPARED(j, finding, W03, share);
}

void tv_judge_missed_batching(tv_judging *j)
{
    const tv_evidence_runs *runs = &j->table->write_runs;
    double writes = (double)runs->requests, count = (double)runs->runs;
    double batches = count * ceil(tv_ratio(writes, count) / 100);
    tv_finding *finding;

    if (count < TV_THRESHOLD(j, W04, runs) || writes < TV_THRESHOLD(j, W04, writes))
        return;
    finding =
        tv_find(j, TV_RULE_W04,
                tv_per_hour(j, writes) >= TV_THRESHOLD(j, W04, warning_writes) ? TV_SEVERITY_WARNING
                                                                               : TV_SEVERITY_INFO,
                TV_CONFIDENCE_MEDIUM);
    tv_find_number(finding, "runs", count);
    tv_find_number(finding, "writesPerRun", tv_ratio(writes, count));
    tv_find_number(finding, "wouldBeBatches", batches);
    tv_find_number(finding, "requestsSaved", writes - batches);
    TV_COMPARED(j, finding, W04, run_writes);
    TV_COMPARED(j, finding, W04, gap_ms);
    TV_COMPARED(j, finding, W04, runs);
    TV_COMPARED(j, finding, W04, writes);
    TV_COMPARED(j, finding, W04, warning_writes);
    finding->cost.requests = tv_per_hour(j, writes - batches);
}

void tv_judge_batch_across_partitions(tv_judging *j)
{
    const tv_evidence_batches *batches = &j->table->batches;
    tv_finding *finding;

    if (batches->across_partitions == 0 ||
        (double)batches->across_partitions < TV_THRESHOLD(j, W05, failures))
        return;
    finding = tv_find(j, TV_RULE_W05, TV_SEVERITY_ERROR, TV_CONFIDENCE_CERTAIN);
    tv_find_number(finding, "failures", (double)batches->across_partitions);
    tv_find_number(finding, "partitionsPerBatch", batches->across_partitions_max);
    TV_COMPARED(j, finding, W05, failures);
    finding->cost.requests = tv_per_hour(j, (double)batches->across_partitions);
}
