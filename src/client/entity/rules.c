/* The rules for names, keys and values. */
#include "client/entity/rules.h"

#include "base/clock.h"
#include "base/utf8.h"

static const tvc_refusal accepted = {TAVOLA_OK, NULL};

static tvc_refusal invalid(const char *why)
{
    return (tvc_refusal){TAVOLA_ERR_INVALID, why};
}

static tvc_refusal too_large(const char *why)
{
    return (tvc_refusal){TAVOLA_ERR_TOO_LARGE, why};
}

/* Text has at most as many UTF-16 units as bytes: count only what is long. */
static bool is_longer(tv_slice text, size_t units_max)
{
    return text.len > units_max && tv_utf8_units(text) > units_max;
}

/* Which characters beyond ASCII are letters of a name is left to the service. */
static bool is_name_byte(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c >= 0x80;
}

tvc_refusal tvc_check_name(tv_slice name)
{
    if (name.data == NULL)
        return invalid("is no name");
    if (name.len == 0)
        return invalid("is an empty name");
    if (!tv_utf8_is_valid(name))
        return invalid("is not valid UTF-8");
    if (is_longer(name, TVC_NAME_UNITS_MAX))
        return invalid("is longer than 255 characters");
    if (name.data[0] >= '0' && name.data[0] <= '9')
        return invalid("begins with a digit");
    for (size_t i = 0; i < name.len; i++) {
        if (!is_name_byte((unsigned char)name.data[i]))
            return invalid("has a character that names cannot have: letters, digits and _ can be");
    }
    if (tv_slice_eq(name, TV_LIT("PartitionKey")) || tv_slice_eq(name, TV_LIT("RowKey")))
        return invalid("is a key: give it to tavola_entity_new");
    if (tv_slice_eq(name, TV_LIT("Timestamp")))
        return invalid("is set by the service: take another name");
    return accepted;
}

/* Controls are U+0000 to U+001F and U+007F to U+009F: the latter are C2 80 to C2 9F. */
static bool has_control(tv_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];

        if (c < 0x20 || c == 0x7f ||
            (c == 0xc2 && i + 1 < text.len && (unsigned char)text.data[i + 1] < 0xa0))
            return true;
    }
    return false;
}

tvc_refusal tvc_check_key(tv_slice key)
{
    if (key.data == NULL)
        return invalid("is NULL");
    if (!tv_utf8_is_valid(key))
        return invalid("is not valid UTF-8");
    if (is_longer(key, TVC_KEY_UNITS_MAX))
        return too_large("is longer than 1024 characters");
    for (size_t i = 0; i < key.len; i++) {
        if (key.data[i] == '/' || key.data[i] == '\\' || key.data[i] == '#' || key.data[i] == '?')
            return invalid("has one of / \\ # ? which keys cannot have");
    }
    if (has_control(key))
        return invalid("has a control character, which keys cannot have");
    return accepted;
}

static tvc_refusal check_string(tv_slice text)
{
    if (text.data == NULL)
        return invalid("is NULL: there is no null, use tavola_entity_unset");
    if (!tv_utf8_is_valid(text))
        return invalid("is not valid UTF-8");
    if (is_longer(text, TVC_VALUE_BYTES_MAX / 2))
        return too_large("is longer than 32768 characters (64 KiB)");
    return accepted;
}

static tvc_refusal check_binary(tv_slice bytes)
{
    if (bytes.data == NULL && bytes.len)
        return invalid("is NULL: there is no null, use tavola_entity_unset");
    if (bytes.len > TVC_VALUE_BYTES_MAX)
        return too_large("is longer than 65536 bytes");
    return accepted;
}

tvc_refusal tvc_check_value(const tavola_value *value)
{
    switch (value->type) {
    case TAVOLA_STRING:
        return check_string((tv_slice){value->as.ptr, value->size});
    case TAVOLA_BINARY:
        return check_binary((tv_slice){value->as.ptr, value->size});
    case TAVOLA_DATETIME:
        if (value->as.ticks < TV_TICKS_MIN)
            return invalid("is a time before 1601, which the service does not keep");
        if (value->as.ticks > TV_TICKS_MAX)
            return invalid("is a time after 9999");
        return accepted;
    case TAVOLA_BOOLEAN:
    case TAVOLA_INT32:
    case TAVOLA_INT64:
    case TAVOLA_DOUBLE:
    case TAVOLA_GUID:
        return accepted;
    case TAVOLA_NONE:
        break;
    }
    return invalid("has a value without a type");
}
