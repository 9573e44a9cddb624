/* Methods and tokens. */
#include "base/method.h"

#include "base/assert.h"

static const tv_slice method_texts[] = {
    [TV_METHOD_GET] = {"GET", 3},         [TV_METHOD_HEAD] = {"HEAD", 4},
    [TV_METHOD_POST] = {"POST", 4},       [TV_METHOD_PUT] = {"PUT", 3},
    [TV_METHOD_PATCH] = {"PATCH", 5},     [TV_METHOD_MERGE] = {"MERGE", 5},
    [TV_METHOD_DELETE] = {"DELETE", 6},   [TV_METHOD_OPTIONS] = {"OPTIONS", 7},
    [TV_METHOD_OTHER] = {"(unknown)", 9},
};

tv_method tv_method_parse(tv_slice text)
{
    for (int i = TV_METHOD_GET; i < TV_METHOD_OTHER; i++) {
        if (tv_slice_eq(text, method_texts[i]))
            return (tv_method)i;
    }
    return TV_METHOD_OTHER;
}

tv_slice tv_method_text(tv_method method)
{
    tv_assert(method <= TV_METHOD_OTHER);
    return method_texts[method];
}

/* clang-format off */
const bool tv_token_chars[256] = {
    ['!'] = 1, ['#' ... '\''] = 1, ['*' ... '+'] = 1, ['-' ... '.'] = 1, ['0' ... '9'] = 1,
    ['A' ... 'Z'] = 1, ['^' ... 'z'] = 1, ['|'] = 1, ['~'] = 1,
};
/* clang-format on */

bool tv_is_token(tv_slice text)
{
    size_t count = 0;

    while (count < text.len && tv_token_chars[(unsigned char)text.data[count]])
        count++;
    return text.len > 0 && count == text.len;
}
