/* Q01 to Q07: what queries read, compared with what they return. */
#include "insight/advice/judging.h"
#include "insight/advice/key_forms.h"
#include "insight/advice/proposal.h"

static tv_plan_kind plan_of(const tv_evidence_shape *shape)
{
    tv_plan_kind most = TV_PLAN_POINT;

    for (int kind = 0; kind < TV_PLAN_KINDS; kind++) {
        if (shape->plans[kind] >= shape->plans[most])
            most = (tv_plan_kind)kind;
    }
    return most;
}

static double examined_each(const tv_evidence_shape *shape)
{
    return tv_ratio((double)shape->examined, (double)shape->executions);
}

static double returned_each(const tv_evidence_shape *shape)
{
    return tv_ratio((double)shape->returned, (double)shape->executions);
}

/* Examined rows for each that was returned. */
static double waste_of(const tv_evidence_shape *shape)
{
    return (double)shape->examined / (double)(shape->returned ? shape->returned : 1);
}

static bool is_small(const tv_judging *j)
{
    return j->table->is_exact &&
           (double)j->table->entities_now <= TV_THRESHOLD(j, ALL, small_table);
}

/* A small table may be read whole: what a scan of it costs is no more than information. */
static tv_severity capped(const tv_judging *j, tv_severity severity)
{
    return is_small(j) && !tv_is_run(j) ? TV_SEVERITY_INFO : severity;
}

static bool is_dominant(const tv_judging *j, const tv_evidence_shape *shape, double share,
                        double examined)
{
    return (double)shape->examined >= examined &&
           tv_ratio((double)shape->examined, (double)j->account_examined) >= share;
}

/* What all scans have in common. */
static tv_finding *find_scan(tv_judging *j, tv_rule rule, tv_severity severity,
                             tv_confidence confidence, const tv_evidence_shape *shape)
{
    tv_finding *finding = tv_find(j, rule, capped(j, severity), confidence);

    tv_find_on_shape(j, finding, shape);
    tv_find_number(finding, "executions", (double)shape->executions);
    tv_find_number(finding, "examinedPerExecution", examined_each(shape));
    tv_find_number(finding, "examinedMax", (double)shape->examined_max);
    tv_find_number(finding, "returnedPerExecution", returned_each(shape));
    tv_find_number(finding, "shareOfExamined",
                   tv_ratio((double)shape->examined, (double)j->account_examined));
    tv_find_number(finding, "p99Ms", shape->p99_ms);
    tv_find_number(finding, "pages", (double)shape->pages);
    tv_find_number(finding, "entities", (double)j->table->entities_now);
    if (shape->example.len)
        tv_find_text(finding, "example", shape->example);
    finding->cost.rows = tv_per_hour(
        j, (double)(shape->examined -
                    (shape->returned < shape->examined ? shape->returned : shape->examined)));
    return finding;
}

static void add_why(tv_judging *j, tv_finding *finding, tv_slice why)
{
    if (why.len)
        finding->cure = tv_arena_printf(j->arena, "%s No second copy is proposed: %.*s.",
                                        tv_rule_info_of(finding->rule)->cure, TV_FMT(why));
}

void tv_judge_table_scan_property(tv_judging *j, const tv_evidence_shape *shape,
                                  const tv_shape_view *view)
{
    tv_severity severity = TV_SEVERITY_WARNING;
    tv_finding *finding;
    tv_slice why;

    /* A text that was too long to keep compares something beside keys. */
    if (plan_of(shape) != TV_PLAN_TABLE || (view->is_parsed && !view->has_property) ||
        view->has_row || is_small(j))
        return;
    if ((double)shape->executions < TV_THRESHOLD(j, Q01, executions) ||
        (double)shape->examined < TV_THRESHOLD(j, Q01, examined) ||
        waste_of(shape) < TV_THRESHOLD(j, Q01, ratio))
        return;
    if (examined_each(shape) >= TV_THRESHOLD(j, Q01, error_examined) ||
        is_dominant(j, shape, TV_THRESHOLD(j, Q01, error_share),
                    TV_THRESHOLD(j, Q01, error_share_examined)))
        severity = TV_SEVERITY_ERROR;
    if (view->has_partition)
        severity = TV_SEVERITY_INFO;

    finding = find_scan(j, TV_RULE_Q01, severity, TV_CONFIDENCE_CERTAIN, shape);
    if (view->has_partition)
        finding->title = tv_arena_printf(
            j->arena, "A query reads a range of partitions to find entities by %.*s",
            TV_FMT(tv_shape_view_property(view)));
    else
        tv_find_title(j, finding, "property",
                      view->is_parsed ? tv_shape_view_property(view)
                                      : TV_LIT("several properties"));
    TV_COMPARED(j, finding, Q01, executions);
    TV_COMPARED(j, finding, Q01, examined);
    TV_COMPARED(j, finding, Q01, ratio);
    finding->proposal = tv_propose_index(j, shape, view, &why);
    add_why(j, finding, why);
}

void tv_judge_table_scan_row_key(tv_judging *j, const tv_evidence_shape *shape,
                                 const tv_shape_view *view)
{
    tv_severity severity = TV_SEVERITY_WARNING;
    tv_finding *finding;
    tv_slice computed;

    if (plan_of(shape) != TV_PLAN_TABLE || !view->has_row || view->has_partition || is_small(j))
        return;
    if ((double)shape->executions < TV_THRESHOLD(j, Q02, executions) &&
        (double)shape->examined < TV_THRESHOLD(j, Q02, examined))
        return;
    /* Only bounds a walk that wants most of what it reads. */
    if (shape->returned * 2 >= shape->examined)
        return;
    if (examined_each(shape) >= TV_THRESHOLD(j, Q02, error_examined) ||
        is_dominant(j, shape, TV_THRESHOLD(j, Q02, error_share),
                    TV_THRESHOLD(j, Q02, error_share_examined)))
        severity = TV_SEVERITY_ERROR;

    finding = find_scan(j, TV_RULE_Q02, severity, TV_CONFIDENCE_CERTAIN, shape);
    computed = tv_partition_from_row_key(j->arena, j->table);
    tv_find_number(finding, "rowKeyDistinct", tv_distinct_row_keys(j->arena, j->table));
    tv_find_text(finding, "partitionFromRowKey", computed);
    TV_COMPARED(j, finding, Q02, executions);
    TV_COMPARED(j, finding, Q02, examined);
    if (computed.len)
        finding->cure =
            tv_arena_printf(j->arena,
                            "The PartitionKey can be computed: the RowKey decides it by %.*s. Pass "
                            "both keys.",
                            TV_FMT(computed));
    else
        finding->proposal = tv_propose_row_index(j, shape, view);
}

/* The range that the last execution would have needed, with the property's value if its text stands
 * in the keys. */
static void propose_range(tv_judging *j, tv_finding *finding, const tv_evidence_shape *shape,
                          const tv_shape_view *view)
{
    tv_slice prefix = shape->returned_prefix;
    tv_proposal *proposal = &finding->proposal;
    tv_buf next = TV_BUF_EMPTY;
    tv_error_info info = {0};
    tv_filter *filter;

    if (prefix.len == 0 || tv_slice_find(prefix, '\'') < prefix.len ||
        (unsigned char)prefix.data[prefix.len - 1] >= 0x7e)
        return;
    tv_buf_add(&next, prefix);
    next.data[next.len - 1]++;
    proposal->pattern = TV_LIT("range-query");
    proposal->function = TV_LIT("tavola_where_prefix");
    proposal->partition_key = TV_LIT("{PartitionKey}");
    if (shape->literal_property.len && shape->literal_tries &&
        shape->literal_hits * 10 >= shape->literal_tries * 8 && shape->literal_at <= prefix.len)
        proposal->row_key = tv_arena_printf(j->arena, "%.*s{%.*s}…", (int)shape->literal_at,
                                            prefix.data, TV_FMT(shape->literal_property));
    else
        proposal->row_key = TV_LIT("{RowKey}");
    proposal->filter_before = view->filter;
    proposal->filter_after =
        tv_arena_printf(j->arena, "PartitionKey eq 'x' and RowKey ge '%.*s' and RowKey lt '%.*s'",
                        TV_FMT(prefix), TV_FMT(tv_buf_slice(&next)));
    tv_buf_done(&next);
    proposal->shows_keys = true;
    proposal->examined_before = examined_each(shape);
    proposal->examined_after = tv_ratio((double)shape->span_rows, (double)shape->spans);
    if (!tv_filter_parse(j->arena, proposal->filter_after, &filter, &info)) {
        proposal->plan_after = tv_plan_make(j->arena, TV_LIT("r"), filter).kind;
        proposal->has_plan = true;
        proposal->is_set = proposal->plan_after <= TV_PLAN_RANGE;
    }
}

static bool is_dense(const tv_judging *j, const tv_evidence_shape *shape)
{
    return shape->spans > 0 &&
           tv_ratio((double)shape->span_returned, (double)shape->span_rows) >=
               TV_THRESHOLD(j, Q03, density) &&
           shape->returned_prefix.len > shape->partition_prefix.len;
}

void tv_judge_partition_scan_range(tv_judging *j, const tv_evidence_shape *shape,
                                   const tv_shape_view *view)
{
    tv_slice class = tv_row_key_class(j->arena, j->table);
    bool is_dense_scan = is_dense(j, shape);
    bool is_by_time = view->has_time && tv_is_time_class(class);
    tv_finding *finding;

    if (plan_of(shape) != TV_PLAN_PARTITION || shape->residual == 0 ||
        !(is_dense_scan || is_by_time))
        return;
    if ((double)shape->executions < TV_THRESHOLD(j, Q03, executions) ||
        examined_each(shape) < TV_THRESHOLD(j, Q03, examined) ||
        waste_of(shape) < TV_THRESHOLD(j, Q03, ratio))
        return;
    if (!tv_is_run(j) && shape->partition_entities_known && shape->partition_entities_max < 100)
        return;

    finding = find_scan(j, TV_RULE_Q03, TV_SEVERITY_WARNING,
                        is_dense_scan ? TV_CONFIDENCE_HIGH : TV_CONFIDENCE_MEDIUM, shape);
    tv_find_number(finding, "density",
                   tv_ratio((double)shape->span_returned, (double)shape->span_rows));
    if (shape->returned_prefix.len) {
        tv_slice prefix = tv_arena_printf(j->arena, "%.*s*", TV_FMT(shape->returned_prefix));

        tv_find_keys(finding, "rowKeysReturned", &prefix, 1);
    }
    tv_find_text(finding, "rowKeyClass", class);
    TV_COMPARED(j, finding, Q03, executions);
    TV_COMPARED(j, finding, Q03, examined);
    TV_COMPARED(j, finding, Q03, density);
    TV_COMPARED(j, finding, Q03, ratio);
    if (is_dense_scan)
        propose_range(j, finding, shape, view);
}

static bool selectivity_of(const tv_judging *j, double examined, double ratio,
                           tv_severity *ret_severity)
{
    if (examined >= TV_THRESHOLD(j, Q04, error_examined) &&
        ratio >= TV_THRESHOLD(j, Q04, error_ratio))
        *ret_severity = TV_SEVERITY_ERROR;
    else if (examined >= TV_THRESHOLD(j, Q04, warning_examined) &&
             ratio >= TV_THRESHOLD(j, Q04, warning_ratio))
        *ret_severity = TV_SEVERITY_WARNING;
    else if (examined >= TV_THRESHOLD(j, Q04, info_examined) &&
             ratio >= TV_THRESHOLD(j, Q04, info_ratio))
        *ret_severity = TV_SEVERITY_INFO;
    else
        return false;
    return true;
}

void tv_judge_partition_scan_selectivity(tv_judging *j, const tv_evidence_shape *shape,
                                         const tv_shape_view *view)
{
    tv_severity severity;
    tv_finding *finding;
    tv_slice why;

    if (plan_of(shape) != TV_PLAN_PARTITION || shape->residual == 0 ||
        (double)shape->executions < TV_THRESHOLD(j, Q04, executions) ||
        !selectivity_of(j, examined_each(shape), waste_of(shape), &severity))
        return;
    if (!tv_is_run(j) && shape->partition_entities_known && shape->partition_entities_max < 100)
        return;

    finding = find_scan(j, TV_RULE_Q04, severity, TV_CONFIDENCE_CERTAIN, shape);
    tv_find_number(finding, "partitionsAsked", shape->partitions_asked);
    tv_find_number(finding, "largestPartition", (double)shape->partition_entities_max);
    TV_COMPARED(j, finding, Q04, executions);
    TV_COMPARED(j, finding, Q04, info_examined);
    TV_COMPARED(j, finding, Q04, warning_examined);
    TV_COMPARED(j, finding, Q04, warning_ratio);
    TV_COMPARED(j, finding, Q04, error_examined);
    TV_COMPARED(j, finding, Q04, error_ratio);
    finding->proposal = tv_propose_index(j, shape, view, &why);
    add_why(j, finding, why);
}

void tv_judge_or_of_keys(tv_judging *j, const tv_evidence_shape *shape, const tv_shape_view *view)
{
    bool is_of_rows = view->has_row_list && view->fixes_partition;
    tv_plan_kind plan = plan_of(shape);
    tv_severity severity = TV_SEVERITY_INFO;
    tv_confidence confidence = TV_CONFIDENCE_LOW;
    double entities = (double)shape->partition_entities_max;
    tv_finding *finding;

    if (!(is_of_rows || view->has_partition_list) || shape->ranges_max < 2 ||
        plan > TV_PLAN_PARTITION || (is_of_rows && plan > TV_PLAN_RANGE) ||
        (double)shape->executions < TV_THRESHOLD(j, Q05, executions))
        return;
    if (is_of_rows) {
        if (!tv_is_run(j) && shape->partition_entities_known && entities <= 100)
            return;
        confidence = TV_CONFIDENCE_CERTAIN;
        if (!shape->partition_entities_known ||
            entities >= TV_THRESHOLD(j, Q05, partition_entities))
            severity = TV_SEVERITY_WARNING;
    }
    finding = tv_find(j, TV_RULE_Q05, severity, confidence);
    tv_find_on_shape(j, finding, shape);
    tv_find_number(finding, "executions", (double)shape->executions);
    tv_find_number(finding, "listMean",
                   tv_ratio((double)shape->list_sum, (double)shape->executions));
    tv_find_number(finding, "listMax", (double)shape->list_max);
    tv_find_number(finding, "examinedHere", examined_each(shape));
    tv_find_number(finding, "examinedInAzure",
                   is_of_rows ? entities : (double)j->table->entities_now);
    TV_COMPARED(j, finding, Q05, executions);
    TV_COMPARED(j, finding, Q05, partition_entities);
    if (is_of_rows)
        finding->cost.rows = tv_per_hour(j, (double)shape->executions * entities);
}

void tv_judge_too_many_comparisons(tv_judging *j, const tv_evidence_shape *shape,
                                   const tv_shape_view *view)
{
    tv_finding *finding;

    if ((double)shape->comparisons_max <= TV_THRESHOLD(j, Q06, comparisons) ||
        shape->executions == 0)
        return;
    finding = tv_find(j, TV_RULE_Q06, TV_SEVERITY_WARNING, TV_CONFIDENCE_CERTAIN);
    tv_find_on_shape(j, finding, shape);
    tv_find_number(finding, "executions", (double)shape->executions);
    tv_find_number(finding, "comparisonsMax", (double)shape->comparisons_max);
    TV_COMPARED(j, finding, Q06, comparisons);
}

static const char *op_name(tv_compare_op op)
{
    static const char *const names[] = {"eq", "ne", "gt", "ge", "lt", "le"};

    return names[op];
}

void tv_judge_timestamp_filter(tv_judging *j, const tv_evidence_shape *shape,
                               const tv_shape_view *view)
{
    tv_plan_kind plan = plan_of(shape);
    tv_severity severity = TV_SEVERITY_WARNING;
    tv_finding *finding;

    if (!view->has_timestamp || plan < TV_PLAN_PARTITION || shape->residual == 0 ||
        (double)shape->executions < TV_THRESHOLD(j, Q07, executions) ||
        examined_each(shape) < TV_THRESHOLD(j, Q07, examined))
        return;
    if (plan == TV_PLAN_TABLE && examined_each(shape) >= TV_THRESHOLD(j, Q07, error_examined))
        severity = TV_SEVERITY_ERROR;
    finding = find_scan(j, TV_RULE_Q07, severity, TV_CONFIDENCE_CERTAIN, shape);
    tv_find_text(finding, "olderOrNewer", tv_slice_of(op_name(view->timestamp_op)));
    TV_COMPARED(j, finding, Q07, executions);
    TV_COMPARED(j, finding, Q07, examined);
    finding->proposal = tv_propose_time_key(j, shape, view);
}
