/* One command line: read it, run its verb, say whether its output was written. */
#include "help.h"
#include "tool.h"
#include "verbs/shell.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static tool_exit run_verb(tool_run *run)
{
    int64_t timeout_s = 0;
    tool_exit exit;

    if (tool_has(run, TOOL_FLAG_VERSION)) {
        printf("tavola %s (libtavola %s)\n", TV_VERSION, tavola_version());
        return TOOL_OK;
    }
    if (!run->verb && tool_has(run, TOOL_FLAG_HELP))
        return tool_help_words(run->args, run->arg_count);
    if (!run->verb && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))) {
        tool_help(stderr);
        return TOOL_USAGE;
    }
    if (run->verb && tool_has(run, TOOL_FLAG_HELP)) {
        tool_help_verb(run->verb, stdout);
        return TOOL_OK;
    }
    run->call = tavola_call_new();
    if (!run->call)
        return tool_trouble("out of memory");
    if (run->verb && run->verb->run != tool_shell) /* it has commands of its own */
        tool_stop_begin(run->call);
    exit = tool_number_of(run, TOOL_FLAG_TIMEOUT, 1, 86400, &timeout_s);
    if (timeout_s)
        tavola_call_set_timeout_ms(run->call, (uint32_t)timeout_s * 1000);
    return exit ? exit : run->verb ? run->verb->run(run) : tool_shell_bare(run);
}

tool_exit tool_run_command(int argc, char **argv, tavola_client *client)
{
    tool_run run = {0};
    tool_exit exit = tool_parse(&run, argc, argv);

    if (tool_has(&run, TOOL_FLAG_CONNECTION))
        client = NULL;
    run.clients[0] = client;
    if (!exit)
        exit = run_verb(&run);
    if (exit && tool_stop_signal())
        exit = tool_stopped();
    tool_stop_end();
    /* A full disk must not look like success. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && exit == TOOL_OK)
        exit = tool_trouble("cannot write the output: %s", strerror(errno));
    if (client)
        run.clients[0] = NULL; /* lent by the shell */
    tool_run_done(&run);
    return exit;
}
