/* The strict reader of HTTP answers. */
#include "client/net/reader.h"

#include "base/assert.h"
#include "base/method.h"
#include "base/number.h"

enum part { HEAD, LENGTH, CHUNKS, UNTIL_CLOSE, WHOLE };

enum {
    BODY_BYTES_FIRST = 1024 * 1024, /* taken on the word of a Content-Length; more when it comes */
    CHUNKED_BYTES_FIRST = 4096,
};

/* What the headers say about the body and the connection. */
struct framing {
    bool has_length, is_chunked, says_close, says_keep_alive;
    uint64_t length;
};

static tvc_read refuse(tvc_reader *reader, tavola_err err, const char *why)
{
    reader->err = err;
    reader->why = why;
    return TVC_READ_FAILED;
}

static tvc_read bad(tvc_reader *reader, const char *why)
{
    return refuse(reader, TAVOLA_ERR_PROTOCOL, why);
}

void tvc_reader_init(tvc_reader *reader, tvc_response *response, bool is_head, const tvc_sink *sink)
{
    *reader = (tvc_reader){.response = response, .is_head = is_head, .sink = sink};
}

/* ---- head ---- */

/* Look for the end of the head.  False when it is broken; *ret_end is 0 while there is more. */
static bool scan_head(tvc_reader *reader, tv_slice input, size_t *ret_end)
{
    static const char begin[] = "HTTP/1.";
    size_t known = input.len < sizeof begin - 1 ? input.len : sizeof begin - 1;

    *ret_end = 0;
    if (memcmp(input.data, begin, known) != 0) /* noise: no need to wait for a line of it */
        return false;

    while (reader->seen < input.len) {
        const char *from = input.data + reader->seen;
        const char *lf = memchr(from, '\n', input.len - reader->seen);

        reader->seen = lf ? (size_t)(lf - input.data) + 1 : input.len;
        if (reader->seen > TVC_HEAD_BYTES_MAX)
            return false;
        if (lf == NULL)
            break;

        size_t line_len = reader->seen - reader->line;

        if (line_len < 2 || lf[-1] != '\r')
            return false;
        reader->line = reader->seen;
        if (line_len == 2) {
            *ret_end = reader->seen;
            break;
        }
        if (++reader->line_count > TVC_HEADERS_MAX + 1)
            return false;
    }
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "HTTP/1.1 200 OK": the reason may be empty, and its blank may be missing then. */
static bool parse_status(tv_slice line, int *ret_status, bool *ret_is_1_0)
{
    enum { BEFORE_MINOR = 7, BEFORE_STATUS = 9, AFTER_STATUS = 12 };
    const char *text = line.data;

    if (line.len < AFTER_STATUS || (text[BEFORE_MINOR] != '0' && text[BEFORE_MINOR] != '1') ||
        text[BEFORE_STATUS - 1] != ' ' || (line.len > AFTER_STATUS && text[AFTER_STATUS] != ' '))
        return false;

    int status = 0;

    for (size_t i = BEFORE_STATUS; i < AFTER_STATUS; i++) {
        if (!is_digit(text[i]))
            return false;
        status = status * 10 + (text[i] - '0');
    }
    *ret_status = status;
    *ret_is_1_0 = text[BEFORE_MINOR] == '0';
    return status >= 100 && status <= 599;
}

/* Free of control characters other than the tab. */
static bool is_value(tv_slice text)
{
    unsigned odd = 0;

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];

        odd |= ((c < 0x20) & (c != '\t')) | (c == 0x7f);
    }
    return odd == 0;
}

static bool parse_header(tv_slice line, tv_header *ret_header)
{
    size_t colon = 0;

    while (colon < line.len && tv_token_chars[(unsigned char)line.data[colon]])
        colon++;
    if (colon == 0 || colon == line.len || line.data[colon] != ':')
        return false;

    ret_header->name = tv_slice_take(line, colon);
    ret_header->value = tv_slice_trim(tv_slice_skip(line, colon + 1));
    return is_value(ret_header->value);
}

static bool note_connection(struct framing *framing, tv_slice value)
{
    tv_slice token;

    while (tv_slice_next(&value, ',', &token)) {
        token = tv_slice_trim(token);
        if (tv_slice_eq_nocase(token, TV_LIT("close")))
            framing->says_close = true;
        else if (tv_slice_eq_nocase(token, TV_LIT("keep-alive")))
            framing->says_keep_alive = true;
    }
    return true;
}

/* False for a header that contradicts another, or an encoding that we do not know. */
static bool note_header(struct framing *framing, const tv_header *header)
{
    if (tv_slice_eq_nocase(header->name, TV_LIT("content-length"))) {
        uint64_t length;

        if (!tv_parse_uint64(header->value, &length) ||
            (framing->has_length && framing->length != length))
            return false;
        framing->has_length = true;
        framing->length = length;
    } else if (tv_slice_eq_nocase(header->name, TV_LIT("transfer-encoding"))) {
        if (framing->is_chunked || !tv_slice_eq_nocase(header->value, TV_LIT("chunked")))
            return false;
        framing->is_chunked = true;
    } else if (tv_slice_eq_nocase(header->name, TV_LIT("connection"))) {
        return note_connection(framing, header->value);
    }
    return !(framing->has_length && framing->is_chunked);
}

/* Take the lines apart, from the second on.  `text` ends with the empty line. */
static bool parse_headers(tvc_response *response, tv_slice text, struct framing *framing)
{
    for (;;) {
        size_t lf = tv_slice_find(text, '\n');
        tv_header *header = &response->headers[response->header_count];

        if (lf == 1)
            return true;
        if (!parse_header(tv_slice_take(text, lf - 1), header) || !note_header(framing, header))
            return false;
        response->header_count++;
        text = tv_slice_skip(text, lf + 1);
    }
}

/* A copy of the head with room for its headers before it: one piece of memory for both. */
static bool keep_head(tvc_response *response, tv_slice head, size_t header_count)
{
    size_t table = header_count * sizeof(tv_header);
    char *memory = tvc_alloc(table + head.len);

    if (memory == NULL)
        return false;

    response->head = memory;
    response->headers = (tv_header *)(void *)memory;
    response->header_count = 0;
    tv_slice_put(memory + table, head);
    return true;
}

/* ---- body ---- */

static tvc_read make_room(tvc_reader *reader, size_t wanted)
{
    char *body = tvc_resize(reader->response->body, wanted + 1);

    if (body == NULL)
        return refuse(reader, TAVOLA_ERR_NO_MEMORY, "no memory for the answer");

    reader->response->body = body;
    reader->body_size = wanted;
    return TVC_READ_MORE;
}

static tvc_read whole(tvc_reader *reader)
{
    reader->part = WHOLE;
    if (reader->response->body)
        reader->response->body[reader->response->body_len] = '\0';
    return TVC_READ_WHOLE;
}

/* What comes after the head. */
static tvc_read begin_body(tvc_reader *reader, const struct framing *framing)
{
    int status = reader->response->status;

    reader->to_sink = reader->sink && reader->sink->write && status / 100 == 2;
    if (reader->is_head || status == 204 || status == 304)
        return whole(reader);
    if (framing->is_chunked) {
        reader->part = CHUNKS;
        return TVC_READ_MORE;
    }
    if (!framing->has_length) {
        reader->part = UNTIL_CLOSE;
        reader->keep_alive = false;
        return TVC_READ_MORE;
    }

    reader->part = LENGTH;
    reader->left = framing->length;
    if (reader->left == 0)
        return whole(reader);
    if (reader->to_sink)
        return TVC_READ_MORE;
    if (reader->left > TVC_BODY_BYTES_MAX)
        return bad(reader, "the answer is too long");
    return make_room(reader, reader->left < BODY_BYTES_FIRST ? reader->left : BODY_BYTES_FIRST);
}

/* An answer 1xx: forget it, the next head begins after it. */
static tvc_read skip_interim(tvc_reader *reader, tv_slice *input, size_t end, int status)
{
    if (status == 101)
        return bad(reader, "the server changed the protocol unasked");
    if (++reader->interim_count > TVC_INTERIM_MAX)
        return bad(reader, "too many interim answers");

    *input = tv_slice_skip(*input, end);
    reader->line = reader->seen = reader->line_count = 0;
    return TVC_READ_MORE;
}

static tvc_read take_head(tvc_reader *reader, tv_slice *input)
{
    tvc_response *response = reader->response;
    size_t end;
    int status;
    bool is_1_0;
    struct framing framing = {0};

    if (!scan_head(reader, *input, &end))
        return bad(reader, "the answer is not HTTP/1.1, or its head is too long");
    if (end == 0)
        return TVC_READ_MORE;

    tv_slice head = tv_slice_take(*input, end);
    size_t first = tv_slice_find(head, '\n') + 1;
    tv_slice line = tv_slice_take(head, first - 2);

    if (!parse_status(line, &status, &is_1_0) || !is_value(line))
        return bad(reader, "the answer has no valid status line");
    if (status < 200)
        return skip_interim(reader, input, end, status);
    if (!keep_head(response, head, reader->line_count - 1))
        return refuse(reader, TAVOLA_ERR_NO_MEMORY, "no memory for the answer");

    tv_slice kept = {response->head + (reader->line_count - 1) * sizeof(tv_header), end};

    if (!parse_headers(response, tv_slice_skip(kept, first), &framing))
        return bad(reader, "the answer has an invalid header");
    if (framing.is_chunked && is_1_0)
        return bad(reader, "an answer of HTTP/1.0 in chunks");

    response->status = status;
    reader->has_head = true;
    reader->keep_alive = !framing.says_close && (!is_1_0 || framing.says_keep_alive);
    *input = tv_slice_skip(*input, end);
    return begin_body(reader, &framing);
}

/* Keep bytes of a body, or pass them on. */
static tvc_read put_body(tvc_reader *reader, tv_slice bytes)
{
    tvc_response *response = reader->response;

    if (bytes.len == 0)
        return TVC_READ_MORE;
    if (reader->to_sink) {
        if (!reader->sink->write(reader->sink->user, bytes.data, bytes.len))
            return refuse(reader, TAVOLA_ERR_CANCELLED, "the receiver of the body stopped");
        return TVC_READ_MORE;
    }
    if (bytes.len > TVC_BODY_BYTES_MAX - response->body_len)
        return bad(reader, "the answer is too long");
    if (reader->body_size - response->body_len < bytes.len) {
        size_t wanted = 2 * reader->body_size + CHUNKED_BYTES_FIRST;

        if (wanted < response->body_len + bytes.len)
            wanted = response->body_len + bytes.len;
        if (wanted > TVC_BODY_BYTES_MAX)
            wanted = TVC_BODY_BYTES_MAX;
        if (reader->part == LENGTH && wanted > response->body_len + reader->left)
            wanted = response->body_len + (size_t)reader->left;
        if (make_room(reader, wanted) == TVC_READ_FAILED)
            return TVC_READ_FAILED;
    }
    tv_slice_put(response->body + response->body_len, bytes);
    response->body_len += bytes.len;
    return TVC_READ_MORE;
}

static tvc_read take_length(tvc_reader *reader, tv_slice *input)
{
    tv_slice bytes = *input;

    if (bytes.len > reader->left)
        bytes.len = (size_t)reader->left;
    if (put_body(reader, bytes) == TVC_READ_FAILED)
        return TVC_READ_FAILED;

    *input = tv_slice_skip(*input, bytes.len);
    reader->left -= bytes.len;
    return reader->left ? TVC_READ_MORE : whole(reader);
}

static tvc_read take_chunks(tvc_reader *reader, tv_slice *input)
{
    bool is_done = false;

    while (input->len && !is_done) {
        tv_slice bytes;

        if (tv_chunked_decode(&reader->chunked, input, &bytes, &is_done) != TV_OK)
            return bad(reader, "the chunks of the answer are broken");
        if (put_body(reader, bytes) == TVC_READ_FAILED)
            return TVC_READ_FAILED;
    }
    return is_done ? whole(reader) : TVC_READ_MORE;
}

static tvc_read take_rest(tvc_reader *reader, tv_slice *input)
{
    tv_slice bytes = *input;

    *input = tv_slice_skip(*input, input->len);
    return put_body(reader, bytes);
}

tvc_read tvc_reader_take(tvc_reader *reader, tv_slice *input)
{
    tvc_read read = TVC_READ_MORE;

    while (input->len && read == TVC_READ_MORE) {
        size_t before = input->len;

        switch ((enum part)reader->part) {
        case HEAD:
            read = take_head(reader, input);
            break;
        case LENGTH:
            read = take_length(reader, input);
            break;
        case CHUNKS:
            read = take_chunks(reader, input);
            break;
        case UNTIL_CLOSE:
            read = take_rest(reader, input);
            break;
        case WHOLE:
            return TVC_READ_WHOLE;
        }
        if (input->len == before) /* a head that goes on */
            break;
    }
    return read;
}

char *tvc_reader_space(const tvc_reader *reader, size_t *ret_size)
{
    const tvc_response *response = reader->response;

    if (reader->part != LENGTH || reader->to_sink || reader->body_size == response->body_len)
        return NULL;
    *ret_size = reader->body_size - response->body_len;
    return response->body + response->body_len;
}

tvc_read tvc_reader_add(tvc_reader *reader, size_t len)
{
    tv_assert(reader->part == LENGTH && len <= reader->left);
    reader->response->body_len += len;
    reader->left -= len;
    return reader->left ? TVC_READ_MORE : whole(reader);
}

tvc_read tvc_reader_end(tvc_reader *reader)
{
    if (reader->part == UNTIL_CLOSE || reader->part == WHOLE)
        return whole(reader);
    return refuse(reader, TAVOLA_ERR_NETWORK,
                  reader->has_head ? "the connection was closed in the middle of the answer"
                                   : "the connection was closed before an answer");
}

/* ---- response ---- */

tv_slice tvc_response_header(const tvc_response *response, tv_slice name)
{
    for (size_t i = 0; i < response->header_count; i++) {
        const tv_header *header = &response->headers[i];

        if (tv_slice_eq_nocase(header->name, name))
            return tv_slice_is_printable(header->value) ? header->value : TV_NONE;
    }
    return TV_NONE;
}

void tvc_response_done(tvc_response *response)
{
    tvc_release(response->head);
    tvc_release(response->body);
    *response = (tvc_response){0};
}
