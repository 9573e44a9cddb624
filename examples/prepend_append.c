/*
 * Guide: "Prepend/append anti-pattern".
 *
 * Keys that grow with time send all writes to the last partition.  Spread over buckets, they go to
 * eight at once, and a scan merges them back into the order of time.
 */
#include "example.h"

enum { BUCKETS = 8, EVENTS = 20 };

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *events = example_table(client, "ExamplePrependAppend");
    const tavola_entity *entity;
    tavola_scan *scan = NULL;
    unsigned count = 0;
    bool is_sorted = true;
    char last[16] = "", used[BUCKETS + 1] = "";
    tavola_err err;

    for (unsigned i = 0; i < EVENTS; i++) {
        char key[16], bucket[8];

        snprintf(key, sizeof key, "09:00:%02u", i);
        tavola_key_spread(key, BUCKETS, bucket, sizeof bucket);
        if (strchr(used, bucket[0]) == NULL)
            used[strlen(used)] = bucket[0];
        example_insert(events, tavola_entity_new(bucket, key));
    }

    CHECK(tavola_scan_open_spread(events, NULL, BUCKETS, NULL, NULL, &scan));
    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        is_sorted = is_sorted && strcmp(last, tavola_entity_row_key(entity)) < 0;
        snprintf(last, sizeof last, "%s", tavola_entity_row_key(entity));
        count++;
    }
    if (err != TAVOLA_END)
        CHECK(err);
    tavola_scan_close(scan);
    printf("%u events from %zu partitions, %s\n", count, strlen(used),
           is_sorted ? "in order" : "in disorder");

    example_table_end(events);
    tavola_client_close(client);
    return 0;
}
