/* See advice.h. */
#include "insight/advice/advice.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file_copy.h"
#include "base/json.h"
#include "base/log.h"
#include "insight/advice/finding_code.h"
#include "insight/advice/finding_write.h"
#include "insight/advice/redact.h"

enum { PATH_SIZE = 4096, SAVE_SECONDS = 60, FILE_BYTES_MAX = 32 << 20 };

#define FILE_NAME "findings"
#define NEW_FILE_NAME FILE_NAME ".new"

struct tv_advice {
    char folder[PATH_SIZE]; /* "" : nothing is kept */
    bool has_told;          /* that they cannot be kept */
    pthread_mutex_t lock;   /* guards what follows */
    tv_book book;
    bool is_ignore_new; /* to be kept with the next judgement */
    int64_t saved_ticks;
    tv_evidence window; /* of the last judgement, without tables */
};

/* ---- the file -------------------------------------------------------------------------------- */

static void tell(const char *what)
{
    tv_log(TV_LOG_WARN, "advice", "problem=\"%s\"", what);
}

static bool write_all(int fd, tv_slice bytes)
{
    while (bytes.len) {
        ssize_t size = write(fd, bytes.data, bytes.len);

        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return false;
        bytes = tv_slice_skip(bytes, (size_t)size);
    }
    return true;
}

/* Links are not followed: what is there instead of the folder holds no findings. */
static int open_folder(const tv_advice *advice)
{
    return open(advice->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* A new file in the place of the old one: whole, or not at all. */
static bool save_in(int dir_fd, tv_slice bytes)
{
    bool is_ok;
    int fd;

    unlinkat(dir_fd, NEW_FILE_NAME, 0); /* whatever it is */
    fd = openat(dir_fd, NEW_FILE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    is_ok = write_all(fd, bytes) && fsync(fd) == 0;
    is_ok = close(fd) == 0 && is_ok;
    return is_ok && renameat(dir_fd, NEW_FILE_NAME, dir_fd, FILE_NAME) == 0 && fsync(dir_fd) == 0;
}

static bool save(const tv_advice *advice, tv_slice bytes)
{
    bool is_ok;
    int dir_fd;

    mkdir(advice->folder, 0700);
    dir_fd = open_folder(advice);
    if (dir_fd < 0)
        return false;
    is_ok = save_in(dir_fd, bytes);
    close(dir_fd);
    return is_ok;
}

/* The findings' file, or -1 with errno. */
static int open_file(const tv_advice *advice, off_t *ret_size)
{
    int dir_fd = open_folder(advice), fd, error;

    if (dir_fd < 0)
        return -1;
    fd = tv_file_open_regular(dir_fd, FILE_NAME, O_RDONLY, ret_size);
    error = errno;
    close(dir_fd);
    errno = error;
    return fd;
}

static bool read_all(int fd, size_t size, tv_buf *out)
{
    ssize_t got = 1;

    while (size && got > 0) {
        got = read(fd, tv_buf_reserve(out, size), size);
        if (got < 0 && errno == EINTR) {
            got = 1;
            continue;
        }
        if (got < 0)
            return false;
        out->len += (size_t)got;
        size -= (size_t)got;
    }
    return true;
}

static void load(tv_advice *advice)
{
    tv_buf bytes = TV_BUF_EMPTY;
    off_t size;
    int fd = open_file(advice, &size);

    if (fd < 0) {
        if (errno != ENOENT)
            tell("the findings that were kept cannot be read");
        return;
    }
    if (size > FILE_BYTES_MAX || !read_all(fd, (size_t)size, &bytes) ||
        !tv_book_decode(&advice->book, tv_buf_slice(&bytes)))
        tell("the findings that were kept are damaged; the list begins empty");
    close(fd);
    tv_buf_done(&bytes);
}

/* ---- life ------------------------------------------------------------------------------------ */

tv_advice *tv_advice_new(const char *data)
{
    tv_advice *advice = tv_calloc(1, sizeof *advice);

    pthread_mutex_init(&advice->lock, NULL);
    if (data && strlen(data) < PATH_SIZE - 32) {
        snprintf(advice->folder, PATH_SIZE, "%s/watch", data);
        mkdir(advice->folder, 0700);
        if (!tv_redact_open(advice->folder))
            tell("the secret of hashed keys cannot be kept: ids of findings will change");
        load(advice);
    }
    return advice;
}

/* Encode under the lock, write without it. */
static void save_if(tv_advice *advice, bool is_last)
{
    tv_buf bytes = {.may_be_lost = true};
    bool is_due, is_kept;

    pthread_mutex_lock(&advice->lock);
    is_due = advice->folder[0] && advice->book.is_changed &&
             (is_last || advice->is_ignore_new ||
              advice->window.to_ticks - advice->saved_ticks >= SAVE_SECONDS * TV_TICKS_PER_SECOND);
    if (is_due) {
        tv_book_encode(&advice->book, &bytes);
        advice->saved_ticks = advice->window.to_ticks;
        advice->is_ignore_new = false;
    }
    pthread_mutex_unlock(&advice->lock);
    is_kept = !is_due || (!bytes.is_lost && save(advice, tv_buf_slice(&bytes)));
    if (!is_kept) {
        pthread_mutex_lock(&advice->lock);
        advice->book.is_changed = true; /* tried again after a minute */
        pthread_mutex_unlock(&advice->lock);
    }
    if (!is_kept && !advice->has_told)
        tell("the findings cannot be kept");
    if (is_due)
        advice->has_told = !is_kept;
    tv_buf_done(&bytes);
}

void tv_advice_free(tv_advice *advice)
{
    if (advice == NULL)
        return;
    save_if(advice, true);
    tv_book_done(&advice->book);
    pthread_mutex_destroy(&advice->lock);
    free(advice);
}

/* Once, when a finding begins to be active; without keys. */
static void log_open(void *ctx, const tv_finding *finding)
{
    const tv_rule_info *rule = tv_rule_info_of(finding->rule);

    (void)ctx;
    tv_log(TV_LOG_INFO, "advice", "rule=%s code=%s severity=%s account=%.*s table=%.*s id=\"%.*s\"",
           rule->name, rule->code, tv_severity_name(finding->severity), TV_FMT(finding->account),
           TV_FMT(finding->table), TV_FMT(finding->id));
}

void tv_advice_keep(tv_advice *advice, const tv_evidence *evidence, const tv_findings *found)
{
    tv_params params = tv_params_default(TV_EVIDENCE_LIVE);

    pthread_mutex_lock(&advice->lock);
    advice->window = *evidence;
    advice->window.tables = NULL;
    advice->window.table_count = 0;
    tv_book_judge(&advice->book, found, &params, evidence->to_ticks, log_open, NULL);
    pthread_mutex_unlock(&advice->lock);
    save_if(advice, false);
}

bool tv_advice_ignore(tv_advice *advice, tv_slice id, int64_t until)
{
    bool is_there;

    pthread_mutex_lock(&advice->lock);
    is_there = tv_book_ignore(&advice->book, id, until);
    advice->is_ignore_new |= is_there;
    pthread_mutex_unlock(&advice->lock);
    return is_there;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* One line of an answer, before it is written. */
typedef struct shown {
    tv_finding finding; /* refers to the book's bytes, or to the run's arena */
    tv_finding_status status;
    double cost;
} shown;

static bool is_asked(const tv_advice_query *query, const tv_finding *finding, const char *state)
{
    const tv_rule_info *info = tv_rule_info_of(finding->rule);

    if (query->account.len && !tv_slice_eq(query->account, finding->account))
        return false;
    if (query->table.len && !tv_slice_eq_nocase(query->table, finding->table))
        return false;
    if (query->rule.len && !tv_slice_eq(query->rule, tv_slice_of(info->name)) &&
        !tv_slice_eq(query->rule, tv_slice_of(info->code)) &&
        !(query->rule.len == 1 && query->rule.data[0] == info->code[0]))
        return false;
    return query->state.len ? tv_slice_eq(query->state, tv_slice_of(state))
                            : strcmp(state, "resolved") != 0;
}

static int compare_shown(const void *a, const void *b)
{
    const shown *one = *(shown *const *)a, *other = *(shown *const *)b;

    if (one->cost != other->cost)
        return one->cost > other->cost ? -1 : 1;
    if (one->finding.severity != other->finding.severity)
        return (int)other->finding.severity - (int)one->finding.severity;
    return tv_slice_cmp(one->finding.id, other->finding.id);
}

static void add_window(tv_buf *out, const tv_evidence *evidence)
{
    tv_buf_printf(out, "{\"version\":1,\n\"window\":{\"mode\":\"%s\"",
                  evidence->mode == TV_EVIDENCE_RUN ? "run" : "live");
    tv_finding_add_time(out, "from", evidence->from_ticks);
    tv_finding_add_time(out, "to", evidence->to_ticks);
    tv_buf_printf(out,
                  ",\"seconds\":%.1f,\"requests\":%llu,\"samplePeriod\":%u,\"dropped\":%llu,"
                  "\"evictedShapes\":%llu,\"targets\":%s}",
                  evidence->seconds, (unsigned long long)evidence->requests,
                  evidence->sample_period, (unsigned long long)evidence->dropped,
                  (unsigned long long)evidence->evicted_shapes,
                  evidence->has_targets ? "true" : "false");
}

static void add_findings(tv_buf *out, shown **list, size_t count, const tv_advice_query *query)
{
    size_t by_severity[TV_SEVERITIES] = {0};

    if (count)
        qsort(list, count, sizeof *list, compare_shown);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i]->status.state, "ignored") != 0)
            by_severity[list[i]->finding.severity]++;
    }
    tv_buf_printf(out,
                  ",\n\"summary\":{\"error\":%zu,\"warning\":%zu,\"info\":%zu},\n\"findings\":[",
                  by_severity[TV_SEVERITY_ERROR], by_severity[TV_SEVERITY_WARNING],
                  by_severity[TV_SEVERITY_INFO]);
    for (size_t i = 0; i < count && i < query->limit; i++) {
        tv_buf_add(out, i ? TV_LIT(",\n") : TV_LIT("\n"));
        tv_finding_write(out, &list[i]->finding, &list[i]->status, query->is_redacted);
    }
    tv_buf_add_lit(out, "]}\n");
}

/* What the book says of a finding at this time. */
static tv_finding_status status_of(const tv_book_entry *entry, int64_t now)
{
    return (tv_finding_status){
        .state = tv_book_is_ignored(entry, now) ? "ignored" : tv_finding_state_name(entry->state),
        .first_ticks = entry->first_ticks,
        .last_ticks = entry->last_ticks,
        .ignored_until = tv_book_is_ignored(entry, now) ? entry->ignored_until : 0,
    };
}

void tv_advice_write(tv_advice *advice, const tv_advice_query *query, tv_buf *out)
{
    shown *list[TV_BOOK_MAX];
    size_t count = 0;
    tv_arena arena;

    tv_arena_init(&arena);
    pthread_mutex_lock(&advice->lock);
    for (size_t i = 0; i < advice->book.count; i++) {
        const tv_book_entry *entry = advice->book.entries[i];
        shown *line = tv_arena_alloc(&arena, sizeof *line);

        line->status = status_of(entry, advice->window.to_ticks);
        if (entry->state == TV_STATE_SEEN ||
            !tv_finding_decode((tv_slice){entry->data, entry->len}, &line->finding) ||
            !is_asked(query, &line->finding, line->status.state))
            continue;
        line->cost = tv_cost_ms(&line->finding.cost);
        list[count++] = line;
    }
    add_window(out, &advice->window);
    add_findings(out, list, count, query);
    pthread_mutex_unlock(&advice->lock);
    tv_arena_done(&arena);
}

tv_finding **tv_advice_active(tv_advice *advice, tv_slice account, tv_slice table, tv_arena *arena,
                              size_t *ret_count)
{
    tv_advice_query query = {.account = account, .table = table, .state = TV_LIT("active")};
    tv_finding **list;
    size_t count = 0;

    pthread_mutex_lock(&advice->lock);
    list = tv_arena_alloc(arena, (advice->book.count + 1) * sizeof(tv_finding *));
    for (size_t i = 0; i < advice->book.count; i++) {
        const tv_book_entry *entry = advice->book.entries[i];
        tv_finding finding;

        if (!tv_finding_decode((tv_slice){entry->data, entry->len}, &finding) ||
            !is_asked(&query, &finding, status_of(entry, advice->window.to_ticks).state))
            continue;
        list[count] = tv_arena_alloc(arena, sizeof(tv_finding));
        if (tv_finding_decode(tv_arena_dup(arena, (tv_slice){entry->data, entry->len}),
                              list[count]))
            count++;
    }
    pthread_mutex_unlock(&advice->lock);
    *ret_count = count;
    return list;
}

void tv_advice_write_run(tv_advice *advice, const tv_advice_query *query, tv_arena *arena,
                         const tv_evidence *evidence, const tv_findings *found, tv_buf *out)
{
    shown **list = tv_arena_alloc(arena, (found->count + 1) * sizeof *list);
    size_t count = 0;

    pthread_mutex_lock(&advice->lock);
    for (size_t i = 0; i < found->count; i++) {
        const tv_book_entry *entry = tv_book_find(&advice->book, found->items[i]->id);
        shown *line = tv_arena_alloc(arena, sizeof *line);

        line->finding = *found->items[i];
        line->cost = tv_cost_ms(&line->finding.cost);
        line->status = (tv_finding_status){
            .state = "active",
            .first_ticks = evidence->from_ticks,
            .last_ticks = evidence->to_ticks,
        };
        if (entry && tv_book_is_ignored(entry, evidence->to_ticks)) {
            line->status.state = "ignored";
            line->status.ignored_until = entry->ignored_until;
        }
        if (is_asked(query, &line->finding, line->status.state))
            list[count++] = line;
    }
    pthread_mutex_unlock(&advice->lock);
    add_window(out, evidence);
    add_findings(out, list, count, query);
}
