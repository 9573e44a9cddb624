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
    uint32_t class_bit; /* of the entity at hand */
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

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Where the mean of a number is that is so by chance: each with a certainty of 97.5 %. */
static double mean_low(double number)
{
    return fmax(number + 0.96 - 1.96 * sqrt(number), 0);
}

static double mean_high(double number)
{
    return number + 1.92 + 1.96 * sqrt(number + 1);
}

/*
 * Between how many distinct values a property has in a table, of whose entities `rate` are in the
 * sample and `others` are not.
 *
 * At most, each value that the sample has once stands for others that are there once.  At least,
 * there are as many that it does not have as Chao's estimator for a sample without replacement
 * says, which goes by those it has once and twice and is a lower bound whatever the distribution
 * (Chao and Lin 2012); with what chance may have done to each of the numbers.
 */
static void estimate_distinct(name_stats *stats, double rate, double others)
{
    tv_evidence_property *p = &stats->sum;
    double once = 0, twice = 0, distinct = 0, unseen = 0;

    qsort(stats->values, p->count, sizeof *stats->values, compare_hashes);
    for (size_t begin = 0, end; begin < p->count; begin = end) {
        for (end = begin; end < p->count && stats->values[end] == stats->values[begin];)
            end++;
        distinct++;
        once += end - begin == 1;
        twice += end - begin == 2;
    }
    p->distinct = p->distinct_low = p->distinct_high = distinct;
    if (rate >= 1)
        return;
    if (once > 0)
        unseen = pow(mean_low(once), 2) /
                 (2 * mean_high(twice) + rate / (1 - rate) * mean_low(once) + 1e-9);
    p->distinct_low = floor(distinct + fmax(unseen - 1.96 * sqrt(unseen), 0));
    p->distinct_high =
        ceil(distinct + fmin(mean_high(once) / rate - once, others > 0 ? others : 0));
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
            err = facts->format->walk(value, add_property, r);
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

static tv_err look(tv_facts *facts, const tv_fact *fact, const tv_sample *sample,
                   const tv_sample_key *items, const tv_facts_table *table,
                   struct tv_facts_properties **ret_properties)
{
    /* The part of its entities that the sample has. */
    double rate =
        sample->has_all ? 1 : (double)sample->key_count / fmax((double)sample->entities, 1);
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
    properties->count = r->name_count;
    properties->list = tv_arena_alloc(r->arena, (r->name_count + 1) * sizeof *properties->list);
    for (size_t i = 0; i < r->name_count; i++) {
        name_stats *stats = &r->names[i];

        estimate_distinct(stats, rate, (double)sample->entities - (double)sample->key_count);
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

static uint64_t changes_of(const tv_facts_count *count)
{
    return count->created + count->replaced + count->deleted;
}

static bool is_fresh(const struct tv_facts_properties *properties, uint64_t sample,
                     const tv_facts_count *count)
{
    uint64_t changes = changes_of(count);

    if (properties == NULL || properties->sample != sample)
        return false;
    if (changes == properties->changes)
        return true;
    return count->entities > FRESH_ENTITIES &&
           changes - properties->changes < count->entities / 16 &&
           tv_clock_mono_ns() - properties->taken_ns < FRESH_NS;
}

/*
 * Each change since the entities were read may have taken a value away or brought one, and each
 * entity that came since the sample was taken may have one that the sample knows nothing of.
 */
static void bring_up_to_date(uint64_t changes, const tv_facts_since *since, tv_facts_table *table)
{
    for (size_t i = 0; i < table->property_count; i++) {
        tv_evidence_property *p = &table->properties[i];
        double more = fmax((double)changes, (double)since->created);

        /* Of a property that more sampled entities have than have changed, a value is left. */
        p->distinct_low = fmax(p->distinct_low - (double)changes, changes < p->count ? 1 : 0);
        p->distinct_high = fmin(p->distinct_high + more, (double)table->count.entities);
    }
}

/* Under the lock of the table. */
static void copy_list(const struct tv_facts_properties *properties, const tv_facts *facts,
                      const tv_fact *fact, const tv_sample *sample, tv_arena *arena,
                      tv_facts_table *table)
{
    tv_facts_since since = tv_fact_since(facts, fact, sample);
    tv_facts_count count = tv_fact_count(fact);

    table->properties = tv_arena_alloc(arena, (properties->count + 1) * sizeof *table->properties);
    memcpy(table->properties, properties->list, properties->count * sizeof *table->properties);
    for (size_t i = 0; i < properties->count; i++)
        table->properties[i].name = tv_arena_dup(arena, properties->list[i].name);
    table->property_count = properties->count;
    table->property_samples = properties->samples;
    bring_up_to_date(changes_of(&count) - properties->changes, &since, table);
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

tv_err tv_facts_take_properties(tv_facts *facts, tv_fact *fact, const tv_sample *sample,
                                const tv_sample_key *items, tv_arena *arena, tv_facts_table *table)
{
    struct tv_facts_properties *fresh = NULL;
    tv_err err;

    pthread_mutex_lock(&fact->lock);
    bool is_there = is_fresh(fact->properties, sample->id, &table->count);

    if (is_there)
        copy_list(fact->properties, facts, fact, sample, arena, table);
    pthread_mutex_unlock(&fact->lock);
    if (is_there)
        return TV_OK;

    err = look(facts, fact, sample, items, table, &fresh);
    if (err)
        return err;

    fresh->sample = sample->id;
    fresh->changes = changes_of(&table->count);
    pthread_mutex_lock(&fact->lock);
    copy_list(fresh, facts, fact, sample, arena, table);
    pthread_mutex_unlock(&fact->lock);
    remember(facts, fact, fresh);
    return TV_OK;
}
