/* The objects of a pool in memory, and what changes and reads do to them. */
#include <stdlib.h>

#include "base/assert.h"
#include "fake_internal.h"

enum { CHANGE_BYTES_MAX = 90 << 20 /* osd_max_write_size */ };

object *fake_object_find(fake_cluster *cluster, const char *name)
{
    tv_slice value;
    object *found;

    if (!tv_tree_get(cluster->objects, tv_slice_of(name), &value))
        return NULL;

    memcpy(&found, value.data, sizeof found);
    return found;
}

static object *make(fake_cluster *cluster, const char *name)
{
    object *made = tv_calloc(1, sizeof *made);

    tv_assert(name && name[0] && strlen(name) <= TV_POOL_NAME_MAX);
    snprintf(made->name, sizeof made->name, "%s", name);
    cluster->objects = tv_tree_put(cluster->objects, tv_slice_of(name),
                                   (tv_slice){(const char *)&made, sizeof made});
    return made;
}

object *fake_object_find_or_make(fake_cluster *cluster, const char *name)
{
    object *found = fake_object_find(cluster, name);

    return found ? found : make(cluster, name);
}

void fake_object_free(object *gone)
{
    tv_tree_unref(gone->rows);
    tv_tree_unref(gone->attrs);
    tv_buf_done(&gone->data);
    free(gone);
}

static void remove_object(fake_cluster *cluster, object *gone)
{
    cluster->objects = tv_tree_delete(cluster->objects, tv_slice_of(gone->name));
    fake_object_free(gone);
}

/* --- changes --- */

static bool is_condition(tv_pool_kind kind)
{
    return kind <= TV_POOL_ROW_ABSENT;
}

static bool is_on_row(tv_pool_kind kind)
{
    return kind == TV_POOL_ROW_IS || kind == TV_POOL_ROW_ABSENT || kind == TV_POOL_PUT_ROW ||
           kind == TV_POOL_DELETE_ROW || kind == TV_POOL_DELETE_ROWS;
}

/* What pool.h asks of the author. */
void fake_check_steps(const tv_pool_change *change)
{
    tv_tree *rows = NULL, *attrs = NULL;
    bool is_in_changes = false;
    size_t bytes = 0;

    for (size_t i = 0; i < change->step_count; i++) {
        const tv_pool_step *step = &change->steps[i];
        tv_slice seen;

        tv_assert(!is_condition(step->kind) || !is_in_changes);
        is_in_changes |= !is_condition(step->kind);
        bytes += step->key.len + step->value.len;
        if (is_on_row(step->kind))
            tv_assert(step->key.len && tv_slice_find(step->key, '\0') == step->key.len);
        if (step->kind == TV_POOL_PUT_ROW || step->kind == TV_POOL_ROW_IS)
            tv_assert(step->value.len);
        if (step->kind == TV_POOL_PUT_ROW || step->kind == TV_POOL_DELETE_ROW) {
            tv_assert(!tv_tree_get(rows, step->key, &seen));
            rows = tv_tree_put(rows, step->key, TV_LIT("x"));
        }
        if (step->kind == TV_POOL_SET_ATTR) {
            tv_assert(!tv_tree_get(attrs, step->key, &seen));
            attrs = tv_tree_put(attrs, step->key, TV_LIT("x"));
        }
        if (step->kind == TV_POOL_REMOVE)
            tv_assert(i + 1 == change->step_count &&
                      (i == 0 || is_condition(change->steps[i - 1].kind)));
    }
    tv_assert(bytes <= CHANGE_BYTES_MAX);
    tv_tree_unref(rows);
    tv_tree_unref(attrs);
}

static tv_slice value_of(const tv_tree *tree, tv_slice key)
{
    tv_slice value;

    return tv_tree_get(tree, key, &value) ? value : TV_LIT("");
}

/* `target` is NULL where the object is to be made. */
static bool condition_holds(const object *target, const tv_pool_step *step)
{
    const tv_tree *rows = target ? target->rows : NULL, *attrs = target ? target->attrs : NULL;

    switch (step->kind) {
    case TV_POOL_ATTR_IS:
        return tv_slice_eq(value_of(attrs, step->key), step->value);
    case TV_POOL_ATTR_BELOW:
        return tv_slice_cmp(value_of(attrs, step->key), step->value) < 0;
    case TV_POOL_ROW_IS:
        return tv_slice_eq(value_of(rows, step->key), step->value);
    case TV_POOL_ROW_ABSENT:
        return value_of(rows, step->key).len == 0;
    default:
        return true;
    }
}

static void apply_step(fake_cluster *cluster, object *target, const tv_pool_step *step)
{
    switch (step->kind) {
    case TV_POOL_PUT_ROW:
        target->rows = tv_tree_put(target->rows, step->key, step->value);
        break;
    case TV_POOL_DELETE_ROW:
        target->rows = tv_tree_delete(target->rows, step->key);
        break;
    case TV_POOL_DELETE_ROWS:
        target->rows = tv_tree_delete_range(target->rows, step->key, step->value);
        break;
    case TV_POOL_SET_ATTR:
        target->attrs = tv_tree_put(target->attrs, step->key, step->value);
        break;
    case TV_POOL_SET_DATA:
        tv_buf_reset(&target->data);
        tv_buf_add(&target->data, step->value);
        break;
    case TV_POOL_REMOVE:
        remove_object(cluster, target);
        break;
    default:
        break;
    }
}

tv_err fake_apply(fake_cluster *cluster, tv_pool_change *change)
{
    object *target = fake_object_find(cluster, change->object);
    bool creates = change->step_count && change->steps[0].kind == TV_POOL_CREATE;

    if (target == NULL && !creates)
        return TV_ERR_NOT_FOUND;
    if (target && creates)
        return TV_ERR_CONFLICT;
    for (size_t i = 0; i < change->step_count; i++) {
        if (is_condition(change->steps[i].kind) && !condition_holds(target, &change->steps[i])) {
            if (is_on_row(change->steps[i].kind))
                change->refused = i;
            return TV_ERR_CONFLICT;
        }
    }
    if (target == NULL && cluster->is_full)
        return TV_ERR_DISK_FULL;
    if (target == NULL)
        target = make(cluster, change->object);
    for (size_t i = 0; i < change->step_count; i++)
        apply_step(cluster, target, &change->steps[i]);
    return TV_OK;
}

/* --- reads --- */

static void add_row(tv_pool_read *read, tv_slice key, tv_slice value)
{
    read->rows[read->row_count++] = (tv_pool_row){
        .key = tv_arena_dup(read->arena, key),
        .value = tv_arena_dup(read->arena, value),
    };
}

static int compare_slices(const void *a, const void *b)
{
    return tv_slice_cmp(*(const tv_slice *)a, *(const tv_slice *)b);
}

static void read_keys(const object *target, tv_pool_read *read)
{
    tv_slice *sorted = tv_calloc(read->key_count + 1, sizeof *sorted);

    read->rows = tv_arena_alloc(read->arena, (read->key_count + 1) * sizeof *read->rows);
    for (size_t i = 0; i < read->key_count; i++)
        sorted[i] = read->keys[i];
    qsort(sorted, read->key_count, sizeof *sorted, compare_slices);
    for (size_t i = 0; i < read->key_count; i++) {
        tv_slice value;

        tv_assert(sorted[i].len);
        if (i && tv_slice_eq(sorted[i], sorted[i - 1]))
            continue;
        if (tv_tree_get(target->rows, sorted[i], &value))
            add_row(read, sorted[i], value);
    }
    free(sorted);
}

static bool begins_with(const tv_tree_cursor *cursor, tv_slice prefix)
{
    return tv_tree_cursor_is_valid(cursor) &&
           tv_slice_starts_with(tv_tree_cursor_key(cursor), prefix);
}

/* Up to `most` rows of a tree behind `after`, of those that begin with the read's prefix. */
static void read_rows(const tv_tree *tree, tv_slice after, size_t most, tv_pool_read *read)
{
    tv_tree_cursor cursor = {.tree = tree};
    size_t room = tv_tree_count(tree);

    if (room > most)
        room = most;
    read->rows = tv_arena_alloc(read->arena, (room + 1) * sizeof *read->rows);
    tv_tree_cursor_seek(&cursor, tv_slice_cmp(read->prefix, after) > 0 ? read->prefix : after);
    if (tv_tree_cursor_is_valid(&cursor) && after.len &&
        tv_slice_eq(tv_tree_cursor_key(&cursor), after))
        tv_tree_cursor_next(&cursor);
    while (read->row_count < room && begins_with(&cursor, read->prefix)) {
        add_row(read, tv_tree_cursor_key(&cursor), tv_tree_cursor_value(&cursor));
        tv_tree_cursor_next(&cursor);
    }
    read->has_more = begins_with(&cursor, read->prefix);
    tv_tree_cursor_done(&cursor);
}

static void read_data(const object *target, tv_pool_read *read)
{
    tv_slice all = tv_buf_slice(&target->data);
    tv_slice rest = tv_slice_skip(all, read->offset < all.len ? read->offset : all.len);

    read->data = tv_arena_dup(read->arena,
                              tv_slice_take(rest, read->size < rest.len ? read->size : rest.len));
}

tv_err fake_look(fake_cluster *cluster, tv_pool_read *read)
{
    const object *target = fake_object_find(cluster, read->object);
    size_t rows_max = read->rows_max;

    if (target == NULL)
        return TV_ERR_NOT_FOUND;
    if (read->attr.len && !tv_slice_eq(value_of(target->attrs, read->attr), read->attr_value))
        return TV_ERR_CONFLICT;

    switch (read->kind) {
    case TV_POOL_READ_KEYS:
        read_keys(target, read);
        break;
    case TV_POOL_READ_PAGE:
        tv_assert(rows_max && tv_slice_find(read->after, '\0') == read->after.len &&
                  tv_slice_find(read->prefix, '\0') == read->prefix.len);
        if (cluster->options.has_short_pages && fake_next_random(cluster, 2))
            rows_max = 1 + fake_next_random(cluster, rows_max);
        read_rows(target->rows, read->after, rows_max, read);
        break;
    case TV_POOL_READ_ATTRS:
        read_rows(target->attrs, TV_LIT(""), SIZE_MAX, read);
        read->has_more = false;
        break;
    case TV_POOL_READ_DATA:
        read_data(target, read);
        break;
    }
    return TV_OK;
}
