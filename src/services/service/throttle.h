/*
 * Scalability targets in the flow of a request (targets/targets.h).  Every authorised request
 * asks for room in its account and in what its service names (tv_service_spec.targets); an
 * operation may ask for more once it knows what it costs.  What is refused is answered with
 * 503 and what the client has to know; its body is read and thrown away, so that the
 * connection goes on.  An account without targets takes none of these steps.
 */
#ifndef TV_SERVICES_SERVICE_THROTTLE_H
#define TV_SERVICES_SERVICE_THROTTLE_H

#include "services/service/call.h"

/**
 * Once it is authorised.  With *ret_goes_on false it is refused: it has a sink for its
 * body, and is answered with TV_ERR_THROTTLED when that is in.  Or TV_ERR_THROTTLED: at once.
 */
tv_err tv_call_enter_targets(tv_call *call, bool *ret_goes_on) TV_WARN_UNUSED;

/** Of call->targets, not NULL: charge these, or TV_ERR_THROTTLED and charge nothing. */
tv_err tv_call_ask_targets(tv_call *call, const tv_target_ask *asks, size_t count) TV_WARN_UNUSED;

/** Charge what is known only now, or give back; nothing without targets. */
void tv_call_charge_target(tv_call *call, tv_target_scope scope, uint64_t hash, int64_t units);

/** The request is done: charge what was not known before. */
void tv_call_charge_rest(tv_call *call);

/** For tv_call_start: what a client is told that was refused. */
void tv_call_add_throttle(tv_call *call);

#endif
