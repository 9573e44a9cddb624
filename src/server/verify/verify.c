/* Open a store without changing it, and go through all of it. */
#include "server/verify/verify.h"

#include <limits.h>
#include <string.h>

#include "server/verify/internal.h"
#include "store/engine/instant.h"
#include "store/engine/rocksdb/rocksdb.h"

static void keep_read_text(void *ctx, const char *text)
{
    tv_verify_report *report = ctx;

    snprintf(report->read_text, sizeof report->read_text, "%s", text);
}

/* Bytes with which keys begin; whatever lies between them is nobody's. */
static bool is_space(char c)
{
    return strchr("mtqbrsof", c) != NULL && c != '\0';
}

/* Rows of no service; the few that describe the store itself are read, too. */
static void check_strays(tv_verify_walk *walk)
{
    static const char least[] = "\x01", most[] = "\xff";
    tv_slice at = {least, 1};
    tv_iter *iter;

    if (tv_engine_iter_across(walk->engine, at, (tv_slice){most, 1}, &iter)) {
        tv_verify_problem(walk->report, "rows cannot be read: %s", walk->report->read_text);
        return;
    }
    tv_iter_seek(iter, at);
    while (tv_iter_is_valid(iter)) {
        tv_slice key = tv_iter_key(iter), value = tv_iter_value(iter);
        char behind[] = {(char)(key.data[0] + 1)};
        int64_t ticks = 1;

        if (is_space(key.data[0]) && key.data[0] != 'm') {
            tv_iter_seek(iter, (tv_slice){behind, 1});
            continue;
        }
        walk->report->rows++;
        if (key.data[0] != 'm')
            tv_verify_problem(walk->report, "a row of no service: its key is %.*s", TV_FMT(key));
        else if (tv_slice_eq(key, TV_KEY_TIME) && tv_instant_parse(value, &ticks))
            tv_verify_problem(walk->report, "the time of the store cannot be decoded");
        else if (ticks == 0)
            tv_verify_note(walk->report, "the time of the store is that of a clock that was wrong; "
                                         "the next start goes on from the clock of then");
        tv_iter_next(iter);
    }
    if (tv_iter_status(iter))
        tv_verify_problem(walk->report, "rows cannot be read: %s", walk->report->read_text);
    tv_iter_free(iter);
}

static void check_tables(tv_verify_walk *walk)
{
    tv_verify_read_owners(walk, TV_SERVICE_TABLE, TV_SPACE_TABLES, "table", tv_key_table);
    tv_verify_rows(walk, 'r', &tv_verify_table);
    tv_verify_facts(walk);
}

static void check_queues(tv_verify_walk *walk)
{
    tv_verify_read_owners(walk, TV_SERVICE_QUEUE, TV_SPACE_QUEUES, "queue", tv_key_queue);
    tv_verify_rows(walk, 's', &tv_verify_queue);
}

/* --- blobs: rows, and extents against rows --- */

static tv_err mark_rows(void *ctx, tv_extent_mark_fn *mark, void *marker)
{
    tv_verify_walk *walk = ctx;

    walk->mark = mark;
    walk->marker = marker;
    tv_verify_rows(walk, 'o', &tv_verify_blob);
    return TV_OK;
}

static void check_blobs(tv_verify_walk *walk, const char *data)
{
    tv_extent_gc gc = {.mark_rows = mark_rows, .ctx = walk, .keeps_all = true};
    char dir[PATH_MAX], problem[512];

    tv_verify_read_owners(walk, TV_SERVICE_BLOB, TV_SPACE_CONTAINERS, "container",
                          tv_key_container);
    snprintf(dir, sizeof dir, "%s/blobs", data);
    if (!tv_extents_open(&(tv_extent_options){.dir = dir, .is_read_only = true}, &walk->extents,
                         problem, sizeof problem)) {
        walk->extents = NULL;
        tv_verify_problem(walk->report, "%s", problem);
        tv_verify_rows(walk, 'o', &tv_verify_blob);
        return;
    }
    if (tv_extents_gc(walk->extents, &gc)) {
        tv_verify_problem(walk->report, "the folders of extents in %s cannot be listed", dir);
        tv_extents_close(walk->extents);
        walk->extents = NULL;
        tv_verify_rows(walk, 'o', &tv_verify_blob);
        return;
    }
    if (gc.orphan_count && walk->report->problems)
        tv_verify_note(walk->report,
                       "%zu extents have no row that can be read; keep them until the damage is "
                       "repaired, they may belong to what is lost",
                       gc.orphan_count);
    else if (gc.orphan_count)
        tv_verify_note(walk->report,
                       "%zu extents have no row: what a crash or a backup has left, for the next "
                       "start to remove",
                       gc.orphan_count);
    tv_extents_close(walk->extents);
    walk->extents = NULL;
}

static void check_all(tv_verify_walk *walk, const char *data)
{
    tv_arena_init(&walk->arena);
    check_strays(walk);
    check_tables(walk);
    check_queues(walk);
    check_blobs(walk, data);
    tv_arena_done(&walk->arena);
    free(walk->owners);
}

static void summarize(const tv_verify_report *report)
{
    if (report->untold)
        fprintf(report->out, "and %llu more\n", (unsigned long long)report->untold);
    fprintf(report->out,
            "%s: %llu problems in %llu rows (%llu entities, %llu messages, %llu blobs and "
            "snapshots) and %llu extents of %llu bytes\n",
            report->problems ? "DAMAGED" : "ok", (unsigned long long)report->problems,
            (unsigned long long)report->rows, (unsigned long long)report->entities,
            (unsigned long long)report->messages, (unsigned long long)report->blobs,
            (unsigned long long)report->extents, (unsigned long long)report->extent_bytes);
}

tv_verify_result tv_verify(const char *data, FILE *out, FILE *err_out)
{
    tv_verify_report report = {.out = out};
    tv_verify_walk walk = {.report = &report};
    tv_rocksdb_options options = {.dir = data,
                                  .is_read_only = true,
                                  .read_failed = keep_read_text,
                                  .read_failed_ctx = &report};
    char problem[TV_ROCKSDB_ERROR_TEXT_MAX];
    tv_err err = tv_rocksdb_engine_open(&options, &walk.engine, problem, sizeof problem);

    if (err == TV_ERR_CORRUPT) {
        tv_verify_problem(&report, "%s", problem);
        return TV_VERIFY_DAMAGED;
    }
    if (err) {
        fprintf(err_out, "tavolad: %s\n", problem);
        return TV_VERIFY_NO_STORE;
    }
    check_all(&walk, data);
    tv_engine_close(walk.engine);
    summarize(&report);
    return report.problems ? TV_VERIFY_DAMAGED : TV_VERIFY_WELL;
}
