/* What the verbs of a server share. */
#ifndef TOOL_SERVER_H
#define TOOL_SERVER_H
#include "../admin.h"

/* GET; what fails is told.  Free the answer in any case. */
tool_exit tool_server_get(const tool_admin *admin, const char *path, tool_answer *ret_answer);
/* Any request, with the token.  An answer of another status than this one is told as a failure, and
 * is there to be looked at; with 0 any status will do.  Free it in any case. */
tool_exit tool_server_ask(tool_run *run, const char *method, const char *path, int status,
                          tool_answer *ret_answer);
/* No answer: told with what to do; TOOL_UNAVAILABLE. */
tool_exit tool_server_absent(const tool_admin *admin, const char *why);
/* Add a parameter to the query string of a path. */
void tool_path_add(tool_text *path, const char *name, const char *value);
/* An answer that is not the one that was hoped for. */
tool_exit tool_server_refused(const tool_admin *admin, const tool_answer *answer);

/* The answer of /backup. */
typedef struct tool_backup_state {
    uint64_t id, files, bytes, written, ms;
    char state[16]; /* none, running, done, failed */
} tool_backup_state;
/* False when it is something else. */
bool tool_backup_state_parse(const char *json, tool_backup_state *ret_state);
/* 1234567 as "1.2 MB" */
void tool_put_bytes(char ret_text[32], double bytes);

tool_exit tool_server_backup(tool_run *run);

#endif
