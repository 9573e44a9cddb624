/*
 * How threads hand work to each other: a mailbox is a list owned by the thread
 * that takes messages out.  Messages are embedded in what they carry (a write, a
 * job), so posting never allocates; whole chains are posted with one exchange and
 * one wake-up.
 *
 * There is no lock: a thread of low priority that lost its core while holding
 * one would make the thread that answers clients wait.
 */
#ifndef TV_BASE_MAILBOX_H
#define TV_BASE_MAILBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct tv_mail {
    struct tv_mail *next;
    /** Called by the owner of the mailbox, on its thread, with the message. */
    void (*deliver)(struct tv_mail *mail);
} tv_mail;

/** A chain of messages in order; all zeros is the empty chain. */
typedef struct tv_mail_chain {
    tv_mail *first, *last;
    size_t count;
} tv_mail_chain;

/** Append one message.  No lock: a chain belongs to one thread. */
void tv_mail_chain_add(tv_mail_chain *chain, tv_mail *mail);

/** Take the first message off, NULL when the chain is empty. */
tv_mail *tv_mail_chain_take(tv_mail_chain *chain);

typedef struct tv_mailbox {
    _Atomic(tv_mail *) newest; /* linked from the newest message to the oldest */
    void (*wake)(void *ctx);   /* called by a thread that found the box empty */
    void *ctx;
} tv_mailbox;

void tv_mailbox_init(tv_mailbox *box, void (*wake)(void *ctx), void *ctx);
void tv_mailbox_done(tv_mailbox *box);

/** Post a chain, in order, and leave it empty: its messages are the owner's now.  Any thread. */
void tv_mailbox_post(tv_mailbox *box, tv_mail_chain *chain);

/** Take everything out.  Owner only. */
tv_mail_chain tv_mailbox_take(tv_mailbox *box);

/** Take everything out and call `deliver` on each message.  Owner only. */
void tv_mailbox_deliver(tv_mailbox *box);

#endif
