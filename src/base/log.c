/* The log writer. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log_ring.h"
#include "base/utf8.h"

static tv_log_level threshold = TV_LOG_INFO;

static pthread_mutex_t ring_lock = PTHREAD_MUTEX_INITIALIZER;
static tv_log_ring ring; /* guarded by ring_lock */

static const char *const level_names[] = {"debug", "info", "warn", "error", "off"};

void tv_log_set_level(tv_log_level level)
{
    threshold = level;
}

bool tv_log_is_on(tv_log_level level)
{
    return level >= threshold;
}

const char *tv_log_level_name(tv_log_level level)
{
    return level_names[level];
}

bool tv_log_level_parse(tv_slice name, tv_log_level *ret_level)
{
    for (int i = TV_LOG_DEBUG; i <= TV_LOG_OFF; i++) {
        if (tv_slice_eq(name, tv_slice_of(level_names[i]))) {
            *ret_level = (tv_log_level)i;
            return true;
        }
    }
    return false;
}

void tv_log(tv_log_level level, const char *event, const char *format, ...)
{
    char line[TV_LOG_LINE_BYTES_MAX];
    struct timespec now;
    struct tm utc;

    if (!tv_log_is_on(level) || level == TV_LOG_OFF)
        return;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t len = strftime(line, sizeof line, "time=%Y-%m-%dT%H:%M:%S", &utc);
    len += (size_t)snprintf(line + len, sizeof line - len, ".%03ldZ level=%s event=%s ",
                            now.tv_nsec / 1000000, level_names[level], event);

    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(line + len, sizeof line - len - 1, format, args);
    va_end(args);
    tv_assert(wanted >= 0);

    size_t room = sizeof line - len - 2;
    len += (size_t)wanted < room ? (size_t)wanted : room;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    }
    pthread_mutex_lock(&ring_lock);
    tv_log_ring_add(&ring, (int)level, (tv_slice){line, len});
    pthread_mutex_unlock(&ring_lock);
    line[len++] = '\n';

    /* One write call, so that lines of several threads do not mix. */
    ssize_t written = write(STDERR_FILENO, line, len);
    (void)written;
}

static bool contains_nocase(tv_slice line, tv_slice text)
{
    for (size_t i = 0; i + text.len <= line.len; i++) {
        if (tv_slice_eq_nocase((tv_slice){line.data + i, text.len}, text))
            return true;
    }
    return false;
}

static bool is_wanted(const tv_log_query *query, uint64_t number)
{
    int level;
    tv_slice line = tv_log_ring_at(&ring, number, &level);

    return level >= (int)query->level && contains_nocase(line, query->text);
}

/* The number after which the latest lines_max wanted lines are. */
static uint64_t find_begin(tv_log_query *query)
{
    uint64_t number = ring.count, floor = query->first - 1;
    size_t found = 0;

    if (query->after > floor)
        floor = query->after < ring.count ? query->after : ring.count;
    for (; number > floor; number--) {
        if (!is_wanted(query, number))
            continue;
        if (found == query->lines_max) {
            query->is_cut = true;
            return number;
        }
        found++;
    }
    return floor;
}

/* Paths may have any bytes, and a line that was cut may end within a character. */
static tv_slice make_valid(tv_slice line, char copy[TV_LOG_LINE_BYTES_MAX])
{
    if (tv_utf8_is_valid(line))
        return line;
    for (size_t i = 0; i < line.len; i++)
        copy[i] = (unsigned char)line.data[i] < 0x80 ? line.data[i] : '?';
    return (tv_slice){copy, line.len};
}

void tv_log_read(tv_log_query *query,
                 void (*fn)(void *ctx, uint64_t number, tv_log_level level, tv_slice line),
                 void *ctx)
{
    char copy[TV_LOG_LINE_BYTES_MAX];
    int level;

    pthread_mutex_lock(&ring_lock);
    query->first = tv_log_ring_first(&ring);
    query->last = ring.count;
    query->is_cut = false;
    for (uint64_t number = find_begin(query) + 1; number <= ring.count; number++) {
        if (!is_wanted(query, number))
            continue;
        tv_slice line = tv_log_ring_at(&ring, number, &level);

        fn(ctx, number, (tv_log_level)level, make_valid(line, copy));
    }
    pthread_mutex_unlock(&ring_lock);
}

/* Append a piece of a URL that holds no secret; returns how many bytes that took. */
static size_t put_quotable(char *to, tv_slice text)
{
    size_t len = 0;

    for (size_t i = 0; i < text.len; i++) {
        bool is_quote = text.data[i] == '"';

        memcpy(to + len, is_quote ? "%22" : &text.data[i], is_quote ? 3 : 1);
        len += is_quote ? 3 : 1;
    }
    return len;
}

/* Where a path reveals a signature, because its writer took '&' or '%3F' for '?'. */
static size_t find_signature(tv_slice path)
{
    for (size_t i = 0; i + 4 <= path.len; i++) {
        tv_slice rest = tv_slice_skip(path, i);

        if (tv_slice_eq_nocase(tv_slice_take(rest, 4), TV_LIT("sig=")) ||
            (rest.len >= 6 && tv_slice_eq_nocase(tv_slice_take(rest, 6), TV_LIT("sig%3d"))))
            return i;
    }
    return path.len;
}

tv_slice tv_log_redact(tv_arena *arena, tv_slice url)
{
    static const char hidden[] = "sig=REDACTED";

    /* The worst case turns "&%" into "&sig=REDACTED". */
    char *copy = tv_arena_bytes(arena, url.len * 7 + 32);
    size_t len = 0;
    size_t query = tv_slice_find(url, '?');
    tv_slice rest = query < url.len ? tv_slice_skip(url, query + 1) : TV_NONE;
    tv_slice part;
    char separator = '?';

    tv_slice path = tv_slice_take(url, query);
    size_t signature = find_signature(path);

    len = put_quotable(copy, tv_slice_take(path, signature));
    if (signature < path.len) {
        memcpy(copy + len, hidden, sizeof hidden - 1);
        len += sizeof hidden - 1;
    }
    while (tv_slice_next(&rest, '&', &part)) {
        copy[len++] = separator;
        separator = '&';
        /* A name may be percent-encoded, so anything that could spell "sig" is cut too. */
        size_t equals = tv_slice_find(part, '=');
        tv_slice name = tv_slice_take(part, equals);
        bool secret =
            tv_slice_eq_nocase(name, TV_LIT("sig")) || tv_slice_find(name, '%') < name.len;
        if (secret) {
            memcpy(copy + len, hidden, sizeof hidden - 1);
            len += sizeof hidden - 1;
        } else {
            len += put_quotable(copy + len, part);
        }
    }
    return (tv_slice){copy, len};
}
