/*
 * A backup: ask for it, look at it until it has ended.  The server makes it, under the user that it
 * runs as; this only waits.
 */
#include "../json_find.h"
#include "../output/output.h"
#include "server.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_PAUSE_MS = 20, PAUSE_MS = 300, FAILURES_MAX = 5 };

/* ---- what the server says -------------------------------------------------------------------- */

bool tool_backup_state_parse(const char *json, tool_backup_state *ret_state)
{
    tool_json answer = tool_json_of(json);
    tool_text state = {0};
    bool is_one;

    tool_json_text(tool_json_get(answer, "state"), &state);
    is_one = state.size > 0 && state.size < sizeof ret_state->state &&
             tool_json_whole(tool_json_get(answer, "id"), &ret_state->id) &&
             tool_json_whole(tool_json_get(answer, "files"), &ret_state->files) &&
             tool_json_whole(tool_json_get(answer, "bytes"), &ret_state->bytes) &&
             tool_json_whole(tool_json_get(answer, "ms"), &ret_state->ms);
    if (is_one && !tool_json_whole(tool_json_get(answer, "written"), &ret_state->written))
        ret_state->written = ret_state->bytes; /* an older server does not tell */
    if (is_one)
        memcpy(ret_state->state, state.at, state.size + 1);
    tool_text_done(&state);
    return is_one;
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* The path of a folder from the root: the server's own folder is another than this one. */
static tool_exit make_path(const char *dir, tool_text *ret_path)
{
    char here[PATH_MAX];

    if (dir[0] == '\0')
        return tool_refuse("the name of a folder is empty");
    if (dir[0] != '/') {
        if (!getcwd(here, sizeof here))
            return tool_trouble("the path of this folder is not known: %s", strerror(errno));
        while (strncmp(dir, "./", 2) == 0)
            dir += 2;
        tool_text_printf(ret_path, "%s/", strcmp(here, "/") == 0 ? "" : here);
    }
    tool_text_puts(ret_path, dir);
    return TOOL_OK;
}

/* {"dir": .., "base": ..} */
static tool_exit make_body(const tool_run *run, tool_text *ret_path, tool_text *ret_body)
{
    const char *base = tool_value_of(run, TOOL_FLAG_BASE);
    tool_text base_path = {0};
    tool_exit exit = make_path(run->args[0], ret_path);

    if (!exit && base)
        exit = make_path(base, &base_path);
    if (!exit) {
        tool_admin_add_member(ret_body, "dir", ret_path->at);
        if (base)
            tool_admin_add_member(ret_body, "base", base_path.at);
        tool_text_puts(ret_body, "}");
    }
    tool_text_done(&base_path);
    return exit;
}

/* Something that is no tavolad, or one of before there were backups. */
static tool_exit check_answer(const tool_admin *admin, const tool_answer *answer,
                              tool_backup_state *ret_state)
{
    if (answer->status != 200 && answer->status != 202)
        return tool_server_refused(admin, answer);
    return tool_backup_state_parse(answer->body.at, ret_state)
               ? TOOL_OK
               : tool_trouble("the server at %s does not answer as a tavolad does", admin->url);
}

static tool_exit tell_not_asked(const tool_admin *admin, const char *why)
{
    tool_trouble("the server at %s was not asked: %s", admin->url, why);
    return TOOL_UNAVAILABLE;
}

static tool_exit begin(const tool_run *run, const tool_admin *admin, const char *body,
                       tool_backup_state *ret_state)
{
    tool_request request = {.method = "POST", .path = "/backup", .body = body};
    tool_answer answer = {0};
    char why[200];
    bool has_answer = false;
    tool_exit exit = tool_admin_ask_with_token(run, admin, request, &answer, &has_answer, why);

    if (exit)
        ;
    else if (has_answer)
        exit = check_answer(admin, &answer, ret_state);
    else if (answer.was_sent)
        exit =
            tool_trouble("it was sent to %s, no answer came (%s): it may have begun, see 'tavola "
                         "server status'",
                         admin->url, why);
    else
        exit = tell_not_asked(admin, why);
    tool_answer_done(&answer);
    return exit;
}

/* Before the token is read, and before it is sent: is a tavolad there? */
static tool_exit look_first(const tool_admin *admin)
{
    tool_answer answer = {0};
    tool_backup_state state;
    tool_exit exit = tool_server_get(admin, "/backup", &answer);

    if (!exit)
        exit = check_answer(admin, &answer, &state);
    tool_answer_done(&answer);
    return exit;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void show(const tool_backup_state *state)
{
    char bytes[32];

    tool_put_bytes(bytes, (double)state->bytes);
    fprintf(stderr, "\r\033[K%" PRIu64 " files  %s  %.1f s", state->files, bytes,
            (double)state->ms / 1000);
    fflush(stderr);
}

/* Another backup, or a new server: a folder of that name is a whole backup.  Its numbers are not
 * known then, and its id is 0. */
static tool_exit judge_by_folder(const char *path, tool_backup_state *ret_state)
{
    struct stat stat;

    ret_state->id = 0;
    if (lstat(path, &stat) == 0 && S_ISDIR(stat.st_mode))
        return TOOL_OK;
    return tool_trouble("the server was restarted or makes another backup, and %s is not there: it "
                        "has failed, see the server's log",
                        path);
}

static tool_exit tell_failure(const char *json)
{
    tool_text error = {0};
    tool_exit exit;

    tool_json_text(tool_json_get(tool_json_of(json), "error"), &error);
    exit = tool_trouble("the backup has failed: %.1000s",
                        error.size ? error.at : "see the server's log");
    tool_text_done(&error);
    return exit;
}

/* One look.  False when it has not ended; a few failures are not the end. */
static bool look(const tool_admin *admin, const char *path, tool_backup_state *state, int *failures,
                 tool_exit *ret_exit)
{
    tool_answer answer = {0};
    uint64_t id = state->id;
    char why[200];
    bool is_over = true;

    if (!tool_admin_ask(admin, &(tool_request){.method = "GET", .path = "/backup"}, &answer, why)) {
        is_over = ++*failures >= FAILURES_MAX;
        if (is_over) {
            tool_trouble("the server at %s does not answer any more (%s): the backup is whole if "
                         "%s is there",
                         admin->url, why, path);
            *ret_exit = TOOL_UNAVAILABLE;
        }
    } else if ((*ret_exit = check_answer(admin, &answer, state)) == TOOL_OK) {
        *failures = 0;
        if (state->id != id)
            *ret_exit = judge_by_folder(path, state);
        else if (strcmp(state->state, "failed") == 0)
            *ret_exit = tell_failure(answer.body.at);
        else
            is_over = strcmp(state->state, "running") != 0;
    }
    tool_answer_done(&answer);
    return is_over;
}

static tool_exit wait_until_done(const tool_admin *admin, const char *path,
                                 tool_backup_state *state)
{
    bool is_shown = isatty(STDERR_FILENO);
    int failures = 0, ms = FIRST_PAUSE_MS;
    tool_exit exit = TOOL_OK;

    for (bool is_over = false; !is_over;) {
        tool_stop_wait(-1, 0, ms);
        if (is_shown)
            fputs("\r\033[K", stderr); /* a message may follow */
        if (tool_stop_signal()) {
            exit = tool_stopped();
            tool_note("the backup goes on in the server; 'tavola server status' says how it is");
            break;
        }
        ms = ms * 2 < PAUSE_MS ? ms * 2 : PAUSE_MS;
        is_over = look(admin, path, state, &failures, &exit);
        if (is_shown && !is_over)
            show(state);
    }
    return exit;
}

static void print_done(tool_output *output, const char *path, const tool_backup_state *state)
{
    tool_field fields[] = {
        {"Folder", tavola_string(path)},
        {"Files", tavola_int64((int64_t)state->files)},
        {"Bytes", tavola_int64((int64_t)state->bytes)},
        {"Written", tavola_int64((int64_t)state->written)},
        {"Milliseconds", tavola_int64((int64_t)state->ms)},
    };

    tool_output_record(output, fields, state->id ? sizeof fields / sizeof fields[0] : 1);
}

tool_exit tool_server_backup(tool_run *run)
{
    tool_text path = {0}, body = {0};
    tool_output *output = NULL;
    tool_backup_state state;
    tool_admin admin;
    tool_exit exit = tool_admin_open(run, &admin);

    if (!exit)
        exit = tool_output_open(run, false, &output);
    if (exit)
        return exit;
    exit = make_body(run, &path, &body);
    if (!exit)
        exit = look_first(&admin);
    if (!exit)
        exit = begin(run, &admin, body.at, &state);
    if (!exit)
        exit = wait_until_done(&admin, path.at, &state);
    if (!exit)
        print_done(output, path.at, &state);
    tool_output_close(output);
    tool_text_done(&path);
    tool_text_done(&body);
    return exit;
}
