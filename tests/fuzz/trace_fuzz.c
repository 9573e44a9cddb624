/*
 * Traces of requests.  The first line is a head and the others are requests, whatever they are;
 * what can be read can be recorded.
 */
#include "base/assert.h"
#include "fuzz.h"
#include "insight/watch/conn.h"
#include "insight/watch/trace.h"
#include "insight/watch/watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice rest = {(const char *)data, size}, line;
    tv_watch *watch = tv_watch_new(&(tv_watch_options){.shard_count = 1, .is_clock_manual = true});
    struct tv_watch_conn conn = {0};
    char why[200] = "";

    if (size == 0)
        rest = TV_LIT("");
    while (tv_slice_next(&rest, '\n', &line)) {
        tv_watch_trace_head head;
        tv_watch_traced request;
        tv_arena arena;

        tv_arena_init(&arena);
        if (!tv_watch_trace_read_head(&arena, line, &head, why, sizeof why))
            tv_assert(why[0] && strchr(why, '\n') == NULL);
        if (tv_watch_trace_read_line(&arena, line, &request) &&
            request.event.op != TV_ENTITY_OP_COUNT) {
            tv_assert(request.event.op < TV_ENTITY_OP_COUNT && request.event.time_ns >= 0);
            if (request.table.len)
                request.event.table = tv_watch_table(watch, TV_LIT("a"), request.table, 0);
            if (request.has_shape)
                request.event.query.shape = &request.shape;
            request.event.conn = &conn;
            request.event.time_ns = tv_watch_now(watch);
            tv_watch_record(tv_watch_shard_at(watch, 0), &request.event);
        }
        tv_arena_done(&arena);
    }
    tv_watch_fold(watch);
    tv_watch_free(watch);
    return 0;
}
