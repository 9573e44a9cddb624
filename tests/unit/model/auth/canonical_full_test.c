/* The strings to sign of queues and blobs, byte for byte. */
#include "model/auth/canonical.h"

#include "base/buf.h"
#include "check.h"
#include "parameters.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define DATE "Fri, 26 Jun 2015 23:39:12 GMT"

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

enum { HEADERS_MAX = 300 };

/* A request from its parts; headers are lines of "name:value". */
static bool read(const char *method, const char *target, const char *lines,
                 tv_canonical *ret_canonical)
{
    tv_signed_parts *parts = tv_arena_zalloc(&arena, sizeof *parts);
    tv_header *headers = tv_arena_alloc(&arena, HEADERS_MAX * sizeof *headers);
    tv_slice whole = tv_slice_of(target), rest = tv_slice_of(lines), line;
    size_t mark = tv_slice_find(whole, '?'), count = 0;

    while (tv_slice_next(&rest, '\n', &line) && line.len) {
        size_t colon = tv_slice_find(line, ':');

        CHECK(count < HEADERS_MAX);
        headers[count++] = (tv_header){tv_slice_take(line, colon), tv_slice_skip(line, colon + 1)};
    }
    *parts = (tv_signed_parts){
        .service = TV_SERVICE_BLOB,
        .account = TV_LIT("acct"),
        .method = tv_slice_of(method),
        .path = tv_slice_take(whole, mark),
        .headers = headers,
        .header_count = count,
        .query = query_of(&arena, mark < whole.len ? tv_slice_skip(whole, mark + 1) : TV_NONE),
    };
    return tv_canonical_read(&arena, parts, ret_canonical);
}

/* --- the text --- */

static const struct {
    const char *what, *method, *target, *headers, *full, *lite;
} rows[] = {
    /* The examples of the documentation, with another account. */
    {"container metadata", "GET", "/mycontainer?comp=metadata&restype=container&timeout=20",
     "x-ms-date:" DATE "\nx-ms-version:2015-02-21",
     "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:" DATE "\nx-ms-version:2015-02-21\n"
     "/acct/mycontainer\ncomp:metadata\nrestype:container\ntimeout:20",
     "GET\n\n\n\nx-ms-date:" DATE "\nx-ms-version:2015-02-21\n/acct/mycontainer?comp=metadata"},
    {"list blobs", "GET",
     "/mycontainer?restype=container&comp=list&include=snapshots&include=metadata"
     "&include=uncommittedblobs",
     "",
     "GET\n\n\n\n\n\n\n\n\n\n\n\n/acct/mycontainer\ncomp:list\n"
     "include:metadata,snapshots,uncommittedblobs\nrestype:container",
     "GET\n\n\n\n/acct/mycontainer?comp=list"},
    {"put a blob, lite", "PUT", "/mycontainer/hello.txt",
     "Content-Type:text/plain; charset=UTF-8\nx-ms-date:" DATE
     "\nx-ms-meta-m2:v2\nx-ms-meta-m1:v1\nContent-Length:11",
     "PUT\n\n\n11\n\ntext/plain; charset=UTF-8\n\n\n\n\n\n\nx-ms-date:" DATE
     "\nx-ms-meta-m1:v1\nx-ms-meta-m2:v2\n/acct/mycontainer/hello.txt",
     "PUT\n\ntext/plain; charset=UTF-8\n\nx-ms-date:" DATE
     "\nx-ms-meta-m1:v1\nx-ms-meta-m2:v2\n/acct/mycontainer/hello.txt"},
    /* Headers. */
    {"each header has its line", "PUT", "/",
     "Range:11\nIf-Unmodified-Since:10\nIf-None-Match:9\nIf-Match:8\nIf-Modified-Since:7\nDate:6\n"
     "Content-Type:5\nContent-MD5:4\nContent-Length:3\nContent-Language:2\nContent-Encoding:1",
     "PUT\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n/acct/", "PUT\n4\n5\n6\n/acct/"},
    {"names in any case", "PUT", "/", "CONTENT-TYPE:a\nX-MS-Meta-B:x\nx-Ms-mETa-a:y",
     "PUT\n\n\n\n\na\n\n\n\n\n\n\nx-ms-meta-a:y\nx-ms-meta-b:x\n/acct/",
     "PUT\n\na\n\nx-ms-meta-a:y\nx-ms-meta-b:x\n/acct/"},
    {"Date is empty with x-ms-date", "GET", "/", "Date:a\nx-ms-date:b",
     "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:b\n/acct/", "GET\n\n\n\nx-ms-date:b\n/acct/"},
    {"but not with an empty one", "GET", "/", "Date:a\nx-ms-date:",
     "GET\n\n\n\n\n\na\n\n\n\n\n\nx-ms-date:\n/acct/", "GET\n\n\na\nx-ms-date:\n/acct/"},
    {"the first of a standard header counts", "GET", "/", "Range:a\nRange:b",
     "GET\n\n\n\n\n\n\n\n\n\n\na\n/acct/", "GET\n\n\n\n/acct/"},
    {"repeated headers keep their order", "GET", "/", "x-ms-b:2\nx-ms-a:z\nX-Ms-B:1\nx-ms-b:3",
     "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-a:z\nx-ms-b:2,1,3\n/acct/",
     "GET\n\n\n\nx-ms-a:z\nx-ms-b:2,1,3\n/acct/"},
    {"other headers are not signed", "GET", "/", "x-msa:1\nxx-ms-a:1\nx-ms:1\nAccept:1",
     "GET\n\n\n\n\n\n\n\n\n\n\n\n/acct/", "GET\n\n\n\n/acct/"},
    /* Versions. */
    {"no length of nothing", "PUT", "/", "Content-Length:0\nx-ms-version:2015-02-21",
     "PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-version:2015-02-21\n/acct/",
     "PUT\n\n\n\nx-ms-version:2015-02-21\n/acct/"},
    {"but before it was", "PUT", "/", "Content-Length:0\nx-ms-version:2014-02-14",
     "PUT\n\n\n0\n\n\n\n\n\n\n\n\nx-ms-version:2014-02-14\n/acct/",
     "PUT\n\n\n\nx-ms-version:2014-02-14\n/acct/"},
    {"without a version the newest rules", "PUT", "/", "Content-Length:0\nx-ms-a:",
     "PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-a:\n/acct/", "PUT\n\n\n\nx-ms-a:\n/acct/"},
    {"nor with an invalid one", "PUT", "/", "Content-Length:0\nx-ms-version:1",
     "PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-version:1\n/acct/", "PUT\n\n\n\nx-ms-version:1\n/acct/"},
    {"empty headers are signed", "PUT", "/", "x-ms-a:\nx-ms-b:\nx-ms-version:2016-05-31",
     "PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-a:\nx-ms-b:\nx-ms-version:2016-05-31\n/acct/",
     "PUT\n\n\n\nx-ms-a:\nx-ms-b:\nx-ms-version:2016-05-31\n/acct/"},
    {"but before they were not", "PUT", "/", "x-ms-a:\nx-ms-b:\nx-ms-version:2016-05-30",
     "PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-version:2016-05-30\n/acct/",
     "PUT\n\n\n\nx-ms-version:2016-05-30\n/acct/"},
    /* Resources. */
    {"no path is the root", "GET", "", "", "GET\n\n\n\n\n\n\n\n\n\n\n\n/acct/",
     "GET\n\n\n\n/acct/"},
    {"a path stays encoded", "GET", "/acct/c/a%20b+c%2F", "",
     "GET\n\n\n\n\n\n\n\n\n\n\n\n/acct/acct/c/a%20b+c%2F", "GET\n\n\n\n/acct/acct/c/a%20b+c%2F"},
    {"parameters do not", "GET", "/?b=%20x+y%2C&A=%C3%A9&c", "",
     "GET\n\n\n\n\n\n\n\n\n\n\n\n/acct/\na:\xC3\xA9\nb: x y,\nc:", "GET\n\n\n\n/acct/"},
    {"empty ones are nothing", "GET", "/?&&a=1&", "", "GET\n\n\n\n\n\n\n\n\n\n\n\n/acct/\na:1",
     "GET\n\n\n\n/acct/"},
    {"names are sorted after decoding", "GET", "/?b=1&%61=2", "",
     "GET\n\n\n\n\n\n\n\n\n\n\n\n/acct/\na:2\nb:1", "GET\n\n\n\n/acct/"},
    {"values of one name are sorted", "GET", "/?a=2&A=1&a=10", "",
     "GET\n\n\n\n\n\n\n\n\n\n\n\n/acct/\na:1,10,2", "GET\n\n\n\n/acct/"},
    {"lite has the first comp", "GET", "/?comp=b&x=1&comp=a", "",
     "GET\n\n\n\n\n\n\n\n\n\n\n\n/acct/\ncomp:a,b\nx:1", "GET\n\n\n\n/acct/?comp=b"},
    {"a line in a value", "GET", "/?prefix=a%0Ab", "",
     "GET\n\n\n\n\n\n\n\n\n\n\n\n/acct/\nprefix:a\nb", "GET\n\n\n\n/acct/"},
};

TEST(both_strings_are_exact)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        tv_canonical canonical;

        t_row = rows[i].what;
        CHECK(read(rows[i].method, rows[i].target, rows[i].headers, &canonical));
        for (unsigned reading = 0; reading < TV_CANONICAL_READINGS; reading++) {
            CHECK_TEXT(tv_canonical_text(&arena, &canonical, false, reading), rows[i].full);
            CHECK_TEXT(tv_canonical_text(&arena, &canonical, true, reading), rows[i].lite);
        }
    }
}

/* --- what is read in several ways --- */

/* By bytes, without dashes, dashes first; each as sent and folded. */
static const struct {
    const char *what, *headers, *texts[TV_CANONICAL_READINGS];
} disputed[] = {
    {"an underscore before digits",
     "x-ms-a1:\nx-ms-a_:\nx-ms-aa:",
     {"x-ms-a1:\nx-ms-a_:\nx-ms-aa:\n", "x-ms-a1:\nx-ms-a_:\nx-ms-aa:\n",
      "x-ms-a_:\nx-ms-a1:\nx-ms-aa:\n", "x-ms-a_:\nx-ms-a1:\nx-ms-aa:\n",
      "x-ms-a_:\nx-ms-a1:\nx-ms-aa:\n", "x-ms-a_:\nx-ms-a1:\nx-ms-aa:\n"}},
    {"a dash that weighs nothing",
     "x-ms-a-z:\nx-ms-ab:",
     {"x-ms-a-z:\nx-ms-ab:\n", "x-ms-a-z:\nx-ms-ab:\n", "x-ms-ab:\nx-ms-a-z:\n",
      "x-ms-ab:\nx-ms-a-z:\n", "x-ms-a-z:\nx-ms-ab:\n", "x-ms-a-z:\nx-ms-ab:\n"}},
    {"a dash that decides at last",
     "x-ms-a-b:\nx-ms-ab:",
     {"x-ms-a-b:\nx-ms-ab:\n", "x-ms-a-b:\nx-ms-ab:\n", "x-ms-ab:\nx-ms-a-b:\n",
      "x-ms-ab:\nx-ms-a-b:\n", "x-ms-a-b:\nx-ms-ab:\n", "x-ms-a-b:\nx-ms-ab:\n"}},
    {"a prefix comes first",
     "x-ms-ab:\nx-ms-a-:\nx-ms-a:",
     {"x-ms-a:\nx-ms-a-:\nx-ms-ab:\n", "x-ms-a:\nx-ms-a-:\nx-ms-ab:\n",
      "x-ms-a:\nx-ms-a-:\nx-ms-ab:\n", "x-ms-a:\nx-ms-a-:\nx-ms-ab:\n",
      "x-ms-a:\nx-ms-a-:\nx-ms-ab:\n", "x-ms-a:\nx-ms-a-:\nx-ms-ab:\n"}},
    {"blanks inside a value",
     "x-ms-a:1  2\t3 \t 4",
     {"x-ms-a:1  2\t3 \t 4\n", "x-ms-a:1 2 3 4\n", "x-ms-a:1  2\t3 \t 4\n", "x-ms-a:1 2 3 4\n",
      "x-ms-a:1  2\t3 \t 4\n", "x-ms-a:1 2 3 4\n"}},
    {"but not between quotes",
     "x-ms-a:1  \"2  3\"  4",
     {"x-ms-a:1  \"2  3\"  4\n", "x-ms-a:1 \"2  3\" 4\n", "x-ms-a:1  \"2  3\"  4\n",
      "x-ms-a:1 \"2  3\" 4\n", "x-ms-a:1  \"2  3\"  4\n", "x-ms-a:1 \"2  3\" 4\n"}},
};

TEST(headers_are_read_in_six_ways)
{
    for (size_t i = 0; i < COUNT(disputed); i++) {
        tv_canonical canonical;

        t_row = disputed[i].what;
        CHECK(read("GET", "/", disputed[i].headers, &canonical));
        for (unsigned reading = 0; reading < TV_CANONICAL_READINGS; reading++) {
            tv_slice want =
                tv_arena_printf(&arena, "GET\n\n\n\n%s/acct/", disputed[i].texts[reading]);

            CHECK_SLICE(tv_canonical_text(&arena, &canonical, true, reading), want);
        }
    }
}

/* --- what nobody can have signed --- */

static const struct {
    const char *what, *query;
    bool is_good;
} queries[] = {
    {"half an escape", "?a=%2", false},
    {"a name with half an escape", "?%2=a", false},
    {"no UTF-8", "?a=%ff", false},
    {"a colon in a name", "?a%3Ab=c", false},
    {"a line in a name", "?a%0Ab=c", false},
    {"a line that looks like a parameter", "?a=1%0Ab:2", false},
    {"a colon on any later line", "?a=1%0Ab%0Ac:2", false},
    {"a colon on the first line", "?a=1:2%0Ab", true},
    {"a colon", "?snapshot=2026-01-01T00:00:00.0000000Z", true},
    {"a carriage return", "?a=%0D", true},
};

TEST(a_query_can_be_read_in_one_way_only)
{
    for (size_t i = 0; i < COUNT(queries); i++) {
        tv_canonical canonical;

        t_row = queries[i].what;
        CHECK_INT(
            read("GET", tv_arena_printf(&arena, "/%s%c", queries[i].query, 0).data, "", &canonical),
            queries[i].is_good);
    }
}

/* The room is computed in one place and filled in another. */
TEST(many_and_long_parts_fit)
{
    tv_buf headers = TV_BUF_EMPTY, target = TV_BUF_EMPTY;
    tv_canonical canonical;
    tv_slice text;

    tv_buf_add_lit(&target, "/path?comp=x");
    for (int i = 0; i < 250; i++) {
        tv_slice header = tv_arena_printf(&arena, "x-ms-meta-%d_%d:value %d\n", i * 7 % 250, i, i);

        tv_buf_add(&headers, header);
        tv_buf_add(&target, tv_arena_printf(&arena, "&name%d=%%20value", i * 7 % 250));
    }
    tv_buf_add(&headers, TV_LIT("\0"));
    tv_buf_add(&target, TV_LIT("\0"));
    CHECK(read("GET", tv_buf_slice(&target).data, tv_buf_slice(&headers).data, &canonical));
    for (unsigned reading = 0; reading < TV_CANONICAL_READINGS; reading++) {
        text = tv_canonical_text(&arena, &canonical, false, reading);
        CHECK(text.len + 32 > canonical.len_max && text.len <= canonical.len_max);
        text = tv_canonical_text(&arena, &canonical, true, reading);
        CHECK(text.len <= canonical.len_max);
    }
    tv_buf_done(&headers);
    tv_buf_done(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_strings_are_exact),
        cmocka_unit_test(headers_are_read_in_six_ways),
        cmocka_unit_test(a_query_can_be_read_in_one_way_only),
        cmocka_unit_test(many_and_long_parts_fit),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
