/*
 * Guide: "Index Entities Pattern", option 1: a blob for each last name.
 *
 * For lists that outgrow an entity.  The blob is eventually consistent with the employees: a
 * message is put first, and a worker repeats the job if this program dies before its end.
 */
#include "example.h"

typedef struct company {
    tavola_table *employees;
    tavola_container *names;
} company;

/* The message is "id"; may be done any number of times. */
static tavola_err index_employee(void *user, const char *message, uint32_t dequeue_count)
{
    company *c = user;
    tavola_entity *employee = NULL;
    const char *last = "";
    tavola_err err = tavola_get(c->employees, "Sales", message, NULL, &employee);

    (void)dequeue_count;
    if (err == TAVOLA_ERR_NOT_FOUND)
        return TAVOLA_OK; /* was never hired */
    if (err)
        return err;

    tavola_entity_get_string(employee, "LastName", &last);
    err = tavola_list_blob_add(c->names, last, message, NULL);
    tavola_entity_free(employee);
    return err;
}

/* First the employee, then the index: both in a job. */
static tavola_err hire(void *user, const char *message, uint32_t dequeue_count)
{
    company *c = user;
    tavola_entity *employee =
        example_employee("Sales", message, "Jon", "Jones", 36, "jonesj@contoso.com");
    tavola_err err = tavola_insert_or_replace(c->employees, employee, NULL);

    tavola_entity_free(employee);
    return err ? err : index_employee(user, message, dequeue_count);
}

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    company c = {.employees = example_table(client, "ExampleIndexBlobs")};
    tavola_queue *queue = NULL;
    tavola_names *ids = NULL;

    CHECK(tavola_container_open(client, "example-index", &c.names));
    CHECK(tavola_container_create_if_absent(c.names, NULL));
    CHECK(tavola_queue_open(client, "example-index", &queue));
    CHECK(tavola_queue_create_if_absent(queue, NULL));

    CHECK(tavola_eventually(queue, "000223", 0, hire, &c, NULL));
    CHECK(tavola_eventually(queue, "000152", 0, hire, &c, NULL));

    CHECK(tavola_list_blob_get(c.names, "Jones", NULL, &ids));
    for (size_t i = 0; i < tavola_names_count(ids); i++)
        printf("Jones: %s\n", tavola_names_at(ids, i));
    tavola_names_free(ids);

    CHECK(tavola_queue_delete(queue, NULL));
    tavola_queue_close(queue);
    CHECK(tavola_container_delete(c.names, NULL));
    tavola_container_close(c.names);
    example_table_end(c.employees);
    tavola_client_close(client);
    return 0;
}
