/* See trace.h. */
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advice/advice.h"
#include "base/number.h"
#include "watch/conn.h"
#include "watch/snapshot.h"
#include "watch/trace.h"

enum { SHAPES_MAX = 8192, CONNECTIONS = 256, FOLD_EVERY = 4096 };

/* A shape whose text was on an earlier line. */
typedef struct known_shape {
    uint64_t fingerprint;
    char *text;
} known_shape;

typedef struct replay {
    tv_watch *watch;
    int64_t began_ns;  /* of this file, by the recorder's clock */
    int64_t behind_ns; /* of its time that was passed over */
    known_shape shapes[SHAPES_MAX];
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

static const char *shape_text(replay *r, uint64_t fingerprint, tv_slice text)
{
    size_t at = fingerprint % SHAPES_MAX, tries = 0;

    while (r->shapes[at].text && r->shapes[at].fingerprint != fingerprint && tries++ < SHAPES_MAX)
        at = (at + 1) % SHAPES_MAX;
    if (!r->shapes[at].text && text.len)
        r->shapes[at] = (known_shape){fingerprint, tool_copy_part(text.data, text.len)};
    return r->shapes[at].text && r->shapes[at].fingerprint == fingerprint ? r->shapes[at].text
                                                                          : NULL;
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
        text[key->partition_len] = '\x01';
        key->key = (tv_slice){text, key->partition_len + 1};
    }
}

static void record(replay *r, tv_arena *arena, tv_watch_traced *request)
{
    tv_watch_event *event = &request->event;

    r->lost += request->lost;
    if (event->op == TV_WATCH_OPS)
        return;
    event->time_ns = move_clock(r, event->time_ns);
    event->conn = conn_of(r, request->connection);
    if (request->table.len)
        event->table = tv_watch_table(r->watch, request->account, request->table);
    if (request->has_shape) {
        const char *text = shape_text(r, request->shape.fingerprint, request->shape.text);

        if (text) {
            request->shape.text =
                tv_slice_take(tv_slice_of(text),
                              strlen(text) < TV_SHAPE_TEXT_MAX ? strlen(text) : TV_SHAPE_TEXT_MAX);
            event->query.shape = &request->shape;
        }
    }
    make_up_keys(r, arena, request);
    tv_watch_record(tv_watch_shard_at(r->watch, 0), event);
    if (++r->requests % FOLD_EVERY == 0)
        tv_watch_fold(r->watch);
}

/* ---- files ----------------------------------------------------------------------------------- */

static tool_exit take_line(replay *r, const char *path, uint64_t number, tv_slice line,
                           bool is_ended)
{
    tv_watch_traced request;
    tool_exit exit = TOOL_OK;
    char why[200];
    tv_arena arena;

    tv_arena_init(&arena);
    if (number == 1 && line.len >= 2 && memcmp(line.data, "\x1f\x8b", 2) == 0)
        exit = tool_refuse("%s is packed; unpack it with gzip -d first", path);
    else if (number == 1 && !tv_watch_trace_read_head(&arena, line, why, sizeof why))
        exit = tool_refuse("%s: %s", path, why);
    else if (!is_ended)
        exit = tool_refuse("%s is cut off in the middle of line %llu", path,
                           (unsigned long long)number);
    else if (number > 1 && !tv_watch_trace_read_line(&arena, line, &request))
        exit = tool_refuse("%s line %llu is not one of a trace", path, (unsigned long long)number);
    else if (number > 1)
        record(r, &arena, &request);
    tv_arena_done(&arena);
    return exit;
}

static tool_exit take_file(replay *r, const char *path)
{
    FILE *file = fopen(path, "r");
    tool_exit exit = TOOL_OK;
    uint64_t number = 0;
    char *text = NULL;
    size_t size = 0;
    ssize_t len;

    if (!file)
        return tool_refuse("cannot read %s: %s", path, strerror(errno));
    r->began_ns = tv_watch_now(r->watch);
    r->behind_ns = 0;
    while (!exit && (len = getline(&text, &size, file)) > 0) {
        bool is_ended = text[len - 1] == '\n';

        exit = take_line(r, path, ++number, (tv_slice){text, (size_t)(is_ended ? len - 1 : len)},
                         is_ended);
    }
    if (!exit && ferror(file))
        exit = tool_refuse("cannot read %s: %s", path, strerror(errno));
    else if (!exit && number == 0)
        exit = tool_refuse("%s is empty", path);
    free(text);
    fclose(file);
    return exit;
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

static void judge(replay *r, tv_advice *advice, const char *mark, const tv_params *params,
                  tool_trace_answer *ret_answer)
{
    tv_advice_query query = {
        .since = tv_slice_of(mark), .params = params, .limit = SIZE_MAX, .is_redacted = true};
    tv_buf out = TV_BUF_EMPTY;

    /* A run that has ended leaves its walks. */
    tv_watch_advance(r->watch, INT64_C(61000000000));
    tv_advice_write(advice, &query, &out);
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
    char mark[TV_EVIDENCE_MARK_SIZE];
    tool_exit exit = TOOL_OK;
    tv_watch_source source;
    tv_advice *advice;

    memset(r, 0, sizeof *r);
    r->watch = tv_watch_new(
        &(tv_watch_options){.shard_count = 1, .samples_all = true, .is_clock_manual = true});
    source = (tv_watch_source){.watch = r->watch};
    advice = tv_advice_new(&(tv_advice_options){.source = tv_watch_evidence_source(&source)});
    tv_advice_mark(advice, mark);
    for (size_t i = 0; !exit && i < count; i++)
        exit = take_file(r, paths[i]);
    if (!exit)
        judge(r, advice, mark, &params, ret_answer);
    ret_answer->lost = r->lost;
    tv_advice_free(advice);
    tv_watch_free(r->watch);
    for (size_t i = 0; i < SHAPES_MAX; i++)
        free(r->shapes[i].text);
    free(r);
    return exit;
}

void tool_trace_answer_done(tool_trace_answer *answer)
{
    tool_text_done(&answer->advice);
    tool_text_done(&answer->shapes);
}
