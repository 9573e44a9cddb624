/* Asking for room, and the answer when there is none. */
#include "services/service/throttle.h"

#include "base/assert.h"
#include "base/clock.h"

static bool throw_away(tv_request *req, tv_slice piece)
{
    (void)req;
    (void)piece;
    return true;
}

/* Where the body of a refused request goes. */
static const tv_body_sink nowhere = {.take = throw_away};

static bool is_of_account(tv_target_scope scope)
{
    return scope == TV_TARGET_REQUESTS || scope == TV_TARGET_ACCOUNT;
}

tv_err tv_call_ask_targets(tv_call *call, const tv_target_ask *asks, size_t count)
{
    call->is_throttled =
        !tv_target_admit(call->targets, asks, count, tv_clock_mono_ns(), &call->throttle);
    if (!call->is_throttled)
        return TV_OK;
    if (is_of_account(call->throttle.scope))
        call->info.text = TV_LIT("Operations per second is over the account limit.");
    return TV_ERR_THROTTLED;
}

void tv_call_charge_target(tv_call *call, tv_target_scope scope, uint64_t hash, int64_t units)
{
    if (call->targets)
        tv_target_charge(call->targets, scope, hash, units, tv_clock_mono_ns());
}

tv_err tv_call_enter_targets(tv_call *call, bool *ret_goes_on)
{
    tv_target_ask asks[TV_SERVICE_ASKS_MAX] = {{.scope = TV_TARGET_REQUESTS, .units = 1}};
    const tv_op *op = call->op;
    size_t count = 1;

    *ret_goes_on = true;
    call->targets = tv_identity_targets(call->identity);
    /* One that begins again has been let in. */
    if (call->targets == NULL || call->looks)
        return TV_OK;
    if (call->service->spec->targets)
        count += call->service->spec->targets(call, asks + 1);
    tv_assert(count <= TV_SERVICE_ASKS_MAX);
    if (tv_call_ask_targets(call, asks, count) == TV_OK)
        return TV_OK;

    /* Who waits for a word before the body is sent need not send it. */
    if (tv_request_header(call->req, TV_LIT("expect")).data)
        return TV_ERR_THROTTLED;
    *ret_goes_on = false;
    call->req->sink = &nowhere;
    call->req->body_bytes_max = op->body_bytes_max ? op->body_bytes_max : TV_OP_BODY_BYTES_MAX;
    return TV_OK;
}

void tv_call_charge_rest(tv_call *call)
{
    if (call->targets && !call->is_throttled && call->service->spec->charge_rest)
        call->service->spec->charge_rest(call);
}

void tv_call_add_throttle(tv_call *call)
{
    const tv_throttle *throttle = &call->throttle;
    tv_arena *arena = &call->req->arena;
    int64_t seconds = (throttle->wait_ns + 999999999) / 1000000000;

    if (tv_target_choices_of(call->targets)->has_retry_after)
        tv_response_header(call->req, TV_LIT("Retry-After"),
                           tv_arena_printf(arena, "%lld", (long long)(seconds > 1 ? seconds : 1)));
    tv_response_header(
        call->req, TV_LIT("x-tavola-throttled"),
        tv_arena_printf(arena, "%s; rate=%llu; target=%llu", tv_target_scope_name(throttle->scope),
                        (unsigned long long)throttle->rate, (unsigned long long)throttle->target));
}
