/*
 * Eventually consistent transactions pattern, the side that works.  A message is taken, and stays
 * hidden as long as its job runs; it is deleted after the job, so that a worker that dies at any
 * point leaves it to the next.  A message for the poison queue is put there before it is deleted
 * here: it may be there twice, never nowhere.
 */
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "client/client.h"
#include "client/patterns/keeper.h"
#include "client/table/table.h"

enum {
    DEQUEUE_DEFAULT = 5,
    IDLE_FIRST_MS = 50,
    IDLE_MAX_MS = 1000,
    STOP_MS = 2000, /* how long the request of a worker that is stopped may take yet */
};

struct tavola_worker {
    tavola_queue *queue;
    tavola_queue *poison; /* or NULL */
    uint32_t dequeue_max;
    uint32_t hidden_s;
    uint32_t timeout_ms; /* of the caller's options; 0: the client's */
    tavola_job_fn job;
    void *user;
    tavola_call *call; /* it has an end when the worker is to stop */
    atomic_ullong done, failed, poisoned;
};

/* A handle of its own: the caller may close his. */
static tavola_err open_again(tavola_queue *queue, tavola_queue **ret_queue)
{
    return tavola_queue_open(queue->resource.client, tavola_queue_name(queue), ret_queue);
}

tavola_err tavola_worker_open(tavola_queue *queue, tavola_queue *poison_queue, uint32_t dequeue_max,
                              tavola_job_fn job, void *user, tavola_call *call,
                              tavola_worker **ret_worker)
{
    if (queue == NULL || job == NULL || ret_worker == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "the queue, the job or the place for the worker is NULL");

    tavola_worker *worker = tvc_zalloc(sizeof *worker);

    if (worker == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    worker->dequeue_max = dequeue_max ? dequeue_max : DEQUEUE_DEFAULT;
    worker->hidden_s = TVC_HIDDEN_DEFAULT_S;
    worker->job = job;
    worker->user = user;
    worker->call = tavola_call_new();
    if (worker->call && call) {
        tvc_call_copy_options(worker->call, call);
        tvc_call_end_at(worker->call, TVC_NO_END); /* that is how it is stopped */
        worker->timeout_ms = call->total_timeout_ms;
    }

    tavola_err err = worker->call ? open_again(queue, &worker->queue) : TAVOLA_ERR_NO_MEMORY;

    if (err == TAVOLA_OK && poison_queue)
        err = open_again(poison_queue, &worker->poison);
    if (err) {
        tavola_worker_close(worker);
        return err;
    }
    *ret_worker = worker;
    return TAVOLA_OK;
}

void tavola_worker_close(tavola_worker *worker)
{
    if (worker == NULL)
        return;

    tavola_queue_close(worker->queue);
    tavola_queue_close(worker->poison);
    tavola_call_free(worker->call);
    tvc_release(worker);
}

void tavola_worker_set_hidden_s(tavola_worker *worker, uint32_t hidden_s)
{
    if (worker)
        worker->hidden_s = tvc_hidden_seconds(hidden_s);
}

/*
 * A request that is under way, or the one that ends a message, is given some time: a message that
 * was taken, or whose job is done, would else be hidden for nothing, or be worked on twice.
 */
static void end_requests_soon(tavola_worker *worker)
{
    tvc_call_end_at(worker->call, tv_clock_mono_ns() + STOP_MS * INT64_C(1000000));
}

static bool is_stopped(const tavola_worker *worker)
{
    return tvc_call_end_ns(worker->call) != TVC_NO_END;
}

void tavola_worker_stop(tavola_worker *worker)
{
    if (worker)
        end_requests_soon(worker);
}

uint64_t tavola_worker_done(const tavola_worker *worker)
{
    return worker ? atomic_load(&worker->done) : 0;
}

uint64_t tavola_worker_failed(const tavola_worker *worker)
{
    return worker ? atomic_load(&worker->failed) : 0;
}

uint64_t tavola_worker_poisoned(const tavola_worker *worker)
{
    return worker ? atomic_load(&worker->poisoned) : 0;
}

/* Whether a queue is not there yet: then it is made, and the caller tries again. */
static bool makes_queue(tavola_worker *worker, tavola_queue *queue, tavola_err *err)
{
    if (*err != TAVOLA_ERR_NOT_FOUND ||
        strcmp(tavola_call_code(worker->call), "QueueNotFound") != 0)
        return false;
    *err = tavola_queue_create_if_absent(queue, worker->call);
    return *err == TAVOLA_OK;
}

/* Who works for a time does not wait much longer than that for an answer. */
static uint32_t take_timeout_ms(const tavola_worker *worker, int64_t until_ns)
{
    uint32_t usual_ms = worker->timeout_ms
                            ? worker->timeout_ms
                            : worker->queue->resource.client->options.total_timeout_ms;

    if (until_ns == INT64_MAX)
        return usual_ms;

    int64_t left_ms = (until_ns - tv_clock_mono_ns()) / 1000000 + STOP_MS;

    return left_ms < usual_ms ? (uint32_t)left_ms : usual_ms;
}

static tavola_err take(tavola_worker *worker, int64_t until_ns, tavola_message **ret_message)
{
    tavola_call_set_timeout_ms(worker->call, take_timeout_ms(worker, until_ns));

    tavola_err err = tavola_message_get(worker->queue, worker->hidden_s, worker->call, ret_message);

    if (makes_queue(worker, worker->queue, &err))
        err = TAVOLA_END;
    tavola_call_set_timeout_ms(worker->call, worker->timeout_ms);
    return err;
}

static void move_to_poison(tavola_worker *worker, const tavola_message *message)
{
    const char *text = tavola_message_text(message);
    tavola_err err =
        tavola_message_put_later(worker->poison, text, 0, TVC_NEVER_EXPIRES, worker->call, NULL);

    if (makes_queue(worker, worker->poison, &err))
        err = tavola_message_put_later(worker->poison, text, 0, TVC_NEVER_EXPIRES, worker->call,
                                       NULL);

    /* When it is not known whether it is there, it stays here as well. */
    if (err == TAVOLA_OK) {
        atomic_fetch_add(&worker->poisoned, 1);
        tvc_client_log(worker->queue->resource.client, TAVOLA_LOG_WARN,
                       "a message of the queue %s went to %s: it was read %u times",
                       tavola_queue_name(worker->queue), tavola_queue_name(worker->poison),
                       tavola_message_dequeue_count(message));
        (void)!tavola_message_delete(worker->queue, message, worker->call);
    }
}

static void note_failure(tavola_worker *worker, const char *what, tavola_err err, uint32_t count)
{
    atomic_fetch_add(&worker->failed, 1);
    tvc_client_log(worker->queue->resource.client, TAVOLA_LOG_WARN,
                   "a message of the queue %s %s: %s; it was read %u times",
                   tavola_queue_name(worker->queue), what, tavola_err_name(err), count);
}

static void run_job(tavola_worker *worker, tavola_message *message)
{
    uint32_t count = tavola_message_dequeue_count(message);
    tvc_keeper keeper;

    tavola_err err = tvc_keeper_start(&keeper, worker->queue, message, worker->hidden_s);

    /* A message that cannot be kept comes back. */
    if (err) {
        note_failure(worker, "cannot be kept hidden", err, count);
        return;
    }

    err = worker->job(worker->user, tavola_message_text(message), count);
    bool is_ours = tvc_keeper_stop(&keeper);

    if (err)
        note_failure(worker, "was left by its job", err, count);
    else
        atomic_fetch_add(&worker->done, 1);
    if (!is_ours)
        return;
    if (is_stopped(worker)) /* while the job ran */
        end_requests_soon(worker);

    /* A message that cannot be deleted comes back, and its job is done once more. */
    if (err == TAVOLA_OK)
        (void)!tavola_message_delete(worker->queue, message, worker->call);
    else if (worker->poison && count >= worker->dequeue_max)
        move_to_poison(worker, message);
}

static void work_on(tavola_worker *worker, tavola_message *message)
{
    /* Read more often than jobs return errors: it ends its workers. */
    bool is_deadly = tavola_message_dequeue_count(message) > worker->dequeue_max;

    if (tavola_message_text(message) == NULL)
        return;
    if (worker->poison && is_deadly)
        move_to_poison(worker, message);
    else
        run_job(worker, message);
}

static bool is_passing(tavola_err err)
{
    return err == TAVOLA_ERR_BUSY || err == TAVOLA_ERR_SERVER || err == TAVOLA_ERR_NETWORK ||
           err == TAVOLA_ERR_TIMEOUT || err == TAVOLA_ERR_UNKNOWN_OUTCOME ||
           err == TAVOLA_ERR_CONFLICT;
}

/* Wait for messages in short steps, so that a stop is heard. */
static void idle(const tavola_worker *worker, int64_t ms, int64_t until_ns)
{
    int64_t end_ns = tv_clock_mono_ns() + ms * 1000000;

    if (end_ns > until_ns)
        end_ns = until_ns;
    while (!is_stopped(worker) && tv_clock_mono_ns() < end_ns) {
        int64_t left_ns = end_ns - tv_clock_mono_ns();
        int64_t step_ns = left_ns < 20000000 ? left_ns : 20000000;
        struct timespec step = {.tv_nsec = step_ns > 0 ? (long)step_ns : 0};

        nanosleep(&step, NULL);
    }
}

tavola_err tavola_worker_run(tavola_worker *worker, uint32_t for_ms)
{
    if (worker == NULL)
        return tvc_call_refuse(NULL, TAVOLA_ERR_INVALID, "there is no worker: it is NULL");

    bool has_time = for_ms != 0 && for_ms != UINT32_MAX;
    int64_t until_ns = has_time ? tv_clock_mono_ns() + (int64_t)for_ms * 1000000 : INT64_MAX;
    int64_t idle_ms = IDLE_FIRST_MS;
    tavola_err err = TAVOLA_OK;

    while (!is_stopped(worker) && tv_clock_mono_ns() < until_ns) {
        tavola_message *message = NULL;

        err = take(worker, until_ns, &message);
        if (err == TAVOLA_OK) {
            work_on(worker, message);
            tavola_message_free(message);
            idle_ms = IDLE_FIRST_MS;
            continue;
        }
        if (for_ms == 0 || (err != TAVOLA_END && !is_passing(err)))
            break;
        idle(worker, idle_ms, until_ns);
        idle_ms = idle_ms * 2 < IDLE_MAX_MS ? idle_ms * 2 : IDLE_MAX_MS;
    }
    if (err == TAVOLA_END ||
        (is_stopped(worker) && (err == TAVOLA_ERR_CANCELLED || is_passing(err))))
        err = TAVOLA_OK;
    tvc_call_end_at(worker->call, TVC_NO_END);
    return err;
}
