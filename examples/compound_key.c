/*
 * Guide: "Compound key pattern".
 *
 *     PartitionKey  RowKey         properties
 *     Sales         000223_2012    Manager rating, Peer rating
 *     Sales         000223_2013    ...
 *
 * All reviews of an employee are one range; one year's review is one point.
 */
#include "example.h"

static void review(tavola_table *reviews, const char *id, const char *year, int32_t rating)
{
    char *key = tavola_key_join('_', (const char *const[]){id, year, NULL});
    tavola_entity *entity = tavola_entity_new("Sales", key);

    tavola_entity_set_int32(entity, "ManagerRating", rating);
    example_insert(reviews, entity);
    tavola_free(key);
}

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *reviews = example_table(client, "ExampleCompoundKey");
    tavola_filter *filter =
        tavola_and(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")),
                   tavola_where_prefix("RowKey", "000223_"));
    const tavola_entity *entity;
    tavola_scan *scan = NULL;
    tavola_query *query;
    tavola_err err;

    review(reviews, "000222", "2012", 3);
    review(reviews, "000223", "2012", 4);
    review(reviews, "000223", "2013", 5);
    review(reviews, "000224", "2013", 2);

    example_plan(reviews, TAVOLA_BIND("PartitionKey eq ? and RowKey eq ?", tavola_string("Sales"),
                                      tavola_string("000223_2012")));
    example_plan(reviews,
                 tavola_and(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")),
                            tavola_where_prefix("RowKey", "000223_")));
    query = tavola_query_new(filter);
    CHECK(tavola_scan_open(reviews, query, NULL, &scan));
    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        char *year = tavola_key_part('_', tavola_entity_row_key(entity), 1);
        int32_t rating = 0;

        tavola_entity_get_int32(entity, "ManagerRating", &rating);
        printf("%s: %d\n", year, rating);
        tavola_free(year);
    }
    if (err != TAVOLA_END)
        CHECK(err);
    tavola_scan_close(scan);
    tavola_query_free(query);

    example_table_end(reviews);
    tavola_client_close(client);
    return 0;
}
