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
 *
 * Nodes overtake each other all the time, so the clock would refuse many writes for nothing.
 * Those of entities may be late, because nobody goes by the order of the instants of two
 * entities.  What must hold for one entity, a key of the range:
 *
 *     Whatever is put there has a later instant than all that was ever there.
 *
 * Over an entity that is there the author sees to it: the operation compares the row.  Where
 * there is none the range must know what was there.  Let L be TV_INSTANT_LATE_MAX.
 *
 *  (1) The range's clock, clk, the latest of tv_range_clks, and `gone`, the latest of
 *      tv_range_gones, only grow, and go with the rows when ranges are split or merged.
 *  (2) Every operation with instants compares clk < first + L, if it may be late; else clk < first,
 *      and sets clk to the last of them.
 *  (3) One that expects a row to be absent, as all do that put a new one, compares gone < first.
 *  (4) After one that deletes a row with the instant x,  x <= clk - L  or  x <= gone.
 *
 * So when a new row comes with `first`, all that were deleted had x < first: by (2) or by (3).  For
 * (4) the node knows a clk and a gone that the range has at least: those that it has set or read
 * last.  By these nothing needs to be done for most deletes, as x is seldom of the last second;
 * otherwise the operation sets gone to x.  So that clk - L is not long ago, one that may be late
 * sets clk, too, when it is ahead of the clk that is known by more than TV_INSTANT_LATE_RAISE.
 *
 * If all nodes set the same attributes they would overtake each other there.  So each has a slot of
 * its own, or shares one with few: then an operation that was refused for it is sent again without,
 * because now the range is known to be as far, and the node takes another.
 *
 * Stores of a level below TV_ROUTE_LEVEL_LATE may have nodes that know nothing of `gone`.  So
 * nothing may be late there; and what a node knows of a range begins with an operation that is
 * not late, or with the clk that has refused it: all that was there before is behind its instants.
 *
 * Guarded batches may be late too: those of queues, blobs and catalogues.  Most of their rows say
 * nothing by instants of their own; in what order things are is kept in a row that every change
 * compares: a queue's counts, a blob's head and ledger, the generation of a catalogue (the README
 * of each has the rules).  So the range has nothing to add, but for two things.
 *
 * A blob that is deleted leaves no such row.  So its latest instant is noted as gone, and by (2) or
 * (3) whoever finds no head, or no ledger, has a later one: both are rows that are expected.
 *
 * Nodes that do not keep these rows so may have been there before TV_ROUTE_LEVEL_GUARDED, or
 * TV_ROUTE_LEVEL_GUARDED_BLOBS.  What they have put is behind clk: so at each of these levels a
 * node begins on a range with an operation that is not late, or with the clk that has refused it,
 * and only later instants (guarded_after) may be late.
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
    bool has_puts, has_inserts;
    bool may_be_late;
    tv_guard guard;
    unsigned slot, clock_slot; /* that it sets, of tv_range_gones and tv_range_clks */
    bool sets_clock, sets_gone;
    char below_clock[CLOCK_DIGITS], first_stamp[CLOCK_DIGITS], stamp[CLOCK_DIGITS];
    char gone[CLOCK_DIGITS];
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
    bool is_absent = false, is_there = false;

    for (size_t i = 0; i < count; i++) {
        tv_assert(of_key[i]->key.len > 0 && of_key[i]->key.len <= TV_KEY_BYTES_MAX);
        if (TV_MUTANT(NO_GUARD) && op->guard && !is_change(of_key[i])) {
            is_there = true;
        } else if (of_key[i]->kind == TV_CHANGE_EXPECT_VALUE) {
            add(op, TV_POOL_ROW_IS, of_key[i]->key, stored(op, of_key[i]->value));
            is_there = true;
        } else if (of_key[i]->kind == TV_CHANGE_EXPECT_ABSENT) {
            add(op, TV_POOL_ROW_ABSENT, of_key[i]->key, TV_NONE);
            is_absent = true;
        } else {
            last = of_key[i];
        }
    }
    tv_assert(!op->may_be_late || op->guard || last == NULL || is_there || is_absent);
    if (last && last->kind == TV_CHANGE_PUT)
        op->rows_more += is_absent;
    else if (last)
        op->rows_more -= !is_absent;
    return last;
}

static tv_slice digits_of(char digits[CLOCK_DIGITS], int64_t instant)
{
    tv_key_put_number(digits, instant, CLOCK_DIGITS);
    return (tv_slice){digits, CLOCK_DIGITS};
}

/* What is compared with the range's clock, and whether it is set: (2). */
static void add_clock(operation *op, const tv_write_batch *batch, int64_t known)
{
    int64_t first = tv_write_batch_first_stamp(batch), stamp = batch->stamp;
    int64_t below = op->may_be_late ? first + TV_INSTANT_LATE_MAX : first;
    tv_slice before = digits_of(op->below_clock, below);
    tv_slice own = digits_of(op->stamp, stamp);

    op->sets_clock = !op->may_be_late || stamp > known + TV_INSTANT_LATE_RAISE;
    for (unsigned i = 0; i < TV_RANGE_SLOTS && !TV_MUTANT(NO_CLOCK_COMPARE); i++) {
        bool is_set = op->sets_clock && i == op->clock_slot;

        if (TV_MUTANT(OWN_SLOT) && i != op->clock_slot)
            continue;
        add(op, TV_POOL_ATTR_BELOW, tv_range_clks[i], is_set && stamp < below ? own : before);
    }
}

/* Likewise with what is gone: (3), (4).  `clock`: what the range's is after the operation. */
static void add_gone(operation *op, const tv_write_batch *batch, int64_t clock, int64_t known)
{
    int64_t first = tv_write_batch_first_stamp(batch);
    tv_slice before = digits_of(op->first_stamp, first), own = digits_of(op->gone, batch->gone);

    op->sets_gone =
        batch->gone > clock - TV_INSTANT_LATE_MAX && batch->gone > known && !TV_MUTANT(NO_GONE);
    for (unsigned i = 0; i < TV_RANGE_SLOTS; i++) {
        bool is_set = op->sets_gone && i == op->slot;

        if (is_set && (!op->has_inserts || batch->gone < first))
            add(op, TV_POOL_ATTR_BELOW, tv_range_gones[i], own);
        else if (op->has_inserts && !TV_MUTANT(NO_GONE_COMPARE))
            add(op, TV_POOL_ATTR_BELOW, tv_range_gones[i], before);
    }
}

/* Of the batch's changes: what is expected of all rows, and then what they become. */
static void add_rows(operation *op, const tv_write_batch *batch, const tv_change **sorted)
{
    const tv_change **last = tv_arena_alloc(&op->arena, batch->count * sizeof *last);
    size_t last_count = 0;

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
    op->rows = last_count;
}

/* Whether a batch may be late on this range, by all that the node knows. */
static bool may_be_late(const tv_write_batch *batch, const tv_map *map, tv_range_lane_use *use)
{
    int64_t after = atomic_load(&use->guarded_after[batch->guard]);

    if (!batch->may_be_late || map->level < TV_ROUTE_LEVEL_LATE || !atomic_load(&use->clock))
        return false;
    return !batch->guard || (after && tv_write_batch_first_stamp(batch) > after);
}

/* The steps of a batch for its range: the epoch, the clocks if there is something to write, rows.
 */
static void operation_init(operation *op, const tv_write_batch *batch, const tv_map *map,
                           const tv_range *range, unsigned slot)
{
    int64_t clock = atomic_load(&range->lane->use.clock),
            gone = atomic_load(&range->lane->use.gone);
    const tv_change **sorted;
    bool has_changes = false;

    *op = (operation){
        .slot = slot,
        .clock_slot = map->level >= TV_ROUTE_LEVEL_LATE ? slot : 0,
        .may_be_late = may_be_late(batch, map, &range->lane->use),
        .guard = batch->guard,
    };
    tv_arena_init(&op->arena);
    sorted = tv_arena_alloc(&op->arena, batch->count * sizeof *sorted);
    op->steps =
        tv_arena_alloc(&op->arena, (batch->count + 3 + 2 * TV_RANGE_SLOTS) * sizeof *op->steps);
    for (size_t i = 0; i < batch->count; i++) {
        sorted[i] = &batch->changes[i];
        has_changes |= is_change(sorted[i]);
        op->has_inserts |= sorted[i]->kind == TV_CHANGE_EXPECT_ABSENT;
    }
    qsort(sorted, batch->count, sizeof *sorted, compare_changes);

    add(op, TV_POOL_ATTR_IS, TV_RANGE_WRITE_EPOCH, range->epoch);
    if (has_changes && batch->stamp) {
        add_clock(op, batch, clock);
        add_gone(op, batch, op->sets_clock ? batch->stamp : clock, gone);
    }
    add_rows(op, batch, sorted);
    if (op->sets_clock)
        add(op, TV_POOL_SET_ATTR, tv_range_clks[op->clock_slot],
            (tv_slice){op->stamp, CLOCK_DIGITS});
    if (op->sets_gone)
        add(op, TV_POOL_SET_ATTR, tv_range_gones[slot], (tv_slice){op->gone, CLOCK_DIGITS});
}

static bool is_within(const tv_range *range, const tv_write_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (!tv_range_has(range, batch->changes[i].key))
            return false;
    }
    return true;
}

/* What the object says: its epoch for writes and its clocks. */
typedef struct attributes {
    tv_slice epoch;
    int64_t clock, gone; /* the latest of tv_range_clks and of tv_range_gones */
} attributes;

/* If this attribute is one of these, and later than what was found before. */
static tv_err take_latest(const tv_slice slots[TV_RANGE_SLOTS], const tv_pool_row *attr,
                          int64_t *latest)
{
    for (size_t i = 0; i < TV_RANGE_SLOTS; i++) {
        int64_t instant = 0;
        tv_err err;

        if (!tv_slice_eq(attr->key, slots[i]))
            continue;
        err = tv_key_read_number(attr->value, &instant);
        if (err || instant > *latest)
            *latest = instant;
        return err;
    }
    return TV_OK;
}

/* TV_ERR_NOT_FOUND as read. */
static tv_err read_attributes(tv_rados_engine *rados, const char *object, tv_arena *arena,
                              attributes *ret)
{
    tv_pool_read read = {.object = object, .kind = TV_POOL_READ_ATTRS, .arena = arena};
    tv_err err;

    *ret = (attributes){.epoch = TV_LIT("")};
    err = tv_pool_read_now(rados->pool, &read);
    for (size_t i = 0; i < read.row_count && err == TV_OK; i++) {
        if (tv_slice_eq(read.rows[i].key, TV_RANGE_WRITE_EPOCH))
            ret->epoch = read.rows[i].value;
        err = take_latest(tv_range_clks, &read.rows[i], &ret->clock);
        if (err == TV_OK)
            err = take_latest(tv_range_gones, &read.rows[i], &ret->gone);
    }
    return err;
}

static void raise_to(_Atomic int64_t *known, int64_t instant)
{
    int64_t last = atomic_load(known);

    while (last < instant && !atomic_compare_exchange_weak(known, &last, instant))
        ;
}

/* The range's clocks are at least this.  Below that level clk says nothing, see above. */
static void note_clocks(const tv_map *map, tv_range_lane_use *use, int64_t clock, int64_t gone)
{
    if (map->level >= TV_ROUTE_LEVEL_LATE)
        raise_to(&use->clock, clock);
    raise_to(&use->gone, gone);
}

/*
 * All that is on the range by now is behind this instant.  For each guard the first such one will
 * do that comes when all nodes keep it.
 */
static void note_all_behind(const tv_map *map, tv_range_lane_use *use, int64_t instant)
{
    for (int guard = 1;
         guard < TV_GUARDS && map->level >= TV_ROUTE_LEVEL_GUARDED + guard - TV_GUARD_OF_QUEUES;
         guard++) {
        int64_t none = 0;

        atomic_compare_exchange_strong(&use->guarded_after[guard], &none, instant);
    }
}

/*
 * The range's clocks have refused an operation.  TV_OK: it has wanted to set one where another node
 * was faster, and can be sent without that.  TV_ERR_CONFLICT: it needs a later instant, and the
 * next one is later.
 */
static tv_err be_overtaken(tv_rados_engine *rados, const tv_map *map, tv_range_lane_use *use,
                           const tv_write_batch *batch, const operation *op, const attributes *now)
{
    int64_t first = tv_write_batch_first_stamp(batch);
    bool gone_is_later = op->has_inserts && now->gone >= first;

    note_clocks(map, use, now->clock, now->gone);
    note_all_behind(map, use, now->clock);
    tv_instant_follow(gone_is_later && now->gone > now->clock ? now->gone : now->clock, first,
                      atomic_fetch_add(&use->refused_in_row, 1) + 1);
    if (!op->may_be_late || now->clock >= first + TV_INSTANT_LATE_MAX || gone_is_later)
        return TV_ERR_CONFLICT;

    atomic_store(&rados->slot, tv_rados_slot(op->slot));
    return TV_OK;
}

/*
 * An operation was refused, and not for its rows.  TV_OK: it can be tried again.
 * TV_ERR_CONFLICT: it was its instant, and the next one is later.
 */
static tv_err find_out(tv_rados_engine *rados, const tv_map *map, const tv_range *range,
                       const tv_write_batch *batch, const operation *op,
                       tv_rados_patience *patience)
{
    attributes now;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    err = read_attributes(rados, range->object, &arena, &now);
    bool is_gone = err == TV_ERR_NOT_FOUND;

    if (is_gone)
        err = TV_OK;
    if (err) {
        /* nothing was found out */
    } else if (!is_gone && tv_slice_eq(now.epoch, range->epoch)) {
        atomic_fetch_add(&rados->clock_refusals, 1);
        err = be_overtaken(rados, map, &range->lane->use, batch, op, &now);
    } else {
        atomic_fetch_add(&rados->moved, 1);
        /* A frozen range stays in the map as it is until the change is published. */
        err = tv_rados_reroute(rados, map, patience);
    }
    tv_arena_done(&arena);
    return err;
}

/* It was done. */
static void note_done(const tv_map *map, const tv_range *range, const tv_write_batch *batch,
                      const operation *op)
{
    tv_range_lane_use *use = &range->lane->use;

    atomic_fetch_add(&use->write_rows, op->rows);
    atomic_fetch_add(&use->write_bytes, op->bytes);
    atomic_fetch_add(&use->rows_more, op->rows_more);
    note_clocks(map, use, op->sets_clock ? batch->stamp : 0, op->sets_gone ? batch->gone : 0);
    if (op->sets_clock && !op->may_be_late)
        note_all_behind(map, use, batch->stamp);
    /* One that may be late shows nothing of how late the next is that may not. */
    if (op->sets_clock)
        atomic_store(&use->refused_in_row, 0);
    tv_range_lane_note_use(range->lane, batch->changes[batch->count / 2].key, op->rows);
}

/* One try, on the range that the map says. */
static tv_err write_to(tv_rados_engine *rados, const tv_map *map, const tv_range *range,
                       const tv_write_batch *batch, operation *op, tv_rados_patience *patience)
{
    tv_range_lane_use *use = &range->lane->use;
    tv_rados_op watched;
    size_t refused;
    tv_err err;

    if (op->has_puts && !batch->is_freeing && atomic_load(&rados->is_full))
        return TV_ERR_DISK_FULL;
    tv_rados_op_begin(rados, &watched);
    err = tv_pool_change_in_time(rados->pool, range->object, op->steps, op->count, &refused);
    int64_t ns = tv_rados_op_end(rados, &watched, &rados->writes, op->rows, op->bytes);

    if (TV_MUTANT(EARLY_ANSWER))
        err = TV_OK;
    atomic_fetch_add(&use->write_ops, 1);
    atomic_fetch_add(&use->write_ns, (uint64_t)ns);
    if (err == TV_OK) {
        note_done(map, range, batch, op);
        return tv_point("write.after_ack") ? TV_ERR_IO : TV_OK;
    }
    if (err == TV_ERR_CONFLICT && refused != TV_POOL_NO_STEP) {
        atomic_fetch_add(&rados->conflicts, 1);
        return TV_ERR_CONFLICT;
    }
    if (tv_rados_is_astray(err)) {
        err = find_out(rados, map, range, batch, op, patience);
        return err == TV_OK ? TV_ERR_NOT_FOUND : err;
    }
    /* Shut out, and it may have been done before that; or not answered, and it may yet be done. */
    return err == TV_ERR_STOPPED || err == TV_ERR_TIMED_OUT ? TV_ERR_IO : err;
}

/* One try, by one map.  TV_ERR_NOT_FOUND: not answered yet, try again. */
static tv_err write_by(tv_rados_engine *rados, const tv_map *map, const tv_write_batch *batch,
                       tv_rados_patience *patience)
{
    const tv_range *range = tv_map_find(map, batch->changes[0].key);
    operation op;
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
    operation_init(&op, batch, map, range, atomic_load(&rados->slot));
    err = write_to(rados, map, range, batch, &op, patience);
    tv_arena_done(&op.arena);
    return err;
}

tv_err tv_rados_write(tv_engine *engine, const tv_write_batch *batch)
{
    tv_rados_engine *rados = tv_rados_of(engine);
    tv_rados_patience patience = {.key = batch->count ? batch->changes[0].key : TV_NONE};
    tv_err err;

    if (batch->count == 0)
        return TV_OK;

    do {
        tv_map *map = tv_maps_get(rados->maps);

        err = write_by(rados, map, batch, &patience);
        tv_map_unref(map);
    } while (err == TV_ERR_NOT_FOUND);
    return err;
}
