/* Why the last function that failed in this thread did so. */
#include "client/why.h"

#include <stdarg.h>
#include <stdio.h>

/* As long as the message of a call with its code. */
static _Thread_local struct {
    tavola_err err;
    char text[600];
} last;

tavola_err tvc_refuse(tavola_err err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(last.text, sizeof last.text, format, args);
    va_end(args);
    last.err = err;
    return err;
}

void tvc_keep_error(tavola_err err, const char *code, const char *message)
{
    (void)tvc_refuse(err, "%s%s%s", code, code[0] && message[0] ? ": " : "", message);
}

/* What is known by the error alone. */
static const char *text_of(tavola_err err)
{
    switch (err) {
    case TAVOLA_OK:
        return "";
    case TAVOLA_END:
        return "there are no more";
    case TAVOLA_ERR_NOT_FOUND:
        return "it is not there";
    case TAVOLA_ERR_EXISTS:
        return "it is there already";
    case TAVOLA_ERR_CONFLICT:
        return "its state does not allow it";
    case TAVOLA_ERR_ETAG:
        return "it was changed since it was read";
    case TAVOLA_ERR_DENIED:
        return "it is not allowed";
    case TAVOLA_ERR_INVALID:
        return "something about it cannot be used";
    case TAVOLA_ERR_TOO_LARGE:
        return "it is too large";
    case TAVOLA_ERR_UNSUPPORTED:
        return "it is not supported";
    case TAVOLA_ERR_BUSY:
        return "the service is busy";
    case TAVOLA_ERR_SERVER:
        return "the service has failed";
    case TAVOLA_ERR_TIMEOUT:
        return "it is not done in time";
    case TAVOLA_ERR_NETWORK:
        return "the service cannot be reached";
    case TAVOLA_ERR_UNKNOWN_OUTCOME:
        return "whether it was done is not known";
    case TAVOLA_ERR_CRYPTO:
        return "it cannot be decrypted";
    case TAVOLA_ERR_PROTOCOL:
        return "the answer cannot be read";
    case TAVOLA_ERR_CANCELLED:
        return "it was cancelled";
    case TAVOLA_ERR_NO_MEMORY:
        return "there is no memory";
    }
    return "this is not an error of the library";
}

tavola_err tavola_last_error(void)
{
    return last.err;
}

const char *tavola_error_text(tavola_err err)
{
    return last.err == err && last.text[0] ? last.text : text_of(err);
}
