/*
 * Turns: one lock, one condition, and for each account that has tasks a queue of
 * those that have not run yet and one of those that have.  The accounts form a
 * ring; an account that was served goes to its end.
 *
 * Network threads take the lock too, and the threads here have a lower priority:
 * one that loses its core while it holds the lock makes a network thread wait for
 * milliseconds.  So no system call is made under the lock, a wake-up least of all.
 *
 * (1) A thread waits only when no task may run.  A slice that ends lets one task
 *     more run, and its own thread takes that: only a new task wakes a thread.
 */
#include "base/turns.h"

#include <pthread.h>

#include "base/assert.h"
#include "base/thread.h"

enum { TURN_NS = 4 * 1000 * 1000 };

typedef struct account {
    struct account *next; /* in the ring's order */
    tv_mail_chain fresh, started;
    size_t running;
    bool was_fresh; /* the last one served */
    size_t name_len;
    char name[];
} account;

struct tv_turns {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    account *first; /* those that have tasks; the first has waited longest */
    size_t task_count, tasks_max;
    bool is_finishing, is_stopping;
    tv_turns_counts counts;
    int thread_count;
    pthread_t threads[];
};

static size_t account_count(const account *a)
{
    return a->fresh.count + a->started.count + a->running;
}

static account *find_account(tv_turns *turns, tv_slice name)
{
    account *a = turns->first;

    while (a && !tv_slice_eq((tv_slice){a->name, a->name_len}, name))
        a = a->next;
    return a;
}

/* Put an account, which is not in the ring, at its end. */
static void append_account(tv_turns *turns, account *a)
{
    account **link = &turns->first;

    while (*link)
        link = &(*link)->next;
    *link = a;
    a->next = NULL;
}

static void remove_account(tv_turns *turns, account *a)
{
    account **link = &turns->first;

    while (*link != a)
        link = &(*link)->next;
    *link = a->next;
}

static account *add_account(tv_turns *turns, tv_slice name)
{
    account *a = tv_calloc(1, sizeof *a + name.len);

    a->name_len = name.len;
    if (name.len)
        memcpy(a->name, name.data, name.len);
    append_account(turns, a);
    return a;
}

/* Whether an account may have one more thread. */
static bool may_run(const tv_turns *turns, const account *a)
{
    size_t threads = (size_t)turns->thread_count;

    if (a->fresh.count + a->started.count == 0)
        return false;
    return a->running == 0 || turns->is_finishing || a->running < threads - 1;
}

/* The next task that has its turn, and its account; NULL when none may run now. */
static tv_task *take_task(tv_turns *turns, account **ret_account)
{
    account *a = turns->first;

    while (a && !may_run(turns, a))
        a = a->next;
    if (a == NULL)
        return NULL;

    bool is_fresh = a->fresh.count && (!a->was_fresh || a->started.count == 0);

    a->was_fresh = is_fresh;
    a->running++;
    remove_account(turns, a);
    append_account(turns, a);
    *ret_account = a;
    return (tv_task *)tv_mail_chain_take(is_fresh ? &a->fresh : &a->started);
}

/* Run a slice of it, without the lock.  True when the task is done. */
static bool run_slice(tv_task *task, bool must_end)
{
    tv_turn turn = {.end_ns = tv_clock_mono_ns() + TURN_NS, .must_end = must_end};
    bool is_done = task->run(task, &turn);

    tv_assert(is_done || !must_end);
    return is_done;
}

/* After a slice: the task waits for its next one, or is gone from the account. */
static void end_slice(tv_turns *turns, account *a, tv_task *task, bool is_done)
{
    turns->counts.running--;
    a->running--;
    if (is_done)
        turns->task_count--;
    else
        tv_mail_chain_add(&a->started, &task->mail);
    if (account_count(a) == 0) {
        remove_account(turns, a);
        free(a);
    }
}

/* Called with the lock held; releases it while the task runs. */
static void serve(tv_turns *turns, tv_task *task, account *a)
{
    bool is_gone = task->is_gone && atomic_load_explicit(task->is_gone, memory_order_relaxed);
    bool is_cancelled = is_gone && task->has_run;
    bool must_end = is_cancelled || turns->is_finishing;
    tv_mailbox *reply_to = task->reply_to;

    turns->counts.turns++;
    turns->counts.running++;
    turns->counts.cancelled += is_cancelled;
    task->has_run = true;
    pthread_mutex_unlock(&turns->lock);
    bool is_done = run_slice(task, must_end);
    pthread_mutex_lock(&turns->lock);
    end_slice(turns, a, task, is_done);
    if (is_done) {
        tv_mail_chain reply = {0};

        pthread_mutex_unlock(&turns->lock);
        tv_mail_chain_add(&reply, &task->mail);
        tv_mailbox_post(reply_to, &reply);
        pthread_mutex_lock(&turns->lock);
    }
}

static void *work(void *arg)
{
    tv_turns *turns = arg;

    tv_thread_give_way();
    pthread_mutex_lock(&turns->lock);
    for (;;) {
        account *a;
        tv_task *task = take_task(turns, &a);

        if (task)
            serve(turns, task, a);
        else if (turns->is_stopping && turns->task_count == 0)
            break;
        else
            pthread_cond_wait(&turns->changed, &turns->lock);
    }
    pthread_cond_broadcast(&turns->changed);
    pthread_mutex_unlock(&turns->lock);
    return NULL;
}

tv_turns *tv_turns_new(int thread_count, size_t tasks_max)
{
    tv_assert(thread_count > 0);

    tv_turns *turns = tv_calloc(1, sizeof *turns + (size_t)thread_count * sizeof(pthread_t));

    tv_assert(pthread_mutex_init(&turns->lock, NULL) == 0);
    tv_assert(pthread_cond_init(&turns->changed, NULL) == 0);
    turns->tasks_max = tasks_max;
    turns->thread_count = thread_count;
    for (int i = 0; i < thread_count; i++)
        tv_assert(pthread_create(&turns->threads[i], NULL, work, turns) == 0);
    return turns;
}

void tv_turns_finish(tv_turns *turns)
{
    pthread_mutex_lock(&turns->lock);
    turns->is_finishing = true;
    pthread_cond_broadcast(&turns->changed);
    pthread_mutex_unlock(&turns->lock);
}

void tv_turns_free(tv_turns *turns)
{
    if (turns == NULL)
        return;

    pthread_mutex_lock(&turns->lock);
    turns->is_finishing = turns->is_stopping = true;
    pthread_cond_broadcast(&turns->changed);
    pthread_mutex_unlock(&turns->lock);
    for (int i = 0; i < turns->thread_count; i++)
        pthread_join(turns->threads[i], NULL);
    tv_assert(turns->first == NULL);
    pthread_cond_destroy(&turns->changed);
    pthread_mutex_destroy(&turns->lock);
    free(turns);
}

bool tv_turns_submit(tv_turns *turns, tv_task *task)
{
    pthread_mutex_lock(&turns->lock);
    tv_assert(!turns->is_stopping);

    account *a = find_account(turns, task->account);
    size_t count = a ? account_count(a) : 0;
    bool has_room = count < turns->tasks_max - turns->task_count;

    if (has_room) {
        if (a == NULL)
            a = add_account(turns, task->account);
        tv_mail_chain_add(&a->fresh, &task->mail);
        turns->task_count++;
    } else {
        turns->counts.refused++;
    }
    pthread_mutex_unlock(&turns->lock);
    if (has_room)
        pthread_cond_signal(&turns->changed);
    return has_room;
}

tv_turns_counts tv_turns_read_counts(tv_turns *turns)
{
    pthread_mutex_lock(&turns->lock);
    tv_turns_counts counts = turns->counts;
    counts.waiting = turns->task_count - counts.running;
    pthread_mutex_unlock(&turns->lock);
    return counts;
}
