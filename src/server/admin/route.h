/*
 * The endpoints of the admin port are rows of one table (admin.c).  A new one is a function in a
 * file of its own, and a row.
 */
#ifndef TV_SERVER_ADMIN_ROUTE_H
#define TV_SERVER_ADMIN_ROUTE_H

#include "base/turns.h"
#include "model/catalog/catalog.h"
#include "wire/http/request.h"

typedef struct tv_admin tv_admin;

typedef struct tv_admin_route {
    const char *path;
    tv_method method; /* GET, which serves HEAD too, or POST */
    /* A GET that shows more than numbers needs what every POST needs: guard.h. */
    bool is_guarded;
    /* Writes the answer to req->out and returns its status: JSON with 2xx, otherwise one line of
     * text that says what is wrong.  0: it answers later, by one of the functions below.  An answer
     * that is too long for the memory there is (`is_lost` of base/buf.h) becomes 503. */
    int (*run)(tv_admin *admin, tv_request *req);
    bool (*is_served)(const tv_admin *admin); /* NULL: always; 404 when it is not */
    const char *help;                         /* a line for "/", or NULL */
} tv_admin_route;

/** One line of text as the answer; returns the status. */
int tv_admin_refuse(tv_request *req, int status, const char *why);

/** A parameter, decoded; `otherwise` without it.  False when it cannot be decoded. */
bool tv_admin_parameter(tv_request *req, const char *name, tv_slice otherwise, tv_slice *ret_value);

/** Find the table that the parameters `account` and `table` name, which are returned, too; NULL
 * when there is none.  The caller ends with tv_container_unref. */
tv_container *tv_admin_find_table(tv_admin *admin, tv_request *req, tv_slice *ret_account,
                                  tv_slice *ret_name);

/** For `run`: have a task, which is in the request's arena, run on a scanner's thread, which owns
 * the request meanwhile; `deliver` answers then.  Returns what `run` returns. */
int tv_admin_run_later(tv_admin *admin, tv_request *req, tv_task *task,
                       bool (*run)(tv_task *task, tv_turn *turn), void (*deliver)(tv_mail *mail));

/** Answer with what is in req->out, as if `run` had returned the status.  The loop's thread. */
void tv_admin_respond(tv_request *req, int status);
/** The same, as JSON or as text, whatever the status. */
void tv_admin_respond_as(tv_request *req, int status, bool is_json);
/** Whether the client has named this type among those that it accepts. */
bool tv_admin_accepts(const tv_request *req, tv_slice type);
/** The same with 200 and text. */
void tv_admin_respond_text(tv_request *req);
/** The same with 200 and bytes that are no text. */
void tv_admin_respond_bytes(tv_request *req);

#endif
