/*
 * Why a request was not authenticated, in the words of the service: clients and people
 * match on them.  What the client sent comes back in it, cut and cleaned; nothing
 * of what the server knows does.
 */
#include "model/auth/identity_internal.h"

#include "base/clock.h"
#include "base/datetime.h"
#include "base/xml.h"

enum { SHOWN_BYTES_MAX = 4096 };

static tv_slice show(tv_arena *arena, tv_slice text)
{
    return tv_xml_clean(arena, text, SHOWN_BYTES_MAX);
}

tv_err tv_refuse(tv_error_info *reterr_info, const char *reason)
{
    reterr_info->reason = tv_slice_of(reason);
    return TV_ERR_AUTHENTICATION_FAILED;
}

tv_err tv_refuse_empty(tv_arena *arena, const char *field, tv_error_info *reterr_info)
{
    reterr_info->reason = tv_arena_printf(arena, "%s is mandatory. Cannot be empty", field);
    return TV_ERR_AUTHENTICATION_FAILED;
}

tv_err tv_refuse_date(tv_arena *arena, tv_slice date, tv_error_info *reterr_info)
{
    reterr_info->reason =
        tv_arena_printf(arena, "Request date header too old: '%.*s'", TV_FMT(show(arena, date)));
    return TV_ERR_AUTHENTICATION_FAILED;
}

tv_err tv_refuse_key_signature(tv_arena *arena, tv_slice signature, tv_slice text,
                               tv_error_info *reterr_info)
{
    reterr_info->reason = tv_arena_printf(
        arena,
        "The MAC signature found in the HTTP request '%.*s' is not the same as any computed "
        "signature. Server used following string to sign: '%.*s'.",
        TV_FMT(show(arena, signature)), TV_FMT(show(arena, text)));
    return TV_ERR_AUTHENTICATION_FAILED;
}

tv_err tv_refuse_sas_signature(tv_arena *arena, tv_slice text, tv_error_info *reterr_info)
{
    reterr_info->reason =
        tv_arena_printf(arena, "Signature did not match. String to sign used was %.*s",
                        TV_FMT(show(arena, text)));
    return TV_ERR_AUTHENTICATION_FAILED;
}

/* "Fri, 02 Jan 2026 03:04:05 GMT", in the arena; of the last instant, whatever comes after it. */
static tv_slice date_of(tv_arena *arena, int64_t ticks)
{
    char text[TV_DATETIME_TEXT_MAX];

    if (ticks > TV_TICKS_MAX)
        ticks = TV_TICKS_MAX;

    return tv_arena_dup(arena, (tv_slice){text, tv_http_date_format(text, ticks)});
}

tv_err tv_refuse_time(tv_arena *arena, const int64_t *start, int64_t expiry, int64_t now,
                      tv_error_info *reterr_info)
{
    tv_slice expiry_text = date_of(arena, expiry);
    tv_slice start_text = date_of(arena, start ? *start : now);

    /* Without a start the service assumes now. */
    reterr_info->reason =
        start && *start < expiry
            ? tv_arena_printf(arena,
                              "Signature not valid in the specified time frame: Start [%.*s] - "
                              "Expiry [%.*s] - Current [%.*s]",
                              TV_FMT(start_text), TV_FMT(expiry_text), TV_FMT(date_of(arena, now)))
            : tv_arena_printf(arena,
                              "Signed expiry time [%.*s] must be after signed start time [%.*s]",
                              TV_FMT(expiry_text), TV_FMT(start_text));
    return TV_ERR_AUTHENTICATION_FAILED;
}

tv_err tv_refuse_development(tv_arena *arena, tv_service_kind service, tv_error_info *reterr_info)
{
    static const int ports[] = {
        [TV_SERVICE_TABLE] = 10002, [TV_SERVICE_QUEUE] = 10001, [TV_SERVICE_BLOB] = 10000};

    reterr_info->reason = tv_arena_printf(
        arena,
        "The well-known key of " TV_DEVELOPMENT_ACCOUNT " is accepted only from the server's own "
        "machine, and only under an IP address or localhost, as in "
        "http://127.0.0.1:%d/" TV_DEVELOPMENT_ACCOUNT ". Use such an endpoint, or an account with "
        "a key of its own, or start the server with --allow-dev-account.",
        ports[service]);
    /* Many clients show the message alone, and everybody who starts with containers comes here. */
    reterr_info->text = tv_arena_printf(arena, "Server failed to authenticate the request. %.*s",
                                        TV_FMT(reterr_info->reason));
    return TV_ERR_AUTHENTICATION_FAILED;
}
