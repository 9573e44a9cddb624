/* URLs, taken apart. */
#include "base/url.h"

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct {
    const char *text, *scheme, *user, *place, *host;
    int port;
    const char *path, *base_path, *query; /* NULL: none */
} good[] = {
    {"http://h", "http", NULL, "h", "h", 0, "", "", NULL},
    {"HTTPS://Host.example:443/", "HTTPS", NULL, "Host.example:443", "Host.example", 443, "/", "",
     NULL},
    {"http://h/a//", "http", NULL, "h", "h", 0, "/a//", "/a", NULL},
    {"http://h/a/b?c=d?e/f", "http", NULL, "h", "h", 0, "/a/b", "/a/b", "c=d?e/f"},
    {"http://h?", "http", NULL, "h", "h", 0, "", "", ""},
    {"http://h?a/b@c:d", "http", NULL, "h", "h", 0, "", "", "a/b@c:d"},
    {"http://h/a@b:c", "http", NULL, "h", "h", 0, "/a@b:c", "/a@b:c", NULL},
    {"http://h/\xc3\xb6 #", "http", NULL, "h", "h", 0, "/\xc3\xb6 #", "/\xc3\xb6 #", NULL},
    {"http://127.0.0.1:10002/a", "http", NULL, "127.0.0.1:10002", "127.0.0.1", 10002, "/a", "/a",
     NULL},
    {"http://[::1]:65535", "http", NULL, "[::1]:65535", "::1", 65535, "", "", NULL},
    {"http://[::FFFF:1.2.3.4]", "http", NULL, "[::FFFF:1.2.3.4]", "::FFFF:1.2.3.4", 0, "", "",
     NULL},
    {"socks5h://u:p@h:1", "socks5h", "u:p", "h:1", "h", 1, "", "", NULL},
    {"http://a@b@h", "http", "a@b", "h", "h", 0, "", "", NULL},
    {"http://@h", "http", "", "h", "h", 0, "", "", NULL},
    {"http://azurite_1:00080", "http", NULL, "azurite_1:00080", "azurite_1", 80, "", "", NULL},
};

TEST(takes_urls_apart)
{
    for (size_t i = 0; i < COUNT(good); i++) {
        const char *why = NULL;
        tv_url url;

        t_row = good[i].text;
        CHECK(tv_url_parse(tv_slice_of(t_row), &url, &why));
        CHECK_TEXT(url.scheme, good[i].scheme);
        CHECK(tv_url_is(&url, tv_slice_of(good[i].scheme)));
        CHECK_INT(tv_url_is_http(&url), strncasecmp(t_row, "http", 4) == 0);
        CHECK_INT(url.user.data != NULL, good[i].user != NULL);
        CHECK_TEXT(url.user, good[i].user ? good[i].user : "");
        CHECK_TEXT(url.place, good[i].place);
        CHECK_TEXT(url.host, good[i].host);
        CHECK_INT(url.port, good[i].port);
        CHECK_TEXT(url.path, good[i].path);
        CHECK_TEXT(tv_url_base_path(&url), good[i].base_path);
        CHECK_INT(url.query.data != NULL, good[i].query != NULL);
        CHECK_TEXT(url.query, good[i].query ? good[i].query : "");
        CHECK(tv_slice_starts_with(url.place, tv_url_written_host(&url)));
        CHECK_INT(tv_url_written_host(&url).len, url.host.len + (url.is_bracketed ? 2 : 0));
    }
}

TEST(refuses_what_is_no_url)
{
    static char long_name[300] = "http://";
    static const char *const bad[] = {
        "",
        "h",
        "h:80",
        "/a",
        "//h",
        "http",
        "http:",
        "http:/h",
        "://h",
        "1http://h",
        "ht tp://h",
        "http://",
        "http:///a",
        "http://?a",
        "http://:80",
        "http://h:",
        "http://h:0",
        "http://h:65536",
        "http://h:99999999999999999999",
        "http://h:-1",
        "http://h:8x",
        "http://h:80:80",
        "http://::1",
        "http://h h",
        "http://h#a",
        "http://h%73",
        "http://h\xc3\xb6",
        "http://h\\a",
        "http://[",
        "http://[]",
        "http://[::1",
        "http://[::1]x",
        "http://[::1]:",
        "http://[::1%25lo]",
        "http://[h]",
        "http://[ab]",
        "http://u@",
        long_name,
    };

    memset(long_name + 7, 'h', 256);
    for (size_t i = 0; i < COUNT(bad); i++) {
        const char *why = NULL;
        tv_url url = {.port = 7};

        t_row = bad[i];
        CHECK(!tv_url_parse(tv_slice_of(bad[i]), &url, &why));
        CHECK(why && *why);
        CHECK_INT(url.port, 7);
    }
}

TEST(knows_what_a_request_can_hold)
{
    CHECK(tv_url_is_visible(TV_LIT("/a?b=%20&c")));
    CHECK(tv_url_is_visible(TV_LIT("")));
    CHECK(!tv_url_is_visible(TV_LIT("/a b")));
    CHECK(!tv_url_is_visible(TV_LIT("/a\r\nb")));
    CHECK(!tv_url_is_visible(TV_LIT("/a#b")));
    CHECK(!tv_url_is_visible(TV_LIT("/\xc3\xb6")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_urls_apart),
        cmocka_unit_test(refuses_what_is_no_url),
        cmocka_unit_test(knows_what_a_request_can_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
