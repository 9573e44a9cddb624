/*
 * A design of keys, and behind it a line for each filter.  A design that is refused is refused in
 * one line; under the keys of one that is taken every filter returns what it returns now, whenever
 * the design can answer it.
 */
#include <string.h>

#include "base/assert.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "insight/whatif/rewrite.h"
#include "insight/whatif/store.h"

enum { ENTITIES = 24, FILTERS_MAX = 8 };

/* Entities that have what designs and filters name, but not each of them all. */
static tv_scratch *make_entities(tv_arena *arena)
{
    static const char *const names[] = {"ann", "Bob", "\xc3\xa9ve", "b/o?b%", ""};
    tv_scratch *scratch = tv_scratch_new();

    for (int i = 0; i < ENTITIES; i++) {
        tv_property list[5] = {
            {.name = TV_LIT("Age"), .type = TV_EDM_INT32, .int32 = i % 7 - 2},
            {.name = TV_LIT("Big"), .type = TV_EDM_INT64, .int64 = (i % 5 - 2) * INT64_C(1000000)},
            {.name = TV_LIT("Mix"), .type = i % 2 ? TV_EDM_INT32 : TV_EDM_INT64},
            {.name = TV_LIT("Name"), .type = TV_EDM_STRING, .bytes = tv_slice_of(names[i % 5])},
            {.name = TV_LIT("When"),
             .type = TV_EDM_DATETIME,
             .ticks = INT64_C(630822816000000000) + i % 6 * INT64_C(36000000000)},
        };

        if (i % 2)
            list[2].int32 = i % 3;
        else
            list[2].int64 = i % 3;
        tv_scratch_add(scratch, tv_arena_printf(arena, "p%d", i % 4),
                       tv_arena_printf(arena, "r%02d", i), 1 + i, list, i % 8 == 7 ? 3 : 5);
    }
    return scratch;
}

static void compare(tv_scratch *scratch, tv_slice text, tv_arena *arena)
{
    tv_scratch_result before, after;
    tv_error_info info = {0};
    tv_filter *filter;

    if (!tv_utf8_is_valid(text) || tv_filter_parse(arena, text, &filter, &info))
        return;
    tv_assert(tv_scratch_run(scratch, 0, filter, arena, &before));
    tv_assert(before.matches <= ENTITIES && before.examined <= ENTITIES);
    if (tv_scratch_run(scratch, 1, filter, arena, &after))
        tv_assert(after.sum == before.sum && after.matches == before.matches);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice rest = {(const char *)data, size}, line;
    char problem[512] = "";
    tv_scratch_fit fit;
    tv_scratch *scratch;
    tv_design design;
    tv_arena arena;

    if (size == 0 || !tv_slice_next(&rest, '\n', &line))
        return 0;
    if (!tv_design_parse(line, &design, problem, sizeof problem)) {
        tv_assert(problem[0] && strchr(problem, '\n') == NULL);
        return 0;
    }
    tv_arena_init(&arena);
    scratch = make_entities(&arena);
    tv_scratch_add_design(scratch, NULL, &fit);
    tv_scratch_add_design(scratch, &design, &fit);
    tv_assert(fit.missing + fit.colliding <= ENTITIES && fit.partitions <= ENTITIES);
    for (int i = 0; i < FILTERS_MAX && tv_slice_next(&rest, '\n', &line); i++)
        compare(scratch, line, &arena);
    tv_scratch_free(scratch);
    tv_arena_done(&arena);
    return 0;
}
