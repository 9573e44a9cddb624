/* Queries: filters, projections, pages, tokens, scans, counts. */
#include "live.h"

enum { PARTITIONS = 5, ROWS = 500, ALL = PARTITIONS * ROWS };

/* Entities "p0".."p4" with rows "000".."499", N counting through all of them. */
static void fill(void)
{
    tavola_bulk *bulk = NULL;
    uint64_t written = 0, failed = 0;

    CHECK_OK(tavola_bulk_open(t.table, 0, NULL, NULL, NULL, &bulk));
    for (int i = 0; i < ALL; i++) {
        char partition_key[8], row_key[8], text[16];
        tavola_entity *entity;

        snprintf(partition_key, sizeof partition_key, "p%d", i / ROWS);
        snprintf(row_key, sizeof row_key, "%03d", i % ROWS);
        snprintf(text, sizeof text, "text %d", i);
        entity = new_entity(partition_key, row_key, i);
        tavola_entity_set_string(entity, "Text", text);
        CHECK_OK(tavola_bulk_add(bulk, TAVOLA_INSERT, entity, NULL));
        tavola_entity_free(entity);
    }
    CHECK_OK(tavola_bulk_close(bulk, &written, &failed));
    CHECK_INT(written, ALL);
    CHECK_INT(failed, 0);
}

static tavola_query *partition_query(const char *partition_key)
{
    return tavola_query_new(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string(partition_key)));
}

/* Read a scan to its end and check that the numbers rise. */
static int scan_count(const tavola_query *query)
{
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    tavola_err err;
    int count = 0;
    int32_t last = -1;

    CHECK_OK(tavola_scan_open(t.table, query, t.call, &scan));
    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        int32_t n = -1;

        CHECK(tavola_entity_get_int32(entity, "N", &n));
        CHECK(n > last);
        last = n;
        count++;
    }
    CHECK_ERR(err, TAVOLA_END);
    CHECK_ERR(tavola_scan_next(scan, &entity), TAVOLA_END);
    tavola_scan_close(scan);
    return count;
}

TEST(a_scan_reads_all_pages_in_order)
{
    tavola_query *query = tavola_query_new(NULL);

    CHECK_INT(scan_count(NULL), 0);
    fill();
    CHECK_INT(scan_count(NULL), ALL);
    CHECK_INT(scan_count(query), ALL);
    tavola_query_set_page_size(query, 7);
    CHECK_INT(scan_count(query), ALL);
    tavola_query_free(query);
}

static const struct {
    const char *what;
    uint32_t page_size; /* 0: not set */
    uint64_t limit;     /* 0: not set */
    int count;
} limits[] = {
    {"none", 0, 0, ALL},
    {"a limit within a page", 0, 10, 10},
    {"a limit of one", 0, 1, 1},
    {"a limit over several pages", 0, 2345, 2345},
    {"a limit of all", 0, ALL, ALL},
    {"a limit of more than all", 0, ALL + 1, ALL},
    {"a limit of several small pages", 100, 250, 250},
    {"a limit that is a number of pages", 100, 300, 300},
    {"pages alone limit nothing", 900, 0, ALL},
};

TEST(a_limit_is_not_a_page_size)
{
    fill();
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        tavola_query *query = tavola_query_new(NULL);
        uint64_t count = 0;

        t_row = limits[i].what;
        if (limits[i].page_size)
            tavola_query_set_page_size(query, limits[i].page_size);
        if (limits[i].limit)
            tavola_query_set_limit(query, limits[i].limit);
        CHECK_INT(scan_count(query), limits[i].count);
        CHECK_OK(tavola_count(t.table, query, t.call, &count));
        CHECK_INT(count, limits[i].count);
        tavola_query_free(query);
    }
}

static tavola_filter *by_point(void)
{
    return TAVOLA_BIND("PartitionKey eq ? and RowKey eq ?", tavola_string("p1"),
                       tavola_string("007"));
}
static tavola_filter *by_range(void)
{
    return TAVOLA_BIND("PartitionKey eq ? and RowKey ge ? and RowKey lt ?", tavola_string("p1"),
                       tavola_string("100"), tavola_string("150"));
}
static tavola_filter *by_prefix(void)
{
    return tavola_and(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("p1")),
                      tavola_where_prefix("RowKey", "12"));
}
static tavola_filter *by_property(void)
{
    return tavola_or(tavola_where("N", TAVOLA_LT, tavola_int32(10)),
                     tavola_not(tavola_where("N", TAVOLA_LT, tavola_int32(ALL - 5))));
}
static tavola_filter *by_text(void)
{
    return tavola_where("Text", TAVOLA_EQ, tavola_string("text 2000"));
}
static tavola_filter *by_nothing(void)
{
    return tavola_where("Text", TAVOLA_EQ, tavola_string("O'Brien"));
}
static tavola_filter *by_raw(void)
{
    return tavola_filter_raw("PartitionKey eq 'p2' and N ge 1400");
}

TEST(filters_find_what_they_say)
{
    static const struct {
        const char *what;
        tavola_filter *(*make)(void);
        int count;
        const char *plan; /* by the library */
    } cases[] = {
        {"one entity", by_point, 1, "point"},         {"a range of rows", by_range, 50, "range"},
        {"a prefix of rows", by_prefix, 10, "range"}, {"properties", by_property, 15, "table scan"},
        {"a text", by_text, 1, "table scan"},         {"nothing", by_nothing, 0, "table scan"},
        {"raw text", by_raw, 100, "partition scan"},
    };

    fill();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        tavola_filter *filter = cases[i].make();
        tavola_query *query;

        t_row = cases[i].what;
        CHECK_TEXT(tavola_filter_plan(filter), cases[i].plan);
        query = tavola_query_new(filter);
        CHECK_INT(scan_count(query), cases[i].count);
        if (!is_azurite())
            CHECK(tavola_call_plan(t.call) != NULL);
        tavola_query_free(query);
    }
}

TEST(only_the_selected_properties_come)
{
    static const char *const names[] = {"N", NULL};
    tavola_query *query = partition_query("p");
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    tavola_entity *full = new_entity("p", "r", 1);

    tavola_entity_set_string(full, "Text", "x");
    CHECK_OK(tavola_insert(t.table, full, t.call));
    tavola_query_select(query, names);
    CHECK_OK(tavola_scan_open(t.table, query, t.call, &scan));
    CHECK_OK(tavola_scan_next(scan, &entity));
    CHECK_INT(tavola_entity_count(entity), 1);
    CHECK_TEXT(tavola_entity_partition_key(entity), "p");
    CHECK_TEXT(tavola_entity_row_key(entity), "r");
    CHECK(tavola_entity_timestamp(entity) != 0);
    CHECK(tavola_entity_etag(entity) != NULL);
    tavola_scan_close(scan);
    tavola_query_free(query);
    tavola_entity_free(full);
}

/* ---- pages ---- */

TEST(a_token_can_be_stored_and_used_by_another_client)
{
    tavola_query *query = tavola_query_new(NULL);
    char *token = NULL;
    int count = 0, pages = 0;

    fill();
    tavola_query_set_page_size(query, 600);
    do {
        tavola_client *client = open_client();
        tavola_table *table = NULL;
        tavola_page *page = NULL;

        CHECK_OK(tavola_table_open(client, tavola_table_name(t.table), &table));
        CHECK_OK(tavola_query_page(table, query, token, t.call, &page));
        CHECK(tavola_page_count(page) <= 600);
        for (size_t i = 0; i < tavola_page_count(page); i++) {
            int32_t n = -1;

            CHECK(tavola_entity_get_int32(tavola_page_at(page, i), "N", &n));
            CHECK_INT(n, count);
            count++;
        }
        CHECK(tavola_page_at(page, tavola_page_count(page)) == NULL);
        free(token);
        token = tavola_page_token(page) ? strdup(tavola_page_token(page)) : NULL;
        for (const char *c = token; c && *c; c++)
            CHECK(*c > 0x20 && *c < 0x7f);
        pages++;
        tavola_page_free(page);
        tavola_table_close(table);
        tavola_client_close(client);
    } while (token);
    CHECK_INT(count, ALL);
    CHECK_INT(pages, 5);
    tavola_query_free(query);
}

static const char *const bad_tokens[] = {"",     "x",        "v1",         "v2;p;a;b",
                                         "v1;p", "v1;x;a;b", "v1;p;a b;c", "v1;p;a;b&$filter=x"};

TEST(tokens_that_are_none_are_refused)
{
    tavola_page *page = NULL;

    for (size_t i = 0; i < COUNT_OF(bad_tokens); i++) {
        t_row = bad_tokens[i];
        CHECK_REFUSED(tavola_query_page(t.table, NULL, bad_tokens[i], t.call, &page),
                      TAVOLA_ERR_INVALID);
        CHECK(page == NULL);
    }
}

TEST(what_is_missing_is_refused)
{
    tavola_page *page = NULL;
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    uint64_t count = 7;

    CHECK_REFUSED(tavola_query_page(NULL, NULL, NULL, t.call, &page), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_query_page(t.table, NULL, NULL, t.call, NULL), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_scan_open(NULL, NULL, t.call, &scan), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_scan_open(t.table, NULL, t.call, NULL), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_scan_next(NULL, &entity), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_count(NULL, NULL, t.call, &count), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_count(t.table, NULL, t.call, NULL), TAVOLA_ERR_INVALID);
    CHECK_INT(count, 7);
    tavola_scan_close(NULL);
    tavola_page_free(NULL);
    CHECK_INT(tavola_page_count(NULL), 0);
    CHECK(tavola_page_at(NULL, 0) == NULL);
    CHECK(tavola_page_token(NULL) == NULL);
}

/* A Tavola says what it would do; others read a page that nobody sees. */
TEST(a_query_is_explained)
{
    tavola_query *query = tavola_query_new(TAVOLA_BIND("N gt ?", tavola_string("5")));
    tavola_entity *entity = new_entity("p", "r", 5);
    char *json = NULL;

    CHECK_OK(tavola_insert(t.table, entity, t.call));
    tavola_entity_free(entity);
    if (is_azurite()) {
        CHECK_ERR(tavola_explain(t.table, query, t.call, &json), TAVOLA_ERR_UNSUPPORTED);
        CHECK(json == NULL);
    } else {
        CHECK_OK(tavola_explain(t.table, query, t.call, &json));
        CHECK(strstr(json, "\"plan\":\"table\""));
        CHECK(strstr(json, "N is Int32 in 1 of 1 sampled entities; write 5"));
    }
    tavola_free(json);
    tavola_query_free(query);
}

/* The error of a filter is told by what uses it. */
TEST(a_filter_that_is_none_is_refused)
{
    tavola_query *query =
        tavola_query_new(tavola_filter_bind("PartitionKey eq ?", NULL, 0)); /* a value is missing */
    tavola_scan *scan = NULL;
    tavola_page *page = NULL;
    uint64_t count = 0;

    CHECK_REFUSED(tavola_scan_open(t.table, query, t.call, &scan), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_query_page(t.table, query, NULL, t.call, &page), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_count(t.table, query, t.call, &count), TAVOLA_ERR_INVALID);
    tavola_query_free(query);

    /* One that only the service can judge. */
    query = tavola_query_new(tavola_filter_raw("PartitionKey eq"));
    CHECK_ERR(tavola_query_page(t.table, query, NULL, t.call, &page), TAVOLA_ERR_INVALID);
    tavola_query_free(query);
}

TEST(a_scan_of_no_table_is_not_found)
{
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;

    CHECK_OK(tavola_table_delete(t.table, t.call));
    CHECK_OK(tavola_scan_open(t.table, NULL, t.call, &scan));
    CHECK_ERR(tavola_scan_next(scan, &entity), TAVOLA_ERR_NOT_FOUND);
    CHECK_ERR(tavola_scan_next(scan, &entity), TAVOLA_ERR_NOT_FOUND);
    CHECK(entity == NULL);
    tavola_scan_close(scan);
}

/* ---- what happens meanwhile ---- */

static void count_answers(void *user, int level, const char *text)
{
    (void)level;
    if (strstr(text, "status 200"))
        __atomic_fetch_add((int *)user, 1, __ATOMIC_SEQ_CST);
}

static bool comes_to(const int *count, int want)
{
    for (int i = 0; i < 6000 && __atomic_load_n(count, __ATOMIC_SEQ_CST) < want; i++)
        usleep(10 * 1000);
    return __atomic_load_n(count, __ATOMIC_SEQ_CST) >= want;
}

/*
 * The second page arrives while the first is still being read, and the third waits for its turn.
 * On the client's one connection nothing overtakes: after the answer to a request of ours there is
 * none to come that was asked for before.
 */
TEST(the_next_page_comes_while_this_one_is_read)
{
    int answers = 0;
    tavola_client_options options = {.struct_size = sizeof options,
                                     .connections_max = 1,
                                     .log = count_answers,
                                     .log_user = &answers};
    tavola_client *client = NULL;
    tavola_table *table = NULL;
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    tavola_entity *none = NULL;

    fill();
    CHECK_OK(tavola_client_open(connection_string(), &options, &client));
    CHECK_OK(tavola_table_open(client, tavola_table_name(t.table), &table));
    CHECK_OK(tavola_scan_open(table, NULL, NULL, &scan));
    CHECK_INT(answers, 0);
    CHECK_OK(tavola_scan_next(scan, &entity));
    CHECK(comes_to(&answers, 2));
    for (int i = 1; i < 1000; i++)
        CHECK_OK(tavola_scan_next(scan, &entity));
    CHECK_ERR(tavola_get(table, "none", "none", NULL, &none), TAVOLA_ERR_NOT_FOUND);
    CHECK_INT(__atomic_load_n(&answers, __ATOMIC_SEQ_CST), 2);
    CHECK_OK(tavola_scan_next(scan, &entity));
    CHECK(comes_to(&answers, 3));
    tavola_scan_close(scan);
    tavola_table_close(table);
    tavola_client_close(client);
}

TEST(a_scan_may_be_closed_at_any_time)
{
    static const int stops[] = {0, 1, 999, 1000, 1001, 2000, 2499, 2500};

    fill();
    for (size_t i = 0; i < COUNT_OF(stops); i++) {
        tavola_scan *scan = NULL;
        const tavola_entity *entity = NULL;

        CHECK_OK(tavola_scan_open(t.table, NULL, t.call, &scan));
        for (int j = 0; j < stops[i]; j++)
            CHECK_OK(tavola_scan_next(scan, &entity));
        tavola_scan_close(scan);
    }
}

/* A scan needs neither the caller's table nor the client nor the query. */
TEST(a_scan_outlives_what_it_was_made_of)
{
    tavola_client *client = open_client();
    tavola_table *table = NULL;
    tavola_query *query = partition_query("p3");
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    int count = 0;

    fill();
    tavola_query_set_page_size(query, 100);
    CHECK_OK(tavola_table_open(client, tavola_table_name(t.table), &table));
    CHECK_OK(tavola_scan_open(table, query, NULL, &scan));
    tavola_query_free(query);
    tavola_table_close(table);
    tavola_client_close(client); /* so that nothing can be read ahead any more */
    while (tavola_scan_next(scan, &entity) == TAVOLA_OK)
        count++;
    CHECK_INT(count, ROWS);
    tavola_scan_close(scan);
}

TEST(an_entity_of_a_scan_can_be_kept)
{
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    tavola_entity *kept;
    int32_t n;

    insert_new("p", "1", 1);
    insert_new("p", "2", 2);
    CHECK_OK(tavola_scan_open(t.table, NULL, NULL, &scan));
    CHECK_OK(tavola_scan_next(scan, &entity));
    kept = tavola_entity_copy(entity);
    CHECK_OK(tavola_scan_next(scan, &entity));
    CHECK_ERR(tavola_scan_next(scan, &entity), TAVOLA_END);
    tavola_scan_close(scan);
    CHECK_TEXT(tavola_entity_row_key(kept), "1");
    tavola_entity_set_int32(kept, "N", 10);
    CHECK_OK(tavola_replace(t.table, kept, NULL, t.call)); /* with its own etag */
    CHECK_INT(stored_n("p", "1"), 10);
    CHECK(tavola_entity_get_int32(kept, "N", &n));
    tavola_entity_free(kept);
}

/* ---- delete_where ---- */

TEST(what_passes_a_filter_is_deleted)
{
    uint64_t count = 0;

    fill();
    CHECK_OK(tavola_delete_where(t.table, by_range(), t.call, &count));
    CHECK_INT(count, 50);
    CHECK_INT(count_all(), ALL - 50);
    CHECK_OK(tavola_delete_where(t.table, by_range(), t.call, &count));
    CHECK_INT(count, 0);
    CHECK_OK(tavola_delete_where(t.table, tavola_where("N", TAVOLA_GE, tavola_int32(0)), t.call,
                                 &count));
    CHECK_INT(count, ALL - 50);
    CHECK_INT(count_all(), 0);
}

/* No filter is not the filter that lets everything pass. */
TEST(nothing_is_deleted_without_a_filter)
{
    uint64_t count = 7;

    insert_new("p", "r", 1);
    CHECK(tavola_delete_where(t.table, NULL, t.call, &count) != TAVOLA_OK);
    CHECK_INT(tavola_call_attempts(t.call), 0);
    CHECK_REFUSED(
        tavola_delete_where(t.table, tavola_filter_bind("N eq ?", NULL, 0), t.call, &count),
        TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_delete_where(NULL, by_range(), t.call, &count), TAVOLA_ERR_INVALID);
    CHECK_INT(count, 7);
    CHECK_INT(count_all(), 1);
    CHECK_OK(tavola_table_delete(t.table, t.call));
    CHECK_ERR(tavola_delete_where(t.table, by_range(), t.call, &count), TAVOLA_ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(a_scan_reads_all_pages_in_order),
        LIVE_TEST(a_limit_is_not_a_page_size),
        LIVE_TEST(filters_find_what_they_say),
        LIVE_TEST(only_the_selected_properties_come),
        LIVE_TEST(a_token_can_be_stored_and_used_by_another_client),
        LIVE_TEST(tokens_that_are_none_are_refused),
        LIVE_TEST(what_is_missing_is_refused),
        LIVE_TEST(a_query_is_explained),
        LIVE_TEST(a_filter_that_is_none_is_refused),
        LIVE_TEST(a_scan_of_no_table_is_not_found),
        LIVE_TEST(the_next_page_comes_while_this_one_is_read),
        LIVE_TEST(a_scan_may_be_closed_at_any_time),
        LIVE_TEST(a_scan_outlives_what_it_was_made_of),
        LIVE_TEST(an_entity_of_a_scan_can_be_kept),
        LIVE_TEST(what_passes_a_filter_is_deleted),
        LIVE_TEST(nothing_is_deleted_without_a_filter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
