/* The lenient parser of batch bodies. */
#include "wire/http/multipart.h"

#include "base/assert.h"
#include "base/url.h"

bool tv_multipart_boundary(tv_slice content_type, tv_slice *ret_boundary)
{
    static const tv_slice wanted = {"multipart/mixed", 15};
    tv_slice type, part;

    if (!tv_slice_next(&content_type, ';', &type) ||
        !tv_slice_eq_nocase(tv_slice_trim(type), wanted))
        return false;

    while (tv_slice_next(&content_type, ';', &part)) {
        size_t equals = tv_slice_find(part, '=');

        if (equals == part.len ||
            !tv_slice_eq_nocase(tv_slice_trim(tv_slice_take(part, equals)), TV_LIT("boundary")))
            continue;

        tv_slice value = tv_slice_trim(tv_slice_skip(part, equals + 1));

        if (value.len >= 2 && value.data[0] == '"' && value.data[value.len - 1] == '"')
            value = (tv_slice){value.data + 1, value.len - 2};
        *ret_boundary = value;
        return value.len > 0 && value.len <= TV_MULTIPART_BOUNDARY_MAX;
    }
    return false;
}

/* Cut one line, ended by LF, CR LF or the end of the text, off the front. */
static tv_slice take_line(tv_slice *text)
{
    size_t end = tv_slice_find(*text, '\n');
    tv_slice line = tv_slice_take(*text, end);

    *text = tv_slice_skip(*text, end < text->len ? end + 1 : end);
    if (line.len && line.data[line.len - 1] == '\r')
        line.len--;
    return line;
}

void tv_multipart_init(tv_multipart *multipart, tv_slice body, tv_slice boundary)
{
    *multipart = (tv_multipart){.rest = body, .boundary = boundary};
}

/* Whether a line is "--boundary" or "--boundary--"; blanks may follow. */
static bool is_delimiter(const tv_multipart *multipart, tv_slice line, bool *ret_is_closing)
{
    tv_slice boundary = multipart->boundary;

    if (line.len < boundary.len + 2 || line.data[0] != '-' || line.data[1] != '-' ||
        memcmp(line.data + 2, boundary.data, boundary.len) != 0)
        return false;

    tv_slice rest = tv_slice_trim(tv_slice_skip(line, boundary.len + 2));

    *ret_is_closing = tv_slice_eq(rest, TV_LIT("--"));
    return rest.len == 0 || *ret_is_closing;
}

/* Advance past the next delimiter line; `ret_before` is all that came before it. */
static bool skip_to_delimiter(tv_multipart *multipart, tv_slice *ret_before)
{
    const char *start = multipart->rest.data;
    tv_slice rest = multipart->rest;

    while (rest.len) {
        const char *line_start = rest.data;
        tv_slice line = take_line(&rest);

        if (is_delimiter(multipart, line, &multipart->is_closed)) {
            size_t len = (size_t)(line_start - start);

            /* The line end before a delimiter belongs to the delimiter. */
            if (len && start[len - 1] == '\n')
                len--;
            if (len && start[len - 1] == '\r')
                len--;
            *ret_before = (tv_slice){start, len};
            multipart->rest = rest;
            return true;
        }
    }
    return false;
}

bool tv_multipart_next(tv_multipart *multipart, tv_slice *ret_part)
{
    tv_slice preamble;

    if (!multipart->is_started) {
        multipart->is_started = true;
        if (!skip_to_delimiter(multipart, &preamble))
            return false;
    }
    return !multipart->is_closed && skip_to_delimiter(multipart, ret_part);
}

bool tv_multipart_headers(tv_arena *arena, tv_slice *text, const tv_header **ret_headers,
                          size_t *ret_count)
{
    tv_header *headers = tv_arena_alloc(arena, TV_MULTIPART_HEADERS_MAX * sizeof *headers);
    size_t count = 0;

    while (text->len) {
        tv_slice line = take_line(text);
        size_t colon = tv_slice_find(line, ':');

        if (line.len == 0)
            break;
        if (colon == line.len || count == TV_MULTIPART_HEADERS_MAX)
            return false;
        headers[count++] = (tv_header){tv_slice_trim(tv_slice_take(line, colon)),
                                       tv_slice_trim(tv_slice_skip(line, colon + 1))};
    }
    *ret_headers = headers;
    *ret_count = count;
    return true;
}

/* "http://host/path?query" or "/path?query". */
static bool split_target(tv_arena *arena, tv_slice target, tv_embedded_request *request)
{
    const char *why;
    tv_url url = {0};

    if (target.len && target.data[0] == '/') {
        size_t question = tv_slice_find(target, '?');

        url.path = tv_slice_take(target, question);
        if (question < target.len)
            url.query = tv_slice_skip(target, question + 1);
    } else if (tv_url_parse(target, &url, &why) && tv_url_is_http(&url) && url.path.len) {
        request->host = url.place;
    } else {
        return false;
    }
    request->path = url.path;
    return tv_parameters_parse(arena, url.query, &request->query);
}

bool tv_multipart_request(tv_arena *arena, tv_slice text, tv_slice host,
                          tv_embedded_request *ret_request)
{
    tv_slice line = take_line(&text);
    size_t first_blank = tv_slice_find(line, ' ');

    if (first_blank == 0 || first_blank == line.len)
        return false;

    tv_slice target = tv_slice_trim(tv_slice_skip(line, first_blank));
    size_t version = tv_slice_find(target, ' ');

    *ret_request = (tv_embedded_request){
        .method = tv_method_parse(tv_slice_take(line, first_blank)),
        .host = host,
    };
    if (!split_target(arena, tv_slice_take(target, version), ret_request))
        return false;
    if (!tv_multipart_headers(arena, &text, &ret_request->headers, &ret_request->header_count))
        return false;

    /* Some clients write another blank line before the body. */
    while (text.len && (text.data[0] == '\r' || text.data[0] == '\n'))
        text = tv_slice_skip(text, 1);
    ret_request->body = text;
    return true;
}
