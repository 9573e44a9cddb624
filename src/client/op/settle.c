/*
 * Writes that may have been made already.
 *
 * An attempt was sent and its answer is missing, or says nothing (408, most of 5xx).  When a
 * later attempt is refused, the reason may be the first one's success: an insert finds its own
 * entity.  A GET then tells.  When there is no later attempt, one GET is worth trying.
 */
#include <stdio.h>

#include "base/clock.h"
#include "client/entity/entity.h"
#include "client/op/state.h"

enum { REMARK_MAX = 128 }; /* of ours before a message */

static void confirm(tavola_op *op)
{
    tavola_call *call = op->call;

    tvc_call_set_error(call, "", "");
    call->was_confirmed = true;
    call->failed_index = -1;
    tvc_op_end(op, TAVOLA_OK);
}

/* Put what is not known before what the last attempt said. */
static void end_with_remark(tavola_op *op, tavola_err err, const char *remark)
{
    tavola_call *call = op->call;
    char line[sizeof call->message + REMARK_MAX];

    snprintf(line, sizeof line, "%s%s%s", remark, call->message[0] ? ": " : "", call->message);
    tvc_call_set_error(call, call->code, line);
    tvc_op_end(op, err);
}

static void end_unknown(tavola_op *op)
{
    end_with_remark(op, TAVOLA_ERR_UNKNOWN_OUTCOME, "whether the write was made is not known");
}

static void ask(tavola_op *op, tavola_err otherwise, bool is_last_question)
{
    tvc_op_state *state = op->state;

    tvc_exchange_done(&state->exchange);
    state->is_settling = true;
    state->is_last_question = is_last_question;
    state->otherwise = otherwise;
    state->retries_made = 0;
    state->resume_ns = 0;
    state->phase = TVC_PHASE_PAUSE;
}

/* ---- after an answer ------------------------------------------------------------------------ */

static bool is_of_state(tavola_err err)
{
    return err == TAVOLA_ERR_EXISTS || err == TAVOLA_ERR_NOT_FOUND || err == TAVOLA_ERR_ETAG;
}

static bool has_code(const tavola_op *op, const char *code)
{
    return strcmp(op->call->code, code) == 0;
}

/* Of a whole table, not of an entity in one. */
static bool is_about_table(const tavola_op *op)
{
    return tv_slice_starts_with(tvc_text_slice(&op->request.path), TV_LIT("/Tables("));
}

bool tvc_settle_answer(tavola_op *op, tavola_err err)
{
    bool is_batch = op->settle.is_batch;

    /* A signature that has expired meanwhile says nothing of what was sent before. */
    if (err == TAVOLA_ERR_DENIED) {
        end_unknown(op);
        return true;
    }
    switch (op->settle.kind) {
    case TVC_SETTLE_INSERT:
        if (err != TAVOLA_ERR_EXISTS && !(is_batch && is_of_state(err)))
            return false;
        ask(op, err, false);
        return true;
    case TVC_SETTLE_REPLACE:
    case TVC_SETTLE_MERGE:
        if (err == TAVOLA_ERR_ETAG || (is_batch && is_of_state(err))) {
            ask(op, err, false);
            return true;
        }
        if (err != TAVOLA_ERR_NOT_FOUND || has_code(op, "TableNotFound"))
            return false;
        end_with_remark(op, err,
                        "the entity was deleted before or after an earlier attempt of this write");
        return true;
    case TVC_SETTLE_DELETE:
        if (err != TAVOLA_ERR_NOT_FOUND || (has_code(op, "TableNotFound") && !is_about_table(op)))
            return false;
        if (!is_batch) {
            confirm(op);
            return true;
        }
        /* Had the batch been made, then its first delete would be the one that finds nothing. */
        if (op->call->failed_index > 0)
            return false;
        ask(op, err, false);
        return true;
    case TVC_SETTLE_CREATE:
        if (err != TAVOLA_ERR_EXISTS)
            return false;
        confirm(op);
        return true;
    case TVC_SETTLE_NONE:
    case TVC_SETTLE_GUESS:
        break;
    }
    return false;
}

/* ---- after all attempts --------------------------------------------------------------------- */

tv_slice tvc_settle_path(const tavola_op *op)
{
    if (op->settle.path.buf.len)
        return tvc_text_slice(&op->settle.path);
    return tvc_text_slice(&op->request.path);
}

static bool can_ask(const tavola_op *op)
{
    if (op->settle.kind == TVC_SETTLE_NONE || op->settle.kind == TVC_SETTLE_GUESS)
        return false;
    return op->settle.path.buf.len > 0 || (op->settle.kind == TVC_SETTLE_DELETE &&
                                           op->service == TV_SERVICE_TABLE && !op->settle.is_batch);
}

void tvc_settle_exhausted(tavola_op *op, tavola_err err)
{
    const tvc_op_state *state = op->state;

    if (can_ask(op) && tv_clock_mono_ns() < state->deadline_ns)
        ask(op, state->was_unanswered ? TAVOLA_ERR_UNKNOWN_OUTCOME : err, true);
    else
        end_unknown(op);
}

/* ---- the answer to our question ------------------------------------------------------------- */

typedef enum finding { WRITTEN, NOT_WRITTEN, CANNOT_TELL } finding;

/* Whether it is the entity that was asked for: a service may answer with anything. */
static bool has_same_keys(const tavola_entity *found, const tavola_entity *sent)
{
    return strcmp(found->partition_key, sent->partition_key) == 0 &&
           strcmp(found->row_key, sent->row_key) == 0;
}

/* Whether the entity that was read is what we wrote. */
static finding compare(const tavola_op *op, tvc_response *response)
{
    tavola_entity *sent = NULL, *found = NULL;
    tv_slice text = tvc_text_slice(&op->settle.entity);
    char *copy = tvc_dup(text), *body = response->body;
    finding result = CANNOT_TELL;

    /* Both texts are taken over by those who read them. */
    response->body = NULL;
    if (body && tvc_entity_read(body, response->body_len, &found) == TAVOLA_OK && copy) {
        if (tvc_entity_read(copy, text.len, &sent) == TAVOLA_OK && has_same_keys(found, sent))
            result = (op->settle.kind == TVC_SETTLE_MERGE ? tvc_entity_contains(found, sent)
                                                          : tvc_entity_same(found, sent))
                         ? WRITTEN
                         : NOT_WRITTEN;
        copy = NULL;
    }
    tvc_release(copy);
    tavola_entity_free(sent);
    tavola_entity_free(found);
    return result;
}

/* What is there now, as an answer of 200 or 404 shows it. */
static finding look(tavola_op *op, tvc_response *response)
{
    bool is_there = response->status == 200;

    switch (op->settle.kind) {
    case TVC_SETTLE_DELETE:
        return is_there ? NOT_WRITTEN : WRITTEN;
    case TVC_SETTLE_CREATE:
        return is_there ? WRITTEN : NOT_WRITTEN;
    default:
        return is_there ? compare(op, response) : NOT_WRITTEN;
    }
}

static void end_otherwise(tavola_op *op)
{
    tavola_err err = op->state->otherwise;

    if (err == TAVOLA_ERR_UNKNOWN_OUTCOME)
        end_unknown(op);
    else
        tvc_op_end(op, err);
}

static void take_finding(tavola_op *op, tvc_response *response)
{
    switch (look(op, response)) {
    case WRITTEN:
        op->call->status = response->status;
        if (response->status == 200)
            (void)tvc_call_set_etag(op->call, tvc_response_header(response, TV_LIT("ETag")));
        confirm(op);
        break;
    case NOT_WRITTEN:
        end_otherwise(op);
        break;
    case CANNOT_TELL:
        end_unknown(op);
        break;
    }
}

void tvc_settle_read(tavola_op *op)
{
    tvc_op_state *state = op->state;
    tvc_response *response = &state->exchange.response;
    bool is_answered =
        state->exchange.fate == TVC_ANSWERED && tvc_op_is_answer_to(op->call, response);

    if (is_answered && (response->status == 200 || response->status == 404)) {
        take_finding(op, response);
        return;
    }

    bool may_help = is_answered
                        ? tvc_retry_helps(response->status)
                        : state->exchange.err && state->exchange.err != TAVOLA_ERR_NO_MEMORY &&
                              !state->exchange.is_final;

    if (may_help && !state->is_last_question && tvc_retry_later(op, is_answered ? response : NULL))
        tvc_exchange_done(&state->exchange);
    else
        end_unknown(op);
}
