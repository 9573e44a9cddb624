/*
 * SAS query strings, Authorization headers and the texts that they sign.  The
 * first byte chooses:
 *
 *     's'    the rest is a query string, as it comes: no service accepts it
 *     'h'    lines of Authorization, x-ms-date, Date and a query: likewise
 *     'q'    lines of a queue, nothing, and a query without a signature
 *     'b'    lines of a container, a blob, and a query without a signature
 *     'c'    lines of method, path, query and headers "name:value"
 *     other  the rest is a query without a signature, for a table
 *
 * To a query without a signature the right one is added: it may be accepted,
 * and then not with any other signature, nor after the end of time, nor
 * elsewhere.  What is accepted touches keys only within the limits that it was
 * signed with.  What is signed of a request does not depend on the order of
 * its headers.  The reason of a refusal is fit for XML and JSON, and short.
 */
#include "base/assert.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/uri.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "model/auth/identity.h"
#include "model/auth/sas.h"
#include "parameters.h"
#include "services/table/access.h"

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

static tv_auth_policy policy = {.accounts = &accounts, .find_policies = find_policies};

static tv_credentials request(tv_service_kind service, tv_parameters query)
{
    return (tv_credentials){
        .parts = {.service = service,
                  .account = TV_LIT("acct"),
                  .method = TV_LIT("GET"),
                  .path = TV_LIT("/acct/t")},
        .query = query,
        .container = TV_LIT("t"),
        .blob = TV_LIT("b"),
        .host = TV_LIT("127.0.0.1"),
        .peer = "127.0.0.1:4000",
        .is_peer_loopback = true,
    };
}

static void check_reason(tv_slice reason)
{
    tv_assert(reason.len > 0 && reason.len < 32 * 1024 && tv_utf8_is_valid(reason));
    for (size_t i = 0; i < reason.len; i++) {
        unsigned char byte = (unsigned char)reason.data[i];

        tv_assert(byte >= 0x20 || byte == '\n' || byte == '\t');
    }
}

static tv_err ask(tv_arena *arena, tv_credentials credentials, int64_t when,
                  const tv_identity **ret_identity)
{
    tv_error_info info = {0};
    tv_err err = tv_authenticate(&policy, &credentials, when, arena, ret_identity, &info);

    if (err == TV_ERR_AUTHENTICATION_FAILED)
        check_reason(info.reason);
    return err;
}

static const tv_service_kind services[] = {TV_SERVICE_TABLE, TV_SERVICE_QUEUE, TV_SERVICE_BLOB};
enum { SERVICES = sizeof services / sizeof *services };

/* The signature of `text` in base 64. */
static tv_slice sign(tv_arena *arena, tv_slice text)
{
    unsigned char mac[TV_HMAC_BYTES];
    char *signature = tv_arena_bytes(arena, 44);

    tv_hmac_sign(&accounts.list[0].keys[0], text, mac);
    tv_base64_encode(signature, (tv_slice){(const char *)mac, sizeof mac});
    return (tv_slice){signature, 44};
}

/* What is accepted may not touch a key outside of its limits, by either of the two checks. */
static void check_limits(tv_arena *arena, const tv_identity *identity)
{
    static const char *const keys[] = {"", "a", "b", "\xF0\x90\x80\x80", "\xEE\x80\x80"};
    const tv_key_limits *limits = tv_identity_key_limits(identity);

    for (size_t i = 0; i < sizeof keys / sizeof *keys && limits; i++) {
        tv_slice key = tv_slice_of(keys[i]);
        bool is_inside = tv_table_access_check_key(identity, key, key) == TV_OK;

        if (limits->start_partition.data && tv_ordinal_compare(key, limits->start_partition) < 0)
            tv_assert(!is_inside);
        if (limits->end_partition.data && tv_ordinal_compare(key, limits->end_partition) > 0)
            tv_assert(!is_inside);
    }

    tv_key_range range = {TV_LIT("r"), TV_LIT("s"), TV_PLAN_TABLE};
    tv_plan plan = {.ranges = &range, .count = 1};

    tv_table_access_clip(identity, arena, TV_LIT("rx"), &plan);
}

static tv_slice text_of(tv_arena *arena, const tv_sas *sas, const tv_credentials *credentials)
{
    tv_slice account = TV_LIT("acct");

    if (tv_sas_is_account(sas))
        return tv_sas_account_text(arena, sas, account);
    switch (credentials->parts.service) {
    case TV_SERVICE_TABLE:
        return tv_sas_table_text(arena, sas, account);
    case TV_SERVICE_QUEUE:
        return tv_sas_queue_text(arena, sas, account, credentials->container);
    case TV_SERVICE_BLOB:
        return tv_sas_blob_text(arena, sas, account, credentials->container, credentials->blob);
    }
    return TV_NONE;
}

/* A service SAS is for its own place.  Those that do not say which service that is in are refused.
 */
static void check_elsewhere(tv_arena *arena, const tv_credentials *good, const tv_sas *sas)
{
    const tv_identity *identity = NULL;
    tv_credentials other = *good;

    if (tv_sas_is_account(sas))
        return;
    for (size_t i = 0; i < SERVICES; i++) {
        other.parts.service = services[i];
        tv_assert(services[i] == good->parts.service || ask(arena, other, now, &identity) != TV_OK);
    }
    other = *good;
    other.container = tv_arena_printf(arena, "%.*sx", TV_FMT(good->container));
    if (good->parts.service != TV_SERVICE_TABLE)
        tv_assert(ask(arena, other, now, &identity) != TV_OK);
}

static void check_identity(tv_arena *arena, const tv_identity *identity)
{
    const tv_header_overrides *overrides = tv_identity_overrides(identity);
    tv_need need = {.container = TV_LIT("none")};

    tv_assert(tv_slice_eq(tv_identity_account(identity), TV_LIT("acct")));
    tv_assert(!tv_identity_is_anonymous(identity));
    tv_assert(tv_identity_allows(identity, &need) != TV_OK);
    if (overrides)
        tv_assert(tv_slice_find(overrides->content_type, '\r') == overrides->content_type.len);
    check_limits(arena, identity);
}

static void check_signed(tv_arena *arena, tv_credentials credentials)
{
    const tv_identity *identity = NULL;
    tv_parameters query = credentials.query;
    tv_buf url = TV_BUF_EMPTY;
    tv_sas sas;
    bool is_sas;

    if (tv_sas_parse(arena, &query, &sas, &is_sas) || is_sas)
        return;

    tv_buf_add(&url, query.text);
    tv_buf_add_lit(&url, "&sig=");
    tv_uri_add_key(&url, sign(arena, text_of(arena, &sas, &credentials)));
    credentials.query = query_of(arena, tv_buf_slice(&url));
    if (ask(arena, credentials, now, &identity) == TV_OK) {
        check_identity(arena, identity);
        check_elsewhere(arena, &credentials, &sas);
        tv_assert(ask(arena, credentials, INT64_MAX, &identity) != TV_OK);

        char *changed = (char *)tv_arena_dup(arena, tv_buf_slice(&url)).data;
        char *at = changed + query.text.len + 5;

        *at = *at == 'A' ? 'B' : 'A';
        credentials.query = query_of(arena, (tv_slice){changed, url.len});
        tv_assert(ask(arena, credentials, now, &identity) != TV_OK);
    }
    tv_buf_done(&url);
}

static void check_signed_lines(tv_arena *arena, tv_service_kind service, tv_slice rest)
{
    tv_credentials credentials = request(service, query_of(arena, TV_NONE));

    credentials.container = credentials.blob = TV_NONE;
    tv_slice_next(&rest, '\n', &credentials.container);
    tv_slice_next(&rest, '\n', &credentials.blob);
    credentials.query = query_of(arena, rest);
    check_signed(arena, credentials);
}

static void check_raw(tv_arena *arena, tv_slice query)
{
    const tv_identity *identity = NULL;

    for (size_t i = 0; i < SERVICES; i++)
        tv_assert(ask(arena, request(services[i], query_of(arena, query)), now, &identity) !=
                      TV_OK &&
                  identity == NULL);
}

static void check_headers(tv_arena *arena, tv_slice rest)
{
    const tv_identity *identity = NULL;
    tv_header headers[2] = {{.name = TV_LIT("x-ms-date")}, {.name = TV_LIT("Date")}};
    tv_slice authorization = TV_NONE, query = TV_NONE;

    tv_slice_next(&rest, '\n', &authorization);
    tv_slice_next(&rest, '\n', &headers[0].value);
    tv_slice_next(&rest, '\n', &headers[1].value);
    tv_slice_next(&rest, '\n', &query);
    for (size_t i = 0; i < SERVICES; i++) {
        tv_credentials credentials = request(services[i], query_of(arena, query));

        credentials.parts.headers = headers;
        credentials.parts.header_count = 2;
        credentials.authorization = authorization;
        credentials.x_ms_date = headers[0].value;
        credentials.date = headers[1].value;
        tv_assert(ask(arena, credentials, now, &identity) != TV_OK && identity == NULL);
    }
}

/* --- what is signed of a request --- */

enum { HEADERS_MAX = 128 };

static bool has_repeats(const tv_header *headers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (tv_slice_eq_nocase(headers[i].name, headers[j].name))
                return true;
        }
    }
    return false;
}

static void check_text(tv_arena *arena, tv_canonical *canonical, tv_canonical *turned, bool is_lite)
{
    for (unsigned i = 0; i < TV_CANONICAL_READINGS; i++) {
        tv_slice text = tv_canonical_text(arena, canonical, is_lite, i);

        tv_assert(tv_slice_eq(text, tv_canonical_text(arena, canonical, is_lite, i)));
        tv_assert(tv_slice_starts_with(text, canonical->parts->method));
        if (turned)
            tv_assert(tv_slice_eq(text, tv_canonical_text(arena, turned, is_lite, i)));
        if (i >= 2) /* another order, and nothing else */
            tv_assert(text.len == tv_canonical_text(arena, canonical, is_lite, i % 2).len);
    }
}

/* A signature of one of the readings is accepted, and none that is only nearly right. */
static void check_door(tv_arena *arena, const tv_signed_parts *parts, tv_canonical *canonical)
{
    tv_credentials credentials = request(TV_SERVICE_BLOB, parts->query);

    credentials.parts = *parts;
    credentials.x_ms_date = TV_LIT("Fri, 02 Jan 2026 03:04:05 GMT");
    for (unsigned i = 0; i < 2 * TV_CANONICAL_READINGS; i++) {
        const tv_identity *identity = NULL;
        bool is_lite = i % 2;
        tv_slice text = tv_canonical_text(arena, canonical, is_lite, i / 2);
        tv_slice authorization = tv_arena_printf(arena, "SharedKey%s acct:%.*s",
                                                 is_lite ? "Lite" : "", TV_FMT(sign(arena, text)));
        char *last = (char *)authorization.data + authorization.len - 2;

        credentials.authorization = authorization;
        tv_assert(ask(arena, credentials, now, &identity) == TV_OK);
        *last = *last == 'A' ? 'B' : 'A';
        tv_assert(ask(arena, credentials, now, &identity) != TV_OK);
    }
}

static void check_canonical(tv_arena *arena, tv_slice rest)
{
    tv_header headers[HEADERS_MAX], turned[HEADERS_MAX];
    tv_signed_parts parts = {.service = TV_SERVICE_BLOB, .account = TV_LIT("acct")}, turned_parts;
    tv_canonical canonical, turned_canonical;
    size_t count = 0;
    tv_slice line, query = TV_NONE;

    tv_slice_next(&rest, '\n', &parts.method);
    tv_slice_next(&rest, '\n', &parts.path);
    tv_slice_next(&rest, '\n', &query);
    parts.query = query_of(arena, query);
    while (count < HEADERS_MAX && tv_slice_next(&rest, '\n', &line)) {
        size_t colon = tv_slice_find(line, ':');
        tv_slice value = tv_slice_skip(line, colon + (colon < line.len));

        headers[count++] = (tv_header){tv_slice_take(line, colon), tv_slice_trim(value)};
    }
    parts.headers = headers;
    parts.header_count = count;
    for (size_t i = 0; i < count; i++)
        turned[i] = headers[count - 1 - i];
    turned_parts = parts;
    turned_parts.headers = turned;

    bool is_readable = tv_canonical_read(arena, &parts, &canonical);

    tv_assert(is_readable == tv_canonical_read(arena, &turned_parts, &turned_canonical));
    if (!is_readable)
        return;

    tv_canonical *other = has_repeats(headers, count) ? NULL : &turned_canonical;

    check_text(arena, &canonical, other, false);
    check_text(arena, &canonical, other, true);
    check_door(arena, &parts, &canonical);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tv_arena arena;

    if (accounts.count == 0)
        start();
    if (size == 0)
        return 0;

    tv_slice rest = {(const char *)data + 1, size - 1};

    tv_arena_init(&arena);
    switch (data[0]) {
    case 's':
        check_raw(&arena, rest);
        break;
    case 'h':
        check_headers(&arena, rest);
        break;
    case 'q':
        check_signed_lines(&arena, TV_SERVICE_QUEUE, rest);
        break;
    case 'b':
        check_signed_lines(&arena, TV_SERVICE_BLOB, rest);
        break;
    case 'c':
        check_canonical(&arena, rest);
        break;
    default:
        check_signed(&arena, request(TV_SERVICE_TABLE, query_of(&arena, rest)));
    }
    tv_arena_done(&arena);
    return 0;
}
