/* Intra-partition secondary indexes: an entity and its copies change together. */
#include "employees.h"

static int open_indexed(void **state)
{
    open_live(state);
    CHECK_OK(tavola_indexed_open(t.table, indexes, INDEXES, NULL, t.call, &employees));
    return 0;
}

static int close_indexed(void **state)
{
    tavola_indexed_close(employees);
    return close_live(state);
}

#define INDEXED_TEST(name) cmocka_unit_test_setup_teardown(name, open_indexed, close_indexed)

/* The same on another client, or with another crypto. */
static tavola_indexed *indexed_on(tavola_table *table)
{
    tavola_indexed *indexed = NULL;

    CHECK_OK(tavola_indexed_open(table, indexes, INDEXES, NULL, t.call, &indexed));
    return indexed;
}

/* Whether the copy under a value is right, by the primary that it names. */
static void check_copy(const tavola_entity *copy, int by)
{
    const char *value = strchr(tavola_entity_row_key(copy), '_') + 1;
    tavola_entity *found = get(by, value), *primary = NULL;

    CHECK(found != NULL);
    CHECK(text_of(found, "TavolaPrimary") == NULL);
    primary = get(BY_ID, tavola_entity_row_key(found));
    CHECK(primary != NULL);
    CHECK_TEXT(text_of(primary, indexes[by].property), value);
    if (by == BY_EMAIL)
        check_same(found, primary);
    else
        CHECK_INT(tavola_entity_count(found), 1);
    tavola_entity_free(found);
    tavola_entity_free(primary);
}

/* All copies are right, and every primary has its own. */
static void check_indexes(void)
{
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    tavola_err err;

    CHECK_OK(tavola_scan_open(t.table, NULL, NULL, &scan));
    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        const char *row_key = tavola_entity_row_key(entity);

        if (strncmp(row_key, "email_", 6) == 0) {
            check_copy(entity, BY_EMAIL);
        } else if (strncmp(row_key, "badge_", 6) == 0) {
            check_copy(entity, BY_BADGE);
        } else {
            CHECK(strncmp(row_key, "empid_", 6) == 0);
            if (text_of(entity, "Email"))
                CHECK(has(BY_EMAIL, text_of(entity, "Email")));
            if (text_of(entity, "Badge"))
                CHECK(has(BY_BADGE, text_of(entity, "Badge")));
        }
    }
    CHECK_ERR(err, TAVOLA_END);
    tavola_scan_close(scan);
}

static uint64_t faults_of(tavola_indexed *indexed)
{
    uint64_t count = UINT64_MAX, of_table = UINT64_MAX;

    CHECK_OK(tavola_indexed_check(indexed, "Sales", NULL, NULL, t.call, &count));
    CHECK_OK(tavola_indexed_check(indexed, NULL, NULL, NULL, t.call, &of_table));
    CHECK_INT(count, of_table);
    return count;
}

TEST(an_entity_is_found_by_each_of_its_indexes)
{
    tavola_entity *want = employee("000223", "jonesj@contoso.com", "b1"), *got;

    CHECK_OK(tavola_indexed_put(employees, want, t.call));
    CHECK(tavola_call_etag(t.call) != NULL);
    got = get(BY_ID, "000223");
    check_same(got, want);
    tavola_entity_free(got);
    got = get(BY_EMAIL, "jonesj@contoso.com");
    check_same(got, want);
    tavola_entity_free(got);
    got = get(BY_BADGE, "b1");
    CHECK_TEXT(tavola_entity_row_key(got), "000223");
    CHECK_INT(tavola_entity_count(got), 1);
    tavola_entity_free(got);
    tavola_entity_free(want);
    CHECK_INT(count_all(), 3);
}

TEST(a_changed_value_takes_its_old_copy_along)
{
    CHECK_OK(put("1", "a@x", "b1"));
    CHECK_OK(put("1", "b@x", NULL));
    CHECK(!has(BY_EMAIL, "a@x"));
    CHECK(!has(BY_BADGE, "b1"));
    CHECK(has(BY_EMAIL, "b@x"));
    CHECK_INT(count_all(), 2);
    CHECK_OK(put("1", "b@x", "b2"));
    CHECK_INT(count_all(), 3);
    check_indexes();
}

TEST(a_value_of_another_entity_is_refused_whole)
{
    CHECK_OK(put("1", "a@x", NULL));
    CHECK_OK(put("2", "b@x", NULL));
    CHECK_ERR(put("2", "a@x", "new"), TAVOLA_ERR_EXISTS);
    CHECK_TEXT(tavola_call_code(t.call), "EntityAlreadyExists");
    CHECK(!has(BY_BADGE, "new"));
    CHECK(has(BY_EMAIL, "b@x"));
    CHECK_ERR(put("3", "a@x", NULL), TAVOLA_ERR_EXISTS);
    CHECK(!has(BY_ID, "3"));
    check_indexes();
}

TEST(a_deleted_entity_has_no_copies)
{
    CHECK_OK(put("1", "a@x", "b1"));
    CHECK_OK(delete ("1"));
    CHECK_INT(count_all(), 0);
    CHECK_ERR(delete ("1"), TAVOLA_ERR_NOT_FOUND);
}

TEST(an_etag_is_a_condition_by_whichever_index_it_was_read)
{
    for (int by = BY_ID; by <= BY_EMAIL; by++) {
        t_row = indexes[by].prefix;
        CHECK_OK(put("1", "a@x", NULL));

        tavola_entity *first = get(by, by == BY_ID ? "1" : "a@x");
        tavola_entity *second = tavola_entity_copy(first);

        /* It is left in the entity, so that it can be put again. */
        tavola_entity_set_int32(first, "Age", 35);
        CHECK_OK(tavola_indexed_put(employees, first, t.call));
        CHECK_TEXT(tavola_entity_etag(first), tavola_call_etag(t.call));
        tavola_entity_set_string(first, "Email", "b@x");
        CHECK_OK(tavola_indexed_put(employees, first, t.call));
        tavola_entity_set_int32(second, "Age", 36);
        CHECK_ERR(tavola_indexed_put(employees, second, t.call), TAVOLA_ERR_ETAG);
        CHECK_ERR(
            tavola_indexed_delete(employees, "Sales", "1", tavola_entity_etag(second), t.call),
            TAVOLA_ERR_ETAG);
        CHECK_OK(tavola_indexed_delete(employees, "Sales", "1", tavola_entity_etag(first), t.call));
        CHECK_ERR(tavola_indexed_put(employees, second, t.call), TAVOLA_ERR_NOT_FOUND);
        tavola_entity_free(first);
        tavola_entity_free(second);
    }
}

/* Such a write leaves the copies and their etags as they were. */
TEST(a_plain_write_to_the_primary_is_not_lost_to_a_put_by_a_copy)
{
    CHECK_OK(put("1", "a@x", NULL));

    tavola_entity *mine = get(BY_EMAIL, "a@x");
    int32_t age = 0;

    CHECK_OK(tavola_update(t.table, "Sales", "empid_1", grow_older, NULL, t.call));
    tavola_entity_set_string(mine, "Name", "Jun");
    CHECK_ERR(tavola_indexed_put(employees, mine, t.call), TAVOLA_ERR_ETAG);
    tavola_entity_free(mine);

    mine = get(BY_ID, "1");
    CHECK(tavola_entity_get_int32(mine, "Age", &age) && age == 99);
    tavola_entity_set_string(mine, "Name", "Jun");
    CHECK_OK(tavola_indexed_put(employees, mine, t.call));
    tavola_entity_free(mine);
    check_indexes();
}

TEST(copies_that_are_missing_or_left_over_are_put_right)
{
    CHECK_OK(put("1", "a@x", "b1"));
    CHECK_OK(tavola_delete(t.table, "Sales", "email_a@x", TAVOLA_ANY, t.call));
    CHECK_OK(put("1", "a@x", "b1"));
    CHECK(has(BY_EMAIL, "a@x"));

    /* A stale copy is missing. */
    CHECK_OK(tavola_delete(t.table, "Sales", "badge_b1", TAVOLA_ANY, t.call));
    CHECK_OK(put("1", "a@x", "b2"));

    /* The primary was deleted by other means; its copies are its own when it comes back. */
    CHECK_OK(tavola_delete(t.table, "Sales", "empid_1", TAVOLA_ANY, t.call));
    CHECK_OK(put("1", "a@x", "b2"));
    CHECK_INT(count_all(), 3);
    check_indexes();
}

static const tavola_index two_primaries[] = {{"a_", "RowKey", NULL}, {"b_", "RowKey", NULL}},
                          same_prefix[] = {{"x_", "Email", NULL}, {"x_", "Badge", NULL}},
                          inside[] = {{"x", "Email", NULL}, {"xy", "Badge", NULL}},
                          inside_primary[] = {{"x_e", "Email", NULL}, {"x_", "RowKey", NULL}},
                          twice[] = {{"x_", "Email", NULL}, {"y_", "Email", NULL}},
                          reserved[] = {{"x_", "PartitionKey", NULL}},
                          own[] = {{"x_", "TavolaPrimary", NULL}},
                          no_prefix[] = {{NULL, "Email", NULL}},
                          no_property[] = {{"x_", NULL, NULL}},
                          bad_prefix[] = {{"x/", "Email", NULL}},
                          columns[] = {{"x_", "RowKey", name_only}},
                          among_primaries[] = {{"", "Email", NULL}};

TEST(indexes_that_cannot_work_are_refused)
{
    const struct {
        const char *what;
        const tavola_index *indexes;
        size_t count;
    } cases[] = {
        {"two indexes of RowKey", two_primaries, 2},
        {"two indexes with one prefix", same_prefix, 2},
        {"a prefix that begins with another", inside, 2},
        {"a prefix that begins with that of the primaries", inside_primary, 2},
        {"two indexes over one property", twice, 2},
        {"PartitionKey", reserved, 1},
        {"a property of the library", own, 1},
        {"no prefix", no_prefix, 1},
        {"no property", no_property, 1},
        {"a prefix that cannot be in a key", bad_prefix, 1},
        {"columns of the primary", columns, 1},
        {"copies among the primaries", among_primaries, 1},
        {"too many", indexes, 100},
        {"none", NULL, 1},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        tavola_indexed *indexed = NULL;

        t_row = cases[i].what;
        CHECK_REFUSED(
            tavola_indexed_open(t.table, cases[i].indexes, cases[i].count, NULL, t.call, &indexed),
            TAVOLA_ERR_INVALID);
        CHECK(indexed == NULL);
    }
}

TEST(what_cannot_work_is_refused_before_it_is_sent)
{
    tavola_entity *number = employee("1", NULL, NULL), *found = NULL;
    tavola_scan *scan = NULL;

    t_row = "a value that cannot be in a key";
    CHECK_REFUSED(put("1", "a/b", NULL), TAVOLA_ERR_INVALID);
    t_row = "a number";
    tavola_entity_set_int32(number, "Email", 5);
    CHECK_REFUSED(tavola_indexed_put(employees, number, t.call), TAVOLA_ERR_INVALID);
    tavola_entity_free(number);
    t_row = "arguments";
    CHECK_REFUSED(tavola_indexed_put(NULL, NULL, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_indexed_put(employees, NULL, t.call), TAVOLA_ERR_NO_MEMORY);
    CHECK_REFUSED(tavola_indexed_delete(employees, NULL, "r", TAVOLA_ANY, t.call),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_indexed_delete(employees, "p", "r", NULL, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_indexed_get(employees, "Name", "p", "v", t.call, &found),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_indexed_scan(employees, "Name", "p", NULL, NULL, NULL, t.call, &scan),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_indexed_update(employees, "p", "r", NULL, NULL, t.call),
                  TAVOLA_ERR_INVALID);
    CHECK_INT(count_all(), 0);
}

/* ---- ranges ---- */

/* The RowKeys that a range gives, in its order, each with a space behind it. */
static const char *scanned(tavola_indexed *indexed, const char *property, const char *from,
                           const char *to, const tavola_query *query)
{
    static char keys[1024];
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    tavola_err err;

    keys[0] = '\0';
    CHECK_OK(tavola_indexed_scan(indexed, property, "Sales", from, to, query, t.call, &scan));
    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        CHECK_TEXT(tavola_entity_partition_key(entity), "Sales");
        CHECK(text_of(entity, "TavolaPrimary") == NULL);
        snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%s ",
                 tavola_entity_row_key(entity));
    }
    CHECK_ERR(err, TAVOLA_END);
    CHECK_ERR(tavola_scan_next(scan, &entity), TAVOLA_END);
    tavola_scan_close(scan);
    return keys;
}

static void put_four(tavola_indexed *indexed)
{
    CHECK_OK(put_on(indexed, "1", "c@x", "b1"));
    CHECK_OK(put_on(indexed, "2", "a@x", "b2"));
    CHECK_OK(put_on(indexed, "3", "b@x", NULL));
    CHECK_OK(put_on(indexed, "4", NULL, "b0"));
}

TEST(a_range_of_values_is_in_their_order)
{
    const char *const some[] = {"Age", NULL};
    tavola_query *two = tavola_query_new(NULL), *selection = tavola_query_new(NULL),
                 *of_a = tavola_query_new(tavola_where("Email", TAVOLA_LT, tavola_string("c")));
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;

    put_four(employees);
    CHECK_TEXT(scanned(employees, "Email", NULL, NULL, NULL), "2 3 1 ");
    CHECK_TEXT(scanned(employees, "Email", "a", "b", NULL), "2 ");
    CHECK_TEXT(scanned(employees, "Email", "b", NULL, NULL), "3 1 ");
    CHECK_TEXT(scanned(employees, "Email", NULL, "b", NULL), "2 ");
    CHECK_TEXT(scanned(employees, "Email", "b", "a", NULL), "");
    CHECK_TEXT(scanned(employees, "Badge", NULL, NULL, NULL), "4 1 2 ");
    CHECK_TEXT(scanned(employees, "RowKey", "2", "4", NULL), "2 3 ");
    CHECK_TEXT(scanned(employees, "RowKey", NULL, NULL, NULL), "1 2 3 4 ");

    /* With more conditions, a limit, a selection. */
    tavola_query_set_limit(two, 2);
    tavola_query_set_page_size(two, 1);
    CHECK_TEXT(scanned(employees, "Email", NULL, NULL, two), "2 3 ");
    CHECK_TEXT(scanned(employees, "Email", NULL, NULL, of_a), "2 3 ");
    tavola_query_select(selection, some);
    CHECK_OK(tavola_indexed_scan(employees, "Email", "Sales", "b", NULL, selection, t.call, &scan));
    CHECK_OK(tavola_scan_next(scan, &entity));
    CHECK_TEXT(tavola_entity_row_key(entity), "3");
    CHECK_INT(tavola_entity_count(entity), 1);
    tavola_scan_close(scan);
    tavola_query_free(two);
    tavola_query_free(of_a);
    tavola_query_free(selection);
}

TEST(entities_without_a_prefix_are_told_from_their_copies)
{
    static const tavola_index plain[] = {{"b_", "Email", NULL}};
    tavola_query *two = tavola_query_new(NULL);
    tavola_indexed *indexed = NULL;

    CHECK_OK(tavola_indexed_open(t.table, plain, 1, NULL, t.call, &indexed));
    CHECK_OK(put_on(indexed, "a", "2@x", NULL));
    CHECK_OK(put_on(indexed, "c", "1@x", NULL));
    CHECK_OK(put_on(indexed, "d", NULL, NULL));
    CHECK(is_stored("Sales", "a") && is_stored("Sales", "b_1@x"));
    CHECK_TEXT(scanned(indexed, "RowKey", NULL, NULL, NULL), "a c d ");
    CHECK_TEXT(scanned(indexed, "RowKey", "b", "d", NULL), "c ");
    CHECK_TEXT(scanned(indexed, "Email", NULL, NULL, NULL), "c a ");
    tavola_query_set_limit(two, 2);
    CHECK_TEXT(scanned(indexed, "RowKey", NULL, NULL, two), "a c ");
    tavola_query_free(two);

    /* Such a key would be that of a copy. */
    CHECK_REFUSED(put_on(indexed, "b_1@x", NULL, NULL), TAVOLA_ERR_INVALID);
    tavola_indexed_close(indexed);
}

TEST(what_a_range_gives_can_be_put)
{
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    tavola_entity *copies[8] = {0};
    size_t count = 0;

    put_four(employees);
    CHECK_OK(tavola_indexed_scan(employees, "Email", "Sales", NULL, NULL, NULL, t.call, &scan));
    while (tavola_scan_next(scan, &entity) == TAVOLA_OK)
        copies[count++] = tavola_entity_copy(entity);
    tavola_scan_close(scan);
    CHECK_INT(count, 3);
    for (size_t i = 0; i < count; i++) {
        tavola_entity_set_int32(copies[i], "Age", 50);
        CHECK_OK(tavola_indexed_put(employees, copies[i], t.call));
        tavola_entity_free(copies[i]);
    }
    check_indexes();

    /* Not what has lost properties on its way. */
    tavola_entity *part = get(BY_BADGE, "b1");

    CHECK_REFUSED(tavola_indexed_put(employees, part, t.call), TAVOLA_ERR_INVALID);
    tavola_entity_free(part);
}

/* ---- changing ---- */

static tavola_err move_on(void *user, tavola_entity *entity)
{
    CHECK_TEXT(tavola_entity_row_key(entity), "1");
    tavola_entity_set_string(entity, "Email", user);
    tavola_entity_unset(entity, "Badge");
    return TAVOLA_OK;
}

static tavola_err leave_it(void *user, tavola_entity *entity)
{
    (void)entity, (void)user;
    return TAVOLA_OK;
}

static tavola_err refuse_it(void *user, tavola_entity *entity)
{
    (void)entity, (void)user;
    return TAVOLA_ERR_CANCELLED;
}

TEST(an_update_changes_the_copies_with_their_entity)
{
    CHECK_OK(put("1", "a@x", "b1"));
    CHECK_OK(put("2", "b@x", NULL));
    CHECK_OK(tavola_indexed_update(employees, "Sales", "1", move_on, (void *)"c@x", t.call));
    CHECK(has(BY_EMAIL, "c@x") && !has(BY_EMAIL, "a@x") && !has(BY_BADGE, "b1"));
    check_indexes();
    CHECK_ERR(tavola_indexed_update(employees, "Sales", "1", move_on, (void *)"b@x", t.call),
              TAVOLA_ERR_EXISTS);
    CHECK_ERR(tavola_indexed_update(employees, "Sales", "1", move_on, (void *)"b/x", t.call),
              TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_indexed_update(employees, "Sales", "1", refuse_it, NULL, t.call),
              TAVOLA_ERR_CANCELLED);
    CHECK_ERR(tavola_indexed_update(employees, "Sales", "3", leave_it, NULL, t.call),
              TAVOLA_ERR_NOT_FOUND);

    tavola_entity *before = get(BY_ID, "1"), *after;

    CHECK_OK(tavola_indexed_update(employees, "Sales", "1", leave_it, NULL, t.call));
    after = get(BY_ID, "1");
    CHECK_TEXT(tavola_entity_etag(after), tavola_entity_etag(before));
    tavola_entity_free(before);
    tavola_entity_free(after);
    check_indexes();
}

TEST(ninety_nine_indexes_are_one_transaction)
{
    enum { MANY = 99 };
    static char prefixes[MANY][16], names[MANY][16];
    tavola_index many[MANY];
    tavola_entity *entity = tavola_entity_new("p", "r");
    tavola_indexed *indexed = NULL;

    for (int i = 0; i < MANY; i++) {
        snprintf(prefixes[i], sizeof prefixes[i], "i%02d_", i);
        snprintf(names[i], sizeof names[i], "V%02d", i);
        many[i] = (tavola_index){prefixes[i], names[i], name_only};
        tavola_entity_set_string(entity, names[i], "v");
    }
    CHECK_OK(tavola_indexed_open(t.table, many, MANY, NULL, t.call, &indexed));
    CHECK_OK(tavola_indexed_put(indexed, entity, t.call));
    CHECK_INT(count_all(), 100);

    /* One value more that changes needs one write more than there is. */
    tavola_entity_set_string(entity, names[0], "w");
    CHECK_ERR(tavola_indexed_put(indexed, entity, t.call), TAVOLA_ERR_TOO_LARGE);
    CHECK_OK(tavola_indexed_delete(indexed, "p", "r", TAVOLA_ANY, t.call));
    CHECK_INT(count_all(), 0);

    /* All of them are new to an entity that was there before. */
    uint64_t left = 1;

    CHECK_OK(tavola_insert_or_replace(t.table, entity, t.call));
    CHECK_OK(tavola_indexed_repair(indexed, "p", NULL, NULL, t.call, &left));
    CHECK_INT(left, 0);
    CHECK_INT(count_all(), 100);
    tavola_indexed_close(indexed);
    tavola_entity_free(entity);
}

static bool encrypts_name(void *user, const char *partition_key, const char *row_key,
                          const char *name)
{
    (void)user, (void)partition_key, (void)row_key;
    return strcmp(name, "Name") == 0;
}

/* Whether a stored entity holds the name in plain text. */
static bool is_plain(const char *row_key)
{
    tavola_entity *stored = NULL;

    CHECK_OK(tavola_get(t.table, "Sales", row_key, t.call, &stored));

    bool is = text_of(stored, "Name") != NULL;

    tavola_entity_free(stored);
    return is;
}

TEST(copies_are_encrypted_like_their_entity)
{
    static const uint8_t key[32] = {1, 2, 3};
    tavola_crypto *crypto = new_aes("key-1", key);
    tavola_table *secret = table_on(t.client);
    tavola_entity *want = employee("1", "a@x", "b1"), *got = NULL;

    tavola_crypto_set_properties(crypto, encrypts_name, NULL);
    tavola_table_set_crypto(secret, crypto);

    tavola_indexed *secrets = indexed_on(secret);

    for (int round = 0; round < 2; round++) {
        CHECK_OK(tavola_indexed_put(secrets, want, t.call));
        CHECK(!is_plain("empid_1") && !is_plain("email_a@x") && !is_plain("badge_b1"));
        CHECK_OK(tavola_indexed_get(secrets, "Email", "Sales", "a@x", t.call, &got));
        check_same(got, want);

        /* What was decrypted is encrypted again, and by the copy's etag. */
        tavola_entity_free(want);
        want = got;
        got = NULL;
    }
    CHECK_INT(faults_of(secrets), 0);
    CHECK_OK(tavola_list_add(secret, "Sales", "empid_1", "Roles", "boss", NULL, t.call));
    CHECK(!is_plain("empid_1"));
    tavola_entity_free(want);
    tavola_indexed_close(secrets);
    tavola_table_close(secret);
    tavola_crypto_free(crypto);
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

static void merge_plainly(const char *row_key, const char *name, const char *value)
{
    tavola_entity *change = tavola_entity_new("Sales", row_key);

    tavola_entity_set_string(change, name, value);
    CHECK_OK(tavola_merge(t.table, change, TAVOLA_ANY, t.call));
    tavola_entity_free(change);
}

static void delete_plainly(const char *row_key)
{
    CHECK_OK(tavola_delete(t.table, "Sales", row_key, TAVOLA_ANY, t.call));
}

static void change_a_value(void)
{
    merge_plainly("empid_1", "Email", "new@x");
}

static void change_a_property(void)
{
    merge_plainly("empid_1", "Name", "Jon");
}

static void change_a_copy(void)
{
    merge_plainly("email_a@x", "Name", "Jon");
}

static void delete_a_copy(void)
{
    delete_plainly("badge_b1");
}

static void delete_an_entity(void)
{
    delete_plainly("empid_1");
}

static void give_one_value_twice(void)
{
    merge_plainly("empid_2", "Email", "a@x");
}

/* The stale copy holds a value that another entity has now. */
static void hand_a_value_on(void)
{
    merge_plainly("empid_1", "Email", "new@x");
    merge_plainly("empid_2", "Email", "a@x");
}

static void insert_beside(void)
{
    insert_new("Sales", "department", 1);
    insert_new("Sales", "email_", 1);
}

static const struct {
    const char *what;
    void (*write)(void);
    const char *found, *repaired;
    uint64_t left;
} plain_writes[] = {
    {"another value", change_a_value, "stale Email 1 a@x; missing Email 1 new@x; ",
     "stale Email 1 a@x ok; missing Email 1 new@x ok; ", 0},
    {"another property", change_a_property, "differs Email 1 a@x; differs Badge 1 b1; ",
     "differs Email 1 a@x ok; differs Badge 1 b1 ok; ", 0},
    {"a change of a copy", change_a_copy, "differs Email 1 a@x; ", "differs Email 1 a@x ok; ", 0},
    {"no copy", delete_a_copy, "missing Badge 1 b1; ", "missing Badge 1 b1 ok; ", 0},
    {"no entity", delete_an_entity, "stale Badge 1 b1; stale Email 1 a@x; ",
     "stale Badge 1 b1 ok; stale Email 1 a@x ok; ", 0},
    {"a value twice", give_one_value_twice, "stale Email 2 b@x; taken Email 2 a@x; ",
     "stale Email 2 b@x ok; taken Email 2 a@x; ", 1},
    {"a value of another", hand_a_value_on,
     "stale Email 1 a@x; stale Email 2 b@x; missing Email 1 new@x; taken Email 2 a@x; ",
     "stale Email 1 a@x ok; stale Email 2 b@x ok; missing Email 1 new@x ok; "
     "missing Email 2 a@x ok; ",
     0},
    {"entities of another kind", insert_beside, "", "", 0},
};

TEST(a_check_finds_what_a_plain_write_has_left_and_a_repair_undoes_it)
{
    for (size_t i = 0; i < COUNT_OF(plain_writes); i++) {
        fault_notes found = {""}, repaired = {""};
        uint64_t count = UINT64_MAX;

        t_row = plain_writes[i].what;
        CHECK_OK(put("1", "a@x", "b1"));
        CHECK_OK(put("2", "b@x", NULL));
        CHECK_INT(faults_of(employees), 0);
        plain_writes[i].write();
        CHECK_OK(tavola_indexed_check(employees, "Sales", note_fault, &found, t.call, &count));
        CHECK_TEXT(found.text, plain_writes[i].found);
        CHECK_OK(tavola_indexed_repair(employees, i % 2 ? NULL : "Sales", note_fault, &repaired,
                                       t.call, &count));
        CHECK_TEXT(repaired.text, plain_writes[i].repaired);
        CHECK_INT(count, plain_writes[i].left);
        CHECK_INT(faults_of(employees), plain_writes[i].left);
        CHECK_OK(tavola_delete_where(
            t.table, tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")), t.call,
            NULL));
    }
}

/* ---- killed at every boundary ---- */

static void run_id(char *to, size_t size, unsigned run)
{
    snprintf(to, size, "%03u", run);
}

static void prepare_employee(unsigned run)
{
    char id[16], email[32];

    run_id(id, sizeof id, run);
    snprintf(email, sizeof email, "%s@old", id);
    CHECK_OK(put(id, email, id));
}

static tavola_err change_employee(tavola_client *client, unsigned run)
{
    tavola_table *table = table_on(client);
    tavola_indexed *indexed = indexed_on(table);
    char id[16], email[32];

    run_id(id, sizeof id, run);
    snprintf(email, sizeof email, "%s@new", id);

    tavola_err err = put_on(indexed, id, email, id);

    tavola_indexed_close(indexed);
    tavola_table_close(table);
    return err;
}

static tavola_err delete_employee(tavola_client *client, unsigned run)
{
    tavola_table *table = table_on(client);
    tavola_indexed *indexed = indexed_on(table);
    char id[16];

    run_id(id, sizeof id, run);

    tavola_err err = tavola_indexed_delete(indexed, "Sales", id, TAVOLA_ANY, NULL);

    tavola_indexed_close(indexed);
    tavola_table_close(table);
    return err;
}

/* Nothing has to be recovered: either all of it or nothing. */
static void check_change(unsigned run, tavola_err err)
{
    char id[16], old[32], new[32];

    run_id(id, sizeof id, run);
    snprintf(old, sizeof old, "%s@old", id);
    snprintf(new, sizeof new, "%s@new", id);
    CHECK(has(BY_ID, id) && has(BY_BADGE, id));
    CHECK(has(BY_EMAIL, old) != has(BY_EMAIL, new));
    if (err == TAVOLA_OK)
        CHECK(has(BY_EMAIL, new));
    if (run == 0)
        check_indexes();
}

static void check_delete(unsigned run, tavola_err err)
{
    char id[16], old[32];

    run_id(id, sizeof id, run);
    snprintf(old, sizeof old, "%s@old", id);
    CHECK(has(BY_ID, id) == has(BY_BADGE, id) && has(BY_ID, id) == has(BY_EMAIL, old));
    if (err == TAVOLA_OK)
        CHECK(!has(BY_ID, id));
}

TEST(a_client_that_dies_leaves_no_stale_copy)
{
    static const kill_case change = {
        .prepare = prepare_employee, .act = change_employee, .check = check_change};
    static const kill_case delete = {
        .prepare = prepare_employee, .act = delete_employee, .check = check_delete};

    kill_everywhere(&change);
    CHECK_OK(tavola_delete_where(
        t.table, tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")), t.call, NULL));
    kill_everywhere(&delete);
}

TEST(a_lost_answer_leaves_no_stale_copy)
{
    static const kill_case change = {
        .prepare = prepare_employee, .act = change_employee, .check = check_change};

    lose_everywhere(&change);
}

/* ---- races ---- */

enum { RACERS = 6, RACES = 25 };

static tavola_err be_older(void *user, tavola_entity *entity)
{
    (void)user;
    tavola_entity_set_int32(entity, "Age", 1000);
    return TAVOLA_OK;
}

static void *race(void *number)
{
    uint32_t seed = (uint32_t)(uintptr_t)number * 77 + 5;
    tavola_call *call = tavola_call_new();
    const char *failure = NULL;

    for (int i = 0; i < RACES && failure == NULL; i++) {
        char id[16], email[16];

        snprintf(id, sizeof id, "%u", next_random(&seed) % 3);
        snprintf(email, sizeof email, "e%u", next_random(&seed) % 4);

        tavola_entity *entity = employee(id, email, NULL);
        tavola_err err;

        tavola_entity_set_int32(entity, "Age", (int32_t)(next_random(&seed) % 1000));
        if (next_random(&seed) % 4 == 0)
            err = tavola_indexed_delete(employees, "Sales", id, TAVOLA_ANY, call);
        else if (next_random(&seed) % 4 == 0)
            err = tavola_indexed_update(employees, "Sales", id, be_older, NULL, call);
        else
            err = tavola_indexed_put(employees, entity, call);
        tavola_entity_free(entity);
        if (err && err != TAVOLA_ERR_EXISTS && err != TAVOLA_ERR_NOT_FOUND &&
            err != TAVOLA_ERR_ETAG)
            failure = tavola_err_name(err);
    }
    tavola_call_free(call);
    return (void *)(uintptr_t)failure;
}

TEST(many_writers_leave_indexes_equal_to_the_entities)
{
    run_threads(RACERS, race);
    check_indexes();
    CHECK_INT(faults_of(employees), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        INDEXED_TEST(an_entity_is_found_by_each_of_its_indexes),
        INDEXED_TEST(a_changed_value_takes_its_old_copy_along),
        INDEXED_TEST(a_value_of_another_entity_is_refused_whole),
        INDEXED_TEST(a_deleted_entity_has_no_copies),
        INDEXED_TEST(an_etag_is_a_condition_by_whichever_index_it_was_read),
        INDEXED_TEST(a_plain_write_to_the_primary_is_not_lost_to_a_put_by_a_copy),
        INDEXED_TEST(copies_that_are_missing_or_left_over_are_put_right),
        INDEXED_TEST(indexes_that_cannot_work_are_refused),
        INDEXED_TEST(a_range_of_values_is_in_their_order),
        INDEXED_TEST(entities_without_a_prefix_are_told_from_their_copies),
        INDEXED_TEST(what_a_range_gives_can_be_put),
        INDEXED_TEST(an_update_changes_the_copies_with_their_entity),
        INDEXED_TEST(a_check_finds_what_a_plain_write_has_left_and_a_repair_undoes_it),
        INDEXED_TEST(what_cannot_work_is_refused_before_it_is_sent),
        INDEXED_TEST(ninety_nine_indexes_are_one_transaction),
        INDEXED_TEST(copies_are_encrypted_like_their_entity),
        INDEXED_TEST(a_client_that_dies_leaves_no_stale_copy),
        INDEXED_TEST(a_lost_answer_leaves_no_stale_copy),
        INDEXED_TEST(many_writers_leave_indexes_equal_to_the_entities),
    };

    return cmocka_run_group_tests(tests, start_faults, stop_faults);
}
