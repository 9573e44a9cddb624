/* Multipart bodies and embedded requests, in the dialects of six clients. */
#include "wire/http/multipart.h"

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static tv_arena arena;

static int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&arena);
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_arena_done(&arena);
    return 0;
}

#define X10 "xxxxxxxxxx"
#define X100 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10

static const struct {
    const char *what, *type, *boundary; /* NULL: it has none */
} types[] = {
    {"plain", "multipart/mixed; boundary=batch_1", "batch_1"},
    {"quoted", "multipart/mixed; boundary=\"batch_1\"", "batch_1"},
    {"no blank", "multipart/mixed;boundary=b", "b"},
    {"blanks", " multipart/mixed ;\tboundary = b ", "b"},
    {"any case", "Multipart/MIXED; Boundary=B", "B"},
    {"after another parameter", "multipart/mixed; charset=\"utf-8\"; boundary=b", "b"},
    {"in front of another", "multipart/mixed; boundary=b; charset=utf-8", "b"},
    {"an equals sign inside", "multipart/mixed; boundary=a=b", "a=b"},
    {"200 characters", "multipart/mixed; boundary=" X100 X100, X100 X100},
    {"201 characters", "multipart/mixed; boundary=" X100 X100 "x", NULL},
    {"empty", "multipart/mixed; boundary=", NULL},
    {"empty in quotes", "multipart/mixed; boundary=\"\"", NULL},
    {"none", "multipart/mixed", NULL},
    {"another parameter alone", "multipart/mixed; charset=utf-8", NULL},
    {"another type", "multipart/form-data; boundary=b", NULL},
    {"an embedded request", "application/http", NULL},
    {"nothing", "", NULL},
};

TEST(the_boundary_is_a_parameter_of_multipart_mixed)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        tv_slice boundary;

        t_row = types[i].what;
        CHECK_INT(tv_multipart_boundary(tv_slice_of(types[i].type), &boundary),
                  types[i].boundary != NULL);
        if (types[i].boundary)
            CHECK_TEXT(boundary, types[i].boundary);
    }
}

TEST(no_content_type_has_no_boundary)
{
    tv_slice boundary;

    CHECK(!tv_multipart_boundary(TV_NONE, &boundary));
}

static const struct {
    const char *what, *body;
    bool is_closed;
    const char *parts; /* each in brackets */
} bodies[] = {
    {"CR LF", "--b\r\none\r\n--b\r\ntwo\r\n--b--\r\n", true, "[one][two]"},
    {"LF", "--b\none\n--b\ntwo\n--b--\n", true, "[one][two]"},
    {"mixed", "--b\r\none\n--b\ntwo\r\n--b--", true, "[one][two]"},
    {"no line end at the end", "--b\none\n--b--", true, "[one]"},
    {"blanks after a delimiter", "--b \t\none\n--b-- \n", true, "[one]"},
    {"a preamble", "hello\n--x\n\n--b\none\n--b--\n", true, "[one]"},
    {"an epilogue", "--b\none\n--b--\n--b\ntwo\n--b--\n", true, "[one]"},
    {"an empty part", "--b\n\n--b--", true, "[]"},
    {"a part of nothing at all", "--b\n--b--", true, "[]"},
    {"only the last line end belongs to the delimiter", "--b\none\r\n\r\n--b--", true, "[one\r\n]"},
    {"no part", "--b--", true, ""},
    {"no delimiter", "one\ntwo\n", false, ""},
    {"nothing", "", false, ""},
    {"no closing delimiter", "--b\none\n--b\ntwo\n", false, "[one]"},
    {"half a closing delimiter", "--b\none\n--b-", false, ""},
    {"a delimiter for the closing one", "--b\none\n--b", false, "[one]"},
    {"a longer boundary is another", "--b\none\n--bb\ntwo\n--b--", true, "[one\n--bb\ntwo]"},
    {"a delimiter inside a line", "--b\none --b\n--b--", true, "[one --b]"},
    {"a blank in front of a delimiter", "--b\n --b\n--b--", true, "[ --b]"},
    {"one dash", "--b\n-b\n--b--", true, "[-b]"},
    {"three trailing dashes", "--b\none\n--b---\n--b--", true, "[one\n--b---]"},
    {"a NUL-less end in a lone CR", "--b\r\none\r\n--b--\r", true, "[one]"},
};

TEST(parts_lie_between_delimiter_lines)
{
    for (size_t i = 0; i < COUNT(bodies); i++) {
        size_t len = strlen(bodies[i].body);
        char *copy = memcpy(tv_malloc(len + 1), bodies[i].body, len);
        tv_buf got = TV_BUF_EMPTY;
        tv_multipart multipart;
        tv_slice part;

        t_row = bodies[i].what;
        tv_multipart_init(&multipart, (tv_slice){copy, len}, TV_LIT("b"));
        while (tv_multipart_next(&multipart, &part))
            tv_buf_printf(&got, "[%.*s]", TV_FMT(part));
        CHECK_INT(multipart.is_closed, bodies[i].is_closed);
        CHECK_TEXT(tv_buf_slice(&got), bodies[i].parts);
        /* The end stays the end. */
        CHECK(!tv_multipart_next(&multipart, &part));
        tv_buf_done(&got);
        free(copy);
    }
}

static const struct {
    const char *what, *text;
    bool ok;
    const char *headers, *rest; /* "name=value;" each */
} heads[] = {
    {"CR LF", "A: 1\r\nB: 2\r\n\r\nrest", true, "A=1;B=2;", "rest"},
    {"LF", "A: 1\nB: 2\n\nrest", true, "A=1;B=2;", "rest"},
    {"blanks", " A :\t1 \n\nrest", true, "A=1;", "rest"},
    {"a colon in a value", "Host: h:80\n\n", true, "Host=h:80;", ""},
    {"an empty value", "A:\n\nrest", true, "A=;", "rest"},
    {"none", "\r\nrest", true, "", "rest"},
    {"none at all", "", true, "", ""},
    {"no empty line", "A: 1\r\n", true, "A=1;", ""},
    {"only the first empty line ends them", "A: 1\n\n\nrest", true, "A=1;", "\nrest"},
    {"no colon", "A: 1\nB\n\nrest", false, "", ""},
};

TEST(header_lines_end_at_an_empty_line)
{
    for (size_t i = 0; i < COUNT(heads); i++) {
        tv_slice text = tv_slice_of(heads[i].text);
        const tv_header *headers;
        tv_buf got = TV_BUF_EMPTY;
        size_t count;

        t_row = heads[i].what;
        CHECK_INT(tv_multipart_headers(&arena, &text, &headers, &count), heads[i].ok);
        if (!heads[i].ok)
            continue;
        for (size_t j = 0; j < count; j++)
            tv_buf_printf(&got, "%.*s=%.*s;", TV_FMT(headers[j].name), TV_FMT(headers[j].value));
        CHECK_TEXT(tv_buf_slice(&got), heads[i].headers);
        CHECK_TEXT(text, heads[i].rest);
        tv_buf_done(&got);
    }
}

TEST(a_part_has_at_most_64_headers)
{
    tv_buf lines = TV_BUF_EMPTY;
    const tv_header *headers;
    size_t count;

    for (int i = 0; i < TV_MULTIPART_HEADERS_MAX; i++)
        tv_buf_add_lit(&lines, "A: 1\r\n");
    tv_slice text = tv_buf_slice(&lines);
    CHECK(tv_multipart_headers(&arena, &text, &headers, &count));
    CHECK_INT(count, TV_MULTIPART_HEADERS_MAX);

    tv_buf_add_lit(&lines, "A: 1\r\n");
    text = tv_buf_slice(&lines);
    CHECK(!tv_multipart_headers(&arena, &text, &headers, &count));
    tv_buf_done(&lines);
}

static const struct {
    const char *what, *text;
    bool ok;
    tv_method method;
    const char *host, *path, *query, *body; /* query NULL: none */
} requests[] = {
    {"an absolute target", "POST http://h:1/a/t HTTP/1.1\r\nA: 1\r\n\r\n{}", true, TV_METHOD_POST,
     "h:1", "/a/t", NULL, "{}"},
    {"TLS, in any case", "PUT HTTPS://h/a/t HTTP/1.1\r\n\r\n{}", true, TV_METHOD_PUT, "h", "/a/t",
     NULL, "{}"},
    {"an origin target keeps the host", "GET /a/t HTTP/1.1\n\n", true, TV_METHOD_GET, "outer",
     "/a/t", NULL, ""},
    {"a query", "GET http://h/a/t?$format=x?y HTTP/1.1\n\n", true, TV_METHOD_GET, "h", "/a/t",
     "$format=x?y", ""},
    {"an empty query", "GET /a/t? HTTP/1.1\n\n", true, TV_METHOD_GET, "outer", "/a/t", "", ""},
    {"no version", "DELETE /a/t\r\n\r\n", true, TV_METHOD_DELETE, "outer", "/a/t", NULL, ""},
    {"no headers and no end", "MERGE /a/t HTTP/1.1", true, TV_METHOD_MERGE, "outer", "/a/t", NULL,
     ""},
    {"an unknown method", "FOO /a/t HTTP/1.1\n\n", true, TV_METHOD_OTHER, "outer", "/a/t", NULL,
     ""},
    {"two empty lines before the body", "PATCH /a/t HTTP/1.1\r\nA: 1\r\n\r\n\r\n{}", true,
     TV_METHOD_PATCH, "outer", "/a/t", NULL, "{}"},
    {"more blanks", "POST   /a/t   HTTP/1.1\r\n\r\n{}", true, TV_METHOD_POST, "outer", "/a/t", NULL,
     "{}"},
    {"nothing", "", false, 0, "", "", NULL, ""},
    {"an empty line first", "\r\nGET /a/t HTTP/1.1\r\n\r\n", false, 0, "", "", NULL, ""},
    {"one word", "GET\r\n\r\n", false, 0, "", "", NULL, ""},
    {"a blank first", " GET /a/t\r\n\r\n", false, 0, "", "", NULL, ""},
    {"a method and a blank", "GET \r\n\r\n", false, 0, "", "", NULL, ""},
    {"a relative target", "GET a/t HTTP/1.1\r\n\r\n", false, 0, "", "", NULL, ""},
    {"a host without a path", "GET http://h HTTP/1.1\r\n\r\n", false, 0, "", "", NULL, ""},
    {"another scheme", "GET ftp://h/a HTTP/1.1\r\n\r\n", false, 0, "", "", NULL, ""},
    {"a header without a colon", "GET /a/t HTTP/1.1\r\nA\r\n\r\n", false, 0, "", "", NULL, ""},
};

TEST(an_embedded_request_has_an_absolute_or_an_origin_target)
{
    for (size_t i = 0; i < COUNT(requests); i++) {
        size_t len = strlen(requests[i].text);
        char *copy = memcpy(tv_malloc(len + 1), requests[i].text, len);
        tv_embedded_request request;

        t_row = requests[i].what;
        CHECK_INT(tv_multipart_request(&arena, (tv_slice){copy, len}, TV_LIT("outer"), &request),
                  requests[i].ok);
        if (requests[i].ok) {
            CHECK_INT(request.method, requests[i].method);
            CHECK_TEXT(request.host, requests[i].host);
            CHECK_TEXT(request.path, requests[i].path);
            CHECK_INT(request.query.text.data != NULL, requests[i].query != NULL);
            if (requests[i].query)
                CHECK_TEXT(request.query.text, requests[i].query);
            CHECK_TEXT(request.body, requests[i].body);
        }
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_boundary_is_a_parameter_of_multipart_mixed),
        cmocka_unit_test(no_content_type_has_no_boundary),
        cmocka_unit_test(parts_lie_between_delimiter_lines),
        cmocka_unit_test(header_lines_end_at_an_empty_line),
        cmocka_unit_test(a_part_has_at_most_64_headers),
        cmocka_unit_test(an_embedded_request_has_an_absolute_or_an_origin_target),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
