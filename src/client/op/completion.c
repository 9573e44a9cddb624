/* The queue of operations that are done, and what the application does with them. */
#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "client/op/loop.h"
#include "client/why.h"

static const int64_t ns_per_ms = 1000 * 1000;

/* ---- the queue, with the lock held ---------------------------------------------------------- */

/* The descriptor is readable as long as something waits. */
static void update_fd(tvc_loop *loop)
{
    bool should_be_written = loop->queue.first != NULL;
    uint64_t count = 1;

    if (loop->queue_fd < 0 || loop->is_fd_written == should_be_written)
        return;

    ssize_t len = should_be_written ? write(loop->queue_fd, &count, sizeof count)
                                    : read(loop->queue_fd, &count, sizeof count);

    if (len == sizeof count || errno == EAGAIN)
        loop->is_fd_written = should_be_written;
}

static void leave_queue(tvc_loop *loop, tavola_op *op)
{
    tvc_ops_remove(&loop->queue, op);
    loop->queue_count--;
    atomic_store_explicit(&op->state->started.place, TVC_PLACE_DONE, memory_order_release);
}

/* False when its mail is on its way: then the loop needs it until that has come. */
static bool publish_one(tvc_loop *loop, tavola_op *op, tvc_ops *abandoned)
{
    tvc_started *started = &op->state->started;

    if (atomic_load(&started->is_mailed))
        return false;

    tvc_ops_remove(&loop->finished, op);
    loop->started_count--;
    if (started->is_abandoned) {
        tvc_ops_add(abandoned, op);
        return true;
    }
    if (started->waiter)
        pthread_cond_signal(started->waiter);
    if (op->done) {
        tvc_ops_add(&loop->queue, op);
        loop->queue_count++;
    }
    /* From here on it is the application's. */
    atomic_store_explicit(&started->place, op->done ? TVC_PLACE_QUEUE : TVC_PLACE_DONE,
                          memory_order_release);
    return true;
}

void tvc_loop_publish(tvc_loop *loop)
{
    tvc_ops abandoned = {0};

    if (loop->finished.first == NULL)
        return;

    pthread_mutex_lock(&loop->lock);
    for (tavola_op *op = loop->finished.first, *next; op; op = next) {
        next = op->state->started.next;
        publish_one(loop, op, &abandoned);
    }
    update_fd(loop);
    if (loop->poller_count && loop->queue.first)
        pthread_cond_broadcast(&loop->arrived);
    pthread_mutex_unlock(&loop->lock);

    while (abandoned.first) {
        tavola_op *op = abandoned.first;

        tvc_ops_remove(&abandoned, op);
        tvc_op_release(op);
    }
}

/* ---- polling -------------------------------------------------------------------------------- */

int tvc_loop_call_back(tvc_loop *loop, size_t count)
{
    int called = 0;

    pthread_mutex_lock(&loop->lock);
    while (count-- && loop->queue.first) {
        tavola_op *op = loop->queue.first;
        tavola_done_fn done = op->done;
        void *user = op->done_user;

        leave_queue(loop, op);
        pthread_mutex_unlock(&loop->lock);
        done(user, op);
        called++;
        pthread_mutex_lock(&loop->lock);
    }
    update_fd(loop);
    pthread_mutex_unlock(&loop->lock);
    return called;
}

static struct timespec time_after_ms(int64_t ms)
{
    return tv_clock_system_time(tv_clock_mono_ns() + ms * ns_per_ms);
}

/* How many are there to poll, after waiting for the first. */
static size_t wait_for_some(tvc_loop *loop, int timeout_ms)
{
    pthread_mutex_lock(&loop->lock);
    if (loop->queue.first == NULL && timeout_ms != 0) {
        struct timespec until = time_after_ms(timeout_ms);
        int code = 0;

        loop->poller_count++;
        while (loop->queue.first == NULL && !loop->is_closed && code == 0)
            code = timeout_ms < 0 ? pthread_cond_wait(&loop->arrived, &loop->lock)
                                  : pthread_cond_clockwait(&loop->arrived, &loop->lock,
                                                           CLOCK_MONOTONIC, &until);
        loop->poller_count--;
    }
    size_t count = loop->queue_count;

    pthread_mutex_unlock(&loop->lock);
    return count;
}

/* NULL, and tavola_last_error says why. */
static tvc_loop *loop_of(tavola_client *client)
{
    tvc_loop *loop = client ? tvc_loop_get(client) : NULL;

    if (client == NULL)
        (void)tvc_refuse(TAVOLA_ERR_INVALID, "there is no client: it is NULL");
    else if (loop == NULL && client->is_closed)
        (void)tvc_refuse(TAVOLA_ERR_CANCELLED, "the client is closed");
    else if (loop == NULL)
        (void)tvc_refuse(TAVOLA_ERR_NO_MEMORY, "there is no memory, thread or descriptor");
    return loop;
}

int tavola_poll(tavola_client *client, int timeout_ms)
{
    tvc_loop *loop = loop_of(client);

    if (loop == NULL)
        return -1;

    size_t count = wait_for_some(loop, timeout_ms);

    if (count == 0)
        return 0;

    /* A callback may close the client. */
    tvc_client_ref(client);

    int called = tvc_loop_call_back(loop, count);

    tvc_client_unref(client);
    return called;
}

int tavola_client_fd(tavola_client *client)
{
    tvc_loop *loop = loop_of(client);

    if (loop == NULL)
        return -1;

    pthread_mutex_lock(&loop->lock);
    if (loop->queue_fd < 0) {
        loop->queue_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        update_fd(loop);
    }
    int fd = loop->queue_fd;

    pthread_mutex_unlock(&loop->lock);
    if (fd < 0)
        (void)tvc_refuse(TAVOLA_ERR_NO_MEMORY, "there is no descriptor");
    return fd;
}

/* ---- one operation -------------------------------------------------------------------------- */

static int place_of(const tavola_op *op)
{
    return atomic_load_explicit(&op->state->started.place, memory_order_acquire);
}

static bool is_done(const tavola_op *op)
{
    return place_of(op) != TVC_PLACE_LOOP;
}

tavola_err tavola_op_wait(tavola_op *op, uint32_t timeout_ms)
{
    if (op == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "there is no operation: it is NULL");
    if (is_done(op))
        return tvc_op_result(op);

    tvc_loop *loop = op->client->loop;
    tvc_started *started = &op->state->started;
    struct timespec until = time_after_ms(timeout_ms);
    pthread_cond_t done = PTHREAD_COND_INITIALIZER;
    int code = 0;

    if (!tvc_loop_is_here(loop))
        return TAVOLA_ERR_CANCELLED;

    pthread_mutex_lock(&loop->lock);
    started->waiter = &done;
    while (!is_done(op) && code == 0)
        code = pthread_cond_clockwait(&done, &loop->lock, CLOCK_MONOTONIC, &until);
    started->waiter = NULL;

    tavola_err err = is_done(op) ? tvc_op_result(op) : TAVOLA_ERR_TIMEOUT;

    pthread_mutex_unlock(&loop->lock);
    pthread_cond_destroy(&done);
    return err;
}

tavola_err tvc_op_await(tavola_op *op, const tavola_call *call)
{
    for (;;) {
        tavola_err err = tavola_op_wait(op, call ? TVC_LOOK_MS : UINT32_MAX);

        if (is_done(op))
            return tvc_op_result(op);
        if (err != TAVOLA_ERR_TIMEOUT)
            return err;
        if (call && tvc_call_is_over(call))
            tavola_op_cancel(op);
    }
}

tavola_err tavola_op_err(const tavola_op *op)
{
    if (op == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "there is no operation: it is NULL");
    return is_done(op) ? tvc_op_result(op) : TAVOLA_ERR_TIMEOUT;
}

tavola_call *tavola_op_call(tavola_op *op)
{
    return op && is_done(op) ? op->call : NULL;
}

tavola_entity *tavola_op_take_entity(tavola_op *op)
{
    if (op == NULL || !is_done(op))
        return NULL;

    tavola_entity *entity = op->entity;

    op->entity = NULL;
    return entity;
}

tavola_page *tavola_op_take_page(tavola_op *op)
{
    if (op == NULL || !is_done(op))
        return NULL;

    tavola_page *page = op->page;

    op->page = NULL;
    return page;
}

/* With the lock held, of an operation that is the loop's. */
static void cancel(tvc_loop *loop, tavola_op *op)
{
    atomic_store(&op->state->is_cancelled, true);
    tvc_loop_mail(loop, op);
}

void tavola_op_cancel(tavola_op *op)
{
    if (op == NULL || is_done(op) || !tvc_loop_is_here(op->client->loop))
        return;

    tvc_loop *loop = op->client->loop;

    pthread_mutex_lock(&loop->lock);
    if (!is_done(op))
        cancel(loop, op);
    pthread_mutex_unlock(&loop->lock);
}

void tvc_op_end_at(tavola_op *op, int64_t end_ns)
{
    tvc_loop *loop = op->client->loop;

    if (is_done(op) || !tvc_loop_is_here(loop))
        return;

    pthread_mutex_lock(&loop->lock);
    if (!is_done(op)) {
        tvc_call_end_at(op->call, end_ns);
        tvc_loop_mail(loop, op);
    }
    pthread_mutex_unlock(&loop->lock);
}

/* Take it out of the loop or the queue; false when it has to stay there and is freed later. */
static bool take_back(tavola_op *op)
{
    tvc_loop *loop = op->client->loop;
    bool is_free = true;

    /* After a fork nobody else is in there, and nobody can give the lock back. */
    if (!tvc_loop_is_here(loop))
        return is_done(op);

    pthread_mutex_lock(&loop->lock);
    if (place_of(op) == TVC_PLACE_QUEUE) {
        leave_queue(loop, op);
        update_fd(loop);
    } else if (place_of(op) == TVC_PLACE_LOOP) {
        op->state->started.is_abandoned = true;
        cancel(loop, op);
        is_free = false;
    }
    pthread_mutex_unlock(&loop->lock);
    return is_free;
}

void tavola_op_free(tavola_op *op)
{
    if (op == NULL)
        return;

    int place = place_of(op);

    if (place == TVC_PLACE_CALLER || place == TVC_PLACE_DONE || take_back(op))
        tvc_op_release(op);
}
