/* What each operation of the Blob service needs, and what everybody may do. */
#include "services/blob/call.h"

#include "check.h"
#include "model/auth/identity_internal.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Which SAS may do it at all. */
enum { NO_SAS, ACCOUNT, CONTAINER, BLOB };

/* `any`: one of these letters is enough. */
static const struct {
    tv_blob_op kind;
    int sas;
    tv_resource_type type;
    const char *any;
} needs[] = {
    {TV_BLOB_OP_UNKNOWN, NO_SAS, 0, ""},
    {TV_BLOB_OP_PREFLIGHT, NO_SAS, 0, ""},
    {TV_BLOB_OP_GET_SERVICE_PROPERTIES, ACCOUNT, TV_TYPE_SERVICE, "r"},
    {TV_BLOB_OP_SET_SERVICE_PROPERTIES, ACCOUNT, TV_TYPE_SERVICE, "w"},
    {TV_BLOB_OP_GET_SERVICE_STATS, ACCOUNT, TV_TYPE_SERVICE, "r"},
    {TV_BLOB_OP_LIST_CONTAINERS, ACCOUNT, TV_TYPE_SERVICE, "l"},
    {TV_BLOB_OP_CREATE_CONTAINER, ACCOUNT, TV_TYPE_CONTAINER, "cw"},
    {TV_BLOB_OP_GET_CONTAINER_PROPERTIES, ACCOUNT, TV_TYPE_CONTAINER, "r"},
    {TV_BLOB_OP_GET_CONTAINER_METADATA, ACCOUNT, TV_TYPE_CONTAINER, "r"},
    {TV_BLOB_OP_SET_CONTAINER_METADATA, ACCOUNT, TV_TYPE_CONTAINER, "w"},
    {TV_BLOB_OP_GET_CONTAINER_ACL, NO_SAS, 0, ""},
    {TV_BLOB_OP_SET_CONTAINER_ACL, NO_SAS, 0, ""},
    {TV_BLOB_OP_DELETE_CONTAINER, ACCOUNT, TV_TYPE_CONTAINER, "d"},
    {TV_BLOB_OP_ACQUIRE_CONTAINER_LEASE, ACCOUNT, TV_TYPE_CONTAINER, "w"},
    {TV_BLOB_OP_RENEW_CONTAINER_LEASE, ACCOUNT, TV_TYPE_CONTAINER, "w"},
    {TV_BLOB_OP_CHANGE_CONTAINER_LEASE, ACCOUNT, TV_TYPE_CONTAINER, "w"},
    {TV_BLOB_OP_RELEASE_CONTAINER_LEASE, ACCOUNT, TV_TYPE_CONTAINER, "w"},
    {TV_BLOB_OP_BREAK_CONTAINER_LEASE, ACCOUNT, TV_TYPE_CONTAINER, "wd"},
    {TV_BLOB_OP_LIST_BLOBS, CONTAINER, TV_TYPE_CONTAINER, "l"},
    {TV_BLOB_OP_PUT_BLOB, BLOB, TV_TYPE_OBJECT, "cw"},
    {TV_BLOB_OP_PUT_BLOCK, BLOB, TV_TYPE_OBJECT, "w"},
    {TV_BLOB_OP_PUT_BLOCK_LIST, BLOB, TV_TYPE_OBJECT, "w"},
    {TV_BLOB_OP_GET_BLOCK_LIST, BLOB, TV_TYPE_OBJECT, "r"},
    {TV_BLOB_OP_APPEND_BLOCK, BLOB, TV_TYPE_OBJECT, "aw"},
    {TV_BLOB_OP_GET_BLOB, BLOB, TV_TYPE_OBJECT, "r"},
    {TV_BLOB_OP_GET_BLOB_PROPERTIES, BLOB, TV_TYPE_OBJECT, "r"},
    {TV_BLOB_OP_SET_BLOB_PROPERTIES, BLOB, TV_TYPE_OBJECT, "w"},
    {TV_BLOB_OP_GET_BLOB_METADATA, BLOB, TV_TYPE_OBJECT, "r"},
    {TV_BLOB_OP_SET_BLOB_METADATA, BLOB, TV_TYPE_OBJECT, "w"},
    {TV_BLOB_OP_SNAPSHOT_BLOB, BLOB, TV_TYPE_OBJECT, "cw"},
    {TV_BLOB_OP_DELETE_BLOB, BLOB, TV_TYPE_OBJECT, "d"},
    {TV_BLOB_OP_ACQUIRE_BLOB_LEASE, BLOB, TV_TYPE_OBJECT, "w"},
    {TV_BLOB_OP_RENEW_BLOB_LEASE, BLOB, TV_TYPE_OBJECT, "w"},
    {TV_BLOB_OP_CHANGE_BLOB_LEASE, BLOB, TV_TYPE_OBJECT, "w"},
    {TV_BLOB_OP_RELEASE_BLOB_LEASE, BLOB, TV_TYPE_OBJECT, "w"},
    {TV_BLOB_OP_BREAK_BLOB_LEASE, BLOB, TV_TYPE_OBJECT, "wd"},
    {TV_BLOB_OP_COPY_BLOB, BLOB, TV_TYPE_OBJECT, "cw"},
    {TV_BLOB_OP_COPY_BLOB_FROM_URL, BLOB, TV_TYPE_OBJECT, "cw"},
    {TV_BLOB_OP_ABORT_COPY_BLOB, BLOB, TV_TYPE_OBJECT, "w"},
};

static const tv_account account = {.name = "acct"};

/* The order of the bits of tv_permission. */
static const char letters[] = "raudwlcp";

static bool has_enough(const char *any, unsigned permissions)
{
    for (; *any; any++) {
        if (permissions & 1u << (strchr(letters, *any) - letters))
            return true;
    }
    return false;
}

static tv_service service = {.spec = &tv_blob_spec};

static tv_call call_of(size_t row)
{
    tv_call call = {.service = &service,
                    .op = &tv_blob_spec.ops[needs[row].kind],
                    .target = {.container = TV_LIT("con"), .snapshot = TV_LIT("")}};

    if (needs[row].type == TV_TYPE_SERVICE)
        call.target.container = TV_LIT("");
    if (needs[row].type == TV_TYPE_OBJECT)
        call.target.blob = TV_LIT("b");
    return call;
}

static tv_err allows(const tv_identity *identity, tv_call *call)
{
    tv_need need = tv_call_need(call);

    return tv_identity_allows(identity, &need);
}

TEST(every_operation_needs_what_the_table_says_and_no_less)
{
    CHECK_INT(COUNT(needs), TV_BLOB_OP_COUNT - 1); /* all but the account's information */
    for (size_t row = 0; row < COUNT(needs); row++) {
        tv_call call = call_of(row);
        tv_identity key = {.account = &account, .service = TV_SERVICE_BLOB};

        t_row = call.op->name;
        CHECK_OK(allows(&key, &call));
        for (unsigned permissions = 0; permissions < 256; permissions++) {
            tv_err want =
                has_enough(needs[row].any, permissions) ? TV_OK : TV_ERR_PERMISSION_MISMATCH;
            tv_identity sas = {.account = &account,
                               .service = TV_SERVICE_BLOB,
                               .permissions = permissions,
                               .snapshot = TV_LIT("")};

            for (unsigned types = 0; types < 8; types++) {
                sas.sas = TV_SAS_ACCOUNT;
                sas.resource_types = types;
                CHECK_ERR(allows(&sas, &call),
                          needs[row].sas == NO_SAS  ? TV_ERR_AUTHORIZATION_FAILURE
                          : types & needs[row].type ? want
                                                    : TV_ERR_RESOURCE_TYPE_MISMATCH);
            }
            sas.sas = TV_SAS_CONTAINER;
            sas.container = TV_LIT("con");
            CHECK_ERR(allows(&sas, &call),
                      needs[row].sas >= CONTAINER ? want : TV_ERR_AUTHORIZATION_FAILURE);
            sas.sas = TV_SAS_BLOB;
            sas.blob = TV_LIT("b");
            CHECK_ERR(allows(&sas, &call),
                      needs[row].sas >= BLOB ? want : TV_ERR_AUTHORIZATION_FAILURE);
        }
    }
}

TEST(a_sas_opens_its_own_container_and_blob_alone)
{
    tv_call call = {
        .service = &service,
        .op = &tv_blob_spec.ops[TV_BLOB_OP_GET_BLOB],
        .target = {.container = TV_LIT("con"), .blob = TV_LIT("b"), .snapshot = TV_LIT("")}};
    tv_identity sas = {.account = &account,
                       .service = TV_SERVICE_BLOB,
                       .sas = TV_SAS_CONTAINER,
                       .permissions = TV_MAY_READ,
                       .container = TV_LIT("other")};

    CHECK_ERR(allows(&sas, &call), TV_ERR_AUTHORIZATION_FAILURE);
    sas.sas = TV_SAS_BLOB;
    sas.container = TV_LIT("con");
    sas.blob = TV_LIT("B");
    CHECK_ERR(allows(&sas, &call), TV_ERR_AUTHORIZATION_FAILURE);
    sas.blob = TV_LIT("b");
    CHECK_OK(allows(&sas, &call));
}

TEST(any_sas_may_ask_for_the_kind_of_account)
{
    tv_call call = {
        .service = &service,
        .op = &tv_blob_spec.ops[TV_BLOB_OP_GET_ACCOUNT_INFO],
        .target = {.container = TV_LIT("con"), .blob = TV_LIT("b"), .snapshot = TV_LIT("")}};
    tv_identity sas = {.account = &account,
                       .service = TV_SERVICE_BLOB,
                       .sas = TV_SAS_BLOB,
                       .permissions = TV_MAY_LIST,
                       .container = TV_LIT("con"),
                       .blob = TV_LIT("b")};

    CHECK_OK(call.op->choose(&call));
    CHECK_OK(allows(&sas, &call));
    sas = (tv_identity){.account = &account,
                        .service = TV_SERVICE_BLOB,
                        .sas = TV_SAS_ACCOUNT,
                        .permissions = TV_MAY_LIST,
                        .resource_types = TV_TYPE_OBJECT};
    CHECK_OK(allows(&sas, &call));
    call.target.blob = TV_LIT("");
    CHECK_OK(call.op->choose(&call));
    CHECK_ERR(allows(&sas, &call), TV_ERR_RESOURCE_TYPE_MISMATCH);
}

/* --- everybody --- */

TEST(everybody_may_read_what_is_public_and_nothing_else)
{
    tv_identity nobody = {.account = &account, .service = TV_SERVICE_BLOB, .is_anonymous = true};

    for (size_t row = 0; row < COUNT(needs); row++) {
        tv_call call = call_of(row);
        tv_blob_op op = needs[row].kind;
        bool is_blob_read = op == TV_BLOB_OP_GET_BLOB || op == TV_BLOB_OP_GET_BLOB_PROPERTIES ||
                            op == TV_BLOB_OP_GET_BLOB_METADATA || op == TV_BLOB_OP_GET_BLOCK_LIST;
        bool is_container_read = op == TV_BLOB_OP_LIST_BLOBS ||
                                 op == TV_BLOB_OP_GET_CONTAINER_PROPERTIES ||
                                 op == TV_BLOB_OP_GET_CONTAINER_METADATA;
        tv_need need = tv_call_need(&call);

        t_row = call.op->name;
        CHECK(!tv_blob_is_public(call.op, TV_PUBLIC_NONE));
        CHECK_INT(tv_blob_is_public(call.op, TV_PUBLIC_BLOB), is_blob_read);
        CHECK_INT(tv_blob_is_public(call.op, TV_PUBLIC_CONTAINER),
                  is_blob_read || is_container_read);
        CHECK_ERR(allows(&nobody, &call), TV_ERR_NO_AUTHENTICATION);
        need.is_public = true;
        CHECK_OK(tv_identity_allows(&nobody, &need));
    }
}

/* --- the secondary --- */

TEST(the_secondary_is_read_only_and_has_the_stats)
{
    for (size_t row = 0; row < COUNT(needs); row++) {
        tv_call call = call_of(row);
        const char *name = call.op->name;
        bool is_stats = needs[row].kind == TV_BLOB_OP_GET_SERVICE_STATS;
        bool is_read = strncmp(name, "Get", 3) == 0 || strncmp(name, "List", 4) == 0;

        t_row = name;
        CHECK_ERR(tv_call_check_endpoint(&call), is_stats ? TV_ERR_NOT_ON_PRIMARY : TV_OK);
        call.endpoint.is_secondary = true;
        CHECK_ERR(tv_call_check_endpoint(&call), is_read ? TV_OK : TV_ERR_SECONDARY_IS_READ_ONLY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_needs_what_the_table_says_and_no_less),
        cmocka_unit_test(a_sas_opens_its_own_container_and_blob_alone),
        cmocka_unit_test(any_sas_may_ask_for_the_kind_of_account),
        cmocka_unit_test(everybody_may_read_what_is_public_and_nothing_else),
        cmocka_unit_test(the_secondary_is_read_only_and_has_the_stats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
