/*
 * Guide: "Retrieving multiple entities using LINQ".
 *
 * A range of row keys within one partition, written in three ways that mean the same.
 */
#include "example.h"

static void show(tavola_table *employees, tavola_filter *filter)
{
    char *text = tavola_filter_text(filter);
    const tavola_entity *entity;
    tavola_scan *scan = NULL;
    tavola_query *query;
    tavola_err err;

    printf("%s (%s):", text, tavola_filter_plan(filter));
    tavola_free(text);

    query = tavola_query_new(filter);
    CHECK(tavola_scan_open(employees, query, NULL, &scan));
    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK)
        printf(" %s", tavola_entity_row_key(entity));
    if (err != TAVOLA_END)
        CHECK(err);
    printf("\n");
    tavola_scan_close(scan);
    tavola_query_free(query);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"Adams", "Baker", "Brown", "Cao", "Jones"};
    tavola_client *client = example_client(argc, argv);
    tavola_table *employees = example_table(client, "ExampleRangeQuery");

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        example_insert(employees, tavola_entity_new("Sales", names[i]));

    /* Values are bound, so no quote of a value ends up in the filter. */
    show(employees, TAVOLA_BIND("PartitionKey eq ? and RowKey ge ? and RowKey lt ?",
                                tavola_string("Sales"), tavola_string("B"), tavola_string("C")));

    /* GenerateFilterCondition and CombineFilters of the guide. */
    show(employees,
         tavola_and(tavola_and(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")),
                               tavola_where("RowKey", TAVOLA_GE, tavola_string("B"))),
                    tavola_where("RowKey", TAVOLA_LT, tavola_string("C"))));

    /* What one would really write. */
    show(employees, tavola_and(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")),
                               tavola_where_prefix("RowKey", "B")));

    example_table_end(employees);
    tavola_client_close(client);
    return 0;
}
