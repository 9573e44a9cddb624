/*
 * Guide: "Denormalization pattern".
 *
 * The department keeps a copy of its manager's details, so that one point query brings both.  Both
 * entities are in one partition: one transaction keeps them the same.
 */
#include "example.h"

static tavola_err appoint(tavola_table *table, const char *department, const tavola_entity *manager)
{
    static const char *const copied[] = {"FirstName", "LastName", "Email", NULL};
    tavola_entity *head = tavola_entity_new(department, "Department");
    tavola_batch *batch = tavola_batch_new(table);
    tavola_err err;

    tavola_entity_embed(head, "Manager", manager, copied);
    tavola_batch_add(batch, TAVOLA_INSERT_OR_REPLACE, manager, NULL);
    tavola_batch_add(batch, TAVOLA_INSERT_OR_MERGE, head, NULL);
    err = tavola_batch_run(batch, NULL);
    tavola_batch_free(batch);
    tavola_entity_free(head);
    return err;
}

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *table = example_table(client, "ExampleDenormalization");
    tavola_entity *reid =
        example_employee("Sales", "000100", "Anne", "Reid", 51, "reida@contoso.com");
    tavola_entity *department = NULL;

    CHECK(appoint(table, "Sales", reid));
    CHECK(tavola_get(table, "Sales", "Department", NULL, &department));
    for (size_t i = 0; i < tavola_entity_count(department); i++) {
        tavola_value value;
        const char *name = tavola_entity_name_at(department, i, &value);

        printf("%s: %s\n", name, (const char *)value.as.ptr);
    }

    /* One point query instead of two. */
    example_plan(table, TAVOLA_BIND("PartitionKey eq ? and RowKey eq ?", tavola_string("Sales"),
                                    tavola_string("Department")));
    tavola_entity_free(department);
    tavola_entity_free(reid);
    example_table_end(table);
    tavola_client_close(client);
    return 0;
}
