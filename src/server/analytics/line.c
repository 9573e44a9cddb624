/* The fields, in their order. */
#include "server/analytics/line.h"

#include "base/datetime.h"
#include "base/number.h"
#include "base/uri.h"
#include "base/utf8.h"

static const tv_slice hidden = {"sig=XXXXX", 9};

/* --- quoted texts --- */

static void add_encoded_byte(tv_buf *out, unsigned char c, bool is_utf8)
{
    if (c == '&')
        tv_buf_add_lit(out, "&amp;");
    else if (c == '"')
        tv_buf_add_lit(out, "&quot;");
    else if (c == '<')
        tv_buf_add_lit(out, "&lt;");
    else if (c == '>')
        tv_buf_add_lit(out, "&gt;");
    else if (c < 0x20 || c == 0x7f)
        tv_buf_printf(out, "&#%d;", c);
    else if (c >= 0x80 && !is_utf8)
        tv_buf_add_lit(out, "&#65533;");
    else
        tv_buf_add_char(out, (char)c);
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '&' && c != '"' && c != '<' && c != '>';
}

/* A field that is empty has no quotes. */
static void add_quoted(tv_buf *out, tv_slice text)
{
    bool is_utf8 = tv_utf8_is_valid(text);

    if (text.len == 0)
        return;

    tv_buf_add_char(out, '"');
    while (text.len) {
        size_t plain = 0;

        while (plain < text.len && is_plain((unsigned char)text.data[plain]))
            plain++;
        tv_buf_add(out, tv_slice_take(text, plain));
        text = tv_slice_skip(text, plain);
        if (text.len) {
            add_encoded_byte(out, (unsigned char)text.data[0], is_utf8);
            text = tv_slice_skip(text, 1);
        }
    }
    tv_buf_add_char(out, '"');
}

/* --- URLs without their secrets --- */

static bool is_signature(tv_arena *scratch, tv_slice parameter)
{
    tv_slice name = tv_slice_take(parameter, tv_slice_find(parameter, '=')), decoded;

    return !tv_uri_decode_query(scratch, name, &decoded) ||
           tv_slice_eq_nocase(decoded, TV_LIT("sig"));
}

/* A text that should have no signature, and may have one all the same. */
static void add_cut(tv_buf *out, tv_slice text)
{
    size_t at = tv_uri_find_signature(text);

    tv_buf_add(out, tv_slice_take(text, at));
    if (at < text.len)
        tv_buf_add(out, hidden);
}

static void add_query(tv_buf *out, tv_arena *scratch, tv_slice query)
{
    char separator = '?';
    tv_slice part;

    while (tv_slice_next(&query, '&', &part)) {
        tv_buf_add_char(out, separator);
        separator = '&';
        if (is_signature(scratch, part))
            tv_buf_add(out, hidden);
        else
            add_cut(out, part);
    }
}

static bool has_port(tv_slice host)
{
    tv_slice name = host;

    if (name.len && name.data[0] == '[')
        name = tv_slice_skip(name, tv_slice_find(name, ']'));
    return tv_slice_find(name, ':') < name.len;
}

static void add_url(tv_buf *out, tv_arena *scratch, const tv_analytics_record *record)
{
    tv_slice host = record->texts[TV_ANALYTICS_HOST];

    tv_buf_add(out, record->is_tls ? TV_LIT("https://") : TV_LIT("http://"));
    add_cut(out, host);
    if (!has_port(host))
        tv_buf_add(out, record->is_tls ? TV_LIT(":443") : TV_LIT(":80"));
    add_cut(out, record->texts[TV_ANALYTICS_PATH]);
    add_query(out, scratch, record->texts[TV_ANALYTICS_QUERY]);
}

/* The scheme, host and path of a page, and its parameters without signatures. */
static void add_referrer(tv_buf *out, tv_arena *scratch, tv_slice url)
{
    size_t query = tv_slice_find(url, '?');

    add_cut(out, tv_slice_take(url, query));
    if (query < url.len)
        add_query(out, scratch, tv_slice_skip(url, query + 1));
}

/* --- the object --- */

/* Tables('People') is People. */
static tv_slice without_tables(tv_slice path)
{
    static const tv_slice opening = {"Tables('", 8}, closing = {"')", 2};

    if (tv_slice_starts_with(path, opening) && path.len > opening.len + closing.len &&
        tv_slice_eq(tv_slice_skip(path, path.len - closing.len), closing))
        return tv_slice_take(tv_slice_skip(path, opening.len),
                             path.len - opening.len - closing.len);
    return path;
}

/* What the path names, decoded; of messages, their queue. */
static tv_slice object_of(tv_arena *scratch, const tv_analytics_record *record)
{
    tv_slice rest = record->texts[TV_ANALYTICS_REST], path;
    tv_slice container = record->texts[TV_ANALYTICS_CONTAINER];

    if (!tv_uri_decode_path(scratch, rest, &path))
        path = rest;
    if (record->service == TV_SERVICE_QUEUE)
        return tv_slice_take(path, tv_slice_find(path, '/'));
    if (record->service == TV_SERVICE_TABLE && tv_slice_eq(path, TV_LIT("Tables")))
        return container;
    if (record->service == TV_SERVICE_TABLE)
        return without_tables(path);
    /* A blob in $root has no container in its path. */
    if (tv_slice_eq(container, TV_LIT("$root")) && tv_slice_find(path, '/') == path.len &&
        !tv_slice_eq(path, container))
        return tv_arena_printf(scratch, "$root/%.*s", TV_FMT(path));
    return path;
}

static void add_key(tv_buf *out, tv_arena *scratch, const tv_analytics_record *record)
{
    tv_slice object = object_of(scratch, record);

    tv_buf_add_char(out, '/');
    tv_buf_add(out, record->account);
    if (object.len)
        tv_buf_add_char(out, '/');
    add_cut(out, object);
}

/* --- single fields --- */

/* From 2017-04-17 on the error's own code says more. */
static tv_slice status_of(const tv_analytics_record *record)
{
    tv_slice version = record->texts[TV_ANALYTICS_VERSION];

    if (record->result == TV_ANALYTICS_CLIENT_OTHER && record->error &&
        tv_version_is_valid(version) && tv_slice_cmp(version, TV_LIT("2017-04-17")) >= 0)
        return tv_err_code(record->error);
    return tv_analytics_outcome_name(record->result, record->auth);
}

static tv_slice auth_name(tv_analytics_auth auth)
{
    static const char *const names[] = {
        [TV_ANALYTICS_KEY] = "authenticated",
        [TV_ANALYTICS_ANONYMOUS] = "anonymous",
        [TV_ANALYTICS_SAS] = "sas",
    };

    return tv_slice_of(names[auth]);
}

/* "Thursday, 19-Jun-14 22:58:10 GMT" */
static void add_last_modified(tv_buf *out, const tv_analytics_record *record)
{
    static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    int64_t ticks;

    if (record->service != TV_SERVICE_BLOB ||
        !tv_http_date_parse(record->texts[TV_ANALYTICS_RESPONSE_LAST_MODIFIED], &ticks))
        return;

    tv_date date = tv_date_of(ticks);

    tv_buf_printf(out, "%s, %02d-%s-%02d %02d:%02d:%02d GMT", days[date.weekday], date.day,
                  months[date.month - 1], date.year % 100, date.hour, date.minute, date.second);
}

static tv_slice conditions_of(tv_arena *scratch, const tv_analytics_record *record)
{
    static const struct {
        tv_analytics_text text;
        const char *name;
    } conditions[] = {
        {TV_ANALYTICS_IF_MODIFIED_SINCE, "If-Modified-Since"},
        {TV_ANALYTICS_IF_UNMODIFIED_SINCE, "If-Unmodified-Since"},
        {TV_ANALYTICS_IF_MATCH, "If-Match"},
        {TV_ANALYTICS_IF_NONE_MATCH, "If-None-Match"},
    };
    tv_buf list = TV_BUF_EMPTY;

    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        tv_slice value = record->texts[conditions[i].text];

        if (value.len == 0)
            continue;
        if (list.len)
            tv_buf_add_char(&list, ';');
        tv_buf_add(&list, tv_slice_of(conditions[i].name));
        tv_buf_add_char(&list, '=');
        tv_buf_add(&list, value);
    }

    tv_slice text = tv_arena_dup(scratch, tv_buf_slice(&list));

    tv_buf_done(&list);
    return text;
}

static uint64_t content_length_of(const tv_analytics_record *record)
{
    uint64_t length;

    return tv_parse_uint64(record->texts[TV_ANALYTICS_CONTENT_LENGTH], &length)
               ? length
               : record->request_body_bytes;
}

/* --- the line --- */

static void add_text(tv_buf *out, tv_slice text)
{
    tv_buf_add_char(out, ';');
    tv_buf_add(out, text);
}

static void add_number(tv_buf *out, uint64_t number)
{
    char digits[TV_INT64_TEXT_MAX];

    /* Without printf, which would cost more than the rest of the line. */
    number = number > INT64_MAX ? INT64_MAX : number;
    tv_buf_add_char(out, ';');
    tv_buf_add(out, (tv_slice){digits, tv_format_int64(digits, (int64_t)number)});
}

static void add_quoted_field(tv_buf *out, tv_slice text)
{
    tv_buf_add_char(out, ';');
    add_quoted(out, text);
}

/* One that is put together first. */
static void add_built_field(tv_buf *out, tv_arena *scratch, const tv_analytics_record *record,
                            void (*build)(tv_buf *, tv_arena *, const tv_analytics_record *))
{
    tv_buf text = TV_BUF_EMPTY;

    build(&text, scratch, record);
    add_quoted_field(out, tv_buf_slice(&text));
    tv_buf_done(&text);
}

static void build_referrer(tv_buf *out, tv_arena *scratch, const tv_analytics_record *record)
{
    add_referrer(out, scratch, record->texts[TV_ANALYTICS_REFERRER]);
}

/* 1 to 16: what was asked for and how it ended. */
static void add_request(tv_buf *out, tv_arena *scratch, const tv_analytics_record *record)
{
    char time[TV_DATETIME_TEXT_MAX];
    size_t len = tv_datetime_format7(time, record->start_ticks);

    tv_buf_add(out, record->switches.has_log_2 ? TV_LIT("2.0") : TV_LIT("1.0"));
    add_text(out, (tv_slice){time, len});
    add_text(out, record->op_name);
    add_text(out, status_of(record));
    if (record->status)
        add_number(out, (uint64_t)record->status);
    else
        add_text(out, TV_LIT("Unknown"));
    add_number(out, (uint64_t)record->total_us / 1000);
    add_number(out, (uint64_t)record->server_us / 1000);
    add_text(out, auth_name(record->auth));
    add_text(out, record->auth == TV_ANALYTICS_KEY ? record->account : TV_NONE);
    add_text(out, record->account);
    add_text(out, tv_service_kind_name(record->service));
    add_built_field(out, scratch, record, add_url);
    add_built_field(out, scratch, record, add_key);
    add_text(out, (tv_slice){record->request_id, sizeof record->request_id});
    add_text(out, TV_LIT("0"));
    add_text(out, record->texts[TV_ANALYTICS_PEER]);
}

/* 17 to 30: sizes and headers. */
static void add_details(tv_buf *out, tv_arena *scratch, const tv_analytics_record *record)
{
    tv_slice version = record->texts[TV_ANALYTICS_VERSION];
    bool is_blob = record->service == TV_SERVICE_BLOB;

    add_text(out, tv_version_is_valid(version) ? version : TV_NONE);
    add_number(out, record->request_head_bytes);
    add_number(out, record->request_body_bytes);
    add_number(out, record->response_head_bytes);
    add_number(out, record->response_body_bytes);
    add_number(out, content_length_of(record));
    add_quoted_field(out, is_blob ? record->texts[TV_ANALYTICS_CONTENT_MD5] : TV_NONE);
    add_quoted_field(out, is_blob ? record->texts[TV_ANALYTICS_RESPONSE_MD5] : TV_NONE);
    add_quoted_field(out, record->texts[TV_ANALYTICS_RESPONSE_ETAG]);
    tv_buf_add_char(out, ';');
    add_last_modified(out, record);
    add_quoted_field(out, conditions_of(scratch, record));
    add_quoted_field(out, record->texts[TV_ANALYTICS_USER_AGENT]);
    add_built_field(out, scratch, record, build_referrer);
    add_quoted_field(out, record->texts[TV_ANALYTICS_CLIENT_REQUEST_ID]);
}

void tv_analytics_add_line(tv_buf *out, tv_arena *scratch, const tv_analytics_record *record)
{
    add_request(out, scratch, record);
    add_details(out, scratch, record);
    if (record->switches.has_log_2)
        tv_buf_add_lit(out, ";;;;;;;;"); /* 31 to 38 are about OAuth, which is not there */
    tv_buf_add_char(out, '\n');
}
