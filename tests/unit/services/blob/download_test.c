/* Downloads through a real listener: kinds of contents, ranges, slow clients, and damage. */
#include "services/blob/body/download.h"

#include "services/blob/store/blobs.h"
#include "store/extent/fixture.h"
#include "wire/http/flow.h"

enum { KIB = 1024, MIB = 1024 * 1024, BUFFER = 256 * KIB, MANY = 20 };

static tv_blob_io io;
static sem_t gate;
static atomic_int blocked;
static tv_job gate_job;
static tv_mailbox gate_box;

typedef struct talk {
    tv_blob_download *download;
    uint64_t first, count;
} talk;

static void wake_nobody(void *ctx)
{
    (void)ctx;
}

static void begin(size_t buffers, int workers)
{
    set_up(NULL);
    make_folder("/tmp");
    io = (tv_blob_io){.extents = open_store(),
                      .workers = tv_workers_new(workers, 1000),
                      .scanners = tv_turns_new(2, 1000),
                      .out = tv_buffers_new(BUFFER, buffers)};
    sem_init(&gate, 0, 0);
    tv_mailbox_init(&gate_box, wake_nobody, NULL);
    atomic_store(&blocked, 0);
}

/* Everything has come back: no buffer is in use, no visit defers a removal. */
static void end(server *s)
{
    server_end(s);
    tv_workers_free(io.workers);
    tv_turns_free(io.scanners);
    CHECK_INT(tv_buffers_used(io.out), 0);
    tv_buffers_free(io.out);
    wait_for_removals(io.extents, 0);
    tv_extents_close(io.extents);
    tv_mailbox_deliver(&gate_box);
    tv_mailbox_done(&gate_box);
    sem_destroy(&gate);
    remove_folder();
    tear_down(NULL);
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

static void block_worker(void)
{
    gate_job = (tv_job){.run = run_gate, .reply_to = &gate_box};
    gate_job.mail.deliver = deliver_nothing;
    CHECK(tv_workers_submit(io.workers, &gate_job));
    wait_for(&blocked, 1);
}

/* --- the service: GET /name?first,count, the count 0 for all --- */

static void give(tv_request *req)
{
    tv_blob_download_pull(((talk *)req->user)->download);
}

static const tv_body_source blob_source = {give};

static atomic_int damages; /* failures that named an extent */

static void blob_fail(tv_request *req, tv_err err)
{
    tv_extent_id id;

    atomic_fetch_add(&damages, tv_blob_download_damage(((talk *)req->user)->download, &id));
    if (!tv_response_is_unsent(req)) {
        tv_response_abort(req);
        return;
    }
    tv_response_start(req, tv_err_status(err));
    tv_buf_add(&req->out, tv_slice_of(tv_err_name(err)));
    tv_response_send(req);
}

static bool blob_on_headers(void *ctx, tv_request *req)
{
    talk *t = tv_arena_zalloc(&req->arena, sizeof *t);
    uint64_t *number = &t->first;

    atomic_fetch_add(&((server *)ctx)->seen, 1);
    for (size_t i = 0; i < req->query.text.len; i++) {
        if (req->query.text.data[i] == ',')
            number = &t->count;
        else
            *number = *number * 10 + (uint64_t)(req->query.text.data[i] - '0');
    }
    req->user = t;
    return true;
}

static void blob_on_request(void *ctx, tv_request *req)
{
    talk *t = req->user;
    tv_blob_head head;
    tv_slice partition;
    tv_err err;

    (void)ctx;
    tv_assert(tv_key_blob(&req->arena, container, tv_slice_skip(req->path, 1), &partition) ==
              TV_OK);
    t->download = tv_blob_download_new(&io, engine, req, TV_NONE, partition, 0, blob_fail);
    err = tv_blob_download_head(t->download, TV_READ_ANY, &head);
    if (!err) {
        t->count = t->count ? t->count : head.length - t->first;
        err = tv_blob_download_prepare(t->download, TV_READ_CACHED, &head, t->first, t->count);
        if (err == TV_ERR_WOULD_BLOCK)
            err = tv_blob_download_prepare(t->download, TV_READ_ANY, &head, t->first, t->count);
    }
    tv_response_start(req, err ? tv_err_status(err) : 200);
    if (err)
        tv_response_send(req);
    else
        tv_response_send_from(req, t->count, &blob_source);
}

static void blob_on_done(void *ctx, tv_request *req)
{
    server *s = ctx;

    tv_blob_download_end(((talk *)req->user)->download);
    atomic_fetch_add(&s->done, 1);
}

static server *start(void)
{
    return server_start_with((tv_http_handler){"download", NULL, blob_on_headers, blob_on_request,
                                               flow_on_refused, blob_on_done},
                             NULL, NULL);
}

/* --- blobs whose bytes are the pattern --- */

/* A blob of pieces; each up to 64 KiB is a chunk, the others are extents. */
static tv_put_blob put_pieces(const char *name, const size_t *lengths, size_t count)
{
    tv_blob_data *data = tv_arena_zalloc(&arena, count * sizeof *data);
    uint64_t offset = 0;

    for (size_t i = 0; i < count; i++) {
        tv_buf bytes = TV_BUF_EMPTY;

        flow_fill(&bytes, offset, lengths[i]);
        data[i].length = lengths[i];
        if (lengths[i] <= TV_BLOB_CHUNK_BYTES_MAX)
            data[i].bytes = tv_arena_dup(&arena, tv_buf_slice(&bytes));
        else
            data[i].extent = put(io.extents, tv_buf_slice(&bytes));
        offset += lengths[i];
        tv_buf_done(&bytes);
    }
    tv_put_blob op = {
        .change = change_of(name), .type = TV_BLOB_BLOCK, .data = data, .data_count = count};

    CHECK_OK(RUN(tv_put_blob_run, &op));
    tv_extents_remove(io.extents, op.change.garbage, op.change.garbage_count);
    return op;
}

static void ask(client *c, const char *name, uint64_t first, uint64_t count)
{
    char line[128];

    snprintf(line, sizeof line, "GET /%s?%llu,%llu HTTP/1.1\r\nHost: h\r\n\r\n", name,
             (unsigned long long)first, (unsigned long long)count);
    client_send(c, line);
}

static void expect(client *c, uint64_t first, uint64_t count)
{
    answer a = client_answer(c);

    CHECK_INT(a.status, 200);
    CHECK_INT(a.body.len, count);
    for (size_t i = 0; i < a.body.len; i++) {
        if (a.body.data[i] != flow_byte(first + i))
            CHECK_FAIL("byte %zu of %llu is wrong", i, (unsigned long long)count);
    }
    client_forget(c, &a);
}

static const struct {
    const char *what;
    size_t lengths[MANY];
} contents[] = {
    {"a chunk of one byte", {1}},
    {"a chunk", {64 * KIB}},
    {"chunks", {100, 1, 64 * KIB, 7, 5000, 64 * KIB, 1, 1}},
    {"a small extent", {64 * KIB + 1}},
    {"a large extent", {5 * MIB + 3}},
    {"extents and chunks", {300 * KIB, 10, 70 * KIB, 64 * KIB, 1, 2 * MIB, 5, 90 * KIB}},
    {"many pieces", {1, 300 * KIB, 10,        70 * KIB,  64 * KIB, 1, 2 * MIB,  5, 90 * KIB, 1, 1,
                     1, 100 * KIB, 300 * KIB, 300 * KIB, 1000,     1, 65 * KIB, 7, 9}},
    {"many chunks", {1000, 1, 1000, 64 * KIB, 64 * KIB, 64 * KIB, 64 * KIB, 64 * KIB, 64 * KIB, 3}},
};

TEST(every_content_and_every_kind_of_range_is_sent)
{
    begin(4, 2);
    server *s = start();
    client c = client_open(s);

    for (size_t i = 0; i < COUNT(contents); i++) {
        size_t count = 0;
        uint64_t length = 0;

        t_row = contents[i].what;
        while (count < MANY && contents[i].lengths[count])
            length += contents[i].lengths[count++];
        put_pieces("b", contents[i].lengths, count);
        ask(&c, "b", 0, 0);
        expect(&c, 0, length);
        ask(&c, "b", 0, 1);
        expect(&c, 0, 1);
        ask(&c, "b", length - 1, 1);
        expect(&c, length - 1, 1);

        /* Around the end of every piece. */
        uint64_t at = 0;
        for (size_t k = 0; k + 1 < count; k++) {
            at += contents[i].lengths[k];
            ask(&c, "b", at - 1, 2);
            expect(&c, at - 1, 2);
            ask(&c, "b", at, length - at);
            expect(&c, at, length - at);
        }
    }
    CHECK(tv_buffers_used_max(io.out) <= 2);
    client_close(&c);
    end(s);
}

TEST(what_is_not_in_memory_is_read_by_workers)
{
    size_t length = 8 * MIB;

    begin(4, 2);
    server *s = start();
    client c = client_open(s);
    tv_put_blob op = put_pieces("b", &length, 1);

    for (int i = 0; i < 3; i++) {
        int fd = open(path_of(op.data[0].extent), O_RDONLY | O_CLOEXEC);

        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
        ask(&c, "b", 0, 0);
        expect(&c, 0, length);
    }
    client_close(&c);
    end(s);
}

typedef struct taker {
    pthread_t thread;
    server *server;
    size_t length;
    bool is_right;
} taker;

static void *run_taker(void *arg)
{
    taker *me = arg;
    client c = client_open(me->server);

    ask(&c, "b", 0, 0);
    answer a = client_answer(&c);

    me->is_right = a.status == 200 && a.body.len == me->length;
    for (size_t i = 0; me->is_right && i < a.body.len; i++)
        me->is_right = a.body.data[i] == flow_byte(i);
    client_close(&c);
    return NULL;
}

TEST(many_downloads_share_one_buffer)
{
    enum { TAKERS = 6 };
    taker takers[TAKERS];
    size_t length = 3 * MIB;

    begin(1, 2);
    server *s = start();
    put_pieces("b", &length, 1);
    for (int i = 0; i < TAKERS; i++) {
        takers[i] = (taker){.server = s, .length = length};
        CHECK_INT(pthread_create(&takers[i].thread, NULL, run_taker, &takers[i]), 0);
    }
    for (int i = 0; i < TAKERS; i++) {
        pthread_join(takers[i].thread, NULL);
        CHECK(takers[i].is_right);
    }
    CHECK_INT(tv_buffers_used_max(io.out), 1);
    end(s);
}

/* A client may read as slowly as it likes, and so may many; nobody has to wait for them. */
TEST(clients_that_do_not_read_hold_up_nobody)
{
    size_t many[MANY], one = 32 * MIB;

    begin(2, 2);
    server *s = start();
    for (size_t i = 0; i < MANY; i++)
        many[i] = i % 5 == 4 ? 1000 : 300 * KIB;
    put_pieces("one", &one, 1);
    put_pieces("many", many, MANY);

    client slow[] = {client_open(s), client_open(s)};

    for (size_t i = 0; i < COUNT(slow); i++) {
        ask(&slow[i], "one", 0, 0);
        CHECK(client_receive(&slow[i]));
    }
    CHECK_INT(tv_buffers_used(io.out), 2);

    client c = client_open(s);

    ask(&c, "many", 0, 0);
    expect(&c, 0, 16 * 300 * (uint64_t)KIB + 4000);
    ask(&c, "one", 5, 3 * MIB);
    expect(&c, 5, 3 * MIB);
    client_close(&c);
    for (size_t i = 0; i < COUNT(slow); i++)
        client_close(&slow[i]);
    end(s);
}

TEST(a_download_keeps_its_view_when_the_blob_is_replaced)
{
    size_t lengths[MANY], small = 10;

    begin(4, 2);
    server *s = start();
    for (size_t i = 0; i < MANY; i++)
        lengths[i] = i % 5 == 4 ? 1000 : 2 * MIB;
    put_pieces("b", lengths, MANY);

    client c = client_open(s);

    /* The sockets hold a part of it, the rest is read after the blob has been replaced. */
    ask(&c, "b", 0, 0);
    CHECK(client_receive(&c));
    put_pieces("b", &small, 1);
    expect(&c, 0, 32 * (uint64_t)MIB + 4000);
    ask(&c, "b", 0, 0);
    expect(&c, 0, 10);
    client_close(&c);
    wait_for_removals(io.extents, 0);
    CHECK_INT(read_metrics(io.extents).extents, 0);
    end(s);
}

static const struct {
    const char *what;
    bool is_many, is_blocked, is_reset;
} departures[] = {
    {"after a piece", false, false, true},
    {"of many pieces", true, false, false},
    {"while a worker reads ahead", true, true, true},
};

TEST(nothing_is_left_of_a_client_that_goes)
{
    size_t many[MANY], one = 32 * MIB;

    begin(4, 1);
    server *s = start();
    for (size_t i = 0; i < MANY; i++)
        many[i] = 2 * MIB;
    put_pieces("many", many, MANY);
    put_pieces("one", &one, 1);
    for (int i = 0; i < (int)COUNT(departures); i++) {
        client c = client_open(s);

        t_row = departures[i].what;
        if (departures[i].is_blocked)
            block_worker();
        ask(&c, departures[i].is_many ? "many" : "one", 0, 0);
        if (departures[i].is_blocked)
            wait_for_state(s, &c, TV_CONN_PULLING);
        else
            CHECK(client_receive(&c));
        if (departures[i].is_reset)
            client_vanish(&c);
        else
            client_close(&c);
        if (departures[i].is_blocked) {
            wait_until_gone(s);
            sem_post(&gate);
        }
        wait_for(&s->done, i + 1);
    }
    end(s);
}

TEST(a_server_that_stops_waits_for_a_read)
{
    size_t many[MANY];

    begin(4, 1);
    server *s = start();
    for (size_t i = 0; i < MANY; i++)
        many[i] = 2 * MIB;
    put_pieces("many", many, MANY);

    client c = client_open(s);

    block_worker();
    ask(&c, "many", 0, 0);
    wait_for(&s->seen, 1);
    server_stop(s, 0);
    while (client_receive(&c)) /* what needed no worker, and then the end */
        ;
    sem_post(&gate);
    client_close(&c);
    end(s);
}

static void flip(tv_extent_id id, off_t at)
{
    int fd = open(path_of(id), O_RDWR | O_CLOEXEC);
    char c = 0;

    CHECK(fd >= 0 && pread(fd, &c, 1, at) == 1);
    c ^= 1;
    CHECK(pwrite(fd, &c, 1, at) == 1);
    close(fd);
}

static void expect_error(client *c)
{
    answer a = client_answer(c);

    CHECK_INT(a.status, 500);
    CHECK_TEXT(a.body, "CORRUPT");
    client_forget(c, &a);
}

/* Before the head has gone out there is an answer, and the connection goes on. */
TEST(what_is_damaged_from_the_start_is_an_error)
{
    size_t length = 3 * MIB;

    begin(4, 2);
    server *s = start();
    tv_put_blob op = put_pieces("b", &length, 1);
    tv_extent_id id = op.data[0].extent;
    client c = client_open(s);

    atomic_store(&damages, 0);
    for (int is_cold = 0; is_cold < 2; is_cold++) {
        for (off_t at = 0; at < BUFFER; at += BUFFER - 1) {
            flip(id, at);
            if (is_cold) {
                int fd = open(path_of(id), O_RDONLY | O_CLOEXEC);

                fdatasync(fd);
                posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
                close(fd);
            }
            ask(&c, "b", 0, 0); /* also at the end of the first buffer: nothing has gone out */
            expect_error(&c);
            ask(&c, "b", (uint64_t)at, 1);
            expect_error(&c);
            ask(&c, "b", MIB, 0);
            expect(&c, MIB, 2 * MIB);
            flip(id, at);
        }
    }
    CHECK_INT(atomic_load(&damages), 8);
    CHECK_INT(truncate(path_of(id), MIB), 0);
    ask(&c, "b", 0, 0);
    expect_error(&c);
    CHECK_INT(unlink(path_of(id)), 0);
    ask(&c, "b", 0, 0);
    expect_error(&c);
    CHECK_INT(atomic_load(&damages), 10);
    client_close(&c);
    end(s);
}

TEST(what_is_damaged_further_on_cuts_the_answer)
{
    size_t lengths[] = {3 * MIB, MIB};

    begin(4, 2);
    server *s = start();
    tv_put_blob op = put_pieces("b", lengths, 2);

    atomic_store(&damages, 0);
    for (int i = 0; i < 2; i++) {
        client c = client_open(s);

        if (i == 0)
            flip(op.data[0].extent, 2 * MIB);
        else
            CHECK_INT(unlink(path_of(op.data[1].extent)), 0);
        ask(&c, "b", 0, 0);
        while (client_receive(&c))
            ;
        CHECK(c.in.len > MIB && c.in.len < 4 * MIB);
        CHECK_INT(atomic_load(&damages), i + 1);
        client_close(&c);
        if (i == 0)
            flip(op.data[0].extent, 2 * MIB);
    }
    end(s);
}

TEST(digests_of_a_range_are_those_of_its_bytes)
{
    tv_request req = {0};
    size_t lengths[] = {1000, 300 * KIB, 7};
    tv_digests got = {.has_md5 = true, .has_crc64 = true}, want = got;
    tv_buf bytes = TV_BUF_EMPTY;

    begin(1, 1);
    server *s = start();
    put_pieces("b", lengths, 3);
    tv_arena_init(&req.arena);
    tv_blob_download *download =
        tv_blob_download_new(&io, engine, &req, TV_NONE, partition_of("b"), 0, blob_fail);
    tv_blob_head head;

    CHECK_OK(tv_blob_download_head(download, TV_READ_ANY, &head));
    CHECK_OK(tv_blob_download_prepare(download, TV_READ_ANY, &head, 5, 200 * KIB));
    CHECK_OK(tv_blob_download_digest(download, &got));
    flow_fill(&bytes, 5, 200 * KIB);
    tv_digests_of(&want, tv_buf_slice(&bytes));
    CHECK(memcmp(got.md5, want.md5, sizeof got.md5) == 0);
    CHECK(memcmp(got.crc64, want.crc64, sizeof got.crc64) == 0);
    tv_buf_done(&bytes);
    tv_blob_download_end(download);
    tv_arena_done(&req.arena);
    end(s);
}

TEST(a_blob_that_has_been_replaced_since_its_head_was_read_is_a_conflict)
{
    tv_request req = {0};
    size_t small = 10, many[MANY];

    begin(1, 1);
    server *s = start();
    for (size_t i = 0; i < MANY; i++)
        many[i] = 100;
    tv_arena_init(&req.arena);
    for (int i = 0; i < 2; i++) {
        tv_blob_head head;

        if (i == 0)
            put_pieces("b", &small, 1);
        else
            put_pieces("b", many, MANY);
        tv_blob_download *download =
            tv_blob_download_new(&io, engine, &req, TV_NONE, partition_of("b"), 0, blob_fail);

        CHECK_OK(tv_blob_download_head(download, TV_READ_ANY, &head));
        put_pieces("b", &small, 1);
        CHECK_ERR(tv_blob_download_prepare(download, TV_READ_ANY, &head, 0, 5), TV_ERR_CONFLICT);
        tv_blob_download_end(download);
    }
    tv_arena_done(&req.arena);
    end(s);
}

/* How many turns were taken to send a blob of `count` pieces of a length. */
static uint64_t turns_for(server *s, size_t count, size_t length)
{
    size_t *lengths = tv_arena_zalloc(&arena, count * sizeof *lengths);
    uint64_t before = tv_turns_read_counts(io.scanners).turns;
    client c = client_open(s);

    for (size_t i = 0; i < count; i++)
        lengths[i] = length;
    put_pieces("b", lengths, count);
    ask(&c, "b", 0, 0);
    expect(&c, 0, count * length);
    client_close(&c);
    return tv_turns_read_counts(io.scanners).turns - before;
}

/* Rows cost, not bytes: workers, which do not distinguish accounts, are for few large pieces. */
TEST(very_many_small_pieces_are_read_in_turns)
{
    begin(4, 2);
    server *s = start();

    CHECK_INT(turns_for(s, 1, 100), 0);
    CHECK_INT(turns_for(s, 8, 100), 0);
    CHECK_INT(turns_for(s, 40, 100 * KIB), 0);
    CHECK_INT(turns_for(s, 16, 100), 0);
    CHECK(turns_for(s, 17, 100) > 0);
    CHECK(turns_for(s, 5000, 100) > 0);
    end(s);
}

/* The average says nothing about a place where the pieces are small. */
TEST(small_pieces_among_large_ones_are_read_in_turns)
{
    enum { LARGE = 30, SMALL = 1000 };
    size_t lengths[LARGE + SMALL + LARGE], count = 0;

    begin(4, 2);
    server *s = start();
    client c = client_open(s);
    uint64_t length = 0;

    while (count < LARGE + SMALL + LARGE) {
        lengths[count] = count < LARGE || count >= LARGE + SMALL ? 300 * KIB : 100;
        length += lengths[count++];
    }
    put_pieces("b", lengths, count);
    CHECK(length / count >= BUFFER / 16);
    ask(&c, "b", 0, 0);
    expect(&c, 0, length);
    CHECK(tv_turns_read_counts(io.scanners).turns > 0);
    client_close(&c);
    end(s);
}

/* Its body has begun: it goes on by workers rather than breaking off. */
TEST(a_download_without_a_turn_goes_on)
{
    begin(4, 2);
    tv_turns_free(io.scanners);
    io.scanners = tv_turns_new(1, 0);
    server *s = start();

    CHECK_INT(turns_for(s, 5000, 100), 0);
    CHECK(tv_turns_read_counts(io.scanners).refused > 0);
    end(s);
}

TEST(digests_of_many_small_pieces_are_those_of_their_bytes)
{
    tv_request req = {0};
    size_t lengths[500];
    tv_digests got = {.has_md5 = true}, want = got;
    tv_buf bytes = TV_BUF_EMPTY;
    tv_blob_head head;

    begin(1, 1);
    server *s = start();
    for (size_t i = 0; i < COUNT(lengths); i++)
        lengths[i] = 1 + i;
    put_pieces("b", lengths, COUNT(lengths));
    tv_arena_init(&req.arena);
    tv_blob_download *download =
        tv_blob_download_new(&io, engine, &req, TV_NONE, partition_of("b"), 0, blob_fail);

    CHECK_OK(tv_blob_download_head(download, TV_READ_ANY, &head));
    CHECK(tv_blob_download_is_piecemeal(download));
    CHECK_OK(tv_blob_download_prepare(download, TV_READ_ANY, &head, 5, 100 * KIB));
    CHECK_OK(tv_blob_download_digest(download, &got));
    flow_fill(&bytes, 5, 100 * KIB);
    tv_digests_of(&want, tv_buf_slice(&bytes));
    CHECK(memcmp(got.md5, want.md5, sizeof got.md5) == 0);
    tv_buf_done(&bytes);
    tv_blob_download_end(download);
    tv_arena_done(&req.arena);
    end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_content_and_every_kind_of_range_is_sent),
        cmocka_unit_test(what_is_not_in_memory_is_read_by_workers),
        cmocka_unit_test(many_downloads_share_one_buffer),
        cmocka_unit_test(clients_that_do_not_read_hold_up_nobody),
        cmocka_unit_test(a_download_keeps_its_view_when_the_blob_is_replaced),
        cmocka_unit_test(nothing_is_left_of_a_client_that_goes),
        cmocka_unit_test(a_server_that_stops_waits_for_a_read),
        cmocka_unit_test(what_is_damaged_from_the_start_is_an_error),
        cmocka_unit_test(what_is_damaged_further_on_cuts_the_answer),
        cmocka_unit_test(digests_of_a_range_are_those_of_its_bytes),
        cmocka_unit_test(a_blob_that_has_been_replaced_since_its_head_was_read_is_a_conflict),
        cmocka_unit_test(very_many_small_pieces_are_read_in_turns),
        cmocka_unit_test(small_pieces_among_large_ones_are_read_in_turns),
        cmocka_unit_test(a_download_without_a_turn_goes_on),
        cmocka_unit_test(digests_of_many_small_pieces_are_those_of_their_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
