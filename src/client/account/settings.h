/*
 * The settings of a connection string, "Name=value;Name=value": who is who, not yet what it means.
 */
#ifndef TVC_ACCOUNT_SETTINGS_H
#define TVC_ACCOUNT_SETTINGS_H

#include "base/slice.h"

typedef enum tvc_setting {
    TVC_USE_DEVELOPMENT_STORAGE,
    TVC_DEVELOPMENT_STORAGE_PROXY_URI,
    TVC_DEFAULT_ENDPOINTS_PROTOCOL,
    TVC_ACCOUNT_NAME,
    TVC_ACCOUNT_KEY,
    TVC_SHARED_ACCESS_SIGNATURE,
    TVC_ENDPOINT_SUFFIX,
    TVC_ENDPOINT,                              /* of the three services, by tv_service_kind */
    TVC_SECONDARY_ENDPOINT = TVC_ENDPOINT + 3, /* the same */
    TVC_SETTING_COUNT = TVC_SECONDARY_ENDPOINT + 3,
} tvc_setting;

/** Values of settings, slices of the connection string; data is NULL for those that are not there.
 */
typedef struct tvc_settings {
    tv_slice values[TVC_SETTING_COUNT];
} tvc_settings;

/** One line for people; never a word of a value. */
typedef struct tvc_complaint {
    char text[160];
} tvc_complaint;

/** False, so that `return tvc_complain(...)` reads well. */
bool tvc_complain(tvc_complaint *complaint, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The name as Azure spells it. */
const char *tvc_setting_name(tvc_setting setting);

/**
 * Take a connection string apart.  Names in any case, blanks around names and values, empty parts.
 * False, with a complaint, for a name that is given twice or not known and for what has no value.
 */
bool tvc_settings_parse(const char *text, tvc_settings *ret_settings, tvc_complaint *complaint);

#endif
