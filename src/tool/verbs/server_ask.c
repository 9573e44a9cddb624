/* Asking the admin port with its token: see server.h. */
#include "server.h"

#include <string.h>

void tool_path_add(tool_text *path, const char *name, const char *value)
{
    tool_text_printf(path, "%c%s=", strchr(path->at, '?') ? '&' : '?', name);
    for (; *value; value++) {
        if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.", *value))
            tool_text_add(path, value, 1);
        else
            tool_text_printf(path, "%%%02X", (unsigned char)*value);
    }
}

tool_exit tool_server_ask(tool_run *run, const char *method, const char *path, int status,
                          tool_answer *ret_answer)
{
    tool_text token = {0};
    tool_admin admin;
    char why[200];
    tool_exit exit = tool_admin_open(run, &admin);

    if (!exit)
        exit = tool_admin_token(run, &token);
    if (!exit) {
        tool_request request = {.method = method, .path = path, .token = token.at};

        if (!tool_admin_ask(&admin, &request, ret_answer, why)) {
            tool_trouble("no server answers at %s: %s", admin.url, why);
            exit = TOOL_UNAVAILABLE;
        } else if (status && ret_answer->status != status) {
            exit = tool_server_refused(&admin, ret_answer);
        }
    }
    if (token.at)
        explicit_bzero(token.at, token.size);
    tool_text_done(&token);
    return exit;
}
