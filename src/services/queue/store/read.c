/* Reading a queue outside the pipeline: peek and count. */
#include "services/queue/store/records.h"
#include "store/engine/instant.h"

/* What the row of the counts says.  A queue that is dropped loses it at any time. */
static tv_err take_counts(tv_queue *queue, tv_err err, tv_slice value, tv_queue_counts *ret_counts)
{
    if (atomic_load(queue->is_dropped))
        return TV_ERR_QUEUE_NOT_FOUND;
    if (err == TV_ERR_NOT_FOUND) {
        *ret_counts = (tv_queue_counts){0};
        return TV_OK;
    }
    if (err)
        return err;

    return tv_queue_read_counts(value, ret_counts);
}

static tv_err read_counts(tv_queue *queue, tv_read_mode mode, tv_arena *arena,
                          tv_queue_counts *ret_counts)
{
    tv_slice value = TV_NONE;
    tv_err err = tv_engine_get(queue->engine, mode, queue->counts, arena, &value);

    return take_counts(queue, err, value, ret_counts);
}

tv_err tv_queue_take_count(tv_queue *queue, tv_err err, tv_slice value, int64_t *ret_count)
{
    tv_queue_counts counts;

    err = take_counts(queue, err, value, &counts);
    if (err)
        return err;

    *ret_count = counts.messages;
    return TV_OK;
}

tv_err tv_queue_count(tv_queue *queue, tv_read_mode mode, int64_t *ret_count)
{
    tv_slice value = TV_NONE;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    err = tv_engine_get(queue->engine, mode, queue->counts, &arena, &value);
    err = tv_queue_take_count(queue, err, value, ret_count);
    tv_arena_done(&arena);
    return err;
}

/*
 * Read the message that an index row leads to.  TV_ERR_NOT_FOUND when it is no
 * longer what the row says: the iterator sees the store as it was when it was
 * opened, and the message has been taken, changed or removed since.
 * TV_ERR_OVERLOADED when there is no memory for what it adds to `answer_bytes`.
 */
static tv_err read_message(tv_queue *queue, tv_arena *arena, int64_t generation, tv_slice row_key,
                           const tv_guid *id, size_t *answer_bytes, tv_message *ret_message)
{
    tv_queue_place place;
    tv_queue_key key;
    tv_slice value;
    tv_err err;

    err = tv_queue_read_place(row_key, &place);
    if (err)
        return err;
    err = tv_engine_get(queue->engine, TV_READ_ANY,
                        tv_queue_key_message(&key, queue->prefix, generation, id), arena, &value);
    if (err)
        return err;

    ret_message->id = *id;
    err = tv_queue_read_message(value, ret_message);
    if (err)
        return err;
    if (tv_queue_place_cmp(tv_store_visible_place(ret_message), place) != 0)
        return TV_ERR_NOT_FOUND;

    size_t text_len = ret_message->text.len;

    err = tv_arena_allow(arena, *answer_bytes + tv_message_answer_bytes(text_len));
    if (err)
        return err;
    *answer_bytes += tv_message_answer_bytes(text_len);
    if (!tv_message_text_is_apart(text_len))
        return TV_OK;

    err = tv_engine_get(queue->engine, TV_READ_ANY,
                        tv_queue_key_text(&key, queue->prefix, generation, id), arena,
                        &ret_message->text);
    /* An update between the two reads may have brought another text. */
    return err == TV_OK && ret_message->text.len != text_len ? TV_ERR_NOT_FOUND : err;
}

/* Open an iterator over the rows of the visibility index that may be visible now. */
static tv_err open_index(tv_queue *queue, const tv_queue_counts *counts, int64_t now,
                         tv_iter **ret_iter)
{
    tv_queue_place start = counts->visible_bound;
    int64_t generation = counts->generation;
    tv_queue_key from, to;
    tv_err err;

    /*
     * The bound is read before the rows: it was right for the store as it was
     * then, and what was put below it since came during this call.
     */
    if (!queue->engine->ops->is_shared)
        start = tv_queue_bound_read(&queue->visible);
    else if (start.ticks > now)
        start = (tv_queue_place){now + 1, 0}; /* raised by a node whose clock is ahead */

    tv_slice first = tv_queue_key_place(&from, queue->prefix, generation, TV_QUEUE_VISIBLE, start);

    err = tv_engine_iter(queue->engine, first,
                         tv_queue_key_place(&to, queue->prefix, generation, TV_QUEUE_VISIBLE,
                                            (tv_queue_place){now + 1, 0}),
                         ret_iter);
    if (err)
        return err;

    tv_iter_seek(*ret_iter, first);
    return TV_OK;
}

tv_err tv_queue_peek(tv_queue *queue, tv_arena *arena, int64_t count,
                     tv_message ret_messages[TV_MESSAGES_MAX], size_t *ret_count)
{
    int64_t now = tv_instant_now();
    tv_queue_counts counts;
    size_t found = 0, answer_bytes = 0;
    tv_iter *iter;
    tv_err err;

    if (count < 1 || count > TV_MESSAGES_MAX)
        return TV_ERR_QUERY_OUT_OF_RANGE;

    err = read_counts(queue, TV_READ_ANY, arena, &counts);
    if (err)
        return err;
    now = tv_store_now_of(now, &counts);
    err = open_index(queue, &counts, now, &iter);
    if (err)
        return err;

    for (; err == TV_OK && found < (size_t)count && tv_iter_is_valid(iter); tv_iter_next(iter)) {
        int64_t expires;
        tv_guid id;

        err = tv_queue_read_entry(tv_iter_value(iter), &id, &expires);
        if (err || expires <= now)
            continue;

        err = read_message(queue, arena, counts.generation, tv_iter_key(iter), &id, &answer_bytes,
                           &ret_messages[found]);
        if (err == TV_ERR_OVERLOADED && found) {
            err = TV_OK; /* fewer are an answer, too */
            break;
        }
        if (err == TV_OK)
            found++;
        else if (err == TV_ERR_NOT_FOUND)
            err = TV_OK;
    }
    if (err == TV_OK)
        err = tv_iter_status(iter);
    tv_iter_free(iter);
    if (atomic_load(queue->is_dropped))
        return TV_ERR_QUEUE_NOT_FOUND;
    if (err)
        return err;

    *ret_count = found;
    return TV_OK;
}
