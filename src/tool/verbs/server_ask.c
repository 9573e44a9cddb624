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

tool_exit tool_server_absent(const tool_admin *admin, const char *why)
{
    if (tool_stop_signal())
        return tool_stopped();
    tool_trouble("no server answers at %s: %s; './run' or 'tavolad' starts one, --admin names "
                 "another",
                 admin->url, why);
    return TOOL_UNAVAILABLE;
}

tool_exit tool_server_ask(tool_run *run, const char *method, const char *path, int status,
                          tool_answer *ret_answer)
{
    tool_request request = {.method = method, .path = path};
    tool_admin admin;
    char why[200];
    bool has_answer = false;
    tool_exit exit = tool_admin_open(run, &admin);

    if (!exit)
        exit = tool_admin_ask_with_token(run, &admin, request, ret_answer, &has_answer, why);
    if (!exit && !has_answer) {
        exit = tool_server_absent(&admin, why);
    } else if (!exit && status && ret_answer->status != status) {
        exit = tool_server_refused(&admin, ret_answer);
    }
    return exit;
}
