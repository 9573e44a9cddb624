/*
 * Iterators of the memory engine: over one version of the rows or, where there are
 * ranges, page by page, each of the version that is there when it is read.
 */
#include "base/assert.h"
#include "base/buf.h"
#include "store/engine/memory/store.h"

typedef struct memory_iter {
    tv_iter base;
    tv_memory_store *store;
    tv_tree *tree;
    tv_tree_cursor cursor;
    tv_err err;
    tv_slice from, to;

    /* The page at hand; without pages, everything. */
    bool has_page;
    tv_buf page_first, page_last; /* keys: from where it was read, and its last one */
    bool is_last_page;

    char bounds[]; /* the bytes of `from` and `to` */
} memory_iter;

/* Stay within the bounds, or have no position. */
static void clip(const memory_iter *iter, tv_tree_cursor *cursor)
{
    if (tv_tree_cursor_is_valid(cursor) && tv_slice_cmp(tv_tree_cursor_key(cursor), iter->to) >= 0)
        cursor->depth = 0;
}

static void set_key(tv_buf *buf, tv_slice key)
{
    buf->len = 0;
    tv_buf_add(buf, key);
}

/* Find where the page ends that begins at `key`. */
static void measure_page(memory_iter *iter, tv_slice key)
{
    tv_tree_cursor cursor = {.tree = iter->tree};

    iter->is_last_page = true;
    tv_tree_cursor_seek(&cursor, key);
    clip(iter, &cursor);
    for (size_t i = 0; tv_tree_cursor_is_valid(&cursor); i++) {
        if (i == iter->store->page_rows) {
            iter->is_last_page = false;
            break;
        }
        set_key(&iter->page_last, tv_tree_cursor_key(&cursor));
        tv_tree_cursor_next(&cursor);
        clip(iter, &cursor);
    }
    tv_tree_cursor_done(&cursor);
}

static void read_page(memory_iter *iter, tv_slice key)
{
    set_key(&iter->page_first, key);
    key = tv_buf_slice(&iter->page_first); /* it may have been of the page before */
    iter->cursor.depth = 0;
    tv_tree_unref(iter->tree);
    iter->tree = NULL;
    iter->err = tv_memory_read_rows(iter->store, &iter->tree);
    iter->cursor.tree = iter->tree;
    iter->has_page = iter->err == TV_OK;
    if (iter->has_page)
        measure_page(iter, key);
}

static bool is_in_page(const memory_iter *iter, tv_slice key)
{
    return iter->has_page && tv_slice_cmp(key, tv_buf_slice(&iter->page_first)) >= 0 &&
           (iter->is_last_page || tv_slice_cmp(key, tv_buf_slice(&iter->page_last)) <= 0);
}

static void iter_seek(tv_iter *base, tv_slice key)
{
    memory_iter *iter = (memory_iter *)base;

    if (tv_slice_cmp(key, iter->from) < 0)
        key = iter->from;
    if (iter->store->has_ranges && !is_in_page(iter, key)) {
        read_page(iter, key);
        key = tv_buf_slice(&iter->page_first);
    }
    if (iter->err)
        return;

    tv_tree_cursor_seek(&iter->cursor, key);
    clip(iter, &iter->cursor);
}

static bool iter_is_valid(const tv_iter *base)
{
    return tv_tree_cursor_is_valid(&((const memory_iter *)base)->cursor);
}

/* The least key after the last one of the page. */
static void read_next_page(memory_iter *iter)
{
    tv_buf next = TV_BUF_EMPTY;

    tv_buf_add(&next, tv_buf_slice(&iter->page_last));
    tv_buf_add_char(&next, '\0');
    iter_seek(&iter->base, tv_buf_slice(&next));
    tv_buf_done(&next);
}

static void iter_next(tv_iter *base)
{
    memory_iter *iter = (memory_iter *)base;

    if (iter->store->has_ranges && !iter->is_last_page &&
        tv_slice_eq(tv_tree_cursor_key(&iter->cursor), tv_buf_slice(&iter->page_last))) {
        read_next_page(iter);
        return;
    }
    tv_tree_cursor_next(&iter->cursor);
    clip(iter, &iter->cursor);
}

static tv_slice iter_key(const tv_iter *base)
{
    return tv_tree_cursor_key(&((const memory_iter *)base)->cursor);
}

static tv_slice iter_value(const tv_iter *base)
{
    return tv_tree_cursor_value(&((const memory_iter *)base)->cursor);
}

static tv_err iter_status(const tv_iter *base)
{
    return ((const memory_iter *)base)->err;
}

static void iter_free(tv_iter *base)
{
    memory_iter *iter = (memory_iter *)base;

    tv_tree_cursor_done(&iter->cursor);
    tv_tree_unref(iter->tree);
    tv_buf_done(&iter->page_first);
    tv_buf_done(&iter->page_last);
    free(iter);
}

static const tv_iter_ops iter_ops = {
    .seek = iter_seek,
    .is_valid = iter_is_valid,
    .next = iter_next,
    .key = iter_key,
    .value = iter_value,
    .status = iter_status,
    .free = iter_free,
};

tv_err tv_memory_iter_new(tv_engine *engine, tv_slice from, tv_slice to, tv_iter **ret_iter)
{
    tv_memory_store *store = tv_memory_node_of(engine)->store;
    memory_iter *iter = tv_calloc(1, sizeof *iter + from.len + to.len);

    iter->base.ops = &iter_ops;
    iter->store = store;
    if (!store->has_ranges)
        iter->tree = tv_memory_snapshot(store);
    iter->cursor.tree = iter->tree;
    iter->page_first = iter->page_last = TV_BUF_EMPTY;
    if (from.len)
        memcpy(iter->bounds, from.data, from.len);
    if (to.len)
        memcpy(iter->bounds + from.len, to.data, to.len);
    iter->from = (tv_slice){iter->bounds, from.len};
    iter->to = (tv_slice){iter->bounds + from.len, to.len};
    *ret_iter = &iter->base;
    return TV_OK;
}
