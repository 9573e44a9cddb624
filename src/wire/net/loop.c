/*
 * The network thread.
 *
 * The loop's own two handles, the wake-up and the round-end hook, are open from
 * new to free, so that a thread which has just posted a message can always
 * wake the loop.  They keep uv_run going until tv_loop_stop; after that they
 * no longer count (uv_unref) and the holds decide.
 */
#include "wire/net/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/thread.h"

enum {
    HOOKS_MAX = 4,
    /* What a read can bring is what a connection can be left with.  More is not faster: uploads
       over loopback ran at the same speed with 64, 128, 256 and 512 KiB. */
    SCRATCH_BYTES = 64 * 1024,
    ROUND_READ_BYTES_MAX = 256 * 1024, /* by all that take turns; some tenths of a millisecond */
};

typedef struct hook {
    void (*fn)(void *ctx);
    void *ctx;
} hook;

struct tv_loop {
    uv_loop_t uv;
    int wakeup_fd; /* an eventfd, see wake() */
    uv_poll_t wakeup;
    uv_prepare_t round_end;
    tv_mailbox mailbox;
    hook hooks[HOOKS_MAX];
    int hook_count;
    int index;
    int hold_count;
    atomic_bool is_stopping;
    bool is_started;
    pthread_t thread;
    void *shared;
    uint64_t skipped_ms; /* by tests */
    /* See tv_read_turn.  A cycle ends with a round in which no stream that was due was put off. */
    uint64_t cycle, round;
    size_t round_read_bytes;
    bool has_put_off;
    char scratch[SCRATCH_BYTES];
};

/* With nothing left to wait for, the wake-up alone must not keep the loop running. */
static void update_ref(tv_loop *loop)
{
    if (atomic_load(&loop->is_stopping) && loop->hold_count == 0)
        uv_unref((uv_handle_t *)&loop->wakeup);
    else
        uv_ref((uv_handle_t *)&loop->wakeup);
}

/*
 * Not by uv_async_send: the loop that it wakes spins, and yields its core again and
 * again, until the waker has left that function.  A waker of low priority has lost
 * its core to the loop by then, so each yield costs the loop milliseconds.
 */
static void wake(void *ctx)
{
    tv_loop *loop = ctx;
    const uint64_t one = 1;
    ssize_t written;

    do {
        written = write(loop->wakeup_fd, &one, sizeof one);
    } while (written < 0 && errno == EINTR);
    /* EAGAIN: 2^64 - 2 wake-ups wait to be seen, one more is not missed. */
    tv_assert(written == sizeof one || errno == EAGAIN);
}

static void on_wakeup(uv_poll_t *handle, int status, int events)
{
    tv_loop *loop = handle->data;
    uint64_t count;

    (void)status;
    (void)events;
    /* Before the messages are taken: a thread that posts after that wakes again. */
    ssize_t seen = read(loop->wakeup_fd, &count, sizeof count);

    tv_assert(seen == sizeof count || errno == EAGAIN || errno == EINTR);
    tv_mailbox_deliver(&loop->mailbox);
    update_ref(loop);
}

static void run_hooks(tv_loop *loop)
{
    for (int i = 0; i < loop->hook_count; i++)
        loop->hooks[i].fn(loop->hooks[i].ctx);
}

/*
 * A prepare handle runs just before the loop waits, after the timers and the
 * closing callbacks too; a check handle would leave to the next event what a
 * timer has produced.
 */
static void on_round_end(uv_prepare_t *handle)
{
    tv_loop *loop = handle->data;

    run_hooks(loop);
    if (!loop->has_put_off)
        loop->cycle++;
    loop->has_put_off = false;
    loop->round_read_bytes = 0;
    loop->round++;
}

tv_loop *tv_loop_new(int index)
{
    tv_loop *loop = tv_calloc(1, sizeof *loop);

    loop->index = index;
    loop->cycle = loop->round = 1;
    tv_assert(uv_loop_init(&loop->uv) == 0);
    loop->wakeup_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    tv_assert(loop->wakeup_fd >= 0);
    tv_assert(uv_poll_init(&loop->uv, &loop->wakeup, loop->wakeup_fd) == 0);
    tv_assert(uv_prepare_init(&loop->uv, &loop->round_end) == 0);
    loop->wakeup.data = loop;
    loop->round_end.data = loop;
    tv_assert(uv_poll_start(&loop->wakeup, UV_READABLE, on_wakeup) == 0);
    uv_prepare_start(&loop->round_end, on_round_end);
    uv_unref((uv_handle_t *)&loop->round_end);
    tv_mailbox_init(&loop->mailbox, wake, loop);
    return loop;
}

void tv_loop_free(tv_loop *loop)
{
    if (loop == NULL)
        return;

    tv_mailbox_deliver(&loop->mailbox);
    uv_close((uv_handle_t *)&loop->wakeup, NULL);
    uv_close((uv_handle_t *)&loop->round_end, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    tv_assert(loop->hold_count == 0);
    tv_assert(uv_loop_close(&loop->uv) == 0);
    tv_mailbox_done(&loop->mailbox);
    close(loop->wakeup_fd);
    free(loop);
}

uv_loop_t *tv_loop_uv(tv_loop *loop)
{
    return &loop->uv;
}

int tv_loop_index(const tv_loop *loop)
{
    return loop->index;
}

tv_mailbox *tv_loop_mailbox(tv_loop *loop)
{
    return &loop->mailbox;
}

void tv_loop_at_round_end(tv_loop *loop, void (*fn)(void *ctx), void *ctx)
{
    tv_assert(loop->hook_count < HOOKS_MAX);
    loop->hooks[loop->hook_count++] = (hook){fn, ctx};
}

void tv_loop_hold(tv_loop *loop)
{
    loop->hold_count++;
    update_ref(loop);
}

void tv_loop_release(tv_loop *loop)
{
    tv_assert(loop->hold_count > 0);
    loop->hold_count--;
    update_ref(loop);
}

uv_buf_t tv_loop_scratch(tv_loop *loop)
{
    return uv_buf_init(loop->scratch, sizeof loop->scratch);
}

bool tv_loop_may_read(tv_loop *loop, tv_read_turn *turn)
{
    bool has_begun = turn->round == loop->round;

    if (!has_begun && turn->cycle == loop->cycle)
        return false;
    if (loop->round_read_bytes >= ROUND_READ_BYTES_MAX) {
        loop->has_put_off |= !has_begun;
        return false;
    }

    *turn = (tv_read_turn){.cycle = loop->cycle, .round = loop->round};
    return true;
}

void tv_loop_has_read(tv_loop *loop, size_t count)
{
    loop->round_read_bytes += count;
}

uint64_t tv_loop_now_ms(const tv_loop *loop)
{
    return uv_now(&loop->uv) + loop->skipped_ms;
}

void tv_loop_skip_ms(tv_loop *loop, uint64_t ms)
{
    loop->skipped_ms += ms;
}

void **tv_loop_shared(tv_loop *loop)
{
    return &loop->shared;
}

static void *run(void *arg)
{
    tv_loop *loop = arg;
    sigset_t broken_pipe;

    /* A write to a client that has gone is an ordinary error here. */
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe, NULL);
    tv_thread_take_short_slices();
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    run_hooks(loop);
    return NULL;
}

void tv_loop_start(tv_loop *loop)
{
    tv_assert(!loop->is_started);
    loop->is_started = true;
    tv_assert(pthread_create(&loop->thread, NULL, run, loop) == 0);
}

void tv_loop_stop(tv_loop *loop)
{
    atomic_store(&loop->is_stopping, true);
    wake(loop);
}

void tv_loop_join(tv_loop *loop)
{
    if (!loop->is_started)
        return;

    tv_assert(pthread_join(loop->thread, NULL) == 0);
    loop->is_started = false;
}
