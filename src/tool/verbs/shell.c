/*
 * tavola shell: a prompt for commands without "tavola" before them, over one client.  With a line
 * editor it has history and completion; without, or when its input is not a terminal, it reads
 * lines as they come.
 */
#include "shell.h"
#include "../text.h"
#include "../verbs.h"
#include "../words.h"
#include "complete.h"
#include "history.h"

#include <locale.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef TOOL_EDITLINE
#include <editline/readline.h>
#endif

#define PROMPT "tavola> "

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

static bool is_end(char **words, size_t count)
{
    return count == 1 && (strcmp(words[0], "quit") == 0 || strcmp(words[0], "exit") == 0);
}

static tool_exit run_line(const char *line, tavola_client *client, bool *ret_is_over)
{
    size_t count = 0;
    char **words = tool_words_split(line, false, &count);
    tool_exit exit = TOOL_OK;
    bool is_full;

    if (!words)
        return tool_refuse("a quote is not closed");
    *ret_is_over = is_end(words, count);
    is_full = count > 1 && strcmp(words[0], "tavola") == 0; /* as it stands in a document */
    if (count && words[0][0] != '#' && !*ret_is_over)
        exit = run_words(words + is_full, count - is_full, client);
    tool_words_free(words, count);
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
    char **words = tool_words_split(before, true, &count); /* a name in a filter stands in quotes */

    rl_attempted_completion_over = 1;
    tool_words_free(candidates, candidate_count);
    candidates = NULL;
    candidate_count = 0;
    words[count] = tool_copy(text);
    tavola_call_free(completing->call); /* Ctrl-C may have ended it */
    completing->call = tavola_call_new();
    tool_stop_begin(completing->call); /* nobody leaves a request in its middle */
    tool_candidates(completing, (const char *const *)words, count + 1, keep_candidate, NULL);
    tool_stop_end();
    tool_words_free(words, count + 1);
    free(before);
    return candidate_count ? rl_completion_matches(text, next_candidate) : NULL;
}

/*
 * Ctrl-C takes a line back.  The editor does not return from it, so it is left; that is safe while
 * it waits for a key, which is when the signal comes, and it is how psql does it.
 */
static sigjmp_buf at_prompt;

static void leave_line(int signal_number)
{
    siglongjmp(at_prompt, signal_number);
}

/* Between a command and the prompt there is nothing to end. */
static void ignore(int signal_number)
{
}

/* NULL at the end of the input. */
static char *read_edited(void)
{
    struct sigaction action = {.sa_handler = leave_line}, before;
    char *line;

    sigaction(SIGINT, &action, &before);
    if (sigsetjmp(at_prompt, 1))
        fputs("^C\n", stdout);
    line = readline(PROMPT);
    sigaction(SIGINT, &before, NULL);
    return line;
}

static void run_editor(tool_run *run, tavola_client *client)
{
    struct sigaction action = {.sa_handler = ignore}, before;
    tool_text path = {0};
    bool is_over = false;
    char *line;

    /* The editor drops what its locale cannot have; keys and values are UTF-8 whatever that is. */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        setlocale(LC_CTYPE, "");
    completing = run;
    rl_readline_name = "tavola";
    rl_attempted_completion_function = complete;
    using_history();
    stifle_history(TOOL_HISTORY_MAX);
    tool_history_open(&path, read_history);
    sigaction(SIGINT, &action, &before);
    while (!is_over && (line = read_edited())) {
        if (tool_history_keep(path.at, line))
            add_history(line);
        if (run_line(line, client, &is_over) == 128 + SIGTERM)
            is_over = true;
        free(line);
    }
    sigaction(SIGINT, &before, NULL);
    if (!is_over)
        putchar('\n');
    clear_history();
    tool_words_free(candidates, candidate_count);
    tool_text_done(&path);
}
#endif

tool_exit tool_shell(tool_run *run)
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
        is_over |= exit == 128 + SIGTERM || (exit == 128 + SIGINT && !is_terminal);
        if (exit)
            worst = exit;
        free(line);
    }
    return is_terminal ? TOOL_OK : worst;
}

/* Whether a service answers, whatever it says. */
static bool is_answered(tool_run *run, tavola_client *client)
{
    tavola_names *names = NULL;

    if (!tool_has(run, TOOL_FLAG_TIMEOUT))
        tavola_call_set_timeout_ms(run->call, 3000);
    (void)!tavola_table_list(client, "tavola", run->call, &names);
    tavola_names_free(names);
    return tavola_call_status(run->call) != 0;
}

tool_exit tool_shell_bare(tool_run *run)
{
    tavola_client *client;
    tool_exit exit = tool_client(run, &client);

    if (exit)
        return exit;
    if (!is_answered(run, client)) {
        tool_trouble(
            "no service answers at %s%s; 'tavola help' lists the commands",
            tavola_client_endpoint(client, TAVOLA_SERVICE_TABLE),
            tool_remedy(TAVOLA_ERR_NETWORK, tavola_client_endpoint(client, TAVOLA_SERVICE_TABLE)));
        return TOOL_UNAVAILABLE;
    }
    printf("tavola %s at %s: 'help' lists the commands, 'quit' or Ctrl-D ends\n", TV_VERSION,
           tavola_client_endpoint(client, TAVOLA_SERVICE_TABLE));
    return tool_shell(run);
}

const tool_verb tool_shell_verbs[] = {
    {"shell", "", "A prompt with history and completion; reads commands from a pipe, too", 0, 0, 0,
     .run = tool_shell, .is_text = true,
     .examples = "  tavola shell\n"
                 "  tavola shell < commands.txt\n"},
    {0},
};
