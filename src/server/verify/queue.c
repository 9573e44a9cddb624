/*
 * The rows of a queue: counts, then of each generation the messages, their long
 * texts, and the two indexes.  So the messages are known, in the order of their
 * ids, when the rows come that have to fit them.
 */
#include "base/assert.h"
#include "base/grow.h"
#include "server/verify/internal.h"
#include "services/queue/store/row.h"

enum { GENERATION_CHARS = 8, ID_CHARS = 26 /* of 128 bits, see row.c */ };

typedef struct known_message {
    char id[ID_CHARS]; /* as in keys */
    int64_t expires, next_visible, sequence;
    size_t text_len;
    bool has_text, has_visible, has_expiry;
} known_message;

typedef struct queue_state {
    tv_queue_counts counts;
    known_message *messages;
    size_t count, size;
} queue_state;

/* How a client sees an id. */
static tv_slice text_of(const tv_guid *id, char to[TV_GUID_TEXT_LEN])
{
    tv_guid_format(to, id);
    return (tv_slice){to, TV_GUID_TEXT_LEN};
}

/* The same for the id in a key: eight digits are five bytes, the last two are one. */
static tv_slice text_of_key(tv_slice digits, char to[TV_GUID_TEXT_LEN])
{
    tv_guid id;

    if (digits.len != ID_CHARS)
        return digits;
    for (size_t i = 0, byte = 0; i < ID_CHARS; i += 8) {
        tv_slice part = tv_slice_take(tv_slice_skip(digits, i), ID_CHARS - i < 8 ? 2 : 8);
        int64_t bits;

        if (tv_key_read_number(part, &bits))
            return digits;
        for (int shift = part.len == 8 ? 32 : 0; shift >= 0; shift -= 8)
            id.bytes[byte++] = (unsigned char)(bits >> shift);
    }
    return text_of(&id, to);
}

/* `id` is empty, as in keys, or as clients see it. */
static void problem(tv_verify_walk *walk, const char *what, tv_slice id)
{
    char text[TV_GUID_TEXT_LEN];

    id = text_of_key(id, text);
    tv_verify_problem(walk->report, "queue %.*s of %.*s: %s%s%.*s", TV_FMT(walk->owner->name),
                      TV_FMT(walk->owner->account), what, id.len ? ", message " : "", TV_FMT(id));
}

static void begin(tv_verify_walk *walk)
{
    walk->state = tv_calloc(1, sizeof(queue_state));
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, ((const known_message *)b)->id, ID_CHARS);
}

/* By the text of an id in a key. */
static known_message *find(const queue_state *queue, tv_slice id)
{
    if (id.len != ID_CHARS || queue->count == 0)
        return NULL;
    return bsearch(id.data, queue->messages, queue->count, sizeof *queue->messages, compare);
}

static void add_message(tv_verify_walk *walk, tv_slice id, tv_slice value)
{
    queue_state *queue = walk->state;
    tv_message message;

    walk->report->messages++;
    if (id.len != ID_CHARS || tv_queue_read_message(value, &message)) {
        problem(walk, "a message cannot be decoded", id);
        return;
    }
    tv_grow(&queue->messages, queue->count, &queue->size, 64);

    known_message *known = &queue->messages[queue->count++];

    *known = (known_message){.expires = message.expires,
                             .next_visible = message.next_visible,
                             .sequence = message.receipt.sequence,
                             .text_len = message.text.len};
    memcpy(known->id, id.data, id.len);
}

static void check_text(tv_verify_walk *walk, tv_slice id, tv_slice value)
{
    known_message *message = find(walk->state, id);

    if (message == NULL && walk->is_cut)
        return;
    if (message == NULL)
        problem(walk, "a text has no message", id);
    else if (message->text_len != value.len || !tv_message_text_is_apart(value.len))
        problem(walk, "a text is not of the length that its message says", id);
    else
        message->has_text = true;
}

/* The message that an entry of an index is for; its key is made to find its id as keys have it. */
static known_message *find_by_guid(tv_verify_walk *walk, const tv_guid *id)
{
    const queue_state *queue = walk->state;
    tv_queue_key room;
    tv_slice key = tv_queue_key_message(&room, walk->owner->prefix, queue->counts.generation, id);

    return find(queue, tv_slice_skip(key, walk->owner->prefix.len + 1 + GENERATION_CHARS + 1));
}

static void check_entry(tv_verify_walk *walk, tv_slice key, tv_slice value, bool is_expiry)
{
    char text[TV_GUID_TEXT_LEN];
    tv_queue_place place;
    int64_t expires;
    tv_guid id;

    if (tv_queue_read_place(key, &place) || tv_queue_read_entry(value, &id, &expires)) {
        problem(walk,
                is_expiry ? "a row of the expiry index cannot be decoded"
                          : "a row of the visibility index cannot be decoded",
                TV_LIT(""));
        return;
    }

    known_message *message = find_by_guid(walk, &id);
    bool fits = message && expires == message->expires && place.sequence == message->sequence &&
                place.ticks == (is_expiry ? message->expires : message->next_visible);

    if (message == NULL && walk->is_cut)
        return;
    if (!fits)
        problem(walk,
                is_expiry ? "the expiry index has a row that fits no message"
                          : "the visibility index has a row that fits no message",
                text_of(&id, text));
    else if (is_expiry)
        message->has_expiry = true;
    else
        message->has_visible = true;
}

static void check_generation_row(tv_verify_walk *walk, tv_slice row, tv_slice key, tv_slice value)
{
    queue_state *queue = walk->state;
    int64_t generation;

    if (row.len < 1 + GENERATION_CHARS + 1 ||
        tv_key_read_number(tv_slice_skip(tv_slice_take(row, 1 + GENERATION_CHARS), 1),
                           &generation) ||
        generation > queue->counts.generation) {
        problem(walk, "a row of a generation that there is not", TV_LIT(""));
        return;
    }
    if (generation < queue->counts.generation)
        return; /* cleared, and still to be dropped */

    tv_slice rest = tv_slice_skip(row, 1 + GENERATION_CHARS + 1);

    switch (row.data[1 + GENERATION_CHARS]) {
    case 'm':
        add_message(walk, rest, value);
        break;
    case 't':
        check_text(walk, rest, value);
        break;
    case TV_QUEUE_VISIBLE:
        check_entry(walk, key, value, false);
        break;
    case TV_QUEUE_EXPIRY:
        check_entry(walk, key, value, true);
        break;
    default:
        problem(walk, "a row of a kind that there is not", TV_LIT(""));
    }
}

static void check_row(tv_verify_walk *walk, tv_slice key, tv_slice value)
{
    queue_state *queue = walk->state;
    tv_slice row = tv_slice_skip(key, walk->owner->prefix.len);

    if (tv_slice_eq(row, TV_LIT("c"))) {
        if (tv_queue_read_counts(value, &queue->counts))
            problem(walk, "its counts cannot be decoded", TV_LIT(""));
    } else if (row.len && row.data[0] == 'g') {
        check_generation_row(walk, row, key, value);
    } else {
        problem(walk, "a row of a kind that there is not", TV_LIT(""));
    }
}

static void end(tv_verify_walk *walk)
{
    queue_state *queue = walk->state;
    bool is_whole = !walk->is_cut;

    for (size_t i = 0; is_whole && i < queue->count; i++) {
        const known_message *message = &queue->messages[i];
        tv_slice id = {message->id, sizeof message->id};

        if (!message->has_visible)
            problem(walk, "the visibility index lacks a message, which nobody can get", id);
        if (!message->has_expiry && message->expires != TV_MESSAGE_NEVER)
            problem(walk, "the expiry index lacks a message", id);
        if (!message->has_text && tv_message_text_is_apart(message->text_len))
            problem(walk, "a message has lost its text", id);
    }
    if (is_whole && queue->counts.messages != (int64_t)queue->count)
        tv_verify_problem(walk->report, "queue %.*s of %.*s: it counts %lld messages and has %zu",
                          TV_FMT(walk->owner->name), TV_FMT(walk->owner->account),
                          (long long)queue->counts.messages, queue->count);
    free(queue->messages);
    free(queue);
    walk->state = NULL;
}

const tv_verify_check tv_verify_queue = {"queue", begin, check_row, end};
