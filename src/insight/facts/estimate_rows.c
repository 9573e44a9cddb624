/* How many entities lie in the ranges of a plan, by counted partitions and the key sample. */
#include <math.h>

#include "insight/facts/estimate_parts.h"
#include "store/engine/key.h"

enum { SAMPLE_KEYS_MIN = 30 }; /* of a partition; with fewer the mean partition has its say */

#define NONE_OF_SAMPLE 3.7 /* keys that there may be where the sample has none, by its scale */

tv_facts_span tv_facts_span_of_share(double x, double k)
{
    const double z = 2.24;
    double p = x / k, mid = (p + z * z / (2 * k)) / (1 + z * z / k);
    double half = z * sqrt(p * (1 - p) / k + z * z / (4 * k * k)) / (1 + z * z / k);

    return (tv_facts_span){p, fmax(mid - half, 0), fmin(mid + half, 1)};
}

/* --- where partitions and keys lie --- */

/* A bound without the prefix; false when it is the end of the table. */
static bool upper_of(const tv_estimate_query *query, const tv_key_range *range, tv_slice *ret_to)
{
    if (!tv_slice_starts_with(range->to, query->prefix))
        return false;
    *ret_to = tv_slice_skip(range->to, query->prefix.len);
    return true;
}

/* How many ranges begin at the key, which has no prefix, or before it.  They are in order and do
 * not overlap: only the last of these can have it. */
static size_t ranges_until(const tv_estimate_query *query, tv_slice tail)
{
    const tv_key_range *ranges = query->plan->ranges;
    size_t low = 0, high = query->plan->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (tv_slice_cmp(tv_slice_skip(ranges[middle].from, query->prefix.len), tail) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_in(const tv_estimate_query *query, tv_slice tail)
{
    size_t until = ranges_until(query, tail);
    tv_slice to;

    return until &&
           (!upper_of(query, &query->plan->ranges[until - 1], &to) || tv_slice_cmp(tail, to) < 0);
}

typedef enum cover { COVERS_NONE, COVERS_PART, COVERS_WHOLE } cover;

/* What of a partition the ranges have; `key` is made anew. */
static cover cover_of(const tv_estimate_query *query, tv_slice partition_key, tv_buf *key)
{
    const tv_plan *plan = query->plan;
    tv_slice to;

    tv_buf_reset(key);
    tv_buf_add(key, partition_key);
    tv_buf_add_char(key, TV_KEY_MARK);

    size_t until = ranges_until(query, tv_buf_slice(key));
    bool reaches = until && (!upper_of(query, &plan->ranges[until - 1], &to) ||
                             tv_slice_cmp(tv_buf_slice(key), to) < 0);

    key->data[key->len - 1] = TV_KEY_BEHIND; /* behind its last key */
    if (reaches && (!upper_of(query, &plan->ranges[until - 1], &to) ||
                    tv_slice_cmp(tv_buf_slice(key), to) <= 0))
        return COVERS_WHOLE;
    if (reaches)
        return COVERS_PART;
    return until < plan->count &&
                   tv_slice_cmp(tv_slice_skip(plan->ranges[until].from, query->prefix.len),
                                tv_buf_slice(key)) < 0
               ? COVERS_PART
               : COVERS_NONE;
}

/* The PartitionKey of a range within one partition, as stored. */
static bool partition_of(const tv_estimate_query *query, const tv_key_range *range,
                         tv_slice *ret_key)
{
    tv_slice tail = tv_slice_skip(range->from, query->prefix.len);
    size_t mark = tv_slice_find(tail, TV_KEY_MARK);

    *ret_key = tv_slice_take(tail, mark);
    return range->kind <= TV_PLAN_PARTITION && mark < tail.len;
}

/* The one that all of a plan's ranges lie in; false when they lie in several. */
static bool one_partition(const tv_estimate_query *query, tv_slice *ret_key)
{
    const tv_plan *plan = query->plan;
    tv_slice key;

    for (size_t i = 0; i < plan->count; i++) {
        if (!partition_of(query, &plan->ranges[i], &key) || (i > 0 && !tv_slice_eq(key, *ret_key)))
            return false;
        *ret_key = key;
    }
    return plan->count > 0;
}

/* --- looking up --- */

/* The counted partition of a key; NULL when it is of none, or counts are not exact. */
static const tv_sample_partition *counted_of(const tv_sample *sample, const tv_estimate_known *k,
                                             tv_slice partition_key)
{
    return k->count.basis == TV_FACTS_EXACT ? tv_sample_find_partition(sample, partition_key)
                                            : NULL;
}

static void count_sample(const tv_estimate_query *query, const tv_estimate_probe *probe,
                         const tv_sample *sample, tv_slice partition, tv_stratum *strata,
                         tv_arena *arena, tv_estimate_known *k)
{
    for (size_t i = 0; i < sample->key_count; i++) {
        tv_slice tail = tv_sample_key_text(&sample->keys[i]);
        tv_slice key = tv_key_before_mark(tail);
        const tv_sample_partition *counted = counted_of(sample, k, key);
        tv_stratum *of = counted ? &strata[counted - sample->partitions] : &k->rest;
        bool is_inside = is_in(query, tail);

        of->keys++;
        of->inside += is_inside;
        k->sample_inside += is_inside;
        k->partition_keys += k->has_partition && tv_slice_eq(key, partition);
        /* The sample is in the order of chance: its first keys are as good as any. */
        if (is_inside && query->plan->residual && k->tested_count < TV_ESTIMATE_TESTED_MAX &&
            tv_slice_cmp(tail, probe->next) >= 0)
            k->tested[k->tested_count++] = tv_arena_dup(arena, tail);
    }
    k->sample_keys = (double)sample->key_count;
}

/* Divide the table; after the sample was counted. */
static void divide(const tv_estimate_query *query, const tv_sample *sample,
                   const tv_stratum *strata, tv_arena *arena, tv_estimate_known *k)
{
    bool is_exact = k->count.basis == TV_FACTS_EXACT;
    size_t count = is_exact ? sample->partition_count : 0;
    tv_buf key = TV_BUF_EMPTY;
    double counted = 0;

    k->parts = tv_arena_alloc(arena, (count + 1) * sizeof *k->parts);
    for (size_t i = 0; i < count; i++) {
        const tv_sample_partition *p = &sample->partitions[i];
        cover covers = cover_of(query, (tv_slice){p->key, p->len}, &key);

        counted += (double)p->entities;
        if (covers == COVERS_WHOLE) {
            k->whole += (double)p->entities;
        } else if (covers == COVERS_PART) {
            k->parts[k->part_count] = strata[i];
            k->parts[k->part_count++].entities = (double)p->entities;
        }
    }
    tv_buf_done(&key);
    k->rest.entities = fmax(k->sampled - counted, 0);
    k->rest_count = fmax((double)sample->partition_total - (double)count, 1);
    k->rest_most = is_exact ? (double)sample->partition_floor : k->rest.entities;
    k->is_rest_out = is_exact && k->rest.entities == 0;
}

/* Whether all ranges are of counted partitions. */
static bool is_all_counted(const tv_estimate_query *query, const tv_sample *sample,
                           const tv_estimate_known *k)
{
    for (size_t i = 0; i < query->plan->count; i++) {
        tv_slice key;

        if (!partition_of(query, &query->plan->ranges[i], &key) ||
            counted_of(sample, k, key) == NULL)
            return false;
    }
    return true;
}

static void look_at_sample(const tv_estimate_query *query, const tv_estimate_probe *probe,
                           const tv_sample *sample, tv_arena *arena, tv_estimate_known *k)
{
    tv_stratum *strata = tv_arena_zalloc(arena, (sample->partition_count + 1) * sizeof *strata);
    tv_slice partition = TV_NONE;

    k->has_sample = true;
    k->has_partition = one_partition(query, &partition);
    k->sampled = (double)sample->entities;
    k->sample_is_all = sample->has_all && k->count.basis == TV_FACTS_EXACT;

    const tv_sample_partition *counted = k->has_partition ? counted_of(sample, k, partition) : NULL;

    k->is_counted = counted != NULL;
    k->entities = counted ? (double)counted->entities : 0;
    count_sample(query, probe, sample, partition, strata, arena, k);
    divide(query, sample, strata, arena, k);
    k->is_rest_out = k->is_rest_out || is_all_counted(query, sample, k);
}

void tv_estimate_look_up(tv_facts *facts, const tv_estimate_query *query,
                         const tv_estimate_probe *probe, tv_arena *arena, tv_estimate_known *k)
{
    tv_fact *fact = tv_fact_find_id(facts, query->account, query->table_id);
    tv_sample *sample = tv_fact_take_sample(facts, fact, TV_FACTS_WAIT_LEAST_NS);
    tv_slice partition;

    *k = (tv_estimate_known){.has_partition = one_partition(query, &partition)};
    pthread_mutex_lock(&fact->lock);
    k->count = tv_fact_count(fact);
    if (sample) {
        tv_facts_since since = tv_fact_since(facts, fact, sample);

        k->created = (double)since.created;
        k->deleted = (double)since.deleted;
    }
    pthread_mutex_unlock(&fact->lock);
    if (sample && k->count.basis != TV_FACTS_UNKNOWN)
        look_at_sample(query, probe, sample, arena, k);
    tv_sample_unref(sample);
    tv_fact_unref(fact);
}

/* --- adding up --- */

/* Independent numbers: their errors add up as squares. */
typedef struct sum {
    double mid, below, above; /* the latter two squared */
} sum;

static void add_span(sum *to, tv_facts_span span, double of)
{
    to->mid += span.mid * of;
    to->below += pow((span.mid - span.low) * of, 2);
    to->above += pow((span.high - span.mid) * of, 2);
}

static void add_stratum(sum *to, const tv_stratum *s)
{
    if (s->entities <= 0)
        return;
    if (s->keys == 0)
        add_span(to, (tv_facts_span){0.5, 0, 1}, s->entities);
    else
        add_span(to, tv_facts_span_of_share(s->inside, s->keys), s->entities);
}

static bool is_whole_table(const tv_estimate_query *query, tv_arena *arena)
{
    const tv_plan *plan = query->plan;

    return plan->count == 1 && tv_slice_eq(plan->ranges[0].from, query->prefix) &&
           tv_slice_eq(plan->ranges[0].to, tv_key_after(arena, query->prefix));
}

static void set_exact(tv_estimate *e, tv_estimate_basis basis, double examined)
{
    e->basis = basis;
    e->is_exact = true;
    e->examined = e->low = e->high = examined;
}

/* Of one partition of which little is known: others say how large they are. */
static void look_at_mean(const tv_estimate_known *k, tv_estimate *e)
{
    double mean = k->rest.entities / k->rest_count;

    if (!k->has_partition || k->is_counted || k->partition_keys >= SAMPLE_KEYS_MIN)
        return;
    e->basis = TV_ESTIMATE_MEAN_PARTITION;
    e->high = fmax(e->high, 8 * mean);
}

/* What the sample says, of the table as it was then. */
static void estimate_then(const tv_estimate_known *k, double least, tv_estimate *e)
{
    double scale = k->sampled / k->sample_keys, most = k->whole;
    sum total = {.mid = k->whole};

    if (k->is_rest_out && k->part_count == 0) {
        set_exact(e, TV_ESTIMATE_PARTITION_FACT, k->whole);
        return;
    }
    if (k->sample_is_all) {
        set_exact(e, TV_ESTIMATE_KEY_SAMPLE, k->sample_inside);
        return;
    }
    for (size_t i = 0; i < k->part_count; i++) {
        add_stratum(&total, &k->parts[i]);
        most += k->parts[i].entities;
    }
    if (!k->is_rest_out) {
        add_stratum(&total, &k->rest);
        most += k->has_partition ? k->rest_most : k->rest.entities;
    }
    e->basis = TV_ESTIMATE_KEY_SAMPLE;
    e->examined = total.mid;
    e->low = total.mid - sqrt(total.below);
    /* Of what the sample has few keys there may be more than chance has put there. */
    e->high = fmax(total.mid + sqrt(total.above), least + NONE_OF_SAMPLE * scale);
    look_at_mean(k, e);
    e->examined = fmin(e->examined, most);
    e->low = fmax(e->low, k->whole);
    e->high = fmin(e->high, most);
}

/*
 * What has come and gone since may be anywhere.  The best guess is that it is spread over the
 * table, in the bounds all of it is here.
 */
static void bring_up_to_date(const tv_estimate_known *k, tv_estimate *e)
{
    if (k->created + k->deleted == 0)
        return;
    e->is_exact = false;
    if (k->sampled > 0)
        e->examined *= (double)k->count.entities / k->sampled;
    e->low -= k->deleted;
    e->high += k->created;
}

void tv_estimate_rows(const tv_estimate_query *query, tv_arena *arena, const tv_estimate_known *k,
                      const tv_estimate_probe *probe, tv_estimate *e)
{
    bool is_exact = k->count.basis == TV_FACTS_EXACT;
    double least = (double)probe->keys + 1, most = (double)k->count.entities;

    if (is_exact && is_whole_table(query, arena)) {
        set_exact(e, TV_ESTIMATE_TABLE_FACT, (double)k->count.entities);
        return;
    }
    if (!k->has_sample || k->sample_keys == 0) {
        e->basis = TV_ESTIMATE_NOTHING;
        e->examined = e->low = least;
        e->high = HUGE_VAL;
        return;
    }
    estimate_then(k, least, e);
    bring_up_to_date(k, e);
    if (e->is_exact)
        return;
    if (!is_exact) { /* it may be old */
        e->low /= 2;
        e->high *= 2;
        most = HUGE_VAL;
    }
    e->low = fmin(fmax(e->low, least), most);
    e->high = fmin(fmax(e->high, e->low), most);
    e->examined = fmin(fmax(e->examined, e->low), e->high);
}
