/*
 * tavola import: a file into a table, or the data files of a manifest.
 *
 * The file is read in parts.  At the end of a part all its writes are waited for, and then the
 * state file says that everything before is done; so however the tool ends, what the state file
 * names as done is done (state.h), and --resume repeats one part at most.  Repeating is harmless:
 * merging and replacing give the same again, skipping skips, and where an existing entity is a
 * failure, one of that part which is equal to its line counts as written by the interrupted run.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../output/output.h"
#include "bad.h"
#include "lines.h"
#include "load.h"
#include "manifest.h"
#include "progress.h"
#include "state.h"
#include "transfer.h"

enum {
    LOOK_UP_EACH = 256, /* records between two looks at the clock */
};

_Static_assert((int)XFER_PART_ENTITIES <= (int)XFER_LINES_MAX, "the lines of a part are known");

typedef struct import_run {
    tool_run *run;
    const char *path;  /* "-": standard input */
    char **files;      /* that are read one after the other: mostly just the path */
    size_t file_count; /* state.file is the one that is read */
    bool is_manifest;
    bool is_dry, is_skipping, is_resumed;
    uint64_t from_line;
    xfer_reader reader;
    xfer_load load;
    xfer_lines lines;
    xfer_bad bad;
    xfer_progress progress;
    xfer_state state;
    char *state_path; /* NULL: there is none */
    char *target;
    uint64_t file_bytes, bytes_before; /* of all files; of those that were read to their end */
    xfer_reader_options options;
    tool_exit failed;           /* the next file could not be opened */
    uint64_t records, entities; /* read in this run; of them good */
    uint64_t done;              /* written in this run, or there already */
    uint64_t doubtful_until;    /* records that an interrupted run may have written */
    bool is_over, is_at_bad;    /* the file was read to its end; the last record stopped us */
    tavola_err worst;           /* the first error of a line that was not skipped */
} import_run;

/* The file that is read. */
static const char *file_of(const import_run *import)
{
    return import->file_count ? import->files[import->state.file] : import->path;
}

static bool stat_file(const char *path, struct stat *ret_stat)
{
    return (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, ret_stat) : stat(path, ret_stat)) == 0;
}

static uint64_t bytes_read(const import_run *import)
{
    return import->bytes_before + import->reader.input.raw_bytes;
}

/* ---- bad lines ---- */

static void tell_bad(import_run *import, uint64_t line, tavola_err err, const char *why,
                     const char *text, size_t size)
{
    xfer_progress_clear(&import->progress);
    xfer_bad_add(&import->bad, line, why, text, size);
    if (import->worst == TAVOLA_OK)
        import->worst = err;
}

static bool must_stop_for_bad(const import_run *import)
{
    return import->bad.count && !import->is_skipping;
}

static bool on_refused(void *user, const tavola_entity *entity, tavola_err err, const char *code)
{
    import_run *import = user;
    const xfer_origin *origin = xfer_lines_find(&import->lines, entity);
    char *json;

    if (err == TAVOLA_ERR_EXISTS && origin && origin->record <= import->doubtful_until &&
        xfer_load_has(&import->load, entity))
        return true;
    if (import->load.trouble)
        return false; /* not the entity's fault */

    json = tavola_entity_json(entity);
    tell_bad(import, origin ? origin->line : 0, err, xfer_code_of(err, code), json,
             json ? strlen(json) : 0);
    tavola_free(json);
    return false;
}

/* ---- state ---- */

static void save_state(import_run *import, uint64_t doubtful)
{
    import->state.doubtful = doubtful;
    if (import->state_path == NULL || import->is_dry ||
        xfer_state_write(import->state_path, import->target, &import->state))
        return;

    xfer_progress_clear(&import->progress);
    tool_note("%s: %s; the import goes on, but cannot be resumed", import->state_path,
              strerror(errno));
    free(import->state_path);
    import->state_path = NULL;
}

static void take_place(import_run *import)
{
    import->state.place = import->reader.input.place;
    import->state.digest = xfer_digest_value(&import->reader.input.digest);
}

/* All up to the place of the input has its outcome. */
static void advance(import_run *import)
{
    take_place(import);
    import->state.errors_bytes = xfer_bad_sync(&import->bad);
}

/* Names are enough: those of AzCopy have a checksum in them. */
static uint64_t digest_of_files(const import_run *import)
{
    uint64_t digest = 0;

    for (size_t i = 0; import->is_manifest && i < import->file_count; i++)
        digest = xfer_hash(digest, import->files[i], strlen(import->files[i]));
    return digest;
}

static tool_exit find_state(import_run *import)
{
    const char *path = import->state_path;
    uint64_t files_digest = digest_of_files(import);
    xfer_state_found found =
        path ? xfer_state_read(path, import->target, &import->state) : XFER_STATE_NONE;

    if (!import->is_resumed) {
        uint64_t line = import->state.place.line;

        import->state = (xfer_state){.place.line = 1, .files_digest = files_digest};
        if (found == XFER_STATE_READ && import->from_line == 0 && !import->is_dry)
            return tool_refuse("%s: an import of this file has stopped at line %" PRIu64
                               "; --resume goes on there, --from-line 1 starts over",
                               path, line);
        return TOOL_OK;
    }
    if (path == NULL)
        return tool_refuse("standard input cannot be resumed; --from-line N skips what is done");
    if (found == XFER_STATE_NONE)
        return tool_refuse("there is no %s: nothing to resume", path);
    if (found == XFER_STATE_OTHER)
        return tool_refuse("%s is about another account; --from-line 1 starts over", path);
    if (found == XFER_STATE_BROKEN)
        return tool_refuse("%s cannot be read; --from-line N goes on at a line", path);
    if (import->state.files_digest != files_digest || import->state.file >= import->file_count)
        return tool_refuse("%s: other data files than when the import stopped; --from-line 1 "
                           "starts over",
                           import->path);
    import->doubtful_until = import->state.doubtful;
    return TOOL_OK;
}

/* Go to where an interrupted run stopped, if what is before it is as it was. */
static tool_exit go_to_state(import_run *import)
{
    xfer_input *input = &import->reader.input;
    uint64_t offset = import->state.place.offset;

    /* A file that was not begun has nothing before the place, whatever it is now. */
    if (!import->is_resumed || offset == 0) {
        take_place(import);
        return TOOL_OK;
    }
    /* The first row of a CSV file may have types for all others. */
    if (input->place.offset < offset) {
        xfer_reader_next(&import->reader, NULL);
        xfer_reader_end(&import->reader);
    }
    if (input->place.offset <= offset && xfer_input_skip_to(input, offset) &&
        xfer_digest_value(&input->digest) == import->state.digest)
        return TOOL_OK;
    return tool_refuse("%s was changed before line %" PRIu64
                       ", where the import stopped; --from-line %s",
                       file_of(import), import->state.place.line,
                       import->is_manifest ? "1 starts over" : "N goes on at a line");
}

/* ---- parts ---- */

static void add_entity(import_run *import, const tavola_entity *entity)
{
    const xfer_reader *reader = &import->reader;

    if (!import->is_dry) {
        xfer_lines_add(&import->lines, entity, reader->place.line, import->records);

        tavola_err err = xfer_load_add(&import->load, entity);

        if (err && import->load.trouble)
            return;
        if (err) {
            import->is_at_bad = true;
            tell_bad(import, reader->place.line, err,
                     err == TAVOLA_ERR_TOO_LARGE ? "is too large for an entity"
                                                 : "is not an entity that can be written",
                     reader->record, reader->record_size);
            return;
        }
    }
    import->entities++;
}

/* One record; false at the end of the file and when it cannot be read. */
static bool read_record(import_run *import)
{
    xfer_reader *reader = &import->reader;
    tavola_entity *entity = NULL;
    xfer_read read = xfer_reader_next(reader, &entity);

    import->is_at_bad = false;
    if (read == XFER_READ_END)
        import->is_over = true;
    if (read == XFER_READ_END || read == XFER_READ_FAILED)
        return false;
    if (reader->place.line >= import->from_line) {
        import->records++;
        if (read == XFER_READ_BAD) {
            import->is_at_bad = true;
            tell_bad(import, reader->place.line, TAVOLA_ERR_INVALID, reader->why, reader->record,
                     reader->record_size);
        } else {
            add_entity(import, entity);
        }
    }
    tavola_entity_free(entity);
    return true;
}

static bool must_stop(const import_run *import)
{
    return tool_stop_signal() || import->load.trouble || must_stop_for_bad(import) ||
           import->bad.out.error;
}

/* Read and write a part of the file; false when it was the last one. */
static bool run_part(import_run *import)
{
    unsigned records_max = xfer_part_entities();
    double began_s = xfer_now_s();
    bool is_more = true;

    import->load.written = import->load.existing = 0;
    save_state(import, records_max);
    import->load.written = import->load.existing = 0; /* from here on: some are known at once */
    for (unsigned i = 0; i < records_max && is_more && !must_stop(import); i++) {
        is_more = read_record(import);
        if (i % LOOK_UP_EACH)
            continue;
        xfer_progress_show(&import->progress, import->entities, bytes_read(import),
                           import->file_bytes);
        if (xfer_now_s() - began_s > XFER_PART_SECONDS)
            break;
    }
    /* A line that stops the import is the first that is not done. */
    if (!(import->is_at_bad && must_stop_for_bad(import)))
        xfer_reader_end(&import->reader);
    xfer_load_drain(&import->load);
    import->done += import->load.written + import->load.existing;
    xfer_lines_clear(&import->lines);
    if (import->load.trouble || import->bad.out.error ||
        (import->load.failed && !import->is_skipping))
        return false; /* the state stays at the beginning of the part */
    advance(import);
    return is_more && !must_stop(import);
}

/* ---- the end ---- */

static void say_where(import_run *import)
{
    xfer_place place = import->state.place;
    bool is_exact = import->state.doubtful == 0;

    if (import->is_manifest) {
        tool_note("stopped at line %" PRIu64 " of %s: all before it is done%s; --resume goes on "
                  "there",
                  place.line, file_of(import), is_exact ? "" : ", some of what follows, too");
        return;
    }
    tool_note("stopped at line %" PRIu64 ": all before it is done%s; %s%" PRIu64 "%s", place.line,
              is_exact ? "" : ", some of what follows, too",
              import->state_path ? "--resume goes on there, as does --from-line " : "--from-line ",
              place.line, import->state_path ? "" : " goes on there");
}

/* Of the records behind the place, how many an interrupted run may have written; the last one that
 * was read may be behind it, too. */
static uint64_t doubtful_left(const import_run *import)
{
    uint64_t until = import->doubtful_until;

    return until && import->records <= until ? until - import->records + 1 : 0;
}

/* Whether the import is where it was before it began, so that there is nothing to resume. */
static bool is_untouched(const import_run *import)
{
    return import->done == 0 && !import->is_resumed && import->from_line == 0;
}

/* With -o, for programs: what the notes say. */
static tool_exit print_sum(const import_run *import, tool_exit exit)
{
    uint64_t done = import->is_dry ? import->entities : import->done;
    tool_field fields[] = {
        {import->is_dry ? "Read" : "Imported", tavola_int64((int64_t)done)},
        {"Bad", tavola_int64((int64_t)import->bad.count)},
    };
    tool_exit printed = TOOL_OK;

    if (tool_has(import->run, TOOL_FLAG_OUTPUT))
        printed = tool_output_one(import->run, fields, sizeof fields / sizeof fields[0]);
    return exit ? exit : printed;
}

static tool_exit finish(import_run *import)
{
    const xfer_input *input = &import->reader.input;
    char sum[100];
    bool is_complete = import->is_over && !must_stop(import);
    tool_exit exit = TOOL_OK;

    xfer_progress_clear(&import->progress);
    xfer_progress_sum(&import->progress, import->is_dry ? import->entities : import->done, sum);
    if (import->failed)
        exit = import->failed;
    else if (import->bad.out.error)
        exit = tool_trouble("the file of errors cannot be written: %s",
                            strerror(import->bad.out.error));
    else if (import->load.trouble) {
        exit = xfer_load_tell(&import->load, import->target);
    } else if (must_stop_for_bad(import) && import->worst == TAVOLA_ERR_EXISTS) {
        tool_trouble("%s: the table has such an entity already; --on-conflict skip, merge or "
                     "replace says what becomes of it",
                     file_of(import));
        exit = TOOL_CONFLICT;
    } else if (must_stop_for_bad(import)) {
        exit = tool_trouble("%s: a bad line; --skip-bad goes on without it", file_of(import));
    } else if (input->error && input->error != EINTR) {
        exit = tool_trouble("%s: %s", file_of(import), strerror(input->error));
    } else if (tool_stop_signal()) {
        exit = tool_stopped();
    } else if (!is_complete) {
        exit = tool_trouble("%s could not be read to its end", file_of(import));
    }

    if (exit == TOOL_OK || is_untouched(import)) {
        if (import->state_path && !import->is_dry)
            xfer_state_remove(import->state_path);
    } else if (!import->is_dry) {
        if (!import->load.trouble && !import->bad.out.error && import->load.failed == 0)
            save_state(import, doubtful_left(import));
        say_where(import);
    }
    tool_note("%s %s%s", import->is_dry ? "read" : "imported", sum,
              import->is_dry ? ", nothing was written" : "");
    if (import->bad.count && import->is_skipping)
        tool_note("%" PRIu64 " bad lines were skipped", import->bad.count);
    return print_sum(import, exit);
}

/* ---- the beginning ---- */

static tool_exit find_files(import_run *import)
{
    import->is_manifest = xfer_manifest_is(import->path);
    if (import->is_manifest) {
        if (import->options.format == XFER_FORMAT_NONE)
            import->options.format = XFER_FORMAT_JSON;
        if (import->from_line > 1)
            return tool_refuse("--from-line counts the lines of one file; a manifest has several");
        return xfer_manifest_files(import->path, &import->files, &import->file_count);
    }
    import->files = tool_alloc(2 * sizeof *import->files);
    import->files[0] = tool_copy(import->path);
    import->file_count = 1;
    return TOOL_OK;
}

/* For progress: how much there is, and how much of it was done before. */
static void measure_files(import_run *import)
{
    struct stat of_file;

    for (size_t i = 0; i < import->file_count; i++) {
        if (!stat_file(import->files[i], &of_file) || !S_ISREG(of_file.st_mode))
            continue;
        import->file_bytes += (uint64_t)of_file.st_size;
        if (i < import->state.file)
            import->bytes_before += (uint64_t)of_file.st_size;
    }
}

static tool_exit open_input(import_run *import)
{
    const char *path = file_of(import), *why;
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return tool_trouble("%s: %s", path, strerror(errno));
    why = xfer_reader_open(&import->reader, fd, &import->options);
    if (why)
        return tool_trouble("%s: %s", path, why);
    return TOOL_OK;
}

/* Turn to the next file, if this one was read to its end and nothing is wrong. */
static bool open_next(import_run *import)
{
    static const xfer_digest nothing;

    if (!import->is_over || must_stop(import) || import->state.file + 1 >= import->file_count)
        return false;
    import->bytes_before += import->reader.input.raw_bytes;
    xfer_reader_close(&import->reader);
    import->state.file++;
    import->state.place = (xfer_place){.line = 1};
    import->state.digest = xfer_digest_value(&nothing);
    import->bad.input_path = file_of(import);
    import->is_over = false;
    import->failed = open_input(import);
    if (import->failed)
        return false;
    take_place(import);
    return true;
}

static tool_exit open_table(import_run *import, const char *name)
{
    tavola_table *table = NULL;
    tool_exit exit = tool_table(import->run, name, &table);

    import->load.table = table;
    if (exit)
        return exit;

    tool_text target = {0};

    tool_text_printf(&target, "%s/%s",
                     tavola_client_endpoint(import->run->clients[0], TAVOLA_SERVICE_TABLE), name);
    import->target = target.at;
    if (strcmp(import->path, "-") != 0)
        import->state_path = xfer_state_path(import->path, name);
    return TOOL_OK;
}

static tool_exit create_table(import_run *import)
{
    tavola_err err;

    if (import->is_dry || !tool_has(import->run, TOOL_FLAG_CREATE))
        return TOOL_OK;
    err = tavola_table_create_if_absent(import->load.table, import->run->call);
    return err ? tool_fail(import->run, err, NULL) : TOOL_OK;
}

static tool_exit read_flags(import_run *import)
{
    const tool_run *run = import->run;
    int64_t from_line = 0, parallel = 0;
    tool_exit exit = xfer_reader_flags(run, import->path, &import->options);

    if (!exit)
        exit = tool_output_check(run);
    if (!exit)
        exit = xfer_conflict_of(run, &import->load.conflict);
    if (!exit)
        exit = tool_number_of(run, TOOL_FLAG_FROM_LINE, 1, INT64_MAX, &from_line);
    if (!exit)
        exit = tool_number_of(run, TOOL_FLAG_PARALLEL, 1, 256, &parallel);
    import->is_dry = tool_has(run, TOOL_FLAG_DRY_RUN);
    import->is_skipping = tool_has(run, TOOL_FLAG_SKIP_BAD);
    import->is_resumed = tool_has(run, TOOL_FLAG_RESUME);
    import->from_line = (uint64_t)from_line;
    import->load.parallel = (uint32_t)parallel;
    if (!exit && import->is_resumed && from_line)
        exit = tool_refuse("--resume and --from-line exclude each other");
    return exit;
}

static tool_exit open_errors(import_run *import)
{
    const char *path = tool_value_of(import->run, TOOL_FLAG_ERRORS);
    struct stat input, errors;

    for (size_t i = 0; path && stat(path, &errors) == 0 && i < import->file_count; i++)
        if (stat_file(import->files[i], &input) && S_ISREG(errors.st_mode) &&
            errors.st_dev == input.st_dev && errors.st_ino == input.st_ino)
            return tool_refuse("--errors is the file that is imported");

    const char *why =
        xfer_bad_open(&import->bad, file_of(import), path, import->state.errors_bytes);

    import->bad.is_of_many = import->is_manifest;

    return why ? tool_trouble("%s: %s", path, why) : TOOL_OK;
}

tool_exit xfer_import(tool_run *run)
{
    import_run *import = tool_alloc(sizeof *import);
    tool_exit exit;

    import->run = run;
    import->path = run->arg_count > 1 ? run->args[1] : "-";
    import->reader.input.fd = -1;
    import->bad.fd = -1;
    import->load.refused = on_refused;
    import->load.user = import;
    import->load.call = run->call;
    exit = read_flags(import);
    if (!exit)
        exit = find_files(import);
    if (!exit)
        exit = open_table(import, run->args[0]);
    if (!exit)
        exit = find_state(import);
    if (!exit && import->file_count)
        exit = open_input(import);
    if (!exit && import->file_count)
        exit = go_to_state(import);
    if (!exit)
        exit = open_errors(import);
    if (!exit)
        exit = create_table(import);
    if (!exit) {
        tool_stop_gently(run->call);
        measure_files(import);
        xfer_progress_begin(&import->progress, bytes_read(import));
        import->is_over = import->file_count == 0;
        while (!import->is_over && (run_part(import) || open_next(import)))
            ;
        exit = finish(import);
    }
    xfer_bad_close(&import->bad);
    xfer_reader_close(&import->reader);
    tavola_table_close(import->load.table);
    tool_names_free(import->files);
    free(import->state_path);
    free(import->target);
    free(import);
    return exit;
}
