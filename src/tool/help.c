/* Help, made of the tables of verbs and flags. */
#include "help.h"
#include "text.h"
#include "verbs/resource.h"

#include <string.h>

/* What a flag means to one verb, where it is not the same for all that take it. */
static const struct {
    tool_flag_id id;
    const char *verb, *help;
    const char *value; /* NULL: as the flag has it */
} meanings[] = {
    {TOOL_FLAG_TYPES, "sas make", "of s (service), c (container, table, queue), o (object)",
     "LETTERS"},
    {TOOL_FLAG_TYPES, "import",
     "of columns of a plain CSV file: Age:int32,Due:datetime, the others are Strings", "LIST"},
    {TOOL_FLAG_FORMAT, "import", "of the file: ndjson, json, typed-csv or csv", NULL},
    {TOOL_FLAG_FORMAT, "lint", "of the report: text, github, junit, json or sarif", NULL},
    {TOOL_FLAG_PARALLEL, "bench", "requests on their way at the same time, 1 to 256; 8", NULL},
    {TOOL_FLAG_LIMIT, "advise", "at most this many findings", NULL},
    {TOOL_FLAG_LIMIT, "whatif", "entities of the table that are read, 1 to 1000000; 1000000", NULL},
    {TOOL_FLAG_PAGE_SIZE, "blob list", "at most this many in one request, 1 to 5000", NULL},
    {TOOL_FLAG_WHERE, "export", "only entities that pass the filter", NULL},
    {TOOL_FLAG_WHERE, "copy", "only entities that pass the filter", NULL},
    {TOOL_FLAG_NUMBER, "bench", "operations of each kind; 1000", NULL},
    {TOOL_FLAG_NUMBER, "ping", "questions to each service, of which the fastest counts; 3", NULL},
    {TOOL_FLAG_NUMBER, "tail", "how many entities; 10", NULL},
    {TOOL_FLAG_NUMBER, "message get", "how many messages, 1 to 32; 1", NULL},
    {TOOL_FLAG_NUMBER, "message peek", "how many messages, 1 to 32; 1", NULL},
};

/* The flag as this verb takes it; `verb` NULL: as all do. */
static tool_flag flag_of(tool_flag_id id, const tool_verb *verb)
{
    tool_flag flag = tool_flags[id];

    for (size_t i = 0; verb && i < sizeof meanings / sizeof meanings[0]; i++)
        if (meanings[i].id == id && strcmp(meanings[i].verb, verb->name) == 0) {
            flag.help = meanings[i].help;
            flag.value = meanings[i].value ? meanings[i].value : flag.value;
        }
    return flag;
}

static void list_flags(tool_flag_set flags, const tool_verb *verb, FILE *to)
{
    for (int id = 0; id < TOOL_FLAGS_END; id++) {
        tool_flag flag = flag_of((tool_flag_id)id, verb);
        char left[64];

        if (!(flags & TOOL_BIT_OF(id)))
            continue;
        snprintf(left, sizeof left, "%s%c%s--%s%s%s", flag.letter ? "-" : " ",
                 flag.letter ? flag.letter : ' ', flag.letter ? ", " : "  ", flag.name,
                 flag.value ? " " : "", flag.value ? flag.value : "");
        if (strlen(left) > 28)
            fprintf(to, "  %s\n  %-28s %s\n", left, "", flag.help);
        else
            fprintf(to, "  %-28s %s\n", left, flag.help);
    }
}

void tool_help_verb(const tool_verb *verb, FILE *to)
{
    tool_flag_set common = TOOL_COMMON_FLAGS;

    /* Who asks the admin port has no account; statistics can be had of both. */
    if ((verb->flags & TOOL_BIT(ADMIN)) && verb->run != tool_table_stats)
        common &= ~TOOL_BIT(CONNECTION);
    if (verb->examples)
        fprintf(to, "For example:\n%s\n", verb->examples);
    fprintf(to, "usage: tavola %s%s%s [flags]\n\n  %s.\n\nFlags:\n", verb->name,
            *verb->arguments ? " " : "", verb->arguments, verb->help ? verb->help : "For scripts");
    list_flags(verb->flags, verb, to);
    list_flags(common, verb, to);
}

/* All verbs whose names begin with the words. */
static size_t list_verbs(const char *group, FILE *to)
{
    size_t count = 0, size = strlen(group);

    for (const tool_verb *const *table = tool_verb_tables; *table; table++) {
        size_t before = count;

        for (const tool_verb *verb = *table; verb->name; verb++) {
            tool_text left = {0};

            if (!verb->help)
                continue;
            if (size && (strncmp(verb->name, group, size) != 0 || verb->name[size] != ' '))
                continue;
            if (count++ == before && before)
                fputc('\n', to);
            tool_text_printf(&left, "%s %s", verb->name, verb->arguments);
            if (left.size > 36)
                fprintf(to, "  %s\n  %-36s %s\n", left.at, "", verb->help);
            else
                fprintf(to, "  %-36s %s\n", left.at, verb->help);
            tool_text_done(&left);
        }
    }
    return count;
}

void tool_help(FILE *to)
{
    fputs("usage: tavola VERB [arguments] [flags]\n\n"
          "Tables, queues and blobs of Azure Storage, tavolad and Azurite.\n\n",
          to);
    list_verbs("", to);
    fputs("\nFlags of all commands:\n", to);
    list_flags(TOOL_COMMON_FLAGS, NULL, to);
    fputs("\n'tavola help VERB' tells more.  Values are typed by their suffix: Age:int32=30; a "
          "value without one is a String.\n",
          to);
}

tool_exit tool_help_words(const char *const *words, size_t count)
{
    tool_text name = {0};
    const tool_verb *found = NULL;
    tool_exit exit = TOOL_OK;

    for (size_t i = 0; i < count; i++)
        tool_text_printf(&name, "%s%s", i ? " " : "", words[i]);
    for (const tool_verb *const *table = tool_verb_tables; name.size && *table; table++)
        for (const tool_verb *verb = *table; verb->name; verb++)
            if (strcmp(verb->name, name.at) == 0)
                found = verb;
    if (found)
        tool_help_verb(found, stdout);
    else if (!name.size)
        tool_help(stdout);
    else if (!list_verbs(name.at, stdout))
        exit = tool_refuse("there is no command '%s'; 'tavola help' lists them", name.at);
    tool_text_done(&name);
    return exit;
}
