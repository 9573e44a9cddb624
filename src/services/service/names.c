/* The rule for names. */
#include "services/service/names.h"

enum { NAME_MIN = 3, NAME_MAX = 63 };

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

tv_err tv_check_container_name(tv_slice name)
{
    if (name.len < NAME_MIN || name.len > NAME_MAX)
        return TV_ERR_NAME_LENGTH;

    for (size_t i = 0; i < name.len; i++) {
        bool is_dash = name.data[i] == '-';
        bool is_inside = i > 0 && i + 1 < name.len;

        if (!is_alphanumeric(name.data[i]) && !(is_dash && is_inside))
            return TV_ERR_NAME_INVALID;
        if (is_dash && name.data[i - 1] == '-')
            return TV_ERR_NAME_INVALID;
    }
    return TV_OK;
}
