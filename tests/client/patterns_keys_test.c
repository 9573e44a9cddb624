/* Patterns of keys: log tail, dated tables, spread partitions, many reads, embedded entities. */
#include "patterns.h"

/* ---- log tail ---- */

static tavola_entity *expense(int32_t amount)
{
    tavola_entity *entity = tavola_entity_new("000223", "ignored");

    tavola_entity_set_int32(entity, "Amount", amount);
    return entity;
}

static void add_expense(tavola_ticks when, int32_t amount)
{
    tavola_entity *entity = expense(amount);

    CHECK_OK(tavola_log_add(t.table, entity, when, t.call));
    tavola_entity_free(entity);
}

TEST(the_tail_of_a_log_is_its_newest_entries)
{
    tavola_page *page = NULL;
    tavola_ticks now = tavola_now();
    int32_t amount = 0;

    for (int32_t i = 0; i < 20; i++)
        add_expense(now + (i * 7 % 20) * 10, i * 7 % 20);
    CHECK_OK(tavola_tail(t.table, "000223", 10, t.call, &page));
    CHECK_INT(tavola_page_count(page), 10);
    for (size_t i = 0; i < 10; i++) {
        CHECK(tavola_entity_get_int32(tavola_page_at(page, i), "Amount", &amount));
        CHECK_INT(amount, 19 - (int)i);
    }
    CHECK_INT(strlen(tavola_entity_row_key(tavola_page_at(page, 0))), 19 + 1 + 8);
    tavola_page_free(page);
    page = NULL;
    CHECK_OK(tavola_tail(t.table, "nobody", 10, t.call, &page));
    CHECK_INT(tavola_page_count(page), 0);
    tavola_page_free(page);
    CHECK_REFUSED(tavola_tail(t.table, NULL, 10, t.call, &page), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_tail(t.table, "p", 1, t.call, NULL), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_log_add(t.table, NULL, 1, t.call), TAVOLA_ERR_NO_MEMORY);
    CHECK_REFUSED(tavola_tail(NULL, "p", 1, t.call, &page), TAVOLA_ERR_INVALID);
}

TEST(a_tail_may_be_longer_than_a_page)
{
    enum { MANY = 1500 };
    tavola_bulk *bulk = NULL;
    tavola_page *page = NULL;
    uint64_t written = 0, failed = 0;

    CHECK_OK(tavola_bulk_open(t.table, 0, NULL, NULL, NULL, &bulk));
    for (int32_t i = 0; i < MANY; i++) {
        char key[20];

        tavola_key_inverted(i, key);

        tavola_entity *entity = new_entity("p", key, i);

        tavola_entity_set_string(entity, "Text", "some text");
        CHECK_OK(tavola_bulk_add(bulk, TAVOLA_INSERT, entity, NULL));
        tavola_entity_free(entity);
    }
    CHECK_OK(tavola_bulk_close(bulk, &written, &failed));
    CHECK_INT(written, MANY);
    CHECK_OK(tavola_tail(t.table, "p", 0, t.call, &page));
    CHECK_INT(tavola_page_count(page), 1000);
    tavola_page_free(page);
    page = NULL;
    CHECK_OK(tavola_tail(t.table, "p", 1200, t.call, &page));
    CHECK_INT(tavola_page_count(page), 1200);
    for (size_t i = 0; i < 1200; i++) {
        const tavola_entity *entity = tavola_page_at(page, i);
        int32_t n = -1;

        CHECK(tavola_entity_get_int32(entity, "N", &n));
        CHECK_INT(n, MANY - 1 - (int)i);
        CHECK_TEXT(text_of(entity, "Text"), "some text");
        CHECK_TEXT(tavola_entity_partition_key(entity), "p");
        CHECK(tavola_entity_etag(entity) != NULL);
    }
    tavola_page_free(page);
}

TEST(the_same_entry_again_adds_nothing)
{
    tavola_ticks now = tavola_now();

    add_expense(now, 1);
    add_expense(now, 1);
    CHECK_INT(count_all(), 1);
    add_expense(now, 2);
    add_expense(now + 1, 1);
    CHECK_INT(count_all(), 3);
}

static tavola_ticks log_start;

static tavola_err add_entry(tavola_client *client, unsigned run)
{
    tavola_table *table = table_on(client);
    tavola_entity *entity = expense((int32_t)run);
    tavola_err err = tavola_log_add(table, entity, log_start + run, NULL);

    tavola_entity_free(entity);
    tavola_table_close(table);
    return err;
}

static void check_entry(unsigned run, tavola_err err)
{
    uint64_t before = count_all();

    add_expense(log_start + run, (int32_t)run);

    uint64_t after = count_all();

    if (err == TAVOLA_OK)
        CHECK_INT(after, before);
    add_expense(log_start + run, (int32_t)run);
    CHECK_INT(count_all(), after);
}

TEST(a_client_that_dies_can_add_its_entry_again)
{
    static const kill_case one = {.act = add_entry, .check = check_entry};

    log_start = tavola_now();
    kill_everywhere(&one);
    log_start = tavola_now();
    lose_everywhere(&one);
}

/* ---- a table for each day ---- */

static tavola_ticks day(const char *text)
{
    tavola_ticks when = 0;
    char whole[40];

    snprintf(whole, sizeof whole, "%sT11:00:00Z", text);
    CHECK(tavola_ticks_parse(whole, &when));
    return when;
}

static char stem[40];

static void make_table(const char *name)
{
    tavola_table *table = NULL;

    CHECK_OK(tavola_table_open(t.client, name, &table));
    CHECK_OK(tavola_table_create_if_absent(table, t.call));
    tavola_table_close(table);
}

static bool has_table(const char *name)
{
    tavola_table *table = NULL;
    bool exists = false;

    CHECK_OK(tavola_table_open(t.client, name, &table));
    CHECK_OK(tavola_table_exists(table, t.call, &exists));
    tavola_table_close(table);
    return exists;
}

static const char *const days[] = {"2025-12-31", "2026-01-01", "2026-01-02", "2026-01-03"};

static void make_days(unsigned run)
{
    (void)run;
    for (size_t i = 0; i < COUNT_OF(days); i++) {
        char name[64];

        tavola_dated_name(stem, day(days[i]), name, sizeof name);
        make_table(name);
    }
}

static void check_days_dropped(void)
{
    for (size_t i = 0; i < COUNT_OF(days); i++) {
        char name[64];

        tavola_dated_name(stem, day(days[i]), name, sizeof name);
        CHECK(has_table(name) == (i >= 2));
    }
}

TEST(old_days_are_dropped_whole)
{
    char name[64], others[4][64];
    uint64_t count = 0;

    new_name(stem, sizeof stem);
    tavola_dated_name(stem, day("2026-01-02"), name, sizeof name);
    CHECK_TEXT(name + strlen(stem), "20260102");
    make_days(0);
    snprintf(others[0], sizeof others[0], "%s", stem);
    snprintf(others[1], sizeof others[1], "%s120251231", stem);
    snprintf(others[2], sizeof others[2], "%s2025123x", stem);
    snprintf(others[3], sizeof others[3], "%sOld20251231", stem);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        make_table(others[i]);
    CHECK_OK(tavola_drop_before(t.client, stem, day("2026-01-02"), t.call, &count));
    CHECK_INT(count, 2);
    check_days_dropped();
    for (size_t i = 0; i < COUNT_OF(others); i++)
        CHECK(has_table(others[i]));
    CHECK_OK(tavola_drop_before(t.client, stem, day("2026-01-02"), t.call, &count));
    CHECK_INT(count, 0);
    CHECK_REFUSED(tavola_drop_before(NULL, stem, 1, t.call, NULL), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_drop_before(t.client, "", 1, t.call, NULL), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_drop_before(t.client, NULL, 1, t.call, NULL), TAVOLA_ERR_INVALID);

    char tiny[5] = "xxxx";

    tavola_dated_name("Logins", 0, tiny, sizeof tiny);
    CHECK_TEXT(tiny, "");
}

static tavola_err drop_days(tavola_client *client, unsigned run)
{
    (void)run;
    return tavola_drop_before(client, stem, day("2026-01-02"), NULL, NULL);
}

static void drop_again(unsigned runs)
{
    (void)runs;
    CHECK_OK(tavola_drop_before(t.client, stem, day("2026-01-02"), t.call, NULL));
}

static void check_days(unsigned run, tavola_err err)
{
    (void)run, (void)err;
    check_days_dropped();
}

TEST(a_client_that_dies_leaves_days_for_the_next_drop)
{
    static const kill_case one = {
        .prepare = make_days, .act = drop_days, .recover = drop_again, .check = check_days};

    new_name(stem, sizeof stem);
    kill_everywhere(&one);
}

/* ---- spread ---- */

TEST(a_bucket_is_the_first_bytes_of_sha_256)
{
    static const struct {
        const char *key;
        uint32_t buckets;
        const char *want;
    } cases[] = {
        /* By Python's hashlib. */
        {"abc", 1, "0"},      {"abc", 10, "9"},   {"abc", 11, "01"},
        {"abc", 16, "15"},    {"abc", 100, "19"}, {"abc", 101, "042"},
        {"abc", 1000, "319"}, {"", 10, "0"},      {"", 1000, "610"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char prefix[16];

        t_row = cases[i].want;
        tavola_key_spread(cases[i].key, cases[i].buckets, prefix, sizeof prefix);
        CHECK_TEXT(prefix, cases[i].want);
    }

    char prefix[16] = "x";

    tavola_key_spread(NULL, 16, prefix, sizeof prefix);
    CHECK_TEXT(prefix, "");
    tavola_key_spread("abc", 0, prefix, sizeof prefix);
    CHECK_TEXT(prefix, "");
}

/* U+1F600 is D83D DE00 in UTF-16 and so before U+E000 and U+FFFD. */
static const char *const ordered[] = {"",
                                      "0",
                                      "a",
                                      "a\xc3\xa4",
                                      "b",
                                      "\xc3\xa4",
                                      "\xf0\x9f\x98\x80",
                                      "\xf0\x9f\x98\x80z",
                                      "\xf0\x9f\x98\x81",
                                      "\xee\x80\x80",
                                      "\xef\xbf\xbd"};

static void insert_spread(uint32_t buckets, const char *row_key, int32_t n)
{
    char key[64];

    tavola_key_spread(row_key, buckets, key, sizeof key);
    strcat(key, "log");
    insert_new(key, row_key, n);
}

TEST(a_spread_scan_merges_its_buckets_by_row_key)
{
    enum { BUCKETS = 12 };
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    tavola_err err;
    size_t i = 0;

    for (size_t k = 0; k < COUNT_OF(ordered); k++)
        insert_spread(BUCKETS, ordered[k], (int32_t)k);
    insert_new("00other", "aaa", 1);
    insert_new("0", "aab", 1);
    CHECK_OK(tavola_scan_open_spread(t.table, NULL, BUCKETS, "log", t.call, &scan));
    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        CHECK(i < COUNT_OF(ordered));
        CHECK_TEXT(tavola_entity_row_key(entity), ordered[i++]);
    }
    CHECK_ERR(err, TAVOLA_END);
    CHECK_ERR(tavola_scan_next(scan, &entity), TAVOLA_END);
    CHECK_INT(i, COUNT_OF(ordered));
    tavola_scan_close(scan);

    tavola_query *query = tavola_query_new(tavola_where("RowKey", TAVOLA_GE, tavola_string("a")));
    static const char *const names[] = {"N", NULL};

    scan = NULL;
    tavola_query_set_limit(query, 3);
    tavola_query_select(query, names);
    CHECK_OK(tavola_scan_open_spread(t.table, query, BUCKETS, "log", t.call, &scan));
    for (i = 2; (err = tavola_scan_next(scan, &entity)) == TAVOLA_OK; i++)
        CHECK_TEXT(tavola_entity_row_key(entity), ordered[i]);
    CHECK_ERR(err, TAVOLA_END);
    CHECK_INT(i, 5);
    tavola_scan_close(scan);
    tavola_query_free(query);
}

TEST(a_spread_scan_goes_over_many_pages)
{
    enum { BUCKETS = 3, MANY = 700 };
    tavola_bulk *bulk = NULL;
    tavola_query *query = tavola_query_new(NULL);
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    uint64_t written = 0, failed = 0;
    char key[20], prefix[16];
    tavola_err err;
    int i = 0;

    CHECK_OK(tavola_bulk_open(t.table, 0, NULL, NULL, NULL, &bulk));
    for (int k = 0; k < MANY; k++) {
        tavola_key_padded((uint64_t)k, 6, key, sizeof key);
        tavola_key_spread(key, BUCKETS, prefix, sizeof prefix);

        tavola_entity *one = new_entity(prefix, key, k);

        CHECK_OK(tavola_bulk_add(bulk, TAVOLA_INSERT, one, NULL));
        tavola_entity_free(one);
    }
    CHECK_OK(tavola_bulk_close(bulk, &written, &failed));
    CHECK_INT(written, MANY);
    tavola_query_set_page_size(query, 50);
    CHECK_OK(tavola_scan_open_spread(t.table, query, BUCKETS, NULL, t.call, &scan));
    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        tavola_key_padded((uint64_t)i++, 6, key, sizeof key);
        CHECK_TEXT(tavola_entity_row_key(entity), key);
    }
    CHECK_ERR(err, TAVOLA_END);
    CHECK_INT(i, MANY);
    tavola_scan_close(scan);
    scan = NULL;
    CHECK_REFUSED(tavola_scan_open_spread(t.table, NULL, 0, NULL, t.call, &scan),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_scan_open_spread(t.table, NULL, 20000, NULL, t.call, &scan),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_scan_open_spread(NULL, NULL, 2, NULL, t.call, &scan), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_scan_open_spread(t.table, NULL, 2, NULL, t.call, NULL),
                  TAVOLA_ERR_INVALID);
    CHECK(scan == NULL);
    tavola_query_free(query);
}

/* ---- many reads ---- */

TEST(many_entities_are_read_at_once)
{
    enum { MANY = 60 };
    static char keys[MANY][8];
    const char *partitions[MANY], *rows[MANY];
    tavola_entity *got[MANY];
    static const uint32_t windows[] = {0, 1, 7, 1000};

    for (int i = 0; i < MANY; i++) {
        snprintf(keys[i], sizeof keys[i], "%d", i);
        partitions[i] = "p";
        rows[i] = keys[i];
        if (i % 3)
            insert_new("p", keys[i], i);
    }
    for (size_t k = 0; k < COUNT_OF(windows); k++) {
        CHECK_OK(tavola_get_many(t.table, partitions, rows, MANY, windows[k], t.call, got));
        for (int i = 0; i < MANY; i++) {
            int32_t n = -1;

            CHECK((got[i] != NULL) == (i % 3 != 0));
            if (got[i])
                CHECK(tavola_entity_get_int32(got[i], "N", &n) && n == i);
            tavola_entity_free(got[i]);
        }
    }
    rows[30] = "a/b";
    got[0] = NULL;
    CHECK_ERR(tavola_get_many(t.table, partitions, rows, MANY, 0, t.call, got), TAVOLA_ERR_INVALID);
    rows[30] = NULL;
    CHECK_ERR(tavola_get_many(t.table, partitions, rows, MANY, 0, t.call, got), TAVOLA_ERR_INVALID);
    CHECK(got[0] == NULL);
    CHECK_OK(tavola_get_many(t.table, NULL, NULL, 0, 0, t.call, NULL));
    CHECK_REFUSED(tavola_get_many(t.table, NULL, rows, 1, 0, t.call, got), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_get_many(NULL, partitions, rows, 1, 0, t.call, got), TAVOLA_ERR_INVALID);

    tavola_table *none = NULL;

    CHECK_OK(tavola_table_open(t.client, "NoSuchTable", &none));
    CHECK_ERR(tavola_get_many(none, partitions, rows, 5, 2, t.call, got), TAVOLA_ERR_NOT_FOUND);
    CHECK_TEXT(tavola_call_code(t.call), "TableNotFound");
    tavola_table_close(none);
}

/* ---- without requests ---- */

TEST(an_entity_is_embedded_under_a_prefix)
{
    static const char *const names[] = {"Name", "Absent", NULL};
    tavola_entity *manager = tavola_entity_new("Sales", "000223"), *department, *all;

    tavola_entity_set_string(manager, "Name", "Jun Cao");
    tavola_entity_set_int32(manager, "Age", 47);
    department = tavola_entity_new("Sales", "Department");
    tavola_entity_embed(department, "Manager", manager, names);
    CHECK_INT(tavola_entity_count(department), 1);
    CHECK_TEXT(text_of(department, "ManagerName"), "Jun Cao");
    all = tavola_entity_new("Sales", "Department");
    tavola_entity_embed(all, NULL, manager, NULL);
    CHECK_INT(tavola_entity_count(all), 2);
    tavola_entity_embed(all, "M", NULL, NULL);
    CHECK_ERR(tavola_entity_error(all), TAVOLA_ERR_NO_MEMORY);
    tavola_entity_embed(department, "M", department, NULL);
    CHECK_ERR(tavola_entity_error(department), TAVOLA_ERR_INVALID);
    tavola_entity_embed(NULL, "M", manager, NULL);
    tavola_entity_free(manager);
    tavola_entity_free(department);
    tavola_entity_free(all);
}

TEST(a_compound_key_is_cut_into_its_parts)
{
    static const struct {
        const char *key;
        size_t i;
        const char *want;
    } cases[] = {
        {"000123_2012", 0, "000123"},
        {"000123_2012", 1, "2012"},
        {"000123_2012", 2, NULL},
        {"", 0, ""},
        {"", 1, NULL},
        {"_", 0, ""},
        {"_", 1, ""},
        {"_", 2, NULL},
        {NULL, 0, NULL},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *part = tavola_key_part('_', cases[i].key, cases[i].i);

        t_row = cases[i].key ? cases[i].key : "NULL";
        if (cases[i].want)
            CHECK_TEXT(part, cases[i].want);
        else
            CHECK(part == NULL);
        tavola_free(part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(the_tail_of_a_log_is_its_newest_entries),
        LIVE_TEST(a_tail_may_be_longer_than_a_page),
        LIVE_TEST(the_same_entry_again_adds_nothing),
        LIVE_TEST(a_client_that_dies_can_add_its_entry_again),
        LIVE_TEST(old_days_are_dropped_whole),
        LIVE_TEST(a_client_that_dies_leaves_days_for_the_next_drop),
        LIVE_TEST(a_bucket_is_the_first_bytes_of_sha_256),
        LIVE_TEST(a_spread_scan_merges_its_buckets_by_row_key),
        LIVE_TEST(a_spread_scan_goes_over_many_pages),
        LIVE_TEST(many_entities_are_read_at_once),
        LIVE_TEST(an_entity_is_embedded_under_a_prefix),
        LIVE_TEST(a_compound_key_is_cut_into_its_parts),
    };

    return cmocka_run_group_tests(tests, start_faults, stop_faults);
}
