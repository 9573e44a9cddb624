/* Windows by subtraction. */
#include "insight/watch/tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/assert.h"

static size_t width(const tv_tally *tally)
{
    return (size_t)(tally->sum_count + tally->max_count);
}

static uint64_t *slot_at(const tv_tally *tally, int64_t slot)
{
    return tally->numbers + width(tally) * (size_t)(1 + slot % TV_TALLY_SLOTS);
}

void tv_tally_init(tv_tally *tally, int sum_count, int max_count)
{
    *tally = (tv_tally){.sum_count = sum_count, .max_count = max_count};
    tally->numbers = tv_calloc(width(tally) * (1 + TV_TALLY_SLOTS), sizeof *tally->numbers);
}

void tv_tally_done(tv_tally *tally)
{
    free(tally->numbers);
    for (int i = 0; i < TV_TALLY_MARKS; i++)
        free(tally->marks[i]);
    *tally = (tv_tally){0};
}

size_t tv_tally_bytes(const tv_tally *tally)
{
    size_t rows = 1 + TV_TALLY_SLOTS;

    for (int i = 0; i < TV_TALLY_MARKS; i++)
        rows += tally->marks[i] != NULL;
    return sizeof(uint64_t) * width(tally) * rows;
}

void tv_tally_raise(tv_tally *tally, int64_t slot, int max, uint64_t value)
{
    size_t at = (size_t)(tally->sum_count + max);

    tv_raise(&tally->numbers[at], value);
    tv_raise(&slot_at(tally, slot)[at], value);
    for (int i = 0; i < TV_TALLY_MARKS; i++) {
        if (tally->marks[i])
            tv_raise(&tally->marks[i][at], value);
    }
}

void tv_tally_begin_slot(tv_tally *tally, int64_t slot)
{
    uint64_t *begun = slot_at(tally, slot);

    memcpy(begun, tally->numbers, (size_t)tally->sum_count * sizeof *begun);
    memset(begun + tally->sum_count, 0, (size_t)tally->max_count * sizeof *begun);
}

void tv_tally_mark(tv_tally *tally, int mark)
{
    tv_assert(mark >= 0 && mark < TV_TALLY_MARKS);
    if (tally->marks[mark] == NULL)
        tally->marks[mark] = tv_malloc(width(tally) * sizeof(uint64_t));
    memcpy(tally->marks[mark], tally->numbers, (size_t)tally->sum_count * sizeof(uint64_t));
    memset(tally->marks[mark] + tally->sum_count, 0, (size_t)tally->max_count * sizeof(uint64_t));
}

/* The oldest slot, after the one at hand in the circle, has what there was when the window began.
 */
uint64_t tv_tally_sum(const tv_tally *tally, int64_t slot, int mark, int sum)
{
    uint64_t before = 0;

    if (mark == TV_TALLY_LIVE)
        before = slot_at(tally, slot + 1)[sum];
    else if (tally->marks[mark])
        before = tally->marks[mark][sum];
    return tally->numbers[sum] - before;
}

uint64_t tv_tally_max(const tv_tally *tally, int64_t slot, int mark, int max)
{
    size_t at = (size_t)(tally->sum_count + max);
    uint64_t greatest = 0;

    (void)slot;
    if (mark != TV_TALLY_LIVE)
        return tally->marks[mark] ? tally->marks[mark][at] : tally->numbers[at];
    for (int i = 0; i < TV_TALLY_SLOTS; i++)
        tv_raise(&greatest, slot_at(tally, i)[at]);
    return greatest;
}
