/*
 * Words in the values of tv.route: readable by a person with Ceph's own tools, and
 * able to hold any byte.  A blank, a %, a byte that is not visible ASCII is %XX; an
 * empty word is a single "-", and the word "-" is "%2D".
 */
#include "base/hex.h"
#include "base/number.h"
#include "store/engine/rados/route.h"

static bool is_plain(unsigned char c)
{
    return c > ' ' && c < 0x7F && c != '%';
}

void tv_words_add(tv_buf *out, tv_slice word)
{
    if (out->len)
        tv_buf_add_char(out, ' ');
    if (word.len == 0)
        tv_buf_add_char(out, '-');
    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.data[i];

        if (is_plain(c) && !(word.len == 1 && c == '-'))
            tv_buf_add_char(out, (char)c);
        else
            tv_buf_printf(out, "%%%02X", c);
    }
}

void tv_words_add_number(tv_buf *out, int64_t number)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%lld", (long long)number);
    tv_words_add(out, tv_slice_of(digits));
}

tv_err tv_words_next(tv_slice *rest, tv_arena *arena, tv_slice *ret_word)
{
    tv_slice coded;
    size_t len = 0;

    if (!tv_slice_next(rest, ' ', &coded) || coded.len == 0)
        return TV_ERR_CORRUPT;

    if (tv_slice_eq(coded, TV_LIT("-"))) {
        *ret_word = TV_LIT("");
        return TV_OK;
    }

    char *word = tv_arena_bytes(arena, coded.len);

    for (size_t i = 0; i < coded.len; i++) {
        if (coded.data[i] != '%') {
            if (!is_plain((unsigned char)coded.data[i]))
                return TV_ERR_CORRUPT;
            word[len++] = coded.data[i];
            continue;
        }
        if (coded.len - i < 3)
            return TV_ERR_CORRUPT;

        int high = tv_hex_value(coded.data[i + 1]), low = tv_hex_value(coded.data[i + 2]);

        if (high < 0 || low < 0)
            return TV_ERR_CORRUPT;
        word[len++] = (char)(high << 4 | low);
        i += 2;
    }
    *ret_word = (tv_slice){word, len};
    return TV_OK;
}

tv_err tv_words_next_number(tv_slice *rest, int64_t *ret_number)
{
    tv_slice digits;
    int64_t number;

    if (!tv_slice_next(rest, ' ', &digits) || !tv_parse_int64(digits, &number) || number < 0)
        return TV_ERR_CORRUPT;

    *ret_number = number;
    return TV_OK;
}
