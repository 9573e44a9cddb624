/* Frequencies of hashes and of values. */
#include "insight/whatif/values.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/grow.h"

typedef struct counted {
    tv_slice hash;
    tv_property value;
    uint64_t count;
} counted;

typedef struct list {
    counted *items;
    size_t count, size;
} list;

/* Of one property and type. */
typedef struct column {
    struct column *next;
    tv_slice name;
    tv_edm_type type;
    list hashes, values;
    bool is_sorted;
} column;

struct tv_values {
    tv_arena arena;
    tv_scratch *scratch;
    column *columns;
};

tv_values *tv_values_new(tv_scratch *scratch)
{
    tv_values *values = tv_calloc(1, sizeof *values);

    values->scratch = scratch;
    tv_arena_init(&values->arena);
    return values;
}

void tv_values_free(tv_values *values)
{
    if (values == NULL)
        return;
    for (column *of = values->columns; of; of = of->next) {
        free(of->hashes.items);
        free(of->values.items);
    }
    tv_arena_done(&values->arena);
    free(values);
}

static counted *add(list *to)
{
    tv_grow(&to->items, to->count, &to->size, 64);
    to->items[to->count] = (counted){.count = 1};
    return &to->items[to->count++];
}

static column *find_column(tv_values *values, tv_slice name, tv_edm_type type)
{
    column *of = values->columns;

    while (of && !(of->type == type && tv_slice_eq(of->name, name)))
        of = of->next;
    if (of == NULL) {
        of = tv_arena_zalloc(&values->arena, sizeof *of);
        of->name = tv_arena_dup(&values->arena, name);
        of->type = type;
        of->next = values->columns;
        values->columns = of;
    }
    return of;
}

void tv_values_count(tv_values *values, tv_slice name, tv_edm_type type, tv_slice hash)
{
    column *of = find_column(values, name, type);

    for (size_t i = 0; i < of->hashes.count; i++) {
        if (tv_slice_eq(of->hashes.items[i].hash, hash)) {
            of->hashes.items[i].count++;
            return;
        }
    }
    add(&of->hashes)->hash = tv_arena_dup(&values->arena, hash);
}

static int compare_values(const void *a, const void *b)
{
    const tv_property *left = &((const counted *)a)->value, *right = &((const counted *)b)->value;

    switch (left->type) {
    case TV_EDM_STRING:
    case TV_EDM_BINARY:
        return tv_slice_cmp(left->bytes, right->bytes);
    case TV_EDM_GUID:
        return memcmp(&left->guid, &right->guid, sizeof left->guid);
    case TV_EDM_BOOLEAN:
        return left->boolean - right->boolean;
    case TV_EDM_INT32:
        return (left->int32 > right->int32) - (left->int32 < right->int32);
    case TV_EDM_DOUBLE:
        return (left->real > right->real) - (left->real < right->real);
    case TV_EDM_INT64:
    case TV_EDM_DATETIME:
        break;
    }
    return (left->int64 > right->int64) - (left->int64 < right->int64);
}

/* Most frequent first; ties by what they are, so that a run is like the next. */
static int by_count(const void *a, const void *b)
{
    const counted *left = a, *right = b;

    if (left->count != right->count)
        return left->count < right->count ? 1 : -1;
    return left->hash.len ? tv_slice_cmp(left->hash, right->hash) : compare_values(a, b);
}

static void keep_value(void *ctx, const tv_property *value)
{
    column *of = ctx;

    if (value->type == of->type)
        add(&of->values)->value = *value;
}

static void sort_column(tv_values *values, column *of)
{
    size_t kept = 0;

    of->is_sorted = true;
    tv_scratch_each(values->scratch, of->name, keep_value, of);
    if (of->values.count)
        qsort(of->values.items, of->values.count, sizeof *of->values.items, compare_values);
    for (size_t i = 0; i < of->values.count; i++) {
        if (kept && compare_values(&of->values.items[kept - 1], &of->values.items[i]) == 0)
            of->values.items[kept - 1].count++;
        else
            of->values.items[kept++] = of->values.items[i];
    }
    of->values.count = kept;
    if (kept)
        qsort(of->values.items, kept, sizeof *of->values.items, by_count);
    if (of->hashes.count)
        qsort(of->hashes.items, of->hashes.count, sizeof *of->hashes.items, by_count);
}

bool tv_values_find(tv_values *values, tv_slice name, tv_edm_type type, tv_slice hash,
                    tv_property *ret_value)
{
    column *of = find_column(values, name, type);

    if (!of->is_sorted)
        sort_column(values, of);
    for (size_t i = 0; i < of->hashes.count && of->values.count; i++) {
        if (tv_slice_eq(of->hashes.items[i].hash, hash)) {
            *ret_value = of->values.items[i % of->values.count].value;
            return true;
        }
    }
    return false;
}
