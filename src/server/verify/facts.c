/* Facts about tables against the entities that were counted on the way. */
#include "base/assert.h"
#include "insight/facts/rows.h"
#include "insight/facts/sketch.h"
#include "server/verify/internal.h"

/* What the rows of one table say. */
typedef struct facts_state {
    tv_facts_sums total;
    bool is_uncounted;
    bool is_damaged;
    tv_sketch *sketch; /* NULL: none was saved */
    uint64_t sketch_changes;
} facts_state;

static tv_verify_owner *owner_of(tv_verify_walk *walk)
{
    return &walk->owners[walk->owner - walk->owners];
}

static void begin(tv_verify_walk *walk)
{
    owner_of(walk)->has_facts = true;
    walk->state = tv_calloc(1, sizeof(facts_state));
}

static void damaged(tv_verify_walk *walk, const char *what)
{
    facts_state *state = walk->state;

    state->is_damaged = true;
    tv_verify_problem(walk->report, "table %.*s of %.*s: %s cannot be decoded",
                      TV_FMT(walk->owner->name), TV_FMT(walk->owner->account), what);
}

static void row(tv_verify_walk *walk, tv_slice key, tv_slice value)
{
    facts_state *state = walk->state;
    tv_facts_row_key row_key;
    tv_facts_sums sums;

    if (tv_facts_row_key_parse(key, &row_key)) {
        damaged(walk, "a row of its facts");
        return;
    }
    switch (row_key.kind) {
    case TV_FACTS_ROW_SUMS:
    case TV_FACTS_ROW_BASE:
        if (tv_facts_sums_parse(value, &sums))
            damaged(walk, "its count");
        else
            tv_facts_sums_add(&state->total, &sums);
        break;
    case TV_FACTS_ROW_UNCOUNTED:
        state->is_uncounted = true;
        break;
    case TV_FACTS_ROW_SKETCH:
        if (state->sketch ||
            tv_sketch_load(value, TV_FACTS_SAMPLE_MAX, &state->sketch, &state->sketch_changes))
            damaged(walk, "the sketch of its keys");
        break;
    }
}

/* How many rows a partition has; false when they cannot be read. */
static bool count_partition(tv_verify_walk *walk, const tv_sketch_partition *partition,
                            uint64_t *ret_entities, uint64_t *ret_bytes)
{
    tv_buf prefix = TV_BUF_EMPTY;
    bool is_read = false;
    tv_arena arena;
    tv_iter *iter;

    *ret_entities = *ret_bytes = 0;
    tv_arena_init(&arena);
    tv_buf_add_char(&prefix, 'r');
    tv_buf_add(&prefix, tv_slice_skip(walk->owner->prefix, 1));
    tv_buf_add(&prefix, (tv_slice){partition->key, partition->len});
    tv_buf_add_char(&prefix, TV_KEY_MARK);
    if (tv_engine_iter(walk->engine, tv_buf_slice(&prefix),
                       tv_key_after(&arena, tv_buf_slice(&prefix)), &iter) == TV_OK) {
        for (tv_iter_seek(iter, tv_buf_slice(&prefix)); tv_iter_is_valid(iter);
             tv_iter_next(iter)) {
            ++*ret_entities;
            *ret_bytes += tv_iter_key(iter).len + tv_iter_value(iter).len;
        }
        is_read = tv_iter_status(iter) == TV_OK;
        tv_iter_free(iter);
    }
    tv_buf_done(&prefix);
    tv_arena_done(&arena);
    return is_read;
}

/* Partitions that a sketch says it has counted; one that is older than the sums says nothing. */
static void check_partitions(tv_verify_walk *walk, const facts_state *state)
{
    if (state->sketch == NULL || state->sketch_changes != tv_facts_sums_changes(&state->total))
        return;

    for (size_t i = 0; state->sketch->partitions && i < TV_SKETCH_PARTITION_SLOTS; i++) {
        const tv_sketch_partition *partition = &state->sketch->partitions[i];
        uint64_t entities, bytes;

        if (partition->key && count_partition(walk, partition, &entities, &bytes) &&
            (entities != partition->entities || bytes != partition->bytes))
            tv_verify_problem(walk->report,
                              "table %.*s of %.*s: its partition '%.*s' is said to have %llu "
                              "entities of %llu bytes, and has %llu of %llu",
                              TV_FMT(walk->owner->name), TV_FMT(walk->owner->account),
                              (int)partition->len, partition->key,
                              (unsigned long long)partition->entities,
                              (unsigned long long)partition->bytes, (unsigned long long)entities,
                              (unsigned long long)bytes);
    }
}

static void end(tv_verify_walk *walk)
{
    const tv_verify_owner *table = walk->owner;
    facts_state *state = walk->state;

    if (!state->is_uncounted && !state->is_damaged && !walk->is_cut && !table->is_cut) {
        if (state->total.entities != table->entities || state->total.bytes != table->bytes)
            tv_verify_problem(
                walk->report,
                "table %.*s of %.*s: its count says %lld entities of %lld bytes, and it has %llu "
                "of %llu; POST /facts/recount corrects it",
                TV_FMT(table->name), TV_FMT(table->account), (long long)state->total.entities,
                (long long)state->total.bytes, (unsigned long long)table->entities,
                (unsigned long long)table->bytes);
        check_partitions(walk, state);
    }
    tv_sketch_free(state->sketch);
    free(state);
    walk->state = NULL;
}

static const tv_verify_check check_facts = {"table", begin, row, end};

/* Stores of the format before this one have no facts yet; the next start marks their tables. */
static bool has_facts(tv_verify_walk *walk)
{
    tv_arena arena;
    tv_slice format;

    tv_arena_init(&arena);
    bool is_old =
        tv_engine_get(walk->engine, TV_READ_ANY, TV_KEY_FORMAT, &arena, &format) == TV_OK &&
        tv_slice_eq(format, TV_FORMAT_BEFORE);
    tv_arena_done(&arena);
    return !is_old;
}

void tv_verify_facts(tv_verify_walk *walk)
{
    if (walk->lacks_owners || !has_facts(walk))
        return;

    for (size_t i = 0; i < walk->owner_count; i++) {
        tv_verify_owner *owner = &walk->owners[i];

        owner->prefix = tv_key_table_facts(&walk->arena, owner->account, owner->id);
    }
    tv_verify_rows(walk, 'f', &check_facts);
    for (size_t i = 0; i < walk->owner_count; i++) {
        const tv_verify_owner *owner = &walk->owners[i];

        if (owner->entities && !owner->has_facts && !owner->is_dropped && !owner->is_cut)
            tv_verify_problem(
                walk->report, "table %.*s of %.*s: it has %llu entities, and no count",
                TV_FMT(owner->name), TV_FMT(owner->account), (unsigned long long)owner->entities);
    }
}
