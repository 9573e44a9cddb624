/*
 * Signing requests.  The text that is signed is written to the end of the caller's text, where its
 * signature then takes its place: no memory of its own, which matters for tables, of which there
 * are many requests.
 */
#include "client/account/sign.h"

#include "base/number.h"
#include "model/auth/canonical.h"

/* The value of the comp parameter as sent, TV_NONE without one. */
static tv_slice find_comp(tv_slice query)
{
    tv_slice part, name = TV_LIT("comp=");

    while (tv_slice_next(&query, '&', &part)) {
        if (tv_slice_starts_with(part, name))
            return tv_slice_skip(part, name.len);
    }
    return TV_NONE;
}

/* Date and resource, a line each; in path style the account is there twice. */
static void write_table_text(tvc_text *text, tv_slice account, const tvc_to_sign *request)
{
    tv_slice comp = find_comp(request->query);

    tvc_text_add(text, request->date);
    tvc_text_add_lit(text, "\n/");
    tvc_text_add(text, account);
    tvc_text_add(text, request->path.len ? request->path : TV_LIT("/"));
    if (comp.data) {
        tvc_text_add_lit(text, "?comp=");
        tvc_text_add(text, comp);
    }
}

/* --- queues and blobs --- */

static size_t count_char(tv_slice text, char c)
{
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.data[i] == c;
    return count;
}

/* The headers one by one; one that is not there, Content-Length, is made of the body's. */
static size_t split_headers(const tvc_to_sign *request, tv_slice body_len, tv_header *ret_headers)
{
    tv_slice rest = request->headers, line;
    size_t count = 0;
    bool has_length = false;

    while (tv_slice_next(&rest, '\n', &line)) {
        size_t colon = tv_slice_find(line, ':');

        if (colon == line.len)
            continue;
        if (line.data[line.len - 1] == '\r')
            line.len--;

        tv_slice name = tv_slice_take(line, colon);

        has_length |= tv_slice_eq_nocase(name, TV_LIT("content-length"));
        ret_headers[count++] = (tv_header){name, tv_slice_trim(tv_slice_skip(line, colon + 1))};
    }
    if (!has_length)
        ret_headers[count++] = (tv_header){TV_LIT("content-length"), body_len};
    return count;
}

/* The most that the functions of auth/canonical.h take of an arena for this request. */
static size_t arena_bytes_max(tv_slice account, const tvc_to_sign *request, size_t header_count)
{
    enum { ALIGNED_PIECES = 8, ALIGNMENT = 16, FIXED_TEXT = 256 };
    size_t parameter_count = count_char(request->query, '&') + 1;

    return header_count * (sizeof(tv_header) + sizeof(tv_signed_pair)) +
           parameter_count * (sizeof(tv_parameter) + sizeof(tv_signed_pair)) +
           /* Once in lower case, once decoded, once and with separators in the text. */
           3 * (request->headers.len + request->query.len) + 2 * (header_count + parameter_count) +
           request->method.len + account.len + request->path.len + FIXED_TEXT +
           ALIGNED_PIECES * ALIGNMENT;
}

/* A query that nobody can sign stays without a text, and the service will refuse it. */
static void write_full_text(tvc_text *text, tv_slice account, const tvc_to_sign *request)
{
    size_t header_count_max = count_char(request->headers, '\n') + 2;
    char digits[TV_INT64_TEXT_MAX];
    tv_arena arena;
    tv_signed_parts parts = {
        .service = request->service,
        .account = account,
        .method = request->method,
        .path = request->path,
    };
    tv_canonical canonical;

    tv_arena_init(&arena);
    if (tv_arena_reserve(&arena, arena_bytes_max(account, request, header_count_max)) != TV_OK) {
        text->has_failed = true;
        return;
    }

    tv_header *headers = tv_arena_alloc(&arena, header_count_max * sizeof *headers);
    tv_slice body_len = {digits, tv_format_int64(digits, (int64_t)request->body_len)};

    parts.header_count = split_headers(request, body_len, headers);
    parts.headers = headers;
    if ((request->query.len == 0 || tv_parameters_parse(&arena, request->query, &parts.query)) &&
        tv_canonical_read(&arena, &parts, &canonical))
        tvc_text_add(text, tv_canonical_text(&arena, &canonical, false, 0));
    tv_arena_done(&arena);
}

void tvc_sign(tvc_text *text, const tvc_credentials *credentials, const tvc_to_sign *request)
{
    tv_slice account = tv_slice_of(credentials->account);
    bool is_table = request->service == TV_SERVICE_TABLE;

    tvc_text_add(text, is_table ? TV_LIT("SharedKeyLite ") : TV_LIT("SharedKey "));
    tvc_text_add(text, account);
    tvc_text_add_char(text, ':');

    size_t start = text->buf.len;

    if (is_table)
        write_table_text(text, account, request);
    else
        write_full_text(text, account, request);
    if (text->has_failed)
        return;

    unsigned char mac[TV_HMAC_BYTES];

    tv_hmac_sign(&credentials->key, tv_slice_skip(tvc_text_slice(text), start), mac);
    text->buf.len = start;
    tvc_text_add_base64(text, (tv_slice){(const char *)mac, sizeof mac});
}
