/* When an attempt is repeated, where and when. */
#include "base/clock.h"
#include "base/number.h"
#include "base/random.h"
#include "client/op/state.h"

static const int64_t ns_per_ms = 1000 * 1000;

bool tvc_retry_helps(int status)
{
    return status == 429 || tvc_retry_hides_write(status);
}

bool tvc_retry_hides_write(int status)
{
    return status == 500 || status == 503 || tvc_retry_is_of_a_gateway(status);
}

/* Statuses that no standard knows are those of proxies: 520 to 530, 598, 599. */

bool tvc_retry_is_of_a_gateway(int status)
{
    enum { HTTP_VERSION_NOT_SUPPORTED = 505 };

    return status == 408 || status == 502 || status == 504 || status > HTTP_VERSION_NOT_SUPPORTED;
}

int64_t tvc_retry_delay_ns(const tavola_client_options *options, uint32_t n, double spread)
{
    int64_t longest = options->retry_delay_max_ms * ns_per_ms;
    double delay = (double)options->retry_delay_ms * (double)ns_per_ms * (0.8 + 0.4 * spread);

    for (uint32_t i = 1; i < n && delay < (double)longest; i++)
        delay *= 2;
    return delay < (double)longest ? (int64_t)delay : longest;
}

bool tvc_retry_after_ns(const tavola_client_options *options, const tvc_response *response,
                        int64_t *ret_delay_ns)
{
    static const struct {
        tv_slice name;
        uint64_t unit_ms;
    } headers[] = {
        {{"x-ms-retry-after-ms", 19}, 1}, {{"retry-after-ms", 14}, 1}, {{"Retry-After", 11}, 1000}};
    uint64_t longest_ms = options->retry_delay_max_ms;

    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        tv_slice value = tvc_response_header(response, headers[i].name);
        uint64_t count;

        if (value.data == NULL || !tv_parse_uint64(value, &count))
            continue;
        *ret_delay_ns =
            (int64_t)(count < longest_ms / headers[i].unit_ms ? count * headers[i].unit_ms
                                                              : longest_ms) *
            ns_per_ms;
        return true;
    }
    return false;
}

/* Reads go to the other endpoint, if there is one that may be asked. */
static bool next_is_secondary(const tavola_op *op)
{
    const tvc_op_state *state = op->state;

    if (!op->is_read || op->location != TVC_AT_EITHER || op->client->secondary[op->service] == NULL)
        return state->is_at_secondary;
    return !state->is_at_secondary && !state->is_secondary_behind;
}

bool tvc_retry_later(tavola_op *op, const tvc_response *response)
{
    enum { SPREAD_BITS = 53 };
    tvc_op_state *state = op->state;
    const tavola_client_options *options = &op->client->options;
    double spread =
        (double)(tv_random_u64() >> (64 - SPREAD_BITS)) / (double)(UINT64_C(1) << SPREAD_BITS);
    int64_t now = tv_clock_mono_ns(), delay;

    if (state->retries_made >= state->retries_max || state->sink_bytes)
        return false;

    if (response == NULL || !tvc_retry_after_ns(options, response, &delay))
        delay = tvc_retry_delay_ns(options, state->retries_made + 1, spread);

    /* The time that is spent at the other endpoint counts as waiting. */
    state->free_at_ns[state->is_at_secondary] = now + delay;

    bool is_secondary = next_is_secondary(op);
    int64_t resume = state->free_at_ns[is_secondary];

    if (resume < now)
        resume = now;
    if (resume >= state->deadline_ns)
        return false;

    state->is_at_secondary = is_secondary;
    state->retries_made++;
    state->resume_ns = resume;
    state->phase = TVC_PHASE_PAUSE;
    return true;
}
