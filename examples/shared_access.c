/*
 * Guide: "Controlling access with Shared Access Signatures".
 *
 * A signature lets somebody without the account's key do a part of what the key can do, for a time.
 */
#include "example.h"

/* A client that has the signature and not the key; it is told where the tables are. */
static tavola_client *guest(const char *endpoint, const char *sas)
{
    size_t size = strlen(endpoint) + strlen(sas) + 100;
    char *connection = malloc(size);
    tavola_client *client = NULL;

    snprintf(connection, size, "TableEndpoint=%s;SharedAccessSignature=%s", endpoint, sas);
    CHECK(tavola_client_open(connection, NULL, &client));
    free(connection);
    return client;
}

int main(int argc, char **argv)
{
    tavola_client *owner = example_client(argc, argv);
    tavola_table *employees = example_table(owner, "ExampleSharedAccess");
    tavola_sas_options options = {
        .struct_size = sizeof options,
        .permissions = "r",
        .expiry = tavola_now() + (tavola_ticks)3600 * 10000000,
        .start_pk = "Sales",
        .end_pk = "Sales",
    };
    char *sas = NULL;
    tavola_client *reader;
    tavola_table *seen = NULL;
    tavola_entity *entity = NULL;

    example_insert(employees, tavola_entity_new("Sales", "000223"));
    example_insert(employees, tavola_entity_new("Finance", "000456"));

    CHECK(tavola_table_sas(employees, &options, &sas));
    reader = guest(tavola_client_endpoint(owner, TAVOLA_SERVICE_TABLE), sas);
    CHECK(tavola_table_open(reader, "ExampleSharedAccess", &seen));

    printf("read Sales: %s\n", tavola_err_name(tavola_get(seen, "Sales", "000223", NULL, &entity)));
    printf("delete it: %s\n",
           tavola_err_name(tavola_delete(seen, "Sales", "000223", TAVOLA_ANY, NULL)));
    tavola_entity_free(entity);
    entity = NULL;
    printf("read Finance: %s\n",
           tavola_err_name(tavola_get(seen, "Finance", "000456", NULL, &entity)));

    tavola_entity_free(entity);
    tavola_table_close(seen);
    tavola_client_close(reader);
    tavola_free(sas);
    example_table_end(employees);
    tavola_client_close(owner);
    return 0;
}
