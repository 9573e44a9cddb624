/*
 * Completion.  The scripts for the shells are a few lines that ask the tool itself, by the verb
 * "complete" that no help lists: what is said there is in the tables of verbs and flags, and the
 * names of tables are the service's.
 */
#include "complete.h"
#include "../text.h"

#include <stdlib.h>
#include <string.h>

#define TABLES_TIMEOUT_MS 1000 /* somebody waits with a finger on the key */

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The flag that a word is, if it takes its value from the next word; NULL else. */
static bool takes_next(const char *word)
{
    for (int id = 0; id < TOOL_FLAGS_END; id++) {
        const tool_flag *flag = &tool_flags[id];

        if (!flag->value)
            continue;
        if (word[0] == '-' && word[1] == '-' && strcmp(word + 2, flag->name) == 0)
            return true;
        if (word[0] == '-' && flag->letter && word[1] == flag->letter && !word[2])
            return true;
    }
    return false;
}

/* The words before the last one, without flags and their values, with blanks between. */
static size_t join_words(const tool_run *run, tool_text *ret_joined)
{
    size_t count = 0;

    tool_text_puts(ret_joined, "");
    for (size_t i = 0; i + 1 < run->arg_count; i++) {
        if (takes_next(run->args[i])) {
            i++;
        } else if (run->args[i][0] != '-') {
            tool_text_printf(ret_joined, "%s%s", count++ ? " " : "", run->args[i]);
        }
    }
    return count;
}

static size_t words_of(const char *name)
{
    size_t count = 1;

    for (; *name; name++)
        count += *name == ' ';
    return count;
}

static const tool_verb *find_verb(const char *joined)
{
    const tool_verb *found = NULL;

    for (const tool_verb *const *table = tool_verb_tables; *table; table++)
        for (const tool_verb *verb = *table; verb->name; verb++) {
            size_t size = strlen(verb->name);

            if (begins(joined, verb->name) && (joined[size] == ' ' || !joined[size]) &&
                (!found || size > strlen(found->name)))
                found = verb;
        }
    return found;
}

static void complete_flag(const tool_verb *verb, const char *current)
{
    uint64_t flags = TOOL_COMMON_FLAGS | (verb ? verb->flags : TOOL_BIT(VERSION));

    for (int id = 0; id < TOOL_FLAGS_END; id++) {
        char name[64];

        snprintf(name, sizeof name, "--%s", tool_flags[id].name);
        if (flags & UINT64_C(1) << id && begins(name, current))
            puts(name);
    }
}

/* The words that can follow `joined` in the names of verbs, each once. */
static void complete_verb(const char *joined, const char *current)
{
    size_t size = strlen(joined);
    tool_text seen = {0};

    tool_text_puts(&seen, "\n");
    for (const tool_verb *const *table = tool_verb_tables; *table; table++)
        for (const tool_verb *verb = *table; verb->name; verb++) {
            const char *rest = verb->name + (size ? size + 1 : 0);
            char line[64];

            if (!verb->help || (size && (!begins(verb->name, joined) || verb->name[size] != ' ')))
                continue;
            snprintf(line, sizeof line, "\n%.*s\n", (int)strcspn(rest, " "), rest);
            if (!begins(rest, current) || strstr(seen.at, line))
                continue;
            tool_text_puts(&seen, line + 1);
            printf("%s", line + 1);
        }
    tool_text_done(&seen);
}

static void complete_table(tool_run *run, const char *current)
{
    tavola_client *client;
    tavola_names *names = NULL;

    if (tool_client(run, &client))
        return;
    tavola_call_set_timeout_ms(run->call, TABLES_TIMEOUT_MS);
    if (tavola_table_list(client, *current ? current : NULL, run->call, &names) == TAVOLA_OK)
        for (size_t i = 0; i < tavola_names_count(names); i++)
            puts(tavola_names_at(names, i));
    tavola_names_free(names);
}

tool_exit tool_complete(tool_run *run)
{
    const char *current = run->arg_count ? run->args[run->arg_count - 1] : "";
    tool_text joined = {0};
    size_t count = join_words(run, &joined);
    const tool_verb *verb = find_verb(joined.at);

    if (run->arg_count > 1 && takes_next(run->args[run->arg_count - 2]))
        ; /* the value of a flag: the shell offers files */
    else if (current[0] == '-')
        complete_flag(verb, current);
    else if (!verb)
        complete_verb(joined.at, current);
    else if (words_of(verb->name) == count && begins(verb->arguments, "TABLE"))
        complete_table(run, current);
    else if (strcmp(verb->name, "help") == 0)
        complete_verb(joined.at + (joined.at[4] ? 5 : 4), current);
    else if (strcmp(verb->name, "completion") == 0)
        puts("bash\nzsh\nfish");
    tool_text_done(&joined);
    return TOOL_OK;
}

static const struct {
    const char *shell, *script;
} scripts[] = {
    {"bash", "_tavola()\n"
             "{\n"
             "    mapfile -t COMPREPLY < <(tavola complete -- "
             "\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
             "}\n"
             "complete -o default -F _tavola tavola\n"},
    {"zsh", "#compdef tavola\n"
            "_tavola()\n"
            "{\n"
            "    local -a found\n"
            "    found=(${(f)\"$(tavola complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
            "    if (( $#found )); then compadd -- $found; else _files; fi\n"
            "}\n"
            "compdef _tavola tavola\n"},
    {"fish", "function __tavola_complete\n"
             "    set -l words (commandline -opc) (commandline -ct)\n"
             "    tavola complete -- $words[2..-1] 2>/dev/null\n"
             "end\n"
             "complete -c tavola -a '(__tavola_complete)'\n"},
};

tool_exit tool_completion(tool_run *run)
{
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        if (strcmp(scripts[i].shell, run->args[0]) == 0) {
            fputs(scripts[i].script, stdout);
            return TOOL_OK;
        }
    return tool_refuse("there is completion for bash, zsh and fish, not for '%s'", run->args[0]);
}
