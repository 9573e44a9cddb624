/* Mailboxes. */
#include "base/mailbox.h"

#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

static void count_wake(void *ctx)
{
    atomic_fetch_add((atomic_int *)ctx, 1);
}

TEST(a_chain_gives_messages_back_in_order)
{
    tv_mail messages[3];
    tv_mail_chain chain = {0};

    CHECK(tv_mail_chain_take(&chain) == NULL);
    for (int i = 0; i < 3; i++)
        tv_mail_chain_add(&chain, &messages[i]);
    CHECK_INT(chain.count, 3);
    for (int i = 0; i < 3; i++)
        CHECK(tv_mail_chain_take(&chain) == &messages[i]);
    CHECK(tv_mail_chain_take(&chain) == NULL);
    CHECK_INT(chain.count, 0);

    /* An emptied chain can be used again. */
    tv_mail_chain_add(&chain, &messages[1]);
    CHECK(chain.first == &messages[1] && chain.last == &messages[1]);
}

TEST(only_a_post_into_an_empty_box_wakes)
{
    atomic_int wakes = 0;
    tv_mail messages[3];
    tv_mail_chain chain = {0};
    tv_mailbox box;

    tv_mailbox_init(&box, count_wake, &wakes);
    tv_mailbox_post(&box, &chain);
    CHECK_INT(wakes, 0);

    tv_mail_chain_add(&chain, &messages[0]);
    tv_mailbox_post(&box, &chain);
    CHECK_INT(wakes, 1);
    CHECK(chain.first == NULL && chain.count == 0);

    tv_mail_chain_add(&chain, &messages[1]);
    tv_mail_chain_add(&chain, &messages[2]);
    tv_mailbox_post(&box, &chain);
    CHECK_INT(wakes, 1);

    tv_mail_chain taken = tv_mailbox_take(&box);
    CHECK_INT(taken.count, 3);
    for (int i = 0; i < 3; i++)
        CHECK(tv_mail_chain_take(&taken) == &messages[i]);
    CHECK_INT(tv_mailbox_take(&box).count, 0);

    tv_mail_chain_add(&chain, &messages[0]);
    tv_mailbox_post(&box, &chain);
    CHECK_INT(wakes, 2);
    tv_mailbox_take(&box);
    tv_mailbox_done(&box);
}

static tv_mailbox *repost_box;
static int delivered;

static void count_and_repost(tv_mail *mail)
{
    tv_mail_chain chain = {0};

    if (++delivered == 1) {
        tv_mail_chain_add(&chain, mail);
        tv_mailbox_post(repost_box, &chain);
    }
}

TEST(a_message_posted_during_delivery_waits_for_the_next)
{
    atomic_int wakes = 0;
    tv_mail message = {.deliver = count_and_repost};
    tv_mail_chain chain = {0};
    tv_mailbox box;

    tv_mailbox_init(&box, count_wake, &wakes);
    repost_box = &box;
    delivered = 0;
    tv_mail_chain_add(&chain, &message);
    tv_mailbox_post(&box, &chain);
    tv_mailbox_deliver(&box);
    CHECK_INT(delivered, 1);
    CHECK_INT(wakes, 2);
    tv_mailbox_deliver(&box);
    CHECK_INT(delivered, 2);
    tv_mailbox_deliver(&box);
    CHECK_INT(delivered, 2);
    tv_mailbox_done(&box);
}

enum { POSTERS = 4, MESSAGES = 5000, CHAIN = 5 };

typedef struct numbered {
    tv_mail mail;
    int poster, number;
} numbered;

typedef struct poster {
    tv_mailbox *box;
    int index;
    numbered messages[MESSAGES];
} poster;

static poster posters[POSTERS];

static void *post_letters(void *arg)
{
    poster *self = arg;
    tv_mail_chain chain = {0};

    for (int i = 0; i < MESSAGES; i++) {
        self->messages[i].poster = self->index;
        self->messages[i].number = i;
        tv_mail_chain_add(&chain, &self->messages[i].mail);
        if (chain.count == CHAIN)
            tv_mailbox_post(self->box, &chain);
    }
    return NULL;
}

/* A wake-up that waits in the box's owner, as a loop or a condition would. */
typedef struct bell {
    pthread_mutex_t lock;
    pthread_cond_t rung;
    bool ringing;
} bell;

static void ring(void *ctx)
{
    bell *b = ctx;

    pthread_mutex_lock(&b->lock);
    b->ringing = true;
    pthread_cond_signal(&b->rung);
    pthread_mutex_unlock(&b->lock);
}

static void wait_for(bell *b)
{
    pthread_mutex_lock(&b->lock);
    while (!b->ringing)
        pthread_cond_wait(&b->rung, &b->lock);
    b->ringing = false;
    pthread_mutex_unlock(&b->lock);
}

TEST(no_message_of_several_threads_is_lost_or_overtaken)
{
    bell b = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    pthread_t threads[POSTERS];
    int next[POSTERS] = {0};
    tv_mailbox box;
    tv_mail *mail;

    tv_mailbox_init(&box, ring, &b);
    for (int i = 0; i < POSTERS; i++) {
        posters[i].box = &box;
        posters[i].index = i;
        assert_int_equal(pthread_create(&threads[i], NULL, post_letters, &posters[i]), 0);
    }
    for (int received = 0; received < POSTERS * MESSAGES;) {
        wait_for(&b);
        tv_mail_chain chain = tv_mailbox_take(&box);
        while ((mail = tv_mail_chain_take(&chain))) {
            numbered *message = (numbered *)mail;

            CHECK_INT(message->number, next[message->poster]);
            next[message->poster]++;
            received++;
        }
    }
    for (int i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    tv_mailbox_done(&box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_gives_messages_back_in_order),
        cmocka_unit_test(only_a_post_into_an_empty_box_wakes),
        cmocka_unit_test(a_message_posted_during_delivery_waits_for_the_next),
        cmocka_unit_test(no_message_of_several_threads_is_lost_or_overtaken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
