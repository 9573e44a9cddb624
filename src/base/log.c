/* The log writer. */
#include "base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log_ring.h"
#include "base/uri.h"
#include "base/utf8.h"

static tv_log_level threshold = TV_LOG_INFO;
static int log_fd = STDERR_FILENO;

static pthread_mutex_t ring_lock = PTHREAD_MUTEX_INITIALIZER;
static tv_log_ring ring; /* guarded by ring_lock */

static const char *const level_names[] = {"debug", "info", "warn", "error", "off"};

void tv_log_set_level(tv_log_level level)
{
    threshold = level;
}

bool tv_log_open(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd < 0)
        return false;
    if (log_fd == STDERR_FILENO) {
        log_fd = fd;
        return true;
    }

    /* Lines that other threads write meanwhile go to the one or the other. */
    bool ok = dup3(fd, log_fd, O_CLOEXEC) >= 0;

    close(fd);
    return ok;
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

/* --- a line --- */

typedef struct log_line {
    char text[TV_LOG_LINE_BYTES_MAX];
    size_t len;
    bool is_quoted; /* the format has opened a quote */
} log_line;

/* What there is no room for is dropped; one byte is kept for the end of the line. */
static void put(log_line *line, tv_slice text)
{
    size_t room = sizeof line->text - 1 - line->len;
    size_t len = text.len < room ? text.len : room;

    memcpy(line->text + line->len, text.data, len);
    line->len += len;
}

/* Between quotes a text cannot end its value. */
static void put_text(log_line *line, tv_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];

        if (line->is_quoted && (c == '"' || c == '\\'))
            put(line, TV_LIT("\\"));
        put(line, (tv_slice){&c, 1});
    }
}

/* A conversion of a format: flags, width and precision, length, letter. */
typedef struct conversion {
    char spec[16]; /* for snprintf */
    size_t len;
    char letter;
    int longs; /* l: 1, ll: 2; z and j are as long as l */
} conversion;

static conversion read_conversion(const char **at)
{
    conversion c = {.spec = "%", .len = 1};

    do {
        c.letter = *++*at;
        tv_assert(c.letter && c.len + 1 < sizeof c.spec);
        c.longs += c.letter == 'l' || c.letter == 'z' || c.letter == 'j';
        c.spec[c.len++] = c.letter;
    } while (!strchr("sdiuoxXcfge%", c.letter));
    ++*at;
    return c;
}

static void put_string(log_line *line, const conversion *c, va_list *args)
{
    const char *dot = strchr(c->spec, '.');
    int bytes_max = dot == NULL     ? INT32_MAX
                    : dot[1] == '*' ? va_arg(*args, int)
                                    : (int)strtol(dot + 1, NULL, 10);
    const char *text = va_arg(*args, const char *);

    if (text)
        put_text(line, (tv_slice){text, strnlen(text, (size_t)bytes_max)});
}

static void put_number(log_line *line, const conversion *c, va_list *args)
{
    char *to = line->text + line->len;
    size_t room = sizeof line->text - line->len; /* the last byte is for the end of the line */
    int len;

    if (strchr("fge", c->letter))
        len = snprintf(to, room, c->spec, va_arg(*args, double));
    else if (c->longs == 2)
        len = snprintf(to, room, c->spec, va_arg(*args, long long));
    else if (c->longs == 1)
        len = snprintf(to, room, c->spec, va_arg(*args, long));
    else
        len = snprintf(to, room, c->spec, va_arg(*args, int));
    tv_assert(len >= 0);
    line->len += (size_t)len < room ? (size_t)len : room - 1;
}

static void put_fields(log_line *line, const char *format, va_list *args)
{
    while (*format) {
        size_t plain = strcspn(format, "%\"");

        put(line, (tv_slice){format, plain});
        format += plain;
        if (*format == '"') {
            line->is_quoted = !line->is_quoted;
            put(line, (tv_slice){format++, 1});
        } else if (*format) {
            conversion c = read_conversion(&format);

            if (c.letter == 's')
                put_string(line, &c, args);
            else if (c.letter == '%')
                put(line, TV_LIT("%"));
            else
                put_number(line, &c, args);
        }
    }
}

void tv_log(tv_log_level level, const char *event, const char *format, ...)
{
    log_line line = {.len = 0};
    char time[40];
    struct timespec now;
    struct tm utc;

    if (!tv_log_is_on(level) || level == TV_LOG_OFF)
        return;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &utc);

    va_list args;
    va_start(args, format);
    line.len = (size_t)snprintf(line.text, sizeof line.text, "time=%s.%03ldZ level=%s event=%s ",
                                time, now.tv_nsec / 1000000, level_names[level], event);
    put_fields(&line, format, &args);
    va_end(args);

    tv_utf8_mask_controls(line.text, line.len);
    pthread_mutex_lock(&ring_lock);
    tv_log_ring_add(&ring, (int)level, (tv_slice){line.text, line.len});
    pthread_mutex_unlock(&ring_lock);
    line.text[line.len++] = '\n';

    /* One write call, so that lines of several threads do not mix. */
    ssize_t written = write(log_fd, line.text, line.len);
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

void tv_log_read(tv_log_query *query,
                 void (*fn)(void *ctx, uint64_t number, tv_log_level level, tv_slice line),
                 void *ctx)
{
    int level;

    pthread_mutex_lock(&ring_lock);
    query->first = tv_log_ring_first(&ring);
    query->last = ring.count;
    query->is_cut = false;
    for (uint64_t number = find_begin(query) + 1; number <= ring.count; number++) {
        if (!is_wanted(query, number))
            continue;
        tv_slice line = tv_log_ring_at(&ring, number, &level);

        fn(ctx, number, (tv_log_level)level, line);
    }
    pthread_mutex_unlock(&ring_lock);
}

/* Append a piece of a URL; returns how many bytes that took. */
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

/* The same without the signature that it may have, and what follows it. */
static size_t put_without_signature(char *to, tv_slice text, tv_slice hidden)
{
    size_t at = tv_uri_find_signature(text);
    size_t len = put_quotable(to, tv_slice_take(text, at));

    if (at < text.len)
        len += put_quotable(to + len, hidden);
    return len;
}

tv_slice tv_log_redact(tv_arena *arena, tv_slice url)
{
    static const tv_slice hidden = {"sig=REDACTED", 12};

    /* The worst case turns "&%" into "&sig=REDACTED". */
    char *copy = tv_arena_bytes(arena, url.len * 7 + 32);
    size_t len = 0;
    tv_slice part;
    char separator = '?';
    size_t query = tv_slice_find(url, '?');
    tv_slice rest = query < url.len ? tv_slice_skip(url, query + 1) : TV_NONE;

    len = put_without_signature(copy, tv_slice_take(url, query), hidden);
    while (tv_slice_next(&rest, '&', &part)) {
        /* A name may be percent-encoded, so anything that could spell "sig" is cut too. */
        tv_slice name = tv_slice_take(part, tv_slice_find(part, '='));
        bool is_secret =
            tv_slice_eq_nocase(name, TV_LIT("sig")) || tv_slice_find(name, '%') < name.len;

        copy[len++] = separator;
        separator = '&';
        len += put_without_signature(copy + len, is_secret ? TV_LIT("sig=") : part, hidden);
    }
    return (tv_slice){copy, len};
}
