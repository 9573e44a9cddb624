/*
 * Guide: "Asynchronous and parallel operations".
 *
 * The guide's SimpleEmployeeUpsert, alone and as many at once as one likes: started operations run
 * on the client's own thread, and their callbacks on the thread that polls.
 */
#include "example.h"

enum { EMPLOYEES = 1000 };

static tavola_err simple_employee_upsert(tavola_table *employees, tavola_entity *employee)
{
    tavola_call *call = tavola_call_new();
    tavola_err err = tavola_insert_or_replace(employees, employee, call);

    printf("HTTP status: %d\n", tavola_call_status(call));
    tavola_call_free(call);
    return err;
}

static void on_upsert(void *user, tavola_op *op)
{
    int *done = user;

    CHECK(tavola_op_err(op));
    (*done)++;
    tavola_op_free(op);
}

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *employees = example_table(client, "ExampleUpsert");
    tavola_entity *employee =
        example_employee("Sales", "000223", "Jon", "Jones", 36, "jonesj@contoso.com");
    int done = 0;

    CHECK(simple_employee_upsert(employees, employee));
    tavola_entity_free(employee);

    for (unsigned i = 0; i < EMPLOYEES; i++) {
        char id[7];
        tavola_op *op;

        tavola_key_padded(i, 6, id, sizeof id);
        employee = example_employee("Sales", id, "Jon", "Jones", 36, "jonesj@contoso.com");
        CHECK(tavola_start_write(employees, TAVOLA_INSERT_OR_REPLACE, employee, NULL, on_upsert,
                                 &done, NULL, &op));
        tavola_entity_free(employee); /* it was copied */
    }
    while (done < EMPLOYEES)
        tavola_poll(client, -1);
    printf("%d written at once\n", done);

    example_table_end(employees);
    tavola_client_close(client);
    return 0;
}
