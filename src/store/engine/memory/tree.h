/*
 * An ordered map of byte strings whose versions never change.  Putting or
 * removing a row makes a new version that shares all but a path of nodes with
 * the old one, so a snapshot is one reference to a root and costs the same
 * whatever the map holds.  Versions may be read by any number of threads; each
 * reference is counted and a node goes with its last one.
 *
 * A version is a pointer to its root, NULL when it is empty.
 */
#ifndef TV_STORE_ENGINE_MEMORY_TREE_H
#define TV_STORE_ENGINE_MEMORY_TREE_H

#include "base/slice.h"

typedef struct tv_tree tv_tree;

/** One more reference; returns `tree`.  NULL is allowed here and below. */
tv_tree *tv_tree_ref(tv_tree *tree);
void tv_tree_unref(tv_tree *tree);

/** Find a row; the value lives as long as this version. */
bool tv_tree_get(const tv_tree *tree, tv_slice key, tv_slice *ret_value);

/** A version with the row put in or replaced.  Takes over the caller's reference to `tree`. */
tv_tree *tv_tree_put(tv_tree *tree, tv_slice key, tv_slice value);

/** A version without the row, or without all of [from, to).  Takes over the reference too. */
tv_tree *tv_tree_delete(tv_tree *tree, tv_slice key);
tv_tree *tv_tree_delete_range(tv_tree *tree, tv_slice from, tv_slice to);

size_t tv_tree_count(const tv_tree *tree);

/** A position in one version.  All zeros, apart from `tree`, is no position. */
typedef struct tv_tree_cursor {
    const tv_tree *tree;
    const tv_tree **path; /* nodes still to be visited, the current one last */
    size_t depth, size;
} tv_tree_cursor;

void tv_tree_cursor_seek(tv_tree_cursor *cursor, tv_slice key);
bool tv_tree_cursor_is_valid(const tv_tree_cursor *cursor);
void tv_tree_cursor_next(tv_tree_cursor *cursor);
tv_slice tv_tree_cursor_key(const tv_tree_cursor *cursor);
tv_slice tv_tree_cursor_value(const tv_tree_cursor *cursor);
void tv_tree_cursor_done(tv_tree_cursor *cursor);

#endif
