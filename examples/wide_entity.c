/*
 * Guide: "Wide entities pattern".
 *
 * A year of hourly readings has more properties than an entity can have: it is stored as several,
 * which change together.
 */
#include "example.h"

enum { HOURS = 366 * 24 / 12 };

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *readings = example_table(client, "ExampleWideEntity");
    tavola_entity *year = tavola_entity_new_wide("000223", "2026");
    uint64_t count = 0;
    double value = 0;

    for (unsigned i = 0; i < HOURS; i++) {
        char name[16];

        snprintf(name, sizeof name, "Hour%04u", i);
        tavola_entity_set_double(year, name, i / 2.0);
    }
    CHECK(tavola_wide_put(readings, year, NULL));
    tavola_entity_free(year);
    CHECK(tavola_count(readings, NULL, NULL, &count));
    printf("%d properties in %" PRIu64 " entities\n", HOURS, count);

    example_plan(readings,
                 tavola_and(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("000223")),
                            tavola_where_prefix("RowKey", "2026~")));

    year = NULL;
    CHECK(tavola_wide_get(readings, "000223", "2026", NULL, &year));
    tavola_entity_get_double(year, "Hour0700", &value);
    printf("%zu properties, Hour0700 is %g\n", tavola_entity_count(year), value);
    tavola_entity_free(year);

    CHECK(tavola_wide_delete(readings, "000223", "2026", NULL));
    CHECK(tavola_count(readings, NULL, NULL, &count));
    printf("%" PRIu64 " left\n", count);

    example_table_end(readings);
    tavola_client_close(client);
    return 0;
}
