/*
 * The course of an operation: attempt, answer, pause, attempt again, settle, done.
 *
 *  (1) finish() sees whole 2xx answers only, and the first that it accepts ends the operation.
 *  (2) An error of the service is passed on as it is, unless an earlier attempt may have caused it.
 *  (3) A write of which an attempt got no answer never ends with an error that says it was not
 *      made, unless the service has said so since.
 */
#include "base/assert.h"
#include "base/clock.h"
#include "base/guid.h"
#include "client/op/state.h"

static const int64_t ns_per_ms = 1000 * 1000;

void tvc_op_end(tavola_op *op, tavola_err err)
{
    tvc_op_state *state = op->state;

    if (state->phase == TVC_PHASE_DONE)
        return;

    tvc_op_let_go(op);
    state->phase = TVC_PHASE_DONE;
    state->err = err;
}

void tvc_op_let_go(tavola_op *op)
{
    tvc_op_state *state = op->state;

    tvc_exchange_done(&state->exchange);
    if (op->client->bearers)
        tvc_bearers_leave(op->client->bearers, &state->bearer_waiter);
    tvc_bearer_unref(state->bearer);
    state->bearer = NULL;
}

void tvc_op_give_up(tavola_op *op)
{
    tvc_op_state *state = op->state;

    if (state->phase == TVC_PHASE_DONE)
        return;

    if (!op->is_read && tvc_exchange_was_sent(&state->exchange))
        op->was_unknown = true;
    op->call->status = 0;
    tvc_call_set_error(op->call, "",
                       op->was_unknown ? "it was cancelled; whether the write was made is not known"
                                       : "it was cancelled");
    tvc_op_end(op, op->was_unknown ? TAVOLA_ERR_UNKNOWN_OUTCOME : TAVOLA_ERR_CANCELLED);
}

/* ---- the beginning -------------------------------------------------------------------------- */

static bool has_text_failed(const tavola_op *op)
{
    return op->request.path.has_failed || op->request.query.has_failed ||
           op->request.headers.has_failed || op->request.body.has_failed ||
           op->settle.path.has_failed || op->settle.entity.has_failed;
}

static void name_request(tavola_call *call)
{
    if (call->wanted_request_id) {
        call->client_request_id = call->wanted_request_id;
        return;
    }
    tv_guid guid = tv_guid_new();

    tv_guid_format(call->guid, &guid);
    call->guid[TV_GUID_TEXT_LEN] = '\0';
    call->client_request_id = call->guid;
}

static tavola_err refuse(tavola_call *call, tavola_err err, const char *why)
{
    tvc_call_set_error(call, "", why);
    return err;
}

static tavola_err prepare(tavola_op *op)
{
    const tavola_client *client = op->client;
    tvc_op_state *state = op->state;
    tavola_call *call = op->call;

    if (has_text_failed(op) || call->option_error == TAVOLA_ERR_NO_MEMORY)
        return TAVOLA_ERR_NO_MEMORY;
    if (call->option_error)
        return refuse(call, call->option_error,
                      "the client request id is not 1 to 1024 characters of printable ASCII");
    if (client->primary[op->service] == NULL)
        return refuse(call, TAVOLA_ERR_INVALID,
                      "the connection string names no endpoint of this service");

    if (call->primary_only && op->location == TVC_AT_EITHER)
        op->location = TVC_AT_PRIMARY;
    state->is_at_secondary = op->is_read && op->location == TVC_AT_SECONDARY;
    if (state->is_at_secondary && client->secondary[op->service] == NULL)
        return refuse(call, TAVOLA_ERR_INVALID,
                      "the token is of the secondary, which this client does not read");

    uint32_t timeout_ms =
        call->total_timeout_ms ? call->total_timeout_ms : client->options.total_timeout_ms;

    state->deadline_ns = tv_clock_mono_ns() + timeout_ms * ns_per_ms;
    state->retries_max = call->retry_max == TVC_RETRIES_BY_CLIENT ? client->options.retry_max
                                                                  : (uint32_t)call->retry_max;
    name_request(call);
    return TAVOLA_OK;
}

/* ---- an attempt ----------------------------------------------------------------------------- */

/* What the sink has had cannot be taken back, so it is counted. */
static bool write_to_sink(void *user, const void *bytes, size_t len)
{
    tavola_op *op = user;

    op->state->sink_bytes += len;
    return op->request.sink.write(op->request.sink.user, bytes, len);
}

static tvc_head head_of(const tavola_op *op)
{
    const tvc_request *request = &op->request;

    if (op->state->is_settling)
        return (tvc_head){
            .method = "GET",
            .path = tvc_settle_path(op),
            .headers = TV_LIT("Accept: application/json;odata=minimalmetadata\r\n"),
        };
    return (tvc_head){
        .method = request->method,
        .path = tvc_text_slice(&request->path),
        .query = tvc_text_slice(&request->query),
        .headers = tvc_text_slice(&request->headers),
        .body_len = request->source.read ? request->source_len : request->body.buf.len,
    };
}

static void begin_exchange(tavola_op *op)
{
    const tavola_client *client = op->client;
    tvc_op_state *state = op->state;
    tvc_exchange *exchange = &state->exchange;

    tvc_bearer_unref(state->bearer);
    state->bearer = NULL;
    state->has_head = false;
    *exchange = (tvc_exchange){
        .endpoint = op->endpoint             ? op->endpoint
                    : state->is_at_secondary ? client->secondary[op->service]
                                             : client->primary[op->service],
        .is_head = !state->is_settling && op->request.method[0] == 'H',
        .waker = state->waker,
    };
    if (!state->is_settling) {
        exchange->body = tvc_text_slice(&op->request.body);
        exchange->source = op->request.source;
        exchange->source_len = op->request.source_len;
        if (op->request.sink.write)
            exchange->sink = (tvc_sink){write_to_sink, op};
    }
    state->phase = TVC_PHASE_EXCHANGE;
    op->call->attempts++;
}

static tvc_wait fail_unsent(tavola_op *op, tavola_err err, const char *why)
{
    tvc_exchange *exchange = &op->state->exchange;

    tvc_call_set_error(op->call, "", why);
    exchange->err = err;
    exchange->why = op->call->message;
    exchange->fate = TVC_NOT_SENT;
    exchange->is_final = err == TAVOLA_ERR_DENIED;
    return TVC_WAIT_NOTHING;
}

/* NOTHING when there is a token, or the exchange has failed for want of one. */
static tvc_wait take_bearer(tavola_op *op, int64_t *ret_until_ns)
{
    tvc_op_state *state = op->state;
    char why[sizeof op->call->message];

    /* It goes to the account's own endpoints, and over TLS. */
    tv_assert(op->endpoint == NULL && tvc_endpoint_is_https(state->exchange.endpoint));
    if (tv_clock_mono_ns() >= state->deadline_ns)
        return fail_unsent(op, TAVOLA_ERR_TIMEOUT, "no bearer token: none came in time");

    switch (tvc_bearers_ask(op->client->bearers, &state->bearer_waiter, state->waker,
                            &state->bearer, why, sizeof why)) {
    case TVC_BEARER_READY:
        return TVC_WAIT_NOTHING;
    case TVC_BEARER_WAIT:
        *ret_until_ns = state->deadline_ns;
        return TVC_WAIT_WAKE;
    case TVC_BEARER_FAILED:
        break;
    }
    return fail_unsent(op, state->bearer_waiter.err, why);
}

/* What makes the request acceptable is as fresh as can be.  NOTHING with has_head, or a failure. */
static tvc_wait write_head(tavola_op *op, int64_t *ret_until_ns)
{
    tvc_op_state *state = op->state;
    tvc_exchange *exchange = &state->exchange;
    tvc_head head = head_of(op);

    if (op->client->bearers) {
        tvc_wait wait = take_bearer(op, ret_until_ns);

        if (wait != TVC_WAIT_NOTHING || exchange->err)
            return wait;
    }
    tvc_head_write(&state->head, op, exchange->endpoint, &head);
    if (state->head.has_failed)
        return fail_unsent(op, TAVOLA_ERR_NO_MEMORY, "");

    int64_t deadline = tv_clock_mono_ns() + op->client->options.attempt_timeout_ms * ns_per_ms;

    exchange->deadline_ns = deadline < state->deadline_ns ? deadline : state->deadline_ns;
    exchange->head = tvc_text_slice(&state->head);
    state->has_head = true;
    return TVC_WAIT_NOTHING;
}

static tvc_wait step_exchange(tavola_op *op, int *ret_fd, int64_t *ret_until_ns)
{
    tvc_op_state *state = op->state;

    if (!state->has_head) {
        tvc_wait wait = write_head(op, ret_until_ns);

        if (!state->has_head)
            return wait;
    }
    return tvc_exchange_step(&state->exchange, ret_fd, ret_until_ns);
}

/* ---- its end -------------------------------------------------------------------------------- */

/* The first part of the path: a table, queue or container, and nothing of what is in it. */
static tv_slice public_path(const tavola_op *op)
{
    tv_slice path = tvc_text_slice(&op->request.path);
    size_t len = path.len > 0;

    while (len < path.len && len < 80 && path.data[len] != '/' && path.data[len] != '(')
        len++;
    return tv_slice_take(path, len);
}

static void log_attempt(const tavola_op *op)
{
    const tvc_exchange *exchange = &op->state->exchange;
    const tavola_call *call = op->call;

    if (op->client->options.log == NULL)
        return;

    if (exchange->fate == TVC_ANSWERED) {
        tv_slice id = tvc_response_header(&exchange->response, TV_LIT("x-ms-request-id"));
        tv_slice plan = tvc_response_header(&exchange->response, TV_LIT("x-tavola-plan"));

        if (!tv_slice_is_printable(id))
            id = TV_LIT("?");
        tvc_client_log(op->client, TAVOLA_LOG_DEBUG,
                       "%.64s: attempt %u%s: status %d, service %.*s (%s %.*s)%s%.*s",
                       call->client_request_id, call->attempts,
                       op->state->is_settling ? " (reading back)" : "", exchange->response.status,
                       TV_FMT(tv_slice_take(id, id.len < 64 ? id.len : 64)), op->request.method,
                       TV_FMT(public_path(op)), plan.len ? ", plan " : "",
                       TV_FMT(tv_slice_take(plan, plan.len < 100 ? plan.len : 100)));
    } else {
        tvc_client_log(
            op->client, TAVOLA_LOG_INFO, "%.64s: attempt %u%s: %s, %s: %s (%s %.*s)",
            call->client_request_id, call->attempts,
            op->state->is_settling ? " (reading back)" : "", tavola_err_name(exchange->err),
            exchange->fate == TVC_NOT_SENT ? "not sent" : "sent without an answer",
            exchange->why ? exchange->why : "", op->request.method, TV_FMT(public_path(op)));
    }
}

/* Another attempt would not be better, but a write may be there. */
static void end_without_repeating(tavola_op *op, tavola_err err)
{
    if (op->was_unknown)
        tvc_settle_exhausted(op, err);
    else
        tvc_op_end(op, err);
}

/* Try again if that may help, else come to an end. */
static void repeat_or_end(tavola_op *op, tavola_err err, const tvc_response *response)
{
    if (op->settle.kind == TVC_SETTLE_GUESS && op->was_unknown)
        tvc_settle_exhausted(op, err);
    else if (tvc_retry_later(op, response))
        tvc_exchange_done(&op->state->exchange);
    else
        end_without_repeating(op, err);
}

/* What is told of an attempt without an answer: of whom it was wanted, and what came instead. */
static void tell_failure(tavola_op *op)
{
    const tvc_exchange *exchange = &op->state->exchange;
    const char *why = exchange->why ? exchange->why : "";
    char whom[300], text[sizeof op->call->message];

    if (why == op->call->message) /* nobody was asked */
        return;

    if (*why) {
        tvc_endpoint_tell(exchange->endpoint, whom, sizeof whom);
        snprintf(text, sizeof text, "%s: %s", whom, why);
        why = text;
    }
    tvc_call_set_error(op->call, "", why);
}

/* Nobody has taken this request, nor answered one before: an application may not want to wait. */
static bool is_absent(const tavola_op *op)
{
    const tvc_exchange *exchange = &op->state->exchange;

    return op->client->options.absent_is_final && exchange->fate == TVC_NOT_SENT &&
           !op->was_unknown && !tvc_endpoint_has_answered(exchange->endpoint);
}

static void take_failure(tavola_op *op)
{
    tvc_op_state *state = op->state;
    tavola_err err = state->exchange.err;

    tv_assert(err != TAVOLA_OK);
    state->otherwise = err;
    state->otherwise_status = 0;
    op->call->status = 0;
    tell_failure(op);
    if (!op->is_read && state->exchange.fate == TVC_UNKNOWN)
        op->was_unknown = state->was_unanswered = true;

    switch (err) {
    case TAVOLA_ERR_INVALID: /* a host without an address, which may get one */
    case TAVOLA_ERR_NETWORK:
    case TAVOLA_ERR_TIMEOUT:
    case TAVOLA_ERR_BUSY: /* whom the application asks for tokens */
        err = err == TAVOLA_ERR_INVALID ? TAVOLA_ERR_NETWORK : err;
        if (is_absent(op))
            tvc_op_end(op, err);
        else if (state->exchange.is_final)
            end_without_repeating(op, err);
        else
            repeat_or_end(op, err, NULL);
        break;
    default:
        end_without_repeating(op, err);
    }
}

static void put_header(char *to, size_t size, const tvc_response *response, tv_slice name)
{
    tv_slice value = tvc_response_header(response, name);

    to[0] = '\0';
    if (value.len < size && tv_slice_is_printable(value))
        *tv_slice_put(to, value) = '\0';
}

bool tvc_op_is_answer_to(const tavola_call *call, const tvc_response *response)
{
    tv_slice echo = tvc_response_header(response, TV_LIT("x-ms-client-request-id"));

    return echo.data == NULL || tv_slice_eq(echo, tv_slice_of(call->client_request_id));
}

/* What every answer tells about itself. */
static void read_headers(tavola_call *call, const tvc_response *response)
{
    call->status = response->status;
    put_header(call->service_request_id, sizeof call->service_request_id, response,
               TV_LIT("x-ms-request-id"));
    put_header(call->plan, sizeof call->plan, response, TV_LIT("x-tavola-plan"));
}

/* The secondary lags behind: that it does not know something says nothing of the primary. */
static bool is_lag(const tavola_op *op, const tvc_response *response)
{
    return op->state->is_at_secondary && op->location == TVC_AT_EITHER && response->status == 404;
}

/* An error of the service, whose status is in the call. */
static void take_error(tavola_op *op, tavola_err err, const tvc_response *response)
{
    int status = op->call->status;

    op->state->otherwise = err;
    op->state->otherwise_status = status;
    if (tvc_retry_helps(status)) {
        if (!op->is_read && tvc_retry_hides_write(status))
            op->was_unknown = true;
        if (!op->is_read && tvc_retry_is_of_a_gateway(status))
            op->state->was_unanswered = true;
        repeat_or_end(op, err, response);
    } else if (op->was_unknown && (err == TAVOLA_ERR_PROTOCOL || err == TAVOLA_ERR_NO_MEMORY)) {
        /* Not of the service (a redirect of somebody on the way), or not understood. */
        tvc_settle_exhausted(op, err);
    } else if (!op->was_unknown || !tvc_settle_answer(op, err)) {
        tvc_op_end(op, err);
    }
}

static void take_refusal(tavola_op *op, const tvc_response *response)
{
    if (is_lag(op, response)) {
        op->state->is_secondary_behind = true;
        op->call->status = op->state->otherwise_status;
        repeat_or_end(op, op->state->otherwise, NULL);
        return;
    }
    take_error(op, tvc_call_read_error(op->call, response), response);
}

/* There is an answer, but not one that can be read: a read has failed, a write may have been made.
 */
static void end_unread(tavola_op *op, tavola_err err)
{
    if (op->is_read) {
        tvc_op_end(op, err);
        return;
    }
    op->was_unknown = true;
    tvc_settle_exhausted(op, err);
}

static void take_success(tavola_op *op, tvc_response *response)
{
    tavola_call *call = op->call;
    tavola_err err = TAVOLA_OK;

    tvc_call_set_error(call, "", "");
    call->failed_index = -1; /* as the part of an attempt before may have left it */
    if (!tvc_call_set_etag(call, tvc_response_header(response, TV_LIT("ETag"))))
        err = TAVOLA_ERR_NO_MEMORY;
    op->was_secondary = op->state->is_at_secondary;
    if (err == TAVOLA_OK && op->finish)
        err = op->finish(op, response);
    if (err == TAVOLA_ERR_PROTOCOL || err == TAVOLA_ERR_NO_MEMORY)
        end_unread(op, err);
    else if (err && (op->settle.is_batch || call->status != response->status))
        take_error(op, err, NULL); /* of a part of the answer, which decides */
    else
        tvc_op_end(op, err);
}

static void take_answer(tavola_op *op)
{
    tvc_response *response = &op->state->exchange.response;

    read_headers(op->call, response);
    if (!tvc_op_is_answer_to(op->call, response)) {
        op->state->was_unanswered = true;
        tvc_call_set_error(op->call, "", "the answer belongs to another request");
        end_unread(op, TAVOLA_ERR_PROTOCOL);
    } else if (response->status >= 200 && response->status <= 299) {
        take_success(op, response);
    } else {
        take_refusal(op, response);
    }
}

/*
 * Whether a token was refused and the same is asked with another: once, and not more, as who is not
 * let in with a fresh one will not be.  The service has done nothing then, as with any 401.
 */
static bool has_other_token(tavola_op *op)
{
    tvc_op_state *state = op->state;
    enum { UNAUTHORIZED = 401 };

    if (state->bearer == NULL || state->was_refused || state->exchange.fate != TVC_ANSWERED ||
        state->exchange.response.status != UNAUTHORIZED ||
        !tvc_op_is_answer_to(op->call, &state->exchange.response))
        return false;
    state->was_refused = true;
    tvc_bearers_reject(op->client->bearers, state->bearer);
    tvc_exchange_done(&state->exchange);
    begin_exchange(op);
    return true;
}

static void end_exchange(tavola_op *op)
{
    log_attempt(op);
    if (op->state->exchange.fate == TVC_ANSWERED)
        tvc_endpoint_note_answer(op->state->exchange.endpoint);
    if (has_other_token(op))
        return;
    if (op->state->is_settling)
        tvc_settle_read(op);
    else if (op->state->exchange.fate == TVC_ANSWERED)
        take_answer(op);
    else
        take_failure(op);
}

/* ---- the whole ------------------------------------------------------------------------------ */

void tvc_op_renew(tavola_op *op)
{
    tvc_op_state *state = op->state;

    /* What was kept of it is in the call. */
    state->phase = TVC_PHASE_NEW;
    state->err = TAVOLA_OK;
    state->resume_ns = 0;
    state->retries_made = 0;
    state->sink_bytes = 0;
    state->is_at_secondary = state->is_secondary_behind = false;
    state->free_at_ns[0] = state->free_at_ns[1] = 0;
    state->was_refused = false;
    state->was_unanswered = state->is_settling = state->is_last_question = false;
    state->otherwise = TAVOLA_OK;
    state->otherwise_status = 0;
    op->was_unknown = false;
    tvc_call_reset(op->call);
}

static void begin(tavola_op *op)
{
    tavola_err err = prepare(op);

    if (err)
        tvc_op_end(op, err);
    else
        begin_exchange(op);
}

/* What is to end later does not begin any more. */
static bool is_to_end(const tavola_op *op)
{
    const tvc_op_state *state = op->state;

    return atomic_load_explicit(&state->is_cancelled, memory_order_acquire) ||
           tvc_call_is_over(op->call) ||
           (state->phase == TVC_PHASE_NEW && op->begin_ns &&
            tvc_call_end_ns(op->call) != TVC_NO_END);
}

tvc_wait tvc_op_step(tavola_op *op, int *ret_fd, int64_t *ret_until_ns)
{
    tvc_op_state *state = op->state;
    tvc_wait wait;

    if (is_to_end(op))
        tvc_op_give_up(op);

    for (;;) {
        switch (state->phase) {
        case TVC_PHASE_NEW:
            if (op->begin_ns && tv_clock_mono_ns() < op->begin_ns) {
                *ret_until_ns = op->begin_ns;
                return TVC_WAIT_WAKE;
            }
            begin(op);
            break;
        case TVC_PHASE_EXCHANGE:
            wait = step_exchange(op, ret_fd, ret_until_ns);
            if (wait != TVC_WAIT_NOTHING)
                return wait;
            end_exchange(op);
            break;
        case TVC_PHASE_PAUSE:
            if (tv_clock_mono_ns() < state->resume_ns) {
                *ret_until_ns = state->resume_ns;
                return TVC_WAIT_WAKE;
            }
            begin_exchange(op);
            break;
        case TVC_PHASE_DONE:
            return TVC_WAIT_NOTHING;
        }
    }
}
