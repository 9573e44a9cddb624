/*
 * Who may ask the admin port for a change.  Health and metrics are for everybody
 * who can reach the port; what changes anything is for the server's own user, on
 * this machine, and never for a web page.  All of it has to hold:
 *
 *  (1) the client is on loopback;
 *  (2) Host is an address, localhost or the operator's name: a page cannot come in
 *      under a name of its own that it makes point here;
 *  (3) no page of another origin sent it, by Origin and Sec-Fetch-Site;
 *  (4) it has `Authorization: Bearer` with the token of this start.
 */
#ifndef TV_ADMIN_GUARD_H
#define TV_ADMIN_GUARD_H

#include "admin/token.h"
#include "http/request.h"

/** `name` is another host name that the port answers to, or NULL. */
typedef struct tv_admin_guard {
    const char *name;
    const tv_admin_token *token;
} tv_admin_guard;

/**
 * 0 when a change may be made; else the status to refuse it with, and one line
 * that says why, a literal.
 */
int tv_admin_guard_check(const tv_admin_guard *guard, const tv_request *req,
                         const char **reterr_why);

#endif
