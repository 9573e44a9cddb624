/* Entities, sorted keys, and queries over them. */
#include "insight/whatif/store.h"

#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/grow.h"
#include "base/hash.h"
#include "insight/whatif/rewrite.h"
#include "model/entity/entity.h"
#include "store/engine/key.h"

enum { PAGE_ROWS = 1000, TYPES_MAX = 256 };

/* An entity as it is. */
typedef struct source {
    tv_slice partition_key, row_key;
    tv_slice value; /* as it is stored: entity/entity.h */
} source;

typedef struct row {
    tv_slice key;
    uint32_t source;
} row;

typedef struct layout {
    const tv_design *design; /* NULL: as they are */
    row *rows;
    size_t count;
    bool is_partial, has_unusable; /* see tv_rewrite_facts */
    bool has_invalid;              /* keys that no entity can have: too long */
} layout;

struct tv_scratch {
    tv_arena arena;
    source *sources;
    size_t count, size;
    layout layouts[TV_SCRATCH_DESIGNS_MAX];
    size_t layout_count;
    uint64_t bytes;
    size_t entities_max; /* 0: no limits */
    uint64_t bytes_max;
    unsigned level; /* 2^level hashes have one that is held */
    size_t added;   /* whatever became of them */
    uint64_t added_bytes;
    /* Types that were asked for: every query asks again. */
    struct {
        tv_slice name;
        tv_edm_type type;
    } types[TYPES_MAX];
    size_t type_count;
};

tv_scratch *tv_scratch_new(void)
{
    tv_scratch *scratch = tv_calloc(1, sizeof *scratch);

    tv_arena_init(&scratch->arena);
    return scratch;
}

void tv_scratch_free(tv_scratch *scratch)
{
    if (scratch == NULL)
        return;
    for (size_t i = 0; i < scratch->layout_count; i++)
        free(scratch->layouts[i].rows);
    free(scratch->sources);
    tv_arena_done(&scratch->arena);
    free(scratch);
}

size_t tv_scratch_count(const tv_scratch *scratch)
{
    return scratch->count;
}

size_t tv_scratch_added(const tv_scratch *scratch)
{
    return scratch->added;
}

double tv_scratch_factor(const tv_scratch *scratch)
{
    return scratch->count ? (double)scratch->added / (double)scratch->count : 1;
}

double tv_scratch_bytes_factor(const tv_scratch *scratch)
{
    return scratch->bytes ? (double)scratch->added_bytes / (double)scratch->bytes : 1;
}

void tv_scratch_limit(tv_scratch *scratch, size_t entities_max, uint64_t bytes_max)
{
    scratch->entities_max = entities_max;
    scratch->bytes_max = bytes_max;
}

/* --- entities --- */

bool tv_scratch_holds(const tv_scratch *scratch, tv_slice partition_key)
{
    if (scratch->level == 0)
        return true;

    uint64_t hash = tv_fnv(partition_key);

    /* The low bits of FNV depend on few bits of the text. */
    hash = (hash ^ hash >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    return hash >> (64 - scratch->level) == 0;
}

static void keep(tv_scratch *scratch, tv_slice partition_key, tv_slice row_key, tv_slice value)
{
    tv_grow(&scratch->sources, scratch->count, &scratch->size, 1024);
    scratch->sources[scratch->count++] =
        (source){.partition_key = tv_arena_dup(&scratch->arena, partition_key),
                 .row_key = tv_arena_dup(&scratch->arena, row_key),
                 .value = value};
    scratch->bytes += tv_entity_cost(partition_key, row_key, value);
}

static bool is_too_much(const tv_scratch *scratch)
{
    return scratch->entities_max &&
           (scratch->count > scratch->entities_max || scratch->bytes > scratch->bytes_max);
}

/* Give up about half of the partitions, with their memory. */
static void thin(tv_scratch *scratch)
{
    tv_arena old = scratch->arena;
    size_t count = scratch->count;

    tv_arena_init(&scratch->arena);
    scratch->level++;
    scratch->count = 0;
    scratch->bytes = 0;
    for (size_t i = 0; i < count; i++) {
        source of = scratch->sources[i];

        if (tv_scratch_holds(scratch, of.partition_key))
            keep(scratch, of.partition_key, of.row_key, tv_arena_dup(&scratch->arena, of.value));
    }
    tv_arena_done(&old);
}

void tv_scratch_add(tv_scratch *scratch, tv_slice partition_key, tv_slice row_key,
                    int64_t timestamp, const tv_property *properties, size_t count)
{
    tv_entity_properties list = {(tv_property *)properties, count};
    bool is_held = tv_scratch_holds(scratch, partition_key);
    tv_arena other, *arena = is_held ? &scratch->arena : &other;
    tv_slice value;

    tv_assert(scratch->layout_count == 0);
    tv_arena_init(&other);
    value = tv_entity_encode(arena, &list);
    tv_entity_set_timestamp(value, timestamp > 0 ? timestamp : 1);
    scratch->added++;
    scratch->added_bytes += tv_entity_cost(partition_key, row_key, value);
    if (is_held)
        keep(scratch, partition_key, row_key, value);
    tv_arena_done(&other);
    while (is_too_much(scratch) && scratch->level < 40)
        thin(scratch);
}

/* --- values of an entity --- */

static bool find_value(void *ctx, tv_slice name, tv_property *ret_value)
{
    const source *of = ctx;
    tv_entity_cursor cursor;

    *ret_value = (tv_property){.type = TV_EDM_STRING, .bytes = of->partition_key};
    if (tv_slice_eq(name, TV_LIT("PartitionKey")))
        return true;
    ret_value->bytes = of->row_key;
    if (tv_slice_eq(name, TV_LIT("RowKey")))
        return true;
    tv_entity_cursor_init(&cursor, of->value);
    *ret_value = (tv_property){.type = TV_EDM_DATETIME, .ticks = cursor.timestamp};
    if (tv_slice_eq(name, TV_LIT("Timestamp")))
        return true;
    while (tv_entity_next(&cursor, ret_value)) {
        if (tv_slice_eq(ret_value->name, name))
            return true;
    }
    return false;
}

static tv_edm_type look_for_type(const tv_scratch *scratch, tv_slice name)
{
    tv_edm_type type = 0;

    for (size_t i = 0; i < scratch->count; i++) {
        tv_property value;

        if (!find_value(&scratch->sources[i], name, &value))
            continue;
        if (type && type != value.type)
            return 0;
        type = value.type;
    }
    return type;
}

tv_edm_type tv_scratch_type_of(void *ctx, tv_slice name)
{
    tv_scratch *scratch = ctx;
    tv_edm_type type;

    for (size_t i = 0; i < scratch->type_count; i++) {
        if (tv_slice_eq(scratch->types[i].name, name))
            return scratch->types[i].type;
    }
    type = look_for_type(scratch, name);
    if (scratch->type_count < TYPES_MAX && scratch->layout_count) {
        scratch->types[scratch->type_count].name = tv_arena_dup(&scratch->arena, name);
        scratch->types[scratch->type_count++].type = type;
    }
    return type;
}

void tv_scratch_each(tv_scratch *scratch, tv_slice name,
                     void (*visit)(void *ctx, const tv_property *value), void *ctx)
{
    for (size_t i = 0; i < scratch->count; i++) {
        tv_property value;

        if (find_value(&scratch->sources[i], name, &value))
            visit(ctx, &value);
    }
}

/* --- designs --- */

static int compare_rows(const void *a, const void *b)
{
    return tv_slice_cmp(((const row *)a)->key, ((const row *)b)->key);
}

static const tv_slice account = {"whatif", 6};

static tv_err make_key(tv_arena *arena, tv_slice partition_key, tv_slice row_key, tv_slice *ret_key)
{
    tv_slice partition;
    tv_err err = tv_key_partition(arena, account, 1, partition_key, &partition);

    return err ? err : tv_key_row(arena, partition, row_key, ret_key);
}

static bool keys_of(tv_arena *arena, const tv_design *design, source *of, tv_slice *ret_partition,
                    tv_slice *ret_row, tv_slice *reterr_missing)
{
    if (design == NULL) {
        *ret_partition = of->partition_key;
        *ret_row = of->row_key;
        return true;
    }
    return tv_template_apply(arena, &design->partition, find_value, of, ret_partition,
                             reterr_missing) &&
           tv_template_apply(arena, &design->row, find_value, of, ret_row, reterr_missing);
}

static void count_collisions(const tv_scratch *scratch, const layout *made, tv_arena *arena,
                             tv_scratch_fit *fit)
{
    for (size_t i = 1; i < made->count; i++) {
        const source *of = &scratch->sources[made->rows[i].source];

        if (!tv_slice_eq(made->rows[i].key, made->rows[i - 1].key))
            continue;
        fit->colliding++;
        if (fit->shown_count < TV_SCRATCH_SHOWN_MAX)
            fit->shown[fit->shown_count++] = tv_arena_printf(
                arena, "%.*s, %.*s", TV_FMT(of->partition_key), TV_FMT(of->row_key));
    }
}

static void count_partitions(const layout *made, tv_scratch_fit *fit)
{
    size_t run = 0;

    for (size_t i = 0; i < made->count; i++) {
        bool is_new = i == 0 || !tv_slice_eq(tv_key_partition_of(made->rows[i].key),
                                             tv_key_partition_of(made->rows[i - 1].key));

        fit->partitions += is_new;
        run = is_new ? 1 : run + 1;
        if (run > fit->largest)
            fit->largest = run;
    }
}

size_t tv_scratch_add_design(tv_scratch *scratch, const tv_design *design, tv_scratch_fit *ret_fit)
{
    layout *made = &scratch->layouts[scratch->layout_count];

    tv_assert(scratch->layout_count < TV_SCRATCH_DESIGNS_MAX);
    *ret_fit = (tv_scratch_fit){0};
    *made = (layout){.design = design,
                     .rows = tv_calloc(scratch->count ? scratch->count : 1, sizeof(row))};
    for (size_t i = 0; i < scratch->count; i++) {
        tv_slice partition, row_key, key, missing = TV_LIT("a valid key");

        bool has_parts =
            keys_of(&scratch->arena, design, &scratch->sources[i], &partition, &row_key, &missing);

        if (!has_parts || make_key(&scratch->arena, partition, row_key, &key)) {
            tv_property value;

            if (ret_fit->missing++ == 0)
                ret_fit->missing_name = missing;
            made->has_invalid |= has_parts;
            made->has_unusable |= has_parts || find_value(&scratch->sources[i], missing, &value);
            continue;
        }
        made->rows[made->count++] = (row){key, (uint32_t)i};
        ret_fit->bytes += tv_entity_cost(partition, row_key, scratch->sources[i].value);
    }
    qsort(made->rows, made->count, sizeof *made->rows, compare_rows);
    made->is_partial = ret_fit->missing > 0;
    count_collisions(scratch, made, &scratch->arena, ret_fit);
    count_partitions(made, ret_fit);
    return scratch->layout_count++;
}

/* --- queries --- */

static size_t lower_bound(const layout *in, tv_slice key)
{
    size_t low = 0, high = in->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (tv_slice_cmp(in->rows[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool tv_scratch_find(tv_scratch *scratch, tv_slice partition_key, tv_slice row_key,
                     size_t *ret_number)
{
    const layout *now = &scratch->layouts[0];
    tv_slice key;
    size_t at;

    tv_assert(scratch->layout_count && now->design == NULL);
    if (make_key(&scratch->arena, partition_key, row_key, &key))
        return false;
    at = lower_bound(now, key);
    if (at == now->count || !tv_slice_eq(now->rows[at].key, key))
        return false;
    *ret_number = now->rows[at].source;
    return true;
}

bool tv_scratch_keys_of(tv_scratch *scratch, size_t number, size_t design, tv_slice *ret_partition,
                        tv_slice *ret_row)
{
    tv_slice missing;

    return keys_of(&scratch->arena, scratch->layouts[design].design, &scratch->sources[number],
                   ret_partition, ret_row, &missing);
}

static int by_size(const void *a, const void *b)
{
    const tv_scratch_partition *left = a, *right = b;

    if (left->count != right->count)
        return left->count < right->count ? 1 : -1;
    return (left->first > right->first) - (left->first < right->first);
}

size_t tv_scratch_partitions(tv_scratch *scratch, tv_arena *arena,
                             const tv_scratch_partition **ret_list)
{
    const layout *now = &scratch->layouts[0];
    tv_scratch_partition *list = tv_arena_alloc(arena, (now->count + 1) * sizeof *list);
    size_t count = 0;

    for (size_t i = 0; i < now->count; i++) {
        if (i == 0 || !tv_slice_eq(tv_key_partition_of(now->rows[i].key),
                                   tv_key_partition_of(now->rows[i - 1].key)))
            list[count++] = (tv_scratch_partition){.first = i};
        list[count - 1].count++;
    }
    if (count)
        qsort(list, count, sizeof *list, by_size);
    *ret_list = list;
    return count;
}

size_t tv_scratch_at(const tv_scratch *scratch, size_t place)
{
    return scratch->layouts[0].rows[place].source;
}

static bool passes(const source *of, const tv_filter *filter, tv_filter_slot *slots)
{
    for (int i = 0; i < filter->names.count; i++)
        slots[i].is_there = find_value((void *)of, filter->names.list[i], &slots[i].value);
    return tv_filter_eval(filter->root, slots);
}

/* Whether the copy has all columns that the filter asks for. */
static bool has_columns(const tv_design *design, const tv_filter *filter)
{
    if (design == NULL || design->column_count == 0)
        return true;
    for (int i = 0; i < filter->names.count; i++) {
        bool is_there = tv_filter_is_key(filter, i);

        for (size_t j = 0; j < design->column_count && !is_there; j++)
            is_there = tv_slice_eq(design->columns[j], filter->names.list[i]);
        if (!is_there)
            return false;
    }
    return true;
}

static bool plan_of(tv_scratch *scratch, const layout *in, const tv_filter *filter, tv_arena *arena,
                    tv_plan *ret_plan, tv_slice *ret_keys)
{
    tv_rewrite_facts facts = {.type_of = tv_scratch_type_of,
                              .ctx = scratch,
                              .is_partial = in->is_partial,
                              .has_unusable = in->has_unusable};
    tv_slice prefix = tv_key_table(arena, account, 1);
    tv_error_info info = {0};
    tv_filter *keys;

    *ret_keys = TV_LIT("");
    if (in->design == NULL) {
        *ret_plan = tv_plan_make(arena, prefix, filter);
        return true;
    }
    if (in->has_invalid || !has_columns(in->design, filter) ||
        !tv_rewrite(arena, filter, in->design, &facts, ret_keys) ||
        tv_filter_parse(arena, *ret_keys, &keys, &info))
        return false;
    *ret_plan = tv_plan_make(arena, prefix, keys);
    return true;
}

/* The PartitionKeys that a filter names with `eq`, wherever they stand. */
static size_t named_partitions(const tv_node *node, const tv_filter *filter, tv_slice *names)
{
    size_t count = 0;

    if (node == NULL)
        return 0;
    if (node->kind == TV_NODE_COMPARE && node->op == TV_OP_EQ &&
        node->name == filter->partition_name && node->literal.type == TV_EDM_STRING)
        names[count++] = node->literal.bytes;
    for (const tv_node *child = tv_node_first(node); child; child = child->next)
        count += named_partitions(child, filter, names + count);
    return count;
}

bool tv_scratch_is_outside(const tv_scratch *scratch, const tv_filter *filter)
{
    bool is_outside = false;
    tv_slice *names;

    if (scratch->level == 0)
        return false;
    names = tv_calloc((size_t)filter->compare_count + 1, sizeof *names);
    for (size_t i = named_partitions(filter->root, filter, names); i > 0 && !is_outside; i--)
        is_outside = !tv_scratch_holds(scratch, names[i - 1]);
    free(names);
    return is_outside;
}

/* What a row of a sample stands for. */
static double weight_of(const tv_scratch *scratch, const source *of, const tv_slice *names,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tv_slice_eq(of->partition_key, names[i]))
            return 1;
    }
    return tv_scratch_factor(scratch);
}

bool tv_scratch_run(tv_scratch *scratch, size_t design, const tv_filter *filter, tv_arena *arena,
                    tv_scratch_result *ret_result)
{
    const layout *in = &scratch->layouts[design];
    tv_filter_slot *slots =
        tv_arena_alloc(arena, ((size_t)filter->names.count + 1) * sizeof *slots);
    tv_slice *names = tv_arena_alloc(arena, ((size_t)filter->compare_count + 1) * sizeof *names);
    size_t name_count = named_partitions(filter->root, filter, names);
    tv_scratch_result result = {0};
    tv_plan plan;

    if (!plan_of(scratch, in, filter, arena, &plan, &result.keys))
        return false;
    result.plan = plan.kind;
    for (size_t i = 0; i < plan.count; i++) {
        size_t from = lower_bound(in, plan.ranges[i].from), to = lower_bound(in, plan.ranges[i].to);

        for (size_t at = from; at < to; at++) {
            uint64_t number = in->rows[at].source + UINT64_C(1);
            const source *of = &scratch->sources[number - 1];
            double weight = scratch->level ? weight_of(scratch, of, names, name_count) : 1;

            result.examined += weight;
            if (!passes(of, filter, slots))
                continue;
            result.returned += weight;
            result.matches++;
            result.sum += number * number * UINT64_C(0x9E3779B97F4A7C15) + (number << 7);
        }
    }
    result.pages = result.returned <= PAGE_ROWS ? 1 : ceil(result.returned / PAGE_ROWS);
    *ret_result = result;
    return true;
}
