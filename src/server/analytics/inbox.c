/* The mailbox, and who has how much in it. */
#include "server/analytics/inbox.h"

#include "base/assert.h"

enum { HURRY_BYTES = TV_ANALYTICS_INBOX_BYTES_MAX / 4 };

struct tv_analytics_share {
    tv_analytics_share *next;
    _Atomic size_t waiting_bytes;
    size_t account_len;
    char account[];
};

static void wake(void *ctx)
{
    (void)ctx; /* the owner looks by itself */
}

void tv_analytics_inbox_init(tv_analytics_inbox *inbox, void (*hurry)(void *ctx), void *ctx)
{
    *inbox = (tv_analytics_inbox){.hurry = hurry, .ctx = ctx};
    tv_mailbox_init(&inbox->box, wake, NULL);
    tv_assert(pthread_mutex_init(&inbox->lock, NULL) == 0);
}

void tv_analytics_inbox_done(tv_analytics_inbox *inbox)
{
    tv_mailbox_done(&inbox->box);
    while (inbox->shares) {
        tv_analytics_share *next = inbox->shares->next;

        tv_assert(atomic_load(&inbox->shares->waiting_bytes) == 0);
        free(inbox->shares);
        inbox->shares = next;
    }
    pthread_mutex_destroy(&inbox->lock);
}

/* Made when there is none; only accounts that exist and have analytics on come here. */
static tv_analytics_share *share_of(tv_analytics_inbox *inbox, tv_slice account)
{
    pthread_mutex_lock(&inbox->lock);

    tv_analytics_share *share = inbox->shares;

    while (share && !tv_slice_eq((tv_slice){share->account, share->account_len}, account))
        share = share->next;
    if (share == NULL) {
        share = tv_calloc(1, sizeof *share + account.len);
        share->account_len = account.len;
        tv_slice_put(share->account, account);
        share->next = inbox->shares;
        inbox->shares = share;
    }
    pthread_mutex_unlock(&inbox->lock);
    return share;
}

static void give_back(tv_analytics_inbox *inbox, tv_analytics_share *share, size_t bytes)
{
    atomic_fetch_sub(&share->waiting_bytes, bytes);
    atomic_fetch_sub(&inbox->waiting_bytes, bytes);
}

bool tv_analytics_inbox_post(tv_analytics_inbox *inbox, tv_analytics_record *record)
{
    tv_analytics_share *share = share_of(inbox, record->account);
    size_t bytes = record->bytes;
    size_t own = atomic_fetch_add(&share->waiting_bytes, bytes) + bytes;
    size_t all = atomic_fetch_add(&inbox->waiting_bytes, bytes) + bytes;
    tv_mail_chain chain = {0};

    if (all > TV_ANALYTICS_INBOX_BYTES_MAX || own / 2 > TV_ANALYTICS_INBOX_BYTES_MAX - all) {
        give_back(inbox, share, bytes);
        free(record);
        return false;
    }
    record->share = share;
    tv_mail_chain_add(&chain, &record->mail);
    tv_mailbox_post(&inbox->box, &chain); /* the owner may have freed it by now */
    if (all - bytes <= HURRY_BYTES && all > HURRY_BYTES)
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

        give_back(inbox, record->share, record->bytes);
        take(ctx, record);
        free(record);
    }
}
