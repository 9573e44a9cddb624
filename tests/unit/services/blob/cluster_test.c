/*
 * Blobs on a cluster of two nodes: rows of the cluster engine, extents in the same pool.  What one
 * node has put the other reads, changes and collects.
 */
#include "../../store/extent/pool_fixture.h"

#include <pthread.h>

#include "services/blob/body/visit.h"
#include "services/blob/store/change.h"
#include "services/blob/store/gc.h"
#include "services/blob/store/reader.h"
#include "store/engine/key.h"
#include "store/engine/rados/rados.h"

typedef struct member {
    node node;
    tv_engine *engine;
} member;

static tv_arena arena;
static tv_slice container;
static atomic_bool is_dropped;
static member a, b;
static uint64_t live[4];
static size_t live_count;

static tv_err shut_out_boots(void *ctx, tv_arena *to, tv_extent_boots *ret_boots)
{
    (void)ctx, (void)to;
    *ret_boots = (tv_extent_boots){live, live_count, 2};
    return TV_OK;
}

static member member_open(uint64_t boot)
{
    member m = {.node = node_open(boot, (tv_extent_pool_options){.shut_out_boots = shut_out_boots,
                                                                 .times.sweep_gap_ms = -1,
                                                                 .times.visit_ms_max = 20})};
    char text[200];

    if (tv_rados_engine_open(&(tv_rados_options){.pool = m.node.pool}, &m.engine, text,
                             sizeof text))
        CHECK_FAIL("cannot open the engine: %s", text);
    return m;
}

static void member_close(member *m)
{
    tv_engine_close(m->engine);
    node_close(&m->node);
}

static int begin(void **state)
{
    (void)state;
    t_row = "";
    tv_log_set_level(TV_LOG_OFF);
    cluster = fake_cluster_new(
        &(fake_options){.seed = seed_start(), .is_threaded = true, .has_short_pages = true});
    tv_arena_init(&arena);
    container = tv_key_container(&arena, TV_LIT("acct"), 1);
    atomic_store(&is_dropped, false);
    live[0] = 1;
    live[1] = 2;
    live_count = 2;
    a = member_open(1);
    b = member_open(2);
    return 0;
}

static int end(void **state)
{
    member_close(&a);
    member_close(&b);
    tv_arena_done(&arena);
    return tear_down(state);
}

static tv_blob_change change_of(const char *name)
{
    tv_blob_change change = {.is_dropped = &is_dropped, .arena = &arena};

    CHECK_OK(tv_key_blob(&arena, container, tv_slice_of(name), &change.partition));
    return change;
}

#define RUN(m, fn, change)                                                                         \
    tv_engine_update((m)->engine, ((tv_blob_change *)(change))->partition, fn, change)

enum { BLOCK_BYTES = 100000 };

static tv_blob_data data_of(member *m)
{
    return (tv_blob_data){.extent = put(m->node.extents, some_bytes(BLOCK_BYTES)),
                          .length = BLOCK_BYTES};
}

static void put_block(member *m, const char *name, const char *id)
{
    tv_put_block put_it = {.change = change_of(name), .data = data_of(m)};

    put_it.data.block_id = tv_slice_of(id);
    CHECK_OK(RUN(m, tv_put_block_run, &put_it));
}

static void put_block_list(member *m, const char *name, const char *const *ids, size_t count)
{
    tv_block_choice choices[32];
    tv_put_block_list list = {.change = change_of(name), .choices = choices, .choice_count = count};

    for (size_t i = 0; i < count; i++)
        choices[i] = (tv_block_choice){.source = TV_BLOCK_LATEST, .id = tv_slice_of(ids[i])};
    CHECK_OK(RUN(m, tv_put_block_list_run, &list));
    tv_extents_remove(m->node.extents, list.change.garbage, list.change.garbage_count);
}

/* Replace a blob by one extent. */
static void put_blob(member *m, const char *name)
{
    tv_blob_data data = data_of(m);
    tv_put_blob put_it = {
        .change = change_of(name), .type = TV_BLOB_BLOCK, .data = &data, .data_count = 1};

    CHECK_OK(RUN(m, tv_put_blob_run, &put_it));
    tv_extents_remove(m->node.extents, put_it.change.garbage, put_it.change.garbage_count);
}

/* Read all of a blob, every extent of it. */
static tv_err read_blob(member *m, const char *name, uint64_t *ret_length)
{
    tv_blob_reader *reader;
    tv_err err = tv_blob_reader_open(m->engine, change_of(name).partition, 0, &reader);

    if (err)
        return err;

    *ret_length = tv_blob_reader_head(reader)->length;
    for (uint64_t offset = 0; err == TV_OK && offset < *ret_length;) {
        tv_blob_piece piece;

        err = tv_blob_reader_piece(reader, offset, &piece);
        if (err == TV_OK)
            err = try_read(m->node.extents, piece.id, some_bytes(piece.length));
        offset = piece.end;
    }
    tv_blob_reader_close(reader);
    return err;
}

static void check_blob(member *m, const char *name, size_t blocks)
{
    uint64_t length = 0;

    CHECK_OK(read_blob(m, name, &length));
    CHECK_INT(length, blocks * BLOCK_BYTES);
}

static tv_extent_mark_fn *mark;
static void *marker;

static tv_err found(void *ctx, tv_slice blob, tv_extent_id id)
{
    (void)ctx, (void)blob;
    mark(marker, id);
    return TV_OK;
}

static tv_err mark_rows(void *ctx, tv_extent_mark_fn *fn, void *its_marker)
{
    mark = fn;
    marker = its_marker;
    return tv_blob_visit_all_extents(((member *)ctx)->engine,
                                     &(tv_blob_extent_visitor){.found = found});
}

static tv_extent_gc sweep(member *m)
{
    tv_extent_gc gc = {.mark_rows = mark_rows, .ctx = m};

    CHECK_OK(tv_extents_gc(m->node.extents, &gc));
    wait_for_removals(m->node.extents);
    return gc;
}

static const char *const ids[] = {
    "MDA=", "MDE=", "MDI=", "MDM=", "MDQ=", "MDU=", "MDY=", "MDc=", "MDg=", "MDk=", "MTA=", "MTE="};

TEST(a_block_list_is_put_together_on_both_nodes)
{
    for (size_t i = 0; i < COUNT(ids); i++)
        put_block(i % 2 ? &a : &b, "blob", ids[i]);
    CHECK_INT(part_count(), COUNT(ids));
    put_block_list(&a, "blob", ids, COUNT(ids));
    check_blob(&a, "blob", COUNT(ids));
    check_blob(&b, "blob", COUNT(ids));

    /* The other node makes a shorter one of it; what is left out goes. */
    put_block_list(&b, "blob", ids, 3);
    wait_for_removals(b.node.extents);
    check_blob(&a, "blob", 3);
    CHECK_INT(part_count(), 3);
}

/* Whatever happens to the uploader: what has a row stays. */
TEST(a_sweep_takes_only_what_has_no_row)
{
    for (size_t i = 0; i < COUNT(ids); i++)
        put_block(&a, "committed", ids[i]);
    put_block_list(&b, "committed", ids, COUNT(ids));
    for (size_t i = 0; i < 3; i++)
        put_block(&a, "waiting", ids[i]);
    for (int i = 0; i < 20; i++) {
        char name[8];

        snprintf(name, sizeof name, "n%d", i);
        put_blob(&a, name);
    }
    put(a.node.extents, some_bytes(5 * MIB)); /* no row */
    put(b.node.extents, some_bytes(5 * MIB)); /* no row yet */
    CHECK_INT(sweep(&b).orphan_count, 0);
    live[0] = 2;
    live_count = 1; /* the first one has ended */
    CHECK_INT(sweep(&b).orphan_count, 1);
    CHECK_INT(sweep(&b).removed_count, 1);
    CHECK_INT(sweep(&b).missing_count, 0);
    CHECK_INT(part_count(), COUNT(ids) + 3 + 20 + 2);
    check_blob(&b, "committed", COUNT(ids));
    put_block_list(&b, "waiting", ids, 3);
    check_blob(&b, "waiting", 3);
    check_blob(&b, "n7", 1);
}

/* A reader that is slower than removals looks at the head again, and learns of the change. */
TEST(a_blob_is_replaced_while_the_other_node_reads_it)
{
    tv_extent_visit visit;
    tv_blob_head head;
    tv_blob_visit reading = {.engine = b.engine,
                             .extents = b.node.extents,
                             .visit = &visit,
                             .partition = change_of("blob").partition};

    put_blob(&a, "blob");
    tv_extent_visit_begin(b.node.extents, &visit);
    CHECK_OK(tv_blob_get_head(b.engine, TV_READ_ANY, reading.partition, 0, &arena, &head));
    reading.etag = head.etag;
    CHECK_OK(try_read(b.node.extents, head.pieces[0].id, some_bytes(BLOCK_BYTES)));

    /* Long after, nothing has changed: the visit goes on. */
    WAIT_UNTIL(tv_extent_visit_must_renew(b.node.extents, &visit));
    CHECK_ERR(tv_blob_visit_go_on(&reading, TV_READ_CACHED), TV_ERR_WOULD_BLOCK);
    CHECK_OK(tv_blob_visit_go_on(&reading, TV_READ_ANY));
    CHECK_OK(try_read(b.node.extents, head.pieces[0].id, some_bytes(BLOCK_BYTES)));

    put_blob(&a, "blob");
    wait_for_removals(a.node.extents);
    WAIT_UNTIL(tv_extent_visit_must_renew(b.node.extents, &visit));
    CHECK_ERR(tv_blob_visit_go_on(&reading, TV_READ_ANY), TV_ERR_CONFLICT);
    CHECK_ERR(try_read(b.node.extents, head.pieces[0].id, some_bytes(BLOCK_BYTES)),
              TV_ERR_NOT_FOUND);
    tv_delete_blob delete = {.change = change_of("blob")};

    CHECK_OK(RUN(&a, tv_delete_blob_run, &delete));
    CHECK_ERR(tv_blob_visit_go_on(&reading, TV_READ_ANY), TV_ERR_CONFLICT);
    tv_extent_visit_end(b.node.extents, &visit);
}

/* --- everything at once --- */

enum { ROUNDS = 40, BLOBS = 3 };

static void *change_blobs(void *ctx)
{
    member *m = ctx;
    tv_arena own;

    tv_arena_init(&own);
    for (int i = 0; i < ROUNDS; i++) {
        tv_blob_change change = {.is_dropped = &is_dropped, .arena = &own};
        tv_blob_data data = data_of(m);
        char name[8];

        snprintf(name, sizeof name, "x%d", i % BLOBS);
        CHECK_OK(tv_key_blob(&own, container, tv_slice_of(name), &change.partition));

        tv_put_blob put_it = {
            .change = change, .type = TV_BLOB_BLOCK, .data = &data, .data_count = 1};
        tv_err err;

        do
            err = RUN(m, tv_put_blob_run, &put_it);
        while (err == TV_ERR_CONFLICT);
        CHECK_OK(err);
        tv_extents_remove(m->node.extents, put_it.change.garbage, put_it.change.garbage_count);
    }
    tv_arena_done(&own);
    return NULL;
}

TEST(both_nodes_replace_the_same_blobs_while_one_sweeps)
{
    pthread_t threads[2];

    CHECK(pthread_create(&threads[0], NULL, change_blobs, &a) == 0);
    CHECK(pthread_create(&threads[1], NULL, change_blobs, &b) == 0);
    for (int i = 0; i < 10; i++) {
        tv_extent_gc gc = {.mark_rows = mark_rows, .ctx = &b, .keeps_all = i % 2};

        CHECK_OK(tv_extents_gc(b.node.extents, &gc));
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    wait_for_removals(a.node.extents);
    wait_for_removals(b.node.extents);
    for (int i = 0; i < BLOBS; i++) {
        char name[8];

        snprintf(name, sizeof name, "x%d", i);
        check_blob(&a, name, 1);
        check_blob(&b, name, 1);
    }
    CHECK_INT(part_count(), BLOBS);
}

#undef T
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_block_list_is_put_together_on_both_nodes),
        T(a_sweep_takes_only_what_has_no_row),
        T(a_blob_is_replaced_while_the_other_node_reads_it),
        T(both_nodes_replace_the_same_blobs_while_one_sweeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
