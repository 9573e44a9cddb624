/*
 * The names of blobs that hold large values.  A property holds "container/blob"; the blob is
 * table/property/hash-of-the-keys/random, so that a new value never has the name of an old one, and
 * a sweep finds all blobs that can belong to one property of one table.
 */
#ifndef TVC_PATTERNS_LARGE_NAME_H
#define TVC_PATTERNS_LARGE_NAME_H

#include "client/patterns/pattern.h"

/** "people/Photo/": what the names of blobs begin with.  NULL: no memory. */
char *tvc_large_prefix(const tavola_table *table, const char *property);

/** A new name for a value of this entity.  NULL: no memory. */
char *tvc_large_new_name(const tavola_table *table, const char *property, const char *partition_key,
                         const char *row_key);

/**
 * Take "container/blob" apart: *ret_container is memory to be released, *ret_blob points into
 * `text`.  INVALID when it is no such text, NO_MEMORY.
 */
tavola_err tvc_large_parse(const char *text, char **ret_container, const char **ret_blob);

/**
 * A table and a container of one account: the name in an entity says nothing of another.  INVALID,
 * with a line in the call, when one is missing or they are not.
 */
tavola_err tvc_large_check(const tavola_table *table, const tavola_container *container,
                           const char *property, tavola_call *call);

#endif
