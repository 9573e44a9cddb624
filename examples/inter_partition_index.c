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

static const tavola_index indexes[] = {{.prefix = "email_", .property = "Email"}};

static void find(const tavola_far *far, const char *email)
{
    tavola_entity *entity = NULL;
    const char *name = "";
    tavola_err err = tavola_far_get(far, &indexes[0], "Sales", email, NULL, &entity);

    if (err == TAVOLA_OK)
        tavola_entity_get_string(entity, "LastName", &name);
    printf("%s: %s %s\n", email, tavola_err_name(err), name);
    tavola_entity_free(entity);
}

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_far far = {
        .struct_size = sizeof far,
        .table = example_table(client, "ExampleInterPartition"),
        .indexes = indexes,
        .count = 1,
    };
    tavola_entity *jones =
        example_employee("Sales", "000223", "Jon", "Jones", 36, "jonesj@contoso.com");
    tavola_worker *worker = NULL;

    CHECK(tavola_queue_open(client, "example-inter-partition", &far.queue));
    CHECK(tavola_queue_create_if_absent(far.queue, NULL));

    /* Runs somewhere, all the time. */
    CHECK(tavola_worker_open(client, tavola_queue_name(far.queue), NULL, 0, tavola_far_repair, &far,
                             &worker));

    CHECK(tavola_far_put(&far, jones, NULL));
    find(&far, "jonesj@contoso.com");

    tavola_entity_set_string(jones, "Email", "jones@contoso.com");
    CHECK(tavola_far_put(&far, jones, NULL));
    find(&far, "jonesj@contoso.com");
    find(&far, "jones@contoso.com");

    /* What the index saves: */
    example_plan(far.table, TAVOLA_BIND("Email eq ?", tavola_string("jones@contoso.com")));
    example_plan(far.table,
                 TAVOLA_BIND("PartitionKey eq ? and RowKey eq ?", tavola_string("email_Sales"),
                             tavola_string("jones@contoso.com")));

    CHECK(tavola_worker_run(worker, 0)); /* nothing is left to be done */
    printf("%" PRIu64 " left to the worker\n", tavola_worker_done(worker));

    tavola_worker_close(worker);
    tavola_entity_free(jones);
    example_table_end(far.table);
    CHECK(tavola_queue_delete(far.queue, NULL));
    tavola_queue_close(far.queue);
    tavola_client_close(client);
    return 0;
}
