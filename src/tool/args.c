/* The command line: flags and words in any order, and the verb that the words begin with. */
#include "guess.h"
#include "text.h"
#include "tool.h"
#include "verbs/resource.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const tool_flag tool_flags[TOOL_FLAGS_END] = {
#define X(id, name, letter, value, help) {name, letter, value, help},
    TOOL_FLAG_LIST(X)
#undef X
};

bool tool_has(const tool_run *run, tool_flag_id id)
{
    return tool_value_of(run, id) != NULL;
}

const char *tool_value_of(const tool_run *run, tool_flag_id id)
{
    return tool_value_nth(run, id, 0);
}

const char *tool_value_or_environment(const tool_run *run, tool_flag_id id, const char *name)
{
    const char *value = tool_value_of(run, id), *environment = getenv(name);

    return value ? value : environment && *environment ? environment : NULL;
}

const char *tool_value_nth(const tool_run *run, tool_flag_id id, size_t nth)
{
    for (size_t i = 0; i < run->given_count; i++)
        if (run->given[i].id == id && nth-- == 0)
            return run->given[i].value;
    return NULL;
}

tool_exit tool_number_of(const tool_run *run, tool_flag_id id, int64_t least, int64_t most,
                         int64_t *ret_number)
{
    const char *text = tool_value_of(run, id);
    char *end = NULL;
    long long number;

    if (!text)
        return TOOL_OK;
    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno || end == text || *end || strchr(" \t\n+", text[0]) || number < least ||
        number > most)
        return most == INT64_MAX
                   ? tool_refuse("--%s takes a whole number from %lld on, not '%s'",
                                 tool_flags[id].name, (long long)least, text)
                   : tool_refuse("--%s takes a whole number from %lld to %lld, not '%s'",
                                 tool_flags[id].name, (long long)least, (long long)most, text);
    *ret_number = number;
    return TOOL_OK;
}

#define TICKS_PER_SECOND INT64_C(10000000)

/* "+90s", "+15m", "+1h", "+7d": from now, in whole seconds. */
static bool read_time_from_now(const char *text, tavola_ticks *ret_time)
{
    static const struct {
        char letter;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    char *end = NULL;
    long count;

    if (text[0] != '+' || text[1] < '0' || text[1] > '9')
        return false;
    errno = 0;
    count = strtol(text + 1, &end, 10);
    if (errno || count > 1000000000 || !end[0] || end[1])
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (units[i].letter == end[0]) {
            tavola_ticks now = tavola_now();
            *ret_time = now - now % TICKS_PER_SECOND + count * units[i].seconds * TICKS_PER_SECOND;
            return true;
        }
    return false;
}

tool_exit tool_time_of(const tool_run *run, tool_flag_id id, tavola_ticks *ret_time)
{
    const char *text = tool_value_of(run, id);
    char day[24];

    if (!text || read_time_from_now(text, ret_time) || tavola_ticks_parse(text, ret_time))
        return TOOL_OK;
    if (strlen(text) == 10) {
        snprintf(day, sizeof day, "%sT00:00:00Z", text);
        if (tavola_ticks_parse(day, ret_time))
            return TOOL_OK;
    }
    return tool_refuse("--%s takes a time like 2026-12-31, 2026-12-31T18:00:00Z or +1h, not '%s'",
                       tool_flags[id].name, text);
}

char **tool_names_of(const tool_run *run, tool_flag_id id)
{
    const char *text = tool_value_of(run, id);
    size_t count = 1;
    char **names;

    if (!text)
        return NULL;
    for (const char *c = text; *c; c++)
        count += *c == ',';
    names = tool_alloc((count + 1) * sizeof *names);
    count = 0;
    for (;;) {
        size_t size = strcspn(text, ",");
        if (size)
            names[count++] = tool_copy_part(text, size);
        if (!text[size])
            return names;
        text += size + 1;
    }
}

void tool_names_free(char **names)
{
    for (char **name = names; name && *name; name++)
        free(*name);
    free(names);
}

/* A word that is a flag; "-" is a file and "-5:int32" a value. */
static bool is_flag(const char *word)
{
    return word[0] == '-' && word[1] && (word[1] < '0' || word[1] > '9');
}

static int find_flag(const char *word, size_t *ret_name_size)
{
    bool is_long = word[1] == '-';
    const char *name = word + 1 + is_long;
    size_t size = is_long ? strcspn(name, "=") : 1;

    *ret_name_size = (size_t)(name - word) + size;
    for (int id = 0; id < TOOL_FLAGS_END; id++)
        if (is_long ? strlen(tool_flags[id].name) == size &&
                          memcmp(tool_flags[id].name, name, size) == 0
                    : tool_flags[id].letter == name[0])
            return id;
    return -1;
}

static tool_exit refuse_flag(const char *word, size_t size)
{
    char *name = tool_copy_part(word, size);
    tool_guess guess = {.word = name};
    tool_exit exit;

    for (int i = 0; i < TOOL_FLAGS_END; i++) {
        char flag[64];

        snprintf(flag, sizeof flag, "--%s", tool_flags[i].name);
        tool_guess_try(&guess, flag);
    }
    exit = tool_refuse("there is no flag '%s'; 'tavola help VERB' lists those of a command ('--' "
                       "before a word that begins with a dash)%s",
                       name, tool_guess_text(&guess));
    tool_guess_done(&guess);
    free(name);
    return exit;
}

size_t tool_filter_marks(const char *filter)
{
    bool is_text = false;
    size_t count = 0;

    for (; *filter; filter++) {
        is_text ^= *filter == '\'';
        count += *filter == '?' && !is_text;
    }
    return count;
}

/* The words behind the filter that are values for its marks. */
static void take_values(tool_run *run, int argc, char **argv, int *i)
{
    size_t marks = tool_filter_marks(run->where[0]), size;

    while (run->where_count <= marks && *i + 1 < argc &&
           !(is_flag(argv[*i + 1]) && find_flag(argv[*i + 1], &size) >= 0))
        run->where[run->where_count++] = argv[++*i];
}

/* The flag at argv[*i], and its value, which may be the next word. */
static tool_exit take_flag(tool_run *run, int argc, char **argv, int *i)
{
    const char *word = argv[*i];
    size_t name_size;
    int id = find_flag(word, &name_size);
    const char *rest = word + name_size, *value = "";

    if (id < 0)
        return refuse_flag(word, name_size);
    if (!tool_flags[id].value) {
        if (*rest)
            return tool_refuse("--%s takes no value; write it alone", tool_flags[id].name);
    } else if (*rest) {
        value = rest + (*rest == '=');
    } else if (*i + 1 < argc) {
        value = argv[++*i];
    } else {
        return tool_refuse("--%s needs a value: --%s %s", tool_flags[id].name, tool_flags[id].name,
                           tool_flags[id].value);
    }
    run->given[run->given_count].id = (tool_flag_id)id;
    run->given[run->given_count++].value = value;
    if (id == TOOL_FLAG_WHERE) {
        run->where[0] = value;
        run->where_count = 1;
        take_values(run, argc, argv, i);
    }
    return TOOL_OK;
}

/* How many of the words are the name of this verb; 0 when they are not. */
static size_t match(const tool_verb *verb, const char *const *words, size_t count)
{
    const char *name = verb->name;
    size_t matched = 0;

    for (;;) {
        size_t size = strcspn(name, " ");
        if (matched == count || strlen(words[matched]) != size ||
            memcmp(words[matched], name, size) != 0)
            return 0;
        matched++;
        if (!name[size])
            return matched;
        name += size + 1;
    }
}

/* The verb of most words that matches, so that "table policy list" wins over "table". */
static size_t find_verb(tool_run *run)
{
    size_t best = 0;

    for (const tool_verb *const *table = tool_verb_tables; *table; table++)
        for (const tool_verb *verb = *table; verb->name; verb++) {
            size_t matched = match(verb, run->args, run->arg_count);
            if (matched > best) {
                best = matched;
                run->verb = verb;
            }
        }
    return best;
}

/* The first words, as many as the name of the verb has, with blanks between. */
static void join_like(const tool_verb *verb, const char *const *words, size_t count, tool_text *ret)
{
    const char *name = verb->name;

    ret->size = 0;
    tool_text_puts(ret, "");
    for (size_t i = 0; i < count && name; i++) {
        tool_text_printf(ret, "%s%s", i ? " " : "", words[i]);
        name = strchr(name, ' ');
        name += name != NULL;
    }
}

/* "table" alone, or "table crate": the words that can follow. */
static void list_followers(const char *word, tool_text *ret_names)
{
    size_t size = strlen(word);

    for (const tool_verb *const *table = tool_verb_tables; *table; table++)
        for (const tool_verb *verb = *table; verb->name; verb++)
            if (verb->help && strncmp(verb->name, word, size) == 0 && verb->name[size] == ' ')
                tool_text_printf(ret_names, "%s%s", ret_names->size ? ", " : "",
                                 verb->name + size + 1);
}

/* "table", of "table list". */
static void try_group(tool_guess *guess, const char *name)
{
    char *group = tool_copy_part(name, strcspn(name, " "));

    tool_guess_try(guess, group);
    free(group);
}

tool_exit tool_refuse_verb(const char *const *words, size_t count)
{
    tool_text names = {0}, like = {0};
    tool_guess guess = {0};
    tool_exit exit;

    for (const tool_verb *const *table = tool_verb_tables; *table; table++)
        for (const tool_verb *verb = *table; verb->name; verb++) {
            join_like(verb, words, count, &like);
            guess.word = like.at;
            if (verb->help)
                tool_guess_try(&guess, verb->name);
            guess.word = words[0];
            if (verb->help && count == 1)
                try_group(&guess, verb->name);
        }
    list_followers(words[0], &names);
    exit = names.size ? tool_refuse("'tavola %s' is followed by one of: %s%s", words[0], names.at,
                                    tool_guess_text(&guess))
                      : tool_refuse("there is no command '%s'; 'tavola help' lists them%s",
                                    words[0], tool_guess_text(&guess));
    tool_text_done(&names);
    tool_text_done(&like);
    tool_guess_done(&guess);
    return exit;
}

tool_flag_set tool_common_flags(const tool_verb *verb)
{
    tool_flag_set common = TOOL_COMMON_FLAGS;

    /* Who asks the admin port has no account; statistics can be had of both. */
    if ((verb->flags & TOOL_BIT(ADMIN)) && verb->run != tool_table_stats)
        common &= ~(TOOL_BIT(CONNECTION) | TOOL_BIT(CA_FILE) | TOOL_BIT(VERBOSE));
    if (verb->is_text)
        common &= ~TOOL_BIT(OUTPUT);
    return common;
}

static tool_exit check_flags(const tool_run *run)
{
    const tool_verb *verb = run->verb;
    tool_flag_set seen = 0;

    for (size_t i = 0; i < run->given_count; i++) {
        tool_flag_id id = run->given[i].id;
        tool_flag_set bit = TOOL_BIT_OF(id);
        bool is_second = (id == TOOL_FLAG_CONNECTION && verb->is_pair) || id == TOOL_FLAG_COPY;

        /* That -c is of no use to verbs that ask the admin port is told by these. */
        if (!(bit & (verb->flags | tool_common_flags(verb) | TOOL_BIT(CONNECTION))))
            return tool_refuse("'tavola %s' does not take --%s; 'tavola help %s' lists what it "
                               "takes",
                               verb->name, tool_flags[id].name, verb->name);
        if ((seen & bit) && !is_second)
            return tool_refuse("--%s is given twice; give it once", tool_flags[id].name);
        seen |= bit;
    }
    return TOOL_OK;
}

static tool_exit check_arguments(const tool_run *run)
{
    const tool_verb *verb = run->verb;
    bool is_too_much = verb->args_max >= 0 && run->arg_count > (size_t)verb->args_max;
    const char *hint = "";
    size_t i = 0;

    while (i < run->arg_count && (strlen(run->args[i]) != 1 || !strchr("|<>;", run->args[i][0])))
        i++;
    if (run->arg_count >= (size_t)verb->args_min && !is_too_much)
        return TOOL_OK;
    if (is_too_much && i < run->arg_count)
        hint = "; pipes and redirection are the work of a shell like bash";
    else if (is_too_much && run->where_count)
        hint = tool_filter_marks(run->where[0]) ? "; there are more values than ? in the filter"
                                                : "; a filter is one argument: put it in quotes";
    else if (is_too_much && (verb->flags & TOOL_BIT(WHERE)))
        hint = "; a filter goes behind --where";
    return tool_refuse("it goes: tavola %s%s%s%s", verb->name, *verb->arguments ? " " : "",
                       verb->arguments, hint);
}

static tool_exit split(tool_run *run, int argc, char **argv)
{
    bool has_flags = true;

    for (int i = 1; i < argc; i++) {
        if (has_flags && strcmp(argv[i], "--") == 0) {
            has_flags = false;
        } else if (has_flags && is_flag(argv[i])) {
            tool_exit exit = take_flag(run, argc, argv, &i);
            if (exit)
                return exit;
        } else {
            run->args[run->arg_count++] = argv[i];
        }
    }
    return TOOL_OK;
}

tool_exit tool_parse(tool_run *run, int argc, char **argv)
{
    tool_exit exit;
    size_t words;

    run->args = tool_alloc((size_t)(argc + 1) * sizeof *run->args);
    run->given = tool_alloc((size_t)(argc + 1) * sizeof *run->given);
    run->where = tool_alloc((size_t)(argc + 1) * sizeof *run->where);
    exit = split(run, argc, argv);
    if (exit || run->arg_count == 0)
        return exit;
    words = find_verb(run);
    if (words == 0)
        return tool_has(run, TOOL_FLAG_HELP) ? TOOL_OK
                                             : tool_refuse_verb(run->args, run->arg_count);
    run->arg_count -= words;
    memmove(run->args, run->args + words, (run->arg_count + 1) * sizeof *run->args);
    if (tool_has(run, TOOL_FLAG_HELP))
        return TOOL_OK;
    exit = check_flags(run);
    return exit ? exit : check_arguments(run);
}
