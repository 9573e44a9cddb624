/*
 * Extents as objects of a pool that all nodes of a cluster share; for this folder
 * alone.
 *
 * The bytes of an extent, data and checksums (trailer.h), are cut into parts of 4 MiB:
 * the objects `tv.X.bbbbbbbbbbbbbbbb-nnnnnnnnnnnnnnnn.pppppppp`, boot, number and
 * part in lower case hexadecimal.  Part 0 has two attributes: `begun`, when the
 * extent was begun, in seconds since 1970, and `len`, the length of its data in decimal,
 * which is written last.  An extent is whole if it has `len`.
 *
 *  (1) Part 0 is made first, and removed last.  So whatever is left of an extent,
 *      part 0 says how old it is.
 *  (2) A part is only ever made, never changed: what is there already is another's.
 *  (3) `len` is written after all parts have been acknowledged; an extent of one
 *      part is made with it.
 *  (4) When nothing of an extent was finished, its parts have no gap of
 *      TV_EXTENT_PARTS_IN_FLIGHT: that many are on their way at most.
 *  (5) The number of an extent begins with the seconds from the opening of the store to
 *      the extent's begin, so that the store knows the age of each of its extents.
 */
#ifndef TV_STORE_EXTENT_POOL_INTERNAL_H
#define TV_STORE_EXTENT_POOL_INTERNAL_H

#include "store/extent/internal.h"
#include "store/pool/pool.h"

#define TV_EXTENT_OBJECT_PREFIX "tv.X."
#define TV_EXTENT_ATTR_BEGUN "begun"
#define TV_EXTENT_ATTR_LEN "len"

enum {
    TV_EXTENT_PART_BYTES = 4 << 20,
    TV_EXTENT_PARTS_IN_FLIGHT = 4,
    TV_EXTENT_OBJECT_SIZE = 5 + 16 + 1 + 16 + 1 + 8 + 1, /* with its NUL */
    TV_EXTENT_NUMBER_SIZE = 24,                          /* a decimal number with its NUL */
};

typedef struct tv_pool_extents {
    tv_extents base;
    tv_extent_pool_options options;
    int64_t open_ns; /* by tv_clock_boot_ns */
    _Atomic uint64_t counter;
    _Atomic uint64_t made_count, made_bytes;

    /* space.c */
    _Atomic int64_t next_space_ns;
    atomic_bool is_full;

    /* write.c */
    _Atomic size_t buffer_bytes;

    /* sweep.c: of the thread that collects garbage.  What the last sweep found, and when. */
    tv_extent_set suspects;
    int64_t suspects_ns;
} tv_pool_extents;

static inline tv_pool_extents *tv_pool_extents_of(tv_extents *store)
{
    return (tv_pool_extents *)store;
}

/** How many parts an extent with that many bytes of data has. */
uint32_t tv_pool_extent_parts(uint64_t length);

/* --- name.c --- */

void tv_pool_extent_name(tv_extent_id id, uint32_t part, char ret_name[TV_EXTENT_OBJECT_SIZE]);

/** False when an object of that name is not a part of an extent. */
bool tv_pool_extent_name_parse(const char *name, tv_extent_id *ret_id, uint32_t *ret_part);

/** What the first part says; `length` is UINT64_MAX for one that is not whole. */
typedef struct tv_pool_extent_facts {
    int64_t begun; /* seconds since 1970; INT64_MAX when it is not known */
    uint64_t length;
} tv_pool_extent_facts;

/** TV_ERR_NOT_FOUND; else as a pool's read. */
tv_err tv_pool_extent_look(tv_pool_extents *extents, tv_extent_id id,
                           tv_pool_extent_facts *ret_facts) TV_WARN_UNUSED;

/* --- store.c --- */

/** What an error of the pool means to those who write or remove; TV_ERR_IO is logged. */
tv_err tv_pool_extents_failed(tv_pool_extents *extents, const char *operation, tv_extent_id id,
                              tv_err err);

/* --- space.c --- */

/** TV_ERR_DISK_FULL when the pool has less room than is to be kept.  May wait for the pool. */
tv_err tv_pool_extents_check_space(tv_pool_extents *extents) TV_WARN_UNUSED;

/** The pool has refused a write for lack of room. */
void tv_pool_extents_refused(tv_pool_extents *extents);

/* --- the backend's functions: see tv_extent_backend --- */

/* write.c */
tv_err tv_pool_extent_create(tv_extents *store, tv_extent_writer **ret_writer) TV_WARN_UNUSED;
tv_err tv_pool_extent_write(tv_extent_writer *writer, tv_slice bytes) TV_WARN_UNUSED;
tv_err tv_pool_extent_finish(tv_extent_writer *writer) TV_WARN_UNUSED;
void tv_pool_extent_end(tv_extent_writer *writer, bool is_finished);
bool tv_pool_extent_may_commit(const tv_extents *store, tv_extent_id id);

/* read.c */
tv_err tv_pool_extent_open(tv_extents *store, tv_read_mode mode, tv_extent_id id, uint64_t length,
                           tv_extent_reader **ret_reader) TV_WARN_UNUSED;
tv_err tv_pool_extent_read(tv_extent_reader *reader, tv_read_mode mode, uint64_t offset, char *to,
                           size_t size, size_t *ret_len) TV_WARN_UNUSED;
void tv_pool_extent_close(tv_extent_reader *reader);

/* remove.c */
void tv_pool_extent_remove(tv_extents *store, tv_extent_id id);

/* sweep.c */
tv_err tv_pool_extents_gc(tv_extents *store, tv_extent_gc *gc) TV_WARN_UNUSED;

#endif
