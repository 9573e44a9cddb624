/* Values as literals of a filter, in the forms that the SDKs write. */
#include <math.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "base/guid.h"
#include "base/number.h"
#include "base/utf8.h"
#include "client/query/filter.h"

static tavola_err write_string(tvc_text *text, tv_slice string)
{
    enum { BYTES_PER_BYTE = 2, QUOTES = 2 };

    if (!tv_utf8_is_valid(string))
        return TAVOLA_ERR_INVALID;
    if (string.len > TVC_FILTER_BYTES_MAX)
        return TAVOLA_ERR_TOO_LARGE;
    if (!tvc_text_room(text, string.len * BYTES_PER_BYTE + QUOTES))
        return TAVOLA_ERR_NO_MEMORY;

    tv_buf_add_char(&text->buf, '\'');
    for (size_t i = 0; i < string.len; i++) {
        if (string.data[i] == '\'')
            tv_buf_add_char(&text->buf, '\'');
        tv_buf_add_char(&text->buf, string.data[i]);
    }
    tv_buf_add_char(&text->buf, '\'');
    return TAVOLA_OK;
}

static tavola_err write_binary(tvc_text *text, tv_slice bytes)
{
    static const char digits[] = "0123456789abcdef";

    if (bytes.len > TVC_FILTER_BYTES_MAX)
        return TAVOLA_ERR_TOO_LARGE;

    tvc_text_add_lit(text, "X'");
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = (unsigned char)bytes.data[i];

        tvc_text_add(text, (tv_slice){(char[]){digits[byte >> 4], digits[byte & 15]}, 2});
    }
    tvc_text_add_char(text, '\'');
    return TAVOLA_OK;
}

/* Always with a point or an exponent: without one it would be an Int32. */
static tavola_err write_double(tvc_text *text, double number)
{
    char digits[TV_DOUBLE_TEXT_MAX];

    if (isnan(number))
        tvc_text_add_lit(text, "NaN");
    else if (isinf(number))
        tvc_text_add(text, number > 0 ? TV_LIT("INF") : TV_LIT("-INF"));
    else
        tvc_text_add(text, (tv_slice){digits, tv_format_double(digits, number)});
    return TAVOLA_OK;
}

static tavola_err write_datetime(tvc_text *text, tavola_ticks ticks)
{
    char digits[TV_DATETIME_TEXT_MAX];

    if (ticks < 0 || ticks > TV_TICKS_MAX)
        return TAVOLA_ERR_INVALID;

    tvc_text_add_lit(text, "datetime'");
    tvc_text_add(text, (tv_slice){digits, tv_datetime_format7(digits, ticks)});
    tvc_text_add_char(text, '\'');
    return TAVOLA_OK;
}

static tavola_err write_guid(tvc_text *text, const tavola_guid *guid)
{
    char digits[TV_GUID_TEXT_LEN];
    tv_guid copy;

    _Static_assert(sizeof copy == sizeof *guid, "both are the 16 bytes in the order of the text");
    memcpy(&copy, guid, sizeof copy);
    tv_guid_format(digits, &copy);
    tvc_text_add_lit(text, "guid'");
    tvc_text_add(text, (tv_slice){digits, sizeof digits});
    tvc_text_add_char(text, '\'');
    return TAVOLA_OK;
}

tavola_err tvc_literal_write(tvc_text *text, const tavola_value *value)
{
    tv_slice bytes = {value->as.ptr, value->size}; /* of a String or Binary */

    switch (value->type) {
    case TAVOLA_STRING:
        return bytes.data ? write_string(text, bytes) : TAVOLA_ERR_INVALID;
    case TAVOLA_BINARY:
        return bytes.data || bytes.len == 0 ? write_binary(text, bytes) : TAVOLA_ERR_INVALID;
    case TAVOLA_BOOLEAN:
        tvc_text_add(text, value->as.boolean ? TV_LIT("true") : TV_LIT("false"));
        return TAVOLA_OK;
    case TAVOLA_INT32:
        tvc_text_add_int64(text, value->as.int32);
        return TAVOLA_OK;
    case TAVOLA_INT64:
        tvc_text_add_int64(text, value->as.int64);
        tvc_text_add_char(text, 'L');
        return TAVOLA_OK;
    case TAVOLA_DOUBLE:
        return write_double(text, value->as.real);
    case TAVOLA_DATETIME:
        return write_datetime(text, value->as.ticks);
    case TAVOLA_GUID:
        return write_guid(text, &value->as.guid);
    case TAVOLA_NONE:
        break;
    }
    return TAVOLA_ERR_INVALID;
}

const char *tvc_literal_fault(tavola_err err, const tavola_value *value)
{
    if (err == TAVOLA_ERR_TOO_LARGE)
        return "longer than a filter can be";
    if (err == TAVOLA_ERR_NO_MEMORY)
        return "more than there is memory for";
    switch (value->type) {
    case TAVOLA_STRING:
        return value->as.ptr ? "a String that is not UTF-8" : "a String that is NULL";
    case TAVOLA_BINARY:
        return "a Binary that is NULL";
    case TAVOLA_DATETIME:
        return "a time outside of the years 1 to 9999";
    default:
        return "a value without a type";
    }
}
