/*
 * Every allocation of the library fails once, in each operation on queues and blobs: the operation
 * ends with NO_MEMORY or as it should, and nothing leaks.
 */
#include "service.h"

#include "../unit/client/memory_faults.h"

typedef struct run {
    tavola_client *client;
    tavola_queue *queue;
    tavola_container *container;
    tavola_call *call;
} run_state;

static char name[NAME_SIZE];

static bool open_run(run_state *run)
{
    *run = (run_state){0};
    if (tavola_client_open(connection_string(), NULL, &run->client) != TAVOLA_OK ||
        tavola_queue_open(run->client, name, &run->queue) != TAVOLA_OK ||
        tavola_container_open(run->client, name, &run->container) != TAVOLA_OK)
        return false;
    run->call = tavola_call_new();
    return run->call != NULL;
}

static void close_run(run_state *run)
{
    tavola_call_free(run->call);
    tavola_container_close(run->container);
    tavola_queue_close(run->queue);
    tavola_client_close(run->client);
}

/* Without a fault it is `want`; with one it may have run out of memory on its way. */
static void check_end(tavola_err err, tavola_err want)
{
    if (err == want)
        return;
    if (!memory_fault_was_hit() ||
        (err != TAVOLA_ERR_NO_MEMORY && err != TAVOLA_ERR_UNKNOWN_OUTCOME))
        CHECK_FAIL("got %s, want %s", tavola_err_name(err), tavola_err_name(want));
}

/* Each operation is run with every fault. */
#define WITH_FAULTS(run)                                                                           \
    MEMORY_FAULTS(fault)                                                                           \
    for (bool is_open = open_run(&(run)), once = true; once; close_run(&(run)), once = false)      \
        if (!is_open)                                                                              \
            CHECK(memory_fault_was_hit());                                                         \
        else

TEST(queues_run_out_of_memory)
{
    run_state run;

    WITH_FAULTS(run)
    {
        tavola_names *names = NULL;
        uint64_t count = 0;
        bool exists = false;

        check_end(tavola_queue_create_if_absent(run.queue, run.call), TAVOLA_OK);
        check_end(tavola_queue_exists(run.queue, NULL, &exists), TAVOLA_OK);
        check_end(tavola_queue_list(run.client, name, run.call, &names), TAVOLA_OK);
        check_end(tavola_queue_count(run.queue, run.call, &count), TAVOLA_OK);
        check_end(tavola_queue_clear(run.queue, NULL), TAVOLA_OK);
        CHECK(names == NULL || tavola_names_count(names) == 1);
        tavola_names_free(names);
    }
}

TEST(policies_run_out_of_memory)
{
    run_state run;

    WITH_FAULTS(run)
    {
        tavola_policy policy = {sizeof policy, "id", "r", 1, 2};
        tavola_policies *policies = NULL;

        check_end(tavola_queue_set_policies(run.queue, &policy, 1, run.call), TAVOLA_OK);
        check_end(tavola_queue_get_policies(run.queue, run.call, &policies), TAVOLA_OK);
        tavola_policies_free(policies);
    }
}

TEST(containers_run_out_of_memory)
{
    run_state run;

    WITH_FAULTS(run)
    {
        tavola_policy policy = {sizeof policy, "id", "r", 1, 2};
        tavola_policies *policies = NULL;
        tavola_names *names = NULL;
        bool exists = false;

        check_end(tavola_container_create_if_absent(run.container, run.call), TAVOLA_OK);
        check_end(tavola_container_exists(run.container, NULL, &exists), TAVOLA_OK);
        check_end(tavola_container_list(run.client, name, run.call, &names), TAVOLA_OK);
        CHECK(names == NULL || tavola_names_count(names) == 1);
        check_end(tavola_container_set_policies(run.container, &policy, 1, run.call), TAVOLA_OK);
        check_end(tavola_container_get_policies(run.container, run.call, &policies), TAVOLA_OK);
        tavola_policies_free(policies);
        tavola_names_free(names);
    }
}

TEST(what_comes_and_goes_runs_out_of_memory)
{
    char other[NAME_SIZE];
    run_state run;

    make_name(other, "other");
    WITH_FAULTS(run)
    {
        tavola_container *container = NULL;
        tavola_queue *queue = NULL;

        check_end(tavola_queue_open(run.client, other, &queue), TAVOLA_OK);
        check_end(tavola_container_open(run.client, other, &container), TAVOLA_OK);
        if (queue) {
            check_end(tavola_queue_create_if_absent(queue, NULL), TAVOLA_OK);
            check_end(tavola_queue_delete_if_present(queue, NULL), TAVOLA_OK);
        }
        if (container) {
            check_end(tavola_container_create_if_absent(container, NULL), TAVOLA_OK);
            check_end(tavola_container_delete_if_present(container, NULL), TAVOLA_OK);
        }
        tavola_queue_close(queue);
        tavola_container_close(container);
    }
}

TEST(messages_run_out_of_memory)
{
    run_state run;

    WITH_FAULTS(run)
    {
        tavola_message *put = NULL, *got = NULL;
        tavola_messages *messages = NULL;

        check_end(tavola_message_put(run.queue, "a", run.call), TAVOLA_OK);
        check_end(tavola_message_put_bytes(run.queue, "a", 1, NULL), TAVOLA_OK);
        check_end(tavola_messages_peek(run.queue, 32, run.call, &messages), TAVOLA_OK);
        tavola_messages_free(messages);
        messages = NULL;

        tavola_err taken = tavola_messages_get(run.queue, 32, 1, run.call, &messages);

        if (taken != TAVOLA_END || !memory_fault_was_hit())
            check_end(taken, TAVOLA_OK);
        tavola_messages_free(messages);
        check_end(tavola_queue_clear(run.queue, NULL), TAVOLA_OK);
        check_end(tavola_message_put_later(run.queue, "a", 10, 0, run.call, &put), TAVOLA_OK);
        if (put) {
            check_end(tavola_message_update(run.queue, put, "b", TAVOLA_AT_ONCE, run.call),
                      TAVOLA_OK);
            CHECK(tavola_message_pop_receipt(put) != NULL);
        }

        tavola_err err = tavola_message_get(run.queue, 10, run.call, &got);

        if (err != TAVOLA_END || !memory_fault_was_hit()) /* what was not put cannot be got */
            check_end(err, TAVOLA_OK);
        if (got)
            check_end(tavola_message_delete(run.queue, got, run.call), TAVOLA_OK);
        tavola_message_free(put);
        tavola_message_free(got);
    }
}

TEST(blobs_run_out_of_memory)
{
    run_state run;

    WITH_FAULTS(run)
    {
        tavola_blob_info *info = NULL;
        tavola_blobs *blobs = NULL;
        void *data = NULL, *part = NULL;
        size_t size = 0, part_size = 0;
        bool exists = false;
        tavola_err err;

        check_end(tavola_blob_put(run.container, "b", "abc", 3, NULL, run.call), TAVOLA_OK);
        check_end(tavola_blob_get(run.container, "b", 10, run.call, &data, &size), TAVOLA_OK);
        CHECK(data == NULL || strcmp(data, "abc") == 0);
        check_end(tavola_blob_get_range(run.container, "b", 9, 1, NULL, &part, &part_size),
                  TAVOLA_OK);
        check_end(tavola_blob_stat(run.container, "b", run.call, &info), TAVOLA_OK);
        check_end(tavola_blob_list(run.container, NULL, NULL, 1, NULL, run.call, &blobs),
                  TAVOLA_OK);
        check_end(tavola_blob_exists(run.container, "b", run.call, &exists), TAVOLA_OK);
        check_end(tavola_blob_put(run.container, "c", "c", 1, NULL, NULL), TAVOLA_OK);
        err = tavola_blob_delete(run.container, "c", TAVOLA_ANY, run.call);
        if (err != TAVOLA_ERR_NOT_FOUND || !memory_fault_was_hit()) /* deleted, or not put */
            check_end(err, TAVOLA_OK);
        tavola_blobs_free(blobs);
        tavola_blob_info_free(info);
        tavola_free(data);
        tavola_free(part);
    }
}

TEST(appends_run_out_of_memory)
{
    run_state run;

    WITH_FAULTS(run)
    {
        check_end(tavola_blob_delete_if_present(run.container, "log", run.call), TAVOLA_OK);

        tavola_err err = tavola_blob_create_append(run.container, "log", NULL, run.call);

        check_end(err, TAVOLA_OK);
        if (!err) {
            err = tavola_blob_append(run.container, "log", "a", 1, run.call, NULL);
            check_end(err, TAVOLA_OK);
        }
        if (!err)
            check_end(tavola_blob_append_at(run.container, "log", 1, "b", 1, run.call), TAVOLA_OK);
    }
}

static bool give(void *user, void *to, size_t size, size_t *ret_len)
{
    size_t *left = user;

    *ret_len = *left < size ? *left : size;
    memset(to, 'x', *ret_len);
    *left -= *ret_len;
    return true;
}

static bool take(void *user, const void *bytes, size_t len)
{
    (void)bytes;
    *(size_t *)user += len;
    return true;
}

TEST(streams_run_out_of_memory)
{
    enum { TWO_PIECES = (4 << 20) + 1 };
    run_state run;
    size_t whole = TWO_PIECES, came = 0;

    CHECK(open_run(&run));
    CHECK_OK(tavola_blob_write(run.container, "large", give, &whole, NULL, NULL));
    close_run(&run);
    WITH_FAULTS(run)
    {
        size_t left = TWO_PIECES;

        came = 0;

        tavola_err err = tavola_blob_write(run.container, "large", give, &left, NULL, run.call);

        if (err != TAVOLA_ERR_NETWORK || !memory_fault_was_hit()) /* a block without an answer */
            check_end(err, TAVOLA_OK);
        check_end(tavola_blob_read(run.container, "large", take, &came, run.call), TAVOLA_OK);
        CHECK(came <= TWO_PIECES);
    }
    CHECK(came == TWO_PIECES);
}

static int open_both(void **state)
{
    run_state run;

    (void)state;
    make_name(name, "memory");
    if (!open_run(&run))
        return -1;
    CHECK_OK(tavola_queue_create(run.queue, NULL));
    CHECK_OK(tavola_container_create(run.container, NULL));
    close_run(&run);
    return 0;
}

static int close_both(void **state)
{
    run_state run;

    (void)state;
    if (!open_run(&run))
        return -1;
    CHECK_OK(tavola_queue_delete(run.queue, NULL));
    CHECK_OK(tavola_container_delete(run.container, NULL));
    close_run(&run);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers_run_out_of_memory),
        cmocka_unit_test(what_comes_and_goes_runs_out_of_memory),
        cmocka_unit_test(queues_run_out_of_memory),
        cmocka_unit_test(policies_run_out_of_memory),
        cmocka_unit_test(messages_run_out_of_memory),
        cmocka_unit_test(blobs_run_out_of_memory),
        cmocka_unit_test(appends_run_out_of_memory),
        cmocka_unit_test(streams_run_out_of_memory),
    };

    return cmocka_run_group_tests(tests, open_both, close_both);
}
