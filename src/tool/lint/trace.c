/* See trace.h. */
#include "trace.h"

#include "data.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "insight/advice/advice.h"
#include "insight/watch/conn.h"
#include "insight/watch/snapshot.h"
#include "insight/watch/trace.h"
#include "store/engine/key.h"

enum { CONNECTIONS = 256, FOLD_EVERY = 4096 };

typedef struct replay {
    tv_watch *watch;
    tool_lint_data *data;
    int64_t began_ns;  /* of this file, by the recorder's clock */
    int64_t behind_ns; /* of its time that was passed over */
    struct tv_watch_conn conns[CONNECTIONS];
    uint64_t conn_ids[CONNECTIONS];
    uint64_t requests, lost, unknown_keys;
} replay;

/* ---- one request ----------------------------------------------------------------------------- */

/* The recorder's time is that of the trace; of long silences two hours are enough. */
static int64_t move_clock(replay *r, int64_t trace_ns)
{
    const int64_t second = 1000000000, silence_max = 7200 * second;
    int64_t now = tv_watch_now(r->watch), at = r->began_ns + trace_ns - r->behind_ns;

    if (at - now > silence_max) {
        r->behind_ns += at - now - silence_max;
        at = now + silence_max;
    }
    if (at - now >= second)
        tv_watch_advance(r->watch, at - now);
    return at;
}

static struct tv_watch_conn *conn_of(replay *r, uint64_t connection)
{
    size_t at = (connection >> 20) % CONNECTIONS;

    if (r->conn_ids[at] != connection) {
        r->conn_ids[at] = connection;
        memset(&r->conns[at], 0, sizeof r->conns[at]);
    }
    return &r->conns[at];
}

/* A key that the trace does not show is like no other. */
static void make_up_keys(replay *r, tv_arena *arena, tv_watch_traced *request)
{
    for (size_t i = 0; i < request->event.key_count; i++) {
        tv_watch_key *key = &request->keys[i];
        char *text;

        if (key->key.len > 1)
            continue;
        text = tv_arena_alloc(arena, 40);
        key->partition_len =
            (uint32_t)snprintf(text, 40, "?%llu", (unsigned long long)r->unknown_keys++);
        text[key->partition_len] = TV_KEY_MARK;
        key->key = (tv_slice){text, key->partition_len + 1};
    }
}

static void record(void *ctx, const tv_watch_trace_head *head, tv_arena *arena,
                   tv_watch_traced *request)
{
    replay *r = ctx;
    tv_watch_event *event = &request->event;

    r->lost += request->lost;
    if (event->op == TV_ENTITY_OP_COUNT || tool_stop_signal())
        return;
    event->time_ns = move_clock(r, event->time_ns);
    event->conn = conn_of(r, request->connection);
    if (request->table.len)
        event->table = tv_watch_table(r->watch, request->account, request->table, 0);
    if (request->has_shape && request->shape.text.len)
        event->query.shape = &request->shape;
    if (!event->is_overloaded)
        tool_lint_data_add(r->data, head, request);
    make_up_keys(r, arena, request);
    tv_watch_record(tv_watch_shard_at(r->watch, 0), event);
    if (++r->requests % FOLD_EVERY == 0)
        tv_watch_fold(r->watch);
}

static tool_exit take_file(replay *r, const char *path)
{
    char why[1024];

    r->began_ns = tv_watch_now(r->watch);
    r->behind_ns = 0;
    return tv_watch_trace_read_file(path, record, r, why, sizeof why) ? TOOL_OK
                                                                      : tool_refuse("%s", why);
}

/* ---- judging --------------------------------------------------------------------------------- */

static tv_params params_of(const char *thresholds)
{
    tv_params params = tv_params_default(TV_EVIDENCE_RUN);
    tv_slice list = thresholds ? tv_slice_of(thresholds) : TV_NONE, one;

    while (tv_slice_next(&list, ',', &one)) {
        size_t equals = tv_slice_find(one, '=');
        double number;

        if (equals < one.len && tv_parse_double(tv_slice_skip(one, equals + 1), &number))
            tv_params_set(&params, tv_slice_take(one, equals), number);
    }
    return params;
}

static void judge(replay *r, const char *mark, const tv_params *params,
                  tool_trace_answer *ret_answer)
{
    tv_advice_query query = {.limit = SIZE_MAX, .is_redacted = true};
    tv_advice *advice = tv_advice_new(NULL);
    tv_buf out = TV_BUF_EMPTY;
    tv_evidence *evidence;
    tv_findings found;
    tv_arena arena;

    /* A run that has ended leaves its walks. */
    tv_watch_advance(r->watch, INT64_C(61000000000));
    tv_arena_init(&arena);
    if (tv_watch_take(r->watch, &arena, mark, &evidence))
        exit(tool_trouble("out of memory"));
    for (size_t i = 0; i < evidence->table_count; i++)
        tool_lint_data_fill(r->data, &arena, &evidence->tables[i]);
    found = tv_rules_judge(&arena, evidence, params);
    tv_advice_write_run(advice, &query, &arena, evidence, &found, &out);
    tv_arena_done(&arena);
    tv_advice_free(advice);
    tool_text_add(&ret_answer->advice, out.data, out.len);
    out.len = 0;
    tv_watch_list_shapes(r->watch, &(tv_watch_list){.since = tv_slice_of(mark)}, &out);
    tool_text_add(&ret_answer->shapes, out.data, out.len);
    tv_buf_done(&out);
}

tool_exit tool_trace_judge(const char *const *paths, size_t count, const char *thresholds,
                           tool_trace_answer *ret_answer)
{
    replay *r = tool_alloc(sizeof *r);
    tv_params params = params_of(thresholds);
    char mark[TV_WATCH_MARK_SIZE];
    tool_exit exit = TOOL_OK;

    memset(r, 0, sizeof *r);
    r->watch = tv_watch_new(
        &(tv_watch_options){.shard_count = 1, .samples_all = true, .is_clock_manual = true});
    r->data = tool_lint_data_new();
    tv_watch_mark(r->watch, mark);
    for (size_t i = 0; !exit && i < count; i++)
        exit = take_file(r, paths[i]);
    if (!exit && tool_stop_signal())
        exit = tool_stopped();
    if (!exit)
        judge(r, mark, &params, ret_answer);
    ret_answer->lost = r->lost;
    tv_watch_free(r->watch);
    tool_lint_data_free(r->data);
    free(r);
    return exit;
}

void tool_trace_answer_done(tool_trace_answer *answer)
{
    tool_text_done(&answer->advice);
    tool_text_done(&answer->shapes);
}
