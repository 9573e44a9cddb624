/* Turns. */
#include "commit/queue.h"

#include "base/assert.h"
#include "base/hash.h"
#include "engine/key.h"

enum {
    LANES = 64,              /* accounts that meet in one share its turns */
    PARTITIONS = 64 * 1024,  /* those that meet keep their order among each other, too */
    TURN_WRITES_MAX = 16,    /* small ones of an account before the next account's */
};

typedef struct lane {
    tv_mail_chain small, large;
} lane;

struct tv_write_queue {
    lane lanes[LANES];
    size_t count, large_count;
    size_t turn, large_turn; /* the lanes with which the next round begins */
    struct {
        uint32_t waiting : 31, is_large : 1;
    } partitions[PARTITIONS];
};

static tv_write *write_of(tv_mail *mail)
{
    return (tv_write *)mail; /* `mail` is its first member */
}

tv_write_queue *tv_write_queue_new(void)
{
    return tv_calloc(1, sizeof(tv_write_queue));
}

void tv_write_queue_free(tv_write_queue *queue)
{
    if (queue == NULL)
        return;

    tv_assert(queue->count == 0);
    free(queue);
}

size_t tv_write_queue_count(const tv_write_queue *queue)
{
    return queue->count;
}

void tv_write_queue_place(tv_write *write)
{
    write->lane = (uint16_t)(tv_hash(tv_key_account(write->partition)) % LANES);
    write->place = (uint16_t)(tv_hash(write->partition) % PARTITIONS);
}

void tv_write_queue_add(tv_write_queue *queue, tv_write *write)
{
    lane *own = &queue->lanes[write->lane];

    if (queue->partitions[write->place].waiting++ == 0)
        queue->partitions[write->place].is_large = write->bytes >= TV_WRITE_LARGE_BYTES;
    queue->count++;
    if (queue->partitions[write->place].is_large) {
        queue->large_count++;
        tv_mail_chain_add(&own->large, &write->mail);
    } else {
        tv_mail_chain_add(&own->small, &write->mail);
    }
}

/* The first of a chain, which has one. */
static tv_write *take_first(tv_write_queue *queue, tv_mail_chain *chain)
{
    tv_write *write = write_of(tv_mail_chain_take(chain));

    tv_assert(queue->partitions[write->place].waiting > 0);
    queue->partitions[write->place].waiting--;
    queue->count--;
    return write;
}

/* Whether another large write goes into a group that has `*bytes` of them; adds it. */
static bool has_room(const tv_write *write, size_t *bytes)
{
    if (*bytes && *bytes + write->bytes > TV_GROUP_LARGE_BYTES_MAX)
        return false;

    *bytes += write->bytes;
    return true;
}

/*
 * Large writes are in a chain of small ones where one of these was before them in their
 * partition.  An account has as much room for them as all have for those in the other
 * chains; what is behind the first that does not fit waits with it.
 */
static size_t take_small(tv_write_queue *queue, size_t max, tv_write **ret_writes)
{
    size_t count = 0, idle = 0;
    size_t bytes[LANES] = {0}; /* of large ones */

    while (count < max && idle < LANES) {
        size_t number = queue->turn++ % LANES, before = count;
        tv_mail_chain *chain = &queue->lanes[number].small;

        for (int i = 0; i < TURN_WRITES_MAX && chain->first && count < max; i++) {
            const tv_write *next = write_of(chain->first);

            if (next->bytes >= TV_WRITE_LARGE_BYTES && !has_room(next, &bytes[number]))
                break;
            ret_writes[count++] = take_first(queue, chain);
        }
        idle = count > before ? 0 : idle + 1;
    }
    return count;
}

static size_t take_large(tv_write_queue *queue, size_t max, tv_write **ret_writes)
{
    size_t count = 0, bytes = 0;

    while (count < max && queue->large_count) {
        tv_mail_chain *chain = &queue->lanes[queue->large_turn % LANES].large;

        if (chain->first) {
            if (!has_room(write_of(chain->first), &bytes))
                break;
            ret_writes[count++] = take_first(queue, chain);
            queue->large_count--;
        }
        queue->large_turn++;
    }
    return count;
}

size_t tv_write_queue_take(tv_write_queue *queue, size_t max, tv_write **ret_writes)
{
    /* One place is for a large one, so that small ones without end do not keep it waiting. */
    size_t count = take_small(queue, queue->large_count ? max - 1 : max, ret_writes);

    return count + take_large(queue, max - count, ret_writes + count);
}
