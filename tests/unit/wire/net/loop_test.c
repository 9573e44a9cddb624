/* The network thread: messages, the end of rounds, holds and the stop. */
#include "wire/net/loop.h"

#include <stdatomic.h>

#include "check.h"
#include "wait.h"

typedef struct message {
    tv_mail mail;
    tv_loop *loop;
    bool releases;
} message;

static atomic_int delivered, handed_on, rounds;

static void deliver(tv_mail *mail)
{
    message *l = (message *)mail;

    if (l->releases)
        tv_loop_release(l->loop);
    atomic_fetch_add(&delivered, 1);
}

/* At the end of a round all messages that it delivered are handed on. */
static void at_round_end(void *ctx)
{
    atomic_store(&handed_on, atomic_load(&delivered));
    atomic_fetch_add(&rounds, 1);
}

static void post(tv_loop *loop, message *l)
{
    tv_mail_chain chain = {0};

    l->mail.deliver = deliver;
    l->loop = loop;
    tv_mail_chain_add(&chain, &l->mail);
    tv_mailbox_post(tv_loop_mailbox(loop), &chain);
}

TEST(messages_are_delivered_and_the_round_ends_after_them)
{
    enum { COUNT = 100 };
    tv_loop *loop = tv_loop_new(3);
    message messages[COUNT] = {0};

    atomic_store(&delivered, 0);
    tv_loop_at_round_end(loop, at_round_end, NULL);
    tv_loop_start(loop);
    CHECK_INT(tv_loop_index(loop), 3);
    for (int i = 0; i < COUNT; i++)
        post(loop, &messages[i]);
    WAIT_UNTIL(atomic_load(&delivered) == COUNT);
    WAIT_UNTIL(atomic_load(&handed_on) == COUNT);
    tv_loop_stop(loop);
    tv_loop_join(loop);
    tv_loop_free(loop);
}

TEST(a_hold_keeps_a_stopping_loop_running_for_its_message)
{
    tv_loop *loop = tv_loop_new(0);
    message last = {.releases = true};

    atomic_store(&delivered, 0);
    atomic_store(&rounds, 0);
    tv_loop_at_round_end(loop, at_round_end, NULL);
    tv_loop_hold(loop);
    tv_loop_start(loop);
    tv_loop_stop(loop);
    WAIT_UNTIL(atomic_load(&rounds) >= 2); /* the second begins with the stop */
    post(loop, &last);
    tv_loop_join(loop);
    CHECK_INT(atomic_load(&delivered), 1);
    tv_loop_free(loop);
}

TEST(a_loop_that_never_ran_can_be_freed)
{
    tv_loop *loop = tv_loop_new(0);

    tv_loop_join(loop);
    tv_loop_free(loop);
    tv_loop_free(NULL);
}

/* One round in which `count` streams have no end of bytes: note who read how much. */
static void read_for_a_round(tv_loop *loop, tv_read_turn *turns, size_t *bytes, size_t count)
{
    const size_t room = tv_loop_scratch(loop).len;

    for (size_t i = 0; i < count; i++) {
        while (tv_loop_may_read(loop, &turns[i])) {
            tv_loop_has_read(loop, room);
            bytes[i] += room;
        }
    }
    uv_run(tv_loop_uv(loop), UV_RUN_NOWAIT);
}

TEST(streams_that_bring_much_share_a_round_and_take_turns)
{
    enum { STREAMS = 10, ROUNDS = 110, ROUND_BYTES = 256 * 1024 };
    tv_loop *loop = tv_loop_new(0);
    tv_read_turn turns[STREAMS] = {0};
    size_t bytes[STREAMS] = {0}, before = 0;

    for (int i = 0; i < ROUNDS; i++) {
        size_t sum = 0;

        read_for_a_round(loop, turns, bytes, STREAMS);
        for (size_t j = 0; j < STREAMS; j++)
            sum += bytes[j];
        CHECK(sum - before <= ROUND_BYTES);
        before = sum;
    }
    for (size_t j = 0; j < STREAMS; j++) {
        CHECK(bytes[j] >= bytes[0] - ROUND_BYTES);
        CHECK(bytes[j] <= bytes[0] + ROUND_BYTES);
    }
    CHECK(before >= (size_t)(ROUNDS - ROUNDS / STREAMS - 1) * ROUND_BYTES);
    tv_loop_free(loop);
}

TEST(a_stream_alone_has_every_turn)
{
    tv_loop *loop = tv_loop_new(0);
    tv_read_turn turn = {0};
    size_t bytes = 0;

    for (size_t i = 1; i <= 8; i++) {
        read_for_a_round(loop, &turn, &bytes, 1);
        CHECK_INT(bytes, i * 256 * 1024);
    }
    tv_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_delivered_and_the_round_ends_after_them),
        cmocka_unit_test(a_hold_keeps_a_stopping_loop_running_for_its_message),
        cmocka_unit_test(a_loop_that_never_ran_can_be_freed),
        cmocka_unit_test(streams_that_bring_much_share_a_round_and_take_turns),
        cmocka_unit_test(a_stream_alone_has_every_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
