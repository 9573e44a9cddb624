/*
 * Guide: "Log data anti-pattern".
 *
 * What is only ever downloaded by the hour belongs into blobs: one for each hour.
 */
#include "example.h"

int main(int argc, char **argv)
{
    const tavola_ticks hour = INT64_C(36000000000);
    const tavola_ticks nine = tavola_ticks_from_unix_us(INT64_C(1767344400000000)); /* 2026-01-02 */
    tavola_client *client = example_client(argc, argv);
    tavola_container *logs = NULL;
    tavola_blobs *blobs = NULL;

    CHECK(tavola_container_open(client, "example-logs", &logs));
    CHECK(tavola_container_create_if_absent(logs, NULL));
    for (int i = 0; i < 6; i++) {
        char line[32];
        int len = snprintf(line, sizeof line, "login %d\n", i);

        CHECK(tavola_log_blob_append(logs, "web", nine + i / 3 * hour, line, (size_t)len, NULL));
    }

    CHECK(tavola_blob_list(logs, "web/", NULL, 0, NULL, NULL, &blobs));
    for (size_t i = 0; i < tavola_blobs_count(blobs); i++) {
        const tavola_blob_info *info = tavola_blobs_at(blobs, i);

        printf("%s %" PRIu64 " bytes\n", info->name, info->size);
    }
    tavola_blobs_free(blobs);

    CHECK(tavola_container_delete(logs, NULL));
    tavola_container_close(logs);
    tavola_client_close(client);
    return 0;
}
