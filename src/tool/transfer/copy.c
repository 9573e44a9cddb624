/*
 * tavola copy: a table into another one, of the same account or of another.
 *
 * The pages are copied in parts.  At the end of a part all its writes are waited for, and then a
 * file in the user's state folder says from where to go on (mark.h), with the checksum of all that
 * was read, for --verify.  --resume repeats one part at most, which is harmless as with an import:
 * where an existing entity is a failure, one that is equal counts as written by the interrupted
 * run, if that may have written behind the place.  How far cannot be said: pages may be of another
 * size this time, and the first table may have changed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../output/output.h"
#include "../text.h"
#include "digest.h"
#include "load.h"
#include "mark.h"
#include "pages.h"
#include "progress.h"
#include "state.h"
#include "transfer.h"

typedef struct copy_run {
    tool_run *run;
    tavola_table *from, *to;
    xfer_load load;
    xfer_progress progress;
    xfer_tally read;            /* from the first table, by an interrupted run as well */
    uint64_t written, existing; /* of the parts of this run */
    bool is_verified;           /* shall be */
    tavola_err refused;         /* the first error of an entity */
    tool_text last;             /* the keys of the last entity that was read */
    tool_text from_url, to_url, where;
    xfer_fact facts[4];
    tool_text mark_path; /* "": there is none */
    xfer_mark mark;      /* all before it is done */
    bool is_resumed;
    bool is_doubtful; /* an interrupted run may have written entities behind the place */
} copy_run;

/* ---- marks ---- */

static void save_mark(copy_run *copy, bool is_doubtful)
{
    copy->mark.is_doubtful = is_doubtful;
    if (copy->mark_path.size == 0 ||
        xfer_mark_write(copy->mark_path.at, "copy", copy->facts, &copy->mark))
        return;

    xfer_progress_clear(&copy->progress);
    tool_note("%s: %s; the copy goes on, but cannot be resumed", copy->mark_path.at,
              strerror(errno));
    xfer_state_remove(copy->mark_path.at);
    tool_text_done(&copy->mark_path);
}

static void drop_mark(const copy_run *copy)
{
    if (copy->mark_path.size)
        xfer_state_remove(copy->mark_path.at);
}

/* All that was read has its outcome. */
static void advance(copy_run *copy, const char *token)
{
    free(copy->mark.token);
    copy->mark.token = token ? tool_copy(token) : NULL;
    copy->mark.is_complete = token == NULL;
    copy->mark.tally = copy->read;
}

static void name_mark(copy_run *copy)
{
    tool_run *run = copy->run;
    tavola_client *to = run->clients[1] ? run->clients[1] : run->clients[0];
    uint64_t hash;

    tool_text_printf(&copy->from_url, "%s/%s",
                     tavola_client_endpoint(run->clients[0], TAVOLA_SERVICE_TABLE), run->args[0]);
    tool_text_printf(&copy->to_url, "%s/%s", tavola_client_endpoint(to, TAVOLA_SERVICE_TABLE),
                     run->args[run->arg_count - 1]);
    copy->facts[0] = (xfer_fact){"first table", copy->from_url.at};
    copy->facts[1] = (xfer_fact){"second table", copy->to_url.at};
    xfer_where_text(run, &copy->where);
    copy->facts[2] = (xfer_fact){"--where", copy->where.at};
    copy->facts[3] = (xfer_fact){0};
    hash = xfer_hash(xfer_hash(0, copy->from_url.at, copy->from_url.size), copy->to_url.at,
                     copy->to_url.size);
    if (tool_state_folder(&copy->mark_path))
        tool_text_printf(&copy->mark_path, "/copy-%016" PRIx64, hash);
}

static tool_exit find_mark(copy_run *copy)
{
    const char *path, *differs = NULL;
    xfer_mark found_mark;
    xfer_mark_found found;

    name_mark(copy);
    path = copy->mark_path.at;
    if (copy->mark_path.size == 0)
        return copy->is_resumed ? tool_refuse("there is no home folder: nothing to resume")
                                : TOOL_OK;
    found = xfer_mark_read(path, "copy", copy->facts, &found_mark, &differs);
    if (copy->is_resumed && found == XFER_MARK_READ) {
        copy->mark = found_mark;
        copy->read = found_mark.tally;
        copy->is_doubtful = found_mark.is_doubtful;
        return TOOL_OK;
    }
    if (found != XFER_MARK_BROKEN)
        xfer_mark_done(&found_mark);
    if (copy->is_resumed && found == XFER_MARK_NONE)
        return tool_refuse("no copy of these tables was interrupted: nothing to resume");
    if (copy->is_resumed && found == XFER_MARK_BROKEN)
        return tool_refuse("%s cannot be read; --on-conflict skip or replace starts over", path);
    if (copy->is_resumed)
        return tool_refuse("the copy that stopped had another %s; with that it goes on, "
                           "--on-conflict skip or replace starts over",
                           differs);
    if (found != XFER_MARK_NONE && copy->load.conflict == XFER_FAIL)
        return tool_refuse("a copy of these tables has stopped; --resume goes on there, "
                           "--on-conflict skip or replace starts over");
    return TOOL_OK;
}

/* ---- entities ---- */

static bool on_refused(void *user, const tavola_entity *entity, tavola_err err, const char *code)
{
    copy_run *copy = user;

    if (err == TAVOLA_ERR_EXISTS && copy->is_doubtful && xfer_load_has(&copy->load, entity))
        return true;
    if (copy->load.trouble)
        return false; /* not the entity's fault */
    xfer_progress_clear(&copy->progress);
    if (copy->refused == TAVOLA_OK)
        tool_note("PartitionKey '%s', RowKey '%s': %s", tavola_entity_partition_key(entity),
                  tavola_entity_row_key(entity), xfer_code_of(err, code));
    if (copy->refused == TAVOLA_OK)
        copy->refused = err;
    return false;
}

static bool must_stop(const copy_run *copy)
{
    return tool_stop_signal() || copy->load.trouble || copy->refused;
}

static void add_entity(copy_run *copy, const tavola_entity *entity)
{
    tavola_err err = xfer_load_add(&copy->load, entity);

    if (err && copy->load.trouble == TAVOLA_OK)
        on_refused(copy, entity, err, NULL);
}

/* A whole page, unless something is wrong: a place to go on is between two pages. */
static void add_page(copy_run *copy, const tavola_page *page)
{
    size_t count = tavola_page_count(page);

    for (size_t i = 0; i < count && !copy->load.trouble && !copy->refused; i++) {
        const tavola_entity *entity = tavola_page_at(page, i);

        xfer_tally_add(&copy->read, entity);
        add_entity(copy, entity);
        if (i + 1 < count)
            continue;
        copy->last.size = 0;
        tool_text_printf(&copy->last, "PartitionKey '%s', RowKey '%s'",
                         tavola_entity_partition_key(entity), tavola_entity_row_key(entity));
    }
}

/* Read and write a part; TAVOLA_END when it was the last one. */
static tavola_err copy_part(copy_run *copy, xfer_pages *pages)
{
    uint64_t begun_with = copy->read.count;
    double began_s = xfer_now_s();
    const tavola_page *page = NULL;
    tavola_err err = TAVOLA_OK;

    copy->load.written = copy->load.existing = 0;
    save_mark(copy, true);
    while (!must_stop(copy) && copy->read.count - begun_with < xfer_part_entities() &&
           xfer_now_s() - began_s <= XFER_PART_SECONDS &&
           (err = xfer_pages_next(pages, &page)) == TAVOLA_OK) {
        add_page(copy, page);
        xfer_progress_show(&copy->progress, copy->read.count, 0, 0);
    }
    xfer_load_drain(&copy->load);
    copy->written += copy->load.written;
    copy->existing += copy->load.existing;
    if (copy->load.trouble || copy->refused)
        return TAVOLA_OK; /* the mark stays at the beginning of the part */
    if (pages->page)
        advance(copy, xfer_pages_token(pages));
    return err;
}

static tavola_err copy_all(copy_run *copy, xfer_pages *pages)
{
    tavola_err err = copy->mark.is_complete ? TAVOLA_END : TAVOLA_OK;

    while (err == TAVOLA_OK && !must_stop(copy))
        err = copy_part(copy, pages);
    return err;
}

/* ---- the end ---- */

/* How to go on, once a copy has stopped. */
static const char *keep_mark(copy_run *copy)
{
    bool is_exact = !copy->load.trouble && !copy->refused;

    if (copy->written + copy->existing == 0 && !copy->is_resumed) {
        drop_mark(copy);
        return "nothing was copied";
    }
    if (is_exact && copy->mark_path.size)
        save_mark(copy, copy->is_doubtful);
    if (copy->mark_path.size == 0)
        return "--on-conflict skip or replace lets a copy go on";
    return copy->refused == TAVOLA_ERR_EXISTS
               ? "--resume --on-conflict skip, merge or replace goes on"
               : "--resume goes on there";
}

/* With -o, for programs: what the notes say. */
static tool_exit print_sum(const copy_run *copy, tool_exit exit)
{
    tool_field fields[] = {
        {"Copied", tavola_int64((int64_t)(copy->written + copy->existing))},
        {"Existing", tavola_int64((int64_t)copy->existing)},
    };
    tool_exit printed = TOOL_OK;

    if (tool_has(copy->run, TOOL_FLAG_OUTPUT))
        printed = tool_output_one(copy->run, fields, sizeof fields / sizeof fields[0]);
    return exit ? exit : printed;
}

/* `err`: why reading has ended; TAVOLA_OK: because it was stopped. */
static tool_exit say_end(copy_run *copy, const xfer_pages *pages, tavola_err err)
{
    char sum[100];
    tool_exit exit = TOOL_OK;

    xfer_progress_clear(&copy->progress);
    xfer_progress_sum(&copy->progress, copy->written + copy->existing, sum);
    if (copy->load.trouble) {
        exit = xfer_load_tell(&copy->load, copy->to_url.at);
    } else if (copy->refused) {
        tool_trouble("an entity was refused: the rest was not copied");
        exit = tool_exit_of(copy->refused);
    } else if (err != TAVOLA_END && tool_stop_signal()) {
        exit = tool_stopped();
    } else if (err != TAVOLA_END) {
        exit = xfer_pages_fail(pages, err);
    }
    if (exit)
        tool_note("stopped after %s%s%s; %s", sum, copy->last.size ? ", the last read was " : "",
                  copy->last.size ? copy->last.at : "", keep_mark(copy));
    else if (copy->is_resumed)
        tool_note("copied %s, %" PRIu64 " with those before", sum, copy->read.count);
    else
        tool_note("copied %s", sum);
    if (copy->existing)
        tool_note("%" PRIu64 " of them existed and were %s", copy->existing,
                  copy->load.conflict == XFER_SKIP ? "skipped" : "equal");
    return print_sum(copy, exit);
}

/* Read the copy and compare count and checksum. */
static tool_exit verify(copy_run *copy, const tavola_query *query)
{
    enum { LOOK_UP_EACH = 256 };
    tavola_scan *scan = NULL;
    const tavola_entity *entity;
    xfer_tally found = {0};
    tavola_err err = tavola_scan_open(copy->to, query, copy->run->call, &scan);

    xfer_progress_begin(&copy->progress, 0);
    while (err == TAVOLA_OK && !tool_stop_signal() &&
           (err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        xfer_tally_add(&found, entity);
        if (found.count % LOOK_UP_EACH == 0)
            xfer_progress_show(&copy->progress, found.count, 0, 0);
    }
    xfer_progress_clear(&copy->progress);
    tavola_scan_close(scan);
    if (err && err != TAVOLA_END)
        return tool_fail(copy->run, err, NULL);
    if (tool_stop_signal()) {
        tool_note("stopped while the copy was verified");
        return tool_stopped();
    }
    if (memcmp(&found, &copy->read, sizeof found) == 0) {
        tool_note("verified %" PRIu64 " entities, checksum %016" PRIx64 "%016" PRIx64, found.count,
                  found.sum[0], found.sum[1]);
        return TOOL_OK;
    }
    if (found.count != copy->read.count)
        return tool_trouble("not the same: %" PRIu64 " entities were read, the copy has %" PRIu64,
                            copy->read.count, found.count);
    return tool_trouble("not the same: the copy has as many entities, %" PRIu64
                        ", but not of the same content",
                        found.count);
}

static tool_exit open_tables(copy_run *copy)
{
    tool_run *run = copy->run;
    const char *name = run->args[run->arg_count - 1];
    tavola_client *client = NULL;
    tool_exit exit = tool_table(run, run->args[0], &copy->from);
    tavola_err err;

    /* One -c, or none, is for both. */
    if (!exit)
        exit = tool_client_nth(run, tool_value_nth(run, TOOL_FLAG_CONNECTION, 1) ? 1 : 0, &client);
    if (exit)
        return exit;
    err = tavola_table_open(client, name, &copy->to);
    if (err)
        return tool_fail(run, err, "this is not a name of a table");
    if (strcasecmp(run->args[0], name) == 0 &&
        strcmp(tavola_client_endpoint(run->clients[0], TAVOLA_SERVICE_TABLE),
               tavola_client_endpoint(client, TAVOLA_SERVICE_TABLE)) == 0)
        return tool_refuse("a table cannot be copied to itself");
    copy->load.table = copy->to;
    return TOOL_OK;
}

static tool_exit create_table(copy_run *copy)
{
    tavola_err err;

    if (!tool_has(copy->run, TOOL_FLAG_CREATE))
        return TOOL_OK;
    err = tavola_table_create_if_absent(copy->to, copy->run->call);
    return err ? tool_fail(copy->run, err, NULL) : TOOL_OK;
}

static tool_exit run_copy(copy_run *copy, const tavola_query *query)
{
    xfer_pages pages;
    tool_exit exit = xfer_pages_open(&pages, copy->run, copy->from, query, copy->mark.token);

    if (exit)
        return exit;
    tool_stop_gently(copy->run->call);
    xfer_progress_begin(&copy->progress, 0);
    exit = say_end(copy, &pages, copy_all(copy, &pages));
    xfer_pages_close(&pages);
    if (exit == TOOL_OK && copy->is_verified) {
        save_mark(copy, false); /* a run that ends meanwhile needs not copy anything again */
        exit = verify(copy, query);
    }
    /* A copy that turns out to be different is no more complete when it is verified again. */
    if (exit == TOOL_OK || (copy->mark.is_complete && exit == TOOL_FAILURE))
        drop_mark(copy);
    return exit;
}

tool_exit xfer_copy(tool_run *run)
{
    copy_run copy = {.run = run,
                     .is_verified = tool_has(run, TOOL_FLAG_VERIFY),
                     .is_resumed = tool_has(run, TOOL_FLAG_RESUME)};
    tavola_query *query = NULL;
    char **select = NULL;
    int64_t parallel = 0;
    tool_exit exit = xfer_conflict_of(run, &copy.load.conflict);

    copy.load.refused = on_refused;
    copy.load.user = &copy;
    copy.load.call = run->call;
    if (!exit)
        exit = tool_output_check(run);
    if (!exit)
        exit = tool_number_of(run, TOOL_FLAG_PARALLEL, 1, 256, &parallel);
    copy.load.parallel = (uint32_t)parallel;
    if (!exit)
        exit = xfer_query_flags(run, &query, &select);
    if (!exit)
        exit = open_tables(&copy);
    if (!exit)
        exit = find_mark(&copy);
    if (!exit)
        exit = xfer_warn(run, copy.from, query);
    if (!exit)
        exit = create_table(&copy);
    if (!exit)
        exit = run_copy(&copy, query);
    tool_names_free(select);
    tavola_query_free(query);
    tavola_table_close(copy.from);
    tavola_table_close(copy.to);
    tool_text_done(&copy.last);
    tool_text_done(&copy.from_url);
    tool_text_done(&copy.to_url);
    tool_text_done(&copy.where);
    tool_text_done(&copy.mark_path);
    xfer_mark_done(&copy.mark);
    return exit;
}
