/* Which rule fits a request, and what it exposes. */
#include "services/service/cors.h"

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define RULE(m, o, a)                                                                              \
    {                                                                                              \
        .methods = {m, sizeof m - 1}, .origins = {o, sizeof o - 1}, .allowed_headers = {           \
            a,                                                                                     \
            sizeof a - 1                                                                           \
        }                                                                                          \
    }

static const tv_cors_settings cors = {
    .is_set = true,
    .rules = {RULE("GET,PUT", "http://a,http://b:8080", "accept,x-ms-meta-abc,x-ms-c*"),
              RULE("GET", "http://a", "*"), RULE("POST", "*", ""), RULE("MERGE", "null", ""),
              RULE("DELETE", "http://*.c.example,https://*.d.example:8080,*.e.example,http://*",
                   "")},
    .count = 5,
};

static const struct {
    const char *what, *origin, *method, *headers;
    tv_cors_fit fit;
    int rule;
} requests[] = {
    {"the first rule", "http://a", "GET", "", TV_CORS_ORIGIN, 0},
    {"with a port", "http://b:8080", "PUT", "", TV_CORS_ORIGIN, 0},
    {"without the port", "http://b", "PUT", "", TV_CORS_NO_FIT, -1},
    {"a beginning of an origin", "http://", "GET", "", TV_CORS_NO_FIT, -1},
    {"a longer origin", "http://a.evil", "GET", "", TV_CORS_NO_FIT, -1},
    {"two origins", "http://a,http://b:8080", "GET", "", TV_CORS_NO_FIT, -1},
    {"another case", "HTTP://A", "GET", "", TV_CORS_NO_FIT, -1},
    {"another scheme", "https://a", "GET", "", TV_CORS_NO_FIT, -1},
    {"no origin", "", "GET", "", TV_CORS_NO_FIT, -1},
    {"no origin, any will do", "", "POST", "", TV_CORS_ANY_ORIGIN, 2},
    {"any origin", "http://c", "POST", "", TV_CORS_ANY_ORIGIN, 2},
    {"a star for an origin", "*", "GET", "", TV_CORS_NO_FIT, -1},
    {"no origin by its name", "null", "MERGE", "", TV_CORS_ORIGIN, 3},
    {"a method of no rule", "http://a", "DELETE", "", TV_CORS_NO_FIT, -1},
    {"a subdomain", "http://www.c.example", "DELETE", "", TV_CORS_ORIGIN, 4},
    {"one of several labels", "http://a.b-1.c.example", "DELETE", "", TV_CORS_ORIGIN, 4},
    {"with its port", "https://www.d.example:8080", "DELETE", "", TV_CORS_ORIGIN, 4},
    {"with another port", "https://www.d.example:8081", "DELETE", "", TV_CORS_NO_FIT, -1},
    {"with a port that is not named", "http://www.c.example:80", "DELETE", "", TV_CORS_NO_FIT, -1},
    {"with another scheme", "https://www.c.example", "DELETE", "", TV_CORS_NO_FIT, -1},
    {"the domain itself", "http://c.example", "DELETE", "", TV_CORS_NO_FIT, -1},
    {"a dot and nothing before it", "http://.c.example", "DELETE", "", TV_CORS_NO_FIT, -1},
    {"a longer domain", "http://www.c.example.evil", "DELETE", "", TV_CORS_NO_FIT, -1},
    {"an end without the dot", "http://evilc.example", "DELETE", "", TV_CORS_NO_FIT, -1},
    {"a name with more in it", "http://evil.com/.c.example", "DELETE", "", TV_CORS_NO_FIT, -1},
    {"a user", "http://evil.com@www.c.example", "DELETE", "", TV_CORS_NO_FIT, -1},
    {"a port in the middle", "http://evil:80.c.example", "DELETE", "", TV_CORS_NO_FIT, -1},
    {"a star without a scheme", "http://www.e.example", "DELETE", "", TV_CORS_NO_FIT, -1},
    {"a star alone after the scheme", "http://any", "DELETE", "", TV_CORS_NO_FIT, -1},
    {"a method in lower case", "http://a", "get", "", TV_CORS_NO_FIT, -1},
    {"a header in any case", "http://a", "PUT", "Accept", TV_CORS_ORIGIN, 0},
    {"headers with blanks", "http://a", "PUT", "accept, X-MS-Meta-ABC,", TV_CORS_ORIGIN, 0},
    {"a header by its beginning", "http://a", "PUT", "x-ms-client-request-id", TV_CORS_ORIGIN, 0},
    {"the beginning itself", "http://a", "PUT", "x-ms-c", TV_CORS_ORIGIN, 0},
    {"less than the beginning", "http://a", "PUT", "x-ms-", TV_CORS_NO_FIT, -1},
    {"one header of another rule", "http://a", "GET", "accept,cookie", TV_CORS_ORIGIN, 1},
    {"one header of no rule", "http://a", "PUT", "accept,cookie", TV_CORS_NO_FIT, -1},
    {"a header where none is allowed", "http://a", "POST", "accept", TV_CORS_NO_FIT, -1},
};

TEST(the_first_rule_that_fits_decides)
{
    for (size_t i = 0; i < COUNT(requests); i++) {
        const tv_cors_rule *rule = NULL;

        t_row = requests[i].what;
        CHECK_INT(tv_cors_match(&cors, tv_slice_of(requests[i].origin),
                                tv_slice_of(requests[i].method), tv_slice_of(requests[i].headers),
                                &rule),
                  requests[i].fit);
        CHECK_INT(rule ? rule - cors.rules : -1, requests[i].rule);
    }
}

TEST(a_list_of_headers_is_followed_only_so_far)
{
    enum { HEADERS_MAX = 256 };
    const tv_cors_rule *rule;
    tv_buf headers = TV_BUF_EMPTY;

    for (int i = 0; i < HEADERS_MAX; i++)
        tv_buf_printf(&headers, "%sx-ms-c%d", i ? "," : "", i);
    CHECK_INT(
        tv_cors_match(&cors, TV_LIT("http://a"), TV_LIT("PUT"), tv_buf_slice(&headers), &rule),
        TV_CORS_ORIGIN);
    tv_buf_add_lit(&headers, ",accept");
    CHECK_INT(
        tv_cors_match(&cors, TV_LIT("http://a"), TV_LIT("PUT"), tv_buf_slice(&headers), &rule),
        TV_CORS_NO_FIT);
    tv_buf_done(&headers);
}

static const struct {
    const char *list, *names;
} exposed[] = {
    {"", ""},
    {"ETag", "ETag"},
    {"ETag,x-ms-other", "ETag,x-ms-other"},
    {"x-ms-*", "x-ms-request-id,x-ms-version"},
    {"X-MS-Version,x-ms-*", "X-MS-Version,x-ms-request-id"},
    {"*", "Date,x-ms-request-id,Server,x-ms-version"},
    {"Etag,s*,d*", "Etag,Date,Server"},
    {"http*", ""},
};

TEST(headers_are_exposed_by_name_and_by_beginning)
{
    static const char head[] = "HTTP/1.1 200 OK: x-ms-no: y\r\nDate: x-ms-a: b\r\n"
                               "x-ms-request-id: 1\r\nServer: s\r\nx-ms-version: 2\r\n";

    for (size_t i = 0; i < COUNT(exposed); i++) {
        tv_cors_rule rule = {.exposed_headers = tv_slice_of(exposed[i].list)};
        tv_buf names = TV_BUF_EMPTY;

        t_row = exposed[i].list;
        tv_cors_add_exposed(&names, &rule, TV_LIT(head));
        CHECK_TEXT(tv_buf_slice(&names), exposed[i].names);
        tv_buf_done(&names);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_rule_that_fits_decides),
        cmocka_unit_test(a_list_of_headers_is_followed_only_so_far),
        cmocka_unit_test(headers_are_exposed_by_name_and_by_beginning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
