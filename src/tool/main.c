/* tavola: read the command line, run the verb, say whether its output was written. */
#include "help.h"
#include "tool.h"

#include <errno.h>
#include <string.h>

static tool_exit run_verb(tool_run *run)
{
    if (tool_has(run, TOOL_FLAG_VERSION)) {
        printf("tavola %s (libtavola %s)\n", TV_VERSION, tavola_version());
        return TOOL_OK;
    }
    if (!run->verb && tool_has(run, TOOL_FLAG_HELP))
        return tool_help_words(run->args, run->arg_count);
    if (!run->verb) {
        tool_help(stderr);
        return TOOL_USAGE;
    }
    if (tool_has(run, TOOL_FLAG_HELP)) {
        tool_help_verb(run->verb, stdout);
        return TOOL_OK;
    }
    run->call = tavola_call_new();
    return run->call ? run->verb->run(run) : tool_trouble("out of memory");
}

int main(int argc, char **argv)
{
    tool_run run = {0};
    tool_exit exit = tool_parse(&run, argc, argv);

    if (!exit)
        exit = run_verb(&run);
    /* A full disk must not look like success. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && exit == TOOL_OK)
        exit = tool_trouble("cannot write the output: %s", strerror(errno));
    tool_run_done(&run);
    return exit;
}
