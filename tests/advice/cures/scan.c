/* Scan a table by a property: see scan.py. */
#include <stdio.h>
#include <tavola.h>

int main(int argc, char **argv)
{
    tavola_client_options options = {.struct_size = sizeof options, .application = "payroll/2"};
    tavola_client *client = NULL;
    tavola_table *table = NULL;

    if (argc < 3 || tavola_client_open(argv[1], &options, &client) ||
        tavola_table_open(client, argv[2], &table))
        return 1;
    for (int n = 0; n < 5; n++) {
        char filter[64];
        tavola_query *query;
        uint64_t count;

        snprintf(filter, sizeof filter, "Email eq 'u%d@x'", n);
        query = tavola_query_new(tavola_filter_raw(filter));
        if (tavola_count(table, query, NULL, &count))
            return 1;
        tavola_query_free(query);
    }
    tavola_table_close(table);
    tavola_client_close(client);
    return 0;
}
