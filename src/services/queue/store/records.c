/* Rows of a queue within a transaction. */
#include "services/queue/store/records.h"

#include "base/assert.h"
#include "store/engine/instant.h"
#include "store/engine/mutants.h"

void tv_queue_init(tv_queue *queue, tv_engine *engine, tv_slice prefix,
                   const atomic_bool *is_dropped)
{
    tv_assert(engine && is_dropped);
    tv_assert(prefix.len > 0 && prefix.len <= TV_QUEUE_PREFIX_BYTES_MAX);
    *queue = (tv_queue){.engine = engine, .prefix = prefix, .is_dropped = is_dropped};
    queue->counts = tv_queue_key_counts(&queue->counts_key, prefix);
    tv_queue_bound_init(&queue->visible);
    tv_queue_bound_init(&queue->expiring);
}

void tv_queue_reads_init(tv_queue_reads *reads, tv_queue *queue, const tv_guid *id)
{
    reads->keys[0] = queue->counts;
    reads->keys[1] =
        tv_queue_key_message(&reads->message, queue->prefix, atomic_load(&queue->generation), id);
}

void tv_queue_done(tv_queue *queue)
{
    tv_queue_bound_done(&queue->visible);
    tv_queue_bound_done(&queue->expiring);
}

/* What a read of the counts has given. */
static tv_err take_counts(tv_queue *queue, tv_err err, tv_slice value, tv_queue_counts *ret_counts)
{
    if (err == TV_ERR_NOT_FOUND) {
        *ret_counts = (tv_queue_counts){0};
        return TV_OK;
    }
    if (err == TV_OK)
        err = tv_queue_read_counts(value, ret_counts);
    if (err == TV_OK)
        atomic_store_explicit(&queue->generation, ret_counts->generation, memory_order_relaxed);
    return err;
}

tv_err tv_store_read_counts(tv_txn *txn, tv_queue *queue, tv_queue_counts *ret_counts)
{
    tv_slice value = TV_NONE;
    tv_err err;

    if (atomic_load(queue->is_dropped))
        return TV_ERR_QUEUE_NOT_FOUND;

    err = tv_txn_get(txn, queue->counts, &value);
    if (err == TV_OK || err == TV_ERR_NOT_FOUND)
        tv_txn_declare_guarded(txn, queue->counts, TV_GUARD_OF_QUEUES);
    return take_counts(queue, err, value, ret_counts);
}

tv_err tv_store_peek_counts(tv_txn *txn, tv_queue *queue, tv_queue_counts *ret_counts)
{
    tv_slice value = TV_NONE;
    tv_err err;

    if (atomic_load(queue->is_dropped))
        return TV_ERR_QUEUE_NOT_FOUND;

    err = tv_txn_peek(txn, queue->counts, &value);
    return take_counts(queue, err, value, ret_counts);
}

void tv_store_write_counts(tv_txn *txn, tv_queue *queue, const tv_queue_counts *counts)
{
    char value[TV_QUEUE_COUNTS_BYTES_MAX];

    tv_txn_put(txn, queue->counts, (tv_slice){value, tv_queue_write_counts(value, counts)});
}

int64_t tv_store_now_of(int64_t now, const tv_queue_counts *counts)
{
    if (TV_MUTANT(NO_QUEUE_NOW))
        return now;
    return counts->latest > now && counts->latest - now < TV_INSTANT_AHEAD_MAX ? counts->latest
                                                                               : now;
}

int64_t tv_store_now(tv_txn *txn, const tv_queue_counts *counts)
{
    int64_t now = tv_store_now_of(tv_txn_now(txn), counts);

    tv_txn_pass(txn, now);
    return now;
}

void tv_store_note_now(tv_txn *txn, const tv_queue *queue, tv_queue_counts *counts, int64_t now)
{
    if (!queue->engine->ops->is_shared || TV_MUTANT(NO_LATEST))
        return;
    counts->latest = now; /* also when it was an instant that nobody follows */
    tv_txn_pass(txn, now);
}

tv_err tv_store_count_removed(tv_queue_counts *counts, size_t removed)
{
    if ((int64_t)removed > counts->messages)
        return TV_ERR_CORRUPT;

    counts->messages -= (int64_t)removed;
    return TV_OK;
}

tv_err tv_store_read_message(tv_txn *txn, tv_queue *queue, int64_t generation, const tv_guid *id,
                             tv_message *ret_message)
{
    tv_queue_key key;
    tv_slice value;
    tv_err err;

    err = tv_txn_get(txn, tv_queue_key_message(&key, queue->prefix, generation, id), &value);
    if (err)
        return err == TV_ERR_NOT_FOUND ? TV_ERR_MESSAGE_NOT_FOUND : err;

    ret_message->id = *id;
    return tv_queue_read_message(value, ret_message);
}

tv_err tv_store_read_text(tv_txn *txn, tv_queue *queue, int64_t generation, tv_message *message)
{
    tv_queue_key key;
    tv_slice text;
    tv_err err;

    if (!tv_message_text_is_apart(message->text.len))
        return TV_OK;

    /* Its state was got, and changes whenever the text does. */
    err = tv_txn_peek(txn, tv_queue_key_text(&key, queue->prefix, generation, &message->id), &text);
    if (err)
        return err == TV_ERR_NOT_FOUND ? TV_ERR_CORRUPT : err;
    if (text.len != message->text.len)
        return TV_ERR_CORRUPT;

    message->text = text;
    return TV_OK;
}

/* An insert at `place`: see bound.h. */
static void lower(tv_queue_bound *bound, tv_queue_place *stored, tv_queue_place place)
{
    tv_queue_bound_lower(bound, place);
    if (tv_queue_place_cmp(place, *stored) < 0)
        *stored = place;
}

void tv_store_write_message(tv_txn *txn, tv_queue *queue, tv_queue_counts *counts,
                            const tv_message *message)
{
    int64_t generation = counts->generation;
    tv_queue_place place = tv_store_visible_place(message);
    char row[TV_MESSAGE_ROW_BYTES_MAX], entry[TV_QUEUE_ENTRY_BYTES];
    tv_queue_key key;

    /* A short text is in the row that is written now; a long one may stay where it is. */
    tv_assert(message->text.data || message->text.len == 0 ||
              tv_message_text_is_apart(message->text.len));
    tv_txn_put(txn, tv_queue_key_message(&key, queue->prefix, generation, &message->id),
               (tv_slice){row, tv_queue_write_message(row, message)});
    if (tv_message_text_is_apart(message->text.len) && message->text.data)
        tv_txn_put(txn, tv_queue_key_text(&key, queue->prefix, generation, &message->id),
                   message->text);

    tv_queue_write_entry(entry, message);
    tv_txn_put(txn, tv_queue_key_place(&key, queue->prefix, generation, TV_QUEUE_VISIBLE, place),
               (tv_slice){entry, sizeof entry});
    lower(&queue->visible, &counts->visible_bound, place);
}

void tv_store_write_expiry(tv_txn *txn, tv_queue *queue, tv_queue_counts *counts,
                           const tv_message *message)
{
    tv_queue_place place = tv_store_expiry_place(message);
    char entry[TV_QUEUE_ENTRY_BYTES];
    tv_queue_key key;

    tv_queue_write_entry(entry, message);
    tv_txn_put(txn,
               tv_queue_key_place(&key, queue->prefix, counts->generation, TV_QUEUE_EXPIRY, place),
               (tv_slice){entry, sizeof entry});
    lower(&queue->expiring, &counts->expiry_bound, place);
}

void tv_store_hide_message(tv_txn *txn, tv_queue *queue, int64_t generation,
                           const tv_message *message)
{
    tv_queue_key key;

    atomic_fetch_add_explicit(&queue->visible.gone, 1, memory_order_relaxed);
    tv_txn_delete(txn, tv_queue_key_place(&key, queue->prefix, generation, TV_QUEUE_VISIBLE,
                                          tv_store_visible_place(message)));
}

void tv_store_remove_message(tv_txn *txn, tv_queue *queue, int64_t generation,
                             const tv_message *message)
{
    tv_queue_key key;

    tv_store_hide_message(txn, queue, generation, message);
    tv_txn_delete(txn, tv_queue_key_message(&key, queue->prefix, generation, &message->id));
    if (tv_message_text_is_apart(message->text.len))
        tv_txn_delete(txn, tv_queue_key_text(&key, queue->prefix, generation, &message->id));
    if (message->expires == TV_MESSAGE_NEVER)
        return;
    atomic_fetch_add_explicit(&queue->expiring.gone, 1, memory_order_relaxed);
    tv_txn_delete(txn, tv_queue_key_place(&key, queue->prefix, generation, TV_QUEUE_EXPIRY,
                                          tv_store_expiry_place(message)));
}

tv_queue_place tv_store_start(tv_txn *txn, const tv_queue *queue, tv_queue_bound *bound,
                              tv_queue_place stored, int64_t now)
{
    tv_queue_place now_over = {now + 1, 0};

    /* A node whose clock is ahead may have raised it beyond this one's now. */
    if (queue->engine->ops->is_shared)
        return tv_queue_place_cmp(stored, now_over) < 0 ? stored : now_over;
    return tv_queue_bound_start(bound, tv_txn_now(txn));
}

void tv_store_learn(tv_txn *txn, const tv_queue *queue, tv_queue_bound *bound, tv_queue_place place)
{
    if (!queue->engine->ops->is_shared)
        tv_queue_bound_learn(bound, tv_txn_now(txn), place);
}

void tv_store_raise(tv_queue *queue, tv_queue_bound *bound, tv_queue_place *stored,
                    tv_queue_place place, int64_t age, bool is_written_anyway)
{
    bool is_many =
        atomic_load_explicit(&bound->gone, memory_order_relaxed) >= TV_QUEUE_BOUND_ROWS_MIN;

    if (!queue->engine->ops->is_shared || tv_queue_place_cmp(place, *stored) <= 0)
        return;
    if (!is_written_anyway && !is_many && place.ticks - stored->ticks < age)
        return;

    atomic_store_explicit(&bound->gone, 0, memory_order_relaxed);
    *stored = place;
}
