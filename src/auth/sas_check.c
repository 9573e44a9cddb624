/*
 * Whether a SAS is good: signed, in time, from the right place, and not at odds
 * with the stored policy that it leans on.
 */
#include "auth/identity_internal.h"

#include "base/datetime.h"

/* --- the signature covers everything, so it is checked before anything else is believed --- */

static tv_err check_signature(const tv_account *account, const tv_sas *sas, tv_arena *arena)
{
    tv_slice name = tv_slice_of(account->name);
    tv_slice text = tv_sas_is_account(sas) ? tv_sas_account_text(arena, sas, name)
                                           : tv_sas_table_text(arena, sas, name);

    return tv_account_has_signed(account, text, sas->signature) ? TV_OK
                                                                : TV_ERR_AUTHENTICATION_FAILED;
}

/* Older versions had no SAS for tables, and a version that is no date could sort anywhere. */
static bool is_version(tv_slice version)
{
    return tv_version_is_valid(version) && tv_slice_cmp(version, TV_LIT("2012-02-12")) >= 0;
}

/* --- stored policies --- */

/* A field comes from the token or from the policy, never from both. */
static tv_err combine(tv_slice *token_field, tv_slice policy_field)
{
    if (policy_field.data == NULL || policy_field.len == 0)
        return TV_OK;
    if (token_field->len)
        return TV_ERR_INVALID_QUERY_PARAMETER;

    *token_field = policy_field;
    return TV_OK;
}

static tv_err apply_stored_policy(const tv_auth_policy *policy, const tv_account *account,
                                  tv_arena *arena, tv_sas *sas)
{
    tv_access_policies policies = {.count = 0};
    tv_err err;

    if (policy->find_policies == NULL ||
        policy->find_policies(policy->ctx, tv_slice_of(account->name), sas->table, arena,
                              &policies))
        return TV_ERR_AUTHENTICATION_FAILED;

    for (size_t i = 0; i < policies.count; i++) {
        const tv_access_policy *stored = &policies.list[i];

        if (!tv_slice_eq(stored->id, sas->policy_id))
            continue;
        err = combine(&sas->start, stored->start);
        if (err == TV_OK)
            err = combine(&sas->expiry, stored->expiry);
        if (err == TV_OK)
            err = combine(&sas->permission, stored->permission);
        return err;
    }
    return TV_ERR_AUTHENTICATION_FAILED;
}

/* --- circumstances --- */

static tv_err check_time(const tv_sas *sas, int64_t now_ticks)
{
    int64_t start, expiry;

    if (sas->start.len && (!tv_sas_parse_time(sas->start, &start) || now_ticks < start))
        return TV_ERR_AUTHENTICATION_FAILED;
    if (!tv_sas_parse_time(sas->expiry, &expiry) || now_ticks > expiry)
        return TV_ERR_AUTHENTICATION_FAILED;
    return TV_OK;
}

static tv_err check_origin(const tv_sas *sas, const tv_credentials *credentials)
{
    if (sas->protocol.len) {
        bool is_both = tv_slice_eq(sas->protocol, TV_LIT("https,http")) ||
                       tv_slice_eq(sas->protocol, TV_LIT("http,https"));

        if (!is_both && !tv_slice_eq(sas->protocol, TV_LIT("https")))
            return TV_ERR_AUTHENTICATION_FAILED;
        if (!is_both && !credentials->is_tls)
            return TV_ERR_PROTOCOL_MISMATCH;
    }
    if (sas->ip.len && !tv_sas_ip_matches(sas->ip, credentials->peer))
        return TV_ERR_SOURCE_IP_MISMATCH;
    return TV_OK;
}

/* --- what it permits --- */

/* Letters that have no meaning for tables (p, x, t, …) are passed over. */
static unsigned permissions_of(tv_slice letters)
{
    static const char known[] = "raudwlc";
    unsigned permissions = 0;

    for (size_t i = 0; i < letters.len; i++) {
        const char *found = memchr(known, letters.data[i], sizeof known - 1);

        if (found)
            permissions |= 1u << (found - known);
    }
    return permissions;
}

static unsigned resource_types_of(tv_slice letters)
{
    static const char known[] = "sco";
    unsigned types = 0;

    for (size_t i = 0; i < letters.len; i++) {
        const char *found = memchr(known, letters.data[i], sizeof known - 1);

        if (found)
            types |= 1u << (found - known);
    }
    return types;
}

static tv_err fill_account_sas(const tv_sas *sas, tv_identity *identity)
{
    if (tv_slice_find(sas->services, 't') == sas->services.len)
        return TV_ERR_SERVICE_MISMATCH;

    identity->resource_types = resource_types_of(sas->resource_types);
    return TV_OK;
}

/*
 * The signed text is the same for an empty parameter and for none.  A start does
 * not care; an end does, so whoever holds a token with an empty one could drop it
 * and reach everything.  Such a token never works, so that nobody hands it out.
 */
static bool has_empty_end(const tv_sas *sas)
{
    return (sas->end_partition.data && sas->end_partition.len == 0) ||
           (sas->end_row.data && sas->end_row.len == 0);
}

/* A row key bounds only together with its partition key. */
static tv_err fill_table_sas(const tv_sas *sas, tv_identity *identity)
{
    if (has_empty_end(sas))
        return TV_ERR_AUTHENTICATION_FAILED;
    if (sas->table.len == 0 || (sas->start_row.data && sas->start_partition.data == NULL) ||
        (sas->end_row.data && sas->end_partition.data == NULL))
        return TV_ERR_AUTHENTICATION_FAILED;

    identity->table = sas->table;
    identity->has_limits = sas->start_partition.data || sas->end_partition.data;
    identity->limits =
        (tv_key_limits){sas->start_partition, sas->start_row, sas->end_partition, sas->end_row};
    return TV_OK;
}

tv_err tv_sas_authenticate(const tv_auth_policy *policy, const tv_credentials *credentials,
                           const tv_sas *given, int64_t now_ticks, tv_arena *arena,
                           tv_identity *ret_identity)
{
    const tv_account *account = tv_account_for(policy, credentials);
    tv_sas sas = *given;
    tv_err err;

    if (account == NULL || !is_version(sas.version))
        return TV_ERR_AUTHENTICATION_FAILED;

    err = check_signature(account, &sas, arena);
    if (err)
        return err;

    if (sas.policy_id.len && !tv_sas_is_account(&sas)) {
        err = apply_stored_policy(policy, account, arena, &sas);
        if (err)
            return err;
    }
    if (sas.permission.len == 0)
        return TV_ERR_AUTHENTICATION_FAILED;

    err = check_time(&sas, now_ticks);
    if (err)
        return err;

    err = check_origin(&sas, credentials);
    if (err)
        return err;

    *ret_identity = (tv_identity){
        .account = account, .is_sas = true, .permissions = permissions_of(sas.permission)};
    return tv_sas_is_account(&sas) ? fill_account_sas(&sas, ret_identity)
                                   : fill_table_sas(&sas, ret_identity);
}
