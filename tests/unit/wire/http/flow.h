/*
 * A service that streams, behind the listener of harness.h.  Bodies that come
 * in are hashed by a sink, bodies that go out are a pattern from a source:
 *
 *     /take          answers with the length and the hash of the body
 *     /pause?N       the same; pauses whenever N bytes have come, for a message
 *     /hold          the same; pauses at the first piece until server_release
 *     /early?N       answers 409 from inside the sink when N bytes have come
 *     /hold-early    pauses at the first piece; 409 after server_release
 *     /small         the same as /take with a limit of 10 bytes
 *
 *     /give?L,P      L bytes in pieces of P, at once
 *     /later?L,P     the same; every piece comes by a message
 *     /wait?L,P      the same at once, but the first piece after server_release
 *     /cut?L,P       gives half of it and aborts, at once
 *     /cut-later?L,P the same by a message
 *     /fail?L,P      answers 500 instead of the first piece, at once
 *     /fail-later?L,P  the same by a message
 *     /same?L        304 that would be L long, without a source
 *     /none?L        204, the same
 *
 * A service may do both: a /give or /later with a body takes that first.
 */
#ifndef TV_TESTS_UNIT_HTTP_FLOW_H
#define TV_TESTS_UNIT_HTTP_FLOW_H

#include "wire/http/conn.h"
#include "wire/http/harness.h"

typedef struct flow flow;

struct flow {
    tv_job job; /* first: its message leads here */
    void (*step)(flow *f);
    server *server;
    tv_request *req;
    bool is_held;        /* the next message waits for server_release */
    uint64_t numbers[2]; /* of the query */
    uint64_t hash, since_pause;
    uint64_t given;
    tv_buf piece;
};

/* What the tests ask afterwards. */
static atomic_size_t flow_waiting_max;  /* most input that waited while a sink held its request */
static atomic_ullong flow_in, flow_out; /* req->body_length and req->out_length of the last one */
static atomic_int flow_pauses, flow_pulls, flow_depth_max;
static atomic_size_t flow_round_max; /* most bytes given in one round of the loop */
static int flow_depth;               /* of pulls inside each other */
static size_t flow_round_bytes;
static int flow_round;

static inline uint64_t flow_hash(uint64_t hash, tv_slice bytes)
{
    hash = hash ? hash : 0xcbf29ce484222325;
    for (size_t i = 0; i < bytes.len; i++)
        hash = (hash ^ (unsigned char)bytes.data[i]) * 0x100000001b3;
    return hash;
}

/* The byte of the pattern at a place; no piece looks like another. */
static inline char flow_byte(uint64_t at)
{
    return (char)(at * 0x9e3779b97f4a7c15 >> 56);
}

static inline void flow_fill(tv_buf *buf, uint64_t from, uint64_t count)
{
    char *to = tv_buf_reserve(buf, count);

    for (uint64_t i = 0; i < count; i++)
        to[i] = flow_byte(from + i);
    buf->len += count;
}

static inline bool flow_is(const tv_request *req, const char *path)
{
    return tv_slice_eq(req->path, tv_slice_of(path));
}

static inline void flow_run(tv_job *job)
{
    flow *f = (flow *)job;

    if (f->is_held)
        sem_wait(&f->server->held);
}

static inline void flow_deliver(tv_mail *mail)
{
    flow *f = (flow *)mail;

    f->is_held = false;
    f->step(f);
}

/* Call `step` from a message, after server_release if the flow is held. */
static inline void flow_later(flow *f, void (*step)(flow *f))
{
    f->step = step;
    f->job = (tv_job){.run = flow_run, .reply_to = tv_loop_mailbox(f->req->loop)};
    f->job.mail.deliver = flow_deliver;
    tv_assert(tv_workers_submit(f->server->workers, &f->job));
}

static inline void flow_answer(tv_request *req, int status)
{
    flow *f = req->user;

    tv_response_start(req, status);
    tv_buf_printf(&req->out, "%llu %016llx", (unsigned long long)req->body_length,
                  (unsigned long long)f->hash);
    tv_response_send(req);
}

static inline void flow_resume(flow *f)
{
    size_t waiting = tv_exchange_of(f->req)->conn->in.len;

    if (waiting > atomic_load(&flow_waiting_max))
        atomic_store(&flow_waiting_max, waiting);
    tv_request_resume(f->req);
}

static inline void flow_answer_early(flow *f)
{
    flow_answer(f->req, 409);
}

static inline bool flow_take(tv_request *req, tv_slice piece)
{
    flow *f = req->user;

    tv_assert(piece.len > 0);
    tv_assert(tv_exchange_of(req)->body.size == 0);
    f->hash = flow_hash(f->hash, piece);
    f->since_pause += piece.len;
    if (flow_is(req, "/early") && req->body_length >= f->numbers[0]) {
        flow_answer_early(f);
        return false;
    }
    bool is_pause = flow_is(req, "/pause") && f->since_pause >= f->numbers[0];

    if (!is_pause && !f->is_held)
        return true;

    f->since_pause = 0;
    atomic_fetch_add(&flow_pauses, 1);
    flow_later(f, flow_is(req, "/hold-early") ? flow_answer_early : flow_resume);
    return false;
}

static const tv_body_sink flow_sink = {flow_take};

static inline void flow_give(flow *f)
{
    uint64_t left = f->numbers[0] - f->given;
    uint64_t count = left < f->numbers[1] ? left : f->numbers[1];
    bool is_cut = flow_is(f->req, "/cut") || flow_is(f->req, "/cut-later");
    bool is_failed = flow_is(f->req, "/fail") || flow_is(f->req, "/fail-later");

    tv_assert(tv_response_is_unsent(f->req) == (f->given == 0));
    if (is_failed) {
        flow_answer(f->req, 500);
        return;
    }
    if (is_cut && f->given >= f->numbers[0] / 2) {
        tv_response_abort(f->req);
        return;
    }
    flow_round_bytes = flow_round == f->server->rounds ? flow_round_bytes + count : count;
    flow_round = f->server->rounds;
    if (flow_round_bytes > atomic_load(&flow_round_max))
        atomic_store(&flow_round_max, flow_round_bytes);
    f->piece.len = 0;
    flow_fill(&f->piece, f->given, count);
    f->given += count;
    tv_response_piece(f->req, tv_buf_slice(&f->piece));
}

static inline void flow_pull(tv_request *req)
{
    flow *f = req->user;

    atomic_fetch_add(&flow_pulls, 1);
    if (++flow_depth > atomic_load(&flow_depth_max))
        atomic_store(&flow_depth_max, flow_depth);
    if (f->is_held || flow_is(req, "/later") || flow_is(req, "/cut-later") ||
        flow_is(req, "/fail-later"))
        flow_later(f, flow_give);
    else
        flow_give(f);
    flow_depth--;
}

static const tv_body_source flow_source = {flow_pull};

static inline bool flow_on_headers(void *ctx, tv_request *req)
{
    flow *f = tv_arena_zalloc(&req->arena, sizeof *f);
    tv_slice query = req->query.text;
    int index = 0;

    atomic_fetch_add(&((server *)ctx)->seen, 1);
    *f = (flow){.server = ctx, .req = req};
    for (size_t i = 0; i < query.len; i++) {
        if (query.data[i] == ',')
            index = 1;
        else
            f->numbers[index] = f->numbers[index] * 10 + (uint64_t)(query.data[i] - '0');
    }
    f->is_held = flow_is(req, "/hold") || flow_is(req, "/hold-early") || flow_is(req, "/wait");
    req->user = f;
    req->sink = &flow_sink;
    req->body_bytes_max = flow_is(req, "/small") ? 10 : 1 << 30;
    return true;
}

static inline void flow_on_request(void *ctx, tv_request *req)
{
    flow *f = req->user;

    tv_assert(req->body.len == 0);
    if (f->numbers[1]) {
        tv_response_start(req, 200);
        tv_response_send_from(req, f->numbers[0], &flow_source);
    } else if (flow_is(req, "/same") || flow_is(req, "/none")) {
        tv_response_start(req, flow_is(req, "/same") ? 304 : 204);
        tv_response_send_from(req, f->numbers[0], NULL);
    } else {
        flow_answer(req, 200);
    }
}

static inline void flow_on_refused(void *ctx, tv_request *req, tv_err err)
{
    server *s = ctx;

    atomic_fetch_add(&s->refused, 1);
    tv_response_start(req, tv_err_status(err));
    tv_buf_add(&req->out, tv_slice_of(tv_err_name(err)));
    tv_response_send(req);
}

static inline void flow_on_done(void *ctx, tv_request *req)
{
    server *s = ctx;
    flow *f = req->user;

    atomic_store(&flow_in, req->body_length);
    atomic_store(&flow_out, req->out_length);
    if (f)
        tv_buf_done(&f->piece);
    if (req->status == 0)
        atomic_fetch_add(&s->dropped, 1);
    atomic_fetch_add(&s->done, 1);
}

static inline server *flow_start(const tv_http_limits *limits, tv_tls *tls)
{
    atomic_store(&flow_waiting_max, 0);
    atomic_store(&flow_pauses, 0);
    atomic_store(&flow_pulls, 0);
    atomic_store(&flow_depth_max, 0);
    atomic_store(&flow_round_max, 0);
    return server_start_with((tv_http_handler){"flow", NULL, flow_on_headers, flow_on_request,
                                               flow_on_refused, flow_on_done},
                             limits, tls);
}

/* What a client must be told about a body of the first `len` bytes of the pattern. */
static inline const char *flow_receipt(tv_slice body)
{
    static char text[64];

    snprintf(text, sizeof text, "%zu %016llx", body.len,
             body.len ? (unsigned long long)flow_hash(0, body) : 0ULL);
    return text;
}

/* Send `body` with its length, or in chunks of `chunk` bytes. */
static inline void flow_send(client *c, const char *path, tv_slice body, size_t chunk)
{
    char line[256];

    snprintf(line, sizeof line, "PUT %s HTTP/1.1\r\nHost: h\r\n", path);
    client_send(c, line);
    if (chunk == 0) {
        snprintf(line, sizeof line, "Content-Length: %zu\r\n\r\n", body.len);
        client_send(c, line);
        client_send_slice(c, body);
        return;
    }
    client_send(c, "Transfer-Encoding: chunked\r\n\r\n");
    while (body.len) {
        tv_slice piece = tv_slice_take(body, body.len < chunk ? body.len : chunk);

        snprintf(line, sizeof line, "%zx\r\n", piece.len);
        client_send(c, line);
        client_send_slice(c, piece);
        client_send(c, "\r\n");
        body = tv_slice_skip(body, piece.len);
    }
    client_send(c, "0\r\n\r\n");
}

/* Read an answer that must be the first `len` bytes of the pattern. */
static inline void flow_expect(client *c, uint64_t len)
{
    answer a = client_answer(c);

    CHECK_INT(a.status, 200);
    CHECK_INT(a.body.len, len);
    for (size_t i = 0; i < a.body.len; i++) {
        if (a.body.data[i] != flow_byte(i))
            CHECK_FAIL("byte %zu is wrong", i);
    }
    client_forget(c, &a);
}

/* Vanish with a reset, as a crashed client does. */
static inline void client_vanish(client *c)
{
    struct linger reset = {.l_onoff = 1};

    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    client_close(c);
}

#endif
