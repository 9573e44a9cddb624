/*
 * Guide: "One-to-one relationships".
 *
 * Salaries are kept apart from employees, because fewer people may read them.  The link is
 * implicit: both have the same keys, in two tables.
 */
#include "example.h"

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *employees = example_table(client, "ExampleOneToOneEmployees");
    tavola_table *salaries = example_table(client, "ExampleOneToOneSalaries");
    tavola_entity *salary = tavola_entity_new("Sales", "000223");
    tavola_entity *employee = NULL;
    const char *name = "";
    int64_t amount = 0;

    tavola_entity_set_int64(salary, "Amount", 52000);
    example_insert(salaries, salary);
    example_insert(employees,
                   example_employee("Sales", "000223", "Jon", "Jones", 36, "jonesj@contoso.com"));

    salary = NULL;
    CHECK(tavola_get(employees, "Sales", "000223", NULL, &employee));
    CHECK(tavola_get(salaries, tavola_entity_partition_key(employee),
                     tavola_entity_row_key(employee), NULL, &salary));
    tavola_entity_get_string(employee, "LastName", &name);
    tavola_entity_get_int64(salary, "Amount", &amount);
    printf("%s earns %" PRId64 "\n", name, amount);

    tavola_entity_free(employee);
    tavola_entity_free(salary);
    example_table_end(salaries);
    example_table_end(employees);
    tavola_client_close(client);
    return 0;
}
