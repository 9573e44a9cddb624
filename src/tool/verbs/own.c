/* The tool about itself. */
#include "../help.h"
#include "../verbs.h"
#include "complete.h"

static tool_exit help(tool_run *run)
{
    return tool_help_words(run->args, run->arg_count);
}

static void describe_verb(void *user, const char *title, const tool_verb *verb)
{
    if (verb)
        printf("verb\t%s\t%s\t%s\n", verb->name, verb->arguments, verb->help);
    else
        printf("group\t%s\n", title);
}

/* The tables of verbs and flags, for tools/tool-docs.py. */
static tool_exit describe(tool_run *run)
{
    tool_each_verb(describe_verb, NULL);
    for (int id = 0; id < TOOL_FLAGS_END; id++) {
        const tool_flag *flag = &tool_flags[id];

        printf("flag\t%.1s\t%s\t%s\t%s\n", flag->letter ? &flag->letter : "", flag->name,
               flag->value ? flag->value : "", flag->help);
    }
    return TOOL_OK;
}

const tool_verb tool_own_verbs[] = {
    {"completion", "bash|zsh|fish", "A script that completes commands in a shell", 1, 1, 0,
     .run = tool_completion, .is_text = true, .examples = "  source <(tavola completion bash)\n"},
    {"help", "[VERB]", "What a command does and takes", 0, 3, 0, .run = help,
     .is_text = true,
     .examples = "  tavola help query\n"
                 "  tavola help table policy\n"},
    /* For scripts: not listed. */
    {"complete", "WORD...", NULL, 0, -1, 0, .run = tool_complete},
    {"describe", "", NULL, 0, 0, 0, .run = describe},
    {0},
};
