/*
 * A queue as one would write it with all the time and memory there is: a list
 * of messages that is searched from end to end.  It knows nothing of rows,
 * indexes, bounds or groups.
 */
#ifndef TV_TESTS_SIM_QUEUE_MODEL_H
#define TV_TESTS_SIM_QUEUE_MODEL_H

#include "base/arena.h"
#include "services/queue/store/message.h"

enum { MODEL_MAX = 20000, GRAVES = 64 };

typedef struct model_message {
    tv_message message;      /* its text is the model's */
    tv_receipt last_receipt; /* the one before, which is void */
} model_message;

static struct {
    model_message *messages[MODEL_MAX]; /* in the order in which they were put */
    size_t count;
    int64_t next_sequence;
    tv_message graves[GRAVES]; /* some that were deleted, expired or cleared */
    size_t grave_count;
} model;

static inline model_message *model_find(const tv_guid *id)
{
    for (size_t i = 0; i < model.count; i++) {
        if (memcmp(&model.messages[i]->message.id, id, sizeof *id) == 0)
            return model.messages[i];
    }
    return NULL;
}

static inline void model_bury(size_t at)
{
    model.graves[model.grave_count++ % GRAVES] = model.messages[at]->message;
    free((void *)(uintptr_t)model.messages[at]->message.text.data);
    free(model.messages[at]);
    model.count--;
    memmove(&model.messages[at], &model.messages[at + 1],
            (model.count - at) * sizeof model.messages[0]);
}

static inline void model_delete(const tv_guid *id)
{
    for (size_t i = model.count; i-- > 0;) {
        if (memcmp(&model.messages[i]->message.id, id, sizeof *id) == 0)
            model_bury(i);
    }
}

static inline void model_clear(void)
{
    while (model.count)
        model_bury(model.count - 1);
}

static inline void model_bury_expired(int64_t now)
{
    for (size_t i = model.count; i-- > 0;) {
        if (model.messages[i]->message.expires <= now)
            model_bury(i);
    }
}

static inline void model_set_text(model_message *m, tv_slice text)
{
    char *copy = tv_malloc(text.len + 1);

    if (text.len)
        memcpy(copy, text.data, text.len);
    free((void *)(uintptr_t)m->message.text.data);
    m->message.text = (tv_slice){copy, text.len};
}

static inline model_message *model_put(const tv_message *message)
{
    model_message *m = tv_calloc(1, sizeof *m);

    tv_assert(model.count < MODEL_MAX);
    m->message = *message;
    m->message.text = TV_NONE;
    m->last_receipt = (tv_receipt){message->receipt.sequence, message->receipt.secret - 1};
    model_set_text(m, message->text);
    model.messages[model.count++] = m;
    return m;
}

/* The first visible messages, by time, then by number; returns how many of the wanted there are. */
static inline size_t model_visible(int64_t now, size_t wanted, model_message **ret_list)
{
    size_t found = 0;

    while (found < wanted) {
        model_message *best = NULL;

        for (size_t i = 0; i < model.count; i++) {
            model_message *m = model.messages[i];
            bool is_taken = false;

            if (m->message.next_visible > now || m->message.expires <= now)
                continue;
            for (size_t k = 0; k < found && !is_taken; k++)
                is_taken = ret_list[k] == m;
            if (is_taken)
                continue;
            /* The list is in the order of the numbers: of one time, the first found is the one. */
            if (best == NULL || m->message.next_visible < best->message.next_visible)
                best = m;
        }
        if (best == NULL)
            break;
        ret_list[found++] = best;
    }
    return found;
}

#endif
