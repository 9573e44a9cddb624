/* Help, made of the tables of verbs and flags.  No line of it is longer than 80 columns. */
#include "help.h"
#include "text.h"
#include "verbs/resource.h"

#include <string.h>

enum { WIDTH = 80, VERB_COLUMN = 27, FLAG_COLUMN = 31 };

/* Verbs by what people want to do; each stands in one group. */
static const struct {
    const char *title;
    const char *const *verbs;
} groups[] = {
#define GROUP(title, ...)                                                                          \
    {                                                                                              \
        title, (const char *const[])                                                               \
        {                                                                                          \
            __VA_ARGS__, NULL                                                                      \
        }                                                                                          \
    }
    GROUP("Read entities", "query", "get", "count", "keys", "tail"),
    GROUP("Write entities", "insert", "put", "merge", "delete", "batch"),
    GROUP("Tables", "table list", "table create", "table delete", "table exists", "table stats"),
    GROUP("Files and copies", "import", "export", "copy"),
    GROUP("See what is slow, and why", "explain", "advise", "advise mark", "heat", "whatif",
          "lint"),
    GROUP("Queues", "queue list", "queue create", "queue delete", "queue exists", "queue count",
          "queue clear", "message put", "message get", "message peek", "message update",
          "message delete"),
    GROUP("Blobs", "container list", "container create", "container delete", "container exists",
          "blob list", "blob upload", "blob download", "blob show", "blob exists", "blob delete"),
    GROUP("Let others in", "table sas", "queue sas", "container sas", "blob sas", "sas make",
          "sas explain", "table policy list", "table policy set", "table policy delete",
          "queue policy list", "queue policy set", "queue policy delete", "container policy list",
          "container policy set", "container policy delete"),
    GROUP("Servers", "ping", "bench", "server status", "server check", "server metrics",
          "server url", "server backup", "cluster status", "cluster ranges", "cluster history",
          "cluster check", "cluster force"),
    GROUP("This tool", "shell", "completion", "help"),
#undef GROUP
};
enum { GROUPS = sizeof groups / sizeof groups[0] };

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
    {TOOL_FLAG_OUTPUT, "export", "of the file: ndjson, json, typed-csv or csv; else by its name",
     NULL},
    {TOOL_FLAG_OUTPUT, "lint", "of the report: text, github, junit, json or sarif", NULL},
    {TOOL_FLAG_PARALLEL, "bench", "requests on their way at the same time, 1 to 256; 8", NULL},
    {TOOL_FLAG_LIMIT, "advise", "at most this many findings", NULL},
    {TOOL_FLAG_LIMIT, "whatif", "entities of the table that are read, 1 to 1000000; 1000000", NULL},
    {TOOL_FLAG_PAGE_SIZE, "blob list", "at most this many in one request, 1 to 5000", NULL},
    {TOOL_FLAG_WHERE, "delete",
     "entities that pass the filter, all of them, with a value for each ? in it", NULL},
    {TOOL_FLAG_NUMBER, "bench", "operations of each kind; 1000", NULL},
    {TOOL_FLAG_NUMBER, "ping", "questions to each service, of which the fastest counts; 3", NULL},
    {TOOL_FLAG_LIMIT, "tail", "at most this many entities; 10", NULL},
    {TOOL_FLAG_LIMIT, "message get", "at most this many messages, 1 to 32; 1", NULL},
    {TOOL_FLAG_LIMIT, "message peek", "at most this many messages, 1 to 32; 1", NULL},
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

/* Words from a column on, the next lines too; `at` is the column where the first one begins. */
static void put_wrapped(const char *text, size_t at, size_t column, FILE *to)
{
    size_t used = at;

    if (at > column) {
        fputc('\n', to);
        used = 0;
    }
    fprintf(to, "%*s", (int)(column - used), "");
    used = column;
    while (*text) {
        size_t size = strcspn(text, " ");

        if (used > column && used + 1 + size > WIDTH) {
            fprintf(to, "\n%*s", (int)column, "");
            used = column;
        }
        used += (size_t)fprintf(to, "%s%.*s", used > column ? " " : "", (int)size, text);
        text += size + (text[size] == ' ');
    }
    fputc('\n', to);
}

static void list_flags(tool_flag_set flags, const tool_verb *verb, FILE *to)
{
    for (int id = 0; id < TOOL_FLAGS_END; id++) {
        tool_flag flag = flag_of((tool_flag_id)id, verb);
        char left[64];
        size_t size;

        if (!(flags & TOOL_BIT_OF(id)))
            continue;
        size = (size_t)snprintf(left, sizeof left, "  %s%c%s--%s%s%s ", flag.letter ? "-" : " ",
                                flag.letter ? flag.letter : ' ', flag.letter ? ", " : "  ",
                                flag.name, flag.value ? " " : "", flag.value ? flag.value : "");
        fputs(left, to);
        put_wrapped(flag.help, size, FLAG_COLUMN, to);
    }
}

void tool_help_verb(const tool_verb *verb, FILE *to)
{
    tool_text usage = {0};

    if (verb->examples)
        fprintf(to, "For example:\n%s\n", verb->examples);
    tool_text_printf(&usage, "tavola %s%s%s [flags]", verb->name, *verb->arguments ? " " : "",
                     verb->arguments);
    fputs("usage: ", to);
    put_wrapped(usage.at, 7, 7, to);
    tool_text_done(&usage);
    tool_text_printf(&usage, "%s.", verb->help ? verb->help : "For scripts");
    fputc('\n', to);
    put_wrapped(usage.at, 0, 2, to);
    tool_text_done(&usage);
    fputs("\nFlags:\n", to);
    list_flags(verb->flags, verb, to);
    list_flags(tool_common_flags(verb), verb, to);
}

static const tool_verb *find_verb(const char *name)
{
    for (const tool_verb *const *table = tool_verb_tables; *table; table++)
        for (const tool_verb *verb = *table; verb->name; verb++)
            if (strcmp(verb->name, name) == 0)
                return verb;
    return NULL;
}

void tool_each_verb(void (*visit)(void *user, const char *title, const tool_verb *verb), void *user)
{
    for (size_t i = 0; i < GROUPS; i++) {
        visit(user, groups[i].title, NULL);
        for (const char *const *name = groups[i].verbs; *name; name++)
            visit(user, groups[i].title, find_verb(*name));
    }
}

static void put_overview(void *user, const char *title, const tool_verb *verb)
{
    FILE *to = user;

    if (verb)
        put_wrapped(verb->help, (size_t)fprintf(to, "  %s ", verb->name), VERB_COLUMN, to);
    else
        fprintf(to, "\n%s:\n", title);
}

/* All verbs whose names begin with the words, with their arguments; how many there are. */
static size_t list_group(const char *words)
{
    size_t count = 0, size = strlen(words);

    for (const tool_verb *const *table = tool_verb_tables; *table; table++)
        for (const tool_verb *verb = *table; verb->name; verb++) {
            if (!verb->help || strncmp(verb->name, words, size) != 0 || verb->name[size] != ' ')
                continue;
            printf("  %s%s%s\n", verb->name, *verb->arguments ? " " : "", verb->arguments);
            put_wrapped(verb->help, 0, 6, stdout);
            count++;
        }
    return count;
}

void tool_help(FILE *to)
{
    fputs("usage: tavola VERB [arguments] [flags]\n\n"
          "Tables, queues and blobs of Azure Storage, tavolad and Azurite.\n",
          to);
    tool_each_verb(put_overview, to);
    fputs("\nFlags of all commands:\n", to);
    list_flags(TOOL_COMMON_FLAGS, NULL, to);
    fputs("\n'tavola help VERB' tells more, examples first.  Values have the type that is\n"
          "written with them: Age:int32=30; a value without one is a String.\n",
          to);
}

tool_exit tool_help_words(const char *const *words, size_t count)
{
    tool_text name = {0};
    const tool_verb *found;
    tool_exit exit = TOOL_OK;

    tool_text_puts(&name, "");
    for (size_t i = 0; i < count; i++)
        tool_text_printf(&name, "%s%s", i ? " " : "", words[i]);
    found = find_verb(name.at);
    if (found)
        tool_help_verb(found, stdout);
    else if (!name.size)
        tool_help(stdout);
    else if (!list_group(name.at))
        exit = tool_refuse_verb(words, count);
    tool_text_done(&name);
    return exit;
}
