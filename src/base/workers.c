/* The worker pool: one queue, one lock, one condition. */
#include "base/workers.h"

#include <pthread.h>

#include "base/assert.h"

struct tv_workers {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    tv_mail_chain queue;
    size_t queue_max;
    bool stopping;
    int thread_count;
    pthread_t threads[];
};

static void *work(void *arg)
{
    tv_workers *workers = arg;

    for (;;) {
        pthread_mutex_lock(&workers->lock);
        while (workers->queue.first == NULL && !workers->stopping)
            pthread_cond_wait(&workers->filled, &workers->lock);
        tv_job *job = (tv_job *)tv_mail_chain_take(&workers->queue);
        pthread_mutex_unlock(&workers->lock);
        if (job == NULL)
            return NULL;

        tv_mailbox *reply_to = job->reply_to;
        tv_mail_chain reply = {0};

        job->run(job);
        tv_mail_chain_add(&reply, &job->mail);
        tv_mailbox_post(reply_to, &reply);
    }
}

tv_workers *tv_workers_new(int thread_count, size_t queue_max)
{
    tv_assert(thread_count > 0);

    size_t threads_size = (size_t)thread_count * sizeof(pthread_t);
    tv_workers *workers = tv_calloc(1, sizeof *workers + threads_size);

    tv_assert(pthread_mutex_init(&workers->lock, NULL) == 0);
    tv_assert(pthread_cond_init(&workers->filled, NULL) == 0);
    workers->queue_max = queue_max;
    workers->thread_count = thread_count;
    for (int i = 0; i < thread_count; i++)
        tv_assert(pthread_create(&workers->threads[i], NULL, work, workers) == 0);
    return workers;
}

void tv_workers_free(tv_workers *workers)
{
    if (workers == NULL)
        return;

    pthread_mutex_lock(&workers->lock);
    workers->stopping = true;
    pthread_cond_broadcast(&workers->filled);
    pthread_mutex_unlock(&workers->lock);
    for (int i = 0; i < workers->thread_count; i++)
        pthread_join(workers->threads[i], NULL);
    pthread_cond_destroy(&workers->filled);
    pthread_mutex_destroy(&workers->lock);
    free(workers);
}

bool tv_workers_submit(tv_workers *workers, tv_job *job)
{
    pthread_mutex_lock(&workers->lock);
    tv_assert(!workers->stopping);
    bool has_room = workers->queue.count < workers->queue_max;
    if (has_room)
        tv_mail_chain_add(&workers->queue, &job->mail);
    pthread_mutex_unlock(&workers->lock);
    if (has_room)
        pthread_cond_signal(&workers->filled);
    return has_room;
}
