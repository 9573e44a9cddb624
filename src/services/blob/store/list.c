/*
 * List Blobs.
 *
 * A marker is thirteen digits and a name: the name where to go on, and the
 * snapshot of it, 0 for all of them and the largest number for the blob alone.
 */
#include "services/blob/store/list.h"

#include "base/assert.h"
#include "base/utf8.h"
#include "services/blob/store/row.h"
#include "store/engine/key.h"

enum {
    IDLE_STEPS_MAX = 10000, /* this many times a page may go on without an entry before it ends */
    IDLE_RUN_MAX = 200,     /* and this many times one call of tv_blob_list_next */
};

/* Where an entry is. */
typedef struct position {
    tv_slice name; /* in the step's arena */
    uint64_t snapshot;
} position;

struct tv_blob_list {
    tv_iter *iter;
    tv_arena arena; /* for the life of the list */
    tv_arena step;  /* for one entry */
    tv_blob_list_query query;
    tv_slice prefix_key; /* container and prefix of names */
    int idle_steps;
    tv_err status;
};

/* The key of a name, or of the beginning of one. */
static tv_err name_key(tv_blob_list *list, tv_slice name, tv_slice *ret_key)
{
    tv_slice cesu8;
    tv_err err = tv_key_encode_text(&list->arena, name, &cesu8);

    if (err)
        return err;

    *ret_key =
        tv_arena_printf(&list->arena, "%.*s%.*s", TV_FMT(list->query.container), TV_FMT(cesu8));
    return TV_OK;
}

/* The key at which a marker goes on: that of a snapshot's head, of the head, or of the name. */
static tv_err parse_marker(tv_blob_list *list, tv_slice marker, tv_slice *ret_key)
{
    uint64_t snapshot;
    tv_slice name, blob;
    tv_err err;

    if (marker.len < TV_BLOB_NUMBER_LEN ||
        !tv_blob_number_parse(tv_slice_take(marker, TV_BLOB_NUMBER_LEN), &snapshot) ||
        snapshot > INT64_MAX)
        return TV_ERR_OUT_OF_RANGE;

    name = tv_slice_skip(marker, TV_BLOB_NUMBER_LEN);
    if (snapshot == 0)
        return name_key(list, name, ret_key);

    err = tv_key_blob(&list->arena, list->query.container, name, &blob);
    if (err)
        return err;

    *ret_key = tv_blob_key_head(&list->arena, blob, snapshot == INT64_MAX ? 0 : (int64_t)snapshot);
    return TV_OK;
}

static tv_slice format_marker(tv_arena *arena, const position *at)
{
    char *text = tv_arena_bytes(arena, TV_BLOB_NUMBER_LEN + at->name.len);

    tv_blob_number_format(text, at->snapshot);
    memcpy(text + TV_BLOB_NUMBER_LEN, at->name.data, at->name.len);
    return (tv_slice){text, TV_BLOB_NUMBER_LEN + at->name.len};
}

/* Where the list begins: the latest of the prefix, the start and the marker. */
static tv_err find_start(tv_blob_list *list, const tv_blob_list_query *query, tv_slice *ret_from)
{
    tv_slice from = list->prefix_key, other;
    tv_err err;

    if (query->start.len) {
        err = name_key(list, query->start, &other);
        if (err)
            return err;
        if (tv_slice_cmp(from, other) < 0)
            from = other;
    }
    if (query->marker.len) {
        err = parse_marker(list, query->marker, &other);
        if (err)
            return err;
        if (tv_slice_cmp(from, other) < 0)
            from = other;
    }
    *ret_from = from;
    return TV_OK;
}

tv_err tv_blob_list_open(tv_engine *engine, const tv_blob_list_query *query,
                         tv_blob_list **ret_list)
{
    tv_blob_list *list = tv_calloc(1, sizeof *list);
    tv_slice from;
    tv_err err;

    tv_arena_init(&list->arena);
    tv_arena_init(&list->step);
    list->query = *query;
    list->query.container = tv_arena_dup(&list->arena, query->container);
    list->query.prefix = tv_arena_dup(&list->arena, query->prefix);
    list->query.delimiter = tv_arena_dup(&list->arena, query->delimiter);
    err = name_key(list, query->prefix, &list->prefix_key);
    if (err)
        goto failed;

    err = find_start(list, query, &from);
    if (err)
        goto failed;

    err = tv_engine_iter(engine, list->prefix_key, tv_key_after(&list->arena, list->prefix_key),
                         &list->iter);
    if (err)
        goto failed;

    tv_iter_seek(list->iter, from);
    *ret_list = list;
    return TV_OK;

failed:
    tv_blob_list_close(list);
    return err;
}

void tv_blob_list_close(tv_blob_list *list)
{
    if (list == NULL)
        return;

    tv_iter_free(list->iter);
    tv_arena_done(&list->step);
    tv_arena_done(&list->arena);
    free(list);
}

/* Where in `name`, after the prefix, the first delimiter ends; 0 when there is none. */
static size_t delimited_len(const tv_blob_list *list, tv_slice name)
{
    tv_slice delimiter = list->query.delimiter;

    if (delimiter.len == 0)
        return 0;
    for (size_t at = list->query.prefix.len; at + delimiter.len <= name.len; at++) {
        if (tv_slice_starts_with(tv_slice_skip(name, at), delimiter))
            return at + delimiter.len;
    }
    return 0;
}

/* What the list makes of the row at its iterator. */
typedef enum step_kind {
    STEP_ENTRY,   /* an entry; the iterator is after it */
    STEP_NOTHING, /* no entry; the iterator is further on */
} step_kind;

/* Go to `kind` of the same blob, or to the end of the blob when `kind` is 0. */
static void pass(tv_blob_list *list, tv_slice blob, int kind)
{
    tv_iter_seek(list->iter, kind ? tv_blob_key_kind(&list->step, blob, (tv_blob_row_kind)kind)
                                  : tv_key_after(&list->step, blob));
}

/* The head of a blob or snapshot; `row` is its key after the blob's prefix. */
static tv_err take_head(tv_blob_list *list, tv_slice blob, tv_slice row, tv_blob_entry *entry)
{
    int64_t snapshot = 0;
    tv_slice value = tv_arena_dup(&list->step, tv_iter_value(list->iter));

    if (row.data[0] == TV_BLOB_ROW_SNAPSHOT &&
        !tv_blob_snapshot_parse(tv_slice_skip(row, 1), &snapshot))
        return TV_ERR_CORRUPT;

    entry->kind = TV_BLOB_ENTRY_BLOB;
    if (snapshot)
        tv_iter_next(list->iter);
    else
        pass(list, blob, 0);
    return tv_blob_head_decode(&list->step, value, snapshot, &entry->head);
}

/* The ledger of a blob without a head. */
static tv_err take_ledger(tv_blob_list *list, tv_slice blob, tv_blob_entry *entry)
{
    tv_block_ledger ledger;
    tv_err err;

    err = tv_block_ledger_decode(tv_iter_value(list->iter), &ledger);
    if (err)
        return err;

    entry->kind = TV_BLOB_ENTRY_UNCOMMITTED;
    entry->head =
        (tv_blob_head){.type = TV_BLOB_BLOCK, .etag = ledger.last, .created = ledger.last};
    pass(list, blob, 0);
    return TV_OK;
}

/* A visible blob is below a delimiter: one entry for all of them. */
static tv_err take_prefix(tv_blob_list *list, size_t len, tv_blob_entry *entry)
{
    tv_slice cesu8, key;
    tv_err err;

    entry->kind = TV_BLOB_ENTRY_PREFIX;
    entry->name.len = len;
    err = tv_key_encode_text(&list->step, entry->name, &cesu8);
    if (err)
        return err;

    key = tv_arena_printf(&list->step, "%.*s%.*s", TV_FMT(list->query.container), TV_FMT(cesu8));
    tv_iter_seek(list->iter, tv_key_after(&list->step, key));
    return TV_OK;
}

static tv_err take_step(tv_blob_list *list, tv_blob_entry *entry, step_kind *ret_step)
{
    tv_slice key = tv_arena_dup(&list->step, tv_iter_key(list->iter)), blob, row;
    size_t prefix_len;
    tv_err err;

    err = tv_key_split_blob(&list->step, list->query.container, key, &blob, &entry->name);
    if (err)
        return err;

    row = tv_slice_skip(key, blob.len);
    if (row.len == 0)
        return TV_ERR_CORRUPT;

    *ret_step = STEP_NOTHING;
    prefix_len = delimited_len(list, entry->name);
    switch (row.data[0]) {
    case TV_BLOB_ROW_SNAPSHOT:
        if (!list->query.with_snapshots && prefix_len == 0) {
            pass(list, blob, TV_BLOB_ROW_HEAD);
            return TV_OK;
        }
        break;
    case TV_BLOB_ROW_HEAD:
        break;
    case TV_BLOB_ROW_BLOCK:
        if (row.len == 1 && list->query.with_uncommitted)
            break;
        /* fall through */
    default:
        pass(list, blob, 0);
        return TV_OK;
    }

    *ret_step = STEP_ENTRY;
    if (prefix_len)
        return take_prefix(list, prefix_len, entry);
    if (row.data[0] == TV_BLOB_ROW_BLOCK)
        return take_ledger(list, blob, entry);
    return take_head(list, blob, row, entry);
}

bool tv_blob_list_has_more(const tv_blob_list *list)
{
    return list->status == TV_OK && tv_iter_is_valid(list->iter) &&
           list->idle_steps < IDLE_STEPS_MAX;
}

/* Go to the next entry, if the steps of one page, or of one call, allow. */
static bool next_entry(tv_blob_list *list, tv_blob_entry *entry)
{
    step_kind step = STEP_NOTHING;
    int stop = list->idle_steps + IDLE_RUN_MAX;

    if (stop > IDLE_STEPS_MAX)
        stop = IDLE_STEPS_MAX;
    while (list->status == TV_OK && tv_iter_is_valid(list->iter)) {
        if (list->idle_steps == stop)
            return false;

        tv_arena_reset(&list->step);
        *entry = (tv_blob_entry){0};
        list->status = take_step(list, entry, &step);
        if (list->status == TV_OK && step == STEP_ENTRY)
            return true;
        list->idle_steps++;
    }
    if (list->status == TV_OK)
        list->status = tv_iter_status(list->iter);
    return false;
}

bool tv_blob_list_next(tv_blob_list *list, tv_blob_entry *ret_entry)
{
    return next_entry(list, ret_entry);
}

tv_err tv_blob_list_status(const tv_blob_list *list)
{
    return list->status;
}

tv_err tv_blob_list_next_marker(tv_blob_list *list, tv_arena *arena, tv_slice *ret_marker)
{
    position at = {0};
    tv_blob_entry entry;
    bool has_entry;
    tv_slice blob;

    do
        has_entry = next_entry(list, &entry);
    while (!has_entry && tv_blob_list_has_more(list));
    if (has_entry) {
        at.name = entry.name;
        if (entry.kind != TV_BLOB_ENTRY_PREFIX)
            at.snapshot = entry.head.snapshot ? (uint64_t)entry.head.snapshot : INT64_MAX;
    } else if (list->status == TV_OK && tv_iter_is_valid(list->iter)) {
        /* Out of steps, before a blob of which nothing has been given. */
        list->status = tv_key_split_blob(&list->step, list->query.container,
                                         tv_iter_key(list->iter), &blob, &at.name);
    }
    if (list->status)
        return list->status;

    *ret_marker = at.name.len ? format_marker(arena, &at) : TV_LIT("");
    return TV_OK;
}
