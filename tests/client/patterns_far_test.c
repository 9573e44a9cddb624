/* Inter-partition secondary indexes: eventually the copies are equal to their primaries. */
#include "clock.h"
#include "patterns.h"

static const char *const name_only[] = {"Name", NULL};
static const tavola_index indexes[] = {
    {"empid_", "RowKey", NULL}, {"email_", "Email", NULL}, {"badge_", "Badge", name_only}};

enum { BY_ID, BY_EMAIL, BY_BADGE, INDEXES };

static tavola_queue *queue;
static char poison_name[63];

static int open_far(void **state)
{
    char name[63];

    open_live(state);
    new_name(name, sizeof name);
    CHECK_OK(tavola_queue_open(t.client, name, &queue));
    CHECK_OK(tavola_queue_create(queue, t.call));
    new_name(poison_name, sizeof poison_name);
    return 0;
}

static int close_far(void **state)
{
    CHECK_OK(tavola_queue_delete(queue, t.call));
    tavola_queue_close(queue);
    return close_live(state);
}

#define FAR_TEST(name) cmocka_unit_test_setup_teardown(name, open_far, close_far)

static tavola_far far_of(tavola_table *table, tavola_queue *of_queue)
{
    return (tavola_far){.struct_size = sizeof(tavola_far),
                        .table = table,
                        .indexes = indexes,
                        .count = INDEXES,
                        .queue = of_queue,
                        .hide_ms = hidden_ms()};
}

static tavola_entity *employee(const char *id, const char *email, const char *badge)
{
    tavola_entity *entity = tavola_entity_new("Sales", id);

    tavola_entity_set_string(entity, "Name", "Jun Cao");
    tavola_entity_set_int32(entity, "Age", 34);
    if (email)
        tavola_entity_set_string(entity, "Email", email);
    if (badge)
        tavola_entity_set_string(entity, "Badge", badge);
    return entity;
}

static tavola_err put_by(const tavola_far *far, const char *id, const char *email,
                         const char *badge)
{
    tavola_entity *entity = employee(id, email, badge);
    tavola_err err = tavola_far_put(far, entity, t.call);

    tavola_entity_free(entity);
    return err;
}

static tavola_err put(const char *id, const char *email, const char *badge)
{
    tavola_far far = far_of(t.table, queue);

    return put_by(&far, id, email, badge);
}

static tavola_err delete (const char *id)
{
    tavola_far far = far_of(t.table, queue);

    return tavola_far_delete(&far, "Sales", id, t.call);
}

static tavola_entity *get(int by, const char *value)
{
    tavola_far far = far_of(t.table, queue);
    tavola_entity *entity = NULL;
    tavola_err err = tavola_far_get(&far, &indexes[by], "Sales", value, t.call, &entity);

    if (err != TAVOLA_ERR_NOT_FOUND)
        CHECK_OK(err);
    return entity;
}

static bool has(int by, const char *value)
{
    tavola_entity *entity = get(by, value);

    tavola_entity_free(entity);
    return entity != NULL;
}

static uint64_t messages(void)
{
    uint64_t count = UINT64_MAX;

    CHECK_OK(tavola_queue_count(queue, t.call, &count));
    return count;
}

/* All copies are right, and every primary has its own. */
static void check_indexes(void)
{
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    tavola_err err;

    CHECK_OK(tavola_scan_open(t.table, NULL, NULL, &scan));
    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        const char *partition = tavola_entity_partition_key(entity);
        const char *row = tavola_entity_row_key(entity);
        int by = strcmp(partition, "email_Sales") == 0 ? BY_EMAIL : BY_BADGE;

        if (strcmp(partition, "empid_Sales") == 0) {
            if (text_of(entity, "Email") && !has(BY_EMAIL, text_of(entity, "Email")))
                CHECK_FAIL("%s lacks its copy %s", row, text_of(entity, "Email"));
            if (text_of(entity, "Badge") && !has(BY_BADGE, text_of(entity, "Badge")))
                CHECK_FAIL("%s lacks its copy %s", row, text_of(entity, "Badge"));
            continue;
        }

        tavola_entity *found = get(by, row),
                      *primary = get(BY_ID, text_of(entity, "TavolaPrimary"));

        if (primary == NULL || text_of(primary, indexes[by].property) == NULL ||
            strcmp(text_of(primary, indexes[by].property), row) != 0)
            CHECK_FAIL("a stale copy: %s of %s", row, text_of(entity, "TavolaPrimary"));
        if (by == BY_EMAIL)
            check_same(found, primary);
        tavola_entity_free(found);
        tavola_entity_free(primary);
    }
    CHECK_ERR(err, TAVOLA_END);
    tavola_scan_close(scan);
}

/* Let a worker do all that is left, with its poison queue, in which nothing may be. */
static void work_off(void)
{
    tavola_far far = far_of(t.table, queue);
    tavola_worker *worker = NULL;
    tavola_queue *poison = NULL;
    uint64_t poisoned = 1;

    CHECK_OK(tavola_worker_open(t.client, tavola_queue_name(queue), poison_name, 3,
                                tavola_far_repair, &far, &worker));
    tavola_worker_set_visibility_ms(worker, hidden_ms());
    for (int i = 0; messages() > 0; i++) {
        CHECK(i < 100);
        pass_hidden();
        CHECK_OK(tavola_worker_run(worker, 0));
    }
    CHECK_INT(tavola_worker_poisoned(worker), 0);
    CHECK_INT(tavola_worker_failed(worker), 0);
    tavola_worker_close(worker);
    CHECK_OK(tavola_queue_open(t.client, poison_name, &poison));
    CHECK_OK(tavola_queue_create(poison, t.call));
    CHECK_OK(tavola_queue_count(poison, t.call, &poisoned));
    CHECK_INT(poisoned, 0);
    CHECK_OK(tavola_queue_delete(poison, t.call));
    tavola_queue_close(poison);
}

TEST(an_entity_is_found_by_each_of_its_indexes)
{
    tavola_entity *want = employee("000223", "jonesj@contoso.com", "b1"), *got;
    tavola_far far = far_of(t.table, queue);

    CHECK_OK(tavola_far_put(&far, want, t.call));
    CHECK(tavola_call_etag(t.call) != NULL);
    CHECK(is_stored("empid_Sales", "000223"));
    CHECK(is_stored("email_Sales", "jonesj@contoso.com"));
    got = get(BY_ID, "000223");
    check_same(got, want);
    CHECK_TEXT(tavola_entity_etag(got), tavola_call_etag(t.call));
    tavola_entity_free(got);
    got = get(BY_EMAIL, "jonesj@contoso.com");
    check_same(got, want);
    CHECK(tavola_entity_etag(got) == NULL);
    tavola_entity_free(got);
    got = get(BY_BADGE, "b1");
    CHECK_TEXT(tavola_entity_row_key(got), "000223");
    CHECK_INT(tavola_entity_count(got), 1);
    tavola_entity_free(got);
    tavola_entity_free(want);
    CHECK_INT(count_all(), 3);
    CHECK_INT(messages(), 0);
}

TEST(changes_and_deletes_take_the_old_copies_along)
{
    CHECK_OK(put("1", "a@x", "b1"));
    CHECK_OK(put("1", "b@x", NULL));
    CHECK(!has(BY_EMAIL, "a@x") && !has(BY_BADGE, "b1") && has(BY_EMAIL, "b@x"));
    CHECK_INT(count_all(), 2);
    check_indexes();
    CHECK_OK(delete ("1"));
    CHECK_INT(count_all(), 0);
    CHECK_ERR(delete ("1"), TAVOLA_ERR_NOT_FOUND);
    CHECK_INT(messages(), 0);
}

TEST(a_value_of_another_entity_is_refused_before_anything_is_written)
{
    CHECK_OK(put("1", "a@x", NULL));
    CHECK_ERR(put("2", "a@x", "new"), TAVOLA_ERR_EXISTS);
    CHECK(!has(BY_ID, "2") && !has(BY_BADGE, "new"));
    CHECK_INT(messages(), 0);
    check_indexes();
}

TEST(a_stale_copy_of_another_entity_gives_way)
{
    CHECK_OK(put("1", "a@x", NULL));
    /* As if its writer had died before the stale copy went. */
    CHECK_OK(tavola_delete(t.table, "empid_Sales", "1", TAVOLA_ANY, t.call));
    CHECK_OK(put("2", "a@x", NULL));

    tavola_entity *got = get(BY_EMAIL, "a@x");

    CHECK_TEXT(tavola_entity_row_key(got), "2");
    tavola_entity_free(got);
    check_indexes();
}

TEST(an_etag_is_a_condition)
{
    CHECK_OK(put("1", "a@x", NULL));

    tavola_far far = far_of(t.table, queue);
    tavola_entity *first = get(BY_ID, "1"), *second = tavola_entity_copy(first);

    tavola_entity_set_string(first, "Email", "b@x");
    CHECK_OK(tavola_far_put(&far, first, t.call));
    tavola_entity_set_string(second, "Email", "c@x");
    CHECK_ERR(tavola_far_put(&far, second, t.call), TAVOLA_ERR_ETAG);
    CHECK_INT(messages(), 0);
    check_indexes();
    CHECK(has(BY_EMAIL, "b@x"));
    tavola_entity_free(first);
    tavola_entity_free(second);
}

TEST(copies_may_be_in_another_table)
{
    tavola_table *copies = NULL;
    tavola_entity *got = NULL;
    char name[63];

    new_name(name, sizeof name);
    CHECK_OK(tavola_table_open(t.client, name, &copies));
    CHECK_OK(tavola_table_create(copies, t.call));

    tavola_far far = far_of(t.table, queue);

    far.copies = copies;
    CHECK_OK(put_by(&far, "1", "a@x", "b1"));
    CHECK_INT(count_all(), 1);
    CHECK_OK(tavola_far_get(&far, &indexes[BY_EMAIL], "Sales", "a@x", t.call, &got));
    CHECK_TEXT(tavola_entity_row_key(got), "1");
    tavola_entity_free(got);
    CHECK_OK(tavola_table_delete(copies, t.call));
    tavola_table_close(copies);
}

TEST(what_cannot_work_is_refused_before_it_is_sent)
{
    tavola_far none = {0}, no_queue = far_of(t.table, NULL), no_prefix = far_of(t.table, queue);
    tavola_index bare[] = {{"", "Email", NULL}};
    tavola_entity *entity = employee("1", "a/b", NULL), *got = NULL;
    tavola_far far = far_of(t.table, queue);

    no_prefix.indexes = bare;
    no_prefix.count = 1;
    CHECK_REFUSED(tavola_far_put(NULL, entity, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_far_put(&none, entity, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_far_put(&no_queue, entity, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_far_put(&no_prefix, entity, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_far_get(&far, NULL, "p", "v", t.call, &got), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_far_delete(&far, NULL, "v", t.call), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_far_put(&far, entity, t.call), TAVOLA_ERR_INVALID);
    CHECK_INT(count_all(), 0);
    CHECK_INT(messages(), 0);
    tavola_entity_free(entity);
}

TEST(messages_that_are_not_ours_are_left_for_the_poison_queue)
{
    static const char *const cases[] = {"",
                                        "hello",
                                        "[]",
                                        "[\"tavola.far/1\"]",
                                        "[\"tavola.far/1\",\"Other\",\"Sales\",\"1\"]",
                                        "[\"tavola.far/2\",\"T\",\"Sales\",\"1\"]",
                                        "[\"tavola.far/1\",\"T\",\"Sales\",\"1\",\"x\"]",
                                        "{\"a\":1}",
                                        "[\"\\ud800\"]",
                                        "[\"a\\u0000b\"]",
                                        "[\"a\"]x"};
    tavola_far far = far_of(t.table, queue);
    char text[256];

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        t_row = cases[i];
        CHECK_ERR(tavola_far_repair(cases[i], 1, &far), TAVOLA_ERR_INVALID);
    }
    t_row = "an index that is not known";
    snprintf(text, sizeof text, "[\"tavola.far/1\",\"%s\",\"Sales\",\"1\",\"phone_\",\"5\"]",
             tavola_table_name(t.table));
    CHECK_ERR(tavola_far_repair(text, 1, &far), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_far_repair(NULL, 1, &far), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_far_repair("[]", 1, NULL), TAVOLA_ERR_INVALID);
    t_row = "one that is";
    snprintf(text, sizeof text, "[\"tavola.far/1\",\"%s\",\"Sales\",\"1\",\"email_\",\"5\"]",
             tavola_table_name(t.table));
    CHECK_OK(tavola_far_repair(text, 1, &far));
}

/* ---- killed at every boundary ---- */

static void run_text(char *to, size_t size, const char *stem, unsigned run)
{
    snprintf(to, size, "%s%03u", stem, run);
}

static tavola_err act_with(tavola_client *client, unsigned run,
                           tavola_err (*act)(const tavola_far *far, const char *id))
{
    tavola_table *table = table_on(client);
    tavola_queue *of_client = NULL;
    char id[32];

    CHECK_OK(tavola_queue_open(client, tavola_queue_name(queue), &of_client));

    tavola_far far = far_of(table, of_client);

    run_text(id, sizeof id, "", run);

    tavola_err err = act(&far, id);

    tavola_queue_close(of_client);
    tavola_table_close(table);
    return err;
}

static void prepare_employee(unsigned run)
{
    char id[32], email[32];

    run_text(id, sizeof id, "", run);
    run_text(email, sizeof email, "old", run);
    CHECK_OK(put(id, email, id));
}

static tavola_err change_by(const tavola_far *far, const char *id)
{
    char email[32];

    snprintf(email, sizeof email, "new%s", id);
    return put_by(far, id, email, NULL);
}

static tavola_err change_employee(tavola_client *client, unsigned run)
{
    return act_with(client, run, change_by);
}

static tavola_err delete_by(const tavola_far *far, const char *id)
{
    return tavola_far_delete(far, "Sales", id, NULL);
}

static tavola_err delete_employee(tavola_client *client, unsigned run)
{
    return act_with(client, run, delete_by);
}

static void recover(unsigned runs)
{
    (void)runs;
    work_off();
    check_indexes();
}

static void check_change(unsigned run, tavola_err err)
{
    char id[32], email[32];

    run_text(id, sizeof id, "", run);
    run_text(email, sizeof email, "new", run);

    tavola_entity *primary = get(BY_ID, id);

    /* There, whole, and found by what it says; if it was said to be done, it is. */
    CHECK(primary != NULL);
    CHECK(has(BY_EMAIL, text_of(primary, "Email")));
    if (err == TAVOLA_OK)
        CHECK_TEXT(text_of(primary, "Email"), email);
    tavola_entity_free(primary);
}

static void check_new(unsigned run, tavola_err err)
{
    char id[32];

    run_text(id, sizeof id, "", run);
    if (err == TAVOLA_OK)
        CHECK(has(BY_ID, id));
}

static void check_delete(unsigned run, tavola_err err)
{
    char id[32], email[32];

    run_text(id, sizeof id, "", run);
    run_text(email, sizeof email, "old", run);
    CHECK(has(BY_ID, id) == has(BY_EMAIL, email));
    if (err == TAVOLA_OK)
        CHECK(!has(BY_ID, id));
}

TEST(a_client_that_dies_in_a_change_leaves_work_for_a_worker)
{
    static const kill_case change = {.prepare = prepare_employee,
                                     .act = change_employee,
                                     .recover = recover,
                                     .check = check_change};

    kill_everywhere(&change);
}

TEST(a_client_that_dies_in_a_first_put_leaves_work_for_a_worker)
{
    static const kill_case new_one = {
        .act = change_employee, .recover = recover, .check = check_new};

    kill_everywhere(&new_one);
}

TEST(a_client_that_dies_in_a_delete_leaves_work_for_a_worker)
{
    static const kill_case one = {.prepare = prepare_employee,
                                  .act = delete_employee,
                                  .recover = recover,
                                  .check = check_delete};

    kill_everywhere(&one);
}

/* The repair itself is killed: the next one finishes. */
static tavola_err repair_by(const tavola_far *far, const char *id)
{
    char text[256];

    snprintf(text, sizeof text,
             "[\"tavola.far/1\",\"%s\",\"Sales\",\"%s\",\"email_\",\"old%s\",\"email_\","
             "\"new%s\",\"badge_\",\"%s\"]",
             tavola_table_name(far->table), id, id, id, id);
    return tavola_far_repair(text, 1, (void *)(uintptr_t)far);
}

static tavola_err repair_employee(tavola_client *client, unsigned run)
{
    return act_with(client, run, repair_by);
}

static void prepare_half(unsigned run)
{
    char id[32], email[32];

    prepare_employee(run);
    run_text(id, sizeof id, "", run);
    run_text(email, sizeof email, "new", run);

    tavola_entity *primary = tavola_entity_new("empid_Sales", id);

    tavola_entity_set_string(primary, "Email", email);
    CHECK_OK(tavola_replace(t.table, primary, TAVOLA_ANY, t.call));
    tavola_entity_free(primary);
}

static void repair_all(unsigned runs)
{
    tavola_far far = far_of(t.table, queue);

    for (unsigned run = 0; run < runs; run++) {
        char id[32];

        run_text(id, sizeof id, "", run);
        CHECK_OK(repair_by(&far, id));
    }
    check_indexes();
}

TEST(a_worker_that_dies_in_a_repair_is_followed_by_another)
{
    static const kill_case repair = {.prepare = prepare_half,
                                     .act = repair_employee,
                                     .recover = repair_all,
                                     .check = check_change};

    kill_everywhere(&repair);
}

/* ---- another writer between the reads and the writes of a put ---- */

static tavola_err slow_put(tavola_client *client, const char *email)
{
    tavola_table *table = table_on(client);
    tavola_queue *of_client = NULL;

    CHECK_OK(tavola_queue_open(client, tavola_queue_name(queue), &of_client));

    tavola_far far = far_of(table, of_client);
    tavola_err err = put_by(&far, "1", email, NULL);

    tavola_queue_close(of_client);
    tavola_table_close(table);
    return err;
}

/* A put whose message is held up: it has read the copies, and not yet written the primary. */
static void *put_slowly(void *email)
{
    tavola_client *client = open_mortal_client();
    tavola_err err = slow_put(client, email);

    tavola_client_close(client);
    return (void *)(uintptr_t)(err ? tavola_err_name(err) : NULL);
}

static void put_while(const char *email, void (*others)(void))
{
    pthread_t thread;
    void *failure = NULL;

    command("CLEAR", NULL);
    command("PLAN hold_request match /messages", NULL);
    CHECK(pthread_create(&thread, NULL, put_slowly, (void *)(uintptr_t)email) == 0);
    command("HELD", NULL);
    others();
    command("RELEASE", NULL);
    pthread_join(thread, &failure);
    command("CLEAR", NULL);
    if (failure)
        CHECK_FAIL("the slow put: %s", (const char *)failure);
    check_indexes();
}

static void write_copy(int32_t age)
{
    tavola_entity *copy = tavola_entity_new("email_Sales", "old");

    tavola_entity_set_string(copy, "Name", "Jun Cao");
    tavola_entity_set_int32(copy, "Age", age);
    tavola_entity_set_string(copy, "Email", "old");
    tavola_entity_set_string(copy, "TavolaPrimary", "1");
    tavola_entity_set_string(copy, "TavolaPartition", "Sales");
    CHECK_OK(tavola_insert_or_replace(t.table, copy, NULL));
    tavola_entity_free(copy);
}

static void write_copy_as_put(void)
{
    write_copy(34);
}

static void write_copy_of_35(void)
{
    write_copy(35);
}

TEST(a_copy_that_comes_late_goes_with_its_value)
{
    CHECK_OK(put("1", "old", NULL));
    CHECK_OK(tavola_delete(t.table, "email_Sales", "old", TAVOLA_ANY, t.call));
    put_while("new", write_copy_as_put);
    CHECK(!has(BY_EMAIL, "old") && has(BY_EMAIL, "new"));
}

TEST(a_copy_that_was_right_is_written_all_the_same)
{
    tavola_entity *primary = tavola_entity_new("empid_Sales", "1");

    CHECK_OK(put("1", "old", NULL));
    tavola_entity_set_int32(primary, "Age", 35);
    CHECK_OK(tavola_merge(t.table, primary, TAVOLA_ANY, t.call));
    tavola_entity_free(primary);
    put_while("old", write_copy_of_35);
}

TEST(a_lost_answer_leaves_at_most_work_for_a_worker)
{
    static const kill_case change = {.prepare = prepare_employee,
                                     .act = change_employee,
                                     .recover = recover,
                                     .check = check_change};

    lose_everywhere(&change);
}

/* ---- races ---- */

enum { RACERS = 6, RACES = 15 };

static void *race(void *number)
{
    uint32_t seed = (uint32_t)(uintptr_t)number * 99 + 3;
    tavola_far far = far_of(t.table, queue);
    tavola_call *call = tavola_call_new();
    const char *failure = NULL;

    for (int i = 0; i < RACES && failure == NULL; i++) {
        char id[16], email[32];

        /* Values of one entity are never those of another: uniqueness is another test. */
        snprintf(id, sizeof id, "%u", next_random(&seed) % 3);
        snprintf(email, sizeof email, "%s-%u", id, next_random(&seed) % 4);

        tavola_entity *entity = employee(id, email, NULL);
        tavola_err err;

        tavola_entity_set_int32(entity, "Age", (int32_t)(next_random(&seed) % 1000));
        if (next_random(&seed) % 4 == 0)
            err = tavola_far_delete(&far, "Sales", id, call);
        else
            err = tavola_far_put(&far, entity, call);
        tavola_entity_free(entity);
        if (err && err != TAVOLA_ERR_NOT_FOUND && err != TAVOLA_ERR_ETAG)
            failure = tavola_err_name(err);
    }
    tavola_call_free(call);
    return (void *)(uintptr_t)failure;
}

TEST(many_writers_leave_copies_equal_to_the_primaries)
{
    run_threads(RACERS, race);
    work_off();
    check_indexes();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAR_TEST(an_entity_is_found_by_each_of_its_indexes),
        FAR_TEST(changes_and_deletes_take_the_old_copies_along),
        FAR_TEST(a_value_of_another_entity_is_refused_before_anything_is_written),
        FAR_TEST(a_stale_copy_of_another_entity_gives_way),
        FAR_TEST(an_etag_is_a_condition),
        FAR_TEST(copies_may_be_in_another_table),
        FAR_TEST(what_cannot_work_is_refused_before_it_is_sent),
        FAR_TEST(messages_that_are_not_ours_are_left_for_the_poison_queue),
        FAR_TEST(a_client_that_dies_in_a_change_leaves_work_for_a_worker),
        FAR_TEST(a_client_that_dies_in_a_first_put_leaves_work_for_a_worker),
        FAR_TEST(a_client_that_dies_in_a_delete_leaves_work_for_a_worker),
        FAR_TEST(a_worker_that_dies_in_a_repair_is_followed_by_another),
        FAR_TEST(a_lost_answer_leaves_at_most_work_for_a_worker),
        FAR_TEST(a_copy_that_comes_late_goes_with_its_value),
        FAR_TEST(a_copy_that_was_right_is_written_all_the_same),
        FAR_TEST(many_writers_leave_copies_equal_to_the_primaries),
    };

    return cmocka_run_group_tests(tests, start_faults, stop_faults);
}
