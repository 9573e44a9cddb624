/* What those are told who are not let in. */
#include "model/auth/identity.h"

#include "base/clock.h"
#include "base/datetime.h"
#include "base/utf8.h"
#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define DATE "Fri, 02 Jan 2026 03:04:05 GMT"
#define WRONG "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

static tv_accounts accounts;
static tv_auth_policy policy = {.accounts = &accounts};
static tv_arena arena;
static int64_t now;

static int set_up(__attribute__((unused)) void **state)
{
    char problem[200];

    tv_accounts_init(&accounts);
    tv_arena_init(&arena);
    if (!tv_accounts_add_list(&accounts,
                              TV_LIT("acct:c2VjcmV0;own:" TV_DEVELOPMENT_KEY
                                     ";" TV_DEVELOPMENT_ACCOUNT ":" TV_DEVELOPMENT_KEY),
                              problem, sizeof problem))
        return -1;
    return tv_http_date_parse(TV_LIT(DATE), &now) ? 0 : -1;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_accounts_done(&accounts);
    tv_arena_done(&arena);
    return 0;
}

/* The reason why a request with a wrong signature is refused. */
static tv_slice refuse(tv_service_kind service, const char *account, tv_slice odd, const char *host,
                       bool is_peer_loopback)
{
    tv_header headers[] = {{.name = TV_LIT("x-ms-odd"), .value = odd}};
    tv_credentials credentials = {
        .parts = {.service = service,
                  .account = tv_slice_of(account),
                  .method = TV_LIT("GET"),
                  .path = TV_LIT("/q"),
                  .headers = headers,
                  .header_count = COUNT(headers)},
        .authorization = tv_arena_printf(&arena, "SharedKey %s:" WRONG, account),
        .x_ms_date = TV_LIT(DATE),
        .host = tv_slice_of(host),
        .peer = "127.0.0.1:4000",
        .is_peer_loopback = is_peer_loopback,
    };
    const tv_identity *identity = NULL;
    tv_error_info info = {0};

    CHECK_ERR(tv_authenticate(&policy, &credentials, now, &arena, &identity, &info),
              TV_ERR_AUTHENTICATION_FAILED);
    CHECK(identity == NULL);
    return info.reason;
}

static bool contains(tv_slice text, const char *part)
{
    return memmem(text.data, text.len, part, strlen(part)) != NULL;
}

static const struct {
    const char *what;
    tv_slice sent;
    const char *shown;
} odd[] = {
    {"plain", {"a<b>&\"'", 7}, "x-ms-odd:a<b>&\"'\n"},
    {"a tab", {"a\tb", 3}, "x-ms-odd:a\tb\n"},
    {"UTF-8", {"\xC3\xA4", 2}, "x-ms-odd:\xC3\xA4\n"},
    {"bytes that are not", {"a\xFF\xC3", 3}, "x-ms-odd:a??\n"},
    {"a control character", {"a\x01" "b\x7f", 4}, "x-ms-odd:a?b?\n"},
    {"one of two bytes", {"\xC2\x80", 2}, "x-ms-odd:?\n"},
    {"no character", {"\xEF\xBF\xBE", 3}, "x-ms-odd:?\n"},
};

TEST(what_the_client_sent_comes_back_fit_for_an_answer)
{
    for (size_t i = 0; i < COUNT(odd); i++) {
        tv_slice reason = refuse(TV_SERVICE_QUEUE, "acct", odd[i].sent, "127.0.0.1", true);

        t_row = odd[i].what;
        CHECK(tv_utf8_is_valid(reason));
        CHECK(contains(reason, odd[i].shown));
        CHECK(contains(reason, "found in the HTTP request '" WRONG "' is not"));
    }
    t_row = "";
}

TEST(a_long_text_is_cut)
{
    char *text = tv_arena_bytes(&arena, 100000);

    memset(text, 'x', 100000);
    CHECK(refuse(TV_SERVICE_BLOB, "acct", (tv_slice){text, 100000}, "127.0.0.1", true).len < 5000);
}

static const struct {
    const char *what, *account, *host;
    bool is_peer_loopback, is_told; /* what to do with the well-known key */
} visitors[] = {
    {"an account with a key of its own", "acct", "acct.queue.core.windows.net", true, false},
    {"one that is not there", "nobody", "evil.example", false, false},
    {"the well-known key at home", TV_DEVELOPMENT_ACCOUNT, "127.0.0.1:10001", true, false},
    {"by a foreign name", TV_DEVELOPMENT_ACCOUNT, "devstoreaccount1.queue.core.windows.net", true,
     true},
    {"from another machine", TV_DEVELOPMENT_ACCOUNT, "127.0.0.1", false, true},
    {"another account with that key", "own", "own.queue.example", true, true},
    {"and what others learn of that one", "own", "127.0.0.1", false, false},
};

TEST(the_well_known_key_elsewhere_is_told_what_to_do)
{
    for (size_t i = 0; i < COUNT(visitors); i++) {
        tv_slice reason = refuse(TV_SERVICE_QUEUE, visitors[i].account, TV_LIT(""),
                                 visitors[i].host, visitors[i].is_peer_loopback);

        t_row = visitors[i].what;
        CHECK_INT(contains(reason, "--allow-dev-account"), visitors[i].is_told);
        CHECK_INT(contains(reason, "http://127.0.0.1:10001/devstoreaccount1"), visitors[i].is_told);
        CHECK_INT(contains(reason, "string to sign"), !visitors[i].is_told);
    }
    t_row = "";
    CHECK(contains(refuse(TV_SERVICE_TABLE, TV_DEVELOPMENT_ACCOUNT, TV_LIT(""), "x.y", true),
                   "http://127.0.0.1:10002/"));
    CHECK(contains(refuse(TV_SERVICE_BLOB, TV_DEVELOPMENT_ACCOUNT, TV_LIT(""), "x.y", true),
                   "http://127.0.0.1:10000/"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_the_client_sent_comes_back_fit_for_an_answer, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_long_text_is_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_well_known_key_elsewhere_is_told_what_to_do, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
