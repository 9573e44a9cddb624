/*
 * Guide: "Data series pattern".
 *
 *     PartitionKey  RowKey      properties
 *     Sales         000223      Messages000 .. Messages023: of one day, hour by hour
 *
 * One entity for a day instead of 24; each hour is one merge, and the whole day one point query.
 */
#include "example.h"

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *series = example_table(client, "ExampleDataSeries");
    tavola_entity *day = NULL;

    for (uint32_t hour = 9; hour < 12; hour++)
        CHECK(tavola_series_set(series, "Sales_000223", "2026-01-02", "Messages", hour,
                                tavola_int32((int32_t)hour * 10), NULL));

    CHECK(tavola_get(series, "Sales_000223", "2026-01-02", NULL, &day));
    for (uint32_t hour = 8; hour < 12; hour++) {
        tavola_value value;

        if (tavola_series_get(day, "Messages", hour, &value))
            printf("%02u:00 %d\n", hour, value.as.int32);
        else
            printf("%02u:00 -\n", hour);
    }
    tavola_entity_free(day);

    example_plan(series, TAVOLA_BIND("PartitionKey eq ? and RowKey eq ?",
                                     tavola_string("Sales_000223"), tavola_string("2026-01-02")));

    example_table_end(series);
    tavola_client_close(client);
    return 0;
}
