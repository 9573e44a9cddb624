/* The thread that drives started operations. */
#include "client/op/loop.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"

enum { EVENTS_MAX = 128 };

static const int64_t ns_per_ms = 1000 * 1000;
static const int64_t blind_look_ns = 10 * 1000 * 1000; /* without epoll: how often to look */
static const uint32_t all_events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
static const uint32_t end_events = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
static const uint32_t read_events = EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR;
static const uint32_t write_events = EPOLLOUT | EPOLLHUP | EPOLLERR;

/* ---- lists ---------------------------------------------------------------------------------- */

void tvc_ops_add(tvc_ops *ops, tavola_op *op)
{
    tvc_started *started = &op->state->started;

    started->next = NULL;
    started->previous = ops->last;
    if (ops->last)
        ops->last->state->started.next = op;
    else
        ops->first = op;
    ops->last = op;
}

void tvc_ops_remove(tvc_ops *ops, tavola_op *op)
{
    tvc_started *started = &op->state->started;

    if (started->previous)
        started->previous->state->started.next = started->next;
    else
        ops->first = started->next;
    if (started->next)
        started->next->state->started.previous = started->previous;
    else
        ops->last = started->previous;
    started->previous = started->next = NULL;
}

/* ---- waking it ------------------------------------------------------------------------------ */

static void wake_loop(void *ctx)
{
    tvc_loop *loop = ctx;

    if (atomic_exchange(&loop->is_sleeping, false)) {
        uint64_t one = 1;

        while (write(loop->wake_fd, &one, sizeof one) < 0 && errno == EINTR) {
        }
    }
}

void tvc_loop_mail(tvc_loop *loop, tavola_op *op)
{
    tvc_started *started = &op->state->started;
    tv_mail_chain chain = {0};

    if (atomic_exchange(&started->is_mailed, true))
        return;
    tv_mail_chain_add(&chain, &started->mail);
    tv_mailbox_post(&loop->mailbox, &chain);
}

static void wake_started(tvc_waker *waker)
{
    tvc_started *started = (tvc_started *)(void *)((char *)waker - offsetof(tvc_started, waker));

    tvc_loop_mail(started->op->client->loop, started->op);
}

/* ---- descriptors ---------------------------------------------------------------------------- */

static tvc_bucket *bucket_of(tvc_loop *loop, int fd)
{
    return &loop->buckets[(unsigned)fd % TVC_LOOP_BUCKETS];
}

static tavola_op *find_waiting(tvc_loop *loop, int fd)
{
    tavola_op *op = bucket_of(loop, fd)->first;

    while (op && op->state->started.fd != fd)
        op = op->state->started.next_of_fd;
    return op;
}

static void stop_waiting(tvc_loop *loop, tavola_op *op)
{
    tvc_started *started = &op->state->started;

    if (started->fd < 0)
        return;

    tavola_op **at = &bucket_of(loop, started->fd)->first;

    while (*at != op)
        at = &(*at)->state->started.next_of_fd;
    *at = started->next_of_fd;
    started->fd = -1;
}

static void begin_waiting(tvc_loop *loop, tavola_op *op, int fd)
{
    tvc_started *started = &op->state->started;

    if (started->fd == fd)
        return;

    stop_waiting(loop, op);
    started->fd = fd;
    started->next_of_fd = bucket_of(loop, fd)->first;
    bucket_of(loop, fd)->first = op;
}

/* An edge has passed, or a descriptor is out of the set: those of the bucket are armed again. */
static void miss_edge(tvc_loop *loop, int fd)
{
    bucket_of(loop, fd)->watch = ++loop->watch_last;
}

/* See to it that there will be an event.  False when the system has no memory for it. */
static bool arm(tvc_loop *loop, tavola_op *op, int fd)
{
    uint64_t *watch = tvc_exchange_watch(&op->state->exchange);
    tvc_bucket *bucket = bucket_of(loop, fd);

    if (*watch && *watch == bucket->watch)
        return true;
    if (bucket->watch == 0)
        miss_edge(loop, fd);

    struct epoll_event event = {.events = all_events, .data.fd = fd};

    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0 &&
        (errno != EEXIST || epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0))
        return false;
    *watch = bucket->watch;
    return true;
}

/* ---- driving -------------------------------------------------------------------------------- */

static void finish_op(tvc_loop *loop, tavola_op *op)
{
    stop_waiting(loop, op);
    tvc_timers_remove(&loop->timers, &op->state->started.timer);
    tvc_ops_remove(&loop->under_way, op);
    tvc_ops_add(&loop->finished, op);
    op->state->started.is_admitted = false;
}

/* Whether an operation that is done is made again. */
static bool begins_anew(tvc_loop *loop, tavola_op *op)
{
    if (op->repeat == NULL || atomic_load(&op->state->is_cancelled) ||
        atomic_load(&loop->is_stopping))
        return false;

    int64_t begin_ns = op->repeat(op, op->state->err);

    if (begin_ns == 0)
        return false;
    op->begin_ns = begin_ns;
    tvc_op_renew(op);
    return true;
}

static void drive(tvc_loop *loop, tavola_op *op, uint32_t events)
{
    tvc_started *started = &op->state->started;
    int64_t until_ns = INT64_MAX;
    int fd = -1, fd_before = started->fd;
    tvc_wait wait = tvc_op_step(op, &fd, &until_ns);

    /* The end of a connection comes once, perhaps with bytes before it that were all one step took.
     */
    if ((events & end_events) && fd == fd_before &&
        (wait == TVC_WAIT_READ || wait == TVC_WAIT_BOTH))
        wait = tvc_op_step(op, &fd, &until_ns);

    if (wait == TVC_WAIT_NOTHING) {
        if (!begins_anew(loop, op)) {
            finish_op(loop, op);
            return;
        }
        wait = TVC_WAIT_WAKE;
        until_ns = op->begin_ns;
    }
    if (tvc_call_end_ns(op->call) < until_ns)
        until_ns = tvc_call_end_ns(op->call);
    started->wait = wait;
    if (wait == TVC_WAIT_WAKE) {
        stop_waiting(loop, op);
    } else {
        begin_waiting(loop, op, fd);
        if (!arm(loop, op, fd) && until_ns > tv_clock_mono_ns() + blind_look_ns)
            until_ns = tv_clock_mono_ns() + blind_look_ns;
    }
    tvc_timers_set(&loop->timers, &started->timer, until_ns);
}

static void deliver(tv_mail *mail)
{
    tvc_started *started = (tvc_started *)(void *)((char *)mail - offsetof(tvc_started, mail));
    tavola_op *op = started->op;
    tvc_loop *loop = op->client->loop;

    atomic_store(&started->is_mailed, false);
    if (op->state->phase == TVC_PHASE_DONE) /* it is among the finished, which go on from there */
        return;
    if (!started->is_admitted) {
        started->is_admitted = true;
        tvc_ops_add(&loop->under_way, op);
    }
    if (atomic_load_explicit(&loop->is_stopping, memory_order_relaxed))
        atomic_store_explicit(&op->state->is_cancelled, true, memory_order_relaxed);
    drive(loop, op, 0);
}

static bool is_waited_for(tvc_wait wait, uint32_t events)
{
    return ((events & read_events) && (wait == TVC_WAIT_READ || wait == TVC_WAIT_BOTH)) ||
           ((events & write_events) && (wait == TVC_WAIT_WRITE || wait == TVC_WAIT_BOTH));
}

static void take_event(tvc_loop *loop, int fd, uint32_t events)
{
    tavola_op *op = find_waiting(loop, fd);

    if (op == NULL) {
        /* Idle, or used by a thread that waits for itself: no more of its events. */
        (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        miss_edge(loop, fd);
        return;
    }
    /* The step may go from sending to receiving without a look at what has come already. */
    if ((events & read_events) && op->state->started.wait != TVC_WAIT_READ)
        miss_edge(loop, fd);
    if (is_waited_for(op->state->started.wait, events))
        drive(loop, op, events);
}

static void run_timers(tvc_loop *loop)
{
    if (loop->timers.first == NULL)
        return;

    int64_t now = tv_clock_mono_ns();

    while (loop->timers.first && loop->timers.first->at_ns <= now) {
        tvc_timer *timer = loop->timers.first;
        tvc_started *started =
            (tvc_started *)(void *)((char *)timer - offsetof(tvc_started, timer));

        tvc_timers_remove(&loop->timers, timer);
        drive(loop, started->op, 0);
    }
}

static void cancel_all(tvc_loop *loop)
{
    while (loop->under_way.first) {
        tavola_op *op = loop->under_way.first;

        tvc_op_give_up(op);
        finish_op(loop, op);
    }
}

/* ---- the thread ----------------------------------------------------------------------------- */

static int sleep_ms(const tvc_loop *loop)
{
    if (loop->finished.first) /* their mail is about to come */
        return 0;
    if (loop->timers.first == NULL)
        return -1;

    int64_t left_ms = (loop->timers.first->at_ns - tv_clock_mono_ns() + ns_per_ms - 1) / ns_per_ms;

    if (left_ms < 0)
        return 0;
    return left_ms < INT32_MAX ? (int)left_ms : INT32_MAX;
}

static void wait_for_events(tvc_loop *loop)
{
    struct epoll_event events[EVENTS_MAX];
    int timeout = sleep_ms(loop);

    /* Whoever posts, or stops us, after this look finds us asleep, and wakes us. */
    atomic_store(&loop->is_sleeping, true);
    if (atomic_load(&loop->mailbox.newest) || atomic_load(&loop->is_stopping))
        timeout = 0;

    int count = epoll_wait(loop->epoll_fd, events, EVENTS_MAX, timeout);

    atomic_store_explicit(&loop->is_sleeping, false, memory_order_relaxed);
    for (int i = 0; i < count; i++) {
        if (events[i].data.fd != loop->wake_fd)
            take_event(loop, events[i].data.fd, events[i].events);
    }
}

static bool is_over(tvc_loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    bool is_over = loop->is_closed && loop->started_count == 0;
    pthread_mutex_unlock(&loop->lock);
    return is_over;
}

static void *run_loop(void *arg)
{
    tvc_loop *loop = arg;

    for (;;) {
        tv_mailbox_deliver(&loop->mailbox);
        run_timers(loop);
        if (atomic_load(&loop->is_stopping))
            cancel_all(loop);
        tvc_loop_publish(loop);
        if (atomic_load(&loop->is_stopping) && is_over(loop))
            return NULL;
        wait_for_events(loop);
    }
}

/* ---- making and ending it ------------------------------------------------------------------- */

static bool start_thread(tvc_loop *loop)
{
    sigset_t all, before;

    /* The application's signals are for the application's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);

    bool is_started = pthread_create(&loop->thread, NULL, run_loop, loop) == 0;

    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (is_started)
        pthread_setname_np(loop->thread, "tavola");
    return is_started;
}

static tvc_loop *make_loop(void)
{
    tvc_loop *loop = tvc_zalloc(sizeof *loop);

    if (loop == NULL)
        return NULL;

    loop->pid = getpid();
    loop->queue_fd = -1;
    pthread_mutex_init(&loop->lock, NULL);
    pthread_cond_init(&loop->arrived, NULL);
    tv_mailbox_init(&loop->mailbox, wake_loop, loop);
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    /* Each write to it is an edge, so it need not be read. */
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = loop->wake_fd};

    if (loop->epoll_fd < 0 || loop->wake_fd < 0 ||
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->wake_fd, &event) != 0) {
        tvc_loop_free(loop);
        return NULL;
    }
    return loop;
}

tvc_loop *tvc_loop_get(tavola_client *client)
{
    tvc_loop *loop = atomic_load_explicit(&client->loop, memory_order_acquire);

    if (loop)
        return loop;

    pthread_mutex_lock(&client->lock);
    loop = client->is_closed ? NULL : client->loop;
    if (loop == NULL && !client->is_closed) {
        loop = make_loop();
        if (loop && !start_thread(loop)) {
            tvc_loop_free(loop);
            loop = NULL;
        }
        atomic_store_explicit(&client->loop, loop, memory_order_release);
    }
    pthread_mutex_unlock(&client->lock);
    return loop;
}

bool tvc_loop_is_here(const tvc_loop *loop)
{
    return loop->pid == getpid();
}

void tvc_loop_close(tavola_client *client)
{
    pthread_mutex_lock(&client->lock);
    tvc_loop *loop = client->loop;

    client->is_closed = true;
    pthread_mutex_unlock(&client->lock);
    if (loop == NULL || !tvc_loop_is_here(loop))
        return;

    pthread_mutex_lock(&loop->lock);
    loop->is_closed = true;
    pthread_cond_broadcast(&loop->arrived);
    pthread_mutex_unlock(&loop->lock);

    atomic_store(&loop->is_stopping, true);
    wake_loop(loop);
    pthread_join(loop->thread, NULL);
    while (tvc_loop_call_back(loop, SIZE_MAX) > 0) {
    }
}

void tvc_loop_free(tvc_loop *loop)
{
    if (loop == NULL)
        return;

    if (loop->epoll_fd >= 0)
        close(loop->epoll_fd);
    if (loop->wake_fd >= 0)
        close(loop->wake_fd);
    if (loop->queue_fd >= 0)
        close(loop->queue_fd);
    pthread_cond_destroy(&loop->arrived);
    pthread_mutex_destroy(&loop->lock);
    tvc_release(loop);
}

tavola_err tvc_op_start(tavola_op *op, tavola_done_fn done, void *user)
{
    tvc_started *started = &op->state->started;
    tvc_loop *loop = tvc_loop_get(op->client);

    if (loop == NULL)
        return op->client->is_closed ? TAVOLA_ERR_CANCELLED : TAVOLA_ERR_NO_MEMORY;

    op->done = done;
    op->done_user = user;
    started->op = op;
    started->fd = -1;
    started->mail.deliver = deliver;
    started->waker.wake = wake_started;
    op->state->waker = &started->waker;

    pthread_mutex_lock(&loop->lock);
    bool is_closed = loop->is_closed;

    if (!is_closed) {
        loop->started_count++;
        atomic_store(&started->place, TVC_PLACE_LOOP);
    }
    pthread_mutex_unlock(&loop->lock);
    if (is_closed)
        return TAVOLA_ERR_CANCELLED;

    tvc_loop_mail(loop, op);
    return TAVOLA_OK;
}
