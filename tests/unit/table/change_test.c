/* Change sets: an update function may run again, and then means the same as the first time. */
#include "table/change.h"

#include "check.h"
#include "engine/memory/memory.h"
#include "table/properties.h"

static tv_property number(const char *name, int32_t value)
{
    return (tv_property){.name = tv_slice_of(name), .type = TV_EDM_INT32, .int32 = value};
}

static tv_table_op op_on_row(tv_table_op_kind kind, tv_property *properties, size_t count)
{
    return (tv_table_op){
        .kind = kind,
        .resource = {.partition_key = TV_LIT("p"), .row_key = TV_LIT("r")},
        .body = {.properties = {properties, count}},
    };
}

static void prepare(tv_change_set *set, tv_arena *arena, tv_table *table, const tv_table_op *op,
                    tv_write *write)
{
    tv_change_set_init(set, arena, table, 1);
    CHECK_ERR(tv_change_set_add(set, op), TV_OK);
    tv_change_set_prepare(set, write);
}

static tv_err run(tv_txn *txn, tv_write *write)
{
    return tv_txn_run(txn, write->partition, write->run, write->ctx);
}

/* An insert and a merge on top of it share a group; the group fails, and the insert stays out. */
TEST(a_merge_that_runs_again_forgets_the_row_that_it_saw_before)
{
    tv_engine *engine = tv_memory_engine_new(NULL);
    tv_txn *txn = tv_txn_new(engine);
    tv_table table = {.id = 1, .account = TV_LIT("account")};
    tv_property inserted[] = {number("a", 1)}, merged[] = {number("b", 2)};
    tv_table_op insert = op_on_row(TV_TABLE_OP_INSERT_ENTITY, inserted, 1);
    tv_table_op merge = op_on_row(TV_TABLE_OP_INSERT_OR_MERGE_ENTITY, merged, 1);
    tv_properties want = {merged, 1};
    tv_change_set insert_set, merge_set;
    tv_write insert_write = {0}, merge_write = {0};
    tv_arena arena;
    tv_slice value;

    tv_arena_init(&arena);
    prepare(&insert_set, &arena, &table, &insert, &insert_write);
    prepare(&merge_set, &arena, &table, &merge, &merge_write);

    tv_memory_fail_writes(engine, 1, 1, TV_ERR_CONFLICT);
    tv_txn_begin(txn);
    CHECK_ERR(run(txn, &insert_write), TV_OK);
    CHECK_ERR(run(txn, &merge_write), TV_OK);
    CHECK_ERR(tv_txn_commit(txn), TV_ERR_CONFLICT);

    tv_txn_begin(txn);
    CHECK_ERR(run(txn, &merge_write), TV_OK);
    CHECK_ERR(tv_txn_commit(txn), TV_OK);

    CHECK_ERR(tv_engine_get(engine, TV_READ_ANY, merge_set.changes[0].key, &arena, &value), TV_OK);
    CHECK(walks_to(value, &want));
    tv_arena_done(&arena);
    tv_txn_free(txn);
    tv_engine_close(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_merge_that_runs_again_forgets_the_row_that_it_saw_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
