/*
 * Guide: "Inheritance relationships".
 *
 * A manager is an employee with something more.  Both are in one table; what they share has one
 * table of fields, what a manager adds has another.
 */
#include "example.h"

typedef struct employee {
    const char *FirstName, *LastName;
} employee;

typedef struct manager {
    employee Base;
    int32_t Reports;
} manager;

static const tavola_field employee_fields[] = {
    TAVOLA_FIELD(employee, FirstName, STRING),
    TAVOLA_FIELD(employee, LastName, STRING),
    TAVOLA_FIELD_END,
};

static const tavola_field manager_fields[] = {
    TAVOLA_FIELD_AS(manager, Base.FirstName, STRING, "FirstName", 0),
    TAVOLA_FIELD_AS(manager, Base.LastName, STRING, "LastName", 0),
    TAVOLA_FIELD(manager, Reports, INT32),
    TAVOLA_FIELD_END,
};

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *staff = example_table(client, "ExampleInheritance");
    tavola_entity *reid =
        example_employee("Sales", "000100", "Anne", "Reid", 51, "reida@contoso.com");
    const tavola_entity *entity;
    tavola_scan *scan = NULL;
    tavola_err err;

    tavola_entity_set_string(reid, "EntityType", "Manager");
    tavola_entity_set_int32(reid, "Reports", 12);
    example_insert(staff, reid);
    example_insert(staff,
                   example_employee("Sales", "000223", "Jon", "Jones", 36, "jonesj@contoso.com"));

    CHECK(tavola_scan_open(staff, NULL, NULL, &scan));
    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        employee who;
        manager chief;

        CHECK(tavola_entity_read(entity, employee_fields, &who)); /* every one is an employee */
        printf("%s %s", who.FirstName, who.LastName);
        if (tavola_entity_read(entity, manager_fields, &chief) == TAVOLA_OK)
            printf(", manager of %d", chief.Reports);
        printf("\n");
    }
    if (err != TAVOLA_END)
        CHECK(err);
    tavola_scan_close(scan);

    example_table_end(staff);
    tavola_client_close(client);
    return 0;
}
