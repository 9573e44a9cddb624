/*
 * Every allocation of the library fails once, in each operation on tables: the operation ends with
 * NO_MEMORY or as it should, nothing leaks, and what was written is whole.
 */
#include "out_of_memory.h"

TEST(a_write_and_a_read_run_out_of_memory)
{
    run_state run;

    WITH_FAULTS(run)
    {
        tavola_entity *entity = new_entity("p", "r", 1), *other = new_entity("p", "r", 2);
        tavola_entity *got = NULL;
        tavola_call *call = tavola_call_new();
        int32_t n = 0;

        check_end(tavola_insert_or_replace(run.table, entity, call), TAVOLA_OK);
        check_end(tavola_replace(run.table, entity, TAVOLA_ANY, call), TAVOLA_OK);
        check_end(tavola_merge(run.table, entity, TAVOLA_ANY, NULL), TAVOLA_OK);
        /* The same once more could be taken for what a lost answer was about. */
        check_end(tavola_insert(run.table, other, call), TAVOLA_ERR_EXISTS);
        check_end(tavola_get(run.table, "p", "r", call, &got), TAVOLA_OK);
        if (got)
            CHECK(tavola_entity_get_int32(got, "N", &n) && n == 1);
        check_end(tavola_get(run.table, "p", "absent", call, &got), TAVOLA_ERR_NOT_FOUND);
        check_end(tavola_delete_if_present(run.table, "p", "absent", call), TAVOLA_OK);
        tavola_entity_free(got);
        tavola_entity_free(other);
        tavola_entity_free(entity);
        tavola_call_free(call);
    }
}

/* A delete whose answer was lost is not told from one that found nothing. */
static void check_deleted(tavola_err err)
{
    if (err != TAVOLA_ERR_NOT_FOUND || !memory_fault_was_hit())
        check_end(err, TAVOLA_OK);
}

TEST(a_selection_and_a_delete_run_out_of_memory)
{
    static const char *const names[] = {"N", NULL};
    run_state run;

    WITH_FAULTS(run)
    {
        tavola_entity *entity = new_entity("p", "r", 1), *got = NULL;
        int32_t n = 0;
        tavola_err err = tavola_insert_or_merge(run.table, entity, NULL);

        check_end(err, TAVOLA_OK);
        if (err == TAVOLA_OK) {
            err = tavola_get_select(run.table, "p", "r", names, NULL, &got);
            check_end(err, TAVOLA_OK);
            CHECK(err || (tavola_entity_get_int32(got, "N", &n) && n == 1));
            check_deleted(tavola_delete(run.table, "p", "r", TAVOLA_ANY, NULL));
        }
        tavola_entity_free(got);
        tavola_entity_free(entity);
    }
}

static tavola_err add_one(void *user, tavola_entity *entity)
{
    int32_t n = 0;

    (void)user;
    CHECK(tavola_entity_get_int32(entity, "N", &n));
    tavola_entity_set_int32(entity, "N", n + 1);
    return TAVOLA_OK;
}

TEST(an_update_runs_out_of_memory)
{
    run_state run;

    insert_new("p", "counter", 1);
    WITH_FAULTS(run)
    {
        check_end(tavola_update(run.table, "p", "counter", add_one, NULL, NULL), TAVOLA_OK);
    }
}

TEST(a_batch_runs_out_of_memory)
{
    run_state run;
    int32_t n = 0;

    WITH_FAULTS(run)
    {
        tavola_batch *batch = tavola_batch_new(run.table);
        tavola_entity *first = new_entity("b", "1", ++n), *second = new_entity("b", "2", n);

        tavola_batch_add(batch, TAVOLA_INSERT_OR_REPLACE, first, NULL);
        tavola_batch_add(batch, TAVOLA_INSERT_OR_REPLACE, second, NULL);

        tavola_call *call = tavola_call_new();
        tavola_err err = tavola_batch_run(batch, call);

        check_end(err, TAVOLA_OK);
        /* Of one that was confirmed by reading back they are not known. */
        if (err == TAVOLA_OK && call && !tavola_call_was_confirmed(call))
            CHECK(tavola_batch_etag(batch, 0) && tavola_batch_etag(batch, 1));
        tavola_call_free(call);
        tavola_batch_free(batch);
        tavola_entity_free(first);
        tavola_entity_free(second);
    }
    CHECK_INT(stored_n("b", "1"), stored_n("b", "2"));
}

TEST(a_scan_runs_out_of_memory)
{
    run_state run;
    char row_key[8];

    for (int i = 0; i < 9; i++) {
        snprintf(row_key, sizeof row_key, "%d", i);
        insert_new("s", row_key, i);
    }
    WITH_FAULTS(run)
    {
        tavola_query *query =
            tavola_query_new(TAVOLA_BIND("PartitionKey eq ?", tavola_string("s")));
        tavola_scan *scan = NULL;
        const tavola_entity *entity = NULL;
        uint64_t count = 0;

        tavola_query_set_page_size(query, 4);

        /* Without a query that is all of the table. */
        if (query) {
            tavola_err err = tavola_scan_open(run.table, query, NULL, &scan);
            int seen = 0;

            while (err == TAVOLA_OK && (err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
                int32_t n = -1;

                CHECK(tavola_entity_get_int32(entity, "N", &n) && n == seen);
                seen++;
            }
            check_end(err, TAVOLA_END);
            if (err == TAVOLA_END)
                CHECK_INT(seen, 9);
            err = tavola_count(run.table, query, NULL, &count);
            check_end(err, TAVOLA_OK);
            if (err == TAVOLA_OK)
                CHECK_INT(count, 9);
        }
        tavola_scan_close(scan);
        tavola_query_free(query);
    }
}

TEST(pages_run_out_of_memory)
{
    run_state run;

    insert_new("p", "1", 1);
    insert_new("p", "2", 2);
    WITH_FAULTS(run)
    {
        tavola_query *query = tavola_query_new(NULL);
        tavola_page *first = NULL, *second = NULL;

        tavola_query_set_page_size(query, 1);
        if (query) {
            tavola_err err = tavola_query_page(run.table, query, NULL, NULL, &first);

            check_end(err, TAVOLA_OK);
            if (err == TAVOLA_OK) {
                CHECK_INT(tavola_page_count(first), 1);
                CHECK(tavola_page_token(first) != NULL);
                err = tavola_query_page(run.table, query, tavola_page_token(first), NULL, &second);
                check_end(err, TAVOLA_OK);
            }
            if (err == TAVOLA_OK)
                CHECK_TEXT(tavola_entity_row_key(tavola_page_at(second, 0)), "2");
        }
        tavola_page_free(first);
        tavola_page_free(second);
        tavola_query_free(query);
    }
}

/* Writes that were taken have an outcome; those that were refused were not made. */
TEST(a_bulk_runs_out_of_memory)
{
    run_state run;

    WITH_FAULTS(run)
    {
        tavola_bulk *bulk = NULL;
        uint64_t written = 0, failed = 0, taken = 0;
        tavola_err err = tavola_bulk_open(run.table, 2, NULL, NULL, NULL, &bulk);

        check_end(err, TAVOLA_OK);
        for (int i = 0; err == TAVOLA_OK && i < 6; i++) {
            char row_key[8];

            snprintf(row_key, sizeof row_key, "%d", i / 2);

            tavola_entity *entity = new_entity(i % 2 ? "odd" : "even", row_key, i);
            tavola_err added = tavola_bulk_add(bulk, TAVOLA_INSERT_OR_REPLACE, entity, NULL);

            check_end(added, TAVOLA_OK);
            taken += added == TAVOLA_OK;
            tavola_entity_free(entity);
        }
        if (bulk) {
            CHECK_OK(tavola_bulk_close(bulk, &written, &failed));
            CHECK_INT(written + failed, taken);
            CHECK(failed == 0 || memory_fault_was_hit());
        }
    }
}

TEST(deleting_by_a_filter_runs_out_of_memory)
{
    run_state run;

    insert_new("s", "kept", 1);
    WITH_FAULTS(run)
    {
        tavola_entity *entity = new_entity("s", "deleted", 2);
        uint64_t count = 0;
        tavola_err err = tavola_insert_or_replace(run.table, entity, NULL);

        if (err == TAVOLA_OK) {
            err = tavola_delete_where(run.table, tavola_where("N", TAVOLA_EQ, tavola_int32(2)),
                                      NULL, &count);
            check_end(err, TAVOLA_OK);
            if (err == TAVOLA_OK)
                CHECK_INT(count, 1);
        }
        tavola_entity_free(entity);
    }
    CHECK(is_stored("s", "kept"));
}

TEST(started_operations_run_out_of_memory)
{
    run_state run;

    insert_new("p", "r", 1);
    WITH_FAULTS(run)
    {
        tavola_entity *entity = new_entity("p", "r", 1);
        tavola_batch *batch = tavola_batch_new(run.table);
        tavola_op *get = NULL, *write = NULL, *page = NULL, *writes = NULL;
        tavola_err err;

        err = tavola_start_get(run.table, "p", "r", NULL, NULL, NULL, &get);
        check_end(err ? err : tavola_op_wait(get, 60000), TAVOLA_OK);
        err = tavola_start_write(run.table, TAVOLA_INSERT_OR_REPLACE, entity, NULL, NULL, NULL,
                                 NULL, &write);
        check_end(err ? err : tavola_op_wait(write, 60000), TAVOLA_OK);
        err = tavola_start_page(run.table, NULL, NULL, NULL, NULL, NULL, &page);
        check_end(err ? err : tavola_op_wait(page, 60000), TAVOLA_OK);
        tavola_batch_add(batch, TAVOLA_INSERT_OR_REPLACE, entity, NULL);
        err = tavola_start_batch(batch, NULL, NULL, NULL, &writes);
        check_end(err ? err : tavola_op_wait(writes, 60000), TAVOLA_OK);
        tavola_op_free(get);
        tavola_op_free(write);
        tavola_op_free(page);
        tavola_op_free(writes);
        tavola_batch_free(batch);
        tavola_entity_free(entity);
    }
}

TEST(tables_run_out_of_memory)
{
    run_state run;

    WITH_FAULTS(run)
    {
        tavola_names *names = NULL;
        bool exists = false;
        tavola_err err = tavola_table_list(run.client, table_name, NULL, &names);

        check_end(err, TAVOLA_OK);
        if (err == TAVOLA_OK)
            CHECK_INT(tavola_names_count(names), 1);
        check_end(tavola_table_create_if_absent(run.table, NULL), TAVOLA_OK);
        err = tavola_table_exists(run.table, NULL, &exists);
        check_end(err, TAVOLA_OK);
        CHECK(exists || err);
        tavola_names_free(names);
    }
}

TEST(policies_of_a_table_run_out_of_memory)
{
    run_state run;

    WITH_FAULTS(run)
    {
        tavola_policy policy = {sizeof policy, "id", "r", tavola_now(), tavola_now() + 600000000};
        tavola_policies *policies = NULL;
        tavola_err err = tavola_table_set_policies(run.table, &policy, 1, NULL);

        check_end(err, TAVOLA_OK);
        if (err == TAVOLA_OK) {
            err = tavola_table_get_policies(run.table, NULL, &policies);
            check_end(err, TAVOLA_OK);
            CHECK(err || tavola_policies_count(policies) == 1);
        }
        tavola_policies_free(policies);
    }
}

TEST(a_new_table_runs_out_of_memory)
{
    run_state run;
    char name[63];

    new_name(name, sizeof name);
    WITH_FAULTS(run)
    {
        tavola_table *table = NULL;
        tavola_err err = tavola_table_open(run.client, name, &table);

        if (err == TAVOLA_OK) /* that of the run before */
            err = tavola_table_delete_if_present(table, NULL);
        check_end(err, TAVOLA_OK);
        if (err == TAVOLA_OK)
            check_end(tavola_table_create(table, NULL), TAVOLA_OK);
        tavola_table_close(table);
    }

    tavola_table *last = NULL;

    CHECK_OK(tavola_table_open(t.client, name, &last));
    CHECK_OK(tavola_table_delete(last, t.call));
    tavola_table_close(last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT_TEST(a_write_and_a_read_run_out_of_memory),
        FAULT_TEST(a_selection_and_a_delete_run_out_of_memory),
        FAULT_TEST(pages_run_out_of_memory),
        FAULT_TEST(policies_of_a_table_run_out_of_memory),
        FAULT_TEST(a_new_table_runs_out_of_memory),
        FAULT_TEST(an_update_runs_out_of_memory),
        FAULT_TEST(a_batch_runs_out_of_memory),
        FAULT_TEST(a_scan_runs_out_of_memory),
        FAULT_TEST(a_bulk_runs_out_of_memory),
        FAULT_TEST(deleting_by_a_filter_runs_out_of_memory),
        FAULT_TEST(started_operations_run_out_of_memory),
        FAULT_TEST(tables_run_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
