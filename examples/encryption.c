/*
 * Guide: "Encrypting Table Data".
 *
 * The e-mail address is encrypted before it leaves the program; the service stores bytes.
 */
#include "example.h"

static bool is_secret(void *user, const char *partition_key, const char *row_key, const char *name)
{
    (void)user;
    (void)partition_key;
    (void)row_key;
    return strcmp(name, "Email") == 0;
}

static void show(tavola_table *table, tavola_crypto *crypto, const char *who)
{
    tavola_call *call = tavola_call_new();
    tavola_entity *entity = NULL;
    tavola_value value;

    tavola_call_set_crypto(call, crypto);
    CHECK(tavola_get(table, "Sales", "000223", call, &entity));
    if (!tavola_entity_get(entity, "Email", &value))
        printf("%s: no Email\n", who);
    else if (value.type == TAVOLA_STRING)
        printf("%s: Email is %s\n", who, (const char *)value.as.ptr);
    else
        printf("%s: Email is %zu bytes\n", who, value.size);
    tavola_entity_free(entity);
    tavola_call_free(call);
}

int main(int argc, char **argv)
{
    static const uint8_t key[32] = "of a key store, not of the code";
    tavola_client *client = example_client(argc, argv);
    tavola_table *employees = example_table(client, "ExampleEncryption");
    tavola_crypto *crypto = NULL;
    tavola_call *call = tavola_call_new();
    tavola_entity *employee =
        example_employee("Sales", "000223", "Jon", "Jones", 36, "jonesj@contoso.com");

    CHECK(tavola_crypto_new_aes("local:key1", key, sizeof key, &crypto));
    tavola_crypto_set_properties(crypto, is_secret, NULL);
    tavola_call_set_crypto(call, crypto);
    CHECK(tavola_insert(employees, employee, call));
    show(employees, NULL, "without the key");
    show(employees, crypto, "with the key");

    /* A merge could not keep what was encrypted before. */
    printf("merge: %s\n", tavola_err_name(tavola_merge(employees, employee, TAVOLA_ANY, call)));

    tavola_entity_free(employee);
    tavola_call_free(call);
    example_table_end(employees);
    tavola_crypto_free(crypto);
    tavola_client_close(client);
    return 0;
}
