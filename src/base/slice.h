/*
 * Bytes travel as slices: a pointer and a length, borrowed, passed by value.
 * The function that hands one out says what keeps it alive.  A slice may hold
 * any byte, NUL included, and is not terminated.
 */
#ifndef TV_BASE_SLICE_H
#define TV_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct tv_slice {
    const char *data;
    size_t len;
} tv_slice;

/** A slice of a string literal. */
#define TV_LIT(text) ((tv_slice){(text), sizeof(text) - 1})
/** No slice at all; tells "absent" from "empty" where a function says so. */
#define TV_NONE ((tv_slice){NULL, 0})
/** For printf: `"%.*s", TV_FMT(slice)`. */
#define TV_FMT(slice) (int)(slice).len, (slice).data

static inline tv_slice tv_slice_of(const char *text)
{
    return (tv_slice){text, strlen(text)};
}

static inline bool tv_slice_eq(tv_slice a, tv_slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/** Order of unsigned bytes, the shorter first: the order of every engine. */
static inline int tv_slice_cmp(tv_slice a, tv_slice b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.data, b.data, common) : 0;

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static inline bool tv_slice_starts_with(tv_slice s, tv_slice prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.data, prefix.data, prefix.len) == 0);
}

/** The rest of `s` after its first `count` bytes; `count` is at most s.len. */
static inline tv_slice tv_slice_skip(tv_slice s, size_t count)
{
    /* C does not allow adding even 0 to NULL. */
    return (tv_slice){count ? s.data + count : s.data, s.len - count};
}

/** The first `count` bytes of `s`; `count` is at most s.len. */
static inline tv_slice tv_slice_take(tv_slice s, size_t count)
{
    return (tv_slice){s.data, count};
}

static inline char tv_ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/** Equal except for the case of ASCII letters. */
static inline bool tv_slice_eq_nocase(tv_slice a, tv_slice b)
{
    if (a.len != b.len)
        return false;

    for (size_t i = 0; i < a.len; i++) {
        if (a.data[i] != b.data[i] && tv_ascii_lower(a.data[i]) != tv_ascii_lower(b.data[i]))
            return false;
    }
    return true;
}

/** Position of the first `c`, or s.len when there is none. */
static inline size_t tv_slice_find(tv_slice s, char c)
{
    const char *at = s.len ? memchr(s.data, c, s.len) : NULL;

    return at ? (size_t)(at - s.data) : s.len;
}

/** Without blanks and tabs at both ends. */
static inline tv_slice tv_slice_trim(tv_slice s)
{
    while (s.len && (s.data[0] == ' ' || s.data[0] == '\t'))
        s = tv_slice_skip(s, 1);
    while (s.len && (s.data[s.len - 1] == ' ' || s.data[s.len - 1] == '\t'))
        s.len--;
    return s;
}

/** Whether every byte is visible ASCII or a blank: safe to send back in a header. */
static inline bool tv_slice_is_printable(tv_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] < 0x20 || s.data[i] > 0x7e)
            return false;
    }
    return true;
}

/**
 * Cut the part before the next `separator` off the front of `rest`.  Without a
 * separator that is all of it, and `rest` becomes empty with data == NULL.
 * False when `rest` has no part left, that is when its data is NULL.
 */
static inline bool tv_slice_next(tv_slice *rest, char separator, tv_slice *ret_part)
{
    if (rest->data == NULL)
        return false;

    size_t at = tv_slice_find(*rest, separator);

    *ret_part = tv_slice_take(*rest, at);
    *rest = at < rest->len ? tv_slice_skip(*rest, at + 1) : TV_NONE;
    return true;
}

/** Copy bytes to where there is room for them; the place after them. */
static inline char *tv_slice_put(char *to, tv_slice s)
{
    if (s.len)
        memcpy(to, s.data, s.len);
    return to + s.len;
}

#endif
