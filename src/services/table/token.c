/* Writing and reading continuation tokens. */
#include "services/table/token.h"

#include "base/base64.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/utf8.h"

static const char standard[] = "=/+";
static const char header_safe[] = "-_*";

/* Replace every character of `from` by its partner in `to`. */
static void translate(char *text, size_t len, const char *from, const char *to)
{
    for (size_t i = 0; i < len; i++) {
        const char *found = memchr(from, text[i], 3);

        if (found)
            text[i] = to[found - from];
    }
}

tv_slice tv_table_token_format(tv_arena *arena, tv_slice text)
{
    size_t len = tv_base64_encoded_len(text.len);
    char *encoded = tv_arena_bytes(arena, len);

    tv_base64_encode(encoded, text);
    translate(encoded, len, standard, header_safe);
    return tv_arena_printf(arena, "1!%zu!%.*s", len, (int)len, encoded);
}

tv_err tv_table_token_parse(tv_arena *arena, tv_slice token, tv_slice *ret_text)
{
    tv_slice version, count_text;
    uint64_t count;
    size_t len;

    if (!tv_slice_next(&token, '!', &version) || !tv_slice_eq(version, TV_LIT("1")) ||
        !tv_slice_next(&token, '!', &count_text) || !tv_parse_uint64(count_text, &count) ||
        token.data == NULL || count != token.len)
        return TV_ERR_INVALID_INPUT;

    tv_slice encoded = tv_arena_dup(arena, token);
    char *text = tv_arena_bytes(arena, tv_base64_decoded_max(encoded.len));

    translate((char *)encoded.data, encoded.len, header_safe, standard);
    if (!tv_base64_decode(text, encoded, &len))
        return TV_ERR_INVALID_INPUT;

    *ret_text = (tv_slice){text, len};
    return tv_utf8_is_valid(*ret_text) ? TV_OK : TV_ERR_INVALID_INPUT;
}

uint64_t tv_table_token_hash(tv_slice partition_key, tv_slice row_key)
{
    uint64_t hash = tv_hash(partition_key) * 31 + tv_hash(row_key);

    return hash ? hash : 1;
}
