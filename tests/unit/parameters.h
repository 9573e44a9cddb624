/* For tests and fuzzers: a query as the HTTP layer hands it on. */
#ifndef TV_TESTS_UNIT_PARAMETERS_H
#define TV_TESTS_UNIT_PARAMETERS_H

#include "base/parameters.h"

/* The parameters of a query; with too many of them, which no service gets to see, none. */
static inline tv_parameters query_of(tv_arena *arena, tv_slice text)
{
    tv_parameters query = {0};

    (void)tv_parameters_parse(arena, text, &query);
    return query;
}

#endif
