/*
 * Guide: "Index Entities Pattern", option 3: index entities in another partition or table.
 *
 *     table Employees     Sales / 000223, Finance / 000456
 *     table LastNames     Jones / Employees    EmployeeIDs ["Sales/000223","Finance/000456"]
 *
 * Finds everybody called Jones in the whole company.  Eventually consistent, by a job.
 */
#include "example.h"

typedef struct company {
    tavola_table *employees, *last_names;
} company;

/* The message is "department/id". */
static tavola_err hire(void *user, const char *message, uint32_t dequeue_count)
{
    company *c = user;
    char *department = tavola_key_part('/', message, 0), *id = tavola_key_part('/', message, 1);
    tavola_entity *employee =
        example_employee(department, id, "Jon", "Jones", 36, "jonesj@contoso.com");
    tavola_err err = tavola_insert_or_replace(c->employees, employee, NULL);

    (void)dequeue_count;
    if (err == TAVOLA_OK)
        err = tavola_list_add(c->last_names, "Jones", "Employees", "EmployeeIDs", message, NULL,
                              NULL);
    tavola_entity_free(employee);
    tavola_free(department);
    tavola_free(id);
    return err;
}

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    company c = {.employees = example_table(client, "ExampleIndexEmployees"),
                 .last_names = example_table(client, "ExampleIndexLastNames")};
    tavola_queue *queue = NULL;
    tavola_names *ids = NULL;

    CHECK(tavola_queue_open(client, "example-index-table", &queue));
    CHECK(tavola_queue_create_if_absent(queue, NULL));
    CHECK(tavola_eventually(queue, "Sales/000223", 0, hire, &c, NULL));
    CHECK(tavola_eventually(queue, "Finance/000456", 0, hire, &c, NULL));
    CHECK(tavola_eventually(queue, "Sales/000223", 0, hire, &c, NULL));

    CHECK(tavola_list_get(c.last_names, "Jones", "Employees", "EmployeeIDs", NULL, &ids));
    for (size_t i = 0; i < tavola_names_count(ids); i++)
        printf("Jones: %s\n", tavola_names_at(ids, i));
    tavola_names_free(ids);

    CHECK(tavola_queue_delete(queue, NULL));
    tavola_queue_close(queue);
    example_table_end(c.employees);
    example_table_end(c.last_names);
    tavola_client_close(client);
    return 0;
}
