/*
 * SAS query strings and Authorization headers.  The first byte chooses:
 *
 *     's'    the rest is a query string, as it comes: it is never let in
 *     'h'    lines of Authorization, x-ms-date, Date and a query: never let in
 *     other  the rest is a query without a signature, to which the right one is
 *            added: it may be let in, and then not with any other signature,
 *            nor after the end of time
 *
 * What is let in touches keys only within the limits that it was signed with.
 */
#include "auth/identity.h"
#include "auth/sas.h"
#include "base/assert.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/uri.h"
#include "fuzz.h"
#include "table/access.h"

#define SECRET "a secret that no input has in it"

static tv_accounts accounts;
static int64_t now;

static tv_err find_policies(void *ctx, tv_slice account, tv_slice table, tv_arena *arena,
                            tv_access_policies *ret_policies)
{
    (void)ctx, (void)account, (void)arena;
    if (table.len == 0 || table.data[0] != 't')
        return TV_ERR_TABLE_NOT_FOUND;
    *ret_policies = (tv_access_policies){
        .list = {{.id = TV_LIT("p"),
                  .expiry = TV_LIT("2026-01-03T00:00:00.0000000Z"),
                  .permission = TV_LIT("ra")},
                 {.id = TV_LIT("q"), .start = TV_LIT("2026-01-01T00:00:00.0000000Z")}},
        .count = 2,
    };
    return TV_OK;
}

static void start(void)
{
    char key[64], text[100], problem[200];
    size_t len = (sizeof SECRET - 1 + 2) / 3 * 4;

    tv_base64_encode(key, TV_LIT(SECRET));
    tv_accounts_init(&accounts);
    snprintf(text, sizeof text, "acct:%.*s", (int)len, key);
    tv_assert(tv_accounts_add(&accounts, tv_slice_of(text), problem, sizeof problem));
    tv_assert(tv_datetime_parse(TV_LIT("2026-01-02T03:04:05Z"), &now));
}

static tv_err ask(tv_arena *arena, tv_slice query, const tv_slice *headers, int64_t when,
                  const tv_identity **ret_identity)
{
    static tv_auth_policy policy = {.accounts = &accounts, .find_policies = find_policies};
    tv_credentials credentials = {
        .parts = {.account = TV_LIT("acct"), .method = TV_LIT("GET"), .path = TV_LIT("/acct/t")},
        .authorization = headers[0],
        .x_ms_date = headers[1],
        .date = headers[2],
        .query = query,
        .host = TV_LIT("127.0.0.1"),
        .peer = "127.0.0.1:4000",
        .is_peer_loopback = true,
    };

    return tv_authenticate(&policy, &credentials, when, arena, ret_identity);
}

/* What is let in may not touch a key outside of its limits, by either of the two checks. */
static void check_limits(tv_arena *arena, const tv_identity *identity)
{
    static const char *const keys[] = {"", "a", "b", "\xF0\x90\x80\x80", "\xEE\x80\x80"};
    const tv_key_limits *limits = tv_identity_key_limits(identity);

    for (size_t i = 0; i < sizeof keys / sizeof *keys && limits; i++) {
        tv_slice key = tv_slice_of(keys[i]);
        bool is_inside = tv_access_check_key(identity, key, key) == TV_OK;

        if (limits->start_partition.data && tv_ordinal_compare(key, limits->start_partition) < 0)
            tv_assert(!is_inside);
        if (limits->end_partition.data && tv_ordinal_compare(key, limits->end_partition) > 0)
            tv_assert(!is_inside);
    }

    tv_key_range range = {TV_LIT("r"), TV_LIT("s"), TV_PLAN_TABLE};
    tv_plan plan = {.ranges = &range, .count = 1};

    tv_access_clip(identity, arena, TV_LIT("rx"), &plan);
}

static void check_signed(tv_arena *arena, tv_slice query)
{
    static const tv_slice none[3] = {{0}};
    const tv_identity *identity = NULL;
    unsigned char mac[TV_HMAC_BYTES];
    char signature[44];
    tv_buf url = TV_BUF_EMPTY;
    tv_sas sas;
    bool is_sas;

    if (tv_sas_parse(arena, query, &sas, &is_sas) || is_sas)
        return;

    tv_hmac_sign(&accounts.list[0].keys[0],
                 tv_sas_is_account(&sas) ? tv_sas_account_text(arena, &sas, TV_LIT("acct"))
                                         : tv_sas_table_text(arena, &sas, TV_LIT("acct")),
                 mac);
    tv_base64_encode(signature, (tv_slice){(const char *)mac, sizeof mac});
    tv_buf_add(&url, query);
    tv_buf_add_lit(&url, "&sig=");
    tv_uri_add_key(&url, (tv_slice){signature, sizeof signature});
    if (ask(arena, tv_buf_slice(&url), none, now, &identity) == TV_OK) {
        tv_assert(tv_slice_eq(tv_identity_account(identity), TV_LIT("acct")));
        check_limits(arena, identity);
        tv_assert(ask(arena, tv_buf_slice(&url), none, INT64_MAX, &identity) != TV_OK);

        char *changed = (char *)tv_arena_dup(arena, tv_buf_slice(&url)).data;
        char *at = changed + query.len + 5;

        *at = *at == 'A' ? 'B' : 'A';
        tv_assert(ask(arena, (tv_slice){changed, url.len}, none, now, &identity) != TV_OK);
    }
    tv_buf_done(&url);
}

static void check_headers(tv_arena *arena, tv_slice rest)
{
    const tv_identity *identity = NULL;
    tv_slice headers[3] = {{0}};
    tv_slice query = TV_NONE;

    for (int i = 0; i < 3; i++)
        tv_slice_next(&rest, '\n', &headers[i]);
    tv_slice_next(&rest, '\n', &query);
    tv_assert(ask(arena, query, headers, now, &identity) != TV_OK && identity == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tv_slice none[3] = {{0}};
    const tv_identity *identity = NULL;
    tv_arena arena;

    if (accounts.count == 0)
        start();
    if (size == 0)
        return 0;

    tv_slice rest = {(const char *)data + 1, size - 1};

    tv_arena_init(&arena);
    if (data[0] == 's')
        tv_assert(ask(&arena, rest, none, now, &identity) != TV_OK && identity == NULL);
    else if (data[0] == 'h')
        check_headers(&arena, rest);
    else
        check_signed(&arena, rest);
    tv_arena_done(&arena);
    return 0;
}
