/* URLs of endpoints, and which proxy is chosen for them. */
#include "client/net/endpoint.h"

#include "check.h"
#include "client/memory_faults.h"
#include "client/net/proxy.h"

static tavola_err open_url(const char *url, tvc_endpoint **ret_endpoint, const char **reterr_why)
{
    tvc_net_options options = {.connect_timeout_ms = 1000, .connections_max = 1, .proxy = ""};

    return tvc_endpoint_open(url, &options, ret_endpoint, reterr_why);
}

TEST(takes_urls_apart)
{
    static const struct {
        const char *url, *host, *path;
        bool is_https;
    } cases[] = {
        {"http://127.0.0.1:10002/devstoreaccount1", "127.0.0.1:10002", "/devstoreaccount1", false},
        {"http://127.0.0.1:10002/devstoreaccount1/", "127.0.0.1:10002", "/devstoreaccount1", false},
        {"https://account.table.core.windows.net", "account.table.core.windows.net", "", true},
        {"https://account.table.core.windows.net/", "account.table.core.windows.net", "", true},
        {"HTTPS://Account.example:443", "Account.example", "", true},
        {"http://host:80/a/b", "host", "/a/b", false},
        {"http://host:443", "host:443", "", false},
        {"https://host:80", "host:80", "", true},
        {"http://[::1]:10002/x", "[::1]:10002", "/x", false},
        {"http://[::1]", "[::1]", "", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tvc_endpoint *endpoint = NULL;

        t_row = cases[i].url;
        CHECK_INT(open_url(cases[i].url, &endpoint, NULL), TAVOLA_OK);
        CHECK_TEXT(tvc_endpoint_host(endpoint), cases[i].host);
        CHECK_TEXT(tvc_endpoint_path(endpoint), cases[i].path);
        CHECK_INT(tvc_endpoint_is_https(endpoint), cases[i].is_https);
        CHECK(!tvc_endpoint_is_proxied(endpoint));
        tvc_endpoint_close(endpoint);
    }
}

TEST(refuses_what_is_no_url)
{
    static const char *const cases[] = {
        NULL,
        "",
        "host",
        "host:80",
        "ftp://host",
        "//host",
        "http:/host",
        "http://",
        "http:///path",
        "http://:80",
        "http://host:",
        "http://host:0",
        "http://host:65536",
        "http://host:-1",
        "http://host:80x",
        "http://host:80:80",
        "http://user@host",
        "http://user:password@host",
        "http://ho st",
        "http://host/a b",
        "http://host/a\r\nX: y",
        "http://host/a?b",
        "http://host/a#b",
        "http://h\xc3\xb6st",
        "http://ho%73t",
        "http://[::1",
        "http://[::1]x",
        "http://[host]",
        "http://::1",
        "http://host\\path",
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tvc_endpoint *endpoint = NULL;
        const char *why = NULL;

        t_row = cases[i] ? cases[i] : "NULL";
        CHECK_INT(open_url(cases[i], &endpoint, &why), TAVOLA_ERR_INVALID);
        CHECK(endpoint == NULL && why && *why);
    }
}

TEST(knows_for_whom_no_proxy_is_meant)
{
    static const struct {
        const char *no_proxy, *host;
        bool is_excepted;
    } cases[] = {
        {"", "host", false},
        {"*", "host", true},
        {"*", "127.0.0.1", true},
        {"host", "host", true},
        {"HOST", "host", true},
        {"host", "otherhost", false},
        {"host", "host.example", false},
        {"example.com", "www.example.com", true},
        {".example.com", "www.example.com", true},
        {".example.com", "example.com", true},
        {"example.com", "notexample.com", false},
        {"example.com.", "www.example.com", true},
        {"example.com", "www.example.com.", true},
        {"www.example.com", "example.com", false},
        {"a, b ,example.com", "example.com", true},
        {"a b", "b", true},
        {"127.0.0.1", "127.0.0.1", true},
        {"127.0.0.1", "127.0.0.10", false},
        {"0.0.1", "127.0.0.1", false},
        {"10.0.0.0/8", "10.1.2.3", true},
        {"10.0.0.0/8", "11.1.2.3", false},
        {"10.1.2.0/23", "10.1.3.3", true},
        {"10.1.2.0/23", "10.1.4.3", false},
        {"10.0.0.0/33", "10.0.0.0", false},
        {"10.0.0.0/x", "10.0.0.0", false},
        {"0.0.0.0/0", "10.0.0.0", true},
        {"::1", "::1", true},
        {"[::1]", "::1", true},
        {"fe80::/10", "fe80::1", true},
        {"fe80::/10", "ff80::1", false},
        {"localhost", "127.0.0.1", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char label[100];

        snprintf(label, sizeof label, "%s for %s", cases[i].no_proxy, cases[i].host);
        t_row = label;
        CHECK_INT(tvc_proxy_is_excepted(tv_slice_of(cases[i].no_proxy), tv_slice_of(cases[i].host)),
                  cases[i].is_excepted);
    }
}

static void clear_environment(void)
{
    static const char *const names[] = {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY",
                                        "all_proxy",  "ALL_PROXY",  "no_proxy",    "NO_PROXY"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
}

TEST(chooses_a_proxy)
{
    static const struct {
        const char *label, *url, *option;
        const char *environment[3][2];
        const char *host; /* NULL: none */
        int port;
        const char *authorization;
    } cases[] = {
        {"none", "http://host", NULL, {{0}}, NULL, 0, NULL},
        {"option", "http://host", "http://proxy:3128", {{0}}, "proxy", 3128, NULL},
        {"option for https", "https://host", "http://proxy:3128", {{0}}, "proxy", 3128, NULL},
        {"option with a slash", "http://host", "http://proxy:3128/", {{0}}, "proxy", 3128, NULL},
        {"option without a scheme", "http://host", "proxy:3128", {{0}}, "proxy", 3128, NULL},
        {"IPv6", "http://host", "http://[::1]:3128", {{0}}, "::1", 3128, NULL},
        {"user",
         "http://host",
         "http://Aladdin:open%20sesame@proxy:3128",
         {{0}},
         "proxy",
         3128,
         "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"},
        {"user without a password",
         "http://host",
         "http://a@proxy:3128",
         {{0}},
         "proxy",
         3128,
         "Proxy-Authorization: Basic YTo=\r\n"},
        {"option none", "http://host", "", {{"http_proxy", "http://p:1"}}, NULL, 0, NULL},
        {"option first", "http://host", "http://o:2", {{"http_proxy", "http://p:1"}}, "o", 2, NULL},
        {"http", "http://host", NULL, {{"http_proxy", "http://p:1"}}, "p", 1, NULL},
        {"HTTP_PROXY may be a header", "http://host", NULL, {{"HTTP_PROXY", "p:1"}}, NULL, 0, NULL},
        {"of the other scheme", "https://host", NULL, {{"http_proxy", "p:1"}}, NULL, 0, NULL},
        {"https", "https://host", NULL, {{"https_proxy", "p:1"}}, "p", 1, NULL},
        {"HTTPS", "https://host", NULL, {{"HTTPS_PROXY", "p:1"}}, "p", 1, NULL},
        {"small letters first",
         "https://host",
         NULL,
         {{"HTTPS_PROXY", "P:1"}, {"https_proxy", "p:2"}},
         "p",
         2,
         NULL},
        {"all", "http://host", NULL, {{"all_proxy", "p:1"}}, "p", 1, NULL},
        {"ALL", "https://host", NULL, {{"ALL_PROXY", "p:1"}}, "p", 1, NULL},
        {"not all",
         "http://host",
         NULL,
         {{"all_proxy", "p:1"}, {"http_proxy", "q:2"}},
         "q",
         2,
         NULL},
        {"SOCKS", "http://host", NULL, {{"all_proxy", "socks5://p"}}, "socks p", 1080, NULL},
        {"SOCKS for https", "https://host", "SOCKS5H://p:9", {{0}}, "socks p", 9, NULL},
        {"SOCKS of a desktop",
         "http://host",
         NULL,
         {{"all_proxy", "socks://p:9/"}},
         "socks p",
         9,
         NULL},
        {"SOCKS with a user",
         "http://host",
         "socks5://u%3A:p@p:9",
         {{0}},
         "socks p",
         9,
         "\1\2u:\1p"},
        {"SOCKS with a user alone", "http://host", "socks5://u@p:9", {{0}}, "socks p", 9, "\1\1u"},
        {"localhost", "http://localhost", NULL, {{"http_proxy", "p:1"}}, NULL, 0, NULL},
        {"below localhost", "http://a.LocalHost.", NULL, {{"all_proxy", "p:1"}}, NULL, 0, NULL},
        {"nearly localhost", "http://alocalhost", NULL, {{"all_proxy", "p:1"}}, "p", 1, NULL},
        {"127.0.0.1", "http://127.0.0.1:10002", NULL, {{"all_proxy", "socks5://p"}}, NULL, 0, NULL},
        {"127.1.2.3", "https://127.1.2.3", NULL, {{"https_proxy", "p:1"}}, NULL, 0, NULL},
        {"::1", "http://[::1]:10002", NULL, {{"http_proxy", "p:1"}}, NULL, 0, NULL},
        {"::2", "http://[::2]:10002", NULL, {{"http_proxy", "p:1"}}, "p", 1, NULL},
        {"one that cannot be used",
         "http://localhost",
         NULL,
         {{"all_proxy", "socks4://p"}},
         NULL,
         0,
         NULL},
        {"the option goes above loopback", "http://localhost", "p:1", {{0}}, "p", 1, NULL},
        {"no_proxy",
         "http://a.host",
         NULL,
         {{"http_proxy", "p:1"}, {"no_proxy", "x,.host"}},
         NULL,
         0,
         NULL},
        {"NO_PROXY",
         "http://a.host",
         NULL,
         {{"all_proxy", "p:1"}, {"NO_PROXY", "*"}},
         NULL,
         0,
         NULL},
        {"the option goes above no_proxy", "http://host", "p:1", {{"no_proxy", "*"}}, "p", 1, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tv_url url;
        tvc_proxy proxy = {0};
        const char *why = NULL;

        t_row = cases[i].label;
        clear_environment();
        for (size_t k = 0; k < 3 && cases[i].environment[k][0]; k++)
            setenv(cases[i].environment[k][0], cases[i].environment[k][1], 1);
        CHECK(tv_url_parse(tv_slice_of(cases[i].url), &url, &why));
        CHECK_INT(tvc_proxy_choose(&url, cases[i].option, &proxy, &why), TAVOLA_OK);

        const char *secret = proxy.is_socks ? proxy.login : proxy.authorization;
        char host[100];

        snprintf(host, sizeof host, "%s%s", proxy.is_socks ? "socks " : "",
                 proxy.host ? proxy.host : "none");
        CHECK_TEXT(tv_slice_of(host), cases[i].host ? cases[i].host : "none");
        CHECK_INT(proxy.port, cases[i].port);
        CHECK_TEXT(tv_slice_of(secret ? secret : "none"),
                   cases[i].authorization ? cases[i].authorization : "none");
        tvc_proxy_done(&proxy);
    }
    clear_environment();
}

TEST(refuses_proxies_that_it_cannot_use)
{
    static const char *const cases[] = {
        "https://proxy:3128", "socks4://proxy:1080", "http://",
        "socks5://proxy:x",   "http://proxy:x",      "http://pro xy"};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tvc_net_options options = {.connections_max = 1, .proxy = cases[i]};
        tvc_endpoint *endpoint = NULL;
        const char *why = NULL;

        t_row = cases[i];
        CHECK_INT(tvc_endpoint_open("http://host", &options, &endpoint, &why), TAVOLA_ERR_INVALID);
        CHECK(endpoint == NULL);
        CHECK_TEXT(tv_slice_of(why),
                   "its proxy is not \"http://host:port\" or \"socks5://host:port\"");
    }
}

/* Each has a byte for its length. */
TEST(knows_how_long_a_login_can_be)
{
    for (int user = 255; user <= 256; user++) {
        for (int password = 255; password <= 256; password++) {
            char text[600];
            tvc_net_options options = {.connections_max = 1, .proxy = text};
            tvc_endpoint *endpoint = NULL;
            const char *why = NULL;
            bool is_good = user == 255 && password == 255;

            snprintf(text, sizeof text, "socks5://%0*d:%0*d@proxy", user, 1, password, 2);
            CHECK_INT(tvc_endpoint_open("http://host", &options, &endpoint, &why),
                      is_good ? TAVOLA_OK : TAVOLA_ERR_INVALID);
            CHECK(is_good || strcmp(why, "the user or password of its proxy is too long") == 0);
            tvc_endpoint_close(endpoint);
        }
    }
}

TEST(survives_a_lack_of_memory)
{
    MEMORY_FAULTS(fault)
    {
        static const char *const proxies[] = {"http://user:word@proxy:3128", "socks5://u:w@proxy"};

        for (size_t i = 0; i < 2; i++) {
            tvc_net_options options = {.connections_max = 1, .proxy = proxies[i]};
            tvc_endpoint *endpoint = NULL;
            tavola_err err = tvc_endpoint_open("http://host/path", &options, &endpoint, NULL);

            if (err) {
                CHECK_INT(err, TAVOLA_ERR_NO_MEMORY);
                CHECK(memory_fault_was_hit() && endpoint == NULL);
            }
            tvc_endpoint_close(endpoint);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_urls_apart),
        cmocka_unit_test(refuses_what_is_no_url),
        cmocka_unit_test(knows_for_whom_no_proxy_is_meant),
        cmocka_unit_test(chooses_a_proxy),
        cmocka_unit_test(refuses_proxies_that_it_cannot_use),
        cmocka_unit_test(knows_how_long_a_login_can_be),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
