/*
 * Every wait can be interrupted: a server takes each request and never answers, and whoever waits
 * for it comes back when its call is cancelled.  What is said of a write is true: not made when
 * nothing of it was sent, else not known.  Nothing here ends by itself: timeouts are of an hour.
 */
#include <dirent.h>
#include <pthread.h>

#include "check.h"
#include "client/net/script_server.h"
#include "client/op/service.h"
#include "client/patterns/keeper.h"
#include "wait.h"

enum { HOUR_MS = 3600 * 1000 };

#define SILENCE                                                                                    \
    {                                                                                              \
        .text = NULL                                                                               \
    }

static struct {
    script_server server;
    tavola_client *client;
    tavola_table *table;
    tavola_queue *queue;
    tavola_container *container;
    tavola_call *call;
    tavola_entity *entity;
    tavola_message *message;
} s;

static void open_stand(script_answer answer, uint32_t connections_max)
{
    tavola_client_options options = {
        .struct_size = sizeof options,
        .attempt_timeout_ms = HOUR_MS,
        .total_timeout_ms = HOUR_MS,
        .retry_delay_max_ms = HOUR_MS,
        .connections_max = connections_max,
        .proxy = "",
    };
    char text[600];

    memset(&s, 0, sizeof s);
    s.server = (script_server){.answers = {answer}, .answer_count = 1};
    script_server_start(&s.server);
    snprintf(text, sizeof text,
             "AccountName=account;AccountKey=" KEY ";TableEndpoint=http://127.0.0.1:%d/account;"
             "QueueEndpoint=http://127.0.0.1:%d/account;BlobEndpoint=http://127.0.0.1:%d/account",
             s.server.port, s.server.port, s.server.port);
    CHECK_CODE(tavola_client_open(text, &options, &s.client), TAVOLA_OK);
    CHECK_CODE(tavola_table_open(s.client, "People", &s.table), TAVOLA_OK);
    CHECK_CODE(tavola_queue_open(s.client, "queue", &s.queue), TAVOLA_OK);
    CHECK_CODE(tavola_container_open(s.client, "container", &s.container), TAVOLA_OK);
    s.call = tavola_call_new();
    s.message = tavola_message_new("id", "receipt");
    s.entity = tavola_entity_new("p", "r");
    tavola_entity_set_int32(s.entity, "N", 1);
}

static void close_stand(void)
{
    tavola_entity_free(s.entity);
    tavola_message_free(s.message);
    tavola_call_free(s.call);
    tavola_container_close(s.container);
    tavola_queue_close(s.queue);
    tavola_table_close(s.table);
    tavola_client_close(s.client);
    script_server_stop(&s.server);
}

/* ---- what waits ---- */

static tavola_err get(void)
{
    tavola_entity *entity = NULL;

    return tavola_get(s.table, "p", "r", s.call, &entity);
}

static tavola_err insert(void)
{
    return tavola_insert(s.table, s.entity, s.call);
}

static tavola_err delete_entity(void)
{
    return tavola_delete_if_present(s.table, "p", "r", s.call);
}

static tavola_err run_batch(void)
{
    tavola_batch *batch = tavola_batch_new(s.table);

    tavola_batch_add(batch, TAVOLA_INSERT, s.entity, NULL);

    tavola_err err = tavola_batch_run(batch, s.call);

    tavola_batch_free(batch);
    return err;
}

static tavola_err scan(void)
{
    tavola_scan *scan = NULL;
    const tavola_entity *entity;

    CHECK_CODE(tavola_scan_open(s.table, NULL, s.call, &scan), TAVOLA_OK);

    tavola_err err = tavola_scan_next(scan, &entity);

    tavola_scan_close(scan);
    return err;
}

static tavola_err scan_spread(void)
{
    tavola_scan *scan = NULL;
    const tavola_entity *entity;

    CHECK_CODE(tavola_scan_open_spread(s.table, NULL, 4, NULL, s.call, &scan), TAVOLA_OK);

    tavola_err err = tavola_scan_next(scan, &entity);

    tavola_scan_close(scan);
    return err;
}

static tavola_err count(void)
{
    uint64_t n;

    return tavola_count(s.table, NULL, s.call, &n);
}

static tavola_err get_many(void)
{
    const char *keys[] = {"a", "b", "c"};
    tavola_entity *entities[3] = {NULL, NULL, NULL};

    return tavola_get_many(s.table, keys, keys, 3, 2, s.call, entities);
}

static tavola_err delete_where(void)
{
    return tavola_delete_where(s.table, tavola_where("N", TAVOLA_EQ, tavola_int32(1)), s.call,
                               NULL);
}

static tavola_err create_table(void)
{
    return tavola_table_create_if_absent(s.table, s.call);
}

static tavola_err list_tables(void)
{
    tavola_names *names = NULL;

    return tavola_table_list(s.client, NULL, s.call, &names);
}

static tavola_err create_queue(void)
{
    return tavola_queue_create_if_absent(s.queue, s.call);
}

static tavola_err put_message(void)
{
    return tavola_message_put(s.queue, "text", s.call);
}

static tavola_err get_message(void)
{
    tavola_message *message = NULL;

    return tavola_message_get(s.queue, 0, s.call, &message);
}

static tavola_err update_message(void)
{
    return tavola_message_update(s.queue, s.message, NULL, 30, s.call);
}

static tavola_err delete_message(void)
{
    return tavola_message_delete(s.queue, s.message, s.call);
}

static tavola_err put_blob(void)
{
    return tavola_blob_put(s.container, "blob", "text", 4, NULL, s.call);
}

static bool give_more(void *user, void *to, size_t size, size_t *ret_len)
{
    (void)user;
    memset(to, 'x', size);
    *ret_len = size;
    return true;
}

static tavola_err write_blob(void)
{
    return tavola_blob_write(s.container, "blob", give_more, NULL, NULL, s.call);
}

static tavola_err append_blob(void)
{
    return tavola_blob_append_at(s.container, "blob", 0, "text", 4, s.call);
}

static tavola_err delete_blob(void)
{
    return tavola_blob_delete(s.container, "blob", NULL, s.call);
}

static tavola_err read_blob(void)
{
    void *data = NULL;
    size_t size;

    return tavola_blob_get(s.container, "blob", 100, s.call, &data, &size);
}

static const struct wait_case {
    const char *what;
    tavola_err (*run)(void);
    tavola_err err; /* when it was sent */
} cases[] = {
    {"get", get, TAVOLA_ERR_CANCELLED},
    {"insert", insert, TAVOLA_ERR_UNKNOWN_OUTCOME},
    {"delete", delete_entity, TAVOLA_ERR_UNKNOWN_OUTCOME},
    {"batch", run_batch, TAVOLA_ERR_UNKNOWN_OUTCOME},
    {"scan", scan, TAVOLA_ERR_CANCELLED},
    {"scan of buckets", scan_spread, TAVOLA_ERR_CANCELLED},
    {"count", count, TAVOLA_ERR_CANCELLED},
    {"many reads", get_many, TAVOLA_ERR_CANCELLED},
    {"delete by a filter, which reads first", delete_where, TAVOLA_ERR_CANCELLED},
    {"create a table", create_table, TAVOLA_ERR_UNKNOWN_OUTCOME},
    {"list of tables", list_tables, TAVOLA_ERR_CANCELLED},
    {"create a queue", create_queue, TAVOLA_ERR_UNKNOWN_OUTCOME},
    {"put a message", put_message, TAVOLA_ERR_UNKNOWN_OUTCOME},
    {"get a message", get_message, TAVOLA_ERR_CANCELLED},
    {"update a message", update_message, TAVOLA_ERR_UNKNOWN_OUTCOME},
    {"delete a message", delete_message, TAVOLA_ERR_UNKNOWN_OUTCOME},
    {"put a blob", put_blob, TAVOLA_ERR_UNKNOWN_OUTCOME},
    {"put a blob in blocks: the blob is what it was", write_blob, TAVOLA_ERR_CANCELLED},
    {"append to a blob", append_blob, TAVOLA_ERR_UNKNOWN_OUTCOME},
    {"delete a blob", delete_blob, TAVOLA_ERR_UNKNOWN_OUTCOME},
    {"get a blob", read_blob, TAVOLA_ERR_CANCELLED},
};

/* ---- somebody who waits ---- */

typedef struct waiting {
    pthread_t thread;
    tavola_err (*run)(void);
    tavola_err err;
    atomic_bool is_back;
} waiting;

static void *wait_there(void *user)
{
    waiting *one = user;

    one->err = one->run();
    one->is_back = true;
    return NULL;
}

static void begin(waiting *one, tavola_err (*run)(void))
{
    *one = (waiting){.run = run};
    CHECK_INT(pthread_create(&one->thread, NULL, wait_there, one), 0);
}

static tavola_err end(waiting *one)
{
    WAIT_UNTIL(one->is_back);
    pthread_join(one->thread, NULL);
    return one->err;
}

TEST(whoever_waits_for_an_answer_is_called_back)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        waiting one;

        t_row = cases[i].what;
        open_stand((script_answer)SILENCE, 0);
        begin(&one, cases[i].run);
        CHECK(script_server_has_read(&s.server, 1));
        tavola_call_cancel(s.call);
        CHECK_CODE(end(&one), cases[i].err);
        CHECK(strstr(tavola_call_message(s.call), "cancelled"));
        close_stand();
    }
    t_row = "";
}

/* Nothing is sent any more, so no write was made. */
TEST(what_uses_a_cancelled_call_ends_at_once)
{
    open_stand((script_answer)SILENCE, 0);
    tavola_call_cancel(s.call);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i].what;
        CHECK_CODE(cases[i].run(), TAVOLA_ERR_CANCELLED);
        CHECK_INT(tavola_call_attempts(s.call), 0);
    }
    t_row = "";
    CHECK_INT(s.server.connections, 0);
    close_stand();
}

TEST(a_pause_between_attempts_is_cut_short)
{
    waiting one;

    open_stand((script_answer){.text = "HTTP/1.1 429 X\r\nRetry-After: 3000\r\n"
                                       "Content-Length: 0\r\n\r\n"},
               0);
    begin(&one, insert);
    CHECK(script_server_has_read(&s.server, 1));
    tavola_call_cancel(s.call);

    tavola_err err = end(&one);

    /* The answer, by which it was not made, may come before or after the end. */
    if (err != TAVOLA_ERR_UNKNOWN_OUTCOME)
        CHECK_CODE(err, TAVOLA_ERR_CANCELLED);
    CHECK_INT(s.server.requests, 1);
    close_stand();
}

/* All connections are in use: what waits for one was not sent. */
TEST(waiting_for_a_connection_is_cut_short)
{
    tavola_op *first = NULL;
    waiting one;

    open_stand((script_answer)SILENCE, 1);
    CHECK_CODE(tavola_start_get(s.table, "p", "r", NULL, NULL, NULL, &first), TAVOLA_OK);
    CHECK(script_server_has_read(&s.server, 1));
    begin(&one, insert);
    usleep(10000); /* more often than not it waits by then */
    tavola_call_cancel(s.call);
    CHECK_CODE(end(&one), TAVOLA_ERR_CANCELLED);
    CHECK_INT(s.server.requests, 1);
    tavola_op_cancel(first);
    tavola_op_free(first);
    close_stand();
}

/* ---- started operations ---- */

TEST(a_started_write_that_is_cancelled_is_unknown_when_it_was_sent)
{
    tavola_op *sent = NULL, *waits = NULL;

    open_stand((script_answer)SILENCE, 1);
    CHECK_CODE(tavola_start_write(s.table, TAVOLA_INSERT, s.entity, NULL, NULL, NULL, NULL, &sent),
               TAVOLA_OK);
    CHECK(script_server_has_read(&s.server, 1));
    CHECK_CODE(tavola_start_write(s.table, TAVOLA_INSERT, s.entity, NULL, NULL, NULL, NULL, &waits),
               TAVOLA_OK);
    tavola_op_cancel(waits);
    CHECK_CODE(tavola_op_wait(waits, HOUR_MS), TAVOLA_ERR_CANCELLED);
    tavola_op_cancel(sent);
    CHECK_CODE(tavola_op_wait(sent, HOUR_MS), TAVOLA_ERR_UNKNOWN_OUTCOME);
    tavola_op_free(waits);
    tavola_op_free(sent);
    close_stand();
}

TEST(closing_the_client_says_what_is_not_known)
{
    tavola_op *read = NULL, *write = NULL;

    open_stand((script_answer)SILENCE, 0);
    CHECK_CODE(tavola_start_get(s.table, "p", "r", NULL, NULL, NULL, &read), TAVOLA_OK);
    CHECK_CODE(tavola_start_write(s.table, TAVOLA_INSERT, s.entity, NULL, NULL, NULL, NULL, &write),
               TAVOLA_OK);
    CHECK(script_server_has_read(&s.server, 2));
    tavola_client_close(s.client);
    s.client = NULL;
    CHECK_CODE(tavola_op_err(read), TAVOLA_ERR_CANCELLED);
    CHECK_CODE(tavola_op_err(write), TAVOLA_ERR_UNKNOWN_OUTCOME);
    tavola_op_free(read);
    tavola_op_free(write);
    close_stand();
}

/* ---- workers ---- */

static tavola_worker *worker;

static tavola_err do_nothing(void *user, const char *message, uint32_t dequeue_count)
{
    (void)message, (void)dequeue_count, (void)user;
    return TAVOLA_OK;
}

static tavola_err work(void)
{
    return tavola_worker_run(worker, UINT32_MAX);
}

static tavola_err work_for_a_moment(void)
{
    return tavola_worker_run(worker, 1);
}

static void open_worker(void)
{
    CHECK_CODE(tavola_worker_open(s.queue, NULL, 0, do_nothing, NULL, NULL, &worker), TAVOLA_OK);
}

TEST(a_worker_stops_whatever_its_server_does)
{
    waiting one;

    open_stand((script_answer)SILENCE, 0);
    open_worker();
    begin(&one, work);
    CHECK(script_server_has_read(&s.server, 1));
    tavola_worker_stop(worker);
    CHECK_CODE(end(&one), TAVOLA_OK);
    tavola_worker_close(worker);
    close_stand();
}

#define MESSAGE                                                                                    \
    "<?xml version=\"1.0\"?><QueueMessagesList><QueueMessage><MessageId>id</MessageId>"            \
    "<InsertionTime>Fri, 02 Jan 2026 03:04:05 GMT</InsertionTime>"                                 \
    "<ExpirationTime>Fri, 09 Jan 2026 03:04:05 GMT</ExpirationTime>"                               \
    "<PopReceipt>receipt</PopReceipt>"                                                             \
    "<TimeNextVisible>Fri, 02 Jan 2026 03:04:35 GMT</TimeNextVisible>"                             \
    "<DequeueCount>1</DequeueCount><MessageText>text</MessageText></QueueMessage>"                 \
    "</QueueMessagesList>"

/* The job is done, and nobody answers to the deletion of its message. */
TEST(a_worker_stops_while_it_deletes_a_message)
{
    char answer[1000];
    waiting one;

    snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
             sizeof MESSAGE - 1, MESSAGE);
    open_stand((script_answer){.text = answer}, 0);
    s.server.answers[1] = (script_answer)SILENCE;
    s.server.answer_count = 2;
    open_worker();
    begin(&one, work);
    CHECK(script_server_has_read(&s.server, 2));
    CHECK(strncmp(s.server.last_request, "DELETE", 6) == 0);
    tavola_worker_stop(worker);
    CHECK_CODE(end(&one), TAVOLA_OK);
    CHECK_INT(tavola_worker_done(worker), 1);

    /* It can work again, and be stopped again. */
    begin(&one, work);
    CHECK(script_server_has_read(&s.server, 3));
    tavola_worker_stop(worker);
    CHECK_CODE(end(&one), TAVOLA_OK);
    tavola_worker_close(worker);
    close_stand();
}

TEST(a_worker_for_a_time_does_not_wait_for_ever)
{
    waiting one;

    open_stand((script_answer)SILENCE, 0);
    open_worker();
    begin(&one, work_for_a_moment);
    CHECK_CODE(end(&one), TAVOLA_ERR_TIMEOUT);
    tavola_worker_close(worker);
    close_stand();
}

/* ---- keepers ---- */

TEST(a_keeper_is_stopped_whether_it_pauses_or_extends)
{
    tvc_keeper keeper;

    open_stand((script_answer)SILENCE, 0);
    CHECK_CODE(tvc_keeper_start(&keeper, s.queue, s.message, 600), TAVOLA_OK);
    CHECK(tvc_keeper_stop(&keeper));
    CHECK_INT(s.server.requests, 0);

    tvc_keeper_set_pause_ms(1);
    CHECK_CODE(tvc_keeper_start(&keeper, s.queue, s.message, 600), TAVOLA_OK);
    CHECK(script_server_has_read(&s.server, 1));
    CHECK(tvc_keeper_stop(&keeper)); /* as far as is known */
    tvc_keeper_set_pause_ms(0);
    close_stand();
}

TEST(a_keeper_extends_with_the_newest_receipt)
{
    tvc_keeper keeper;

    open_stand((script_answer){.text = "HTTP/1.1 204 X\r\nx-ms-popreceipt: next\r\n"
                                       "x-ms-time-next-visible: Fri, 02 Jan 2026 03:04:05 GMT\r\n"
                                       "\r\n"},
               0);
    tvc_keeper_set_pause_ms(1);
    CHECK_CODE(tvc_keeper_start(&keeper, s.queue, s.message, 600), TAVOLA_OK);
    CHECK(script_server_has_read(&s.server, 5));
    CHECK(tvc_keeper_stop(&keeper));
    tvc_keeper_set_pause_ms(0);
    CHECK_TEXT(tv_slice_of(tavola_message_pop_receipt(s.message)), "next");
    CHECK(strstr(s.server.last_request, "popreceipt=next&visibilitytimeout=600"));
    close_stand();
}

TEST(a_keeper_knows_when_the_message_is_lost)
{
    tvc_keeper keeper;

    open_stand((script_answer)REFUSED(404, "MessageNotFound"), 0);
    tvc_keeper_set_pause_ms(1);
    CHECK_CODE(tvc_keeper_start(&keeper, s.queue, s.message, 600), TAVOLA_OK);
    WAIT_UNTIL(tvc_keeper_is_lost(&keeper));
    CHECK(!tvc_keeper_stop(&keeper));
    tvc_keeper_set_pause_ms(0);
    CHECK_INT(s.server.requests, 1);
    close_stand();
}

TEST(an_extension_that_failed_is_made_again)
{
    tvc_keeper keeper;

    open_stand((script_answer)REFUSED(503, "ServerBusy"), 0);
    tvc_keeper_set_pause_ms(1);
    CHECK_CODE(tvc_keeper_start(&keeper, s.queue, s.message, 600), TAVOLA_OK);
    CHECK(script_server_has_read(&s.server, 3));
    CHECK(tvc_keeper_stop(&keeper));
    tvc_keeper_set_pause_ms(0);
    close_stand();
}

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int threads = 0;

    CHECK(tasks != NULL);
    while (readdir(tasks))
        threads++;
    closedir(tasks);
    return threads;
}

TEST(many_keepers_have_one_thread)
{
    enum { KEEPERS = 20 };
    tvc_keeper keepers[KEEPERS];
    int threads = 0;

    open_stand((script_answer)SILENCE, 0);
    for (int i = 0; i < KEEPERS; i++) {
        CHECK_CODE(tvc_keeper_start(&keepers[i], s.queue, s.message, 600), TAVOLA_OK);
        if (i == 0)
            threads = count_threads();
    }
    CHECK_INT(count_threads(), threads);
    for (int i = 0; i < KEEPERS; i++)
        CHECK(tvc_keeper_stop(&keepers[i]));
    close_stand();
}

/* Two may fail or be late before the time is over. */
TEST(an_extension_is_due_after_a_third_of_the_time)
{
    CHECK_INT(tvc_keeper_pause_ms(30, TAVOLA_OK), 10 * 1000);
    CHECK_INT(tvc_keeper_pause_ms(30, TAVOLA_ERR_BUSY), 2500);
    CHECK_INT(tvc_keeper_pause_ms(1, TAVOLA_OK), 333);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_waits_for_an_answer_is_called_back),
        cmocka_unit_test(what_uses_a_cancelled_call_ends_at_once),
        cmocka_unit_test(a_pause_between_attempts_is_cut_short),
        cmocka_unit_test(waiting_for_a_connection_is_cut_short),
        cmocka_unit_test(a_started_write_that_is_cancelled_is_unknown_when_it_was_sent),
        cmocka_unit_test(closing_the_client_says_what_is_not_known),
        cmocka_unit_test(a_worker_stops_whatever_its_server_does),
        cmocka_unit_test(a_worker_stops_while_it_deletes_a_message),
        cmocka_unit_test(a_worker_for_a_time_does_not_wait_for_ever),
        cmocka_unit_test(a_keeper_is_stopped_whether_it_pauses_or_extends),
        cmocka_unit_test(a_keeper_extends_with_the_newest_receipt),
        cmocka_unit_test(a_keeper_knows_when_the_message_is_lost),
        cmocka_unit_test(an_extension_that_failed_is_made_again),
        cmocka_unit_test(many_keepers_have_one_thread),
        cmocka_unit_test(an_extension_is_due_after_a_third_of_the_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
