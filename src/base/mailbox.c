/* Mailboxes and chains of messages. */
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
}

void tv_mailbox_done(tv_mailbox *box)
{
    tv_assert(atomic_load(&box->newest) == NULL);
}

void tv_mailbox_post(tv_mailbox *box, tv_mail_chain *chain)
{
    tv_mail *oldest = chain->first, *newest = NULL, *mail;

    if (oldest == NULL)
        return;

    while ((mail = tv_mail_chain_take(chain))) {
        mail->next = newest;
        newest = mail;
    }
    tv_mail *before = atomic_load_explicit(&box->newest, memory_order_relaxed);

    do {
        oldest->next = before;
    } while (!atomic_compare_exchange_weak(&box->newest, &before, newest));

    if (before == NULL)
        box->wake(box->ctx);
}

tv_mail_chain tv_mailbox_take(tv_mailbox *box)
{
    tv_mail *newest = atomic_exchange(&box->newest, NULL);
    tv_mail_chain chain = {.last = newest};

    while (newest) {
        tv_mail *before = newest->next;

        newest->next = chain.first;
        chain.first = newest;
        chain.count++;
        newest = before;
    }
    return chain;
}

void tv_mailbox_deliver(tv_mailbox *box)
{
    tv_mail_chain chain = tv_mailbox_take(box);
    tv_mail *mail;

    while ((mail = tv_mail_chain_take(&chain)))
        mail->deliver(mail);
}
