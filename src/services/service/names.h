/*
 * What queues and containers may be called: 3 to 63 lower-case letters, digits
 * and dashes, a letter or digit at both ends, no two dashes in a row.
 */
#ifndef TV_SERVICES_SERVICE_NAMES_H
#define TV_SERVICES_SERVICE_NAMES_H

#include "base/err.h"

/**
 * TV_ERR_NAME_LENGTH, TV_ERR_NAME_INVALID: on the wire they are
 * the same as for tables.
 */
tv_err tv_check_container_name(tv_slice name) TV_WARN_UNUSED;

#endif
