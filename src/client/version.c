/* Which library this is, and the names of its errors. */
#include "tavola.h"

uint32_t tavola_version_num(void)
{
    return TAVOLA_VERSION_NUM;
}

const char *tavola_version(void)
{
    return "0.1.0";
}

const char *tavola_err_name(tavola_err err)
{
    switch (err) {
    case TAVOLA_OK:
        return "OK";
    case TAVOLA_END:
        return "END";
    case TAVOLA_ERR_NOT_FOUND:
        return "NOT_FOUND";
    case TAVOLA_ERR_EXISTS:
        return "EXISTS";
    case TAVOLA_ERR_CONFLICT:
        return "CONFLICT";
    case TAVOLA_ERR_ETAG:
        return "ETAG";
    case TAVOLA_ERR_DENIED:
        return "DENIED";
    case TAVOLA_ERR_INVALID:
        return "INVALID";
    case TAVOLA_ERR_TOO_LARGE:
        return "TOO_LARGE";
    case TAVOLA_ERR_UNSUPPORTED:
        return "UNSUPPORTED";
    case TAVOLA_ERR_BUSY:
        return "BUSY";
    case TAVOLA_ERR_SERVER:
        return "SERVER";
    case TAVOLA_ERR_TIMEOUT:
        return "TIMEOUT";
    case TAVOLA_ERR_NETWORK:
        return "NETWORK";
    case TAVOLA_ERR_UNKNOWN_OUTCOME:
        return "UNKNOWN_OUTCOME";
    case TAVOLA_ERR_CRYPTO:
        return "CRYPTO";
    case TAVOLA_ERR_PROTOCOL:
        return "PROTOCOL";
    case TAVOLA_ERR_CANCELLED:
        return "CANCELLED";
    case TAVOLA_ERR_NO_MEMORY:
        return "NO_MEMORY";
    }
    return "?";
}
