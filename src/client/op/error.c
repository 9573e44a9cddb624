/*
 * Error answers of all services: JSON from tables, XML from queues, blobs and whatever stands in
 * front of them.  They come from outside and are read for people: what is not there is left out,
 * what cannot be shown becomes '?', and nothing here fails.
 */
#include <stdio.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/json.h"
#include "base/utf8.h"
#include "client/op/call.h"

enum {
    BODY_BYTES_MAX = 64 * 1024, /* of an error that we look into */
    SKEW_MINUTES_MAX = 10,      /* of clocks; the service allows 15 */
    REMARK_MAX = 128,           /* of ours about a message */
};

/* ---- what an answer stands for -------------------------------------------------------------- */

static bool ends_with(tv_slice text, tv_slice end)
{
    return text.len >= end.len && tv_slice_eq(tv_slice_skip(text, text.len - end.len), end);
}

static bool is_too_large(tv_slice code)
{
    return ends_with(code, TV_LIT("TooLarge")) ||
           tv_slice_eq(code, TV_LIT("PropertyNameTooLong")) ||
           tv_slice_eq(code, TV_LIT("TooManyProperties"));
}

static tavola_err err_of_5xx(int status)
{
    switch (status) {
    case 501:
    case 505:
        return TAVOLA_ERR_UNSUPPORTED;
    case 503:
        return TAVOLA_ERR_BUSY;
    default:
        return TAVOLA_ERR_SERVER;
    }
}

tavola_err tvc_err_of(int status, tv_slice code)
{
    if (status >= 200 && status <= 299)
        return TAVOLA_OK;
    if (status >= 500 && status <= 599)
        return err_of_5xx(status);

    switch (status) {
    case 304: /* a condition of a read does not hold */
        return TAVOLA_ERR_ETAG;
    case 401:
    case 403:
        return TAVOLA_ERR_DENIED;
    case 404:
        return TAVOLA_ERR_NOT_FOUND;
    case 405:
    case 415:
        return TAVOLA_ERR_UNSUPPORTED;
    case 408:
        return TAVOLA_ERR_TIMEOUT;
    case 409:
        return ends_with(code, TV_LIT("AlreadyExists")) ? TAVOLA_ERR_EXISTS : TAVOLA_ERR_CONFLICT;
    case 412: /* leases of blobs use it, too */
        return tv_slice_starts_with(code, TV_LIT("Lease")) ? TAVOLA_ERR_CONFLICT : TAVOLA_ERR_ETAG;
    case 413:
    case 414:
    case 431:
        return TAVOLA_ERR_TOO_LARGE;
    case 429:
        return TAVOLA_ERR_BUSY;
    default:
        break;
    }
    if (status >= 400 && status <= 499)
        return is_too_large(code) ? TAVOLA_ERR_TOO_LARGE : TAVOLA_ERR_INVALID;
    return TAVOLA_ERR_PROTOCOL;
}

bool tvc_is_absent(tavola_err err, const tavola_call *call)
{
    static const char *const places[] = {"TableNotFound", "ContainerNotFound", "QueueNotFound"};

    if (err != TAVOLA_ERR_NOT_FOUND)
        return false;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (strcmp(tavola_call_code(call), places[i]) == 0)
            return false;
    }
    return true;
}

/* ---- texts ---------------------------------------------------------------------------------- */

/* Copy one line, cut off between characters; what is not text becomes '?'. */
static void put_line(char *to, size_t size, tv_slice text)
{
    bool is_utf8 = tv_utf8_is_valid(text);
    size_t len = tv_slice_find(text, '\n');

    if (len >= size) {
        len = size - 1;
        while (is_utf8 && len && ((unsigned char)text.data[len] & 0xc0) == 0x80)
            len--;
    }
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text.data[i];

        to[i] = c < 0x20 || c == 0x7f || (c > 0x7f && !is_utf8) ? '?' : (char)c;
    }
    while (len && (to[len - 1] == ' ' || text.data[len - 1] == '\r'))
        len--;
    to[len] = '\0';
}

static void set_error(tavola_call *call, tv_slice code, tv_slice message)
{
    put_line(call->code, sizeof call->code, code);
    put_line(call->message, sizeof call->message, message);
}

void tvc_call_set_error(tavola_call *call, const char *code, const char *message)
{
    if (call)
        set_error(call, tv_slice_of(code ? code : ""), tv_slice_of(message ? message : ""));
}

/* ---- bodies --------------------------------------------------------------------------------- */

/* {"odata.error":{"code":"X","message":{"lang":"en-US","value":"..."}}}; a plain string will do. */
static void read_json_message(tv_arena *arena, tv_slice object, tv_slice *ret_message)
{
    tv_json_reader reader;
    tv_json_member member;

    tv_json_reader_init(&reader, arena, object);
    while (tv_json_next(&reader, &member)) {
        if (member.kind == TV_JSON_STRING && tv_slice_eq(member.name, TV_LIT("value")))
            *ret_message = member.text;
    }
}

static void read_json_error(tv_arena *arena, tv_slice object, tv_slice *ret_code,
                            tv_slice *ret_message)
{
    tv_json_reader reader;
    tv_json_member member;

    tv_json_reader_init(&reader, arena, object);
    while (tv_json_next(&reader, &member)) {
        bool is_message = tv_slice_eq(member.name, TV_LIT("message"));

        if (member.kind == TV_JSON_STRING && tv_slice_eq(member.name, TV_LIT("code")))
            *ret_code = member.text;
        else if (member.kind == TV_JSON_STRING && is_message)
            *ret_message = member.text;
        else if (member.kind == TV_JSON_NESTED && is_message && member.text.data[0] == '{')
            read_json_message(arena, member.text, ret_message);
    }
}

static void read_json(tv_arena *arena, tv_slice body, tv_slice *ret_code, tv_slice *ret_message)
{
    tv_json_reader reader;
    tv_json_member member;

    tv_json_reader_init(&reader, arena, body);
    while (tv_json_next(&reader, &member)) {
        if (member.kind == TV_JSON_NESTED && member.text.data[0] == '{' &&
            (tv_slice_eq(member.name, TV_LIT("odata.error")) ||
             tv_slice_eq(member.name, TV_LIT("error"))))
            read_json_error(arena, member.text, ret_code, ret_message);
    }
}

/* What stands between <name> and the next '<', as it is; nothing when there is none. */
static tv_slice find_element(tv_slice body, tv_slice tag)
{
    const char *at = memmem(body.data, body.len, tag.data, tag.len);

    if (at == NULL)
        return TV_LIT("");

    tv_slice rest = tv_slice_skip(body, (size_t)(at - body.data) + tag.len);

    return tv_slice_take(rest, tv_slice_find(rest, '<'));
}

/* Replace the five entities of XML; a text never grows by it.  In the arena. */
static tv_slice decode_xml(tv_arena *arena, tv_slice text)
{
    static const struct {
        tv_slice entity;
        char c;
    } entities[] = {
        {{"&amp;", 5}, '&'},  {{"&lt;", 4}, '<'},    {{"&gt;", 4}, '>'},
        {{"&quot;", 6}, '"'}, {{"&apos;", 6}, '\''},
    };
    char *to = tv_arena_bytes(arena, text.len + 1);
    size_t len = 0;

    while (text.len) {
        size_t taken = 1;
        char c = text.data[0];

        for (size_t i = 0; c == '&' && i < sizeof entities / sizeof entities[0]; i++) {
            if (tv_slice_starts_with(text, entities[i].entity)) {
                c = entities[i].c;
                taken = entities[i].entity.len;
                break;
            }
        }
        to[len++] = c;
        text = tv_slice_skip(text, taken);
    }
    return (tv_slice){to, len};
}

static void read_xml(tv_arena *arena, tv_slice body, tv_slice *ret_code, tv_slice *ret_message)
{
    *ret_code = decode_xml(arena, find_element(body, TV_LIT("<Code>")));
    *ret_message = decode_xml(arena, find_element(body, TV_LIT("<Message>")));
}

/* False when there is no memory to look into it. */
static bool read_body(tavola_call *call, tv_slice body)
{
    enum { READERS = 4, SPARE = 1024 }; /* each level of an object may copy all of its text once */
    tv_slice code = TV_LIT(""), message = TV_LIT("");
    tv_arena arena;

    if (body.len == 0 || body.len > BODY_BYTES_MAX)
        return true;

    tv_arena_init(&arena);

    bool has_memory = tv_arena_reserve(&arena, body.len * READERS + SPARE) == TV_OK;

    if (has_memory) {
        size_t start = 0;

        while (start < body.len && (unsigned char)body.data[start] <= ' ')
            start++;
        if (start < body.len && body.data[start] == '{')
            read_json(&arena, body, &code, &message);
        else
            read_xml(&arena, body, &code, &message);
        set_error(call, code, message);
    }
    tv_arena_done(&arena);
    return has_memory;
}

/* ---- the whole answer ----------------------------------------------------------------------- */

/* A signature is refused when the clocks differ too much, which its message does not say. */
static void hint_at_clock(tavola_call *call, const tvc_response *response)
{
    tv_slice date = tvc_response_header(response, TV_LIT("Date"));
    int64_t theirs;

    if (!tv_slice_eq(tv_slice_of(call->code), TV_LIT("AuthenticationFailed")) ||
        date.data == NULL || !tv_http_date_parse(date, &theirs))
        return;

    int64_t minutes = (tv_clock_ticks() - theirs) / (60 * TV_TICKS_PER_SECOND);

    if (minutes > -SKEW_MINUTES_MAX && minutes < SKEW_MINUTES_MAX)
        return;

    char line[sizeof call->message + REMARK_MAX];

    snprintf(line, sizeof line, "check the clock: it is %lld minutes %s that of the service; %s",
             (long long)(minutes < 0 ? -minutes : minutes), minutes < 0 ? "behind" : "ahead of",
             call->message);
    tvc_call_set_error(call, call->code, line);
}

tavola_err tvc_call_read_error(tavola_call *call, const tvc_response *response)
{
    tavola_call scratch;
    tv_slice code = tvc_response_header(response, TV_LIT("x-ms-error-code"));

    if (call == NULL) {
        tvc_call_init(&scratch);
        call = &scratch;
    }
    set_error(call, TV_LIT(""), TV_LIT(""));

    bool is_read =
        read_body(call, (tv_slice){response->body, response->body ? response->body_len : 0});

    if (call->code[0] == '\0' && code.data)
        put_line(call->code, sizeof call->code, code);
    if (call->message[0] == '\0')
        snprintf(call->message, sizeof call->message, "the service answered with status %d",
                 response->status);
    if (response->status == 401 || response->status == 403)
        hint_at_clock(call, response);
    /* The status alone would be taken for another error than the code tells. */
    return is_read ? tvc_err_of(response->status, tv_slice_of(call->code)) : TAVOLA_ERR_NO_MEMORY;
}
