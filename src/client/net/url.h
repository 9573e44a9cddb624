/* An absolute http or https URL, taken apart. */
#ifndef TVC_NET_URL_H
#define TVC_NET_URL_H

#include <stdint.h>

#include "base/slice.h"

/** Slices of the text that was parsed. */
typedef struct tvc_url {
    bool is_https;
    tv_slice user;     /* "user:password" before an '@'; data is NULL when there is none */
    tv_slice host;     /* without brackets */
    bool is_bracketed; /* an IPv6 address */
    uint16_t port;     /* 0: none given */
    tv_slice path;     /* without '/' at its end; may be empty */
} tvc_url;

/** False with one static line in *reterr_why. */
bool tvc_url_parse(tv_slice text, tvc_url *ret_url, const char **reterr_why);

#endif
