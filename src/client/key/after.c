/*
 * Successors by UTF-16 units.  A code point beyond U+FFFF is two units from D800 to DFFF, so these
 * code points lie between U+D7FF and U+E000, and U+FFFF is the last of all.
 */
#include "client/key/after.h"

#include "base/utf8.h"
#include "client/memory.h"
#include "client/why.h"

/* False for the last one. */
static bool successor(uint32_t code_point, uint32_t *ret_next)
{
    switch (code_point) {
    case 0xD7FF:
        *ret_next = 0x10000;
        return true;
    case 0x10FFFF:
        *ret_next = 0xE000;
        return true;
    case 0xFFFF:
        return false;
    default:
        *ret_next = code_point + 1;
        return true;
    }
}

/* Where the last code point of valid UTF-8 that is not empty begins. */
static size_t last_start(tv_slice text)
{
    size_t at = text.len - 1;

    while (((unsigned char)text.data[at] & 0xC0) == 0x80)
        at--;
    return at;
}

bool tvc_add_after(tvc_text *text, tv_slice prefix, bool is_key)
{
    while (prefix.len) {
        size_t start = last_start(prefix);
        tv_slice last = tv_slice_skip(prefix, start);
        uint32_t next;
        char bytes[4];

        if (successor(tv_utf8_next(&last), &next)) {
            if (is_key && next == 0x7F)
                next = 0xA0;
            tvc_text_add(text, tv_slice_take(prefix, start));
            tvc_text_add(text, (tv_slice){bytes, tv_utf8_put(bytes, next)});
            return true;
        }
        prefix.len = start;
    }
    return false;
}

char *tavola_key_after(const char *prefix)
{
    tvc_text text = {0};

    if (prefix == NULL || !tv_utf8_is_valid(tv_slice_of(prefix)))
        (void)tvc_refuse(TAVOLA_ERR_INVALID, "the prefix is NULL or not UTF-8");
    else if (tvc_add_after(&text, tv_slice_of(prefix), true))
        return tvc_text_take(&text);
    else
        (void)tvc_refuse(TAVOLA_END, "no key comes after all with this prefix");

    tvc_text_done(&text);
    return NULL;
}
