/*
 * A persistent treap: a search tree by key and a heap by priority, where the
 * priority is a keyed hash of the key.  The shape follows from the set of keys
 * alone and is balanced in expectation, whichever keys a client chose; split and join are all
 * there is to it.
 *
 * Every function that makes a version consumes its references, so a node that
 * nobody else holds is changed in place rather than copied: a map without
 * snapshots costs no more than an ordinary treap.
 */
#include "store/engine/memory/tree.h"

#include <stdatomic.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/grow.h"
#include "base/hash.h"

/* A row is apart from the node, so that copying a node does not copy its bytes. */
typedef struct tree_record {
    atomic_size_t refs;
    uint64_t priority;
    size_t key_len, value_len;
    char bytes[]; /* key, then value */
} tree_record;

struct tv_tree {
    atomic_size_t refs;
    tree_record *record;
    tv_tree *left, *right;
    size_t count;
};

static tree_record *record_new(tv_slice key, tv_slice value)
{
    tree_record *record = tv_malloc(sizeof *record + key.len + value.len);

    atomic_init(&record->refs, 1);
    record->priority = tv_hash(key);
    record->key_len = key.len;
    record->value_len = value.len;
    memcpy(record->bytes, key.data, key.len);
    if (value.len)
        memcpy(record->bytes + key.len, value.data, value.len);
    return record;
}

static void record_unref(tree_record *record)
{
    if (atomic_fetch_sub(&record->refs, 1) == 1)
        free(record);
}

static tv_slice key_of(const tv_tree *node)
{
    return (tv_slice){node->record->bytes, node->record->key_len};
}

static tv_slice value_of(const tv_tree *node)
{
    return (tv_slice){node->record->bytes + node->record->key_len, node->record->value_len};
}

size_t tv_tree_count(const tv_tree *tree)
{
    return tree ? tree->count : 0;
}

tv_tree *tv_tree_ref(tv_tree *tree)
{
    if (tree)
        atomic_fetch_add(&tree->refs, 1);
    return tree;
}

void tv_tree_unref(tv_tree *tree)
{
    /* Loops to the right and recurses to the left only, which is as deep as the tree. */
    while (tree && atomic_fetch_sub(&tree->refs, 1) == 1) {
        tv_tree *right = tree->right;

        tv_tree_unref(tree->left);
        record_unref(tree->record);
        free(tree);
        tree = right;
    }
}

static tv_tree *node_new(tree_record *record, tv_tree *left, tv_tree *right)
{
    tv_tree *node = tv_malloc(sizeof *node);

    atomic_init(&node->refs, 1);
    node->record = record;
    node->left = left;
    node->right = right;
    node->count = 1 + tv_tree_count(left) + tv_tree_count(right);
    return node;
}

/* A node with the same content that is the caller's alone.  Takes over the reference. */
static tv_tree *own(tv_tree *node)
{
    if (atomic_load(&node->refs) == 1)
        return node;

    atomic_fetch_add(&node->record->refs, 1);
    tv_tree *copy = node_new(node->record, tv_tree_ref(node->left), tv_tree_ref(node->right));

    tv_tree_unref(node);
    return copy;
}

static void recount(tv_tree *node)
{
    node->count = 1 + tv_tree_count(node->left) + tv_tree_count(node->right);
}

/* Cut into the keys below `key` and the rest.  Takes over the reference. */
static void split(tv_tree *tree, tv_slice key, tv_tree **ret_below, tv_tree **ret_rest)
{
    if (tree == NULL) {
        *ret_below = *ret_rest = NULL;
        return;
    }

    tree = own(tree);
    if (tv_slice_cmp(key_of(tree), key) < 0) {
        split(tree->right, key, &tree->right, ret_rest);
        recount(tree);
        *ret_below = tree;
    } else {
        split(tree->left, key, ret_below, &tree->left);
        recount(tree);
        *ret_rest = tree;
    }
}

/* Join two trees, every key of `below` being less than every key of `above`. */
static tv_tree *join(tv_tree *below, tv_tree *above)
{
    if (below == NULL)
        return above;
    if (above == NULL)
        return below;

    if (below->record->priority > above->record->priority) {
        below = own(below);
        below->right = join(below->right, above);
        recount(below);
        return below;
    }
    above = own(above);
    above->left = join(below, above->left);
    recount(above);
    return above;
}

/* Take off the row `key`, which is the least of `tree` if it is there at all. */
static tv_tree *drop_first_if(tv_tree *tree, tv_slice key)
{
    if (tree == NULL)
        return NULL;

    tree = own(tree);
    if (tree->left) {
        tree->left = drop_first_if(tree->left, key);
        recount(tree);
        return tree;
    }
    if (!tv_slice_eq(key_of(tree), key))
        return tree;

    tv_tree *right = tv_tree_ref(tree->right);

    tv_tree_unref(tree);
    return right;
}

bool tv_tree_get(const tv_tree *tree, tv_slice key, tv_slice *ret_value)
{
    while (tree) {
        int order = tv_slice_cmp(key, key_of(tree));

        if (order == 0) {
            *ret_value = value_of(tree);
            return true;
        }
        tree = order < 0 ? tree->left : tree->right;
    }
    return false;
}

tv_tree *tv_tree_put(tv_tree *tree, tv_slice key, tv_slice value)
{
    tv_tree *below, *rest;

    split(tree, key, &below, &rest);
    rest = drop_first_if(rest, key);
    return join(join(below, node_new(record_new(key, value), NULL, NULL)), rest);
}

tv_tree *tv_tree_delete(tv_tree *tree, tv_slice key)
{
    tv_tree *below, *rest;

    split(tree, key, &below, &rest);
    return join(below, drop_first_if(rest, key));
}

tv_tree *tv_tree_delete_range(tv_tree *tree, tv_slice from, tv_slice to)
{
    tv_tree *below, *middle, *above;

    if (tv_slice_cmp(from, to) >= 0)
        return tree;

    split(tree, from, &below, &middle);
    split(middle, to, &middle, &above);
    tv_tree_unref(middle);
    return join(below, above);
}

static void push(tv_tree_cursor *cursor, const tv_tree *node)
{
    tv_grow(&cursor->path, cursor->depth, &cursor->size, 64);
    cursor->path[cursor->depth++] = node;
}

void tv_tree_cursor_seek(tv_tree_cursor *cursor, tv_slice key)
{
    cursor->depth = 0;
    for (const tv_tree *node = cursor->tree; node;) {
        if (tv_slice_cmp(key_of(node), key) < 0) {
            node = node->right;
        } else {
            push(cursor, node);
            node = node->left;
        }
    }
}

bool tv_tree_cursor_is_valid(const tv_tree_cursor *cursor)
{
    return cursor->depth > 0;
}

void tv_tree_cursor_next(tv_tree_cursor *cursor)
{
    tv_assert(cursor->depth > 0);
    const tv_tree *node = cursor->path[--cursor->depth];

    for (node = node->right; node; node = node->left)
        push(cursor, node);
}

tv_slice tv_tree_cursor_key(const tv_tree_cursor *cursor)
{
    tv_assert(cursor->depth > 0);
    return key_of(cursor->path[cursor->depth - 1]);
}

tv_slice tv_tree_cursor_value(const tv_tree_cursor *cursor)
{
    tv_assert(cursor->depth > 0);
    return value_of(cursor->path[cursor->depth - 1]);
}

void tv_tree_cursor_done(tv_tree_cursor *cursor)
{
    free(cursor->path);
    *cursor = (tv_tree_cursor){0};
}
