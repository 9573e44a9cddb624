/* Several threads share a client and a table; several clients share a process. */
#include <pthread.h>
#include <sys/wait.h>

#include "live.h"

enum { THREADS = 8, ROUNDS = 100 };

/* What a thread works with; how many of its steps went wrong. */
typedef struct worker {
    tavola_table *table;
    int number, wrong;
} worker;

static void make_round(worker *me, tavola_call *call, int round)
{
    char partition_key[16], row_key[16];
    tavola_entity *entity, *got = NULL;
    tavola_op *op = NULL;
    int32_t n = -1;

    snprintf(partition_key, sizeof partition_key, "p%d", me->number);
    snprintf(row_key, sizeof row_key, "%d", round);
    entity = new_entity(partition_key, row_key, round);
    me->wrong += tavola_insert(me->table, entity, call) != TAVOLA_OK;
    me->wrong += tavola_insert(me->table, entity, call) != TAVOLA_ERR_EXISTS;
    me->wrong += tavola_get(me->table, partition_key, row_key, call, &got) != TAVOLA_OK;
    me->wrong += !tavola_entity_get_int32(got, "N", &n) || n != round;
    tavola_entity_free(got);
    me->wrong +=
        tavola_start_get(me->table, partition_key, row_key, NULL, NULL, NULL, &op) != TAVOLA_OK;
    me->wrong += tavola_op_wait(op, 60000) != TAVOLA_OK;
    tavola_op_free(op);
    tavola_entity_free(entity);
}

static void *work(void *user)
{
    worker *me = user;
    tavola_call *call = tavola_call_new();
    tavola_query *query;
    char partition_key[16];
    uint64_t count = 0;

    for (int round = 0; round < ROUNDS; round++)
        make_round(me, call, round);
    snprintf(partition_key, sizeof partition_key, "p%d", me->number);
    query = tavola_query_new(TAVOLA_BIND("PartitionKey eq ?", tavola_string(partition_key)));
    tavola_query_set_page_size(query, 30);
    me->wrong += tavola_count(me->table, query, call, &count) != TAVOLA_OK || count != ROUNDS;
    tavola_query_free(query);
    tavola_call_free(call);
    return NULL;
}

static void run_workers(worker *workers)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        CHECK_INT(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(workers[i].wrong, 0);
    CHECK_INT(count_all(), THREADS * ROUNDS);
}

TEST(threads_share_a_table)
{
    worker workers[THREADS] = {0};

    for (int i = 0; i < THREADS; i++)
        workers[i].table = t.table;
    run_workers(workers);
}

TEST(threads_have_clients_of_their_own)
{
    worker workers[THREADS] = {0};
    tavola_client *clients[THREADS];

    for (int i = 0; i < THREADS; i++) {
        clients[i] = open_client();
        CHECK_OK(tavola_table_open(clients[i], tavola_table_name(t.table), &workers[i].table));
    }
    run_workers(workers);
    for (int i = 0; i < THREADS; i++) {
        tavola_table_close(workers[i].table);
        tavola_client_close(clients[i]);
    }
}

/* One thread starts, another polls. */
static void note_end(void *user, tavola_op *op)
{
    int *count = user;

    *count += tavola_op_err(op) == TAVOLA_OK;
    tavola_op_free(op);
}

static void *poll_all(void *user)
{
    int *count = user;

    while (*count < ROUNDS && tavola_poll(t.client, 60000) > 0)
        ;
    return NULL;
}

TEST(another_thread_polls)
{
    pthread_t poller;
    int count = 0;

    CHECK_INT(pthread_create(&poller, NULL, poll_all, &count), 0);
    for (int i = 0; i < ROUNDS; i++) {
        char row_key[16];
        tavola_entity *entity;
        tavola_op *op = NULL;

        snprintf(row_key, sizeof row_key, "%d", i);
        entity = new_entity("p", row_key, i);
        CHECK_OK(
            tavola_start_write(t.table, TAVOLA_INSERT, entity, NULL, note_end, &count, NULL, &op));
        tavola_entity_free(entity);
    }
    pthread_join(poller, NULL);
    CHECK_INT(count, ROUNDS);
}

/* The child of a fork closes what it inherited, and the parent goes on. */
TEST(a_child_may_close_what_it_inherited)
{
    tavola_op *op = NULL;
    int status = -1;
    pid_t child;

    CHECK_OK(tavola_start_get(t.table, "p", "r", NULL, NULL, NULL, &op));
    CHECK_ERR(tavola_op_wait(op, 60000), TAVOLA_ERR_NOT_FOUND);
    tavola_op_free(op);
    child = fork();
    if (child == 0) {
        tavola_table_close(t.table);
        tavola_client_close(t.client);
        _exit(0);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    insert_new("p", "r", 1);
    CHECK_OK(tavola_start_get(t.table, "p", "r", NULL, NULL, NULL, &op));
    CHECK_OK(tavola_op_wait(op, 60000));
    tavola_op_free(op);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(threads_share_a_table),
        LIVE_TEST(threads_have_clients_of_their_own),
        LIVE_TEST(another_thread_polls),
        LIVE_TEST(a_child_may_close_what_it_inherited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
