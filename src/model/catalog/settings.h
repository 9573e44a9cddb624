/*
 * The settings of one of an account's services: logging, metrics and the rules
 * for browsers of other sites (CORS).  As XML they are what clients send and
 * get, and what is stored.  A blob service has some more of them, which cannot be
 * switched on here: deleted blobs are gone, and there is no web site.
 */
#ifndef TV_MODEL_CATALOG_SETTINGS_H
#define TV_MODEL_CATALOG_SETTINGS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/service_kind.h"

enum {
    TV_RETENTION_DAYS_MAX = 365,
    TV_CORS_RULES_MAX = 5,
    TV_CORS_ORIGINS_MAX = 64,
    TV_CORS_HEADERS_MAX = 64, /* by their whole name */
    TV_CORS_PREFIXES_MAX = 2, /* by their beginning: "x-ms-*" */
    TV_CORS_ITEM_CHARS_MAX = 256,
    TV_CORS_BYTES_MAX = 2048, /* of all rules together */
};

typedef struct tv_retention {
    bool is_enabled;
    int32_t days; /* when it is */
} tv_retention;

typedef struct tv_logging_settings {
    bool is_set;       /* false in an update that leaves it as it is */
    bool is_version_2; /* queues and blobs have two */
    bool reads, writes, deletes;
    tv_retention retention;
} tv_logging_settings;

typedef struct tv_metrics_settings {
    bool is_set;
    bool is_enabled;
    bool includes_apis; /* when it is */
    tv_retention retention;
} tv_metrics_settings;

/** One rule.  Lists have commas and no blanks; all of it is fit for a header. */
typedef struct tv_cors_rule {
    tv_slice methods;
    tv_slice origins;
    tv_slice allowed_headers; /* those by whole names first */
    tv_slice exposed_headers;
    int32_t max_age_seconds;
} tv_cors_rule;

typedef struct tv_cors_settings {
    bool is_set;
    tv_cors_rule rules[TV_CORS_RULES_MAX];
    size_t count;
} tv_cors_settings;

typedef struct tv_service_settings {
    tv_logging_settings logging;
    tv_metrics_settings hour_metrics, minute_metrics;
    tv_cors_settings cors;
    tv_slice default_version; /* of a blob service, empty for none; data is NULL when not set */
} tv_service_settings;

/** Those of an account that has never set any: everything is off. */
tv_service_settings tv_settings_default(tv_service_kind service);

/**
 * Read <StorageServiceProperties>, of which parts may be missing; texts live in
 * the arena.  TV_ERR_XML_DOCUMENT for another document, an incomplete part or
 * one beyond its limits; TV_ERR_XML_NODE_VALUE for a value of the wrong form;
 * TV_ERR_NOT_IMPLEMENTED, with a text that names it, for what cannot be switched on.
 */
tv_err tv_settings_parse(tv_arena *arena, tv_service_kind service, tv_slice document,
                         tv_service_settings *ret_settings,
                         tv_error_info *reterr_info) TV_WARN_UNUSED;

/** Take over the parts of `update` that are set. */
void tv_settings_apply(tv_service_settings *settings, const tv_service_settings *update);

/** Append <StorageServiceProperties> with all parts. */
void tv_settings_add_xml(tv_buf *buf, tv_service_kind service, const tv_service_settings *settings);

/** Whether Storage Analytics has anything to do by them: to write, or to delete what is old. */
bool tv_settings_has_analytics(const tv_service_settings *settings);

/** Properties that threads share; counted. */
typedef struct tv_shared_settings {
    atomic_int refs;
    tv_arena arena;
    tv_slice document; /* that they are from */
    tv_service_settings settings;
} tv_shared_settings;

/** From a stored document; TV_ERR_CORRUPT when it is not valid. */
tv_err tv_shared_settings_new(tv_service_kind service, tv_slice document,
                              tv_shared_settings **ret_shared) TV_WARN_UNUSED;
tv_shared_settings *tv_shared_settings_ref(tv_shared_settings *shared);
void tv_shared_settings_unref(tv_shared_settings *shared); /* accepts NULL */

#endif
