/*
 * The library in a program that has an event loop of its own: plain poll(2).
 *
 * One descriptor is readable while there is something to do; tavola_poll(client, 0) does it.
 */
#include <poll.h>

#include "example.h"

typedef struct walk {
    tavola_table *table;
    tavola_query *query;
    size_t entities, pages;
    bool is_done;
} walk;

/* The guide's ManyEntitiesQueryAsync. */
static void on_page(void *user, tavola_op *op)
{
    walk *w = user;
    tavola_page *page = tavola_op_take_page(op);
    tavola_op *next;

    CHECK(tavola_op_err(op));
    w->pages++;
    w->entities += tavola_page_count(page);
    if (tavola_page_token(page))
        CHECK(tavola_start_page(w->table, w->query, tavola_page_token(page), on_page, w, NULL,
                                &next));
    else
        w->is_done = true;
    tavola_page_free(page);
    tavola_op_free(op);
}

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    walk w = {.table = example_table(client, "ExampleAsyncPoll")};
    tavola_batch *batch = tavola_batch_new(w.table);
    tavola_op *op;

    for (unsigned i = 0; i < 100; i++) {
        char id[7];
        tavola_entity *employee;

        tavola_key_padded(i, 6, id, sizeof id);
        employee = tavola_entity_new("Sales", id);
        tavola_batch_add(batch, TAVOLA_INSERT, employee, NULL);
        tavola_entity_free(employee);
    }
    CHECK(tavola_batch_run(batch, NULL));
    tavola_batch_free(batch);

    w.query = tavola_query_new(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")));
    tavola_query_set_page_size(w.query, 30);
    CHECK(tavola_start_page(w.table, w.query, NULL, on_page, &w, NULL, &op));
    while (!w.is_done) {
        struct pollfd descriptors[] = {{.fd = tavola_client_fd(client), .events = POLLIN}};

        poll(descriptors, 1, -1); /* and the other descriptors of the program */
        if (descriptors[0].revents)
            tavola_poll(client, 0);
    }
    printf("%zu entities in %zu pages\n", w.entities, w.pages);

    tavola_query_free(w.query);
    example_table_end(w.table);
    tavola_client_close(client);
    return 0;
}
