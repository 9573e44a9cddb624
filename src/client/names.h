/*
 * A list of names, behind tavola_names: of tables, queues, containers.
 */
#ifndef TVC_NAMES_H
#define TVC_NAMES_H

#include "client/memory.h"

struct tavola_names {
    char **items; /* each is memory of its own, with a NUL after it */
    size_t count, size;
};

/** An empty list; NULL when there is no memory. */
tavola_names *tvc_names_new(void);

/** Append a copy of a name; false when there is no memory, and nothing has changed then. */
bool tvc_names_add(tavola_names *names, tv_slice name);

#endif
