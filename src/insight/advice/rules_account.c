/* P08: what all tables of an account ask for together. */
#include <stdlib.h>

#include "insight/advice/judging.h"

enum { TOP_TABLES = 5 };

static int by_units(const void *a, const void *b)
{
    const tv_evidence_table *one = *(const tv_evidence_table *const *)a;
    const tv_evidence_table *other = *(const tv_evidence_table *const *)b;

    if (one->rate.units != other->rate.units)
        return one->rate.units > other->rate.units ? -1 : 1;
    return tv_slice_cmp(one->name, other->name);
}

/* The account's tables, the busiest first. */
static const tv_evidence_table **tables_of(const tv_judging *j, size_t *ret_count)
{
    const tv_evidence_table **list =
        tv_arena_alloc(j->arena, j->evidence->table_count * sizeof *list);
    size_t count = 0;

    for (size_t i = 0; i < j->evidence->table_count; i++) {
        if (tv_slice_eq(j->evidence->tables[i].account, j->table->account))
            list[count++] = &j->evidence->tables[i];
    }
    qsort(list, count, sizeof *list, by_units);
    *ret_count = count;
    return list;
}

void tv_judge_account_limit(tv_judging *j)
{
    tv_slice top[TOP_TABLES];
    double refused = 0, units = 0;
    size_t count, shown = 0;
    const tv_evidence_table **tables = tables_of(j, &count);
    tv_finding *finding;

    for (size_t i = 0; i < count; i++) {
        refused += (double)tables[i]->throttled_account;
        units += tables[i]->rate.units;
        if (shown < TOP_TABLES && tables[i]->rate.units > 0)
            top[shown++] = tv_arena_printf(j->arena, "%.*s: %.0f", TV_FMT(tables[i]->name),
                                           tables[i]->rate.units);
    }
    if (refused < TV_THRESHOLD(j, P08, refused))
        return;
    finding = tv_find(j, TV_RULE_P08, TV_SEVERITY_ERROR, TV_CONFIDENCE_CERTAIN);
    finding->subject = TV_SUBJECT_ACCOUNT;
    tv_find_title(j, finding, "account", j->table->account);
    tv_find_number(finding, "throttled", refused);
    tv_find_number(finding, "target", TV_THRESHOLD(j, P08, target));
    tv_find_number(finding, "units", units);
    tv_find_number(finding, "tables", (double)count);
    tv_find_texts(finding, "topTables", top, shown);
    TV_COMPARED(j, finding, P08, refused);
    finding->cost.throttled = tv_per_hour(j, refused);
}
