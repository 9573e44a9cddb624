/* Accounts, scopes and what requests ask of them. */
#include "model/targets/targets.h"

#include "check.h"

#define SECOND INT64_C(1000000000)
#define START (INT64_C(100) * SECOND)

static tv_targets *targets;
static tv_throttle throttle;

static int set_up(__attribute__((unused)) void **state)
{
    targets = tv_targets_new((tv_target_choices){.has_retry_after = true});
    throttle = (tv_throttle){0};
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_targets_free(targets);
    return 0;
}

static tv_target_account *account(const char *name, uint32_t partition, uint32_t all)
{
    return tv_targets_account(targets, tv_slice_of(name),
                              (tv_target_rates){.partition = partition, .account = all});
}

static bool ask(tv_target_account *of, tv_target_scope scope, uint64_t hash, uint64_t units,
                int64_t now)
{
    tv_target_ask one = {.scope = scope, .hash = hash, .units = units};

    return tv_target_admit(of, &one, 1, now, &throttle);
}

/* Units of one each, at once, until one is refused. */
static int burst(tv_target_account *of, tv_target_scope scope, uint64_t hash, int64_t now)
{
    int count = 0;

    while (count < 30000 && ask(of, scope, hash, 1, now))
        count++;
    return count;
}

static const struct {
    tv_target_scope scope;
    const char *name;
    int per_second;
} published[] = {
    {TV_TARGET_REQUESTS, "requests", 20000},
    {TV_TARGET_ACCOUNT, "account", 20000},
    {TV_TARGET_PARTITION, "partition", 2000},
    {TV_TARGET_QUEUE, "queue", 2000},
    {TV_TARGET_BLOB, "blob", 500},
};

TEST(the_published_targets)
{
    tv_target_account *a = account("alpha", 0, 0);

    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        tv_target_scope scope = published[i].scope;
        uint64_t hash = i + 1;

        t_row = published[i].name;
        CHECK_INT(burst(a, scope, hash, START), published[i].per_second + 1);
        CHECK_INT(throttle.scope, scope);
        CHECK_INT(throttle.target, published[i].per_second);
        CHECK_INT(throttle.rate, published[i].per_second + 2);
        CHECK(throttle.wait_ns > 0 && throttle.wait_ns < SECOND);
        CHECK_TEXT(tv_slice_of(tv_target_scope_name(scope)), published[i].name);
        CHECK_INT(burst(a, scope, hash, START + SECOND / 2), published[i].per_second / 2);
    }
    t_row = "bytes of a blob";
    CHECK(ask(a, TV_TARGET_BLOB_BYTES, 7, 60 << 20, START));
    CHECK(ask(a, TV_TARGET_BLOB_BYTES, 7, 1, START));
    CHECK(!ask(a, TV_TARGET_BLOB_BYTES, 7, 1, START));
}

TEST(accounts_and_partitions_are_apart)
{
    tv_target_account *a = account("alpha", 10, 100), *b = account("beta", 20, 200);

    CHECK_INT(burst(a, TV_TARGET_PARTITION, 1, START), 11);
    CHECK_INT(burst(a, TV_TARGET_PARTITION, 2, START), 11);
    CHECK_INT(burst(b, TV_TARGET_PARTITION, 3, START), 21);
    CHECK_INT(burst(a, TV_TARGET_ACCOUNT, 0, START), 101);
    CHECK_INT(burst(b, TV_TARGET_ACCOUNT, 0, START), 201);
    CHECK(tv_target_hash(a, TV_TARGET_QUEUE, TV_LIT("q"), TV_LIT("")) !=
          tv_target_hash(b, TV_TARGET_QUEUE, TV_LIT("q"), TV_LIT("")));
    CHECK(tv_target_hash(a, TV_TARGET_BLOB, TV_LIT("c"), TV_LIT("b")) !=
          tv_target_hash(a, TV_TARGET_BLOB_BYTES, TV_LIT("c"), TV_LIT("b")));
}

TEST(an_account_that_is_read_again_keeps_its_buckets_and_takes_the_new_rates)
{
    tv_target_account *a = account("alpha", 10, 100);

    CHECK_INT(burst(a, TV_TARGET_PARTITION, 1, START), 11);
    CHECK(account("alpha", 1000, 0) == a);
    CHECK(!ask(a, TV_TARGET_PARTITION, 1, 1, START));
    CHECK_INT(throttle.target, 1000);
    CHECK_INT(burst(a, TV_TARGET_ACCOUNT, 0, START), 20001);
}

TEST(a_refused_request_is_charged_nothing)
{
    tv_target_account *a = account("alpha", 10, 100);
    tv_target_ask both[] = {{.scope = TV_TARGET_ACCOUNT, .units = 5},
                            {.scope = TV_TARGET_PARTITION, .hash = 1, .units = 5}};

    CHECK_INT(burst(a, TV_TARGET_PARTITION, 1, START), 11);
    for (int i = 0; i < 100; i++)
        CHECK(!tv_target_admit(a, both, 2, START, &throttle));
    CHECK_INT(throttle.scope, TV_TARGET_PARTITION);
    CHECK_INT(burst(a, TV_TARGET_ACCOUNT, 0, START), 101);
}

TEST(reads_are_let_in_by_the_test_and_charged_afterwards)
{
    tv_target_account *a = account("alpha", 10, 100);

    CHECK(ask(a, TV_TARGET_PARTITION, 1, 0, START));
    CHECK(ask(a, TV_TARGET_PARTITION, 1, 0, START));
    tv_target_charge(a, TV_TARGET_PARTITION, 1, 15, START);
    CHECK(!ask(a, TV_TARGET_PARTITION, 1, 0, START));
    CHECK_INT(throttle.wait_ns, SECOND / 2);
    tv_target_charge(a, TV_TARGET_PARTITION, 1, -5, START);
    CHECK(ask(a, TV_TARGET_PARTITION, 1, 0, START));
}

TEST(a_unit_is_an_entity_of_up_to_one_kib)
{
    static const struct {
        uint64_t bytes, units;
    } rows[] = {{0, 1}, {1, 1}, {1024, 1}, {1025, 2}, {2048, 2}, {2049, 3}, {1 << 20, 1024}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_INT(tv_target_units(rows[i].bytes), rows[i].units);
}

TEST(refusals_are_counted_by_scope)
{
    tv_buf out = TV_BUF_EMPTY;

    tv_targets_write_metrics(targets, &out);
    CHECK_INT(out.len, 0);

    tv_target_account *a = account("alpha", 1, 0);

    burst(a, TV_TARGET_PARTITION, 1, START);
    burst(a, TV_TARGET_PARTITION, 2, START);
    burst(a, TV_TARGET_QUEUE, 3, START);
    tv_targets_write_metrics(targets, &out);
    tv_buf_add_char(&out, '\0');
    CHECK(strstr(out.data, "tavola_throttled_total{scope=\"partition\"} 2\n"));
    CHECK(strstr(out.data, "tavola_throttled_total{scope=\"queue\"} 1\n"));
    CHECK(strstr(out.data, "tavola_throttled_total{scope=\"account\"} 0\n"));
    CHECK(strstr(out.data, "tavola_targets_untracked_total 0\n"));
    tv_buf_done(&out);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_published_targets),
        CASE(accounts_and_partitions_are_apart),
        CASE(an_account_that_is_read_again_keeps_its_buckets_and_takes_the_new_rates),
        CASE(a_refused_request_is_charged_nothing),
        CASE(reads_are_let_in_by_the_test_and_charged_afterwards),
        CASE(a_unit_is_an_entity_of_up_to_one_kib),
        CASE(refusals_are_counted_by_scope),
    };

    return cmocka_run_group_tests_name("targets/targets", tests, NULL, NULL);
}
