/* The rules for names. */
#include "services/blob/names.h"

#include "base/utf8.h"
#include "services/service/names.h"
#include "store/engine/key.h"

static bool is_special(tv_slice name)
{
    return tv_slice_eq(name, TV_BLOB_ROOT_CONTAINER) || tv_slice_eq(name, TV_LIT("$logs")) ||
           tv_slice_eq(name, TV_LIT("$web"));
}

tv_err tv_check_blob_container_name(tv_slice name)
{
    return is_special(name) ? TV_OK : tv_check_container_name(name);
}

tv_slice tv_blob_name_of(tv_arena *arena, tv_slice name)
{
    if (tv_slice_find(name, '\\') == name.len)
        return name;

    char *to = tv_arena_bytes(arena, name.len);

    for (size_t i = 0; i < name.len; i++)
        to[i] = name.data[i] == '\\' ? '/' : name.data[i];
    return (tv_slice){to, name.len};
}

tv_err tv_check_blob_name(tv_slice name)
{
    if (name.len == 0 || tv_utf8_units(name) > TV_KEY_UNITS_MAX)
        return TV_ERR_NAME_LENGTH;

    for (tv_slice rest = name; rest.len;) {
        uint32_t c = tv_utf8_next(&rest);

        if (c < 0x20 || (c >= 0x7f && c <= 0x9f))
            return TV_ERR_NAME_INVALID;
    }
    return TV_OK;
}
