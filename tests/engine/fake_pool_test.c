/* The fake itself: what pool.h promises, and the faults. */
#include <stdatomic.h>

#include "check.h"
#include "fake_pool.h"
#include "seed.h"

static fake_cluster *cluster;
static tv_pool *pool, *other;
static tv_arena arena;

static int set_up_with(const fake_options *options)
{
    tv_arena_init(&arena);
    cluster = fake_cluster_new(options);
    pool = fake_client_new(cluster);
    other = fake_client_new(cluster);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return set_up_with(NULL);
}

static int set_up_threads(void **state)
{
    (void)state;
    return set_up_with(&(fake_options){.seed = seed_start(), .is_threaded = true});
}

static int tear_down(void **state)
{
    (void)state;
    pool->ops->close(pool);
    other->ops->close(other);
    fake_cluster_free(cluster);
    tv_arena_done(&arena);
    return 0;
}

#define CHANGE(client, object, ...)                                                                \
    tv_pool_change_now(client, object, (const tv_pool_step[]){__VA_ARGS__},                        \
                       sizeof((const tv_pool_step[]){__VA_ARGS__}) / sizeof(tv_pool_step),         \
                       &refused)

static size_t refused;

static tv_pool_step step(tv_pool_kind kind, const char *key, const char *value)
{
    return (tv_pool_step){kind, tv_slice_of(key), tv_slice_of(value)};
}

static tv_pool_step create(void)
{
    return step(TV_POOL_CREATE, "", "");
}

static tv_pool_step put(const char *key, const char *value)
{
    return step(TV_POOL_PUT_ROW, key, value);
}

#define CHECK_ROWS(object, want) CHECK_TEXT(fake_rows_text(cluster, object, &arena), want)

TEST(an_object_is_there_when_it_was_made)
{
    CHECK_ERR(CHANGE(pool, "o", put("a", "1")), TV_ERR_NOT_FOUND);
    CHECK_OK(CHANGE(pool, "o", create(), put("a", "1")));
    CHECK_ERR(CHANGE(other, "o", create(), put("a", "2")), TV_ERR_CONFLICT);
    CHECK(refused == TV_POOL_NO_STEP);
    CHECK_ROWS("o", "a=1 ");
    CHECK_OK(CHANGE(pool, "o", step(TV_POOL_REMOVE, "", "")));
    CHECK_ERR(CHANGE(pool, "o", step(TV_POOL_REMOVE, "", "")), TV_ERR_NOT_FOUND);
    CHECK_ROWS("o", "-");
}

TEST(a_change_is_done_as_a_whole_or_not_at_all)
{
    CHECK_OK(CHANGE(pool, "o", create(), put("a", "1"), put("b", "1"), put("c", "1"),
                    step(TV_POOL_SET_ATTR, "e", "5")));
    CHECK_ERR(CHANGE(pool, "o", step(TV_POOL_ATTR_IS, "e", "5"), step(TV_POOL_ROW_IS, "a", "1"),
                     step(TV_POOL_ROW_IS, "b", "2"), put("a", "2")),
              TV_ERR_CONFLICT);
    CHECK_INT(refused, 2);
    CHECK_ERR(CHANGE(pool, "o", step(TV_POOL_ROW_ABSENT, "a", ""), put("a", "2")), TV_ERR_CONFLICT);
    CHECK_INT(refused, 0);
    CHECK_ERR(CHANGE(pool, "o", step(TV_POOL_ATTR_IS, "e", "6"), put("a", "2")), TV_ERR_CONFLICT);
    CHECK(refused == TV_POOL_NO_STEP);
    CHECK_ROWS("o", "a=1 b=1 c=1 ");
    CHECK_OK(CHANGE(pool, "o", step(TV_POOL_ROW_ABSENT, "d", ""), step(TV_POOL_ATTR_IS, "no", ""),
                    step(TV_POOL_DELETE_ROWS, "a", "c"), put("b", "2"),
                    step(TV_POOL_DELETE_ROW, "c", "")));
    CHECK_ROWS("o", "b=2 ");
}

TEST(an_attribute_is_below_by_bytes)
{
    CHECK_OK(CHANGE(pool, "o", create(), step(TV_POOL_ATTR_BELOW, "clk", "05"),
                    step(TV_POOL_SET_ATTR, "clk", "05")));
    CHECK_OK(CHANGE(pool, "o", step(TV_POOL_ATTR_BELOW, "clk", "07")));
    CHECK_ERR(CHANGE(pool, "o", step(TV_POOL_ATTR_BELOW, "clk", "05")), TV_ERR_CONFLICT);
    CHECK_ERR(CHANGE(pool, "o", step(TV_POOL_ATTR_BELOW, "clk", "03")), TV_ERR_CONFLICT);
}

TEST(reads_give_what_is_there_in_order)
{
    tv_slice keys[] = {TV_LIT("c"), TV_LIT("a"), TV_LIT("x"), TV_LIT("a")};
    tv_pool_read read = {
        .object = "o", .kind = TV_POOL_READ_KEYS, .keys = keys, .key_count = 4, .arena = &arena};

    CHECK_ERR(tv_pool_read_now(pool, &read), TV_ERR_NOT_FOUND);
    CHECK_OK(CHANGE(pool, "o", create(), put("a", "1"), put("b", "2"), put("c", "3"),
                    step(TV_POOL_SET_ATTR, "e", "5"), step(TV_POOL_SET_DATA, "", "some data")));
    CHECK_OK(tv_pool_read_now(pool, &read));
    CHECK_INT(read.row_count, 2);
    CHECK_TEXT(read.rows[0].key, "a");
    CHECK_TEXT(read.rows[1].value, "3");

    read.attr = TV_LIT("e");
    read.attr_value = TV_LIT("4");
    CHECK_ERR(tv_pool_read_now(pool, &read), TV_ERR_CONFLICT);
    read.attr_value = TV_LIT("5");
    CHECK_OK(tv_pool_read_now(pool, &read));

    read.kind = TV_POOL_READ_PAGE;
    read.rows_max = 2;
    CHECK_OK(tv_pool_read_now(pool, &read));
    CHECK(read.has_more && read.row_count == 2);
    read.after = TV_LIT("b");
    CHECK_OK(tv_pool_read_now(pool, &read));
    CHECK(!read.has_more && read.row_count == 1);
    CHECK_TEXT(read.rows[0].key, "c");

    read.kind = TV_POOL_READ_ATTRS;
    CHECK_OK(tv_pool_read_now(pool, &read));
    CHECK_INT(read.row_count, 1);
    CHECK_TEXT(read.rows[0].value, "5");

    read.kind = TV_POOL_READ_DATA;
    read.offset = 5;
    read.size = 100;
    CHECK_OK(tv_pool_read_now(pool, &read));
    CHECK_TEXT(read.data, "data");
}

TEST(a_row_by_itself)
{
    tv_slice value;

    CHECK_ERR(tv_pool_get_row(pool, "o", TV_LIT("a"), &arena, &value), TV_ERR_NOT_FOUND);
    CHECK_OK(CHANGE(pool, "o", create(), put("a", "1")));
    CHECK_OK(tv_pool_get_row(pool, "o", TV_LIT("a"), &arena, &value));
    CHECK_TEXT(value, "1");
    CHECK_OK(tv_pool_get_row(pool, "o", TV_LIT("b"), &arena, &value));
    CHECK(value.data == NULL);
}

TEST(a_lock_is_one_holders_until_it_lapses)
{
    CHECK_OK(pool->ops->lock(pool, "l", "A", 15));
    CHECK_ERR(other->ops->lock(other, "l", "B", 15), TV_ERR_IN_USE);
    fake_pass_ms(cluster, 10000);
    CHECK_OK(pool->ops->lock(pool, "l", "A", 15));
    fake_pass_ms(cluster, 14999);
    CHECK_ERR(other->ops->lock(other, "l", "B", 15), TV_ERR_IN_USE);
    fake_pass_ms(cluster, 1);
    CHECK_OK(other->ops->lock(other, "l", "B", 15));
    CHECK_ERR(pool->ops->unlock(pool, "l", "A"), TV_ERR_NOT_FOUND);
    CHECK_OK(other->ops->unlock(other, "l", "B"));
    CHECK_OK(pool->ops->lock(pool, "l", "A", 15));
}

static void count(void *ctx)
{
    atomic_fetch_add((atomic_int *)ctx, 1);
}

TEST(those_who_watch_are_told)
{
    atomic_int here = 0, there = 0;

    CHECK_OK(pool->ops->watch(pool, "w", count, &here));
    CHECK_OK(other->ops->watch(other, "w", count, &there));
    pool->ops->notify(pool, "w");
    pool->ops->notify(pool, "v");
    CHECK(here == 1 && there == 1);
    fake_client_kill(other);
    pool->ops->notify(pool, "w");
    other->ops->notify(other, "w");
    CHECK(here == 2 && there == 1);
}

TEST(one_that_is_shut_out_changes_nothing)
{
    CHECK_OK(CHANGE(pool, "o", create(), put("a", "1")));
    CHECK_OK(pool->ops->shut_out(pool, other->ops->address(other)));
    CHECK_ERR(CHANGE(other, "o", put("a", "2")), TV_ERR_STOPPED);
    CHECK_ERR(other->ops->lock(other, "l", "B", 15), TV_ERR_STOPPED);
    CHECK_OK(CHANGE(pool, "o", put("b", "2")));
    CHECK_ROWS("o", "a=1 b=2 ");
}

TEST(a_client_dies_before_or_after_a_change)
{
    CHECK_OK(CHANGE(pool, "o", create()));
    fake_client_kill_at(pool, 2, true);
    CHECK_OK(CHANGE(pool, "o", put("a", "1")));
    CHECK_ERR(CHANGE(pool, "o", put("b", "1")), TV_ERR_STOPPED);
    CHECK_ERR(CHANGE(pool, "o", put("c", "1")), TV_ERR_STOPPED);
    fake_client_kill_at(other, 1, false);
    CHECK_ERR(CHANGE(other, "o", put("d", "1")), TV_ERR_STOPPED);
    CHECK_ROWS("o", "a=1 b=1 ");
    CHECK_INT(fake_client_change_count(pool), 4);
}

TEST(refusals_come_when_they_are_asked_for)
{
    tv_slice value;

    CHECK_OK(CHANGE(pool, "o", create()));
    fake_refuse_changes(cluster, 2, 2, TV_ERR_CONFLICT);
    CHECK_OK(CHANGE(pool, "o", put("a", "1")));
    CHECK_ERR(CHANGE(pool, "o", put("b", "1")), TV_ERR_CONFLICT);
    CHECK_ERR(CHANGE(other, "o", put("c", "1")), TV_ERR_CONFLICT);
    CHECK_OK(CHANGE(pool, "o", put("d", "1")));
    fake_set_full(cluster, true);
    CHECK_OK(CHANGE(pool, "o", put("e", "1")));
    CHECK_ERR(CHANGE(pool, "p", create()), TV_ERR_DISK_FULL);
    fake_fail_reads(cluster, TV_ERR_IO);
    CHECK_ERR(tv_pool_get_row(pool, "o", TV_LIT("a"), &arena, &value), TV_ERR_IO);
    CHECK_ROWS("o", "a=1 d=1 e=1 ");
}

static bool count_object(void *ctx, const char *object)
{
    CHECK(strncmp(object, "tv.R.", 5) == 0);
    return ++*(int *)ctx < 2;
}

TEST(objects_are_listed_by_their_beginning)
{
    int seen = 0;

    CHECK_OK(CHANGE(pool, "tv.R.1", create()));
    CHECK_OK(CHANGE(pool, "tv.R.2", create()));
    CHECK_OK(CHANGE(pool, "tv.R.3", create()));
    CHECK_OK(CHANGE(pool, "tv.S.1", create()));
    CHECK_INT(fake_object_count(cluster, "tv.R."), 3);
    CHECK_OK(pool->ops->list(pool, "tv.R.", count_object, &seen));
    CHECK_INT(seen, 2);
}

/* Two that count by conditions: every increment is there, and the same run gives the same. */
typedef struct counter {
    tv_pool *pool;
    int done, refused;
} counter;

static void count_up(void *ctx)
{
    counter *c = ctx;

    while (c->done < 50) {
        tv_arena scratch;
        tv_slice value;
        char text[32], next[32];

        tv_arena_init(&scratch);
        CHECK_OK(tv_pool_get_row(c->pool, "o", TV_LIT("n"), &scratch, &value));
        snprintf(text, sizeof text, "%.*s", TV_FMT(value));
        snprintf(next, sizeof next, "%ld", strtol(text, NULL, 10) + 1);

        tv_pool_step steps[] = {{TV_POOL_ROW_IS, TV_LIT("n"), value}, put("n", next)};
        tv_err err = tv_pool_change_now(c->pool, "o", steps, 2, NULL);

        tv_arena_done(&scratch);
        if (err == TV_OK)
            c->done++;
        else
            c->refused++;
        if (err == TV_ERR_CONFLICT)
            c->pool->ops->pause(c->pool, 1);
    }
}

static int run_counters(uint64_t seed)
{
    fake_cluster *made = fake_cluster_new(&(fake_options){.seed = seed});
    tv_pool *a = fake_client_new(made), *b = fake_client_new(made);
    counter counters[] = {{a, 0, 0}, {b, 0, 0}};

    CHECK_OK(CHANGE(a, "o", create(), put("n", "0")));
    fake_run(made, (const fake_actor[]){{count_up, &counters[0]}, {count_up, &counters[1]}}, 2);
    CHECK_TEXT(fake_rows_text(made, "o", &arena), "n=100 ");
    a->ops->close(a);
    b->ops->close(b);
    fake_cluster_free(made);
    return counters[0].refused * 1000 + counters[1].refused;
}

TEST(actors_take_turns_by_the_seed)
{
    int first = run_counters(1);

    CHECK(first > 0);
    CHECK_INT(run_counters(1), first);
    CHECK(run_counters(2) != first || run_counters(3) != first);
}

/* Operations of one client on one object keep their order, and all are answered. */
enum { MANY = 200 };

typedef struct many {
    tv_pool_change changes[MANY];
    tv_pool_step steps[MANY];
    char keys[MANY][8];
    atomic_int answered;
} many;

static void one_answered(tv_pool_change *change)
{
    many *m = change->ctx;

    CHECK_OK(change->result);
    atomic_fetch_add(&m->answered, 1);
}

TEST(threads_answer_everything_in_an_order_of_their_own)
{
    many *m = tv_calloc(1, sizeof *m);
    atomic_int told = 0;

    CHECK_OK(CHANGE(pool, "o", create()));
    CHECK_OK(CHANGE(pool, "p", create()));
    CHECK_OK(other->ops->watch(other, "o", count, &told));
    for (int i = 0; i < MANY; i++) {
        snprintf(m->keys[i], sizeof m->keys[i], "%d", i);
        m->steps[i] = put("last", m->keys[i]);
        m->changes[i] = (tv_pool_change){.object = i % 2 ? "o" : "p",
                                         .steps = &m->steps[i],
                                         .step_count = 1,
                                         .done = one_answered,
                                         .ctx = m};
        pool->ops->change(pool, &m->changes[i]);
    }
    pool->ops->notify(pool, "o");
    while (atomic_load(&m->answered) < MANY || atomic_load(&told) < 1)
        pool->ops->pause(pool, 1);
    CHECK_ROWS("o", "last=199 ");
    CHECK_ROWS("p", "last=198 ");
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_object_is_there_when_it_was_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_change_is_done_as_a_whole_or_not_at_all, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_attribute_is_below_by_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_give_what_is_there_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_row_by_itself, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lock_is_one_holders_until_it_lapses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(those_who_watch_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_is_shut_out_changes_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_client_dies_before_or_after_a_change, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refusals_come_when_they_are_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(objects_are_listed_by_their_beginning, set_up, tear_down),
        cmocka_unit_test_setup_teardown(actors_take_turns_by_the_seed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_answer_everything_in_an_order_of_their_own,
                                        set_up_threads, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
