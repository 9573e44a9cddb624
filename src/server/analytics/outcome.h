/*
 * How requests end, in the words of Storage Analytics: the status messages of log lines, which
 * are the names of counters in the tables of metrics, too.  Pure functions.
 */
#ifndef TV_SERVER_ANALYTICS_OUTCOME_H
#define TV_SERVER_ANALYTICS_OUTCOME_H

#include "base/err.h"

/** By what a client has shown who it is; the names of counters are made of it. */
typedef enum tv_analytics_auth {
    TV_ANALYTICS_KEY,
    TV_ANALYTICS_ANONYMOUS,
    TV_ANALYTICS_SAS,
    TV_ANALYTICS_AUTHS
} tv_analytics_auth;

typedef enum tv_analytics_result {
    TV_ANALYTICS_SUCCESS,
    TV_ANALYTICS_THROTTLING,
    TV_ANALYTICS_CLIENT_TIMEOUT,
    TV_ANALYTICS_SERVER_TIMEOUT,
    TV_ANALYTICS_CLIENT_OTHER,
    TV_ANALYTICS_SERVER_OTHER,
    TV_ANALYTICS_AUTHORIZATION,
    TV_ANALYTICS_NETWORK,
    TV_ANALYTICS_RESULTS
} tv_analytics_result;

/** Which of them it is; `status` is 0 when nothing was answered, `err` TV_OK where none is known.
 */
tv_analytics_result tv_analytics_result_of(int status, tv_err err);

/** "Success", "SASAuthorizationError": one of 24. */
tv_slice tv_analytics_outcome_name(tv_analytics_result result, tv_analytics_auth auth);

/** Whether it counts among those that are billed, and among those that availability is of. */
bool tv_analytics_is_billable(tv_analytics_result result, tv_analytics_auth auth);
bool tv_analytics_is_in_availability(tv_analytics_result result, tv_analytics_auth auth);

/** What can be logged apart. */
typedef enum tv_analytics_class {
    TV_ANALYTICS_READ = 1,
    TV_ANALYTICS_WRITE = 2,
    TV_ANALYTICS_DELETE = 4,
} tv_analytics_class;

/** Of an operation, by its name. */
tv_analytics_class tv_analytics_class_of(tv_slice operation);

/** Of requests without credentials only some are logged, so that strangers cannot fill the log. */
bool tv_analytics_is_logged(tv_analytics_result result, tv_analytics_auth auth, int status);

#endif
