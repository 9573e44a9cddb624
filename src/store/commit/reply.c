/* One chain of answers for each mailbox. */
#include "store/commit/reply.h"

#include "base/grow.h"

void tv_replies_add(tv_replies *replies, tv_write *write)
{
    size_t i = 0;

    /* As many boxes as network threads: a handful. */
    while (i < replies->count && replies->list[i].box != write->reply_to)
        i++;
    if (i == replies->count) {
        tv_grow(&replies->list, replies->count, &replies->size, 16);
        replies->list[i].box = write->reply_to;
        replies->list[i].chain = (tv_mail_chain){0};
        replies->count++;
    }
    tv_mail_chain_add(&replies->list[i].chain, &write->mail);
}

void tv_replies_post(tv_replies *replies)
{
    for (size_t i = 0; i < replies->count; i++)
        tv_mailbox_post(replies->list[i].box, &replies->list[i].chain);
    replies->count = 0;
}
