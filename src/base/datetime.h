/*
 * Instants as text.  Ticks are those of clock.h.
 */
#ifndef TV_BASE_DATETIME_H
#define TV_BASE_DATETIME_H

#include <stdint.h>

#include "base/slice.h"

enum { TV_DATETIME_TEXT_MAX = 40 };

/** Fields of an instant in UTC. */
typedef struct tv_date {
    int year, month, day, hour, minute, second;
    int ticks;   /* of the second: 0..9999999 */
    int weekday; /* 0 = Sunday */
} tv_date;

/** For ticks >= 0 (0001-01-01) up to TV_TICKS_MAX. */
tv_date tv_date_of(int64_t ticks);

/**
 * YYYY-MM-DDTHH:MM[:SS[.f]] followed by nothing, 'Z' or +hh:mm / -hh:mm.
 * Years 0001 to 9999; no zone means UTC; offsets are converted.  The fraction
 * may have any number of digits and is cut to ticks: Java's clock has nine.
 * False when it is not a date or leaves the years 0001..9999.  The result may
 * lie outside TV_TICKS_MIN..MAX: the caller decides.
 */
bool tv_datetime_parse(tv_slice text, int64_t *ret_ticks);

/** The same for texts that name something (ETags, snapshots): false for what is between ticks. */
bool tv_datetime_parse_exact(tv_slice text, int64_t *ret_ticks);

/** "2026-01-02T03:04:05.12Z", trailing zeros of the fraction trimmed.  Returns the length. */
size_t tv_datetime_format(char to[TV_DATETIME_TEXT_MAX], int64_t ticks);

/** The same with always seven digits: error bodies, XML. */
size_t tv_datetime_format7(char to[TV_DATETIME_TEXT_MAX], int64_t ticks);

/** Whether a text has the form dddd-dd-dd of the service's versions; the digits may be any. */
bool tv_version_is_valid(tv_slice text);

/** HTTP dates: "Fri, 06 May 2022 00:31:04 GMT". */
bool tv_http_date_parse(tv_slice text, int64_t *ret_ticks);
size_t tv_http_date_format(char to[TV_DATETIME_TEXT_MAX], int64_t ticks);

#endif
