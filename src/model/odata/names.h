/*
 * A set of property names, such as those that a filter asks for or a $select
 * lists.  A name is found by bisection: rows have up to 252 properties, and every
 * one of every row is looked for.
 */
#ifndef TV_MODEL_ODATA_NAMES_H
#define TV_MODEL_ODATA_NAMES_H

#include <stdint.h>

#include "base/slice.h"

/** An entity has no more properties than this. */
enum { TV_NAMES_MAX = 255 };

typedef struct tv_names {
    int count;
    tv_slice list[TV_NAMES_MAX];  /* in the order in which they came */
    uint8_t sorted[TV_NAMES_MAX]; /* their indexes in the order of their bytes */
} tv_names;

/** The index of a name, -1 when it is not in the set. */
int tv_names_find(const tv_names *names, tv_slice name);

/** The index of a name, which is added if it is not there; -1 when the set is full. */
int tv_names_add(tv_names *names, tv_slice name);

#endif
