/*
 * The library in a program built on libuv: the client's descriptor is one more uv_poll_t.
 */
#include <uv.h>

#include "example.h"

enum { READS = 500 };

typedef struct program {
    tavola_client *client;
    uv_poll_t descriptor;
    int done, found;
} program;

static void on_read(void *user, tavola_op *op)
{
    program *p = user;
    tavola_entity *entity = tavola_op_take_entity(op);

    p->found += entity != NULL;
    tavola_entity_free(entity);
    tavola_op_free(op);
    if (++p->done == READS)
        uv_close((uv_handle_t *)&p->descriptor, NULL); /* nothing else keeps the loop alive */
}

static void on_readable(uv_poll_t *descriptor, int status, int events)
{
    program *p = descriptor->data;

    (void)status;
    (void)events;
    tavola_poll(p->client, 0);
}

int main(int argc, char **argv)
{
    program p = {.client = example_client(argc, argv)};
    tavola_table *employees = example_table(p.client, "ExampleAsyncUv");
    uv_loop_t *loop = uv_default_loop();

    example_insert(employees,
                   example_employee("Sales", "000223", "Jon", "Jones", 36, "jonesj@contoso.com"));

    uv_poll_init(loop, &p.descriptor, tavola_client_fd(p.client));
    p.descriptor.data = &p;
    uv_poll_start(&p.descriptor, UV_READABLE, on_readable);
    for (int i = 0; i < READS; i++) {
        tavola_op *op;

        /* Every other one asks for somebody who is not there. */
        CHECK(tavola_start_get(employees, "Sales", i % 2 ? "000223" : "999999", on_read, &p, NULL,
                               &op));
    }
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
    printf("%d reads, %d found\n", p.done, p.found);

    example_table_end(employees);
    tavola_client_close(p.client);
    return 0;
}
