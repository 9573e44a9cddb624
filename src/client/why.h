/*
 * Why the last function that failed in this thread did so, behind tavola_error_text.
 */
#ifndef TVC_WHY_H
#define TVC_WHY_H

#include "base/slice.h"
#include "tavola.h"

/** Keep one line for people.  Returns err, so that `return tvc_refuse(...)` reads well. */
tavola_err tvc_refuse(tavola_err err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The same for what a service or the network has said; the code may be "". */
void tvc_keep_error(tavola_err err, const char *code, const char *message);

#endif
