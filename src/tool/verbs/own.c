/* The tool about itself. */
#include "../help.h"
#include "../verbs.h"

static tool_exit help(tool_run *run)
{
    return tool_help_words(run->args, run->arg_count);
}

const tool_verb tool_own_verbs[] = {
    {"help", "[VERB]", "What a command does and takes", 0, 3, 0, .run = help},
    {0},
};
