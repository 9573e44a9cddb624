/* Inter-partition secondary indexes: eventually the copies are equal to their primaries. */
#include "clock.h"
#include "employees.h"

static tavola_queue *queue;
static char poison_name[63];

static tavola_indexed *indexed_on(tavola_table *table, tavola_table *copies, tavola_queue *of_queue)
{
    const tavola_inter_partition inter = {
        .struct_size = sizeof inter, .queue = of_queue, .copies = copies, .hidden_s = hidden_s()};
    tavola_indexed *indexed = NULL;

    CHECK_OK(tavola_indexed_open(table, indexes, INDEXES, &inter, t.call, &indexed));
    return indexed;
}

static int open_inter(void **state)
{
    char name[63];

    open_live(state);
    new_name(name, sizeof name);
    CHECK_OK(tavola_queue_open(t.client, name, &queue));
    CHECK_OK(tavola_queue_create(queue, t.call));
    new_name(poison_name, sizeof poison_name);
    employees = indexed_on(t.table, NULL, queue);
    return 0;
}

static int close_inter(void **state)
{
    tavola_indexed_close(employees);
    CHECK_OK(tavola_queue_delete(queue, t.call));
    tavola_queue_close(queue);
    return close_live(state);
}

#define INTER_TEST(name) cmocka_unit_test_setup_teardown(name, open_inter, close_inter)

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
    tavola_worker *worker = NULL;
    tavola_queue *poison = queue_on(t.client, poison_name);
    uint64_t poisoned = 1;

    CHECK_OK(tavola_worker_open(queue, poison, 3, tavola_indexed_job, employees, NULL, &worker));
    tavola_worker_set_hidden_s(worker, hidden_s());
    for (int i = 0; messages() > 0; i++) {
        CHECK(i < 100);
        pass_hidden();
        CHECK_OK(tavola_worker_run(worker, 0));
    }
    CHECK_INT(tavola_worker_poisoned(worker), 0);
    CHECK_INT(tavola_worker_failed(worker), 0);
    tavola_worker_close(worker);
    CHECK_OK(tavola_queue_create(poison, t.call));
    CHECK_OK(tavola_queue_count(poison, t.call, &poisoned));
    CHECK_INT(poisoned, 0);
    CHECK_OK(tavola_queue_delete(poison, t.call));
    tavola_queue_close(poison);
}

TEST(an_entity_is_found_by_each_of_its_indexes)
{
    tavola_entity *want = employee("000223", "jonesj@contoso.com", "b1"), *got;

    CHECK_OK(tavola_indexed_put(employees, want, t.call));
    CHECK(tavola_call_etag(t.call) != NULL);
    CHECK(is_stored("empid_Sales", "000223"));
    CHECK(is_stored("email_Sales", "jonesj@contoso.com"));
    got = get(BY_ID, "000223");
    check_same(got, want);
    CHECK_TEXT(tavola_entity_etag(got), tavola_call_etag(t.call));
    tavola_entity_free(got);
    got = get(BY_EMAIL, "jonesj@contoso.com");
    check_same(got, want);
    CHECK_TEXT(tavola_entity_etag(got), tavola_entity_etag(want));
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

TEST(an_etag_is_a_condition_by_whichever_index_it_was_read)
{
    for (int by = BY_ID; by <= BY_EMAIL; by++) {
        t_row = indexes[by].prefix;
        CHECK_OK(put("1", "a@x", NULL));

        tavola_entity *first = get(by, by == BY_ID ? "1" : "a@x");
        tavola_entity *second = tavola_entity_copy(first);

        tavola_entity_set_string(first, "Email", "b@x");
        CHECK_OK(tavola_indexed_put(employees, first, t.call));
        tavola_entity_set_string(second, "Email", "c@x");
        CHECK_ERR(tavola_indexed_put(employees, second, t.call), TAVOLA_ERR_ETAG);
        CHECK_INT(messages(), 0);
        check_indexes();
        CHECK(has(BY_EMAIL, "b@x"));

        /* It is left in the entity, so that it can be put again. */
        tavola_entity_set_string(first, "Email", "d@x");
        CHECK_OK(tavola_indexed_put(employees, first, t.call));
        CHECK_ERR(
            tavola_indexed_delete(employees, "Sales", "1", tavola_entity_etag(second), t.call),
            TAVOLA_ERR_ETAG);
        CHECK_OK(tavola_indexed_delete(employees, "Sales", "1", tavola_entity_etag(first), t.call));
        CHECK_ERR(tavola_indexed_put(employees, first, t.call), TAVOLA_ERR_NOT_FOUND);
        tavola_entity_free(first);
        tavola_entity_free(second);
    }
}

TEST(a_plain_write_to_the_primary_is_not_lost_to_a_put_by_a_copy)
{
    uint64_t count = 0;

    CHECK_OK(put("1", "a@x", NULL));
    CHECK_OK(tavola_update(t.table, "empid_Sales", "1", grow_older, NULL, t.call));

    tavola_entity *mine = get(BY_EMAIL, "a@x");

    tavola_entity_set_string(mine, "Name", "Jun");
    CHECK_ERR(tavola_indexed_put(employees, mine, t.call), TAVOLA_ERR_ETAG);
    tavola_entity_free(mine);
    CHECK_OK(tavola_indexed_check(employees, "Sales", NULL, NULL, t.call, &count));
    CHECK_INT(count, 1);
    CHECK_OK(tavola_indexed_repair(employees, NULL, NULL, NULL, t.call, &count));
    CHECK_INT(count, 0);
    check_indexes();
    mine = get(BY_EMAIL, "a@x");
    tavola_entity_set_string(mine, "Name", "Jun");
    CHECK_OK(tavola_indexed_put(employees, mine, t.call));
    tavola_entity_free(mine);
    check_indexes();
}

static tavola_err move_on(void *user, tavola_entity *entity)
{
    CHECK_TEXT(tavola_entity_partition_key(entity), "Sales");
    tavola_entity_set_string(entity, "Email", user);
    tavola_entity_unset(entity, "Badge");
    return TAVOLA_OK;
}

TEST(an_update_changes_the_copies_after_their_entity)
{
    CHECK_OK(put("1", "a@x", "b1"));
    CHECK_OK(put("2", "b@x", NULL));
    CHECK_OK(tavola_indexed_update(employees, "Sales", "1", move_on, (void *)"c@x", t.call));
    CHECK(has(BY_EMAIL, "c@x") && !has(BY_EMAIL, "a@x") && !has(BY_BADGE, "b1"));
    check_indexes();
    CHECK_ERR(tavola_indexed_update(employees, "Sales", "1", move_on, (void *)"b@x", t.call),
              TAVOLA_ERR_EXISTS);
    CHECK_ERR(tavola_indexed_update(employees, "Sales", "3", move_on, (void *)"e@x", t.call),
              TAVOLA_ERR_NOT_FOUND);
    CHECK_INT(messages(), 0);
    check_indexes();
}

/* The RowKeys that a range gives, in its order, each with a space behind it. */
static const char *scanned(const char *property, const char *from, const char *to)
{
    static char keys[256];
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    tavola_err err;

    keys[0] = '\0';
    CHECK_OK(tavola_indexed_scan(employees, property, "Sales", from, to, NULL, t.call, &scan));
    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        CHECK_TEXT(tavola_entity_partition_key(entity), "Sales");
        CHECK(text_of(entity, "TavolaPrimary") == NULL &&
              text_of(entity, "TavolaPartition") == NULL && text_of(entity, "TavolaETag") == NULL);
        snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%s ",
                 tavola_entity_row_key(entity));
    }
    CHECK_ERR(err, TAVOLA_END);
    tavola_scan_close(scan);
    return keys;
}

TEST(a_range_of_values_is_in_their_order)
{
    CHECK_OK(put("1", "c@x", "b1"));
    CHECK_OK(put("2", "a@x", "b0"));
    CHECK_OK(put("3", "b@x", NULL));
    CHECK_TEXT(scanned("Email", NULL, NULL), "2 3 1 ");
    CHECK_TEXT(scanned("Email", "a", "b"), "2 ");
    CHECK_TEXT(scanned("Badge", NULL, NULL), "2 1 ");
    CHECK_TEXT(scanned("RowKey", "2", NULL), "2 3 ");
}

TEST(copies_may_be_in_another_table)
{
    tavola_table *copies = NULL;
    tavola_entity *got = NULL;
    uint64_t count = 1;
    char name[63];

    new_name(name, sizeof name);
    CHECK_OK(tavola_table_open(t.client, name, &copies));
    CHECK_OK(tavola_table_create(copies, t.call));

    tavola_indexed *apart = indexed_on(t.table, copies, queue);

    CHECK_OK(put_on(apart, "1", "a@x", "b1"));
    CHECK_INT(count_all(), 1);
    CHECK_OK(tavola_indexed_get(apart, "Email", "Sales", "a@x", t.call, &got));
    CHECK_TEXT(tavola_entity_row_key(got), "1");
    tavola_entity_free(got);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(tavola_delete(copies, "email_Sales", "a@x", TAVOLA_ANY, t.call));
        CHECK_OK(tavola_indexed_check(apart, i ? "Sales" : NULL, NULL, NULL, t.call, &count));
        CHECK_INT(count, 1);
        CHECK_OK(tavola_indexed_repair(apart, i ? "Sales" : NULL, NULL, NULL, t.call, &count));
        CHECK_INT(count, 0);
        CHECK_OK(tavola_indexed_check(apart, i ? "Sales" : NULL, NULL, NULL, t.call, &count));
        CHECK_INT(count, 0);
    }
    CHECK_OK(tavola_delete(t.table, "empid_Sales", "1", TAVOLA_ANY, t.call));
    CHECK_OK(tavola_indexed_repair(apart, "Sales", NULL, NULL, t.call, &count));
    CHECK_OK(tavola_count(copies, NULL, t.call, &count));
    CHECK_INT(count, 0);
    tavola_indexed_close(apart);
    CHECK_OK(tavola_table_delete(copies, t.call));
    tavola_table_close(copies);
}

/* ---- what was written by other functions ---- */

typedef struct fault_notes {
    char text[512]; /* of each fault: kind, property, RowKey, value, "ok" when it was repaired */
} fault_notes;

static void note_fault(void *user, const tavola_index_fault *fault)
{
    static const char *const kinds[] = {"", "missing", "differs", "stale", "taken"};
    fault_notes *notes = user;

    CHECK_TEXT(fault->partition_key, "Sales");
    snprintf(notes->text + strlen(notes->text), sizeof notes->text - strlen(notes->text),
             "%s %s %s %s%s; ", kinds[fault->kind], fault->property, fault->row_key, fault->value,
             fault->is_repaired ? " ok" : "");
}

static void merge_plainly(const char *partition_key, const char *row_key, const char *name,
                          const char *value)
{
    tavola_entity *change = tavola_entity_new(partition_key, row_key);

    tavola_entity_set_string(change, name, value);
    CHECK_OK(tavola_merge(t.table, change, TAVOLA_ANY, t.call));
    tavola_entity_free(change);
}

static void change_a_value(void)
{
    merge_plainly("empid_Sales", "1", "Email", "new@x");
}

static void change_a_property(void)
{
    merge_plainly("empid_Sales", "1", "Age", "none");
}

static void change_a_copy(void)
{
    merge_plainly("email_Sales", "a@x", "Name", "Jon");
}

static void delete_an_entity(void)
{
    CHECK_OK(tavola_delete(t.table, "empid_Sales", "1", TAVOLA_ANY, t.call));
}

static void give_one_value_twice(void)
{
    merge_plainly("empid_Sales", "2", "Email", "a@x");
}

static const struct {
    const char *what;
    void (*write)(void);
    const char *found, *repaired;
    uint64_t left;
} plain_writes[] = {
    {"another value", change_a_value,
     "stale Email 1 a@x; missing Email 1 new@x; differs Badge 1 b1; ",
     "stale Email 1 a@x ok; missing Email 1 new@x ok; differs Badge 1 b1 ok; ", 0},
    {"another property", change_a_property, "differs Email 1 a@x; differs Badge 1 b1; ",
     "differs Email 1 a@x ok; differs Badge 1 b1 ok; ", 0},
    {"a change of a copy", change_a_copy, "differs Email 1 a@x; ", "differs Email 1 a@x ok; ", 0},
    {"no entity", delete_an_entity, "stale Email 1 a@x; stale Badge 1 b1; ",
     "stale Email 1 a@x ok; stale Badge 1 b1 ok; ", 0},
    {"a value twice", give_one_value_twice, "stale Email 2 b@x; taken Email 2 a@x; ",
     "stale Email 2 b@x ok; taken Email 2 a@x; ", 1},
};

TEST(a_check_finds_what_a_plain_write_has_left_and_a_repair_undoes_it)
{
    for (size_t i = 0; i < COUNT_OF(plain_writes); i++) {
        fault_notes found = {""}, repaired = {""};
        uint64_t count = UINT64_MAX;

        t_row = plain_writes[i].what;
        CHECK_OK(put("1", "a@x", "b1"));
        CHECK_OK(put("2", "b@x", NULL));
        CHECK_OK(tavola_indexed_check(employees, NULL, note_fault, &found, t.call, &count));
        CHECK_TEXT(found.text, "");
        plain_writes[i].write();
        CHECK_OK(tavola_indexed_check(employees, "Sales", note_fault, &found, t.call, &count));
        CHECK_TEXT(found.text, plain_writes[i].found);
        CHECK_OK(tavola_indexed_repair(employees, "Sales", note_fault, &repaired, t.call, &count));
        CHECK_INT(count, plain_writes[i].left);
        CHECK_OK(tavola_indexed_check(employees, NULL, NULL, NULL, t.call, &count));
        CHECK_INT(count, plain_writes[i].left);
        CHECK_OK(tavola_delete_where(
            t.table, tavola_where("PartitionKey", TAVOLA_GT, tavola_string("")), t.call, NULL));
    }
}

TEST(what_cannot_work_is_refused_before_it_is_sent)
{
    static const tavola_index bare[] = {{"", "Email", NULL}};
    const tavola_inter_partition no_size = {.queue = queue},
                                 no_queue = {.struct_size = sizeof no_queue},
                                 whole = {.struct_size = sizeof whole, .queue = queue};
    tavola_indexed *indexed = NULL;

    CHECK_REFUSED(tavola_indexed_open(t.table, indexes, INDEXES, &no_size, t.call, &indexed),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_indexed_open(t.table, indexes, INDEXES, &no_queue, t.call, &indexed),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_indexed_open(t.table, bare, 1, &whole, t.call, &indexed),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_indexed_open(NULL, indexes, INDEXES, &whole, t.call, &indexed),
                  TAVOLA_ERR_INVALID);
    CHECK_ERR(put("1", "a/b", NULL), TAVOLA_ERR_INVALID);
    CHECK_INT(count_all(), 0);
    CHECK_INT(messages(), 0);
}

TEST(messages_that_are_not_ours_are_left_for_the_poison_queue)
{
    static const char *const cases[] = {
        "",
        "hello",
        "[]",
        "[\"tavola.inter-partition/1\"]",
        "[\"tavola.inter-partition/1\",\"Other\",\"Sales\",\"1\"]",
        "[\"tavola.inter-partition/2\",\"T\",\"Sales\",\"1\"]",
        "[\"tavola.inter-partition/1\",\"T\",\"Sales\",\"1\",\"x\"]",
        "{\"a\":1}",
        "[\"\\ud800\"]",
        "[\"a\\u0000b\"]",
        "[\"a\"]x"};
    char text[256];

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        t_row = cases[i];
        CHECK_ERR(tavola_indexed_job(employees, cases[i], 1), TAVOLA_ERR_INVALID);
    }
    t_row = "an index that is not known";
    snprintf(text, sizeof text,
             "[\"tavola.inter-partition/1\",\"%s\",\"Sales\",\"1\",\"phone_\",\"5\"]",
             tavola_table_name(t.table));
    CHECK_ERR(tavola_indexed_job(employees, text, 1), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_indexed_job(employees, NULL, 1), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_indexed_job(NULL, "[]", 1), TAVOLA_ERR_INVALID);
    t_row = "one that is";
    snprintf(text, sizeof text,
             "[\"tavola.inter-partition/1\",\"%s\",\"Sales\",\"1\",\"email_\",\"5\"]",
             tavola_table_name(t.table));
    CHECK_OK(tavola_indexed_job(employees, text, 1));
}

/* ---- killed at every boundary ---- */

static void run_text(char *to, size_t size, const char *stem, unsigned run)
{
    snprintf(to, size, "%s%03u", stem, run);
}

static tavola_err act_with_text(tavola_client *client, const char *text,
                                tavola_err (*act)(tavola_indexed *indexed, const char *text))
{
    tavola_table *table = table_on(client);
    tavola_queue *of_client = NULL;

    CHECK_OK(tavola_queue_open(client, tavola_queue_name(queue), &of_client));

    tavola_indexed *indexed = indexed_on(table, NULL, of_client);

    tavola_err err = act(indexed, text);

    tavola_indexed_close(indexed);
    tavola_queue_close(of_client);
    tavola_table_close(table);
    return err;
}

static tavola_err act_with(tavola_client *client, unsigned run,
                           tavola_err (*act)(tavola_indexed *indexed, const char *id))
{
    char id[32];

    run_text(id, sizeof id, "", run);
    return act_with_text(client, id, act);
}

static void prepare_employee(unsigned run)
{
    char id[32], email[32];

    run_text(id, sizeof id, "", run);
    run_text(email, sizeof email, "old", run);
    CHECK_OK(put(id, email, id));
}

static tavola_err change_by(tavola_indexed *indexed, const char *id)
{
    char email[32];

    snprintf(email, sizeof email, "new%s", id);
    return put_on(indexed, id, email, NULL);
}

static tavola_err change_employee(tavola_client *client, unsigned run)
{
    return act_with(client, run, change_by);
}

static tavola_err delete_by(tavola_indexed *indexed, const char *id)
{
    return tavola_indexed_delete(indexed, "Sales", id, TAVOLA_ANY, NULL);
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
static tavola_err repair_by(tavola_indexed *indexed, const char *id)
{
    char text[256];

    snprintf(
        text, sizeof text,
        "[\"tavola.inter-partition/1\",\"%s\",\"Sales\",\"%s\",\"email_\",\"old%s\",\"email_\","
        "\"new%s\",\"badge_\",\"%s\"]",
        tavola_table_name(t.table), id, id, id, id);
    return tavola_indexed_job(indexed, text, 1);
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
    for (unsigned run = 0; run < runs; run++) {
        char id[32];

        run_text(id, sizeof id, "", run);
        CHECK_OK(repair_by(employees, id));
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

static tavola_err slow_put_on(tavola_indexed *indexed, const char *email)
{
    return put_on(indexed, "1", email, NULL);
}

static tavola_err slow_put(tavola_client *client, const char *email)
{
    return act_with_text(client, email, slow_put_on);
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
            err = tavola_indexed_delete(employees, "Sales", id, TAVOLA_ANY, call);
        else if (next_random(&seed) % 4 == 0)
            err = tavola_indexed_update(employees, "Sales", id, grow_older, NULL, call);
        else
            err = tavola_indexed_put(employees, entity, call);
        tavola_entity_free(entity);
        if (err && err != TAVOLA_ERR_NOT_FOUND && err != TAVOLA_ERR_ETAG)
            failure = tavola_err_name(err);
    }
    tavola_call_free(call);
    return (void *)(uintptr_t)failure;
}

TEST(many_writers_leave_copies_equal_to_the_primaries)
{
    uint64_t count = UINT64_MAX;

    run_threads(RACERS, race);
    work_off();
    check_indexes();
    CHECK_OK(tavola_indexed_check(employees, "Sales", NULL, NULL, t.call, &count));
    CHECK_INT(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        INTER_TEST(an_entity_is_found_by_each_of_its_indexes),
        INTER_TEST(changes_and_deletes_take_the_old_copies_along),
        INTER_TEST(a_value_of_another_entity_is_refused_before_anything_is_written),
        INTER_TEST(a_stale_copy_of_another_entity_gives_way),
        INTER_TEST(an_etag_is_a_condition_by_whichever_index_it_was_read),
        INTER_TEST(a_plain_write_to_the_primary_is_not_lost_to_a_put_by_a_copy),
        INTER_TEST(an_update_changes_the_copies_after_their_entity),
        INTER_TEST(a_range_of_values_is_in_their_order),
        INTER_TEST(a_check_finds_what_a_plain_write_has_left_and_a_repair_undoes_it),
        INTER_TEST(copies_may_be_in_another_table),
        INTER_TEST(what_cannot_work_is_refused_before_it_is_sent),
        INTER_TEST(messages_that_are_not_ours_are_left_for_the_poison_queue),
        INTER_TEST(a_client_that_dies_in_a_change_leaves_work_for_a_worker),
        INTER_TEST(a_client_that_dies_in_a_first_put_leaves_work_for_a_worker),
        INTER_TEST(a_client_that_dies_in_a_delete_leaves_work_for_a_worker),
        INTER_TEST(a_worker_that_dies_in_a_repair_is_followed_by_another),
        INTER_TEST(a_lost_answer_leaves_at_most_work_for_a_worker),
        INTER_TEST(a_copy_that_comes_late_goes_with_its_value),
        INTER_TEST(a_copy_that_was_right_is_written_all_the_same),
        INTER_TEST(many_writers_leave_copies_equal_to_the_primaries),
    };

    return cmocka_run_group_tests(tests, start_faults, stop_faults);
}
