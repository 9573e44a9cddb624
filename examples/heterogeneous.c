/*
 * Guide: "Working with heterogeneous entity types", and "Inheritance relationships".
 *
 * Departments and employees share a partition.  A property tells which is which, or the key does.
 */
#include "example.h"

typedef struct employee {
    const char *FirstName, *LastName;
    int32_t Age;
} employee;

static const tavola_field employee_fields[] = {
    TAVOLA_FIELD(employee, FirstName, STRING),
    TAVOLA_FIELD(employee, LastName, STRING),
    TAVOLA_FIELD(employee, Age, INT32),
    TAVOLA_FIELD_END,
};

typedef struct department {
    const char *DepartmentName;
    int32_t EmployeeCount;
} department;

static const tavola_field department_fields[] = {
    TAVOLA_FIELD(department, DepartmentName, STRING),
    TAVOLA_FIELD(department, EmployeeCount, INT32),
    TAVOLA_FIELD_END,
};

/* The guide's EntityResolver: a function that knows the types. */
static tavola_err resolve(const tavola_entity *entity)
{
    const char *type = "";
    tavola_err err = TAVOLA_ERR_INVALID; /* unrecognized */
    employee who;
    department where;

    if (!tavola_entity_get_string(entity, "EntityType", &type))
        return err;
    if (strcmp(type, "Department") == 0 &&
        !(err = tavola_entity_read(entity, department_fields, &where)))
        printf("department %s of %d\n", where.DepartmentName, where.EmployeeCount);
    else if (strcmp(type, "Employee") == 0 &&
             !(err = tavola_entity_read(entity, employee_fields, &who)))
        printf("employee %s %s, %d\n", who.FirstName, who.LastName, who.Age);
    return err;
}

static void show(tavola_table *table, tavola_filter *filter)
{
    tavola_query *query = tavola_query_new(filter);
    const tavola_entity *entity;
    tavola_scan *scan = NULL;
    tavola_err err;

    CHECK(tavola_scan_open(table, query, NULL, &scan));
    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK)
        CHECK(resolve(entity));
    if (err != TAVOLA_END)
        CHECK(err);
    tavola_scan_close(scan);
    tavola_query_free(query);
}

/* "Modifying heterogeneous entity types": only what is known of the type is touched. */
static tavola_err hire(void *user, tavola_entity *entity)
{
    int32_t count;

    (void)user;
    if (!tavola_entity_get_int32(entity, "EmployeeCount", &count))
        return TAVOLA_ERR_INVALID;
    tavola_entity_set_int32(entity, "EmployeeCount", count + 1);
    return TAVOLA_OK;
}

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *table = example_table(client, "ExampleHeterogeneous");
    tavola_entity *sales = tavola_entity_new("Sales", "department_Sales");
    tavola_entity *jones =
        example_employee("Sales", "employee_000223", "Jon", "Jones", 36, "jonesj@contoso.com");

    tavola_entity_set_string(sales, "EntityType", "Department");
    tavola_entity_set_string(sales, "DepartmentName", "Sales");
    tavola_entity_set_int32(sales, "EmployeeCount", 153);
    tavola_entity_set_string(jones, "EntityType", "Employee");
    example_insert(table, sales);
    example_insert(table, jones);

    printf("told by a property:\n");
    show(table, tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")));

    printf("told by the key:\n");
    show(table, tavola_and(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")),
                           tavola_where_prefix("RowKey", "employee_")));

    /* A property tells the type at the price of looking at everything; a prefix of the key does
     * not. */
    example_plan(table, TAVOLA_BIND("PartitionKey eq ? and EntityType eq ?", tavola_string("Sales"),
                                    tavola_string("Employee")));
    example_plan(table, tavola_and(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")),
                                   tavola_where_prefix("RowKey", "employee_")));

    printf("after one was hired:\n");
    CHECK(tavola_update(table, "Sales", "department_Sales", hire, NULL, NULL));
    show(table, tavola_where("RowKey", TAVOLA_EQ, tavola_string("department_Sales")));

    example_table_end(table);
    tavola_client_close(client);
    return 0;
}
