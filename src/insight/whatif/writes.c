/* See writes.h. */
#include "insight/whatif/writes.h"

#include <stdlib.h>

#include "base/assert.h"
#include "insight/watch/direction.h"
#include "store/engine/key.h"

static const int64_t slot_ns = INT64_C(10000000000), minute_ns = INT64_C(60000000000);

/* --- which entity a write is about --- */

typedef struct hashed {
    const tv_trace_write *write;
    size_t index; /* of the write in the trace */
} hashed;

static int by_key(const void *a, const void *b)
{
    const tv_trace_write *left = ((const hashed *)a)->write, *right = ((const hashed *)b)->write;
    int order = tv_slice_cmp(left->partition_key, right->partition_key);

    return order ? order : tv_slice_cmp(left->row_key, right->row_key);
}

/* Writes of one hashed partition, and how many rows of it they are about. */
typedef struct group {
    size_t first, count, rows;
} group;

static int by_rows(const void *a, const void *b)
{
    const group *left = a, *right = b;

    if (left->rows != right->rows)
        return left->rows < right->rows ? 1 : -1;
    return (left->first > right->first) - (left->first < right->first);
}

static size_t find_groups(const hashed *list, size_t count, group *groups)
{
    size_t made = 0;

    for (size_t i = 0; i < count; i++) {
        bool is_new =
            i == 0 || !tv_slice_eq(list[i].write->partition_key, list[i - 1].write->partition_key);

        if (is_new)
            groups[made++] = (group){.first = i};
        groups[made - 1].count++;
        groups[made - 1].rows +=
            is_new || !tv_slice_eq(list[i].write->row_key, list[i - 1].write->row_key);
    }
    if (made)
        qsort(groups, made, sizeof *groups, by_rows);
    return made;
}

/* An entity for each hash, the largest partition for the one with most rows. */
static void stand_in(tv_scratch *scratch, const hashed *list, size_t count, tv_arena *arena,
                     size_t *numbers)
{
    group *groups = tv_arena_alloc(arena, (count + 1) * sizeof *groups);
    size_t group_count = find_groups(list, count, groups);
    const tv_scratch_partition *partitions;
    size_t partition_count = tv_scratch_partitions(scratch, arena, &partitions);

    for (size_t i = 0; i < group_count && partition_count; i++) {
        const tv_scratch_partition *partition = &partitions[i % partition_count];
        size_t row = 0;

        for (size_t at = groups[i].first; at < groups[i].first + groups[i].count; at++) {
            if (at > groups[i].first &&
                !tv_slice_eq(list[at].write->row_key, list[at - 1].write->row_key))
                row++;
            numbers[list[at].index] =
                tv_scratch_at(scratch, partition->first + row % partition->count);
        }
    }
}

/* The number of the entity of each write; SIZE_MAX where there is none. */
static size_t *find_entities(const tv_trace *trace, tv_scratch *scratch, tv_arena *arena)
{
    size_t *numbers = tv_arena_alloc(arena, (trace->write_count + 1) * sizeof *numbers);
    hashed *list = tv_arena_alloc(arena, (trace->write_count + 1) * sizeof *list);
    bool is_hash = trace->head.values == TV_WATCH_TRACE_HASH;
    size_t count = 0;

    for (size_t i = 0; i < trace->write_count; i++) {
        const tv_trace_write *write = &trace->writes[i];

        numbers[i] = SIZE_MAX;
        if (!write->has_key)
            continue;
        if (is_hash)
            list[count++] = (hashed){write, i};
        else if (!tv_scratch_find(scratch, write->partition_key, write->row_key, &numbers[i]))
            numbers[i] = SIZE_MAX;
    }
    if (count)
        qsort(list, count, sizeof *list, by_key);
    stand_in(scratch, list, count, arena, numbers);
    return numbers;
}

/* --- one set of keys --- */

typedef struct load {
    tv_slice partition;
    int64_t slot;
    uint32_t units;
} load;

typedef struct side {
    load *loads;
    size_t count;
    tv_direction *inserts; /* NULL: keys are hashes and have no order */
    int64_t minute;
} side;

static int by_partition(const void *a, const void *b)
{
    return tv_slice_cmp(((const load *)a)->partition, ((const load *)b)->partition);
}

static int by_slot(const void *a, const void *b)
{
    const load *left = a, *right = b;

    if (left->slot != right->slot)
        return left->slot < right->slot ? -1 : 1;
    return by_partition(a, b);
}

static double hottest_of(load *loads, size_t count)
{
    uint64_t all = 0, run = 0, most = 0;

    if (count)
        qsort(loads, count, sizeof *loads, by_partition);
    for (size_t i = 0; i < count; i++) {
        run = i && by_partition(&loads[i], &loads[i - 1]) == 0 ? run + loads[i].units
                                                               : loads[i].units;
        all += loads[i].units;
        most = run > most ? run : most;
    }
    return all ? (double)most / (double)all : 0;
}

static void find_worst(load *loads, size_t count, tv_writes_side *to)
{
    uint64_t most = 0;

    if (count)
        qsort(loads, count, sizeof *loads, by_slot);
    for (size_t begin = 0, end; begin < count; begin = end) {
        uint64_t all = 0, run = 0, best = 0;

        for (end = begin; end < count && loads[end].slot == loads[begin].slot; end++) {
            run = end > begin && by_partition(&loads[end], &loads[end - 1]) == 0
                      ? run + loads[end].units
                      : loads[end].units;
            all += loads[end].units;
            best = run > best ? run : best;
        }
        if (best > most) {
            most = best;
            to->worst_second = (double)best / 10;
            to->worst_share = (double)best / (double)all;
        }
    }
}

static void add_insert(side *of, tv_arena *arena, tv_slice partition_key, tv_slice row_key,
                       int64_t at_ns)
{
    tv_slice partition, row, key;
    tv_kept_key kept;

    if (tv_key_encode_text(arena, partition_key, &partition) ||
        tv_key_encode_text(arena, row_key, &row))
        return;
    for (; of->minute < at_ns / minute_ns; of->minute++)
        tv_direction_end_minute(of->inserts);
    key = tv_arena_printf(arena, "%.*s" TV_KEY_MARK_TEXT "%.*s", TV_FMT(partition), TV_FMT(row));
    tv_kept_key_set(&kept, key, partition.len);
    tv_direction_add(of->inserts, &kept, 1, 0, at_ns + 1);
}

static void add(side *of, const tv_trace_write *write, tv_slice partition)
{
    of->loads[of->count++] =
        (load){.partition = partition, .slot = write->at_ns / slot_ns, .units = write->units};
}

static tv_writes_side judge(side *of)
{
    tv_writes_side result = {.hottest = hottest_of(of->loads, of->count)};
    tv_direction_window window;
    tv_direction *d = of->inserts;

    find_worst(of->loads, of->count, &result);
    if (d == NULL)
        return result;
    tv_direction_end_minute(d);
    result.has_direction = true;
    if (!tv_direction_look(d, d->last_ns, &window)) {
        result.has_direction = d->window_count > 0;
        window = d->windows[0];
    }
    if (!result.has_direction)
        return result;
    result.direction = window.row;
    result.moves = tv_direction_sign(&window);

    /* Where a window lies inside one partition, the partitions themselves may move. */
    uint32_t ups = (uint32_t)__builtin_popcountll(d->changes_up);

    if (result.moves == 0 && d->changes >= 3)
        result.moves = ups * 10 >= d->changes * 9                  ? 1
                       : (d->changes - ups) * 10 >= d->changes * 9 ? -1
                                                                   : 0;
    return result;
}

/* --- all of them --- */

tv_writes tv_writes_follow(const tv_trace *trace, tv_scratch *scratch, size_t design)
{
    bool has_order = trace->head.values == TV_WATCH_TRACE_FULL;
    side before = {0}, after = {0};
    tv_writes all = {0};
    uint64_t broken = 0, last = 0;
    tv_slice last_partition = TV_NONE;
    tv_direction *inserts = tv_calloc(2, sizeof *inserts);
    tv_arena arena;

    tv_arena_init(&arena);
    if (has_order) {
        before.inserts = &inserts[0];
        after.inserts = &inserts[1];
    }
    before.loads = tv_calloc(trace->write_count + 1, sizeof *before.loads);
    after.loads = tv_calloc(trace->write_count + 1, sizeof *after.loads);

    const size_t *numbers = find_entities(trace, scratch, &arena);

    for (size_t i = 0; i < trace->write_count; i++) {
        const tv_trace_write *write = &trace->writes[i];
        tv_slice partition, row;

        if (numbers[i] == SIZE_MAX ||
            !tv_scratch_keys_of(scratch, numbers[i], design, &partition, &row)) {
            all.unknown += !write->has_key;
            all.gone += write->has_key;
            continue;
        }
        if (write->request == last && !tv_slice_eq(partition, last_partition) &&
            broken != write->request) {
            all.broken++;
            broken = write->request;
        }
        last = write->request;
        last_partition = partition;
        all.writes++;
        all.units += write->units;
        add(&before, write, write->partition_key);
        add(&after, write, partition);
        if (has_order && write->is_insert) {
            add_insert(&before, &arena, write->partition_key, write->row_key, write->at_ns);
            add_insert(&after, &arena, partition, row, write->at_ns);
        }
    }
    all.before = judge(&before);
    all.after = judge(&after);
    free(before.loads);
    free(after.loads);
    free(inserts);
    tv_arena_done(&arena);
    return all;
}
