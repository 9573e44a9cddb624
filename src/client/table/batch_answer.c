/*
 * The answer to a batch, taken apart: a multipart body with one part, which is another multipart
 * body with an HTTP response for each write, or with one for the write that failed.
 */
#include "client/table/batch.h"

enum { BOUNDARY_LEN_MAX = 200 };

/* A line without its end, taken off the front; false when nothing is left. */
static bool next_line(tv_slice *rest, tv_slice *ret_line)
{
    if (rest->len == 0)
        return false;

    size_t at = tv_slice_find(*rest, '\n');

    *ret_line = tv_slice_take(*rest, at);
    *rest = tv_slice_skip(*rest, at < rest->len ? at + 1 : at);
    if (ret_line->len && ret_line->data[ret_line->len - 1] == '\r')
        ret_line->len--;
    return true;
}

/* The value of a header line with that name, TV_NONE when it is another. */
static tv_slice header_value(tv_slice line, tv_slice name)
{
    size_t colon = tv_slice_find(line, ':');

    if (colon == line.len || !tv_slice_eq_nocase(tv_slice_trim(tv_slice_take(line, colon)), name))
        return TV_NONE;
    return tv_slice_trim(tv_slice_skip(line, colon + 1));
}

/* The boundary that a Content-Type of multipart/... names; false when it names none. */
static bool read_boundary(tv_slice content_type, tv_slice *ret_boundary)
{
    tv_slice rest = content_type, part;

    if (!tv_slice_next(&rest, ';', &part))
        return false;
    part = tv_slice_trim(part);
    if (part.len < 10 || !tv_slice_eq_nocase(tv_slice_take(part, 10), TV_LIT("multipart/")))
        return false;

    while (tv_slice_next(&rest, ';', &part)) {
        size_t at = tv_slice_find(part, '=');

        if (at == part.len ||
            !tv_slice_eq_nocase(tv_slice_trim(tv_slice_take(part, at)), TV_LIT("boundary")))
            continue;
        part = tv_slice_trim(tv_slice_skip(part, at + 1));
        if (part.len >= 2 && part.data[0] == '"' && part.data[part.len - 1] == '"')
            part = tv_slice_take(tv_slice_skip(part, 1), part.len - 2);
        *ret_boundary = part;
        return part.len > 0 && part.len <= BOUNDARY_LEN_MAX;
    }
    return false;
}

/* Where the next "--boundary" at the beginning of a line is; text.len when there is none. */
static size_t find_delimiter(tv_slice text, tv_slice delimiter)
{
    size_t from = 0;

    while (text.len - from >= delimiter.len) {
        const char *at = memmem(text.data + from, text.len - from, delimiter.data, delimiter.len);

        if (at == NULL)
            break;
        if (at == text.data || at[-1] == '\n')
            return (size_t)(at - text.data);
        from = (size_t)(at - text.data) + 1;
    }
    return text.len;
}

/* A multipart body that is being read. */
typedef struct multipart {
    char delimiter[BOUNDARY_LEN_MAX + 2];
    size_t delimiter_len;
    tv_slice rest; /* from the next delimiter on */
    bool is_broken;
} multipart;

static void multipart_init(multipart *parts, tv_slice boundary, tv_slice body)
{
    char *end = tv_slice_put(tv_slice_put(parts->delimiter, TV_LIT("--")), boundary);

    parts->delimiter_len = (size_t)(end - parts->delimiter);
    parts->rest = tv_slice_skip(
        body, find_delimiter(body, (tv_slice){parts->delimiter, parts->delimiter_len}));
    parts->is_broken = false;
}

/* The next part, without the delimiters around it; false at the end, and when it is broken. */
static bool multipart_next(multipart *parts, tv_slice *ret_part)
{
    tv_slice delimiter = {parts->delimiter, parts->delimiter_len}, line;

    if (!next_line(&parts->rest, &line)) {
        parts->is_broken = true; /* the last delimiter is missing */
        return false;
    }
    if (tv_slice_starts_with(tv_slice_skip(line, delimiter.len), TV_LIT("--")))
        return false;

    size_t len = find_delimiter(parts->rest, delimiter);

    if (len == parts->rest.len) {
        parts->is_broken = true;
        return false;
    }
    *ret_part = tv_slice_take(parts->rest, len);
    parts->rest = tv_slice_skip(parts->rest, len);
    return true;
}

/* "HTTP/1.1 204 No Content": the status, 0 when it is not such a line. */
static int read_status(tv_slice line)
{
    int status = 0;

    if (!tv_slice_starts_with(line, TV_LIT("HTTP/")))
        return 0;
    line = tv_slice_trim(tv_slice_skip(line, tv_slice_find(line, ' ')));
    if (line.len < 3 || (line.len > 3 && line.data[3] != ' '))
        return 0;
    for (size_t i = 0; i < 3; i++) {
        if (line.data[i] < '0' || line.data[i] > '9')
            return 0;
        status = status * 10 + (line.data[i] - '0');
    }
    return status;
}

static tv_slice without_blank_lines(tv_slice text)
{
    while (text.len && (text.data[0] == '\r' || text.data[0] == '\n'))
        text = tv_slice_skip(text, 1);
    while (text.len && (text.data[text.len - 1] == '\r' || text.data[text.len - 1] == '\n'))
        text.len--;
    return text;
}

/* One HTTP response inside a part. */
static bool read_response(tv_slice text, tvc_batch_answer *answer)
{
    tv_slice line = TV_NONE;

    if (answer->count == TVC_BATCH_WRITES_MAX)
        return false;
    text = without_blank_lines(text);
    if (!next_line(&text, &line))
        return false;

    tvc_batch_part part = {.status = read_status(line), .etag = TV_NONE};

    if (part.status < 100)
        return false;
    while (next_line(&text, &line) && line.len) {
        tv_slice etag = header_value(line, TV_LIT("ETag"));

        if (etag.data && tv_slice_is_printable(etag))
            part.etag = etag;
    }
    part.body = without_blank_lines(text);
    answer->parts[answer->count++] = part;
    return true;
}

/* The headers of a part up to the empty line; *ret_type is its Content-Type or TV_NONE. */
static tv_slice read_part_head(tv_slice part, tv_slice *ret_type)
{
    tv_slice line;

    *ret_type = TV_NONE;
    while (next_line(&part, &line) && line.len) {
        tv_slice type = header_value(line, TV_LIT("Content-Type"));

        if (type.data)
            *ret_type = type;
    }
    return part;
}

/* The parts of a changeset. */
static bool read_changeset(tv_slice boundary, tv_slice body, tvc_batch_answer *answer)
{
    tv_slice part, type;
    multipart parts;

    multipart_init(&parts, boundary, body);
    while (multipart_next(&parts, &part)) {
        if (!read_response(read_part_head(part, &type), answer))
            return false;
    }
    return !parts.is_broken;
}

/* The boundary of an answer without a usable Content-Type is its first line. */
static bool guess_boundary(tv_slice body, tv_slice *ret_boundary)
{
    tv_slice line;

    body = without_blank_lines(body);
    if (!next_line(&body, &line) || !tv_slice_starts_with(line, TV_LIT("--")))
        return false;
    *ret_boundary = tv_slice_skip(tv_slice_trim(line), 2);
    return ret_boundary->len > 0 && ret_boundary->len <= BOUNDARY_LEN_MAX;
}

bool tvc_batch_answer_read(tv_slice content_type, tv_slice body, tvc_batch_answer *ret_answer)
{
    tv_slice boundary, part, type;
    multipart parts;

    ret_answer->count = 0;
    if (!read_boundary(content_type, &boundary) && !guess_boundary(body, &boundary))
        return false;

    multipart_init(&parts, boundary, body);
    while (multipart_next(&parts, &part)) {
        part = read_part_head(part, &type);
        if (type.data && read_boundary(type, &boundary)) {
            if (!read_changeset(boundary, part, ret_answer))
                return false;
        } else if (!read_response(part, ret_answer)) {
            return false;
        }
    }
    return !parts.is_broken && ret_answer->count > 0;
}

int tvc_batch_take_index(char *message)
{
    enum { DIGITS_MAX = 3 };
    int index = 0, digits = 0;

    while (digits < DIGITS_MAX && message[digits] >= '0' && message[digits] <= '9')
        index = index * 10 + (message[digits++] - '0');
    if (digits == 0 || message[digits] != ':')
        return -1;

    const char *rest = message + digits + 1;

    memmove(message, rest, strlen(rest) + 1);
    return index;
}
