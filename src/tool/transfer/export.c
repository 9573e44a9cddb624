/*
 * tavola export: a table into a file.
 *
 * The file is FILE.partial until everything is in it and on the disk; whatever ends the tool, FILE
 * is complete or not there.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "progress.h"
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
    uint64_t entities;
    xfer_progress progress;
    tavola_err err;
} export_run;

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
    tool_text_printf(&job->partial, "%s.partial", job->path);
    job->fd = open(job->partial.at, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (job->fd < 0)
        return tool_trouble("%s: %s", job->partial.at, strerror(errno));
    return TOOL_OK;
}

static tool_exit open_output(export_run *job)
{
    tool_exit exit = TOOL_OK;

    job->fd = STDOUT_FILENO;
    if (job->path)
        exit = open_file(job);
    else if (needs_file(job))
        exit = open_temporary(job);
    if (exit)
        return exit;
    if (job->partial.size)
        tool_text_printf(&job->spare, "%s.wide", job->partial.at);
    job->writer = xfer_writer_open(job->format, job->fd, (const char *const *)job->select,
                                   tool_has(job->run, TOOL_FLAG_TIMESTAMPS),
                                   job->partial.size ? job->spare.at : NULL);
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
    return NULL;
}

static void close_output(export_run *job, bool is_complete)
{
    xfer_writer_abandon(job->writer);
    if (job->fd > STDERR_FILENO)
        close(job->fd);
    if (job->spare.size)
        unlink(job->spare.at);
    if (job->partial.size && (is_complete || job->path == NULL))
        unlink(job->partial.at);
    tool_text_done(&job->partial);
    tool_text_done(&job->spare);
}

/* ---- entities ---- */

static tavola_err read_all(export_run *job, tavola_scan *scan)
{
    enum { LOOK_UP_EACH = 256 };
    const tavola_entity *entity;
    tavola_err err;

    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        xfer_writer_add(job->writer, entity);
        if (++job->entities % LOOK_UP_EACH)
            continue;
        if (xfer_stop_signal() || xfer_writer_error(job->writer))
            break;
        xfer_progress_show(&job->progress, job->entities, 0, 0);
    }
    return err == TAVOLA_END ? TAVOLA_OK : err;
}

static tool_exit finish(export_run *job, tavola_err err)
{
    char sum[100];
    int error = xfer_writer_error(job->writer);
    tool_exit exit = TOOL_OK;
    const char *why = NULL;

    xfer_progress_clear(&job->progress);
    if (err)
        exit = tool_fail(job->run, err, NULL);
    else if (error)
        exit = tool_trouble("%s: %s", job->path ? job->path : "standard output", strerror(error));
    else if (xfer_stop_signal())
        exit = (tool_exit)(128 + xfer_stop_signal());
    else if ((why = publish(job)) != NULL)
        exit = tool_trouble("%s: %s", job->path ? job->path : "standard output", why);

    xfer_progress_sum(&job->progress, job->entities, sum);
    if (exit)
        tool_note("stopped after %s; %s is not complete", sum,
                  job->path ? job->partial.at : "the output");
    else if (job->path)
        tool_note("exported %s", sum);
    return exit;
}

static tool_exit run_export(export_run *job, tavola_table *table, const tavola_query *query)
{
    tavola_scan *scan = NULL;
    tavola_err err = tavola_scan_open(table, query, job->run->call, &scan);
    tool_exit exit;

    if (err)
        return tool_fail(job->run, err, NULL);
    exit = open_output(job);
    if (exit == TOOL_OK) {
        xfer_stop_catch();
        xfer_progress_begin(&job->progress, 0);
        err = read_all(job, scan);
        exit = finish(job, err);
        xfer_stop_release();
    }
    tavola_scan_close(scan);
    close_output(job, exit == TOOL_OK);
    return exit;
}

static tool_exit read_flags(export_run *job)
{
    const char *name = tool_value_of(job->run, TOOL_FLAG_OUTPUT);

    if (name)
        job->format = xfer_format_of_name(name);
    else if (job->path)
        job->format = xfer_format_of_path(job->path);
    if (name && job->format == XFER_FORMAT_NONE)
        return tool_refuse("export writes -o ndjson, json, typed-csv or csv");
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
        exit = run_export(&job, table, query);
    tool_names_free(job.select);
    tavola_query_free(query);
    tavola_table_close(table);
    return exit;
}
