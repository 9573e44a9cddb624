/*
 * Guide: "High volume delete pattern".
 *
 * Logins of each day in a table of their own; old days go with one request each.
 */
#include "example.h"

int main(int argc, char **argv)
{
    const tavola_ticks day = INT64_C(864000000000);
    const tavola_ticks first =
        tavola_ticks_from_unix_us(INT64_C(1767312000000000)); /* 2026-01-02 */
    tavola_client *client = example_client(argc, argv);
    tavola_names *names = NULL;
    uint64_t count = 0;

    for (int i = 0; i < 4; i++) {
        char name[64];
        tavola_table *logins;

        tavola_dated_name("ExampleLogins", first + i * day, name, sizeof name);
        logins = example_table(client, name);
        example_insert(logins, tavola_entity_new("000223", "09:00"));
        tavola_table_close(logins);
    }

    CHECK(tavola_drop_before(client, "ExampleLogins", first + 2 * day, NULL, &count));
    printf("%" PRIu64 " tables dropped\n", count);
    CHECK(tavola_table_list(client, "ExampleLogins", NULL, &names));
    for (size_t i = 0; i < tavola_names_count(names); i++)
        printf("%s\n", tavola_names_at(names, i));
    tavola_names_free(names);

    CHECK(tavola_drop_before(client, "ExampleLogins", first + 9 * day, NULL, &count));
    tavola_client_close(client);
    return 0;
}
