/*
 * The catalogue on an engine that several nodes share: what one node does and when the
 * other knows.  Each node has an engine of its own over one store, a pipeline and a
 * catalogue.  The engines keep the promise of a fence as a cluster does: a node that has
 * not looked at its catalogue since is refused, looks, and tries again.
 */
#include "model/catalog/catalog.h"

#include "base/thread.h"
#include "model/catalog/internal.h"
#include "services/table/service.h"
#include "store.h"
#include "store/commit/waiter.h"
#include "table_requests.h"

enum { NODES = 2 };

typedef struct node {
    tv_engine base; /* first, so that the engine's functions find the node */
    tv_engine_ops ops;
    tv_pipeline *pipeline;
    tv_waiter waiter;
    tv_catalog *catalog;
    atomic_int drops_known;
    tv_lead lead;
    atomic_int told;
} node;

static tv_engine *store;
static node nodes[NODES];
static pthread_rwlock_t fence_lock;   /* held for reading by what reads or writes the store */
static int drops;                     /* fences so far */
static bool is_fenced_off;            /* the fence has no effect: to show that it is needed */
static _Thread_local bool is_looking; /* inside the look that a fence asks for */

/* Begin an operation on the store: end_use ends it.  False: the catalogue was behind. */
static bool begin_use(node *n)
{
    int known;

    if (is_looking)
        return true;

    pthread_rwlock_rdlock(&fence_lock);
    known = drops;
    if (is_fenced_off || atomic_load(&n->drops_known) == known)
        return true;

    pthread_rwlock_unlock(&fence_lock);
    is_looking = true;
    CHECK_OK(n->catalog ? tv_catalog_reload_dropped(n->catalog) : TV_OK);
    is_looking = false;
    atomic_store(&n->drops_known, known);
    return false;
}

static void end_use(void)
{
    if (!is_looking)
        pthread_rwlock_unlock(&fence_lock);
}

static _Thread_local void (*during_read)(void); /* called when a row has been read */

static tv_err node_get(tv_engine *of, tv_read_mode mode, tv_slice key, tv_arena *into,
                       tv_slice *ret_value)
{
    while (!begin_use((node *)of))
        ;
    tv_err err = tv_engine_get(store, mode, key, into, ret_value);
    end_use();
    if (during_read)
        during_read();
    return err;
}

static tv_err node_iter(tv_engine *of, tv_slice from, tv_slice to, tv_iter **ret_iter)
{
    while (!begin_use((node *)of))
        ;
    tv_err err = tv_engine_iter(store, from, to, ret_iter);
    end_use();
    return err;
}

static void (*_Atomic before_write)(void); /* called when a write was prepared */
static atomic_int conflicts;               /* writes that the store has refused */

static tv_err node_write(tv_engine *of, const tv_write_batch *batch)
{
    node *n = (node *)of;
    tv_err err = TV_ERR_CONFLICT;
    void (*before)(void) = before_write;

    if (before)
        before();
    if (!begin_use(n))
        return err;
    if (is_fenced_off || batch->fences == of->ops->fences(of))
        err = tv_engine_write(store, batch);
    atomic_fetch_add(&conflicts, err == TV_ERR_CONFLICT);
    end_use();
    return err;
}

static uint64_t node_fences(tv_engine *of)
{
    return (uint64_t)atomic_load(&((node *)of)->drops_known) + 1;
}

static tv_err node_drop_range(tv_engine *of, tv_slice from, tv_slice to)
{
    (void)of;
    return tv_engine_drop_range(store, from, to);
}

static tv_err node_fence(tv_engine *of, tv_slice from, tv_slice to)
{
    (void)of, (void)from, (void)to;
    pthread_rwlock_wrlock(&fence_lock);
    drops++;
    pthread_rwlock_unlock(&fence_lock);
    return TV_OK;
}

static void tell(void *ctx)
{
    atomic_fetch_add((atomic_int *)ctx, 1);
}

static void start_node(node *n)
{
    *n = (node){.ops = *store->ops};
    n->ops.is_shared = true;
    n->ops.get = node_get;
    n->ops.iter_new = node_iter;
    n->ops.write = node_write;
    n->ops.drop_range = node_drop_range;
    n->ops.fence = node_fence;
    n->ops.fences = node_fences;
    n->base.ops = &n->ops;
    atomic_store(&n->drops_known, drops);
    n->pipeline = tv_pipeline_new(&n->base, 2, 4096);
    tv_waiter_init(&n->waiter, n->pipeline);
    CHECK_OK(tv_catalog_open(&tv_table_catalog, &n->base, n->pipeline, &n->catalog));
    tv_catalog_tell(n->catalog, tell, &n->told);
}

static void stop_node(node *n)
{
    tv_catalog_close(n->catalog);
    tv_waiter_done(&n->waiter);
    tv_pipeline_free(n->pipeline);
}

static int set_up(void **state)
{
    (void)state;
    tv_arena_init(&arena);
    store = engine = tv_memory_engine_new(&(tv_memory_options){.is_shared = true});
    pthread_rwlock_init(&fence_lock, NULL);
    drops = 0;
    is_fenced_off = false;
    for (int i = 0; i < NODES; i++)
        start_node(&nodes[i]);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < NODES; i++)
        stop_node(&nodes[i]);
    pthread_rwlock_destroy(&fence_lock);
    tv_engine_close(store);
    tv_arena_done(&arena);
    return 0;
}

/* --- what a request does --- */

static tv_err create_on(node *n, tv_arena *in, const char *name)
{
    int64_t id;

    return request_create(n->catalog, &n->waiter, in, tv_slice_of(name), &id);
}

static tv_container *find_on(node *n, const char *name)
{
    return request_find(n->catalog, tv_slice_of(name));
}

static int64_t id_on(node *n, const char *name)
{
    tv_container *table = find_on(n, name);
    int64_t id = table ? table->id : 0;

    tv_container_unref(table);
    return id;
}

/* A deletion up to the answer. */
static tv_err delete_on(node *n, tv_arena *in, const char *name)
{
    tv_container *table = find_on(n, name);
    tv_err err;

    if (table == NULL)
        return TV_ERR_NOT_FOUND;
    err = request_take_out(n->catalog, &n->waiter, in, table);
    if (err == TV_OK)
        err = tv_catalog_fence(n->catalog, table);
    tv_container_unref(table);
    return err;
}

/* Write a row of a table that was found earlier. */
static tv_err write_on(node *n, tv_arena *in, tv_container *table, const char *text)
{
    request_row row;
    tv_write write = request_write_row(in, table, tv_slice_of(text), &row);

    return tv_waiter_run(&n->waiter, &write);
}

static tv_err set_policy_on(node *n, const char *name, const char *id)
{
    tv_container *table = find_on(n, name);
    tv_catalog_change op = {
        .catalog = n->catalog, .container = table, .arena = &arena, .sets_policies = true};
    tv_write write = {0};
    tv_err err;

    op.policies.count = 1;
    op.policies.list[0] = (tv_access_policy){.id = tv_slice_of(id)};
    tv_catalog_prepare_change(&op, &write);
    err = tv_waiter_run(&n->waiter, &write);
    tv_container_unref(table);
    return err;
}

static const char *policy_on(node *n, const char *name)
{
    static char text[80];
    tv_access_policies policies;

    if (tv_catalog_policies(n->catalog, ACCOUNT, tv_slice_of(name), &arena, &policies))
        return "no table";
    snprintf(text, sizeof text, "%.*s", policies.count ? (int)policies.list[0].id.len : 0,
             policies.count ? policies.list[0].id.data : "");
    return text;
}

/* --- one after the other --- */

TEST(what_one_node_creates_the_other_can_use_at_once)
{
    CHECK_OK(create_on(&nodes[0], &arena, "people"));
    CHECK_INT(atomic_load(&nodes[0].told), 1);
    CHECK(tv_catalog_find(nodes[1].catalog, ACCOUNT, TV_LIT("people")) == NULL);

    tv_container *table = find_on(&nodes[1], "PEOPLE");

    CHECK(table && table->id == id_on(&nodes[0], "people"));
    CHECK_TEXT(table->name, "people");
    CHECK_OK(write_on(&nodes[1], &arena, table, "a"));
    tv_container_unref(table);
    CHECK_ERR(create_on(&nodes[1], &arena, "People"), TV_ERR_TABLE_EXISTS);
    CHECK_INT(id_on(&nodes[1], "nobody"), 0);
}

TEST(ids_of_two_nodes_never_meet)
{
    for (int i = 0; i < 10; i++) {
        char name[20];

        snprintf(name, sizeof name, "t%d", i);
        CHECK_OK(create_on(&nodes[i % 2], &arena, name));
        CHECK_INT(id_on(&nodes[0], name), i + 1);
        CHECK_INT(id_on(&nodes[1], name), i + 1);
    }
}

TEST(nobody_writes_to_what_the_other_node_has_dropped)
{
    CHECK_OK(create_on(&nodes[0], &arena, "people"));

    tv_container *table = find_on(&nodes[1], "people");

    CHECK_OK(write_on(&nodes[1], &arena, table, "a"));
    CHECK_OK(delete_on(&nodes[0], &arena, "people"));
    CHECK(!atomic_load(&table->is_dropped)); /* it has not heard of it */
    CHECK_ERR(write_on(&nodes[1], &arena, table, "b"), TV_ERR_TABLE_NOT_FOUND);
    CHECK(atomic_load(&table->is_dropped));
    CHECK_INT(count_rows(table->prefix), 1);
    tv_container_unref(table);
    CHECK_INT(id_on(&nodes[1], "people"), 0);
}

/* The first table of an account, which nobody has looked for. */
TEST(nobody_writes_to_what_was_created_here_and_dropped_by_the_other_node)
{
    CHECK_OK(create_on(&nodes[0], &arena, "people"));

    tv_container *table = find_on(&nodes[0], "people");

    CHECK_OK(delete_on(&nodes[1], &arena, "people"));
    CHECK_ERR(write_on(&nodes[0], &arena, table, "a"), TV_ERR_TABLE_NOT_FOUND);
    CHECK_INT(count_rows(table->prefix), 0);
    tv_container_unref(table);
    CHECK_INT(id_on(&nodes[0], "people"), 0);
}

TEST(what_was_dropped_and_created_anew_is_another_table)
{
    CHECK_OK(create_on(&nodes[0], &arena, "people"));

    tv_container *old = find_on(&nodes[1], "people");

    CHECK_OK(delete_on(&nodes[0], &arena, "people"));
    CHECK_OK(create_on(&nodes[0], &arena, "people"));
    CHECK_ERR(write_on(&nodes[1], &arena, old, "a"), TV_ERR_TABLE_NOT_FOUND);
    CHECK_INT(id_on(&nodes[1], "people"), 2);

    tv_container *table = find_on(&nodes[1], "people");

    CHECK_OK(write_on(&nodes[1], &arena, table, "a"));
    tv_container_unref(old);
    tv_container_unref(table);
}

/* The one that drops it knows the name as a table that is long gone. */
TEST(a_name_with_an_old_table_is_settled_anew)
{
    CHECK_OK(create_on(&nodes[0], &arena, "people"));
    CHECK_INT(id_on(&nodes[1], "people"), 1);
    is_fenced_off = true; /* node 1 hears of nothing */
    CHECK_OK(delete_on(&nodes[0], &arena, "people"));

    tv_container *old = tv_catalog_find(nodes[1].catalog, ACCOUNT, TV_LIT("people"));

    CHECK_OK(create_on(&nodes[1], &arena, "people"));
    CHECK(atomic_load(&old->is_dropped));
    CHECK_INT(id_on(&nodes[1], "people"), 2);
    tv_container_unref(old);

    /* And it deletes what it knows by an id that is not there any more. */
    tv_container *table = find_on(&nodes[1], "people");
    CHECK_OK(delete_on(&nodes[0], &arena, "people"));
    CHECK_ERR(delete_on(&nodes[1], &arena, "people"), TV_ERR_NOT_FOUND);
    tv_container_unref(table);
}

TEST(policies_are_known_when_the_catalogue_is_followed)
{
    CHECK_OK(create_on(&nodes[0], &arena, "people"));
    CHECK_OK(set_policy_on(&nodes[0], "people", "one"));
    CHECK_INT(id_on(&nodes[1], "people"), 1);
    CHECK_TEXT(tv_slice_of(policy_on(&nodes[1], "people")), "one"); /* with the look */
    CHECK_OK(set_policy_on(&nodes[0], "people", "two"));
    CHECK_TEXT(tv_slice_of(policy_on(&nodes[1], "people")), "one");
    CHECK_OK(tv_catalog_follow(nodes[1].catalog, false));
    CHECK_TEXT(tv_slice_of(policy_on(&nodes[1], "people")), "two");
    CHECK_OK(set_policy_on(&nodes[1], "people", "three"));
    CHECK_OK(tv_catalog_look_up(nodes[0].catalog, ACCOUNT, TV_LIT("people")));
    CHECK_TEXT(tv_slice_of(policy_on(&nodes[0], "people")), "three");
}

/* Another node sets policies while a change of this node's is under way, which learns of them. */
static void set_others(void)
{
    before_write = NULL;
    CHECK_OK(set_policy_on(&nodes[1], "people", "theirs"));
    CHECK_OK(tv_catalog_follow(nodes[0].catalog, false));
    CHECK_TEXT(tv_slice_of(policy_on(&nodes[0], "people")), "theirs");
}

TEST(whoever_sets_policies_finds_them_set_on_that_node)
{
    CHECK_OK(create_on(&nodes[0], &arena, "people"));
    before_write = set_others;
    CHECK_OK(set_policy_on(&nodes[0], "people", "ours"));
    CHECK_TEXT(tv_slice_of(policy_on(&nodes[0], "people")), "ours");
    CHECK_OK(tv_catalog_follow(nodes[1].catalog, false));
    CHECK_TEXT(tv_slice_of(policy_on(&nodes[1], "people")), "ours");
}

/* They have one row in common, which tells all nodes that there is something new. */
static void set_those_of_another(void)
{
    before_write = NULL;
    CHECK_OK(set_policy_on(&nodes[1], "orders", "theirs"));
}

TEST(changes_of_different_tables_do_not_hold_each_other_up)
{
    CHECK_OK(create_on(&nodes[0], &arena, "people"));
    CHECK_OK(create_on(&nodes[0], &arena, "orders"));
    before_write = set_those_of_another;
    atomic_store(&conflicts, 0);
    CHECK_OK(set_policy_on(&nodes[0], "people", "ours"));
    CHECK_INT(atomic_load(&conflicts), 0);
    for (int i = 0; i < NODES; i++) {
        CHECK_OK(tv_catalog_follow(nodes[i].catalog, false));
        CHECK_TEXT(tv_slice_of(policy_on(&nodes[i], "people")), "ours");
        CHECK_TEXT(tv_slice_of(policy_on(&nodes[i], "orders")), "theirs");
    }
}

TEST(following_brings_what_was_created_and_takes_what_was_dropped)
{
    CHECK_OK(create_on(&nodes[0], &arena, "one"));
    CHECK_OK(create_on(&nodes[0], &arena, "two"));
    CHECK_OK(tv_catalog_follow(nodes[1].catalog, true)); /* the account is new to it */
    CHECK_INT(tv_catalog_count(nodes[1].catalog), 2);
    is_fenced_off = true;
    CHECK_OK(delete_on(&nodes[0], &arena, "one"));
    CHECK_OK(create_on(&nodes[0], &arena, "three"));

    tv_container *one = tv_catalog_find(nodes[1].catalog, ACCOUNT, TV_LIT("one"));

    CHECK_OK(tv_catalog_follow(nodes[1].catalog, false));
    CHECK(atomic_load(&one->is_dropped));
    CHECK_INT(tv_catalog_count(nodes[1].catalog), 2);
    CHECK(tv_catalog_find(nodes[1].catalog, ACCOUNT, TV_LIT("one")) == NULL);
    tv_container_unref(one);
}

TEST(nothing_is_read_again_that_has_not_changed)
{
    CHECK_OK(create_on(&nodes[0], &arena, "one"));
    CHECK_OK(tv_catalog_follow(nodes[1].catalog, true));

    tv_container *one = tv_catalog_find(nodes[1].catalog, ACCOUNT, TV_LIT("one"));
    uint64_t changed = one->changed;

    CHECK_OK(tv_catalog_follow(nodes[1].catalog, true));
    CHECK_INT(one->changed, changed);
    tv_container_unref(one);
}

TEST(settings_are_known_to_the_other_node)
{
    tv_catalog_set_settings op = {.catalog = nodes[0].catalog, .account = ACCOUNT, .arena = &arena};
    tv_write write = {0};
    tv_shared_settings *shared;

    op.update.logging = (tv_logging_settings){.is_set = true, .reads = true};
    tv_catalog_prepare_set_settings(&op, &write);
    CHECK_OK(tv_waiter_run(&nodes[0].waiter, &write));
    CHECK(tv_catalog_settings(nodes[1].catalog, ACCOUNT) == NULL);
    CHECK_OK(tv_catalog_follow(nodes[1].catalog, true));
    shared = tv_catalog_settings(nodes[1].catalog, ACCOUNT);
    CHECK(shared && shared->settings.logging.reads);
    tv_shared_settings_unref(shared);
}

static void set_logging_on(node *n, bool logs_reads)
{
    tv_catalog_set_settings op = {.catalog = n->catalog, .account = ACCOUNT, .arena = &arena};
    tv_write write = {0};

    op.update.logging = (tv_logging_settings){.is_set = true, .reads = logs_reads};
    tv_catalog_prepare_set_settings(&op, &write);
    CHECK_OK(tv_waiter_run(&n->waiter, &write));
}

static bool logs_reads_on(node *n)
{
    tv_shared_settings *shared = tv_catalog_settings(n->catalog, ACCOUNT);
    bool logs_reads = shared && shared->settings.logging.reads;

    tv_shared_settings_unref(shared);
    return logs_reads;
}

/* Another request looks at a name, and so at the settings, before they are written. */
static void look_before_the_write(void)
{
    CHECK_OK(tv_catalog_look_up(nodes[0].catalog, ACCOUNT, TV_LIT("nosuch")));
}

TEST(whoever_sets_settings_finds_them_set_on_that_node)
{
    set_logging_on(&nodes[0], true);
    CHECK(logs_reads_on(&nodes[0]));
    before_write = look_before_the_write;
    set_logging_on(&nodes[0], false);
    before_write = NULL;
    CHECK(!logs_reads_on(&nodes[0]));
}

/* A look that began before a deletion does not bring the table back. */
TEST(an_old_look_does_not_bring_back_what_was_dropped)
{
    CHECK_OK(create_on(&nodes[0], &arena, "people"));

    uint64_t barrier = tv_catalog_barrier(nodes[1].catalog);

    CHECK_OK(delete_on(&nodes[0], &arena, "people"));
    CHECK_OK(tv_catalog_reload_dropped(nodes[1].catalog));
    CHECK(tv_catalog_barrier(nodes[1].catalog) > barrier);
    CHECK_INT(id_on(&nodes[1], "people"), 0);
}

static void wait_until_dropped(tv_slice rows)
{
    tv_slice notes = tv_key_catalog_dropped(&arena, TV_SPACE_TABLES, ACCOUNT);

    wait_until_empty(notes);
    CHECK_INT(count_rows(rows), 0);
}

TEST(the_leader_collects_what_others_have_dropped)
{
    CHECK_OK(create_on(&nodes[0], &arena, "people"));

    tv_container *table = find_on(&nodes[0], "people");

    CHECK_OK(write_on(&nodes[0], &arena, table, "a"));
    CHECK_OK(delete_on(&nodes[0], &arena, "people"));
    CHECK_INT(count_rows(table->prefix), 1); /* nobody leads */
    CHECK_OK(tv_catalog_follow(nodes[1].catalog, true));
    tv_catalog_lead(nodes[1].catalog, &nodes[1].lead);
    atomic_store(&nodes[1].lead.is_leader, true);
    wait_until_dropped(table->prefix);
    tv_container_unref(table);
}

static size_t count_unfenced(const char *name)
{
    return count_rows(tv_key_catalog_unfenced(&arena, TV_SPACE_TABLES, ACCOUNT, tv_slice_of(name)));
}

/* The catalogue's part of a deletion, as by a node that dies then. */
static void take_out_on(node *n, const char *name)
{
    tv_container *table = find_on(n, name);

    CHECK_OK(request_take_out(n->catalog, &n->waiter, &arena, table));
    tv_container_unref(table);
}

TEST(what_is_said_of_an_unfinished_drop_goes_when_it_is_finished)
{
    CHECK_OK(create_on(&nodes[0], &arena, "people"));
    take_out_on(&nodes[0], "people");
    CHECK_INT(count_unfenced("People"), 1);
    CHECK_INT(drops, 0);
    CHECK_INT(id_on(&nodes[1], "people"), 0); /* a look finishes it */
    CHECK_INT(count_unfenced("people"), 0);
    CHECK_INT(drops, 1);
    CHECK_INT(id_on(&nodes[1], "people"), 0);
    CHECK_INT(drops, 1);
    CHECK_OK(create_on(&nodes[0], &arena, "people"));
    take_out_on(&nodes[1], "people");
    CHECK_OK(create_on(&nodes[0], &arena, "people")); /* so does a create */
    CHECK_INT(count_unfenced("people"), 0);
    CHECK_INT(drops, 2);
    CHECK_OK(delete_on(&nodes[0], &arena, "people")); /* and who has begun it */
    CHECK_INT(count_unfenced("people"), 0);
    CHECK_INT(drops, 3);
}

TEST(the_leader_finishes_what_nobody_asks_for_again)
{
    CHECK_OK(create_on(&nodes[0], &arena, "people"));
    take_out_on(&nodes[0], "people");
    CHECK_OK(tv_catalog_follow(nodes[1].catalog, true));
    tv_catalog_lead(nodes[1].catalog, &nodes[1].lead);
    atomic_store(&nodes[1].lead.is_leader, true);
    wait_until_dropped(tv_key_table(&arena, ACCOUNT, 1));
    CHECK_INT(count_unfenced("people"), 0);
}

/* The note is of a later table of that name: the leader, which is slow, leaves it. */
TEST(what_is_said_of_a_later_drop_stays)
{
    tv_catalog *catalog = nodes[0].catalog;

    CHECK_OK(create_on(&nodes[0], &arena, "people"));

    tv_container *old = find_on(&nodes[0], "people");

    CHECK_OK(delete_on(&nodes[0], &arena, "people"));
    CHECK_OK(create_on(&nodes[0], &arena, "people"));
    take_out_on(&nodes[0], "people");
    CHECK_OK(tv_catalog_fence(catalog, old));
    CHECK_INT(count_unfenced("people"), 1);
    tv_container_unref(old);
}

/* A second look at a name, by another request, each time that the first one has read a row. */
static void look_meanwhile(void)
{
    void (*again)(void) = during_read;

    during_read = NULL;
    CHECK_OK(tv_catalog_look_up(nodes[0].catalog, ACCOUNT, TV_LIT("people")));
    during_read = again;
}

TEST(looks_at_one_name_do_not_hinder_each_other)
{
    CHECK_OK(create_on(&nodes[1], &arena, "people"));
    CHECK_OK(set_policy_on(&nodes[1], "people", "mine"));
    during_read = look_meanwhile;

    tv_err err = tv_catalog_look_up(nodes[0].catalog, ACCOUNT, TV_LIT("people"));

    during_read = NULL;
    CHECK_OK(err);
    CHECK_INT(strcmp(policy_on(&nodes[0], "people"), "mine"), 0);
}

/* --- all at once --- */

enum { ROUNDS = 300 };

static atomic_bool is_over;

/* Node 1: writes to whatever table has the name, as fast as it can. */
static void *write_always(void *ctx)
{
    atomic_int *written = ctx;
    tv_arena own;

    tv_arena_init(&own);
    for (int i = 0; !atomic_load(&is_over); i++) {
        tv_container *table = find_on(&nodes[1], "people");
        char text[20];

        snprintf(text, sizeof text, "%d", i);
        if (table) {
            tv_err err = write_on(&nodes[1], &own, table, text);

            CHECK(err == TV_OK || err == TV_ERR_TABLE_NOT_FOUND);
            atomic_fetch_add(written, err == TV_OK);
        }
        tv_container_unref(table);
        tv_arena_reset(&own);
        if (i % 16 == 0)
            CHECK_OK(tv_catalog_follow(nodes[1].catalog, false));
    }
    tv_arena_done(&own);
    return NULL;
}

/* Looks from other threads of node 1, which may be slow, and so old. */
static void *look_always(void *ctx)
{
    (void)ctx;
    while (!atomic_load(&is_over))
        CHECK_OK(tv_catalog_look_up(nodes[1].catalog, ACCOUNT, TV_LIT("people")));
    return NULL;
}

static void race(size_t *ret_late, int *ret_written)
{
    static size_t rows[ROUNDS];
    static int64_t ids[ROUNDS];
    pthread_t writer, looker;
    atomic_int written = 0;

    atomic_store(&is_over, false);
    CHECK_INT(pthread_create(&writer, NULL, write_always, &written), 0);
    CHECK_INT(pthread_create(&looker, NULL, look_always, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        tv_arena_reset(&arena);
        CHECK_OK(create_on(&nodes[0], &arena, "people"));
        ids[i] = id_on(&nodes[0], "people");
        if (i == 0)
            WAIT_UNTIL(atomic_load(&written) > 0); /* it has begun, and can */
        else
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        CHECK_OK(delete_on(&nodes[0], &arena, "people"));
        rows[i] = count_rows(tv_key_table(&arena, ACCOUNT, ids[i])); /* the client is answered */
    }
    atomic_store(&is_over, true);
    pthread_join(writer, NULL);
    pthread_join(looker, NULL);
    *ret_written = atomic_load(&written);
    *ret_late = 0;
    for (int i = 0; i < ROUNDS; i++)
        *ret_late += count_rows(tv_key_table(&arena, ACCOUNT, ids[i])) - rows[i];
}

TEST(no_row_is_written_after_a_deletion_was_answered)
{
    size_t late;
    int written;

    race(&late, &written);
    CHECK_INT(late, 0);
    CHECK(written > 0);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(what_one_node_creates_the_other_can_use_at_once),
        UNIT(ids_of_two_nodes_never_meet),
        UNIT(nobody_writes_to_what_the_other_node_has_dropped),
        UNIT(nobody_writes_to_what_was_created_here_and_dropped_by_the_other_node),
        UNIT(what_was_dropped_and_created_anew_is_another_table),
        UNIT(a_name_with_an_old_table_is_settled_anew),
        UNIT(policies_are_known_when_the_catalogue_is_followed),
        UNIT(whoever_sets_policies_finds_them_set_on_that_node),
        UNIT(changes_of_different_tables_do_not_hold_each_other_up),
        UNIT(following_brings_what_was_created_and_takes_what_was_dropped),
        UNIT(nothing_is_read_again_that_has_not_changed),
        UNIT(settings_are_known_to_the_other_node),
        UNIT(whoever_sets_settings_finds_them_set_on_that_node),
        UNIT(an_old_look_does_not_bring_back_what_was_dropped),
        UNIT(the_leader_collects_what_others_have_dropped),
        UNIT(what_is_said_of_an_unfinished_drop_goes_when_it_is_finished),
        UNIT(the_leader_finishes_what_nobody_asks_for_again),
        UNIT(what_is_said_of_a_later_drop_stays),
        UNIT(looks_at_one_name_do_not_hinder_each_other),
        UNIT(no_row_is_written_after_a_deletion_was_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
