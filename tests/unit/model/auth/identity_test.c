/* The one door: who gets in, and what the others are told. */
#include "model/auth/identity.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define KEY1 "c2VjcmV0IG9uZQ=="
#define KEY2 "c2VjcmV0IHR3bw=="
#define OTHER_KEY "YW5vdGhlcg=="
#define DATE "Fri, 02 Jan 2026 03:04:05 GMT"
#define OTHER_DATE "Fri, 02 Jan 2026 03:04:06 GMT"

static tv_accounts accounts;
static tv_error_info info;
static tv_auth_policy policy = {.accounts = &accounts};
static tv_arena arena;
static int64_t now;

static int set_up(__attribute__((unused)) void **state)
{
    char problem[200];

    tv_accounts_init(&accounts);
    tv_arena_init(&arena);
    if (!tv_accounts_add_list(&accounts,
                              TV_LIT("acct:" KEY1 ":" KEY2 ";other:" OTHER_KEY
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

/* "scheme account:signature" over `text`. */
static tv_slice sign(const char *scheme, const char *account, const char *key_base64,
                     const char *text)
{
    char secret[128], signature[44];
    unsigned char mac[TV_HMAC_BYTES];
    tv_hmac_key key;
    size_t len;

    CHECK(tv_base64_decode(secret, tv_slice_of(key_base64), &len));
    tv_hmac_key_init(&key, (tv_slice){secret, len});
    tv_hmac_sign(&key, tv_slice_of(text), mac);
    tv_hmac_key_done(&key);
    tv_base64_encode(signature, (tv_slice){(const char *)mac, sizeof mac});
    return tv_arena_printf(&arena, "%s %s:%.44s", scheme, account, signature);
}

/* A read of /acct/Tables as it is on the wire. */
static tv_credentials request(const char *account)
{
    return (tv_credentials){
        .parts = {.account = tv_slice_of(account),
                  .method = TV_LIT("GET"),
                  .path = TV_LIT("/Tables")},
        .x_ms_date = TV_LIT(DATE),
        .host = TV_LIT("127.0.0.1:10002"),
        .is_peer_loopback = true,
    };
}

static tv_err ask(tv_credentials *credentials)
{
    const tv_identity *identity = NULL;
    tv_err err = tv_authenticate(&policy, credentials, now, &arena, &identity, &info);

    CHECK_INT(identity != NULL, err == TV_OK);
    if (identity)
        CHECK_SLICE(tv_identity_account(identity), credentials->parts.account);
    return err;
}

#define FULL "GET\n\n\n" DATE "\n/acct/Tables"
#define LITE DATE "\n/acct/Tables"

static const struct {
    const char *what, *scheme, *account, *key, *text;
    tv_err err;
} signatures[] = {
    {"SharedKey by the first key", "SharedKey", "acct", KEY1, FULL, TV_OK},
    {"SharedKey by the second key", "SharedKey", "acct", KEY2, FULL, TV_OK},
    {"SharedKeyLite by the first key", "SharedKeyLite", "acct", KEY1, LITE, TV_OK},
    {"SharedKeyLite by the second key", "SharedKeyLite", "acct", KEY2, LITE, TV_OK},
    {"the text of the other scheme", "SharedKey", "acct", KEY1, LITE, TV_ERR_AUTHENTICATION_FAILED},
    {"and the other way round", "SharedKeyLite", "acct", KEY1, FULL, TV_ERR_AUTHENTICATION_FAILED},
    {"the key of another account", "SharedKey", "acct", OTHER_KEY, FULL,
     TV_ERR_AUTHENTICATION_FAILED},
    {"another account than the URL's", "SharedKey", "other", OTHER_KEY, FULL,
     TV_ERR_AUTHENTICATION_FAILED},
    {"an account that is not there", "SharedKey", "nobody", KEY1, FULL,
     TV_ERR_AUTHENTICATION_FAILED},
    {"the account in upper case", "SharedKey", "ACCT", KEY1, FULL, TV_ERR_AUTHENTICATION_FAILED},
    {"a text with another path", "SharedKeyLite", "acct", KEY1, DATE "\n/acct/tables",
     TV_ERR_AUTHENTICATION_FAILED},
    {"a text with another date", "SharedKeyLite", "acct", KEY1, OTHER_DATE "\n/acct/Tables",
     TV_ERR_AUTHENTICATION_FAILED},
    {"a scheme in another case", "sharedkey", "acct", KEY1, FULL, TV_ERR_AUTHENTICATION_INFO},
    {"a scheme of other services", "Basic", "acct", KEY1, FULL, TV_ERR_AUTHENTICATION_INFO},
    {"a longer scheme", "SharedKeyLiter", "acct", KEY1, LITE, TV_ERR_AUTHENTICATION_INFO},
    {"a bearer token", "Bearer", "acct", KEY1, FULL, TV_ERR_BEARER_REFUSED},
    {"a bearer token in another case", "bearer", "acct", KEY1, FULL, TV_ERR_BEARER_REFUSED},
};

TEST(only_a_right_signature_is_let_in)
{
    for (size_t i = 0; i < COUNT(signatures); i++) {
        tv_credentials credentials = request("acct");

        t_row = signatures[i].what;
        credentials.authorization = sign(signatures[i].scheme, signatures[i].account,
                                         signatures[i].key, signatures[i].text);
        CHECK_ERR(ask(&credentials), signatures[i].err);
    }
}

static const struct {
    const char *what, *path;
    bool is_by_path; /* what the endpoint said */
    const char *signed_path;
    tv_err err;
} secondaries[] = {
    {"the path that was sent", "/acct-secondary/a", true, "/acct-secondary/a", TV_OK},
    {"that of the primary", "/acct-secondary/a", true, "/acct/a", TV_OK},
    {"the account alone", "/acct-secondary", true, "/acct", TV_OK},
    {"another path", "/acct-secondary/a", true, "/acct/b", TV_ERR_AUTHENTICATION_FAILED},
    {"the primary has one path", "/acct/a", false, "/acct-secondary/a",
     TV_ERR_AUTHENTICATION_FAILED},
    {"in host style this is a container's name", "/acct-secondary/a", false, "/acct/a",
     TV_ERR_AUTHENTICATION_FAILED},
};

/* What SharedKeyLite signs of a request with this path. */
static const char *lite_text(tv_signed_parts parts, const char *path)
{
    tv_canonical canonical;
    tv_slice text;

    parts.path = tv_slice_of(path);
    if (parts.service == TV_SERVICE_TABLE) {
        parts.date = TV_LIT(DATE);
        text = tv_canonical_shared_key_lite(&arena, &parts);
    } else {
        CHECK(tv_canonical_read(&arena, &parts, &canonical));
        text = tv_canonical_text(&arena, &canonical, true, 0);
    }
    return tv_arena_printf(&arena, "%.*s", (int)text.len, text.data).data;
}

TEST(a_secondary_in_the_path_is_signed_in_two_ways)
{
    static const tv_service_kind services[] = {TV_SERVICE_TABLE, TV_SERVICE_QUEUE, TV_SERVICE_BLOB};

    for (size_t i = 0; i < COUNT(services) * COUNT(secondaries); i++) {
        size_t row = i % COUNT(secondaries);
        tv_credentials credentials = request("acct");

        t_row = secondaries[row].what;
        credentials.parts.service = services[i / COUNT(secondaries)];
        credentials.parts.path = tv_slice_of(secondaries[row].path);
        credentials.is_secondary_by_path = secondaries[row].is_by_path;
        credentials.authorization =
            sign("SharedKeyLite", "acct", KEY1,
                 lite_text(credentials.parts, secondaries[row].signed_path));
        CHECK_ERR(ask(&credentials), secondaries[row].err);
    }
}

static const struct {
    const char *what, *authorization;
    tv_err err;
} malformed[] = {
    {"no header", NULL, TV_ERR_NO_AUTHENTICATION},
    {"an empty header", "", TV_ERR_AUTHENTICATION_INFO},
    {"a scheme alone", "SharedKey", TV_ERR_AUTHENTICATION_INFO},
    {"a scheme and a blank", "SharedKey ", TV_ERR_AUTHENTICATION_INFO},
    {"an account alone", "SharedKey acct", TV_ERR_AUTHENTICATION_INFO},
    {"no signature", "SharedKey acct:", TV_ERR_AUTHENTICATION_FAILED},
    {"no account", "SharedKey :AAAA", TV_ERR_AUTHENTICATION_FAILED},
    {"not base 64", "SharedKey acct:????????????????????????????????????????????",
     TV_ERR_AUTHENTICATION_FAILED},
    {"a tab for the blank", "SharedKey\tacct:AAAA", TV_ERR_AUTHENTICATION_INFO},
    {"a bearer without a colon", "Bearer eyJ0", TV_ERR_BEARER_REFUSED},
};

TEST(what_cannot_be_read_has_its_own_error)
{
    for (size_t i = 0; i < COUNT(malformed); i++) {
        tv_credentials credentials = request("acct");

        t_row = malformed[i].what;
        if (malformed[i].authorization)
            credentials.authorization = tv_slice_of(malformed[i].authorization);
        CHECK_ERR(ask(&credentials), malformed[i].err);
    }
}

TEST(no_part_of_a_signature_is_enough)
{
    tv_credentials credentials = request("acct");
    tv_slice whole = sign("SharedKey", "acct", KEY1, FULL);

    for (size_t len = 0; len < whole.len; len++) {
        credentials.authorization = tv_slice_take(whole, len);
        CHECK(ask(&credentials) != TV_OK);
    }
    for (size_t i = tv_slice_find(whole, ':') + 1; i < whole.len; i++) {
        char *changed = (char *)tv_arena_dup(&arena, whole).data;

        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        credentials.authorization = (tv_slice){changed, whole.len};
        CHECK_ERR(ask(&credentials), TV_ERR_AUTHENTICATION_FAILED);
    }
    credentials.authorization = tv_arena_printf(&arena, "%.*sA", TV_FMT(whole));
    CHECK_ERR(ask(&credentials), TV_ERR_AUTHENTICATION_FAILED);
    credentials.authorization = whole;
    CHECK_OK(ask(&credentials));
}

TEST(the_headers_that_are_signed_count)
{
    tv_credentials credentials = request("acct");

    credentials.parts.method = TV_LIT("POST");
    credentials.parts.content_md5 = TV_LIT("bWQ1");
    credentials.parts.content_type = TV_LIT("application/json");
    credentials.parts.comp = TV_LIT("acl");
    credentials.authorization = sign(
        "SharedKey", "acct", KEY1, "POST\nbWQ1\napplication/json\n" DATE "\n/acct/Tables?comp=acl");
    CHECK_OK(ask(&credentials));
    credentials.parts.content_type = TV_LIT("application/xml");
    CHECK_ERR(ask(&credentials), TV_ERR_AUTHENTICATION_FAILED);
}

static const struct {
    const char *what;
    int64_t skew_ticks; /* the server's clock ahead of the client's */
    tv_err err;
} skews[] = {
    {"none", 0, TV_OK},
    {"15 minutes late", 900 * TV_TICKS_PER_SECOND, TV_OK},
    {"a tick later than that", 900 * TV_TICKS_PER_SECOND + 1, TV_ERR_AUTHENTICATION_FAILED},
    {"15 minutes early", -900 * TV_TICKS_PER_SECOND, TV_OK},
    {"a tick earlier than that", -900 * TV_TICKS_PER_SECOND - 1, TV_ERR_AUTHENTICATION_FAILED},
    {"a year late", 366 * 86400 * TV_TICKS_PER_SECOND, TV_ERR_AUTHENTICATION_FAILED},
};

TEST(clocks_may_differ_by_15_minutes)
{
    for (size_t i = 0; i < COUNT(skews); i++) {
        tv_credentials credentials = request("acct");
        const tv_identity *identity;

        t_row = skews[i].what;
        credentials.authorization = sign("SharedKeyLite", "acct", KEY1, LITE);
        CHECK_ERR(tv_authenticate(&policy, &credentials, now + skews[i].skew_ticks, &arena,
                                  &identity, &info),
                  skews[i].err);
    }
}

static const struct {
    const char *what, *x_ms_date, *date, *signed_date;
    tv_err err;
} dates[] = {
    {"x-ms-date alone", DATE, "", DATE, TV_OK},
    {"Date alone", "", DATE, DATE, TV_OK},
    {"x-ms-date wins", DATE, OTHER_DATE, DATE, TV_OK},
    {"Date does not count next to it", OTHER_DATE, DATE, DATE, TV_ERR_AUTHENTICATION_FAILED},
    {"a bad Date next to it is ignored", DATE, "yesterday", DATE, TV_OK},
    {"neither", "", "", "", TV_ERR_AUTHENTICATION_FAILED},
    {"not a date", "yesterday", "", "yesterday", TV_ERR_AUTHENTICATION_FAILED},
    {"a date of ISO 8601", "2026-01-02T03:04:05Z", "", "2026-01-02T03:04:05Z",
     TV_ERR_AUTHENTICATION_FAILED},
};

TEST(x_ms_date_wins_over_date)
{
    for (size_t i = 0; i < COUNT(dates); i++) {
        tv_credentials credentials = request("acct");
        char text[100];

        t_row = dates[i].what;
        snprintf(text, sizeof text, "%s\n/acct/Tables", dates[i].signed_date);
        credentials.x_ms_date = tv_slice_of(dates[i].x_ms_date);
        credentials.date = tv_slice_of(dates[i].date);
        credentials.authorization = sign("SharedKeyLite", "acct", KEY1, text);
        CHECK_ERR(ask(&credentials), dates[i].err);
    }
}

static const struct {
    const char *what;
    const char *account, *key;
    bool is_peer_loopback, allow_dev_anywhere;
    tv_err err;
} peers[] = {
    {"the development key from here", TV_DEVELOPMENT_ACCOUNT, TV_DEVELOPMENT_KEY, true, false,
     TV_OK},
    {"the development key from elsewhere", TV_DEVELOPMENT_ACCOUNT, TV_DEVELOPMENT_KEY, false, false,
     TV_ERR_AUTHENTICATION_FAILED},
    {"unless the operator says so", TV_DEVELOPMENT_ACCOUNT, TV_DEVELOPMENT_KEY, false, true, TV_OK},
    {"a secret key from elsewhere", "acct", KEY1, false, false, TV_OK},
    {"and with the flag", "acct", KEY1, false, true, TV_OK},
};

TEST(the_development_key_is_for_this_machine)
{
    for (size_t i = 0; i < COUNT(peers); i++) {
        tv_credentials credentials = request(peers[i].account);
        char text[100];

        t_row = peers[i].what;
        snprintf(text, sizeof text, DATE "\n/%s/Tables", peers[i].account);
        credentials.authorization = sign("SharedKeyLite", peers[i].account, peers[i].key, text);
        credentials.is_peer_loopback = peers[i].is_peer_loopback;
        policy.allow_dev_anywhere = peers[i].allow_dev_anywhere;
        CHECK_ERR(ask(&credentials), peers[i].err);
    }
    policy.allow_dev_anywhere = false;
}

static const struct {
    const char *host;
    bool is_local;
} hosts[] = {
    {"127.0.0.1", true},
    {"127.0.0.1:10002", true},
    {"10.1.2.3:80", true},
    {"[::1]:10002", true},
    {"localhost", true},
    {"LocalHost:10002", true},
    {"devstoreaccount1.table.localhost:10002", true},
    {"", false},
    {":10002", false},
    {"evil.example", false},
    {"evil.example:10002", false},
    {"localhost.evil.example", false},
    {"evillocalhost", false},
    {"127.0.0.1.evil.example", false},
    {"1e", false},
};

TEST(a_local_host_is_an_address_or_a_name_under_localhost)
{
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        t_row = hosts[i].host;
        CHECK_INT(tv_host_is_local(tv_slice_of(hosts[i].host)), hosts[i].is_local);
    }
}

TEST(a_foreign_name_for_this_machine_does_not_open_it_to_the_development_key)
{
    tv_credentials credentials = request(TV_DEVELOPMENT_ACCOUNT);

    credentials.authorization = sign("SharedKeyLite", TV_DEVELOPMENT_ACCOUNT, TV_DEVELOPMENT_KEY,
                                     DATE "\n/" TV_DEVELOPMENT_ACCOUNT "/Tables");
    CHECK_OK(ask(&credentials));
    credentials.host = TV_LIT("evil.example:10002");
    CHECK_ERR(ask(&credentials), TV_ERR_AUTHENTICATION_FAILED);
    policy.allow_dev_anywhere = true;
    CHECK_OK(ask(&credentials));
    policy.allow_dev_anywhere = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_local_host_is_an_address_or_a_name_under_localhost),
        cmocka_unit_test(a_foreign_name_for_this_machine_does_not_open_it_to_the_development_key),
        cmocka_unit_test(only_a_right_signature_is_let_in),
        cmocka_unit_test(a_secondary_in_the_path_is_signed_in_two_ways),
        cmocka_unit_test(what_cannot_be_read_has_its_own_error),
        cmocka_unit_test(no_part_of_a_signature_is_enough),
        cmocka_unit_test(the_headers_that_are_signed_count),
        cmocka_unit_test(clocks_may_differ_by_15_minutes),
        cmocka_unit_test(x_ms_date_wins_over_date),
        cmocka_unit_test(the_development_key_is_for_this_machine),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
