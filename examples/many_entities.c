/*
 * Guide: "Retrieving large numbers of entities from a query".
 *
 * A cursor walks over all pages; or the program asks for page after page and may keep the token
 * between two of them for as long as it likes.
 */
#include "example.h"

enum { EMPLOYEES = 120 };

static void fill(tavola_table *employees)
{
    uint64_t written, failed;
    tavola_bulk *bulk = NULL;

    CHECK(tavola_bulk_open(employees, 0, NULL, NULL, NULL, &bulk));
    for (unsigned i = 0; i < EMPLOYEES; i++) {
        char id[7];
        tavola_entity *employee;

        tavola_key_padded(i, 6, id, sizeof id);
        employee = tavola_entity_new("Sales", id);
        CHECK(tavola_bulk_add(bulk, TAVOLA_INSERT, employee, NULL));
        tavola_entity_free(employee);
    }
    CHECK(tavola_bulk_close(bulk, &written, &failed));
    printf("%" PRIu64 " written, %" PRIu64 " failed\n", written, failed);
}

static void walk(tavola_table *employees, tavola_query *query)
{
    const tavola_entity *entity;
    tavola_scan *scan = NULL;
    unsigned count = 0;
    tavola_err err;

    CHECK(tavola_scan_open(employees, query, NULL, &scan));
    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK)
        count++;
    if (err != TAVOLA_END)
        CHECK(err);
    tavola_scan_close(scan);
    printf("the cursor gave %u\n", count);
}

/* The guide's ManyEntitiesQuery. */
static void turn_pages(tavola_table *employees, tavola_query *query)
{
    char *token = NULL;

    do {
        tavola_page *page = NULL;

        CHECK(tavola_query_page(employees, query, token, NULL, &page));
        printf("a page of %zu, from %s\n", tavola_page_count(page),
               tavola_entity_row_key(tavola_page_at(page, 0)));
        free(token);
        token = tavola_page_token(page) ? strdup(tavola_page_token(page)) : NULL;
        tavola_page_free(page);
    } while (token);
}

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *employees = example_table(client, "ExampleManyEntities");
    tavola_query *query =
        tavola_query_new(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string("Sales")));
    uint64_t count = 0;

    fill(employees);
    tavola_query_set_page_size(query, 50); /* the guide's TakeCount = 50 */
    walk(employees, query);
    turn_pages(employees, query);

    tavola_query_set_limit(query, 70); /* of all pages together */
    walk(employees, query);
    tavola_query_free(query);

    CHECK(tavola_count(employees, NULL, NULL, &count));
    printf("%" PRIu64 " in all\n", count);

    example_table_end(employees);
    tavola_client_close(client);
    return 0;
}
