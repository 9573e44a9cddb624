/*
 * Guide: "Eventually consistent transactions pattern".
 *
 * Employee 456 moves from the table Current to the table Archive.  No transaction spans two tables;
 * a message in a queue does: it is deleted last, and every step may be done again.
 */
#include "example.h"

typedef struct tables {
    tavola_table *current, *archive;
    int failures; /* to be played, as if the worker had died */
} tables;

/* Steps 3 to 5 of the guide; the message is the id of the employee. */
static tavola_err archive_employee(void *user, const char *message, uint32_t dequeue_count)
{
    tables *t = user;

    printf("reading %u: archive %s\n", dequeue_count, message);
    if (t->failures-- > 0)
        return TAVOLA_ERR_NETWORK;
    return tavola_move(t->current, t->archive, "Sales", message, NULL);
}

static bool has(tavola_table *table, const char *id)
{
    tavola_entity *entity = NULL;
    tavola_err err = tavola_get(table, "Sales", id, NULL, &entity);

    tavola_entity_free(entity);
    return err == TAVOLA_OK;
}

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tables t = {.current = example_table(client, "ExampleCurrent"),
                .archive = example_table(client, "ExampleArchive"),
                .failures = 1};
    tavola_worker *worker = NULL;
    tavola_queue *queue = NULL, *poison = NULL;

    example_insert(t.current,
                   example_employee("Sales", "456", "Jon", "Jones", 66, "jonesj@contoso.com"));

    CHECK(tavola_queue_open(client, "example-archive", &queue));
    CHECK(tavola_queue_create_if_absent(queue, NULL));
    CHECK(tavola_queue_open(client, "example-archive-poison", &poison));
    CHECK(tavola_worker_open(queue, poison, 5, archive_employee, &t, NULL, &worker));
    tavola_worker_set_hidden_s(worker, 1);

    CHECK(tavola_enqueue(queue, "456", NULL)); /* step 1 */
    while (tavola_worker_done(worker) == 0)    /* a message whose job failed comes back */
        CHECK(tavola_worker_run(worker, 100));
    printf("current: %s, archive: %s\n", has(t.current, "456") ? "yes" : "no",
           has(t.archive, "456") ? "yes" : "no");
    printf("done %" PRIu64 ", failed %" PRIu64 ", poisoned %" PRIu64 "\n",
           tavola_worker_done(worker), tavola_worker_failed(worker),
           tavola_worker_poisoned(worker));

    tavola_worker_close(worker);
    CHECK(tavola_queue_delete(queue, NULL));
    CHECK(tavola_queue_delete_if_present(poison, NULL));
    tavola_queue_close(queue);
    tavola_queue_close(poison);
    example_table_end(t.current);
    example_table_end(t.archive);
    tavola_client_close(client);
    return 0;
}
