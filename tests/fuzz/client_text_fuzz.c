/*
 * Texts that applications hand to the client library, and that may come from anywhere: connection
 * strings, filters with and without values, shared access signatures, continuation tokens, prefixes
 * of keys.  The first byte says which.
 */
#include "fuzz.h"

#include "base/utf8.h"
#include "client/account/connection.h"
#include "client/query/filter.h"
#include "client/query/query.h"
#include "model/odata/filter.h"
#include "model/odata/plan.h"

/* Nothing that could end a line or a URL. */
static void check_visible(const char *text)
{
    for (; text && *text; text++)
        tv_assert(*text > ' ' && *text < 0x7F && *text != '#');
}

static void try_connection(const char *text)
{
    tvc_connection connection;

    if (tvc_connection_parse(text, false, &connection) != TAVOLA_OK) {
        tv_assert(tavola_error_text(TAVOLA_ERR_INVALID)[0]);
        return;
    }
    tv_assert(connection.credentials.has_key == (connection.credentials.sas == NULL));
    tv_assert(connection.primary[0] || connection.primary[1] || connection.primary[2]);
    check_visible(connection.credentials.account);
    check_visible(connection.credentials.sas);
    for (int i = 0; i < TVC_SERVICES; i++) {
        check_visible(connection.primary[i]);
        check_visible(connection.secondary[i]);
        tv_assert(connection.primary[i] == NULL || strncmp(connection.primary[i], "http", 4) == 0);
        tv_assert(connection.primary[i] == NULL || strchr(connection.primary[i], '?') == NULL);
        tv_assert(connection.secondary[i] == NULL || connection.primary[i]);
    }
    tvc_connection_done(&connection);
}

/* How many comparisons a filter has, -1 when it does not parse. */
static int comparisons_of(const tavola_filter *filter)
{
    tv_error_info info = {0};
    tv_filter *parsed;
    tv_arena arena;
    int count = -1;

    tv_arena_init(&arena);
    if (tv_filter_parse(&arena, tvc_filter_slice(filter), &parsed, &info) == TV_OK)
        count = parsed->compare_count;
    tv_arena_done(&arena);
    return count;
}

/* Whatever a value holds, the filter has the same form. */
static void try_bind(const char *text)
{
    enum { VALUES_MAX = 4 };
    static const char plain[] = "a", hostile[] = "a') or (b eq ''? 'x";
    tavola_value plain_values[VALUES_MAX], hostile_values[VALUES_MAX];

    for (size_t count = 0; count <= VALUES_MAX; count++) {
        tavola_filter *a = tavola_filter_bind(text, plain_values, count);
        tavola_filter *b = tavola_filter_bind(text, hostile_values, count);

        tv_assert(tavola_filter_error(a) == tavola_filter_error(b));
        if (tavola_filter_error(a) == TAVOLA_OK)
            tv_assert(comparisons_of(a) == comparisons_of(b));
        tavola_filter_free(a);
        tavola_filter_free(b);
        if (count < VALUES_MAX) {
            plain_values[count] =
                (tavola_value){.type = TAVOLA_STRING, .size = sizeof plain - 1, .as.ptr = plain};
            hostile_values[count] = (tavola_value){
                .type = TAVOLA_STRING, .size = sizeof hostile - 1, .as.ptr = hostile};
        }
    }
}

static int allocations_left;

static void *scarce_alloc(size_t size)
{
    return allocations_left-- > 0 ? malloc(size) : NULL;
}

static void *scarce_resize(void *old, size_t size)
{
    return allocations_left-- > 0 ? realloc(old, size) : NULL;
}

static const char *word_of_server(tv_slice text)
{
    static const char *const words[] = {"point", "range", "partition scan", "table scan"};
    tv_error_info info = {0};
    tv_filter *filter;
    const char *word = NULL;
    tv_arena arena;

    tv_arena_init(&arena);
    if (tv_filter_parse(&arena, text, &filter, &info) == TV_OK)
        word = words[tv_plan_make(&arena, TV_LIT("raccount\x01"), filter).kind];
    tv_arena_done(&arena);
    return word;
}

/* A plan takes no more memory than it has asked for before: two pieces. */
static void try_plan(const char *text)
{
    tavola_filter *filter = tavola_filter_raw(text);

    for (int left = 0; left <= 2; left++) {
        allocations_left = left;
        tavola_set_allocator(scarce_alloc, scarce_resize, free);

        const char *word = tavola_filter_plan(filter), *server;

        tavola_set_allocator(NULL, NULL, NULL);
        server = word_of_server(tvc_filter_slice(filter));
        tv_assert(word ? strcmp(word, "table scan") == 0 || (server && strcmp(word, server) == 0)
                       : !server || tavola_filter_error(filter));
    }
    tavola_filter_free(filter);
}

static void try_sas(const char *text)
{
    tavola_sas *sas = NULL;

    if (tavola_sas_parse(text, &sas) == TAVOLA_OK)
        tv_assert(tavola_sas_kind(sas) && tavola_sas_field(sas, "sig") &&
                  tavola_sas_field(sas, "sv"));
    tavola_sas_free(sas);
}

/* What is taken is what we would have written. */
static void try_token(const char *text)
{
    tvc_token token;

    if (!tvc_token_parse(text, &token))
        return;

    size_t len = strlen("v1;p;") + token.partition.len + (token.row.data ? 1 + token.row.len : 0);

    tv_assert(len == strlen(text));
    for (size_t i = 5; text[i]; i++)
        tv_assert(text[i] > ' ' && text[i] < 0x7F && !strchr("&=?#/+", text[i]));
}

static void try_prefix(const char *text)
{
    char *after = tavola_key_after(text);

    if (after) {
        tv_assert(tv_utf8_is_valid(tv_slice_of(after)));
        tv_assert(tv_ordinal_compare(tv_slice_of(after), tv_slice_of(text)) > 0);
        tv_assert(!tv_slice_starts_with(tv_slice_of(after), tv_slice_of(text)));
    }
    tavola_free(after);
    tavola_filter_free(tavola_where_prefix("RowKey", text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;

    char *text = tvc_dup((tv_slice){(const char *)data + 1, size - 1});

    switch (data[0]) {
    case 'c':
        try_connection(text);
        break;
    case 'b':
        try_bind(text);
        break;
    case 'f':
        try_plan(text);
        break;
    case 's':
        try_sas(text);
        break;
    case 't':
        try_token(text);
        break;
    default:
        try_prefix(text);
        break;
    }
    tavola_free(text);
    return 0;
}
