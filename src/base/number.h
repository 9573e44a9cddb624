/*
 * Numbers as text, the way the service reads and writes them.
 */
#ifndef TV_BASE_NUMBER_H
#define TV_BASE_NUMBER_H

#include <stdint.h>

#include "base/slice.h"

/** Decimal with an optional leading '-', the whole slice, nothing else; false when out of range. */
bool tv_parse_int32(tv_slice text, int32_t *ret_value);
bool tv_parse_int64(tv_slice text, int64_t *ret_value);

/** Digits only. */
bool tv_parse_uint64(tv_slice text, uint64_t *ret_value);

/**
 * A finite decimal number ("5", "-0.5", "1.5E+24"), not hexadecimal, no blanks,
 * independent of the locale; false when it is not one or overflows to infinity.
 */
bool tv_parse_double(tv_slice text, double *ret_value);

enum { TV_DOUBLE_TEXT_MAX = 32 };

/**
 * .NET's round-trip form: 15 digits if they read back as the same number, else
 * 17; 'E' with sign and at least two digits for magnitudes >= 1E+15 or < 1E-04;
 * ".0" when there would be neither point nor exponent.  "NaN", "Infinity",
 * "-Infinity".  Returns the length; not terminated.
 */
size_t tv_format_double(char to[TV_DOUBLE_TEXT_MAX], double value);

enum { TV_INT64_TEXT_MAX = 20 };
size_t tv_format_int64(char to[TV_INT64_TEXT_MAX], int64_t value);

#endif
