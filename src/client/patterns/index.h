/*
 * Indexes as the two patterns of secondary indexes use them: the values of an entity, the copies
 * that it has under them, and the way back from a copy to the keys of its primary.
 */
#ifndef TVC_PATTERNS_INDEX_H
#define TVC_PATTERNS_INDEX_H

#include "client/patterns/pattern.h"

/** Refuse indexes that cannot work, with a line in the call. */
tavola_err tvc_indexes_check(const tavola_index *indexes, size_t count, tavola_call *call);

/** What is put before the key of the primary: the prefix of the index "RowKey", else "". */
const char *tvc_indexes_primary_prefix(const tavola_index *indexes, size_t count);

/** Whether it is the primary itself, not a copy. */
bool tvc_index_is_primary(const tavola_index *index);

/**
 * The properties to read of a primary, to know where its copies are: their names, ending with
 * NULL, at most count + 1 of them.
 */
void tvc_indexes_names(const tavola_index *indexes, size_t count, const char **ret_names);

/**
 * The value of an entity for an index that is not the primary: *ret_value is NULL when it has no
 * such property.  INVALID when it cannot be a part of a key.
 */
tavola_err tvc_index_value(const tavola_index *index, const tavola_entity *entity,
                           const char **ret_value, tavola_call *call);

/**
 * The entity that is stored for an index: under these keys, with the index's columns (NULL: all)
 * and the keys of its primary; `primary_partition` may be NULL: left out.  NULL: no memory.
 */
tavola_entity *tvc_index_copy(const tavola_entity *entity, const char *const *columns,
                              const char *partition_key, const char *row_key,
                              const char *primary_partition, const char *primary_row);

/** The entity that is stored as the primary.  NULL: no memory. */
tavola_entity *tvc_index_primary(const tavola_entity *entity, const char *partition_key,
                                 const char *row_key);

/**
 * Whether the entity that is stored for an index is what it is to be by its primary, which is whole
 * and has the keys by which the application knows it.  NO_MEMORY.
 */
tavola_err tvc_index_compare(const tavola_index *index, const tavola_entity *primary,
                             const tavola_entity *copy, bool *ret_is_right);

/**
 * Give what was read from a copy, or from a primary with a prefix, the keys that the application
 * knows it by: those in the copy, or else these.  NO_MEMORY.
 */
tavola_err tvc_index_restore(tavola_entity *stored, const char *partition_key, const char *row_key);

#endif
