/*
 * Garbage collection: rows of generations that were cleared, and expired messages.
 *
 * The generations below the one that the engine holds are out of every
 * function's reach, since each begins by reading the counts and those only
 * grow.  So they are dropped as a range, outside the pipeline; the write that
 * follows notes it, and a crash between the two repeats the drop.
 *
 * Expired messages are found by the expiry index and removed a few at a time.
 */
#include "services/queue/store/records.h"

enum { STEP_MAX = 256 }; /* messages removed by one write */

/* A bound in the counts that is older than this is raised, whatever has happened since. */
#define BOUND_AGE_MAX (3600 * TV_TICKS_PER_SECOND)

/* The ids at the front of the expiry index. */
typedef struct expired {
    struct {
        tv_guid id;
        tv_queue_place place;
    } list[STEP_MAX];
    size_t count;
    tv_queue_place end; /* no message that expires is before this, once those are removed */
} expired;

static tv_err walk_index(tv_txn *txn, tv_queue *queue, const tv_queue_counts *counts,
                         expired *found)
{
    int64_t generation = counts->generation;
    tv_queue_place now_over = {tv_txn_now(txn) + 1, 0};
    tv_queue_place start =
        tv_store_start(txn, queue, &queue->expiring, counts->expiry_bound, tv_txn_now(txn));
    tv_queue_key from, to;
    tv_txn_scan scan;
    tv_err err, end_err;

    found->count = 0;
    found->end = now_over;
    err = tv_txn_scan_begin(
        txn, tv_queue_key_place(&from, queue->prefix, generation, TV_QUEUE_EXPIRY, start),
        tv_queue_key_place(&to, queue->prefix, generation, TV_QUEUE_EXPIRY, now_over), &scan);
    if (err)
        return err;

    while (err == TV_OK && found->count < STEP_MAX && tv_txn_scan_next(&scan)) {
        tv_queue_place *place = &found->list[found->count].place;
        int64_t expires;

        err = tv_queue_read_place(scan.key, place);
        if (err == TV_OK)
            err = tv_queue_read_entry(scan.value, &found->list[found->count++].id, &expires);
    }
    if (found->count == STEP_MAX)
        found->end = found->list[STEP_MAX - 1].place; /* of a row that will be gone */
    end_err = tv_txn_scan_end(&scan);
    return err ? err : end_err;
}

/* Remove the message of one row of the index, if it is still there, and the row. */
static tv_err remove_one(tv_txn *txn, tv_queue *queue, tv_queue_counts *counts, const tv_guid *id,
                         tv_queue_place place)
{
    tv_message message;
    tv_queue_key key;
    tv_err err;

    err = tv_store_read_message(txn, queue, counts->generation, id, &message);
    if (err == TV_OK && tv_queue_place_cmp(tv_store_expiry_place(&message), place) == 0) {
        err = tv_store_count_removed(counts, 1);
        if (err == TV_OK)
            tv_store_remove_message(txn, queue, counts->generation, &message);
        return err;
    }
    if (err && err != TV_ERR_MESSAGE_NOT_FOUND)
        return err;

    tv_txn_delete(
        txn, tv_queue_key_place(&key, queue->prefix, counts->generation, TV_QUEUE_EXPIRY, place));
    return TV_OK;
}

tv_err tv_queue_gc_run(tv_txn *txn, void *gc_step)
{
    tv_queue_gc_step *step = gc_step;
    tv_queue *queue = step->queue;
    tv_queue_counts counts, same;
    expired found;
    tv_err err;

    tv_txn_declare_freeing(txn);
    step->removed = 0;
    step->has_more = false;
    step->group = tv_txn_now(txn);
    err = tv_store_peek_counts(txn, queue, &counts);
    if (err)
        return err;
    err = walk_index(txn, queue, &counts, &found);
    if (err)
        return err;
    /* Generations only grow, so what was dropped outside the pipeline is still below this one. */
    if (step->dropped_below > counts.generation)
        return TV_ERR_CORRUPT;

    bool has_dropped = step->dropped_below > counts.dropped_below;
    if (has_dropped)
        counts.dropped_below = step->dropped_below;

    bool is_changed = has_dropped || found.count;
    tv_queue_place bound = counts.expiry_bound; /* as it is stored */

    if (counts.next_sequence)
        tv_store_raise(queue, &queue->expiring, &counts.expiry_bound, found.end, BOUND_AGE_MAX,
                       is_changed);
    is_changed |= tv_queue_place_cmp(counts.expiry_bound, bound) != 0;

    /* Mostly nothing is.  Then nothing is compared: others change the counts all the time. */
    if (is_changed)
        err = tv_store_read_counts(txn, queue, &same);
    for (size_t i = 0; err == TV_OK && i < found.count; i++)
        err = remove_one(txn, queue, &counts, &found.list[i].id, found.list[i].place);
    if (err)
        return err;

    if (is_changed)
        tv_store_write_counts(txn, queue, &counts);
    step->removed = found.count;
    step->has_more = found.count == STEP_MAX;
    tv_store_learn(txn, queue, &queue->expiring, found.end);
    return TV_OK;
}

void tv_queue_gc_settle(tv_queue_gc_step *step)
{
    tv_queue_bound_settle(&step->queue->expiring, step->group);
}

/* Drop what is below the generation of the store.  `ret_below` is 0 when nothing was. */
static tv_err drop_cleared(tv_queue *queue, int64_t *ret_below)
{
    tv_queue_counts counts;
    tv_queue_key from, to;
    tv_slice value;
    tv_arena arena;
    tv_err err;

    *ret_below = 0;
    tv_arena_init(&arena);
    err = tv_engine_get(queue->engine, TV_READ_ANY, tv_queue_key_counts(&to, queue->prefix), &arena,
                        &value);
    if (err == TV_OK)
        err = tv_queue_read_counts(value, &counts);
    if (err == TV_OK && counts.dropped_below < counts.generation) {
        err = tv_engine_drop_range(
            queue->engine, tv_queue_key_generation(&from, queue->prefix, counts.dropped_below),
            tv_queue_key_generation(&to, queue->prefix, counts.generation));
        if (err == TV_OK)
            *ret_below = counts.generation;
    }
    tv_arena_done(&arena);
    return err == TV_ERR_NOT_FOUND ? TV_OK : err;
}

tv_err tv_queue_gc_drop_cleared(tv_queue_gc_step *step)
{
    if (atomic_load(step->queue->is_dropped))
        return TV_ERR_QUEUE_NOT_FOUND;

    return drop_cleared(step->queue, &step->dropped_below);
}
