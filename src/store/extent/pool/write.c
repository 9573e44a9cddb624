/*
 * Writing extents to a pool.
 *
 * A part is gathered in memory and sent as a whole; some are on their way while the
 * next is gathered.  That memory is bounded over all writers of the store: one that
 * gets none waits until a part of its own has arrived, or, if there is no such part,
 * fails with TV_ERR_OVERLOADED.  So no writer waits for another one, whose client
 * may be slow.
 *
 * A writer that is given up while parts are on their way is freed by the last of
 * them, and only then the removal of the extent is requested: else a part could
 * arrive after it.  So who has waited for them as long as a request may gives up, and they
 * stay on their way: a part that was cancelled could arrive, too, and nobody would know of it.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/point.h"
#include "store/extent/pool/internal.h"

enum { BUFFER_BYTES_MIN = 64 << 10 };

/* The numbers of extents begin with the seconds since the store was opened. */
enum { COUNTER_BITS = 32 };

typedef struct buffer {
    char *bytes;
    size_t len, size;
} buffer;

typedef struct pool_writer pool_writer;

/* A part on its way. */
typedef struct flight {
    pool_writer *writer;
    bool is_busy;
    uint32_t part;
    buffer bytes;
    tv_pool_change change;
    tv_pool_step steps[4];
    char name[TV_EXTENT_OBJECT_SIZE];
} flight;

struct pool_writer {
    tv_extent_writer base;
    tv_pool_extents *extents;
    buffer part; /* the one that is being filled */
    uint32_t sent_count;
    char begun[TV_EXTENT_NUMBER_SIZE], length[TV_EXTENT_NUMBER_SIZE];

    pthread_mutex_t lock; /* guards what follows, for moments only */
    pthread_cond_t arrived;
    flight flights[TV_EXTENT_PARTS_IN_FLIGHT];
    int flight_count;
    bool has_first; /* part 0 has arrived */
    bool is_taken;  /* the pool has an object of our name that is not ours */
    bool is_given_up;
    tv_err err; /* of the first part that failed */
};

/* --- numbers that tell the time --- */

static uint64_t seconds_since_open(const tv_pool_extents *extents)
{
    return (uint64_t)(tv_clock_boot_ns() - extents->open_ns) / 1000000000;
}

static tv_extent_id next_id(tv_pool_extents *extents)
{
    uint64_t counter = atomic_fetch_add(&extents->counter, 1) + 1;

    return (tv_extent_id){extents->base.boot,
                          seconds_since_open(extents) << COUNTER_BITS | (counter & UINT32_MAX)};
}

bool tv_pool_extent_may_commit(const tv_extents *store, tv_extent_id id)
{
    const tv_pool_extents *extents = (const tv_pool_extents *)store;
    uint64_t age = seconds_since_open(extents) - (id.number >> COUNTER_BITS);

    tv_assert(id.boot == store->boot);
    return age * 1000 <= (uint64_t)extents->options.times.commit_ms_max;
}

/* --- memory for parts --- */

static bool charge(tv_pool_extents *extents, size_t size)
{
    size_t used = atomic_fetch_add(&extents->buffer_bytes, size) + size;

    if (used <= extents->options.buffer_bytes_max)
        return true;

    atomic_fetch_sub(&extents->buffer_bytes, size);
    return false;
}

static void buffer_done(tv_pool_extents *extents, buffer *b)
{
    free(b->bytes);
    atomic_fetch_sub(&extents->buffer_bytes, b->size);
    *b = (buffer){0};
}

/* When a wait that begins now has been long enough. */
static struct timespec end_of_wait(void)
{
    return tv_clock_system_time(tv_clock_mono_ns() + tv_pool_patience_ms * INT64_C(1000000));
}

/* Wait for a part to arrive, with the lock.  False when that took too long. */
static bool wait_for_arrival(pool_writer *writer, const struct timespec *until)
{
    return pthread_cond_clockwait(&writer->arrived, &writer->lock, CLOCK_MONOTONIC, until) !=
           ETIMEDOUT;
}

/* Make room for more bytes of the part. */
static tv_err grow(pool_writer *writer, size_t more)
{
    buffer *part = &writer->part;
    size_t size = part->size ? 2 * part->size : BUFFER_BYTES_MIN;

    while (size < part->len + more)
        size *= 2;
    if (size > TV_EXTENT_PART_BYTES)
        size = TV_EXTENT_PART_BYTES;
    while (!charge(writer->extents, size - part->size)) {
        struct timespec until = end_of_wait();
        bool is_late = false;

        pthread_mutex_lock(&writer->lock);
        int count = writer->flight_count;

        while (writer->flight_count > 0 && writer->flight_count == count && !is_late)
            is_late = !wait_for_arrival(writer, &until);
        pthread_mutex_unlock(&writer->lock);
        if (is_late)
            return TV_ERR_TIMED_OUT;
        if (count == 0)
            return TV_ERR_OVERLOADED;
    }
    part->bytes = tv_realloc(part->bytes, size);
    part->size = size;
    return TV_OK;
}

/* --- parts on their way --- */

static void writer_free(pool_writer *writer)
{
    tv_extents *store = writer->base.store;
    tv_extent_id id = writer->base.id;
    bool is_left = writer->is_given_up && writer->sent_count > 0 && !writer->is_taken;

    buffer_done(writer->extents, &writer->part);
    pthread_cond_destroy(&writer->arrived);
    pthread_mutex_destroy(&writer->lock);
    if (is_left)
        tv_extents_remove(store, &id, 1);
    tv_extent_writer_done(&writer->base); /* the store may be closed from now on */
    free(writer);
}

/* On a thread of the pool's. */
static void on_arrived(tv_pool_change *change)
{
    flight *f = change->ctx;
    pool_writer *writer = f->writer;

    buffer_done(writer->extents, &f->bytes);
    pthread_mutex_lock(&writer->lock);
    f->is_busy = false;
    writer->flight_count--;
    if (change->result == TV_OK && f->part == 0)
        writer->has_first = true;
    if (change->result == TV_ERR_CONFLICT)
        writer->is_taken = true;
    if (change->result && writer->err == TV_OK)
        writer->err = change->result;
    bool is_last = writer->is_given_up && writer->flight_count == 0;
    pthread_cond_broadcast(&writer->arrived);
    pthread_mutex_unlock(&writer->lock);
    if (is_last)
        writer_free(writer);
}

/* Wait until another part may leave, or, with `all`, until none is on its way. */
static tv_err wait_for_parts(pool_writer *writer, bool all)
{
    struct timespec until = end_of_wait();
    bool is_late = false;

    pthread_mutex_lock(&writer->lock);
    while (!is_late && writer->flight_count > 0 &&
           (all || writer->flight_count == TV_EXTENT_PARTS_IN_FLIGHT || !writer->has_first))
        is_late = !wait_for_arrival(writer, &until);
    tv_err err = writer->err ? writer->err : is_late ? TV_ERR_TIMED_OUT : TV_OK;
    pthread_mutex_unlock(&writer->lock);
    return err ? tv_pool_extents_failed(writer->extents, "write", writer->base.id, err) : TV_OK;
}

static flight *take_flight(pool_writer *writer)
{
    flight *f = writer->flights;

    pthread_mutex_lock(&writer->lock);
    while (f->is_busy)
        f++;
    tv_assert(f < writer->flights + TV_EXTENT_PARTS_IN_FLIGHT);
    f->is_busy = true;
    writer->flight_count++;
    pthread_mutex_unlock(&writer->lock);
    return f;
}

static tv_pool_step set_attr(const char *name, const char *value)
{
    return (tv_pool_step){TV_POOL_SET_ATTR, tv_slice_of(name), tv_slice_of(value)};
}

/* Send the part that has been gathered; `is_only` if it is the whole extent. */
static tv_err send_part(pool_writer *writer, bool is_only)
{
    tv_pool *pool = writer->extents->options.pool;
    tv_err err;

    if (!tv_pool_extent_may_commit(writer->base.store, writer->base.id))
        return TV_ERR_REQUEST_TIMEOUT;
    if (tv_point("extent.part"))
        return TV_ERR_IO;
    err = wait_for_parts(writer, false);
    if (err)
        return err;

    flight *f = take_flight(writer);
    size_t count = 0;

    f->writer = writer;
    f->part = writer->sent_count++;
    f->bytes = writer->part;
    writer->part = (buffer){0};
    tv_pool_extent_name(writer->base.id, f->part, f->name);
    f->steps[count++] = (tv_pool_step){.kind = TV_POOL_CREATE};
    f->steps[count++] =
        (tv_pool_step){.kind = TV_POOL_SET_DATA, .value = {f->bytes.bytes, f->bytes.len}};
    if (f->part == 0)
        f->steps[count++] = set_attr(TV_EXTENT_ATTR_BEGUN, writer->begun);
    if (is_only)
        f->steps[count++] = set_attr(TV_EXTENT_ATTR_LEN, writer->length);
    f->change = (tv_pool_change){
        .object = f->name, .steps = f->steps, .step_count = count, .done = on_arrived, .ctx = f};
    pool->ops->change(pool, &f->change);
    return TV_OK;
}

/* --- the backend's functions --- */

tv_err tv_pool_extent_create(tv_extents *store, tv_extent_writer **ret_writer)
{
    tv_pool_extents *extents = tv_pool_extents_of(store);
    tv_err err;

    err = tv_pool_extents_check_space(extents);
    if (err)
        return err;

    pool_writer *writer = tv_calloc(1, sizeof *writer);

    tv_extent_writer_begin(&writer->base, store, next_id(extents));
    writer->extents = extents;
    snprintf(writer->begun, sizeof writer->begun, "%" PRId64,
             (tv_clock_ticks() - TV_TICKS_UNIX_EPOCH) / TV_TICKS_PER_SECOND);
    tv_assert(pthread_mutex_init(&writer->lock, NULL) == 0);
    tv_assert(pthread_cond_init(&writer->arrived, NULL) == 0);
    *ret_writer = &writer->base;
    return TV_OK;
}

/* A part that is full waits for more bytes: the last one is sent by finish. */
tv_err tv_pool_extent_write(tv_extent_writer *base, tv_slice bytes)
{
    pool_writer *writer = (pool_writer *)base;
    buffer *part = &writer->part;
    tv_err err = TV_OK;

    while (bytes.len) {
        if (part->len == TV_EXTENT_PART_BYTES) {
            err = tv_pool_extents_check_space(writer->extents);
            if (err == TV_OK)
                err = send_part(writer, false);
            if (err)
                return err;
        }

        size_t room = TV_EXTENT_PART_BYTES - part->len;
        size_t len = bytes.len < room ? bytes.len : room;

        if (part->size - part->len < len) {
            err = grow(writer, len);
            if (err)
                return err;
        }
        memcpy(part->bytes + part->len, bytes.data, len);
        part->len += len;
        base->len += len;
        bytes = tv_slice_skip(bytes, len);
    }
    return TV_OK;
}

static tv_err set_length(pool_writer *writer)
{
    tv_pool_step step = set_attr(TV_EXTENT_ATTR_LEN, writer->length);
    char name[TV_EXTENT_OBJECT_SIZE];
    tv_err err;

    if (tv_point("extent.len"))
        return TV_ERR_IO;
    tv_pool_extent_name(writer->base.id, 0, name);
    err = tv_pool_change_in_time(writer->extents->options.pool, name, &step, 1, NULL);
    return err ? tv_pool_extents_failed(writer->extents, "finish", writer->base.id, err) : TV_OK;
}

tv_err tv_pool_extent_finish(tv_extent_writer *base)
{
    pool_writer *writer = (pool_writer *)base;
    bool is_only = writer->sent_count == 0;
    tv_err err;

    snprintf(writer->length, sizeof writer->length, "%" PRIu64, base->length);
    err = send_part(writer, is_only);
    if (err == TV_OK)
        err = wait_for_parts(writer, true);
    if (err == TV_OK && !is_only)
        err = set_length(writer);
    if (err == TV_OK && tv_point("extent.whole"))
        err = TV_ERR_IO;
    if (err)
        return err;

    tv_assert(writer->sent_count == tv_pool_extent_parts(base->length));
    atomic_fetch_add(&writer->extents->made_count, 1);
    atomic_fetch_add(&writer->extents->made_bytes, base->len);
    return TV_OK;
}

void tv_pool_extent_end(tv_extent_writer *base, bool is_finished)
{
    pool_writer *writer = (pool_writer *)base;

    pthread_mutex_lock(&writer->lock);
    writer->is_given_up = !is_finished;
    bool is_last = writer->flight_count == 0;
    pthread_mutex_unlock(&writer->lock);
    if (is_last)
        writer_free(writer);
}
