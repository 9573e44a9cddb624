/*
 * Every allocation of the library fails once, in each of the guide's patterns: it ends with
 * NO_MEMORY or as it should, nothing leaks, and what it promises holds.
 */
#include "clock.h"
#include "out_of_memory.h"

static const tavola_index indexes[] = {{"id_", "RowKey", NULL}, {"email_", "Email", NULL}};
enum { INDEXES = 2 };

static char other_name[63]; /* of a queue, a container, a second table */

static tavola_entity *employee(const char *row_key, const char *email)
{
    tavola_entity *entity = new_entity("p", row_key, 1);

    tavola_entity_set_string(entity, "Email", email);
    return entity;
}

/* A second writer is not needed for a lost race: an outcome that is not known is one. */
static void check_written(tavola_err err)
{
    if (err != TAVOLA_ERR_ETAG || !memory_fault_was_hit())
        check_end(err, TAVOLA_OK);
}

/* All that is done with an index: with copies in the same partition, or by a message in `queue`. */
typedef struct index_run {
    tavola_queue *queue; /* of the run's client, or NULL */
    tavola_indexed *indexed;
} index_run;

static tavola_err open_index(index_run *one, const run_state *run, bool is_inter)
{
    tavola_inter_partition inter = {.struct_size = sizeof inter, .hidden_s = hidden_s()};
    tavola_err err = TAVOLA_OK;

    *one = (index_run){0};
    if (is_inter)
        err = tavola_queue_open(run->client, other_name, &inter.queue);
    one->queue = inter.queue;
    if (err == TAVOLA_OK)
        err = tavola_indexed_open(run->table, indexes, INDEXES, is_inter ? &inter : NULL, NULL,
                                  &one->indexed);
    check_end(err, TAVOLA_OK);
    return err;
}

static void close_index(index_run *one)
{
    tavola_indexed_close(one->indexed);
    tavola_queue_close(one->queue);
}

static void put_indexed(bool is_inter)
{
    run_state run;
    unsigned count = 0;

    WITH_FAULTS(run)
    {
        char email[32];
        tavola_entity *got = NULL;
        index_run one;

        snprintf(email, sizeof email, "e%u", count++ % 3);

        tavola_entity *entity = employee("1", email);
        tavola_err err = open_index(&one, &run, is_inter);

        if (err == TAVOLA_OK) {
            err = tavola_indexed_put(one.indexed, entity, NULL);
            check_written(err);
        }
        if (err == TAVOLA_OK) {
            err = tavola_indexed_get(one.indexed, "Email", "p", email, NULL, &got);
            check_end(err, TAVOLA_OK);
            CHECK(err || strcmp(tavola_entity_row_key(got), "1") == 0);
        }
        close_index(&one);
        tavola_entity_free(got);
        tavola_entity_free(entity);
    }
}

static void scan_indexed(bool is_inter)
{
    run_state run;

    WITH_FAULTS(run)
    {
        const char *const some[] = {"Email", NULL};
        tavola_query *query = tavola_query_new(NULL);
        const tavola_entity *next = NULL;
        tavola_scan *scan = NULL;
        index_run one;
        int found = 0;
        tavola_err err = open_index(&one, &run, is_inter);

        tavola_query_select(query, some);
        if (err == TAVOLA_OK)
            err = tavola_indexed_scan(one.indexed, "Email", "p", "e", NULL, query, NULL, &scan);
        close_index(&one); /* a scan may outlive it */
        while (err == TAVOLA_OK && (err = tavola_scan_next(scan, &next)) == TAVOLA_OK) {
            CHECK_TEXT(tavola_entity_row_key(next), "1");
            found++;
        }
        check_end(err, TAVOLA_END);
        CHECK(err != TAVOLA_END || found == 1);
        tavola_scan_close(scan);
        tavola_query_free(query);
    }
}

static tavola_err change_email(void *email, tavola_entity *entity)
{
    tavola_entity_set_string(entity, "Email", email);
    return tavola_entity_error(entity);
}

static void update_indexed(bool is_inter)
{
    run_state run;
    unsigned count = 0;

    WITH_FAULTS(run)
    {
        index_run one;
        tavola_err err = open_index(&one, &run, is_inter);
        char email[32];

        snprintf(email, sizeof email, "u%u", count++ % 3);
        if (err == TAVOLA_OK)
            check_written(tavola_indexed_update(one.indexed, "p", "1", change_email, email, NULL));
        close_index(&one);
    }
}

/* One fault, by a plain write: the copy of "1" is missing, or it has another that is stale. */
static tavola_err make_fault(tavola_table *table, bool is_inter, bool is_stale)
{
    const char *partition_key = is_inter ? "email_p" : "p";
    tavola_entity *copy = tavola_entity_new(partition_key, is_inter ? "stale" : "email_stale");
    tavola_err err;

    tavola_entity_set_string(copy, "TavolaPrimary", "1");
    tavola_entity_set_string(copy, "TavolaPartition", "p");
    err = is_stale
              ? tavola_insert_or_replace(table, copy, NULL)
              : tavola_delete_if_present(table, partition_key, is_inter ? "e1" : "email_e1", NULL);
    tavola_entity_free(copy);
    return err;
}

/* A repair that runs out of memory leaves faults for the next. */
static void repair_indexed(bool is_inter)
{
    const run_state mine = {t.client, t.table};
    tavola_entity *entity = employee("1", "e1");
    uint64_t left = 1;
    index_run last, one;
    run_state run;

    CHECK_OK(open_index(&last, &mine, is_inter));
    CHECK_OK(tavola_indexed_put(last.indexed, entity, t.call));
    for (int is_stale = 0; is_stale < 2; is_stale++) {
        WITH_FAULTS(run)
        {
            tavola_err err = open_index(&one, &run, is_inter);

            if (err == TAVOLA_OK)
                err = make_fault(run.table, is_inter, is_stale);
            if (err == TAVOLA_OK)
                err = tavola_indexed_repair(one.indexed, "p", NULL, NULL, NULL, NULL);
            check_written(err);
            close_index(&one);
        }
        CHECK_OK(tavola_indexed_repair(last.indexed, NULL, NULL, NULL, t.call, &left));
        CHECK_INT(left, 0);
        CHECK_OK(tavola_indexed_check(last.indexed, NULL, NULL, NULL, t.call, &left));
        CHECK_INT(left, 0);
        CHECK_INT(count_all(), 2);
    }
    close_index(&last);
    tavola_entity_free(entity);
}

static void delete_indexed(bool is_inter)
{
    run_state run;

    WITH_FAULTS(run)
    {
        tavola_entity *entity = employee("1", "e9");
        index_run one;
        tavola_err err = open_index(&one, &run, is_inter);

        if (err == TAVOLA_OK)
            err = tavola_indexed_put(one.indexed, entity, NULL);
        if (err == TAVOLA_OK)
            err = tavola_indexed_delete(one.indexed, "p", "1", TAVOLA_ANY, NULL);
        if (err != TAVOLA_ERR_NOT_FOUND || !memory_fault_was_hit()) /* an unknown outcome before */
            check_written(err);
        close_index(&one);
        tavola_entity_free(entity);
    }
}

TEST(an_index_runs_out_of_memory)
{
    put_indexed(false);
    CHECK_INT(count_all(), 2);
    scan_indexed(false);
    update_indexed(false);
    repair_indexed(false);
    delete_indexed(false);
    CHECK_INT(count_all(), 0);
}

static tavola_err finish_job(void *user, const char *message, uint32_t dequeue_count)
{
    (void)message, (void)dequeue_count, (void)user;
    return TAVOLA_OK;
}

static void run_job(void)
{
    run_state run;
    char text[256];

    snprintf(text, sizeof text,
             "[\"tavola.inter-partition/1\",\"%s\",\"p\",\"1\",\"email_\",\"e0\"]", table_name);
    WITH_FAULTS(run)
    {
        index_run one;

        if (open_index(&one, &run, true) == TAVOLA_OK)
            check_end(tavola_indexed_job(one.indexed, text, 1), TAVOLA_OK);
        close_index(&one);
    }
}

/* What was left undone is in the queue. */
static void work_off(tavola_queue *queue)
{
    const run_state mine = {t.client, t.table};
    tavola_worker *worker = NULL;
    uint64_t left = 0;
    index_run one;

    CHECK_OK(open_index(&one, &mine, true));
    CHECK_OK(tavola_worker_open(queue, NULL, 0, tavola_indexed_job, one.indexed, NULL, &worker));
    tavola_worker_set_hidden_s(worker, hidden_s());
    for (int i = 0; i < 50; i++) {
        CHECK_OK(tavola_worker_run(worker, 0));
        CHECK_OK(tavola_queue_count(queue, t.call, &left));
        if (left == 0)
            break;
        pass_hidden();
    }
    CHECK_INT(left, 0);
    CHECK_INT(tavola_worker_failed(worker), 0);
    tavola_worker_close(worker);
    close_index(&one);
}

TEST(an_index_in_other_partitions_runs_out_of_memory)
{
    tavola_queue *queue = NULL;

    CHECK_OK(tavola_queue_open(t.client, other_name, &queue));
    CHECK_OK(tavola_queue_create(queue, t.call));
    put_indexed(true);
    work_off(queue);
    CHECK_INT(count_all(), 2);
    scan_indexed(true);
    update_indexed(true);
    work_off(queue);
    repair_indexed(true);
    run_job();
    delete_indexed(true);
    CHECK_OK(tavola_queue_delete(queue, t.call));
    tavola_queue_close(queue);
}

TEST(a_worker_runs_out_of_memory)
{
    run_state run;
    tavola_queue *queue = NULL;

    CHECK_OK(tavola_queue_open(t.client, other_name, &queue));
    CHECK_OK(tavola_queue_create(queue, t.call));
    WITH_FAULTS(run)
    {
        tavola_worker *worker = NULL;
        tavola_queue *own = NULL;
        tavola_err err = tavola_queue_open(run.client, other_name, &own);

        check_end(err, TAVOLA_OK);
        if (err)
            continue;
        check_end(tavola_worker_open(own, NULL, 0, finish_job, NULL, NULL, &worker), TAVOLA_OK);
        check_end(tavola_enqueue(own, "m", NULL), TAVOLA_OK);
        check_end(tavola_eventually(own, "e", hidden_s(), finish_job, NULL, NULL), TAVOLA_OK);
        tavola_queue_close(own);
        if (worker)
            check_end(tavola_worker_run(worker, 0), TAVOLA_OK);
        tavola_worker_close(worker);
    }
    CHECK_OK(tavola_queue_delete(queue, t.call));
    tavola_queue_close(queue);
}

TEST(a_move_runs_out_of_memory)
{
    run_state run;

    WITH_FAULTS(run)
    {
        tavola_table *to = NULL;
        tavola_entity *entity = new_entity("p", "moved", 1);
        tavola_err err = tavola_table_open(run.client, other_name, &to);

        check_end(err, TAVOLA_OK);
        if (err == TAVOLA_OK)
            err = tavola_table_create_if_absent(to, NULL);
        if (err == TAVOLA_OK)
            err = tavola_insert_or_replace(run.table, entity, NULL);
        if (err == TAVOLA_OK)
            err = tavola_move(run.table, to, "p", "moved", NULL);
        check_written(err);
        tavola_entity_free(entity);
        tavola_table_close(to);
    }

    tavola_table *to = NULL;

    CHECK_OK(tavola_table_open(t.client, other_name, &to));
    CHECK_OK(tavola_table_delete(to, t.call));
    tavola_table_close(to);
}

TEST(lists_run_out_of_memory)
{
    run_state run;
    tavola_container *container = NULL;
    unsigned count = 0;

    CHECK_OK(tavola_container_open(t.client, other_name, &container));
    CHECK_OK(tavola_container_create(container, t.call));
    WITH_FAULTS(run)
    {
        tavola_batch *with = tavola_batch_new(run.table);
        tavola_entity *entity = new_entity("p", "e", 1);
        tavola_names *items = NULL;
        tavola_container *own = NULL;
        char item[16];

        snprintf(item, sizeof item, "%u", count++ % 4);
        tavola_batch_add(with, TAVOLA_INSERT_OR_REPLACE, entity, NULL);
        if (with)
            check_written(tavola_list_add(run.table, "p", "l", "L", item, with, NULL));
        check_written(tavola_list_remove(run.table, "p", "l", "L", "2", NULL, NULL));
        check_written(tavola_list_move(run.table, "p", "l", "m", "L", item, NULL, NULL));
        check_end(tavola_list_get(run.table, "p", "l", "L", NULL, &items), TAVOLA_OK);
        tavola_names_free(items);
        items = NULL;
        if (tavola_container_open(run.client, other_name, &own) == TAVOLA_OK) {
            check_written(tavola_list_blob_add(own, "l", item, NULL));
            check_written(tavola_list_blob_remove(own, "l", "2", NULL));
            check_end(tavola_list_blob_get(own, "l", NULL, &items), TAVOLA_OK);
        }
        tavola_container_close(own);
        tavola_names_free(items);
        tavola_entity_free(entity);
        tavola_batch_free(with);
    }
    CHECK_OK(tavola_container_delete(container, t.call));
    tavola_container_close(container);
}

TEST(a_wide_entity_runs_out_of_memory)
{
    run_state run;

    WITH_FAULTS(run)
    {
        tavola_entity *wide = tavola_entity_new_wide("p", "w"), *got = NULL;
        char name[16];

        for (int i = 0; i < 300; i++) {
            snprintf(name, sizeof name, "P%d", i);
            tavola_entity_set_int32(wide, name, i);
        }

        tavola_err err = tavola_wide_put(run.table, wide, NULL);

        check_written(err);
        if (err == TAVOLA_OK) {
            err = tavola_wide_get(run.table, "p", "w", NULL, &got);
            check_end(err, TAVOLA_OK);
            CHECK(err || tavola_entity_count(got) == 300);
        }
        tavola_entity_free(got);
        tavola_entity_free(wide);
    }
    CHECK_OK(tavola_wide_delete(t.table, "p", "w", t.call));
    CHECK_INT(count_all(), 0);
}

TEST(a_large_value_runs_out_of_memory)
{
    run_state run;
    tavola_container *container = NULL;

    CHECK_OK(tavola_container_open(t.client, other_name, &container));
    CHECK_OK(tavola_container_create(container, t.call));
    WITH_FAULTS(run)
    {
        tavola_entity *entity = new_entity("p", "large", 1), *other = new_entity("p", "gone", 1);
        void *data = NULL;
        size_t size = 0;
        uint64_t count = 0;
        tavola_container *own = NULL;
        tavola_err err = tavola_container_open(run.client, other_name, &own);

        check_end(err, TAVOLA_OK);
        if (own == NULL) {
            tavola_entity_free(entity);
            tavola_entity_free(other);
            continue;
        }
        err = tavola_large_put(run.table, entity, "Photo", own, "x", 1, NULL);
        check_written(err);
        if (err == TAVOLA_OK)
            check_end(tavola_large_get(run.table, entity, "Photo", NULL, &data, &size), TAVOLA_OK);
        check_end(tavola_large_sweep(run.table, "Photo", own, tavola_now() + INT64_C(36000000000),
                                     NULL, &count),
                  TAVOLA_OK);
        err = tavola_large_put(run.table, other, "Photo", own, "y", 1, NULL);
        check_written(err);
        if (err == TAVOLA_OK) {
            err = tavola_large_delete(run.table, "p", "gone", "Photo", NULL);
            if (err != TAVOLA_ERR_NOT_FOUND || !memory_fault_was_hit())
                check_written(err);
        }
        check_end(tavola_log_blob_append(own, "log", tavola_now(), "x", 1, NULL), TAVOLA_OK);
        tavola_container_close(own);
        tavola_free(data);
        tavola_entity_free(other);
        tavola_entity_free(entity);
    }

    /* The entity and its blob, and nothing else. */
    tavola_entity *got = NULL;
    void *data = NULL;
    size_t size = 0;

    CHECK_OK(tavola_get(t.table, "p", "large", t.call, &got));
    CHECK_OK(tavola_large_get(t.table, got, "Photo", t.call, &data, &size));
    tavola_free(data);
    tavola_entity_free(got);
    CHECK_OK(tavola_container_delete(container, t.call));
    tavola_container_close(container);
}

TEST(keys_and_scans_run_out_of_memory)
{
    run_state run;
    const char *const partitions[] = {"p", "p", "p"};
    const char *const rows[] = {"a", "b", "c"};

    insert_new("p", "a", 1);
    insert_new("0p", "b", 1);
    insert_new("1p", "a", 1);
    WITH_FAULTS(run)
    {
        tavola_entity *got[3] = {0}, *to = new_entity("p", "x", 1), *from = employee("y", "e");
        tavola_page *page = NULL;
        tavola_scan *scan = NULL;
        const tavola_entity *entity = NULL;
        tavola_err err;

        tavola_entity_embed(to, "Manager", from, NULL);
        check_end(tavola_entity_error(to), TAVOLA_OK);
        tavola_free(tavola_key_part('_', "a_b", 1));
        check_end(tavola_get_many(run.table, partitions, rows, 3, 2, NULL, got), TAVOLA_OK);
        check_end(tavola_tail(run.table, "p", 5, NULL, &page), TAVOLA_OK);
        check_end(tavola_log_add(run.table, to, 5, NULL), TAVOLA_OK);
        check_end(tavola_series_set(run.table, "p", "s", "H", 1, tavola_int32(1), NULL), TAVOLA_OK);
        err = tavola_scan_open_spread(run.table, NULL, 2, "p", NULL, &scan);
        while (err == TAVOLA_OK)
            err = tavola_scan_next(scan, &entity);
        check_end(err, TAVOLA_END);
        check_end(tavola_drop_before(run.client, other_name, 1, NULL, NULL), TAVOLA_OK);
        for (int i = 0; i < 3; i++)
            tavola_entity_free(got[i]);
        tavola_scan_close(scan);
        tavola_page_free(page);
        tavola_entity_free(to);
        tavola_entity_free(from);
    }
}

static int open_pattern(void **state)
{
    new_name(other_name, sizeof other_name);
    return open_named(state);
}

#define PATTERN_TEST(name) cmocka_unit_test_setup_teardown(name, open_pattern, close_live)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PATTERN_TEST(an_index_runs_out_of_memory),
        PATTERN_TEST(an_index_in_other_partitions_runs_out_of_memory),
        PATTERN_TEST(a_worker_runs_out_of_memory),
        PATTERN_TEST(a_move_runs_out_of_memory),
        PATTERN_TEST(lists_run_out_of_memory),
        PATTERN_TEST(a_wide_entity_runs_out_of_memory),
        PATTERN_TEST(a_large_value_runs_out_of_memory),
        PATTERN_TEST(keys_and_scans_run_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
