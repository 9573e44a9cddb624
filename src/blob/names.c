/* The rules for names. */
#include "blob/names.h"

#include "base/utf8.h"
#include "engine/key.h"

enum { CONTAINER_NAME_MIN = 3, CONTAINER_NAME_MAX = 63 };

static bool is_special(tv_slice name)
{
    return tv_slice_eq(name, TV_BLOB_ROOT_CONTAINER) || tv_slice_eq(name, TV_LIT("$logs")) ||
           tv_slice_eq(name, TV_LIT("$web"));
}

tv_err tv_check_container_name(tv_slice name)
{
    if (is_special(name))
        return TV_OK;
    if (name.len < CONTAINER_NAME_MIN || name.len > CONTAINER_NAME_MAX)
        return TV_ERR_TABLE_NAME_LENGTH;

    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        bool is_between = i > 0 && i + 1 < name.len && name.data[i - 1] != '-';

        if (!is_alnum && (c != '-' || !is_between))
            return TV_ERR_TABLE_NAME_INVALID;
    }
    return TV_OK;
}

tv_err tv_check_blob_name(tv_slice name)
{
    if (name.len == 0 || tv_utf8_units(name) > TV_KEY_UNITS_MAX)
        return TV_ERR_TABLE_NAME_LENGTH;

    for (tv_slice rest = name; rest.len;) {
        uint32_t c = tv_utf8_next(&rest);

        if (c < 0x20 || (c >= 0x7f && c <= 0x9f))
            return TV_ERR_TABLE_NAME_INVALID;
    }
    return TV_OK;
}
