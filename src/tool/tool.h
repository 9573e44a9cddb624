/*
 * tavola, the command line tool: what its parts share.  It is a program over tavola.h and knows
 * nothing else of libtavola or of the server.
 *
 * A verb is a row of a table (verbs.c lists the tables): its name, what it takes, one line of help
 * and a function.  run.c reads the command line, finds the verb, checks flags and the number of
 * arguments and calls the function, whose result is the exit code.  A function that returns
 * something other than TOOL_OK has printed one line on stderr that says why (tool_fail,
 * tool_refuse); no other function prints there.
 */
#ifndef TOOL_H
#define TOOL_H
#include "flags.h"
#include "stop.h"

#include <stdio.h>
#include <tavola.h>

/* The exit codes: part of the interface, see docs/tool.md. */
typedef enum tool_exit {
    TOOL_OK = 0,
    TOOL_FAILURE = 1,
    TOOL_USAGE = 2,
    TOOL_NOT_FOUND = 3,
    TOOL_CONFLICT = 4, /* there is one already, or its ETag is another */
    TOOL_DENIED = 5,
    TOOL_UNAVAILABLE = 6,
    TOOL_NO_EVIDENCE = 7 /* lint: too few requests were recorded */
} tool_exit;

/* What verbs about the entities of a table take. */
#define TOOL_TABLE_WHERE "TABLE [--where FILTER [VALUE]...]"

typedef struct tool_run tool_run;
typedef struct tool_verb {
    const char *name;       /* "table create": one to three words */
    const char *arguments;  /* "TABLE PARTITION ROW [NAME:TYPE=VALUE]..." */
    const char *help;       /* one line, no full stop */
    int args_min, args_max; /* -1: any number */
    tool_flag_set flags;    /* TOOL_BIT(..) of those that it takes beside the common ones */
    tool_exit (*run)(tool_run *run);
    bool is_plain; /* without -o it prints bare values, also when piped: a count, a signature */
    bool is_pair;  /* takes -c twice, from and to */
    bool is_text;  /* prints no data: it takes no -o */
    const char *examples; /* lines that begin with "tavola", or NULL */
} tool_verb;

/* One run of the tool.  `args` are the words after the verb, flags apart. */
struct tool_run {
    const tool_verb *verb;
    const char **args;
    size_t arg_count;
    struct {
        tool_flag_id id;
        const char *value; /* "" for a flag without one */
    } * given;
    size_t given_count;
    const char **where;        /* the filter of --where, and the values for its marks */
    size_t where_count;        /* 0: it was not given */
    tavola_call *call;         /* with the timeout of --timeout; for one operation after another */
    tavola_client *clients[2]; /* of the first and the second -c, once they were needed */
};

/* The tables of verbs, each ending with a row without a name; NULL ends the list. */
extern const tool_verb *const tool_verb_tables[];

/* ---- flags --------------------------------------------------------------------------------- */
bool tool_has(const tool_run *run, tool_flag_id id);
/* The value of a flag, NULL when it was not given. */
const char *tool_value_of(const tool_run *run, tool_flag_id id);
/* The same, else that of a variable of the environment; NULL when that is not set, or empty. */
const char *tool_value_or_environment(const tool_run *run, tool_flag_id id, const char *name);
const char *tool_value_nth(const tool_run *run, tool_flag_id id, size_t nth);
/* A flag that is a whole number; untouched when it was not given.  TOOL_USAGE when it is not one
 * between the two. */
tool_exit tool_number_of(const tool_run *run, tool_flag_id id, int64_t least, int64_t most,
                         int64_t *ret_number);
/* A flag that is a time; the same. */
tool_exit tool_time_of(const tool_run *run, tool_flag_id id, tavola_ticks *ret_time);
/* The names of a list like --select, ending with NULL; NULL when it was not given.  Free it with
 * tool_names_free. */
char **tool_names_of(const tool_run *run, tool_flag_id id);
void tool_names_free(char **names);
/* How many values a filter takes: one for each ? that is not within a text. */
size_t tool_filter_marks(const char *filter);
/* Run a whole command line; argv[0] is not looked at.  `client` is used, and kept, if the line has
 * no -c; NULL: by the environment. */
tool_exit tool_run_command(int argc, char **argv, tavola_client *client);
/* The flags that a verb takes beside its own. */
tool_flag_set tool_common_flags(const tool_verb *verb);
/* That there is no such verb, and which may be meant. */
tool_exit tool_refuse_verb(const char *const *words, size_t count);
/* Split the command line into flags and words and find the verb. */
tool_exit tool_parse(tool_run *run, int argc, char **argv);
void tool_run_done(tool_run *run);

/* ---- connections --------------------------------------------------------------------------- */
/* The client of the run; made when it is first needed, closed at the end.  Sends nothing. */
tool_exit tool_client(tool_run *run, tavola_client **ret_client);
tool_exit tool_client_nth(tool_run *run, size_t nth, tavola_client **ret_client);
/* The names in the file of connections. */
void tool_each_connection(void (*visit)(void *user, const char *name), void *user);
/* A table of it; close it. */
tool_exit tool_table(tool_run *run, const char *name, tavola_table **ret_table);

/* ---- errors and questions ------------------------------------------------------------------ */
tool_exit tool_exit_of(tavola_err err);
/* What an operation with run->call has failed with, as one line: code, message, request id.  `text`
 * is for errors that were found before anything was sent and left no message there; or NULL. */
tool_exit tool_fail(const tool_run *run, tavola_err err, const char *text);
/* What to do where nothing answers, from "; " on; "" for other errors.  `where` begins with a URL.
 */
const char *tool_remedy(tavola_err err, const char *where);
/* A mistake of the caller: one line that says what to do.  Returns TOOL_USAGE. */
tool_exit tool_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Something else that failed: a file, a full disk.  Returns TOOL_FAILURE. */
tool_exit tool_trouble(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A line on stderr that is not an error: the next token, a plan. */
void tool_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What a verb returns that a signal has ended: as a shell names that. */
tool_exit tool_stopped(void);
/* Before something is destroyed: asks on a terminal, wants --yes elsewhere.  TOOL_OK: do it. */
tool_exit tool_confirm(const tool_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

double tool_now_ms(void); /* of a clock that only goes forward */

/* ---- the terminal -------------------------------------------------------------------------- */
bool tool_has_colour(FILE *stream);
unsigned tool_width(void); /* columns of stdout; 0: not a terminal */

#endif
