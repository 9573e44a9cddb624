/*
 * Walking over JSON in place.  Strings lose their escapes where they are and get a NUL over their
 * closing quote or before it.  Strict JSON in valid UTF-8; the text has a NUL after it, where every
 * search ends.
 *
 * What takes the time is here to be inlined.
 */
#ifndef TVC_ENTITY_JSON_SCAN_H
#define TVC_ENTITY_JSON_SCAN_H

#include "base/slice.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

typedef struct tvc_scan {
    char *at, *end;
} tvc_scan;

/** How deep values that are skipped may be nested. */
enum { TVC_SCAN_DEPTH_MAX = 32 };

static inline bool tvc_scan_is_special(char c)
{
    return c == '"' || c == '\\' || (signed char)c < 0x20;
}

/**
 * The first byte from `at` on that is not plain inside of a string: the quote, a backslash, a
 * control character (at the latest the NUL at `end`), or beyond ASCII.
 */
static inline char *tvc_scan_plain(char *at, const char *end)
{
#ifdef __SSE2__
    const __m128i blank = _mm_set1_epi8(0x20), quote = _mm_set1_epi8('"'),
                  backslash = _mm_set1_epi8('\\');

    for (; end - at >= 16; at += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        /* As signed numbers, bytes beyond ASCII are less than a blank, too. */
        __m128i special = _mm_or_si128(
            _mm_cmplt_epi8(bytes, blank),
            _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
        unsigned mask = (unsigned)_mm_movemask_epi8(special);

        if (mask)
            return at + __builtin_ctz(mask);
    }
#endif
    (void)end;
    while (!tvc_scan_is_special(*at))
        at++;
    return at;
}

static inline void tvc_scan_blanks(tvc_scan *scan)
{
    while (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\r' || *scan->at == '\t')
        scan->at++;
}

/** Step over `c` and the blanks before it; false when something else is there. */
static inline bool tvc_scan_pass(tvc_scan *scan, char c)
{
    if (*scan->at != c) {
        tvc_scan_blanks(scan);
        if (*scan->at != c)
            return false;
    }
    scan->at++;
    return true;
}

/** The rest of a string that is not plain, from `at` on. */
bool tvc_scan_string_rest(tvc_scan *scan, char *start, char *at, bool may_have_nul,
                          tv_slice *ret_text);

/**
 * A string, from its opening quote to just after its closing one.  When it was escaped, blanks fill
 * the room between its NUL and where its closing quote was.
 */
static inline bool tvc_scan_string(tvc_scan *scan, bool may_have_nul, tv_slice *ret_text)
{
    if (*scan->at != '"')
        return false;

    char *start = scan->at + 1, *at = tvc_scan_plain(start, scan->end);

    if (*at != '"')
        return tvc_scan_string_rest(scan, start, at, may_have_nul, ret_text);

    *at = '\0';
    scan->at = at + 1;
    *ret_text = (tv_slice){start, (size_t)(at - start)};
    return true;
}

/** A number; whether it has neither fraction nor exponent. */
bool tvc_scan_number(tvc_scan *scan, tv_slice *ret_token, bool *ret_is_integer);

/** Step over exactly this word. */
bool tvc_scan_word(tvc_scan *scan, tv_slice word);

/** Step over any value: checked, and then forgotten. */
bool tvc_scan_skip(tvc_scan *scan);

#endif
