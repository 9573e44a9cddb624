/*
 * Who may ask the admin port for a change.  Health and metrics are for everybody
 * who can reach the port; what changes anything is for the server's own user, on
 * this machine, and never for a web page.  All of it has to hold:
 *
 *  (1) the client is on loopback;
 *  (2) Host is an address, localhost or the operator's name: a page cannot come in
 *      under a name of its own that it makes point here;
 *  (3) no page of another origin sent it, by Origin and Sec-Fetch-Site;
 *  (4) it has `Authorization: Bearer` with the token of this start; or it comes from the
 *      Explorer, with both secrets of a session (session.h), in its cookie and in
 *      `x-tavola-page`.
 *
 * What shows keys or data of entities is guarded in the same way as a change.
 */
#ifndef TV_SERVER_ADMIN_GUARD_H
#define TV_SERVER_ADMIN_GUARD_H

#include "model/auth/admin_token.h"
#include "server/admin/session.h"
#include "wire/http/request.h"

typedef struct tv_admin_guard {
    const char *name; /* another host name that the port answers to, or NULL */
    const tv_admin_token *token;
    tv_sessions *sessions; /* or NULL: no page is served */
} tv_admin_guard;

/**
 * 0 when a change may be made; else the status to refuse it with, and one line
 * that says why, a literal.
 */
int tv_admin_guard_check(const tv_admin_guard *guard, const tv_request *req,
                         const char **reterr_why);

/** Likewise for the page itself and its login, which nobody has a word for yet: (1) to (3). */
int tv_admin_guard_check_page(const tv_admin_guard *guard, const tv_request *req,
                              const char **reterr_why);

/** The words of the session that a request has; without a cookie when it has none. */
tv_session_words tv_admin_guard_session_words(tv_sessions *sessions, const tv_request *req);

#endif
