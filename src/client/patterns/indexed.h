/*
 * A table with its indexes, behind tavola_indexed, and what the two patterns of secondary indexes
 * share: the values of an entity, the copies that it has under them, the way from what is stored
 * back to the entity of the application.  intra_partition.c and inter_partition.c write;
 * indexed_read.c reads; indexed_check.c compares copies with their entities.
 */
#ifndef TVC_PATTERNS_INDEXED_H
#define TVC_PATTERNS_INDEXED_H

#include <stdatomic.h>

#include "client/patterns/pattern.h"

struct tavola_indexed {
    _Atomic int references; /* of the application, and of its scans */
    tavola_table *table;    /* ours */
    tavola_index *indexes;  /* ours, with their texts; not that of the RowKey */
    size_t count;
    tavola_index primary; /* that of the RowKey; its prefix is "" when there is none */
    tavola_table *copies; /* ours; where the copies are */
    bool is_separate;     /* not in the table of the primaries */
    tavola_queue *queue;  /* ours; NULL: intra-partition */
    uint32_t hidden_s;
};

/** One more reference; tavola_indexed_close gives it back. */
tavola_indexed *tvc_indexed_ref(tavola_indexed *indexed);

/** The index over a property, also that of the RowKey; NULL: there is none. */
const tavola_index *tvc_indexed_find(const tavola_indexed *indexed, const char *property);

/** Whether it is the primary itself, not a copy. */
bool tvc_index_is_primary(const tavola_index *index);

/** The index of what is stored under a RowKey (a PartitionKey): by its prefix; NULL: none. */
const tavola_index *tvc_indexed_of_key(const tavola_indexed *indexed, const char *key);

/** INVALID, with a line in the call, for keys that an entity cannot have beside copies. */
tavola_err tvc_indexed_check_keys(const tavola_indexed *indexed, const char *partition_key,
                                  const char *row_key, tavola_call *call);

/** The same for an entity that is to be stored, with its error. */
tavola_err tvc_indexed_check_entity(const tavola_indexed *indexed, const tavola_entity *entity,
                                    tavola_call *call);

/**
 * Where something of an entity is stored: in which table, under which keys.  `value` is that of the
 * index, of the primary index the RowKey.  Texts are its own.
 */
typedef struct tvc_index_place {
    tavola_table *table; /* not its own */
    char *partition_key, *row_key;
} tvc_index_place;

tavola_err tvc_index_place_init(tvc_index_place *place, const tavola_indexed *indexed,
                                const tavola_index *index, const char *partition_key,
                                const char *value);
void tvc_index_place_done(tvc_index_place *place);

/**
 * The properties to read of a primary, to know where its copies are: their names, ending with
 * NULL, at most TVC_INDEXES_MAX + 1 of them.
 */
void tvc_indexed_names(const tavola_indexed *indexed, const char **ret_names);

/**
 * The value of an entity for an index that is not the primary: *ret_value is NULL when it has no
 * such property.  INVALID when it cannot be a part of a key.
 */
tavola_err tvc_index_value(const tavola_index *index, const tavola_entity *entity,
                           const char **ret_value, tavola_call *call);

/** Whether it is the value of an entity, which may be NULL. */
bool tvc_index_has_value(const tavola_index *index, const tavola_entity *entity, const char *value);

/**
 * The entity that is stored for an index: under the keys of a place, with the index's columns and
 * the keys of its primary.  `etag` is that of the primary, which copies in other partitions carry.
 * NULL: no memory.
 */
tavola_entity *tvc_index_copy(const tavola_indexed *indexed, const tavola_index *index,
                              const tavola_entity *primary, const char *partition_key,
                              const char *row_key, const char *etag);

/** The entity that is stored as the primary.  NULL: no memory. */
tavola_entity *tvc_index_primary(const tavola_entity *entity, const char *partition_key,
                                 const char *row_key);

/**
 * Whether the copy that is stored is what it is to be by its primary, which is whole, with the keys
 * and the etag by which the application knows it.  NO_MEMORY.
 */
tavola_err tvc_index_compare(const tavola_indexed *indexed, const tavola_index *index,
                             const tavola_entity *primary, const tavola_entity *copy,
                             bool *ret_is_right);

/** Whether a copy says that this is the RowKey (and PartitionKey) of its primary. */
bool tvc_index_is_of(const tavola_indexed *indexed, const tavola_entity *copy,
                     const char *partition_key, const char *row_key);

/**
 * Make what was read by an index the entity of the application: its keys, its properties; in place
 * and without memory, so that it works for the entities of a page.  False when it is no such thing:
 * an entity that somebody has put among the copies, or a copy among the primaries.
 */
bool tvc_index_restore(const tavola_indexed *indexed, const tavola_index *index,
                       tavola_entity *stored);

/* ---- writing ---- */

/** One change of one entity. */
typedef struct tvc_indexed_edit {
    const char *partition_key, *row_key; /* as the application knows them */
    const tavola_entity *entity;         /* what it is to be; NULL: deleted, or `change` says */
    const char *if_match;                /* NULL: no condition */
    tavola_change_fn change;             /* of the entity as it is; or NULL */
    void *user;
    const bool *is_missing; /* copies that are known not to be there, by their indexes; or NULL */
} tvc_indexed_edit;

/**
 * Make it.  The new etag is in the call.  Without a condition, and with a `change`, again if others
 * change the entity at the same time.
 */
tavola_err tvc_intra_partition_edit(const tavola_indexed *indexed, const tvc_indexed_edit *edit,
                                    tavola_call *call);
tavola_err tvc_inter_partition_edit(const tavola_indexed *indexed, const tvc_indexed_edit *edit,
                                    tavola_call *call);

/**
 * Read the primary, whole or only its indexed properties, as the entity of the application.
 * *ret_primary is NULL when there is none.
 */
tavola_err tvc_indexed_read_primary(const tavola_indexed *indexed, const char *partition_key,
                                    const char *row_key, bool is_whole, tavola_call *call,
                                    tavola_entity **ret_primary);

/** Whether the application has set or unset anything since it was read. */
bool tvc_indexed_is_changed(const tavola_entity *entity);

/** Make the copies in other partitions right that this entity has, and one more that it may have.
 */
tavola_err tvc_inter_partition_repair(const tavola_indexed *indexed, const char *partition_key,
                                      const char *row_key, const tavola_index *index,
                                      const char *value, tavola_call *call);

#endif
