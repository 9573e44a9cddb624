/* What the files of the verification share; for this folder alone. */
#ifndef TV_SERVER_VERIFY_INTERNAL_H
#define TV_SERVER_VERIFY_INTERNAL_H

#include "base/service_kind.h"
#include "server/verify/report.h"
#include "store/engine/engine.h"
#include "store/engine/key.h"
#include "store/extent/extent.h"

/** A table, a queue or a container, whose rows begin with `prefix`. */
typedef struct tv_verify_owner {
    tv_slice prefix, account, name;
    int64_t id;
    bool is_dropped; /* its rows may be there, whole or not */
    /* Of a table, once its rows were read. */
    uint64_t entities, bytes;
    bool is_cut;    /* some of them could not be */
    bool has_facts; /* there are some */
} tv_verify_owner;

typedef struct tv_verify_check tv_verify_check;

/** What is known of a store on the way through it. */
typedef struct tv_verify_walk {
    tv_verify_report *report;
    tv_engine *engine;
    tv_extents *extents; /* NULL when they cannot be looked at: then that has been reported */
    tv_extent_mark_fn *mark;
    void *marker;

    tv_arena arena; /* for the owners */
    tv_verify_owner *owners;
    size_t owner_count, owner_size;
    bool lacks_owners; /* the catalogue could not be read to its end */

    const tv_verify_owner *owner; /* of the rows that are being read */
    void *state;                  /* the check's own, of this owner */
    bool is_cut; /* some of the owner's rows could not be read: what is missing says nothing */
} tv_verify_walk;

/** How the rows of one service are checked.  The owner is walk->owner. */
struct tv_verify_check {
    const char *noun; /* "table" */
    void (*begin)(tv_verify_walk *walk);
    void (*row)(tv_verify_walk *walk, tv_slice key, tv_slice value);
    void (*end)(tv_verify_walk *walk);
};

extern const tv_verify_check tv_verify_table, tv_verify_queue, tv_verify_blob;

/** The tables, queues or containers, by their catalogue; sorted by their prefixes. */
void tv_verify_read_owners(tv_verify_walk *walk, tv_service_kind service, tv_key_space space,
                           const char *noun,
                           tv_slice (*rows)(tv_arena *arena, tv_slice account, int64_t id));

/** All rows that begin with the byte `space`, against the owners that were read. */
void tv_verify_rows(tv_verify_walk *walk, char space, const tv_verify_check *check);

/** The facts about tables, after the rows of all of them. */
void tv_verify_facts(tv_verify_walk *walk);

#endif
