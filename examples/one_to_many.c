/*
 * Guide: "One-to-many relationships".
 *
 * A department and its employees in one partition: the count in the department and the employee
 * change together, in one entity group transaction.
 */
#include "example.h"

/* Hire, and count, or neither. */
static tavola_err hire(tavola_table *table, tavola_entity *employee)
{
    const char *department = tavola_entity_partition_key(employee);
    tavola_entity *head = NULL;
    tavola_err err;

    do {
        tavola_batch *batch;
        int32_t count = 0;

        err = tavola_get(table, department, "Department", NULL, &head);
        if (err)
            return err;

        tavola_entity_get_int32(head, "EmployeeCount", &count);
        tavola_entity_set_int32(head, "EmployeeCount", count + 1);
        batch = tavola_batch_new(table);
        tavola_batch_add(batch, TAVOLA_INSERT, employee, NULL);
        tavola_batch_add(batch, TAVOLA_MERGE, head, NULL); /* if nobody has hired meanwhile */
        err = tavola_batch_run(batch, NULL);
        tavola_batch_free(batch);
        tavola_entity_free(head);
    } while (err == TAVOLA_ERR_ETAG);
    return err;
}

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *table = example_table(client, "ExampleOneToMany");
    tavola_entity *sales = tavola_entity_new("Sales", "Department");
    tavola_entity *jones =
        example_employee("Sales", "000223", "Jon", "Jones", 36, "jonesj@contoso.com");
    uint64_t count = 0;
    int32_t counted = 0;

    tavola_entity_set_int32(sales, "EmployeeCount", 0);
    example_insert(table, sales);

    CHECK(hire(table, jones));
    /* Twice is refused, and not counted: the transaction is all or nothing. */
    printf("again: %s\n", tavola_err_name(hire(table, jones)));
    tavola_entity_free(jones);

    sales = NULL;
    CHECK(tavola_get(table, "Sales", "Department", NULL, &sales));
    tavola_entity_get_int32(sales, "EmployeeCount", &counted);
    tavola_entity_free(sales);
    CHECK(tavola_count(table, NULL, NULL, &count));
    example_plan(table, tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")));
    printf("%d employee, %" PRIu64 " entities\n", counted, count);

    example_table_end(table);
    tavola_client_close(client);
    return 0;
}
