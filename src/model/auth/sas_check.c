/*
 * Whether a SAS is good: signed, in time, from the right place, and not at odds
 * with the stored policy that it refers to.
 */
#include "model/auth/identity_internal.h"

#include "base/assert.h"
#include "base/datetime.h"

/* --- the signature covers everything, so it is checked before anything else is believed --- */

static tv_slice signed_text(const tv_credentials *credentials, const tv_sas *sas, tv_slice account,
                            tv_arena *arena)
{
    if (tv_sas_is_account(sas))
        return tv_sas_account_text(arena, sas, account);
    switch (credentials->parts.service) {
    case TV_SERVICE_TABLE:
        return tv_sas_table_text(arena, sas, account);
    case TV_SERVICE_QUEUE:
        return tv_sas_queue_text(arena, sas, account, credentials->container);
    case TV_SERVICE_BLOB:
        return tv_sas_blob_text(arena, sas, account, credentials->container, credentials->blob);
    }
    tv_assert(!"an unknown service");
    return TV_NONE;
}

static bool has(tv_slice text, char c)
{
    return tv_slice_find(text, c) < text.len;
}

/*
 * Lines separate what is signed, so a name with one could pass for other fields;
 * and a slash separates the container from the blob.
 */
static bool is_signable(const tv_credentials *credentials)
{
    return !has(credentials->container, '\n') && !has(credentials->container, '/') &&
           !has(credentials->blob, '\n');
}

static tv_err check_signature(const tv_credentials *credentials, const tv_account *account,
                              const tv_sas *sas, tv_arena *arena, tv_error_info *reterr_info)
{
    tv_slice text;

    if (!tv_sas_is_account(sas) && !is_signable(credentials))
        return tv_refuse(reterr_info, "Signature fields not well formed.");

    text = signed_text(credentials, sas, credentials->parts.account, arena);
    return tv_account_has_signed(account, text, sas->signature)
               ? TV_OK
               : tv_refuse_sas_signature(arena, text, reterr_info);
}

/*
 * In the oldest layout the text for a queue is the same as that for a container of
 * its name, and a token for one could open the other.  Such tokens open neither.
 * That of a blob names it after a slash, which no queue has.
 */
static bool is_ambiguous(const tv_credentials *credentials, const tv_sas *sas)
{
    if (tv_sas_is_account(sas) || tv_sas_is_since(sas, "2013-08-15"))
        return false;
    return credentials->parts.service == TV_SERVICE_QUEUE ||
           (credentials->parts.service == TV_SERVICE_BLOB &&
            !tv_slice_eq(sas->resource, TV_LIT("b")));
}

/* Older SAS, for blobs alone, have no version; and one that is not a date could sort anywhere. */
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
                                  tv_slice container, tv_arena *arena, tv_sas *sas,
                                  tv_error_info *reterr_info)
{
    tv_access_policies policies = {.count = 0};
    tv_err err;

    if (policy->find_policies == NULL ||
        policy->find_policies(policy->ctx, tv_slice_of(account->name), container, arena, &policies))
        policies.count = 0;

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
    return tv_refuse(reterr_info, "No stored access policy has the signed identifier.");
}

/* --- circumstances --- */

static tv_err check_time(const tv_sas *sas, int64_t now_ticks, tv_arena *arena,
                         tv_error_info *reterr_info)
{
    bool has_start = sas->start.len > 0;
    int64_t start = 0, expiry;

    if (sas->expiry.len == 0)
        return tv_refuse_empty(arena, "se", reterr_info);
    if ((has_start && !tv_sas_parse_time(sas->start, &start)) ||
        !tv_sas_parse_time(sas->expiry, &expiry))
        return tv_refuse(reterr_info, "Signature fields not well formed.");
    if ((has_start && now_ticks < start) || now_ticks > expiry)
        return tv_refuse_time(arena, has_start ? &start : NULL, expiry, now_ticks, reterr_info);
    return TV_OK;
}

static tv_err check_origin(const tv_sas *sas, const tv_credentials *credentials,
                           tv_error_info *reterr_info)
{
    if (sas->protocol.len) {
        bool is_both = tv_slice_eq(sas->protocol, TV_LIT("https,http")) ||
                       tv_slice_eq(sas->protocol, TV_LIT("http,https"));

        if (!is_both && !tv_slice_eq(sas->protocol, TV_LIT("https")))
            return tv_refuse(reterr_info, "Signature fields not well formed.");
        if (!is_both && !credentials->is_tls)
            return TV_ERR_PROTOCOL_MISMATCH;
    }
    if (sas->ip.len && !tv_sas_ip_matches(sas->ip, credentials->peer))
        return TV_ERR_SOURCE_IP_MISMATCH;
    return TV_OK;
}

/* --- what it permits --- */

/* In the order of tv_permission.  Letters that nothing here asks for are ignored. */
static unsigned permissions_of(tv_slice letters)
{
    static const char known[] = TV_PERMISSION_LETTERS;
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
    static const char known[] = TV_RESOURCE_TYPE_LETTERS;
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
    char letter = tv_service_kind_letter(identity->service);

    if (tv_slice_find(sas->services, letter) == sas->services.len)
        return TV_ERR_SERVICE_MISMATCH;

    identity->sas = TV_SAS_ACCOUNT;
    identity->resource_types = resource_types_of(sas->resource_types);
    return TV_OK;
}

/*
 * The signed text is the same for an empty parameter and for none.  For a start
 * that is harmless; for an end it is not: the holder of a token with an empty one
 * could drop it and reach everything.  Such a token never works, so that nobody
 * hands it out.
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

    identity->sas = TV_SAS_CONTAINER;
    identity->container = sas->table;
    identity->has_limits = sas->start_partition.data || sas->end_partition.data;
    identity->limits =
        (tv_key_limits){sas->start_partition, sas->start_row, sas->end_partition, sas->end_row};
    return TV_OK;
}

static tv_err fill_queue_sas(const tv_credentials *credentials, tv_identity *identity)
{
    if (credentials->container.len == 0)
        return TV_ERR_AUTHENTICATION_FAILED;

    identity->sas = TV_SAS_CONTAINER;
    identity->container = credentials->container;
    return TV_OK;
}

/* A header's value: no control character but a tab. */
static bool is_header_value(tv_slice value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char byte = (unsigned char)value.data[i];

        if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
            return false;
    }
    return true;
}

/* Empty and absent sign the same, so they mean the same. */
static bool take_override(tv_slice value, tv_slice *ret_value, bool *has_any)
{
    *ret_value = value.len ? value : TV_NONE;
    *has_any |= value.len > 0;
    return is_header_value(value);
}

/* The oldest layout does not sign these, so there they are ignored. */
static tv_err fill_overrides(const tv_sas *sas, tv_identity *identity)
{
    tv_header_overrides *to = &identity->overrides;
    bool *has_any = &identity->has_overrides;

    if (!tv_sas_is_since(sas, "2013-08-15"))
        return TV_OK;

    bool is_good = take_override(sas->cache_control, &to->cache_control, has_any);

    is_good &= take_override(sas->content_disposition, &to->content_disposition, has_any);
    is_good &= take_override(sas->content_encoding, &to->content_encoding, has_any);
    is_good &= take_override(sas->content_language, &to->content_language, has_any);
    is_good &= take_override(sas->content_type, &to->content_type, has_any);
    return is_good ? TV_OK : TV_ERR_AUTHENTICATION_FAILED;
}

/*
 * Of blobs, containers and snapshots.  Versions of blobs (bv) and directories
 * (d) are for accounts of kinds that this server does not have.
 */
static tv_err fill_blob_sas(const tv_credentials *credentials, const tv_sas *sas,
                            tv_identity *identity)
{
    bool is_blob = tv_slice_eq(sas->resource, TV_LIT("b"));

    if (credentials->container.len == 0)
        return TV_ERR_AUTHENTICATION_FAILED;

    identity->container = credentials->container;
    if (tv_slice_eq(sas->resource, TV_LIT("c"))) {
        identity->sas = TV_SAS_CONTAINER;
        return fill_overrides(sas, identity);
    }
    if (tv_sas_is_snapshot(sas) && tv_sas_is_since(sas, "2018-11-09") && sas->snapshot.len) {
        identity->snapshot = sas->snapshot;
        is_blob = true;
    }
    if (!is_blob || credentials->blob.len == 0)
        return TV_ERR_AUTHENTICATION_FAILED;

    identity->sas = TV_SAS_BLOB;
    identity->blob = credentials->blob;
    return fill_overrides(sas, identity);
}

static tv_err fill(const tv_credentials *credentials, const tv_sas *sas, tv_identity *identity)
{
    if (tv_sas_is_account(sas))
        return fill_account_sas(sas, identity);
    switch (identity->service) {
    case TV_SERVICE_TABLE:
        return fill_table_sas(sas, identity);
    case TV_SERVICE_QUEUE:
        return fill_queue_sas(credentials, identity);
    case TV_SERVICE_BLOB:
        return fill_blob_sas(credentials, sas, identity);
    }
    return TV_ERR_AUTHENTICATION_FAILED;
}

tv_err tv_sas_authenticate(const tv_auth_policy *policy, const tv_credentials *credentials,
                           const tv_sas *given, int64_t now_ticks, tv_arena *arena,
                           tv_identity *ret_identity, tv_error_info *reterr_info)
{
    const tv_account *account = tv_account_for(policy, credentials);
    tv_sas sas = *given;
    tv_err err;

    if (tv_is_development_refused(policy, credentials))
        return tv_refuse_development(arena, credentials->parts.service, reterr_info);
    if (sas.version.len == 0)
        return tv_refuse_empty(arena, "sv", reterr_info);
    if (!is_version(sas.version))
        return tv_refuse(reterr_info, "Signature fields not well formed.");
    if (sas.user.data)
        return tv_refuse(reterr_info, "User delegation is not supported: there are no users here.");

    if (is_ambiguous(credentials, &sas))
        return tv_refuse(reterr_info, "This version of a signature does not say whether it is for "
                                      "a queue or for a container. Use sv=2013-08-15 or later.");

    err = check_signature(credentials, account, &sas, arena, reterr_info);
    if (err)
        return err;

    /* To ignore it would be to promise its owner that what is written lies under that key. */
    if (sas.encryption_scope.len && credentials->parts.service == TV_SERVICE_BLOB)
        return tv_refuse(reterr_info, "Encryption scopes (ses) are not supported by this server.");

    if (sas.policy_id.len && !tv_sas_is_account(&sas)) {
        bool is_table = credentials->parts.service == TV_SERVICE_TABLE;

        err = apply_stored_policy(policy, account, is_table ? sas.table : credentials->container,
                                  arena, &sas, reterr_info);
        if (err)
            return err;
    }
    if (sas.permission.len == 0)
        return tv_refuse_empty(arena, "sp", reterr_info);

    err = check_time(&sas, now_ticks, arena, reterr_info);
    if (err)
        return err;

    err = check_origin(&sas, credentials, reterr_info);
    if (err)
        return err;

    *ret_identity = (tv_identity){.account = account,
                                  .service = credentials->parts.service,
                                  .permissions = permissions_of(sas.permission)};
    err = fill(credentials, &sas, ret_identity);
    return err == TV_ERR_AUTHENTICATION_FAILED
               ? tv_refuse(reterr_info, "Signature fields not well formed.")
               : err;
}
