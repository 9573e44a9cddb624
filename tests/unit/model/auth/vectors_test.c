/* Requests and SAS for queues and blobs as the official SDKs sign them: all of them get in. */
#include "base/datetime.h"
#include "base/uri.h"
#include "check.h"
#include "model/auth/identity.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define KEY1 "c2VjcmV0IG9uZQ=="

#include "parameters.h"
#include "vectors.h"

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
    if (!tv_accounts_add(&accounts, TV_LIT("acct:" KEY1), problem, sizeof problem))
        return -1;
    return tv_http_date_parse(TV_LIT(VECTOR_DATE), &now) ? 0 : -1;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_accounts_done(&accounts);
    tv_arena_done(&arena);
    return 0;
}

enum { HEADERS_MAX = 32 };

static size_t parse_headers(const char *text, tv_header *headers)
{
    tv_slice rest = tv_slice_of(text), line;
    size_t count = 0;

    while (tv_slice_next(&rest, '\n', &line) && line.len) {
        size_t colon = tv_slice_find(line, ':');

        CHECK(count < HEADERS_MAX);
        headers[count++] =
            (tv_header){tv_slice_take(line, colon), tv_slice_trim(tv_slice_skip(line, colon + 1))};
    }
    return count;
}

static tv_slice find(const tv_header *headers, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (tv_slice_eq_nocase(headers[i].name, tv_slice_of(name)))
            return headers[i].value;
    }
    return TV_NONE;
}

static tv_credentials request_of(size_t i, const tv_header *headers, size_t count)
{
    tv_slice target = tv_slice_of(signed_requests[i].target);
    size_t mark = tv_slice_find(target, '?');

    return (tv_credentials){
        .parts = {.service = signed_requests[i].service,
                  .account = TV_LIT("acct"),
                  .method = tv_slice_of(signed_requests[i].verb),
                  .path = tv_slice_take(target, mark),
                  .headers = headers,
                  .header_count = count},
        .authorization = tv_slice_of(signed_requests[i].authorization),
        .x_ms_date = find(headers, count, "x-ms-date"),
        .date = find(headers, count, "date"),
        .query = query_of(&arena, mark < target.len ? tv_slice_skip(target, mark + 1) : TV_NONE),
        .host = TV_LIT("127.0.0.1"),
        .peer = "127.0.0.1:4000",
        .is_peer_loopback = true,
    };
}

static tv_err ask(tv_credentials credentials)
{
    const tv_identity *identity = NULL;

    return tv_authenticate(&policy, &credentials, now, &arena, &identity, &info);
}

TEST(requests_of_the_sdks_get_in)
{
    for (size_t i = 0; i < COUNT(signed_requests); i++) {
        tv_header headers[HEADERS_MAX];
        size_t count = parse_headers(signed_requests[i].headers, headers);

        t_row = signed_requests[i].what;
        CHECK_OK(ask(request_of(i, headers, count)));
    }
}

static bool is_signed(tv_slice name, bool is_lite)
{
    static const char *const lite[] = {"content-md5", "content-type", "date"};
    bool is_standard = !is_lite;

    for (size_t i = 0; i < COUNT(lite); i++)
        is_standard |= tv_slice_eq_nocase(name, tv_slice_of(lite[i]));
    return is_standard || tv_slice_eq_nocase(tv_slice_take(name, 2), TV_LIT("x-"));
}

TEST(nothing_of_them_can_be_changed)
{
    for (size_t i = 0; i < COUNT(signed_requests); i++) {
        tv_header headers[HEADERS_MAX];
        size_t count = parse_headers(signed_requests[i].headers, headers);
        tv_credentials credentials = request_of(i, headers, count);
        bool is_lite = strstr(signed_requests[i].authorization, "Lite") != NULL;
        bool has_x_ms_date = credentials.x_ms_date.len > 0;

        t_row = signed_requests[i].what;
        for (size_t j = 0; j < count; j++) {
            tv_header kept = headers[j];

            /* With x-ms-date, Date is ignored. */
            if (!is_signed(kept.name, is_lite) ||
                (has_x_ms_date && tv_slice_eq_nocase(kept.name, TV_LIT("date"))))
                continue;
            headers[j].value = TV_LIT("changed");
            CHECK_ERR(ask(credentials), TV_ERR_AUTHENTICATION_FAILED);
            headers[j] = kept;
        }

        tv_credentials changed = credentials;

        changed.parts.method = TV_LIT("PATCH");
        CHECK_ERR(ask(changed), TV_ERR_AUTHENTICATION_FAILED);
        changed = credentials;
        changed.parts.path = TV_LIT("/acct/other");
        CHECK_ERR(ask(changed), TV_ERR_AUTHENTICATION_FAILED);
        changed = credentials;
        changed.query = query_of(&arena, TV_LIT("comp=other"));
        CHECK_ERR(ask(changed), TV_ERR_AUTHENTICATION_FAILED);
        headers[count] = (tv_header){TV_LIT("X-Ms-Added"), TV_LIT("1")};
        changed = credentials;
        changed.parts.header_count++;
        CHECK_ERR(ask(changed), TV_ERR_AUTHENTICATION_FAILED);
        headers[count] = (tv_header){TV_LIT("Added"), TV_LIT("1")};
        CHECK_OK(ask(changed));
        changed = credentials;
        changed.parts.service = TV_SERVICE_TABLE;
        CHECK_ERR(ask(changed), TV_ERR_AUTHENTICATION_FAILED);
    }
}

TEST(the_order_of_headers_says_nothing)
{
    for (size_t i = 0; i < COUNT(signed_requests); i++) {
        tv_header headers[HEADERS_MAX], turned[HEADERS_MAX];
        size_t count = parse_headers(signed_requests[i].headers, headers);

        t_row = signed_requests[i].what;
        for (size_t j = 0; j < count; j++)
            turned[j] = headers[count - 1 - j];
        CHECK_OK(ask(request_of(i, turned, count)));
    }
}

static tv_credentials token_of(size_t i)
{
    return (tv_credentials){
        .parts = {.service = signed_tokens[i].service,
                  .account = TV_LIT("acct"),
                  .method = TV_LIT("GET"),
                  .path = TV_LIT("/acct/x")},
        .query = query_of(&arena, tv_slice_of(signed_tokens[i].query)),
        .container = tv_slice_of(signed_tokens[i].container),
        .blob = tv_slice_of(signed_tokens[i].blob),
        .host = TV_LIT("127.0.0.1"),
        .peer = "127.0.0.1:4000",
        .is_peer_loopback = true,
    };
}

/* Of the oldest layout, which does not tell a queue from a container. */
static bool is_ambiguous(size_t i)
{
    const char *query = signed_tokens[i].query;

    return strstr(query, "sv=2012-02-12") && strstr(query, "sr=b") == NULL &&
           strstr(query, "tn=") == NULL && strstr(query, "srt=") == NULL;
}

TEST(tokens_of_the_sdks_get_in)
{
    for (size_t i = 0; i < COUNT(signed_tokens); i++) {
        t_row = signed_tokens[i].what;
        CHECK_ERR(ask(token_of(i)), is_ambiguous(i) ? TV_ERR_AUTHENTICATION_FAILED : TV_OK);
    }
}

/* Each parameter that is signed, with a letter more. */
TEST(nothing_of_a_token_can_be_changed)
{
    for (size_t i = 0; i < COUNT(signed_tokens); i++) {
        bool is_account = strstr(signed_tokens[i].query, "srt=") != NULL;
        bool is_oldest = strstr(signed_tokens[i].query, "sv=2012-02-12") != NULL;
        tv_slice rest = tv_slice_of(signed_tokens[i].query), part;

        t_row = signed_tokens[i].what;
        while (tv_slice_next(&rest, '&', &part)) {
            tv_credentials credentials = token_of(i);
            size_t end = (size_t)(part.data + part.len - signed_tokens[i].query);
            bool is_unsigned =
                is_oldest && !is_ambiguous(i) && tv_slice_starts_with(part, TV_LIT("rs"));

            credentials.query =
                query_of(&arena, tv_arena_printf(&arena, "%.*sx%s", (int)end, signed_tokens[i].query,
                                                 signed_tokens[i].query + end));
            CHECK_ERR(ask(credentials), is_unsigned ? TV_OK : TV_ERR_AUTHENTICATION_FAILED);
        }

        tv_credentials other = token_of(i);

        other.container = TV_LIT("other");
        CHECK_ERR(ask(other), is_account ? TV_OK : TV_ERR_AUTHENTICATION_FAILED);
        other = token_of(i);
        other.parts.service = TV_SERVICE_TABLE;
        CHECK(ask(other) != TV_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_of_the_sdks_get_in),
        cmocka_unit_test(nothing_of_them_can_be_changed),
        cmocka_unit_test(the_order_of_headers_says_nothing),
        cmocka_unit_test(tokens_of_the_sdks_get_in),
        cmocka_unit_test(nothing_of_a_token_can_be_changed),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
