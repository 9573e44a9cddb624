/*
 * The engine of a test: the memory engine or, with TAVOLA_TEST_ENGINE=ranges, the same as a
 * cluster, with ranges and short pages and without snapshots.  meson.build lists the tests
 * that run on both.
 */
#ifndef TV_TESTS_UNIT_TEST_ENGINE_H
#define TV_TESTS_UNIT_TEST_ENGINE_H

#include <stdlib.h>
#include <string.h>

#include "store/engine/memory/memory.h"

static inline bool test_has_ranges(void)
{
    const char *name = getenv("TAVOLA_TEST_ENGINE");

    return name && strcmp(name, "ranges") == 0;
}

/* A range for each kind of rows: engine/key.h. */
static inline tv_engine *test_engine_new(const tv_memory_options *options)
{
    static const char *const starts[] = {"b", "o", "q", "r", "s", "t"};
    enum { COUNT = sizeof starts / sizeof *starts };
    tv_slice cuts[COUNT];

    if (!test_has_ranges())
        return tv_memory_engine_new(options);

    tv_memory_options ranged = options ? *options : (tv_memory_options){0};

    ranged.has_ranges = true;
    ranged.page_rows = 7;

    tv_engine *cut = tv_memory_engine_new(&ranged);

    for (size_t i = 0; i < COUNT; i++)
        cuts[i] = tv_slice_of(starts[i]);
    tv_memory_set_cuts(cut, cuts, COUNT);
    return cut;
}

#endif
