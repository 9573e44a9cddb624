/* The tables of outcomes. */
#include "server/analytics/outcome.h"

#define NAME(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
#define TWINS(text)                                                                                \
    {                                                                                              \
        NAME(text), NAME("Anonymous" text), NAME("SAS" text)                                       \
    }

static const struct {
    tv_slice names[TV_ANALYTICS_AUTHS]; /* in the order of tv_analytics_auth */
    bool is_billable, is_in_availability;
} results[TV_ANALYTICS_RESULTS] = {
    [TV_ANALYTICS_SUCCESS] = {TWINS("Success"), true, true},
    [TV_ANALYTICS_THROTTLING] = {TWINS("ThrottlingError"), false, false},
    [TV_ANALYTICS_CLIENT_TIMEOUT] = {TWINS("ClientTimeoutError"), true, true},
    [TV_ANALYTICS_SERVER_TIMEOUT] = {TWINS("ServerTimeoutError"), false, true},
    [TV_ANALYTICS_CLIENT_OTHER] = {TWINS("ClientOtherError"), true, true},
    [TV_ANALYTICS_SERVER_OTHER] = {TWINS("ServerOtherError"), false, true},
    [TV_ANALYTICS_AUTHORIZATION] = {TWINS("AuthorizationError"), true, true},
    [TV_ANALYTICS_NETWORK] = {TWINS("NetworkError"), true, true},
};

static bool is_about_credentials(int status, tv_err err)
{
    if (err == TV_ERR_AUTHENTICATION_INFO)
        return true;
    return (status == 401 || status == 403) && err != TV_ERR_CORS_PREFLIGHT;
}

tv_analytics_result tv_analytics_result_of(int status, tv_err err)
{
    if (status == 0)
        return TV_ANALYTICS_NETWORK;
    if (status < 300)
        return TV_ANALYTICS_SUCCESS;
    if (status == 503)
        return TV_ANALYTICS_THROTTLING;
    if (status == 408)
        return TV_ANALYTICS_CLIENT_TIMEOUT;
    if (err == TV_ERR_TIMED_OUT)
        return TV_ANALYTICS_SERVER_TIMEOUT;
    if (is_about_credentials(status, err))
        return TV_ANALYTICS_AUTHORIZATION;
    return status < 500 ? TV_ANALYTICS_CLIENT_OTHER : TV_ANALYTICS_SERVER_OTHER;
}

tv_slice tv_analytics_outcome_name(tv_analytics_result result, tv_analytics_auth auth)
{
    return results[result].names[auth];
}

/* A stranger who was turned away is nobody's business. */
static bool is_turned_away(tv_analytics_result result, tv_analytics_auth auth)
{
    return result == TV_ANALYTICS_AUTHORIZATION && auth == TV_ANALYTICS_ANONYMOUS;
}

bool tv_analytics_is_billable(tv_analytics_result result, tv_analytics_auth auth)
{
    return results[result].is_billable && !is_turned_away(result, auth);
}

bool tv_analytics_is_in_availability(tv_analytics_result result, tv_analytics_auth auth)
{
    return results[result].is_in_availability && !is_turned_away(result, auth);
}

static bool starts_with_any(tv_slice name, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tv_slice_starts_with(name, tv_slice_of(words[i])))
            return true;
    }
    return false;
}

tv_analytics_class tv_analytics_class_of(tv_slice operation)
{
    static const char *const reads[] = {
        "Query", "Get", "List", "Peek", "TablePreflight", "QueuePreflight", "BlobPreflight"};
    static const char *const deletes[] = {"Delete", "Clear"};

    if (starts_with_any(operation, reads, sizeof reads / sizeof *reads))
        return TV_ANALYTICS_READ;
    if (starts_with_any(operation, deletes, sizeof deletes / sizeof *deletes))
        return TV_ANALYTICS_DELETE;
    return TV_ANALYTICS_WRITE;
}

bool tv_analytics_is_logged(tv_analytics_result result, tv_analytics_auth auth, int status)
{
    if (auth != TV_ANALYTICS_ANONYMOUS)
        return true;
    return result == TV_ANALYTICS_SUCCESS || result == TV_ANALYTICS_SERVER_OTHER ||
           result == TV_ANALYTICS_CLIENT_TIMEOUT || result == TV_ANALYTICS_SERVER_TIMEOUT ||
           status == 304;
}
