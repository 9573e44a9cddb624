/*
 * Guide: "Server-side projection".
 *
 * Only the properties that are needed travel; the keys always do.
 */
#include "example.h"

int main(int argc, char **argv)
{
    static const char *const columns[] = {"Email", NULL};
    tavola_client *client = example_client(argc, argv);
    tavola_table *employees = example_table(client, "ExampleProjection");
    tavola_query *query =
        tavola_query_new(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")));
    const tavola_entity *entity;
    tavola_scan *scan = NULL;
    tavola_err err;

    example_insert(employees,
                   example_employee("Sales", "000212", "Jun", "Cao", 47, "junc@contoso.com"));
    example_insert(employees,
                   example_employee("Sales", "000223", "Jon", "Jones", 36, "jonesj@contoso.com"));

    tavola_query_select(query, columns);
    CHECK(tavola_scan_open(employees, query, NULL, &scan));
    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        const char *email = "";
        int32_t age;

        if (tavola_entity_get_string(entity, "Email", &email))
            printf("RowKey: %s, EmployeeEmail: %s, age %s\n", tavola_entity_row_key(entity), email,
                   tavola_entity_get_int32(entity, "Age", &age) ? "came too" : "left behind");
    }
    if (err != TAVOLA_END)
        CHECK(err);
    tavola_scan_close(scan);
    tavola_query_free(query);

    example_table_end(employees);
    tavola_client_close(client);
    return 0;
}
