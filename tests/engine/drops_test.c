/*
 * Tables that are created, dropped and created again on three nodes of a fake cluster, whole
 * nodes down to the pool: engine, pipeline, catalogue.  What each thread does comes from a seed;
 * how they meet is up to the machine.
 *
 * The model is what clients know.  Once a drop was answered, or a client was told that there is no
 * table of that name, or that it has made a new one, nobody's write into the old table is
 * acknowledged that began later; and so it is when the node that dropped it died before it could
 * answer, once the leader has collected the rows.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "base/log.h"
#include "fake_pool.h"
#include "seed.h"
#include "services/table/service.h"
#include "store/engine/rados/rados.h"
#include "table_requests.h"

enum { NODES = 3, NAMES = 4, STEPS = 250, IDS_MAX = 4 * STEPS * NODES, CRASHED = 8 };

typedef struct node {
    tv_pool *pool;
    tv_engine *engine;
    tv_pipeline *pipeline;
    tv_catalog *catalog;
    tv_lead lead;
} node;

static fake_cluster *cluster;
static node nodes[NODES];
static uint64_t seed;

/* --- the model, by the ids of tables --- */

static atomic_llong now;                  /* an order of events: later ones have greater numbers */
static atomic_llong gone[IDS_MAX];        /* when its drop was known to a client; 0: not yet */
static atomic_int created[IDS_MAX];       /* how often; more than once is an error */
static atomic_int named[IDS_MAX];         /* the number of its name from 1 on, once it is created */
static atomic_int dropped[IDS_MAX];       /* likewise */
static atomic_int acknowledged[IDS_MAX];  /* rows */
static atomic_int late_count, late_tries; /* rows that were acknowledged too late */

/* The first who knows it counts. */
static void note_gone(int64_t id)
{
    long long never = 0;

    atomic_compare_exchange_strong(&gone[id], &never, atomic_fetch_add(&now, 1) + 1);
}

/* All tables of a name but those that are later than `last`. */
static void note_all_gone(int name, int64_t last)
{
    for (int64_t id = 1; id <= last; id++)
        if (atomic_load(&named[id]) == name)
            note_gone(id);
}

static int64_t last_of(int name)
{
    int64_t last = IDS_MAX - 1;

    while (last > 0 && atomic_load(&named[last]) != name)
        last--;
    return last;
}

/* --- nodes --- */

/* It may take its time: meanwhile nobody goes by the map that it is for. */
static tv_err reload(void *ctx)
{
    const node *n = ctx;

    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return n->catalog ? tv_catalog_reload_dropped(n->catalog) : TV_OK;
}

static void start_node(node *n, const tv_slice *cuts, size_t cut_count)
{
    char text[300] = "";

    *n = (node){.pool = fake_client_new(cluster)};

    tv_rados_options options = {.pool = n->pool, .cuts = cuts, .cut_count = cut_count};

    if (tv_rados_engine_open(&options, &n->engine, text, sizeof text))
        CHECK_FAIL("%s", text);
    tv_rados_set_before_use(n->engine, reload, n);
    n->pipeline = tv_pipeline_new(n->engine, 4, 4096);
    CHECK_OK(tv_catalog_open(&tv_table_catalog, n->engine, n->pipeline, &n->catalog));
    tv_catalog_lead(n->catalog, &n->lead);
}

static void stop_node(node *n)
{
    tv_catalog_close(n->catalog);
    tv_pipeline_free(n->pipeline);
    tv_engine_close(n->engine);
    n->pool->ops->close(n->pool);
}

/* Three ranges: the catalogue's, and two of tables. */
static int set_up(void **state)
{
    tv_slice cuts[2];
    tv_arena arena;

    (void)state;
    tv_log_set_level(TV_LOG_OFF);
    tv_arena_init(&arena);
    seed = seed_start();
    cluster = fake_cluster_new(&(fake_options){.seed = seed, .is_threaded = true});
    cuts[0] = tv_key_table(&arena, ACCOUNT, 1);
    cuts[1] = tv_key_table(&arena, ACCOUNT, 40);
    for (int i = 0; i < NODES; i++)
        start_node(&nodes[i], cuts, 2);
    tv_arena_done(&arena);
    atomic_store(&now, 0);
    for (int i = 0; i < IDS_MAX; i++) {
        atomic_store(&gone[i], 0);
        atomic_store(&created[i], 0);
        atomic_store(&named[i], 0);
        atomic_store(&dropped[i], 0);
        atomic_store(&acknowledged[i], 0);
    }
    atomic_store(&late_count, 0);
    atomic_store(&late_tries, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < NODES; i++)
        stop_node(&nodes[i]);
    fake_cluster_free(cluster);
    return 0;
}

/* --- what clients do --- */

/* The number of a name of the storm, from 1 on; 0 of others. */
static int number_of(tv_slice name)
{
    return tv_slice_starts_with(name, TV_LIT("table")) ? name.data[name.len - 1] - '0' + 1 : 0;
}

static tv_container *find(node *n, tv_slice name)
{
    int number = number_of(name);
    int64_t last = number ? last_of(number) : 0;
    tv_container *table = request_find(n->catalog, name);

    if (table == NULL)
        note_all_gone(number, last);
    return table;
}

static tv_err create(node *n, tv_waiter *waiter, tv_arena *arena, tv_slice name)
{
    int64_t id;
    tv_err err = request_create(n->catalog, waiter, arena, name, &id);

    if (err == TV_OK) {
        CHECK(id > 0 && id < IDS_MAX);
        atomic_fetch_add(&created[id], 1);
        atomic_store(&named[id], number_of(name));
        if (number_of(name))
            note_all_gone(number_of(name), id - 1);
    }
    return err;
}

/* The catalogue's part of a drop: the rows cannot be found any more by those who look. */
static tv_err take_out(node *n, tv_waiter *waiter, tv_arena *arena, tv_container *table)
{
    tv_err err = request_take_out(n->catalog, waiter, arena, table);

    if (err == TV_OK)
        atomic_fetch_add(&dropped[table->id], 1);
    return err;
}

static tv_err drop(node *n, tv_waiter *waiter, tv_arena *arena, tv_container *table)
{
    tv_err err = take_out(n, waiter, arena, table);

    if (err == TV_OK)
        err = tv_catalog_fence(n->catalog, table);
    if (err == TV_OK)
        note_gone(table->id);
    return err;
}

static tv_err write_row(tv_waiter *waiter, tv_arena *arena, tv_container *table, tv_slice name)
{
    request_row row;
    tv_write write = request_write_row(arena, table, name, &row);
    long long began;
    tv_err err;

    began = atomic_fetch_add(&now, 1) + 1;

    long long ended = atomic_load(&gone[table->id]);

    err = tv_waiter_run(waiter, &write);
    if (ended && began > ended) {
        atomic_fetch_add(&late_tries, 1);
        atomic_fetch_add(&late_count, err == TV_OK);
    }
    if (err == TV_OK)
        atomic_fetch_add(&acknowledged[table->id], 1);
    return err;
}

static int count_rows(node *n, tv_slice prefix)
{
    tv_arena arena;
    tv_iter *iter;
    int count = 0;

    tv_arena_init(&arena);
    CHECK_OK(tv_engine_iter(n->engine, prefix, tv_key_after(&arena, prefix), &iter));
    for (tv_iter_seek(iter, prefix); tv_iter_is_valid(iter); tv_iter_next(iter))
        count++;
    CHECK_OK(tv_iter_status(iter));
    tv_iter_free(iter);
    tv_arena_done(&arena);
    return count;
}

/* --- a storm --- */

typedef struct client {
    node *node;
    uint64_t random;
    int number;
    pthread_t thread;
} client;

/* A client keeps the tables it has found for a while, as requests do that are under way. */
static void *run_client(void *ctx)
{
    client *c = ctx;
    tv_container *held[NAMES] = {0};
    tv_waiter waiter;
    tv_arena arena;

    tv_waiter_init(&waiter, c->node->pipeline);
    tv_arena_init(&arena);
    for (int step = 0; step < STEPS; step++) {
        uint64_t what = seed_next(&c->random) % 16, which = seed_next(&c->random) % NAMES;
        tv_slice name = tv_arena_printf(&arena, "table%d", (int)which);
        tv_err err = TV_OK;

        if (what < 2) {
            err = create(c->node, &waiter, &arena, name);
        } else if (what < 4) {
            tv_container *table = find(c->node, name);

            /* Some are given up half done, as by a node that dies, or one that is stopped. */
            if (table && seed_next(&c->random) % 4 == 0)
                err = take_out(c->node, &waiter, &arena, table);
            else if (table)
                err = drop(c->node, &waiter, &arena, table);
            tv_container_unref(table);
        } else if (what < 7 || held[which] == NULL) {
            tv_container_unref(held[which]);
            held[which] = find(c->node, name);
        } else {
            err = write_row(&waiter, &arena, held[which],
                            tv_arena_printf(&arena, "%d-%d", c->number, step));
        }
        CHECK(err == TV_OK || err == TV_ERR_TABLE_EXISTS || err == TV_ERR_NOT_FOUND ||
              err == TV_ERR_TABLE_NOT_FOUND);
        tv_arena_reset(&arena);
    }
    for (int i = 0; i < NAMES; i++)
        tv_container_unref(held[i]);
    tv_arena_done(&arena);
    tv_waiter_done(&waiter);
    return NULL;
}

/* Every name is known alike to all nodes, and as the model has it; no row was lost. */
static void check_against_model(void)
{
    int64_t live[NAMES] = {0};
    tv_arena arena;

    tv_arena_init(&arena);
    for (int k = 0; k < NAMES; k++) {
        tv_slice name = tv_arena_printf(&arena, "table%d", k);

        for (int i = 0; i < NODES; i++) {
            CHECK_OK(tv_catalog_look_up(nodes[i].catalog, ACCOUNT, name));

            tv_container *table = tv_catalog_find(nodes[i].catalog, ACCOUNT, name);
            int64_t id = table ? table->id : 0;

            CHECK(i == 0 || id == live[k]);
            live[k] = id;
            tv_container_unref(table);
        }
    }
    for (int id = 1; id < IDS_MAX; id++) {
        bool is_live = false;

        for (int k = 0; k < NAMES; k++)
            is_live = is_live || live[k] == id;
        CHECK(atomic_load(&created[id]) <= 1);
        CHECK_INT(atomic_load(&dropped[id]), is_live ? 0 : atomic_load(&created[id]));
        if (is_live)
            CHECK_INT(count_rows(&nodes[0], tv_key_table(&arena, ACCOUNT, id)),
                      atomic_load(&acknowledged[id]));
    }
    tv_arena_done(&arena);
}

TEST(tables_come_and_go_on_three_nodes_as_if_there_were_one)
{
    client clients[2 * NODES];

    for (int i = 0; i < 2 * NODES; i++) {
        clients[i] = (client){.node = &nodes[i % NODES],
                              .random = (seed + (uint64_t)i) * 0x9E3779B97F4A7C15 | 1,
                              .number = i};
        CHECK_INT(pthread_create(&clients[i].thread, NULL, run_client, &clients[i]), 0);
    }
    for (int i = 0; i < 2 * NODES; i++)
        pthread_join(clients[i].thread, NULL);
    CHECK(atomic_load(&late_tries) > 0);
    CHECK_INT(atomic_load(&late_count), 0);
    check_against_model();
}

/* --- a node that dies between the two steps of a drop --- */

static atomic_bool is_over;

typedef struct writer {
    client base;
    tv_container *tables[CRASHED];
    int late; /* tries after the last table was gone */
} writer;

static void *write_always(void *ctx)
{
    writer *w = ctx;
    tv_waiter waiter;
    tv_arena arena;

    tv_waiter_init(&waiter, w->base.node->pipeline);
    tv_arena_init(&arena);
    for (int i = 0; !atomic_load(&is_over) || w->late < 2 * CRASHED; i++) {
        tv_container *table = w->tables[seed_next(&w->base.random) % CRASHED];
        tv_err err =
            write_row(&waiter, &arena, table, tv_arena_printf(&arena, "%d-%d", w->base.number, i));

        CHECK(err == TV_OK || err == TV_ERR_TABLE_NOT_FOUND);
        w->late += atomic_load(&is_over);
        tv_arena_reset(&arena);
    }
    tv_arena_done(&arena);
    tv_waiter_done(&waiter);
    return NULL;
}

static bool is_collected(node *n, int64_t id)
{
    tv_arena arena;
    tv_slice value;
    tv_err err;

    tv_arena_init(&arena);
    err = tv_engine_get(n->engine, TV_READ_ANY,
                        tv_key_catalog_dropped_id(&arena, TV_SPACE_TABLES, ACCOUNT, id), &arena,
                        &value);
    tv_arena_done(&arena);
    CHECK(err == TV_OK || err == TV_ERR_NOT_FOUND);
    return err == TV_ERR_NOT_FOUND;
}

/* The last node takes tables out of the catalogue and dies before it fences their rows. */
static void take_out_and_die(tv_container *const tables[CRASHED])
{
    node *n = &nodes[NODES - 1];
    tv_waiter waiter;
    tv_arena arena;

    tv_arena_init(&arena);
    tv_waiter_init(&waiter, n->pipeline);
    for (int i = 0; i < CRASHED; i++)
        CHECK_OK(take_out(n, &waiter, &arena, tables[i]));
    fake_client_kill(n->pool);
    tv_waiter_done(&waiter);
    tv_arena_done(&arena);
}

TEST(a_drop_whose_node_died_before_the_fence_is_ended_by_the_leader)
{
    static writer writers[NODES - 1];
    tv_container *doomed[CRASHED];
    int64_t ids[CRASHED];
    tv_waiter waiter;
    tv_arena arena;

    memset(writers, 0, sizeof writers);
    tv_arena_init(&arena);
    tv_waiter_init(&waiter, nodes[0].pipeline);
    for (int k = 0; k < CRASHED; k++) {
        tv_slice name = tv_arena_printf(&arena, "doomed%d", k);

        CHECK_OK(create(&nodes[0], &waiter, &arena, name));
        doomed[k] = find(&nodes[NODES - 1], name);
        ids[k] = doomed[k]->id;
        for (int i = 0; i < NODES - 1; i++)
            writers[i].tables[k] = find(&nodes[i], name);
    }
    tv_waiter_done(&waiter);
    atomic_store(&is_over, false);
    for (int i = 0; i < NODES - 1; i++) {
        writers[i].base = (client){.node = &nodes[i],
                                   .random = (seed + (uint64_t)i) * 0x9E3779B97F4A7C15 | 1,
                                   .number = i};
        CHECK_INT(pthread_create(&writers[i].base.thread, NULL, write_always, &writers[i]), 0);
    }
    take_out_and_die(doomed);
    CHECK_OK(tv_catalog_follow(nodes[0].catalog, true)); /* as it does by itself now and then */
    atomic_store(&nodes[0].lead.is_leader, true);
    for (int left = CRASHED; left > 0;) {
        left = 0;
        for (int k = 0; k < CRASHED; k++) {
            if (atomic_load(&gone[ids[k]]) == 0 && is_collected(&nodes[1], ids[k]))
                note_gone(ids[k]);
            left += atomic_load(&gone[ids[k]]) == 0;
        }
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < NODES - 1; i++)
        pthread_join(writers[i].base.thread, NULL);
    CHECK(atomic_load(&late_tries) > 0);
    CHECK_INT(atomic_load(&late_count), 0);
    for (int k = 0; k < CRASHED; k++) {
        CHECK_INT(count_rows(&nodes[1], tv_key_table(&arena, ACCOUNT, ids[k])), 0);
        tv_container_unref(doomed[k]);
        for (int i = 0; i < NODES - 1; i++)
            tv_container_unref(writers[i].tables[k]);
    }
    tv_arena_done(&arena);
}

/* --- a drop that is known and not fenced yet --- */

/* A table that the last node has taken out and not fenced, and that the second one still knows. */
typedef struct unfenced {
    tv_arena arena;
    tv_waiter waiters[NODES];
    tv_container *old;
} unfenced;

static void begin_unfenced(unfenced *u)
{
    tv_arena_init(&u->arena);
    for (int i = 0; i < NODES; i++)
        tv_waiter_init(&u->waiters[i], nodes[i].pipeline);
    CHECK_OK(create(&nodes[0], &u->waiters[0], &u->arena, TV_LIT("people")));
    u->old = find(&nodes[1], TV_LIT("people"));
    CHECK_OK(write_row(&u->waiters[1], &u->arena, u->old, TV_LIT("early")));

    tv_container *same = find(&nodes[NODES - 1], TV_LIT("people"));

    CHECK_OK(take_out(&nodes[NODES - 1], &u->waiters[NODES - 1], &u->arena, same));
    tv_container_unref(same);
    /* It has not heard of it. */
    CHECK_OK(write_row(&u->waiters[1], &u->arena, u->old, TV_LIT("meanwhile")));
}

static void end_unfenced(unfenced *u)
{
    CHECK_ERR(write_row(&u->waiters[1], &u->arena, u->old, TV_LIT("late")), TV_ERR_TABLE_NOT_FOUND);
    tv_container_unref(u->old);
    for (int i = 0; i < NODES; i++)
        tv_waiter_done(&u->waiters[i]);
    tv_arena_done(&u->arena);
}

TEST(a_create_ends_the_drop_of_the_table_that_had_its_name)
{
    unfenced u;

    begin_unfenced(&u);
    CHECK_OK(create(&nodes[0], &u.waiters[0], &u.arena, TV_LIT("People")));
    end_unfenced(&u);
}

TEST(whoever_hears_that_a_table_is_gone_can_rely_on_it)
{
    unfenced u;

    begin_unfenced(&u);
    CHECK_OK(tv_catalog_look_up(nodes[0].catalog, ACCOUNT, TV_LIT("people")));
    CHECK(tv_catalog_find(nodes[0].catalog, ACCOUNT, TV_LIT("people")) == NULL);
    end_unfenced(&u);
}

TEST(a_create_ends_the_drop_of_a_node_that_died)
{
    unfenced u;

    begin_unfenced(&u);
    fake_client_kill(nodes[NODES - 1].pool);
    CHECK_OK(create(&nodes[0], &u.waiters[0], &u.arena, TV_LIT("people")));
    end_unfenced(&u);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(tables_come_and_go_on_three_nodes_as_if_there_were_one),
        UNIT(a_drop_whose_node_died_before_the_fence_is_ended_by_the_leader),
        UNIT(a_create_ends_the_drop_of_the_table_that_had_its_name),
        UNIT(whoever_hears_that_a_table_is_gone_can_rely_on_it),
        UNIT(a_create_ends_the_drop_of_a_node_that_died),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
