/* What is asked for before, and charged after. */
#include "services/table/units.h"

#include "base/hash.h"
#include "services/service/throttle.h"
#include "services/table/call.h"
#include "store/engine/key.h"

static uint64_t hash_of(tv_slice key)
{
    return tv_hash(tv_key_partition_of(key));
}

/* Room in the account and, unless it is 0, in a partition; the call has a bill from here on. */
static tv_err admit(tv_call *call, uint64_t partition, uint64_t units)
{
    tv_table_call *t = tv_table_call_of(call);
    tv_target_ask asks[] = {
        {.scope = TV_TARGET_ACCOUNT, .units = units},
        {.scope = TV_TARGET_PARTITION, .hash = partition, .units = units},
    };
    tv_err err = tv_call_ask_targets(call, asks, partition ? 2 : 1);

    if (err)
        return err;
    t->bill = tv_arena_zalloc(&call->req->arena, sizeof *t->bill);
    t->bill->partition = partition;
    t->bill->charged = units;
    return TV_OK;
}

/* Of one change: of what was sent until what is stored is known. */
static uint64_t units_of_change(const tv_entity_change *change, tv_slice value)
{
    const tv_table_resource *resource = &change->command->resource;

    if (change->command->kind == TV_TABLE_OP_DELETE_ENTITY || value.len == 0)
        return 1;
    return tv_target_units(tv_entity_cost(resource->partition_key, resource->row_key, value));
}

tv_err tv_table_admit_write(tv_call *call)
{
    const tv_table_change_set *set = &tv_table_call_of(call)->outcome.changes;
    uint64_t units = 0;

    if (call->targets == NULL)
        return TV_OK;
    for (size_t i = 0; i < set->count; i++)
        units += units_of_change(&set->changes[i], set->changes[i].sent);
    return admit(call, hash_of(set->changes[0].key), units);
}

tv_err tv_table_admit_read(tv_call *call, tv_slice key)
{
    return call->targets ? admit(call, hash_of(key), 0) : TV_OK;
}

tv_err tv_table_admit_query(tv_call *call)
{
    tv_table_scan *scan = &tv_table_call_of(call)->outcome.scan;
    tv_slice partition;
    tv_err err;

    if (call->targets == NULL)
        return TV_OK;

    partition = tv_plan_partition(&scan->plan);
    err = admit(call, partition.data ? tv_hash(partition) : 0, 0);
    scan->bill = tv_table_call_of(call)->bill;
    return err;
}

/* Rows come in the order of their keys, so those of a partition follow one another. */
void tv_table_bill_add(tv_table_bill *bill, tv_slice key, tv_slice partition_key, tv_slice row_key,
                       tv_slice value)
{
    uint64_t units = tv_target_units(tv_entity_cost(partition_key, row_key, value));
    uint64_t hash = hash_of(key);

    bill->units += units;
    if (bill->count && bill->partitions[bill->count - 1].hash == hash) {
        bill->partitions[bill->count - 1].units += units;
        return;
    }
    if (bill->count == TV_TABLE_BILL_PARTITIONS_MAX)
        return;
    bill->partitions[bill->count].hash = hash;
    bill->partitions[bill->count++].units = units;
}

/* --- when it is done --- */

static void charge(tv_call *call, uint64_t partition, int64_t units)
{
    tv_call_charge_target(call, TV_TARGET_ACCOUNT, 0, units);
    if (partition)
        tv_call_charge_target(call, TV_TARGET_PARTITION, partition, units);
}

static uint64_t units_written(tv_call *call)
{
    const tv_table_change_set *set = &tv_table_call_of(call)->outcome.changes;
    uint64_t units = 0;

    if (call->write.result)
        return 1;
    for (size_t i = 0; i < set->count; i++)
        units += units_of_change(&set->changes[i], set->changes[i].value);
    return units;
}

static uint64_t units_read(tv_call *call)
{
    const tv_table_call *t = tv_table_call_of(call);
    bool is_batch = tv_table_call_of(call)->command.kind == TV_TABLE_OP_BATCH;
    const tv_table_resource *resource =
        is_batch ? &t->batch.commands[0].resource : &t->command.resource;

    return t->outcome.value.len ? tv_target_units(tv_entity_cost(
                                      resource->partition_key, resource->row_key, t->outcome.value))
                                : 1;
}

static void charge_page(tv_call *call, const tv_table_bill *bill)
{
    uint32_t per_unit = tv_target_choices_of(call->targets)->examined_per_unit;
    const tv_table_scan *scan = &tv_table_call_of(call)->outcome.scan;
    uint64_t looked = per_unit ? scan->page.examined / per_unit : 0;
    uint64_t units = bill->units + looked;

    tv_call_charge_target(call, TV_TARGET_ACCOUNT, 0, units ? (int64_t)units : 1);
    for (size_t i = 0; i < bill->count; i++)
        tv_call_charge_target(call, TV_TARGET_PARTITION, bill->partitions[i].hash,
                              (int64_t)bill->partitions[i].units);
    /* What was looked at of one partition is that partition's; nothing found is still a look. */
    if (bill->partition && looked + (bill->count == 0))
        tv_call_charge_target(call, TV_TARGET_PARTITION, bill->partition,
                              (int64_t)(looked ? looked : 1));
}

void tv_table_charge_rest(tv_call *call)
{
    const tv_table_bill *bill = tv_table_call_of(call)->bill;

    if (bill == NULL)
        return;
    if (tv_table_call_of(call)->command.kind == TV_TABLE_OP_QUERY_ENTITIES)
        charge_page(call, bill);
    else if (bill->charged)
        charge(call, bill->partition, (int64_t)units_written(call) - (int64_t)bill->charged);
    else
        charge(call, bill->partition, (int64_t)units_read(call));
}
