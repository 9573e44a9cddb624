/* See recent.h. */
#include "services/service/recent.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/log_ring.h"
#include "services/service/call.h"

/* Texts of clients; with all of these a line is shorter than the ring takes, whatever is escaped.
 */
enum { PATH_BYTES_MAX = 1024, AGENT_BYTES_MAX = 96 };

struct tv_recent {
    atomic_llong until_ns; /* it is filled until then */
    pthread_mutex_t lock;
    tv_log_ring ring; /* guarded by it */
};

tv_recent *tv_recent_new(void)
{
    tv_recent *recent = tv_calloc(1, sizeof *recent);

    pthread_mutex_init(&recent->lock, NULL);
    return recent;
}

void tv_recent_free(tv_recent *recent)
{
    if (recent == NULL)
        return;
    pthread_mutex_destroy(&recent->lock);
    free(recent);
}

/* What a client has sent, cut and made printable, without what JSON would escape. */
static tv_slice plain(tv_arena *arena, tv_slice text, size_t bytes_max)
{
    tv_slice copy =
        tv_arena_dup(arena, tv_slice_take(text, text.len < bytes_max ? text.len : bytes_max));
    char *at = (char *)copy.data;

    for (size_t i = 0; i < copy.len; i++) {
        if (at[i] < 0x20 || at[i] >= 0x7f || at[i] == '"' || at[i] == '\\')
            at[i] = '?';
    }
    return copy;
}

static void add_call(tv_buf *out, const tv_call *call, int64_t ns)
{
    tv_request *req = call->req;
    tv_slice agent = tv_request_header(req, TV_LIT("user-agent"));

    tv_json_open(out, NULL, '{');
    tv_json_time(out, "at", tv_clock_ticks());
    tv_json_text(out, "service", tv_service_kind_name(call->service->spec->kind));
    tv_json_text(out, "method", tv_method_text(req->method));
    tv_json_text(out, "operation", tv_slice_of(call->op->name));
    tv_json_text(out, "path",
                 plain(&req->arena, tv_log_redact(&req->arena, req->path), PATH_BYTES_MAX));
    tv_json_number(out, "status", (uint64_t)req->status);
    if (call->error)
        tv_json_text(out, "code", tv_err_code(call->error));
    tv_json_number(out, "us", (uint64_t)(ns / 1000));
    tv_json_number(out, "bytesIn", (uint64_t)req->body_length);
    tv_json_number(out, "bytesOut", (uint64_t)(req->out.len + req->out_length));
    tv_json_text(out, "peer", tv_slice_of(req->peer));
    tv_json_text(out, "agent", plain(&req->arena, agent, AGENT_BYTES_MAX));
    tv_json_text(out, "requestId", (tv_slice){call->request_id, TV_GUID_TEXT_LEN});
    tv_buf_add_char(out, '}');
}

void tv_recent_note(tv_recent *recent, const tv_call *call, int64_t end_ns, int64_t ns)
{
    tv_buf line = TV_BUF_EMPTY;

    if (atomic_load_explicit(&recent->until_ns, memory_order_relaxed) < end_ns)
        return;

    add_call(&line, call, ns);
    tv_recent_add(recent, tv_buf_slice(&line));
    tv_buf_done(&line);
}

void tv_recent_add(tv_recent *recent, tv_slice object)
{
    pthread_mutex_lock(&recent->lock);
    tv_log_ring_add(&recent->ring, 0, object);
    pthread_mutex_unlock(&recent->lock);
}

void tv_recent_read(tv_recent *recent, tv_recent_query *query, int64_t now_ns, tv_buf *out)
{
    int64_t until = now_ns + TV_RECENT_LOOKED_S * INT64_C(1000000000);
    uint64_t number;
    int level;

    query->was_off = atomic_exchange(&recent->until_ns, until) < now_ns;
    pthread_mutex_lock(&recent->lock);
    query->first = tv_log_ring_first(&recent->ring);
    query->last = recent->ring.count;
    number = query->after + 1 > query->first ? query->after + 1 : query->first;
    if (number <= query->last && query->last - number >= query->count_max)
        number = query->last - query->count_max + 1;
    for (; query->after < query->last && number <= query->last; number++) {
        tv_slice object = tv_log_ring_at(&recent->ring, number, &level);

        tv_json_open(out, NULL, '{');
        tv_json_number(out, "n", number);
        tv_buf_add_char(out, ',');
        tv_buf_add(out, tv_slice_skip(object, 1));
    }
    pthread_mutex_unlock(&recent->lock);
}
