/*
 * Guide: "Executing a point query using the Storage Client Library".
 *
 * Both keys are known: the cheapest read there is.
 */
#include "example.h"

typedef struct employee {
    const char *FirstName, *LastName, *Email;
    int32_t Age;
} employee;

static const tavola_field employee_fields[] = {
    TAVOLA_FIELD(employee, FirstName, STRING),
    TAVOLA_FIELD(employee, LastName, STRING),
    TAVOLA_FIELD(employee, Email, STRING),
    TAVOLA_FIELD(employee, Age, INT32),
    TAVOLA_FIELD_END,
};

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *employees = example_table(client, "ExamplePointQuery");
    tavola_entity *entity = NULL;
    tavola_err err;

    example_insert(employees,
                   example_employee("Sales", "000212", "Jun", "Cao", 47, "junc@contoso.com"));

    err = tavola_get(employees, "Sales", "000212", NULL, &entity);
    if (err == TAVOLA_OK) {
        employee who;

        CHECK(tavola_entity_read(entity, employee_fields, &who));
        printf("%s %s is %d, %s\n", who.FirstName, who.LastName, who.Age, who.Email);
    }
    tavola_entity_free(entity);

    /* Nobody there is a plain answer, not a failure. */
    err = tavola_get(employees, "Sales", "999999", NULL, &entity);
    printf("999999: %s\n", tavola_err_name(err));

    /* The same as a query, and what it costs to ask by something that is not a key. */
    example_plan(employees, TAVOLA_BIND("PartitionKey eq ? and RowKey eq ?", tavola_string("Sales"),
                                        tavola_string("000212")));
    example_plan(employees, TAVOLA_BIND("PartitionKey eq ? and Email eq ?", tavola_string("Sales"),
                                        tavola_string("junc@contoso.com")));
    example_plan(employees, TAVOLA_BIND("Email eq ?", tavola_string("junc@contoso.com")));

    example_table_end(employees);
    tavola_client_close(client);
    return 0;
}
