/*
 * Verification: a store with one of everything is well, and each row that is taken
 * away, changed or added is named.
 */
#include "server/verify/verify.h"

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../services/queue/store/store.h"
#include "base/log.h"
#include "insight/facts/rows.h"
#include "model/entity/entity.h"
#include "services/blob/store/row.h"
#include "store/engine/rocksdb/rocksdb.h"
#include "store/extent/extent.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define ACCOUNT TV_LIT("acct")

static char dir[64];
static char report[64 * 1024];

/* --- a store with one of everything --- */

static tv_engine *open_engine(void)
{
    tv_engine *opened = NULL;
    char text[TV_ROCKSDB_ERROR_TEXT_MAX];
    tv_rocksdb_options options = {.dir = dir, .disk_reserve_bytes = 1};

    if (tv_rocksdb_engine_open(&options, &opened, text, sizeof text))
        CHECK_FAIL("cannot open the store: %s", text);
    return opened;
}

static void change_row(tv_engine *in, tv_change_kind kind, tv_slice key, tv_slice value)
{
    tv_write_batch batch = {0};

    tv_write_batch_add(&batch, (tv_change){kind, key, value});
    CHECK_OK(tv_engine_write(in, &batch));
    tv_write_batch_done(&batch);
}

static void put_row(tv_slice key, tv_slice value)
{
    change_row(engine, TV_CHANGE_PUT, key, value);
}

static void put_catalog(tv_key_space space, const char *name, const char *value)
{
    put_row(tv_key_catalog_name(&arena, space, ACCOUNT, tv_slice_of(name)), tv_slice_of(value));
    put_row(tv_key_catalog_last_id(&arena, space, ACCOUNT), TV_LIT("1"));
}

static void put_entity(void)
{
    tv_slice partition, key, value = tv_entity_encode(&arena, &(tv_entity_properties){0});

    CHECK_OK(tv_key_partition(&arena, ACCOUNT, 1, TV_LIT("Sales"), &partition));
    CHECK_OK(tv_key_row(&arena, partition, TV_LIT("121"), &key));
    tv_entity_set_timestamp(value, ticks);
    put_row(key, value);

    /* And that it is counted. */
    tv_facts_sums sums = {.entities = 1, .bytes = key.len + value.len, .created = 1};
    char name[TV_FACTS_ROW_KEY_BYTES_MAX], text[TV_FACTS_SUMS_BYTES_MAX];
    tv_slice table = tv_slice_skip(tv_key_table(&arena, ACCOUNT, 1), 1);
    size_t name_len = tv_facts_row_key_format(table, TV_FACTS_ROW_SUMS, 0, name);

    put_row((tv_slice){name, name_len}, (tv_slice){text, tv_facts_sums_format(&sums, text)});
}

/* A blob whose five bytes are a chunk. */
static void put_blob(void)
{
    tv_slice partition;
    tv_blob_piece piece = {
        .end = 5, .length = 5, .is_chunk = true, .id = {.boot = (uint64_t)ticks, .number = 0}};
    tv_blob_head head = {.type = TV_BLOB_BLOCK,
                         .etag = ticks,
                         .created = ticks,
                         .content_id = (uint64_t)ticks,
                         .length = 5,
                         .piece_count = 1,
                         .pieces = &piece};

    CHECK_OK(
        tv_key_blob(&arena, tv_key_container(&arena, ACCOUNT, 1), TV_LIT("ada.jpg"), &partition));
    put_row(tv_blob_key_head(&arena, partition, 0), tv_blob_head_encode(&arena, &head));
    put_row(tv_blob_key_chunk(&arena, partition, piece.id), TV_LIT("hello"));
}

static void put_messages(void)
{
    char text[3001];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CHECK_OK(put_message("short", 0, 3600, NULL));
    CHECK_OK(put_message(text, 0, 3600, NULL));
    CHECK_OK(put_message("for ever", 60, -1, NULL));
}

static int make_store(__attribute__((unused)) void **state)
{
    tv_extents *extents;
    char path[80], text[256];

    tv_log_set_level(TV_LOG_OFF);
    snprintf(dir, sizeof dir, "/tmp/tv-verify-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    store_open(open_engine());
    put_catalog(TV_SPACE_TABLES, "People", "1 People");
    put_catalog(TV_SPACE_QUEUES, "jobs", "1 jobs");
    put_catalog(TV_SPACE_CONTAINERS, "photos", "1 photos");
    put_row(tv_key_catalog_policies(&arena, TV_SPACE_TABLES, ACCOUNT, TV_LIT("People")),
            TV_LIT("1 <SignedIdentifiers/>"));
    put_entity();
    put_messages();
    put_blob();
    tv_engine_close(store_leave());
    snprintf(path, sizeof path, "%s/blobs", dir);
    if (!tv_extents_open(&(tv_extent_options){.dir = path}, &extents, text, sizeof text))
        return -1;
    tv_extents_close(extents);
    return 0;
}

static int remove_entry(const char *path, const struct stat *stat_of, int type, struct FTW *ftw)
{
    (void)stat_of, (void)type, (void)ftw;
    return remove(path);
}

static int remove_store(__attribute__((unused)) void **state)
{
    tv_clock_set_fake_ticks(0);
    return nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static tv_verify_result verify(void)
{
    FILE *out = fmemopen(report, sizeof report, "w");
    tv_verify_result result = tv_verify(dir, out, stderr);

    fclose(out);
    return result;
}

/* --- the tests --- */

TEST(a_store_with_one_of_everything_is_well)
{
    if (verify() != TV_VERIFY_WELL)
        CHECK_FAIL("%s", report);
    CHECK(strstr(report, "ok: 0 problems in ") != NULL);
    CHECK(strstr(report, "(1 entities, 3 messages, 1 blobs") != NULL);
}

/* Rows are named by how their keys begin and, with '*', by a byte further on. */
static const struct damage {
    const char *what;
    const char *prefix;
    char kind;         /* of a queue's row after its generation, or of a blob's; 0 for any */
    const char *value; /* NULL: it is deleted */
    const char *text;  /* in the report */
} damages[] = {
    {"an entity of other bytes", "racct\x01", 0, "x",
     "table People of acct: the entity PartitionKey 'Sales' RowKey '121' cannot be decoded"},
    {"the count of a table", "facct\x01", 0, NULL,
     "table People of acct: it has 1 entities, and no count"},
    {"a count that is not that of the rows", "facct\x01", 0, "\x04\x02\x02\x01\x01",
     "table People of acct: its count says 2 entities of 1 bytes, and it has 1 of "},
    {"a count of other bytes", "facct\x01", 0, "x",
     "table People of acct: its count cannot be decoded"},
    {"a table that the catalogue has lost", "tacct\x01n", 0, NULL,
     "1 rows of a table that does not exist: id 00000001 of acct"},
    {"a row of a table that is not of its form", "tacct\x01n", 0, "x",
     "catalogue of tables of acct, people: its row cannot be read"},
    {"policies of another table",
     "tacct\x01"
     "a",
     0, "7 <SignedIdentifiers/>", "there are access policies of what does not exist"},
    {"policies that are no policies",
     "tacct\x01"
     "a",
     0, "1 <Signed", "its access policies cannot be read"},
    {"the last id", "qacct\x01i", 0, NULL,
     "the last id that was given out is missing or too small"},
    {"a queue that the catalogue has lost", "qacct\x01n", 0, NULL,
     "rows of a queue that does not exist"},
    {"a message", "sacct\x01", 'm', NULL, "visibility index has a row that fits no message"},
    {"a message of other bytes", "sacct\x01", 'm', "x", "a message cannot be decoded, message "},
    {"a row of the visibility index", "sacct\x01", 'v', NULL,
     "queue jobs of acct: the visibility index lacks a message, which nobody can get, message "},
    {"a row of the visibility index of other bytes", "sacct\x01", 'v', "x",
     "a row of the visibility index cannot be decoded"},
    {"a row of the expiry index", "sacct\x01", 'x', NULL, "the expiry index lacks a message"},
    {"a long text", "sacct\x01", 't', NULL, "a message has lost its text"},
    {"a long text that is shorter", "sacct\x01", 't', "x",
     "a text is not of the length that its message says"},
    {"the counts",
     "sacct\x01"
     "00000001c",
     0, NULL, "it counts 0 messages and has 3"},
    {"a container that the catalogue has lost", "bacct\x01n", 0, NULL,
     "2 rows of a container that does not exist"},
    {"a chunk", "oacct\x01", 'd', NULL,
     "blob ada.jpg of container photos of acct: a chunk of its data is missing"},
    {"a chunk of another length", "oacct\x01", 'd', "hell", "a chunk of its data cannot be read"},
    {"a head of other bytes", "oacct\x01", 'b', "x", "one of its rows cannot be decoded"},
};

/* The byte that tells the kind of a row of a queue or a blob. */
static char kind_of(tv_slice key)
{
    size_t id_end = tv_slice_find(key, '\x01') + 1 + 8;

    if (id_end > key.len)
        return '\0';

    tv_slice rest = tv_slice_skip(key, id_end);

    if (key.data[0] == 's')
        return rest.len > 9 ? rest.data[9] : '\0';

    size_t name_end = tv_slice_find(rest, '\x01');

    return name_end + 1 < rest.len ? rest.data[name_end + 1] : '\0';
}

/* The first row that a case means. */
static void find_row(tv_engine *in, const struct damage *damage, tv_slice *ret_key,
                     tv_slice *ret_value)
{
    tv_slice prefix = tv_slice_of(damage->prefix);
    tv_iter *iter;

    CHECK_OK(tv_engine_iter(in, prefix, tv_key_after(&arena, prefix), &iter));
    tv_iter_seek(iter, prefix);
    while (tv_iter_is_valid(iter) && damage->kind && kind_of(tv_iter_key(iter)) != damage->kind)
        tv_iter_next(iter);
    if (!tv_iter_is_valid(iter))
        CHECK_FAIL("%s: there is no such row", damage->what);
    *ret_key = tv_arena_dup(&arena, tv_iter_key(iter));
    *ret_value = tv_arena_dup(&arena, tv_iter_value(iter));
    tv_iter_free(iter);
}

TEST(a_row_that_is_lost_or_changed_is_named)
{
    tv_arena_init(&arena);
    for (size_t i = 0; i < COUNT(damages); i++) {
        const struct damage *damage = &damages[i];
        tv_engine *opened = open_engine();
        tv_slice key, value;

        find_row(opened, damage, &key, &value);
        if (damage->value)
            change_row(opened, TV_CHANGE_PUT, key, tv_slice_of(damage->value));
        else
            change_row(opened, TV_CHANGE_DELETE, key, TV_NONE);
        tv_engine_close(opened);
        if (verify() != TV_VERIFY_DAMAGED || strstr(report, damage->text) == NULL)
            CHECK_FAIL("%s: expected '%s', got: %s", damage->what, damage->text, report);

        opened = open_engine();
        change_row(opened, TV_CHANGE_PUT, key, value);
        tv_engine_close(opened);
    }
    CHECK_INT(verify(), TV_VERIFY_WELL);
    tv_arena_done(&arena);
}

static const struct {
    const char *key, *value, *text;
} strays[] = {
    {"racct\x01"
     "00000009Sales\x01"
     "1",
     "x", "1 rows of a table that does not exist: id 00000009"},
    {"sacct\x01"
     "00000001z",
     "x", "queue jobs of acct: a row of a kind that there is not"},
    {"sacct\x01"
     "00000001g00000005mabc",
     "x", "a row of a generation that there is not"},
    {"oacct\x01"
     "00000001ada.jpg\x01z",
     "x", "blob ada.jpg of container photos of acct: one of its"},
    {"racct", "x", "a row of no table"},
    {"facct\x01"
     "00000009c0",
     "x", "1 rows of a table that does not exist: id 00000009"},
    {"facct\x01"
     "00000001z",
     "x", "table People of acct: a row of its facts cannot be decoded"},
    {"mtime", "x", "the time of the store cannot be decoded"},
    {"z", "x", "a row of no service: its key is z"},
    {"tacct\x01z", "x", "a row of a kind that there is not"},
};

TEST(a_row_that_should_not_be_there_is_named)
{
    for (size_t i = 0; i < COUNT(strays); i++) {
        tv_slice key = tv_slice_of(strays[i].key);
        tv_engine *opened = open_engine();

        change_row(opened, TV_CHANGE_PUT, key, tv_slice_of(strays[i].value));
        tv_engine_close(opened);
        if (verify() != TV_VERIFY_DAMAGED || strstr(report, strays[i].text) == NULL)
            CHECK_FAIL("%s: expected '%s', got: %s", strays[i].key, strays[i].text, report);

        opened = open_engine();
        change_row(opened, TV_CHANGE_DELETE, key, TV_NONE);
        tv_engine_close(opened);
    }
    CHECK_INT(verify(), TV_VERIFY_WELL);
}

/* What is being dropped may be there in part, and nobody can reach it. */
TEST(rows_that_are_being_dropped_are_fine)
{
    tv_engine *opened = open_engine();

    tv_arena_init(&arena);
    change_row(opened, TV_CHANGE_PUT,
               TV_LIT("racct\x01"
                      "00000001Sales\x01"
                      "122"),
               TV_LIT("x"));
    change_row(opened, TV_CHANGE_DELETE,
               tv_key_catalog_name(&arena, TV_SPACE_TABLES, ACCOUNT, TV_LIT("People")), TV_NONE);
    change_row(opened, TV_CHANGE_DELETE,
               tv_key_catalog_policies(&arena, TV_SPACE_TABLES, ACCOUNT, TV_LIT("People")),
               TV_NONE);
    change_row(opened, TV_CHANGE_PUT,
               tv_key_catalog_dropped_id(&arena, TV_SPACE_TABLES, ACCOUNT, 1), TV_LIT("dropped"));
    tv_engine_close(opened);
    if (verify() != TV_VERIFY_WELL)
        CHECK_FAIL("%s", report);
    tv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_with_one_of_everything_is_well),
        cmocka_unit_test(a_row_that_is_lost_or_changed_is_named),
        cmocka_unit_test(a_row_that_should_not_be_there_is_named),
        cmocka_unit_test(rows_that_are_being_dropped_are_fine),
    };

    return cmocka_run_group_tests_name("verify/verify", tests, make_store, remove_store);
}
