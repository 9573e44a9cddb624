/* Metadata: what a request may bring, and that it comes back as it was. */
#include "services/service/metadata.h"

#include "check.h"
#include "requests.h"

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

static tv_err read_headers(const char *headers, tv_metadata *ret_metadata)
{
    tv_request *req = tv_arena_zalloc(&arena, sizeof *req);

    *req = request_new(&arena, "PUT", "thing", headers);
    tv_arena_init(&req->arena);

    tv_err err = tv_metadata_read(req, ret_metadata);

    if (err == TV_OK) {
        /* The request goes; what a test looks at must not. */
        tv_slice text = tv_metadata_format(&arena, *ret_metadata);
        CHECK_OK(tv_metadata_parse(&arena, text, ret_metadata));
    }
    tv_arena_done(&req->arena);
    return err;
}

TEST(headers_become_pairs)
{
    static const struct {
        const char *headers, *lines;
    } rows[] = {
        {"", ""},
        {"x-ms-version: 2020-01-01\nhost: x\n", ""},
        {"x-ms-meta-a: 1\n", "a:1\n"},
        {"X-MS-Meta-CamelCase: some value \nx-ms-meta-_2: \n", "CamelCase:some value\n_2:\n"},
        {"x-ms-meta-a: b:c:d\nx-ms-metab: no\n", "a:b:c:d\n"},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_metadata metadata;

        t_row = rows[i].headers;
        CHECK_OK(read_headers(rows[i].headers, &metadata));
        CHECK_TEXT(tv_metadata_format(&arena, metadata), rows[i].lines);
    }
}

TEST(what_cannot_be_metadata_is_refused)
{
    static const struct {
        const char *headers;
        tv_err err;
    } rows[] = {
        {"x-ms-meta-: empty\n", TV_ERR_EMPTY_METADATA_KEY},
        {"x-ms-meta-1a: digit first\n", TV_ERR_INVALID_METADATA},
        {"x-ms-meta-a-b: dash\n", TV_ERR_INVALID_METADATA},
        {"x-ms-meta-a: \xC3\xA4\n", TV_ERR_INVALID_METADATA},
        {"x-ms-meta-a: 1\nx-ms-meta-A: 2\n", TV_ERR_INVALID_METADATA},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_metadata metadata;

        t_row = rows[i].headers;
        CHECK_ERR(read_headers(rows[i].headers, &metadata), rows[i].err);
    }
}

TEST(all_of_it_has_a_limit)
{
    char *headers = tv_arena_bytes(&arena, TV_METADATA_BYTES_MAX + 100);
    int len = snprintf(headers, 100, "x-ms-meta-name: ");
    tv_metadata metadata;

    memset(headers + len, 'v', TV_METADATA_BYTES_MAX);
    memcpy(headers + len + TV_METADATA_BYTES_MAX - 4, "\n", 2);
    CHECK_OK(read_headers(headers, &metadata));
    memcpy(headers + len + TV_METADATA_BYTES_MAX - 4, "v\n", 3);
    CHECK_ERR(read_headers(headers, &metadata), TV_ERR_METADATA_TOO_LARGE);
}

TEST(equal_is_by_name_in_any_case_and_by_value)
{
    static const struct {
        const char *a, *b;
        bool is_equal;
    } rows[] = {
        {"", "", true},
        {"x-ms-meta-a: 1\n", "x-ms-meta-A: 1\n", true},
        {"x-ms-meta-a: 1\nx-ms-meta-b: 2\n", "x-ms-meta-b: 2\nx-ms-meta-a: 1\n", true},
        {"x-ms-meta-a: x\n", "x-ms-meta-a: X\n", false},
        {"x-ms-meta-a: 1\n", "", false},
        {"", "x-ms-meta-a: 1\n", false},
        {"x-ms-meta-a: 1\n", "x-ms-meta-a: 1\nx-ms-meta-b: 2\n", false},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_metadata a, b;

        t_row = rows[i].a;
        CHECK_OK(read_headers(rows[i].a, &a));
        CHECK_OK(read_headers(rows[i].b, &b));
        CHECK(tv_metadata_eq(a, b) == rows[i].is_equal);
    }
}

TEST(xml_is_escaped)
{
    tv_metadata metadata;
    tv_buf buf = TV_BUF_EMPTY;

    CHECK_OK(read_headers("x-ms-meta-Name: a<b&c\nx-ms-meta-empty:\n", &metadata));
    tv_metadata_add_xml(&buf, metadata);
    CHECK_TEXT(tv_buf_slice(&buf), "<Metadata><Name>a&lt;b&amp;c</Name><empty></empty></Metadata>");
    buf.len = 0;
    tv_metadata_add_xml(&buf, (tv_metadata){NULL, 0});
    CHECK_TEXT(tv_buf_slice(&buf), "<Metadata />");
    tv_buf_done(&buf);
}

TEST(rows_that_are_none_are_corrupt)
{
    static const char *const rows[] = {"a", "a:1", "a\n", "a:1\nb"};

    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_metadata metadata;

        t_row = rows[i];
        CHECK_ERR(tv_metadata_parse(&arena, tv_slice_of(rows[i]), &metadata), TV_ERR_CORRUPT);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(headers_become_pairs),  CASE(what_cannot_be_metadata_is_refused),
        CASE(all_of_it_has_a_limit), CASE(equal_is_by_name_in_any_case_and_by_value),
        CASE(xml_is_escaped),        CASE(rows_that_are_none_are_corrupt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
