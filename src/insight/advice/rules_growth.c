/* P04 to P07: where new entities go, and what has gathered. */
#include <math.h>

#include "insight/advice/judging.h"
#include "insight/advice/key_forms.h"
#include "insight/advice/proposal.h"

/* ---- P04 ------------------------------------------------------------------------------------- */

typedef enum insert_movement { STAYS, MOVES_UP, MOVES_DOWN } insert_movement;

/* By windows of inserts. */
static insert_movement movement_of_windows(const tv_judging *j)
{
    const tv_evidence_direction *direction = &j->table->direction;
    double needed = TV_THRESHOLD(j, P04, windows);

    if (direction->windows_up >= needed && direction->last_share >= TV_THRESHOLD(j, P04, end_share))
        return MOVES_UP;
    if (direction->windows_down >= needed &&
        direction->first_share >= TV_THRESHOLD(j, P04, end_share))
        return MOVES_DOWN;
    return STAYS;
}

/* Whether the place of inserts moves: by windows, or by the partition that takes most of them. */
static insert_movement movement_of(const tv_judging *j)
{
    const tv_evidence_direction *direction = &j->table->direction;
    insert_movement movement = movement_of_windows(j);

    if (movement != STAYS)
        return movement;
    if (direction->hot_changes >= 3 && direction->hot_share >= TV_THRESHOLD(j, P04, end_share)) {
        if (direction->hot_changes_up * 10 >= direction->hot_changes * 9)
            return MOVES_UP;
        if ((direction->hot_changes - direction->hot_changes_up) * 10 >= direction->hot_changes * 9)
            return MOVES_DOWN;
    }
    return STAYS;
}

bool tv_inserts_move(const tv_judging *j)
{
    return movement_of(j) != STAYS;
}

/* One client that wrote in key order, ended, and has been silent since. */
static bool is_import(const tv_judging *j)
{
    const tv_evidence_direction *direction = &j->table->direction;

    return !tv_is_run(j) && direction->clients == 1 && direction->seconds < 600 &&
           direction->silent_seconds >= 60;
}

static int compare_keys(const tv_evidence_key *a, const tv_evidence_key *b)
{
    int order = tv_slice_cmp(a->partition_key, b->partition_key);

    return order ? order : tv_slice_cmp(a->row_key, b->row_key);
}

/* Whether one stored key in twenty lies beyond those that were inserted last. */
static bool is_inside(const tv_judging *j, insert_movement movement)
{
    const tv_evidence_table *table = j->table;
    size_t beyond = 0;

    if (movement_of_windows(j) == STAYS)
        return false;
    for (size_t i = 0; i < table->key_count; i++)
        beyond += movement == MOVES_UP
                      ? compare_keys(&table->keys[i], &table->direction.greatest) > 0
                      : compare_keys(&table->keys[i], &table->direction.least) < 0;
    return table->key_count >= 20 && beyond * 20 > table->key_count;
}

void tv_judge_append_prepend(tv_judging *j)
{
    const tv_evidence_direction *direction = &j->table->direction;
    double inserts = (double)direction->inserts, rate = j->rate.minute_inserts_per_second;
    insert_movement movement = movement_of(j);
    tv_severity severity = TV_SEVERITY_INFO;
    tv_finding *finding;

    if (movement == STAYS || inserts < TV_THRESHOLD(j, P04, inserts) ||
        rate <= TV_THRESHOLD(j, P04, silent_per_second) || !tv_has_rates(j))
        return;
    if (!tv_is_run(j) && !is_import(j)) {
        if (rate >= TV_THRESHOLD(j, P04, error_per_second))
            severity = TV_SEVERITY_ERROR;
        else if (rate >= TV_THRESHOLD(j, P04, warning_per_second))
            severity = TV_SEVERITY_WARNING;
    }
    finding = tv_find(j, TV_RULE_P04, severity,
                      direction->windows >= 5 ? TV_CONFIDENCE_HIGH : TV_CONFIDENCE_MEDIUM);
    if (is_import(j))
        finding->title = TV_LIT("An import in key order");
    else if (is_inside(j, movement))
        finding->title = movement == MOVES_UP
                             ? TV_LIT("New entities go to one place of the table, each behind the "
                                      "one before it")
                             : TV_LIT("New entities go to one place of the table, each in front of "
                                      "the one before it");
    else
        tv_find_title(j, finding, "end",
                      movement == MOVES_UP ? TV_LIT("end") : TV_LIT("beginning"));
    tv_find_number(finding, "direction",
                   direction->has_partition ? direction->partition : direction->row);
    tv_find_bool(finding, "byPartitionKey", direction->has_partition);
    if (movement_of_windows(j) == MOVES_UP)
        tv_find_number(finding, "lastBucketShare", direction->last_share);
    else if (movement_of_windows(j) == MOVES_DOWN)
        tv_find_number(finding, "firstBucketShare", direction->first_share);
    else
        tv_find_number(finding, "partitionShare", direction->hot_share);
    tv_find_number(finding, "inserts", inserts);
    tv_find_number(finding, "insertsPerSecond", j->rate.inserts_per_second);
    tv_find_number(finding, "windows", direction->windows);
    tv_find_text(finding, "keyClass", tv_row_key_class(j->arena, j->table));
    tv_find_number(finding, "newPartitions", direction->hot_changes);
    TV_COMPARED(j, finding, P04, inserts);
    TV_COMPARED(j, finding, P04, direction_row);
    TV_COMPARED(j, finding, P04, direction_partition);
    TV_COMPARED(j, finding, P04, windows);
    TV_COMPARED(j, finding, P04, end_share);
    TV_COMPARED(j, finding, P04, warning_per_second);
    finding->proposal = tv_propose_spread(j, rate);
}

/* ---- P05 ------------------------------------------------------------------------------------- */

/* Executions of queries that ask by time. */
static uint64_t time_queries(const tv_judging *j)
{
    bool is_time_key = tv_is_time_class(tv_row_key_class(j->arena, j->table));
    uint64_t count = 0;

    for (size_t i = 0; i < j->table->shape_count; i++) {
        if (j->views[i]->has_time || (is_time_key && j->views[i]->has_row_range))
            count += j->table->shapes[i].executions;
    }
    return count;
}

static bool has_time_scan(const tv_judging *j)
{
    for (size_t i = 0; i < j->table->shape_count; i++) {
        uint64_t fingerprint = j->table->shapes[i].fingerprint;

        if ((j->views[i]->has_time && (tv_found_on_shape(j, TV_RULE_Q01, fingerprint) ||
                                      tv_found_on_shape(j, TV_RULE_Q07, fingerprint))) ||
            tv_found_on_shape(j, TV_RULE_Q10, fingerprint))
            return true;
    }
    return false;
}

void tv_judge_log_data(tv_judging *j)
{
    const tv_evidence_table *table = j->table;
    const tv_evidence_deletes *deletes = &table->deletes;
    double inserts = (double)table->inserts_day, updates = (double)table->updates_day;
    double deleted = (double)(deletes->single_day + deletes->batched_day);
    double mean = tv_ratio((double)table->bytes_now, (double)table->entities_now);
    tv_slice names[TV_FIELD_TEXTS_MAX];
    tv_finding *finding;
    size_t count = 0;

    if (inserts < TV_THRESHOLD(j, P05, inserts) ||
        inserts < TV_THRESHOLD(j, P05, insert_share) * (inserts + updates + deleted) ||
        updates > TV_THRESHOLD(j, P05, updates) * inserts ||
        (double)(table->point_reads_day + table->query_executions_day) >
            TV_THRESHOLD(j, P05, reads_per_insert) * inserts ||
        mean > TV_THRESHOLD(j, P05, mean_bytes))
        return;
    /* A queue: what comes goes again. */
    if (deleted >= inserts / 2 && deletes->age_p50_hours < 1)
        return;
    if (!tv_has_rates(j) || (movement_of(j) == STAYS && !has_time_scan(j)))
        return;
    finding = tv_find(j, TV_RULE_P05, TV_SEVERITY_WARNING, TV_CONFIDENCE_MEDIUM);
    tv_find_since(finding, j->evidence->day_from_ticks);
    for (size_t i = 0; i < table->property_count && count < TV_FIELD_TEXTS_MAX; i++)
        names[count++] = table->properties[i].name;
    tv_find_number(finding, "inserts", inserts);
    tv_find_number(finding, "updates", updates);
    tv_find_number(finding, "reads",
                   (double)(table->point_reads_day + table->query_executions_day));
    tv_find_number(finding, "timeRangeQueries", (double)time_queries(j));
    tv_find_number(finding, "meanBytes", mean);
    tv_find_texts(finding, "properties", names, count);
    TV_COMPARED(j, finding, P05, inserts);
    TV_COMPARED(j, finding, P05, insert_share);
    TV_COMPARED(j, finding, P05, reads_per_insert);
    TV_COMPARED(j, finding, P05, updates);
    TV_COMPARED(j, finding, P05, mean_bytes);
    finding->cost.requests =
        inserts / tv_evidence_hours(j->evidence, j->evidence->day_from_ticks);
}

/* ---- P06, P07 -------------------------------------------------------------------------------- */

void tv_judge_oversized_partition(tv_judging *j, const tv_evidence_partition *partition)
{
    double entities = (double)partition->entities_now, bytes = (double)partition->bytes_now;
    double all = (double)j->table->entities_now, share = tv_ratio(entities, all);
    tv_severity severity = TV_SEVERITY_INFO;
    tv_finding *finding;

    if (entities < TV_THRESHOLD(j, P06, entities) && bytes < TV_THRESHOLD(j, P06, bytes) &&
        !(share >= TV_THRESHOLD(j, P06, share) && all >= TV_THRESHOLD(j, P06, table_entities) &&
          j->table->partitions_now >= TV_THRESHOLD(j, P06, table_partitions)))
        return;
    if (bytes >= TV_THRESHOLD(j, P06, warning_bytes) ||
        ((double)partition->scans >= TV_THRESHOLD(j, P06, warning_scans) &&
         (double)partition->scan_examined_max >= TV_THRESHOLD(j, P06, warning_scan_examined)))
        severity = TV_SEVERITY_WARNING;
    finding = tv_find(j, TV_RULE_P06, severity,
                      partition->is_exact ? TV_CONFIDENCE_CERTAIN : TV_CONFIDENCE_MEDIUM);
    tv_find_on_partition(j, finding, partition->partition_key);
    tv_find_title(j, finding, "share", tv_percent(j, fmin(share, 1)));
    tv_find_number(finding, "entities", entities);
    tv_find_number(finding, "bytes", bytes);
    tv_find_bool(finding, "exact", partition->is_exact);
    tv_find_number(finding, "share", fmin(share, 1));
    tv_find_number(finding, "scans", (double)partition->scans);
    TV_COMPARED(j, finding, P06, entities);
    TV_COMPARED(j, finding, P06, bytes);
    TV_COMPARED(j, finding, P06, share);
    TV_COMPARED(j, finding, P06, table_entities);
    TV_COMPARED(j, finding, P06, warning_scan_examined);
    finding->proposal = tv_propose_spread(j, 0);
}

void tv_judge_one_partition(tv_judging *j)
{
    const tv_evidence_table *table = j->table;
    double rate = j->rate.lasting_per_second;
    bool is_one_scope = table->batched_writes * 2 >= table->writes && table->writes > 0;
    tv_finding *finding;
    size_t heads = 0;

    if (!table->partitions_exact || table->partitions_now != 1 || !table->is_exact ||
        (double)table->entities_now < TV_THRESHOLD(j, P07, entities))
        return;
    finding =
        tv_find(j, TV_RULE_P07,
                tv_has_rates(j) && rate >= TV_THRESHOLD(j, P07, warning_per_second) && !is_one_scope
                    ? TV_SEVERITY_WARNING
                    : TV_SEVERITY_INFO,
                TV_CONFIDENCE_CERTAIN);
    if (table->key_count)
        tv_find_keys(finding, "partitionKey", &table->keys[0].partition_key, 1);
    tv_find_number(finding, "entities", (double)table->entities_now);
    tv_find_number(finding, "unitsPerSecond", j->rate.units_per_second);
    TV_COMPARED(j, finding, P07, entities);
    TV_COMPARED(j, finding, P07, warning_per_second);
    for (size_t i = 0; i < table->key_count; i++) {
        tv_slice key = table->keys[i].row_key;

        heads += tv_slice_find(key, '_') < key.len || tv_slice_find(key, '-') < key.len ||
                 tv_slice_find(key, '|') < key.len;
    }
    if (heads * 10 >= table->key_count * 9 && table->key_count)
        finding->proposal = (tv_proposal){
            .is_set = true,
            .pattern = TV_LIT("finer-partition-key"),
            .function = TV_LIT("tavola_key_join"),
            .partition_key = TV_LIT("{RowKey before its first separator}"),
            .row_key = TV_LIT("{the rest of RowKey}"),
        };
}
