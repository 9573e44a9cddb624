/* Entity group transactions: all or nothing, and the rules that are checked before. */
#include "live.h"

static void add(tavola_batch *batch, tavola_write write, const char *row_key, int32_t n,
                const char *if_match)
{
    tavola_entity *entity = new_entity("p", row_key, n);

    tavola_batch_add(batch, write, entity, if_match);
    tavola_entity_free(entity); /* the batch has a copy */
}

TEST(a_batch_makes_all_kinds_of_writes)
{
    tavola_batch *batch = tavola_batch_new(t.table);

    insert_new("p", "replaced", 1);
    insert_new("p", "merged", 1);
    insert_new("p", "deleted", 1);
    add(batch, TAVOLA_INSERT, "inserted", 2, NULL);
    add(batch, TAVOLA_INSERT_OR_REPLACE, "it's", 3, NULL);
    add(batch, TAVOLA_INSERT_OR_MERGE, "Grüße", 4, NULL);
    add(batch, TAVOLA_REPLACE, "replaced", 5, TAVOLA_ANY);
    add(batch, TAVOLA_MERGE, "merged", 6, TAVOLA_ANY);
    add(batch, TAVOLA_DELETE, "deleted", 0, TAVOLA_ANY);
    add(batch, TAVOLA_INSERT, "", 7, NULL);
    CHECK_INT(tavola_batch_count(batch), 7);
    CHECK_OK(tavola_batch_run(batch, t.call));
    CHECK_INT(tavola_call_status(t.call), 202);
    CHECK_INT(tavola_call_failed_index(t.call), -1);
    CHECK_INT(stored_n("p", "inserted"), 2);
    CHECK_INT(stored_n("p", "it's"), 3);
    CHECK_INT(stored_n("p", "Grüße"), 4);
    CHECK_INT(stored_n("p", "replaced"), 5);
    CHECK_INT(stored_n("p", "merged"), 6);
    CHECK(!is_stored("p", "deleted"));
    CHECK_INT(stored_n("p", ""), 7);
    tavola_batch_free(batch);
}

TEST(each_write_of_a_batch_has_its_etag)
{
    static const char *const rows[] = {"a", "b", "c"};
    tavola_batch *batch = tavola_batch_new(t.table);

    insert_new("p", "gone", 1);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        add(batch, TAVOLA_INSERT, rows[i], 1, NULL);
    add(batch, TAVOLA_DELETE, "gone", 1, TAVOLA_ANY);
    CHECK(tavola_batch_etag(batch, 0) == NULL);
    CHECK_OK(tavola_batch_run(batch, t.call));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        tavola_entity *entity = NULL;

        CHECK_OK(tavola_get(t.table, "p", rows[i], t.call, &entity));
        CHECK_TEXT(tavola_batch_etag(batch, i), tavola_entity_etag(entity));
        tavola_entity_free(entity);
    }
    CHECK(tavola_batch_etag(batch, 3) == NULL);
    CHECK(tavola_batch_etag(batch, 4) == NULL);
    CHECK(tavola_batch_etag(NULL, 0) == NULL);
    tavola_batch_free(batch);
}

TEST(a_batch_that_fails_changes_nothing_and_says_which)
{
    static const struct {
        const char *what;
        tavola_write write;
        const char *row_key, *if_match;
        tavola_err err;
        int status;
        const char *code;
    } cases[] = {
        {"an insert of what is there", TAVOLA_INSERT, "there", NULL, TAVOLA_ERR_EXISTS, 409,
         "EntityAlreadyExists"},
        {"a replace of what is not there", TAVOLA_REPLACE, "absent", TAVOLA_ANY,
         TAVOLA_ERR_NOT_FOUND, 404, "ResourceNotFound"},
        {"a merge of what is not there", TAVOLA_MERGE, "absent", TAVOLA_ANY, TAVOLA_ERR_NOT_FOUND,
         404, "ResourceNotFound"},
        {"a delete of what is not there", TAVOLA_DELETE, "absent", TAVOLA_ANY, TAVOLA_ERR_NOT_FOUND,
         404, "ResourceNotFound"},
        {"a replace of what was changed", TAVOLA_REPLACE, "there",
         "W/\"datetime'2001-01-01T00%3A00%3A00Z'\"", TAVOLA_ERR_ETAG, 412,
         "UpdateConditionNotSatisfied"},
        {"a delete of what was changed", TAVOLA_DELETE, "there",
         "W/\"datetime'2001-01-01T00%3A00%3A00Z'\"", TAVOLA_ERR_ETAG, 412,
         "UpdateConditionNotSatisfied"},
    };

    insert_new("p", "there", 1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        /* Alone, first, in the middle and last. */
        for (int at = -1; at <= 4; at += 2) {
            int others = at < 0 ? 0 : 4;
            tavola_batch *batch = tavola_batch_new(t.table);

            t_row = cases[i].what;
            for (int j = 0; j <= others; j++) {
                char row_key[8];

                snprintf(row_key, sizeof row_key, "n%d", j);
                if (j == (at < 0 ? 0 : at))
                    add(batch, cases[i].write, cases[i].row_key, 1, cases[i].if_match);
                else
                    add(batch, TAVOLA_INSERT, row_key, 1, NULL);
            }
            CHECK_ERR(tavola_batch_run(batch, t.call), cases[i].err);
            CHECK_INT(tavola_call_failed_index(t.call), at < 0 ? 0 : at);
            CHECK_INT(tavola_call_status(t.call), cases[i].status);
            CHECK_TEXT(tavola_call_code(t.call), cases[i].code);
            CHECK(tavola_call_message(t.call)[0] > '9'); /* the index is taken off */
            CHECK(tavola_batch_etag(batch, 0) == NULL);
            tavola_batch_free(batch);
            CHECK_INT(count_all(), 1);
        }
    }
}

/* ---- refusals ---- */

static void check_refused(tavola_batch *batch, tavola_err err, int index)
{
    CHECK_REFUSED(tavola_batch_run(batch, t.call), err);
    CHECK_INT(tavola_call_failed_index(t.call), index);
    CHECK_ERR(tavola_batch_run(batch, NULL), err);
    tavola_batch_free(batch);
    CHECK_INT(count_all(), 0);
}

TEST(a_hundred_writes_are_the_most)
{
    tavola_batch *batch = tavola_batch_new(t.table), *more = tavola_batch_new(t.table);
    char row_key[8];

    for (int i = 0; i < 102; i++) {
        snprintf(row_key, sizeof row_key, "%d", i);
        add(more, TAVOLA_INSERT, row_key, i, NULL);
        if (i < 100)
            add(batch, TAVOLA_INSERT, row_key, i, NULL);
    }
    CHECK_INT(tavola_batch_count(more), 102);
    check_refused(more, TAVOLA_ERR_TOO_LARGE, 100);
    CHECK_OK(tavola_batch_run(batch, t.call));
    CHECK_INT(count_all(), 100);
    tavola_batch_free(batch);
}

TEST(four_mebibytes_are_the_most)
{
    static char text[32 * 1024 + 1];
    tavola_batch *batch = tavola_batch_new(t.table);
    char row_key[8], name[8];

    memset(text, 'x', sizeof text - 1);
    for (int i = 0; i < 10; i++) {
        tavola_entity *entity;

        snprintf(row_key, sizeof row_key, "%d", i);
        entity = tavola_entity_new("p", row_key);
        for (int j = 0; j < 15; j++) {
            snprintf(name, sizeof name, "P%d", j);
            tavola_entity_set_string(entity, name, text);
        }
        tavola_batch_add(batch, TAVOLA_INSERT, entity, NULL);
        tavola_entity_free(entity);
    }
    /* Eight of 480 KiB fit into 4 MiB, and a ninth does not. */
    check_refused(batch, TAVOLA_ERR_TOO_LARGE, 8);
}

TEST(one_partition_and_each_entity_once)
{
    tavola_batch *partitions = tavola_batch_new(t.table), *twice = tavola_batch_new(t.table);
    tavola_entity *other = new_entity("q", "2", 1);

    add(partitions, TAVOLA_INSERT, "1", 1, NULL);
    tavola_batch_add(partitions, TAVOLA_INSERT, other, NULL);
    add(partitions, TAVOLA_INSERT, "3", 1, NULL);
    check_refused(partitions, TAVOLA_ERR_INVALID, 1);

    add(twice, TAVOLA_INSERT, "1", 1, NULL);
    add(twice, TAVOLA_INSERT, "2", 1, NULL);
    add(twice, TAVOLA_DELETE, "1", 1, NULL);
    check_refused(twice, TAVOLA_ERR_INVALID, 2);
    tavola_entity_free(other);
}

TEST(writes_that_cannot_be_made_are_refused)
{
    tavola_batch *bad_entity = tavola_batch_new(t.table), *no_etag = tavola_batch_new(t.table),
                 *bad_kind = tavola_batch_new(t.table), *bad_etag = tavola_batch_new(t.table),
                 *no_entity = tavola_batch_new(t.table);
    tavola_entity *entity = tavola_entity_new("p", "a/b");

    add(bad_entity, TAVOLA_INSERT, "1", 1, NULL);
    tavola_batch_add(bad_entity, TAVOLA_INSERT, entity, NULL);
    check_refused(bad_entity, TAVOLA_ERR_INVALID, 1);
    add(no_etag, TAVOLA_REPLACE, "1", 1, NULL);
    check_refused(no_etag, TAVOLA_ERR_INVALID, 0);
    add(bad_kind, TAVOLA_INSERT, "0", 1, NULL);
    add(bad_kind, (tavola_write)17, "1", 1, NULL);
    check_refused(bad_kind, TAVOLA_ERR_INVALID, 1);
    add(bad_etag, TAVOLA_DELETE, "1", 1, "x\r\ny");
    check_refused(bad_etag, TAVOLA_ERR_INVALID, 0);
    tavola_batch_add(no_entity, TAVOLA_INSERT, NULL, NULL);
    check_refused(no_entity, TAVOLA_ERR_NO_MEMORY, 0);
    tavola_entity_free(entity);
}

TEST(batches_that_cannot_be_run_are_refused)
{
    tavola_batch *empty = tavola_batch_new(t.table), *spent = tavola_batch_new(t.table),
                 *no_table = tavola_batch_new(NULL);

    check_refused(empty, TAVOLA_ERR_INVALID, -1);
    add(no_table, TAVOLA_INSERT, "1", 1, NULL);
    check_refused(no_table, TAVOLA_ERR_INVALID, -1);
    CHECK_REFUSED(tavola_batch_run(NULL, t.call), TAVOLA_ERR_NO_MEMORY);
    tavola_batch_add(NULL, TAVOLA_INSERT, NULL, NULL);
    CHECK_INT(tavola_batch_count(NULL), 0);
    tavola_batch_free(NULL);

    add(spent, TAVOLA_INSERT, "1", 1, NULL);
    CHECK_OK(tavola_batch_run(spent, t.call));
    CHECK_REFUSED(tavola_batch_run(spent, t.call), TAVOLA_ERR_INVALID);
    add(spent, TAVOLA_INSERT, "2", 1, NULL);
    CHECK_REFUSED(tavola_batch_run(spent, t.call), TAVOLA_ERR_INVALID);
    CHECK(tavola_batch_etag(spent, 0) != NULL);
    CHECK_INT(count_all(), 1);
    tavola_batch_free(spent);
}

TEST(a_batch_for_no_table_is_not_found)
{
    tavola_batch *batch = tavola_batch_new(t.table);

    CHECK_OK(tavola_table_delete(t.table, t.call));
    add(batch, TAVOLA_INSERT, "1", 1, NULL);
    add(batch, TAVOLA_INSERT, "2", 1, NULL);
    CHECK_ERR(tavola_batch_run(batch, t.call), TAVOLA_ERR_NOT_FOUND);
    CHECK_TEXT(tavola_call_code(t.call), "TableNotFound");
    tavola_batch_free(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(a_batch_makes_all_kinds_of_writes),
        LIVE_TEST(each_write_of_a_batch_has_its_etag),
        LIVE_TEST(a_batch_that_fails_changes_nothing_and_says_which),
        LIVE_TEST(a_hundred_writes_are_the_most),
        LIVE_TEST(four_mebibytes_are_the_most),
        LIVE_TEST(one_partition_and_each_entity_once),
        LIVE_TEST(writes_that_cannot_be_made_are_refused),
        LIVE_TEST(batches_that_cannot_be_run_are_refused),
        LIVE_TEST(a_batch_for_no_table_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
