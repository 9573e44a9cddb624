/*
 * What becomes of large data that no row refers to any more: the extents of a
 * deleted container, of blocks that were never committed, and of an upload that
 * a crash cut short.
 */
#include "services/blob/gc.h"

#include "../../store/extent/fixture.h"
#include "base/clock.h"
#include "services/blob/service.h"
#include "services/blob/store/change.h"
#include "services/blob/store/container.h"
#include "store.h"
#include "store/engine/instant.h"

static tv_extents *extents;
static tv_blob_gc_container container_gc;
static tv_catalog_kind kind;
static tv_catalog *catalog;

static void open_all(void)
{
    extents = open_store();
    container_gc = (tv_blob_gc_container){.engine = engine, .store = extents};
    kind = tv_blob_catalog(&container_gc);
    CHECK_OK(open_catalog(&kind, &catalog));
}

static void close_all(void)
{
    tv_catalog_close(catalog);
    tv_extents_close(extents);
}

static int set_up(__attribute__((unused)) void **state)
{
    make_folder(temporary());
    store_start();
    open_all();
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    close_all();
    store_stop();
    remove_folder();
    tv_clock_set_fake_ticks(0);
    return 0;
}

static tv_container *make_container(const char *name)
{
    tv_container_attributes attributes = {.created = 1, .etag = 1};
    tv_catalog_create create = {.catalog = catalog,
                                .account = ACCOUNT,
                                .name = tv_slice_of(name),
                                .attributes = tv_container_attributes_encode(&arena, &attributes),
                                .arena = &arena};
    tv_write write = {0};

    tv_catalog_prepare_create(&create, &write);
    CHECK_OK(commit(&write));
    return tv_catalog_find(catalog, ACCOUNT, tv_slice_of(name));
}

static tv_blob_change change_of(tv_container *container, const char *name)
{
    tv_blob_change change = {.is_dropped = &container->is_dropped, .arena = &arena};

    CHECK_OK(tv_key_blob(&arena, container->prefix, tv_slice_of(name), &change.partition));
    return change;
}

static tv_extent_id put_blob(tv_container *container, const char *name)
{
    tv_extent_id id = put(extents, TV_LIT("some data"));
    tv_blob_data data = {.extent = id, .length = 9};
    tv_put_blob op = {.change = change_of(container, name),
                      .type = TV_BLOB_BLOCK,
                      .data = &data,
                      .data_count = 1};
    tv_write write = {.partition = op.change.partition, .run = tv_put_blob_run, .ctx = &op};

    CHECK_OK(commit(&write));
    return id;
}

static tv_extent_id put_block(tv_container *container, const char *name)
{
    tv_extent_id id = put(extents, TV_LIT("some data"));
    tv_put_block op = {.change = change_of(container, name),
                       .data = {.extent = id, .length = 9, .block_id = TV_LIT("MQ==")}};
    tv_write write = {.partition = op.change.partition, .run = tv_put_block_run, .ctx = &op};

    CHECK_OK(commit(&write));
    return id;
}

/* Up to a minute. */
static void wait_until_gone(tv_extent_id id)
{
    WAIT_UNTIL(!is_there(id));
}

enum { SCAN_INTERVAL_S = 3600 };

static bool keeps_extents, no_sweep;
static const tv_lead *lead;
static tv_blob_gc *gc;

static tv_blob_gc_scan *start_scan(void)
{
    gc = tv_blob_gc_new(engine, pipeline, extents);
    return tv_blob_gc_scan_new(&(tv_blob_gc_scan_options){.engine = engine,
                                                          .pipeline = pipeline,
                                                          .catalog = catalog,
                                                          .extents = extents,
                                                          .gc = gc,
                                                          .interval_s = SCAN_INTERVAL_S,
                                                          .no_sweep = no_sweep,
                                                          .lead = lead,
                                                          .keeps_extents = keeps_extents});
}

static void stop_scan(tv_blob_gc_scan *scan)
{
    tv_blob_gc_scan_free(scan);
    tv_blob_gc_free(gc);
}

TEST(the_extents_of_a_deleted_container_go_with_it)
{
    tv_container *gone = make_container("gone"), *stays = make_container("stays");
    tv_extent_id blob = put_blob(gone, "a"), block = put_block(gone, "b");
    tv_extent_id other = put_blob(stays, "a");
    tv_catalog_delete delete_op = {.catalog = catalog, .container = gone, .arena = &arena};
    tv_write write = {0};

    tv_catalog_prepare_delete(&delete_op, &write);
    CHECK_OK(commit(&write));
    wait_until_gone(blob);
    wait_until_gone(block);
    wait_until_empty(gone->prefix);
    CHECK(is_there(other));
    tv_container_unref(gone);
    tv_container_unref(stays);
}

TEST(blocks_that_nobody_commits_go_after_a_week)
{
    int64_t now = tv_clock_ticks();
    tv_container *con = make_container("con");
    tv_extent_id old, blob = put_blob(con, "blob"), young;
    tv_blob_gc_scan *scan;

    tv_clock_set_fake_ticks(now);
    old = put_block(con, "old");
    tv_clock_set_fake_ticks(now + TV_BLOB_UNCOMMITTED_TICKS + TV_TICKS_PER_SECOND);
    young = put_block(con, "young");
    scan = start_scan();
    wait_until_gone(old);
    CHECK(is_there(blob));
    CHECK(is_there(young));
    stop_scan(scan);
    tv_container_unref(con);
}

TEST(what_a_crash_left_goes_after_the_next_start)
{
    tv_container *con = make_container("con");
    tv_extent_id kept = put_blob(con, "kept"), block = put_block(con, "block");
    tv_extent_id orphan = put(extents, TV_LIT("some data"));
    tv_blob_gc_scan *scan;

    tv_container_unref(con);
    close_all();
    open_all();

    tv_extent_id unfinished =
        put(extents, TV_LIT("some data")); /* of this start: its row may still come */

    scan = start_scan();
    wait_until_gone(orphan);
    CHECK(is_there(kept));
    CHECK(is_there(block));
    CHECK(is_there(unfinished));
    stop_scan(scan);
}

/* Delete a blob that has more than a deletion may remove at once. */
static tv_slice delete_blob(tv_container *container, const char *name)
{
    size_t at_once_max = tv_blob_at_once_max;
    tv_delete_blob op = {.change = change_of(container, name)};
    tv_write write = {.partition = op.change.partition, .run = tv_delete_blob_run, .ctx = &op};

    tv_blob_at_once_max = 0;
    CHECK_OK(commit(&write));
    tv_blob_at_once_max = at_once_max;
    CHECK(op.change.has_discards);
    return op.change.partition;
}

TEST(what_a_change_has_left_is_collected)
{
    tv_container *con = make_container("con");
    tv_extent_id stays = put_blob(con, "a"), goes = put_blob(con, "b");
    tv_extent_id block = put_block(con, "b");
    tv_slice partition = delete_blob(con, "b");

    CHECK(is_there(goes) && is_there(block));
    CHECK(count_rows(partition) > 0);
    gc = tv_blob_gc_new(engine, pipeline, extents);
    tv_blob_gc_add(gc, con, partition);
    wait_until_gone(goes);
    wait_until_gone(block);
    CHECK_INT(count_rows(partition), 0);
    CHECK(is_there(stays));
    tv_blob_gc_free(gc);
    tv_container_unref(con);
}

static tv_err wait_at_gate(__attribute__((unused)) tv_txn *txn, void *gate)
{
    sem_wait(gate);
    return TV_OK;
}

/* However often a blob is changed while the gc is busy. */
TEST(a_blob_waits_to_be_collected_only_once)
{
    tv_container *con = make_container("con");
    tv_extent_id goes = put_blob(con, "busy"), other = put_blob(con, "b");
    tv_slice busy = delete_blob(con, "busy"), partition = delete_blob(con, "b");
    sem_t gate;

    gc = tv_blob_gc_new(engine, pipeline, extents);
    sem_init(&gate, 0, 0);

    /* The gc's step for the first blob waits until this is done. */
    tv_write held = {.mail.deliver = deliver, .partition = busy, .run = wait_at_gate, .ctx = &gate};

    held.reply_to = &mailbox;
    is_delivered = false;
    tv_outbox_add(outbox, &held);
    tv_outbox_flush(outbox);
    tv_blob_gc_add(gc, con, busy);
    WAIT_UNTIL(tv_blob_gc_waiting(gc) == 0);
    for (int i = 0; i < 100; i++)
        tv_blob_gc_add(gc, con, partition);
    CHECK_INT(tv_blob_gc_waiting(gc), 1);
    sem_post(&gate);
    while (!is_delivered) {
        sem_wait(&woken);
        tv_mailbox_deliver(&mailbox);
    }
    wait_until_gone(goes);
    wait_until_gone(other);
    tv_blob_gc_free(gc);
    sem_destroy(&gate);
    tv_container_unref(con);
}

TEST(what_nobody_has_collected_is_found_after_a_start)
{
    tv_container *con = make_container("con");
    tv_extent_id stays = put_blob(con, "a"), goes = put_blob(con, "b");
    tv_slice partition = delete_blob(con, "b");
    tv_blob_gc_scan *scan;

    tv_container_unref(con);
    close_all();
    open_all();
    scan = start_scan();
    wait_until_gone(goes);
    wait_until_empty(partition);
    CHECK(is_there(stays));
    stop_scan(scan);
}

/* With its container: the gc finds nothing to do, or nothing to do it in. */
TEST(what_nobody_has_collected_goes_with_its_container)
{
    tv_container *con = make_container("con");
    tv_extent_id goes = put_blob(con, "b");
    tv_slice partition = delete_blob(con, "b");
    tv_catalog_delete delete_op = {.catalog = catalog, .container = con, .arena = &arena};
    tv_write write = {0};

    tv_catalog_prepare_delete(&delete_op, &write);
    CHECK_OK(commit(&write));
    gc = tv_blob_gc_new(engine, pipeline, extents);
    tv_blob_gc_add(gc, con, partition);
    wait_until_gone(goes);
    wait_until_empty(con->prefix);
    tv_blob_gc_free(gc);
    tv_container_unref(con);
}

static int occurrences(const char *log, const char *text)
{
    int count = 0;

    for (const char *at = strstr(log, text); at; at = strstr(at + 1, text))
        count++;
    return count;
}

/*
 * Start a scan with standard error going to a file until so many lines have come that have `text`:
 * after each but the last it is told to collect again, and more than its interval has passed.
 */
static void scan_until_logged(const char *text, int lines, char *ret_log, size_t size)
{
    int saved = dup(STDERR_FILENO);
    FILE *log = tmpfile();
    size_t len = 0;

    CHECK(saved >= 0 && log != NULL && dup2(fileno(log), STDERR_FILENO) == STDERR_FILENO);
    tv_blob_gc_scan *scan = start_scan();

    int64_t end_ns = wait_end_ns();

    for (int seen = 0; seen < lines && wait_a_little(end_ns);) {
        len = (size_t)pread(fileno(log), ret_log, size - 1, 0);
        ret_log[len] = '\0';
        if (occurrences(ret_log, text) > seen && ++seen < lines) {
            tv_clock_skip_ns(2 * SCAN_INTERVAL_S * INT64_C(1000000000));
            tv_blob_gc_scan_soon(scan);
        }
    }
    stop_scan(scan);
    CHECK(dup2(saved, STDERR_FILENO) == STDERR_FILENO);
    close(saved);
    fclose(log);
    if (occurrences(ret_log, text) < lines)
        CHECK_FAIL("not %d times %s in: %s", lines, text, ret_log);
}

TEST(when_data_is_missing_its_blob_is_named_and_nothing_is_removed)
{
    static char log[16 * 1024];
    tv_container *con = make_container("photos");
    tv_extent_id lost = put_blob(con, "trip/ada.jpg"), kept = put_blob(con, "kept");
    tv_extent_id orphan = put(extents, TV_LIT("some data"));

    tv_container_unref(con);
    close_all();
    CHECK(unlink(path_of(lost)) == 0);
    open_all();
    scan_until_logged("event=extents_missing count=1 extents_kept=1", 1, log, sizeof log);
    CHECK(strstr(log, "event=blob_damaged account=acct container=photos extent=\""));
    CHECK(strstr(log, path_of(lost)) && strstr(log, "blob=\"trip/ada.jpg\""));
    CHECK_INT(read_metrics(extents).damaged, 1);
    CHECK(!strstr(log, "kept\""));
    wait_for_removals(extents, 0);
    CHECK(is_there(kept) && is_there(orphan));
}

TEST(after_a_part_of_the_log_was_dropped_nothing_is_removed)
{
    static char log[16 * 1024];
    int64_t now = tv_instant_now(); /* later than the clock after another test */
    tv_container *con = make_container("con");
    tv_extent_id orphan = put(extents, TV_LIT("some data"));

    tv_clock_set_fake_ticks(now);
    tv_extent_id old = put_block(con, "old");

    tv_clock_set_fake_ticks(now + TV_BLOB_UNCOMMITTED_TICKS + TV_TICKS_PER_SECOND);
    put_blob(con, "blob");
    tv_container_unref(con);
    close_all();
    open_all();
    keeps_extents = true;
    /* With the third line the round of the second is over, and with it what it does to blocks. */
    scan_until_logged("event=sweep service=blob extents_kept=1 ", 3, log, sizeof log);
    keeps_extents = false;
    wait_for_removals(extents, 0);
    CHECK(is_there(orphan) && is_there(old));

    tv_blob_gc_scan *scan = start_scan();

    wait_until_gone(orphan);
    wait_until_gone(old);
    stop_scan(scan);
}

TEST(without_the_sweep_only_blocks_go)
{
    static char log[16 * 1024];
    int64_t now = tv_instant_now(); /* later than the clock after another test */
    tv_container *con = make_container("con");
    tv_extent_id orphan = put(extents, TV_LIT("some data"));

    tv_clock_set_fake_ticks(now);
    tv_extent_id old = put_block(con, "old");

    tv_clock_set_fake_ticks(now + TV_BLOB_UNCOMMITTED_TICKS + TV_TICKS_PER_SECOND);
    tv_container_unref(con);
    close_all();
    open_all();
    no_sweep = true;
    scan_until_logged("event=sweep service=blob extents_kept=1 ", 1, log, sizeof log);

    tv_blob_gc_scan *scan = start_scan();

    wait_until_gone(old);
    stop_scan(scan);
    no_sweep = false;
    wait_for_removals(extents, 0);
    CHECK(is_there(orphan));
}

/* Of the nodes of a cluster one collects for all. */
TEST(only_the_node_that_leads_collects)
{
    tv_lead other = {.is_leader = false};
    tv_extent_id orphan = put(extents, TV_LIT("some data"));

    close_all();
    open_all();
    lead = &other;

    tv_blob_gc_scan *scan = start_scan();

    /* The second round that ends has begun after the first, so it is one of the scan that was
     * asked for. */
    WAIT_UNTIL((tv_blob_gc_scan_soon(scan), tv_blob_gc_scan_rounds(scan) >= 2));
    wait_for_removals(extents, 0);
    CHECK(is_there(orphan));
    atomic_store(&other.is_leader, true);
    tv_blob_gc_scan_soon(scan);
    wait_until_gone(orphan);
    stop_scan(scan);
    lead = NULL;
}

TEST(it_ends_at_once)
{
    for (int i = 0; i < 20; i++)
        stop_scan(start_scan());
    tv_blob_gc_scan_free(NULL);
    tv_blob_gc_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_extents_of_a_deleted_container_go_with_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(blocks_that_nobody_commits_go_after_a_week, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_a_crash_left_goes_after_the_next_start, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            when_data_is_missing_its_blob_is_named_and_nothing_is_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(after_a_part_of_the_log_was_dropped_nothing_is_removed,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_the_sweep_only_blocks_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_the_node_that_leads_collects, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_change_has_left_is_collected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_blob_waits_to_be_collected_only_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_nobody_has_collected_is_found_after_a_start, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_nobody_has_collected_goes_with_its_container, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(it_ends_at_once, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
