/* Turns. */
#include "store/commit/queue.h"

#include "base/assert.h"
#include "base/hash.h"
#include "store/engine/key.h"

enum {
    SHARES = 64,          /* accounts that collide in one have its turns together */
    TURN_WRITES_MAX = 16, /* small ones of an account before the next account's */
};

/* Of an account. */
typedef struct share {
    tv_mail_chain small, large;
    bool is_turn_of_large; /* when both have a large write */
} share;

struct tv_write_queue {
    share shares[SHARES];
    size_t count;
    size_t turn, large_turn; /* the shares with which the next round begins */
    bool is_turn_of_large;   /* the last group had no room for one */
    size_t place_mask;
    struct place {
        uint32_t waiting : 31, is_large : 1;
    } places[]; /* of partitions */
};

static tv_write *write_of(tv_mail *mail)
{
    return (tv_write *)mail; /* `mail` is its first member */
}

tv_write_queue *tv_write_queue_new(size_t places)
{
    tv_write_queue *queue = tv_calloc(1, sizeof *queue + places * sizeof queue->places[0]);

    tv_assert(places > 0 && places <= TV_WRITE_PLACES_MAX && (places & (places - 1)) == 0);
    queue->place_mask = places - 1;
    return queue;
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
    write->share = (uint16_t)(tv_hash(tv_key_account(write->partition)) % SHARES);
    write->place = (uint16_t)(tv_hash(write->partition) % TV_WRITE_PLACES_MAX);
}

static struct place *place_of(tv_write_queue *queue, const tv_write *write)
{
    return &queue->places[write->place & queue->place_mask];
}

void tv_write_queue_add(tv_write_queue *queue, tv_write *write)
{
    share *own = &queue->shares[write->share];
    struct place *place = place_of(queue, write);

    if (place->waiting++ == 0)
        place->is_large = write->bytes >= TV_WRITE_LARGE_BYTES;
    queue->count++;
    tv_mail_chain_add(place->is_large ? &own->large : &own->small, &write->mail);
}

/* The first of a chain, which has one. */
static tv_write *take_first(tv_write_queue *queue, tv_mail_chain *chain)
{
    tv_write *write = write_of(tv_mail_chain_take(chain));

    tv_assert(place_of(queue, write)->waiting > 0);
    place_of(queue, write)->waiting--;
    queue->count--;
    return write;
}

/* The budget of a group for large writes. */
typedef struct large_room {
    size_t bytes_max, bytes;
    bool takes_any; /* the first one, whatever its size */
} large_room;

/* Whether another large write goes into the group; adds it. */
static bool has_room(large_room *room, const tv_write *write)
{
    if (room->bytes + write->bytes > room->bytes_max && (room->bytes || !room->takes_any))
        return false;

    room->bytes += write->bytes;
    return true;
}

static bool is_large(const tv_write *write)
{
    return write->bytes >= TV_WRITE_LARGE_BYTES;
}

/*
 * Large writes are in a chain of small ones where one of these was before them in their
 * partition.  What follows the first that does not fit waits with it.
 */
static size_t take_small(tv_write_queue *queue, size_t max, large_room *room, tv_write **ret_writes)
{
    size_t count = 0, idle = 0;

    while (count < max && idle < SHARES) {
        size_t before = count;
        tv_mail_chain *chain = &queue->shares[queue->turn++ % SHARES].small;

        for (int i = 0; i < TURN_WRITES_MAX && chain->first && count < max; i++) {
            const tv_write *next = write_of(chain->first);

            if (is_large(next) && !has_room(room, next))
                break;
            ret_writes[count++] = take_first(queue, chain);
        }
        idle = count > before ? 0 : idle + 1;
    }
    return count;
}

/* The chain of an account from which the next large write comes; NULL when it has none. */
static tv_mail_chain *large_chain(share *own)
{
    bool is_in_small = own->small.first && is_large(write_of(own->small.first));

    if (own->large.first && (!is_in_small || own->is_turn_of_large))
        return &own->large;
    return is_in_small ? &own->small : NULL;
}

/* Large ones until there is no room; whether some are left. */
static size_t take_large(tv_write_queue *queue, size_t max, large_room *room, tv_write **ret_writes,
                         bool *ret_has_more)
{
    size_t count = 0, idle = 0;

    *ret_has_more = false;
    while (idle < SHARES && !*ret_has_more) {
        tv_mail_chain *chain = large_chain(&queue->shares[queue->large_turn % SHARES]);

        idle = chain ? 0 : idle + 1;
        if (chain && (count == max || !has_room(room, write_of(chain->first)))) {
            *ret_has_more = true;
        } else {
            share *own = &queue->shares[queue->large_turn++ % SHARES];

            own->is_turn_of_large = chain == &own->small;
            if (chain)
                ret_writes[count++] = take_first(queue, chain);
        }
    }
    return count;
}

size_t tv_write_queue_take(tv_write_queue *queue, size_t max, tv_write **ret_writes)
{
    large_room mixed = {.bytes_max = TV_GROUP_MIXED_BYTES_MAX};
    large_room alone = {.bytes_max = TV_GROUP_LARGE_BYTES_MAX, .takes_any = true};
    size_t count = 0;

    if (!queue->is_turn_of_large)
        count = take_small(queue, max, &mixed, ret_writes);
    if (count > 0)
        return count +
               take_large(queue, max - count, &mixed, ret_writes + count, &queue->is_turn_of_large);

    bool ignored;

    queue->is_turn_of_large = false;
    return take_large(queue, max, &alone, ret_writes, &ignored);
}

void tv_write_queue_take_old(tv_write_queue *queue, int64_t before_ns, tv_mail_chain *ret_writes)
{
    for (size_t i = 0; queue->count && i < SHARES; i++) {
        tv_mail_chain *chains[] = {&queue->shares[i].small, &queue->shares[i].large};

        for (size_t j = 0; j < 2; j++) {
            while (chains[j]->first && write_of(chains[j]->first)->since_ns <= before_ns)
                tv_mail_chain_add(ret_writes, &take_first(queue, chains[j])->mail);
        }
    }
}
