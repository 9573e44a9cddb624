/*
 * Shared access signatures: the parameters of a URL that give someone without a
 * key a part of its power for some time.
 *
 * This file reads them, sas_text.c writes what was signed, sas_check.c decides.  Values
 * are decoded; a parameter that is given twice invalidates the whole, because signer
 * and server might look at different ones.
 */
#ifndef TV_MODEL_AUTH_SAS_H
#define TV_MODEL_AUTH_SAS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/parameters.h"

/** Every parameter that takes part; data is NULL for those that are not there. */
typedef struct tv_sas {
    tv_slice version;                   /* sv */
    tv_slice signature;                 /* sig */
    tv_slice permission, start, expiry; /* sp, st, se */
    tv_slice ip, protocol;              /* sip, spr */
    /* A service SAS. */
    tv_slice policy_id; /* si */
    /* One for a table. */
    tv_slice table;                      /* tn */
    tv_slice start_partition, start_row; /* spk, srk */
    tv_slice end_partition, end_row;     /* epk, erk */
    /* One for a blob or its container. */
    tv_slice resource;                           /* sr */
    tv_slice snapshot;                           /* of the URL: which one is read */
    tv_slice cache_control, content_disposition; /* rscc, rscd */
    tv_slice content_encoding, content_language; /* rsce, rscl */
    tv_slice content_type;                       /* rsct */
    tv_slice user;                               /* skoid: signed by a user's key */
    /* An account SAS. */
    tv_slice services, resource_types; /* ss, srt */
    /* Of an account or a blob. */
    tv_slice encryption_scope; /* ses */
} tv_sas;

/**
 * Read the SAS parameters of a query.  *ret_is_sas is false when it
 * has no `sig`.  TV_ERR_AUTHENTICATION_FAILED when one is given twice or cannot
 * be decoded.
 */
tv_err tv_sas_parse(tv_arena *arena, const tv_parameters *query, tv_sas *ret_sas,
                    bool *ret_is_sas) TV_WARN_UNUSED;

/** Whether it is an account SAS. */
bool tv_sas_is_account(const tv_sas *sas);

/** Versions are dates and compare as text. */
static inline bool tv_sas_is_since(const tv_sas *sas, const char *version)
{
    return tv_slice_cmp(sas->version, tv_slice_of(version)) >= 0;
}

/** Whether it is for one snapshot of a blob. */
static inline bool tv_sas_is_snapshot(const tv_sas *sas)
{
    return tv_slice_eq(sas->resource, TV_LIT("bs"));
}

/*
 * sas_text.c: the text that was signed, by the layout of its version.  Names of
 * queues, containers and blobs come from the URL, decoded; one that contains a
 * line break must not be signed.
 */
tv_slice tv_sas_account_text(tv_arena *arena, const tv_sas *sas, tv_slice account);
tv_slice tv_sas_table_text(tv_arena *arena, const tv_sas *sas, tv_slice account);
tv_slice tv_sas_queue_text(tv_arena *arena, const tv_sas *sas, tv_slice account, tv_slice queue);

/** The blob counts only where `sr` says that the SAS is for a blob. */
tv_slice tv_sas_blob_text(tv_arena *arena, const tv_sas *sas, tv_slice account, tv_slice container,
                          tv_slice blob);

/** A time as a SAS has it: a date, or date and time; UTC. */
bool tv_sas_parse_time(tv_slice text, int64_t *ret_ticks);

/** Whether `peer` ("1.2.3.4:5", "[::1]:5") is in `range` ("1.2.3.4" or "1.2.3.4-1.2.3.9"). */
bool tv_sas_ip_matches(tv_slice range, const char *peer);

#endif
