/* Addresses that are raced, by whoever drives an operation: the caller's thread or the client's. */
#include "base/clock.h"
#include "client/net/fake_hosts.h"
#include "client/op/service.h"

enum { FOR_EVER_MS = 60 * 1000 };

/* A client of a name that the test decides about. */
static tavola_client *open_raced(void)
{
    tavola_client_options options = {.struct_size = sizeof options,
                                     .retry_max = UINT32_MAX,
                                     .connect_timeout_ms = FOR_EVER_MS,
                                     .proxy = ""};
    tavola_client *client = NULL;

    CHECK_CODE(tavola_client_open("AccountName=account;AccountKey=" KEY
                                  ";TableEndpoint=http://raced.test/account",
                                  &options, &client),
               TAVOLA_OK);
    return client;
}

static tavola_op *start(tavola_client *client)
{
    tavola_op *op = make_get(client, NULL);

    CHECK(op != NULL);
    CHECK_CODE(tvc_op_start(op, NULL, NULL), TAVOLA_OK);
    return op;
}

static tavola_err run(tavola_client *client, tavola_call *call)
{
    tavola_op *op = make_get(client, call);

    CHECK(op != NULL);
    tavola_err err = tvc_op_run(op);
    tavola_op_free(op);
    return err;
}

TEST(both_drivers_reach_the_address_that_answers)
{
    script_server server = {.answers = {{.text = "HTTP/1.1 204 X\r\n\r\n"}}, .answer_count = 1};
    silent_host silent = silent_start();
    int refusing = refusing_port();

    script_server_start(&server);
    for (int has_refusing = 0; has_refusing < 2; has_refusing++) {
        fake_hosts.count = 0;
        fake_hosts_add("127.0.0.1", silent.port);
        if (has_refusing)
            fake_hosts_add("127.0.0.1", refusing);
        fake_hosts_add("127.0.0.1", silent.port);
        fake_hosts_add("127.0.0.1", server.port);

        tavola_client *client = open_raced();

        CHECK_CODE(run(client, NULL), TAVOLA_OK);
        tavola_client_close(client);

        client = open_raced();
        tavola_op *ops[8];

        for (size_t i = 0; i < 8; i++)
            ops[i] = start(client);
        for (size_t i = 0; i < 8; i++) {
            CHECK_CODE(tavola_op_wait(ops[i], FOR_EVER_MS), TAVOLA_OK);
            tavola_op_free(ops[i]);
        }
        tavola_client_close(client);
    }
    silent_stop(&silent);
    script_server_stop(&server);
}

static void *cancel(void *call)
{
    usleep(1000);
    tavola_call_cancel(call);
    return NULL;
}

/* Nobody answers: what ends them is the cancellation. */
TEST(both_drivers_can_be_cancelled_amid_attempts)
{
    silent_host silent = silent_start();

    fake_hosts.count = 0;
    for (int i = 0; i < 3; i++)
        fake_hosts_add("127.0.0.1", silent.port);

    tavola_client *client = open_raced();
    tavola_call *call = tavola_call_new();
    pthread_t thread;

    CHECK_INT(pthread_create(&thread, NULL, cancel, call), 0);
    CHECK_CODE(run(client, call), TAVOLA_ERR_CANCELLED);
    pthread_join(thread, NULL);
    tavola_call_free(call);

    tavola_op *op = start(client);

    CHECK_CODE(tavola_op_wait(op, 1), TAVOLA_ERR_TIMEOUT);
    tavola_op_cancel(op);
    CHECK_CODE(tavola_op_wait(op, FOR_EVER_MS), TAVOLA_ERR_CANCELLED);
    tavola_op_free(op);
    tavola_client_close(client);
    silent_stop(&silent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_drivers_reach_the_address_that_answers),
        cmocka_unit_test(both_drivers_can_be_cancelled_amid_attempts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
