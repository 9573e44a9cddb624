/* Started operations: every one of them ends, once, whatever is done to them meanwhile. */
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "client/memory_faults.h"
#include "client/op/service.h"

/* An answer that comes when the server is released. */
#define HELD                                                                                       \
    {                                                                                              \
        .text = "HTTP/1.1 204 X\r\n\r\n", .is_held = true                                          \
    }
#define SILENCE                                                                                    \
    {                                                                                              \
        .text = NULL                                                                               \
    }

enum { FOR_EVER_MS = 60 * 1000 };

typedef struct counts {
    int called, ok, cancelled, others;
    bool frees_not; /* done leaves that to the test */
} counts;

static void count_done(void *user, tavola_op *op)
{
    counts *all = user;
    tavola_err err = tavola_op_err(op);

    all->called++;
    all->ok += err == TAVOLA_OK;
    all->cancelled += err == TAVOLA_ERR_CANCELLED;
    all->others += err != TAVOLA_OK && err != TAVOLA_ERR_CANCELLED;
    if (!all->frees_not)
        tavola_op_free(op);
}

static tavola_op *start_get(tavola_client *client, tavola_done_fn done, void *user)
{
    tavola_op *op = make_get(client, NULL);

    CHECK(op != NULL);
    CHECK_CODE(tvc_op_start(op, done, user), TAVOLA_OK);
    return op;
}

static void poll_until(tavola_client *client, const int *called, int want)
{
    int64_t start = tv_clock_mono_ns();

    while (*called < want) {
        tavola_poll(client, 1000);
        if (tv_clock_mono_ns() - start > FOR_EVER_MS * INT64_C(1000000))
            CHECK_FAIL("%d of %d done", *called, want);
    }
}

static void set_few_connections(tavola_client_options *options)
{
    options->connections_max = 4;
}

static void set_no_retries(tavola_client_options *options)
{
    options->retry_max = UINT32_MAX;
}

TEST(waiting_needs_nobody_who_polls)
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);
    tavola_op *op = start_get(client, NULL, NULL);

    CHECK_CODE(tavola_op_wait(op, FOR_EVER_MS), TAVOLA_OK);
    CHECK_CODE(tavola_op_err(op), TAVOLA_OK);
    CHECK_INT(tavola_call_status(tavola_op_call(op)), 204);
    CHECK_TEXT(tv_slice_of(tavola_call_etag(tavola_op_call(op))), "W/\"new\"");
    CHECK(tavola_op_take_entity(op) == NULL);
    CHECK(tavola_op_take_page(op) == NULL);
    CHECK_INT(tavola_poll(client, 0), 0);
    tavola_op_free(op);
    tavola_client_close(client);
    script_server_stop(&server);
}

TEST(nothing_can_be_asked_before_it_is_done)
{
    script_server server = {.answers = {HELD}, .answer_count = 1};

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);
    tavola_op *op = start_get(client, NULL, NULL);

    CHECK_CODE(tavola_op_err(op), TAVOLA_ERR_TIMEOUT);
    CHECK(tavola_op_call(op) == NULL);
    CHECK(tavola_op_take_entity(op) == NULL);
    CHECK_CODE(tavola_op_wait(op, 20), TAVOLA_ERR_TIMEOUT);
    script_server_release(&server);
    CHECK_CODE(tavola_op_wait(op, FOR_EVER_MS), TAVOLA_OK);
    tavola_op_free(op);
    tavola_client_close(client);
    script_server_stop(&server);
}

TEST(no_operation_is_fine)
{
    tavola_op_free(NULL);
    tavola_op_cancel(NULL);
    CHECK_CODE(tavola_op_wait(NULL, 0), TAVOLA_ERR_INVALID);
    CHECK_CODE(tavola_op_err(NULL), TAVOLA_ERR_INVALID);
    CHECK(tavola_op_call(NULL) == NULL);
    CHECK(tavola_op_take_entity(NULL) == NULL);
    CHECK(tavola_op_take_page(NULL) == NULL);
    CHECK_INT(tavola_poll(NULL, 0), -1);
    CHECK_INT(tavola_client_fd(NULL), -1);
    tavola_client_close(NULL);
}

static bool is_readable(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};

    return poll(&one, 1, 0) == 1;
}

TEST(the_descriptor_is_readable_while_something_waits)
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};
    counts all = {0};

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);
    int fd = tavola_client_fd(client);

    CHECK(fd >= 0);
    CHECK_INT(tavola_client_fd(client), fd);
    for (int round = 0; round < 20; round++) {
        struct pollfd one = {.fd = fd, .events = POLLIN};

        CHECK(!is_readable(fd));
        for (int i = 0; i < 3; i++)
            start_get(client, count_done, &all);
        while (all.called < 3 * (round + 1)) {
            CHECK_INT(poll(&one, 1, FOR_EVER_MS), 1);
            CHECK(tavola_poll(client, 0) > 0);
        }
    }
    CHECK(!is_readable(fd));

    /* One that is freed without being polled does not leave it readable. */
    tavola_op *op = start_get(client, count_done, &all);

    CHECK_CODE(tavola_op_wait(op, FOR_EVER_MS), TAVOLA_OK);
    CHECK(is_readable(fd));
    tavola_op_free(op);
    CHECK(!is_readable(fd));
    CHECK_INT(tavola_poll(client, 0), 0);
    CHECK_INT(all.ok, 60);
    tavola_client_close(client);
    script_server_stop(&server);
}

TEST(a_descriptor_that_is_asked_for_late_knows)
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};
    counts all = {.frees_not = true};

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);
    tavola_op *op = start_get(client, count_done, &all);

    CHECK_CODE(tavola_op_wait(op, FOR_EVER_MS), TAVOLA_OK);
    CHECK(is_readable(tavola_client_fd(client)));
    CHECK_INT(tavola_poll(client, -1), 1);
    CHECK_INT(all.called, 1);
    CHECK(!is_readable(tavola_client_fd(client)));
    tavola_op_free(op);
    tavola_client_close(client);
    script_server_stop(&server);
}

TEST(polling_waits_no_longer_than_asked)
{
    script_server server = {.answers = {SILENCE}, .answer_count = 1};

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);
    int64_t start = tv_clock_mono_ns();

    CHECK_INT(tavola_poll(client, 50), 0);
    CHECK(tv_clock_mono_ns() - start >= 50 * 1000000);
    tavola_client_close(client);
    script_server_stop(&server);
}

TEST(many_operations_share_few_connections)
{
    enum { MANY = 5000 };
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};
    counts all = {0};

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, set_few_connections);

    for (int i = 0; i < MANY; i++)
        start_get(client, count_done, &all);
    poll_until(client, &all.called, MANY);
    CHECK_INT(all.ok, MANY);
    CHECK_INT(atomic_load(&server.requests), MANY);
    CHECK_INT(atomic_load(&server.connections), 4);
    tavola_client_close(client);
    script_server_stop(&server);
}

typedef struct chain {
    tavola_client *client;
    int left, called;
} chain;

static void start_next(void *user, tavola_op *op)
{
    chain *self = user;

    CHECK_CODE(tavola_op_err(op), TAVOLA_OK);
    tavola_op_free(op);
    self->called++;
    if (self->left-- > 0)
        start_get(self->client, start_next, self);
}

TEST(callbacks_start_the_next)
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};
    chain self = {.left = 500};

    script_server_start(&server);
    self.client = open_client(&server, NULL, NULL);
    for (int i = 0; i < 8; i++)
        start_get(self.client, start_next, &self);
    poll_until(self.client, &self.called, 508);
    CHECK_INT(self.called, 508);
    tavola_client_close(self.client);
    script_server_stop(&server);
}

/* The first of them before there is any answer. */
TEST(cancelled_ones_end_too)
{
    enum { MANY = 400 };
    script_server server = {.answers = {HELD}, .answer_count = 1};
    static tavola_op *ops[MANY];
    counts all = {.frees_not = true};
    unsigned seed = 7;

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, set_few_connections);

    for (int i = 0; i < MANY; i++) {
        ops[i] = start_get(client, count_done, &all);
        if (rand_r(&seed) % 3 == 0)
            tavola_op_cancel(ops[rand_r(&seed) % (unsigned)(i + 1)]);
        if (rand_r(&seed) % 8 == 0)
            tavola_poll(client, (int)(rand_r(&seed) % 3));
        if (i == MANY / 8)
            script_server_release(&server);
    }
    poll_until(client, &all.called, MANY);
    CHECK_INT(all.called, MANY);
    CHECK_INT(all.others, 0);
    CHECK(all.cancelled > 0 && all.ok > 0);
    for (int i = 0; i < MANY; i++) {
        tavola_op_cancel(ops[i]); /* too late, and no harm */
        tavola_op_free(ops[i]);
    }
    tavola_client_close(client);
    script_server_stop(&server);
}

TEST(cancelled_ones_may_be_freed_at_once)
{
    enum { MANY = 300 };
    script_server server = {.answers = {HELD}, .answer_count = 1};
    counts all = {0};
    int freed = 0;
    unsigned seed = 9;

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, set_few_connections);

    for (int i = 0; i < MANY; i++) {
        tavola_op *op = start_get(client, count_done, &all);

        if (rand_r(&seed) % 2) {
            for (unsigned k = rand_r(&seed) % 4 ? 0 : rand_r(&seed) % 50; k; k--)
                sched_yield(); /* so that it has come less or more far */
            tavola_op_cancel(op);
            tavola_op_free(op);
            freed++;
        }
        if (i == MANY / 8)
            script_server_release(&server);
    }
    poll_until(client, &all.called, MANY - freed);
    CHECK_INT(all.ok, MANY - freed);
    CHECK_INT(tavola_poll(client, 0), 0);
    tavola_client_close(client); /* calls back for all that is left */
    CHECK_INT(all.called, MANY - freed);
    script_server_stop(&server);
}

static atomic_bool was_busy;

static void note_busy(void *user, int level, const char *text)
{
    if (strstr(text, "status 503"))
        atomic_store(&was_busy, true);
}

static void set_log(tavola_client_options *options)
{
    options->log = note_busy;
}

TEST(a_pause_can_be_cancelled)
{
    script_server server = {
        .answers = {{.text = "HTTP/1.1 503 X\r\nRetry-After: 50\r\nContent-Length: 0\r\n\r\n"}},
        .answer_count = 1};

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, set_log);
    tavola_op *op = start_get(client, NULL, NULL);

    for (int i = 0; !atomic_load(&was_busy); i++) {
        CHECK(i < FOR_EVER_MS);
        usleep(1000);
    }
    tavola_op_cancel(op);
    CHECK_CODE(tavola_op_wait(op, FOR_EVER_MS), TAVOLA_ERR_CANCELLED);
    tavola_op_free(op);
    tavola_client_close(client);
    script_server_stop(&server);
}

TEST(closing_ends_what_is_under_way)
{
    enum { MANY = 100 };
    script_server server = {.answers = {SILENCE}, .answer_count = 1};
    counts all = {0};

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, set_few_connections);
    tavola_op *waited_for = start_get(client, NULL, NULL);

    for (int i = 0; i < MANY; i++)
        start_get(client, count_done, &all);
    CHECK(script_server_has_read(&server, 4)); /* one on each connection */
    tavola_client_close(client);
    CHECK_INT(all.called, MANY);
    CHECK_INT(all.cancelled, MANY);
    CHECK_CODE(tavola_op_err(waited_for), TAVOLA_ERR_CANCELLED);
    tavola_op_free(waited_for);
    script_server_stop(&server);
}

TEST(closing_at_once_ends_them_too)
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};

    script_server_start(&server);
    for (int round = 0; round < 50; round++) {
        tavola_client *client = open_client(&server, NULL, set_few_connections);
        counts all = {0};

        for (int i = 0; i < round; i++)
            start_get(client, count_done, &all);
        tavola_client_close(client);
        CHECK_INT(all.called, round);
        CHECK_INT(all.others, 0);
    }
    script_server_stop(&server);
}

/* The loop is just about to sleep when it is told to stop. */
TEST(closing_finds_the_loop_in_any_state)
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};

    script_server_start(&server);
    script_server_stop(&server);
    for (int round = 0; round < 5000; round++) {
        tavola_client *client = open_client(&server, NULL, set_no_retries);
        tavola_op *op = start_get(client, NULL, NULL);

        CHECK_CODE(tavola_op_wait(op, FOR_EVER_MS), TAVOLA_ERR_NETWORK);
        for (volatile int i = 0; i < round % 100; i++)
            ;
        tavola_client_close(client);
        tavola_op_free(op);
    }
}

TEST(a_closed_client_starts_nothing)
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};
    tavola_table *table = NULL;

    script_server_start(&server);

    for (int was_used = 0; was_used < 2; was_used++) {
        tavola_client *client = open_client(&server, NULL, NULL);

        CHECK_CODE(tavola_table_open(client, "People", &table), TAVOLA_OK);
        if (was_used) {
            tavola_op *first = start_get(client, NULL, NULL);

            CHECK_CODE(tavola_op_wait(first, FOR_EVER_MS), TAVOLA_OK);
            tavola_op_free(first);
        }
        tavola_client_close(client);

        tavola_op *op = make_get(table->client, NULL);

        CHECK_CODE(tvc_op_start(op, NULL, NULL), TAVOLA_ERR_CANCELLED);
        tavola_op_free(op);
        op = make_get(table->client, NULL);
        CHECK_CODE(tvc_op_run(op), TAVOLA_OK);
        tavola_op_free(op);
        tavola_table_close(table);
    }
    script_server_stop(&server);
}

static void close_client(void *user, tavola_op *op)
{
    tavola_op_free(op);
    tavola_client_close(user);
}

TEST(a_callback_may_close_the_client)
{
    script_server server = {.answers = {NO_CONTENT, SILENCE}, .answer_count = 2};
    counts all = {0};

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);
    tavola_op *op = start_get(client, close_client, client);

    CHECK_CODE(tavola_op_wait(op, FOR_EVER_MS), TAVOLA_OK);
    start_get(client, count_done, &all);
    CHECK_INT(tavola_poll(client, FOR_EVER_MS), 1);
    CHECK_INT(all.cancelled, 1);
    script_server_stop(&server);
}

static atomic_int called_elsewhere;

static void count_elsewhere(void *user, tavola_op *op)
{
    CHECK_CODE(tavola_op_err(op), TAVOLA_OK);
    tavola_op_free(op);
    atomic_fetch_add(&called_elsewhere, 1);
}

static void *poll_for_all(void *client)
{
    while (atomic_load(&called_elsewhere) < 200)
        tavola_poll(client, FOR_EVER_MS);
    return NULL;
}

TEST(another_thread_may_poll)
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};
    pthread_t poller;

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);

    CHECK_INT(pthread_create(&poller, NULL, poll_for_all, client), 0);
    for (int i = 0; i < 200; i++)
        start_get(client, count_elsewhere, NULL);
    pthread_join(poller, NULL);
    CHECK_INT(atomic_load(&called_elsewhere), 200);
    tavola_client_close(client);
    script_server_stop(&server);
}

static void *start_and_wait(void *client)
{
    for (int i = 0; i < 100; i++) {
        tavola_op *op = i % 3 ? make_get(client, NULL) : start_get(client, NULL, NULL);

        /* Those of the caller's thread use the same connections. */
        CHECK_CODE(i % 3 ? tvc_op_run(op) : tavola_op_wait(op, FOR_EVER_MS), TAVOLA_OK);
        tavola_op_free(op);
    }
    return NULL;
}

TEST(threads_share_a_client)
{
    enum { THREADS = 8 };
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};
    pthread_t threads[THREADS];

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, set_few_connections);

    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, start_and_wait, client), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(atomic_load(&server.requests), 100 * THREADS);
    tavola_client_close(client);
    script_server_stop(&server);
}

/* The end of a connection is an event of its own, even when it comes with bytes before it. */
static const struct {
    const char *what;
    script_answer answer;
    tavola_err err;
} ends[] = {
    {"nothing, then the end", {.then_close = true}, TAVOLA_ERR_NETWORK},
    {"nothing, then a reset", {.then_reset = true}, TAVOLA_ERR_NETWORK},
    {"half a head", {.text = "HTTP/1.1 200 OK\r\nA:", .then_close = true}, TAVOLA_ERR_NETWORK},
    {"half a body",
     {.text = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", .then_close = true},
     TAVOLA_ERR_NETWORK},
    {"half a body, then a reset",
     {.text = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", .then_reset = true},
     TAVOLA_ERR_NETWORK},
    {"a body up to the end",
     {.text = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc", .then_close = true},
     TAVOLA_OK},
    {"byte by byte",
     {.text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", .is_dribbled = true},
     TAVOLA_OK},
};

TEST(the_end_of_a_connection_is_seen_at_once)
{
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        script_server server = {.answers = {ends[i].answer}, .answer_count = 1};

        t_row = ends[i].what;
        script_server_start(&server);

        tavola_client *client = open_client(&server, NULL, set_no_retries);

        for (int round = 0; round < 20; round++) {
            tavola_op *op = start_get(client, NULL, NULL);

            CHECK_CODE(tavola_op_wait(op, FOR_EVER_MS), ends[i].err);
            tavola_op_free(op);
        }
        tavola_client_close(client);
        script_server_stop(&server);
    }
    t_row = "";
}

/* A kept connection that ended while nobody looked. */
TEST(an_end_while_idle_is_not_missed)
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);

    for (int round = 0; round < 20; round++) {
        tavola_op *op = start_get(client, NULL, NULL);

        CHECK_CODE(tavola_op_wait(op, FOR_EVER_MS), TAVOLA_OK);
        tavola_op_free(op);
        script_server_cut(&server);
        for (int i = 0; round % 2 && i < 100; i++)
            sched_yield(); /* so that the loop has seen it, or not */
    }
    tavola_client_close(client);
    script_server_stop(&server);
}

/*
 * The answer comes before the request has been sent to its end, and the server goes on reading.  To
 * the script the rest of the body is a row of requests without an answer.
 */
TEST(an_early_answer_is_seen)
{
    size_t len = 8 << 20;
    char *body = calloc(1, len + 1);

    for (size_t i = 0; i < len; i += 2)
        memcpy(body + i, "\r\n", 2);
    for (int round = 0; round < 5; round++) {
        script_server server = {.answers = {{.text = "HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n",
                                             .is_early = round % 2 == 0,
                                             .is_amid = round % 2 != 0},
                                            SILENCE},
                                .answer_count = 2};

        script_server_start(&server);

        tavola_client *client = open_client(&server, NULL, set_no_retries);
        tavola_op *op = make_write(client, NULL, body);

        CHECK_CODE(tvc_op_start(op, NULL, NULL), TAVOLA_OK);
        CHECK_CODE(tavola_op_wait(op, FOR_EVER_MS), TAVOLA_ERR_TOO_LARGE);
        tavola_op_free(op);
        tavola_client_close(client);
        script_server_stop(&server);
    }
    free(body);
}

/* The child has no thread that could drive anything; it may let go of what it inherited. */
TEST(a_child_process_can_let_go)
{
    script_server server = {.answers = {NO_CONTENT, SILENCE}, .answer_count = 2};
    counts all = {.frees_not = true};
    int status = 0;

    script_server_start(&server);

    tavola_client *client = open_client(&server, NULL, NULL);
    tavola_op *done = start_get(client, count_done, &all);

    CHECK_CODE(tavola_op_wait(done, FOR_EVER_MS), TAVOLA_OK);

    tavola_op *pending = start_get(client, count_done, &all);
    pid_t child = fork();

    if (child == 0) {
        alarm(60);
        tavola_op_cancel(pending);
        tavola_op_free(pending);
        tavola_op_free(done);
        tavola_client_close(client);
        _exit(0);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    tavola_op_cancel(pending);
    CHECK_CODE(tavola_op_wait(pending, FOR_EVER_MS), TAVOLA_ERR_CANCELLED);
    CHECK_INT(tavola_poll(client, 0), 2);
    tavola_op_free(done);
    tavola_op_free(pending);
    tavola_client_close(client);
    script_server_stop(&server);
}

TEST(survives_a_lack_of_memory)
{
    script_server server = {.answers = {NO_CONTENT}, .answer_count = 1};

    script_server_start(&server);

    MEMORY_FAULTS(fault)
    {
        tavola_client_options options = {
            .struct_size = sizeof options, .proxy = "", .retry_max = UINT32_MAX};
        char text[300];
        tavola_client *client = NULL;
        counts all = {0};

        snprintf(text, sizeof text,
                 "AccountName=account;AccountKey=" KEY ";TableEndpoint=http://127.0.0.1:%d/account",
                 server.port);

        tavola_err err = tavola_client_open(text, &options, &client);
        tavola_op *op = err ? NULL : make_get(client, NULL);

        if (err == TAVOLA_OK)
            err = op ? tvc_op_start(op, count_done, &all) : TAVOLA_ERR_NO_MEMORY;
        if (err == TAVOLA_OK) {
            CHECK_INT(tavola_poll(client, FOR_EVER_MS), 1);
            if (all.ok != 1)
                err = TAVOLA_ERR_NO_MEMORY;
        } else {
            tavola_op_free(op);
        }
        if (err && !memory_fault_was_hit())
            fail_msg("run %ld: %s", fault.run, tavola_err_name(err));
        tavola_client_close(client);
    }
    script_server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_needs_nobody_who_polls),
        cmocka_unit_test(nothing_can_be_asked_before_it_is_done),
        cmocka_unit_test(no_operation_is_fine),
        cmocka_unit_test(the_descriptor_is_readable_while_something_waits),
        cmocka_unit_test(a_descriptor_that_is_asked_for_late_knows),
        cmocka_unit_test(polling_waits_no_longer_than_asked),
        cmocka_unit_test(many_operations_share_few_connections),
        cmocka_unit_test(callbacks_start_the_next),
        cmocka_unit_test(cancelled_ones_end_too),
        cmocka_unit_test(cancelled_ones_may_be_freed_at_once),
        cmocka_unit_test(a_pause_can_be_cancelled),
        cmocka_unit_test(closing_ends_what_is_under_way),
        cmocka_unit_test(closing_at_once_ends_them_too),
        cmocka_unit_test(closing_finds_the_loop_in_any_state),
        cmocka_unit_test(a_closed_client_starts_nothing),
        cmocka_unit_test(a_callback_may_close_the_client),
        cmocka_unit_test(another_thread_may_poll),
        cmocka_unit_test(threads_share_a_client),
        cmocka_unit_test(the_end_of_a_connection_is_seen_at_once),
        cmocka_unit_test(an_end_while_idle_is_not_missed),
        cmocka_unit_test(an_early_answer_is_seen),
        cmocka_unit_test(a_child_process_can_let_go),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
