/*
 * The parsers of short texts.  The first byte chooses one; what it accepts is
 * written and read again and must be the same value, and the text that was
 * written must stay as it is from then on.
 */
#include "fuzz.h"
#include "parameters.h"

#include <math.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/guid.h"
#include "base/number.h"
#include "base/uri.h"
#include "base/utf8.h"

static void try_integers(tv_slice text)
{
    char written[TV_INT64_TEXT_MAX];
    int32_t int32_value;
    int64_t value, again;
    uint64_t magnitude;
    double as_double;

    bool ok = tv_parse_int64(text, &value);
    bool fits_int32 = tv_parse_int32(text, &int32_value);
    tv_assert(fits_int32 == (ok && value >= INT32_MIN && value <= INT32_MAX));
    if (!ok)
        return;

    tv_slice formatted = {written, tv_format_int64(written, value)};
    tv_assert(tv_parse_int64(formatted, &again) && again == value);
    tv_assert(tv_parse_double(text, &as_double) && as_double == (double)value);
    if (tv_parse_uint64(text, &magnitude))
        tv_assert(value >= 0 && magnitude == (uint64_t)value);
}

static void try_double(tv_slice text)
{
    char written[TV_DOUBLE_TEXT_MAX], rewritten[TV_DOUBLE_TEXT_MAX];
    char terminated[512];
    double value, again;

    if (!tv_parse_double(text, &value))
        return;

    tv_assert(isfinite(value));
    if (text.len < sizeof terminated) {
        memcpy(terminated, text.data, text.len);
        terminated[text.len] = '\0';
        again = strtod(terminated, NULL);
        tv_assert(memcmp(&again, &value, sizeof value) == 0);
    }

    tv_slice formatted = {written, tv_format_double(written, value)};
    tv_assert(tv_parse_double(formatted, &again) && again == value);
    tv_slice reformatted = {rewritten, tv_format_double(rewritten, again)};
    tv_assert(tv_slice_eq(formatted, reformatted));
}

/* Any eight bytes as a double: printed, it must read back as itself. */
static void try_double_bits(tv_slice bytes)
{
    char written[TV_DOUBLE_TEXT_MAX];
    double value, again;

    if (bytes.len != sizeof value)
        return;

    memcpy(&value, bytes.data, sizeof value);
    tv_slice formatted = {written, tv_format_double(written, value)};
    bool finite = tv_parse_double(formatted, &again);
    tv_assert(finite == (bool)isfinite(value));
    tv_assert(!finite || again == value);
}

static void try_datetime(tv_slice text)
{
    char written[TV_DATETIME_TEXT_MAX];
    int64_t ticks, again;

    if (!tv_datetime_parse(text, &ticks))
        return;

    tv_assert(ticks >= 0 && ticks <= TV_TICKS_MAX);
    tv_slice formatted = {written, tv_datetime_format(written, ticks)};
    tv_assert(tv_datetime_parse(formatted, &again) && again == ticks);
    formatted.len = tv_datetime_format7(written, ticks);
    tv_assert(tv_datetime_parse(formatted, &again) && again == ticks);
}

static void try_http_date(tv_slice text)
{
    char written[TV_DATETIME_TEXT_MAX];
    int64_t ticks, again;

    if (!tv_http_date_parse(text, &ticks))
        return;

    tv_slice formatted = {written, tv_http_date_format(written, ticks)};
    tv_assert(tv_http_date_parse(formatted, &again) && again == ticks);
    /* Only the weekday may have been wrong. */
    tv_assert(tv_slice_eq(tv_slice_skip(formatted, 3), tv_slice_skip(text, 3)));
}

static void try_uri(tv_slice text)
{
    tv_arena arena;
    tv_buf buf = TV_BUF_EMPTY;
    tv_slice decoded, again, value;

    tv_arena_init(&arena);
    if (tv_uri_decode_path(&arena, text, &decoded)) {
        tv_assert(tv_utf8_is_valid(decoded));
        tv_assert(tv_utf8_units(decoded) <= decoded.len);

        /* Writing a key doubles its quotes. */
        tv_buf doubled = TV_BUF_EMPTY;
        for (size_t i = 0; i < decoded.len; i++) {
            tv_buf_add_char(&doubled, decoded.data[i]);
            if (decoded.data[i] == '\'')
                tv_buf_add_char(&doubled, '\'');
        }
        tv_uri_add_key(&buf, decoded);
        tv_assert(tv_uri_decode_path(&arena, tv_buf_slice(&buf), &again));
        tv_assert(tv_slice_eq(again, tv_buf_slice(&doubled)));
        tv_assert(tv_uri_decode_query(&arena, tv_buf_slice(&buf), &again));
        tv_assert(tv_slice_eq(again, tv_buf_slice(&doubled)));
        tv_buf_done(&doubled);
    }
    tv_parameters query = query_of(&arena, text);

    if (tv_parameters_get(&query, &arena, TV_LIT("a"), &value) && value.data)
        tv_assert(tv_utf8_is_valid(value));
    tv_buf_done(&buf);
    tv_arena_done(&arena);
}

static void try_base64(tv_slice text)
{
    char *bytes = tv_malloc(tv_base64_decoded_max(text.len));
    char *encoded = tv_malloc(tv_base64_encoded_len(text.len));
    char *decoded = tv_malloc(tv_base64_decoded_max(tv_base64_encoded_len(text.len)));
    size_t len;

    /* A strict reader accepts one text per value: the one that would be written. */
    if (tv_base64_decode(bytes, text, &len)) {
        tv_assert(tv_base64_encoded_len(len) == text.len);
        tv_base64_encode(encoded, (tv_slice){bytes, len});
        tv_assert(tv_slice_eq((tv_slice){encoded, text.len}, text));
    }

    tv_slice encoding = {encoded, tv_base64_encoded_len(text.len)};
    tv_base64_encode(encoded, text);
    tv_assert(tv_base64_decode(decoded, encoding, &len));
    tv_assert(tv_slice_eq((tv_slice){decoded, len}, text));
    free(bytes);
    free(encoded);
    free(decoded);
}

static void try_guid(tv_slice text)
{
    char written[TV_GUID_TEXT_LEN];
    tv_guid guid, again;

    if (!tv_guid_parse_any(text, &guid)) {
        tv_assert(!tv_guid_parse(text, &again));
        return;
    }

    tv_guid_format(written, &guid);
    tv_slice formatted = {written, sizeof written};
    tv_assert(tv_guid_parse(formatted, &again));
    tv_assert(memcmp(&guid, &again, sizeof guid) == 0);
    if (tv_guid_parse(text, &again))
        tv_assert(tv_slice_eq_nocase(formatted, text));
}

/* Valid UTF-8 taken apart and put together is the same; its units are counted right. */
static void try_utf8(tv_slice text)
{
    size_t units = 0;

    if (!tv_utf8_is_valid(text))
        return;

    for (tv_slice rest = text; rest.len;) {
        char written[4];
        tv_slice before = rest;
        uint32_t code_point = tv_utf8_next(&rest);
        size_t len = tv_utf8_put(written, code_point);

        tv_assert(code_point <= 0x10FFFF && (code_point & 0xFFFFF800) != 0xD800);
        tv_assert(len == before.len - rest.len && memcmp(written, before.data, len) == 0);
        units += code_point < 0x10000 ? 1 : 2;
    }
    tv_assert(units == tv_utf8_units(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const tries[])(tv_slice text) = {
        try_integers, try_double, try_double_bits, try_datetime, try_http_date,
        try_uri,      try_base64, try_guid,        try_utf8,
    };

    if (size == 0)
        return 0;

    /* '0' stands for the first, so that the corpus can be read. */
    size_t choice = (size_t)(uint8_t)(data[0] - '0') % (sizeof tries / sizeof tries[0]);
    tries[choice]((tv_slice){(const char *)data + 1, size - 1});
    return 0;
}
