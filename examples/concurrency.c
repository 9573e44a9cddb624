/*
 * Guide: "Managing concurrency" and "Merge or replace".
 */
#include "example.h"

static void show(tavola_table *table, const char *what)
{
    tavola_entity *entity = NULL;
    const char *email = "-";
    int32_t age = -1;

    CHECK(tavola_get(table, "Sales", "000223", NULL, &entity));
    tavola_entity_get_string(entity, "Email", &email);
    tavola_entity_get_int32(entity, "Age", &age);
    printf("%s: Email %s, Age %d\n", what, email, age);
    tavola_entity_free(entity);
}

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *employees = example_table(client, "ExampleConcurrency");
    tavola_entity *mine =
        example_employee("Sales", "000223", "Jon", "Jones", 36, "jonesj@contoso.com");
    tavola_entity *theirs = NULL, *part;
    tavola_call *call = tavola_call_new();
    tavola_err err;

    /* Two clients have it; the one that writes second learns of it. */
    CHECK(tavola_insert(employees, mine, NULL)); /* its etag is in the entity now */
    CHECK(tavola_get(employees, "Sales", "000223", NULL, &theirs));
    tavola_entity_set_int32(theirs, "Age", 37);
    CHECK(tavola_replace(employees, theirs, NULL, NULL)); /* NULL: if its etag still holds */
    tavola_entity_set_int32(mine, "Age", 38);
    err = tavola_replace(employees, mine, NULL, call);
    printf("second writer: %s, HTTP status %d\n", tavola_err_name(err), tavola_call_status(call));
    show(employees, "after the race");

    /* A merge leaves alone what it does not name. */
    part = tavola_entity_new("Sales", "000223");
    tavola_entity_set_int32(part, "Age", 40);
    CHECK(tavola_merge(employees, part, TAVOLA_ANY, NULL));
    show(employees, "after a merge");

    /* A replace does not. */
    CHECK(tavola_replace(employees, part, NULL, NULL)); /* by the etag that the merge has left */
    show(employees, "after a replace");

    tavola_entity_free(part);
    tavola_entity_free(mine);
    tavola_entity_free(theirs);
    tavola_call_free(call);
    example_table_end(employees);
    tavola_client_close(client);
    return 0;
}
