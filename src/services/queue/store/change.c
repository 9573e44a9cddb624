/* Putting, updating and deleting one message; clearing the queue. */
#include "base/assert.h"
#include "base/random.h"
#include "services/queue/store/records.h"
#include "store/engine/instant.h"

static int64_t ticks_of(int64_t seconds)
{
    return seconds * TV_TICKS_PER_SECOND;
}

/* The instant `ttl_s` from now; a time beyond the last one never comes. */
static int64_t expiry_after(int64_t now, int64_t ttl_s)
{
    if (ttl_s == -1 || ttl_s > (TV_MESSAGE_NEVER - now) / TV_TICKS_PER_SECOND)
        return TV_MESSAGE_NEVER;
    return now + ticks_of(ttl_s);
}

tv_err tv_queue_put_run(tv_txn *txn, void *queue_put)
{
    tv_queue_put *put = queue_put;
    tv_queue *queue = put->queue;
    tv_message *message = &put->message;
    tv_queue_counts counts;
    tv_err err;

    err = tv_store_read_counts(txn, queue, &counts);
    if (err)
        return err;

    int64_t now = tv_store_now(txn, &counts);

    if (counts.next_sequence == TV_QUEUE_SEQUENCE_MAX)
        return TV_ERR_CORRUPT; /* no client has put so many */

    message->inserted = now;
    message->expires = expiry_after(now, put->ttl_s);
    message->next_visible = now + ticks_of(put->timeout_s);
    message->receipt = (tv_receipt){counts.next_sequence, tv_random_u64()};
    message->dequeue_count = 0;
    message->text = put->text;
    tv_assert(message->next_visible >= now && message->next_visible < message->expires);
    tv_store_write_message(txn, queue, &counts, message);
    if (message->expires != TV_MESSAGE_NEVER)
        tv_store_write_expiry(txn, queue, &counts, message);
    counts.next_sequence++;
    counts.messages++;
    tv_store_note_now(txn, queue, &counts, now);
    tv_store_write_counts(txn, queue, &counts);
    return TV_OK;
}

static bool is_timeout(int64_t timeout_s)
{
    return timeout_s >= 0 && timeout_s <= TV_MESSAGE_TIMEOUT_S_MAX;
}

/*
 * A guid of version 7 (RFC 9562): milliseconds first, the rest at random.  Rows of
 * messages that come together then lie together, in the engine's buffers and on
 * disk, where they are also deleted at about the same time.
 */
static tv_guid new_id(void)
{
    int64_t ms = tv_ticks_unix_ms(tv_instant_now());
    tv_guid id = tv_guid_new_secret();

    for (int i = 0; i < 6; i++)
        id.bytes[i] = (uint8_t)((uint64_t)ms >> (40 - 8 * i));
    id.bytes[6] = (id.bytes[6] & 0x0F) | 0x70;
    return id;
}

tv_err tv_queue_put_check(tv_queue_put *put)
{
    if (!is_timeout(put->timeout_s) || (put->ttl_s < 1 && put->ttl_s != -1))
        return TV_ERR_QUERY_OUT_OF_RANGE;
    if (put->ttl_s != -1 && put->timeout_s >= put->ttl_s)
        return TV_ERR_QUERY_OUT_OF_RANGE;
    if (put->text.len > TV_MESSAGE_TEXT_BYTES_MAX)
        return TV_ERR_MESSAGE_TOO_LARGE;

    put->message = (tv_message){.id = new_id()}; /* once, whatever the number of runs */
    return TV_OK;
}

/*
 * The message that `receipt` gives a right to.  For a client that has had the
 * message and lost it to another it is gone, as in the cloud service.  That is
 * also the answer to every guess, however close: the two numbers are compared
 * as a whole, and only the receipt of another message is told apart.
 */
static tv_err find_message(tv_txn *txn, tv_queue *queue, const tv_queue_counts *counts,
                           const tv_guid *id, const tv_receipt *receipt, tv_message *ret_message)
{
    tv_err err = tv_store_read_message(txn, queue, counts->generation, id, ret_message);

    if (err)
        return err;
    if (tv_message_is_expired(ret_message, tv_store_now(txn, counts)))
        return TV_ERR_MESSAGE_NOT_FOUND;

    const tv_receipt *current = &ret_message->receipt;

    if (receipt->sequence != current->sequence)
        return TV_ERR_POP_RECEIPT_MISMATCH;
    return receipt->secret == current->secret ? TV_OK : TV_ERR_MESSAGE_NOT_FOUND;
}

tv_err tv_queue_update_run(tv_txn *txn, void *queue_update)
{
    tv_queue_update *update = queue_update;
    tv_queue *queue = update->queue;
    tv_queue_counts counts;
    tv_message message;
    tv_queue_key key;
    tv_err err;

    err = tv_store_read_counts(txn, queue, &counts);
    if (err)
        return err;

    err = find_message(txn, queue, &counts, &update->id, &update->receipt, &message);
    if (err)
        return err;

    int64_t now = tv_store_now(txn, &counts), next_visible = now + ticks_of(update->timeout_s);

    tv_store_hide_message(txn, queue, counts.generation, &message);
    if (update->text.data) {
        if (tv_message_text_is_apart(message.text.len) &&
            !tv_message_text_is_apart(update->text.len))
            tv_txn_delete(txn,
                          tv_queue_key_text(&key, queue->prefix, counts.generation, &message.id));
        message.text = update->text;
    }
    tv_assert(next_visible >= now);

    /*
     * So that no get raises the bound above the new place without having seen it, bound.h (8); and
     * if it is visible now it is so for all who look later.
     */
    bool is_noted = queue->engine->ops->is_shared &&
                    (next_visible < message.next_visible || update->timeout_s == 0);

    message.next_visible = next_visible;
    message.receipt.secret = tv_random_u64();
    tv_store_write_message(txn, queue, &counts, &message);
    if (is_noted) {
        tv_store_note_now(txn, queue, &counts, now + (counts.latest == now));
        tv_store_write_counts(txn, queue, &counts);
    }
    update->message = message;
    update->message.text = TV_NONE;
    return TV_OK;
}

tv_err tv_queue_update_check(const tv_queue_update *update)
{
    if (!is_timeout(update->timeout_s))
        return TV_ERR_QUERY_OUT_OF_RANGE;
    if (update->text.len > TV_MESSAGE_TEXT_BYTES_MAX)
        return TV_ERR_MESSAGE_TOO_LARGE;
    return TV_OK;
}

tv_err tv_queue_delete_run(tv_txn *txn, void *queue_delete)
{
    const tv_queue_delete *delete_op = queue_delete;
    tv_queue *queue = delete_op->queue;
    tv_queue_counts counts;
    tv_message message;
    tv_err err;

    tv_txn_declare_freeing(txn);
    err = tv_store_read_counts(txn, queue, &counts);
    if (err)
        return err;

    err = find_message(txn, queue, &counts, &delete_op->id, &delete_op->receipt, &message);
    if (err)
        return err;

    err = tv_store_count_removed(&counts, 1);
    if (err)
        return err;

    tv_store_remove_message(txn, queue, counts.generation, &message);
    tv_store_write_counts(txn, queue, &counts);
    return TV_OK;
}

/*
 * A new generation.  Deleting the rows would take as long as there are messages,
 * and keep the committer busy; a new id by way of the catalogue would be a second
 * partition in what has to be one atomic change.
 */
tv_err tv_queue_clear_run(tv_txn *txn, void *of_queue)
{
    tv_queue *queue = of_queue;
    tv_queue_counts counts;
    tv_err err;

    tv_txn_declare_freeing(txn);
    err = tv_store_read_counts(txn, queue, &counts);
    if (err)
        return err;

    /* No message has no row: then this generation is as good as a new one. */
    if (counts.messages == 0)
        return TV_OK;
    if (counts.generation == TV_QUEUE_GENERATION_MAX)
        return TV_ERR_CORRUPT; /* no client has cleared it so often */

    counts.generation++;
    counts.messages = 0;
    tv_store_write_counts(txn, queue, &counts);
    return TV_OK;
}
