/*
 * At each commit: what a group changes, table by table, is added to the sums of its committer, and
 * these are written with the group.  When it is durable the sums in memory follow, before anybody
 * is answered.
 */
#include "base/assert.h"
#include "base/grow.h"
#include "insight/facts/internal.h"
#include "store/engine/key.h"

/* A table that the group has changed. */
typedef struct touched {
    tv_fact *fact;
    tv_facts_sums sums; /* of this committer, with the group */
} touched;

typedef struct tv_committer_tally {
    tv_txn_tally base; /* first */
    tv_facts *facts;
    int committer;
    touched *touched; /* by the group that is being written */
    size_t touched_count, touched_size;
} tv_committer_tally;

/* account 01 table-id in the key of an entity. */
static tv_slice table_of(tv_slice key)
{
    size_t mark = tv_slice_find(key, TV_KEY_MARK);

    tv_assert(mark + 1 + TV_KEY_ID_CHARS < key.len);
    return (tv_slice){key.data + 1, mark + TV_KEY_ID_CHARS};
}

static bool is_of(const tv_fact *fact, tv_slice key)
{
    return key.len > fact->table.len &&
           memcmp(key.data + 1, fact->table.data, fact->table.len) == 0;
}

static touched *touch(tv_committer_tally *tally, tv_slice key)
{
    for (size_t i = tally->touched_count; i > 0; i--) {
        if (is_of(tally->touched[i - 1].fact, key))
            return &tally->touched[i - 1];
        if (tally->touched_count - i > 8)
            break; /* many tables in turns: the map is faster */
    }

    tv_fact *fact = tv_fact_find(tally->facts, table_of(key));

    for (size_t i = 0; i < tally->touched_count; i++) {
        if (tally->touched[i].fact == fact) {
            tv_fact_unref(fact);
            return &tally->touched[i];
        }
    }
    tv_grow(&tally->touched, tally->touched_count, &tally->touched_size, 16);
    /* Only this thread changes these sums, so it may read them without the lock. */
    tally->touched[tally->touched_count] =
        (touched){.fact = fact, .sums = fact->sums[tally->committer]};
    return &tally->touched[tally->touched_count++];
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

    for (size_t i = 0; i < count; i++)
        add(&touch(tally, changes[i].key)->sums, &changes[i]);
    for (size_t i = 0; i < tally->touched_count; i++) {
        char key[TV_FACTS_ROW_KEY_BYTES_MAX], value[TV_FACTS_SUMS_BYTES_MAX];
        size_t key_len = tv_facts_row_key_format(tally->touched[i].fact->table, TV_FACTS_ROW_SUMS,
                                                 tally->committer, key);
        size_t value_len = tv_facts_sums_format(&tally->touched[i].sums, value);

        tv_txn_put_aside(txn, (tv_slice){key, key_len}, (tv_slice){value, value_len});
    }
    return TV_OK;
}

static void settle(tv_txn_tally *base, tv_err result)
{
    tv_committer_tally *tally = (tv_committer_tally *)base;

    for (size_t i = 0; i < tally->touched_count; i++) {
        tv_fact *fact = tally->touched[i].fact;

        if (result == TV_OK) {
            pthread_mutex_lock(&fact->lock);
            fact->sums[tally->committer] = tally->touched[i].sums;
            pthread_mutex_unlock(&fact->lock);
        }
        tv_fact_unref(fact);
    }
    tally->touched_count = 0;
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

    free(tally->touched);
    free(tally);
}
