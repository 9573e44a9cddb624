/*
 * What comes after all strings with a prefix, in the order of the service: that of UTF-16 units.
 */
#ifndef TVC_KEY_AFTER_H
#define TVC_KEY_AFTER_H

#include "client/text.h"

/**
 * Append the smallest string after all that begin with `prefix`, which is valid UTF-8.  False, and
 * nothing is appended, when there is none: the prefix is empty, or U+FFFF alone.  `is_key`: the
 * smallest that can be in a filter for keys, which have no control characters.
 */
bool tvc_add_after(tvc_text *text, tv_slice prefix, bool is_key);

#endif
