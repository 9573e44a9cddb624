/*
 * The parameters of a query string: taken apart once, looked up often.  How
 * many there may be is bounded before anything else is done with them, so that
 * no lookup and no sorting costs more than a few microseconds, whatever is sent.
 */
#ifndef TV_BASE_PARAMETERS_H
#define TV_BASE_PARAMETERS_H

#include "base/arena.h"

/** More than this, empty ones included, are not taken; no operation knows a tenth of them. */
enum { TV_PARAMETERS_MAX = 256 };

typedef struct tv_parameter {
    tv_slice name;  /* decoded */
    tv_slice value; /* as sent; empty, with data, without a '=' */
} tv_parameter;

/** All zeros are the parameters of no query. */
typedef struct tv_parameters {
    tv_slice text;             /* as sent, without the '?'; data is NULL when there was no '?' */
    const tv_parameter *items; /* in the order of the text; empty parts left out */
    size_t count;
    bool is_malformed; /* a name cannot be decoded: no lookup succeeds */
} tv_parameters;

/**
 * Take a query apart.  The names are slices of `text` or in the arena.  False
 * when there are too many, which is found without looking at the rest.
 */
bool tv_parameters_parse(tv_arena *arena, tv_slice text, tv_parameters *ret_parameters);

/**
 * The value of a parameter, decoded: TV_NONE when there is none, the first when
 * repeated.  A slice of the text or in the arena.  False when a name or this
 * value cannot be decoded.
 */
bool tv_parameters_get(const tv_parameters *parameters, tv_arena *arena, tv_slice name,
                       tv_slice *ret_value);

/**
 * The same by a name in any case: for services whose signatures cover names in
 * lower case, so that a signed parameter cannot be turned into one that the lookup
 * misses.
 */
bool tv_parameters_get_nocase(const tv_parameters *parameters, tv_arena *arena, tv_slice name,
                              tv_slice *ret_value);

#endif
