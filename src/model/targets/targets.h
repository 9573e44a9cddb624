/*
 * The scalability targets that Azure publishes for an account, one partition, one queue
 * and one blob, kept here as well when the operator asks for it: a program that is too
 * fast for them finds out before it runs there.  Off, there is none of this: an account
 * without targets has no tv_target_account, and nobody looks at anything else.
 *
 * A request asks for room in one bucket or several (tv_target_admit): all have it and are
 * charged, or it is refused and nothing is charged.  What is known only afterwards is
 * charged then (tv_target_charge).
 *
 * Any thread; the clock is given by the caller, monotonic nanoseconds.
 */
#ifndef TV_MODEL_TARGETS_TARGETS_H
#define TV_MODEL_TARGETS_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/slice.h"

/** What a target is for.  Units of table data are entities of up to 1 KiB. */
typedef enum tv_target_scope {
    TV_TARGET_REQUESTS,   /* requests to an account, of all services */
    TV_TARGET_ACCOUNT,    /* units of all tables of an account */
    TV_TARGET_PARTITION,  /* units of one partition of a table */
    TV_TARGET_QUEUE,      /* messages of one queue */
    TV_TARGET_BLOB,       /* requests to one blob */
    TV_TARGET_BLOB_BYTES, /* bytes to and from one blob */
    TV_TARGET_SCOPES,
} tv_target_scope;

/** "requests", "account", "partition", "queue", "blob", "blob-bytes". */
const char *tv_target_scope_name(tv_target_scope scope);

/** Units per second; 0 is Azure's own. */
typedef struct tv_target_rates {
    uint32_t partition, account, queue, blob;
} tv_target_rates;

enum {
    TV_TARGET_PARTITION_RATE = 2000,
    TV_TARGET_ACCOUNT_RATE = 20000, /* of units, and of requests */
    TV_TARGET_QUEUE_RATE = 2000,
    TV_TARGET_BLOB_RATE = 500,
    TV_TARGET_BLOB_BYTES_RATE = 60 * 1024 * 1024,
};

/** What the operator chose for all accounts. */
typedef struct tv_target_choices {
    bool has_retry_after;       /* refusals say when to try again */
    uint32_t examined_per_unit; /* so many rows that a query examines cost a unit; 0: nothing */
} tv_target_choices;

typedef struct tv_targets tv_targets;
typedef struct tv_target_account tv_target_account;

tv_targets *tv_targets_new(tv_target_choices choices);
void tv_targets_free(tv_targets *targets);

/**
 * The buckets of an account, which live as long as `targets`; the same ones for the same
 * name, with the rates of the last call.  One thread at a time.
 */
tv_target_account *tv_targets_account(tv_targets *targets, tv_slice name, tv_target_rates rates);

const tv_target_choices *tv_target_choices_of(const tv_target_account *account);

/** What a request asks of one bucket. */
typedef struct tv_target_ask {
    tv_target_scope scope;
    uint64_t hash;  /* of the partition, queue or blob; not of scopes that are an account's */
    uint64_t units; /* to charge now; 0 when that comes later */
} tv_target_ask;

/** Why a request was refused. */
typedef struct tv_throttle {
    tv_target_scope scope;
    uint64_t rate;   /* that was asked for in the last second */
    uint64_t target; /* that is allowed */
    int64_t wait_ns; /* until there is room again */
} tv_throttle;

/** Whether there is room for all; then they are charged, else the refusal is counted. */
bool tv_target_admit(tv_target_account *account, const tv_target_ask *asks, size_t count,
                     int64_t now_ns, tv_throttle *ret_throttle);

/** Charge what was not charged before, or give back when negative. */
void tv_target_charge(tv_target_account *account, tv_target_scope scope, uint64_t hash,
                      int64_t units, int64_t now_ns);

/** A hash for a queue or blob: of its account, container and name. */
uint64_t tv_target_hash(const tv_target_account *account, tv_target_scope scope, tv_slice container,
                        tv_slice name);

/** Units of an entity that has `bytes` by the service's formula. */
static inline uint64_t tv_target_units(uint64_t bytes)
{
    return bytes <= 1024 ? 1 : (bytes + 1023) / 1024;
}

/** Append the metrics in Prometheus' text format; nothing as long as no account has targets. */
void tv_targets_write_metrics(void *targets, tv_buf *out);

#endif
