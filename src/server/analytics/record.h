/*
 * What Storage Analytics keeps of a request that is done: a copy, in one piece of memory, of all
 * that its log line and its row of metrics are made of.  It is made on the network thread, which
 * only copies; everything else is done by the thread of analytics.c.
 */
#ifndef TV_SERVER_ANALYTICS_RECORD_H
#define TV_SERVER_ANALYTICS_RECORD_H

#include "base/mailbox.h"
#include "server/analytics/outcome.h"
#include "services/service/call.h"

/**
 * What is copied for a log line, as the client or the response has it; empty where there is none.
 * Texts are cut, so that a request is logged, and in a line of some KiB, whatever its client has
 * sent: paths at 4 KiB, which is more than the longest name takes when it is not made to be long,
 * all others at 1 KiB.
 */
enum { TV_ANALYTICS_TEXT_BYTES_MAX = 1024, TV_ANALYTICS_PATH_BYTES_MAX = 4 * 1024 };

typedef enum tv_analytics_text {
    TV_ANALYTICS_HOST,
    TV_ANALYTICS_PATH,
    TV_ANALYTICS_QUERY, /* data is NULL without a '?' */
    TV_ANALYTICS_REST,  /* of the path, after the account */
    TV_ANALYTICS_CONTAINER,
    TV_ANALYTICS_PEER,
    TV_ANALYTICS_VERSION,
    TV_ANALYTICS_CONTENT_LENGTH,
    TV_ANALYTICS_CONTENT_MD5,
    TV_ANALYTICS_IF_MODIFIED_SINCE,
    TV_ANALYTICS_IF_UNMODIFIED_SINCE,
    TV_ANALYTICS_IF_MATCH,
    TV_ANALYTICS_IF_NONE_MATCH,
    TV_ANALYTICS_USER_AGENT,
    TV_ANALYTICS_REFERRER,
    TV_ANALYTICS_CLIENT_REQUEST_ID,
    TV_ANALYTICS_RESPONSE_MD5, /* headers of the response */
    TV_ANALYTICS_RESPONSE_ETAG,
    TV_ANALYTICS_RESPONSE_LAST_MODIFIED,
    TV_ANALYTICS_TEXTS
} tv_analytics_text;

/** What is switched on, of one account and service. */
typedef struct tv_analytics_switches {
    bool has_log, has_log_2; /* any line at all; in version 2.0 */
    bool has_hours, has_minutes;
    bool has_hour_apis, has_minute_apis; /* a row for each operation */
} tv_analytics_switches;

tv_analytics_switches tv_analytics_switches_of(const tv_service_settings *settings);

typedef struct tv_analytics_record {
    tv_mail mail;
    size_t bytes;                     /* of all of it */
    struct tv_analytics_share *share; /* of its account, while it waits in the inbox */
    tv_service_kind service;
    int op; /* the service's enum */
    tv_slice op_name;
    tv_analytics_switches switches;
    bool is_secondary, is_tls;
    bool is_logged;
    tv_analytics_auth auth;
    tv_analytics_result result;
    int status; /* 0 when nothing was answered */
    tv_err error;
    int64_t start_ticks, end_ticks;
    int64_t total_us, server_us;
    uint64_t request_head_bytes, request_body_bytes, response_head_bytes, response_body_bytes;
    char request_id[TV_GUID_TEXT_LEN];
    tv_slice account;
    tv_slice texts[TV_ANALYTICS_TEXTS]; /* all empty unless is_logged */
} tv_analytics_record;

/**
 * Of a request that ended at `end_ns`, or NULL when nothing about it is switched on.  It may
 * find the call's row, if that was not known when the call failed.  Free it with free().
 */
tv_analytics_record *tv_analytics_record_new(tv_call *call, const tv_service_settings *settings,
                                             int64_t end_ns);

#endif
