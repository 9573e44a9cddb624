/* Uploads through a real listener: pieces, pauses, digests, faults, and clients that go. */
#include "services/blob/body/upload.h"

#include <signal.h>
#include <sys/resource.h>

#include "base/base64.h"
#include "store/extent/fixture.h"
#include "wire/http/flow.h"

enum { MIB = 1024 * 1024, BUFFER = 256 * 1024 };

static tv_blob_io io;
static tv_digests wanted;
static sem_t gate;          /* blocks a worker: see block_worker */
static atomic_int blocked;  /* workers that wait at the gate */
static tv_job gate_jobs[8]; /* each is used once: its completion waits in gate_box until the end */
static int gate_count;
static tv_mailbox gate_box;
static bool is_hesitant; /* a piece takes as long as a worker, and a refusal goes out later */

typedef struct talk {
    tv_blob_upload *upload;
    tv_digest_claims claims;
    tv_mail refusal;
    tv_request *req;
    tv_err refused;
} talk;

static void wake_nobody(void *ctx)
{
    (void)ctx;
}

static void setup(size_t buffers, int workers)
{
    make_folder("/tmp");
    io = (tv_blob_io){.extents = open_store(),
                      .workers = tv_workers_new(workers, 1000),
                      .in = tv_buffers_new(BUFFER, buffers)};
    io.hasher = tv_hasher_new(io.workers);
    wanted = (tv_digests){.has_md5 = true, .has_crc64 = true};
    sem_init(&gate, 0, 0);
    tv_mailbox_init(&gate_box, wake_nobody, NULL);
    atomic_store(&blocked, 0);
    gate_count = 0;
    is_hesitant = false;
}

/* Everything has come back, and nothing is left on the disk but what was finished. */
static void teardown(server *s, int64_t extents)
{
    server_end(s);
    tv_hasher_stop(io.hasher);
    tv_workers_free(io.workers);
    tv_hasher_free(io.hasher);
    CHECK_INT(tv_buffers_used(io.in), 0);
    tv_buffers_free(io.in);
    wait_for_removals(io.extents, 0);
    CHECK_INT(read_metrics(io.extents).extents, extents);
    tv_extents_close(io.extents);
    tv_mailbox_deliver(&gate_box);
    tv_mailbox_done(&gate_box);
    sem_destroy(&gate);
    remove_folder();
}

/* Until no upload has a buffer any more. */
static void wait_for_buffers(void)
{
    WAIT_UNTIL(tv_buffers_used(io.in) == 0);
}

static void run_gate(tv_job *job)
{
    (void)job;
    atomic_fetch_add(&blocked, 1);
    sem_wait(&gate);
}

static void deliver_nothing(tv_mail *mail)
{
    (void)mail;
}

/* Let a worker do nothing until sem_post(&gate). */
static void block_worker(void)
{
    tv_job *job = &gate_jobs[gate_count++];

    *job = (tv_job){.run = run_gate, .reply_to = &gate_box};
    job->mail.deliver = deliver_nothing;
    CHECK(tv_workers_submit(io.workers, job));
    wait_for(&blocked, gate_count);
}

static void answer_error(tv_request *req, tv_err err)
{
    tv_response_start(req, tv_err_status(err));
    tv_buf_add(&req->out, tv_slice_of(tv_err_name(err)));
    tv_response_send(req);
}

static void on_stored(tv_request *req, tv_err err, const tv_blob_upload_result *result)
{
    talk *st = req->user;
    tv_error_info info = {0};
    char text[64];

    if (!err) {
        err = tv_digest_claims_check(&st->claims, &result->digests, &req->arena, &info);
        if (err)
            tv_extents_remove(io.extents, &result->extent, 1);
    }
    if (err) {
        answer_error(req, err);
        return;
    }
    tv_response_start(req, 201);
    tv_base64_encode(text, (tv_slice){(const char *)result->digests.md5, TV_MD5_BYTES});
    tv_buf_printf(&req->out, "%llu %llx %llx ", (unsigned long long)result->length,
                  (unsigned long long)result->extent.boot,
                  (unsigned long long)result->extent.number);
    if (result->digests.has_md5)
        tv_buf_add(&req->out, (tv_slice){text, 24});
    tv_response_send(req);
}

static bool upload_take(tv_request *req, tv_slice piece)
{
    talk *st = req->user;
    bool takes_more = tv_blob_upload_take(st->upload, piece);

    /* The first buffer is with a worker, which fails; what comes next comes before its message. */
    if (is_hesitant && req->body_length >= BUFFER)
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    return takes_more;
}

static void deliver_refusal(tv_mail *mail)
{
    talk *st = (talk *)((char *)mail - offsetof(talk, refusal));

    answer_error(st->req, st->refused);
}

/* The service may take its time for the answer; so may the socket. */
static void on_failed(tv_request *req, tv_err err)
{
    talk *st = req->user;
    tv_mail_chain chain = {0};

    if (!is_hesitant) {
        answer_error(req, err);
        return;
    }
    st->req = req;
    st->refused = err;
    st->refusal.deliver = deliver_refusal;
    tv_mail_chain_add(&chain, &st->refusal);
    tv_mailbox_post(tv_loop_mailbox(req->loop), &chain);
}

static const tv_body_sink upload_sink = {upload_take};

static bool upload_on_headers(void *ctx, tv_request *req)
{
    talk *st = tv_arena_zalloc(&req->arena, sizeof *st);
    tv_slice header = TV_NONE;
    tv_err err = tv_digest_claims_read(req, false, &st->claims, &header);

    atomic_fetch_add(&((server *)ctx)->seen, 1);
    req->user = st;
    if (err) {
        answer_error(req, err);
        return false;
    }
    req->sink = &upload_sink;
    req->body_bytes_max = UINT64_C(1) << 32;
    st->upload = tv_blob_upload_new(&io, req, &wanted, on_failed);
    return true;
}

static void upload_on_request(void *ctx, tv_request *req)
{
    (void)ctx;
    tv_blob_upload_finish(((talk *)req->user)->upload, on_stored);
}

static void upload_on_done(void *ctx, tv_request *req)
{
    server *s = ctx;
    talk *st = req->user;

    if (st)
        tv_blob_upload_end(st->upload);
    if (req->status == 0)
        atomic_fetch_add(&s->dropped, 1);
    atomic_fetch_add(&s->done, 1);
}

static server *start_with(const tv_http_limits *limits)
{
    return server_start_with((tv_http_handler){"upload", NULL, upload_on_headers, upload_on_request,
                                               flow_on_refused, upload_on_done},
                             limits, NULL);
}

static server *start(void)
{
    return start_with(NULL);
}

/* Send the head of an upload of `len` bytes; `headers` are more lines. */
static void send_head(client *c, size_t len, const char *headers)
{
    char line[512];

    snprintf(line, sizeof line, "PUT /b HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n%s\r\n", len,
             headers);
    client_send(c, line);
}

/* Read the answer to an upload and compare what is stored. */
static void check_stored(client *c, tv_slice body)
{
    answer a = client_answer(c);
    unsigned long long length, boot, number;
    char text[128], md5_text[25] = "", want[25] = "";
    unsigned char md5[TV_MD5_BYTES];

    CHECK_INT(a.status, 201);
    snprintf(text, sizeof text, "%.*s", TV_FMT(a.body));
    CHECK(sscanf(text, "%llu %llx %llx %24s", &length, &boot, &number, md5_text) >= 3);
    CHECK_INT(length, body.len);
    check_bytes(io.extents, (tv_extent_id){boot, number}, body);
    if (md5_text[0]) {
        tv_md5_of(body, md5);
        tv_base64_encode(want, (tv_slice){(char *)md5, sizeof md5});
        CHECK_TEXT(tv_slice_of(md5_text), want);
    }
    client_forget(c, &a);
}

static const struct {
    const char *what;
    size_t len;
} lengths[] = {
    {"one byte", 1},      {"just what a row holds", 65536}, {"less than a buffer", BUFFER - 1},
    {"a buffer", BUFFER}, {"a byte more", BUFFER + 1},      {"several buffers", 5 * BUFFER + 77},
    {"many", 20 * MIB},
};

TEST(a_body_is_stored_whole)
{
    setup(4, 2);
    server *s = start();
    client c = client_open(s);

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        tv_buf body = TV_BUF_EMPTY;

        t_row = lengths[i].what;
        flow_fill(&body, i, lengths[i].len);
        send_head(&c, body.len, "");
        client_send_slice(&c, tv_buf_slice(&body));
        check_stored(&c, tv_buf_slice(&body));
        tv_buf_done(&body);
    }
    client_close(&c);
    CHECK(tv_buffers_used_max(io.in) <= 2);
    teardown(s, sizeof lengths / sizeof *lengths);
}

TEST(odd_pieces_and_chunks_come_together)
{
    setup(4, 2);
    server *s = start();
    client c = client_open(s);
    tv_buf body = TV_BUF_EMPTY;

    flow_fill(&body, 5, 2 * MIB + 3);
    for (size_t chunk = 7777; chunk < 400000; chunk *= 7) {
        flow_send(&c, "/b", tv_buf_slice(&body), chunk);
        check_stored(&c, tv_buf_slice(&body));
    }
    tv_buf_done(&body);
    client_close(&c);
    teardown(s, 3);
}

static const struct {
    const char *what, *headers, *answer;
    int status;
} claims[] = {
    {"the right MD5", "Content-MD5: XUFAKrxLKna5cZ2REBfFkg==\r\n", "", 201},
    {"unused bits", "Content-MD5: XUFAKrxLKna5cZ2REBfFkh==\r\n", "MD5_INVALID", 400},
    {"a wrong MD5", "Content-MD5: AUFAKrxLKna5cZ2REBfFkg==\r\n", "MD5_MISMATCH", 400},
    {"not base 64", "Content-MD5: XUFAKrxLKna5cZ2REBfFk\r\n", "MD5_INVALID", 400},
    {"too short", "Content-MD5: XUFAKg==\r\n", "MD5_INVALID", 400},
    {"a wrong CRC", "x-ms-content-crc64: AAAAAAAAAAA=\r\n", "CRC64_MISMATCH", 400},
    {"no CRC", "x-ms-content-crc64: AAAA\r\n", "INVALID_HEADER", 400},
};

TEST(what_the_client_claims_is_checked)
{
    setup(4, 1);
    server *s = start();

    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        client c = client_open(s);

        t_row = claims[i].what;
        send_head(&c, 5, claims[i].headers);
        client_send(&c, "hello");
        client_expect(&c, claims[i].status, claims[i].answer);
        client_close(&c);
    }
    teardown(s, 1);
}

TEST(a_client_waits_while_both_buffers_are_in_use)
{
    setup(2, 1);
    server *s = start();
    client c = client_open(s);
    tv_buf body = TV_BUF_EMPTY;

    block_worker();
    flow_fill(&body, 1, 40 * MIB);
    send_head(&c, body.len, "");

    /* As much as the kernel and two buffers hold. */
    size_t sent = client_fill(&c, s, tv_buf_slice(&body));

    CHECK(sent < body.len);
    CHECK_INT(tv_buffers_used(io.in), 2);
    sem_post(&gate);
    client_send_slice(&c, tv_slice_skip(tv_buf_slice(&body), sent));
    check_stored(&c, tv_buf_slice(&body));
    CHECK_INT(tv_buffers_used_max(io.in), 2);
    tv_buf_done(&body);
    client_close(&c);
    teardown(s, 1);
}

typedef struct sender {
    pthread_t thread;
    server *server;
    int index;
    int status;
} sender;

static void *run_sender(void *arg)
{
    sender *me = arg;
    client c = client_open(me->server);
    tv_buf body = TV_BUF_EMPTY;

    flow_fill(&body, (uint64_t)me->index, 3 * MIB);
    send_head(&c, body.len, "");
    client_send_slice(&c, tv_buf_slice(&body));
    answer a = client_answer(&c);

    me->status = a.status;
    tv_buf_done(&body);
    client_close(&c);
    return NULL;
}

TEST(many_uploads_share_few_buffers)
{
    enum { SENDERS = 12 };
    sender senders[SENDERS];

    setup(3, 2);
    server *s = start();

    for (int i = 0; i < SENDERS; i++) {
        senders[i] = (sender){.server = s, .index = i};
        CHECK_INT(pthread_create(&senders[i].thread, NULL, run_sender, &senders[i]), 0);
    }
    for (int i = 0; i < SENDERS; i++) {
        pthread_join(senders[i].thread, NULL);
        CHECK_INT(senders[i].status, 201);
    }
    CHECK(tv_buffers_used_max(io.in) <= 3);
    teardown(s, SENDERS);
}

/* One of several that send bodies of different lengths, one after the other. */
static void *run_digest_sender(void *arg)
{
    enum { BODIES = 4 };
    sender *me = arg;
    client c = client_open(me->server);

    for (int i = 0; i < BODIES; i++) {
        tv_buf body = TV_BUF_EMPTY;
        unsigned char md5[TV_MD5_BYTES];
        char text[25], header[64];

        flow_fill(&body, (uint64_t)(me->index * BODIES + i),
                  (size_t)(1 + me->index * 50001 + i * 333333));
        tv_md5_of(tv_buf_slice(&body), md5);
        tv_base64_encode(text, (tv_slice){(char *)md5, sizeof md5});
        snprintf(header, sizeof header, "Content-MD5: %.24s\r\n", text);
        send_head(&c, body.len, header);
        client_send_slice(&c, tv_buf_slice(&body));
        answer a = client_answer(&c);

        me->status += a.status == 201;
        client_forget(&c, &a);
        tv_buf_done(&body);
    }
    client_close(&c);
    return NULL;
}

TEST(uploads_that_are_hashed_together_have_digests_of_their_own)
{
    enum { SENDERS = 12 };
    sender senders[SENDERS];
    uint64_t batches, pieces;

    setup(2 * SENDERS, 2);
    server *s = start();

    for (int i = 0; i < SENDERS; i++) {
        senders[i] = (sender){.server = s, .index = i};
        CHECK_INT(pthread_create(&senders[i].thread, NULL, run_digest_sender, &senders[i]), 0);
    }
    for (int i = 0; i < SENDERS; i++) {
        pthread_join(senders[i].thread, NULL);
        CHECK_INT(senders[i].status, 4);
    }
    tv_hasher_metrics(io.hasher, &batches, &pieces);
    CHECK(batches > 0 && batches < pieces);
    teardown(s, 4 * SENDERS);
}

/* A client may send as slowly as it likes, and so may many; nobody has to wait for them. */
TEST(clients_that_do_not_send_hold_up_nobody)
{
    setup(1, 1);
    server *s = start();
    client slow = client_open(s), c = client_open(s);
    tv_buf body = TV_BUF_EMPTY;

    send_head(&slow, 10, "");
    client_send(&slow, "abc");
    WAIT_UNTIL(tv_buffers_used(io.in) > 0);
    flow_fill(&body, 1, 3 * MIB);
    send_head(&c, body.len, "");
    client_send_slice(&c, tv_buf_slice(&body));
    check_stored(&c, tv_buf_slice(&body));
    client_send(&slow, "defghij");
    check_stored(&slow, TV_LIT("abcdefghij"));
    tv_buf_done(&body);
    client_close(&slow);
    client_close(&c);
    teardown(s, 2);
}

TEST(a_piece_is_refused_when_the_share_is_used_up)
{
    tv_http_limits limits = long_limits();

    /*
     * All are strangers here, and their sixteenth of the budget is less than
     * what the request takes.
     */
    limits.budget = tv_budget_new(16 * 1024);
    setup(1, 1);
    server *s = start_with(&limits);
    client c = client_open(s);

    send_head(&c, 10, "");
    client_send(&c, "abcdefghij");
    client_expect(&c, 503, "OVERLOADED");
    client_close(&c);
    teardown(s, 0);
    tv_budget_free(limits.budget);
}

static const struct {
    const char *what;
    size_t sent; /* of 10 MiB */
    bool is_blocked, is_reset;
} departures[] = {
    {"after the head", 0, false, false},
    {"within the first buffer", 1000, false, false},
    {"while the first buffer waits to be written", BUFFER + 10, true, false},
    {"while the client waits for the worker", 2 * BUFFER, true, true},
    {"in the middle", 5 * MIB, false, true},
    {"before the last byte", 10 * MIB - 1, false, false},
    {"before the answer", 10 * MIB, false, false},
};

/* Until all that was sent is in the buffers, or they are full. */
static void wait_until_taken(server *s, const client *c)
{
    sight seen;

    WAIT_UNTIL((seen = server_look_at(s, c), seen.has_read || seen.is_paused));
}

TEST(nothing_is_left_of_a_client_that_goes)
{
    setup(2, 1);
    server *s = start();
    tv_buf body = TV_BUF_EMPTY;

    flow_fill(&body, 1, 10 * MIB);
    for (int i = 0; i < (int)(sizeof departures / sizeof *departures); i++) {
        client c = client_open(s);

        t_row = departures[i].what;
        if (departures[i].is_blocked)
            block_worker();
        send_head(&c, body.len, "");
        client_send_slice(&c, tv_slice_take(tv_buf_slice(&body), departures[i].sent));
        if (departures[i].is_blocked)
            wait_until_taken(s, &c);
        if (departures[i].is_reset)
            client_vanish(&c);
        else
            client_close(&c);
        if (departures[i].is_blocked) {
            WAIT_UNTIL(atomic_load(&s->done) > i || server_look_at(s, NULL).is_gone);
            sem_post(&gate);
        }
        wait_for(&s->done, i + 1);
    }
    tv_buf_done(&body);

    /* The one whose body was complete has been stored all the same. */
    teardown(s, 1);
}

/* What comes waits for the hasher, until end_hold.  It takes pieces as if there were others. */
static tv_hash_job others;

static void hold_hasher(void)
{
    others = (tv_hash_job){0};
    tv_hasher_hold(io.hasher, true);
    tv_hasher_join(io.hasher);
    tv_hasher_join(io.hasher);
}

/* Let it hash what is there. */
static void end_hold(void)
{
    uint64_t batches, pieces;

    CHECK_INT(tv_buffers_used(io.in) > 0, true); /* the client's */
    tv_hasher_hold(io.hasher, false);
    wait_for_buffers();
    tv_hasher_metrics(io.hasher, &batches, &pieces);
    CHECK_INT(pieces, 1);
    tv_hasher_leave(io.hasher, &others);
    tv_hasher_leave(io.hasher, &others);
}

/* Send more than a buffer, so that one is with the hasher. */
static client send_to_hasher(server *s)
{
    client c = client_open(s);
    tv_buf body = TV_BUF_EMPTY;

    flow_fill(&body, 1, BUFFER + 10);
    send_head(&c, MIB, "");
    client_send_slice(&c, tv_buf_slice(&body));
    tv_buf_done(&body);
    WAIT_UNTIL(tv_buffers_used(io.in) == 2);
    return c;
}

TEST(nothing_is_left_of_a_client_that_goes_while_its_buffer_is_hashed)
{
    setup(2, 1);
    server *s = start();

    hold_hasher();
    client c = send_to_hasher(s);

    client_vanish(&c);
    wait_for(&s->done, 1);
    server_stop(s, 0);
    end_hold();
    teardown(s, 0);
}

TEST(a_server_that_stops_waits_for_the_hasher)
{
    setup(2, 1);
    server *s = start();

    hold_hasher();
    client c = send_to_hasher(s);

    server_stop(s, 0);
    wait_for(&s->done, 1);
    client_close(&c);
    end_hold();
    teardown(s, 0);
}

static void check_refused(server *s, const char *answer_text, int status, size_t len)
{
    client c = client_open(s);
    tv_buf body = TV_BUF_EMPTY;

    flow_fill(&body, 1, len);
    send_head(&c, len, "");
    client_send_slice(&c, tv_buf_slice(&body));
    client_expect(&c, status, answer_text);
    tv_buf_done(&body);
    client_close(&c);
}

TEST(a_full_disk_is_said_and_nothing_stays)
{
    setup(4, 1);
    tv_extents_close(io.extents);
    CHECK(try_open(&(tv_extent_options){.dir = dir, .disk_reserve_bytes = UINT64_C(1) << 60},
                   &io.extents));
    server *s = start();

    check_refused(s, "DISK_FULL", 503, 100);
    check_refused(s, "DISK_FULL", 503, BUFFER + 1);
    check_refused(s, "DISK_FULL", 503, 900 * 1024);
    teardown(s, 0);
}

/* Pieces that come between a worker's failure and its completion. */
TEST(a_failure_is_heard_of_once_the_worker_is_back)
{
    setup(4, 1);
    tv_extents_close(io.extents);
    CHECK(try_open(&(tv_extent_options){.dir = dir, .disk_reserve_bytes = UINT64_C(1) << 60},
                   &io.extents));
    server *s = start();
    client c = client_open(s);
    tv_buf body = TV_BUF_EMPTY;

    is_hesitant = true;
    flow_fill(&body, 1, 2 * BUFFER);
    flow_send(&c, "/b", tv_buf_slice(&body), 4000);
    client_expect(&c, 503, "DISK_FULL");
    tv_buf_done(&body);
    client_close(&c);
    teardown(s, 0);
}

TEST(a_write_that_fails_in_the_middle_ends_the_upload)
{
    struct rlimit before, small;

    setup(4, 1);
    server *s = start();

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){.rlim_cur = BUFFER, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    check_refused(s, "", 500, BUFFER + 1000);
    check_refused(s, "", 500, 900 * 1024);
    setrlimit(RLIMIT_FSIZE, &before);
    teardown(s, 0);
}

TEST(a_server_that_stops_waits_for_its_workers)
{
    setup(2, 1);
    server *s = start();
    client c = client_open(s);
    tv_buf body = TV_BUF_EMPTY;

    block_worker();
    flow_fill(&body, 1, BUFFER + MIB);
    send_head(&c, body.len, "");
    client_send_slice(&c, tv_slice_take(tv_buf_slice(&body), BUFFER + 10));
    wait_until_read(s, &c);
    server_stop(s, 0);
    wait_for(&s->done, 1);
    sem_post(&gate);
    tv_buf_done(&body);
    client_close(&c);
    teardown(s, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_is_stored_whole),
        cmocka_unit_test(odd_pieces_and_chunks_come_together),
        cmocka_unit_test(what_the_client_claims_is_checked),
        cmocka_unit_test(a_client_waits_while_both_buffers_are_in_use),
        cmocka_unit_test(many_uploads_share_few_buffers),
        cmocka_unit_test(uploads_that_are_hashed_together_have_digests_of_their_own),
        cmocka_unit_test(clients_that_do_not_send_hold_up_nobody),
        cmocka_unit_test(a_piece_is_refused_when_the_share_is_used_up),
        cmocka_unit_test(nothing_is_left_of_a_client_that_goes),
        cmocka_unit_test(nothing_is_left_of_a_client_that_goes_while_its_buffer_is_hashed),
        cmocka_unit_test(a_full_disk_is_said_and_nothing_stays),
        cmocka_unit_test(a_failure_is_heard_of_once_the_worker_is_back),
        cmocka_unit_test(a_write_that_fails_in_the_middle_ends_the_upload),
        cmocka_unit_test(a_server_that_stops_waits_for_its_workers),
        cmocka_unit_test(a_server_that_stops_waits_for_the_hasher),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
