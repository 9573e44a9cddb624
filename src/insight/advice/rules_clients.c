/* C01 to C03: how clients go through pages and failures. */
#include <math.h>

#include "insight/advice/judging.h"

void tv_judge_abandoned_walk(tv_judging *j, const tv_evidence_shape *shape,
                             const tv_shape_view *view)
{
    const tv_evidence_walks *walks = &shape->walks;
    uint64_t excused = walks->left_by_person + walks->left_by_top;
    double left = walks->left > excused ? (double)(walks->left - excused) : 0;
    double all = (double)(walks->left + walks->to_end);
    double returned = tv_ratio((double)walks->left_returned, (double)walks->left);
    double per_hour = tv_per_hour(j, left * returned);
    tv_finding *finding;

    if (left < TV_THRESHOLD(j, C01, walks) || left < TV_THRESHOLD(j, C01, share) * all ||
        returned < TV_THRESHOLD(j, C01, returned))
        return;
    finding = tv_find(j, TV_RULE_C01,
                      per_hour >= TV_THRESHOLD(j, C01, warning_returned)
                          ? TV_SEVERITY_WARNING
                          : TV_SEVERITY_INFO,
                      TV_CONFIDENCE_LOW);
    tv_find_on_shape(j, finding, shape);
    tv_find_number(finding, "walks", all);
    tv_find_number(finding, "left", tv_ratio(left, all));
    tv_find_number(finding, "pagesMean", tv_ratio((double)walks->left_pages, (double)walks->left));
    tv_find_number(finding, "returnedMean", returned);
    TV_COMPARED(j, finding, C01, walks);
    TV_COMPARED(j, finding, C01, share);
    TV_COMPARED(j, finding, C01, returned);
    TV_COMPARED(j, finding, C01, idle_s);
    finding->cost.rows = per_hour / 2;
    finding->cost.bytes = tv_per_hour(j, (double)shape->bytes_out) / 2;
}

void tv_judge_continuation_ignored(tv_judging *j, const tv_evidence_shape *shape,
                                   const tv_shape_view *view)
{
    const tv_evidence_walks *walks = &shape->walks;
    double ignored = (double)walks->ignored;
    tv_finding *finding;

    if (ignored < TV_THRESHOLD(j, C02, executions) ||
        ignored < TV_THRESHOLD(j, C02, share) * (double)walks->ignored_paged)
        return;
    finding =
        tv_find(j, TV_RULE_C02, walks->ignored_empty ? TV_SEVERITY_ERROR : TV_SEVERITY_WARNING,
                walks->ignored_below_top ? TV_CONFIDENCE_HIGH : TV_CONFIDENCE_MEDIUM);
    tv_find_on_shape(j, finding, shape);
    tv_find_number(finding, "executions", (double)walks->ignored_paged);
    tv_find_number(finding, "ignored", ignored);
    tv_find_number(finding, "returnedFirstPage",
                   tv_ratio((double)walks->ignored_returned, (double)walks->ignored));
    tv_find_text(finding, "reason", tv_slice_of(tv_page_end_name(walks->ignored_end)));
    tv_find_text(finding, "client", walks->ignored_client);
    TV_COMPARED(j, finding, C02, executions);
    TV_COMPARED(j, finding, C02, share);
    TV_COMPARED(j, finding, C02, idle_s);
}

void tv_judge_retry_storm(tv_judging *j)
{
    const tv_evidence_retries *retries = &j->table->retries;
    double count = (double)retries->retries;
    double share = tv_ratio(count, (double)retries->requests);
    uint64_t stubborn = 0;
    bool is_many, is_fast, is_stubborn, is_most;
    tv_severity severity = TV_SEVERITY_WARNING;
    tv_finding *finding;

    for (int i = 0; i < TV_EVIDENCE_ATTEMPTS; i++) {
        if (i >= TV_THRESHOLD(j, C03, attempts))
            stubborn += retries->attempts[i];
    }
    is_many = count >= TV_THRESHOLD(j, C03, retries) && share >= TV_THRESHOLD(j, C03, share);
    is_fast = count >= TV_THRESHOLD(j, C03, gap_retries) &&
              retries->gap_p50_ms < TV_THRESHOLD(j, C03, gap_ms);
    is_stubborn = (double)stubborn >= TV_THRESHOLD(j, C03, attempt_ids) && stubborn > 0;
    /* At a small rate: most requests are nothing else. */
    is_most = count >= TV_THRESHOLD(j, C03, share_retries) &&
              share >= TV_THRESHOLD(j, C03, error_share) &&
              retries->gap_p50_ms < TV_THRESHOLD(j, C03, gap_ms);
    /* Whose gaps grow is backing off, as it should, but not without end. */
    if (!is_stubborn && (!(is_many || is_fast || is_most) || retries->gaps_grow))
        return;
    if (is_stubborn && retries->gaps_grow && retries->gap_p50_ms >= TV_THRESHOLD(j, C03, gap_ms) &&
        !is_many)
        return;
    if (!(is_stubborn || is_many || is_fast))
        severity = TV_SEVERITY_INFO;
    else if (share >= TV_THRESHOLD(j, C03, error_share))
        severity = TV_SEVERITY_ERROR;
    finding = tv_find(j, TV_RULE_C03, severity, TV_CONFIDENCE_CERTAIN);
    if (retries->client.len)
        tv_find_on_name(j, finding, TV_SUBJECT_CLIENT, retries->client);
    tv_find_number(finding, "retries", count);
    tv_find_number(finding, "ofRequests", share);
    tv_find_number(finding, "attemptsMax", retries->attempts_max);
    tv_find_number(finding, "gapMedianMs", retries->gap_p50_ms);
    tv_find_number(finding, "status408", (double)retries->status_408);
    tv_find_number(finding, "status429", (double)retries->status_429);
    tv_find_number(finding, "status500", (double)retries->status_500);
    tv_find_number(finding, "status503", (double)retries->status_503);
    TV_COMPARED(j, finding, C03, retries);
    TV_COMPARED(j, finding, C03, share);
    TV_COMPARED(j, finding, C03, error_share);
    TV_COMPARED(j, finding, C03, gap_ms);
    TV_COMPARED(j, finding, C03, attempts);
    finding->cost.requests = count;
}
