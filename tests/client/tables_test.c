/* Tables are made, found, listed and deleted. */
#include "live.h"

TEST(a_table_is_made_once)
{
    CHECK_ERR(tavola_table_create(t.table, t.call), TAVOLA_ERR_EXISTS);
    CHECK_INT(tavola_call_status(t.call), 409);
    CHECK_TEXT(tavola_call_code(t.call), "TableAlreadyExists");
    CHECK_OK(tavola_table_create_if_absent(t.table, t.call));
    CHECK_OK(tavola_table_create_if_absent(t.table, NULL));
}

TEST(a_table_is_deleted_once)
{
    CHECK_OK(tavola_table_delete(t.table, t.call));
    CHECK_ERR(tavola_table_delete(t.table, t.call), TAVOLA_ERR_NOT_FOUND);
    CHECK_INT(tavola_call_status(t.call), 404);
    CHECK_OK(tavola_table_delete_if_present(t.table, t.call));
    CHECK_OK(tavola_table_create(t.table, t.call));
}

TEST(a_table_exists_or_not)
{
    bool exists = false;

    CHECK_OK(tavola_table_exists(t.table, t.call, &exists));
    CHECK(exists);
    insert_new("p", "r", 1);
    CHECK_OK(tavola_table_exists(t.table, t.call, &exists));
    CHECK(exists);
    CHECK_OK(tavola_table_delete(t.table, t.call));
    CHECK_OK(tavola_table_exists(t.table, t.call, &exists));
    CHECK(!exists);
}

TEST(a_name_is_the_same_in_any_case)
{
    tavola_table *other = NULL;
    char name[64];
    bool exists = false;

    snprintf(name, sizeof name, "%s", tavola_table_name(t.table));
    for (char *c = name; *c; c++) {
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 32);
    }
    CHECK_OK(tavola_table_open(t.client, name, &other));
    CHECK_TEXT(tavola_table_name(other), name);
    CHECK_OK(tavola_table_exists(other, t.call, &exists));
    CHECK(exists);
    CHECK_ERR(tavola_table_create(other, t.call), TAVOLA_ERR_EXISTS);
    tavola_table_close(other);
}

static const char *const bad_names[] = {
    "",
    "ab",
    "1abc",
    "a-b",
    "a_b",
    "abc ",
    "abc/def",
    "täb",
    "tables",
    "Tables",
    "abc'def",
    "abc?x=y",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
};

TEST(names_that_no_table_can_have_are_refused)
{
    tavola_table *table = NULL;

    for (size_t i = 0; i < COUNT_OF(bad_names); i++) {
        t_row = bad_names[i];
        CHECK_ERR(tavola_table_open(t.client, bad_names[i], &table), TAVOLA_ERR_INVALID);
        CHECK(table == NULL);
    }
    CHECK_ERR(tavola_table_open(t.client, NULL, &table), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_table_open(NULL, "abc", &table), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_table_open(t.client, "abc", NULL), TAVOLA_ERR_INVALID);
}

static void make_tables(const char *stem, int count)
{
    for (int i = 0; i < count; i++) {
        tavola_table *table = NULL;
        char name[64];

        snprintf(name, sizeof name, "%sx%04d", stem, i);
        CHECK_OK(tavola_table_open(t.client, name, &table));
        CHECK_OK(tavola_table_create(table, t.call));
        tavola_table_close(table);
    }
}

static void drop_tables(const tavola_names *names)
{
    for (size_t i = 0; i < tavola_names_count(names); i++) {
        tavola_table *table = NULL;

        CHECK_OK(tavola_table_open(t.client, tavola_names_at(names, i), &table));
        CHECK_OK(tavola_table_delete(table, t.call));
        tavola_table_close(table);
    }
}

/* One page of the service has 1,000. */
TEST(all_tables_are_listed_page_after_page)
{
    enum { TABLES = 1003 };
    const char *stem = tavola_table_name(t.table);
    tavola_names *names = NULL, *all = NULL;
    char prefix[64], name[64];

    make_tables(stem, TABLES);
    snprintf(prefix, sizeof prefix, "%sX", stem); /* in another case */
    CHECK_OK(tavola_table_list(t.client, prefix, t.call, &names));
    CHECK_INT(tavola_names_count(names), TABLES);
    for (int i = 0; i < TABLES; i++) {
        snprintf(name, sizeof name, "%sx%04d", stem, i);
        CHECK_TEXT(tavola_names_at(names, (size_t)i), name);
    }
    CHECK(tavola_names_at(names, TABLES) == NULL);
    CHECK_OK(tavola_table_list(t.client, NULL, t.call, &all));
    CHECK(tavola_names_count(all) >= TABLES + 1);
    tavola_names_free(all);
    all = NULL;
    CHECK_OK(tavola_table_list(t.client, "nosuchtable", NULL, &all));
    CHECK_INT(tavola_names_count(all), 0);
    drop_tables(names);
    tavola_names_free(all);
    tavola_names_free(names);
}

TEST(what_is_missing_is_refused)
{
    tavola_names *names = NULL;
    bool exists = true;

    CHECK_REFUSED(tavola_table_create(NULL, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_table_create_if_absent(NULL, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_table_delete(NULL, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_table_delete_if_present(NULL, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_table_exists(NULL, t.call, &exists), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_table_exists(t.table, t.call, NULL), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_table_list(NULL, NULL, t.call, &names), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_table_list(t.client, NULL, t.call, NULL), TAVOLA_ERR_INVALID);
    CHECK(names == NULL);
    CHECK(tavola_table_name(NULL) == NULL);
    tavola_table_close(NULL);
    tavola_names_free(NULL);
}

/* A table keeps its client alive. */
TEST(a_table_outlives_its_client)
{
    tavola_client *client = open_client();
    tavola_table *table = NULL;

    CHECK_OK(tavola_table_open(client, tavola_table_name(t.table), &table));
    tavola_client_close(client);
    CHECK_ERR(tavola_table_create(table, t.call), TAVOLA_ERR_EXISTS);
    tavola_table_close(table);
}

/* Also by a client that does not read there. */
TEST(the_secondary_tells_how_far_it_is)
{
    static const tavola_service services[] = {TAVOLA_SERVICE_TABLE, TAVOLA_SERVICE_QUEUE,
                                              TAVOLA_SERVICE_BLOB};
    const tavola_ticks minute = INT64_C(600000000);

    for (size_t i = 0; i < sizeof services / sizeof services[0]; i++) {
        char status[TAVOLA_GEO_STATUS_SIZE] = "";
        tavola_ticks last_sync = 0, now = tavola_now();

        CHECK_OK(tavola_service_stats(t.client, services[i], t.call, status, &last_sync));
        CHECK_TEXT(status, "live");
        CHECK(last_sync > now - minute && last_sync < now + minute);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(a_table_is_made_once),
        LIVE_TEST(a_table_is_deleted_once),
        LIVE_TEST(a_table_exists_or_not),
        LIVE_TEST(a_name_is_the_same_in_any_case),
        LIVE_TEST(names_that_no_table_can_have_are_refused),
        LIVE_TEST(all_tables_are_listed_page_after_page),
        LIVE_TEST(what_is_missing_is_refused),
        LIVE_TEST(a_table_outlives_its_client),
        LIVE_TEST(the_secondary_tells_how_far_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
