/* Transactions over the memory engine, shared and not. */
#include "base/clock.h"
#include "check.h"
#include "store/engine/instant.h"
#include "store/engine/memory/memory.h"
#include "store/engine/txn.h"
#include "test_engine.h"

static tv_engine *engine;
static tv_txn *txn;

static int set_up(void **state)
{
    engine = test_engine_new(*state ? *state : NULL);
    txn = tv_txn_new(engine);
    tv_txn_begin(txn);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tv_txn_free(txn);
    tv_engine_close(engine);
    return 0;
}

/* A small script as an update function: "+k=v" puts, "-k" deletes, "?k=v" demands, "!" fails. */
static tv_err run_script(tv_txn *in, void *ctx)
{
    tv_slice rest = tv_slice_of(ctx), step;

    while (tv_slice_next(&rest, ' ', &step)) {
        size_t equals = tv_slice_find(step, '=');
        tv_slice key = tv_slice_skip(tv_slice_take(step, equals), 1);
        tv_slice value = equals < step.len ? tv_slice_skip(step, equals + 1) : TV_NONE, got;
        tv_err err;

        switch (step.data[0]) {
        case '+':
            tv_txn_put(in, key, value);
            break;
        case '-':
            tv_txn_delete(in, key);
            break;
        case '?':
            err = tv_txn_get(in, key, &got);
            if (err && err != TV_ERR_NOT_FOUND)
                return err;
            if (!tv_slice_eq(err ? TV_LIT("none") : got, value))
                return TV_ERR_ETAG_MISMATCH;
            break;
        default:
            return TV_ERR_INVALID_INPUT;
        }
    }
    return TV_OK;
}

static tv_err run(const char *script)
{
    return tv_txn_run(txn, TV_LIT("p"), run_script, (void *)(uintptr_t)script);
}

static tv_err update(const char *script)
{
    return tv_engine_update(engine, TV_LIT("p"), run_script, (void *)(uintptr_t)script);
}

TEST(a_function_sees_its_own_writes)
{
    CHECK_OK(run("?pa=none +pa=1 ?pa=1 +pa=2 ?pa=2 -pa ?pa=none +pa= ?pa="));
}

TEST(a_function_sees_the_writes_before_it_in_the_group)
{
    CHECK_OK(run("+pa=1"));
    CHECK_OK(run("?pa=1 +pa=2"));
    CHECK_OK(run("?pa=2 -pa"));
    CHECK_OK(run("?pa=none"));
}

TEST(nothing_is_written_before_the_commit)
{
    CHECK_OK(run("+pa=1"));
    CHECK_OK(update("?pa=none"));
    CHECK_OK(tv_txn_commit(txn));
    CHECK_OK(update("?pa=1"));
}

TEST(a_failed_function_is_undone_and_nothing_else)
{
    CHECK_OK(run("+pa=1 +pb=1"));
    CHECK_ERR(run("+pa=2 +pa=3 -pb +pc=2 !"), TV_ERR_INVALID_INPUT);
    CHECK_OK(run("?pa=1 ?pb=1 ?pc=none +pd=3"));
    CHECK_OK(tv_txn_commit(txn));
    CHECK_OK(update("?pa=1 ?pb=1 ?pc=none ?pd=3"));
}

TEST(an_undone_delete_brings_the_stored_row_back)
{
    CHECK_OK(update("+pa=1"));
    CHECK_ERR(run("-pa ?pa=none !"), TV_ERR_INVALID_INPUT);
    CHECK_OK(run("?pa=1"));
}

TEST(begin_forgets_the_group_before)
{
    CHECK_OK(run("+pa=1"));
    tv_txn_begin(txn);
    CHECK_OK(run("?pa=none"));
    CHECK_OK(tv_txn_commit(txn));
    CHECK_OK(update("?pa=none"));
}

TEST(a_group_without_writes_commits_without_the_engine)
{
    CHECK_OK(run("?pa=none"));
    tv_memory_fail_writes(engine, 1, 1, TV_ERR_IO);
    CHECK_OK(tv_txn_commit(txn));
}

TEST(many_rows_in_one_group)
{
    enum { ROWS = 5000 };
    char script[64];

    for (int i = 0; i < ROWS; i++) {
        snprintf(script, sizeof script, "+p%d=%d", i, i);
        CHECK_OK(run(script));
    }
    for (int i = 0; i < ROWS; i++) {
        snprintf(script, sizeof script, "?p%d=%d +p%d=x", i, i, i);
        CHECK_OK(run(script));
    }
    CHECK_OK(tv_txn_commit(txn));
    CHECK_OK(update("?p0=x ?p4999=x ?p5000=none"));
}

TEST(a_shared_engine_is_told_what_was_read)
{
    CHECK_OK(update("+pa=1"));
    tv_txn_begin(txn);
    CHECK_OK(run("?pa=1 +pb=2"));
    CHECK_OK(update("+pa=changed"));
    CHECK_ERR(tv_txn_commit(txn), TV_ERR_CONFLICT);
    CHECK_OK(update("?pb=none"));
}

TEST(a_shared_engine_is_told_what_was_absent)
{
    CHECK_OK(run("?pa=none +pa=1"));
    CHECK_OK(update("+pa=first"));
    CHECK_ERR(tv_txn_commit(txn), TV_ERR_CONFLICT);
    CHECK_OK(update("?pa=first"));
}

TEST(a_write_without_a_read_expects_nothing)
{
    CHECK_OK(run("+pa=1"));
    CHECK_OK(update("+pa=other"));
    CHECK_OK(tv_txn_commit(txn));
    CHECK_OK(update("?pa=1"));
}

TEST(what_a_failed_function_read_is_confirmed_too)
{
    CHECK_ERR(run("?pa=1"), TV_ERR_ETAG_MISMATCH);
    CHECK_OK(run("+pb=1"));
    CHECK_OK(update("+pa=1"));
    CHECK_ERR(tv_txn_commit(txn), TV_ERR_CONFLICT);
}

TEST(an_unshared_engine_gets_no_expectations)
{
    CHECK_OK(run("?pa=none +pb=1"));
    CHECK_OK(update("+pa=changed"));
    CHECK_OK(tv_txn_commit(txn));
}

TEST(an_update_runs_again_after_a_conflict)
{
    tv_memory_fail_writes(engine, 1, 1, TV_ERR_CONFLICT);
    CHECK_OK(update("?pa=none +pa=1"));
    CHECK_OK(update("?pa=1"));
}

TEST(an_engine_that_cannot_read_fails_the_function)
{
    tv_memory_fail_reads(engine, TV_ERR_CORRUPT);
    CHECK_ERR(run("+pb=1 ?pa=none"), TV_ERR_CORRUPT);
    tv_memory_fail_reads(engine, TV_OK);
    CHECK_OK(run("?pa=none ?pb=none"));
}

TEST(invariant_10_instants_only_grow)
{
    int64_t last = tv_txn_now(txn);

    for (int i = 0; i < 100; i++) {
        /* The clock stands still, goes on, and steps back by a day. */
        tv_clock_set_fake_ticks(i % 3 == 0   ? last
                                : i % 3 == 1 ? last + 5
                                             : last - 86400 * TV_TICKS_PER_SECOND);
        tv_txn_begin(txn);
        CHECK(tv_txn_now(txn) > last);
        last = tv_txn_now(txn);
    }
    tv_clock_set_fake_ticks(0);
}

TEST(stamps_grow_within_a_group_and_groups_after_them)
{
    tv_clock_set_fake_ticks(tv_txn_now(txn)); /* a clock that stands still */
    tv_txn_begin(txn);
    int64_t now = tv_txn_now(txn);

    for (int i = 0; i < 5; i++)
        CHECK_INT(tv_txn_stamp(txn), now + i);
    CHECK_INT(tv_txn_now(txn), now);
    tv_txn_begin(txn);
    CHECK_INT(tv_txn_now(txn), now + 5);
    CHECK_INT(tv_txn_stamp(txn), now + 5);
    tv_clock_set_fake_ticks(0);
}

TEST(the_clock_of_readers_is_never_behind_a_group)
{
    int64_t now = tv_txn_now(txn);

    tv_clock_set_fake_ticks(now - 86400 * TV_TICKS_PER_SECOND);
    tv_txn_begin(txn);
    CHECK_INT(tv_instant_now(), tv_txn_now(txn));
    now = tv_txn_now(txn);
    tv_clock_set_fake_ticks(now + 5);
    CHECK_INT(tv_instant_now(), now + 5);
    tv_clock_set_fake_ticks(0);
}

TEST(bytes_count_what_was_put_and_read)
{
    CHECK_OK(update("+pc=12345"));
    CHECK_INT(tv_txn_bytes(txn), 0);
    CHECK_OK(run("+pa=123 -pb"));
    CHECK_INT(tv_txn_bytes(txn), 7);
    CHECK_OK(run("?pc=12345 ?pc=12345 ?pd=none"));
    CHECK_INT(tv_txn_bytes(txn), 12); /* the second look costs nothing */
    tv_txn_begin(txn);
    CHECK_INT(tv_txn_bytes(txn), 0);
}

static tv_memory_options shared = {.is_shared = true};

/*
 * What the index was hashed with once, eight bytes at a time and without a key.
 * An attacker who knows the state before a word chooses the word so that any state
 * follows it: keys that all meet in one slot.
 */
static void colliding_key(uint64_t seed, char ret_key[24])
{
    const uint64_t factor = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t state = UINT64_C(0xcbf29ce484222325) ^ 24, words[3] = {0};

    memset(&words[0], 'p', sizeof words[0]);
    words[1] = seed * factor;
    for (int i = 0; i < 2; i++) {
        state = (state ^ words[i]) * factor;
        state ^= state >> 32;
    }
    words[2] = state ^ UINT64_C(0x0123456789abcdef);
    memcpy(ret_key, words, sizeof words);
}

static tv_err put_colliding(tv_txn *in, void *ctx)
{
    uint64_t seed = 1;

    for (int left = *(int *)ctx; left > 0; seed++) {
        char key[24];

        colliding_key(seed, key);
        if (memchr(key, 0, sizeof key)) /* no engine takes a NUL */
            continue;
        tv_txn_put(in, (tv_slice){key, sizeof key}, TV_LIT("v"));
        left--;
    }
    return TV_OK;
}

TEST(keys_that_a_client_has_made_to_collide_do_not_meet_in_the_index)
{
    int count = 10 * 1000;

    CHECK_OK(tv_txn_run(txn, TV_LIT("p"), put_colliding, &count));
    CHECK(tv_txn_probes(txn) < 4 * (size_t)count);
}

#define ALONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define SHARED(name) cmocka_unit_test_prestate_setup_teardown(name, set_up, tear_down, &shared)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(a_function_sees_its_own_writes),
        ALONE(a_function_sees_the_writes_before_it_in_the_group),
        ALONE(nothing_is_written_before_the_commit),
        ALONE(a_failed_function_is_undone_and_nothing_else),
        ALONE(an_undone_delete_brings_the_stored_row_back),
        ALONE(begin_forgets_the_group_before),
        ALONE(a_group_without_writes_commits_without_the_engine),
        ALONE(many_rows_in_one_group),
        SHARED(a_shared_engine_is_told_what_was_read),
        SHARED(a_shared_engine_is_told_what_was_absent),
        SHARED(a_write_without_a_read_expects_nothing),
        SHARED(what_a_failed_function_read_is_confirmed_too),
        ALONE(an_unshared_engine_gets_no_expectations),
        ALONE(an_update_runs_again_after_a_conflict),
        ALONE(an_engine_that_cannot_read_fails_the_function),
        ALONE(invariant_10_instants_only_grow),
        ALONE(stamps_grow_within_a_group_and_groups_after_them),
        ALONE(the_clock_of_readers_is_never_behind_a_group),
        ALONE(bytes_count_what_was_put_and_read),
        ALONE(keys_that_a_client_has_made_to_collide_do_not_meet_in_the_index),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
