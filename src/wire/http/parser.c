/* The strict reader of request heads. */
#include "wire/http/parser.h"

#include "base/url.h"

enum {
    EMPTY_LINES_MAX = 4, /* before a request line; RFC 9112, 2.2 asks for one */
    LENGTH_DIGITS_MAX = 18,
};

/* clang-format off */
/* A name or address with an optional port; no user, no path. */
static const bool host_chars[256] = {
    ['!'] = 1, ['$' ... '.'] = 1, ['0' ... ';'] = 1, ['='] = 1, ['A' ... '['] = 1, [']'] = 1,
    ['_'] = 1, ['a' ... 'z'] = 1, ['~'] = 1,
};
/* clang-format on */

/* How many bytes at the front of `text` are in the set. */
static size_t span(tv_slice text, const bool set[256])
{
    size_t count = 0;

    while (count < text.len && set[(unsigned char)text.data[count]])
        count++;
    return count;
}

static inline bool is_control(char c)
{
    return (((unsigned char)c < 0x20) & (c != '\t')) | (c == 0x7f);
}

/*
 * The number of control characters, tabs excepted.  Every line of a sound head
 * ends in CR and LF and holds no other, so that one count over all of it, which
 * the compiler turns into vector instructions, finds NUL, bare CR and the rest.
 * A run is as long as a byte can count: sixteen sums at once, none of them wider.
 */
static size_t count_controls(tv_slice text)
{
    enum { RUN = 128 };
    size_t count = 0;

    for (; text.len >= RUN; text = tv_slice_skip(text, RUN)) {
        uint8_t run = 0;

        for (size_t i = 0; i < RUN; i++)
            run += is_control(text.data[i]);
        count += run;
    }
    for (size_t i = 0; i < text.len; i++)
        count += is_control(text.data[i]);
    return count;
}

/* Whether eight bytes may have a control character: a tab, and what follows one, looks like it. */
static bool may_have_control(const char *from)
{
    const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;
    uint64_t word, del;

    memcpy(&word, from, 8);
    del = word ^ ones * 0x7f;
    return ((word - ones * 0x20) & ~word & highs) || ((del - ones) & ~del & highs);
}

/* Eight bytes at a time, the last eight once more if need be: values are short. */
bool tv_http_is_field_value(tv_slice text)
{
    bool is_odd = text.len < 8 || may_have_control(text.data + text.len - 8);

    for (size_t i = 0; i + 8 <= text.len && !is_odd; i += 8)
        is_odd = may_have_control(text.data + i);
    return !is_odd || count_controls(text) == 0;
}

tv_err tv_head_scan_run(tv_head_scan *scan, tv_slice input, size_t head_bytes_max,
                        size_t header_count_max, size_t *ret_end)
{
    *ret_end = 0;
    while (scan->at < input.len) {
        const char *from = input.data + scan->at;

        /* Tells TLS or noise on a plain port at once, not at the header deadline. */
        if (scan->at == scan->start && *from != '\r' && !tv_token_chars[(unsigned char)*from])
            return TV_ERR_BAD_REQUEST;

        const char *lf = memchr(from, '\n', input.len - scan->at);

        scan->at = lf ? (size_t)(lf - input.data) + 1 : input.len;
        if (scan->at - scan->start > head_bytes_max)
            return TV_ERR_HEADERS_TOO_LARGE;
        if (lf == NULL)
            break;

        size_t line_len = scan->at - scan->line;

        if (line_len < 2 || lf[-1] != '\r')
            return TV_ERR_BAD_REQUEST;

        scan->line = scan->at;
        if (line_len > 2) {
            if (++scan->line_count > header_count_max + 1)
                return TV_ERR_HEADERS_TOO_LARGE;
        } else if (scan->line_count > 0) {
            *ret_end = scan->at;
            break;
        } else {
            scan->start = scan->at;
            if (scan->start > 2 * EMPTY_LINES_MAX)
                return TV_ERR_BAD_REQUEST;
        }
    }
    return TV_OK;
}

/* Cut the next line off the front of `rest`, without its CRLF. */
static bool next_line(tv_slice *rest, tv_slice *ret_line)
{
    size_t lf = tv_slice_find(*rest, '\n');

    if (lf == rest->len || lf == 0 || rest->data[lf - 1] != '\r')
        return false;

    *ret_line = tv_slice_take(*rest, lf - 1);
    *rest = tv_slice_skip(*rest, lf + 1);
    return true;
}

static bool is_host(tv_slice text)
{
    return text.len > 0 && span(text, host_chars) == text.len;
}

/* "http://host/path?query" as a proxy gets it; RFC 9112, 3.2.2 asks servers to accept it. */
static tv_err parse_absolute(tv_slice target, tv_head *head)
{
    const char *why;
    tv_url url;

    if (!tv_url_parse(target, &url, &why) || !tv_url_is_http(&url) || url.user.data)
        return TV_ERR_BAD_REQUEST;

    head->host = url.place;
    head->path = tv_slice_skip(target, (size_t)(url.path.data - target.data));
    return TV_OK;
}

/*
 * Splits the target into path and query, after the host of an absolute one.
 * The forms of CONNECT and of "OPTIONS *" name no resource of any service.
 */
static tv_err parse_target(tv_slice target, tv_head *head)
{
    tv_err err = TV_OK;

    /* It holds no blank, since it was cut off at one; no control character but the tab, by the
     * count over the head; and no fragment.  Bytes above ASCII are left to the URL decoder. */
    if (target.len == 0 || tv_slice_find(target, '\t') < target.len ||
        tv_slice_find(target, '#') < target.len)
        return TV_ERR_BAD_REQUEST;

    if (target.data[0] == '/')
        head->path = target;
    else
        err = parse_absolute(target, head);
    if (err)
        return err;

    size_t question = tv_slice_find(head->path, '?');

    if (question < head->path.len) {
        head->query = tv_slice_skip(head->path, question + 1);
        head->path = tv_slice_take(head->path, question);
    }
    if (head->path.len == 0)
        head->path = TV_LIT("/");
    return TV_OK;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static tv_err parse_version(tv_slice text, tv_head *head)
{
    if (tv_slice_eq(text, TV_LIT("HTTP/1.1")))
        return TV_OK;

    if (tv_slice_eq(text, TV_LIT("HTTP/1.0"))) {
        head->is_1_0 = true;
        return TV_OK;
    }
    bool is_version = text.len == 8 && tv_slice_starts_with(text, TV_LIT("HTTP/")) &&
                      is_digit(text.data[5]) && text.data[6] == '.' && is_digit(text.data[7]);

    return is_version ? TV_ERR_HTTP_VERSION : TV_ERR_BAD_REQUEST;
}

static tv_err parse_request_line(tv_slice line, tv_head *head)
{
    size_t method_len = span(line, tv_token_chars);

    if (method_len == 0 || method_len == line.len || line.data[method_len] != ' ')
        return TV_ERR_BAD_REQUEST;

    head->method_text = tv_slice_take(line, method_len);
    head->method = tv_method_parse(head->method_text);

    tv_slice rest = tv_slice_skip(line, method_len + 1);
    size_t target_len = tv_slice_find(rest, ' ');

    if (target_len == rest.len)
        return TV_ERR_BAD_REQUEST;

    tv_err err = parse_version(tv_slice_skip(rest, target_len + 1), head);
    if (err)
        return err;

    return parse_target(tv_slice_take(rest, target_len), head);
}

/* Digits only, and no list of equal lengths either. */
static tv_err parse_length(tv_slice text, tv_head *head)
{
    if (head->has_length || text.len == 0 || text.len > LENGTH_DIGITS_MAX)
        return TV_ERR_BAD_REQUEST;

    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.data[i]))
            return TV_ERR_BAD_REQUEST;
        head->content_length = head->content_length * 10 + (uint64_t)(text.data[i] - '0');
    }
    head->has_length = true;
    return TV_OK;
}

/* What the Connection headers have asked for so far. */
typedef struct wishes {
    bool close, keep_alive;
    size_t host_count;
    tv_slice host;
} wishes;

static void parse_connection(tv_slice list, wishes *wish)
{
    tv_slice item;

    while (tv_slice_next(&list, ',', &item)) {
        item = tv_slice_trim(item);
        wish->close |= tv_slice_eq_nocase(item, TV_LIT("close"));
        wish->keep_alive |= tv_slice_eq_nocase(item, TV_LIT("keep-alive"));
    }
}

/* Take note of the headers that are about the connection and the body; others are the service's. */
static tv_err note_header(tv_slice name, tv_slice value, tv_head *head, wishes *wish)
{
    switch (name.len) {
    case 4:
        if (!tv_slice_eq_nocase(name, TV_LIT("Host")))
            break;
        wish->host = value;
        if (++wish->host_count > 1 || (value.len && !is_host(value)))
            return TV_ERR_BAD_REQUEST;
        break;
    case 6:
        if (!tv_slice_eq_nocase(name, TV_LIT("Expect")))
            break;
        if (!tv_slice_eq_nocase(value, TV_LIT("100-continue")))
            return TV_ERR_EXPECTATION;
        head->expect_continue = true;
        break;
    case 10:
        if (tv_slice_eq_nocase(name, TV_LIT("Connection")))
            parse_connection(value, wish);
        break;
    case 14:
        if (tv_slice_eq_nocase(name, TV_LIT("Content-Length")))
            return parse_length(value, head);
        break;
    case 17:
        if (!tv_slice_eq_nocase(name, TV_LIT("Transfer-Encoding")))
            break;
        if (head->is_chunked || !tv_slice_eq_nocase(value, TV_LIT("chunked")))
            return TV_ERR_BAD_REQUEST;
        head->is_chunked = true;
        break;
    }
    return TV_OK;
}

/* A folded line begins with a blank, which is not a token either. */
static tv_err parse_header(tv_slice line, tv_header *ret_header)
{
    size_t name_len = span(line, tv_token_chars);

    if (name_len == 0 || name_len == line.len || line.data[name_len] != ':')
        return TV_ERR_BAD_REQUEST;

    ret_header->name = tv_slice_take(line, name_len);
    ret_header->value = tv_slice_trim(tv_slice_skip(line, name_len + 1));
    return TV_OK;
}

/* What is known only from all headers together. */
static tv_err conclude(tv_head *head, const wishes *wish)
{
    /* HTTP/1.0 knows no chunks, so a 1.0 proxy in front of us would see another body. */
    if (head->is_chunked && (head->has_length || head->is_1_0))
        return TV_ERR_BAD_REQUEST;

    /* RFC 9112, 3.2: an absolute target wins over Host, which 1.1 must send all the same. */
    if (!head->is_1_0 && (wish->host_count == 0 || (wish->host.len == 0 && head->host.len == 0)))
        return TV_ERR_HOST_MISSING;

    if (head->host.data == NULL)
        head->host = wish->host;
    head->keep_alive = !wish->close && (!head->is_1_0 || wish->keep_alive);
    head->expect_continue &= !head->is_1_0;
    return TV_OK;
}

tv_err tv_head_parse(tv_arena *arena, tv_slice text, size_t line_count, tv_head *ret_head)
{
    tv_head head = {0};
    wishes wish = {0};
    tv_slice rest = text, line;

    if (line_count == 0 || count_controls(text) != 2 * (line_count + 1) || !next_line(&rest, &line))
        return TV_ERR_BAD_REQUEST;

    tv_err err = parse_request_line(line, &head);
    if (err)
        return err;

    tv_header *headers = tv_arena_alloc(arena, line_count * sizeof *headers);

    while (head.header_count < line_count - 1) {
        tv_header *header = &headers[head.header_count];

        if (!next_line(&rest, &line))
            return TV_ERR_BAD_REQUEST;

        err = parse_header(line, header);
        if (err)
            return err;

        err = note_header(header->name, header->value, &head, &wish);
        if (err)
            return err;

        head.header_count++;
    }
    head.headers = headers;
    err = conclude(&head, &wish);
    if (err)
        return err;

    *ret_head = head;
    return TV_OK;
}
