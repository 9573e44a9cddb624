/* Facts about tables against the entities that were counted on the way. */
#include "base/assert.h"
#include "insight/facts/rows.h"
#include "server/verify/internal.h"

/* What the rows of one table say. */
typedef struct facts_state {
    tv_facts_sums total;
    bool is_uncounted;
    bool is_damaged;
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
    case TV_FACTS_ROW_SKETCH: /* of a server before this one, which nobody reads */
        break;
    }
}

static void end(tv_verify_walk *walk)
{
    const tv_verify_owner *table = walk->owner;
    facts_state *state = walk->state;

    if (!state->is_uncounted && !state->is_damaged && !walk->is_cut && !table->is_cut &&
        (state->total.entities != table->entities || state->total.bytes != table->bytes))
        tv_verify_problem(
            walk->report,
            "table %.*s of %.*s: its count says %lld entities of %lld bytes, and it has %llu "
            "of %llu; POST /facts/recount corrects it",
            TV_FMT(table->name), TV_FMT(table->account), (long long)state->total.entities,
            (long long)state->total.bytes, (unsigned long long)table->entities,
            (unsigned long long)table->bytes);
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
