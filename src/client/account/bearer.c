/* Tokens that are kept, and the thread that asks for the next one. */
#include "client/account/bearer.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/clock.h"
#include "client/net/lock.h"

enum {
    TOKEN_LEN_MAX = 16 * 1024, /* what fits into the head of a request */
    WHY_SIZE = 300,
};

static const int64_t ns_per_tick = 100;
static const int64_t early_ns = 300 * INT64_C(1000000000);   /* before it expires */
static const int64_t pause_ns = 30 * INT64_C(1000000000);    /* after a question in vain */
static const int64_t unknown_ns = 600 * INT64_C(1000000000); /* the life of one without an expiry */

struct tvc_bearer {
    atomic_int references;
    int64_t expires_ns; /* of the clock of the boot, which goes on while the machine sleeps */
    int64_t renew_ns;
    size_t len;
    char text[];
};

/* What the application has answered so far. */
struct tavola_token {
    tvc_bearer *bearer;
    tavola_err err; /* why there is none: NO_MEMORY, or INVALID with a reason */
    char why[WHY_SIZE];
};

struct tvc_bearers {
    tvc_lock lock;
    const tavola_client *client;
    pthread_t thread; /* of the last question */
    bool has_thread;  /* which is not joined */
    bool is_asking;   /* it has no answer yet */
    tvc_bearer *kept;
    int64_t not_before_ns; /* the next question, while the kept one can be used */
    char why[WHY_SIZE];    /* of the last question in vain */
    tvc_bearer_waiter *first;
};

/* ---- tokens --------------------------------------------------------------------------------- */

const char *tvc_bearer_text(const tvc_bearer *bearer)
{
    return bearer->text;
}

void tvc_bearer_unref(tvc_bearer *bearer)
{
    if (bearer == NULL || atomic_fetch_sub(&bearer->references, 1) > 1)
        return;
    OPENSSL_cleanse(bearer->text, bearer->len);
    tvc_release(bearer);
}

static tvc_bearer *ref(tvc_bearer *bearer)
{
    atomic_fetch_add(&bearer->references, 1);
    return bearer;
}

static bool is_token(tv_slice text)
{
    return text.len > 0 && text.len <= TOKEN_LEN_MAX && tv_slice_is_printable(text) &&
           tv_slice_find(text, ' ') == text.len;
}

/* In the last minutes of its life, or of a short one in the second half, the next is asked for. */
static void set_times(tvc_bearer *bearer, int64_t life_ns)
{
    int64_t now = tv_clock_boot_ns(), early = life_ns / 2 < early_ns ? life_ns / 2 : early_ns;

    bearer->expires_ns = now + life_ns;
    bearer->renew_ns = bearer->expires_ns - early;
}

static void fail(tavola_token *token, tavola_err err, const char *why)
{
    token->err = err;
    snprintf(token->why, sizeof token->why, "%.*s", (int)strcspn(why, "\r\n"), why);
}

void tavola_token_set(tavola_token *token, const char *text, tavola_ticks expiry)
{
    tv_slice value = text ? tv_slice_of(text) : TV_NONE;
    tavola_ticks now = tv_clock_ticks(), longest = INT64_MAX / 4 / ns_per_tick;

    if (token == NULL)
        return;

    tvc_bearer_unref(token->bearer);
    token->bearer = NULL;
    if (!is_token(value)) {
        fail(token, TAVOLA_ERR_INVALID, "the token is not 1 to 16,384 characters of visible ASCII");
        return;
    }
    if (expiry == 0)
        expiry = now + unknown_ns / ns_per_tick;
    if (expiry <= now) {
        fail(token, TAVOLA_ERR_INVALID, "the token has expired already");
        return;
    }
    token->bearer = tvc_alloc(sizeof *token->bearer + value.len + 1);
    if (token->bearer == NULL) {
        fail(token, TAVOLA_ERR_NO_MEMORY, "there is no memory for the token");
        return;
    }
    token->bearer->references = 1;
    token->bearer->len = value.len;
    *tv_slice_put(token->bearer->text, value) = '\0';
    set_times(token->bearer, (expiry - now < longest ? expiry - now : longest) * ns_per_tick);
    token->err = TAVOLA_OK;
}

void tavola_token_set_error(tavola_token *token, const char *text)
{
    if (token && text)
        fail(token, TAVOLA_ERR_DENIED, text);
}

/* ---- the thread ----------------------------------------------------------------------------- */

/*
 * What the callback's result means for those who wait.  Of its errors only those pass that can mean
 * nothing else: a NOT_FOUND of the issuer is not one of the entity.
 */
static tavola_err judge(tavola_token *token, tavola_err err)
{
    if (err == TAVOLA_OK && token->bearer)
        return TAVOLA_OK;
    if (token->why[0] == '\0')
        snprintf(token->why, sizeof token->why,
                 err ? "the callback returned %s" : "the callback has set none",
                 tavola_err_name(err));
    if (token->err == TAVOLA_ERR_NO_MEMORY)
        return TAVOLA_ERR_NO_MEMORY;
    switch (err) {
    case TAVOLA_ERR_NETWORK:
    case TAVOLA_ERR_TIMEOUT:
    case TAVOLA_ERR_BUSY:
    case TAVOLA_ERR_NO_MEMORY:
        return err;
    default:
        return TAVOLA_ERR_DENIED;
    }
}

static void unlink_waiter(tvc_bearers *bearers, tvc_bearer_waiter *waiter)
{
    if (waiter->previous)
        waiter->previous->next = waiter->next;
    else
        bearers->first = waiter->next;
    if (waiter->next)
        waiter->next->previous = waiter->previous;
    waiter->previous = waiter->next = NULL;
    waiter->is_waiting = false;
}

/* With the lock held. */
static void take_answer(tvc_bearers *bearers, tavola_err err, tavola_token *token)
{
    if (err) {
        snprintf(bearers->why, sizeof bearers->why, "%s", token->why);
        bearers->not_before_ns = tv_clock_boot_ns() + pause_ns;
        tvc_bearer_unref(token->bearer);
    } else {
        tvc_bearer_unref(bearers->kept);
        bearers->kept = token->bearer;
        bearers->not_before_ns = 0;
    }
    bearers->is_asking = false;
    while (bearers->first) {
        tvc_bearer_waiter *waiter = bearers->first;

        unlink_waiter(bearers, waiter);
        waiter->was_called = true;
        waiter->err = err;
        waiter->waker->wake(waiter->waker); /* with the lock held: the waiter cannot go away */
    }
}

static void *ask_application(void *arg)
{
    tvc_bearers *bearers = arg;
    const tavola_client_options *options = &bearers->client->options;
    tavola_token token = {0};
    tavola_err err = options->token(options->token_user, options->token_scope, &token);

    err = judge(&token, err);
    if (err)
        tvc_client_log(bearers->client, TAVOLA_LOG_WARN, "no bearer token: %s", token.why);

    tvc_lock_take(&bearers->lock);
    take_answer(bearers, err, &token);
    tvc_lock_give(&bearers->lock);
    return NULL;
}

/* A thread of its own that gets none of the application's signals. */
static bool start_asking(tvc_bearers *bearers)
{
    sigset_t all, before;

    if (bearers->has_thread) /* it has answered, and only has to return */
        pthread_join(bearers->thread, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bearers->has_thread = pthread_create(&bearers->thread, NULL, ask_application, bearers) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return bearers->has_thread;
}

/* ---- asking --------------------------------------------------------------------------------- */

static tvc_bearer_found ask_locked(tvc_bearers *bearers, tvc_bearer_waiter *waiter,
                                   tvc_bearer **ret_bearer)
{
    int64_t now = tv_clock_boot_ns();
    bool was_called = waiter->was_called;

    waiter->was_called = false;
    if (was_called && waiter->err)
        return TVC_BEARER_FAILED;

    /* What has just come is used, however short its life is. */
    bool is_usable = bearers->kept && (was_called || now < bearers->kept->expires_ns);
    bool is_due = !is_usable || (now >= bearers->kept->renew_ns && now >= bearers->not_before_ns);

    if (is_due && !bearers->is_asking) {
        bearers->is_asking = start_asking(bearers);
        if (!bearers->is_asking && !is_usable) {
            waiter->err = TAVOLA_ERR_NO_MEMORY;
            snprintf(bearers->why, sizeof bearers->why, "there is no thread to ask for one");
            return TVC_BEARER_FAILED;
        }
    }
    if (is_usable) {
        *ret_bearer = ref(bearers->kept);
        return TVC_BEARER_READY;
    }
    if (!waiter->is_waiting) {
        waiter->is_waiting = true;
        waiter->next = bearers->first;
        if (bearers->first)
            bearers->first->previous = waiter;
        bearers->first = waiter;
    }
    return TVC_BEARER_WAIT;
}

tvc_bearer_found tvc_bearers_ask(tvc_bearers *bearers, tvc_bearer_waiter *waiter, tvc_waker *waker,
                                 tvc_bearer **ret_bearer, char *ret_why, size_t why_size)
{
    tvc_lock_take(&bearers->lock);
    waiter->waker = waker;
    tvc_bearer_found found = ask_locked(bearers, waiter, ret_bearer);

    if (found == TVC_BEARER_FAILED)
        snprintf(ret_why, why_size, "no bearer token: %s", bearers->why);
    tvc_lock_give(&bearers->lock);
    return found;
}

void tvc_bearers_leave(tvc_bearers *bearers, tvc_bearer_waiter *waiter)
{
    bool is_taken = tvc_lock_take_unless_child(&bearers->lock);

    if (waiter->is_waiting)
        unlink_waiter(bearers, waiter);
    if (is_taken)
        tvc_lock_give(&bearers->lock);
}

void tvc_bearers_reject(tvc_bearers *bearers, const tvc_bearer *bearer)
{
    tvc_lock_take(&bearers->lock);
    if (bearers->kept == bearer) {
        tvc_bearer_unref(bearers->kept);
        bearers->kept = NULL;
    }
    tvc_lock_give(&bearers->lock);
}

tvc_bearers *tvc_bearers_new(const tavola_client *client)
{
    tvc_bearers *bearers = tvc_zalloc(sizeof *bearers);

    if (bearers == NULL)
        return NULL;
    if (!tvc_lock_init(&bearers->lock)) {
        tvc_release(bearers);
        return NULL;
    }
    bearers->client = client;
    return bearers;
}

void tvc_bearers_free(tvc_bearers *bearers)
{
    if (bearers == NULL)
        return;

    tv_assert(bearers->first == NULL);
    if (bearers->has_thread && bearers->lock.process == getpid()) /* a child has no such thread */
        pthread_join(bearers->thread, NULL);
    tvc_bearer_unref(bearers->kept);
    tvc_lock_done(&bearers->lock);
    tvc_release(bearers);
}
