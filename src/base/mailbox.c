/* Mailboxes and chains of letters. */
#include "base/mailbox.h"

#include "base/assert.h"

void tv_mail_chain_add(tv_mail_chain *chain, tv_mail *mail)
{
    mail->next = NULL;
    if (chain->last)
        chain->last->next = mail;
    else
        chain->first = mail;
    chain->last = mail;
    chain->count++;
}

tv_mail *tv_mail_chain_take(tv_mail_chain *chain)
{
    tv_mail *mail = chain->first;

    if (mail == NULL)
        return NULL;

    chain->first = mail->next;
    if (chain->first == NULL)
        chain->last = NULL;
    chain->count--;
    mail->next = NULL;
    return mail;
}

void tv_mailbox_init(tv_mailbox *box, void (*wake)(void *ctx), void *ctx)
{
    *box = (tv_mailbox){.wake = wake, .ctx = ctx};
    tv_assert(pthread_mutex_init(&box->lock, NULL) == 0);
}

void tv_mailbox_done(tv_mailbox *box)
{
    tv_assert(box->chain.first == NULL);
    pthread_mutex_destroy(&box->lock);
}

void tv_mailbox_post(tv_mailbox *box, tv_mail_chain *chain)
{
    if (chain->first == NULL)
        return;

    pthread_mutex_lock(&box->lock);
    bool was_empty = box->chain.first == NULL;
    if (was_empty) {
        box->chain = *chain;
    } else {
        box->chain.last->next = chain->first;
        box->chain.last = chain->last;
        box->chain.count += chain->count;
    }
    pthread_mutex_unlock(&box->lock);
    *chain = (tv_mail_chain){0};

    if (was_empty)
        box->wake(box->ctx);
}

tv_mail_chain tv_mailbox_take(tv_mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    tv_mail_chain chain = box->chain;
    box->chain = (tv_mail_chain){0};
    pthread_mutex_unlock(&box->lock);
    return chain;
}

void tv_mailbox_deliver(tv_mailbox *box)
{
    tv_mail_chain chain = tv_mailbox_take(box);
    tv_mail *mail;

    while ((mail = tv_mail_chain_take(&chain)))
        mail->deliver(mail);
}
