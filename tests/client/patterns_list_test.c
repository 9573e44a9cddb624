/* Index entities: lists of keys in a property, in the same transaction, and in a blob. */
#include "patterns.h"

static tavola_container *container;
static char container_name[63];

static int open_lists(void **state)
{
    open_live(state);
    new_name(container_name, sizeof container_name);
    CHECK_OK(tavola_container_open(t.client, container_name, &container));
    CHECK_OK(tavola_container_create(container, t.call));
    return 0;
}

static int close_lists(void **state)
{
    CHECK_OK(tavola_container_delete(container, t.call));
    tavola_container_close(container);
    return close_live(state);
}

#define LIST_TEST(name) cmocka_unit_test_setup_teardown(name, open_lists, close_lists)

static tavola_err add(const char *list, const char *item)
{
    return tavola_list_add(t.table, "Sales", list, "EmployeeIDs", item, NULL, t.call);
}

static tavola_names *items_of(const char *list)
{
    tavola_names *items = NULL;

    CHECK_OK(tavola_list_get(t.table, "Sales", list, "EmployeeIDs", t.call, &items));
    return items;
}

static bool names_have(const tavola_names *items, const char *item)
{
    for (size_t i = 0; i < tavola_names_count(items); i++) {
        if (strcmp(tavola_names_at(items, i), item) == 0)
            return true;
    }
    return false;
}

static bool has_item(const char *list, const char *item)
{
    tavola_names *items = items_of(list);
    bool has = names_have(items, item);

    tavola_names_free(items);
    return has;
}

static size_t count_of(const char *list)
{
    tavola_names *items = items_of(list);
    size_t count = tavola_names_count(items);

    tavola_names_free(items);
    return count;
}

TEST(items_are_in_a_list_once)
{
    static const char *const odd[] = {
        "000152",           "",          "a\"b\\c", "\xc3\xa4\xe2\x82\xac",
        "\xf0\x9f\x98\x80", "tab\there", "[\"x\"]"};

    CHECK_INT(count_of("Jones"), 0);
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        t_row = odd[i];
        CHECK_OK(add("Jones", odd[i]));
        CHECK_OK(add("Jones", odd[i]));
        CHECK_INT(count_of("Jones"), i + 1);
        CHECK(has_item("Jones", odd[i]));
    }
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        t_row = odd[i];
        CHECK_OK(
            tavola_list_remove(t.table, "Sales", "Jones", "EmployeeIDs", odd[i], NULL, t.call));
        CHECK(!has_item("Jones", odd[i]));
        CHECK_INT(count_of("Jones"), COUNT_OF(odd) - i - 1);
    }
    CHECK_OK(tavola_list_remove(t.table, "Sales", "Nobody", "EmployeeIDs", "x", NULL, t.call));
    CHECK(!is_stored("Sales", "Nobody"));
}

TEST(a_list_goes_on_in_more_properties_and_comes_back)
{
    char item[1024];
    tavola_entity *entity = tavola_entity_new("Sales", "Long"), *got = NULL;

    tavola_entity_set_int32(entity, "Other", 5);
    CHECK_OK(tavola_insert(t.table, entity, t.call));
    tavola_entity_free(entity);
    for (int i = 0; i < 100; i++) {
        snprintf(item, sizeof item, "%04d%0900d", i, 0);
        CHECK_OK(add("Long", item));
    }
    CHECK_INT(count_of("Long"), 100);
    CHECK_OK(tavola_get(t.table, "Sales", "Long", t.call, &got));
    CHECK(text_of(got, "EmployeeIDs") && text_of(got, "EmployeeIDs_1"));
    CHECK_INT(strlen(text_of(got, "EmployeeIDs")), 32768);
    CHECK(text_of(got, "EmployeeIDs_3") == NULL);
    tavola_entity_free(got);
    got = NULL;
    for (int i = 0; i < 95; i++) {
        snprintf(item, sizeof item, "%04d%0900d", i, 0);
        CHECK_OK(tavola_list_remove(t.table, "Sales", "Long", "EmployeeIDs", item, NULL, t.call));
    }
    CHECK_INT(count_of("Long"), 5);
    CHECK_OK(tavola_get(t.table, "Sales", "Long", t.call, &got));
    CHECK_INT(tavola_entity_count(got), 2);
    tavola_entity_free(got);
}

TEST(a_list_over_a_mebibyte_belongs_into_a_blob)
{
    char *item = malloc(600001);

    memset(item, 'x', 600000);
    item[600000] = '\0';
    CHECK_ERR(add("Huge", item), TAVOLA_ERR_TOO_LARGE);
    CHECK(strstr(tavola_call_message(t.call), "blob") != NULL);
    CHECK_OK(tavola_list_blob_add(container, "huge", item, t.call));
    free(item);
}

TEST(an_employee_and_its_list_change_together)
{
    tavola_batch *with = tavola_batch_new(t.table);
    tavola_entity *employee = new_entity("Sales", "000152", 1);

    tavola_batch_add(with, TAVOLA_INSERT, employee, NULL);
    CHECK_OK(tavola_list_add(t.table, "Sales", "Jones", "EmployeeIDs", "000152", with, t.call));
    CHECK(is_stored("Sales", "000152") && has_item("Jones", "000152"));

    /* What stands beside the list fails: nothing happens, and its index is told. */
    CHECK_ERR(tavola_list_add(t.table, "Sales", "Smith", "EmployeeIDs", "000152", with, t.call),
              TAVOLA_ERR_EXISTS);
    CHECK_INT(tavola_call_failed_index(t.call), 0);
    CHECK(!has_item("Smith", "000152"));
    tavola_batch_free(with);

    with = tavola_batch_new(t.table);
    tavola_entity_set_int32(employee, "N", 2);
    tavola_batch_add(with, TAVOLA_REPLACE, employee, TAVOLA_ANY);
    CHECK_OK(tavola_list_move(t.table, "Sales", "Jones", "Smith", "EmployeeIDs", "000152", with,
                              t.call));
    CHECK(!has_item("Jones", "000152") && has_item("Smith", "000152"));
    CHECK_INT(stored_n("Sales", "000152"), 2);
    tavola_batch_free(with);

    with = tavola_batch_new(t.table);
    tavola_batch_add(with, TAVOLA_DELETE, employee, TAVOLA_ANY);
    CHECK_OK(tavola_list_remove(t.table, "Sales", "Smith", "EmployeeIDs", "000152", with, t.call));
    CHECK(!is_stored("Sales", "000152") && !has_item("Smith", "000152"));
    tavola_batch_free(with);
    tavola_entity_free(employee);
}

TEST(what_is_not_a_list_is_left_alone)
{
    static const char *const texts[] = {
        "x",        "{}",        "[1]",           "[\"a\"",       "[\"a\",]",
        "[\"a\"]]", "[\"\\x\"]", "[\"\\udc00\"]", "[\"\\ud83d\"]"};

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        tavola_entity *entity = tavola_entity_new("Sales", "Odd");
        tavola_names *items = NULL;

        t_row = texts[i];
        tavola_entity_set_string(entity, "EmployeeIDs", texts[i]);
        CHECK_OK(tavola_insert_or_replace(t.table, entity, t.call));
        tavola_entity_free(entity);
        CHECK_ERR(add("Odd", "1"), TAVOLA_ERR_PROTOCOL);
        CHECK_ERR(tavola_list_get(t.table, "Sales", "Odd", "EmployeeIDs", t.call, &items),
                  TAVOLA_ERR_PROTOCOL);
        CHECK_OK(tavola_blob_put(container, "odd", texts[i], strlen(texts[i]), NULL, t.call));
        CHECK_ERR(tavola_list_blob_add(container, "odd", "1", t.call), TAVOLA_ERR_PROTOCOL);
    }
}

TEST(what_cannot_work_is_refused_before_it_is_sent)
{
    tavola_names *items = NULL;
    tavola_table *other = NULL;

    CHECK_REFUSED(tavola_list_add(NULL, "p", "r", "L", "i", NULL, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_list_add(t.table, NULL, "r", "L", "i", NULL, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_list_add(t.table, "p", NULL, "L", "i", NULL, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_list_add(t.table, "p", "r", NULL, "i", NULL, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_list_add(t.table, "p", "r", "L", NULL, NULL, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_list_add(t.table, "p", "r", "L", "\xff", NULL, t.call),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_list_get(t.table, "p", "r", NULL, t.call, &items), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_list_blob_add(container, "b", NULL, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_list_blob_add(container, "b", "\xff", t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_list_blob_add(NULL, "b", "i", t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_list_blob_get(container, "b", t.call, NULL), TAVOLA_ERR_INVALID);
    CHECK_OK(tavola_table_open(t.client, "Another", &other));

    tavola_batch *with = tavola_batch_new(other);

    CHECK_REFUSED(tavola_list_add(t.table, "p", "r", "L", "i", with, t.call), TAVOLA_ERR_INVALID);
    tavola_batch_free(with);
    tavola_table_close(other);
}

TEST(a_list_in_a_blob_takes_and_gives_items)
{
    tavola_names *items = NULL;

    CHECK_OK(tavola_list_blob_get(container, "Jones", t.call, &items));
    CHECK_INT(tavola_names_count(items), 0);
    tavola_names_free(items);
    CHECK_OK(tavola_list_blob_remove(container, "Jones", "x", t.call));
    CHECK_OK(tavola_list_blob_add(container, "Jones", "Sales/000152", t.call));
    CHECK_OK(tavola_list_blob_add(container, "Jones", "Sales/000153", t.call));
    CHECK_OK(tavola_list_blob_add(container, "Jones", "Sales/000152", t.call));
    CHECK_OK(tavola_list_blob_remove(container, "Jones", "Sales/000152", t.call));
    CHECK_OK(tavola_list_blob_get(container, "Jones", t.call, &items));
    CHECK_INT(tavola_names_count(items), 1);
    CHECK_TEXT(tavola_names_at(items, 0), "Sales/000153");
    tavola_names_free(items);

    tavola_container *nowhere = container_on(t.client, "no-such-container");

    CHECK_ERR(tavola_list_blob_add(nowhere, "b", "x", t.call), TAVOLA_ERR_NOT_FOUND);
    tavola_container_close(nowhere);
}

/* ---- killed at every boundary: the list and the entities say the same ---- */

static void run_key(char *to, size_t size, unsigned run)
{
    snprintf(to, size, "%03u", run);
}

static tavola_err hire_on(tavola_table *table, const char *key)
{
    tavola_batch *with = tavola_batch_new(table);
    tavola_entity *employee = new_entity("Sales", key, 1);

    tavola_batch_add(with, TAVOLA_INSERT_OR_REPLACE, employee, NULL);

    tavola_err err = tavola_list_add(table, "Sales", "Jones", "EmployeeIDs", key, with, NULL);

    tavola_batch_free(with);
    tavola_entity_free(employee);
    return err;
}

static tavola_err hire(tavola_client *client, unsigned run)
{
    tavola_table *table = table_on(client);
    char key[16];

    run_key(key, sizeof key, run);

    tavola_err err = hire_on(table, key);

    tavola_table_close(table);
    return err;
}

static void prepare_hired(unsigned run)
{
    char key[16];

    run_key(key, sizeof key, run);
    CHECK_OK(hire_on(t.table, key));
}

static tavola_err rename_one(tavola_client *client, unsigned run)
{
    tavola_table *table = table_on(client);
    char key[16];

    run_key(key, sizeof key, run);

    tavola_batch *with = tavola_batch_new(table);
    tavola_entity *employee = new_entity("Sales", key, 2);

    tavola_batch_add(with, TAVOLA_REPLACE, employee, TAVOLA_ANY);

    tavola_err err =
        tavola_list_move(table, "Sales", "Jones", "Smith", "EmployeeIDs", key, with, NULL);

    tavola_batch_free(with);
    tavola_entity_free(employee);
    tavola_table_close(table);
    return err;
}

static void check_hired(unsigned run, tavola_err err)
{
    char key[16];

    run_key(key, sizeof key, run);
    CHECK(is_stored("Sales", key) == has_item("Jones", key));
    if (err == TAVOLA_OK)
        CHECK(is_stored("Sales", key));
    CHECK_OK(hire_on(t.table, key));
    CHECK(is_stored("Sales", key) && has_item("Jones", key));
}

static void check_renamed(unsigned run, tavola_err err)
{
    char key[16];

    run_key(key, sizeof key, run);

    bool is_done = stored_n("Sales", key) == 2;

    CHECK(has_item("Smith", key) == is_done && has_item("Jones", key) == !is_done);
    if (err == TAVOLA_OK)
        CHECK(is_done);
}

TEST(a_client_that_dies_leaves_list_and_entity_equal)
{
    static const kill_case hiring = {.act = hire, .check = check_hired};
    static const kill_case renaming = {
        .prepare = prepare_hired, .act = rename_one, .check = check_renamed};

    kill_everywhere(&hiring);
    kill_everywhere(&renaming);
}

static tavola_err add_to_blob(tavola_client *client, unsigned run)
{
    char key[16];

    run_key(key, sizeof key, run);

    tavola_container *own = container_on(client, container_name);
    tavola_err err = tavola_list_blob_add(own, "Killed", key, NULL);

    tavola_container_close(own);
    return err;
}

static void check_in_blob(unsigned run, tavola_err err)
{
    tavola_names *items = NULL;
    char key[16];

    run_key(key, sizeof key, run);
    CHECK_OK(tavola_list_blob_get(container, "Killed", t.call, &items));
    if (err == TAVOLA_OK)
        CHECK(names_have(items, key));
    tavola_names_free(items);
    items = NULL;
    CHECK_OK(tavola_list_blob_add(container, "Killed", key, t.call));
    CHECK_OK(tavola_list_blob_get(container, "Killed", t.call, &items));
    CHECK(names_have(items, key));
    tavola_names_free(items);
}

TEST(a_client_that_dies_leaves_a_whole_list_in_the_blob)
{
    static const kill_case adding = {.act = add_to_blob, .check = check_in_blob};

    kill_everywhere(&adding);
}

TEST(a_lost_answer_leaves_list_and_entity_equal)
{
    static const kill_case hiring = {.act = hire, .check = check_hired};
    static const kill_case adding = {.act = add_to_blob, .check = check_in_blob};

    lose_everywhere(&hiring);
    lose_everywhere(&adding);
}

/* ---- races ---- */

enum { RACERS = 6, RACES = 15 };

/* Each thread adds its own items and removes every third again. */
static void *race(void *number)
{
    tavola_err err = TAVOLA_OK;

    for (unsigned i = 0; i < RACES && err == TAVOLA_OK; i++) {
        char item[32];

        snprintf(item, sizeof item, "%u-%u", (unsigned)(uintptr_t)number, i);
        do
            err = tavola_list_add(t.table, "Sales", "Race", "EmployeeIDs", item, NULL, NULL);
        while (err == TAVOLA_ERR_ETAG);
        while (i % 3 == 0 && (err = tavola_list_remove(t.table, "Sales", "Race", "EmployeeIDs",
                                                       item, NULL, NULL)) == TAVOLA_ERR_ETAG)
            continue;
        if (err)
            break;
        do
            err = tavola_list_blob_add(container, "race", item, NULL);
        while (err == TAVOLA_ERR_ETAG);
    }
    return (void *)(uintptr_t)(err ? tavola_err_name(err) : NULL);
}

TEST(many_writers_lose_no_item)
{
    tavola_names *in_blob = NULL;

    run_threads(RACERS, race);
    CHECK_OK(tavola_list_blob_get(container, "race", t.call, &in_blob));

    tavola_names *items = items_of("Race");

    for (unsigned number = 0; number < RACERS; number++) {
        for (unsigned i = 0; i < RACES; i++) {
            char item[32];

            snprintf(item, sizeof item, "%u-%u", number, i);
            t_row = item;
            CHECK(names_have(items, item) == (i % 3 != 0));
            CHECK(names_have(in_blob, item));
        }
    }
    CHECK_INT(tavola_names_count(items), RACERS * RACES * 2 / 3);
    CHECK_INT(tavola_names_count(in_blob), RACERS * RACES);
    tavola_names_free(items);
    tavola_names_free(in_blob);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIST_TEST(items_are_in_a_list_once),
        LIST_TEST(a_list_goes_on_in_more_properties_and_comes_back),
        LIST_TEST(a_list_over_a_mebibyte_belongs_into_a_blob),
        LIST_TEST(an_employee_and_its_list_change_together),
        LIST_TEST(what_is_not_a_list_is_left_alone),
        LIST_TEST(what_cannot_work_is_refused_before_it_is_sent),
        LIST_TEST(a_list_in_a_blob_takes_and_gives_items),
        LIST_TEST(a_client_that_dies_leaves_list_and_entity_equal),
        LIST_TEST(a_client_that_dies_leaves_a_whole_list_in_the_blob),
        LIST_TEST(a_lost_answer_leaves_list_and_entity_equal),
        LIST_TEST(many_writers_lose_no_item),
    };

    return cmocka_run_group_tests(tests, start_faults, stop_faults);
}
