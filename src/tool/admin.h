/*
 * The admin port of tavolad: one request over one connection.  It is not of Azure Storage, so the
 * library does not know it, and it speaks plain HTTP.
 */
#ifndef TOOL_ADMIN_H
#define TOOL_ADMIN_H
#include "text.h"
#include "tool.h"

/* Where it is, and how long it may take to answer. */
typedef struct tool_admin {
    const char *url;          /* as it was given, for messages */
    char host[256], port[16]; /* without the brackets of IPv6 */
    int64_t timeout_ms;       /* of each request */
} tool_admin;

typedef struct tool_request {
    const char *method, *path;
    const char *token; /* sent to who has proven to know it, on this machine; NULL: none */
    const char *body;  /* JSON; NULL: none */
    bool goes_on;      /* another request follows on the same connection */
} tool_request;

/* {0} is no answer; free it with tool_answer_done. */
typedef struct tool_answer {
    int status;
    tool_text body;   /* never NULL after a request that worked */
    bool was_sent;    /* false: the request has not left this machine */
    char from[80];    /* the address and port it came from; of what is not proven, where that is */
    bool is_unproven; /* somebody listens who has not proven to know the token */
} tool_answer;

/* --admin, $TAVOLA_ADMIN or http://127.0.0.1:10003.  Sends nothing. */
tool_exit tool_admin_open(const tool_run *run, tool_admin *ret_admin);
/* Any status is an answer.  False, and a text that says why there is none. */
bool tool_admin_ask(const tool_admin *admin, const tool_request *request, tool_answer *ret_answer,
                    char reterr_why[200]);
/* The same with the token, which is found and read for this request and wiped after it.  Something other than
 * TOOL_OK when there is none, or nobody who has proven to know it, which is told; else
 * `ret_has_answer` says what tool_admin_ask does. */
tool_exit tool_admin_ask_with_token(const tool_run *run, const tool_admin *admin,
                                    tool_request request, tool_answer *ret_answer,
                                    bool *ret_has_answer, char reterr_why[200]);
/* A member of a body, `{` or a comma before it.  What is not UTF-8 stays as it is, for the server
 * to refuse it: another name would be worse. */
void tool_admin_add_member(tool_text *body, const char *name, const char *text);
void tool_answer_done(tool_answer *answer);

#endif
