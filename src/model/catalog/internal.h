/* What the files of the catalogue share; for this folder alone. */
#ifndef TV_MODEL_CATALOG_INTERNAL_H
#define TV_MODEL_CATALOG_INTERNAL_H

#include <pthread.h>

#include "model/catalog/catalog.h"
#include "model/catalog/gc.h"

enum { TV_CATALOG_BUCKETS = 4096 };

/** What an account has set; there are as many as there are accounts. */
typedef struct tv_account_settings {
    tv_shared_settings *settings;
    uint64_t changed; /* by tv_catalog.sequence */
    struct tv_account_settings *next;
    size_t name_len;
    char name[];
} tv_account_settings;

/** An account of which there are rows, on a shared engine: see follow.c. */
typedef struct tv_catalog_account {
    struct tv_catalog_account *next;
    int64_t generation; /* of which all rows are known; 0 before they have been read */
    size_t name_len;
    char name[];
} tv_catalog_account;

struct tv_catalog {
    const tv_catalog_kind *kind;
    tv_engine *engine;
    tv_pipeline *pipeline;
    tv_catalog_gc *gc;
    pthread_mutex_t fencing;    /* one at a time finishes the drops of others: drops.c */
    void (*changed)(void *ctx); /* see tv_catalog_tell */
    void *changed_ctx;
    pthread_rwlock_t lock; /* guards what follows, and the containers' policies and attributes */
    tv_catalog_account *accounts; /* on a shared engine; they stay until the end */
    uint64_t sequence;            /* of what becomes known: tv_container.added, .changed */
    uint64_t barrier;             /* rows that were read before it was raised add nothing */
    tv_container *buckets[TV_CATALOG_BUCKETS];
    size_t count;
    tv_account_settings *settings;
    atomic_bool has_cors; /* some account has had a rule; written under the lock, read without */
    atomic_bool has_analytics; /* likewise of logging and metrics */
};

/** A new one with one reference; all texts are copied. */
tv_container *tv_container_new(const tv_catalog_kind *kind, tv_slice account, tv_slice name,
                               int64_t id, tv_slice attributes);

/** The link to the container, or the end of its chain.  Under the lock. */
tv_container **tv_catalog_link(tv_catalog *catalog, tv_slice account, tv_slice name);

/** Add one of a name that is not there; takes over the caller's reference.  Under the lock. */
void tv_catalog_add(tv_catalog *catalog, tv_container *container);

/** Take the container at `link` out.  Under the lock. */
void tv_catalog_remove(tv_catalog *catalog, tv_container **link);

/** The same for one that was deleted: whoever still has it sees that.  Under the lock. */
void tv_catalog_drop(tv_catalog *catalog, tv_container **link);

/** Replace what is known of a container; takes over what is not NULL.  Under the lock. */
void tv_catalog_set(tv_catalog *catalog, tv_container *container, tv_access_policies *policies,
                    tv_slice attributes);

/** Those of the catalogue, now.  Take the lock. */
uint64_t tv_catalog_sequence(tv_catalog *catalog);
uint64_t tv_catalog_barrier(tv_catalog *catalog);

/** A copy that tv_container.attributes can own; free its data. */
tv_slice tv_attributes_new(tv_slice attributes);

/**
 * Replace an account's settings, unless they are the same or have changed since the sequence was
 * `look`; takes over the reference.  Takes the lock.
 */
void tv_catalog_put_settings(tv_catalog *catalog, tv_slice account, tv_shared_settings *settings,
                             uint64_t look);

/**
 * Remember an account on a shared engine: its rows are read again when other nodes have changed
 * something, so every account that has a container here is known.  Under the lock.
 */
void tv_catalog_note_account(tv_catalog *catalog, tv_slice account);

/** On a shared engine: find out which accounts have rows, for tv_catalog_next_account. */
tv_err tv_catalog_find_accounts(tv_catalog *catalog) TV_WARN_UNUSED;

/** The account after this one, or the first one for NULL; NULL at the end.  Takes the lock. */
tv_catalog_account *tv_catalog_next_account(tv_catalog *catalog, tv_catalog_account *account);

/** Whether a container can have this id: they are given out from 1 on. */
static inline bool tv_catalog_is_id(int64_t id)
{
    return id > 0 && id <= TV_TABLE_ID_MAX;
}

/** Take a row of a name apart; TV_ERR_CORRUPT. */
typedef struct tv_catalog_row {
    int64_t id;
    tv_slice name;
    tv_slice attributes; /* empty without any */
} tv_catalog_row;
tv_err tv_catalog_row_parse(tv_slice value, tv_catalog_row *ret_row) TV_WARN_UNUSED;

/** The same, where `key` is known: two rows must not have one name, nor one that no lookup finds.
 */
tv_err tv_catalog_row_load(const tv_catalog *catalog, tv_arena *arena, tv_slice account,
                           tv_slice key, tv_slice value, tv_catalog_row *ret_row) TV_WARN_UNUSED;

/**
 * Take a row of policies apart: the id of the container they belong to, and
 * the XML; TV_ERR_CORRUPT.
 */
tv_err tv_catalog_policies_parse(tv_slice value, int64_t *ret_id,
                                 tv_slice *ret_document) TV_WARN_UNUSED;

/** Take a row of the generation apart; TV_ERR_CORRUPT. */
tv_err tv_catalog_generation_parse(tv_slice value, int64_t *ret_generation) TV_WARN_UNUSED;

/** The account in the key of a row, and the row's kind; TV_ERR_CORRUPT. */
tv_err tv_catalog_key_parse(tv_slice key, tv_slice *ret_account, char *ret_kind) TV_WARN_UNUSED;

/* --- drops.c: functions of a shared engine; elsewhere they do nothing --- */

/** Note that a container was dropped and nobody has fenced its rows. */
void tv_catalog_put_unfenced(tv_txn *txn, const tv_catalog *catalog, tv_arena *arena,
                             const tv_container *container);

/** For the author of a new one of this name: TV_ERR_WOULD_BLOCK while there is such a note. */
tv_err tv_catalog_check_fenced(tv_txn *txn, const tv_catalog *catalog, tv_arena *arena,
                               tv_slice account, tv_slice name) TV_WARN_UNUSED;

/** The rows of this container are fenced: the note goes, unless it is of another one. */
tv_err tv_catalog_forget_unfenced(tv_txn *txn, const tv_catalog_kind *kind, tv_arena *arena,
                                  tv_slice account, tv_slice name, int64_t id) TV_WARN_UNUSED;

/** What a note of a dropped container says of its name, for the gc; and that name, or TV_NONE. */
tv_slice tv_catalog_dropped_value(tv_arena *arena, const tv_catalog *catalog, tv_slice name);
tv_slice tv_catalog_dropped_name(tv_slice value);

/** Fill the catalogue from a local engine. */
tv_err tv_catalog_load(tv_catalog *catalog) TV_WARN_UNUSED;

#endif
