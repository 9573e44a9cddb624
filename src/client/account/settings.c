/* The grammar of connection strings. */
#include "client/account/settings.h"

#include <stdarg.h>
#include <stdio.h>

enum { CONNECTION_STRING_BYTES_MAX = 64 * 1024 };

static const char *const names[TVC_SETTING_COUNT] = {
    "UseDevelopmentStorage",
    "DevelopmentStorageProxyUri",
    "DefaultEndpointsProtocol",
    "AccountName",
    "AccountKey",
    "SharedAccessSignature",
    "EndpointSuffix",
    "TableEndpoint",
    "QueueEndpoint",
    "BlobEndpoint",
    "TableSecondaryEndpoint",
    "QueueSecondaryEndpoint",
    "BlobSecondaryEndpoint",
};

bool tvc_complain(tvc_complaint *complaint, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(complaint->text, sizeof complaint->text, format, args);
    va_end(args);
    return false;
}

const char *tvc_setting_name(tvc_setting setting)
{
    return names[setting];
}

/* TVC_SETTING_COUNT when it is not known. */
static tvc_setting find(tv_slice name)
{
    for (int i = 0; i < TVC_SETTING_COUNT; i++) {
        if (tv_slice_eq_nocase(name, tv_slice_of(names[i])))
            return (tvc_setting)i;
    }
    return TVC_SETTING_COUNT;
}

/* FileEndpoint and others of services that we do not know; portals hand them out. */
static bool is_other_endpoint(tv_slice name)
{
    tv_slice end = TV_LIT("Endpoint");

    return name.len > end.len && tv_slice_eq_nocase(tv_slice_skip(name, name.len - end.len), end);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static tv_slice trim(tv_slice s)
{
    while (s.len && is_blank(s.data[0]))
        s = tv_slice_skip(s, 1);
    while (s.len && is_blank(s.data[s.len - 1]))
        s.len--;
    return s;
}

/*
 * One part of the string.  A name that is not known is not repeated to people: it may be the rest
 * of a key that was cut by mistake.
 */
static bool parse_part(tv_slice part, int number, tvc_settings *settings, tvc_complaint *complaint)
{
    size_t equals = tv_slice_find(part, '=');

    if (equals == part.len)
        return tvc_complain(complaint, "setting %d of the connection string has no '='", number);

    tv_slice name = trim(tv_slice_take(part, equals));
    tv_slice value = trim(tv_slice_skip(part, equals + 1));
    tvc_setting setting = find(name);

    if (setting == TVC_SETTING_COUNT)
        return is_other_endpoint(name) ||
               tvc_complain(complaint, "setting %d of the connection string is not known", number);
    if (settings->values[setting].data)
        return tvc_complain(complaint, "%s is given twice", names[setting]);
    if (value.len == 0)
        return tvc_complain(complaint, "%s has no value", names[setting]);

    settings->values[setting] = value;
    return true;
}

bool tvc_settings_parse(const char *text, tvc_settings *ret_settings, tvc_complaint *complaint)
{
    tvc_settings settings = {0};
    tv_slice rest, part;
    int number = 0;

    if (text == NULL)
        return tvc_complain(complaint, "there is no connection string");
    rest = tv_slice_of(text);
    if (rest.len > CONNECTION_STRING_BYTES_MAX)
        return tvc_complain(complaint, "the connection string is too long");

    while (tv_slice_next(&rest, ';', &part)) {
        part = trim(part);
        if (part.len && !parse_part(part, ++number, &settings, complaint))
            return false;
    }
    if (number == 0)
        return tvc_complain(complaint, "the connection string is empty");
    *ret_settings = settings;
    return true;
}
