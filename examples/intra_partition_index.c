/*
 * Guide: "Intra-partition secondary index pattern".
 *
 *     PartitionKey  RowKey                      properties
 *     Sales         empid_000223                FirstName, LastName, Age, Email
 *     Sales         email_jonesj@contoso.com    the same
 *
 * An employee is found by id or by e-mail address, each by one point query, and all whose address
 * begins with an a by one range query.  All copies are in one partition, so one entity group
 * transaction changes them together.
 */
#include "example.h"

static const tavola_index indexes[] = {
    {.prefix = "empid_", .property = "RowKey"},
    {.prefix = "email_", .property = "Email"},
};

static void find(tavola_indexed *employees, const char *property, const char *value)
{
    tavola_entity *entity = NULL;
    const char *name = "";
    tavola_err err = tavola_indexed_get(employees, property, "Sales", value, NULL, &entity);

    if (err == TAVOLA_OK)
        tavola_entity_get_string(entity, "LastName", &name);
    printf("%s %s: %s %s\n", property, value, tavola_err_name(err), name);
    tavola_entity_free(entity);
}

/* E-mail addresses from "a" on and below "b". */
static void list(tavola_indexed *employees, const char *from, const char *to)
{
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;

    CHECK(tavola_indexed_scan(employees, "Email", "Sales", from, to, NULL, NULL, &scan));
    printf("from %s to %s:", from, to);
    while (tavola_scan_next(scan, &entity) == TAVOLA_OK)
        printf(" %s", tavola_entity_row_key(entity));
    printf("\n");
    tavola_scan_close(scan);
}

static tavola_err change_address(void *email, tavola_entity *employee)
{
    tavola_entity_set_string(employee, "Email", email);
    return TAVOLA_OK;
}

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *table = example_table(client, "ExampleIntraPartition");
    tavola_entity *jones =
        example_employee("Sales", "000223", "Jon", "Jones", 36, "jonesj@contoso.com");
    tavola_entity *adams =
        example_employee("Sales", "000224", "Ann", "Adams", 30, "ann@contoso.com");
    tavola_indexed *employees = NULL;
    char address[] = "jones@contoso.com";

    CHECK(tavola_indexed_open(table, indexes, 2, NULL, NULL, &employees));
    CHECK(tavola_indexed_put(employees, jones, NULL));
    CHECK(tavola_indexed_put(employees, adams, NULL));
    find(employees, "RowKey", "000223");
    find(employees, "Email", "jonesj@contoso.com");
    list(employees, "a", "b");

    /* A new address: the copy under the old one goes in the same transaction. */
    CHECK(tavola_indexed_update(employees, "Sales", "000223", change_address, address, NULL));
    find(employees, "Email", "jonesj@contoso.com");
    find(employees, "Email", "jones@contoso.com");

    /* What the index saves: */
    example_plan(table, TAVOLA_BIND("PartitionKey eq ? and Email eq ?", tavola_string("Sales"),
                                    tavola_string("jones@contoso.com")));
    example_plan(table, TAVOLA_BIND("PartitionKey eq ? and RowKey eq ?", tavola_string("Sales"),
                                    tavola_string("email_jones@contoso.com")));

    /* Nobody else can have it. */
    printf("somebody else with it: %s\n",
           tavola_err_name(
               tavola_indexed_update(employees, "Sales", "000224", change_address, address, NULL)));

    CHECK(tavola_indexed_delete(employees, "Sales", "000223", TAVOLA_ANY, NULL));
    find(employees, "Email", "jones@contoso.com");

    tavola_entity_free(jones);
    tavola_entity_free(adams);
    tavola_indexed_close(employees);
    example_table_end(table);
    tavola_client_close(client);
    return 0;
}
