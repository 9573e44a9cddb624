/*
 * Hashes for tables in memory whose keys a client chooses.
 *
 * They are SipHash under a key that every process draws for itself, so that
 * nobody can send keys that collide in one slot of a table and turn its
 * lookups into walks.  A hash is good for the life of the process and is never
 * stored.
 *
 * Any thread.
 */
#ifndef TV_BASE_HASH_H
#define TV_BASE_HASH_H

#include <stdint.h>

#include "base/slice.h"

/** Of these bytes; with one round a word and three at the end (SipHash-1-3). */
uint64_t tv_hash(tv_slice bytes);

/** The same for texts that differ only in the case of ASCII letters. */
uint64_t tv_hash_nocase(tv_slice text);

/** SipHash with any numbers of rounds and any key: for tests, which know its vectors. */
typedef struct tv_hash_key {
    uint64_t k0, k1;
} tv_hash_key;
uint64_t tv_siphash(int rounds, int rounds_at_end, tv_hash_key key, tv_slice bytes);

#endif
