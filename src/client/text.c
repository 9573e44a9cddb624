/* Text that remembers when memory was short. */
#include "client/text.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/number.h"
#include "base/uri.h"
#include "client/memory.h"

void tvc_text_done(tvc_text *text)
{
    tv_buf_done(&text->buf);
    text->has_failed = false;
}

void tvc_text_reset(tvc_text *text)
{
    tv_buf_reset(&text->buf);
    text->has_failed = false;
}

bool tvc_text_room(tvc_text *text, size_t count)
{
    if (!text->has_failed && tv_buf_try_grow(&text->buf, count) != TV_OK)
        text->has_failed = true;
    return !text->has_failed;
}

void tvc_text_add(tvc_text *text, tv_slice bytes)
{
    if (tvc_text_room(text, bytes.len))
        tv_buf_add(&text->buf, bytes);
}

void tvc_text_add_char(tvc_text *text, char c)
{
    if (tvc_text_room(text, 1))
        tv_buf_add_char(&text->buf, c);
}

void tvc_text_add_int64(tvc_text *text, int64_t number)
{
    char digits[TV_INT64_TEXT_MAX];

    tvc_text_add(text, (tv_slice){digits, tv_format_int64(digits, number)});
}

void tvc_text_add_json(tvc_text *text, tv_slice string)
{
    enum { BYTES_PER_BYTE = 6, QUOTES = 2 };

    if (tvc_text_room(text, string.len * BYTES_PER_BYTE + QUOTES))
        tv_json_add_string(&text->buf, string);
}

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

void tvc_text_add_encoded(tvc_text *text, tv_slice value)
{
    static const char digits[] = "0123456789ABCDEF";

    if (!tvc_text_room(text, value.len * 3))
        return;

    for (size_t i = 0; i < value.len; i++) {
        unsigned char byte = (unsigned char)value.data[i];

        if (is_unreserved(value.data[i]))
            tv_buf_add_char(&text->buf, value.data[i]);
        else
            tv_buf_add(&text->buf,
                       (tv_slice){(char[]){'%', digits[byte >> 4], digits[byte & 15]}, 3});
    }
}

void tvc_text_add_key(tvc_text *text, tv_slice key)
{
    if (tvc_text_room(text, key.len * 3))
        tv_uri_add_key(&text->buf, key);
}

void tvc_text_add_header(tvc_text *text, tv_slice name, tv_slice value)
{
    tvc_text_add(text, name);
    tvc_text_add_lit(text, ": ");
    tvc_text_add(text, value);
    tvc_text_add_lit(text, "\r\n");
}

void tvc_text_add_base64(tvc_text *text, tv_slice bytes)
{
    size_t len = tv_base64_encoded_len(bytes.len);

    if (!tvc_text_room(text, len))
        return;
    tv_base64_encode(text->buf.data + text->buf.len, bytes);
    text->buf.len += len;
}

char *tvc_text_take(tvc_text *text)
{
    char *taken = NULL;

    tvc_text_add_char(text, '\0');
    if (!text->has_failed) {
        taken = text->buf.data;
        text->buf = TV_BUF_EMPTY;
    }
    tvc_text_done(text);
    return taken;
}
