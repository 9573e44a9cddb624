/* Reading the entities of the sample, and what is remembered of that. */
#include "insight/facts/properties.h"

#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "insight/facts/class.h"
#include "insight/facts/walk.h"
#include "store/engine/key.h"

enum {
    FRESH_ENTITIES = 4096, /* of a table that small every change is looked at */
    NAME_SLOTS = 2 * TV_FACTS_PROPERTIES_MAX,
};

#define FRESH_NS (INT64_C(60) * 1000000000)

/* The last look at a table. */
struct tv_facts_properties {
    atomic_size_t *kept; /* where its names are counted, or NULL */
    uint64_t sample;     /* the id of the one that was looked at */
    uint64_t changes;    /* of the table then */
    int64_t taken_ns;
    tv_arena arena;
    tv_evidence_property *list;
    size_t count;
    uint64_t samples;
    double billed;       /* for each byte that is stored */
    double billed_error; /* of that, half of the 95 % interval for one entity in all */
};

void tv_facts_properties_free(struct tv_facts_properties *properties)
{
    if (properties == NULL)
        return;

    if (properties->kept)
        atomic_fetch_sub(properties->kept, properties->count);
    tv_arena_done(&properties->arena);
    free(properties);
}

/* --- reading --- */

/* A name, while it is added up. */
typedef struct name_stats {
    tv_evidence_property sum;
    uint64_t *values; /* hashes, one for each of `sum.count` */
    size_t values_size;
    uint32_t classes[TV_EVIDENCE_TYPES]; /* of RowKeys, a bit each */
} name_stats;

typedef struct reading {
    name_stats names[TV_FACTS_PROPERTIES_MAX];
    size_t name_count;
    uint16_t slots[NAME_SLOTS]; /* index + 1 */
    tv_arena *arena;
    uint32_t class_bit; /* of the entity at hand, */
    double cost;        /* and its bytes by the service's formula */
    /* Sums over all entities: of costs, of stored bytes, and of their products. */
    double costs, bytes, costs_2, bytes_2, both;
} reading;

static name_stats *find_name(reading *r, tv_slice name)
{
    size_t slot = tv_hash(name) % NAME_SLOTS;

    for (; r->slots[slot]; slot = (slot + 1) % NAME_SLOTS) {
        name_stats *stats = &r->names[r->slots[slot] - 1];

        if (tv_slice_eq(stats->sum.name, name))
            return stats;
    }
    if (r->name_count == TV_FACTS_PROPERTIES_MAX)
        return NULL;

    r->slots[slot] = (uint16_t)(r->name_count + 1);
    r->names[r->name_count].sum.name = tv_arena_dup(r->arena, name);
    return &r->names[r->name_count++];
}

static tv_slice value_bytes(const tv_property *property)
{
    switch (property->type) {
    case TV_EDM_STRING:
    case TV_EDM_BINARY:
        return property->bytes;
    case TV_EDM_BOOLEAN:
        return (tv_slice){(const char *)&property->boolean, sizeof property->boolean};
    case TV_EDM_INT32:
        return (tv_slice){(const char *)&property->int32, sizeof property->int32};
    case TV_EDM_INT64:
        return (tv_slice){(const char *)&property->int64, sizeof property->int64};
    case TV_EDM_DOUBLE:
        return (tv_slice){(const char *)&property->real, sizeof property->real};
    case TV_EDM_DATETIME:
        return (tv_slice){(const char *)&property->ticks, sizeof property->ticks};
    case TV_EDM_GUID:
        return (tv_slice){(const char *)&property->guid, sizeof property->guid};
    }
    return TV_LIT("");
}

static void add_property(void *ctx, const tv_property *property)
{
    reading *r = ctx;
    name_stats *stats = find_name(r, property->name);
    tv_slice value = value_bytes(property);

    r->cost += (double)tv_property_cost(property);
    if (stats == NULL)
        return;
    tv_grow(&stats->values, stats->sum.count, &stats->values_size, 16);
    stats->values[stats->sum.count++] = tv_hash(value) + (uint64_t)property->type;
    stats->sum.types[property->type]++;
    stats->sum.bytes += value.len;
    if (value.len > stats->sum.max_bytes)
        stats->sum.max_bytes = value.len;
    stats->classes[property->type] |= r->class_bit;
}

static void add_cost(reading *r, double bytes)
{
    r->costs += r->cost;
    r->bytes += bytes;
    r->costs_2 += r->cost * r->cost;
    r->bytes_2 += bytes * bytes;
    r->both += r->cost * bytes;
}

/*
 * What the service bills for a stored byte: a ratio estimate.  Its error is that of the mean of
 * what entities are off the ratio, and nothing where the sample has all of them.
 */
static void estimate_billed(const reading *r, uint64_t entities, struct tv_facts_properties *to)
{
    double count = (double)to->samples, all = (double)entities;
    double ratio = r->bytes > 0 ? r->costs / r->bytes : 0;
    double squares = r->costs_2 - 2 * ratio * r->both + ratio * ratio * r->bytes_2;

    to->billed = ratio;
    to->billed_error = 0;
    if (count > 1 && count < all && squares > 1e-9 * r->costs_2)
        to->billed_error = 1.96 * sqrt(squares / (count - 1) / count * (1 - count / all));
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/*
 * How many distinct values a table has of which `stats` is a sample: the estimator GEE, between
 * what the sample has and what there would be if each value that it has once stood for others.
 */
static void estimate_distinct(name_stats *stats, double table_count)
{
    tv_evidence_property *p = &stats->sum;
    double once = 0, distinct = 0, scale = table_count / (double)p->count;

    qsort(stats->values, p->count, sizeof *stats->values, compare_hashes);
    for (size_t begin = 0, end; begin < p->count; begin = end) {
        for (end = begin; end < p->count && stats->values[end] == stats->values[begin];)
            end++;
        distinct++;
        once += end - begin == 1;
    }
    if (scale < 1)
        scale = 1;
    p->distinct = distinct;
    p->distinct_now = once * sqrt(scale) + distinct - once;
    p->distinct_now_max = once * scale + distinct - once;
}

static bool are_types_apart(const name_stats *stats)
{
    uint32_t seen = 0;
    int types = 0;

    for (int type = 1; type < TV_EVIDENCE_TYPES; type++) {
        if (stats->classes[type] == 0)
            continue;
        if (stats->classes[type] & seen)
            return false;
        seen |= stats->classes[type];
        types++;
    }
    return types > 1;
}

static int compare_counts(const void *a, const void *b)
{
    const tv_evidence_property *p = a, *q = b;

    return p->count != q->count ? (p->count < q->count ? 1 : -1) : tv_slice_cmp(p->name, q->name);
}

static tv_err read_entities(tv_facts *facts, const tv_fact *fact, const tv_sample_key *items,
                            const tv_facts_table *table, reading *r, uint64_t *ret_samples)
{
    tv_class_list *classes;
    tv_buf key = TV_BUF_EMPTY;
    tv_arena scratch, texts; /* of a row, and of all classes: neither is kept */
    tv_err err = TV_OK;

    *ret_samples = 0;
    tv_arena_init(&scratch);
    tv_arena_init(&texts);
    classes = tv_arena_zalloc(&texts, sizeof *classes);
    for (size_t i = 0; i < table->sample_count && err == TV_OK; i++) {
        tv_slice value;

        tv_buf_reset(&key);
        tv_buf_add_char(&key, 'r');
        tv_buf_add(&key, fact->table);
        tv_buf_add(&key, (tv_slice){items[i].key, items[i].len});
        err = tv_engine_get(facts->engine, TV_READ_ANY, tv_buf_slice(&key), &scratch, &value);
        if (err == TV_OK) {
            r->class_bit = UINT32_C(1)
                           << tv_class_list_add(classes, &texts, table->sample[i].row_key);
            r->cost = (double)tv_facts_key_cost((tv_slice){items[i].key, items[i].len});
            err = facts->format->walk(value, add_property, r);
            add_cost(r, (double)(key.len + value.len));
            ++*ret_samples;
        } else if (err == TV_ERR_NOT_FOUND) {
            err = TV_OK; /* deleted a moment ago */
        }
        tv_arena_reset(&scratch);
    }
    tv_arena_done(&scratch);
    tv_arena_done(&texts);
    tv_buf_done(&key);
    return err;
}

static tv_err look(tv_facts *facts, const tv_fact *fact, const tv_sample_key *items,
                   const tv_facts_table *table, struct tv_facts_properties **ret_properties)
{
    reading *r = calloc(1, sizeof *r); /* 100 KB, of which there may be none left */
    struct tv_facts_properties *properties;
    tv_err err;

    if (r == NULL)
        return TV_ERR_OVERLOADED;

    properties = tv_calloc(1, sizeof *properties);
    tv_arena_init(&properties->arena);
    r->arena = &properties->arena;
    properties->taken_ns = tv_clock_mono_ns();
    err = read_entities(facts, fact, items, table, r, &properties->samples);
    estimate_billed(r, table->count.entities, properties);
    properties->count = r->name_count;
    properties->list = tv_arena_alloc(r->arena, (r->name_count + 1) * sizeof *properties->list);
    for (size_t i = 0; i < r->name_count; i++) {
        name_stats *stats = &r->names[i];
        double share = (double)stats->sum.count / (double)properties->samples;

        estimate_distinct(stats, share * (double)table->count.entities);
        stats->sum.types_by_class = are_types_apart(stats);
        properties->list[i] = stats->sum;
        free(stats->values);
    }
    qsort(properties->list, properties->count, sizeof *properties->list, compare_counts);
    free(r);
    if (err) {
        tv_facts_properties_free(properties);
        return err;
    }
    *ret_properties = properties;
    return TV_OK;
}

/* --- extremes --- */

enum { LONG_STRING_UNITS = 24576, LONG_BINARY_BYTES = 49152 };

void tv_facts_look_at_value(tv_extremes *extremes, const tv_property *property)
{
    if (property->type == TV_EDM_STRING) {
        /* No text has more units than bytes. */
        if (property->bytes.len <= extremes->list[TV_EXTREME_STRING].value &&
            property->bytes.len < LONG_STRING_UNITS)
            return;

        size_t units = tv_utf8_units(property->bytes);

        tv_extremes_note(extremes, TV_EXTREME_STRING, units, property->name);
        extremes->long_strings += units >= LONG_STRING_UNITS;
    } else if (property->type == TV_EDM_BINARY) {
        tv_extremes_note(extremes, TV_EXTREME_BINARY, property->bytes.len, property->name);
        extremes->long_binaries += property->bytes.len >= LONG_BINARY_BYTES;
    }
}

uint64_t tv_facts_key_cost(tv_slice key)
{
    /* CESU-8 has three bytes a unit at most, as UTF-8 below U+10000. */
    size_t units = 0;

    for (size_t i = 0; i < key.len; i++)
        units += ((unsigned char)key.data[i] & 0xC0) != 0x80 && key.data[i] != TV_KEY_MARK;
    return 4 + 2 * units;
}

/* --- remembering --- */

static bool is_fresh(const struct tv_facts_properties *properties, uint64_t sample,
                     const tv_facts_count *count)
{
    uint64_t changes = count->created + count->replaced + count->deleted;

    if (properties == NULL || properties->sample != sample)
        return false;
    if (changes == properties->changes)
        return true;
    return count->entities > FRESH_ENTITIES &&
           changes - properties->changes < count->entities / 16 &&
           tv_clock_mono_ns() - properties->taken_ns < FRESH_NS;
}

static void copy_list(const struct tv_facts_properties *properties, tv_arena *arena,
                      tv_facts_table *table)
{
    table->properties = tv_arena_alloc(arena, (properties->count + 1) * sizeof *table->properties);
    memcpy(table->properties, properties->list, properties->count * sizeof *table->properties);
    for (size_t i = 0; i < properties->count; i++)
        table->properties[i].name = tv_arena_dup(arena, properties->list[i].name);
    table->property_count = properties->count;
    table->property_samples = properties->samples;
    table->has_billed = table->count.basis != TV_FACTS_UNKNOWN &&
                        (properties->samples > 0 || table->count.entities == 0);
    table->billed = properties->billed * (double)table->count.bytes;
    table->billed_error = properties->billed_error * (double)table->count.entities;
}

/* Unless there are too many names already: then they are read again the next time. */
static void remember(tv_facts *facts, tv_fact *fact, struct tv_facts_properties *fresh)
{
    pthread_mutex_lock(&fact->lock);

    struct tv_facts_properties *old = fact->properties;

    fact->properties = NULL;
    pthread_mutex_unlock(&fact->lock);
    tv_facts_properties_free(old);
    if (atomic_fetch_add(&facts->name_count, fresh->count) + fresh->count >
        TV_FACTS_SERVER_NAMES_MAX) {
        atomic_fetch_sub(&facts->name_count, fresh->count);
        tv_facts_properties_free(fresh);
        return;
    }
    fresh->kept = &facts->name_count;
    pthread_mutex_lock(&fact->lock);
    old = fact->properties; /* of another thread, meanwhile */
    fact->properties = fresh;
    pthread_mutex_unlock(&fact->lock);
    tv_facts_properties_free(old);
}

tv_err tv_facts_take_properties(tv_facts *facts, tv_fact *fact, uint64_t sample,
                                const tv_sample_key *items, tv_arena *arena, tv_facts_table *table)
{
    struct tv_facts_properties *fresh = NULL;
    tv_err err;

    pthread_mutex_lock(&fact->lock);
    bool is_there = is_fresh(fact->properties, sample, &table->count);

    if (is_there)
        copy_list(fact->properties, arena, table);
    pthread_mutex_unlock(&fact->lock);
    if (is_there)
        return TV_OK;

    err = look(facts, fact, items, table, &fresh);
    if (err)
        return err;

    fresh->sample = sample;
    fresh->changes = table->count.created + table->count.replaced + table->count.deleted;
    copy_list(fresh, arena, table);
    remember(facts, fact, fresh);
    return TV_OK;
}
