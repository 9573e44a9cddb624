/* The two strings to sign, byte for byte. */
#include "model/auth/canonical.h"

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define DATE "Fri, 02 Jan 2026 03:04:05 GMT"
#define LIT(text)                                                                                  \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const struct {
    const char *what;
    tv_signed_parts parts;
    const char *full, *lite;
} rows[] = {
    {"host style",
     {.account = LIT("acct"), .method = LIT("GET"), .path = LIT("/Tables"), .date = LIT(DATE)},
     "GET\n\n\n" DATE "\n/acct/Tables",
     DATE "\n/acct/Tables"},
    {"path style names the account twice",
     {.account = LIT("acct"), .method = LIT("GET"), .path = LIT("/acct/Tables"), .date = LIT(DATE)},
     "GET\n\n\n" DATE "\n/acct/acct/Tables",
     DATE "\n/acct/acct/Tables"},
    {"every header",
     {.account = LIT("acct"),
      .method = LIT("POST"),
      .path = LIT("/people"),
      .content_md5 = LIT("Q2hlY2s="),
      .content_type = LIT("application/json"),
      .date = LIT(DATE)},
     "POST\nQ2hlY2s=\napplication/json\n" DATE "\n/acct/people",
     DATE "\n/acct/people"},
    {"an empty path is the root",
     {.account = LIT("acct"), .method = LIT("GET"), .path = LIT(""), .date = LIT(DATE)},
     "GET\n\n\n" DATE "\n/acct/",
     DATE "\n/acct/"},
    {"the root",
     {.account = LIT("acct"), .method = LIT("GET"), .path = LIT("/"), .date = LIT(DATE)},
     "GET\n\n\n" DATE "\n/acct/",
     DATE "\n/acct/"},
    {"comp is the one parameter that is signed",
     {.account = LIT("acct"),
      .method = LIT("PUT"),
      .path = LIT("/people"),
      .comp = LIT("acl"),
      .date = LIT(DATE)},
     "PUT\n\n\n" DATE "\n/acct/people?comp=acl",
     DATE "\n/acct/people?comp=acl"},
    {"an empty comp is there",
     {.account = LIT("acct"),
      .method = LIT("GET"),
      .path = LIT("/"),
      .comp = LIT(""),
      .date = LIT(DATE)},
     "GET\n\n\n" DATE "\n/acct/?comp=",
     DATE "\n/acct/?comp="},
    {"a path stays encoded",
     {.account = LIT("acct"),
      .method = LIT("DELETE"),
      .path = LIT("/t(PartitionKey=%27a%20b%27,RowKey='')"),
      .date = LIT(DATE)},
     "DELETE\n\n\n" DATE "\n/acct/t(PartitionKey=%27a%20b%27,RowKey='')",
     DATE "\n/acct/t(PartitionKey=%27a%20b%27,RowKey='')"},
    {"no date", {.account = LIT("a"), .method = LIT("GET")}, "GET\n\n\n\n/a/", "\n/a/"},
};

TEST(both_strings_are_exact)
{
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t i = 0; i < COUNT(rows); i++) {
        t_row = rows[i].what;
        CHECK_TEXT(tv_canonical_shared_key(&arena, &rows[i].parts), rows[i].full);
        CHECK_TEXT(tv_canonical_shared_key_lite(&arena, &rows[i].parts), rows[i].lite);
    }
    tv_arena_done(&arena);
}

/* The room is computed in one place and filled in another: sizes around a chunk show a difference.
 */
TEST(long_parts_fit)
{
    static char path[70000];
    tv_arena arena;

    memset(path, 'p', sizeof path);
    path[0] = '/';
    for (size_t len = 1; len < sizeof path; len += 997) {
        tv_signed_parts parts = {.account = TV_LIT("acct"),
                                 .method = TV_LIT("GET"),
                                 .path = {path, len},
                                 .comp = {path, len},
                                 .date = TV_LIT(DATE)};

        tv_arena_init(&arena);
        CHECK_INT(tv_canonical_shared_key_lite(&arena, &parts).len,
                  strlen(DATE "\n/acct?comp=") + 2 * len);
        CHECK_INT(tv_canonical_shared_key(&arena, &parts).len,
                  strlen("GET\n\n\n" DATE "\n/acct?comp=") + 2 * len);
        tv_arena_done(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_strings_are_exact),
        cmocka_unit_test(long_parts_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
