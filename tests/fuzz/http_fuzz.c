/*
 * The head parser, the chunked decoder, and a connection.  Every input is read
 * whole and again in pieces, and both readings must agree in all they say.  Then
 * it is sent to a listener whose sink pauses at any time: that must see the
 * same body.  Other inputs are answered early there, or their client vanishes;
 * then every request must still end.
 */
#include "fuzz.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/buf.h"
#include "wire/http/chunked.h"
#include "wire/http/listener.h"
#include "wire/http/parser.h"

enum { HEAD_MAX = 4096, COUNT_MAX = 16 };

typedef struct reading {
    tv_err err;
    size_t end; /* of the head or the body; 0 when incomplete */
    tv_head head;
    tv_buf body;
} reading;

/* The next piece is 1 to 8 bytes, by a rule that depends on nothing but the place. */
static size_t next_len(size_t len, size_t total, bool is_split)
{
    size_t step = is_split ? 1 + (len * 7 + len / 3) % 8 : total;

    return total - len < step ? total : len + step;
}

static reading read_head(tv_arena *arena, tv_slice input, bool is_split)
{
    reading r = {0};
    tv_head_scan scan = {0};

    for (size_t len = 0; len < input.len && r.end == 0;) {
        len = next_len(len, input.len, is_split);
        r.err = tv_head_scan_run(&scan, tv_slice_take(input, len), HEAD_MAX, COUNT_MAX, &r.end);
        if (r.err)
            return r;
    }
    if (r.end)
        r.err = tv_head_parse(arena, tv_slice_skip(tv_slice_take(input, r.end), scan.start),
                              scan.line_count, &r.head);
    return r;
}

static void compare_heads(const reading *a, const reading *b)
{
    tv_assert(a->err == b->err);
    if (a->err || a->end == 0)
        return;

    const tv_head *x = &a->head, *y = &b->head;

    tv_assert(a->end == b->end);
    tv_assert(x->method == y->method && tv_slice_eq(x->path, y->path));
    tv_assert(tv_slice_eq(x->query, y->query) && tv_slice_eq(x->host, y->host));
    tv_assert(x->header_count == y->header_count && x->content_length == y->content_length);
    tv_assert(x->path.len > 0 && x->path.data[0] == '/');
    tv_assert(x->is_1_0 || x->host.len > 0);
    tv_assert(!x->is_chunked || !x->has_length);
    for (size_t i = 0; i < x->header_count; i++) {
        tv_assert(tv_is_token(x->headers[i].name));
        tv_assert(tv_http_is_field_value(x->headers[i].value));
        tv_assert(tv_slice_eq(x->headers[i].value, y->headers[i].value));
    }
}

static reading read_body(tv_slice input, bool is_split)
{
    reading r = {0};
    tv_chunked chunked = {0};
    bool is_done = false;

    for (size_t used = 0, len = 0; len < input.len && !is_done;) {
        len = next_len(len, input.len, is_split);
        while (used < len && !is_done) {
            tv_slice piece = tv_slice_skip(tv_slice_take(input, len), used), data;

            r.err = tv_chunked_decode(&chunked, &piece, &data, &is_done);
            if (r.err)
                return r;
            tv_buf_add(&r.body, data);
            used = len - piece.len;
        }
        r.end = is_done ? used : 0;
    }
    return r;
}

/* What must become of the first request of an input. */
typedef enum outcome { INCOMPLETE, REFUSED, COMPLETE } outcome;

typedef enum mode { TO_THE_END, EARLY_ANSWER, VANISHING_CLIENT } mode;

static struct {
    tv_loop *loop;
    tv_listener *listener;
    tv_http_handler service;
    tv_http_limits limits;
    uint64_t random;
    mode mode;
    tv_request *paused, *pulled; /* what the service owes a call */
    int asked, refused_unasked, done;
    bool is_first;   /* nothing but the first request has been heard of */
    outcome outcome; /* of it */
    tv_buf body;     /* of it */
} peer;

enum { BODY_MAX = 1 << 20 };

static bool chance(unsigned one_in)
{
    peer.random ^= peer.random << 13;
    peer.random ^= peer.random >> 7;
    peer.random ^= peer.random << 17;
    return peer.random % one_in == 0;
}

static bool sink_take(tv_request *req, tv_slice piece)
{
    tv_assert(piece.len > 0 && peer.paused == NULL);
    if (peer.is_first)
        tv_buf_add(&peer.body, piece);
    if (peer.mode == EARLY_ANSWER && chance(3)) {
        tv_response_start(req, 409);
        tv_response_send(req);
        return false;
    }
    if (chance(2))
        return true;
    peer.paused = req;
    return false;
}

static void give(tv_request *req)
{
    static const char zeros[64];

    /* `user` counts what is left of the body. */
    size_t left = (size_t)(uintptr_t)req->user, count = 1 + peer.random % sizeof zeros;

    if (count > left)
        count = left;
    req->user = (void *)(uintptr_t)(left - count);
    if (chance(50))
        tv_response_abort(req);
    else
        tv_response_piece(req, (tv_slice){zeros, count});
}

static void source_pull(tv_request *req)
{
    tv_assert(peer.pulled == NULL);
    if (chance(2))
        give(req);
    else
        peer.pulled = req;
}

static bool on_headers(void *ctx, tv_request *req)
{
    static const tv_body_sink sink = {sink_take};

    if (++peer.asked > 1)
        peer.is_first = false;
    req->sink = &sink;
    req->body_bytes_max = BODY_MAX;
    return true;
}

static void on_request(void *ctx, tv_request *req)
{
    static const tv_body_source source = {source_pull};

    tv_assert(req->body.len == 0 && !peer.paused);
    if (peer.is_first) {
        tv_assert(req->body_length == peer.body.len);
        peer.outcome = COMPLETE;
    }
    req->user = (void *)(uintptr_t)(peer.random % 200);
    tv_response_start(req, 200);
    tv_response_send_from(req, (uint64_t)(uintptr_t)req->user, &source);
}

static void on_refused(void *ctx, tv_request *req, tv_err err)
{
    if (req->sink == NULL) {
        peer.refused_unasked++;
        peer.is_first = peer.is_first && peer.asked == 0;
    }
    if (peer.is_first)
        peer.outcome = REFUSED;
    tv_response_start(req, tv_err_status(err));
    tv_response_send(req);
}

static void on_done(void *ctx, tv_request *req)
{
    tv_assert(req != peer.paused && req != peer.pulled);
    peer.done++;
}

static void start_peer(void)
{
    char error[256];
    sigset_t broken_pipe;

    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE);
    sigprocmask(SIG_BLOCK, &broken_pipe, NULL);
    peer.service = (tv_http_handler){"fuzz", NULL, on_headers, on_request, on_refused, on_done};
    peer.limits = tv_http_limits_default;
    peer.limits.head_bytes_max = HEAD_MAX;
    peer.limits.header_count_max = COUNT_MAX;
    peer.loop = tv_loop_new(0);
    peer.listener = tv_listener_new(peer.loop, "127.0.0.1", 0, &peer.service, &peer.limits, NULL,
                                    error, sizeof error);
    tv_assert(peer.listener);
}

/* A round of the loop; then the service does what it owes, or lets it wait. */
static void turn(void)
{
    tv_request *paused = peer.paused, *pulled = peer.pulled;

    uv_run(tv_loop_uv(peer.loop), UV_RUN_NOWAIT);
    if (paused && chance(2)) {
        peer.paused = NULL;
        if (peer.mode == EARLY_ANSWER && chance(3)) {
            tv_response_start(paused, 409);
            tv_response_send(paused);
        } else {
            tv_request_resume(paused);
        }
    }
    if (pulled && chance(2)) {
        peer.pulled = NULL;
        give(pulled);
    }
}

static int connect_client(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)tv_listener_port(peer.listener)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct linger reset = {.l_onoff = 1}; /* a port of its own for every input is too many */
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    tv_assert(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    return fd;
}

/* Send an input to the listener; what must be seen of it there was found out before. */
static void talk(tv_slice input, outcome want, tv_slice body)
{
    enum { TURNS_MAX = 10 * 1000 * 1000 };

    if (peer.loop == NULL)
        start_peer();
    peer.random = 88172645463325252 + input.len;
    for (size_t i = 0; i < input.len; i++)
        peer.random = peer.random * 31 + (unsigned char)input.data[i] + !peer.random;
    peer.mode = chance(4) ? EARLY_ANSWER : chance(4) ? VANISHING_CLIENT : TO_THE_END;
    peer.asked = peer.refused_unasked = peer.done = 0;
    peer.is_first = true;
    peer.outcome = INCOMPLETE;
    peer.body.len = 0;

    int fd = connect_client(), turns = 0;

    while (input.len) {
        size_t count = chance(2) ? input.len : 1 + peer.random % input.len;
        ssize_t sent = send(fd, input.data, count, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0 && errno != EAGAIN)
            break; /* refused and closed */
        input = tv_slice_skip(input, sent > 0 ? (size_t)sent : 0);
        turn();
        if (peer.mode == VANISHING_CLIENT && chance(4))
            break;
    }
    if (peer.mode == TO_THE_END) {
        while (peer.outcome != want || peer.body.len != body.len) {
            tv_assert(turns++ < TURNS_MAX);
            turn();
        }
        tv_assert(tv_slice_eq(tv_buf_slice(&peer.body), body));
    }
    close(fd);
    while (tv_listener_connections(peer.listener) > 0 || turns++ < 3)
        turn();
    tv_assert(peer.paused == NULL && peer.pulled == NULL);
    tv_assert(peer.done == peer.asked + peer.refused_unasked);
}

/* From what the parsers say of an input to what a connection must make of it. */
static void talk_about(tv_slice input, const reading *head, tv_slice rest, const reading *chunked)
{
    outcome want = INCOMPLETE;
    tv_slice body = TV_NONE;

    if (head->err) {
        want = REFUSED;
    } else if (head->end && head->head.is_chunked) {
        want = chunked->err ? REFUSED : chunked->end ? COMPLETE : INCOMPLETE;
        body = tv_buf_slice(&chunked->body);
    } else if (head->end && head->head.content_length > BODY_MAX) {
        want = REFUSED;
    } else if (head->end) {
        want = rest.len >= head->head.content_length ? COMPLETE : INCOMPLETE;
        body = want ? tv_slice_take(rest, head->head.content_length) : rest;
    }
    talk(input, want, body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_slice input = {(const char *)data, size};
    tv_arena arena;

    tv_arena_init(&arena);
    reading whole = read_head(&arena, input, false), split = read_head(&arena, input, true);
    compare_heads(&whole, &split);

    /* What follows the head is its body; without a head all of it is. */
    tv_slice rest = tv_slice_skip(input, whole.err ? 0 : whole.end);
    reading body = read_body(rest, false), split_body = read_body(rest, true);

    tv_assert(body.err == split_body.err && body.end == split_body.end);
    tv_assert(tv_slice_eq(tv_buf_slice(&body.body), tv_buf_slice(&split_body.body)));
    talk_about(input, &whole, rest, &body);
    tv_buf_done(&body.body);
    tv_buf_done(&split_body.body);
    tv_arena_done(&arena);
    return 0;
}
