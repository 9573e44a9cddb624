/*
 * The stats of a service, as XML.
 */
#ifndef TVC_RESOURCE_STATS_H
#define TVC_RESOURCE_STATS_H

#include "client/memory.h"

typedef struct tvc_stats {
    char status[TAVOLA_GEO_STATUS_SIZE];
    tavola_ticks last_sync; /* 0: there was none */
} tvc_stats;

/** Read an answer, which is changed.  PROTOCOL when it is something else. */
tavola_err tvc_stats_read(char *document, size_t len, tvc_stats *ret_stats);

#endif
