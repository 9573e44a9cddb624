/*
 * The bodies of errors.  The table service itself, unlike queues and blobs, does
 * not say why it did not let a request in.  Here a member next to odata.error does,
 * and clients that show the whole body show it; inside, azure-data-tables for
 * Python would stumble over it.
 */
#include "base/clock.h"
#include "base/datetime.h"
#include "base/json.h"
#include "base/xml.h"
#include "services/table/call.h"

static tv_slice error_text(tv_err err, const tv_error_info *info)
{
    return info && info->text.data ? info->text : tv_err_text(err);
}

/* "text\nRequestId:…\nTime:…", the last two always there; times have seven digits. */
static void add_message(tv_buf *buf, tv_slice prefix, tv_slice text, tv_slice request_id)
{
    tv_buf_add(buf, prefix);
    tv_buf_add(buf, text);
    tv_buf_add_lit(buf, "\nRequestId:");
    tv_buf_add(buf, request_id);
    tv_buf_add_lit(buf, "\nTime:");
    buf->len += tv_datetime_format7(tv_buf_reserve(buf, TV_DATETIME_TEXT_MAX), tv_clock_ticks());
}

void tv_table_add_error_json(tv_buf *buf, tv_err err, const tv_error_info *info,
                             tv_slice message_prefix, tv_slice request_id)
{
    tv_buf message = TV_BUF_EMPTY;

    add_message(&message, message_prefix, error_text(err, info), request_id);
    tv_buf_add_lit(buf, "{\"odata.error\":{\"code\":\"");
    tv_buf_add(buf, tv_err_code(err));
    tv_buf_add_lit(buf, "\",\"message\":{\"lang\":\"en-US\",\"value\":");
    tv_json_add_string(buf, tv_buf_slice(&message));
    tv_buf_add_lit(buf, "}}");
    if (info && info->reason.len)
        tv_json_text(buf, "AuthenticationErrorDetail", info->reason);
    tv_buf_add_char(buf, '}');
    tv_buf_done(&message);
}

void tv_table_add_error_xml(tv_buf *buf, tv_err err, const tv_error_info *info, tv_slice request_id)
{
    tv_buf message = TV_BUF_EMPTY;

    add_message(&message, TV_LIT(""), error_text(err, info), request_id);
    tv_buf_add_lit(buf, "<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error xmlns:m=\"http://"
                        "schemas.microsoft.com/ado/2007/08/dataservices/metadata\"><m:code>");
    tv_buf_add(buf, tv_err_code(err));
    tv_buf_add_lit(buf, "</m:code><m:message xml:lang=\"en-US\">");
    tv_xml_add_text(buf, tv_buf_slice(&message));
    tv_buf_add_lit(buf, "</m:message>");
    if (info && info->reason.len)
        tv_xml_add_element(buf, "m:AuthenticationErrorDetail", info->reason);
    tv_buf_add_lit(buf, "</m:error>");
    tv_buf_done(&message);
}
