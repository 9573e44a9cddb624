/* One write, waited for. */
#include "store/commit/waiter.h"

#include "base/assert.h"

static void wake(void *ctx)
{
    tv_waiter *waiter = ctx;

    pthread_mutex_lock(&waiter->lock);
    waiter->is_replied = true;
    pthread_cond_signal(&waiter->replied);
    pthread_mutex_unlock(&waiter->lock);
}

static void take_reply(tv_mail *mail)
{
    (void)mail; /* the write's result is read by tv_waiter_run */
}

void tv_waiter_init(tv_waiter *waiter, tv_pipeline *pipeline)
{
    *waiter = (tv_waiter){.outbox = tv_outbox_new(pipeline)};
    tv_mailbox_init(&waiter->replies, wake, waiter);
    tv_assert(pthread_mutex_init(&waiter->lock, NULL) == 0);
    tv_assert(pthread_cond_init(&waiter->replied, NULL) == 0);
}

void tv_waiter_done(tv_waiter *waiter)
{
    tv_outbox_free(waiter->outbox);
    tv_mailbox_done(&waiter->replies);
    pthread_cond_destroy(&waiter->replied);
    pthread_mutex_destroy(&waiter->lock);
}

tv_err tv_waiter_run(tv_waiter *waiter, tv_write *write)
{
    write->mail.deliver = take_reply;
    write->reply_to = &waiter->replies;
    waiter->is_replied = false; /* nobody else looks at it: no reply is due */
    tv_outbox_add(waiter->outbox, write);
    tv_outbox_flush(waiter->outbox);

    pthread_mutex_lock(&waiter->lock);
    while (!waiter->is_replied)
        pthread_cond_wait(&waiter->replied, &waiter->lock);
    pthread_mutex_unlock(&waiter->lock);
    tv_mailbox_deliver(&waiter->replies);
    return write->result;
}
