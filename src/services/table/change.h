/*
 * Changes to entities, as update functions for the commit pipeline.  A change
 * is one operation on one entity; a change set is one or more of them on one
 * partition, applied whole or not at all: a single request is a set of one, an
 * entity group transaction a set of up to 100.
 */
#ifndef TV_SERVICES_TABLE_CHANGE_H
#define TV_SERVICES_TABLE_CHANGE_H

#include "model/catalog/catalog.h"
#include "services/table/command.h"
#include "store/commit/pipeline.h"

typedef struct tv_entity_change {
    const tv_table_command *command;
    tv_slice key;          /* of the row */
    tv_slice sent;         /* what the request says, encoded; empty for DELETE */
    tv_slice ahead;        /* of a merge: its result, if the row is still as old as ... */
    int64_t ahead_of;      /* ... this */
    tv_slice value;        /* result: the entity as stored; each run writes it again */
    int64_t timestamp;     /* result: of the entity as stored */
    int64_t old_timestamp; /* result: of what was there before; 0 when nothing was */
} tv_entity_change;

/**
 * The entities that the merges of one set write may have this many bytes
 * together, or TV_ERR_MERGE_TOO_LARGE: a request of a few KiB can make the
 * server write 100 entities of 1 MiB again, and everybody else waits for it.
 */
#define TV_MERGED_BYTES_MAX ((size_t)8 << 20)

/**
 * Merges that write more than this are not the committer's work: see
 * tv_table_change_set_merge_ahead.
 */
#define TV_MERGED_THERE_BYTES_MAX ((size_t)512 << 10)

typedef struct tv_table_change_set {
    tv_container *table; /* the caller's reference, held until the write is delivered */
    tv_arena *arena;
    tv_slice partition; /* key prefix */
    tv_entity_change *changes;
    size_t count, size;
    size_t merged_bytes; /* of this run */
    bool refuses_much;   /* a run that meets much to merge ends with TV_ERR_WOULD_BLOCK */
    size_t failed;       /* result: index of the change that failed, when the write failed */
} tv_table_change_set;

/** Prepare for up to `size` changes of `table`. */
void tv_table_change_set_init(tv_table_change_set *set, tv_arena *arena, tv_container *table,
                              size_t size);

/**
 * Add the change that `command`, whose body has been read, asks for.  All changes of
 * a set have the same PartitionKey.  `command` outlives the set.
 */
tv_err tv_table_change_set_add(tv_table_change_set *set,
                               const tv_table_command *command) TV_WARN_UNUSED;

/** Set up the write that applies the whole set. */
void tv_table_change_set_prepare(tv_table_change_set *set, tv_write *write);

/**
 * Merge what is stored now, so that the write has little to do where rows do not
 * change until it runs, and have it declare how much it writes.  For a set whose write
 * has ended with TV_ERR_WOULD_BLOCK; takes milliseconds.  After TV_OK the write is to
 * be submitted again; an error is the answer, as from a run at this moment.
 */
tv_err tv_table_change_set_merge_ahead(tv_table_change_set *set, tv_engine *engine,
                                       tv_write *write) TV_WARN_UNUSED;

#endif
