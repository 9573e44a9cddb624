/* All rules over all tables: families of dated tables, what silences what, and the order. */
#include <stdlib.h>

#include "insight/advice/judging.h"

/* ---- families -------------------------------------------------------------------------------- */

/* The length of a name without the 6 to 8 digits of a date at its end; 0: it has none. */
static size_t stem_of(tv_slice name)
{
    size_t end = name.len;

    while (end && name.data[end - 1] >= '0' && name.data[end - 1] <= '9')
        end--;
    return name.len - end >= 6 && name.len - end <= 8 ? end : 0;
}

/* A table whose name without its date another table has too is one of a family. */
static tv_slice family_name(const tv_evidence *evidence, const tv_evidence_table *table)
{
    size_t stem = stem_of(table->name);

    for (size_t i = 0; stem && i < evidence->table_count; i++) {
        const tv_evidence_table *other = &evidence->tables[i];

        if (other != table && stem_of(other->name) == stem &&
            tv_slice_eq(other->account, table->account) &&
            memcmp(other->name.data, table->name.data, stem) == 0)
            return tv_slice_take(table->name, stem);
    }
    return table->name;
}

/* ---- silence --------------------------------------------------------------------------------- */

/* Whether two findings are about the same thing: a hot entity and its partition are, and so are a
 * partition or a client and their table. */
static bool is_same_subject(const tv_finding *a, const tv_finding *b)
{
    if (!tv_slice_eq(a->account, b->account) || !tv_slice_eq(a->table, b->table))
        return false;
    if (a->subject == TV_SUBJECT_SHAPE && b->subject == TV_SUBJECT_SHAPE)
        return a->fingerprint == b->fingerprint;
    if (b->subject == TV_SUBJECT_PARTITION)
        return tv_slice_eq(a->partition_key, b->partition_key);
    return true;
}

bool tv_finding_is_silenced(const tv_findings *found, const tv_finding *finding)
{
    const tv_rule_info *rule = tv_rule_info_of(finding->rule);

    if (rule->stays_when_certain && finding->confidence == TV_CONFIDENCE_CERTAIN)
        return false;
    for (size_t i = 0; rule->silenced_by && i < found->count; i++) {
        if ((rule->silenced_by >> found->items[i]->rule & 1) &&
            is_same_subject(found->items[i], finding))
            return true;
    }
    return false;
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    const tv_finding *one = *(tv_finding *const *)a, *other = *(tv_finding *const *)b;
    int order = tv_slice_cmp(one->id, other->id);

    return order ? order : (int)other->severity - (int)one->severity;
}

/* The most costly first, then the gravest, then by id, so that two answers are alike. */
static int compare_cost(const void *a, const void *b)
{
    const tv_finding *one = *(tv_finding *const *)a, *other = *(tv_finding *const *)b;
    double left = tv_cost_ms(&one->cost), right = tv_cost_ms(&other->cost);

    if (left != right)
        return left > right ? -1 : 1;
    return one->severity != other->severity ? (int)other->severity - (int)one->severity
                                            : tv_slice_cmp(one->id, other->id);
}

/* One of each id: a family of tables may have several, of which the gravest stays. */
static void drop_doubles(tv_findings *found)
{
    size_t kept = 0;

    qsort(found->items, found->count, sizeof found->items[0], compare_ids);
    for (size_t i = 0; i < found->count; i++) {
        if (kept == 0 || !tv_slice_eq(found->items[kept - 1]->id, found->items[i]->id))
            found->items[kept++] = found->items[i];
    }
    found->count = kept;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static uint64_t examined_by(const tv_evidence *evidence, tv_slice account)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < evidence->table_count; i++) {
        const tv_evidence_table *table = &evidence->tables[i];

        for (size_t k = 0; k < table->shape_count && tv_slice_eq(table->account, account); k++)
            sum += table->shapes[k].examined;
    }
    return sum;
}

/* One rule over all of a table that it looks at. */
static void apply(tv_judging *j, const tv_rule_info *rule, const tv_key_column keys[2])
{
    const tv_evidence_table *table = j->table;

    if (rule->of_table)
        rule->of_table(j);
    for (size_t i = 0; rule->of_shape && i < table->shape_count; i++)
        rule->of_shape(j, &table->shapes[i], j->views[i]);
    for (size_t i = 0; rule->of_partition && i < table->partition_count; i++)
        rule->of_partition(j, &table->partitions[i]);
    for (size_t i = 0; rule->of_row && i < table->row_count; i++)
        rule->of_row(j, &table->rows[i]);
    for (size_t i = 0; rule->of_property && i < table->property_count; i++)
        rule->of_property(j, &table->properties[i]);
    for (size_t i = 0; rule->of_keys && i < 2; i++)
        rule->of_keys(j, &keys[i]);
}

static void judge_table(tv_judging *j, const tv_evidence_table *table)
{
    tv_key_column keys[2];

    j->table = table;
    j->rate = tv_table_rate_of(j->evidence, table);
    j->table_name = family_name(j->evidence, table);
    j->views = tv_arena_zalloc(j->arena, (table->shape_count + 1) * sizeof *j->views);
    for (size_t i = 0; i < table->shape_count; i++) { /* one by one: together they are large */
        j->views[i] = tv_arena_alloc(j->arena, sizeof **j->views);
        *j->views[i] = tv_shape_view_of(j->arena, table->shapes[i].text);
    }
    keys[0] = tv_key_column_take(j, false);
    keys[1] = tv_key_column_take(j, true);
    for (int rule = 0; rule < TV_RULES; rule++)
        apply(j, tv_rule_info_of((tv_rule)rule), keys);
}

/* Once for each account, at the first of its tables that was refused something. */
static void judge_account(tv_judging *j, size_t first)
{
    const tv_evidence *evidence = j->evidence;

    for (size_t i = 0; i < first; i++) {
        if (evidence->tables[i].throttled_account &&
            tv_slice_eq(evidence->tables[i].account, evidence->tables[first].account))
            return;
    }
    j->table = &evidence->tables[first];
    j->rate = (tv_table_rate){.from_ticks = evidence->from_ticks};
    j->table_name = TV_LIT("");
    for (int rule = 0; rule < TV_RULES; rule++) {
        if (tv_rule_info_of((tv_rule)rule)->of_account)
            tv_rule_info_of((tv_rule)rule)->of_account(j);
    }
}

tv_findings tv_rules_judge(tv_arena *arena, const tv_evidence *evidence, const tv_params *params)
{
    tv_judging j = {
        .arena = arena,
        .evidence = evidence,
        .params = params,
    };
    tv_findings loud = {0};

    for (size_t i = 0; i < evidence->table_count; i++) {
        /* The sum of an account is the same for all of its tables, which stand together. */
        if (i == 0 || !tv_slice_eq(evidence->tables[i].account, evidence->tables[i - 1].account))
            j.account_examined = examined_by(evidence, evidence->tables[i].account);
        judge_table(&j, &evidence->tables[i]);
        if (evidence->tables[i].throttled_account)
            judge_account(&j, i);
    }
    if (j.found.count == 0)
        return loud;
    drop_doubles(&j.found);
    loud.size = j.found.count;
    loud.items = tv_arena_alloc(arena, loud.size * sizeof *loud.items);
    for (size_t i = 0; i < j.found.count; i++) {
        if (!tv_finding_is_silenced(&j.found, j.found.items[i]))
            loud.items[loud.count++] = j.found.items[i];
    }
    qsort(loud.items, loud.count, sizeof loud.items[0], compare_cost);
    return loud;
}
