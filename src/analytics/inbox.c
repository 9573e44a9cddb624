/* The mailbox, and what waits in it. */
#include "analytics/inbox.h"

enum { HURRY_BYTES = TV_ANALYTICS_INBOX_BYTES_MAX / 4 };

static void wake(void *ctx)
{
    (void)ctx; /* the owner looks by itself */
}

void tv_analytics_inbox_init(tv_analytics_inbox *inbox, void (*hurry)(void *ctx), void *ctx)
{
    *inbox = (tv_analytics_inbox){.hurry = hurry, .ctx = ctx};
    tv_mailbox_init(&inbox->box, wake, NULL);
}

void tv_analytics_inbox_done(tv_analytics_inbox *inbox)
{
    tv_mailbox_done(&inbox->box);
}

bool tv_analytics_inbox_post(tv_analytics_inbox *inbox, tv_analytics_record *record)
{
    size_t bytes = record->bytes, before = atomic_fetch_add(&inbox->waiting_bytes, bytes);
    tv_mail_chain chain = {0};

    if (before + bytes > TV_ANALYTICS_INBOX_BYTES_MAX) {
        atomic_fetch_sub(&inbox->waiting_bytes, bytes);
        free(record);
        return false;
    }
    tv_mail_chain_add(&chain, &record->mail);
    tv_mailbox_post(&inbox->box, &chain); /* the owner may have freed it by now */
    if (before <= HURRY_BYTES && before + bytes > HURRY_BYTES)
        inbox->hurry(inbox->ctx);
    return true;
}

void tv_analytics_inbox_take(tv_analytics_inbox *inbox,
                             void (*take)(void *ctx, const tv_analytics_record *record), void *ctx)
{
    tv_mail_chain chain = tv_mailbox_take(&inbox->box);
    tv_mail *mail;

    while ((mail = tv_mail_chain_take(&chain))) {
        tv_analytics_record *record = (tv_analytics_record *)mail;

        atomic_fetch_sub(&inbox->waiting_bytes, record->bytes);
        take(ctx, record);
        free(record);
    }
}
