/* Large values in blobs, and logs in append blobs. */
#include "patterns.h"

static tavola_container *container;
static char container_name[63];

static int open_large(void **state)
{
    open_live(state);
    new_name(container_name, sizeof container_name);
    CHECK_OK(tavola_container_open(t.client, container_name, &container));
    CHECK_OK(tavola_container_create(container, t.call));
    return 0;
}

static int close_large(void **state)
{
    CHECK_OK(tavola_container_delete(container, t.call));
    tavola_container_close(container);
    return close_live(state);
}

#define LARGE_TEST(name) cmocka_unit_test_setup_teardown(name, open_large, close_large)

static tavola_err put_on(tavola_table *table, tavola_container *photos, const char *key,
                         const char *value)
{
    tavola_entity *entity = new_entity("Sales", key, 1);
    tavola_err err = tavola_large_put(table, entity, "Photo", photos, value, strlen(value), t.call);

    tavola_entity_free(entity);
    return err;
}

static tavola_err put(const char *key, const char *value)
{
    return put_on(t.table, container, key, value);
}

/* The value, NULL when there is no entity; a missing blob is a failure. */
static char *value_of(const char *key)
{
    tavola_entity *entity = NULL;
    void *data = NULL;
    size_t size = 0;
    tavola_err err = tavola_get(t.table, "Sales", key, t.call, &entity);

    if (err == TAVOLA_ERR_NOT_FOUND)
        return NULL;
    CHECK_OK(err);
    CHECK_OK(tavola_large_get(t.table, entity, "Photo", t.call, &data, &size));
    CHECK_INT(strlen(data), size);
    tavola_entity_free(entity);
    return data;
}

static void check_value(const char *key, const char *want)
{
    char *value = value_of(key);

    CHECK_TEXT(value, want);
    tavola_free(value);
}

static size_t count_blobs(void)
{
    tavola_blobs *blobs = NULL;
    size_t count;

    CHECK_OK(tavola_blob_list(container, NULL, NULL, 0, NULL, t.call, &blobs));
    count = tavola_blobs_count(blobs);
    tavola_blobs_free(blobs);
    return count;
}

static uint64_t sweep(tavola_ticks older_than)
{
    uint64_t count = UINT64_MAX;

    CHECK_OK(tavola_large_sweep(t.table, "Photo", container, older_than, t.call, &count));
    return count;
}

static tavola_ticks in_an_hour(void)
{
    return tavola_now() + 3600 * INT64_C(10000000);
}

TEST(a_large_value_is_a_blob)
{
    enum { MEGABYTES = 3 << 20 };
    tavola_entity *entity = new_entity("Sales", "000223", 5), *got = NULL;
    char *photo = malloc(MEGABYTES);
    void *data = NULL;
    size_t size = 0;

    for (size_t i = 0; i < MEGABYTES; i++)
        photo[i] = (char)(i * 7 >> 3);
    CHECK_OK(tavola_large_put(t.table, entity, "Photo", container, photo, MEGABYTES, t.call));
    CHECK(strncmp(text_of(entity, "Photo"), container_name, strlen(container_name)) == 0);
    CHECK_OK(tavola_get(t.table, "Sales", "000223", t.call, &got));
    check_same(got, entity);
    CHECK_OK(tavola_large_get(t.table, got, "Photo", t.call, &data, &size));
    CHECK_INT(size, MEGABYTES);
    CHECK(memcmp(data, photo, MEGABYTES) == 0);
    tavola_free(data);
    tavola_entity_free(got);
    tavola_entity_free(entity);
    free(photo);
    CHECK_OK(tavola_large_delete(t.table, "Sales", "000223", "Photo", t.call));
    CHECK_INT(count_all(), 0);
    CHECK_INT(count_blobs(), 0);
    CHECK_ERR(tavola_large_delete(t.table, "Sales", "000223", "Photo", t.call),
              TAVOLA_ERR_NOT_FOUND);
}

/* ---- what fails ---- */

static tavola_err put_large(tavola_table *table, tavola_entity *entity)
{
    return tavola_large_put(table, entity, "Photo", container, "data", 4, t.call);
}

static tavola_err put_large_nowhere(tavola_table *table, tavola_entity *entity)
{
    tavola_container *nowhere = container_on(t.client, "no-such-container");
    tavola_err err = tavola_large_put(table, entity, "Photo", nowhere, "data", 4, t.call);

    tavola_container_close(nowhere);
    return err;
}

static tavola_err put_large_badly_named(tavola_table *table, tavola_entity *entity)
{
    return tavola_large_put(table, entity, "not a name", container, "data", 4, t.call);
}

static tavola_err put_wide(tavola_table *table, tavola_entity *entity)
{
    return tavola_wide_put(table, entity, t.call);
}

static tavola_err put_indexed(tavola_table *table, tavola_entity *entity)
{
    const tavola_index index = {.prefix = "photo_", .property = "Photo"};
    tavola_indexed *indexed = NULL;

    CHECK_OK(tavola_indexed_open(table, &index, 1, NULL, t.call, &indexed));

    tavola_err err = tavola_indexed_put(indexed, entity, t.call);

    tavola_indexed_close(indexed);
    return err;
}

static tavola_err add_to_log(tavola_table *table, tavola_entity *entity)
{
    return tavola_log_add(table, entity, tavola_now(), t.call);
}

static const struct {
    const char *what;
    tavola_err (*put)(tavola_table *table, tavola_entity *entity);
    tavola_err stale, absent; /* by an old etag; into a table that is not there */
} failing[] = {
    {"large", put_large, TAVOLA_ERR_ETAG, TAVOLA_ERR_NOT_FOUND},
    {"large, into no container", put_large_nowhere, TAVOLA_ERR_NOT_FOUND, TAVOLA_ERR_NOT_FOUND},
    {"large, under a bad name", put_large_badly_named, TAVOLA_ERR_INVALID, TAVOLA_ERR_INVALID},
    {"wide", put_wide, TAVOLA_ERR_NOT_FOUND, TAVOLA_ERR_NOT_FOUND},
    {"indexed", put_indexed, TAVOLA_ERR_ETAG, TAVOLA_ERR_NOT_FOUND},
    {"log", add_to_log, TAVOLA_OK, TAVOLA_ERR_NOT_FOUND},
};

static void check_untouched(tavola_entity *entity, const tavola_entity *before)
{
    CHECK_OK(tavola_entity_error(entity));
    CHECK_TEXT(tavola_entity_etag(entity), tavola_entity_etag(before));
    check_same(entity, before);
}

TEST(a_put_that_fails_leaves_the_entity_as_it_was)
{
    tavola_entity *stored = new_entity("p", "r", 1);
    tavola_table *absent = NULL;

    CHECK_OK(tavola_insert(t.table, stored, t.call));
    CHECK_OK(tavola_table_open(t.client, "NoSuchTableAtAll", &absent));
    for (size_t i = 0; i < COUNT_OF(failing); i++) {
        for (int has_photo = 0; has_photo < 2; has_photo++) {
            tavola_entity *entity = new_entity("p", "r", 2), *before;

            t_row = failing[i].what;
            if (has_photo)
                tavola_entity_set_string(entity, "Photo", "what was there");
            tavola_entity_set_etag(entity, "W/\"datetime'2020-01-01T00%3A00%3A00.0000000Z'\"");
            before = tavola_entity_copy(entity);
            CHECK_ERR(failing[i].put(t.table, entity), failing[i].stale);
            check_untouched(entity, before);
            CHECK_ERR(failing[i].put(absent, entity), failing[i].absent);
            check_untouched(entity, before);
            tavola_entity_free(before);
            tavola_entity_free(entity);
        }
    }
    t_row = NULL;
    CHECK_INT(count_blobs(), 0);
    tavola_table_close(absent);
    tavola_entity_free(stored);
}

TEST(a_new_value_takes_the_old_blob_along)
{
    CHECK_OK(put("1", "first"));
    CHECK_OK(put("2", "other"));

    tavola_entity *old = NULL;

    CHECK_OK(tavola_get(t.table, "Sales", "1", t.call, &old));
    CHECK_OK(put("1", ""));
    CHECK_INT(count_blobs(), 2);
    check_value("1", "");
    CHECK_OK(put("1", "second"));
    check_value("1", "second");
    check_value("2", "other");

    /* A reader with the old name finds the new value. */
    void *data = NULL;
    size_t size = 0;

    CHECK_OK(tavola_large_get(t.table, old, "Photo", t.call, &data, &size));
    CHECK_TEXT((char *)data, "second");
    tavola_free(data);
    data = NULL;
    CHECK_OK(tavola_large_delete(t.table, "Sales", "1", "Photo", t.call));
    CHECK_ERR(tavola_large_get(t.table, old, "Photo", t.call, &data, &size), TAVOLA_ERR_NOT_FOUND);
    CHECK(data == NULL);
    tavola_entity_free(old);
}

TEST(an_etag_is_a_condition_and_a_refused_put_leaves_no_blob)
{
    tavola_entity *first = NULL, *second = NULL;

    CHECK_OK(put("1", "one"));
    CHECK_OK(tavola_get(t.table, "Sales", "1", t.call, &first));
    CHECK_OK(tavola_get(t.table, "Sales", "1", t.call, &second));
    CHECK_OK(tavola_large_put(t.table, first, "Photo", container, "two", 3, t.call));
    CHECK_ERR(tavola_large_put(t.table, second, "Photo", container, "three", 5, t.call),
              TAVOLA_ERR_ETAG);
    check_value("1", "two");
    CHECK_INT(count_blobs(), 1);
    tavola_entity_free(first);
    tavola_entity_free(second);
}

TEST(a_sweep_takes_what_nobody_names_and_is_old)
{
    char blob[256];

    CHECK_OK(put("1", "one"));
    CHECK_OK(put("2", "two"));
    snprintf(blob, sizeof blob, "%s/Photo/left/behind", tavola_table_name(t.table));
    CHECK_OK(tavola_blob_put(container, blob, "x", 1, NULL, t.call));
    CHECK_OK(tavola_blob_put(container, "another/Photo/x", "x", 1, NULL, t.call));
    CHECK_INT(sweep(tavola_now() - 60 * INT64_C(10000000)), 0);
    CHECK_INT(count_blobs(), 4);
    CHECK_INT(sweep(in_an_hour()), 1);
    CHECK_INT(count_blobs(), 3);
    CHECK_INT(sweep(in_an_hour()), 0);
    check_value("1", "one");
    check_value("2", "two");
}

TEST(what_cannot_work_is_refused_before_it_is_sent)
{
    tavola_entity *entity = new_entity("p", "r", 1);
    tavola_client *other = NULL;
    tavola_container *elsewhere;
    void *data = NULL;
    size_t size = 0;

    CHECK_OK(tavola_client_open("AccountName=other;AccountKey=AAAA", NULL, &other));
    elsewhere = container_on(other, container_name);
    CHECK_REFUSED(tavola_large_put(t.table, entity, "Photo", elsewhere, "x", 1, t.call),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_large_sweep(t.table, "Photo", elsewhere, 1, t.call, NULL),
                  TAVOLA_ERR_INVALID);
    tavola_container_close(elsewhere);
    tavola_client_close(other);
    CHECK_REFUSED(tavola_large_put(NULL, entity, "Photo", container, "x", 1, t.call),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_large_put(t.table, NULL, "Photo", container, "x", 1, t.call),
                  TAVOLA_ERR_NO_MEMORY);
    CHECK_REFUSED(tavola_large_put(t.table, entity, "Photo", NULL, "x", 1, t.call),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_large_put(t.table, entity, NULL, container, "x", 1, t.call),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_large_put(t.table, entity, "Photo", container, NULL, 1, t.call),
                  TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_large_get(t.table, entity, "Photo", t.call, &data, &size),
              TAVOLA_ERR_NOT_FOUND);
    tavola_entity_set_string(entity, "Photo", "no-slash");
    CHECK_REFUSED(tavola_large_get(t.table, entity, "Photo", t.call, &data, &size),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_large_delete(NULL, "p", "r", "Photo", t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_large_sweep(NULL, "Photo", container, 1, t.call, NULL),
                  TAVOLA_ERR_INVALID);
    tavola_entity_free(entity);
}

/* ---- killed at every boundary ---- */

static void run_key(char *to, size_t size, unsigned run)
{
    snprintf(to, size, "%03u", run);
}

static void prepare_old(unsigned run)
{
    char key[16];

    run_key(key, sizeof key, run);
    CHECK_OK(put(key, "old"));
}

static tavola_err put_new(tavola_client *client, unsigned run)
{
    tavola_table *table = table_on(client);
    char key[16];

    run_key(key, sizeof key, run);

    tavola_container *own = container_on(client, container_name);
    tavola_err err = put_on(table, own, key, "new");

    tavola_container_close(own);

    tavola_table_close(table);
    return err;
}

static tavola_err delete_old(tavola_client *client, unsigned run)
{
    tavola_table *table = table_on(client);
    char key[16];

    run_key(key, sizeof key, run);

    tavola_err err = tavola_large_delete(table, "Sales", key, "Photo", NULL);

    tavola_table_close(table);
    return err;
}

/* After the sweep there is a blob for each entity, and no other. */
static void sweep_all(unsigned runs)
{
    (void)runs;
    CHECK(count_blobs() >= count_all());
    sweep(in_an_hour());
    CHECK_INT(count_blobs(), count_all());
    CHECK_INT(sweep(in_an_hour()), 0);
}

static void check_put(unsigned run, tavola_err err)
{
    char key[16];

    run_key(key, sizeof key, run);

    char *value = value_of(key);

    CHECK(value != NULL && (strcmp(value, "old") == 0 || strcmp(value, "new") == 0));
    if (err == TAVOLA_OK)
        CHECK_TEXT(value, "new");
    tavola_free(value);
}

static void check_first(unsigned run, tavola_err err)
{
    char key[16];

    run_key(key, sizeof key, run);

    char *value = value_of(key);

    if (value || err == TAVOLA_OK)
        CHECK_TEXT(value, "new");
    tavola_free(value);
}

static void check_delete(unsigned run, tavola_err err)
{
    char key[16];

    run_key(key, sizeof key, run);

    char *value = value_of(key);

    if (value)
        CHECK_TEXT(value, "old");
    if (err == TAVOLA_OK)
        CHECK(value == NULL);
    tavola_free(value);
}

TEST(a_client_that_dies_leaves_no_entity_without_its_blob)
{
    static const kill_case replace = {
        .prepare = prepare_old, .act = put_new, .recover = sweep_all, .check = check_put};

    kill_everywhere(&replace);
}

TEST(a_client_that_dies_in_a_first_put_or_a_delete_leaves_only_what_is_swept)
{
    static const kill_case first = {.act = put_new, .recover = sweep_all, .check = check_first};
    static const kill_case delete = {
        .prepare = prepare_old, .act = delete_old, .recover = sweep_all, .check = check_delete};

    kill_everywhere(&first);
    kill_everywhere(&delete);
}

TEST(a_lost_answer_leaves_no_entity_without_its_blob)
{
    static const kill_case replace = {
        .prepare = prepare_old, .act = put_new, .recover = sweep_all, .check = check_put};

    lose_everywhere(&replace);
}

/* ---- races ---- */

enum { RACERS = 5, RACES = 12 };

static void *race(void *number)
{
    tavola_call *call = tavola_call_new();
    tavola_err err = TAVOLA_OK;

    for (int i = 0; i < RACES && err == TAVOLA_OK; i++) {
        tavola_entity *entity = new_entity("Sales", i % 2 ? "a" : "b", i), *got = NULL;
        char value[32];
        void *data = NULL;
        size_t size = 0;

        snprintf(value, sizeof value, "%u-%d", (unsigned)(uintptr_t)number, i);
        err = tavola_large_put(t.table, entity, "Photo", container, value, strlen(value), call);
        if (err == TAVOLA_ERR_ETAG)
            err = TAVOLA_OK;
        if (err == TAVOLA_OK)
            err = tavola_get(t.table, "Sales", i % 2 ? "a" : "b", call, &got);
        if (err == TAVOLA_OK)
            err = tavola_large_get(t.table, got, "Photo", call, &data, &size);
        tavola_free(data);
        tavola_entity_free(got);
        tavola_entity_free(entity);
    }
    tavola_call_free(call);
    return (void *)(uintptr_t)(err ? tavola_err_name(err) : NULL);
}

TEST(many_writers_leave_no_blob_behind)
{
    run_threads(RACERS, race);
    CHECK_INT(count_all(), 2);
    CHECK_INT(count_blobs(), 2);
}

/* ---- logs in append blobs ---- */

static tavola_ticks at_noon(void)
{
    tavola_ticks when = 0;

    CHECK(tavola_ticks_parse("2026-01-02T12:34:56Z", &when));
    return when;
}

static char *log_text(void)
{
    void *data = NULL;
    size_t size = 0;

    CHECK_OK(tavola_blob_get(container, "web/2026/01/02/12.log", 1 << 20, t.call, &data, &size));
    return data;
}

TEST(lines_go_to_the_blob_of_their_hour)
{
    char *text;

    CHECK_OK(tavola_log_blob_append(container, "web", at_noon(), "one\n", 4, t.call));
    CHECK_OK(tavola_log_blob_append(container, "web", at_noon(), "two\n", 4, t.call));
    CHECK_OK(tavola_log_blob_append(container, "web", at_noon(), "", 0, t.call));
    CHECK_OK(tavola_log_blob_append(container, "web", at_noon() + 3600 * INT64_C(10000000),
                                    "three\n", 6, t.call));
    text = log_text();
    CHECK_TEXT(text, "one\ntwo\n");
    tavola_free(text);
    CHECK_INT(count_blobs(), 2);
    CHECK_REFUSED(tavola_log_blob_append(container, NULL, 1, "x", 1, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_log_blob_append(container, "s", 1, NULL, 1, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_log_blob_append(NULL, "s", 1, "x", 1, t.call), TAVOLA_ERR_INVALID);
}

static tavola_err append_line(tavola_client *client, unsigned run)
{
    char line[32];
    int len = snprintf(line, sizeof line, "line %03u\n", run);

    tavola_container *own = container_on(client, container_name);
    tavola_err err = tavola_log_blob_append(own, "web", at_noon(), line, (size_t)len, NULL);

    tavola_container_close(own);
    return err;
}

static void check_line(unsigned run, tavola_err err)
{
    char line[32], *text = log_text(), *at;
    unsigned count = 0;

    snprintf(line, sizeof line, "line %03u\n", run);
    for (at = text; (at = strstr(at, line)) != NULL; at++)
        count++;
    CHECK(count <= 1);
    if (err == TAVOLA_OK)
        CHECK_INT(count, 1);
    CHECK_INT(strlen(text) % strlen(line), 0);
    tavola_free(text);
}

static void *append_lines(void *number)
{
    tavola_err err = TAVOLA_OK;

    for (unsigned i = 0; i < 10 && err == TAVOLA_OK; i++)
        err = append_line(t.client, (unsigned)(uintptr_t)number * 10 + i);
    return (void *)(uintptr_t)(err ? tavola_err_name(err) : NULL);
}

TEST(a_client_that_dies_writes_its_line_once_or_not)
{
    static const kill_case one = {.act = append_line, .check = check_line};

    kill_everywhere(&one);
}

TEST(a_lost_answer_writes_a_line_once)
{
    static const kill_case one = {.act = append_line, .check = check_line};

    lose_everywhere(&one);
}

TEST(many_writers_lose_no_line)
{
    run_threads(4, append_lines);
    for (unsigned i = 0; i < 40; i++)
        check_line(i, TAVOLA_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LARGE_TEST(a_large_value_is_a_blob),
        LARGE_TEST(a_put_that_fails_leaves_the_entity_as_it_was),
        LARGE_TEST(a_new_value_takes_the_old_blob_along),
        LARGE_TEST(an_etag_is_a_condition_and_a_refused_put_leaves_no_blob),
        LARGE_TEST(a_sweep_takes_what_nobody_names_and_is_old),
        LARGE_TEST(what_cannot_work_is_refused_before_it_is_sent),
        LARGE_TEST(a_client_that_dies_leaves_no_entity_without_its_blob),
        LARGE_TEST(a_lost_answer_leaves_no_entity_without_its_blob),
        LARGE_TEST(a_client_that_dies_in_a_first_put_or_a_delete_leaves_only_what_is_swept),
        LARGE_TEST(many_writers_leave_no_blob_behind),
        LARGE_TEST(lines_go_to_the_blob_of_their_hour),
        LARGE_TEST(a_client_that_dies_writes_its_line_once_or_not),
        LARGE_TEST(a_lost_answer_writes_a_line_once),
        LARGE_TEST(many_writers_lose_no_line),
    };

    return cmocka_run_group_tests(tests, start_faults, stop_faults);
}
