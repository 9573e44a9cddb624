/*
 * Hashes that stand for keys of entities, in ids of findings and in what is shown without keys:
 * equal keys have equal hashes, and nothing else can be told.  A hash that anybody can compute
 * would not do: keys are often a few digits, and all of them are soon tried.  So it is keyed by a
 * secret of the store, which never leaves it: 32 bytes in the file `secret` of the folder `watch`.
 *
 * A process has one.  Without a store, as in the tool, it is made for the process.  Any thread.
 */
#ifndef TV_INSIGHT_ADVICE_REDACT_H
#define TV_INSIGHT_ADVICE_REDACT_H

#include "base/buf.h"
#include "insight/advice/rules.h"

enum { TV_REDACT_SECRET_BYTES = 32, TV_REDACT_CHARS = 12 };

/**
 * Use the secret of a store, which is made when there is none.  False when it cannot be kept in
 * the folder: then the next start has another, and ids of findings on keys change.
 */
bool tv_redact_open(const char *folder);

/** Use this secret. */
void tv_redact_use(const unsigned char secret[TV_REDACT_SECRET_BYTES]);

/** The hash of a key in hexadecimal, with a NUL. */
void tv_redact_hash(tv_slice key, char ret_hex[TV_REDACT_CHARS + 1]);

/** Append the id of a finding on a partition or an entity, with the hash of its keys. */
void tv_finding_add_key_id(tv_buf *out, const tv_finding *finding);

#endif
