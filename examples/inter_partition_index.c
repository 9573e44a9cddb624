/*
 * Guide: "Inter-partition secondary index pattern".
 *
 *     PartitionKey  RowKey                properties
 *     Sales         000223                FirstName, LastName, Age, Email
 *     email_Sales   jonesj@contoso.com    the same
 *
 * The copies are in partitions of their own, so they are eventually consistent: a message in a
 * queue says what is being changed, and a worker finishes what a program that died has left.
 */
#include "example.h"

static const tavola_index by_email = {.prefix = "email_", .property = "Email"};

static void find(tavola_indexed *employees, const char *email)
{
    tavola_entity *entity = NULL;
    const char *name = "";
    tavola_err err = tavola_indexed_get(employees, "Email", "Sales", email, NULL, &entity);

    if (err == TAVOLA_OK)
        tavola_entity_get_string(entity, "LastName", &name);
    printf("%s: %s %s\n", email, tavola_err_name(err), name);
    tavola_entity_free(entity);
}

static void print_fault(void *user, const tavola_index_fault *fault)
{
    (void)user;
    printf("%s of %s was wrong for %s\n", fault->property, fault->row_key, fault->value);
}

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *table = example_table(client, "ExampleInterPartition");
    tavola_inter_partition inter = {.struct_size = sizeof inter};
    tavola_entity *jones =
        example_employee("Sales", "000223", "Jon", "Jones", 36, "jonesj@contoso.com");
    tavola_indexed *employees = NULL;
    tavola_worker *worker = NULL;

    CHECK(tavola_queue_open(client, "example-inter-partition", &inter.queue));
    CHECK(tavola_queue_create_if_absent(inter.queue, NULL));
    CHECK(tavola_indexed_open(table, &by_email, 1, &inter, NULL, &employees));

    /* Runs somewhere, all the time. */
    CHECK(tavola_worker_open(inter.queue, NULL, 0, tavola_indexed_job, employees, NULL, &worker));

    CHECK(tavola_indexed_put(employees, jones, NULL));
    find(employees, "jonesj@contoso.com");

    tavola_entity_set_string(jones, "Email", "jones@contoso.com");
    CHECK(tavola_indexed_put(employees, jones, NULL));
    find(employees, "jonesj@contoso.com");
    find(employees, "jones@contoso.com");

    /* What the index saves: */
    example_plan(table, TAVOLA_BIND("Email eq ?", tavola_string("jones@contoso.com")));
    example_plan(table,
                 TAVOLA_BIND("PartitionKey eq ? and RowKey eq ?", tavola_string("email_Sales"),
                             tavola_string("jones@contoso.com")));

    CHECK(tavola_worker_run(worker, 0)); /* nothing is left to be done */
    printf("%" PRIu64 " left to the worker\n", tavola_worker_done(worker));

    /* Somebody has written past the index: a repair makes the copies what the entity says. */
    CHECK(tavola_delete(table, "email_Sales", "jones@contoso.com", TAVOLA_ANY, NULL));
    CHECK(tavola_indexed_repair(employees, "Sales", print_fault, NULL, NULL, NULL));
    find(employees, "jones@contoso.com");

    tavola_worker_close(worker);
    tavola_entity_free(jones);
    tavola_indexed_close(employees);
    example_table_end(table);
    CHECK(tavola_queue_delete(inter.queue, NULL));
    tavola_queue_close(inter.queue);
    tavola_client_close(client);
    return 0;
}
