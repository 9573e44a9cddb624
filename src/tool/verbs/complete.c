/*
 * Completion.  The scripts for the shells are a few lines that ask the tool itself, by the verb
 * "complete" that no help lists: what is said there is in the tables of verbs and flags, and the
 * names of tables and properties are the service's.
 */
#include "complete.h"
#include "../text.h"

#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 1000 /* somebody waits with a finger on the key */
#define SAMPLE 20       /* entities whose properties are offered */

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The flag that a word is, if it takes its value from the next word; -1 else. */
static int takes_next(const char *word)
{
    for (int id = 0; id < TOOL_FLAGS_END; id++) {
        const tool_flag *flag = &tool_flags[id];

        if (!flag->value)
            continue;
        if (word[0] == '-' && word[1] == '-' && strcmp(word + 2, flag->name) == 0)
            return id;
        if (word[0] == '-' && flag->letter && word[1] == flag->letter && !word[2])
            return id;
    }
    return -1;
}

/* A search for what may stand for the last word. */
typedef struct search {
    tool_run *run;
    const char *const *words;
    size_t count;
    const char *current; /* the last word, perhaps half */
    tool_candidate_fn found;
    void *user;
} search;

static void offer(const search *search_of, const char *word)
{
    if (begins(word, search_of->current))
        search_of->found(search_of->user, word);
}

/* How many words behind this one belong to it: the value of a flag, and those of a filter. */
static size_t taken_by(const search *in, size_t i)
{
    int id = takes_next(in->words[i]);

    return id < 0                                       ? 0
           : id == TOOL_FLAG_WHERE && i + 1 < in->count ? 1 + tool_filter_marks(in->words[i + 1])
                                                        : 1;
}

/* The words before the last one, without flags and their values, with blanks between. */
static size_t join_words(const search *in, tool_text *ret_joined)
{
    size_t count = 0;

    tool_text_puts(ret_joined, "");
    for (size_t i = 0; i + 1 < in->count; i += 1 + taken_by(in, i))
        if (in->words[i][0] != '-')
            tool_text_printf(ret_joined, "%s%s", count++ ? " " : "", in->words[i]);
    return count;
}

/* The nth of the words that join_words has joined; NULL: no such. */
static const char *nth_word(const search *in, size_t nth)
{
    for (size_t i = 0; i + 1 < in->count; i += 1 + taken_by(in, i))
        if (in->words[i][0] != '-' && nth-- == 0)
            return in->words[i];
    return NULL;
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

static void complete_flag(const search *in, const tool_verb *verb)
{
    tool_flag_set flags = TOOL_COMMON_FLAGS | (verb ? verb->flags : TOOL_BIT(VERSION));

    for (int id = 0; id < TOOL_FLAGS_END; id++) {
        char name[64];

        snprintf(name, sizeof name, "--%s", tool_flags[id].name);
        if (flags & TOOL_BIT_OF(id))
            offer(in, name);
    }
}

/* The words that can follow `joined` in the names of verbs, each once. */
static void complete_verb(const search *in, const char *joined)
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
            if (strstr(seen.at, line))
                continue;
            tool_text_puts(&seen, line + 1);
            line[strlen(line) - 1] = '\0';
            offer(in, line + 1);
        }
    tool_text_done(&seen);
}

typedef tavola_err (*list_fn)(tavola_client *client, const char *prefix, tavola_call *call,
                              tavola_names **ret_names);

static void complete_name(const search *in, list_fn list)
{
    tavola_client *client;
    tavola_names *names = NULL;

    if (tool_client(in->run, &client))
        return;
    tavola_call_set_timeout_ms(in->run->call, TIMEOUT_MS);
    if (list(client, *in->current ? in->current : NULL, in->run->call, &names) == TAVOLA_OK)
        for (size_t i = 0; i < tavola_names_count(names); i++)
            offer(in, tavola_names_at(names, i));
    tavola_names_free(names);
}

/* Those of "text|base64". */
static void complete_word_of(const search *in, const char *list)
{
    while (*list) {
        size_t size = strcspn(list, "|");
        char *word = tool_copy_part(list, size);

        offer(in, word);
        free(word);
        list += size + (list[size] == '|');
    }
}

/* A key that is one word to a shell as it stands. */
static void offer_key(const search *in, const char *key)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:,@%+/=";

    if (*key && !key[strspn(key, plain)])
        offer(in, key);
}

/* Row keys of a partition; without one partition keys, each by a request behind the last. */
static void complete_key(const search *in, const char *name, const char *partition)
{
    size_t left = partition ? 1 : SAMPLE;
    char *after = NULL;
    tavola_client *client;
    tavola_table *table = NULL;

    if (tool_client(in->run, &client) || tavola_table_open(client, name, &table))
        return;
    tavola_call_set_timeout_ms(in->run->call, TIMEOUT_MS);
    while (left--) {
        tavola_filter *where =
            partition
                ? tavola_and(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string(partition)),
                             tavola_where_prefix("RowKey", in->current))
                : tavola_where("PartitionKey", after ? TAVOLA_GT : TAVOLA_GE,
                               tavola_string(after ? after : in->current));
        tavola_query *query = tavola_query_new(where);
        tavola_page *page = NULL;
        tavola_err err;

        tavola_query_set_page_size(query, partition ? SAMPLE : 1);
        err = tavola_query_page(table, query, NULL, in->run->call, &page);
        for (size_t i = 0; !err && i < tavola_page_count(page); i++) {
            const tavola_entity *entity = tavola_page_at(page, i);

            free(after);
            after = tool_copy(tavola_entity_partition_key(entity));
            offer_key(in, partition ? tavola_entity_row_key(entity) : after);
        }
        if (err || tavola_page_count(page) == 0 || !begins(after, partition ? "" : in->current))
            left = 0;
        tavola_page_free(page);
        tavola_query_free(query);
    }
    free(after);
    tavola_table_close(table);
}

static void offer_properties(const search *in, const tavola_entity *entity, tool_text *seen)
{
    for (size_t i = 0; i < tavola_entity_count(entity); i++) {
        tavola_value value;
        const char *name = tavola_entity_name_at(entity, i, &value);
        tool_text line = {0};

        tool_text_printf(&line, "\n%s\n", name);
        if (!strstr(seen->at, line.at)) {
            tool_text_puts(seen, line.at + 1);
            offer(in, name);
        }
        tool_text_done(&line);
    }
}

/* The names that the first entities of the table have. */
static void complete_property(const search *in, const char *name)
{
    tavola_client *client;
    tavola_table *table = NULL;
    tavola_query *first = tavola_query_new(NULL);
    tavola_page *page = NULL;
    tool_text seen = {0};

    tavola_query_set_page_size(first, SAMPLE);
    tool_text_puts(&seen, "\n");
    if (tool_client(in->run, &client) == TOOL_OK) {
        tavola_call_set_timeout_ms(in->run->call, TIMEOUT_MS);
        if (tavola_table_open(client, name, &table) == TAVOLA_OK &&
            tavola_query_page(table, first, NULL, in->run->call, &page) == TAVOLA_OK) {
            offer(in, "PartitionKey");
            offer(in, "RowKey");
            for (size_t i = 0; i < tavola_page_count(page); i++)
                offer_properties(in, tavola_page_at(page, i), &seen);
        }
    }
    tool_text_done(&seen);
    tavola_page_free(page);
    tavola_table_close(table);
    tavola_query_free(first);
}

static void offer_connection(void *user, const char *name)
{
    offer(user, name);
}

/* The value of a flag; `table` is that of the command, or NULL. */
static void complete_value(const search *in, tool_flag_id id, const tool_verb *verb,
                           const char *table)
{
    const tool_flag *flag = &tool_flags[id];
    bool is_lint = verb && strcmp(verb->name, "lint") == 0;
    bool is_file = id == TOOL_FLAG_FORMAT || (verb && strcmp(verb->name, "export") == 0);

    if (id == TOOL_FLAG_OUTPUT || id == TOOL_FLAG_FORMAT)
        complete_word_of(in, is_lint   ? "text|github|junit|json|sarif"
                             : is_file ? "ndjson|json|typed-csv|csv"
                                       : "table|json|ndjson|csv|typed-csv|tsv|value");
    else if (id == TOOL_FLAG_CONNECTION)
        tool_each_connection(offer_connection, (void *)(uintptr_t)in);
    else if ((id == TOOL_FLAG_SELECT || id == TOOL_FLAG_WHERE) && table)
        complete_property(in, table);
    else if (id == TOOL_FLAG_TABLE)
        complete_name(in, tavola_table_list);
    else if (strchr(flag->value, '|') && flag->value[0] >= 'a')
        complete_word_of(in, flag->value);
}

/* The nth word of "TABLE PARTITION ROW [NAME:TYPE=VALUE]...", the last one again and again if dots
 * follow it.  What flags take, and what follows a |, is left out.  NULL: there is none. */
static char *argument_of(const tool_verb *verb, size_t nth)
{
    const char *at = verb->arguments;

    while (*at) {
        size_t size;

        at += strspn(at, " [");
        size = strcspn(at, " ]");
        if (*at == '|' || strncmp(at, "--", 2) == 0)
            return NULL;
        if (*at == '-')
            at += strcspn(at, "]"); /* "-c FROM" */
        else if (nth == 0 || strncmp(at + size, "]...", 4) == 0)
            return tool_copy_part(at, size);
        else
            nth--, at += size;
        at += strspn(at, "].");
    }
    return NULL;
}

/* An argument of a verb that was found. */
static void complete_argument(const search *in, const tool_verb *verb, const char *joined,
                              size_t count)
{
    size_t words = words_of(verb->name);
    bool is_help = strcmp(verb->name, "help") == 0;
    char *kind = argument_of(verb, is_help ? 0 : count - words);
    const char *first = nth_word(in, words), *second = first ? nth_word(in, words + 1) : NULL;

    if (!kind)
        return;
    if (strcmp(kind, "TABLE") == 0)
        complete_name(in, tavola_table_list);
    else if (strcmp(kind, "QUEUE") == 0)
        complete_name(in, tavola_queue_list);
    else if (strcmp(kind, "CONTAINER") == 0)
        complete_name(in, tavola_container_list);
    else if (strcmp(kind, "PARTITION") == 0 && first)
        complete_key(in, first, NULL);
    else if (begins(kind, "ROW") && second)
        complete_key(in, first, second);
    else if (begins(kind, "NAME:") && first)
        complete_property(in, first);
    else if (is_help)
        complete_verb(in, joined + (joined[4] ? 5 : 4));
    else if (strchr(kind, '|') && kind[0] >= 'a')
        complete_word_of(in, kind);
    free(kind);
}

void tool_candidates(tool_run *run, const char *const *words, size_t count, tool_candidate_fn found,
                     void *user)
{
    const search in = {run, words, count, count ? words[count - 1] : "", found, user};
    tool_text joined = {0};
    size_t joined_count = join_words(&in, &joined);
    const tool_verb *verb = find_verb(joined.at);
    int flag = count > 1 ? takes_next(words[count - 2]) : -1;

    if (flag >= 0)
        complete_value(&in, (tool_flag_id)flag, verb,
                       verb ? nth_word(&in, words_of(verb->name)) : NULL);
    else if (in.current[0] == '-')
        complete_flag(&in, verb);
    else if (verb)
        complete_argument(&in, verb, joined.at, joined_count);
    else
        complete_verb(&in, joined.at);
    tool_text_done(&joined);
}

static void print_word(void *user, const char *word)
{
    puts(word);
}

tool_exit tool_complete(tool_run *run)
{
    tool_candidates(run, run->args, run->arg_count, print_word, NULL);
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
