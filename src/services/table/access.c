/* What the parts of a batch need, and the limits on keys. */
#include "services/table/access.h"

#include "services/table/service.h"
#include "store/engine/engine.h"
#include "store/engine/key.h"

tv_err tv_table_access_check(const tv_identity *identity, const tv_table_command *command)
{
    const tv_op *row = &tv_table_spec.ops[command->kind];
    tv_need need = {
        .sas = row->sas,
        .type = row->type,
        .all_of = row->all_of,
        .any_of = row->any_of,
        .container = command->resource.table,
    };

    tv_err err = tv_identity_allows(identity, &need);

    return err ? err : tv_op_check_analytics(row, TV_SERVICE_TABLE, need.container);
}

/* --- key limits: from (start_partition, start_row) to (end_partition, end_row), both included ---
 */

static int compare_keys(tv_slice partition_a, tv_slice row_a, tv_slice partition_b, tv_slice row_b)
{
    int order = tv_ordinal_compare(partition_a, partition_b);

    return order ? order : tv_ordinal_compare(row_a, row_b);
}

tv_err tv_table_access_check_key(const tv_identity *identity, tv_slice partition_key,
                                 tv_slice row_key)
{
    const tv_key_limits *limits = tv_identity_key_limits(identity);
    bool is_inside = true;

    if (limits == NULL)
        return TV_OK;

    /* Without a row key the limit is about partitions: a missing start row is the least there is.
     */
    if (limits->start_partition.data)
        is_inside =
            compare_keys(partition_key, row_key, limits->start_partition, limits->start_row) >= 0;
    if (is_inside && limits->end_row.data)
        is_inside =
            compare_keys(partition_key, row_key, limits->end_partition, limits->end_row) <= 0;
    else if (is_inside && limits->end_partition.data)
        is_inside = tv_ordinal_compare(partition_key, limits->end_partition) <= 0;
    return is_inside ? TV_OK : TV_ERR_AUTHORIZATION_FAILURE;
}

/*
 * A limit as a bound between row keys: "prefix p 01 r" before a row, with 01
 * following it for after the row, "prefix p 02" for after a partition.  False when
 * it cannot be a key.
 */
static bool bound_of(tv_arena *arena, tv_slice prefix, tv_slice partition, tv_slice row,
                     const char *end, tv_slice *ret_bound)
{
    tv_slice partition_bytes, row_bytes = TV_LIT("");

    if (tv_key_encode_text(arena, partition, &partition_bytes) ||
        (row.len && tv_key_encode_text(arena, row, &row_bytes)) ||
        prefix.len + partition_bytes.len + row_bytes.len + 2 > TV_KEY_BYTES_MAX)
        return false;

    *ret_bound = tv_arena_printf(arena, "%.*s%.*s%s%.*s%s", TV_FMT(prefix), TV_FMT(partition_bytes),
                                 row.data ? TV_KEY_MARK_TEXT : "", TV_FMT(row_bytes), end);
    return true;
}

static bool limit_bounds(const tv_key_limits *limits, tv_arena *arena, tv_slice prefix,
                         tv_slice *ret_from, tv_slice *ret_to)
{
    *ret_from = prefix;
    *ret_to = tv_key_after(arena, prefix);
    if (limits->start_partition.data &&
        !bound_of(arena, prefix, limits->start_partition,
                  limits->start_row.data ? limits->start_row : TV_LIT(""), "", ret_from))
        return false;
    if (limits->end_partition.data == NULL)
        return true;
    return bound_of(arena, prefix, limits->end_partition, limits->end_row,
                    limits->end_row.data ? TV_KEY_MARK_TEXT : TV_KEY_BEHIND_TEXT, ret_to);
}

void tv_table_access_clip(const tv_identity *identity, tv_arena *arena, tv_slice table_prefix,
                          tv_plan *plan)
{
    const tv_key_limits *limits = tv_identity_key_limits(identity);
    tv_slice from, to;
    size_t kept = 0;

    if (limits == NULL)
        return;

    /* A limit that no key can have: nothing is certain to be within it. */
    if (!limit_bounds(limits, arena, table_prefix, &from, &to)) {
        plan->count = 0;
        return;
    }
    for (size_t i = 0; i < plan->count; i++) {
        tv_key_range range = plan->ranges[i];

        if (tv_slice_cmp(range.from, from) < 0)
            range.from = from;
        if (tv_slice_cmp(range.to, to) > 0)
            range.to = to;
        if (tv_slice_cmp(range.from, range.to) < 0)
            plan->ranges[kept++] = range;
    }
    plan->count = kept;
}
