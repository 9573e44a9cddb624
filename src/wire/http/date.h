/* The Date header, which is written into every response and changes once a second. */
#ifndef TV_WIRE_HTTP_DATE_H
#define TV_WIRE_HTTP_DATE_H

#include <stdint.h>

#include "base/slice.h"

enum { TV_HTTP_DATE_LEN = 29 };

/** The text of the current second; all zeros at first.  For one thread. */
typedef struct tv_http_clock {
    int64_t second; /* since 1970 */
    char text[32];
} tv_http_clock;

/** Now as "Fri, 06 May 2022 00:31:04 GMT", TV_HTTP_DATE_LEN bytes; valid until the next call. */
tv_slice tv_http_clock_text(tv_http_clock *clock);

#endif
