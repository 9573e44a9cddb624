/* Who is asking: SharedKey and SharedKeyLite here, SAS in sas_check.c; and what they may do. */
#include "model/auth/identity_internal.h"

#include <openssl/crypto.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/datetime.h"

tv_slice tv_identity_account(const tv_identity *identity)
{
    return tv_slice_of(identity->account->name);
}

tv_share *tv_identity_share(const tv_identity *identity)
{
    return identity->is_anonymous ? identity->account->public_share : identity->account->share;
}

tv_slice tv_identity_turns(const tv_identity *identity)
{
    return identity->is_anonymous ? TV_LIT("") : tv_identity_account(identity);
}

struct tv_target_account *tv_identity_targets(const tv_identity *identity)
{
    return identity->account->targets;
}

const tv_key_limits *tv_identity_key_limits(const tv_identity *identity)
{
    return identity->has_limits ? &identity->limits : NULL;
}

const tv_header_overrides *tv_identity_overrides(const tv_identity *identity)
{
    return identity->has_overrides ? &identity->overrides : NULL;
}

bool tv_identity_is_anonymous(const tv_identity *identity)
{
    return identity->is_anonymous;
}

bool tv_identity_is_development(const tv_identity *identity)
{
    return identity->account->is_development && !identity->is_anonymous;
}

/* Names of tables ignore case; the others are as they are. */
static bool is_same_container(const tv_identity *identity, tv_slice name)
{
    return identity->service == TV_SERVICE_TABLE ? tv_slice_eq_nocase(identity->container, name)
                                                 : tv_slice_eq(identity->container, name);
}

/* Whether what is touched is what a service SAS is for. */
static bool is_within(const tv_identity *identity, const tv_need *need)
{
    if (!is_same_container(identity, need->container))
        return false;
    if (identity->sas == TV_SAS_BLOB && !tv_slice_eq(identity->blob, need->blob))
        return false;
    return identity->snapshot.len == 0 || tv_slice_eq(identity->snapshot, need->snapshot);
}

tv_err tv_identity_allows(const tv_identity *identity, const tv_need *need)
{
    if (identity->is_anonymous)
        return need->is_public ? TV_OK : TV_ERR_NO_AUTHENTICATION;
    if (identity->sas == 0)
        return TV_OK;
    if (!(need->sas & identity->sas))
        return TV_ERR_AUTHORIZATION_FAILURE;
    if (identity->sas != TV_SAS_ACCOUNT && !is_within(identity, need))
        return TV_ERR_AUTHORIZATION_FAILURE;
    if (identity->sas == TV_SAS_ACCOUNT && !(identity->resource_types & need->type))
        return TV_ERR_RESOURCE_TYPE_MISMATCH;
    if ((identity->permissions & need->all_of) != need->all_of ||
        (need->any_of && !(identity->permissions & need->any_of)))
        return TV_ERR_PERMISSION_MISMATCH;
    return TV_OK;
}

/* "SharedKeyLite account:signature" -> its three parts. */
static tv_err split_authorization(tv_slice text, tv_slice *ret_scheme, tv_slice *ret_account,
                                  tv_slice *ret_signature)
{
    size_t blank = tv_slice_find(text, ' ');

    if (blank == text.len)
        return TV_ERR_AUTHENTICATION_INFO;

    tv_slice rest = tv_slice_trim(tv_slice_skip(text, blank));
    size_t colon = tv_slice_find(rest, ':');

    *ret_scheme = tv_slice_take(text, blank);
    if (tv_slice_eq_nocase(*ret_scheme, TV_LIT("Bearer")))
        return TV_ERR_BEARER_REFUSED;
    if (colon == rest.len)
        return TV_ERR_AUTHENTICATION_INFO;

    *ret_account = tv_slice_take(rest, colon);
    *ret_signature = tv_slice_skip(rest, colon + 1);
    return TV_OK;
}

static tv_err scheme_parse(tv_slice scheme, bool *ret_is_lite)
{
    *ret_is_lite = tv_slice_eq(scheme, TV_LIT("SharedKeyLite"));
    return *ret_is_lite || tv_slice_eq(scheme, TV_LIT("SharedKey")) ? TV_OK
                                                                    : TV_ERR_AUTHENTICATION_INFO;
}

/* The date line that was signed, checked to be recent. */
static tv_err check_date(tv_credentials *credentials, int64_t now_ticks, tv_arena *arena,
                         tv_error_info *reterr_info)
{
    int64_t skew_max = TV_CLOCK_SKEW_SECONDS * TV_TICKS_PER_SECOND;
    int64_t signed_ticks;

    credentials->parts.date =
        credentials->x_ms_date.len ? credentials->x_ms_date : credentials->date;
    if (credentials->parts.date.len == 0)
        return tv_refuse(reterr_info, "Request date header not specified");
    if (!tv_http_date_parse(credentials->parts.date, &signed_ticks))
        return tv_refuse(reterr_info, "The Date header in the request is incorrect.");
    if (signed_ticks > now_ticks + skew_max)
        return tv_refuse(reterr_info, "The Date header in the request is incorrect.");
    if (signed_ticks < now_ticks - skew_max)
        return tv_refuse_date(arena, credentials->parts.date, reterr_info);
    return TV_OK;
}

bool tv_host_is_local(tv_slice host)
{
    static const tv_slice local = {"localhost", 9};

    if (host.len && host.data[0] == '[')
        return true; /* only an IPv6 address has brackets */

    host = tv_slice_take(host, tv_slice_find(host, ':'));

    bool is_number = host.len > 0;

    for (size_t i = 0; i < host.len; i++)
        is_number &= (host.data[i] >= '0' && host.data[i] <= '9') || host.data[i] == '.';
    if (is_number || host.len < local.len)
        return is_number;

    tv_slice end = tv_slice_skip(host, host.len - local.len);

    return tv_slice_eq_nocase(end, local) &&
           (host.len == local.len || host.data[host.len - local.len - 1] == '.');
}

/* The well-known key is no secret, so it opens the door only from within the house. */
static bool may_use_development_key(const tv_auth_policy *policy, const tv_credentials *credentials)
{
    return policy->allow_dev_anywhere ||
           (credentials->is_peer_loopback && tv_host_is_local(credentials->host));
}

static bool is_signed_by(const tv_hmac_key *key, tv_slice text, tv_slice signature)
{
    unsigned char mac[TV_HMAC_BYTES];
    char expected[(TV_HMAC_BYTES + 2) / 3 * 4];

    tv_hmac_sign(key, text, mac);
    tv_base64_encode(expected, (tv_slice){(const char *)mac, sizeof mac});
    return signature.len == sizeof expected &&
           CRYPTO_memcmp(signature.data, expected, sizeof expected) == 0;
}

bool tv_account_has_signed(const tv_account *account, tv_slice text, tv_slice signature)
{
    /* The time that an answer takes does not tell whether there is such an account. */
    if (account == NULL) {
        tv_hmac_key nobody;

        tv_hmac_key_init(&nobody, TV_LIT(""));
        is_signed_by(&nobody, text, signature);
        return false;
    }
    for (int i = 0; i < account->key_count; i++) {
        if (is_signed_by(&account->keys[i], text, signature))
            return true;
    }
    return false;
}

bool tv_is_development_refused(const tv_auth_policy *policy, const tv_credentials *credentials)
{
    const tv_account *account =
        tv_accounts_find(atomic_load(&policy->accounts), credentials->parts.account);

    if (may_use_development_key(policy, credentials))
        return false;
    return tv_slice_eq(credentials->parts.account, TV_LIT(TV_DEVELOPMENT_ACCOUNT)) ||
           (credentials->is_peer_loopback && account && account->is_development);
}

const tv_account *tv_account_for(const tv_auth_policy *policy, const tv_credentials *credentials)
{
    const tv_account *account =
        tv_accounts_find(atomic_load(&policy->accounts), credentials->parts.account);

    if (account && account->is_development && !may_use_development_key(policy, credentials))
        return NULL;
    return account;
}

static bool is_among(tv_slice text, const tv_slice *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tv_slice_eq(text, texts[i]))
            return true;
    }
    return false;
}

/* A longer text is read in one way only: each reading costs a digest of all that was sent. */
enum { READINGS_BYTES_MAX = 16 * 1024 };

/*
 * A queue's or blob's text in any of its readings; nearly always they are one and
 * the same.  *ret_text is the first of them, empty when there is none.
 */
static bool has_signed_full(const tv_account *account, const tv_signed_parts *parts, bool is_lite,
                            tv_slice signature, tv_arena *arena, tv_slice *ret_text)
{
    tv_slice texts[TV_CANONICAL_READINGS];
    tv_canonical canonical;

    *ret_text = TV_LIT("");
    if (!tv_canonical_read(arena, parts, &canonical))
        return false;

    unsigned count = canonical.len_max > READINGS_BYTES_MAX ? 1 : TV_CANONICAL_READINGS;

    for (unsigned i = 0; i < count; i++) {
        texts[i] = tv_canonical_text(arena, &canonical, is_lite, i);
        if (!is_among(texts[i], texts, i) && tv_account_has_signed(account, texts[i], signature))
            return true;
    }
    *ret_text = texts[0];
    return false;
}

/* On failure *ret_text is what should have been signed. */
static bool has_signed(const tv_account *account, const tv_signed_parts *parts, bool is_lite,
                       tv_slice signature, tv_arena *arena, tv_slice *ret_text)
{
    if (parts->service != TV_SERVICE_TABLE)
        return has_signed_full(account, parts, is_lite, signature, arena, ret_text);
    *ret_text = is_lite ? tv_canonical_shared_key_lite(arena, parts)
                        : tv_canonical_shared_key(arena, parts);
    return tv_account_has_signed(account, *ret_text, signature);
}

/*
 * "/account-secondary/rest" as "/account/rest".  The storage emulator expects the signature of this
 * path, and Microsoft's older clients for .NET make it; others sign the path that they send.
 */
static tv_slice path_of_primary(tv_arena *arena, const tv_signed_parts *parts)
{
    size_t begin = 1 + parts->account.len;
    tv_slice rest = tv_slice_skip(parts->path, begin + sizeof "-secondary" - 1);
    char *path = tv_arena_bytes(arena, begin + rest.len);

    tv_slice_put(tv_slice_put(path, tv_slice_take(parts->path, begin)), rest);
    return (tv_slice){path, begin + rest.len};
}

/* By the path that was sent, or else by that of the primary. */
static bool has_signed_either(const tv_account *account, const tv_credentials *credentials,
                              bool is_lite, tv_slice signature, tv_arena *arena, tv_slice *ret_text)
{
    tv_signed_parts primary = credentials->parts;
    tv_slice ignored;

    if (has_signed(account, &credentials->parts, is_lite, signature, arena, ret_text))
        return true;
    if (!credentials->is_secondary_by_path)
        return false;
    primary.path = path_of_primary(arena, &primary);
    return has_signed(account, &primary, is_lite, signature, arena, &ignored);
}

static tv_err authenticate_key(const tv_auth_policy *policy, tv_credentials *credentials,
                               int64_t now_ticks, tv_arena *arena, tv_identity *ret_identity,
                               tv_error_info *reterr_info)
{
    tv_slice scheme, account_name, signature, text;
    bool is_lite;
    tv_err err;

    err = split_authorization(credentials->authorization, &scheme, &account_name, &signature);
    if (err)
        return err;

    err = scheme_parse(scheme, &is_lite);
    if (err)
        return err;

    err = check_date(credentials, now_ticks, arena, reterr_info);
    if (err)
        return err;
    if (tv_is_development_refused(policy, credentials))
        return tv_refuse_development(arena, credentials->parts.service, reterr_info);

    credentials->parts.query = credentials->query;

    const tv_account *account = tv_account_for(policy, credentials);

    if (!has_signed_either(account, credentials, is_lite, signature, arena, &text) ||
        !tv_slice_eq(account_name, credentials->parts.account))
        return tv_refuse_key_signature(arena, signature, text, reterr_info);

    *ret_identity = (tv_identity){.account = account, .service = credentials->parts.service};
    return TV_OK;
}

tv_err tv_authenticate(const tv_auth_policy *policy, tv_credentials *credentials, int64_t now_ticks,
                       tv_arena *arena, const tv_identity **ret_identity,
                       tv_error_info *reterr_info)
{
    tv_identity *identity = tv_arena_alloc(arena, sizeof *identity);
    tv_sas sas;
    bool is_sas;
    tv_err err;

    /* With an Authorization header, parameters that look like a SAS are just parameters. */
    if (credentials->authorization.data) {
        err = authenticate_key(policy, credentials, now_ticks, arena, identity, reterr_info);
    } else {
        err = tv_sas_parse(arena, &credentials->query, &sas, &is_sas);
        if (err)
            return tv_refuse(reterr_info, "Signature fields not well formed.");
        if (err == TV_OK && !is_sas)
            err = TV_ERR_NO_AUTHENTICATION;
        if (err == TV_OK)
            err = tv_sas_authenticate(policy, credentials, &sas, now_ticks, arena, identity,
                                      reterr_info);
    }
    if (err)
        return err;

    *ret_identity = identity;
    return TV_OK;
}

tv_err tv_authenticate_anonymous(const tv_auth_policy *policy, const tv_credentials *credentials,
                                 tv_arena *arena, const tv_identity **ret_identity,
                                 tv_error_info *reterr_info)
{
    const tv_account *account = tv_account_for(policy, credentials);
    tv_identity *identity = tv_arena_alloc(arena, sizeof *identity);

    if (tv_is_development_refused(policy, credentials))
        return tv_refuse_development(arena, credentials->parts.service, reterr_info);
    if (account == NULL)
        return TV_ERR_NO_AUTHENTICATION;

    *identity = (tv_identity){
        .account = account, .service = credentials->parts.service, .is_anonymous = true};
    *ret_identity = identity;
    return TV_OK;
}

tv_err tv_authenticate_owner(const tv_auth_policy *policy, tv_service_kind service,
                             tv_slice account, tv_arena *arena, const tv_identity **ret_identity,
                             tv_error_info *reterr_info)
{
    const tv_account *found = tv_accounts_find(atomic_load(&policy->accounts), account);
    tv_identity *identity = tv_arena_alloc(arena, sizeof *identity);

    if (found == NULL)
        return tv_refuse(reterr_info, "There is no such account on this server.");

    *identity = (tv_identity){.account = found, .service = service};
    *ret_identity = identity;
    return TV_OK;
}
