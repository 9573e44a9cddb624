/*
 * Getting messages: walk the visibility index from its front up to now, take
 * what is alive, hide it.  Invisible messages lie after now and are never met.
 *
 * Expired messages that have not been collected yet are at the front too.  A get
 * removes those it meets, up to a bound, so that it stays a small write; beyond
 * that it walks over them, however many there are, because an empty answer would
 * say that there is no message.
 */
#include "base/assert.h"
#include "base/random.h"
#include "services/queue/store/records.h"

enum { EXPIRED_MAX = 32 }; /* removed by one get */

/* A bound in the counts that is older than this is raised, whatever has happened since. */
#define BOUND_AGE_MAX (30 * TV_TICKS_PER_SECOND)

/* What a walk found. */
typedef struct walk {
    int64_t now;
    tv_message live[TV_MESSAGES_MAX];
    size_t live_count;
    tv_message expired[EXPIRED_MAX];
    size_t expired_count;
    tv_queue_place end;  /* no live message is before this, once those of `live` are hidden */
    size_t answer_bytes; /* what the texts of `live` will take until they are sent */
    bool is_full;        /* there is no memory for more */
} walk;

/* What a row of the index says.  If its place is not up to now, its key is not valid. */
static tv_err read_row(const tv_txn_scan *scan, int64_t now, tv_queue_place *ret_place,
                       tv_guid *ret_id, int64_t *ret_expires)
{
    tv_err err = tv_queue_read_place(scan->key, ret_place);

    if (err)
        return err;
    if (ret_place->ticks > now)
        return TV_ERR_CORRUPT;
    return tv_queue_read_entry(scan->value, ret_id, ret_expires);
}

/* Look at one row of the index. */
static tv_err visit(tv_txn *txn, tv_queue *queue, int64_t generation, const tv_txn_scan *scan,
                    tv_arena *arena, walk *found)
{
    tv_queue_place place;
    tv_message message;
    int64_t expires;
    tv_guid id;
    tv_err err;

    err = read_row(scan, found->now, &place, &id, &expires);
    if (err)
        return err;

    bool is_expired = expires <= found->now;
    if (is_expired && found->expired_count == EXPIRED_MAX)
        return TV_OK;

    /*
     * The state decides: in shared storage the message may have been deleted or
     * hidden since the scan began, and only what is read here is confirmed when
     * the group is written.
     */
    err = tv_store_read_message(txn, queue, generation, &id, &message);
    if (err == TV_ERR_MESSAGE_NOT_FOUND)
        return TV_OK;
    if (err)
        return err;
    if (tv_queue_place_cmp(tv_store_visible_place(&message), place) != 0)
        return TV_OK;

    if (is_expired) {
        found->expired[found->expired_count++] = message;
        return TV_OK;
    }
    /*
     * Asked for now and not when the get was queued: what all waiting gets
     * would take together says nothing about what this one takes.  Fewer
     * messages than were requested are an answer.
     */
    size_t answer_bytes = found->answer_bytes + tv_message_answer_bytes(message.text.len);

    err = tv_arena_allow(arena, answer_bytes);
    if (err) {
        found->is_full = found->live_count > 0;
        return found->is_full ? TV_OK : err;
    }
    found->answer_bytes = answer_bytes;
    found->live[found->live_count++] = message;
    found->end = (tv_queue_place){place.ticks, place.sequence + 1};
    return TV_OK;
}

static tv_err walk_index(tv_txn *txn, const tv_queue_get *get, const tv_queue_counts *counts,
                         walk *found)
{
    int64_t generation = counts->generation;
    tv_queue *queue = get->queue;
    tv_queue_place now_over = {found->now + 1, 0};
    tv_queue_place start =
        tv_store_start(txn, queue, &queue->visible, counts->visible_bound, found->now);
    tv_queue_key from, to;
    tv_txn_scan scan;
    tv_err err, end_err;

    found->live_count = found->expired_count = found->answer_bytes = 0;
    found->is_full = false;
    err = tv_txn_scan_begin(
        txn, tv_queue_key_place(&from, queue->prefix, generation, TV_QUEUE_VISIBLE, start),
        tv_queue_key_place(&to, queue->prefix, generation, TV_QUEUE_VISIBLE, now_over), &scan);
    if (err)
        return err;

    while (err == TV_OK && found->live_count < (size_t)get->count && !found->is_full &&
           tv_txn_scan_next(&scan))
        err = visit(txn, queue, generation, &scan, get->arena, found);
    end_err = tv_txn_scan_end(&scan);
    if (found->live_count < (size_t)get->count && !found->is_full)
        found->end = now_over;
    return err ? err : end_err;
}

/* Hide one message, and give it to the caller. */
static tv_err take(tv_txn *txn, tv_queue_get *get, tv_queue_counts *counts, int64_t now,
                   tv_message *message)
{
    tv_err err;

    tv_store_hide_message(txn, get->queue, counts->generation, message);
    message->next_visible = now + get->timeout_s * TV_TICKS_PER_SECOND;
    tv_assert(message->next_visible > now); /* or this get's bound would hide it: bound.h */
    message->receipt.secret = tv_random_u64();
    message->dequeue_count++;
    /* A text in a row of its own has not been fetched yet, so it is not written again. */
    tv_store_write_message(txn, get->queue, counts, message);

    err = tv_store_read_text(txn, get->queue, counts->generation, message);
    if (err)
        return err;

    tv_assert(get->message_count < (size_t)get->count);
    get->messages[get->message_count] = *message;
    get->messages[get->message_count++].text = tv_arena_dup(get->arena, message->text);
    return TV_OK;
}

tv_err tv_queue_get_run(tv_txn *txn, void *queue_get)
{
    tv_queue_get *get = queue_get;
    tv_queue *queue = get->queue;
    tv_queue_counts counts;
    walk found;
    tv_err err;

    /* It writes about as much as it removes, but without it no message could be deleted. */
    tv_txn_declare_freeing(txn);
    get->message_count = 0;
    get->group = tv_txn_now(txn);
    err = tv_store_read_counts(txn, queue, &counts);
    if (err)
        return err;
    found.now = tv_store_now(txn, &counts);
    err = walk_index(txn, get, &counts, &found);
    if (err)
        return err;

    tv_queue_place bound = counts.visible_bound; /* as it is stored */

    for (size_t i = 0; i < found.live_count; i++) {
        err = take(txn, get, &counts, found.now, &found.live[i]);
        if (err)
            return err;
    }
    for (size_t i = 0; i < found.expired_count; i++)
        tv_store_remove_message(txn, queue, counts.generation, &found.expired[i]);
    if (found.expired_count) {
        err = tv_store_count_removed(&counts, found.expired_count);
        if (err)
            return err;
    }

    if (counts.next_sequence)
        tv_store_raise(queue, &queue->visible, &counts.visible_bound, found.end, BOUND_AGE_MAX,
                       found.expired_count > 0);
    if (found.expired_count || tv_queue_place_cmp(counts.visible_bound, bound) != 0)
        tv_store_write_counts(txn, queue, &counts);

    /*
     * The last step, when nothing can fail any more: what is undone must raise
     * no bound.  The rows just written lie in the future, after `end`.
     */
    tv_assert(found.end.ticks <= found.now + 1);
    tv_store_learn(txn, queue, &queue->visible, found.end);
    return TV_OK;
}

void tv_queue_get_settle(tv_queue_get *get)
{
    tv_queue_bound_settle(&get->queue->visible, get->group);
}

tv_err tv_queue_get_check(const tv_queue_get *get)
{
    if (get->count < 1 || get->count > TV_MESSAGES_MAX)
        return TV_ERR_QUERY_OUT_OF_RANGE;
    if (get->timeout_s < 1 || get->timeout_s > TV_MESSAGE_TIMEOUT_S_MAX)
        return TV_ERR_QUERY_OUT_OF_RANGE;
    return TV_OK;
}
