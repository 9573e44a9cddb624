/* The rules for names and keys. */
#include "services/table/names.h"

#include <stdint.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "model/entity/entity.h"
#include "services/service/analytics_names.h"
#include "store/engine/key.h"

enum { TABLE_NAME_MIN = 3, TABLE_NAME_MAX = 63 };

static bool is_ascii_letter(uint32_t c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_ascii_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

tv_err tv_check_table_name(tv_slice name)
{
    size_t units = tv_utf8_units(name);

    if (tv_analytics_table(name).data)
        return TV_OK;
    if (units < TABLE_NAME_MIN || units > TABLE_NAME_MAX)
        return TV_ERR_NAME_LENGTH;
    if (!is_ascii_letter((unsigned char)name.data[0]))
        return TV_ERR_NAME_INVALID;

    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];

        if (!is_ascii_letter(c) && !is_ascii_digit(c))
            return TV_ERR_NAME_INVALID;
    }
    if (tv_slice_eq_nocase(name, TV_LIT("tables")))
        return TV_ERR_NAME_RESERVED;
    return TV_OK;
}

/*
 * C# accepts the Unicode letter classes.  Without their tables we accept every
 * character above ASCII except the blocks that hold no letters at all: controls
 * and signs of Latin-1, general punctuation up to the box drawings, CJK
 * punctuation, private use and what is not a character.
 */
static bool is_unicode_name_char(uint32_t c)
{
    if (c < 0xc0)
        return c == 0xaa || c == 0xb5 || c == 0xba;
    if (c == 0xd7 || c == 0xf7)
        return false;
    if ((c >= 0x2000 && c <= 0x2bff) || (c >= 0x3000 && c <= 0x3004) ||
        (c >= 0x3008 && c <= 0x3020) || (c >= 0xe000 && c <= 0xf8ff) || c >= 0xfffe)
        return (c >= 0x2071 && c <= 0x209c) || (c >= 0x2100 && c <= 0x218f) ||
               (c >= 0x10000 && c <= 0x3ffff);
    return true;
}

tv_err tv_check_property_name(tv_slice name)
{
    if (name.len == 0)
        return TV_ERR_PROPERTY_NAME_INVALID;
    if (tv_utf8_units(name) > TV_PROPERTY_NAME_UNITS_MAX)
        return TV_ERR_PROPERTY_NAME_TOO_LONG;
    if (is_ascii_digit((unsigned char)name.data[0]))
        return TV_ERR_PROPERTY_NAME_INVALID;

    for (tv_slice rest = name; rest.len;) {
        uint32_t c = tv_utf8_next(&rest);
        bool ok = c < 0x80 ? is_ascii_letter(c) || is_ascii_digit(c) || c == '_'
                           : is_unicode_name_char(c);

        if (!ok)
            return TV_ERR_PROPERTY_NAME_INVALID;
    }
    return TV_OK;
}

static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c <= 0x9f);
}

tv_err tv_check_url_key(tv_slice key)
{
    if (tv_utf8_units(key) > TV_KEY_UNITS_MAX)
        return TV_ERR_PROPERTY_VALUE_TOO_LARGE;

    for (tv_slice rest = key; rest.len;) {
        uint32_t c = tv_utf8_next(&rest);

        if (c == '/' || c == '\\')
            return TV_ERR_QUERY_SYNTAX;
        if (c == '#' || c == '?' || is_control(c))
            return TV_ERR_OUT_OF_RANGE;
    }
    return TV_OK;
}

tv_err tv_check_body_key(tv_arena *arena, tv_slice property, tv_slice key,
                         tv_error_info *reterr_info)
{
    tv_err err = tv_check_url_key(key);

    if (err == TV_OK || err == TV_ERR_PROPERTY_VALUE_TOO_LARGE)
        return err;

    /* Not by printf, which would end the key at a NUL: one of the reasons to come here. */
    tv_buf text = TV_BUF_EMPTY;

    tv_buf_add_lit(&text, "The '");
    tv_buf_add(&text, property);
    tv_buf_add_lit(&text, "' parameter of value '");
    tv_buf_add(&text, key);
    tv_buf_add_lit(&text, "' is out of range.");
    reterr_info->text = tv_arena_dup(arena, tv_buf_slice(&text));
    tv_buf_done(&text);
    return TV_ERR_OUT_OF_RANGE;
}
