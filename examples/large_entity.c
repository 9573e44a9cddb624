/*
 * Guide: "Large entities pattern".
 *
 * A photo is too large for a property: it is a blob, and the entity holds its name.
 */
#include "example.h"

enum { PHOTO_BYTES = 3000000 };

int main(int argc, char **argv)
{
    tavola_client *client = example_client(argc, argv);
    tavola_table *employees = example_table(client, "ExampleLargeEntity");
    tavola_container *photos = NULL;
    tavola_entity *jones =
        example_employee("Sales", "000223", "Jon", "Jones", 36, "jonesj@contoso.com");
    char *photo = malloc(PHOTO_BYTES);
    void *data = NULL;
    size_t size = 0;

    CHECK(tavola_container_open(client, "example-photos", &photos));
    CHECK(tavola_container_create_if_absent(photos, NULL));

    memset(photo, 'x', PHOTO_BYTES);
    CHECK(tavola_large_put(employees, jones, "Photo", photos, photo, PHOTO_BYTES, NULL));
    tavola_entity_free(jones);

    jones = NULL;
    CHECK(tavola_get(employees, "Sales", "000223", NULL, &jones));
    CHECK(tavola_large_get(employees, jones, "Photo", NULL, &data, &size));
    printf("an entity of %s 1 KiB, a photo of %zu bytes, %s\n",
           tavola_entity_bytes(jones) < 1024 ? "less than" : "over", size,
           memcmp(data, photo, PHOTO_BYTES) ? "spoiled" : "whole");
    tavola_free(data);
    tavola_entity_free(jones);

    CHECK(tavola_large_delete(employees, "Sales", "000223", "Photo", NULL));

    free(photo);
    CHECK(tavola_container_delete(photos, NULL));
    tavola_container_close(photos);
    example_table_end(employees);
    tavola_client_close(client);
    return 0;
}
