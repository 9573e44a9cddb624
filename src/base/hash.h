/*
 * Hashes for tables in memory whose keys a client chooses, and one that is the same everywhere.
 *
 * The former are SipHash under a key that every process draws for itself, so that
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

/**
 * FNV-1a of 64 bits, the same in every process: for fingerprints and ids that are shown or
 * stored, so it must never change.  Whoever chooses the bytes can make them collide.
 */
#define tv_fnv(bytes) tv_fnv_more(UINT64_C(0xcbf29ce484222325), bytes)

/** Of bytes that follow others, whose hash is `before`. */
uint64_t tv_fnv_more(uint64_t before, tv_slice bytes);

#endif
