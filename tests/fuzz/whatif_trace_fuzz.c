/*
 * A whole file of a trace, as lint and whatif read it.  What is wrong with it is told in one line;
 * of what can be read, samples and writes are within their bounds, every sample becomes a filter or
 * none, and every write is followed.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "fuzz.h"
#include "insight/whatif/writes.h"

static tv_scratch *make_entities(tv_arena *arena)
{
    tv_scratch *scratch = tv_scratch_new();

    for (int i = 0; i < 12; i++) {
        tv_property list[] = {
            {.name = TV_LIT("Age"), .type = TV_EDM_INT32, .int32 = i % 5},
            {.name = TV_LIT("Email"),
             .type = TV_EDM_STRING,
             .bytes = tv_arena_printf(arena, "u%d@x", i / 2)},
        };

        tv_scratch_add(scratch, tv_arena_printf(arena, "p%d", i % 3),
                       tv_arena_printf(arena, "r%d", i), 1, list, 2);
    }
    return scratch;
}

static void replay(const tv_trace *trace, tv_scratch *scratch, tv_values *values)
{
    for (size_t i = 0; i < trace->shape_count; i++) {
        const tv_trace_shape *shape = &trace->shapes[i];

        tv_assert(shape->text.len && shape->sample_count <= shape->executions &&
                  shape->sample_count <= TV_TRACE_SAMPLES_MAX);
        for (size_t j = 0; j < shape->sample_count; j++) {
            tv_scratch_result result;
            tv_filter *filter;
            tv_arena arena;

            tv_arena_init(&arena);
            if (tv_trace_filter(shape, &shape->samples[j], values, &arena, &filter))
                tv_assert(tv_scratch_run(scratch, 0, filter, &arena, &result));
            tv_arena_done(&arena);
        }
    }
}

static void check(const tv_trace *trace)
{
    tv_scratch_fit fit;
    tv_values *values;
    tv_scratch *scratch;
    tv_design design;
    tv_writes all;
    tv_arena arena;
    char problem[100];

    tv_arena_init(&arena);
    scratch = make_entities(&arena);
    tv_assert(tv_design_parse(TV_LIT("PartitionKey={Email};RowKey={RowKey}"), &design, problem,
                              sizeof problem));
    tv_scratch_add_design(scratch, NULL, &fit);
    tv_scratch_add_design(scratch, &design, &fit);
    values = tv_values_new(scratch);
    tv_trace_count_hashes(trace, values);
    replay(trace, scratch, values);
    all = tv_writes_follow(trace, scratch, 1);
    tv_assert(all.writes + all.unknown + all.gone == trace->write_count);
    tv_assert(all.broken <= trace->write_requests);
    tv_assert(all.before.hottest >= 0 && all.before.hottest <= 1);
    tv_assert(all.after.worst_share >= 0 && all.after.worst_share <= 1);
    tv_values_free(values);
    tv_scratch_free(scratch);
    tv_arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("trace", MFD_CLOEXEC);
    char path[40], why[400] = "";
    tv_trace trace;

    tv_assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (tv_trace_load(path, TV_LIT("acct"), TV_LIT("Emp"), &trace, why, sizeof why))
        check(&trace);
    else
        tv_assert(why[0] && strchr(why, '\n') == NULL);
    tv_trace_done(&trace);
    close(fd);
    return 0;
}
