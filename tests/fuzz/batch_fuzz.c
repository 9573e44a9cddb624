/*
 * Batches: a body with any bytes after a fixed boundary.  What is accepted is
 * one read, or up to 100 writes to distinct entities of one partition of the
 * account that signed; and no beginning of an accepted body is accepted as
 * anything but the same operations.
 */
#include "base/assert.h"
#include "fuzz.h"
#include "services/table/batch.h"

static const tv_header content_type = {{"Content-Type", 12}, {"multipart/mixed; boundary=b", 27}};
static const tv_endpoint endpoint = {
    .account = {"acct", 4}, .base_url = {"http://127.0.0.1/acct", 21}, .rest = {"$batch", 6}};

static tv_err parse(tv_arena *arena, tv_slice body, tv_table_batch *ret_batch)
{
    tv_request request = {
        .method = TV_METHOD_POST,
        .path = TV_LIT("/acct/$batch"),
        .host = TV_LIT("127.0.0.1"),
        .headers = &content_type,
        .header_count = 1,
        .body = body,
    };
    tv_error_info info = {0};

    return tv_table_batch_parse(arena, &request, &endpoint, ret_batch, &info);
}

static void check_changeset(const tv_table_batch *batch)
{
    const tv_table_resource *first = batch->count ? &batch->commands[0].resource : NULL;

    for (size_t i = 0; i < batch->count; i++) {
        const tv_table_resource *resource = &batch->commands[i].resource;

        tv_assert(tv_table_command_is_entity_write(&batch->commands[i]));
        tv_assert(tv_slice_eq(batch->commands[i].endpoint.account, endpoint.account));
        tv_assert(tv_slice_eq_nocase(resource->table, first->table));
        tv_assert(tv_slice_eq(resource->partition_key, first->partition_key));
        for (size_t j = 0; j < i; j++)
            tv_assert(!tv_slice_eq(resource->row_key, batch->commands[j].resource.row_key));
    }
}

static void check_accepted(const tv_table_batch *batch)
{
    tv_assert(batch->count <= TV_TABLE_BATCH_OPS_MAX);
    if (batch->is_query)
        tv_assert(batch->count == 1 && batch->commands[0].kind == TV_TABLE_OP_QUERY_ENTITY);
    else
        check_changeset(batch);
}

static bool is_same(const tv_table_batch *a, const tv_table_batch *b)
{
    if (a->count != b->count || a->is_query != b->is_query)
        return false;

    for (size_t i = 0; i < a->count; i++) {
        const tv_table_command *x = &a->commands[i], *y = &b->commands[i];

        if (x->kind != y->kind || !tv_slice_eq(x->resource.row_key, y->resource.row_key) ||
            x->body.properties.count != y->body.properties.count)
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice body = {(const char *)data, size};
    tv_table_batch batch, cut;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    err = parse(&arena, body, &batch);
    if (err == TV_OK) {
        check_accepted(&batch);
        /* A few cuts near the end and one that the input itself chooses. */
        for (size_t lost = 1; lost <= 12 && lost <= size; lost++) {
            if (parse(&arena, tv_slice_take(body, size - lost), &cut) == TV_OK)
                tv_assert(is_same(&batch, &cut));
        }
        if (parse(&arena, tv_slice_take(body, data[size / 2] * size / 256), &cut) == TV_OK)
            tv_assert(is_same(&batch, &cut));
    } else {
        tv_assert(!batch.is_part_error || batch.failed < TV_TABLE_BATCH_OPS_MAX);
    }
    tv_arena_done(&arena);
    return 0;
}
