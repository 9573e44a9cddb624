/* What the schemes share; for this folder alone. */
#ifndef TV_MODEL_AUTH_IDENTITY_INTERNAL_H
#define TV_MODEL_AUTH_IDENTITY_INTERNAL_H

#include "model/auth/identity.h"
#include "model/auth/sas.h"

struct tv_identity {
    const tv_account *account;
    tv_service_kind service;
    bool is_anonymous;
    unsigned sas;            /* tv_sas_kind, 0 for a key */
    unsigned permissions;    /* of a SAS: tv_permission */
    unsigned resource_types; /* of an account SAS: tv_resource_type */
    tv_slice container;      /* of a service SAS: the only one */
    tv_slice blob;           /* of a blob's SAS: the only one */
    tv_slice snapshot;       /* of a snapshot's SAS: the only one */
    bool has_limits;
    tv_key_limits limits;
    bool has_overrides;
    tv_header_overrides overrides;
};

/**
 * Whether `signature` (base 64) signs `text` with one of the account's keys.
 * Without an account (NULL) none does, after the same work.
 */
bool tv_account_has_signed(const tv_account *account, tv_slice text, tv_slice signature);

/** The account of the URL if it exists and its key may be used from there; NULL otherwise. */
const tv_account *tv_account_for(const tv_auth_policy *policy, const tv_credentials *credentials);

/** Check a SAS and fill in the identity.  Its account is found by tv_account_for. */
tv_err tv_sas_authenticate(const tv_auth_policy *policy, const tv_credentials *credentials,
                           const tv_sas *sas, int64_t now_ticks, tv_arena *arena,
                           tv_identity *ret_identity, tv_error_info *reterr_info) TV_WARN_UNUSED;

/**
 * A client that is refused because the well-known key may not be used from there
 * is told so: by the account's name, whether or not there is such an account, and
 * on the server's own machine by the key.
 */
bool tv_is_development_refused(const tv_auth_policy *policy, const tv_credentials *credentials);

/* refusal.c: TV_ERR_AUTHENTICATION_FAILED, and why. */
tv_err tv_refuse(tv_error_info *reterr_info, const char *reason);
tv_err tv_refuse_empty(tv_arena *arena, const char *field, tv_error_info *reterr_info);
tv_err tv_refuse_date(tv_arena *arena, tv_slice date, tv_error_info *reterr_info);
tv_err tv_refuse_key_signature(tv_arena *arena, tv_slice signature, tv_slice text,
                               tv_error_info *reterr_info);
tv_err tv_refuse_sas_signature(tv_arena *arena, tv_slice text, tv_error_info *reterr_info);

/** A SAS before its start or after its expiry; `start` is NULL without one. */
tv_err tv_refuse_time(tv_arena *arena, const int64_t *start, int64_t expiry, int64_t now,
                      tv_error_info *reterr_info);
tv_err tv_refuse_development(tv_arena *arena, tv_service_kind service, tv_error_info *reterr_info);

#endif
