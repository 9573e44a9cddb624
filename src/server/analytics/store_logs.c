/* Log blobs: put, found, deleted. */
#include "base/number.h"
#include "server/analytics/store.h"
#include "services/blob/store/change.h"
#include "services/blob/store/list.h"
#include "store/engine/key.h"

/* A change on its way: what it leaves without a row goes when it is durable. */
typedef struct log_write {
    tv_write write;
    tv_analytics_store *store;
    tv_container *logs;
    tv_blob_change *change;
} log_write;

static void settle(tv_write *write)
{
    log_write *w = (log_write *)write;
    tv_blob_change *change = w->change;

    if (change->garbage_count)
        tv_extents_remove(w->store->blobs->extents, change->garbage, change->garbage_count);
    if (change->has_discards)
        tv_blob_gc_add(w->store->blobs->gc, w->logs, change->partition);
}

static tv_err run(tv_analytics_store *store, tv_container *logs, tv_slice name,
                  tv_blob_change *change, tv_update_fn *fn)
{
    log_write w = {.store = store, .logs = logs, .change = change};
    tv_err err;

    err = tv_key_blob(change->arena, logs->prefix, name, &change->partition);
    if (err)
        return err;

    change->is_dropped = &logs->is_dropped;
    do {
        w.write =
            (tv_write){.partition = change->partition, .run = fn, .ctx = change, .settle = settle};
        err = tv_waiter_run(&store->waiter, &w.write);
    } while (err == TV_OK && change->is_partial);
    return err;
}

tv_err tv_analytics_store_put(tv_analytics_store *store, tv_container *logs, tv_slice name,
                              tv_slice lines, const tv_metadata *metadata)
{
    tv_blob_data data[TV_ANALYTICS_LOG_BYTES_MAX / TV_BLOB_CHUNK_BYTES_MAX];
    tv_put_blob put = {.type = TV_BLOB_BLOCK,
                       .headers = {.type = TV_LIT("application/octet-stream")},
                       .metadata = *metadata,
                       .data = data};
    tv_arena arena;
    tv_err err;

    tv_assert(lines.len > 0 && lines.len <= TV_ANALYTICS_LOG_BYTES_MAX);
    while (lines.len) {
        size_t len = lines.len < TV_BLOB_CHUNK_BYTES_MAX ? lines.len : TV_BLOB_CHUNK_BYTES_MAX;

        data[put.data_count++] = (tv_blob_data){.bytes = tv_slice_take(lines, len), .length = len};
        lines = tv_slice_skip(lines, len);
    }
    tv_arena_init(&arena);
    put.change.arena = &arena;
    put.change.conditions.must_be_new = true;
    err = run(store, logs, name, &put.change, tv_put_blob_run);
    tv_arena_done(&arena);
    return err;
}

tv_err tv_analytics_store_delete(tv_analytics_store *store, tv_container *logs, tv_slice name)
{
    tv_delete_blob delete_blob = {.scope = TV_DELETE_WITH_SNAPSHOTS};
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    delete_blob.change.arena = &arena;
    err = run(store, logs, name, &delete_blob.change, tv_delete_blob_run);
    tv_arena_done(&arena);
    return err == TV_ERR_BLOB_NOT_FOUND ? TV_OK : err;
}

/* "…/000017.log" */
static bool number_of(tv_slice name, int *ret_number)
{
    enum { DIGITS = 6 };
    static const tv_slice suffix = {".log", 4};
    uint64_t number;

    if (name.len < DIGITS + suffix.len ||
        !tv_slice_eq(tv_slice_skip(name, name.len - suffix.len), suffix) ||
        !tv_parse_uint64(tv_slice_take(tv_slice_skip(name, name.len - DIGITS - suffix.len), DIGITS),
                         &number))
        return false;

    *ret_number = (int)number;
    return true;
}

tv_err tv_analytics_store_next_number(tv_analytics_store *store, tv_container *logs,
                                      tv_slice folder, int *ret_number)
{
    tv_blob_list_query query = {.container = logs->prefix, .prefix = folder};
    tv_blob_list *list;
    tv_blob_entry entry;
    int next = 0, number;
    tv_err err;

    err = tv_blob_list_open(store->engine, &query, &list);
    if (err)
        return err;

    do {
        while (tv_blob_list_next(list, &entry)) {
            if (number_of(entry.name, &number) && number >= next)
                next = number + 1;
        }
        err = tv_blob_list_status(list);
    } while (err == TV_OK && tv_blob_list_has_more(list));
    tv_blob_list_close(list);
    if (err == TV_OK)
        *ret_number = next;
    return err;
}
