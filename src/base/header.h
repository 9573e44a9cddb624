/*
 * One header of a request: what the HTTP layer reads and signatures cover.
 */
#ifndef TV_BASE_HEADER_H
#define TV_BASE_HEADER_H

#include "base/slice.h"

typedef struct tv_header {
    tv_slice name;  /* as sent */
    tv_slice value; /* without blanks at its ends */
} tv_header;

#endif
