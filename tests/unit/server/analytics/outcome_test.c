/* How requests end, in the words of Storage Analytics. */
#include "server/analytics/outcome.h"

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct {
    const char *what;
    int status;
    tv_err err;
    const char *name;
} endings[] = {
    {"no answer", 0, TV_OK, "NetworkError"},
    {"read", 200, TV_OK, "Success"},
    {"made", 201, TV_OK, "Success"},
    {"a part", 206, TV_OK, "Success"},
    {"not modified", 304, TV_ERR_NOT_MODIFIED, "ClientOtherError"},
    {"not found", 404, TV_ERR_TABLE_NOT_FOUND, "ClientOtherError"},
    {"exists", 409, TV_ERR_ENTITY_EXISTS, "ClientOtherError"},
    {"condition", 412, TV_ERR_ETAG_MISMATCH, "ClientOtherError"},
    {"a bad signature", 403, TV_ERR_AUTHENTICATION_FAILED, "AuthorizationError"},
    {"no credentials", 401, TV_ERR_NO_AUTHENTICATION, "AuthorizationError"},
    {"credentials that cannot be read", 400, TV_ERR_AUTHENTICATION_INFO, "AuthorizationError"},
    {"a right that a SAS does not have", 403, TV_ERR_PERMISSION_MISMATCH, "AuthorizationError"},
    {"a preflight, which needs no rights", 403, TV_ERR_CORS_PREFLIGHT, "ClientOtherError"},
    {"busy", 503, TV_ERR_OVERLOADED, "ThrottlingError"},
    {"a full disk", 503, TV_ERR_DISK_FULL, "ThrottlingError"},
    {"too slow, the server", 500, TV_ERR_TIMED_OUT, "ServerTimeoutError"},
    {"too slow, the client", 408, TV_ERR_REQUEST_TIMEOUT, "ClientTimeoutError"},
    {"damage", 500, TV_ERR_CORRUPT, "ServerOtherError"},
    {"not implemented", 501, TV_ERR_NOT_IMPLEMENTED, "ServerOtherError"},
};

TEST(every_ending_has_its_word)
{
    for (size_t i = 0; i < COUNT(endings); i++) {
        tv_analytics_result result = tv_analytics_result_of(endings[i].status, endings[i].err);

        t_row = endings[i].what;
        CHECK_TEXT(tv_analytics_outcome_name(result, TV_ANALYTICS_KEY), endings[i].name);
    }
}

TEST(twins_are_named_after_what_clients_have_shown)
{
    CHECK_TEXT(tv_analytics_outcome_name(TV_ANALYTICS_SUCCESS, TV_ANALYTICS_ANONYMOUS),
               "AnonymousSuccess");
    CHECK_TEXT(tv_analytics_outcome_name(TV_ANALYTICS_NETWORK, TV_ANALYTICS_SAS),
               "SASNetworkError");
}

static const struct {
    tv_analytics_result result;
    bool is_billable, is_in_availability;
} kinds[] = {
    {TV_ANALYTICS_SUCCESS, true, true},        {TV_ANALYTICS_THROTTLING, false, false},
    {TV_ANALYTICS_CLIENT_TIMEOUT, true, true}, {TV_ANALYTICS_SERVER_TIMEOUT, false, true},
    {TV_ANALYTICS_CLIENT_OTHER, true, true},   {TV_ANALYTICS_SERVER_OTHER, false, true},
    {TV_ANALYTICS_AUTHORIZATION, true, true},  {TV_ANALYTICS_NETWORK, true, true},
};

TEST(what_is_billed_and_what_availability_is_of)
{
    for (size_t i = 0; i < COUNT(kinds); i++) {
        for (int auth = 0; auth < TV_ANALYTICS_AUTHS; auth++) {
            bool is_stranger =
                kinds[i].result == TV_ANALYTICS_AUTHORIZATION && auth == TV_ANALYTICS_ANONYMOUS;

            CHECK(tv_analytics_is_billable(kinds[i].result, (tv_analytics_auth)auth) ==
                  (kinds[i].is_billable && !is_stranger));
            CHECK(tv_analytics_is_in_availability(kinds[i].result, (tv_analytics_auth)auth) ==
                  (kinds[i].is_in_availability && !is_stranger));
        }
    }
}

static const struct {
    const char *operation;
    tv_analytics_class kind;
} classes[] = {
    {"QueryEntity", TV_ANALYTICS_READ},
    {"GetMessages", TV_ANALYTICS_READ},
    {"ListBlobs", TV_ANALYTICS_READ},
    {"PeekMessages", TV_ANALYTICS_READ},
    {"TablePreflightRequest", TV_ANALYTICS_READ},
    {"DeleteEntity", TV_ANALYTICS_DELETE},
    {"ClearMessages", TV_ANALYTICS_DELETE},
    {"EntityGroupTransaction", TV_ANALYTICS_WRITE},
    {"InsertEntity", TV_ANALYTICS_WRITE},
    {"CopyBlob", TV_ANALYTICS_WRITE},
    {"BreakBlobLease", TV_ANALYTICS_WRITE},
    {"Unknown", TV_ANALYTICS_WRITE},
};

TEST(operations_read_write_or_delete)
{
    for (size_t i = 0; i < COUNT(classes); i++) {
        t_row = classes[i].operation;
        CHECK(tv_analytics_class_of(tv_slice_of(classes[i].operation)) == classes[i].kind);
    }
}

TEST(failures_of_strangers_are_not_logged)
{
    CHECK(tv_analytics_is_logged(TV_ANALYTICS_SUCCESS, TV_ANALYTICS_ANONYMOUS, 200));
    CHECK(tv_analytics_is_logged(TV_ANALYTICS_CLIENT_OTHER, TV_ANALYTICS_ANONYMOUS, 304));
    CHECK(tv_analytics_is_logged(TV_ANALYTICS_SERVER_OTHER, TV_ANALYTICS_ANONYMOUS, 500));
    CHECK(!tv_analytics_is_logged(TV_ANALYTICS_CLIENT_OTHER, TV_ANALYTICS_ANONYMOUS, 404));
    CHECK(!tv_analytics_is_logged(TV_ANALYTICS_AUTHORIZATION, TV_ANALYTICS_ANONYMOUS, 401));
    CHECK(!tv_analytics_is_logged(TV_ANALYTICS_THROTTLING, TV_ANALYTICS_ANONYMOUS, 503));
    CHECK(tv_analytics_is_logged(TV_ANALYTICS_AUTHORIZATION, TV_ANALYTICS_KEY, 403));
    CHECK(tv_analytics_is_logged(TV_ANALYTICS_CLIENT_OTHER, TV_ANALYTICS_SAS, 404));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_ending_has_its_word),
        cmocka_unit_test(twins_are_named_after_what_clients_have_shown),
        cmocka_unit_test(what_is_billed_and_what_availability_is_of),
        cmocka_unit_test(operations_read_write_or_delete),
        cmocka_unit_test(failures_of_strangers_are_not_logged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
