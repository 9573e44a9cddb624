/*
 * tavola shell: a prompt for commands without "tavola" before them, over one client.  With a line
 * editor it has history and completion; without, or when its input is not a terminal, it reads
 * lines as they come.
 */
#include "../text.h"
#include "../verbs.h"
#include "complete.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef TOOL_EDITLINE
#include <editline/readline.h>
#endif

#define PROMPT "tavola> "
#define HISTORY_MAX 1000

/*
 * The words of a line, by the rules of a shell: blanks separate, '...' is as it is, "..." and what
 * is outside know the backslash.  NULL when a quote is not closed, unless the line `is_half`: then
 * the word with that quote is left out.  Free with free_words.
 */
static char **split(const char *line, bool is_half, size_t *ret_count)
{
    char **words = tool_alloc((strlen(line) / 2 + 3) * sizeof *words);
    size_t count = 0;
    char quote = 0;

    while (*line) {
        tool_text word = {0};

        line += strspn(line, " \t\r\n");
        if (!*line)
            break;
        tool_text_puts(&word, "");
        for (; *line && (quote || !strchr(" \t\r\n", *line)); line++) {
            if (quote ? *line == quote : *line == '\'' || *line == '"')
                quote = quote ? 0 : *line;
            else if (*line == '\\' && quote != '\'' && line[1])
                tool_text_add(&word, ++line, 1);
            else
                tool_text_add(&word, line, 1);
        }
        words[count++] = word.at;
    }
    if (quote && is_half)
        free(words[--count]);
    *ret_count = count;
    if (!quote || is_half)
        return words;
    while (count)
        free(words[--count]);
    free(words);
    return NULL;
}

static void free_words(char **words, size_t count)
{
    for (size_t i = 0; words && i < count; i++)
        free(words[i]);
    free(words);
}

static const char help_text[] =
    "Commands are those of the tool, without 'tavola' before them:\n"
    "  table list          query People \"PartitionKey eq ?\" Sales          help query\n"
    "  .help   this text          .tables   the tables          .quit   the end, as Ctrl-D\n";

static tool_exit run_words(char **words, size_t count, tavola_client *client)
{
    char **argv = tool_alloc((count + 2) * sizeof *argv);
    char name[] = "tavola";
    tool_exit exit;

    argv[0] = name;
    memcpy(argv + 1, words, count * sizeof *argv);
    exit = count && strcmp(words[0], "shell") == 0 ? tool_refuse("this is the shell")
                                                   : tool_run_command((int)count + 1, argv, client);
    free(argv);
    return exit;
}

/* ".quit" and the like. */
static tool_exit run_dot(const char *word, tavola_client *client, bool *ret_is_over)
{
    char table[] = "table", list[] = "list";

    if (strcmp(word, ".quit") == 0 || strcmp(word, ".exit") == 0)
        *ret_is_over = true;
    else if (strcmp(word, ".tables") == 0)
        return run_words((char *[]){table, list}, 2, client);
    else if (strcmp(word, ".help") == 0)
        fputs(help_text, stdout);
    else
        return tool_refuse("there is no '%s'; .help tells what there is", word);
    return TOOL_OK;
}

static tool_exit run_line(const char *line, tavola_client *client, bool *ret_is_over)
{
    size_t count = 0;
    char **words = split(line, false, &count);
    tool_exit exit = TOOL_OK;

    if (!words)
        return tool_refuse("a quote is not closed");
    if (count && words[0][0] == '.')
        exit = run_dot(words[0], client, ret_is_over);
    else if (count && words[0][0] != '#')
        exit = run_words(words, count, client);
    free_words(words, count);
    return exit;
}

static char *read_plain(bool has_prompt)
{
    char *line = NULL;
    size_t room = 0;

    if (has_prompt) {
        fputs(PROMPT, stdout);
        fflush(stdout);
    }
    if (getline(&line, &room, stdin) >= 0)
        return line;
    free(line);
    return NULL;
}

#ifdef TOOL_EDITLINE
/* The line editor calls back without a user's pointer. */
static tool_run *completing;
static char **candidates;
static size_t candidate_count, candidate_next;

static void keep_candidate(void *user, const char *word)
{
    candidates = tool_resize(candidates, (candidate_count + 1) * sizeof *candidates);
    candidates[candidate_count++] = tool_copy(word);
}

static char *next_candidate(const char *text, int state)
{
    if (!state)
        candidate_next = 0;
    return candidate_next < candidate_count ? strdup(candidates[candidate_next++]) : NULL;
}

static char **complete(const char *text, int start, int end)
{
    char *before = tool_copy_part(rl_line_buffer, (size_t)start);
    size_t count = 0;
    char **words = split(before, true, &count); /* a name in a filter stands in quotes */

    rl_attempted_completion_over = 1;
    free_words(candidates, candidate_count);
    candidates = NULL;
    candidate_count = 0;
    words[count] = tool_copy(text);
    tool_candidates(completing, (const char *const *)words, count + 1, keep_candidate, NULL);
    free_words(words, count + 1);
    free(before);
    return candidate_count ? rl_completion_matches(text, next_candidate) : NULL;
}

/* Where the lines of earlier shells are; readable by its owner alone. */
static bool find_history(tool_text *ret_path)
{
    if (!tool_state_folder(ret_path))
        return false;
    tool_text_puts(ret_path, "/history");
    return true;
}

static bool is_worth_keeping(const char *line)
{
    return line[strspn(line, " \t")] && !strcasestr(line, "AccountKey=") &&
           !tool_has_signature(line);
}

static void run_editor(tool_run *run, tavola_client *client)
{
    tool_text path = {0};
    bool has_file, is_over = false;
    char *line;

    completing = run;
    rl_readline_name = "tavola";
    rl_attempted_completion_function = complete;
    using_history();
    stifle_history(HISTORY_MAX);
    has_file = find_history(&path);
    if (has_file)
        read_history(path.at);
    while (!is_over && (line = readline(PROMPT))) {
        if (is_worth_keeping(line))
            add_history(line);
        run_line(line, client, &is_over);
        free(line);
    }
    if (!is_over)
        putchar('\n');
    if (has_file) {
        mode_t mask = umask(077);
        write_history(path.at);
        umask(mask);
    }
    clear_history();
    free_words(candidates, candidate_count);
    tool_text_done(&path);
}
#endif

static tool_exit shell(tool_run *run)
{
    bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO), is_over = false;
    tool_exit worst = TOOL_OK, exit;
    tavola_client *client;
    char *line;

    exit = tool_client(run, &client);
    if (exit)
        return exit;
#ifdef TOOL_EDITLINE
    if (is_terminal) {
        run_editor(run, client);
        return TOOL_OK;
    }
#endif
    while (!is_over && (line = read_plain(is_terminal))) {
        exit = run_line(line, client, &is_over);
        if (exit)
            worst = exit;
        free(line);
    }
    return is_terminal ? TOOL_OK : worst;
}

const tool_verb tool_shell_verbs[] = {
    {"shell", "", "A prompt with history and completion; reads commands from a pipe, too", 0, 0, 0,
     .run = shell, .is_text = true,
     .examples = "  tavola shell\n"
                 "  tavola shell < commands.txt\n"},
    {0},
};
