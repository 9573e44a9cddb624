/* Q08 to Q10: how much is read, and how often. */
#include <math.h>

#include "insight/advice/judging.h"

static const double mib = 1024 * 1024;

void tv_judge_point_read_burst(tv_judging *j)
{
    const tv_evidence_runs *runs = &j->table->read_runs;
    uint64_t same = runs->same_key < runs->runs ? runs->same_key : runs->runs;
    double counted = (double)(runs->runs - same);
    double share = tv_ratio((double)runs->requests, (double)j->table->point_reads);
    bool is_contiguous = runs->contiguous * 2 > runs->runs;
    tv_severity severity = TV_SEVERITY_INFO;
    tv_finding *finding;

    if (counted < TV_THRESHOLD(j, Q08, runs))
        return;
    if (share >= TV_THRESHOLD(j, Q08, warning_share) &&
        tv_per_hour(j, (double)runs->requests) >= TV_THRESHOLD(j, Q08, warning_reads))
        severity = TV_SEVERITY_WARNING;
    finding = tv_find(j, TV_RULE_Q08, severity,
                      is_contiguous ? TV_CONFIDENCE_HIGH : TV_CONFIDENCE_MEDIUM);
    tv_find_number(finding, "runs", counted);
    tv_find_number(finding, "readsPerRun", tv_ratio((double)runs->requests, (double)runs->runs));
    tv_find_number(finding, "ms", runs->ms);
    tv_find_number(finding, "shareOfPointReads", fmin(share, 1));
    tv_find_bool(finding, "contiguous", is_contiguous);
    if (runs->first_key.len) {
        tv_slice span[2] = {runs->first_key, runs->last_key};

        tv_find_keys(finding, "span", span, 2);
    }
    tv_find_number(finding, "clients", runs->clients);
    TV_COMPARED(j, finding, Q08, run_reads);
    TV_COMPARED(j, finding, Q08, run_ms);
    TV_COMPARED(j, finding, Q08, runs);
    TV_COMPARED(j, finding, Q08, warning_share);
    finding->cost.requests = tv_per_hour(j, (double)(runs->requests - runs->runs));
}

/* ---- Q09 ------------------------------------------------------------------------------------- */

/* Names of the properties with most of the bytes, each with its share. */
static void add_largest_properties(tv_judging *j, tv_finding *finding)
{
    const tv_evidence_table *table = j->table;
    tv_slice largest[3];
    size_t count = 0;
    uint64_t all = 0, below = UINT64_MAX;

    for (size_t i = 0; i < table->property_count; i++)
        all += table->properties[i].bytes;
    while (count < 3) {
        const tv_evidence_property *best = NULL;

        for (size_t i = 0; i < table->property_count; i++) {
            const tv_evidence_property *property = &table->properties[i];

            if (property->bytes < below && (!best || property->bytes > best->bytes))
                best = property;
        }
        if (!best || best->bytes == 0)
            break;
        below = best->bytes;
        largest[count++] = tv_arena_printf(j->arena, "%.*s %.0f %%", TV_FMT(best->name),
                                           100 * tv_ratio((double)best->bytes, (double)all));
    }
    tv_find_texts(finding, "largestProperties", largest, count);
}

static double properties_each(const tv_evidence_table *table)
{
    uint64_t all = 0;

    for (size_t i = 0; i < table->property_count; i++)
        all += table->properties[i].count;
    return tv_ratio((double)all, (double)table->property_samples);
}

/* Whether another shape of the table selects half of these bytes or less. */
static bool is_selected_elsewhere(const tv_judging *j, double bytes_each)
{
    for (size_t i = 0; i < j->table->shape_count; i++) {
        const tv_evidence_shape *shape = &j->table->shapes[i];

        if (shape->has_select && shape->returned &&
            (double)shape->bytes_out / (double)shape->returned <= bytes_each / 2)
            return true;
    }
    return false;
}

static tv_finding *find_wide(tv_judging *j, double bytes, double returned)
{
    double each = tv_ratio(bytes, returned);
    tv_finding *finding;

    /* With three properties there is little to choose from. */
    if (returned < TV_THRESHOLD(j, Q09, returned) || bytes < TV_THRESHOLD(j, Q09, info_mib) * mib ||
        (j->table->property_samples && properties_each(j->table) <= 3 &&
         j->table->property_count <= 3))
        return NULL;
    finding = tv_find(j, TV_RULE_Q09,
                      bytes >= TV_THRESHOLD(j, Q09, warning_mib) * mib ? TV_SEVERITY_WARNING
                                                                       : TV_SEVERITY_INFO,
                      is_selected_elsewhere(j, each) ? TV_CONFIDENCE_MEDIUM : TV_CONFIDENCE_LOW);
    tv_find_number(finding, "bytesPerEntity", each);
    tv_find_number(finding, "megabytes", bytes / mib);
    tv_find_number(finding, "propertiesPerEntity", properties_each(j->table));
    add_largest_properties(j, finding);
    TV_COMPARED(j, finding, Q09, returned);
    TV_COMPARED(j, finding, Q09, info_mib);
    TV_COMPARED(j, finding, Q09, warning_mib);
    finding->cost.bytes = tv_per_hour(j, bytes / 2);
    return finding;
}

static void wide_query(tv_judging *j, const tv_evidence_shape *shape, const tv_shape_view *view)
{
    tv_finding *finding;

    if (shape->has_select || tv_ratio((double)shape->bytes_out, (double)shape->returned) <
                                 TV_THRESHOLD(j, Q09, bytes_per_entity))
        return;
    /* An export wants everything. */
    if (view->is_all && shape->walks.to_end > 0)
        return;
    finding = find_wide(j, (double)shape->bytes_out, (double)shape->returned);
    if (finding == NULL)
        return;
    tv_find_on_shape(j, finding, shape);
    TV_COMPARED(j, finding, Q09, bytes_per_entity);
}

static void wide_point_read(tv_judging *j)
{
    const tv_evidence_table *table = j->table;
    tv_finding *finding;

    if (tv_ratio((double)table->point_bytes, (double)table->point_whole) <
        TV_THRESHOLD(j, Q09, point_bytes))
        return;
    finding = find_wide(j, (double)table->point_bytes, (double)table->point_whole);
    if (finding)
        TV_COMPARED(j, finding, Q09, point_bytes);
}

void tv_judge_wide_read(tv_judging *j)
{
    wide_point_read(j);
    for (size_t i = 0; i < j->table->shape_count; i++)
        wide_query(j, &j->table->shapes[i], j->views[i]);
}

/* ---- Q10 ------------------------------------------------------------------------------------- */

void tv_judge_whole_table_read(tv_judging *j, const tv_evidence_shape *shape,
                               const tv_shape_view *view)
{
    double walks = (double)shape->walks.to_end_client;
    tv_severity severity = (double)j->table->entities_now >= TV_THRESHOLD(j, Q10, entities)
                               ? TV_SEVERITY_WARNING
                               : TV_SEVERITY_INFO;
    bool is_keys_only;
    tv_finding *finding;

    if (!view->is_all || shape->has_top || walks < TV_THRESHOLD(j, Q10, walks))
        return;
    is_keys_only = shape->has_select && !shape->select_differs &&
                   (tv_slice_eq(shape->select, TV_LIT("PartitionKey")) ||
                    tv_slice_eq(shape->select, TV_LIT("RowKey")) ||
                    tv_slice_eq(shape->select, TV_LIT("PartitionKey,RowKey")));
    finding = tv_find(j, TV_RULE_Q10, severity, TV_CONFIDENCE_HIGH);
    tv_find_on_shape(j, finding, shape);
    if (is_keys_only)
        finding->title = TV_LIT("The whole table is read again and again, to count it");
    tv_find_number(finding, "walks", walks);
    tv_find_number(finding, "entities", (double)j->table->entities_now);
    tv_find_bool(finding, "onlyKeysSelected", is_keys_only);
    TV_COMPARED(j, finding, Q10, walks);
    TV_COMPARED(j, finding, Q10, entities);
    finding->cost.rows = tv_per_hour(j, (double)shape->examined);
}
