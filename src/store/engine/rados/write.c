/*
 * Writes: a batch is one operation on the object of its range.
 *
 * In the order in which the storage compares: the range's epoch, so that nobody
 * writes to a range that is elsewhere by now; its clock, so that instants grow in it
 * whatever the nodes' own clocks say; the rows, which are what the author has
 * read.  Then the changes, each key once.
 *
 * An operation that is refused has changed nothing, so it can be sent again,
 * to wherever the rows are now: the comparison of the rows still holds or fails as
 * it should.
 */
#include "base/assert.h"
#include "base/deadline.h"
#include "base/point.h"
#include "store/engine/instant.h"
#include "store/engine/key.h"
#include "store/engine/mutants.h"
#include "store/engine/rados/internal.h"

enum { CLOCK_DIGITS = 13 };

typedef struct operation {
    tv_arena arena;
    tv_pool_step *steps;
    size_t count;
    size_t *changes; /* for each step, the change it was made of */
    size_t rows, bytes;
    int64_t rows_more;
    bool has_puts;
    char first_stamp[CLOCK_DIGITS], stamp[CLOCK_DIGITS];
} operation;

static void add(operation *op, tv_pool_kind kind, tv_slice key, tv_slice value)
{
    op->steps[op->count++] = (tv_pool_step){kind, key, value};
    op->bytes += key.len + value.len;
}

/* As it is stored: with its form before it. */
static tv_slice stored(operation *op, tv_slice value)
{
    char *bytes = tv_arena_bytes(&op->arena, value.len + 1);

    bytes[0] = TV_RANGE_FORM;
    tv_slice_put(bytes + 1, value);
    return (tv_slice){bytes, value.len + 1};
}

static int compare_changes(const void *a, const void *b)
{
    const tv_change *x = *(const tv_change *const *)a, *y = *(const tv_change *const *)b;
    int order = tv_slice_cmp(x->key, y->key);

    return order ? order : (x > y) - (x < y);
}

static bool is_change(const tv_change *change)
{
    return change->kind == TV_CHANGE_PUT || change->kind == TV_CHANGE_DELETE;
}

/* Of all that the batch says about one key: what is expected, and the last change. */
static const tv_change *add_conditions(operation *op, const tv_change **of_key, size_t count)
{
    const tv_change *last = NULL;
    bool is_absent = false;

    for (size_t i = 0; i < count; i++) {
        tv_assert(of_key[i]->key.len > 0 && of_key[i]->key.len <= TV_KEY_BYTES_MAX);
        if (of_key[i]->kind == TV_CHANGE_EXPECT_VALUE) {
            add(op, TV_POOL_ROW_IS, of_key[i]->key, stored(op, of_key[i]->value));
        } else if (of_key[i]->kind == TV_CHANGE_EXPECT_ABSENT) {
            add(op, TV_POOL_ROW_ABSENT, of_key[i]->key, TV_NONE);
            is_absent = true;
        } else {
            last = of_key[i];
        }
    }
    if (last && last->kind == TV_CHANGE_PUT)
        op->rows_more += is_absent;
    else if (last)
        op->rows_more -= !is_absent;
    return last;
}

/*
 * The steps of a batch.  The first two are the epoch, which is filled in when the range is known,
 * and the clock, if there is something to write.
 */
static void operation_init(operation *op, const tv_write_batch *batch)
{
    const tv_change **sorted, **last;
    size_t last_count = 0;
    bool has_changes = false;

    *op = (operation){0};
    tv_arena_init(&op->arena);
    sorted = tv_arena_alloc(&op->arena, batch->count * sizeof *sorted);
    last = tv_arena_alloc(&op->arena, batch->count * sizeof *last);
    op->steps = tv_arena_alloc(&op->arena, (batch->count + 3) * sizeof *op->steps);
    for (size_t i = 0; i < batch->count; i++) {
        sorted[i] = &batch->changes[i];
        has_changes |= is_change(sorted[i]);
    }
    qsort(sorted, batch->count, sizeof *sorted, compare_changes);

    add(op, TV_POOL_ATTR_IS, TV_RANGE_WRITE_EPOCH, TV_NONE);
    bool has_stamp = has_changes && batch->stamp;

    if (has_stamp) {
        tv_key_put_number(op->stamp, batch->stamp, CLOCK_DIGITS);
        tv_key_put_number(op->first_stamp, tv_write_batch_first_stamp(batch), CLOCK_DIGITS);
        if (!TV_MUTANT(NO_CLOCK_COMPARE))
            add(op, TV_POOL_ATTR_BELOW, TV_RANGE_CLOCK, (tv_slice){op->first_stamp, CLOCK_DIGITS});
    }
    for (size_t i = 0, next; i < batch->count; i = next) {
        for (next = i + 1; next < batch->count && tv_slice_eq(sorted[i]->key, sorted[next]->key);)
            next++;
        last[last_count] = add_conditions(op, sorted + i, next - i);
        last_count += last[last_count] != NULL;
    }
    for (size_t i = 0; i < last_count; i++) {
        if (last[i]->kind != TV_CHANGE_PUT)
            continue;
        add(op, TV_POOL_PUT_ROW, last[i]->key, stored(op, last[i]->value));
        op->has_puts = true;
    }
    for (size_t i = 0; i < last_count; i++) {
        if (last[i]->kind == TV_CHANGE_DELETE)
            add(op, TV_POOL_DELETE_ROW, last[i]->key, TV_NONE);
    }
    if (has_stamp)
        add(op, TV_POOL_SET_ATTR, TV_RANGE_CLOCK, (tv_slice){op->stamp, CLOCK_DIGITS});
    op->rows = last_count;
}

static bool is_within(const tv_range *range, const tv_write_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (!tv_range_has(range, batch->changes[i].key))
            return false;
    }
    return true;
}

/* What the object says: its epoch for writes and its clock.  TV_ERR_NOT_FOUND as read. */
static tv_err read_attributes(tv_rados_engine *rados, const char *object, tv_arena *arena,
                              tv_slice *ret_epoch, int64_t *ret_clock)
{
    tv_pool_read read = {.object = object, .kind = TV_POOL_READ_ATTRS, .arena = arena};
    tv_err err;

    *ret_epoch = TV_LIT("");
    *ret_clock = 0;
    err = tv_pool_read_now(rados->pool, &read);
    for (size_t i = 0; i < read.row_count && err == TV_OK; i++) {
        if (tv_slice_eq(read.rows[i].key, TV_RANGE_WRITE_EPOCH))
            *ret_epoch = read.rows[i].value;
        else if (tv_slice_eq(read.rows[i].key, TV_RANGE_CLOCK))
            err = tv_key_read_number(read.rows[i].value, ret_clock);
    }
    return err;
}

/*
 * An operation was refused, and not for its rows.  TV_OK: it can be tried again.
 * TV_ERR_CONFLICT: it was its instant, and the next one is later.
 */
static tv_err find_out(tv_rados_engine *rados, const tv_map *map, const tv_range *range,
                       int64_t sent, tv_rados_patience *patience)
{
    tv_arena arena;
    tv_slice epoch;
    int64_t clock;
    tv_err err;

    tv_arena_init(&arena);
    err = read_attributes(rados, range->object, &arena, &epoch, &clock);
    bool is_gone = err == TV_ERR_NOT_FOUND;

    if (is_gone)
        err = TV_OK;
    if (err) {
        /* nothing was found out */
    } else if (!is_gone && tv_slice_eq(epoch, range->epoch)) {
        atomic_fetch_add(&rados->clock_refusals, 1);
        tv_instant_follow(clock, sent, atomic_fetch_add(&range->lane->use.refused_in_row, 1) + 1);
        err = TV_ERR_CONFLICT;
    } else {
        atomic_fetch_add(&rados->moved, 1);
        /* A frozen range stays in the map as it is until the change is published. */
        err = tv_rados_reroute(rados, map, patience);
    }
    tv_arena_done(&arena);
    return err;
}

/* One try, by one map.  TV_ERR_NOT_FOUND: not answered yet, try again. */
static tv_err write_by(tv_rados_engine *rados, const tv_map *map, const tv_write_batch *batch,
                       operation *op, tv_rados_patience *patience)
{
    const tv_range *range = tv_map_find(map, batch->changes[0].key);
    tv_range_lane_use *use = &range->lane->use;
    tv_rados_op watched;
    size_t refused;
    tv_err err;

    /* The catalogues have been read again since; its author has not looked at them. */
    if (batch->fences && batch->fences != tv_rados_fences_of(map))
        return TV_ERR_CONFLICT;
    if (!is_within(range, batch))
        return TV_ERR_MOVED;

    if (tv_deadline_is_over())
        return TV_ERR_TIMED_OUT; /* and that it is not done is certain, unlike below */
    if (tv_point("write.before"))
        return TV_ERR_IO;
    op->steps[0].value = range->epoch;
    tv_rados_op_begin(rados, &watched);
    err = tv_pool_change_in_time(rados->pool, range->object, op->steps, op->count, &refused);
    int64_t ns = tv_rados_op_end(rados, &watched, &rados->writes, op->rows, op->bytes);

    if (TV_MUTANT(EARLY_ANSWER))
        err = TV_OK;
    atomic_fetch_add(&use->write_ops, 1);
    atomic_fetch_add(&use->write_ns, (uint64_t)ns);
    if (err == TV_OK) {
        atomic_fetch_add(&use->write_rows, op->rows);
        atomic_fetch_add(&use->write_bytes, op->bytes);
        atomic_fetch_add(&use->rows_more, op->rows_more);
        atomic_store(&use->refused_in_row, 0);
        tv_range_lane_note_use(range->lane, batch->changes[batch->count / 2].key, op->rows);
        return tv_point("write.after_ack") ? TV_ERR_IO : TV_OK;
    }
    if (err == TV_ERR_CONFLICT && refused != TV_POOL_NO_STEP) {
        atomic_fetch_add(&rados->conflicts, 1);
        return TV_ERR_CONFLICT;
    }
    if (tv_rados_is_astray(err)) {
        err = find_out(rados, map, range, tv_write_batch_first_stamp(batch), patience);
        return err == TV_OK ? TV_ERR_NOT_FOUND : err;
    }
    /* Shut out, and it may have been done before that; or not answered, and it may yet be done. */
    return err == TV_ERR_STOPPED || err == TV_ERR_TIMED_OUT ? TV_ERR_IO : err;
}

tv_err tv_rados_write(tv_engine *engine, const tv_write_batch *batch)
{
    tv_rados_engine *rados = tv_rados_of(engine);
    tv_rados_patience patience = {.key = batch->count ? batch->changes[0].key : TV_NONE};
    operation op;
    tv_err err;

    if (batch->count == 0)
        return TV_OK;

    operation_init(&op, batch);
    if (op.has_puts && !batch->is_freeing && atomic_load(&rados->is_full)) {
        err = TV_ERR_DISK_FULL;
    } else {
        do {
            tv_map *map = tv_maps_get(rados->maps);

            err = write_by(rados, map, batch, &op, &patience);
            tv_map_unref(map);
        } while (err == TV_ERR_NOT_FOUND);
    }
    tv_arena_done(&op.arena);
    return err;
}
