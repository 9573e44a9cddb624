/*
 * At each commit: what a group changes, table by table, is added to the sums of its committer, and
 * these are written with the group.  When it is durable the sums in memory and the sketches
 * follow, before anybody is answered.
 */
#include "base/assert.h"
#include "base/grow.h"
#include "insight/facts/internal.h"
#include "store/engine/key.h"

/* A table that the group has changed. */
typedef struct touched {
    tv_fact *fact;
    tv_facts_sums sums;   /* of this committer, with the group */
    uint32_t first, last; /* of its changes */
} touched;

typedef struct tv_committer_tally {
    tv_txn_tally base; /* first */
    tv_facts *facts;
    int committer;
    /* Of the group that is being written. */
    const tv_txn_change *changes;
    uint32_t *which; /* of the touched, for each change; then the change after it of the same one */
    size_t change_count, which_size;
    touched *touched;
    size_t touched_count, touched_size;
} tv_committer_tally;

/* account 01 table-id in the key of an entity. */
static tv_slice table_of(tv_slice key)
{
    size_t mark = tv_slice_find(key, TV_KEY_MARK);

    tv_assert(mark + 1 + TV_KEY_ID_CHARS < key.len);
    return (tv_slice){key.data + 1, mark + TV_KEY_ID_CHARS};
}

/* What follows it. */
static tv_slice tail_of(const tv_fact *fact, tv_slice key)
{
    return tv_slice_skip(key, 1 + fact->table.len);
}

static bool is_of(const tv_fact *fact, tv_slice key)
{
    return key.len > fact->table.len &&
           memcmp(key.data + 1, fact->table.data, fact->table.len) == 0;
}

static uint32_t touch(tv_committer_tally *tally, tv_slice key)
{
    for (size_t i = tally->touched_count; i > 0; i--) {
        if (is_of(tally->touched[i - 1].fact, key))
            return (uint32_t)(i - 1);
        if (tally->touched_count - i > 8)
            break; /* many tables in turns: the map is faster */
    }

    tv_fact *fact = tv_fact_find(tally->facts, table_of(key));

    for (size_t i = 0; i < tally->touched_count; i++) {
        if (tally->touched[i].fact == fact) {
            tv_fact_unref(fact);
            return (uint32_t)i;
        }
    }
    tv_grow(&tally->touched, tally->touched_count, &tally->touched_size, 16);
    /* Only this thread changes these sums, so it may read them without the lock. */
    tally->touched[tally->touched_count] =
        (touched){.fact = fact, .sums = fact->sums[tally->committer]};
    return (uint32_t)tally->touched_count++;
}

static void add(tv_facts_sums *sums, const tv_txn_change *change)
{
    bool was = change->old_value.data != NULL, is = change->new_value.data != NULL;

    if (was) {
        sums->entities--;
        sums->bytes -= change->key.len + change->old_value.len;
    }
    if (is) {
        sums->entities++;
        sums->bytes += change->key.len + change->new_value.len;
    }
    sums->created += !was;
    sums->deleted += !is;
    sums->replaced += was && is;
}

static tv_err count(tv_txn_tally *base, tv_txn *txn, const tv_txn_change *changes, size_t count)
{
    tv_committer_tally *tally = (tv_committer_tally *)base;

    if (count > tally->which_size) {
        tally->which_size = 2 * count;
        tally->which = tv_realloc(tally->which, tally->which_size * sizeof *tally->which);
    }
    tally->changes = changes;
    tally->change_count = count;
    for (size_t i = 0; i < count; i++) {
        uint32_t at = i && is_of(tally->touched[tally->which[i - 1]].fact, changes[i].key)
                          ? tally->which[i - 1]
                          : touch(tally, changes[i].key);

        tally->which[i] = at;
        add(&tally->touched[at].sums, &changes[i]);
    }
    for (size_t i = 0; i < tally->touched_count; i++) {
        char key[TV_FACTS_ROW_KEY_BYTES_MAX], value[TV_FACTS_SUMS_BYTES_MAX];
        size_t key_len = tv_facts_row_key_format(tally->touched[i].fact->table, TV_FACTS_ROW_SUMS,
                                                 tally->committer, key);
        size_t value_len = tv_facts_sums_format(&tally->touched[i].sums, value);

        tv_txn_put_aside(txn, (tv_slice){key, key_len}, (tv_slice){value, value_len});
    }
    return TV_OK;
}

/* One change of a table whose lock is held. */
static void follow(tv_committer_tally *tally, tv_fact *fact, tv_sketch *sketch, uint64_t number,
                   const tv_txn_change *change)
{
    tv_slice key = tail_of(fact, change->key);
    uint64_t old_bytes = change->old_value.data ? change->key.len + change->old_value.len : 0;
    uint64_t bytes = change->new_value.data ? change->key.len + change->new_value.len : 0;

    if (fact->job)
        tv_facts_job_note(fact->job, tally->committer, number, key, old_bytes, bytes);
    if (sketch == NULL)
        return;
    if (old_bytes == 0)
        tv_sketch_created(sketch, key, bytes);
    else if (bytes == 0)
        tv_sketch_deleted(sketch, key, old_bytes);
    else
        tv_sketch_replaced(sketch, key, old_bytes, bytes);
}

/*
 * A table with all its changes at once: whoever has the lock finds the sums and the sketch, which
 * may be saved together, at the same point between two groups.
 */
static void publish(tv_committer_tally *tally, const touched *t)
{
    tv_fact *fact = t->fact;

    pthread_mutex_lock(&fact->lock);

    tv_sketch *sketch = tv_fact_sketch(tally->facts, fact); /* before the sums: it is as old */

    fact->sums[tally->committer] = t->sums;
    for (uint32_t i = t->first;; i = tally->which[i]) {
        follow(tally, fact, sketch, tv_facts_sums_changes(&t->sums), &tally->changes[i]);
        if (i == t->last)
            break;
    }
    if (sketch && !fact->is_uncounted && sketch->sample_count == 0 && sketch->largest_count == 0 &&
        tv_fact_total(fact).entities == 0)
        tv_sketch_emptied(sketch);
    pthread_mutex_unlock(&fact->lock);
}

/* Chain the changes of each table, in their order. */
static void chain(tv_committer_tally *tally)
{
    for (size_t i = 0; i < tally->touched_count; i++)
        tally->touched[i].first = UINT32_MAX;
    for (uint32_t i = 0; i < tally->change_count; i++) {
        touched *t = &tally->touched[tally->which[i]];

        if (t->first == UINT32_MAX)
            t->first = i;
        else
            tally->which[t->last] = i;
        t->last = i;
    }
}

static void settle(tv_txn_tally *base, tv_err result)
{
    tv_committer_tally *tally = (tv_committer_tally *)base;

    if (result == TV_OK) {
        chain(tally);
        for (size_t i = 0; i < tally->touched_count; i++)
            publish(tally, &tally->touched[i]);
    }
    for (size_t i = 0; i < tally->touched_count; i++)
        tv_fact_unref(tally->touched[i].fact);
    tally->touched_count = tally->change_count = 0;
    tally->changes = NULL;
}

struct tv_committer_tally *tv_committer_tally_new(tv_facts *facts, int committer)
{
    tv_committer_tally *tally = tv_calloc(1, sizeof *tally);

    tally->base = (tv_txn_tally){.space = 'r', .count = count, .settle = settle};
    tally->facts = facts;
    tally->committer = committer;
    return tally;
}

void tv_committer_tally_free(struct tv_committer_tally *tally)
{
    if (tally == NULL)
        return;

    free(tally->which);
    free(tally->touched);
    free(tally);
}
