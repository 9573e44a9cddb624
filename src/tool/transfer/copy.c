/* tavola copy: a table into another one, of the same account or of another. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../text.h"
#include "digest.h"
#include "load.h"
#include "progress.h"
#include "transfer.h"

typedef struct copy_run {
    tool_run *run;
    tavola_table *from, *to;
    xfer_load load;
    xfer_progress progress;
    xfer_tally read;    /* from the first table */
    bool is_verified;   /* shall be */
    tavola_err refused; /* the first error of an entity */
    tool_text last;     /* the keys of the last entity that was read */
} copy_run;

static bool on_refused(void *user, const tavola_entity *entity, tavola_err err, const char *code)
{
    copy_run *copy = user;

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
    return xfer_stop_signal() || copy->load.trouble || copy->refused;
}

static void add_entity(copy_run *copy, const tavola_entity *entity)
{
    tavola_err err = xfer_load_add(&copy->load, entity);

    if (err && copy->load.trouble == TAVOLA_OK)
        on_refused(copy, entity, err, NULL);
}

static tavola_err copy_all(copy_run *copy, tavola_scan *scan)
{
    enum { LOOK_UP_EACH = 256 };
    const tavola_entity *entity = NULL;
    tavola_err err = TAVOLA_OK;

    while (!must_stop(copy) && (err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        if (copy->is_verified)
            xfer_tally_add(&copy->read, entity);
        else
            copy->read.count++;
        add_entity(copy, entity);
        if (copy->read.count % LOOK_UP_EACH == 0)
            xfer_progress_show(&copy->progress, copy->read.count, 0, 0);
    }
    if (err == TAVOLA_OK && entity)
        tool_text_printf(&copy->last, "PartitionKey '%s', RowKey '%s'",
                         tavola_entity_partition_key(entity), tavola_entity_row_key(entity));
    xfer_load_drain(&copy->load, copy->run);
    return err == TAVOLA_END ? TAVOLA_OK : err;
}

static tool_exit say_end(copy_run *copy, tavola_err err)
{
    char sum[100];
    tool_exit exit = TOOL_OK;

    xfer_progress_clear(&copy->progress);
    xfer_progress_sum(&copy->progress, copy->load.written + copy->load.existing, sum);
    if (err) {
        exit = tool_fail(copy->run, err, NULL);
    } else if (copy->load.trouble) {
        tool_trouble("%s: the rest was not written", copy->load.trouble_code);
        exit = xfer_load_exit(&copy->load);
    } else if (copy->refused) {
        tool_trouble("an entity was refused: the rest was not copied");
        exit = tool_exit_of(copy->refused);
    } else if (xfer_stop_signal()) {
        exit = (tool_exit)(128 + xfer_stop_signal());
    }
    if (exit)
        tool_note("stopped after %s%s%s; --on-conflict skip or replace lets a copy go on", sum,
                  copy->last.size ? ", the last read was " : "",
                  copy->last.size ? copy->last.at : "");
    else
        tool_note("copied %s", sum);
    if (copy->load.existing)
        tool_note("%" PRIu64 " of them existed and were skipped", copy->load.existing);
    return exit;
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
    while (err == TAVOLA_OK && !xfer_stop_signal() &&
           (err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        xfer_tally_add(&found, entity);
        if (found.count % LOOK_UP_EACH == 0)
            xfer_progress_show(&copy->progress, found.count, 0, 0);
    }
    xfer_progress_clear(&copy->progress);
    tavola_scan_close(scan);
    if (err && err != TAVOLA_END)
        return tool_fail(copy->run, err, NULL);
    if (xfer_stop_signal()) {
        tool_note("stopped while the copy was verified");
        return (tool_exit)(128 + xfer_stop_signal());
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
    if (tool_has(run, TOOL_FLAG_CREATE)) {
        err = tavola_table_create_if_absent(copy->to, run->call);
        if (err)
            return tool_fail(run, err, NULL);
    }
    copy->load.table = copy->to;
    return TOOL_OK;
}

static tool_exit run_copy(copy_run *copy, const tavola_query *query)
{
    tavola_scan *scan = NULL;
    tavola_err err = tavola_scan_open(copy->from, query, copy->run->call, &scan);
    tool_exit exit;

    if (err)
        return tool_fail(copy->run, err, NULL);
    xfer_stop_catch();
    xfer_progress_begin(&copy->progress, 0);
    err = copy_all(copy, scan);
    exit = say_end(copy, err);
    tavola_scan_close(scan);
    if (exit == TOOL_OK && copy->is_verified)
        exit = verify(copy, query);
    xfer_stop_release();
    return exit;
}

tool_exit xfer_copy(tool_run *run)
{
    copy_run copy = {.run = run, .is_verified = tool_has(run, TOOL_FLAG_VERIFY)};
    tavola_query *query = NULL;
    char **select = NULL;
    int64_t parallel = 0;
    tool_exit exit = xfer_conflict_of(run, &copy.load.conflict);

    copy.load.refused = on_refused;
    copy.load.user = &copy;
    if (!exit)
        exit = tool_number_of(run, TOOL_FLAG_PARALLEL, 1, 256, &parallel);
    copy.load.parallel = (uint32_t)parallel;
    if (!exit)
        exit = xfer_query_flags(run, &query, &select);
    if (!exit)
        exit = open_tables(&copy);
    if (!exit)
        exit = run_copy(&copy, query);
    tool_names_free(select);
    tavola_query_free(query);
    tavola_table_close(copy.from);
    tavola_table_close(copy.to);
    tool_text_done(&copy.last);
    return exit;
}
