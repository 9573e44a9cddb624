/*
 * Keys and values of a queue's rows.  Values begin with a version byte; their
 * numbers are eight bytes, most significant first.
 */
#include "services/queue/store/row.h"

#include "base/assert.h"
#include "services/queue/store/number.h"
#include "store/engine/key.h"

enum {
    VERSION = 1,
    VERSION_BOUNDS = 2, /* of counts with bounds */
    GENERATION_DIGITS = 8,
    NUMBER_DIGITS = 13,
    PLACE_DIGITS = 2 * NUMBER_DIGITS,
    ID_BYTES = 16,
    ID_DIGITS = 26, /* of 128 bits */
    MESSAGE_FIXED_BYTES = 1 + 7 * TV_NUMBER_BYTES,
};

static char *put_queue(tv_queue_key *key, tv_slice queue, char kind)
{
    tv_assert(queue.len > 0 && queue.len <= TV_QUEUE_PREFIX_BYTES_MAX);
    memcpy(key->bytes, queue.data, queue.len);
    key->bytes[queue.len] = kind;
    return key->bytes + queue.len + 1;
}

static char *put_generation(tv_queue_key *key, tv_slice queue, int64_t generation)
{
    return tv_key_put_number(put_queue(key, queue, 'g'), generation, GENERATION_DIGITS);
}

static tv_slice finish(const tv_queue_key *key, const char *end)
{
    tv_assert(end <= key->bytes + sizeof key->bytes);
    return (tv_slice){key->bytes, (size_t)(end - key->bytes)};
}

/* 128 bits as 26 digits: five bytes are eight of them, and the last byte is two. */
static char *put_id(char *out, const tv_guid *id)
{
    for (size_t i = 0; i < ID_BYTES; i += 5) {
        size_t count = ID_BYTES - i < 5 ? ID_BYTES - i : 5;
        int64_t bits = 0;

        for (size_t k = 0; k < count; k++)
            bits = bits << 8 | id->bytes[i + k];
        out = tv_key_put_number(out, bits, count == 5 ? 8 : 2);
    }
    return out;
}

tv_slice tv_queue_key_counts(tv_queue_key *key, tv_slice queue)
{
    return finish(key, put_queue(key, queue, 'c'));
}

tv_slice tv_queue_key_generation(tv_queue_key *key, tv_slice queue, int64_t generation)
{
    return finish(key, put_generation(key, queue, generation));
}

tv_slice tv_queue_key_message(tv_queue_key *key, tv_slice queue, int64_t generation,
                              const tv_guid *id)
{
    char *out = put_generation(key, queue, generation);

    *out++ = 'm';
    return finish(key, put_id(out, id));
}

tv_slice tv_queue_key_text(tv_queue_key *key, tv_slice queue, int64_t generation, const tv_guid *id)
{
    char *out = put_generation(key, queue, generation);

    *out++ = 't';
    return finish(key, put_id(out, id));
}

tv_slice tv_queue_key_place(tv_queue_key *key, tv_slice queue, int64_t generation,
                            tv_queue_index index, tv_queue_place place)
{
    char *out = put_generation(key, queue, generation);

    *out++ = (char)index;
    out = tv_key_put_number(out, place.ticks, NUMBER_DIGITS);
    return finish(key, tv_key_put_number(out, place.sequence, NUMBER_DIGITS));
}

tv_err tv_queue_read_place(tv_slice key, tv_queue_place *ret_place)
{
    tv_err err;

    if (key.len < PLACE_DIGITS)
        return TV_ERR_CORRUPT;

    tv_slice digits = tv_slice_skip(key, key.len - PLACE_DIGITS);
    err = tv_key_read_number(tv_slice_take(digits, NUMBER_DIGITS), &ret_place->ticks);
    if (err)
        return err;

    return tv_key_read_number(tv_slice_skip(digits, NUMBER_DIGITS), &ret_place->sequence);
}

static bool is_instant(int64_t ticks)
{
    return ticks >= 0 && ticks <= TV_TICKS_MAX;
}

void tv_queue_write_entry(char to[TV_QUEUE_ENTRY_BYTES], const tv_message *message)
{
    tv_assert(is_instant(message->expires));
    memcpy(to, message->id.bytes, ID_BYTES);
    tv_number_put(to + ID_BYTES, message->expires);
}

tv_err tv_queue_read_entry(tv_slice value, tv_guid *ret_id, int64_t *ret_expires)
{
    if (value.len != TV_QUEUE_ENTRY_BYTES)
        return TV_ERR_CORRUPT;

    memcpy(ret_id->bytes, value.data, ID_BYTES);
    *ret_expires = tv_number_get(value.data + ID_BYTES);
    return is_instant(*ret_expires) ? TV_OK : TV_ERR_CORRUPT;
}

/* A bound may lie behind the last instant and the last number that a row has. */
static bool is_place(tv_queue_place place)
{
    return place.ticks >= 0 && place.ticks <= TV_TICKS_MAX + 1 && place.sequence >= 0;
}

/*
 * What may be written and what is accepted when read: the counts, and below the
 * times of a message.
 */
static bool are_counts(const tv_queue_counts *counts)
{
    return counts->generation >= 0 && counts->generation <= TV_QUEUE_GENERATION_MAX &&
           counts->dropped_below >= 0 && counts->dropped_below <= counts->generation &&
           counts->next_sequence <= TV_QUEUE_SEQUENCE_MAX && counts->messages >= 0 &&
           counts->messages <= counts->next_sequence && is_place(counts->visible_bound) &&
           is_place(counts->expiry_bound) && is_instant(counts->latest);
}

size_t tv_queue_write_counts(char to[TV_QUEUE_COUNTS_BYTES_MAX], const tv_queue_counts *counts)
{
    const int64_t numbers[] = {
        counts->generation,         counts->dropped_below,         counts->next_sequence,
        counts->messages,           counts->visible_bound.ticks,   counts->visible_bound.sequence,
        counts->expiry_bound.ticks, counts->expiry_bound.sequence, counts->latest,
    };
    bool has_bounds = counts->visible_bound.ticks || counts->expiry_bound.ticks || counts->latest;
    size_t count = has_bounds ? sizeof numbers / sizeof *numbers : 4, len = 0;

    tv_assert(are_counts(counts));
    to[len++] = has_bounds ? VERSION_BOUNDS : VERSION;
    for (size_t i = 0; i < count; i++, len += TV_NUMBER_BYTES)
        tv_number_put(to + len, numbers[i]);
    return len;
}

tv_err tv_queue_read_counts(tv_slice value, tv_queue_counts *ret_counts)
{
    bool has_bounds = value.len == TV_QUEUE_COUNTS_BYTES_MAX && value.data[0] == VERSION_BOUNDS;

    if (!has_bounds && (value.len != TV_QUEUE_COUNTS_BYTES || value.data[0] != VERSION))
        return TV_ERR_CORRUPT;

    *ret_counts = (tv_queue_counts){
        .generation = tv_number_get(value.data + 1),
        .dropped_below = tv_number_get(value.data + 9),
        .next_sequence = tv_number_get(value.data + 17),
        .messages = tv_number_get(value.data + 25),
    };
    if (has_bounds) {
        ret_counts->visible_bound =
            (tv_queue_place){tv_number_get(value.data + 33), tv_number_get(value.data + 41)};
        ret_counts->expiry_bound =
            (tv_queue_place){tv_number_get(value.data + 49), tv_number_get(value.data + 57)};
        ret_counts->latest = tv_number_get(value.data + 65);
    }
    return are_counts(ret_counts) ? TV_OK : TV_ERR_CORRUPT;
}

/* Its times can be formatted, and its places have keys. */
static bool is_message(const tv_message *message)
{
    return is_instant(message->inserted) && is_instant(message->expires) &&
           is_instant(message->next_visible) && message->receipt.sequence >= 0 &&
           message->receipt.sequence < TV_QUEUE_SEQUENCE_MAX &&
           message->text.len <= TV_MESSAGE_TEXT_BYTES_MAX;
}

size_t tv_queue_write_message(char to[TV_MESSAGE_ROW_BYTES_MAX], const tv_message *message)
{
    const int64_t numbers[] = {
        message->inserted,
        message->expires,
        message->next_visible,
        message->receipt.sequence,
        (int64_t)message->receipt.secret,
        message->dequeue_count,
        (int64_t)message->text.len,
    };
    size_t len = 0;

    tv_assert(is_message(message));
    to[len++] = VERSION;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++, len += TV_NUMBER_BYTES)
        tv_number_put(to + len, numbers[i]);
    tv_assert(len == MESSAGE_FIXED_BYTES);
    if (message->text.len == 0 || tv_message_text_is_apart(message->text.len))
        return len;

    memcpy(to + len, message->text.data, message->text.len);
    return len + message->text.len;
}

tv_err tv_queue_read_message(tv_slice value, tv_message *ret_message)
{
    if (value.len < MESSAGE_FIXED_BYTES || value.data[0] != VERSION)
        return TV_ERR_CORRUPT;

    int64_t numbers[7];
    tv_slice text = tv_slice_skip(value, MESSAGE_FIXED_BYTES);

    for (size_t i = 0; i < 7; i++)
        numbers[i] = tv_number_get(value.data + 1 + i * TV_NUMBER_BYTES);
    if (numbers[5] < 0 || numbers[5] > UINT32_MAX || numbers[6] < 0 ||
        numbers[6] > TV_MESSAGE_TEXT_BYTES_MAX)
        return TV_ERR_CORRUPT;

    size_t text_len = (size_t)numbers[6];
    bool is_apart = tv_message_text_is_apart(text_len);
    if (text.len != (is_apart ? 0 : text_len))
        return TV_ERR_CORRUPT;

    ret_message->inserted = numbers[0];
    ret_message->expires = numbers[1];
    ret_message->next_visible = numbers[2];
    ret_message->receipt = (tv_receipt){numbers[3], (uint64_t)numbers[4]};
    ret_message->dequeue_count = (uint32_t)numbers[5];
    ret_message->text = is_apart ? (tv_slice){NULL, text_len} : text;
    return is_message(ret_message) ? TV_OK : TV_ERR_CORRUPT;
}
