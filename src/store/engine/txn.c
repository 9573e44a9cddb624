/*
 * The transaction: an overlay of rows over the engine.
 *
 * Every row that a group reads or writes has one `row` here: what the engine
 * held when it was first read ("base") and what the group would make of it
 * ("write").  A hash index finds it by key; the hash is keyed, because clients
 * choose the keys.  That gives, at no further cost:
 *
 *  - a function sees its own writes and those of the group before it;
 *  - a row written ten times in a group is written once: only its last write
 *    is in the batch;
 *  - a row read twice costs one engine read;
 *  - the bases are just what a shared engine has to check before it writes.
 *
 * Bases may also be fetched beforehand, for all functions of the group at once.  One that
 * no function has asked for since is not checked.
 *
 * Undo: each write first notes what it replaces in `undo`, so a function that
 * fails is taken back by walking its part of that list from the end.  Bases
 * stay when a function fails: its error depends on what it read, so a shared
 * engine must confirm those reads too before anybody hears of the error.
 *
 * Scans merge the engine's iterator with the rows that the group has written,
 * which `order` lists by key.  It is brought up to date when a scan begins: the
 * undo list tells what was written since the last time, so groups that never
 * scan pay nothing, and a scan costs one pass over `order` at most, however
 * much was written before it.
 */
#include "store/engine/txn.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/number.h"
#include "store/engine/instant.h"
#include "store/engine/key.h"

enum {
    SLOTS_MIN = 256, /* of the hash index; a power of two */
    UPDATE_ATTEMPTS_MAX = 100,
    KEPT_ROWS_MAX = 1 << 16, /* a bigger group's tables are freed, not kept for the next one */
    /* Rows that are fetched at once: fewer while they are large. */
    FETCH_ROWS_START = 128,
    FETCH_ROWS_MAX = 1024,
    /* One group of sixteen may be refused for what it has guessed; or guessing has to rest. */
    GUESS_WRONG_COST = 16,
    GUESS_WRONG_MAX = 3 * GUESS_WRONG_COST,
    GUESS_PAUSE = 1000,
};

/* What is fetched at once is to be about this much: how much a row holds is not known before. */
#define FETCH_BYTES_MAX ((size_t)8 << 20)

typedef enum write_kind { WRITE_NONE, WRITE_PUT, WRITE_DELETE } write_kind;

typedef struct txn_row {
    tv_slice key;
    uint64_t hash;
    tv_slice base; /* TV_NONE in `data` when the engine has no such row */
    bool base_is_known;
    bool is_expected; /* a function goes by the base: a shared engine has to check it */
    bool may_guess;   /* all who have announced it expect it to be absent */
    bool is_used;     /* a function has asked for it or written it */
    bool is_ordered;  /* it is in `order` */
    write_kind write;
    tv_slice value; /* of a put */
} txn_row;

typedef struct undo_note {
    size_t row;
    write_kind write;
    tv_slice value;
} undo_note;

struct tv_txn {
    tv_engine *engine;
    tv_arena arena; /* keys and values of the group */
    txn_row *rows;
    size_t row_count, rows_size;
    uint32_t *slots; /* index into rows + 1, 0 is free; linear probing */
    size_t slots_size;
    undo_note *undo;
    size_t undo_count, undo_size;
    uint32_t *order; /* numbers of rows that were written, by key; an undone one may be there too */
    size_t order_count, order_size;
    size_t undo_ordered; /* the rows of this many undo notes are in `order` */
    int scans_open;
    size_t rows_used;      /* see tv_txn_rows */
    size_t announced;      /* rows */
    size_t fetch_rows_max; /* by experience; over all groups */
    int wrong_guesses;     /* more with each that was wrong, less with each that was right */
    int guesses_off;       /* groups, until rows are taken for absent again; over all groups */
    bool has_guessed;      /* in this group */
    size_t views;          /* of the engine's rows: bases of one of them agree with each other */
    size_t bytes;          /* see tv_txn_bytes */
    size_t probes;         /* see tv_txn_probes */
    size_t steps;          /* see tv_txn_steps */
    bool is_freeing;       /* the function that runs has said so */
    bool has_other_writes; /* of functions that have not */
    bool is_late_ok;       /* as is_freeing: see tv_txn_declare_late */
    bool has_prompt_writes;
    tv_guard guard;  /* the function that runs has said so: see tv_txn_declare_guarded */
    tv_guard guards; /* the latest of those of functions that write */
    int64_t gone;    /* see tv_txn_note_gone; 0 for none */
    tv_write_batch batch;
    tv_txn_tally *tally; /* or NULL */
    tv_change *asides;   /* in the arena */
    size_t aside_count, aside_size;
    tv_slice partition; /* of the function that runs; TV_NONE outside of one */
    int64_t now;
    int64_t next_stamp; /* of this group */
    uint64_t fences;    /* that the engine knew of when the group began */
    bool lacks_memory;  /* the function that runs has put or deleted something without success */
    bool keeps_time;
    int64_t time_kept;  /* what the store is known to remember at least; 0 before the first time */
    int64_t time_noted; /* what this group makes it remember; 0 when it does not */
};

tv_txn *tv_txn_new(tv_engine *engine)
{
    tv_txn *txn = tv_calloc(1, sizeof *txn);

    txn->engine = engine;
    txn->fetch_rows_max = FETCH_ROWS_START;
    tv_arena_init(&txn->arena);
    return txn;
}

static void free_tables(tv_txn *txn)
{
    free(txn->rows);
    free(txn->slots);
    free(txn->undo);
    free(txn->order);
    tv_write_batch_done(&txn->batch);
    txn->rows = NULL;
    txn->slots = NULL;
    txn->undo = NULL;
    txn->order = NULL;
    txn->rows_size = txn->slots_size = txn->undo_size = txn->order_size = 0;
}

void tv_txn_free(tv_txn *txn)
{
    if (txn == NULL)
        return;

    free_tables(txn);
    tv_arena_done(&txn->arena);
    free(txn);
}

void tv_txn_begin(tv_txn *txn)
{
    tv_assert(txn->partition.data == NULL);

    tv_arena_reset(&txn->arena);
    if (txn->rows_size > KEPT_ROWS_MAX)
        free_tables(txn);
    else if (txn->row_count)
        memset(txn->slots, 0, txn->slots_size * sizeof *txn->slots);
    txn->row_count = txn->undo_count = txn->bytes = txn->probes = 0;
    txn->rows_used = txn->announced = txn->views = 0;
    txn->steps = 0;
    txn->order_count = txn->undo_ordered = 0;
    txn->asides = NULL; /* the arena had them */
    txn->aside_count = txn->aside_size = 0;
    txn->has_other_writes = txn->has_prompt_writes = txn->has_guessed = false;
    txn->guards = TV_GUARD_NONE;
    txn->gone = 0;
    txn->time_noted = 0;
    txn->now = txn->next_stamp = tv_instant_next();
    txn->fences = txn->engine->ops->fences ? txn->engine->ops->fences(txn->engine) : 0;
}

static void index_row(tv_txn *txn, size_t number)
{
    size_t slot = txn->rows[number].hash & (txn->slots_size - 1);

    while (txn->slots[slot])
        slot = (slot + 1) & (txn->slots_size - 1);
    txn->slots[slot] = (uint32_t)number + 1;
}

/* Make room for one more row, and keep the index at most half full. */
static bool grow(tv_txn *txn)
{
    size_t size = txn->slots_size ? txn->slots_size * 2 : SLOTS_MIN;
    uint32_t *slots;

    if (!tv_try_grow(&txn->rows, txn->row_count, &txn->rows_size, SLOTS_MIN / 2))
        return false;
    if (txn->slots_size >= 2 * (txn->row_count + 1))
        return true;

    tv_assert(txn->row_count < UINT32_MAX / 4);
    slots = calloc(size, sizeof *slots);
    if (slots == NULL)
        return false;

    free(txn->slots);
    txn->slots = slots;
    txn->slots_size = size;
    for (size_t i = 0; i < txn->row_count; i++)
        index_row(txn, i);
    return true;
}

/* No row: there is no memory for another one. */
#define NO_ROW SIZE_MAX

/* The number of the row with this key; a new one when the group has not met it. */
static size_t find_row(tv_txn *txn, tv_slice key)
{
    uint64_t hash = tv_hash(key);

    tv_assert(key.len > 0 && key.len <= TV_KEY_BYTES_MAX);
    if (txn->slots_size) {
        size_t slot = hash & (txn->slots_size - 1);

        for (; txn->slots[slot]; slot = (slot + 1) & (txn->slots_size - 1)) {
            const txn_row *row = &txn->rows[txn->slots[slot] - 1];

            txn->probes++;
            if (row->hash == hash && tv_slice_eq(row->key, key))
                return txn->slots[slot] - 1;
        }
    }

    if (!grow(txn))
        return NO_ROW;

    txn->rows[txn->row_count] = (txn_row){.key = tv_arena_dup(&txn->arena, key), .hash = hash};
    index_row(txn, txn->row_count);
    return txn->row_count++;
}

/* The same for the function that runs. */
static size_t use_row(tv_txn *txn, tv_slice key)
{
    size_t number;

    tv_assert(txn->partition.data != NULL && tv_slice_starts_with(key, txn->partition));
    number = find_row(txn, key);
    if (number != NO_ROW && !txn->rows[number].is_used) {
        txn->rows[number].is_used = true;
        txn->rows_used++;
        txn->bytes += txn->rows[number].base.len; /* if it was fetched */
    }
    return number;
}

static void set_base(txn_row *row, tv_slice value)
{
    row->base = value;
    row->base_is_known = true;
}

bool tv_txn_announce(tv_txn *txn, const tv_slice *keys, size_t count, bool expects_none)
{
    tv_assert(txn->partition.data == NULL && txn->rows_used == 0);
    if (txn->engine->ops->get_many == NULL)
        return true;
    if (txn->announced && txn->announced + count > txn->fetch_rows_max)
        return false;

    txn->announced += count ? count : 1; /* it asks for something, even if it did not say what */
    for (size_t i = 0; i < count; i++) {
        size_t known = txn->row_count, number = find_row(txn, keys[i]);

        if (number == NO_ROW)
            continue; /* without memory it is read later, if at all */
        /* Somebody may want to see it if another does not. */
        txn->rows[number].may_guess =
            expects_none && (number == known || txn->rows[number].may_guess);
    }
    return true;
}

/* The next fetch takes fewer rows if these were large, and more if they were small. */
static void learn_size(tv_txn *txn, size_t rows, size_t bytes)
{
    size_t max = txn->fetch_rows_max;

    if (bytes > FETCH_BYTES_MAX)
        max = rows * FETCH_BYTES_MAX / bytes;
    else if (bytes < FETCH_BYTES_MAX / 2)
        max *= 2;
    txn->fetch_rows_max = max < 1 ? 1 : max > FETCH_ROWS_MAX ? FETCH_ROWS_MAX : max;
}

/*
 * Take rows for absent, where that is expected.  Returns whether all are known now.
 * What follows from a guess is always confirmed: a guess is a view of its own.
 */
static bool guess(tv_txn *txn)
{
    bool all_known = true;

    if (!txn->engine->ops->is_shared)
        return false; /* it would not check */
    if (txn->guesses_off) {
        txn->guesses_off--;
        return false;
    }
    for (size_t i = 0; i < txn->row_count; i++) {
        if (txn->rows[i].may_guess) {
            set_base(&txn->rows[i], TV_NONE);
            txn->has_guessed = true;
        }
        all_known &= txn->rows[i].base_is_known;
    }
    txn->views += 2 * txn->has_guessed;
    return all_known;
}

tv_err tv_txn_fetch(tv_txn *txn)
{
    tv_engine *engine = txn->engine;
    size_t count = 0, bytes = 0;
    tv_err err;

    if (engine->ops->get_many == NULL || txn->row_count == 0 || guess(txn))
        return TV_OK;

    tv_slice *keys = tv_arena_alloc(&txn->arena, 2 * txn->row_count * sizeof *keys);
    tv_slice *values = keys + txn->row_count;

    for (size_t i = 0; i < txn->row_count; i++) {
        if (!txn->rows[i].base_is_known)
            keys[count++] = txn->rows[i].key;
    }
    err = engine->ops->get_many(engine, keys, count, &txn->arena, values);
    if (err)
        return err == TV_ERR_MOVED || err == TV_ERR_TIMED_OUT ? err : TV_OK;

    count = 0;
    for (size_t i = 0; i < txn->row_count; i++) {
        if (txn->rows[i].base_is_known)
            continue;
        bytes += values[count].len;
        set_base(&txn->rows[i], values[count++]);
    }
    txn->views++;
    learn_size(txn, count, bytes);
    /* Other nodes have written meanwhile: an instant of before would be behind theirs. */
    if (tv_instant_now() > txn->now)
        txn->now = txn->next_stamp = tv_instant_next();
    return TV_OK;
}

static tv_err read_base(tv_txn *txn, txn_row *row)
{
    tv_slice value = TV_NONE;
    tv_err err = tv_engine_get(txn->engine, TV_READ_ANY, row->key, &txn->arena, &value);

    if (err && err != TV_ERR_NOT_FOUND)
        return err;
    if (err == TV_OK && value.data == NULL)
        value.data = ""; /* a row with an empty value is not an absent one */
    set_base(row, value);
    txn->bytes += value.len;
    txn->views++;
    return TV_OK;
}

static tv_err get(tv_txn *txn, tv_slice key, bool is_expected, tv_slice *ret_value)
{
    size_t number = use_row(txn, key); /* may move `rows` */
    txn_row *row;
    tv_err err;

    if (number == NO_ROW)
        return TV_ERR_OVERLOADED;

    row = &txn->rows[number];
    txn->steps++;
    if (row->write == WRITE_DELETE)
        return TV_ERR_NOT_FOUND;
    if (row->write == WRITE_PUT) {
        *ret_value = row->value;
        return TV_OK;
    }

    if (!row->base_is_known) {
        err = read_base(txn, row);
        if (err)
            return err;
    }
    row->is_expected |= is_expected;
    if (row->base.data == NULL)
        return TV_ERR_NOT_FOUND;

    *ret_value = row->base;
    return TV_OK;
}

tv_err tv_txn_get(tv_txn *txn, tv_slice key, tv_slice *ret_value)
{
    return get(txn, key, true, ret_value);
}

tv_err tv_txn_peek(tv_txn *txn, tv_slice key, tv_slice *ret_value)
{
    return get(txn, key, false, ret_value);
}

static void set_write(tv_txn *txn, tv_slice key, write_kind kind, tv_slice value)
{
    size_t number = use_row(txn, key);
    txn_row *row;

    tv_assert(txn->scans_open == 0);
    txn->steps++;
    if (number == NO_ROW ||
        !tv_try_grow(&txn->undo, txn->undo_count, &txn->undo_size, SLOTS_MIN / 2)) {
        txn->lacks_memory = true;
        return;
    }
    row = &txn->rows[number];
    txn->undo[txn->undo_count++] = (undo_note){number, row->write, row->value};
    row->write = kind;
    row->value = value;
    txn->bytes += key.len + value.len;
}

void tv_txn_put(tv_txn *txn, tv_slice key, tv_slice value)
{
    tv_slice copy;

    if (tv_arena_try_dup(&txn->arena, value, &copy))
        txn->lacks_memory = true;
    else
        set_write(txn, key, WRITE_PUT, copy);
}

void tv_txn_delete(tv_txn *txn, tv_slice key)
{
    set_write(txn, key, WRITE_DELETE, TV_NONE);
}

void tv_txn_declare_freeing(tv_txn *txn)
{
    tv_assert(txn->partition.data != NULL);
    txn->is_freeing = true;
}

void tv_txn_declare_late(tv_txn *txn)
{
    tv_assert(txn->partition.data != NULL);
    txn->is_late_ok = true;
}

void tv_txn_declare_guarded(tv_txn *txn, tv_slice guard, tv_guard kind)
{
    size_t number = use_row(txn, guard);

    /* What the group has put without a look is compared with nothing: then it is not late. */
    if (number == NO_ROW || !txn->rows[number].is_expected)
        return;

    txn->is_late_ok = true;
    txn->guard = kind;
}

/* See TV_INSTANT_AHEAD_MAX; and what goes on from the last instant before it is a tick later. */
static bool is_far_ahead(const tv_txn *txn, int64_t instant)
{
    return instant - txn->now > TV_INSTANT_AHEAD_MAX;
}

void tv_txn_pass(tv_txn *txn, int64_t instant)
{
    /* Elsewhere they only grow. */
    if (!txn->engine->ops->is_shared || is_far_ahead(txn, instant))
        return;
    if (txn->next_stamp <= instant)
        txn->next_stamp = instant + 1;
    tv_instant_pass(instant);
}

void tv_txn_note_gone(tv_txn *txn, int64_t instant)
{
    tv_txn_pass(txn, instant);
    if (txn->gone < instant && !is_far_ahead(txn, instant))
        txn->gone = instant;
}

static int compare_numbers(const void *a, const void *b, void *rows)
{
    const txn_row *row_a = (const txn_row *)rows + *(const uint32_t *)a;
    const txn_row *row_b = (const txn_row *)rows + *(const uint32_t *)b;

    return tv_slice_cmp(row_a->key, row_b->key);
}

/* How many of the first `count` rows in key order have a key below `key`. */
static size_t order_find(const tv_txn *txn, size_t count, tv_slice key)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (tv_slice_cmp(txn->rows[txn->order[middle]].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Append the numbers of the rows written since the last time to `order`, not yet in their place. */
static size_t order_append_new(tv_txn *txn)
{
    size_t count = txn->order_count;

    for (; txn->undo_ordered < txn->undo_count; txn->undo_ordered++) {
        size_t number = txn->undo[txn->undo_ordered].row;

        if (txn->rows[number].is_ordered)
            continue;

        txn->rows[number].is_ordered = true;
        txn->order[count++] = (uint32_t)number;
    }
    return count - txn->order_count;
}

/*
 * Bring `order` up to date.  The new numbers are sorted and then go to their
 * places from the last to the first, so that every old one moves at most once.
 */
static tv_err order_update(tv_txn *txn)
{
    size_t new_max = txn->undo_count - txn->undo_ordered, old_count = txn->order_count, new_count;
    uint32_t *fresh;

    if (new_max == 0)
        return TV_OK;

    while (txn->order_size < old_count + new_max) {
        if (!tv_try_grow(&txn->order, txn->order_size, &txn->order_size, SLOTS_MIN / 2))
            return TV_ERR_OVERLOADED;
    }
    fresh = malloc(new_max * sizeof *fresh);
    if (fresh == NULL)
        return TV_ERR_OVERLOADED;

    new_count = order_append_new(txn);
    memcpy(fresh, txn->order + old_count, new_count * sizeof *fresh);
    qsort_r(fresh, new_count, sizeof *fresh, compare_numbers, txn->rows);
    for (size_t left = new_count, end = old_count; left > 0; left--) {
        size_t at = order_find(txn, end, txn->rows[fresh[left - 1]].key);

        memmove(txn->order + at + left, txn->order + at, (end - at) * sizeof *txn->order);
        txn->order[at + left - 1] = fresh[left - 1];
        end = at;
    }
    txn->order_count = old_count + new_count;
    free(fresh);
    return TV_OK;
}

tv_err tv_txn_scan_begin(tv_txn *txn, tv_slice from, tv_slice to, tv_txn_scan *ret_scan)
{
    tv_iter *iter;
    tv_err err;

    tv_assert(txn->partition.data != NULL && tv_slice_starts_with(from, txn->partition));
    err = order_update(txn);
    if (err)
        return err;

    err = tv_engine_iter(txn->engine, from, to, &iter);
    if (err)
        return err;

    tv_iter_seek(iter, from);
    txn->scans_open++;
    txn->views += 2; /* whatever it gives is of no view that anybody checks */
    *ret_scan = (tv_txn_scan){
        .txn = txn,
        .iter = iter,
        .to = to,
        .at = order_find(txn, txn->order_count, from),
    };
    return TV_OK;
}

/* The next row that the group itself has written and not undone; NULL when there is none. */
static const txn_row *next_own(tv_txn_scan *scan)
{
    const tv_txn *txn = scan->txn;

    for (; scan->at < txn->order_count; scan->at++) {
        const txn_row *row = &txn->rows[txn->order[scan->at]];

        if (tv_slice_cmp(row->key, scan->to) >= 0)
            return NULL;
        if (row->write != WRITE_NONE)
            return row;
    }
    return NULL;
}

bool tv_txn_scan_next(tv_txn_scan *scan)
{
    scan->txn->steps++;
    if (scan->is_on_engine_row)
        tv_iter_next(scan->iter);
    scan->is_on_engine_row = false;

    for (;;) {
        bool has_stored = tv_iter_is_valid(scan->iter);
        const txn_row *own;

        /* Own rows beyond the point where the engine broke off would hide the gap. */
        if (!has_stored && tv_iter_status(scan->iter) != TV_OK)
            return false;

        own = next_own(scan);
        if (!has_stored && own == NULL)
            return false;

        int order = !has_stored   ? 1
                    : own == NULL ? -1
                                  : tv_slice_cmp(tv_iter_key(scan->iter), own->key);

        if (order < 0) {
            scan->key = tv_iter_key(scan->iter);
            scan->value = tv_iter_value(scan->iter);
            scan->is_on_engine_row = true;
            break;
        }
        if (order == 0)
            tv_iter_next(scan->iter); /* the group has written this row again, or deleted it */
        scan->at++;
        if (own->write == WRITE_PUT) {
            scan->key = own->key;
            scan->value = own->value;
            break;
        }
    }
    tv_assert(tv_slice_starts_with(scan->key, scan->txn->partition));
    return true;
}

tv_err tv_txn_scan_end(tv_txn_scan *scan)
{
    tv_err err = tv_iter_status(scan->iter);

    tv_assert(scan->txn->scans_open > 0);
    scan->txn->scans_open--;
    tv_iter_free(scan->iter);
    scan->iter = NULL;
    return err;
}

int64_t tv_txn_now(const tv_txn *txn)
{
    return txn->now;
}

int64_t tv_txn_stamp(tv_txn *txn)
{
    int64_t stamp = txn->next_stamp++;

    tv_instant_pass(stamp);
    return stamp;
}

tv_engine *tv_txn_engine(const tv_txn *txn)
{
    return txn->engine;
}

size_t tv_txn_rows(const tv_txn *txn)
{
    return txn->rows_used;
}

size_t tv_txn_bytes(const tv_txn *txn)
{
    return txn->bytes;
}

size_t tv_txn_steps(const tv_txn *txn)
{
    return txn->steps;
}

size_t tv_txn_probes(const tv_txn *txn)
{
    return txn->probes;
}

tv_err tv_txn_run(tv_txn *txn, tv_slice partition, tv_update_fn *fn, void *ctx)
{
    size_t savepoint = txn->undo_count;
    tv_err err;

    tv_assert(partition.len > 0 && txn->partition.data == NULL);
    txn->partition = partition;
    txn->is_freeing = txn->is_late_ok = false;
    txn->guard = TV_GUARD_NONE;
    txn->lacks_memory = false;
    err = fn(txn, ctx);
    if (err == TV_OK && txn->lacks_memory)
        err = TV_ERR_OVERLOADED;
    txn->partition = TV_NONE;
    tv_assert(txn->scans_open == 0);
    if (err == TV_OK) {
        txn->has_other_writes |= !txn->is_freeing && txn->undo_count > savepoint;
        txn->has_prompt_writes |= !txn->is_late_ok && txn->undo_count > savepoint;
        if (txn->guard > txn->guards && txn->undo_count > savepoint)
            txn->guards = txn->guard;
        return TV_OK;
    }

    while (txn->undo_count > savepoint) {
        const undo_note *note = &txn->undo[--txn->undo_count];

        txn->rows[note->row].write = note->write;
        txn->rows[note->row].value = note->value;
    }
    if (txn->undo_ordered > txn->undo_count)
        txn->undo_ordered = txn->undo_count;
    return err;
}

void tv_txn_keep_time(tv_txn *txn)
{
    txn->keeps_time = true;
}

/* Another committer, or another node, may be ahead; that is as good. */
static tv_err note_time(tv_txn *txn, void *latest)
{
    int64_t instant = *(int64_t *)latest, stored = 0;
    char text[TV_INT64_TEXT_MAX];
    tv_slice value;
    tv_err err;

    err = tv_txn_get(txn, TV_KEY_TIME, &value);
    if (err == TV_OK)
        err = tv_instant_parse(value, &stored);
    if (err && err != TV_ERR_NOT_FOUND)
        return err;

    tv_txn_declare_freeing(txn); /* it takes no side: the functions of the group decide */
    if (stored < instant)
        tv_txn_put(txn, TV_KEY_TIME, (tv_slice){text, tv_format_int64(text, instant)});
    txn->time_noted = instant;
    return TV_OK;
}

/* The latest instant that a function can have had. */
static int64_t latest_of(const tv_txn *txn)
{
    return txn->next_stamp > txn->now ? txn->next_stamp - 1 : txn->now;
}

/* Before a group is written: let the store remember its instants, see instant.h. */
static tv_err keep_time(tv_txn *txn)
{
    int64_t latest = latest_of(txn);

    if (!txn->keeps_time || txn->undo_count == 0 || latest < txn->time_kept + TV_INSTANT_STEP)
        return TV_OK;

    return tv_txn_run(txn, TV_KEY_STORE, note_time, &latest);
}

void tv_txn_set_tally(tv_txn *txn, tv_txn_tally *tally)
{
    tv_assert(!txn->engine->ops->is_shared);
    txn->tally = tally;
}

void tv_txn_put_aside(tv_txn *txn, tv_slice key, tv_slice value)
{
    tv_arena_grow(&txn->arena, &txn->asides, txn->aside_count, &txn->aside_size, 8);
    txn->asides[txn->aside_count++] = (tv_change){TV_CHANGE_PUT, tv_arena_dup(&txn->arena, key),
                                                  tv_arena_dup(&txn->arena, value)};
}

/* Let the tally count what the group has changed of its rows.  `ret_counted`: it has. */
static tv_err run_tally(tv_txn *txn, bool *ret_counted)
{
    tv_txn_change *changes = NULL;
    size_t count = 0;

    for (size_t i = 0; i < txn->row_count; i++) {
        txn_row *row = &txn->rows[i];

        if (row->write == WRITE_NONE || row->key.data[0] != txn->tally->space)
            continue;
        if (!row->base_is_known) {
            tv_err err = read_base(txn, row);

            if (err)
                return err == TV_ERR_IO ? TV_ERR_CORRUPT : err; /* as in tv_txn_commit */
        }
        if (row->write == WRITE_DELETE && row->base.data == NULL)
            continue;
        if (changes == NULL)
            changes = tv_arena_alloc(&txn->arena, (txn->row_count - i) * sizeof *changes);
        changes[count++] =
            (tv_txn_change){row->key, row->base, row->write == WRITE_PUT ? row->value : TV_NONE};
    }
    if (count == 0)
        return TV_OK;

    tv_err err = txn->tally->count(txn->tally, txn, changes, count);

    *ret_counted = err == TV_OK;
    return err;
}

/* What the engine is to check and to write: each row once, in the order the group met them. */
static tv_err build_batch(tv_txn *txn, bool *ret_has_writes)
{
    bool is_shared = txn->engine->ops->is_shared;
    tv_err err = tv_write_batch_reserve(&txn->batch, 2 * txn->row_count + txn->aside_count);

    *ret_has_writes = false;
    if (err)
        return err;

    tv_write_batch_clear(&txn->batch);
    txn->batch.is_freeing = !txn->has_other_writes;
    txn->batch.may_be_late = !txn->has_prompt_writes;
    txn->batch.guard = txn->guards;
    txn->batch.gone = txn->gone;
    txn->batch.fences = txn->fences;
    for (size_t i = 0; i < txn->row_count; i++) {
        const txn_row *row = &txn->rows[i];

        if (is_shared && row->is_expected) {
            tv_change_kind kind = row->base.data ? TV_CHANGE_EXPECT_VALUE : TV_CHANGE_EXPECT_ABSENT;

            tv_write_batch_add(&txn->batch, (tv_change){kind, row->key, row->base});
        }
        if (row->write != WRITE_NONE) {
            tv_change_kind kind = row->write == WRITE_PUT ? TV_CHANGE_PUT : TV_CHANGE_DELETE;

            tv_write_batch_add(&txn->batch, (tv_change){kind, row->key, row->value});
            *ret_has_writes = true;
        }
    }
    for (size_t i = 0; i < txn->aside_count; i++)
        tv_write_batch_add(&txn->batch, txn->asides[i]);
    txn->batch.stamp = *ret_has_writes ? latest_of(txn) : 0;
    txn->batch.first_stamp = *ret_has_writes ? txn->now : 0;
    return TV_OK;
}

/* Rows of different views may never have been there together. */
static bool has_to_be_confirmed(const tv_txn *txn)
{
    return txn->engine->ops->is_shared && txn->views > 1 && txn->batch.count > 0;
}

/*
 * A guess that was wrong costs an operation and a second run of the group.  At once after it
 * nothing is guessed, so that the group gets to its end; and for long when guesses are often wrong,
 * as where clients insert rows again that are there.
 */
static void learn_guesses(tv_txn *txn, bool is_refused)
{
    if (!txn->has_guessed)
        return;
    txn->wrong_guesses += is_refused ? GUESS_WRONG_COST : -(txn->wrong_guesses > 0);
    if (is_refused)
        txn->guesses_off = 1;
    if (txn->wrong_guesses > GUESS_WRONG_MAX) {
        txn->guesses_off = GUESS_PAUSE;
        txn->wrong_guesses = 0;
    }
}

tv_err tv_txn_commit(tv_txn *txn)
{
    bool has_writes = false, is_counted = false;
    tv_err err;

    tv_assert(txn->partition.data == NULL && txn->aside_count == 0);
    err = keep_time(txn);
    if (err == TV_ERR_IO)
        return TV_ERR_CORRUPT; /* of a read: TV_ERR_IO would say that something may be written */
    if (err == TV_OK && txn->tally && txn->undo_count)
        err = run_tally(txn, &is_counted);
    if (err == TV_OK)
        err = build_batch(txn, &has_writes);
    if (err == TV_OK && (has_writes || has_to_be_confirmed(txn))) {
        err = tv_engine_write(txn->engine, &txn->batch);
        learn_guesses(txn, err == TV_ERR_CONFLICT);
    }
    if (is_counted)
        txn->tally->settle(txn->tally, err);
    if (err == TV_OK && txn->time_noted)
        txn->time_kept = txn->time_noted;
    return err;
}

tv_err tv_engine_update(tv_engine *engine, tv_slice partition, tv_update_fn *fn, void *ctx)
{
    tv_txn *txn = tv_txn_new(engine);
    tv_err err = TV_ERR_CONFLICT, own = TV_OK;

    for (int i = 0; err == TV_ERR_CONFLICT && i < UPDATE_ATTEMPTS_MAX; i++) {
        tv_txn_begin(txn);
        own = tv_txn_run(txn, partition, fn, ctx);
        err = tv_txn_commit(txn);
    }
    tv_txn_free(txn);
    return err ? err : own;
}
