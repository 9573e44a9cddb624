/*
 * UTF-8, strictly: no overlong forms, no surrogates, nothing past U+10FFFF.
 * Lengths that the service limits are counted in UTF-16 units, as .NET does.
 */
#ifndef TV_BASE_UTF8_H
#define TV_BASE_UTF8_H

#include <stdint.h>

#include "base/slice.h"

bool tv_utf8_is_valid(tv_slice text);

/** Length of valid UTF-8 in UTF-16 code units. */
size_t tv_utf8_units(tv_slice text);

/**
 * Take one code point off the front of valid UTF-8 that is not empty.
 */
uint32_t tv_utf8_next(tv_slice *rest);

/** The same of any text that is not empty: a byte that is not UTF-8 is U+FFFD. */
uint32_t tv_utf8_next_of_any(tv_slice *rest);

/** Whether a terminal would obey it instead of showing it: C0, C1, line separators, marks that turn
 *  the direction. */
bool tv_utf8_is_control(uint32_t code_point);

/**
 * Put a '?' in the place of each byte that is not UTF-8 or belongs to what a terminal would obey
 * instead of showing it: C0, C1, line separators, marks that turn the direction.
 */
void tv_utf8_mask_controls(char *text, size_t len);

/** Append a code point (not a surrogate) as UTF-8; returns the number of bytes, at most 4. */
size_t tv_utf8_put(char *to, uint32_t code_point);

#endif
