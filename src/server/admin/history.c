/* A ring of points under a lock. */
#include "server/admin/history.h"

#include "base/background.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "server/admin/admin.h"

enum { EVERY_MS = 10 * 1000, SERIES_MAX = 128, NAME_SIZE = 80 };

/* What is kept: a name, and the label by whose values it is told apart. */
static const struct {
    const char *name, *label;
} kept[] = {
    {"tavola_requests_total", "service"},    {"tavola_requests_total", "status"},
    {"tavola_request_seconds_bucket", "le"}, {"tavola_body_bytes_total", "direction"},
    {"tavola_queries_total", "plan"},        {"tavola_commit_groups_total", NULL},
    {"tavola_commit_writes_total", NULL},    {"tavola_commit_seconds_bucket", "le"},
    {"tavola_resident_bytes", NULL},         {"tavola_memory_held_bytes", NULL},
    {"tavola_rocksdb_table_bytes", NULL},    {"tavola_rocksdb_write_buffer_bytes", NULL},
    {"tavola_extent_bytes", NULL},           {"tavola_rados_read_ops_total", NULL},
    {"tavola_rados_write_ops_total", NULL},
};

typedef struct history_point {
    int64_t unix_ms;
    int count; /* series that were known then */
    double values[SERIES_MAX];
} history_point;

struct tv_history {
    tv_background thread; /* unless it is idle */
    tv_admin *admin;      /* NULL: idle */
    pthread_mutex_t lock; /* of what follows */
    int every_ms;
    int series_count;
    char series[SERIES_MAX][NAME_SIZE];
    uint64_t added; /* points, ever */
    history_point points[TV_HISTORY_POINTS];
};

/* A series by its name; one that is new when there is room for it, else -1. */
static int find_series(tv_history *history, const char *name)
{
    int i = 0;

    while (i < history->series_count && strcmp(history->series[i], name) != 0)
        i++;
    if (i == SERIES_MAX)
        return -1;
    if (i == history->series_count)
        snprintf(history->series[history->series_count++], NAME_SIZE, "%s", name);
    return i;
}

/* The value of a label: "table" of {service="table",...}. */
static bool find_label(tv_slice labels, const char *label, tv_slice *ret_value)
{
    tv_slice rest = labels, part;

    while (rest.len && tv_slice_next(&rest, ',', &part)) {
        size_t equals = tv_slice_find(part, '=');

        if (!tv_slice_eq(tv_slice_take(part, equals), tv_slice_of(label)) || part.len < equals + 3)
            continue;
        *ret_value = (tv_slice){part.data + equals + 2, part.len - equals - 3};
        return true;
    }
    return false;
}

/* A sample of a metric, into every series that it belongs to. */
static void add_sample(tv_history *history, history_point *point, tv_slice name, tv_slice labels,
                       double value)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        char text[NAME_SIZE];
        tv_slice of = TV_NONE;
        int series;

        if (!tv_slice_eq(name, tv_slice_of(kept[i].name)) ||
            (kept[i].label && !find_label(labels, kept[i].label, &of)))
            continue;
        if (kept[i].label)
            snprintf(text, sizeof text, "%s{%s=\"%.*s\"}", kept[i].name, kept[i].label, (int)of.len,
                     of.data);
        else
            snprintf(text, sizeof text, "%s", kept[i].name);
        series = find_series(history, text);
        if (series >= 0)
            point->values[series] += value;
    }
}

/* A line of the text: NAME VALUE or NAME{LABELS} VALUE. */
static void add_line(tv_history *history, history_point *point, tv_slice line)
{
    size_t open = tv_slice_find(line, '{'), close = tv_slice_find(line, '}');
    bool has_labels = close < line.len;
    tv_slice labels = has_labels ? tv_slice_skip(tv_slice_take(line, close), open + 1) : TV_NONE;
    size_t space = has_labels ? close + 1 : tv_slice_find(line, ' ');
    double value;

    if (line.len && line.data[0] != '#' && space < line.len &&
        tv_parse_double(tv_slice_skip(line, space + 1), &value))
        add_sample(history, point, tv_slice_take(line, has_labels ? open : space), labels, value);
}

static const history_point *last_point(const tv_history *history)
{
    return &history->points[(history->added - 1) % TV_HISTORY_POINTS];
}

void tv_history_add(tv_history *history, int64_t unix_ms, tv_slice metrics)
{
    tv_slice rest = metrics, line;
    history_point *point;

    pthread_mutex_lock(&history->lock);
    if (history->added && unix_ms <= last_point(history)->unix_ms)
        history->added--; /* replaced */
    point = &history->points[history->added++ % TV_HISTORY_POINTS];
    *point = (history_point){.unix_ms = unix_ms};
    while (rest.len && tv_slice_next(&rest, '\n', &line))
        add_line(history, point, line);
    point->count = history->series_count;
    pthread_mutex_unlock(&history->lock);
}

static void write_point(const history_point *point, tv_buf *out)
{
    tv_buf_printf(out, "[%lld", (long long)point->unix_ms);
    for (int i = 0; i < point->count; i++)
        tv_buf_printf(out, ",%.15g", point->values[i]);
    tv_buf_add_char(out, ']');
}

void tv_history_write(tv_history *history, int64_t after_ms, int64_t now_ms, tv_buf *out)
{
    const char *comma = "";
    uint64_t first;

    pthread_mutex_lock(&history->lock);
    first = history->added > TV_HISTORY_POINTS ? history->added - TV_HISTORY_POINTS : 0;
    tv_buf_printf(out, "{\"nowMs\":%lld,\"everyMs\":%d,\"series\":[", (long long)now_ms,
                  history->every_ms);
    for (int i = 0; i < history->series_count; i++) {
        tv_buf_add(out, tv_slice_of(i ? "," : ""));
        tv_json_add_string(out, tv_slice_of(history->series[i]));
    }
    tv_buf_add_lit(out, "],\"points\":[");
    for (uint64_t i = first; i < history->added; i++) {
        const history_point *point = &history->points[i % TV_HISTORY_POINTS];

        if (point->unix_ms <= after_ms)
            continue;
        tv_buf_add(out, tv_slice_of(comma));
        write_point(point, out);
        comma = ",";
    }
    tv_buf_add_lit(out, "]}\n");
    pthread_mutex_unlock(&history->lock);
}

static int64_t now_ms(void)
{
    return tv_ticks_unix_ms(tv_clock_ticks());
}

static void run(tv_background *thread, void *ctx)
{
    tv_history *history = ctx;

    do {
        tv_buf text = {.may_be_lost = true};

        /* Without memory a point is missing. */
        tv_admin_add_metrics(history->admin, &text, false);
        if (!text.is_lost)
            tv_history_add(history, now_ms(), tv_buf_slice(&text));
        tv_buf_done(&text);
    } while (tv_background_sleep(thread, history->every_ms));
}

tv_history *tv_history_new_idle(int every_ms)
{
    tv_history *history = tv_calloc(1, sizeof *history);

    history->every_ms = every_ms ? every_ms : EVERY_MS;
    pthread_mutex_init(&history->lock, NULL);
    return history;
}

tv_history *tv_history_new(tv_admin *admin, int every_ms)
{
    tv_history *history = tv_history_new_idle(every_ms);

    history->admin = admin;
    tv_background_start(&history->thread,
                        &(tv_background_options){.name = "tv-history", .run = run, .ctx = history});
    return history;
}

void tv_history_free(tv_history *history)
{
    if (history == NULL)
        return;
    if (history->admin)
        tv_background_done(&history->thread);
    pthread_mutex_destroy(&history->lock);
    free(history);
}

bool tv_admin_has_history(const tv_admin *admin)
{
    return admin->history != NULL;
}

int tv_admin_get_history(tv_admin *admin, tv_request *req)
{
    tv_slice after = TV_NONE;
    int64_t after_ms = 0;

    if (!tv_parameters_get(&req->query, &req->arena, TV_LIT("after"), &after) ||
        (after.data && !tv_parse_int64(after, &after_ms)))
        return tv_admin_refuse(req, 400, "after is a time in milliseconds since 1970");
    tv_history_write(admin->history, after_ms, now_ms(), &req->out);
    return 200;
}
