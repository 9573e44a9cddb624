/*
 * Which of the storage services is addressed.  Signatures differ by it, and so
 * do names in logs and metrics.
 */
#ifndef TV_BASE_SERVICE_KIND_H
#define TV_BASE_SERVICE_KIND_H

#include "base/slice.h"

typedef enum tv_service_kind {
    TV_SERVICE_TABLE,
    TV_SERVICE_QUEUE,
    TV_SERVICE_BLOB,
} tv_service_kind;

/** "table", "queue" or "blob": as in host names and in what a service SAS signs. */
static inline tv_slice tv_service_kind_name(tv_service_kind kind)
{
    static const tv_slice names[] = {{"table", 5}, {"queue", 5}, {"blob", 4}};

    return names[kind];
}

/** The letter that stands for it in an account SAS (`ss`). */
static inline char tv_service_kind_letter(tv_service_kind kind)
{
    return tv_service_kind_name(kind).data[0];
}

#endif
