/* Entities that are encrypted before they are sent, and key rotation. */
#include "live.h"

#define ENVELOPE "_ClientEncryptionMetadata1"
#define NAMES "_ClientEncryptionMetadata2"

static tavola_crypto *new_crypto(const char *kid, uint8_t seed)
{
    uint8_t kek[32];

    memset(kek, seed, sizeof kek);
    return new_aes(kid, kek);
}

/* Properties whose names begin with S are secret. */
static bool is_secret(void *user, const char *partition_key, const char *row_key, const char *name)
{
    (void)user, (void)partition_key, (void)row_key;
    return name[0] == 'S';
}

static tavola_crypto *use_crypto(tavola_crypto *crypto)
{
    tavola_crypto_set_properties(crypto, is_secret, NULL);
    tavola_table_set_crypto(t.table, crypto);
    return crypto;
}

/* The same table without a crypto: what the service has. */
static tavola_table *open_raw(void)
{
    tavola_table *raw = NULL;

    CHECK_OK(tavola_table_open(t.client, tavola_table_name(t.table), &raw));
    return raw;
}

static tavola_entity *employee(const char *partition_key, const char *row_key)
{
    tavola_entity *entity = tavola_entity_new(partition_key, row_key);

    tavola_entity_set_string(entity, "Name", "Jo");
    tavola_entity_set_string(entity, "SEmail", "jo@contoso.com");
    tavola_entity_set_int64(entity, "SPay", INT64_C(5000000000));
    return entity;
}

static void insert_employee(tavola_table *table, const char *partition_key, const char *row_key)
{
    tavola_entity *entity = employee(partition_key, row_key);

    CHECK_OK(tavola_insert(table, entity, t.call));
    tavola_entity_free(entity);
}

static void check_employee(const tavola_entity *entity)
{
    const char *text = NULL;
    int64_t pay = 0;

    CHECK(entity != NULL);
    CHECK_INT(tavola_entity_count(entity), 3);
    CHECK(tavola_entity_get_string(entity, "Name", &text));
    CHECK_TEXT(text, "Jo");
    CHECK(tavola_entity_get_string(entity, "SEmail", &text));
    CHECK_TEXT(text, "jo@contoso.com");
    CHECK(tavola_entity_get_int64(entity, "SPay", &pay));
    CHECK(pay == INT64_C(5000000000));
}

static void check_stored_employee(const char *partition_key, const char *row_key)
{
    tavola_entity *entity = NULL;

    CHECK_OK(tavola_get(t.table, partition_key, row_key, t.call, &entity));
    check_employee(entity);
    tavola_entity_free(entity);
}

/* That nothing secret is where the service can see it. */
static void check_sealed(const tavola_entity *entity)
{
    const void *data;
    size_t size;
    const char *text = NULL;
    char *json = tavola_entity_json(entity);

    CHECK_INT(tavola_entity_count(entity), 5);
    CHECK(tavola_entity_get_string(entity, "Name", &text));
    CHECK_TEXT(text, "Jo");
    CHECK(tavola_entity_get_binary(entity, "SEmail", &data, &size));
    CHECK(tavola_entity_get_binary(entity, "SPay", &data, &size));
    CHECK(tavola_entity_get_string(entity, ENVELOPE, &text));
    CHECK(tavola_entity_get_binary(entity, NAMES, &data, &size));
    CHECK(strstr(json, "contoso") == NULL && strstr(json, "5000000000") == NULL);
    tavola_free(json);
}

static void check_stored_sealed(const char *partition_key, const char *row_key)
{
    tavola_table *raw = open_raw();
    tavola_entity *entity = NULL;

    CHECK_OK(tavola_get(raw, partition_key, row_key, t.call, &entity));
    check_sealed(entity);
    tavola_entity_free(entity);
    tavola_table_close(raw);
}

TEST(what_is_written_is_sealed_and_what_is_read_is_plain)
{
    tavola_crypto *crypto = use_crypto(new_crypto("k", 1));
    tavola_entity *entity = employee("p", "r"), *got = NULL;

    CHECK_OK(tavola_insert(t.table, entity, t.call));
    check_stored_sealed("p", "r");
    check_stored_employee("p", "r");

    CHECK_OK(tavola_insert_or_replace(t.table, entity, t.call));
    check_stored_sealed("p", "r");
    CHECK_OK(tavola_get(t.table, "p", "r", t.call, &got));
    CHECK_OK(tavola_replace(t.table, got, NULL, t.call));
    check_stored_sealed("p", "r");
    check_stored_employee("p", "r");
    tavola_entity_free(got);
    tavola_entity_free(entity);
    tavola_crypto_free(crypto);
}

/* Sealed as it is, an entity is copied to another table, as a backup or a hostile service would. */
TEST(a_copy_in_another_table_is_read_by_who_knows_where_it_was)
{
    tavola_crypto *crypto = use_crypto(new_crypto("one", 1));
    tavola_table *raw = open_raw(), *other = NULL;
    tavola_entity *stored = NULL, *entity = NULL;
    char name[64];

    snprintf(name, sizeof name, "%.50sCopy", tavola_table_name(t.table));
    CHECK_OK(tavola_table_open(t.client, name, &other));
    CHECK_OK(tavola_table_create(other, t.call));
    insert_employee(t.table, "p", "r");
    CHECK_OK(tavola_get(raw, "p", "r", t.call, &stored));
    CHECK_OK(tavola_insert(other, stored, t.call));

    tavola_table_set_crypto(other, crypto);
    CHECK_ERR(tavola_get(other, "p", "r", t.call, &entity), TAVOLA_ERR_CRYPTO);
    CHECK_OK(tavola_crypto_set_place(crypto, NULL, tavola_table_name(t.table)));
    CHECK_OK(tavola_get(other, "p", "r", t.call, &entity));
    check_employee(entity);
    CHECK_OK(tavola_crypto_set_place(crypto, NULL, NULL));
    check_stored_employee("p", "r");

    CHECK_OK(tavola_table_delete(other, t.call));
    tavola_entity_free(entity);
    tavola_entity_free(stored);
    tavola_table_close(other);
    tavola_table_close(raw);
    tavola_crypto_free(crypto);
}

TEST(version_1_is_written_on_request)
{
    tavola_crypto *crypto = use_crypto(new_crypto("k", 1));
    tavola_entity *entity = tavola_entity_new("p", "r"), *got = NULL;
    tavola_table *raw = open_raw();
    const char *text = NULL;

    tavola_crypto_set_protocol(crypto, 1);
    tavola_entity_set_string(entity, "SEmail", "jo@contoso.com");
    CHECK_OK(tavola_insert(t.table, entity, t.call));
    CHECK_OK(tavola_get(raw, "p", "r", t.call, &got));
    CHECK(tavola_entity_get_string(got, ENVELOPE, &text));
    CHECK(strstr(text, "AES_CBC_256") != NULL);
    tavola_entity_free(got);
    got = NULL;
    CHECK_OK(tavola_get(t.table, "p", "r", t.call, &got));
    CHECK(tavola_entity_get_string(got, "SEmail", &text));
    CHECK_TEXT(text, "jo@contoso.com");
    tavola_entity_free(got);

    /* It has only strings. */
    tavola_entity_set_int32(entity, "SNumber", 1);
    CHECK_REFUSED(tavola_insert(t.table, entity, t.call), TAVOLA_ERR_INVALID);
    tavola_entity_free(entity);
    tavola_table_close(raw);
    tavola_crypto_free(crypto);
}

TEST(merges_are_refused)
{
    tavola_crypto *crypto = use_crypto(new_crypto("k", 1));
    tavola_entity *entity = employee("p", "r");
    tavola_batch *batch = tavola_batch_new(t.table);

    CHECK_REFUSED(tavola_merge(t.table, entity, TAVOLA_ANY, t.call), TAVOLA_ERR_UNSUPPORTED);
    CHECK_REFUSED(tavola_insert_or_merge(t.table, entity, t.call), TAVOLA_ERR_UNSUPPORTED);
    tavola_batch_add(batch, TAVOLA_INSERT_OR_MERGE, entity, NULL);
    CHECK_REFUSED(tavola_batch_run(batch, t.call), TAVOLA_ERR_UNSUPPORTED);
    CHECK_INT(tavola_call_failed_index(t.call), 0);
    tavola_batch_free(batch);
    CHECK(!is_stored("p", "r"));

    /* A delete has nothing to do with it. */
    CHECK_OK(tavola_insert(t.table, entity, t.call));
    CHECK_OK(tavola_delete(t.table, "p", "r", TAVOLA_ANY, t.call));
    tavola_entity_free(entity);
    tavola_crypto_free(crypto);
}

static tavola_err raise_pay(void *user, tavola_entity *entity)
{
    (void)user;
    check_employee(entity);
    tavola_entity_set_string(entity, "Name", "Joe");
    return TAVOLA_OK;
}

TEST(an_update_keeps_secrets)
{
    tavola_crypto *crypto = use_crypto(new_crypto("k", 1));
    tavola_entity *got = NULL;
    const char *text = NULL;
    tavola_table *raw = open_raw();
    const void *data;
    size_t size;

    insert_employee(t.table, "p", "r");
    /* Even without knowing what is secret: it was, when it was read. */
    tavola_crypto_set_properties(crypto, NULL, NULL);
    CHECK_OK(tavola_update(t.table, "p", "r", raise_pay, NULL, t.call));
    CHECK_OK(tavola_get(raw, "p", "r", t.call, &got));
    CHECK(tavola_entity_get_binary(got, "SEmail", &data, &size));
    tavola_entity_free(got);
    got = NULL;
    CHECK_OK(tavola_get(t.table, "p", "r", t.call, &got));
    CHECK(tavola_entity_get_string(got, "Name", &text));
    CHECK_TEXT(text, "Joe");
    CHECK(tavola_entity_get_string(got, "SEmail", &text));
    CHECK_TEXT(text, "jo@contoso.com");
    tavola_entity_free(got);
    tavola_table_close(raw);
    tavola_crypto_free(crypto);
}

TEST(a_projection_is_decrypted)
{
    static const char *const names[] = {"SEmail", NULL};
    tavola_crypto *crypto = use_crypto(new_crypto("k", 1));
    tavola_query *query = tavola_query_new(NULL);
    tavola_scan *scan = NULL;
    const tavola_entity *seen = NULL;
    tavola_entity *got = NULL;
    const char *text = NULL;

    insert_employee(t.table, "p", "r");
    CHECK_OK(tavola_get_select(t.table, "p", "r", names, t.call, &got));
    CHECK_INT(tavola_entity_count(got), 1);
    CHECK(tavola_entity_get_string(got, "SEmail", &text));
    CHECK_TEXT(text, "jo@contoso.com");
    tavola_entity_free(got);

    tavola_query_select(query, names);
    CHECK_OK(tavola_scan_open(t.table, query, t.call, &scan));
    CHECK_OK(tavola_scan_next(scan, &seen));
    CHECK_INT(tavola_entity_count(seen), 1);
    CHECK(tavola_entity_get_string(seen, "SEmail", &text));
    CHECK_TEXT(text, "jo@contoso.com");
    CHECK_ERR(tavola_scan_next(scan, &seen), TAVOLA_END);
    tavola_scan_close(scan);
    tavola_query_free(query);
    tavola_crypto_free(crypto);
}

TEST(scans_and_pages_are_decrypted)
{
    enum { COUNT = 30 };
    tavola_crypto *crypto = use_crypto(new_crypto("k", 1));
    tavola_query *query = tavola_query_new(NULL);
    tavola_scan *scan = NULL;
    const tavola_entity *seen = NULL;
    tavola_page *page = NULL;
    int count = 0;

    for (int i = 0; i < COUNT; i++) {
        char row_key[8];

        snprintf(row_key, sizeof row_key, "%03d", i);
        insert_employee(t.table, i % 2 ? "a" : "b", row_key);
    }
    tavola_query_set_page_size(query, 7);
    CHECK_OK(tavola_scan_open(t.table, query, t.call, &scan));
    for (; tavola_scan_next(scan, &seen) == TAVOLA_OK; count++)
        check_employee(seen);
    CHECK_INT(count, COUNT);
    tavola_scan_close(scan);

    CHECK_OK(tavola_query_page(t.table, query, NULL, t.call, &page));
    CHECK_INT(tavola_page_count(page), 7);
    for (size_t i = 0; i < 7; i++)
        check_employee(tavola_page_at(page, i));
    tavola_page_free(page);
    tavola_query_free(query);
    tavola_crypto_free(crypto);
}

TEST(batches_and_bulk_writes_are_encrypted)
{
    tavola_crypto *crypto = use_crypto(new_crypto("k", 1));
    tavola_batch *batch = tavola_batch_new(t.table);
    tavola_entity *first = employee("p", "1"), *second = employee("p", "2");
    tavola_bulk *bulk = NULL;
    uint64_t written = 0, failed = 0;

    tavola_batch_add(batch, TAVOLA_INSERT, first, NULL);
    tavola_batch_add(batch, TAVOLA_INSERT_OR_REPLACE, second, NULL);
    CHECK_OK(tavola_batch_run(batch, t.call));
    tavola_batch_free(batch);
    check_stored_sealed("p", "1");
    check_stored_sealed("p", "2");
    check_stored_employee("p", "2");

    CHECK_OK(tavola_bulk_open(t.table, 0, NULL, NULL, NULL, &bulk));
    for (int i = 0; i < 120; i++) {
        char row_key[8];

        snprintf(row_key, sizeof row_key, "%03d", i);

        tavola_entity *entity = employee("bulk", row_key);

        CHECK_OK(tavola_bulk_add(bulk, TAVOLA_INSERT, entity, NULL));
        tavola_entity_free(entity);
    }
    CHECK_OK(tavola_bulk_close(bulk, &written, &failed));
    CHECK_INT(written, 120);
    CHECK_INT(failed, 0);
    check_stored_sealed("bulk", "119");
    check_stored_employee("bulk", "119");
    tavola_entity_free(first);
    tavola_entity_free(second);
    tavola_crypto_free(crypto);
}

TEST(started_operations_are_encrypted)
{
    tavola_crypto *crypto = use_crypto(new_crypto("k", 1));
    tavola_entity *entity = employee("p", "r"), *got;
    tavola_op *op = NULL;

    CHECK_OK(tavola_start_write(t.table, TAVOLA_INSERT, entity, NULL, NULL, NULL, NULL, &op));
    CHECK_OK(tavola_op_wait(op, 10000));
    tavola_op_free(op);
    check_stored_sealed("p", "r");

    op = NULL;
    CHECK_OK(tavola_start_get(t.table, "p", "r", NULL, NULL, NULL, &op));
    CHECK_OK(tavola_op_wait(op, 10000));
    got = tavola_op_take_entity(op);
    check_employee(got);
    tavola_entity_free(got);
    tavola_op_free(op);

    op = NULL;
    CHECK_ERR(tavola_start_write(t.table, TAVOLA_MERGE, entity, TAVOLA_ANY, NULL, NULL, NULL, &op),
              TAVOLA_ERR_UNSUPPORTED);
    CHECK(op == NULL);
    tavola_entity_free(entity);
    tavola_crypto_free(crypto);
}

TEST(the_crypto_of_a_call_goes_before_that_of_the_table)
{
    tavola_crypto *crypto = use_crypto(new_crypto("k", 1)), *other = new_crypto("other", 2);
    tavola_entity *got = NULL;

    tavola_crypto_set_properties(other, is_secret, NULL);
    tavola_call_set_crypto(t.call, other);
    insert_employee(t.table, "p", "r");
    check_stored_employee("p", "r");
    tavola_call_set_crypto(t.call, NULL);
    CHECK_ERR(tavola_get(t.table, "p", "r", t.call, &got), TAVOLA_ERR_CRYPTO);
    CHECK(got == NULL);
    CHECK_INT(tavola_call_attempts(t.call), 1);
    CHECK(tavola_call_message(t.call)[0] != '\0');
    tavola_crypto_free(crypto);
    tavola_crypto_free(other);
}

TEST(plain_entities_are_refused_when_encryption_is_required)
{
    tavola_crypto *crypto = use_crypto(new_crypto("k", 1));
    tavola_table *raw = open_raw();
    tavola_entity *got = NULL;
    tavola_page *page = NULL;

    insert_employee(raw, "p", "r");
    check_stored_employee("p", "r");
    tavola_crypto_set_required(crypto, true);
    CHECK_ERR(tavola_get(t.table, "p", "r", t.call, &got), TAVOLA_ERR_CRYPTO);
    CHECK_ERR(tavola_query_page(t.table, NULL, NULL, t.call, &page), TAVOLA_ERR_CRYPTO);
    CHECK(got == NULL && page == NULL);
    tavola_table_close(raw);
    tavola_crypto_free(crypto);
}

typedef struct person {
    const char *PartitionKey, *RowKey, *Email;
    int32_t Age;
} person;

TEST(fields_of_a_struct_are_encrypted)
{
    static const tavola_field fields[] = {
        TAVOLA_FIELD(person, PartitionKey, STRING),
        TAVOLA_FIELD(person, RowKey, STRING),
        TAVOLA_FIELD_AS(person, Email, STRING, "Email", TAVOLA_FIELD_ENCRYPT),
        TAVOLA_FIELD_AS(person, Age, INT32, "Age", TAVOLA_FIELD_ENCRYPT),
        TAVOLA_FIELD_END,
    };
    const person jo = {"p", "r", "jo@contoso.com", 42};
    person again = {0};
    tavola_crypto *crypto = new_crypto("k", 1);
    tavola_table *raw = open_raw();
    tavola_entity *entity = NULL, *got = NULL, *stored = NULL;
    const void *data;
    size_t size;

    tavola_table_set_crypto(t.table, crypto);
    CHECK_OK(tavola_entity_from(fields, &jo, &entity));
    CHECK_OK(tavola_insert(t.table, entity, t.call));
    CHECK_OK(tavola_get(raw, "p", "r", t.call, &stored));
    CHECK(tavola_entity_get_binary(stored, "Email", &data, &size));
    CHECK(tavola_entity_get_binary(stored, "Age", &data, &size));
    CHECK_OK(tavola_get(t.table, "p", "r", t.call, &got));
    CHECK_OK(tavola_entity_read(got, fields, &again));
    CHECK_TEXT(again.Email, "jo@contoso.com");
    CHECK_INT(again.Age, 42);
    tavola_entity_free(entity);
    tavola_entity_free(got);
    tavola_entity_free(stored);
    tavola_table_close(raw);
    tavola_crypto_free(crypto);
}

/* ---- rotation ------------------------------------------------------------------------------ */

/* Who knows an old key, and what happens when he is asked for it. */
typedef struct key_ring {
    const char *kid;
    tavola_crypto *crypto;
    void (*asked)(struct key_ring *ring);
    int count;
} key_ring;

static tavola_crypto *find_key(void *user, const char *kid)
{
    key_ring *ring = user;

    ring->count++;
    if (ring->asked)
        ring->asked(ring);
    return strcmp(kid, ring->kid) == 0 ? ring->crypto : NULL;
}

static tavola_crypto *rotated_crypto(key_ring *ring)
{
    tavola_crypto *crypto = new_crypto("new", 2);

    tavola_crypto_set_properties(crypto, is_secret, NULL);
    tavola_crypto_set_resolver(crypto, find_key, ring);
    return crypto;
}

/* How many encrypted entities can be read with a key alone. */
static int count_readable(const char *kid, uint8_t seed)
{
    tavola_crypto *crypto = new_crypto(kid, seed);
    tavola_table *raw = open_raw();
    tavola_scan *scan = NULL;
    const tavola_entity *seen = NULL;
    int count = 0;

    tavola_crypto_set_required(crypto, true);
    CHECK_OK(tavola_scan_open(raw, NULL, t.call, &scan));
    while (tavola_scan_next(scan, &seen) == TAVOLA_OK) {
        tavola_entity *entity = NULL;
        tavola_call *call = tavola_call_new();

        tavola_call_set_crypto(call, crypto);
        if (tavola_get(raw, tavola_entity_partition_key(seen), tavola_entity_row_key(seen), call,
                       &entity) == TAVOLA_OK) {
            check_employee(entity);
            count++;
        }
        tavola_entity_free(entity);
        tavola_call_free(call);
    }
    tavola_scan_close(scan);
    tavola_table_close(raw);
    tavola_crypto_free(crypto);
    return count;
}

static void insert_many(const char *partition_key, int count)
{
    tavola_bulk *bulk = NULL;
    uint64_t written = 0;

    CHECK_OK(tavola_bulk_open(t.table, 0, NULL, NULL, NULL, &bulk));
    for (int i = 0; i < count; i++) {
        char row_key[8];

        snprintf(row_key, sizeof row_key, "%03d", i);

        tavola_entity *entity = employee(partition_key, row_key);

        CHECK_OK(tavola_bulk_add(bulk, TAVOLA_INSERT, entity, NULL));
        tavola_entity_free(entity);
    }
    CHECK_OK(tavola_bulk_close(bulk, &written, NULL));
    CHECK_INT(written, count);
}

TEST(a_rotation_gives_every_entity_the_new_key)
{
    tavola_crypto *old = use_crypto(new_crypto("old", 1));
    key_ring ring = {.kid = "old", .crypto = old};
    tavola_crypto *new = rotated_crypto(&ring);
    tavola_table *raw = open_raw();
    uint64_t count = 0;

    insert_many("a", 120);
    insert_many("b", 3);
    insert_employee(raw, "b", "plain");

    /* First one partition, then the rest: what is done is not done again. */
    CHECK_OK(tavola_crypto_rewrap(
        t.table, new, tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("b")), t.call, &count));
    CHECK_INT(count, 3);
    CHECK_INT(count_readable("new", 2), 3);
    ring.count = 0;
    CHECK_OK(tavola_crypto_rewrap(t.table, new, NULL, t.call, &count));
    CHECK_INT(count, 120);
    CHECK_INT(ring.count, 120);
    CHECK_OK(tavola_crypto_rewrap(t.table, new, NULL, NULL, &count));
    CHECK_INT(count, 0);
    CHECK_INT(count_readable("new", 2), 123);
    CHECK_INT(count_readable("old", 1), 0);
    tavola_table_close(raw);
    tavola_crypto_free(new);
    tavola_crypto_free(old);
}

/* While the first key is looked for, somebody replaces an entity and deletes another. */
static void disturb(key_ring *ring)
{
    tavola_table *table;
    tavola_entity *entity;

    if (ring->count > 1)
        return;

    table = open_raw();
    tavola_table_set_crypto(table, ring->crypto);
    entity = employee("a", "001");
    CHECK_OK(tavola_insert_or_replace(table, entity, NULL));
    CHECK_OK(tavola_delete(table, "a", "002", TAVOLA_ANY, NULL));
    tavola_entity_free(entity);
    tavola_table_close(table);
}

TEST(a_rotation_does_not_overwrite_what_others_write_meanwhile)
{
    tavola_crypto *old = use_crypto(new_crypto("old", 1));
    key_ring ring = {.kid = "old", .crypto = old, .asked = disturb};
    tavola_crypto *new = rotated_crypto(&ring);
    uint64_t count = 0;

    insert_many("a", 5);
    CHECK_OK(tavola_crypto_rewrap(t.table, new, NULL, t.call, &count));
    CHECK_INT(count, 4);
    CHECK_INT(count_readable("new", 2), 4);
    CHECK(!is_stored("a", "002"));
    tavola_crypto_free(new);
    tavola_crypto_free(old);
}

TEST(a_lost_key_does_not_stop_a_rotation)
{
    tavola_crypto *old = use_crypto(new_crypto("old", 1)), *lost = new_crypto("lost", 3);
    key_ring ring = {.kid = "old", .crypto = old};
    tavola_crypto *new = rotated_crypto(&ring);
    uint64_t count = 0;

    insert_many("a", 3);
    tavola_table_set_crypto(t.table, lost);
    tavola_crypto_set_properties(lost, is_secret, NULL);
    insert_many("b", 2);
    CHECK_ERR(tavola_crypto_rewrap(t.table, new, NULL, t.call, &count), TAVOLA_ERR_CRYPTO);
    CHECK_INT(count, 3);
    CHECK(strstr(tavola_call_message(t.call), "2 entities") != NULL);
    CHECK_INT(count_readable("new", 2), 3);
    CHECK_INT(count_readable("lost", 3), 2);
    tavola_crypto_free(new);
    tavola_crypto_free(lost);
    tavola_crypto_free(old);
}

/* An entity as Java's library wrote it, rotated: who wrote it still matters for reading it. */
TEST(a_rotation_keeps_who_wrote_an_entity)
{
    static const uint8_t kek[32] = {0xac, 0x5c, 0xfb, 0xfa, 0xdb, 0xf8, 0x85, 0x18,
                                    0x96, 0x75, 0x65, 0x09, 0x30, 0x59, 0x71, 0x97,
                                    0x5c, 0x71, 0xb5, 0x4f, 0xea, 0x15, 0x47, 0x93,
                                    0xae, 0x21, 0x9a, 0xc7, 0x01, 0x1c, 0xc6, 0x35};
    static const char json[] =
        "{\"PartitionKey\":\"pk\",\"RowKey\":\"javaUp\",\"sampleProp@odata.type\":\"Edm.Binary\","
        "\"sampleProp\":\"sa3bCvXq79ImSPveChS+cg==\",\"" NAMES "@odata.type\":\"Edm.Binary\","
        "\"" NAMES "\":\"WznUoytxkvl9KhZ4mNlqkBvRTUHN/D5IgJmNl7kQBOtFBOSgZZrTfZXKH8GjmvKA\","
        "\"" ENVELOPE "\":\"{\\\"WrappedContentKey\\\":{\\\"KeyId\\\":\\\"key1\\\","
        "\\\"EncryptedKey\\\":\\\"2F4rIuDmGPgEmhpvTtE7x6281BetKz80EsgRwGxTjL8rRt7Z7GrOgg==\\\","
        "\\\"Algorithm\\\":\\\"A256KW\\\"},\\\"EncryptionAgent\\\":{\\\"Protocol\\\":\\\"1.0\\\","
        "\\\"EncryptionAlgorithm\\\":\\\"AES_CBC_256\\\"},\\\"ContentEncryptionIV\\\":"
        "\\\"8st/uXffG+6DxBhw4D1URw==\\\"}\"}";
    tavola_crypto *old = new_aes("key1", kek);
    key_ring ring = {.kid = "key1", .crypto = old};
    tavola_crypto *new = rotated_crypto(&ring);
    tavola_entity *entity = NULL, *got = NULL;
    const char *text = NULL;
    uint64_t count = 0;

    CHECK_OK(tavola_entity_from_json(json, sizeof json - 1, &entity));
    CHECK_OK(tavola_insert(t.table, entity, t.call));
    CHECK_OK(tavola_crypto_rewrap(t.table, new, NULL, t.call, &count));
    CHECK_INT(count, 1);
    tavola_crypto_set_resolver(new, NULL, NULL);
    tavola_table_set_crypto(t.table, new);
    CHECK_OK(tavola_get(t.table, "pk", "javaUp", t.call, &got));
    CHECK(tavola_entity_get_string(got, "sampleProp", &text));
    CHECK_TEXT(text, "sampleValue");
    tavola_entity_free(entity);
    tavola_entity_free(got);
    tavola_crypto_free(new);
    tavola_crypto_free(old);
}

/* Allocations of the library before the one that fails; negative: none fails any more. */
static _Atomic long allocations_left = -1;

static bool may_allocate(void)
{
    return allocations_left < 0 || allocations_left-- > 0;
}

static void *alloc(size_t size)
{
    return may_allocate() ? malloc(size) : NULL;
}

static void *resize(void *old, size_t size)
{
    return may_allocate() ? realloc(old, size) : NULL;
}

TEST(a_rotation_survives_every_failing_allocation)
{
    tavola_crypto *old = use_crypto(new_crypto("old", 1));
    key_ring ring = {.kid = "old", .crypto = old};
    tavola_crypto *new = rotated_crypto(&ring);
    tavola_entity *entity = employee("a", "000");
    tavola_err err = TAVOLA_OK;
    uint64_t count = 0;
    bool was_hit = true;
    char row[32];

    for (long n = 0; was_hit; n++) {
        snprintf(row, sizeof row, "allocation %ld", n);
        t_row = row;
        CHECK(n < 20000);
        CHECK_OK(tavola_insert_or_replace(t.table, entity, t.call));
        allocations_left = n;
        err = tavola_crypto_rewrap(t.table, new, NULL, t.call, &count);
        was_hit = allocations_left < 0;
        allocations_left = -1;
        CHECK(err == TAVOLA_OK || err == TAVOLA_ERR_NO_MEMORY);
    }
    CHECK_INT(count, 1);
    CHECK_INT(count_readable("new", 2), 1);
    tavola_entity_free(entity);
    tavola_crypto_free(new);
    tavola_crypto_free(old);
}

TEST(a_rotation_of_nothing_is_refused)
{
    tavola_crypto *crypto = new_crypto("k", 1);
    tavola_filter *filter = tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("b"));
    uint64_t count = 7;

    CHECK_ERR(tavola_crypto_rewrap(NULL, crypto, filter, t.call, &count), TAVOLA_ERR_INVALID);
    CHECK_INT(count, 0);
    CHECK_ERR(tavola_crypto_rewrap(t.table, NULL, NULL, t.call, NULL), TAVOLA_ERR_INVALID);
    CHECK_OK(tavola_crypto_rewrap(t.table, crypto, NULL, t.call, NULL));
    tavola_crypto_free(crypto);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(what_is_written_is_sealed_and_what_is_read_is_plain),
        LIVE_TEST(a_copy_in_another_table_is_read_by_who_knows_where_it_was),
        LIVE_TEST(version_1_is_written_on_request),
        LIVE_TEST(merges_are_refused),
        LIVE_TEST(an_update_keeps_secrets),
        LIVE_TEST(a_projection_is_decrypted),
        LIVE_TEST(scans_and_pages_are_decrypted),
        LIVE_TEST(batches_and_bulk_writes_are_encrypted),
        LIVE_TEST(started_operations_are_encrypted),
        LIVE_TEST(the_crypto_of_a_call_goes_before_that_of_the_table),
        LIVE_TEST(plain_entities_are_refused_when_encryption_is_required),
        LIVE_TEST(fields_of_a_struct_are_encrypted),
        LIVE_TEST(a_rotation_gives_every_entity_the_new_key),
        LIVE_TEST(a_rotation_does_not_overwrite_what_others_write_meanwhile),
        LIVE_TEST(a_lost_key_does_not_stop_a_rotation),
        LIVE_TEST(a_rotation_keeps_who_wrote_an_entity),
        LIVE_TEST(a_rotation_survives_every_failing_allocation),
        LIVE_TEST(a_rotation_of_nothing_is_refused),
    };

    tavola_set_allocator(alloc, resize, free);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
