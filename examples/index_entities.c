/*
 * Guide: "Index Entities Pattern", option 2: index entities in the same partition.
 *
 *     PartitionKey  RowKey    properties
 *     Sales         000223    FirstName, LastName "Jones", Age, Email
 *     Sales         000152    FirstName, LastName "Jones", Age, Email
 *     Sales         Jones     EmployeeIDs ["000223","000152"]
 *
 * Everybody called Jones is found by two point queries' worth of work instead of a scan.
 */
#include "example.h"

/* The employee and the index, in one transaction. */
static void hire(tavola_table *employees, tavola_entity *employee)
{
    tavola_batch *batch = tavola_batch_new(employees);
    const char *last = "";

    tavola_entity_get_string(employee, "LastName", &last);
    tavola_batch_add(batch, TAVOLA_INSERT, employee, NULL);
    CHECK(tavola_list_add(employees, "Sales", last, "EmployeeIDs", tavola_entity_row_key(employee),
                          batch, NULL));
    tavola_batch_free(batch);
    tavola_entity_free(employee);
}

static void fire(tavola_table *employees, const char *id, const char *last)
{
    tavola_entity *employee = tavola_entity_new("Sales", id);
    tavola_batch *batch = tavola_batch_new(employees);

    tavola_batch_add(batch, TAVOLA_DELETE, employee, TAVOLA_ANY);
    CHECK(tavola_list_remove(employees, "Sales", last, "EmployeeIDs", id, batch, NULL));
    tavola_batch_free(batch);
    tavola_entity_free(employee);
}

static void show(tavola_table *employees, const char *last)
{
    tavola_names *ids = NULL;

    CHECK(tavola_list_get(employees, "Sales", last, "EmployeeIDs", NULL, &ids));
    printf("%zu called %s\n", tavola_names_count(ids), last);
    for (size_t i = 0; i < tavola_names_count(ids); i++) {
        tavola_entity *employee = NULL;
        const char *first = "";

        CHECK(tavola_get(employees, "Sales", tavola_names_at(ids, i), NULL, &employee));
        tavola_entity_get_string(employee, "FirstName", &first);
        printf("  %s %s %s\n", tavola_names_at(ids, i), first, last);
        tavola_entity_free(employee);
    }
    tavola_names_free(ids);
}

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *employees = example_table(client, "ExampleIndexEntities");

    hire(employees, example_employee("Sales", "000223", "Jon", "Jones", 36, "jonesj@contoso.com"));
    hire(employees, example_employee("Sales", "000152", "Mary", "Jones", 41, "jonesm@contoso.com"));
    show(employees, "Jones");
    /* What the index entity saves: */
    example_plan(employees, TAVOLA_BIND("PartitionKey eq ? and LastName eq ?",
                                        tavola_string("Sales"), tavola_string("Jones")));
    example_plan(employees, TAVOLA_BIND("PartitionKey eq ? and RowKey eq ?", tavola_string("Sales"),
                                        tavola_string("Jones")));
    fire(employees, "000223", "Jones");
    show(employees, "Jones");

    example_table_end(employees);
    tavola_client_close(client);
    return 0;
}
