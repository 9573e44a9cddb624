/*
 * Shared access signatures: the parameters of a URL that give someone without a
 * key a part of its power for some time.
 *
 * This file reads them and spells what was signed; identity.c decides.  Values
 * are decoded; a parameter that is given twice spoils the whole, because signer
 * and server might look at different ones.
 */
#ifndef TV_AUTH_SAS_H
#define TV_AUTH_SAS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/** Every parameter that takes part; data is NULL for those that are not there. */
typedef struct tv_sas {
    tv_slice version;                   /* sv */
    tv_slice signature;                 /* sig */
    tv_slice permission, start, expiry; /* sp, st, se */
    tv_slice ip, protocol;              /* sip, spr */
    /* A service SAS for a table. */
    tv_slice table, policy_id;           /* tn, si */
    tv_slice start_partition, start_row; /* spk, srk */
    tv_slice end_partition, end_row;     /* epk, erk */
    /* An account SAS. */
    tv_slice services, resource_types, encryption_scope; /* ss, srt, ses */
} tv_sas;

/**
 * Read the SAS parameters of a raw query string.  *ret_is_sas is false when it
 * has no `sig`.  TV_ERR_AUTHENTICATION_FAILED when one is given twice or cannot
 * be decoded.
 */
tv_err tv_sas_parse(tv_arena *arena, tv_slice query, tv_sas *ret_sas,
                    bool *ret_is_sas) TV_WARN_UNUSED;

/** Whether it is of the account kind. */
bool tv_sas_is_account(const tv_sas *sas);

/** The text that was signed, by the layout of its version. */
tv_slice tv_sas_table_text(tv_arena *arena, const tv_sas *sas, tv_slice account);
tv_slice tv_sas_account_text(tv_arena *arena, const tv_sas *sas, tv_slice account);

/** A time as SAS write it: a date, or date and time; UTC. */
bool tv_sas_parse_time(tv_slice text, int64_t *ret_ticks);

/** Whether `peer` ("1.2.3.4:5", "[::1]:5") is in `range` ("1.2.3.4" or "1.2.3.4-1.2.3.9"). */
bool tv_sas_ip_matches(tv_slice range, const char *peer);

#endif
