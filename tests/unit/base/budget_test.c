/* The budget: shares, what is kept for others, and that all of it comes back. */
#include "base/budget.h"

#include <pthread.h>

#include "base/arena.h"
#include "base/buf.h"
#include "check.h"

static const size_t MB = 1024 * 1024;

/* Reserve megabytes, each with a charge of its own as requests have, until one is refused. */
enum { CHARGES_MAX = 1000 };
typedef struct hog {
    tv_charge charges[CHARGES_MAX];
    size_t count;
} hog;

static size_t fill(hog *h, tv_share *share)
{
    size_t before = h->count;

    while (h->count < CHARGES_MAX) {
        tv_charge_init(&h->charges[h->count], share);
        if (tv_charge_reserve(&h->charges[h->count], MB) != TV_OK)
            break;
        h->count++;
    }
    return h->count - before;
}

static void let_go(hog *h)
{
    while (h->count)
        tv_charge_done(&h->charges[--h->count]);
}

TEST(one_share_gets_two_thirds_of_what_is_common)
{
    static hog alone;
    tv_budget *budget = tv_budget_new(240 * MB); /* 210 are common */

    CHECK_INT(fill(&alone, tv_budget_share(budget, TV_LIT("a"))), 140);
    CHECK_INT(tv_budget_read(budget).held, 140 * MB);
    CHECK_INT(tv_budget_read(budget).refused, 1);
    let_go(&alone);
    CHECK_INT(tv_budget_read(budget).held, 0);
    tv_budget_free(budget);
}

TEST(shares_that_take_all_they_can_leave_something_for_the_next)
{
    static hog hogs[10];
    tv_budget *budget = tv_budget_new(240 * MB);
    size_t taken = 0;

    for (int i = 0; i < 10; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        size_t got = fill(&hogs[i], tv_budget_share(budget, tv_slice_of(name)));

        CHECK(got > 0);
        taken += got;
    }
    CHECK(taken < 240);

    /* When the first lets go, the second can grow again. */
    let_go(&hogs[0]);
    CHECK(fill(&hogs[1], tv_budget_share(budget, TV_LIT("b"))) > 0);
    for (int i = 0; i < 10; i++)
        let_go(&hogs[i]);
    tv_budget_free(budget);
}

TEST(a_share_that_holds_little_is_served_from_the_last_eighth)
{
    tv_budget *budget = tv_budget_new(80 * MB);
    tv_charge large = {0}, small = {0};

    /* Somebody went beyond its share with what is not asked for. */
    tv_charge_init(&large, tv_budget_share(budget, TV_LIT("large")));
    tv_charge_use(&large, 75 * MB);

    tv_charge_init(&small, tv_budget_share(budget, TV_LIT("small")));
    CHECK_OK(tv_charge_reserve(&small, 1 * MB));
    CHECK_ERR(tv_charge_reserve(&small, 2 * MB), TV_ERR_OVERLOADED);
    CHECK_INT(small.held, 1 * MB);

    tv_charge more = {0};
    tv_charge_init(&more, tv_budget_share(budget, TV_LIT("large")));
    CHECK_ERR(tv_charge_reserve(&more, 1), TV_ERR_OVERLOADED);

    tv_charge_done(&small);
    tv_charge_done(&large);
    tv_budget_free(budget);
}

TEST(small_requests_of_a_share_that_is_used_up_go_on_for_a_while)
{
    static hog alone;
    tv_budget *budget = tv_budget_new(240 * MB);
    tv_share *share = tv_budget_share(budget, TV_LIT("a"));
    tv_charge small;

    CHECK_INT(fill(&alone, share), 140);
    tv_charge_init(&small, share);
    CHECK_OK(tv_charge_reserve(&small, 200 * 1000));
    CHECK_ERR(tv_charge_reserve(&small, 300 * 1000), TV_ERR_OVERLOADED);
    tv_charge_done(&small);
    let_go(&alone);
    tv_budget_free(budget);
}

TEST(one_charge_gets_three_eighths)
{
    tv_budget *budget = tv_budget_new(80 * MB);
    tv_charge charge;

    tv_charge_init(&charge, tv_budget_share(budget, TV_LIT("a")));
    CHECK_ERR(tv_charge_reserve(&charge, 30 * MB + 1), TV_ERR_OVERLOADED);
    CHECK_OK(tv_charge_reserve(&charge, 30 * MB));
    tv_charge_use(&charge, 30 * MB);
    CHECK_ERR(tv_charge_reserve(&charge, 1), TV_ERR_OVERLOADED);
    CHECK_ERR(tv_charge_reserve(&charge, SIZE_MAX), TV_ERR_OVERLOADED);
    tv_charge_done(&charge);
    tv_budget_free(budget);
}

TEST(strangers_have_a_sixteenth_even_if_all_is_free)
{
    static hog strangers;
    tv_budget *budget = tv_budget_new(160 * MB);
    tv_charge known;

    CHECK_INT(fill(&strangers, tv_budget_strangers(budget)), 10);
    tv_charge_init(&known, tv_budget_share(budget, TV_LIT("a")));
    CHECK_OK(tv_charge_reserve(&known, 8 * MB));
    tv_charge_done(&known);

    /* A client that has authenticated makes room for the next stranger. */
    tv_charge_move(&strangers.charges[0], tv_budget_share(budget, TV_LIT("a")));
    CHECK_INT(fill(&strangers, tv_budget_strangers(budget)), 1);
    CHECK_INT(tv_budget_read(budget).held, 11 * MB);
    let_go(&strangers);
    tv_budget_free(budget);
}

TEST(what_is_used_comes_out_of_what_was_reserved)
{
    tv_budget *budget = tv_budget_new(80 * MB);
    tv_charge charge;

    tv_charge_init(&charge, tv_budget_share(budget, TV_LIT("a")));
    CHECK_OK(tv_charge_reserve(&charge, 1000));
    tv_charge_use(&charge, 600);
    CHECK_INT(tv_budget_read(budget).held, 1000);
    tv_charge_use(&charge, 600);
    CHECK_INT(tv_budget_read(budget).held, 1200);
    CHECK_OK(tv_charge_reserve(&charge, 300));
    CHECK_INT(tv_budget_read(budget).held, 1500);
    tv_charge_unuse(&charge, 700);
    CHECK_INT(tv_budget_read(budget).held, 800);
    tv_charge_trim(&charge);
    CHECK_INT(tv_budget_read(budget).held, 500);
    tv_charge_done(&charge);
    tv_charge_done(&charge);
    CHECK_INT(tv_budget_read(budget).held, 0);
    tv_budget_free(budget);
}

TEST(a_charge_without_a_share_counts_and_refuses_nothing)
{
    tv_charge charge = {0};

    CHECK_OK(tv_charge_reserve(&charge, SIZE_MAX));
    tv_charge_use(&charge, 5);
    tv_charge_unuse(&charge, 5);
    tv_charge_trim(&charge);
    tv_charge_done(&charge);
}

TEST(a_name_has_one_share)
{
    tv_budget *budget = tv_budget_new(80 * MB);

    CHECK(tv_budget_share(budget, TV_LIT("a")) == tv_budget_share(budget, TV_LIT("a")));
    CHECK(tv_budget_share(budget, TV_LIT("a")) != tv_budget_share(budget, TV_LIT("")));
    tv_budget_free(budget);
}

/* --- those who count by themselves --- */

TEST(an_arena_counts_what_it_takes_and_gives_it_back)
{
    tv_budget *budget = tv_budget_new(80 * MB);
    tv_charge charge;
    tv_arena arena;

    tv_charge_init(&charge, tv_budget_share(budget, TV_LIT("a")));
    tv_arena_init(&arena);
    tv_arena_alloc(&arena, 10); /* as a request's arena comes: with a chunk that is not charged */
    arena.charge = &charge;
    tv_arena_alloc(&arena, 10);
    CHECK_INT(tv_budget_read(budget).held, 0);

    for (int i = 0; i < 100; i++)
        tv_arena_alloc(&arena, 1000);
    CHECK(tv_budget_read(budget).held >= 92 * 1000);
    CHECK(tv_budget_read(budget).held <= 120 * 1000);

    tv_arena_reset(&arena);
    CHECK_INT(tv_budget_read(budget).held, 0);
    tv_arena_alloc(&arena, 50 * 1000);
    CHECK(tv_budget_read(budget).held >= 50 * 1000);
    tv_arena_done(&arena);
    CHECK_INT(tv_budget_read(budget).held, 0);
    tv_budget_free(budget);
}

TEST(an_arena_reserves_or_is_refused)
{
    tv_budget *budget = tv_budget_new(80 * MB);
    tv_charge charge;
    tv_arena arena;

    tv_charge_init(&charge, tv_budget_share(budget, TV_LIT("a")));
    tv_arena_init(&arena);
    arena.charge = &charge;
    CHECK_ERR(tv_arena_reserve(&arena, 31 * MB), TV_ERR_OVERLOADED);
    CHECK_INT(charge.held, 0);
    CHECK_OK(tv_arena_reserve(&arena, 10 * MB));

    size_t held = charge.held;

    for (int i = 0; i < 10; i++)
        tv_arena_bytes(&arena, MB);
    CHECK_INT(charge.held, held);
    tv_arena_bytes(&arena, 1);
    CHECK(charge.held > held);
    tv_arena_done(&arena);
    CHECK_INT(charge.held, 0);
    tv_budget_free(budget);
}

TEST(a_buffer_counts_what_it_takes_and_gives_it_back)
{
    tv_budget *budget = tv_budget_new(80 * MB);
    tv_buf buf = TV_BUF_EMPTY;
    tv_charge charge;

    tv_charge_init(&charge, tv_budget_share(budget, TV_LIT("a")));
    tv_buf_add_lit(&buf, "kept from an earlier request");
    buf.charge = &charge;
    CHECK_OK(tv_buf_try_reserve(&buf, 1000000));
    CHECK_INT(charge.held, 1000000 + 28 - 256);
    CHECK_ERR(tv_buf_try_reserve(&buf, 31 * MB), TV_ERR_OVERLOADED);
    memset(tv_buf_reserve(&buf, 1500000), 'x', 1500000);
    buf.len += 1500000;
    CHECK_INT(charge.held, buf.size - 256);

    tv_buf_trim(&buf);
    CHECK_INT(buf.size, 1500028);
    CHECK_INT(charge.held, 1500028 - 256);
    tv_buf_reset(&buf);
    CHECK_INT(buf.len, 0);
    CHECK_INT(charge.held, 0);
    tv_buf_done(&buf);
    CHECK(buf.charge == &charge);
    CHECK_INT(tv_budget_read(budget).held, 0);
    tv_budget_free(budget);
}

/* A size that no machine has: malloc fails, and the process goes on. */
TEST(memory_that_is_not_there_is_refused)
{
    tv_arena arena;
    tv_buf buf = TV_BUF_EMPTY;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizers end the process by themselves */
#endif
    tv_arena_init(&arena);
    CHECK_ERR(tv_arena_reserve(&arena, SIZE_MAX / 8), TV_ERR_OVERLOADED);
    CHECK_ERR(tv_buf_try_reserve(&buf, SIZE_MAX / 8), TV_ERR_OVERLOADED);
    tv_buf_add_lit(&buf, "x");
    CHECK_INT(buf.len, 1);
    tv_buf_done(&buf);
    tv_arena_done(&arena);
}

/* --- threads --- */

enum { THREADS = 8, ROUNDS = 20000 };

static tv_budget *shared;
static _Atomic size_t most;

static void *run(void *arg)
{
    tv_share *share = tv_budget_share(shared, tv_slice_of(arg));
    tv_charge charge;

    tv_charge_init(&charge, share);
    for (int i = 0; i < ROUNDS; i++) {
        if (tv_charge_reserve(&charge, (size_t)(i % 7 + 1) * MB) == TV_OK) {
            size_t held = tv_budget_read(shared).held;

            if (held > most)
                most = held;
            tv_charge_use(&charge, MB);
        }
        if (i % 3 == 0)
            tv_charge_done(&charge);
    }
    tv_charge_done(&charge);
    return NULL;
}

TEST(threads_never_hold_more_together_than_there_is)
{
    pthread_t threads[THREADS];
    char names[][2] = {"a", "b", "c"};

    shared = tv_budget_new(32 * MB);
    for (int i = 0; i < THREADS; i++)
        tv_assert(pthread_create(&threads[i], NULL, run, names[i % 3]) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    /* What was read may include a reservation that another thread takes back at once. */
    CHECK(most <= 32 * MB + THREADS * 7 * MB);
    CHECK_INT(tv_budget_read(shared).held, 0);
    tv_budget_free(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_share_gets_two_thirds_of_what_is_common),
        cmocka_unit_test(shares_that_take_all_they_can_leave_something_for_the_next),
        cmocka_unit_test(a_share_that_holds_little_is_served_from_the_last_eighth),
        cmocka_unit_test(small_requests_of_a_share_that_is_used_up_go_on_for_a_while),
        cmocka_unit_test(one_charge_gets_three_eighths),
        cmocka_unit_test(strangers_have_a_sixteenth_even_if_all_is_free),
        cmocka_unit_test(what_is_used_comes_out_of_what_was_reserved),
        cmocka_unit_test(a_charge_without_a_share_counts_and_refuses_nothing),
        cmocka_unit_test(a_name_has_one_share),
        cmocka_unit_test(an_arena_counts_what_it_takes_and_gives_it_back),
        cmocka_unit_test(an_arena_reserves_or_is_refused),
        cmocka_unit_test(a_buffer_counts_what_it_takes_and_gives_it_back),
        cmocka_unit_test(memory_that_is_not_there_is_refused),
        cmocka_unit_test(threads_never_hold_more_together_than_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
