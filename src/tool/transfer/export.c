/*
 * tavola export: a table into a file.
 *
 * The file is FILE.partial until everything is in it and on the disk; whatever ends the tool, FILE
 * is complete or not there.
 *
 * Between two pages, from time to time, FILE.export says how many bytes are there and where to go
 * on behind them (mark.h).  --resume cuts off what came later and goes on there, so the file has
 * the bytes of one that was never interrupted.  A checksum tells whether the bytes are still those:
 * nothing is synced before the end, and a loss of power may have taken some.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mark.h"
#include "pages.h"
#include "progress.h"
#include "state.h"
#include "transfer.h"
#include "writer.h"

typedef struct export_run {
    tool_run *run;
    const char *path; /* NULL: standard output */
    xfer_format format;
    char **select;
    tool_text partial, spare; /* names of files; "" when there is none */
    int fd;
    xfer_writer *writer;
    uint64_t entities; /* of this run */
    xfer_progress progress;
    tool_text mark_path; /* "": there is none */
    tool_text from, names, where;
    xfer_fact facts[6];
    xfer_mark mark;  /* where an interrupted run stopped */
    bool is_resumed; /* goes on there */
    bool is_marked;  /* there is a file that tells how to go on */
    bool has_told;   /* that it cannot be written */
} export_run;

/* ---- marks ---- */

static const char *const format_names[] = {[XFER_FORMAT_NONE] = NULL,
                                           [XFER_FORMAT_NDJSON] = "ndjson",
                                           [XFER_FORMAT_JSON] = "json",
                                           [XFER_FORMAT_TYPED_CSV] = "typed-csv",
                                           [XFER_FORMAT_CSV] = "csv"};

/* What must be the same when the export goes on. */
static void gather_facts(export_run *job)
{
    const tool_run *run = job->run;
    size_t count = 0;

    tool_text_printf(&job->from, "%s/%s",
                     tavola_client_endpoint(run->clients[0], TAVOLA_SERVICE_TABLE), run->args[0]);
    for (char **name = job->select; name && *name; name++)
        tool_text_printf(&job->names, "%s%s", name == job->select ? "" : ",", *name);
    job->facts[count++] = (xfer_fact){"table", job->from.at};
    job->facts[count++] = (xfer_fact){"format", format_names[job->format]};
    xfer_where_text(run, &job->where);
    job->facts[count++] = (xfer_fact){"--where", job->where.at};
    job->facts[count++] = (xfer_fact){"--select", job->names.at};
    job->facts[count++] =
        (xfer_fact){"--timestamps", tool_has(run, TOOL_FLAG_TIMESTAMPS) ? "yes" : NULL};
    job->facts[count] = (xfer_fact){0};
}

static tool_exit find_mark(export_run *job)
{
    const char *differs = NULL, *path;
    xfer_mark_found found;

    if (job->path == NULL)
        return job->is_resumed ? tool_refuse("standard output cannot be resumed; name a file")
                               : TOOL_OK;
    tool_text_printf(&job->mark_path, "%s.export", job->path);
    path = job->mark_path.at;
    gather_facts(job);
    found = xfer_mark_read(path, "export", job->facts, &job->mark, &differs);
    if (!job->is_resumed) {
        xfer_mark_done(&job->mark);
        if (found == XFER_MARK_NONE || tool_has(job->run, TOOL_FLAG_OVERWRITE))
            return TOOL_OK;
        return tool_refuse("%s: an export to this file has stopped; --resume goes on there, "
                           "--overwrite starts over",
                           path);
    }
    if (found == XFER_MARK_NONE) { /* it ended before its first part, or was never begun */
        tool_note("nothing was written down to go on from: it starts over");
        job->is_resumed = false;
        return TOOL_OK;
    }
    if (found == XFER_MARK_BROKEN)
        return tool_refuse("%s cannot be read; --overwrite starts over", path);
    if (found == XFER_MARK_OTHER)
        return tool_refuse("%s: the export that stopped had another %s; with that it goes on, "
                           "--overwrite starts over",
                           path, differs);
    return TOOL_OK;
}

/* All pages so far are in the file: say so, for a later run. */
static void save_mark(export_run *job, const xfer_pages *pages)
{
    xfer_mark mark = {.token = pages->token};

    if (job->mark_path.size == 0 || mark.token == NULL || !xfer_writer_mark(job->writer, &mark))
        return;
    if (xfer_mark_write(job->mark_path.at, "export", job->facts, &mark)) {
        job->is_marked = true;
    } else if (!job->has_told) {
        xfer_progress_clear(&job->progress);
        tool_note("%s: %s; the export goes on, but could %s", job->mark_path.at, strerror(errno),
                  job->is_marked ? "be resumed only at an earlier place" : "not be resumed");
        job->has_told = true;
    }
}

/* Read what an interrupted run has written, and cut off what it was not sure of. */
static tool_exit go_to_mark(export_run *job, xfer_digest *ret_digest)
{
    uint64_t left = job->mark.bytes;
    off_t end = (off_t)left;
    char block[1 << 16];
    ssize_t got = 1;

    while (left && got > 0) {
        got = read(job->fd, block, left < sizeof block ? (size_t)left : sizeof block);
        if (got > 0) {
            xfer_digest_add(ret_digest, block, (size_t)got);
            left -= (uint64_t)got;
        }
    }
    if (got < 0)
        return tool_trouble("%s: %s", job->partial.at, strerror(errno));
    if (left || xfer_digest_value(ret_digest) != job->mark.digest)
        return tool_refuse("%s is not what the export had written; --overwrite starts over",
                           job->partial.at);
    if (ftruncate(job->fd, end) != 0 || lseek(job->fd, end, SEEK_SET) != end)
        return tool_trouble("%s: %s", job->partial.at, strerror(errno));
    return TOOL_OK;
}

/* ---- files ---- */

/* CSV must know all columns before its first row, so it cannot go to a pipe at once. */
static bool needs_file(const export_run *job)
{
    bool is_csv = job->format == XFER_FORMAT_CSV || job->format == XFER_FORMAT_TYPED_CSV;

    return is_csv && job->select == NULL;
}

static tool_exit open_temporary(export_run *job)
{
    const char *folder = getenv("TMPDIR");

    tool_text_printf(&job->partial, "%s/tavola-export-XXXXXX", folder && *folder ? folder : "/tmp");
    job->fd = mkostemp(job->partial.at, O_CLOEXEC);
    if (job->fd < 0)
        return tool_trouble("%s: %s", job->partial.at, strerror(errno));
    return TOOL_OK;
}

static tool_exit open_file(export_run *job)
{
    if (!job->is_resumed)
        xfer_state_remove(job->mark_path.at);
    tool_text_printf(&job->partial, "%s.partial", job->path);
    job->fd =
        job->is_resumed ? tool_own_file(job->partial.at, O_RDWR) : tool_new_file(job->partial.at);
    if (job->fd < 0)
        return tool_trouble("%s: %s", job->partial.at, strerror(errno));
    return TOOL_OK;
}

static tool_exit open_output(export_run *job)
{
    xfer_digest digest = {0};
    tool_exit exit = TOOL_OK;

    job->fd = STDOUT_FILENO;
    if (job->path)
        exit = open_file(job);
    else if (needs_file(job))
        exit = open_temporary(job);
    job->is_marked = job->is_resumed;
    if (!exit && job->is_resumed)
        exit = go_to_mark(job, &digest);
    if (exit)
        return exit;
    if (job->partial.size)
        tool_text_printf(&job->spare, "%s.wide", job->partial.at);
    job->writer = xfer_writer_open(job->format, job->fd, (const char *const *)job->select,
                                   tool_has(job->run, TOOL_FLAG_TIMESTAMPS),
                                   job->partial.size ? job->spare.at : NULL);
    if (job->is_resumed)
        xfer_writer_resume(job->writer, &job->mark, &digest);
    return TOOL_OK;
}

static const char *copy_to_stdout(const char *path)
{
    xfer_out out;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = 0;
    char block[1 << 16];

    if (fd < 0)
        return strerror(errno);
    xfer_out_open(&out, STDOUT_FILENO);
    while (out.error == 0 && (size = read(fd, block, sizeof block)) > 0)
        xfer_out_add(&out, block, (size_t)size);
    close(fd);
    if (!xfer_out_done(&out))
        return strerror(out.error);
    return size < 0 ? "the temporary file cannot be read" : NULL;
}

/* Everything is written: give it its name, or send it on its way. */
static const char *publish(export_run *job)
{
    bool is_spare;
    const char *why = xfer_writer_close(job->writer, &is_spare);
    const char *result = is_spare ? job->spare.at : job->partial.at;

    job->writer = NULL;
    if (why || job->partial.size == 0)
        return why;
    if (job->path == NULL)
        return copy_to_stdout(result);
    if ((fsync(job->fd) != 0 && errno != EINVAL) || rename(result, job->path) != 0)
        return strerror(errno);
    if (job->mark_path.size)
        xfer_state_remove(job->mark_path.at);
    return NULL;
}

static void close_output(export_run *job, bool is_complete)
{
    xfer_writer_abandon(job->writer);
    if (job->fd > STDERR_FILENO)
        close(job->fd);
    if (job->spare.size)
        unlink(job->spare.at);
    /* What cannot be resumed is of no use. */
    if (job->partial.size && (is_complete || !job->is_marked))
        unlink(job->partial.at);
}

static void release(export_run *job)
{
    tool_names_free(job->select);
    tool_text_done(&job->partial);
    tool_text_done(&job->spare);
    tool_text_done(&job->mark_path);
    tool_text_done(&job->from);
    tool_text_done(&job->names);
    tool_text_done(&job->where);
    xfer_mark_done(&job->mark);
}

/* ---- entities ---- */

static tavola_err read_all(export_run *job, xfer_pages *pages)
{
    const tavola_page *page = NULL;
    uint64_t unsaved = 0;
    double saved_s = xfer_now_s();
    tavola_err err;

    while ((err = xfer_pages_next(pages, &page)) == TAVOLA_OK) {
        size_t count = tavola_page_count(page);

        for (size_t i = 0; i < count; i++)
            xfer_writer_add(job->writer, tavola_page_at(page, i));
        job->entities += count;
        unsaved += count;
        if (tool_stop_signal() || xfer_writer_trouble(job->writer))
            break;
        xfer_progress_show(&job->progress, job->entities, 0, 0);
        if (unsaved >= xfer_part_entities() || xfer_now_s() - saved_s > XFER_PART_SECONDS) {
            save_mark(job, pages);
            unsaved = 0;
            saved_s = xfer_now_s();
        }
    }
    return err;
}

static void say_end(export_run *job, tool_exit exit)
{
    char sum[100];

    xfer_progress_sum(&job->progress, job->entities, sum);
    if (exit && job->is_marked)
        tool_note("stopped after %s; %s is not complete, --resume goes on there", sum,
                  job->partial.at);
    else if (exit)
        tool_note("stopped after %s; %s", sum,
                  job->path ? "there is nothing to resume" : "the output is not complete");
    else if (job->is_resumed)
        tool_note("exported %s, %" PRIu64 " with those before", sum,
                  job->entities + job->mark.tally.count);
    else if (job->path)
        tool_note("exported %s", sum);
}

/* `err`: why reading has ended; TAVOLA_OK: because it was stopped. */
static tool_exit finish(export_run *job, const xfer_pages *pages, tavola_err err)
{
    const char *path = job->path ? job->path : "standard output";
    const char *why = xfer_writer_trouble(job->writer);
    tool_exit exit = TOOL_OK;

    xfer_progress_clear(&job->progress);
    if (why)
        exit = tool_trouble("%s: %s", path, why);
    else if (err != TAVOLA_END && tool_stop_signal())
        exit = tool_stopped();
    else if (err != TAVOLA_END)
        exit = xfer_pages_fail(pages, err);
    if (exit)
        save_mark(job, pages);
    else if ((why = publish(job)) != NULL)
        exit = tool_trouble("%s: %s", path, why);
    say_end(job, exit);
    return exit;
}

static tool_exit run_export(export_run *job, tavola_table *table, const tavola_query *query)
{
    xfer_pages pages;
    tool_exit exit = xfer_pages_open(&pages, job->run, table, query, job->mark.token);

    if (exit == TOOL_OK)
        exit = open_output(job);
    if (exit == TOOL_OK) {
        xfer_progress_begin(&job->progress, 0);
        exit = finish(job, &pages, read_all(job, &pages));
    }
    xfer_pages_close(&pages);
    close_output(job, exit == TOOL_OK);
    return exit;
}

static bool has_ending(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    return *name && strchr(name + 1, '.');
}

static tool_exit read_flags(export_run *job)
{
    const char *name = tool_value_of(job->run, TOOL_FLAG_OUTPUT);

    job->is_resumed = tool_has(job->run, TOOL_FLAG_RESUME);
    if (name)
        job->format = xfer_format_of_name(name);
    else if (job->path)
        job->format = xfer_format_of_path(job->path);
    if (name && job->format == XFER_FORMAT_NONE)
        return tool_refuse("export writes -o ndjson, json, typed-csv or csv");
    if (job->format == XFER_FORMAT_NONE && job->path && has_ending(job->path))
        return tool_refuse("%s: by their names export writes .ndjson, .jsonl, .json, .typed.csv "
                           "and .csv; -o FORMAT writes one of these under another name",
                           job->path);
    if (job->format == XFER_FORMAT_NONE)
        job->format = XFER_FORMAT_NDJSON;
    if (job->path && access(job->path, F_OK) == 0 && !tool_has(job->run, TOOL_FLAG_OVERWRITE))
        return tool_refuse("%s exists; --overwrite replaces it", job->path);
    return TOOL_OK;
}

tool_exit xfer_export(tool_run *run)
{
    export_run job = {.run = run, .fd = -1};
    tavola_query *query = NULL;
    tavola_table *table = NULL;
    tool_exit exit;

    if (run->arg_count > 1 && strcmp(run->args[1], "-") != 0)
        job.path = run->args[1];
    exit = read_flags(&job);
    if (!exit)
        exit = xfer_query_flags(run, &query, &job.select);
    if (!exit)
        exit = tool_table(run, run->args[0], &table);
    if (!exit)
        exit = find_mark(&job);
    if (!exit)
        exit = xfer_warn(run, table, query);
    if (!exit)
        exit = run_export(&job, table, query);
    release(&job);
    tavola_query_free(query);
    tavola_table_close(table);
    return exit;
}
