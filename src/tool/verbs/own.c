/* The tool about itself. */
#include "../help.h"
#include "../verbs.h"
#include "complete.h"

static tool_exit help(tool_run *run)
{
    return tool_help_words(run->args, run->arg_count);
}

const tool_verb tool_own_verbs[] = {
    {"completion", "bash|zsh|fish", "A script that completes commands in a shell", 1, 1, 0,
     .run = tool_completion},
    {"help", "[VERB]", "What a command does and takes", 0, 3, 0, .run = help},
    {"complete", "WORD...", NULL, 0, -1, 0, .run = tool_complete}, /* for the scripts: not listed */
    {0},
};
