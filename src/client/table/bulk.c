/*
 * Any number of writes, made in batches.
 *
 *     add --> open groups, one for each partition --> flights, each with one batch on its way
 *
 *  (1) A group leaves for a flight when it is full, by number or bytes, when it has a write to
 *      the same entity already, or when too much waits in all groups together.
 *  (2) A flight is over when each of its writes has its own outcome.  A batch that fails because
 *      of one of its writes was not made at all: that write is reported, the others are sent
 *      again.  After a failure fewer are sent at once, and more again after a success, so that
 *      many failures in a row do not cost a full batch each.
 *  (3) Two flights never have writes to the same entity, so these are made in the order in which
 *      they were added.
 *
 * Everything but the exchanges themselves happens on the application's thread.
 */
#include "client/table/bulk.h"

#include "base/assert.h"
#include "base/grow.h"
#include "base/hash.h"
#include "client/table/batch.h"

enum {
    IN_FLIGHT_DEFAULT = 8,
    IN_FLIGHT_MAX = 1024,
    BUCKETS = 1024,
    SAMPLE = 64, /* groups to choose the longest of, when one has to leave */
    SLOTS = 256, /* more than twice as many as writes, so that a search is short */

    /* These bound the memory of a bulk, as tavola.h says. */
    OPEN_WRITES_MAX = 10000,                  /* that wait in groups */
    OPEN_BYTES_MAX = 16 * 1024 * 1024,        /* that they hold */
    LIST_BYTES_MAX = 2 * TVC_BATCH_BYTES_MAX, /* that the writes of one list hold */
};

/* Writes to one partition, each to another entity. */
typedef struct write_list {
    tvc_batch_item *items;
    size_t count, size;
    size_t bytes;         /* of their parts in a body */
    size_t held;          /* bytes of memory, entities included */
    uint64_t hash;        /* of the PartitionKey */
    uint8_t slots[SLOTS]; /* where each write is, plus one, from the slot of its RowKey on */
} write_list;

_Static_assert(TVC_BATCH_WRITES_MAX <= SLOTS / 2 && TVC_BATCH_WRITES_MAX < UINT8_MAX,
               "a list has slots for all its writes");

typedef struct open_group {
    struct open_group *next; /* in its bucket */
    write_list writes;
} open_group;

typedef struct bulk_flight {
    tavola_op *op;     /* NULL: it is free */
    write_list writes; /* without those that have their outcome */
    size_t sent;       /* the first of them are on their way */
    size_t window;     /* the most to send at once */
    uint64_t number;
} bulk_flight;

struct tavola_bulk {
    tavola_table *table; /* ours */
    tavola_bulk_fn failed;
    void *user;
    tavola_call *call;
    bulk_flight *flights;
    size_t flight_count;
    uint64_t last_number;
    open_group *buckets[BUCKETS];
    size_t hand; /* the bucket from which the next group is chosen */
    size_t open_writes, open_held;
    uint64_t written_count, failed_count;
    bool is_calling; /* the application, which must not call back */
};

/* ---- writes ---- */

static const char *partition_of(const write_list *writes)
{
    return writes->items[0].entity->partition_key;
}

/* The slot of a write to the same entity, or the empty one in which it would be. */
static size_t find_slot(const write_list *writes, const tvc_batch_item *item)
{
    size_t slot = item->hash % SLOTS;

    while (writes->slots[slot] &&
           !tvc_batch_item_same(&writes->items[writes->slots[slot] - 1], item))
        slot = (slot + 1) % SLOTS;
    return slot;
}

static bool has_entity(const write_list *writes, const tvc_batch_item *item)
{
    return writes->slots[find_slot(writes, item)] != 0;
}

static bool shares_entity(const write_list *a, const write_list *b)
{
    if (a->count == 0 || a->hash != b->hash || strcmp(partition_of(a), partition_of(b)) != 0)
        return false;

    for (size_t i = 0; i < b->count; i++) {
        if (has_entity(a, &b->items[i]))
            return true;
    }
    return false;
}

/* A DELETE holds all that its entity has, though it sends no more than the keys. */
static size_t held_by(const tvc_batch_item *item)
{
    return sizeof *item + item->part_len + tvc_entity_kept_bytes(item->entity);
}

/* There is room, and no write to the same entity. */
static void append(write_list *writes, const tvc_batch_item *item, size_t held)
{
    size_t slot = find_slot(writes, item);

    tv_assert(writes->slots[slot] == 0);
    writes->items[writes->count++] = *item;
    writes->slots[slot] = (uint8_t)writes->count;
    writes->bytes += tvc_batch_item_bytes(item);
    writes->held += held;
}

static void drop(write_list *writes, size_t from, size_t count)
{
    for (size_t i = from; i < from + count; i++)
        tvc_batch_item_done(&writes->items[i]);
    memmove(writes->items + from, writes->items + from + count,
            (writes->count - from - count) * sizeof *writes->items);
    writes->count -= count;
    memset(writes->slots, 0, sizeof writes->slots);
    for (size_t i = 0; i < writes->count; i++)
        writes->slots[find_slot(writes, &writes->items[i])] = (uint8_t)(i + 1);
}

/* ---- outcomes ---- */

static void report(tavola_bulk *bulk, const tvc_batch_item *item, tavola_err err, const char *code)
{
    bulk->failed_count++;
    if (bulk->failed == NULL)
        return;
    bulk->is_calling = true;
    bulk->failed(bulk->user, item->entity, err, code);
    bulk->is_calling = false;
}

static void fail_sent(tavola_bulk *bulk, bulk_flight *flight, tavola_err err, const char *code)
{
    for (size_t i = 0; i < flight->sent; i++)
        report(bulk, &flight->writes.items[i], err, code);
    drop(&flight->writes, 0, flight->sent);
}

/* Whether the error would meet each of the writes alone just as well. */
static bool is_for_all(tavola_err err, const char *code)
{
    switch (err) {
    case TAVOLA_ERR_NOT_FOUND:
    case TAVOLA_ERR_CONFLICT:
        return strcmp(code, "TableNotFound") == 0 || strcmp(code, "TableBeingDeleted") == 0;
    case TAVOLA_ERR_EXISTS:
    case TAVOLA_ERR_ETAG:
    case TAVOLA_ERR_INVALID:
    case TAVOLA_ERR_TOO_LARGE:
        return false;
    default:
        return true;
    }
}

/* Give outcomes to those that were sent, as far as the result of the batch has them. */
static void give_outcomes(tavola_bulk *bulk, bulk_flight *flight, tavola_err err,
                          const tavola_call *call)
{
    int index = call->failed_index;

    if (err == TAVOLA_OK) {
        bulk->written_count += flight->sent;
        drop(&flight->writes, 0, flight->sent);
        flight->window = flight->window * 2;
        return;
    }
    if (flight->sent == 1 || is_for_all(err, call->code)) {
        fail_sent(bulk, flight, err, call->code);
    } else if (index >= 0 && (size_t)index < flight->sent) {
        report(bulk, &flight->writes.items[index], err, call->code);
        drop(&flight->writes, (size_t)index, 1);
    }
    flight->window = flight->sent > 1 ? flight->sent / 2 : 1;
}

/* ---- flights ---- */

static tavola_err send(tavola_bulk *bulk, bulk_flight *flight)
{
    const write_list *writes = &flight->writes;

    if (flight->window > TVC_BATCH_WRITES_MAX)
        flight->window = TVC_BATCH_WRITES_MAX;
    flight->sent = writes->count < flight->window ? writes->count : flight->window;

    tavola_op *op = tvc_batch_op(bulk->table, writes->items, flight->sent, NULL, NULL);

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    tvc_call_copy_options(op->call, bulk->call);

    tavola_err err = tvc_op_start(op, NULL, NULL);

    if (err)
        tavola_op_free(op);
    else
        flight->op = op;
    return err;
}

/* Send what is left of a flight, if anything is. */
static void go_on(tavola_bulk *bulk, bulk_flight *flight)
{
    while (flight->writes.count) {
        tavola_err err = send(bulk, flight);

        if (err == TAVOLA_OK)
            return;
        fail_sent(bulk, flight, err, "");
    }
    tvc_release(flight->writes.items);
    flight->writes = (write_list){0};
}

/* Wait for the batch of a flight; afterwards another is on its way, or the flight is free. */
static void wait_for(tavola_bulk *bulk, bulk_flight *flight)
{
    tavola_op *op = flight->op;
    tavola_err err = tvc_op_await(op, bulk->call);

    flight->op = NULL;
    give_outcomes(bulk, flight, err, op->call);
    if (err)
        tvc_call_take_outcome(bulk->call, op->call);
    tavola_op_free(op);
    go_on(bulk, flight);
}

static bulk_flight *find_free(tavola_bulk *bulk)
{
    for (size_t i = 0; i < bulk->flight_count; i++) {
        if (bulk->flights[i].op == NULL)
            return &bulk->flights[i];
    }
    return NULL;
}

static bulk_flight *find_oldest(tavola_bulk *bulk)
{
    bulk_flight *oldest = NULL;

    for (size_t i = 0; i < bulk->flight_count; i++) {
        bulk_flight *flight = &bulk->flights[i];

        if (flight->op && (oldest == NULL || flight->number < oldest->number))
            oldest = flight;
    }
    return oldest;
}

static void wait_for_same_entities(tavola_bulk *bulk, const write_list *writes)
{
    for (size_t i = 0; i < bulk->flight_count; i++) {
        bulk_flight *flight = &bulk->flights[i];

        while (flight->op && shares_entity(&flight->writes, writes))
            wait_for(bulk, flight);
    }
}

static void launch(tavola_bulk *bulk, const write_list *taken)
{
    bulk_flight *flight;

    wait_for_same_entities(bulk, taken);
    while ((flight = find_free(bulk)) == NULL)
        wait_for(bulk, find_oldest(bulk));
    flight->writes = *taken;
    flight->window = TVC_BATCH_WRITES_MAX;
    flight->number = ++bulk->last_number;
    go_on(bulk, flight);
}

/* ---- groups ---- */

static open_group **find_group(tavola_bulk *bulk, const char *partition_key, uint64_t hash)
{
    open_group **at = &bulk->buckets[hash % BUCKETS];

    while (*at &&
           ((*at)->writes.hash != hash || strcmp(partition_of(&(*at)->writes), partition_key) != 0))
        at = &(*at)->next;
    return at;
}

/* Take a group out of its bucket and send it. */
static void flush(tavola_bulk *bulk, open_group **at)
{
    open_group *group = *at;

    *at = group->next;
    bulk->open_writes -= group->writes.count;
    bulk->open_held -= group->writes.held;
    launch(bulk, &group->writes);
    tvc_release(group);
}

/* Make room for more: the longest of some groups leaves, each time of others. */
static void flush_some(tavola_bulk *bulk)
{
    open_group **longest = NULL;
    size_t seen = 0;

    for (size_t i = 0; i < BUCKETS && seen < SAMPLE; i++) {
        bulk->hand = (bulk->hand + 1) % BUCKETS;
        for (open_group **at = &bulk->buckets[bulk->hand]; *at; at = &(*at)->next) {
            if (longest == NULL || (*at)->writes.count > (*longest)->writes.count)
                longest = at;
            seen++;
        }
    }
    flush(bulk, longest);
}

static void flush_all(tavola_bulk *bulk)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        while (bulk->buckets[i])
            flush(bulk, &bulk->buckets[i]);
    }
    for (bulk_flight *oldest; (oldest = find_oldest(bulk)) != NULL;)
        wait_for(bulk, oldest);
}

static bool has_room(const write_list *writes, const tvc_batch_item *item, size_t held)
{
    return writes->count < TVC_BATCH_WRITES_MAX &&
           writes->bytes + tvc_batch_item_bytes(item) + tvc_batch_frame_bytes() <=
               TVC_BATCH_BYTES_MAX &&
           writes->held + held <= LIST_BYTES_MAX && !has_entity(writes, item);
}

/* Put an item into the group of its partition; false when there is no memory. */
static bool put(tavola_bulk *bulk, const tvc_batch_item *item, size_t held)
{
    const char *partition_key = item->entity->partition_key;
    uint64_t hash = tv_hash(tv_slice_of(partition_key));
    open_group **at = find_group(bulk, partition_key, hash);

    if (*at && !has_room(&(*at)->writes, item, held)) {
        flush(bulk, at);
        at = find_group(bulk, partition_key, hash);
    }
    if (*at == NULL) {
        open_group *made = tvc_zalloc(sizeof *made);

        if (made == NULL)
            return false;
        if (!tv_try_grow(&made->writes.items, 0, &made->writes.size, 4)) {
            tvc_release(made);
            return false;
        }
        made->writes.hash = hash;
        *at = made;
    }

    write_list *writes = &(*at)->writes;

    if (!tv_try_grow(&writes->items, writes->count, &writes->size, 4))
        return false;
    append(writes, item, held);
    bulk->open_writes++;
    bulk->open_held += held;
    if (writes->count == TVC_BATCH_WRITES_MAX)
        flush(bulk, at);
    return true;
}

/* ---- the functions of the application ---- */

static void free_bulk(tavola_bulk *bulk)
{
    tavola_table_close(bulk->table);
    tvc_release(bulk->flights);
    tvc_release(bulk);
}

tavola_err tvc_bulk_open(tavola_table *table, uint32_t in_flight_max, tavola_bulk_fn failed,
                         void *user, tavola_call *call, tavola_bulk **ret_bulk)
{
    size_t flight_count = in_flight_max ? in_flight_max : IN_FLIGHT_DEFAULT;
    tavola_bulk *bulk = tvc_zalloc(sizeof *bulk);

    if (bulk == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    bulk->failed = failed;
    bulk->user = user;
    bulk->call = call;
    bulk->flight_count = flight_count < IN_FLIGHT_MAX ? flight_count : IN_FLIGHT_MAX;
    bulk->table = tvc_table_copy(table);
    bulk->flights = tvc_calloc(bulk->flight_count, sizeof *bulk->flights);
    if (bulk->table == NULL || bulk->flights == NULL) {
        free_bulk(bulk);
        return TAVOLA_ERR_NO_MEMORY;
    }
    *ret_bulk = bulk;
    return TAVOLA_OK;
}

tavola_err tavola_bulk_open(tavola_table *table, uint32_t in_flight_max, tavola_bulk_fn failed,
                            void *user, tavola_call *call, tavola_bulk **ret_bulk)
{
    tavola_err err = tvc_table_check(table, call);

    if (err)
        return err;
    if (ret_bulk == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no place for the bulk");
    return tvc_bulk_open(table, in_flight_max, failed, user, call, ret_bulk);
}

static tavola_err refuse_bulk(tavola_bulk *bulk)
{
    return tvc_call_refuse(bulk ? bulk->call : NULL, TAVOLA_ERR_INVALID,
                           bulk ? "failed() must not use its bulk"
                                : "there is no bulk: it is NULL");
}

tavola_err tavola_bulk_add(tavola_bulk *bulk, tavola_write write, const tavola_entity *entity,
                           const char *if_match)
{
    if (bulk == NULL || bulk->is_calling)
        return refuse_bulk(bulk);

    const char *why = "";
    tavola_err err = tvc_entity_check(entity, &why);
    tvc_batch_item item;

    if (err)
        return tvc_call_refuse(bulk->call, err, "%s", why);
    err = tvc_batch_item_init(&item, write, entity, if_match);
    if (err)
        return err;

    err = tvc_batch_item_make_part(&item, bulk->table, bulk->call);
    if (err == TAVOLA_OK) {
        size_t held = held_by(&item);

        while (bulk->open_writes &&
               (bulk->open_writes >= OPEN_WRITES_MAX || bulk->open_held + held > OPEN_BYTES_MAX))
            flush_some(bulk);
        if (!put(bulk, &item, held))
            err = TAVOLA_ERR_NO_MEMORY;
    }
    if (err)
        tvc_batch_item_done(&item);
    return err;
}

tavola_err tavola_bulk_close(tavola_bulk *bulk, uint64_t *ret_written, uint64_t *ret_failed)
{
    uint64_t written = 0, failed = 0;

    if (bulk) {
        if (bulk->is_calling)
            return refuse_bulk(bulk);
        flush_all(bulk);
        written = bulk->written_count;
        failed = bulk->failed_count;
        free_bulk(bulk);
    }
    if (ret_written)
        *ret_written = written;
    if (ret_failed)
        *ret_failed = failed;
    return TAVOLA_OK;
}
