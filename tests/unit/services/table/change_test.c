/* What each operation does to a row, alone and in sets. */
#include "services/table/change.h"

#include <endian.h>

#include "base/clock.h"
#include "properties.h"
#include "services/table/etag.h"
#include "services/table/service.h"
#include "store.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* 2026-01-02T03:04:05Z */
#define NOW INT64_C(639029198450000000)

static tv_catalog *catalog;
static tv_container *table;

static int set_up(__attribute__((unused)) void **state)
{
    tv_clock_set_fake_ticks(NOW);
    store_start();
    if (open_catalog(&tv_table_catalog, &catalog))
        return -1;

    tv_catalog_create create = {
        .catalog = catalog, .account = ACCOUNT, .name = TV_LIT("people"), .arena = &arena};
    tv_write write = {0};

    tv_catalog_prepare_create(&create, &write);
    if (commit(&write))
        return -1;
    table = tv_catalog_find(catalog, ACCOUNT, TV_LIT("people"));
    return table ? 0 : -1;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_container_unref(table);
    tv_catalog_close(catalog);
    store_stop();
    tv_clock_set_fake_ticks(0);
    return 0;
}

/* An operation on row `row_key` of partition "p"; `json` is its body. */
static tv_table_command *op_new(tv_table_op_kind kind, tv_table_condition condition,
                                const char *row_key, const char *json)
{
    tv_table_command *command = tv_arena_zalloc(&arena, sizeof *command);
    tv_error_info info = {0};

    command->kind = kind;
    command->condition = condition;
    command->resource.partition_key = TV_LIT("p");
    command->resource.row_key = tv_slice_of(row_key);
    if (kind != TV_TABLE_OP_DELETE_ENTITY) {
        CHECK_OK(tv_entity_body_read(&arena, tv_slice_of(json), &command->body, &info));
        if (kind != TV_TABLE_OP_INSERT_ENTITY)
            tv_entity_properties_sort(&command->body.properties);
    }
    return command;
}

static void set_new(tv_table_change_set *set, tv_table_command *const *ops, size_t count)
{
    tv_table_change_set_init(set, &arena, table, count);
    for (size_t i = 0; i < count; i++)
        CHECK_OK(tv_table_change_set_add(set, ops[i]));
}

static tv_err apply_set(tv_table_change_set *set)
{
    tv_write write = {0};

    tv_table_change_set_prepare(set, &write);
    return commit(&write);
}

static tv_err apply_to(tv_table_command *command, int64_t *ret_timestamp)
{
    tv_table_change_set set;

    set_new(&set, &command, 1);
    tv_err err = apply_set(&set);
    if (err == TV_OK && ret_timestamp)
        *ret_timestamp = set.changes[0].timestamp;
    return err;
}

static const tv_table_condition none = {TV_TABLE_CONDITION_NONE, 0},
                                any = {TV_TABLE_CONDITION_ANY, 0};

static tv_err apply(tv_table_op_kind kind, tv_table_condition condition, const char *row_key,
                    const char *json)
{
    return apply_to(op_new(kind, condition, row_key, json), NULL);
}

/* The stored row, or TV_NONE. */
static tv_slice stored(const char *row_key)
{
    tv_slice partition, key, value;

    CHECK_OK(tv_key_partition(&arena, ACCOUNT, table->id, TV_LIT("p"), &partition));
    CHECK_OK(tv_key_row(&arena, partition, tv_slice_of(row_key), &key));
    return tv_engine_get(engine, TV_READ_ANY, key, &arena, &value) == TV_OK ? value : TV_NONE;
}

/* "a=1 b=2" of Int32 properties, "-" for no row. */
static const char *row_text(const char *row_key)
{
    static char text[200];
    tv_slice value = stored(row_key);
    tv_entity_cursor cursor;
    tv_property property;
    size_t len = 0;

    if (value.data == NULL)
        return "-";

    text[0] = '\0';
    tv_entity_cursor_init(&cursor, value);
    while (tv_entity_next(&cursor, &property)) {
        CHECK_INT(property.type, TV_EDM_INT32);
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%.*s=%d", len ? " " : "",
                                TV_FMT(property.name), property.int32);
    }
    CHECK(!cursor.is_corrupt);
    return text;
}

#define CHECK_ROW(row_key, want) CHECK_TEXT(tv_slice_of(row_text(row_key)), want)

static int64_t stored_ticks(const char *row_key)
{
    int64_t ticks;

    CHECK_OK(tv_entity_timestamp(stored(row_key), &ticks));
    return ticks;
}

/* --- the table at the top of change.c; the stored row, where there is one, is a=1 b=2 --- */

typedef enum if_match { NONE, ANY, SAME, OTHER, NEVER } if_match;

static const struct {
    const char *what;
    tv_table_op_kind kind;
    if_match if_match;
    tv_err existing_err;
    const char *existing;
    tv_err missing_err;
    const char *missing;
} cells[] = {
    {"insert", TV_TABLE_OP_INSERT_ENTITY, NONE, TV_ERR_ENTITY_EXISTS, "a=1 b=2", TV_OK, "b=3 c=4"},
    {"update, any", TV_TABLE_OP_UPDATE_ENTITY, ANY, TV_OK, "b=3 c=4", TV_ERR_ENTITY_NOT_FOUND, "-"},
    {"update, the same", TV_TABLE_OP_UPDATE_ENTITY, SAME, TV_OK, "b=3 c=4", TV_ERR_ENTITY_NOT_FOUND,
     "-"},
    {"update, another", TV_TABLE_OP_UPDATE_ENTITY, OTHER, TV_ERR_ETAG_MISMATCH, "a=1 b=2",
     TV_ERR_ENTITY_NOT_FOUND, "-"},
    {"update, never", TV_TABLE_OP_UPDATE_ENTITY, NEVER, TV_ERR_ETAG_MISMATCH, "a=1 b=2",
     TV_ERR_ENTITY_NOT_FOUND, "-"},
    {"merge, any", TV_TABLE_OP_MERGE_ENTITY, ANY, TV_OK, "a=1 b=3 c=4", TV_ERR_ENTITY_NOT_FOUND,
     "-"},
    {"merge, the same", TV_TABLE_OP_MERGE_ENTITY, SAME, TV_OK, "a=1 b=3 c=4",
     TV_ERR_ENTITY_NOT_FOUND, "-"},
    {"merge, another", TV_TABLE_OP_MERGE_ENTITY, OTHER, TV_ERR_ETAG_MISMATCH, "a=1 b=2",
     TV_ERR_ENTITY_NOT_FOUND, "-"},
    {"merge, never", TV_TABLE_OP_MERGE_ENTITY, NEVER, TV_ERR_ETAG_MISMATCH, "a=1 b=2",
     TV_ERR_ENTITY_NOT_FOUND, "-"},
    {"insert or replace", TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY, NONE, TV_OK, "b=3 c=4", TV_OK,
     "b=3 c=4"},
    {"insert or merge", TV_TABLE_OP_INSERT_OR_MERGE_ENTITY, NONE, TV_OK, "a=1 b=3 c=4", TV_OK,
     "b=3 c=4"},
    {"delete, any", TV_TABLE_OP_DELETE_ENTITY, ANY, TV_OK, "-", TV_ERR_ENTITY_NOT_FOUND, "-"},
    {"delete, the same", TV_TABLE_OP_DELETE_ENTITY, SAME, TV_OK, "-", TV_ERR_ENTITY_NOT_FOUND, "-"},
    {"delete, another", TV_TABLE_OP_DELETE_ENTITY, OTHER, TV_ERR_ETAG_MISMATCH, "a=1 b=2",
     TV_ERR_ENTITY_NOT_FOUND, "-"},
    {"delete, never", TV_TABLE_OP_DELETE_ENTITY, NEVER, TV_ERR_ETAG_MISMATCH, "a=1 b=2",
     TV_ERR_ENTITY_NOT_FOUND, "-"},
};

static tv_table_condition condition_of(if_match match, int64_t ticks)
{
    switch (match) {
    case NONE:
        return none;
    case ANY:
        return any;
    case SAME:
        return (tv_table_condition){TV_TABLE_CONDITION_EXACT, ticks};
    case OTHER:
        return (tv_table_condition){TV_TABLE_CONDITION_EXACT, ticks - 1};
    case NEVER:
        break;
    }
    return (tv_table_condition){TV_TABLE_CONDITION_NEVER, 0};
}

TEST(each_operation_meets_an_existing_and_a_missing_row)
{
    for (size_t i = 0; i < COUNT(cells); i++) {
        int64_t ticks = 0;

        t_row = cells[i].what;
        apply(TV_TABLE_OP_DELETE_ENTITY, any, "row", "");
        CHECK_ERR(
            apply(cells[i].kind, condition_of(cells[i].if_match, NOW), "row", "{\"b\":3,\"c\":4}"),
            cells[i].missing_err);
        CHECK_ROW("row", cells[i].missing);

        apply(TV_TABLE_OP_DELETE_ENTITY, any, "row", "");
        CHECK_OK(
            apply_to(op_new(TV_TABLE_OP_INSERT_ENTITY, none, "row", "{\"a\":1,\"b\":2}"), &ticks));
        CHECK_ERR(apply(cells[i].kind, condition_of(cells[i].if_match, ticks), "row",
                        "{\"c\":4,\"b\":3}"),
                  cells[i].existing_err);
        CHECK_ROW("row", cells[i].existing);
    }
}

TEST(an_insert_keeps_the_order_of_its_properties)
{
    CHECK_OK(apply(TV_TABLE_OP_INSERT_ENTITY, none, "row", "{\"c\":4,\"b\":3}"));
    CHECK_ROW("row", "c=4 b=3");
}

TEST(a_merge_with_nothing_changes_the_timestamp_alone)
{
    CHECK_OK(apply(TV_TABLE_OP_INSERT_ENTITY, none, "row", "{\"a\":1}"));
    int64_t before = stored_ticks("row");
    CHECK_OK(apply(TV_TABLE_OP_MERGE_ENTITY, any, "row", "{\"a\":null}"));
    CHECK_ROW("row", "a=1");
    CHECK(stored_ticks("row") > before);
}

TEST(the_result_is_what_was_stored)
{
    tv_table_command *command;
    tv_table_change_set set;

    CHECK_OK(apply(TV_TABLE_OP_INSERT_ENTITY, none, "row", "{\"a\":1}"));
    command = op_new(TV_TABLE_OP_MERGE_ENTITY, any, "row", "{\"b\":2}");
    set_new(&set, &command, 1);
    CHECK_OK(apply_set(&set));
    CHECK_SLICE(set.changes[0].value, stored("row"));
    CHECK_INT(set.changes[0].timestamp, stored_ticks("row"));
}

/* --- time --- */

TEST(timestamps_of_a_row_rise_even_when_the_clock_does_not)
{
    static const int64_t steps[] = {0, 0, 1, -1000, -36000000000, 0, 1000, 2000};
    int64_t last = 0, ticks = 0, now = NOW + 36000000000;

    for (size_t i = 0; i < COUNT(steps); i++) {
        now += steps[i];
        tv_clock_set_fake_ticks(now);
        CHECK_OK(apply_to(op_new(TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY, none, "row", "{\"a\":1}"),
                          &ticks));
        CHECK(ticks > last);
        CHECK_INT(stored_ticks("row"), ticks);
        last = ticks;
    }
    /* A clock ahead of everything is the time. */
    tv_clock_set_fake_ticks(last + 1000);
    CHECK_OK(apply_to(op_new(TV_TABLE_OP_UPDATE_ENTITY, any, "row", "{}"), &ticks));
    CHECK_INT(ticks, last + 1000);
}

/* As after a restart: the process knows nothing of the time that the row was written. */
TEST(a_row_from_the_future_gets_the_next_tick)
{
    tv_slice partition, key, value;
    tv_entity_properties properties = {NULL, 0};
    int64_t future = NOW + 864000000000, ticks = 0;
    tv_write_batch batch = {0};

    CHECK_OK(tv_key_partition(&arena, ACCOUNT, table->id, TV_LIT("p"), &partition));
    CHECK_OK(tv_key_row(&arena, partition, TV_LIT("row"), &key));
    value = tv_entity_encode(&arena, &properties);
    tv_entity_set_timestamp(value, future);
    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, key, value});
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);

    tv_table_condition exact = {TV_TABLE_CONDITION_EXACT, future};
    CHECK_OK(apply_to(op_new(TV_TABLE_OP_MERGE_ENTITY, exact, "row", "{\"a\":1}"), &ticks));
    CHECK_INT(ticks, future + 1);
    CHECK_INT(stored_ticks("row"), future + 1);
}

TEST(many_writes_to_a_row_in_one_group_have_many_timestamps)
{
    enum { WRITES = 50 };
    tv_table_change_set sets[WRITES];
    tv_write writes[WRITES];

    for (int i = 0; i < WRITES; i++) {
        tv_table_command *command =
            op_new(TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY, none, "row", "{\"a\":1}");

        set_new(&sets[i], &command, 1);
        writes[i] = (tv_write){.mail.deliver = deliver, .reply_to = &mailbox};
        tv_table_change_set_prepare(&sets[i], &writes[i]);
        tv_outbox_add(outbox, &writes[i]);
    }
    tv_outbox_flush(outbox);
    tv_pipeline_drain(pipeline);
    for (int i = 0; i < WRITES; i++) {
        CHECK_OK(writes[i].result);
        CHECK(i == 0 || sets[i].changes[0].timestamp > sets[i - 1].changes[0].timestamp);
    }
    tv_mailbox_deliver(&mailbox);
}

TEST(an_entity_that_is_made_again_in_one_group_has_another_timestamp)
{
    static const tv_table_op_kind kinds[] = {TV_TABLE_OP_INSERT_ENTITY, TV_TABLE_OP_DELETE_ENTITY,
                                             TV_TABLE_OP_INSERT_ENTITY};
    enum { WRITES = 3 };
    tv_table_change_set sets[WRITES];
    tv_write writes[WRITES];

    for (int i = 0; i < WRITES; i++) {
        bool is_delete = kinds[i] == TV_TABLE_OP_DELETE_ENTITY;
        tv_table_command *command =
            op_new(kinds[i], is_delete ? any : none, "row", is_delete ? "" : "{}");

        set_new(&sets[i], &command, 1);
        writes[i] = (tv_write){.mail.deliver = deliver, .reply_to = &mailbox};
        tv_table_change_set_prepare(&sets[i], &writes[i]);
        tv_outbox_add(outbox, &writes[i]);
    }
    tv_outbox_flush(outbox);
    tv_pipeline_drain(pipeline);
    for (int i = 0; i < WRITES; i++)
        CHECK_OK(writes[i].result);
    CHECK(sets[2].changes[0].timestamp > sets[0].changes[0].timestamp);
    tv_mailbox_deliver(&mailbox);
}

/* --- sets --- */

TEST(a_set_is_applied_whole)
{
    CHECK_OK(apply(TV_TABLE_OP_INSERT_ENTITY, none, "old", "{\"a\":1}"));
    CHECK_OK(apply(TV_TABLE_OP_INSERT_ENTITY, none, "gone", "{\"a\":1}"));
    tv_table_command *ops[] = {
        op_new(TV_TABLE_OP_INSERT_ENTITY, none, "new", "{\"a\":2}"),
        op_new(TV_TABLE_OP_MERGE_ENTITY, any, "old", "{\"b\":2}"),
        op_new(TV_TABLE_OP_DELETE_ENTITY, any, "gone", ""),
    };
    tv_table_change_set set;

    set_new(&set, ops, COUNT(ops));
    CHECK_OK(apply_set(&set));
    CHECK_ROW("new", "a=2");
    CHECK_ROW("old", "a=1 b=2");
    CHECK_ROW("gone", "-");
}

TEST(a_set_with_one_failure_changes_nothing_and_names_it)
{
    /* Each place in turn is the one that fails. */
    for (size_t bad = 0; bad < 4; bad++) {
        tv_table_command *ops[4];
        char row_key[8];
        tv_table_change_set set;

        CHECK_OK(apply(TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY, none, "there", "{\"a\":1}"));
        for (size_t i = 0; i < 4; i++) {
            snprintf(row_key, sizeof row_key, "new%zu", i);
            ops[i] = i == bad ? op_new(TV_TABLE_OP_INSERT_ENTITY, none, "there", "{\"a\":9}")
                              : op_new(TV_TABLE_OP_INSERT_ENTITY, none,
                                       tv_arena_printf(&arena, "%s", row_key).data, "{\"a\":2}");
        }
        set_new(&set, ops, 4);
        CHECK_ERR(apply_set(&set), TV_ERR_ENTITY_EXISTS);
        CHECK_INT(set.failed, bad);
        CHECK_ROW("there", "a=1");
        for (size_t i = 0; i < 4; i++) {
            snprintf(row_key, sizeof row_key, "new%zu", i);
            CHECK_ROW(row_key, "-");
        }
    }
}

TEST(a_set_of_100_is_applied)
{
    tv_table_command *ops[100];
    tv_slice partition;
    tv_table_change_set set;

    for (int i = 0; i < 100; i++)
        ops[i] = op_new(TV_TABLE_OP_INSERT_ENTITY, none, tv_arena_printf(&arena, "%d", i).data,
                        "{\"a\":1}");
    set_new(&set, ops, 100);
    CHECK_OK(apply_set(&set));
    CHECK_OK(tv_key_partition(&arena, ACCOUNT, table->id, TV_LIT("p"), &partition));
    CHECK_INT(count_rows(partition), 100);
}

/* --- limits --- */

/* {"<letter>0":1, ...} with `count` properties. */
static const char *wide_json(char letter, int count)
{
    tv_buf json = TV_BUF_EMPTY;

    for (int i = 0; i < count; i++)
        tv_buf_printf(&json, "%c\"%c%d\":1", i ? ',' : '{', letter, i);
    tv_buf_add_char(&json, '}');
    tv_buf_add_char(&json, '\0');

    const char *text = tv_arena_dup(&arena, tv_buf_slice(&json)).data;

    tv_buf_done(&json);
    return text;
}

TEST(a_merge_keeps_to_252_properties)
{
    CHECK_OK(apply(TV_TABLE_OP_INSERT_ENTITY, none, "row", wide_json('a', 200)));
    CHECK_ERR(apply(TV_TABLE_OP_MERGE_ENTITY, any, "row", wide_json('b', 53)),
              TV_ERR_TOO_MANY_PROPERTIES);
    CHECK_ERR(apply(TV_TABLE_OP_INSERT_OR_MERGE_ENTITY, none, "row", wide_json('b', 53)),
              TV_ERR_TOO_MANY_PROPERTIES);
    CHECK_OK(apply(TV_TABLE_OP_MERGE_ENTITY, any, "row", wide_json('b', 52)));
    /* Full, but what is there can still change. */
    CHECK_OK(apply(TV_TABLE_OP_MERGE_ENTITY, any, "row", wide_json('a', 200)));
    CHECK_ERR(apply(TV_TABLE_OP_MERGE_ENTITY, any, "row", "{\"c\":1}"), TV_ERR_TOO_MANY_PROPERTIES);
    CHECK_OK(apply(TV_TABLE_OP_UPDATE_ENTITY, any, "row", "{\"c\":1}"));
    CHECK_ROW("row", "c=1");
}

static const char *large_json(char letter, int count)
{
    tv_buf json = TV_BUF_EMPTY;

    for (int i = 0; i < count; i++) {
        tv_buf_printf(&json, "%c\"%c%d\":\"", i ? ',' : '{', letter, i);
        memset(tv_buf_reserve(&json, 32768), 'x', 32768);
        json.len += 32768;
        tv_buf_add_char(&json, '"');
    }
    tv_buf_add_char(&json, '}');
    tv_buf_add_char(&json, '\0');

    const char *text = tv_arena_dup(&arena, tv_buf_slice(&json)).data;

    tv_buf_done(&json);
    return text;
}

TEST(a_merge_keeps_to_1_mib)
{
    CHECK_OK(apply(TV_TABLE_OP_INSERT_ENTITY, none, "row", large_json('a', 8)));
    CHECK_OK(apply(TV_TABLE_OP_MERGE_ENTITY, any, "row", large_json('b', 7)));
    tv_slice before = stored("row");
    CHECK_ERR(apply(TV_TABLE_OP_MERGE_ENTITY, any, "row", large_json('c', 1)),
              TV_ERR_ENTITY_TOO_LARGE);
    CHECK_SLICE(stored("row"), before);
    CHECK_OK(apply(TV_TABLE_OP_MERGE_ENTITY, any, "row", "{\"a0\":1}"));
    CHECK_OK(apply(TV_TABLE_OP_MERGE_ENTITY, any, "row", large_json('c', 1)));
}

/* A small request must not make the committer write 100 MiB again. */
TEST(the_merges_of_a_set_keep_to_8_mib_together)
{
    enum { COUNT_MAX = 18 }; /* this many of 480 KiB are the first that are too much */
    tv_table_command *ops[COUNT_MAX];
    tv_table_change_set set;

    for (int i = 0; i < COUNT_MAX; i++) {
        char *name = tv_arena_bytes(&arena, 16);

        snprintf(name, 16, "row%02d", i);
        CHECK_OK(apply(TV_TABLE_OP_INSERT_ENTITY, none, name, large_json('a', 15)));
        ops[i] = op_new(TV_TABLE_OP_MERGE_ENTITY, any, name, "{\"b\":1}");
    }
    set_new(&set, ops, COUNT_MAX);
    CHECK_ERR(apply_set(&set), TV_ERR_MERGE_TOO_LARGE);
    CHECK_INT(set.failed, COUNT_MAX - 1);
    set_new(&set, ops, COUNT_MAX - 1);
    CHECK_OK(apply_set(&set));

    /* One at a time, any number of times. */
    set_new(&set, &ops[COUNT_MAX - 1], 1);
    CHECK_OK(apply_set(&set));
}

/* --- merges that are made ahead --- */

/* Rows "row00" on, of 480 KiB each, and merges into them. */
static void merges_new(tv_table_change_set *set, size_t count)
{
    tv_table_command **ops = tv_arena_alloc(&arena, count * sizeof *ops);

    for (size_t i = 0; i < count; i++) {
        char *name = tv_arena_bytes(&arena, 16);

        snprintf(name, 16, "row%02zu", i);
        CHECK_OK(apply(TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY, none, name, large_json('a', 15)));
        ops[i] = op_new(TV_TABLE_OP_MERGE_ENTITY, any, name, "{\"b\":1}");
    }
    set_new(set, ops, count);
    set->refuses_much = true;
}

TEST(a_set_that_merges_much_is_refused_and_applied_when_merged_ahead)
{
    tv_table_change_set set;
    tv_write write = {0};

    merges_new(&set, 4);
    tv_slice before = stored("row03");
    tv_table_change_set_prepare(&set, &write);
    CHECK_ERR(commit(&write), TV_ERR_WOULD_BLOCK);
    CHECK_SLICE(stored("row03"), before);

    CHECK_OK(tv_table_change_set_merge_ahead(&set, engine, &write));
    CHECK(write.bytes > 4 * 15 * 32768);
    CHECK_OK(commit(&write));
    for (size_t i = 0; i < 4; i++)
        CHECK(set.changes[i].value.data == set.changes[i].ahead.data);
    CHECK(stored("row03").len > before.len);
    CHECK_SLICE(tv_slice_skip(stored("row03"), 8), tv_slice_skip(set.changes[3].ahead, 8));
}

TEST(what_was_merged_ahead_of_another_row_is_not_used)
{
    tv_table_change_set set;
    tv_write write = {0};

    merges_new(&set, 2);
    tv_table_change_set_prepare(&set, &write);
    CHECK_OK(tv_table_change_set_merge_ahead(&set, engine, &write));
    CHECK_OK(apply(TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY, none, "row01", "{\"c\":3}"));
    CHECK_OK(commit(&write));
    CHECK_ROW("row01", "b=1 c=3");

    merges_new(&set, 2);
    write = (tv_write){0};
    tv_table_change_set_prepare(&set, &write);
    CHECK_OK(tv_table_change_set_merge_ahead(&set, engine, &write));
    CHECK_OK(apply(TV_TABLE_OP_DELETE_ENTITY, any, "row01", ""));
    CHECK_ERR(commit(&write), TV_ERR_ENTITY_NOT_FOUND);
    CHECK_INT(set.failed, 1);
}

TEST(merging_ahead_meets_the_errors_of_a_run)
{
    tv_table_change_set set;
    tv_write write = {0};

    merges_new(&set, 18);
    tv_table_change_set_prepare(&set, &write);
    CHECK_ERR(tv_table_change_set_merge_ahead(&set, engine, &write), TV_ERR_MERGE_TOO_LARGE);
    CHECK_INT(set.failed, 17);
    CHECK_OK(apply(TV_TABLE_OP_DELETE_ENTITY, any, "row05", ""));
    CHECK_ERR(tv_table_change_set_merge_ahead(&set, engine, &write), TV_ERR_ENTITY_NOT_FOUND);
    CHECK_INT(set.failed, 5);

    /* The first one counts, although the set would be refused for a later one. */
    CHECK_OK(apply(TV_TABLE_OP_INSERT_ENTITY, none, "row05", "{\"b\":1}"));
    CHECK_OK(apply(TV_TABLE_OP_MERGE_ENTITY, any, "row03", "{\"c\":2}"));
    tv_table_command *ops[] = {
        op_new(TV_TABLE_OP_MERGE_ENTITY, any, "row03", large_json('x', 8)),
        op_new(TV_TABLE_OP_MERGE_ENTITY, any, "none", "{\"c\":2}"),
    };
    set_new(&set, ops, 2);
    tv_table_change_set_prepare(&set, &write);
    CHECK_ERR(tv_table_change_set_merge_ahead(&set, engine, &write), TV_ERR_ENTITY_TOO_LARGE);
    CHECK_INT(set.failed, 0);
    CHECK_ERR(apply_set(&set), TV_ERR_ENTITY_TOO_LARGE);
}

/* --- concurrent changes --- */

TEST(a_write_that_found_its_table_before_the_deletion_fails_after_it)
{
    tv_table_command *command = op_new(TV_TABLE_OP_INSERT_ENTITY, none, "late", "{\"a\":1}");
    tv_catalog_delete delete_op = {.catalog = catalog, .container = table, .arena = &arena};
    tv_table_change_set set;
    tv_write write = {0};

    /* Found and prepared, not yet run. */
    set_new(&set, &command, 1);

    tv_catalog_prepare_delete(&delete_op, &write);
    CHECK_OK(commit(&write));

    CHECK_ERR(apply_set(&set), TV_ERR_TABLE_NOT_FOUND);
    CHECK_ROW("late", "-");
    wait_until_empty(tv_key_catalog_dropped(&arena, TV_SPACE_TABLES, ACCOUNT));
    CHECK_INT(count_rows(table->prefix), 0);
}

static void put_raw(tv_slice value)
{
    tv_slice partition, key;
    tv_write_batch batch = {0};

    CHECK_OK(tv_key_partition(&arena, ACCOUNT, table->id, TV_LIT("p"), &partition));
    CHECK_OK(tv_key_row(&arena, partition, TV_LIT("row"), &key));
    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, key, value});
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);
}

TEST(a_damaged_row_is_an_error_and_stays_as_it_is)
{
    put_raw(TV_LIT("12345678\x01"));
    CHECK_ERR(apply(TV_TABLE_OP_MERGE_ENTITY, any, "row", "{\"a\":1}"), TV_ERR_CORRUPT);
    CHECK_TEXT(stored("row"), "12345678\x01");
}

/* There is no later timestamp, and with one that no date can show it could not be read again. */
TEST(a_row_of_the_last_instant_is_not_replaced)
{
    char value[8];
    int64_t ticks = (int64_t)htole64(TV_TICKS_MAX);

    memcpy(value, &ticks, sizeof value);
    put_raw((tv_slice){value, sizeof value});
    CHECK_ERR(apply(TV_TABLE_OP_UPDATE_ENTITY, any, "row", "{\"a\":1}"), TV_ERR_CORRUPT);
    CHECK_ERR(apply(TV_TABLE_OP_MERGE_ENTITY, any, "row", "{\"a\":1}"), TV_ERR_CORRUPT);
    CHECK_SLICE(stored("row"), ((tv_slice){value, sizeof value}));
    CHECK_OK(apply(TV_TABLE_OP_DELETE_ENTITY, any, "row", ""));
}

/*
 * A conflict in shared storage makes a function run again, and what it found
 * the first time must not show in the second run.
 */
static const struct {
    const char *what;
    tv_table_op_kind kind;
    const char *first, *second; /* the row before each run; NULL: none */
    tv_err err;
    const char *result;
} reruns[] = {
    {"merged, then missing", TV_TABLE_OP_INSERT_OR_MERGE_ENTITY, "{\"a\":1}", NULL, TV_OK, "b=2"},
    {"merged, then another", TV_TABLE_OP_INSERT_OR_MERGE_ENTITY, "{\"a\":1}", "{\"c\":3}", TV_OK,
     "b=2 c=3"},
    {"missing, then merged", TV_TABLE_OP_INSERT_OR_MERGE_ENTITY, NULL, "{\"c\":3}", TV_OK,
     "b=2 c=3"},
    {"merged, then not there to merge", TV_TABLE_OP_MERGE_ENTITY, "{\"a\":1}", NULL,
     TV_ERR_ENTITY_NOT_FOUND, "-"},
    {"inserted, then there already", TV_TABLE_OP_INSERT_ENTITY, NULL, "{\"c\":3}",
     TV_ERR_ENTITY_EXISTS, "c=3"},
    {"replaced, then missing", TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY, "{\"a\":1}", NULL, TV_OK,
     "b=2"},
};

/* Bring the row into a state, as another node would. */
static void set_row(const char *json)
{
    if (json)
        CHECK_OK(apply(TV_TABLE_OP_INSERT_OR_REPLACE_ENTITY, none, "row", json));
    else
        apply(TV_TABLE_OP_DELETE_ENTITY, any, "row", "");
}

TEST(a_change_that_runs_again_sees_only_the_new_row)
{
    for (size_t i = 0; i < COUNT(reruns); i++) {
        tv_table_condition condition = reruns[i].kind == TV_TABLE_OP_MERGE_ENTITY ? any : none;
        tv_table_command *command = op_new(reruns[i].kind, condition, "row", "{\"b\":2}");
        tv_txn *txn = tv_txn_new(engine);
        tv_table_change_set set;
        tv_write write = {0};

        t_row = reruns[i].what;
        set_new(&set, &command, 1);
        tv_table_change_set_prepare(&set, &write);

        set_row(reruns[i].first);
        tv_txn_begin(txn);
        CHECK_OK(tv_txn_run(txn, write.partition, write.run, write.ctx));
        set_row(reruns[i].second);
        tv_txn_begin(txn);
        CHECK_ERR(tv_txn_run(txn, write.partition, write.run, write.ctx), reruns[i].err);
        CHECK_OK(tv_txn_commit(txn));
        tv_txn_free(txn);
        CHECK_ROW("row", reruns[i].result);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(each_operation_meets_an_existing_and_a_missing_row),
        CASE(an_insert_keeps_the_order_of_its_properties),
        CASE(a_merge_with_nothing_changes_the_timestamp_alone),
        CASE(the_result_is_what_was_stored),
        CASE(timestamps_of_a_row_rise_even_when_the_clock_does_not),
        CASE(a_row_from_the_future_gets_the_next_tick),
        CASE(many_writes_to_a_row_in_one_group_have_many_timestamps),
        CASE(an_entity_that_is_made_again_in_one_group_has_another_timestamp),
        CASE(a_set_is_applied_whole),
        CASE(a_set_with_one_failure_changes_nothing_and_names_it),
        CASE(a_set_that_merges_much_is_refused_and_applied_when_merged_ahead),
        CASE(what_was_merged_ahead_of_another_row_is_not_used),
        CASE(merging_ahead_meets_the_errors_of_a_run),
        CASE(a_set_of_100_is_applied),
        CASE(a_merge_keeps_to_252_properties),
        CASE(a_merge_keeps_to_1_mib),
        CASE(the_merges_of_a_set_keep_to_8_mib_together),
        CASE(a_write_that_found_its_table_before_the_deletion_fails_after_it),
        CASE(a_damaged_row_is_an_error_and_stays_as_it_is),
        CASE(a_row_of_the_last_instant_is_not_replaced),
        CASE(a_change_that_runs_again_sees_only_the_new_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
