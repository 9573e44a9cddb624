/* What flow.c and lookup.c share: calls that begin again.  For this folder alone. */
#ifndef TV_SERVICES_SERVICE_FLOW_H
#define TV_SERVICES_SERVICE_FLOW_H

#include "services/service/call.h"

/** Take a call, of which nothing is under way, through all its steps again; flow.c. */
void tv_call_begin_again(tv_call *call);

/**
 * Its head is accepted: whether the catalogue has to be brought up to date before it goes
 * on.  Then it is held, and begins again; lookup.c.
 */
bool tv_call_looks_first(tv_call *call);

#endif
