/* Stored access policies as XML, both ways. */
#include "client/resource/policies.h"

#include "check.h"
#include "client/memory_faults.h"

static const tavola_ticks noon = INT64_C(639029520000000000) + 5;

#define HEAD "<?xml version=\"1.0\" encoding=\"utf-8\"?>"

TEST(writes_policies)
{
    static const char long_id[] =
        "1234567890123456789012345678901234567890123456789012345678901234";
    static const struct {
        const char *label;
        tv_service_kind service;
        tavola_policy policy;
        const char *written; /* between the outer elements; NULL: refused */
    } cases[] = {
        {"all fields",
         TV_SERVICE_TABLE,
         {0, "a&b", "duar", noon, noon + 10000000},
         "<SignedIdentifier><Id>a&amp;b</Id><AccessPolicy>"
         "<Start>2026-01-02T12:00:00.0000005Z</Start>"
         "<Expiry>2026-01-02T12:00:01.0000005Z</Expiry><Permission>raud</Permission>"
         "</AccessPolicy></SignedIdentifier>"},
        {"only an id",
         TV_SERVICE_QUEUE,
         {.id = "a"},
         "<SignedIdentifier><Id>a</Id></SignedIdentifier>"},
        {"permissions of a queue",
         TV_SERVICE_QUEUE,
         {.id = "a", .permissions = "par"},
         "<SignedIdentifier><Id>a</Id><AccessPolicy><Permission>rap</Permission></AccessPolicy>"
         "</SignedIdentifier>"},
        {"permissions of a container",
         TV_SERVICE_BLOB,
         {.id = "a", .permissions = "ldwcar"},
         "<SignedIdentifier><Id>a</Id><AccessPolicy><Permission>racwdl</Permission></AccessPolicy>"
         "</SignedIdentifier>"},
        {"a letter twice",
         TV_SERVICE_TABLE,
         {.id = "a", .permissions = "rr"},
         "<SignedIdentifier><Id>a</Id><AccessPolicy><Permission>r</Permission></AccessPolicy>"
         "</SignedIdentifier>"},
        {"a permission of another service",
         TV_SERVICE_TABLE,
         {.id = "a", .permissions = "rp"},
         NULL},
        {"no id", TV_SERVICE_TABLE, {.id = NULL}, NULL},
        {"an empty id", TV_SERVICE_TABLE, {.id = ""}, NULL},
        {"an id of 65 characters", TV_SERVICE_TABLE, {.id = long_id}, NULL},
        {"an id that is not UTF-8", TV_SERVICE_TABLE, {.id = "\xff"}, NULL},
        {"a time before all times", TV_SERVICE_TABLE, {.id = "a", .start = -1}, NULL},
        {"a time after all times", TV_SERVICE_TABLE, {.id = "a", .expiry = INT64_MAX}, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tavola_policy policy = cases[i].policy;

        t_row = cases[i].label;
        policy.struct_size = sizeof policy;
        if (policy.id == long_id)
            policy.id = "1234567890123456789012345678901234567890123456789012345678901234x";
        MEMORY_FAULTS(fault)
        {
            tvc_text text = {0};
            const char *why = tvc_policies_write(&text, cases[i].service, &policy, 1);
            char wanted[600];

            CHECK((why == NULL) == (cases[i].written != NULL));
            if (why == NULL && !text.has_failed) {
                snprintf(wanted, sizeof wanted, "%s<SignedIdentifiers>%s</SignedIdentifiers>", HEAD,
                         cases[i].written);
                CHECK_SLICE(tvc_text_slice(&text), tv_slice_of(wanted));
            }
            CHECK(!text.has_failed || memory_fault_was_hit());
            tvc_text_done(&text);
        }
    }
}

TEST(writes_none_and_five_but_not_six)
{
    tavola_policy policies[6];
    tvc_text text = {0};

    for (int i = 0; i < 6; i++)
        policies[i] = (tavola_policy){.struct_size = sizeof policies[i], .id = "a"};
    CHECK(tvc_policies_write(&text, TV_SERVICE_TABLE, NULL, 0) == NULL);
    CHECK_SLICE(tvc_text_slice(&text), TV_LIT(HEAD "<SignedIdentifiers></SignedIdentifiers>"));
    CHECK(tvc_policies_write(&text, TV_SERVICE_TABLE, policies, 5) == NULL);
    CHECK(tvc_policies_write(&text, TV_SERVICE_TABLE, policies, 6) != NULL);
    CHECK(tvc_policies_write(&text, TV_SERVICE_TABLE, NULL, 1) != NULL);
    policies[0].struct_size = 0;
    CHECK(tvc_policies_write(&text, TV_SERVICE_TABLE, policies, 1) != NULL);
    tvc_text_done(&text);
}

TEST(policies_of_a_newer_header_are_further_apart)
{
    struct newer {
        tavola_policy policy;
        int more[4];
    } policies[2] = {{.policy = {sizeof policies[0], "a", NULL, 0, 0}},
                     {.policy = {sizeof policies[0], "b", NULL, 0, 0}}};
    tavola_policies *read = NULL;
    tvc_text text = {0};

    CHECK(tvc_policies_write(&text, TV_SERVICE_TABLE, &policies[0].policy, 2) == NULL);

    size_t len = text.buf.len;

    CHECK(tvc_policies_read(tvc_text_take(&text), len, &read) == TAVOLA_OK);
    CHECK(tavola_policies_count(read) == 2);
    assert_string_equal(tavola_policies_at(read, 1)->id, "b");
    tavola_policies_free(read);
}

TEST(reads_what_services_send)
{
    static const struct {
        const char *label, *document;
        tavola_err err;
        tavola_policy first;
    } cases[] = {
        {"all fields",
         "\xef\xbb\xbf" HEAD "<SignedIdentifiers><SignedIdentifier><Id>a&amp;b</Id><AccessPolicy>"
         "<Start>2026-01-02T12:00:00.0000005Z</Start>"
         "<Expiry>2026-01-02T12:00:01.0000005Z</Expiry><Permission>raud</Permission>"
         "</AccessPolicy></SignedIdentifier></SignedIdentifiers>",
         TAVOLA_OK,
         {0, "a&b", "raud", noon, noon + 10000000}},
        {"empty fields",
         "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Start/><Expiry></Expiry>"
         "<Permission/></AccessPolicy></SignedIdentifier></SignedIdentifiers>",
         TAVOLA_OK,
         {.id = "a"}},
        {"no fields",
         "<SignedIdentifiers><SignedIdentifier><Id>a</Id></SignedIdentifier></SignedIdentifiers>",
         TAVOLA_OK,
         {.id = "a"}},
        {"no policies", "<SignedIdentifiers />", TAVOLA_OK, {0}},
        {"a time that is none",
         "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Start>noon</Start>"
         "</AccessPolicy></SignedIdentifier></SignedIdentifiers>",
         TAVOLA_ERR_PROTOCOL,
         {0}},
        {"six",
         "<SignedIdentifiers><SignedIdentifier/><SignedIdentifier/><SignedIdentifier/>"
         "<SignedIdentifier/><SignedIdentifier/><SignedIdentifier/></SignedIdentifiers>",
         TAVOLA_ERR_PROTOCOL,
         {0}},
        {"nothing", "", TAVOLA_ERR_PROTOCOL, {0}},
        {"an error", "<Error/>", TAVOLA_ERR_PROTOCOL, {0}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i].label;
        MEMORY_FAULTS(fault)
        {
            char *copy = tvc_dup_text(cases[i].document);
            tavola_policies *policies = NULL;

            if (copy == NULL)
                continue;

            tavola_err err = tvc_policies_read(copy, strlen(copy), &policies);

            CHECK(err == cases[i].err || (err == TAVOLA_ERR_NO_MEMORY && memory_fault_was_hit()));
            if (!err && cases[i].first.id) {
                const tavola_policy *first = tavola_policies_at(policies, 0);

                assert_string_equal(first->id, cases[i].first.id);
                CHECK((first->permissions == NULL) == (cases[i].first.permissions == NULL));
                if (first->permissions)
                    assert_string_equal(first->permissions, cases[i].first.permissions);
                CHECK(first->start == cases[i].first.start);
                CHECK(first->expiry == cases[i].first.expiry);
                CHECK(first->struct_size == sizeof *first);
            }
            tavola_policies_free(policies);
        }
    }
    CHECK(tavola_policies_count(NULL) == 0 && tavola_policies_at(NULL, 0) == NULL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_policies),
        cmocka_unit_test(writes_none_and_five_but_not_six),
        cmocka_unit_test(policies_of_a_newer_header_are_further_apart),
        cmocka_unit_test(reads_what_services_send),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
