/* Answers on their way, sorted by mailbox so that each is woken once. */
#ifndef TV_STORE_COMMIT_REPLY_H
#define TV_STORE_COMMIT_REPLY_H

#include "store/commit/pipeline.h"

/** All zeros is empty; free(list) when it is not needed any more. */
typedef struct tv_replies {
    struct {
        tv_mailbox *box;
        tv_mail_chain chain;
    } * list;
    size_t count, size;
} tv_replies;

void tv_replies_add(tv_replies *replies, tv_write *write);

/** Post everything.  From here on the writes are their submitters' again and may be gone. */
void tv_replies_post(tv_replies *replies);

#endif
