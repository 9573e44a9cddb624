/* K01 to K03: how keys sort. */
#include <stdlib.h>

#include "insight/advice/judging.h"
#include "insight/advice/key_forms.h"

static int compare_slices(const void *a, const void *b)
{
    return tv_slice_cmp(*(const tv_slice *)a, *(const tv_slice *)b);
}

tv_key_column tv_key_column_take(tv_judging *j, bool is_row)
{
    const tv_evidence_table *table = j->table;
    tv_key_column keys = {.name = is_row ? "RowKey" : "PartitionKey",
                          .list =
                              tv_arena_alloc(j->arena, (table->key_count + 1) * sizeof(tv_slice))};

    for (size_t i = 0; i < table->key_count; i++)
        keys.list[i] = is_row ? table->keys[i].row_key : table->keys[i].partition_key;
    qsort(keys.list, table->key_count, sizeof keys.list[0], compare_slices);
    /* Each PartitionKey counts once: the sample has one for every row. */
    for (size_t i = 0; i < table->key_count; i++) {
        if (i == 0 || !tv_slice_eq(keys.list[i], keys.list[i - 1]))
            keys.list[keys.count++] = keys.list[i];
    }
    for (size_t i = 0; i < table->shape_count; i++) {
        const tv_evidence_shape *shape = &table->shapes[i];
        const tv_shape_view *view = j->views[i];

        if (is_row ? view->has_row_range : view->has_partition_range) {
            keys.ranges += shape->executions;
            keys.range_shapes++;
            if (!keys.range_shape || shape->executions > keys.range_shape->executions)
                keys.range_shape = shape;
        }
        if (shape->has_top && (is_row ? view->fixes_partition : !view->has_partition))
            keys.tops += shape->executions;
    }
    return keys;
}

static tv_severity severity_of(const tv_key_column *keys)
{
    return keys->ranges || keys->tops ? TV_SEVERITY_WARNING : TV_SEVERITY_INFO;
}

/* ---- K01 ------------------------------------------------------------------------------------- */

/* The run of digits that differs in length, among keys of one form. */
typedef struct number_run {
    size_t lengths[24];
    size_t count;
    size_t shortest, longest;
    bool has_leading_zero;
    size_t example_short, example_long; /* indexes of keys */
} number_run;

/* The last run of digits of a key; false when there is none, or one too long to be a number. */
static bool last_digits(tv_slice key, size_t *ret_at, size_t *ret_len)
{
    size_t end = key.len;

    while (end && !(key.data[end - 1] >= '0' && key.data[end - 1] <= '9'))
        end--;
    *ret_at = end;
    while (*ret_at && key.data[*ret_at - 1] >= '0' && key.data[*ret_at - 1] <= '9')
        --*ret_at;
    *ret_len = end - *ret_at;
    return *ret_len > 0 && *ret_len < 20;
}

/* Whether two keys are the same but for digits. */
static bool is_same_form(tv_slice a, tv_slice b)
{
    tv_buf one = TV_BUF_EMPTY, other = TV_BUF_EMPTY;
    bool is_same;

    tv_key_form(&one, a);
    tv_key_form(&other, b);
    is_same = tv_slice_eq(tv_buf_slice(&one), tv_buf_slice(&other));
    tv_buf_done(&one);
    tv_buf_done(&other);
    return is_same;
}

static number_run measure_numbers(const tv_key_column *keys)
{
    number_run run = {.shortest = SIZE_MAX};

    for (size_t i = 0; i < keys->count; i++) {
        size_t at, len;

        if (!last_digits(keys->list[i], &at, &len) || tv_is_guid_at(keys->list[i], 0) ||
            !is_same_form(keys->list[keys->count / 2], keys->list[i]))
            continue;
        run.count++;
        run.lengths[len]++;
        run.has_leading_zero |= len > 1 && keys->list[i].data[at] == '0';
        if (len < run.shortest) {
            run.shortest = len;
            run.example_short = i;
        }
        if (len > run.longest) {
            run.longest = len;
            run.example_long = i;
        }
    }
    return run;
}

void tv_judge_unpadded_number(tv_judging *j, const tv_key_column *keys)
{
    tv_finding *finding;
    size_t common = 0;
    number_run run;
    tv_slice examples[2], key;
    size_t at, len;

    if (keys->count < TV_THRESHOLD(j, K01, keys))
        return;
    run = measure_numbers(keys);
    for (size_t i = 0; i < 24; i++)
        common +=
            (double)run.lengths[i] >= TV_THRESHOLD(j, K01, length_share) * (double)run.count &&
            run.lengths[i] > 0;
    if ((double)run.count < TV_THRESHOLD(j, K01, keys) || run.count * 2 < keys->count ||
        common < 2 || run.has_leading_zero)
        return;

    finding = tv_find(j, TV_RULE_K01, severity_of(keys), TV_CONFIDENCE_HIGH);
    tv_find_on_name(j, finding, TV_SUBJECT_KEYS, tv_slice_of(keys->name));
    tv_find_title(j, finding, "key", tv_slice_of(keys->name));
    key = keys->list[run.example_short];
    last_digits(key, &at, &len);
    {
        tv_buf class = TV_BUF_EMPTY;

        tv_key_form(&class, tv_slice_take(key, at));
        tv_buf_printf(&class, "9{%zu..%zu}", run.shortest, run.longest);
        tv_key_form(&class, tv_slice_skip(key, at + len));
        tv_find_text(finding, "class", tv_arena_dup(j->arena, tv_buf_slice(&class)));
        tv_buf_done(&class);
    }
    examples[0] = key;
    examples[1] = keys->list[run.example_long];
    tv_find_keys(finding, "examples", examples, 2);
    tv_find_number(finding, "keys", (double)run.count);
    tv_find_number(finding, "rangeShapes", (double)keys->range_shapes);
    TV_COMPARED(j, finding, K01, keys);
    TV_COMPARED(j, finding, K01, length_share);
    finding->proposal = (tv_proposal){
        .is_set = true,
        .pattern = TV_LIT("padded-number"),
        .function = TV_LIT("tavola_key_padded"),
        .partition_key = TV_LIT("{PartitionKey}"),
        .row_key = TV_LIT("{RowKey}"),
        .shows_keys = true,
    };
    *(keys->name[0] == 'R' ? &finding->proposal.row_key : &finding->proposal.partition_key) =
        tv_arena_printf(j->arena, "%.*s{n:pad(%zu)}%.*s", (int)at, key.data, run.longest + 3,
                        TV_FMT(tv_slice_skip(key, at + len)));
}

/* ---- K02 ------------------------------------------------------------------------------------- */

void tv_judge_local_date(tv_judging *j, const tv_key_column *keys)
{
    size_t counts[TV_DATE_FORMS] = {0}, matches = 0, ambiguous;
    tv_date_form form = TV_DATE_NONE;
    tv_confidence confidence = TV_CONFIDENCE_HIGH;
    tv_finding *finding;

    if (keys->count < TV_THRESHOLD(j, K02, keys))
        return;
    for (size_t i = 0; i < keys->count; i++)
        counts[tv_date_form_of(keys->list[i])]++;
    ambiguous = counts[TV_DATE_AMBIGUOUS];
    counts[TV_DATE_DAY_FIRST] += ambiguous;
    counts[TV_DATE_MONTH_FIRST] += ambiguous;
    for (int i = TV_DATE_NONE + 1; i < TV_DATE_FORMS; i++) {
        if (counts[i] > matches) {
            matches = counts[i];
            form = (tv_date_form)i;
        }
    }
    if ((double)matches < TV_THRESHOLD(j, K02, match) * (double)keys->count)
        return;
    if ((form == TV_DATE_DAY_FIRST || form == TV_DATE_MONTH_FIRST) && matches == ambiguous)
        confidence = TV_CONFIDENCE_MEDIUM;

    finding = tv_find(j, TV_RULE_K02, severity_of(keys), confidence);
    tv_find_on_name(j, finding, TV_SUBJECT_KEYS, tv_slice_of(keys->name));
    tv_find_text(finding, "pattern", tv_slice_of(tv_date_form_name(form)));
    tv_find_keys(finding, "examples", keys->list, keys->count < 3 ? keys->count : 3);
    tv_find_number(finding, "keys", (double)keys->count);
    tv_find_number(finding, "rangeShapes", (double)keys->range_shapes);
    TV_COMPARED(j, finding, K02, keys);
    TV_COMPARED(j, finding, K02, match);
}

/* ---- K03 ------------------------------------------------------------------------------------- */

static void find_unordered(tv_judging *j, const tv_key_column *keys, const char *why,
                           tv_confidence confidence)
{
    tv_finding *finding = tv_find(j, TV_RULE_K03, TV_SEVERITY_WARNING, confidence);

    tv_find_on_name(j, finding, TV_SUBJECT_KEYS, tv_slice_of(keys->name));
    tv_find_title(j, finding, "why", tv_slice_of(why));
    tv_find_text(finding, "class", tv_slice_of(why));
    finding->cure = strcmp(why, "GUID") == 0
                        ? TV_LIT("Let keys begin with what is asked for by range, and end with the "
                                 "random id.")
                        : TV_LIT("Write all keys in one case, and ask for them in that case.");
    if (keys->range_shape) {
        tv_find_text(finding, "rangeShape", keys->range_shape->text);
        tv_find_number(finding, "executions", (double)keys->range_shape->executions);
        tv_find_number(
            finding, "returnedPerExecution",
            tv_ratio((double)keys->range_shape->returned, (double)keys->range_shape->executions));
        finding->source_count = keys->range_shape->source_count;
        memcpy(finding->sources, keys->range_shape->sources, sizeof finding->sources);
    }
    TV_COMPARED(j, finding, K03, keys);
    TV_COMPARED(j, finding, K03, match);
    TV_COMPARED(j, finding, K03, case_share);
    TV_COMPARED(j, finding, K03, executions);
}

/* Ranges on this key that are neither of a prefix nor the way from page to page. */
static uint64_t real_ranges(const tv_judging *j, bool is_row, bool with_prefixes)
{
    uint64_t count = 0;

    for (size_t i = 0; i < j->table->shape_count; i++) {
        const tv_evidence_shape *shape = &j->table->shapes[i];
        const tv_shape_view *view = j->views[i];

        if (!(is_row ? view->has_row_range : view->has_partition_range) || shape->walks_by_key >= 3)
            continue;
        count += shape->executions -
                 (with_prefixes ? 0
                                : (shape->prefix_ranges < shape->executions ? shape->prefix_ranges
                                                                            : shape->executions));
    }
    return count;
}

void tv_judge_unordered_range(tv_judging *j, const tv_key_column *keys)
{
    size_t guids = 0, upper = 0, lower = 0, guid_upper = 0, guid_lower = 0;
    uint64_t upper_bounds = 0, lower_bounds = 0;
    bool is_row = keys->name[0] == 'R';
    double count = (double)keys->count;

    if (count < TV_THRESHOLD(j, K03, keys))
        return;
    for (size_t i = 0; i < keys->count; i++) {
        tv_slice key = keys->list[i];
        char first = key.len ? key.data[0] : '\0';

        upper += first >= 'A' && first <= 'Z';
        lower += first >= 'a' && first <= 'z';
        if (key.len == 36 && tv_is_guid_at(key, 0)) {
            guids++;
            for (size_t c = 0; c < key.len; c++) {
                if ((key.data[c] >= 'A' && key.data[c] <= 'F') ||
                    (key.data[c] >= 'a' && key.data[c] <= 'f')) {
                    guid_upper += key.data[c] <= 'F';
                    guid_lower += key.data[c] >= 'a';
                    break;
                }
            }
        }
    }
    for (size_t i = 0; i < j->table->shape_count; i++) {
        upper_bounds += j->table->shapes[i].upper_bounds;
        lower_bounds += j->table->shapes[i].lower_bounds;
    }
    if ((double)guids >= TV_THRESHOLD(j, K03, match) * count) {
        if (is_row && guid_upper && guid_lower &&
            tv_ratio((double)j->table->point_misses, (double)j->table->point_reads) >=
                TV_THRESHOLD(j, K03, misses))
            find_unordered(j, keys, "GUIDs in both cases", TV_CONFIDENCE_HIGH);
        else if ((double)real_ranges(j, is_row, false) >= TV_THRESHOLD(j, K03, executions))
            find_unordered(j, keys, "GUID", TV_CONFIDENCE_MEDIUM);
    } else if (is_row && (double)upper >= TV_THRESHOLD(j, K03, case_share) * count &&
               (double)lower >= TV_THRESHOLD(j, K03, case_share) * count &&
               (double)real_ranges(j, true, true) >= TV_THRESHOLD(j, K03, executions) &&
               (upper_bounds == 0) != (lower_bounds == 0)) {
        find_unordered(j, keys, "mixed case", TV_CONFIDENCE_HIGH);
    }
}
