/* Stored access policies, and signatures that name them, against a running server. */
#include "service.h"

static const tavola_ticks hour = INT64_C(36000000000);

/* The value of a field of $TAVOLA_TEST_CONNECTION. */
static void copy_field(const char *name, char *to, size_t size)
{
    const char *at = strstr(getenv("TAVOLA_TEST_CONNECTION"), name);

    assert_non_null(at);
    at += strlen(name);
    snprintf(to, size, "%.*s", (int)strcspn(at, ";"), at);
}

/* A client that has nothing but a signature for one service. */
static tavola_client *open_with_sas(const char *endpoint_field, const char *sas)
{
    char endpoint[200], connection[1000];
    tavola_client *client = NULL;

    copy_field(endpoint_field, endpoint, sizeof endpoint);
    snprintf(connection, sizeof connection, "%s%s;SharedAccessSignature=%s", endpoint_field,
             endpoint, sas);
    CHECK_ERR(tavola_client_open(connection, NULL, &client), TAVOLA_OK);
    return client;
}

static void check_policies(tavola_policies *policies, const tavola_policy *wanted, size_t count)
{
    CHECK(tavola_policies_count(policies) == count);
    for (size_t i = 0; i < count; i++) {
        const tavola_policy *policy = tavola_policies_at(policies, i);

        CHECK_TEXT(policy->id, wanted[i].id);
        CHECK(policy->start == wanted[i].start && policy->expiry == wanted[i].expiry);
        CHECK((policy->permissions == NULL) == (wanted[i].permissions == NULL));
        if (policy->permissions)
            CHECK_TEXT(policy->permissions, wanted[i].permissions);
    }
    tavola_policies_free(policies);
}

TEST(policies_of_a_queue_come_back)
{
    tavola_client *client = open_client();
    tavola_queue *queue = NULL;
    tavola_policies *policies = NULL;
    tavola_ticks now = tavola_now();
    tavola_policy wanted[] = {
        {sizeof wanted[0], "one & <only>", "raup", now - hour, now + hour},
        {sizeof wanted[0], "no-times", "r", 0, 0},
        {sizeof wanted[0], "no-permissions", NULL, 0, now + hour},
        {sizeof wanted[0], "fourth", "p", 0, 0},
        {sizeof wanted[0], "\xc3\xb6", NULL, 0, 0},
    };
    size_t count = is_azurite() ? 4 : 5; /* it takes no policy without rights and times */
    char name[NAME_SIZE];

    make_name(name, "policies");
    CHECK_ERR(tavola_queue_open(client, name, &queue), TAVOLA_OK);
    CHECK_ERR(tavola_queue_get_policies(queue, NULL, &policies), TAVOLA_ERR_NOT_FOUND);
    CHECK_ERR(tavola_queue_create(queue, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_queue_get_policies(queue, NULL, &policies), TAVOLA_OK);
    check_policies(policies, NULL, 0);
    CHECK_ERR(tavola_queue_set_policies(queue, wanted, count, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_queue_get_policies(queue, NULL, &policies), TAVOLA_OK);
    check_policies(policies, wanted, count);
    CHECK_ERR(tavola_queue_set_policies(queue, NULL, 0, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_queue_get_policies(queue, NULL, &policies), TAVOLA_OK);
    check_policies(policies, NULL, 0);
    CHECK_ERR(tavola_queue_set_policies(queue, wanted, 6, NULL), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_queue_set_policies(NULL, wanted, 1, NULL), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_queue_get_policies(queue, NULL, NULL), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_queue_delete(queue, NULL), TAVOLA_OK);
    tavola_queue_close(queue);
    tavola_client_close(client);
}

TEST(a_policy_of_a_queue_gives_and_takes_rights)
{
    tavola_client *client = open_client(), *guest = NULL;
    tavola_queue *queue = NULL, *theirs = NULL;
    tavola_policy policy = {sizeof policy, "add", "a", 0, tavola_now() + hour};
    tavola_sas_options options = {.struct_size = sizeof options, .policy_id = "add"};
    tavola_messages *messages = NULL;
    char name[NAME_SIZE], *sas = NULL;

    make_name(name, "guests");
    CHECK_ERR(tavola_queue_open(client, name, &queue), TAVOLA_OK);
    CHECK_ERR(tavola_queue_create(queue, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_queue_sas(queue, &options, &sas), TAVOLA_OK);
    guest = open_with_sas("QueueEndpoint=", sas);
    CHECK_ERR(tavola_queue_open(guest, name, &theirs), TAVOLA_OK);

    CHECK_ERR(tavola_message_put(theirs, "too early", NULL), TAVOLA_ERR_DENIED);
    CHECK_ERR(tavola_queue_set_policies(queue, &policy, 1, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_message_put(theirs, "in time", NULL), TAVOLA_OK);
    CHECK_ERR(tavola_messages_peek(theirs, 1, NULL, &messages), TAVOLA_ERR_DENIED);
    policy.permissions = "ra";
    CHECK_ERR(tavola_queue_set_policies(queue, &policy, 1, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_messages_peek(theirs, 1, NULL, &messages), TAVOLA_OK);
    CHECK(tavola_messages_count(messages) == 1);
    tavola_messages_free(messages);
    policy.expiry = tavola_now() - hour;
    CHECK_ERR(tavola_queue_set_policies(queue, &policy, 1, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_message_put(theirs, "too late", NULL), TAVOLA_ERR_DENIED);
    CHECK_ERR(tavola_queue_set_policies(queue, NULL, 0, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_message_put(theirs, "too late", NULL), TAVOLA_ERR_DENIED);

    tavola_free(sas);
    tavola_queue_close(theirs);
    tavola_client_close(guest);
    CHECK_ERR(tavola_queue_delete(queue, NULL), TAVOLA_OK);
    tavola_queue_close(queue);
    tavola_client_close(client);
}

TEST(a_policy_of_a_container_gives_and_takes_rights)
{
    tavola_client *client = open_client(), *guest = NULL;
    tavola_container *container = NULL, *theirs = NULL;
    tavola_policy policy = {sizeof policy, "reader", "lr", 0, tavola_now() + hour};
    tavola_sas_options options = {.struct_size = sizeof options, .policy_id = "reader"};
    tavola_policies *policies = NULL;
    tavola_blobs *blobs = NULL;
    char name[NAME_SIZE], *sas = NULL;
    void *data = NULL;
    size_t size;

    make_name(name, "guests");
    CHECK_ERR(tavola_container_open(client, name, &container), TAVOLA_OK);
    CHECK_ERR(tavola_container_create(container, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_blob_put(container, "b", "a", 1, NULL, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_container_sas(container, &options, &sas), TAVOLA_OK);
    guest = open_with_sas("BlobEndpoint=", sas);
    CHECK_ERR(tavola_container_open(guest, name, &theirs), TAVOLA_OK);

    CHECK_ERR(tavola_blob_get(theirs, "b", 9, NULL, &data, &size), TAVOLA_ERR_DENIED);
    CHECK_ERR(tavola_container_set_policies(container, &policy, 1, NULL), TAVOLA_OK);
    policy.permissions = "rl"; /* in order by then */
    CHECK_ERR(tavola_container_get_policies(container, NULL, &policies), TAVOLA_OK);
    check_policies(policies, &policy, 1);
    CHECK_ERR(tavola_blob_get(theirs, "b", 9, NULL, &data, &size), TAVOLA_OK);
    tavola_free(data);
    CHECK_ERR(tavola_blob_list(theirs, NULL, NULL, 0, NULL, NULL, &blobs), TAVOLA_OK);
    CHECK(tavola_blobs_count(blobs) == 1);
    tavola_blobs_free(blobs);
    CHECK_ERR(tavola_blob_put(theirs, "b", "a", 1, NULL, NULL), TAVOLA_ERR_DENIED);
    CHECK_ERR(tavola_container_set_policies(container, NULL, 0, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_blob_get(theirs, "b", 9, NULL, &data, &size), TAVOLA_ERR_DENIED);

    tavola_free(sas);
    tavola_container_close(theirs);
    tavola_client_close(guest);
    CHECK_ERR(tavola_container_delete(container, NULL), TAVOLA_OK);
    tavola_container_close(container);
    tavola_client_close(client);
}

TEST(a_policy_of_a_table_gives_and_takes_rights)
{
    tavola_client *client = open_client(), *guest = NULL;
    tavola_table *table = NULL, *theirs = NULL;
    /* With a start: Azurite takes no policy of a table without. */
    tavola_policy policy = {sizeof policy, "writer", "ar", tavola_now() - hour,
                            tavola_now() + hour};
    tavola_sas_options options = {.struct_size = sizeof options, .policy_id = "writer"};
    tavola_policies *policies = NULL;
    tavola_entity *entity = tavola_entity_new("p", "r"), *read = NULL;
    char name[NAME_SIZE], *sas = NULL;

    make_name(name, "Guests");
    for (char *from = name, *to = name; (*to = *from) != '\0'; from++)
        to += *from != '-'; /* tables have letters and digits alone */
    CHECK_ERR(tavola_table_open(client, name, &table), TAVOLA_OK);
    CHECK_ERR(tavola_table_create(table, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_table_sas(table, &options, &sas), TAVOLA_OK);
    guest = open_with_sas("TableEndpoint=", sas);
    CHECK_ERR(tavola_table_open(guest, name, &theirs), TAVOLA_OK);

    CHECK_ERR(tavola_insert(theirs, entity, NULL), TAVOLA_ERR_DENIED);
    CHECK_ERR(tavola_table_set_policies(table, &policy, 1, NULL), TAVOLA_OK);
    policy.permissions = "ra"; /* in order by then */
    CHECK_ERR(tavola_table_get_policies(table, NULL, &policies), TAVOLA_OK);
    check_policies(policies, &policy, 1);
    CHECK_ERR(tavola_insert(theirs, entity, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_get(theirs, "p", "r", NULL, &read), TAVOLA_OK);
    CHECK_ERR(tavola_delete(theirs, "p", "r", TAVOLA_ANY, NULL), TAVOLA_ERR_DENIED);
    CHECK_ERR(tavola_table_set_policies(table, NULL, 0, NULL), TAVOLA_OK);
    CHECK_ERR(tavola_insert(theirs, entity, NULL), TAVOLA_ERR_DENIED);
    CHECK_ERR(tavola_table_set_policies(NULL, NULL, 0, NULL), TAVOLA_ERR_INVALID);
    CHECK_ERR(tavola_table_get_policies(NULL, NULL, &policies), TAVOLA_ERR_INVALID);

    tavola_entity_free(entity);
    tavola_entity_free(read);
    tavola_free(sas);
    tavola_table_close(theirs);
    tavola_client_close(guest);
    CHECK_ERR(tavola_table_delete(table, NULL), TAVOLA_OK);
    tavola_table_close(table);
    tavola_client_close(client);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_of_a_queue_come_back),
        cmocka_unit_test(a_policy_of_a_queue_gives_and_takes_rights),
        cmocka_unit_test(a_policy_of_a_container_gives_and_takes_rights),
        cmocka_unit_test(a_policy_of_a_table_gives_and_takes_rights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
