/* What goes to stderr: one line for each error, questions, notes. */
#include "guess.h"
#include "text.h"
#include "tool.h"

#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

tool_exit tool_exit_of(tavola_err err)
{
    switch (err) {
    case TAVOLA_OK:
    case TAVOLA_END:
        return TOOL_OK;
    case TAVOLA_ERR_NOT_FOUND:
        return TOOL_NOT_FOUND;
    case TAVOLA_ERR_EXISTS:
    case TAVOLA_ERR_CONFLICT:
    case TAVOLA_ERR_ETAG:
        return TOOL_CONFLICT;
    case TAVOLA_ERR_DENIED:
        return TOOL_DENIED;
    case TAVOLA_ERR_BUSY:
    case TAVOLA_ERR_SERVER:
    case TAVOLA_ERR_TIMEOUT:
    case TAVOLA_ERR_NETWORK:
        return TOOL_UNAVAILABLE;
    default: /* UNKNOWN_OUTCOME too: "try again" is not the answer to it */
        return TOOL_FAILURE;
    }
}

/* Texts of servers, files and callers reach the terminal through here: one line, no controls. */
static void say(const char *before, const char *text)
{
    bool has_colour = tool_has_colour(stderr);
    tool_text line = {0};

    tool_text_escape(&line, text, strlen(text), false);
    fprintf(stderr, "%s%s%s%s\n", has_colour && *before ? "\033[31m" : "", before,
            has_colour && *before ? "\033[0m" : "", line.at);
    tool_text_done(&line);
}

static void say_list(const char *before, const char *format, va_list list)
{
    char *text = NULL;

    if (vasprintf(&text, format, list) < 0)
        text = NULL;
    say(before, text ? text : "out of memory");
    free(text);
}

/* What the codes of the library mean when the service has not said anything. */
static const char *meaning_of(tavola_err err)
{
    switch (err) {
    case TAVOLA_ERR_NOT_FOUND:
        return "there is no such table, entity, queue, container or blob";
    case TAVOLA_ERR_DENIED:
        return "the key or signature does not allow it";
    case TAVOLA_ERR_TIMEOUT:
        return "no answer in time; --timeout SECONDS gives it longer";
    case TAVOLA_ERR_NETWORK:
        return "the service cannot be reached";
    case TAVOLA_ERR_UNKNOWN_OUTCOME:
        return "it was sent, no answer came: it may have been done, look before you repeat it";
    case TAVOLA_ERR_INVALID:
        return "a name or value is not valid";
    case TAVOLA_ERR_TOO_LARGE:
        return "it is too large";
    case TAVOLA_ERR_NO_MEMORY:
        return "out of memory";
    default:
        return "it did not work";
    }
}

const char *tool_remedy(tavola_err err, const char *where)
{
    static const char *const here[] = {"http://127.", "http://localhost", "http://[::1]"};

    if (err == TAVOLA_ERR_TIMEOUT)
        return "; --timeout SECONDS gives it longer";
    if (err == TAVOLA_ERR_UNKNOWN_OUTCOME)
        return "; look before you repeat it";
    if (err != TAVOLA_ERR_NETWORK)
        return "";
    for (size_t i = 0; i < sizeof here / sizeof here[0]; i++)
        if (strncmp(where, here[i], strlen(here[i])) == 0)
            return "; './run' or 'tavolad' starts a server here, -c names another account";
    return strstr(where, "://") ? "; is the name of the account right? -c names another" : "";
}

/* A table of nearly the name that is not there; nothing when tables cannot be listed. */
static void add_nearest_table(const tool_run *run, tool_text *line)
{
    tool_guess guess = {.word = run->arg_count ? run->args[0] : ""};
    tavola_call *call = tavola_call_new();
    tavola_names *names = NULL;

    tavola_call_set_timeout_ms(call, 1000); /* somebody waits for the error */
    if (run->clients[0] && tavola_table_list(run->clients[0], NULL, call, &names) == TAVOLA_OK)
        for (size_t i = 0; i < tavola_names_count(names); i++)
            tool_guess_try(&guess, tavola_names_at(names, i));
    tool_text_puts(line, tool_guess_text(&guess));
    tool_guess_done(&guess);
    tavola_names_free(names);
    tavola_call_free(call);
}

tool_exit tool_fail(const tool_run *run, tavola_err err, const char *text)
{
    const char *code = tavola_call_code(run->call);
    const char *message = tavola_call_message(run->call);
    const char *id = tavola_call_service_request_id(run->call);
    bool was_sent = tavola_call_attempts(run->call) > 0;
    tool_text line = {0};

    /* Who has typed Ctrl-C knows; not whether a write was made. */
    if (tool_stop_signal() && err != TAVOLA_ERR_UNKNOWN_OUTCOME)
        return tool_stopped();
    if (!was_sent) {
        message = text && *text ? text : *message ? message : meaning_of(err);
        id = NULL;
    } else if (strncmp(message, "the service answered with", 25) == 0 &&
               err == TAVOLA_ERR_NOT_FOUND) {
        message = meaning_of(err); /* the answer to a HEAD has no text */
    }
    tool_text_printf(&line, "%s: %s", *code ? code : tavola_err_name(err),
                     *message ? message : meaning_of(err));
    if (id)
        tool_text_printf(&line, " (request %s)", id);
    if (was_sent)
        tool_text_puts(&line, tool_remedy(err, message));
    /* The service's text for an unquoted word, which it takes for a property. */
    if (strcmp(code, "NotImplemented") == 0 && strstr(run->verb->arguments, "FILTER"))
        tool_text_puts(&line, "; a filter compares properties with values: text goes in single "
                              "quotes, and there are no functions");
    if (was_sent && strcmp(code, "TableNotFound") == 0)
        add_nearest_table(run, &line);
    say("tavola: ", line.at);
    tool_text_done(&line);
    return err == TAVOLA_ERR_INVALID && !was_sent ? TOOL_USAGE : tool_exit_of(err);
}

tool_exit tool_stopped(void)
{
    return (tool_exit)(128 + tool_stop_signal());
}

tool_exit tool_refuse(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    say_list("tavola: ", format, list);
    va_end(list);
    return TOOL_USAGE;
}

tool_exit tool_trouble(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    say_list("tavola: ", format, list);
    va_end(list);
    return TOOL_FAILURE;
}

void tool_note(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    say_list("", format, list);
    va_end(list);
}

tool_exit tool_confirm(const tool_run *run, const char *format, ...)
{
    tool_text shown = {0};
    char answer[16] = "";
    va_list list;
    char text[2048];

    if (tool_has(run, TOOL_FLAG_YES))
        return TOOL_OK;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return tool_refuse("'tavola %s' destroys data: give --yes when it is not run on a terminal",
                           run->verb->name);
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    tool_text_escape(&shown, text, strlen(text), false);
    fprintf(stderr, "%s [y/N] ", shown.at);
    fflush(stderr);
    tool_text_done(&shown);
    if (!tool_stop_wait(STDIN_FILENO, POLLIN, -1)) {
        fputs("\n", stderr);
        return tool_stopped();
    }
    if (fgets(answer, sizeof answer, stdin) &&
        (strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0 || strcmp(answer, "Y\n") == 0))
        return TOOL_OK;
    return tool_trouble("not done: the answer was not y");
}
