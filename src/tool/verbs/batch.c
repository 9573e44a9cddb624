/*
 * tavola batch: an entity group transaction.  A line of the file is what insert, put, merge or
 * delete take on the command line, without the table.
 */
#include "../output/output.h"
#include "../text.h"
#include "../verbs.h"
#include "../words.h"
#include "entity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WRITES_MAX = 100 };

typedef struct batch_file {
    tool_run *run;
    const char *path;
    tavola_batch *batch;
    size_t line;
    size_t lines[WRITES_MAX]; /* of each write, to name it */
    tavola_entity *entities[WRITES_MAX];
    size_t count;
} batch_file;

static bool is_write(const char *verb)
{
    static const char *const names[] = {"insert", "put", "merge", "delete"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(verb, names[i]) == 0)
            return true;
    return false;
}

static tool_exit refuse_line(void)
{
    return tool_refuse("a batch has lines of insert, put, merge and delete, with both keys");
}

static tool_exit add_write(batch_file *file, tool_run *line)
{
    const char *if_match = NULL;
    tavola_write how;
    tool_exit exit;

    if (line->where_count || line->arg_count < 3)
        return refuse_line();
    if (file->count == WRITES_MAX)
        return tool_refuse("a batch has 100 writes at most");
    exit = tool_write_of(line, &how, &if_match);
    if (!exit)
        exit = tool_entity_of(line, &file->entities[file->count]);
    if (exit)
        return exit;
    tavola_batch_add(file->batch, how, file->entities[file->count], if_match);
    file->lines[file->count++] = file->line;
    return TOOL_OK;
}

/* The words are those of a command line whose first argument is the table. */
static tool_exit take_words(batch_file *file, char **words, size_t count)
{
    char **argv, *table, name[] = "tavola";
    tool_run line = {0};
    tool_exit exit;

    if (!is_write(words[0]))
        return refuse_line();
    argv = tool_alloc((count + 3) * sizeof *argv);
    table = tool_copy(file->run->args[0]);
    argv[0] = name;
    argv[1] = words[0];
    argv[2] = table;
    memcpy(argv + 3, words + 1, (count - 1) * sizeof *argv);
    exit = tool_parse(&line, (int)count + 2, argv);
    if (!exit)
        exit = add_write(file, &line);
    tool_run_done(&line);
    free(table);
    free(argv);
    return exit;
}

static tool_exit take_line(batch_file *file, const char *text)
{
    size_t count = 0;
    char **words = tool_words_split(text, false, &count);
    tool_exit exit = TOOL_OK;

    file->line++;
    if (!words)
        exit = tool_refuse("a quote is not closed");
    else if (count && words[0][0] != '#')
        exit = take_words(file, words, count);
    tool_words_free(words, count);
    if (exit)
        tool_note("%s:%zu: nothing was sent", file->path, file->line);
    return exit;
}

static tool_exit read_file(batch_file *file)
{
    tool_text text = {0};
    tool_exit exit = TOOL_OK;

    if (!tool_text_read_file(&text, file->path))
        exit = tool_refuse("cannot read %s: %s", file->path, strerror(errno));
    for (char *line = text.at, *end; !exit && line && *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end)
            *end++ = '\0';
        exit = take_line(file, line);
    }
    tool_text_done(&text);
    if (!exit && file->count == 0)
        exit = tool_refuse("%s has no line with a write", file->path);
    return exit;
}

static tool_exit send(batch_file *file, tool_output *output)
{
    tavola_call *call = file->run->call;
    tavola_err err = tavola_batch_run(file->batch, call);
    int failed = tavola_call_failed_index(call);
    tool_exit exit = TOOL_OK;

    if (err && failed >= 0 && (size_t)failed < file->count)
        tool_note("%s:%zu: because of this line nothing was written", file->path,
                  file->lines[failed]);
    if (err)
        exit = tool_fail(file->run, err, NULL);
    for (size_t i = 0; !err && i < file->count; i++)
        tool_print_written(output, file->entities[i], tavola_batch_etag(file->batch, i));
    return exit;
}

static tool_exit batch(tool_run *run)
{
    batch_file file = {.run = run, .path = run->arg_count > 1 ? run->args[1] : "-"};
    tavola_table *table = NULL;
    tool_output *output = NULL;
    tool_exit exit = tool_output_check(run);

    if (!exit)
        exit = tool_table(run, run->args[0], &table);
    if (exit)
        return exit;
    file.batch = tavola_batch_new(table);
    exit = read_file(&file);
    if (!exit)
        exit = tool_output_open(run, true, &output);
    if (!exit)
        exit = send(&file, output);
    tool_output_close(output);
    tavola_batch_free(file.batch);
    for (size_t i = 0; i < WRITES_MAX; i++)
        tavola_entity_free(file.entities[i]);
    tavola_table_close(table);
    return exit;
}

const tool_verb tool_batch_verbs[] = {
    {"batch", "TABLE [FILE]",
     "Insert, put, merge and delete up to 100 entities of one partition: all of them or none", 1, 2,
     0, .run = batch,
     .examples = "  tavola batch Employees changes.txt\n"
                 "  printf '%s\\n' 'insert Sales 213 FirstName=Mia' 'delete Sales 212' |\n"
                 "      tavola batch Employees\n"},
    {0},
};
