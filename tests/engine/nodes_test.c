/*
 * Nodes on one cluster: incarnations, beats, clocks, the dead and the leader.  Three of them
 * in one process, with clocks that the test sets.
 */
#include "server/cluster/nodes.h"

#include "base/log.h"
#include "check.h"
#include "fake_pool.h"
#include "random.h"
#include "server/cluster/chores.h"
#include "server/cluster/leader.h"
#include "wait.h"

enum { NODES = 3 };

typedef struct machine {
    tv_pool *pool;
    tv_nodes *nodes;
    int64_t skew_ms;
    bool is_paused;
} machine;

static fake_cluster *cluster;
static machine machines[NODES];
static int64_t now_ms; /* the true time, which nobody knows */

static int64_t clock_of(void *ctx)
{
    return 1767225600000 + now_ms + ((machine *)ctx)->skew_ms;
}

/* While a node waits at its start, the others beat. */
static void let_others_beat(void *ctx, int ms)
{
    now_ms += ms;
    for (int i = 0; i < NODES; i++) {
        if (machines[i].nodes && machines[i].nodes != ((machine *)ctx)->nodes &&
            !machines[i].is_paused && now_ms % (2000 + 300 * i) < ms)
            CHECK_OK(tv_nodes_beat(machines[i].nodes));
    }
}

/* Monotonic clocks begin anywhere. */
static int64_t mono_of(void *ctx)
{
    return now_ms + 1000000 * (int64_t)((machine *)ctx - machines);
}

static tv_err start(int i)
{
    machine *m = &machines[i];
    char http[20] = "127.0.0.1:10002";
    tv_err err;

    m->pool = fake_client_new(cluster);
    m->is_paused = false;
    err = tv_nodes_join(&(tv_nodes_options){.pool = m->pool,
                                            .http = tv_slice_of(http),
                                            .version = TV_LIT("1.0 beta"),
                                            .level = 1 + i,
                                            .clock_ms = clock_of,
                                            .mono_ms = mono_of,
                                            .pause = let_others_beat,
                                            .ctx = m},
                        &m->nodes);
    memset(http, 'x', sizeof http); /* it was the caller's */
    return err;
}

static void die(int i)
{
    machine *m = &machines[i];

    fake_client_kill(m->pool);
    tv_nodes_abandon(m->nodes);
    m->pool->ops->close(m->pool);
    *m = (machine){0};
}

static void stop(int i)
{
    machine *m = &machines[i];

    tv_nodes_leave(m->nodes);
    if (m->pool)
        m->pool->ops->close(m->pool);
    *m = (machine){0};
}

static int set_up(void **state)
{
    (void)state;
    tv_log_set_level(TV_LOG_ERROR);
    t_random_seed(3);
    now_ms = 50000;
    cluster = fake_cluster_new(&(fake_options){0});
    for (int i = 0; i < NODES; i++) {
        machines[i] = (machine){0};
        CHECK_OK(start(i));
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < NODES; i++)
        stop(i);
    fake_cluster_free(cluster);
    return 0;
}

/* Let the time pass; those that run beat, at intervals of their own. */
static void pass(int64_t ms)
{
    for (int64_t end = now_ms + ms; now_ms < end;) {
        now_ms += 1 + (int64_t)(t_random() % 1000);
        for (int i = 0; i < NODES; i++) {
            if (machines[i].nodes && !machines[i].is_paused && t_random() % 2)
                CHECK_OK(tv_nodes_beat(machines[i].nodes));
        }
    }
}

static size_t live_count(int i)
{
    tv_cluster_node *list;
    size_t live = 0;
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t k = 0, count = tv_nodes_list(machines[i].nodes, &arena, &list); k < count; k++)
        live += !list[k].is_dead;
    tv_arena_done(&arena);
    return live;
}

/* What tv_nodes_settle says, as "live … last N". */
static const char *settled(int i)
{
    static char text[100];
    uint64_t *live;
    size_t count, at = 0;
    int64_t last;
    tv_arena arena;

    tv_arena_init(&arena);
    tv_err err = tv_nodes_settle(machines[i].nodes, &arena, &last, &live, &count);

    if (err)
        snprintf(text, sizeof text, "%s", tv_err_name(err));
    for (size_t k = 0; k < count && err == TV_OK; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%d ", (int)live[k]);
    if (err == TV_OK)
        snprintf(text + at, sizeof text - at, "last %d", (int)last);
    tv_arena_done(&arena);
    return text;
}

TEST(every_start_is_a_node_of_its_own)
{
    for (int i = 0; i < NODES; i++)
        CHECK_INT(tv_nodes_incarnation(machines[i].nodes), i + 1);
    CHECK_TEXT(tv_nodes_name(machines[2].nodes), "3");
    stop(1);
    CHECK_OK(start(1));
    CHECK_INT(tv_nodes_incarnation(machines[1].nodes), 4);
    pass(3000);
    CHECK_INT(live_count(0), 3); /* the old one has left */
    CHECK_TEXT(tv_slice_of(settled(0)), "1 3 4 last 4");
}

TEST(nodes_know_each_other)
{
    tv_cluster_node *list;
    tv_arena arena;

    pass(5000);
    tv_arena_init(&arena);
    CHECK_INT(tv_nodes_list(machines[0].nodes, &arena, &list), 3);
    CHECK_INT(list[2].incarnation, 3);
    CHECK_TEXT(list[2].http, "127.0.0.1:10002");
    CHECK_TEXT(list[2].version, "1.0 beta");
    CHECK_TEXT(list[2].address, machines[2].pool->ops->address(machines[2].pool));
    CHECK(list[2].silent_ms < TV_NODES_FRESH_MS && !list[2].is_dead);
    CHECK_INT(tv_nodes_common_level(machines[2].nodes), 1);
    CHECK_TEXT(tv_slice_of(settled(0)), "1 2 3 last 3");
    tv_arena_done(&arena);

    tv_buf out = TV_BUF_EMPTY;

    tv_nodes_add_json(machines[0].nodes, &out);
    CHECK(tv_slice_starts_with(tv_buf_slice(&out), TV_LIT("[{\"incarnation\":1,")));
    tv_buf_done(&out);
}

TEST(a_node_that_is_silent_is_shut_out_and_then_called_dead)
{
    size_t died;

    pass(5000);
    die(2);
    pass(20000);
    CHECK_OK(tv_nodes_bury(machines[0].nodes, &died));
    CHECK_INT(died, 0); /* not yet */
    CHECK_TEXT(tv_slice_of(settled(0)), tv_err_name(TV_ERR_OVERLOADED));
    pass(12000);
    CHECK_OK(tv_nodes_bury(machines[0].nodes, &died));
    CHECK_INT(died, 1);
    pass(3000);
    CHECK_INT(live_count(0), 2);
    CHECK_INT(live_count(1), 2);
    CHECK_TEXT(tv_slice_of(settled(0)), "1 2 last 3");
    CHECK_INT(tv_nodes_common_level(machines[1].nodes), 1);
    CHECK_OK(tv_nodes_bury(machines[1].nodes, &died));
    CHECK_INT(died, 0); /* once */
}

/* A row that somebody has written who is no node, or that was damaged. */
static void forge(int64_t incarnation, const char *address)
{
    char key[40], row[200];

    snprintf(key, sizeof key, "n|%013lld", (long long)incarnation);
    snprintf(row, sizeof row, "live %s 127.0.0.1:10002 1.0 3 1767225600000 7", address);

    const tv_pool_step step = {TV_POOL_PUT_ROW, tv_slice_of(key), tv_slice_of(row)};

    CHECK_OK(tv_pool_change_now(machines[0].pool, TV_NODES_OBJECT, &step, 1, NULL));
}

TEST(a_row_shuts_out_nobody_but_the_node_that_wrote_it)
{
    tv_pool *stranger = fake_client_new(cluster); /* an OSD, or a client that is no node */
    size_t died;

    pass(5000);
    forge(90, stranger->ops->address(stranger));
    forge(91, machines[1].pool->ops->address(machines[1].pool));
    forge(92, "127.0.0.1:0/1");
    die(2);
    pass(40000);
    CHECK_OK(tv_nodes_bury(machines[0].nodes, &died));
    CHECK_INT(died, 1); /* the one that is: rows behind it and before it do not matter */
    CHECK(!fake_client_is_out(stranger));
    CHECK(!fake_client_is_out(machines[1].pool));
    CHECK_OK(tv_nodes_beat(machines[1].nodes));
    /* Who could write is not certain as long as they are there. */
    CHECK_TEXT(tv_slice_of(settled(0)), tv_err_name(TV_ERR_OVERLOADED));
    stranger->ops->close(stranger);
}

TEST(a_dead_node_is_forgotten_after_a_while)
{
    tv_cluster_node *list;
    tv_arena arena;

    tv_arena_init(&arena);
    pass(5000);
    die(2);
    pass(35000);
    CHECK_OK(tv_nodes_bury(machines[0].nodes, NULL));
    pass(3000);
    CHECK_INT(tv_nodes_list(machines[0].nodes, &arena, &list), 3);
    pass(TV_NODES_FORGET_MS);
    CHECK_OK(tv_nodes_bury(machines[0].nodes, NULL));
    pass(3000);
    CHECK_INT(tv_nodes_list(machines[0].nodes, &arena, &list), 2);
    CHECK_TEXT(tv_slice_of(settled(0)), "1 2 last 3"); /* its number is not live, whoever asks */
    tv_arena_done(&arena);
}

TEST(a_node_that_was_stopped_cannot_go_on)
{
    size_t died;

    pass(5000);
    machines[1].is_paused = true;
    pass(40000);
    CHECK_OK(tv_nodes_bury(machines[0].nodes, &died));
    CHECK_INT(died, 1);
    CHECK(fake_client_is_out(machines[1].pool));
    CHECK_ERR(tv_nodes_beat(machines[1].nodes), TV_ERR_STOPPED);
    stop(1);
    CHECK_OK(start(1)); /* as another node */
    pass(3000);
    CHECK_INT(live_count(0), 3);
}

/* The one who buries was stopped itself: it has seen no beats, but not for long enough. */
TEST(a_leader_that_slept_buries_nobody)
{
    size_t died;

    pass(5000);
    machines[0].is_paused = true;
    pass(60000);
    machines[0].is_paused = false;
    CHECK_OK(tv_nodes_beat(machines[0].nodes));
    CHECK_OK(tv_nodes_bury(machines[0].nodes, &died));
    CHECK_INT(died, 0);
}

TEST(clocks_are_compared_with_the_median)
{
    static const struct {
        const char *what;
        int64_t skew_ms[NODES];
        bool is_far[NODES], refuses[NODES];
    } rows[] = {
        {"all the same", {0, 0, 0}, {false, false, false}, {false, false, false}},
        {"a little", {0, 400, -400}, {false, false, false}, {false, false, false}},
        {"one ahead", {0, 3000, 0}, {false, true, false}, {false, false, false}},
        {"one far ahead", {0, 0, 9000}, {false, false, true}, {false, false, true}},
        {"one far behind", {-9000, 0, 0}, {true, false, false}, {false, false, false}},
        {"all apart", {-9000, 0, 9000}, {true, false, true}, {false, false, true}},
    };

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        t_row = rows[r].what;
        for (int i = 0; i < NODES; i++)
            machines[i].skew_ms = rows[r].skew_ms[i];
        pass(60000);
        for (int i = 0; i < NODES; i++) {
            tv_nodes_clock clock = tv_nodes_read_clock(machines[i].nodes);

            CHECK_INT(clock.is_far, rows[r].is_far[i]);
            CHECK_INT(clock.refuses_writes, rows[r].refuses[i]);
        }
    }
}

TEST(a_node_knows_when_it_has_joined_whether_its_clock_is_far_ahead)
{
    static const struct {
        const char *what;
        int64_t skew_ms, before_ms; /* when the others have beaten for the last time */
        bool others_live, refuses;
        int64_t wait_ms_max;
    } rows[] = {
        {"a right clock does not wait", 0, 2900, true, false, 0},
        {"nor does one that is behind", -20000, 2900, true, false, 0},
        {"nor one that is a little ahead", 2000, 2900, true, false, 0},
        {"one that may be too far ahead waits for a beat", 4500, 2900, true, false, 3000},
        {"one that is too far ahead refuses writes", 5500, 0, true, true, 3000},
        {"also after a long break of the others", 60000, 9000, true, true, 3000},
        {"a right clock is right when the others are silent", 0, 9000, false, false, 5000},
    };

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        t_row = rows[r].what;
        stop(2);
        pass(5000);
        for (int i = 0; i < 2; i++) {
            CHECK_OK(tv_nodes_beat(machines[i].nodes));
            machines[i].is_paused = !rows[r].others_live;
        }
        now_ms += rows[r].before_ms;
        machines[2].skew_ms = rows[r].skew_ms;

        int64_t began_ms = now_ms;

        CHECK_OK(start(2));
        CHECK(now_ms - began_ms <= rows[r].wait_ms_max);
        CHECK_INT(tv_nodes_read_clock(machines[2].nodes).refuses_writes, rows[r].refuses);
        for (int i = 0; i < 2; i++)
            machines[i].is_paused = false;
    }
}

TEST(of_two_nodes_the_one_that_is_ahead_refuses_writes)
{
    stop(2);
    machines[1].skew_ms = 8000;
    pass(60000);
    CHECK(!tv_nodes_read_clock(machines[0].nodes).refuses_writes);
    CHECK(tv_nodes_read_clock(machines[1].nodes).refuses_writes);
    stop(1); /* alone it is right again */
    CHECK_OK(start(2));
    stop(0);
    machines[2].skew_ms = 100000;
    pass(20000);
    CHECK(!tv_nodes_read_clock(machines[2].nodes).is_far);
}

/* --- levels: node i understands 1 + i --- */

TEST(a_level_is_required_when_all_understand_it)
{
    pass(5000);
    CHECK_OK(tv_nodes_require_level(machines[0].nodes, 1));
    CHECK_ERR(tv_nodes_require_level(machines[2].nodes, 2), TV_ERR_OVERLOADED);
    stop(0);
    pass(5000);
    CHECK_INT(tv_nodes_common_level(machines[2].nodes), 2);
    CHECK_OK(tv_nodes_require_level(machines[2].nodes, 2));
    CHECK_OK(tv_nodes_require_level(machines[1].nodes, 2));
    CHECK_ERR(tv_nodes_require_level(machines[1].nodes, 3), TV_ERR_OVERLOADED);
}

TEST(an_older_node_does_not_join_newer_ones)
{
    stop(0);
    CHECK_OK(tv_nodes_require_level(machines[2].nodes, 2));
    CHECK_ERR(start(0), TV_ERR_NOT_IMPLEMENTED);
    machines[0].pool->ops->close(machines[0].pool);
    machines[0] = (machine){0};
    stop(1);
    CHECK_OK(start(1)); /* of level 2 */
}

/* A dead node does not count, and cannot come back. */
TEST(a_dead_node_needs_no_level)
{
    pass(5000);
    die(0);
    CHECK_ERR(tv_nodes_require_level(machines[1].nodes, 2), TV_ERR_OVERLOADED);
    pass(35000);
    CHECK_OK(tv_nodes_bury(machines[1].nodes, NULL));
    CHECK_TEXT(tv_slice_of(settled(1)), "2 3 last 3"); /* before the next beat, too */
    CHECK_INT(tv_nodes_common_level(machines[1].nodes), 2);
    CHECK_OK(tv_nodes_require_level(machines[1].nodes, 2));
}

static void join_meanwhile(void *ctx, tv_pool *client, const tv_pool_change *change)
{
    (void)change;
    if (client == machines[2].pool && machines[0].pool == NULL) {
        fake_on_change(ctx, NULL, NULL);
        CHECK_OK(start(0));
    }
}

TEST(a_node_that_joins_meanwhile_is_not_overlooked)
{
    stop(0);
    fake_on_change(cluster, join_meanwhile, cluster);
    CHECK_ERR(tv_nodes_require_level(machines[2].nodes, 2), TV_ERR_OVERLOADED);
    CHECK(machines[0].nodes != NULL);
}

/* --- the leader --- */

static tv_leader leaders[NODES];

static int leader_count(void)
{
    int count = 0;

    for (int i = 0; i < NODES; i++)
        count += tv_lead_is_here(&leaders[i].lead);
    return count;
}

TEST(there_is_one_leader_and_another_one_when_it_dies)
{
    for (int i = 0; i < NODES; i++)
        tv_leader_init(&leaders[i], machines[i].pool, tv_nodes_name(machines[i].nodes).data);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < NODES; i++)
            tv_leader_run(&leaders[i]);
        CHECK_INT(leader_count(), 1);
        CHECK(tv_lead_is_here(&leaders[0].lead));
        fake_pass_ms(cluster, TV_LEADER_RENEW_MS);
    }
    atomic_store(&leaders[0].lead.is_leader, false); /* dead */
    tv_leader_run(&leaders[1]);
    CHECK_INT(leader_count(), 0); /* the lock has not lapsed */
    fake_pass_ms(cluster, TV_LEADER_LOCK_S * 1000);
    tv_leader_run(&leaders[1]);
    tv_leader_run(&leaders[2]);
    CHECK(tv_lead_is_here(&leaders[1].lead));
    tv_leader_run(&leaders[0]);
    CHECK_INT(leader_count(), 1);
    tv_leader_resign(&leaders[1]);
    tv_leader_run(&leaders[2]); /* at once */
    CHECK(tv_lead_is_here(&leaders[2].lead));
    CHECK_INT(leader_count(), 1);
    tv_leader_resign(&leaders[2]);
}

TEST(at_a_faster_pace_the_lock_is_shorter)
{
    for (int i = 0; i < 2; i++) {
        tv_leader_init(&leaders[i], machines[i].pool, tv_nodes_name(machines[i].nodes).data);
        leaders[i].pace = 5;
    }
    tv_leader_run(&leaders[0]);
    atomic_store(&leaders[0].lead.is_leader, false); /* dead */
    fake_pass_ms(cluster, TV_LEADER_LOCK_S * 1000 / 5 - 1);
    tv_leader_run(&leaders[1]);
    CHECK(!tv_lead_is_here(&leaders[1].lead));
    fake_pass_ms(cluster, 1);
    tv_leader_run(&leaders[1]);
    CHECK(tv_lead_is_here(&leaders[1].lead));
    tv_leader_resign(&leaders[1]);
}

static tv_err count_run(void *ctx, const tv_background *thread)
{
    (void)thread;
    atomic_fetch_add((atomic_int *)ctx, 1);
    return TV_OK;
}

static void wait_for(atomic_int *count, int at_least)
{
    WAIT_UNTIL(atomic_load(count) >= at_least);
}

TEST(chores_run_while_the_node_leads)
{
    atomic_int leads = 0, always = 0, hurried = 0;
    tv_lead lead = {false};
    const tv_chore list[] = {
        {.name = "lead", .interval_ms = 1, .run = count_run, .ctx = &leads},
        {.name = "always",
         .interval_ms = 1,
         .on_every_node = true,
         .run = count_run,
         .ctx = &always},
        {.name = "hurried",
         .interval_ms = 3600000,
         .on_every_node = true,
         .run = count_run,
         .ctx = &hurried},
    };
    tv_chores *chores = tv_chores_start(&lead, list, 3);

    wait_for(&always, 3);
    CHECK_INT(atomic_load(&leads), 0);
    atomic_store(&lead.is_leader, true);
    wait_for(&leads, 3);
    CHECK_INT(atomic_load(&hurried), 0);
    tv_chores_hurry(chores, "hurried");
    wait_for(&hurried, 1);
    tv_chores_free(chores);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(every_start_is_a_node_of_its_own),
        UNIT(nodes_know_each_other),
        UNIT(a_node_that_is_silent_is_shut_out_and_then_called_dead),
        UNIT(a_row_shuts_out_nobody_but_the_node_that_wrote_it),
        UNIT(a_dead_node_is_forgotten_after_a_while),
        UNIT(a_node_that_was_stopped_cannot_go_on),
        UNIT(a_leader_that_slept_buries_nobody),
        UNIT(clocks_are_compared_with_the_median),
        UNIT(a_node_knows_when_it_has_joined_whether_its_clock_is_far_ahead),
        UNIT(of_two_nodes_the_one_that_is_ahead_refuses_writes),
        UNIT(a_level_is_required_when_all_understand_it),
        UNIT(an_older_node_does_not_join_newer_ones),
        UNIT(a_dead_node_needs_no_level),
        UNIT(a_node_that_joins_meanwhile_is_not_overlooked),
        UNIT(there_is_one_leader_and_another_one_when_it_dies),
        UNIT(at_a_faster_pace_the_lock_is_shorter),
        cmocka_unit_test(chores_run_while_the_node_leads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
