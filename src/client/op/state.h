/*
 * What an operation remembers between its steps.  Private to op/.
 *
 *     NEW -> EXCHANGE -> DONE            answered, or nothing helps
 *               |  ^
 *               v  |
 *              PAUSE                     until the next attempt is due
 *
 * An exchange is an attempt of the request itself or, when it is not known whether an earlier
 * attempt has worked, a GET that reads back what is there now (is_settling).
 */
#ifndef TVC_OP_STATE_H
#define TVC_OP_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/mailbox.h"
#include "client/account/bearer.h"
#include "client/op/op.h"
#include "client/op/timers.h"

typedef enum tvc_phase {
    TVC_PHASE_NEW,
    TVC_PHASE_EXCHANGE,
    TVC_PHASE_PAUSE,
    TVC_PHASE_DONE,
} tvc_phase;

/** Whose an operation is. */
typedef enum tvc_place {
    TVC_PLACE_CALLER, /* never started */
    TVC_PLACE_LOOP,   /* the client's thread drives it */
    TVC_PLACE_QUEUE,  /* done, waits for tavola_poll */
    TVC_PLACE_DONE,   /* done, and the application's alone */
} tvc_place;

/** What a started operation needs beyond that (loop.c, completion.c). */
typedef struct tvc_started {
    tavola_op *op;
    tv_mail mail;           /* to the loop: look at it */
    _Atomic bool is_mailed; /* the mail is on its way */
    _Atomic int place;      /* changed with the loop's lock held, last of all */

    /* Of the loop's thread. */
    tvc_waker waker;
    tavola_op *previous,
        *next; /* of all that are under way; with the lock: of those in the queue */
    bool is_admitted;
    tvc_wait wait;
    int fd; /* that it waits for; -1: none */
    tavola_op *next_of_fd;
    tvc_timer timer;

    /* With the loop's lock held. */
    pthread_cond_t *waiter; /* of tavola_op_wait, or NULL */
    bool is_abandoned;      /* freed while it was under way: the loop frees it */
} tvc_started;

typedef struct tvc_op_state {
    tvc_phase phase;
    tavola_err err; /* of the operation, when it is DONE */
    tvc_waker *waker;
    tvc_exchange exchange;
    tvc_text head;
    bool has_head; /* it is that of this exchange */

    /* With a client that has tokens. */
    tvc_bearer *bearer; /* that of this exchange, or NULL */
    tvc_bearer_waiter bearer_waiter;
    bool was_refused; /* a token was, for which there has been another */

    _Atomic bool is_cancelled; /* by the application: the next step ends it */

    int64_t deadline_ns; /* of all attempts together */
    int64_t resume_ns;   /* the end of a PAUSE */
    uint32_t retries_made, retries_max;
    uint64_t sink_bytes; /* what has gone into the sink cannot be taken back: no more attempts */

    /* Where: [0] is the primary, [1] the secondary. */
    bool is_at_secondary;
    bool is_secondary_behind; /* it did not have what the primary may have: not asked again */
    int64_t free_at_ns[2];    /* not to be asked again before */

    /* Certainty of a write: op->was_unknown when an attempt so far may have been made. */
    bool was_unanswered; /* one of those had no answer, so it may even be made later */
    bool is_settling;
    bool is_last_question; /* settling after all attempts, not after a telling answer */
    tavola_err otherwise;  /* the result when what is read back is not what was written; before
                              that, of the last attempt that counts */
    int otherwise_status;

    tvc_started started;
} tvc_op_state;

/**
 * Go as far as possible.  What to wait for is said like tvc_exchange_step does; NOTHING when it is
 * done: its result is state->err.  Before the first step state->waker is set.
 */
tvc_wait tvc_op_step(tavola_op *op, int *ret_fd, int64_t *ret_until_ns);

/** Let go of what is under way, with that result.  Nothing when it is done already. */
void tvc_op_end(tavola_op *op, tavola_err err);

/**
 * The same because somebody wants it: CANCELLED, or UNKNOWN_OUTCOME when a write has been sent.  It
 * is not asked any more whether that was made: whoever cancels does not want to wait.
 */
void tvc_op_give_up(tavola_op *op);

/** Let go of its exchange and its token; also when it has none. */
void tvc_op_let_go(tavola_op *op);

/** Its result, kept for tavola_error_text too.  On the thread that asked for it; it is DONE. */
tavola_err tvc_op_result(const tavola_op *op);

/** Forget how a DONE operation went, which can begin anew then. */
void tvc_op_renew(tavola_op *op);

/** False when an answer names another request than that of the call. */
bool tvc_op_is_answer_to(const tavola_call *call, const tvc_response *response);

/* ---- head.c ---- */

/** What of a request differs between the request itself and one that reads back. */
typedef struct tvc_head {
    const char *method;
    tv_slice path, query, headers;
    uint64_t body_len;
} tvc_head;

/** Write the head of a request to that endpoint, signed, in place of what `text` holds. */
void tvc_head_write(tvc_text *text, const tavola_op *op, const tvc_endpoint *endpoint,
                    const tvc_head *head);

/* ---- retry.c ---- */

/** Whether an answer with that status may be different the next time. */
bool tvc_retry_helps(int status);

/** Whether a write may have been made behind that answer. */
bool tvc_retry_hides_write(int status);

/**
 * Whether an answer may be that of somebody on the way who has lost patience: what was sent may be
 * made even later than this answer.
 */
bool tvc_retry_is_of_a_gateway(int status);

/** How long to wait before retry number n (from 1); `spread` is from 0 to 1, by chance. */
int64_t tvc_retry_delay_ns(const tavola_client_options *options, uint32_t n, double spread);

/** How long the service asks us to wait; at most the client's longest delay.  False: not said. */
bool tvc_retry_after_ns(const tavola_client_options *options, const tvc_response *response,
                        int64_t *ret_delay_ns);

/**
 * Pause until the next attempt, when there may be one and there is time for it: true.  `response`
 * is the answer of the attempt that failed, or NULL.
 */
bool tvc_retry_later(tavola_op *op, const tvc_response *response);

/* ---- settle.c ---- */

/**
 * The request was answered with `err` after an attempt that may have been made.  Takes over and
 * returns true when that answer may be our own doing: the operation is DONE or its next step asks.
 */
bool tvc_settle_answer(tavola_op *op, tavola_err err);

/** No more attempts, and one of them may have been made: ends it, or asks once. */
void tvc_settle_exhausted(tavola_op *op, tavola_err err);

/** What the GET of a settling operation has to ask. */
tv_slice tvc_settle_path(const tavola_op *op);

/** The exchange of a settling operation is over, and state->exchange holds how. */
void tvc_settle_read(tavola_op *op);

#endif
