/*
 * Guide: "Join in the client".
 *
 * Employees name their department; the program reads the departments that it needs, all at once.
 */
#include "example.h"

int main(int argc, char **argv)
{
    static const char *const people[][2] = {
        {"Jones", "Sales"}, {"Cao", "Finance"}, {"Reid", "Sales"}, {"Blue", "Closed"}};
    enum { PEOPLE = sizeof people / sizeof *people };
    tavola_client *client = example_client(argc, argv);
    tavola_table *departments = example_table(client, "ExampleJoin");
    const char *partitions[PEOPLE], *rows[PEOPLE];
    tavola_entity *found[PEOPLE] = {NULL};

    for (size_t i = 0; i < 2; i++) {
        tavola_entity *department = tavola_entity_new("Department", people[i][1]);

        tavola_entity_set_string(department, "City", i ? "Rome" : "Oslo");
        example_insert(departments, department);
    }

    for (size_t i = 0; i < PEOPLE; i++) {
        partitions[i] = "Department";
        rows[i] = people[i][1];
    }
    CHECK(tavola_get_many(departments, partitions, rows, PEOPLE, 0, NULL, found));
    for (size_t i = 0; i < PEOPLE; i++) {
        const char *city = "nowhere";

        if (found[i])
            tavola_entity_get_string(found[i], "City", &city);
        printf("%s works in %s\n", people[i][0], city);
        tavola_entity_free(found[i]);
    }

    example_table_end(departments);
    tavola_client_close(client);
    return 0;
}
