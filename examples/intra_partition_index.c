/*
 * Guide: "Intra-partition secondary index pattern".
 *
 *     PartitionKey  RowKey                      properties
 *     Sales         empid_000223                FirstName, LastName, Age, Email
 *     Sales         email_jonesj@contoso.com    the same
 *
 * An employee is found by id or by e-mail address, each by one point query.  All copies are in one
 * partition, so one entity group transaction changes them together.
 */
#include "example.h"

static const tavola_index indexes[] = {
    {.prefix = "empid_", .property = "RowKey"},
    {.prefix = "email_", .property = "Email"},
};
enum { INDEXES = sizeof indexes / sizeof *indexes };

static void find(tavola_table *employees, const tavola_index *index, const char *value)
{
    tavola_entity *entity = NULL;
    const char *name = "";
    tavola_err err = tavola_indexed_get(employees, index, "Sales", value, NULL, &entity);

    if (err == TAVOLA_OK)
        tavola_entity_get_string(entity, "LastName", &name);
    printf("%s%s: %s %s\n", index->prefix, value, tavola_err_name(err), name);
    tavola_entity_free(entity);
}

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *employees = example_table(client, "ExampleIntraPartition");
    tavola_entity *jones =
        example_employee("Sales", "000223", "Jon", "Jones", 36, "jonesj@contoso.com");
    tavola_entity *imposter =
        example_employee("Sales", "000224", "Jim", "James", 30, "jones@contoso.com");

    CHECK(tavola_indexed_put(employees, indexes, INDEXES, jones, NULL));
    find(employees, &indexes[0], "000223");
    find(employees, &indexes[1], "jonesj@contoso.com");

    /* A new address: the copy under the old one goes in the same transaction. */
    tavola_entity_set_string(jones, "Email", "jones@contoso.com");
    CHECK(tavola_indexed_put(employees, indexes, INDEXES, jones, NULL));
    find(employees, &indexes[1], "jonesj@contoso.com");
    find(employees, &indexes[1], "jones@contoso.com");

    /* What the index saves: */
    example_plan(employees, TAVOLA_BIND("PartitionKey eq ? and Email eq ?", tavola_string("Sales"),
                                        tavola_string("jones@contoso.com")));
    example_plan(employees, TAVOLA_BIND("PartitionKey eq ? and RowKey eq ?", tavola_string("Sales"),
                                        tavola_string("email_jones@contoso.com")));

    /* Nobody else can have it. */
    printf("somebody else with it: %s\n",
           tavola_err_name(tavola_indexed_put(employees, indexes, INDEXES, imposter, NULL)));

    CHECK(tavola_indexed_delete(employees, indexes, INDEXES, "Sales", "000223", NULL));
    find(employees, &indexes[1], "jones@contoso.com");

    tavola_entity_free(jones);
    tavola_entity_free(imposter);
    example_table_end(employees);
    tavola_client_close(client);
    return 0;
}
