/* A site, its lines and its counts. */
#include "server/analytics/site.h"

#include "base/datetime.h"
#include "base/log.h"
#include "server/analytics/line.h"
#include "server/analytics/names.h"

static const int64_t spans[] = {
    [TV_ANALYTICS_HOUR] = TV_ANALYTICS_HOUR_TICKS,
    [TV_ANALYTICS_MINUTE] = TV_ANALYTICS_MINUTE_TICKS,
};

tv_analytics_site *tv_analytics_site_new(const tv_service_spec *spec, tv_slice account,
                                         bool is_secondary)
{
    tv_analytics_site *site = tv_calloc(1, sizeof *site + account.len);

    site->spec = spec;
    site->is_secondary = is_secondary;
    tv_arena_init(&site->scratch);
    site->account_len = account.len;
    memcpy(site->account, account.data, account.len);
    for (int i = 0; i < 2; i++)
        site->periods[i].by_op = tv_calloc((size_t)spec->op_count, sizeof *site->periods[i].by_op);
    return site;
}

void tv_analytics_site_free(tv_analytics_site *site)
{
    if (site == NULL)
        return;

    for (int i = 0; i < 2; i++)
        free(site->periods[i].by_op);
    tv_buf_done(&site->lines);
    tv_buf_done(&site->line);
    tv_arena_done(&site->scratch);
    free(site);
}

static void warn(const tv_analytics_site *site, const tv_analytics_site_ctx *ctx, const char *what,
                 tv_err err)
{
    /* What is written every minute would fill the log when it fails. */
    if ((atomic_fetch_add(&ctx->stats->failed_writes, 1) & 63) == 0)
        tv_log(TV_LOG_WARN, "analytics", "account=%.*s service=%.*s what=%s error=%s",
               TV_FMT(tv_analytics_site_account(site)),
               TV_FMT(tv_service_kind_name(site->spec->kind)), what, tv_err_name(err));
}

static void tell_own(const tv_analytics_site *site, const tv_analytics_site_ctx *ctx,
                     tv_service_kind service, int64_t bytes, int64_t begin_ns)
{
    int64_t us = (tv_clock_mono_ns() - begin_ns) / 1000;

    ctx->own(ctx->ctx, tv_analytics_site_account(site), service,
             &(tv_analytics_request){.result = TV_ANALYTICS_SUCCESS,
                                     .auth = TV_ANALYTICS_KEY,
                                     .ingress = bytes,
                                     .total_us = us,
                                     .server_us = us});
}

/* --- the log --- */

/* LogType, StartTime, EndTime, LogVersion. */
static tv_metadata describe(const tv_analytics_site *site, tv_arena *arena)
{
    tv_metadata_pair *pairs = tv_arena_alloc(arena, 4 * sizeof *pairs);
    tv_date first = tv_date_of(site->first), last = tv_date_of(site->last);
    tv_slice kinds =
        tv_arena_printf(arena, "%s%s%s", site->classes & TV_ANALYTICS_READ ? ",read" : "",
                        site->classes & TV_ANALYTICS_WRITE ? ",write" : "",
                        site->classes & TV_ANALYTICS_DELETE ? ",delete" : "");

    pairs[0] = (tv_metadata_pair){TV_LIT("LogType"), tv_slice_skip(kinds, 1)};
    pairs[1] = (tv_metadata_pair){TV_LIT("StartTime"),
                                  tv_arena_printf(arena, "%04d-%02d-%02dT%02d:%02d:%02dZ",
                                                  first.year, first.month, first.day, first.hour,
                                                  first.minute, first.second)};
    pairs[2] = (tv_metadata_pair){TV_LIT("EndTime"),
                                  tv_arena_printf(arena, "%04d-%02d-%02dT%02d:%02d:%02dZ",
                                                  last.year, last.month, last.day, last.hour,
                                                  last.minute, last.second)};
    pairs[3] = (tv_metadata_pair){TV_LIT("LogVersion"),
                                  site->is_version_2 ? TV_LIT("2.0") : TV_LIT("1.0")};
    return (tv_metadata){pairs, 4};
}

/* Another node, or this one before it was restarted, may have numbers of this hour. */
static tv_err find_number(tv_analytics_site *site, tv_analytics_store *store, tv_container *logs)
{
    char folder[TV_ANALYTICS_NAME_SIZE];
    tv_err err;

    if (site->numbered_hour == site->hour)
        return TV_OK;

    err = tv_analytics_store_next_number(
        store, logs, tv_analytics_folder(folder, site->spec->kind, site->hour), &site->number);
    if (err == TV_OK)
        site->numbered_hour = site->hour;
    return err;
}

static tv_err put_lines(tv_analytics_site *site, tv_analytics_store *store, tv_container *logs,
                        const tv_metadata *metadata)
{
    enum { NUMBER_MAX = 999999 };
    char name[TV_ANALYTICS_NAME_SIZE];
    tv_err err = find_number(site, store, logs);

    while (err == TV_OK) {
        if (site->number > NUMBER_MAX)
            return TV_ERR_OUT_OF_RANGE;
        err = tv_analytics_store_put(
            store, logs, tv_analytics_blob_name(name, site->spec->kind, site->hour, site->number),
            tv_buf_slice(&site->lines), metadata);
        if (err == TV_OK || err == TV_ERR_BLOB_EXISTS)
            site->number++;
        if (err != TV_ERR_BLOB_EXISTS)
            break;
        err = TV_OK;
    }
    return err;
}

static tv_err write_lines(tv_analytics_site *site, const tv_analytics_site_ctx *ctx)
{
    int64_t begin_ns = tv_clock_mono_ns();
    tv_container *logs;
    tv_arena arena;
    tv_err err;

    if (site->lines.len == 0)
        return TV_OK;

    err = tv_analytics_store_make(ctx->store, TV_SERVICE_BLOB, tv_analytics_site_account(site),
                                  TV_ANALYTICS_LOGS, &logs);
    if (err == TV_OK) {
        tv_arena_init(&arena);

        tv_metadata metadata = describe(site, &arena);

        err = put_lines(site, ctx->store, logs, &metadata);
        tv_arena_done(&arena);
        tv_container_unref(logs);
    }
    site->has_failed = err != TV_OK;
    if (err) {
        warn(site, ctx, "logs", err);
        return err;
    }
    atomic_fetch_add(&ctx->stats->blobs, 1);
    tell_own(site, ctx, TV_SERVICE_BLOB, (int64_t)site->lines.len, begin_ns);
    site->lines.len = 0;
    site->classes = 0;
    return TV_OK;
}

/* Whether a line can go into the blob that is being filled. */
static bool has_room(const tv_analytics_site *site, const tv_analytics_record *record, int64_t hour,
                     size_t bytes)
{
    return site->lines.len == 0 ||
           (site->hour == hour && site->is_version_2 == record->switches.has_log_2 &&
            site->lines.len + bytes <= TV_ANALYTICS_LOG_BYTES_MAX);
}

static void append_line(tv_analytics_site *site, const tv_analytics_record *record, int64_t hour,
                        tv_slice line)
{
    if (site->lines.len == 0) {
        site->hour = hour;
        site->is_version_2 = record->switches.has_log_2;
        site->first = site->last = record->start_ticks;
    }
    if (record->start_ticks < site->first)
        site->first = record->start_ticks;
    if (record->start_ticks > site->last)
        site->last = record->start_ticks;
    site->classes |= tv_analytics_class_of(record->op_name);
    tv_buf_add(&site->lines, line);
}

static void take_line(tv_analytics_site *site, const tv_analytics_site_ctx *ctx,
                      const tv_analytics_record *record)
{
    int64_t hour = tv_analytics_floor(record->end_ticks, TV_ANALYTICS_HOUR_TICKS);
    tv_buf *line = &site->line;

    tv_arena_reset(&site->scratch);
    line->len = 0;
    tv_analytics_add_line(line, &site->scratch, record);
    if (!has_room(site, record, hour, line->len) && !site->has_failed)
        (void)!write_lines(site, ctx);
    if (line->len <= TV_ANALYTICS_LOG_BYTES_MAX && has_room(site, record, hour, line->len)) {
        append_line(site, record, hour, tv_buf_slice(line));
        atomic_fetch_add(&ctx->stats->lines, 1);
    } else {
        atomic_fetch_add(&ctx->stats->dropped_lines, 1);
    }
}

/* --- counts --- */

static bool is_on(const tv_analytics_site *site, tv_analytics_span span)
{
    return span == TV_ANALYTICS_HOUR ? site->switches.has_hours : site->switches.has_minutes;
}

static bool has_apis(const tv_analytics_site *site, tv_analytics_span span)
{
    return span == TV_ANALYTICS_HOUR ? site->switches.has_hour_apis
                                     : site->switches.has_minute_apis;
}

/* The rows of a period: two that are always there, and those of operations that were used. */
static size_t rows_of(const tv_analytics_site *site, tv_analytics_span span, tv_arena *arena,
                      tv_analytics_row *rows)
{
    const tv_analytics_period *period = &site->periods[span];
    size_t count = 0;

    rows[count++] = (tv_analytics_row){TV_LIT("user;All"), &period->user};
    rows[count++] = (tv_analytics_row){TV_LIT("system;All"), &period->system};
    for (int i = 0; i < site->spec->op_count && period->has_apis; i++) {
        if (i != TV_OP_UNKNOWN && tv_analytics_counts_requests(&period->by_op[i]))
            rows[count++] = (tv_analytics_row){
                tv_arena_printf(arena, "user;%s", site->spec->ops[i].name), &period->by_op[i]};
    }
    return count;
}

static tv_err write_rows(tv_analytics_site *site, const tv_analytics_site_ctx *ctx,
                         tv_analytics_span span, tv_arena *arena, size_t *ret_count)
{
    tv_analytics_row *rows =
        tv_arena_alloc(arena, (size_t)(site->spec->op_count + 2) * sizeof *rows);
    char partition[TV_ANALYTICS_NAME_SIZE];
    tv_container *table;
    tv_err err;

    err = tv_analytics_store_make(
        ctx->store, TV_SERVICE_TABLE, tv_analytics_site_account(site),
        tv_analytics_metrics_name(span, site->is_secondary, site->spec->kind), &table);
    if (err)
        return err;

    *ret_count = rows_of(site, span, arena, rows);
    err = tv_analytics_store_count(ctx->store, table,
                                   tv_analytics_partition(partition, site->periods[span].begin),
                                   rows, *ret_count);
    tv_container_unref(table);
    return err;
}

static void clear(tv_analytics_site *site, tv_analytics_period *period)
{
    period->is_due = false;
    period->user = period->system = (tv_analytics_counts){0};
    memset(period->by_op, 0, (size_t)site->spec->op_count * sizeof *period->by_op);
}

static void write_period(tv_analytics_site *site, const tv_analytics_site_ctx *ctx,
                         tv_analytics_span span)
{
    enum { ROW_BYTES = 1024 }; /* about what a row takes in a request */
    tv_analytics_period *period = &site->periods[span];
    int64_t begin_ns = tv_clock_mono_ns();
    size_t count = 0;
    tv_arena arena;
    tv_err err;

    if (!period->is_due)
        return;

    tv_arena_init(&arena);
    err = write_rows(site, ctx, span, &arena, &count);
    tv_arena_done(&arena);
    if (err) {
        warn(site, ctx, "metrics", err);
        return;
    }
    clear(site, period);
    atomic_fetch_add(&ctx->stats->rows, count);
    tell_own(site, ctx, TV_SERVICE_TABLE, (int64_t)count * ROW_BYTES, begin_ns);
}

/* What could not be written stays, and becomes a part of the period that begins. */
static void enter_period(tv_analytics_site *site, const tv_analytics_site_ctx *ctx,
                         tv_analytics_span span, int64_t ticks)
{
    tv_analytics_period *period = &site->periods[span];
    int64_t begin = tv_analytics_floor(ticks, spans[span]);

    if (begin <= period->begin)
        return;
    if (period->begin && tv_analytics_counts_requests(&period->system))
        period->is_due = true;
    write_period(site, ctx, span);
    period->begin = begin;
}

static void count_record(tv_analytics_site *site, const tv_analytics_site_ctx *ctx,
                         tv_analytics_span span, const tv_analytics_record *record)
{
    tv_analytics_period *period = &site->periods[span];
    tv_analytics_request request = {
        .result = record->result,
        .auth = record->auth,
        .ingress = (int64_t)(record->request_head_bytes + record->request_body_bytes),
        .egress = (int64_t)(record->response_head_bytes + record->response_body_bytes),
        .total_us = record->total_us,
        .server_us = record->server_us,
    };

    enter_period(site, ctx, span, record->end_ticks);
    tv_analytics_count(&period->user, &request);
    tv_analytics_count(&period->by_op[record->op], &request);
    period->has_apis = has_apis(site, span);
    period->is_due = true;
}

void tv_analytics_site_count_own(tv_analytics_site *site, const tv_analytics_request *request)
{
    for (int span = TV_ANALYTICS_HOUR; span <= TV_ANALYTICS_MINUTE; span++) {
        if (is_on(site, (tv_analytics_span)span))
            tv_analytics_count(&site->periods[span].system, request);
    }
}

/* --- all of it --- */

void tv_analytics_site_take(tv_analytics_site *site, const tv_analytics_site_ctx *ctx,
                            const tv_analytics_record *record)
{
    site->switches = record->switches;
    if (record->is_logged)
        take_line(site, ctx, record);
    for (int span = TV_ANALYTICS_HOUR; span <= TV_ANALYTICS_MINUTE; span++) {
        if (is_on(site, (tv_analytics_span)span))
            count_record(site, ctx, (tv_analytics_span)span, record);
    }
}

static void make(const tv_analytics_site *site, const tv_analytics_site_ctx *ctx,
                 tv_service_kind service, tv_slice name)
{
    tv_container *container;
    tv_err err = tv_analytics_store_make(ctx->store, service, tv_analytics_site_account(site), name,
                                         &container);

    if (err == TV_OK)
        tv_container_unref(container);
    else
        warn(site, ctx, "containers", err);
}

static void make_places(const tv_analytics_site *site, const tv_analytics_site_ctx *ctx)
{
    tv_service_kind service = site->spec->kind;

    if (site->is_secondary)
        return;
    if (site->switches.has_log)
        make(site, ctx, TV_SERVICE_BLOB, TV_ANALYTICS_LOGS);
    if (site->switches.has_hours)
        make(site, ctx, TV_SERVICE_TABLE,
             tv_analytics_metrics_name(TV_ANALYTICS_HOUR, false, service));
    if (site->switches.has_minutes)
        make(site, ctx, TV_SERVICE_TABLE,
             tv_analytics_metrics_name(TV_ANALYTICS_MINUTE, false, service));
    if (site->switches.has_hours && service == TV_SERVICE_BLOB)
        make(site, ctx, TV_SERVICE_TABLE, TV_ANALYTICS_CAPACITY);
}

/* Every hour has its rows, even if nothing was asked. */
static void begin_hour(tv_analytics_site *site, const tv_analytics_site_ctx *ctx, int64_t now)
{
    tv_analytics_period *hour = &site->periods[TV_ANALYTICS_HOUR];
    int64_t before = hour->begin;

    if (!site->switches.has_hours)
        return;

    enter_period(site, ctx, TV_ANALYTICS_HOUR, now);
    if (hour->begin != before)
        hour->is_due = true;
}

void tv_analytics_site_tick(tv_analytics_site *site, const tv_analytics_site_ctx *ctx, int64_t now,
                            bool is_time)
{
    int64_t hour = tv_analytics_floor(now, TV_ANALYTICS_HOUR_TICKS);
    int64_t minute = tv_analytics_floor(now, TV_ANALYTICS_MINUTE_TICKS);

    make_places(site, ctx);
    begin_hour(site, ctx, now);
    if (is_time || site->hour < hour)
        (void)!write_lines(site, ctx);
    if (is_time || site->periods[TV_ANALYTICS_HOUR].begin < hour)
        write_period(site, ctx, TV_ANALYTICS_HOUR);
    if (is_time || site->periods[TV_ANALYTICS_MINUTE].begin < minute)
        write_period(site, ctx, TV_ANALYTICS_MINUTE);
}

void tv_analytics_site_flush(tv_analytics_site *site, const tv_analytics_site_ctx *ctx)
{
    (void)!write_lines(site, ctx);
    for (int span = TV_ANALYTICS_HOUR; span <= TV_ANALYTICS_MINUTE; span++)
        write_period(site, ctx, (tv_analytics_span)span);
}
