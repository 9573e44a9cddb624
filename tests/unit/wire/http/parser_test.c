/* The head parser: what it takes, what it refuses, and that splits make no difference. */
#include "wire/http/parser.h"

#include "check.h"
#include "wire/http/conn.h"

enum { HEAD_MAX = 1024, COUNT_MAX = 8 };

/*
 * Scan and parse `input` in steps of `step` bytes, each time in a fresh copy of
 * just that size, so that the address sanitizer sees a look ahead.
 */
static tv_err read_head(tv_arena *arena, tv_slice input, size_t step, tv_head *ret_head,
                        size_t *ret_end)
{
    tv_head_scan scan = {0};

    *ret_end = 0;
    for (size_t len = step < input.len ? step : input.len;; len += step) {
        if (len > input.len)
            len = input.len;

        char *copy = tv_malloc(len ? len : 1);

        memcpy(copy, input.data, len);
        tv_err err = tv_head_scan_run(&scan, (tv_slice){copy, len}, HEAD_MAX, COUNT_MAX, ret_end);
        free(copy);
        if (err)
            return err;
        if (*ret_end || len == input.len)
            break;
    }
    if (*ret_end == 0)
        return TV_ERR_WOULD_BLOCK; /* incomplete */

    tv_slice text = tv_slice_skip(tv_slice_take(input, *ret_end), scan.start);

    return tv_head_parse(arena, tv_arena_dup(arena, text), scan.line_count, ret_head);
}

static const struct {
    const char *what, *text;
    tv_err err;
} verdicts[] = {
    {"the smallest request", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", TV_OK},
    {"HTTP/1.0 needs no host", "GET / HTTP/1.0\r\n\r\n", TV_OK},
    {"an empty line before", "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", TV_OK},
    {"four empty lines before", "\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", TV_OK},
    {"five are no mistake any more", "\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"no end yet", "GET / HTTP/1.1\r\nHost: h\r\n", TV_ERR_WOULD_BLOCK},

    /* The request line. */
    {"a bare LF after the request line", "GET / HTTP/1.1\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a bare CR in the request line", "GET /\rx HTTP/1.1\r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"no version", "GET /\r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"an empty version", "GET / \r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a lower-case version", "GET / http/1.1\r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a version with more digits", "GET / HTTP/1.10\r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a blank after the version", "GET / HTTP/1.1 \r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"HTTP/2.0", "PRI * HTTP/2.0\r\n\r\n", TV_ERR_HTTP_VERSION},
    {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", TV_ERR_HTTP_VERSION},
    {"a blank in the target", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"two blanks", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a tab instead of a blank", "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a tab in the target", "GET /a\tb HTTP/1.1\r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a control character in the target", "GET /a\x01 HTTP/1.1\r\nHost: h\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"a fragment", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a method that is not a token", "G(T / HTTP/1.1\r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"no method", " / HTTP/1.1\r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a TLS handshake", "\x16\x03\x01", TV_ERR_BAD_REQUEST},
    {"a target without slash", "GET a HTTP/1.1\r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"CONNECT", "CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"another scheme", "GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"an absolute target with a user", "GET http://u@h/ HTTP/1.1\r\nHost: h\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"an absolute target without host", "GET http:///x HTTP/1.1\r\nHost: h\r\n\r\n",
     TV_ERR_BAD_REQUEST},

    /* Header lines. */
    {"a header without value", "GET / HTTP/1.1\r\nHost: h\r\nX:\r\n\r\n", TV_OK},
    {"a header with only blanks", "GET / HTTP/1.1\r\nHost: h\r\nX: \t \r\n\r\n", TV_OK},
    {"a tab in a value", "GET / HTTP/1.1\r\nHost: h\r\nX: a\tb\r\n\r\n", TV_OK},
    {"UTF-8 in a value", "GET / HTTP/1.1\r\nHost: h\r\nX: \xc3\xa4\r\n\r\n", TV_OK},
    {"a blank before the colon", "GET / HTTP/1.1\r\nHost : h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a blank before the colon of a length",
     "GET / HTTP/1.1\r\nHost: h\r\nContent-Length : 0\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a folded header", "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a folded header by tab", "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n\tb\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"a folded first header", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"no colon", "GET / HTTP/1.1\r\nHost: h\r\nX\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"no name", "GET / HTTP/1.1\r\nHost: h\r\n: a\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a name that is not a token", "GET / HTTP/1.1\r\nHost: h\r\nX[]: a\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"a name beyond ASCII", "GET / HTTP/1.1\r\nHost: h\r\nX\xc3\xa4: a\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"a bare LF after a header", "GET / HTTP/1.1\r\nHost: h\nX: a\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a bare LF as the last line", "GET / HTTP/1.1\r\nHost: h\r\n\n", TV_ERR_BAD_REQUEST},
    {"a bare CR in a value", "GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a doubled CR", "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a control character in a short value", "GET / HTTP/1.1\r\nHost: h\r\nX: a\x0b\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"a control character in a long value",
     "GET / HTTP/1.1\r\nHost: h\r\nX: 0123456789\x1f"
     "abcdef\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"DEL in a long value",
     "GET / HTTP/1.1\r\nHost: h\r\nX: 0123456789\x7f"
     "abcdef\r\n\r\n",
     TV_ERR_BAD_REQUEST},

    /* Host. */
    {"an unknown expectation", "GET / HTTP/1.1\r\nHost: h\r\nExpect: 200-ok\r\n\r\n",
     TV_ERR_EXPECTATION},
    {"no host", "GET / HTTP/1.1\r\n\r\n", TV_ERR_HOST_MISSING},
    {"an empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", TV_ERR_HOST_MISSING},
    {"an absolute target and no host", "GET http://h/ HTTP/1.1\r\n\r\n", TV_ERR_HOST_MISSING},
    {"two hosts", "GET / HTTP/1.1\r\nHost: h\r\nhost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"two hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: h\r\nHost: h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a host with a path", "GET / HTTP/1.1\r\nHost: h/x\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a host with a user", "GET / HTTP/1.1\r\nHost: u@h\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a host with a blank", "GET / HTTP/1.1\r\nHost: h h\r\n\r\n", TV_ERR_BAD_REQUEST},

    /* The length of the body. */
    {"two different lengths",
     "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"two equal lengths",
     "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"a list of lengths", "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1, 1\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"an empty length", "GET / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"a signed length", "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: +1\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"a negative length", "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"a hexadecimal length", "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x1\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"a length that overflows",
     "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551617\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"a length with chunks",
     "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"chunks with a length",
     "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"chunks in capitals", "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n",
     TV_OK},
    {"chunks in HTTP/1.0", "GET / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"another encoding", "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"identity", "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"two encodings", "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"a repeated encoding",
     "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
     "Transfer-Encoding: chunked\r\n\r\n",
     TV_ERR_BAD_REQUEST},
    {"an almost chunked encoding",
     "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked;a\r\n\r\n", TV_ERR_BAD_REQUEST},
    {"an empty encoding", "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n\r\n",
     TV_ERR_BAD_REQUEST},

    /* Limits. */
    {"as many headers as allowed",
     "GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nA: 2\r\nA: 3\r\nA: 4\r\nA: 5\r\nA: 6\r\nA: 7\r\n\r\n",
     TV_OK},
    {"one header too many",
     "GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nA: 2\r\nA: 3\r\nA: 4\r\nA: 5\r\nA: 6\r\nA: 7\r\n"
     "A: 8\r\n\r\n",
     TV_ERR_HEADERS_TOO_LARGE},
};

TEST(heads_are_judged_alike_however_they_arrive)
{
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        tv_slice text = tv_slice_of(verdicts[i].text);

        t_row = verdicts[i].what;
        for (size_t step = 1; step <= text.len; step++) {
            tv_arena arena;
            tv_head head;
            size_t end;

            tv_arena_init(&arena);
            CHECK_ERR(read_head(&arena, text, step, &head, &end), verdicts[i].err);
            if (verdicts[i].err == TV_OK)
                CHECK_INT(end, text.len);
            tv_arena_done(&arena);
        }
    }
}

TEST(a_nul_is_refused_everywhere_in_a_head)
{
    /* The second empty line ends the head where the NUL has spoilt the first. */
    static const char text[] =
        "GET /a?b HTTP/1.1\r\nHost: h\r\nX-Header: 0123456789\r\n\r\n\r\n\r\n";

    t_row = "";
    for (size_t at = 0; at < sizeof text - 1 - 6; at++) {
        char copy[sizeof text];
        tv_arena arena;
        tv_head head;
        size_t end;

        memcpy(copy, text, sizeof text);
        copy[at] = '\0';
        tv_arena_init(&arena);
        tv_err err = read_head(&arena, (tv_slice){copy, sizeof text - 1}, sizeof text, &head, &end);
        if (err != TV_ERR_BAD_REQUEST)
            CHECK_FAIL("NUL at %zu: %s", at, tv_err_name(err));
        tv_arena_done(&arena);
    }
}

TEST(a_head_may_be_as_large_as_the_limit_and_no_larger)
{
    for (size_t extra = 0; extra < 2; extra++) {
        tv_buf text = TV_BUF_EMPTY;
        tv_head_scan scan = {0};
        size_t end;

        tv_buf_add_lit(&text, "GET / HTTP/1.1\r\nX: ");
        while (text.len < HEAD_MAX - 4 + extra)
            tv_buf_add_char(&text, 'x');
        tv_buf_add_lit(&text, "\r\n\r\n");
        CHECK_ERR(tv_head_scan_run(&scan, tv_buf_slice(&text), HEAD_MAX, COUNT_MAX, &end),
                  extra ? TV_ERR_HEADERS_TOO_LARGE : TV_OK);

        /* Without an end in sight it is refused too. */
        scan = (tv_head_scan){0};
        text.len = HEAD_MAX + 1;
        memset(text.data, 'x', text.size < text.len ? text.size : text.len);
        CHECK_ERR(tv_head_scan_run(&scan, (tv_slice){text.data, HEAD_MAX + extra}, HEAD_MAX,
                                   COUNT_MAX, &end),
                  extra ? TV_ERR_HEADERS_TOO_LARGE : TV_OK);
        tv_buf_done(&text);
    }
}

static const struct {
    const char *what, *line, *path, *query, *host; /* query NULL: none */
} targets[] = {
    {"a path", "GET /a/b", "/a/b", NULL, "h:1"},
    {"a query", "GET /a?b=c?d", "/a", "b=c?d", "h:1"},
    {"an empty query", "GET /a?", "/a", "", "h:1"},
    {"escapes stay", "GET /a%2fb('%20')?%3f", "/a%2fb('%20')", "%3f", "h:1"},
    {"a double slash", "GET //a", "//a", NULL, "h:1"},
    {"UTF-8", "GET /\xc3\xa4", "/\xc3\xa4", NULL, "h:1"},
    {"an absolute target", "GET http://other:8/a?b", "/a", "b", "other:8"},
    {"an absolute target in capitals", "GET HTTPS://Other/a", "/a", NULL, "Other"},
    {"an absolute target without path", "GET http://other", "/", NULL, "other"},
    {"an absolute target with only a query", "GET http://other?a/b", "/", "a/b", "other"},
    {"an IPv6 address", "GET http://[::1]:8/", "/", NULL, "[::1]:8"},
};

TEST(a_target_is_split_into_path_query_and_host)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        tv_arena arena;
        tv_head head;
        size_t end;

        t_row = targets[i].what;
        tv_arena_init(&arena);
        tv_slice text =
            tv_arena_printf(&arena, "%s HTTP/1.1\r\nHost: h:1\r\n\r\n", targets[i].line);

        CHECK_OK(read_head(&arena, text, text.len, &head, &end));
        CHECK_TEXT(head.path, targets[i].path);
        CHECK_INT(head.query.data != NULL, targets[i].query != NULL);
        CHECK_TEXT(head.query, targets[i].query ? targets[i].query : "");
        CHECK_TEXT(head.host, targets[i].host);
        tv_arena_done(&arena);
    }
}

static const struct {
    const char *what, *version, *headers;
    bool keep_alive, expect_continue, is_chunked;
    int length; /* -1: none */
} framings[] = {
    {"1.1 keeps", "HTTP/1.1", "", true, false, false, -1},
    {"1.1 closes on demand", "HTTP/1.1", "Connection: close\r\n", false, false, false, -1},
    {"a list of options", "HTTP/1.1", "connection: TE ,\tCLOSE\r\n", false, false, false, -1},
    {"close wins", "HTTP/1.1", "Connection: close, keep-alive\r\n", false, false, false, -1},
    {"two Connection headers", "HTTP/1.1", "Connection: x\r\nConnection: close\r\n", false, false,
     false, -1},
    {"1.0 closes", "HTTP/1.0", "", false, false, false, -1},
    {"1.0 keeps on demand", "HTTP/1.0", "Connection: Keep-Alive\r\n", true, false, false, -1},
    {"a length", "HTTP/1.1", "Content-Length: 0012\r\n", true, false, false, 12},
    {"the length zero", "HTTP/1.1", "Content-Length: 0\r\n", true, false, false, 0},
    {"chunks", "HTTP/1.1", "Transfer-Encoding: chunked\r\n", true, false, true, -1},
    {"an expectation", "HTTP/1.1", "Expect: 100-Continue\r\nContent-Length: 1\r\n", true, true,
     false, 1},
    {"1.0 expects nothing", "HTTP/1.0", "Expect: 100-continue\r\n", false, false, false, -1},
};

TEST(headers_about_connection_and_body_are_heeded)
{
    for (size_t i = 0; i < sizeof framings / sizeof *framings; i++) {
        tv_arena arena;
        tv_head head;
        size_t end;

        t_row = framings[i].what;
        tv_arena_init(&arena);
        tv_slice text = tv_arena_printf(&arena, "PUT / %s\r\nHost: h\r\n%s\r\n",
                                        framings[i].version, framings[i].headers);

        CHECK_OK(read_head(&arena, text, text.len, &head, &end));
        CHECK_INT(head.keep_alive, framings[i].keep_alive);
        CHECK_INT(head.expect_continue, framings[i].expect_continue);
        CHECK_INT(head.is_chunked, framings[i].is_chunked);
        CHECK_INT(head.has_length ? (int)head.content_length : -1, framings[i].length);
        tv_arena_done(&arena);
    }
}

TEST(headers_are_found_in_any_case_and_trimmed)
{
    tv_arena arena;
    tv_head head;
    size_t end;

    tv_arena_init(&arena);
    CHECK_OK(read_head(&arena,
                       TV_LIT("GET / HTTP/1.1\r\nhost:h\r\nX-A:  one \t\r\nx-a:two\r\n\r\nrest"), 7,
                       &head, &end));

    tv_request req = {.headers = head.headers, .header_count = head.header_count};

    CHECK_INT(head.header_count, 3);
    CHECK_TEXT(head.headers[1].name, "X-A");
    CHECK_TEXT(tv_request_header(&req, TV_LIT("x-A")), "one");
    CHECK_INT(tv_request_header_repeats(&req, TV_LIT("X-a")), 2);
    CHECK(tv_request_header(&req, TV_LIT("X")).data == NULL);
    tv_arena_done(&arena);
}

TEST(an_index_of_headers_finds_the_same_as_a_look_at_each)
{
    static const char *const names[] = {"x",         "te",           "Host",
                                        "Accept",    "Prefer",       "if-match",
                                        "x-ms-date", "X-MS-VERSION", "x-ms-client-request-id",
                                        "_",         "~`|^",         "x-ms-client-Xequest-id"};
    enum { COUNT = sizeof names / sizeof *names };
    tv_header headers[2 * COUNT];
    tv_request req = {.headers = headers};

    for (size_t i = 0; i < 2 * COUNT; i++)
        headers[i] = (tv_header){tv_slice_of(names[i % COUNT]), tv_slice_of(i < COUNT ? "1" : "2")};
    req.header_count = 2 * COUNT;
    tv_arena_init(&req.arena);
    tv_request_index_headers(&req);
    for (size_t i = 0; i < COUNT; i++) {
        char upper[32];
        size_t len = strlen(names[i]);

        t_row = names[i];
        for (size_t j = 0; j <= len; j++)
            upper[j] = names[i][j] >= 'a' && names[i][j] <= 'z' ? names[i][j] - 32 : names[i][j];
        CHECK_TEXT(tv_request_header(&req, tv_slice_of(upper)), "1");
        CHECK_INT(tv_request_header_repeats(&req, tv_slice_of(upper)), 2);
        upper[len - 1] = '.';
        CHECK(tv_request_header(&req, tv_slice_of(upper)).data == NULL);
    }
    tv_arena_done(&req.arena);
}

/* It looks at eight bytes at a time, so each byte has to be tried at each place. */
TEST(a_control_character_in_a_field_value_is_found_wherever_it_stands)
{
    for (size_t len = 1; len <= 20; len++) {
        for (size_t at = 0; at < len; at++) {
            for (int c = 0; c < 256; c++) {
                char text[20];
                bool is_fit = (c >= 0x20 && c != 0x7f) || c == '\t';

                memset(text, c & 1 ? 'x' : 0x80, len);
                text[at] = (char)c;
                if (tv_http_is_field_value((tv_slice){text, len}) != is_fit)
                    CHECK_FAIL("byte %d at %zu of %zu", c, at, len);
            }
        }
    }
    CHECK(tv_http_is_field_value(TV_LIT("")));
}

TEST(methods_have_names)
{
    for (int i = TV_METHOD_GET; i < TV_METHOD_OTHER; i++)
        CHECK_INT(tv_method_parse(tv_method_text((tv_method)i)), i);
    CHECK_INT(tv_method_parse(TV_LIT("get")), TV_METHOD_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_judged_alike_however_they_arrive),
        cmocka_unit_test(a_nul_is_refused_everywhere_in_a_head),
        cmocka_unit_test(a_head_may_be_as_large_as_the_limit_and_no_larger),
        cmocka_unit_test(a_target_is_split_into_path_query_and_host),
        cmocka_unit_test(headers_about_connection_and_body_are_heeded),
        cmocka_unit_test(headers_are_found_in_any_case_and_trimmed),
        cmocka_unit_test(an_index_of_headers_finds_the_same_as_a_look_at_each),
        cmocka_unit_test(a_control_character_in_a_field_value_is_found_wherever_it_stands),
        cmocka_unit_test(methods_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
