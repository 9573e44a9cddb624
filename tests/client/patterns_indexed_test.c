/* Intra-partition secondary indexes: an entity and its copies change together. */
#include "patterns.h"

static const char *const name_only[] = {"Name", NULL};
static const tavola_index indexes[] = {
    {"empid_", "RowKey", NULL}, {"email_", "Email", NULL}, {"badge_", "Badge", name_only}};

enum { BY_ID, BY_EMAIL, BY_BADGE, INDEXES };

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

static tavola_err put_on(tavola_table *table, const char *id, const char *email, const char *badge)
{
    tavola_entity *entity = employee(id, email, badge);
    tavola_err err = tavola_indexed_put(table, indexes, INDEXES, entity, t.call);

    tavola_entity_free(entity);
    return err;
}

static tavola_err put(const char *id, const char *email, const char *badge)
{
    return put_on(t.table, id, email, badge);
}

static tavola_entity *get(int by, const char *value)
{
    tavola_entity *entity = NULL;
    tavola_err err = tavola_indexed_get(t.table, &indexes[by], "Sales", value, t.call, &entity);

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

TEST(an_entity_is_found_by_each_of_its_indexes)
{
    tavola_entity *want = employee("000223", "jonesj@contoso.com", "b1"), *got;

    CHECK_OK(tavola_indexed_put(t.table, indexes, INDEXES, want, t.call));
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
    CHECK_OK(tavola_indexed_delete(t.table, indexes, INDEXES, "Sales", "1", t.call));
    CHECK_INT(count_all(), 0);
    CHECK_ERR(tavola_indexed_delete(t.table, indexes, INDEXES, "Sales", "1", t.call),
              TAVOLA_ERR_NOT_FOUND);
}

TEST(an_etag_is_a_condition_by_whichever_index_it_was_read)
{
    for (int by = BY_ID; by <= BY_EMAIL; by++) {
        t_row = indexes[by].prefix;
        CHECK_OK(put("1", "a@x", NULL));

        tavola_entity *first = get(by, by == BY_ID ? "1" : "a@x");
        tavola_entity *second = tavola_entity_copy(first);

        tavola_entity_set_int32(first, "Age", 35);
        CHECK_OK(tavola_indexed_put(t.table, indexes, INDEXES, first, t.call));
        tavola_entity_set_int32(second, "Age", 36);
        CHECK_ERR(tavola_indexed_put(t.table, indexes, INDEXES, second, t.call), TAVOLA_ERR_ETAG);
        CHECK_OK(tavola_indexed_delete(t.table, indexes, INDEXES, "Sales", "1", t.call));
        CHECK_ERR(tavola_indexed_put(t.table, indexes, INDEXES, second, t.call),
                  TAVOLA_ERR_NOT_FOUND);
        tavola_entity_free(first);
        tavola_entity_free(second);
    }
}

static tavola_err grow_older(tavola_entity *entity, void *user)
{
    (void)user;
    tavola_entity_set_int32(entity, "Age", 99);
    return TAVOLA_OK;
}

/* Such a write leaves the copies and their etags as they were. */
TEST(a_plain_write_to_the_primary_is_not_lost_to_a_put_by_a_copy)
{
    CHECK_OK(put("1", "a@x", NULL));

    tavola_entity *mine = get(BY_EMAIL, "a@x");
    int32_t age = 0;

    CHECK_OK(tavola_update(t.table, "Sales", "empid_1", grow_older, NULL, t.call));
    tavola_entity_set_string(mine, "Name", "Jun");
    CHECK_ERR(tavola_indexed_put(t.table, indexes, INDEXES, mine, t.call), TAVOLA_ERR_ETAG);
    tavola_entity_free(mine);

    mine = get(BY_ID, "1");
    CHECK(tavola_entity_get_int32(mine, "Age", &age) && age == 99);
    tavola_entity_set_string(mine, "Name", "Jun");
    CHECK_OK(tavola_indexed_put(t.table, indexes, INDEXES, mine, t.call));
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

TEST(what_cannot_work_is_refused_before_it_is_sent)
{
    tavola_index two_primaries[] = {{"a_", "RowKey", NULL}, {"b_", "RowKey", NULL}};
    tavola_index same_target[] = {{"x_", "Email", NULL}, {"x_", "Badge", NULL}};
    tavola_index reserved[] = {{"x_", "PartitionKey", NULL}};
    tavola_index no_prefix[] = {{NULL, "Email", NULL}};
    tavola_index on_primary[] = {{"", "Email", NULL}};
    const struct {
        const char *what;
        const tavola_index *indexes;
        size_t count;
        const char *email;
    } cases[] = {
        {"two indexes of RowKey", two_primaries, 2, "e"},
        {"two copies with one RowKey", same_target, 2, "same"},
        {"PartitionKey", reserved, 1, "e"},
        {"no prefix", no_prefix, 1, "e"},
        {"the key of the primary", on_primary, 1, "1"},
        {"a value that cannot be in a key", indexes, INDEXES, "a/b"},
        {"too many", indexes, 100, "e"},
        {"none", NULL, 1, "e"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        tavola_entity *entity = employee("1", cases[i].email, "same");

        t_row = cases[i].what;
        CHECK_REFUSED(tavola_indexed_put(t.table, cases[i].indexes, cases[i].count, entity, t.call),
                      TAVOLA_ERR_INVALID);
        tavola_entity_free(entity);
    }
    t_row = "a number";

    tavola_entity *entity = employee("1", NULL, NULL);

    tavola_entity_set_int32(entity, "Email", 5);
    CHECK_REFUSED(tavola_indexed_put(t.table, indexes, INDEXES, entity, t.call),
                  TAVOLA_ERR_INVALID);
    tavola_entity_free(entity);
    CHECK_REFUSED(tavola_indexed_put(NULL, indexes, INDEXES, NULL, t.call), TAVOLA_ERR_NO_MEMORY);
    CHECK_REFUSED(tavola_indexed_delete(NULL, indexes, INDEXES, "p", "r", t.call),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_indexed_delete(t.table, indexes, INDEXES, NULL, "r", t.call),
                  TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_indexed_get(t.table, NULL, "p", "v", t.call, &entity), TAVOLA_ERR_INVALID);
    CHECK_INT(count_all(), 0);
}

TEST(ninety_nine_indexes_are_one_transaction)
{
    enum { MANY = 99 };
    static char prefixes[MANY][16], names[MANY][16];
    tavola_index many[MANY];
    tavola_entity *entity = tavola_entity_new("p", "r");

    for (int i = 0; i < MANY; i++) {
        snprintf(prefixes[i], sizeof prefixes[i], "i%02d_", i);
        snprintf(names[i], sizeof names[i], "V%02d", i);
        many[i] = (tavola_index){prefixes[i], names[i], name_only};
        tavola_entity_set_string(entity, names[i], "v");
    }
    CHECK_OK(tavola_indexed_put(t.table, many, MANY, entity, t.call));
    CHECK_INT(count_all(), 100);

    /* One value more that changes needs one write more than there is. */
    tavola_entity_set_string(entity, names[0], "w");
    CHECK_ERR(tavola_indexed_put(t.table, many, MANY, entity, t.call), TAVOLA_ERR_TOO_LARGE);
    CHECK_OK(tavola_indexed_delete(t.table, many, MANY, "p", "r", t.call));
    CHECK_INT(count_all(), 0);
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
    tavola_crypto *crypto = tavola_crypto_new_aes("key-1", key);
    tavola_table *secret = table_on(t.client);
    tavola_entity *want = employee("1", "a@x", "b1"), *got = NULL;

    tavola_crypto_set_properties(crypto, encrypts_name, NULL);
    tavola_table_set_crypto(secret, crypto);
    for (int round = 0; round < 2; round++) {
        CHECK_OK(tavola_indexed_put(secret, indexes, INDEXES, want, t.call));
        CHECK(!is_plain("empid_1") && !is_plain("email_a@x") && !is_plain("badge_b1"));
        CHECK_OK(tavola_indexed_get(secret, &indexes[BY_EMAIL], "Sales", "a@x", t.call, &got));
        check_same(got, want);

        /* What was decrypted is encrypted again, and by the copy's etag. */
        tavola_entity_free(want);
        want = got;
        got = NULL;
    }
    CHECK_OK(tavola_list_add(secret, "Sales", "empid_1", "Roles", "boss", NULL, t.call));
    CHECK(!is_plain("empid_1"));
    tavola_entity_free(want);
    tavola_table_close(secret);
    tavola_crypto_free(crypto);
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
    char id[16], email[32];

    run_id(id, sizeof id, run);
    snprintf(email, sizeof email, "%s@new", id);

    tavola_err err = put_on(table, id, email, id);

    tavola_table_close(table);
    return err;
}

static tavola_err delete_employee(tavola_client *client, unsigned run)
{
    tavola_table *table = table_on(client);
    char id[16];

    run_id(id, sizeof id, run);

    tavola_err err = tavola_indexed_delete(table, indexes, INDEXES, "Sales", id, NULL);

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
            err = tavola_indexed_delete(t.table, indexes, INDEXES, "Sales", id, call);
        else
            err = tavola_indexed_put(t.table, indexes, INDEXES, entity, call);
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
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(an_entity_is_found_by_each_of_its_indexes),
        LIVE_TEST(a_changed_value_takes_its_old_copy_along),
        LIVE_TEST(a_value_of_another_entity_is_refused_whole),
        LIVE_TEST(a_deleted_entity_has_no_copies),
        LIVE_TEST(an_etag_is_a_condition_by_whichever_index_it_was_read),
        LIVE_TEST(a_plain_write_to_the_primary_is_not_lost_to_a_put_by_a_copy),
        LIVE_TEST(copies_that_are_missing_or_left_over_are_put_right),
        LIVE_TEST(what_cannot_work_is_refused_before_it_is_sent),
        LIVE_TEST(ninety_nine_indexes_are_one_transaction),
        LIVE_TEST(copies_are_encrypted_like_their_entity),
        LIVE_TEST(a_client_that_dies_leaves_no_stale_copy),
        LIVE_TEST(a_lost_answer_leaves_no_stale_copy),
        LIVE_TEST(many_writers_leave_indexes_equal_to_the_entities),
    };

    return cmocka_run_group_tests(tests, start_faults, stop_faults);
}
