/*
 * What a connection string means: credentials, and where the services are.
 *
 * Endpoints that are not given are made of the account's name, as the SDKs make them; but not when
 * one of the others is in path style.  Then the account is an emulator's, and a request that went
 * to Azure instead, with its name, would be a mistake of ours.
 */
#include "client/account/connection.h"

#include <openssl/crypto.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/url.h"
#include "client/account/settings.h"
#include "client/text.h"
#include "client/why.h"

enum { KEY_TEXT_MAX = 4096, NAME_MAX_LEN = 63 };

static const char *const development_account = "devstoreaccount1";
static const char *const development_key =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
static const int development_ports[TVC_SERVICES] = {10002, 10001, 10000};

/* What is being made, and what stands against it. */
typedef struct reader {
    const tvc_settings *settings;
    bool has_tokens; /* of the application */
    tvc_connection *to;
    tvc_complaint complaint;
    bool is_short; /* of memory: then there is no complaint */
} reader;

static bool has(const reader *r, tvc_setting setting)
{
    return r->settings->values[setting].data != NULL;
}

static bool check_memory(reader *r, const void *memory)
{
    if (memory == NULL)
        r->is_short = true;
    return memory != NULL;
}

/* --- credentials --- */

static bool is_name(tv_slice text, const char *marks)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = tv_ascii_lower(text.data[i]);

        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && (c == 0 || !strchr(marks, c)))
            return false;
    }
    return text.len > 0;
}

static bool read_account(reader *r, tv_slice name)
{
    if (name.len && (name.len > NAME_MAX_LEN || !is_name(name, "-_")))
        return tvc_complain(&r->complaint, "AccountName is not a name of letters and digits");

    r->to->credentials.account = tvc_dup(name);
    return check_memory(r, r->to->credentials.account);
}

static bool read_key(reader *r, tv_slice text)
{
    char secret[KEY_TEXT_MAX];
    size_t len = 0;
    bool is_good = text.len <= sizeof secret && tv_base64_decode(secret, text, &len) && len > 0;

    if (is_good) {
        tv_hmac_key_init(&r->to->credentials.key, (tv_slice){secret, len});
        r->to->credentials.has_key = true;
    }
    OPENSSL_cleanse(secret, sizeof secret);
    return is_good || tvc_complain(&r->complaint, "AccountKey is not valid base64");
}

static bool has_signature(tv_slice query)
{
    tv_slice part;

    while (tv_slice_next(&query, '&', &part)) {
        if (part.len > 4 && tv_slice_starts_with(part, TV_LIT("sig=")))
            return true;
    }
    return false;
}

/* Given by itself or after the '?' of an endpoint: any number of times, if it is the same. */
static bool read_sas(reader *r, const char *where, tv_slice query)
{
    char **sas = &r->to->credentials.sas;

    while (query.len && (query.data[0] == '?' || query.data[0] == '&'))
        query = tv_slice_skip(query, 1);
    if (!tv_url_is_visible(query) || !has_signature(query))
        return tvc_complain(&r->complaint, "%s has no usable shared access signature", where);
    if (*sas)
        return tv_slice_eq(tv_slice_of(*sas), query) ||
               tvc_complain(&r->complaint, "%s has another signature than the rest", where);

    *sas = tvc_dup(query);
    return check_memory(r, *sas);
}

/* --- endpoints --- */

/* Nothing in it can end a line or be taken for another request than ours. */
static bool parse_url(tv_slice text, tv_url *ret_url)
{
    const char *why;

    return tv_url_is_visible(text) && tv_url_parse(text, ret_url, &why) &&
           tv_url_is_http(ret_url) && ret_url->user.data == NULL;
}

static tv_slice scheme_of(const tv_url *url)
{
    return tv_url_is(url, TV_LIT("https")) ? TV_LIT("https://") : TV_LIT("http://");
}

static char *join(tv_slice scheme, tv_slice host, tv_slice suffix, tv_slice rest)
{
    tvc_text text = {0};

    tvc_text_add(&text, scheme);
    tvc_text_add(&text, host);
    tvc_text_add(&text, suffix);
    tvc_text_add(&text, rest);
    return tvc_text_take(&text);
}

/*
 * The twin of an endpoint: "-secondary" after the account, in the path or in the host's name, if
 * the account can be told: in a host that is the account's own name or "account.table.anything".
 */
static bool make_secondary(reader *r, tv_service_kind service, const tv_url *primary)
{
    tv_slice suffix = TV_LIT("-secondary"), account = tv_slice_of(r->to->credentials.account);
    tv_slice scheme = scheme_of(primary), place = primary->place;
    size_t dot = tv_slice_find(place, '.');
    tv_slice label = tv_slice_take(place, dot), rest = tv_slice_skip(place, dot);
    char middle[16];
    char *url;

    snprintf(middle, sizeof middle, ".%s.", tv_service_kind_name(service).data);
    if (primary->path.len)
        url = join(scheme, place, primary->path, suffix);
    else if (rest.len && (account.len ? tv_slice_eq_nocase(label, account)
                                      : tv_slice_starts_with(rest, tv_slice_of(middle))))
        url = join(scheme, label, suffix, rest);
    else
        return true;

    r->to->secondary[service] = url;
    return check_memory(r, url);
}

static bool read_url(reader *r, tvc_setting setting, char **ret_url, tv_url *ret_parts)
{
    const char *name = tvc_setting_name(setting);

    if (!parse_url(r->settings->values[setting], ret_parts))
        return tvc_complain(&r->complaint, "%s is not an http or https URL", name);
    if (ret_parts->query.data && !read_sas(r, name, ret_parts->query))
        return false;

    ret_parts->path = tv_url_base_path(ret_parts);
    *ret_url = join(scheme_of(ret_parts), ret_parts->place, ret_parts->path, TV_NONE);
    return check_memory(r, *ret_url);
}

/* Where Azure has an endpoint that is not given. */
static bool make_default(reader *r, tv_service_kind service, char **ret_url)
{
    const tv_slice *values = r->settings->values;
    bool is_http = has(r, TVC_DEFAULT_ENDPOINTS_PROTOCOL) &&
                   tv_slice_eq_nocase(values[TVC_DEFAULT_ENDPOINTS_PROTOCOL], TV_LIT("http"));
    tv_slice suffix = values[TVC_ENDPOINT_SUFFIX];
    tvc_text text = {0};

    tvc_text_add(&text, is_http ? TV_LIT("http://") : TV_LIT("https://"));
    tvc_text_add(&text, tv_slice_of(r->to->credentials.account));
    tvc_text_add_char(&text, '.');
    tvc_text_add(&text, tv_service_kind_name(service));
    tvc_text_add_char(&text, '.');
    tvc_text_add(&text, suffix.data ? suffix : TV_LIT("core.windows.net"));
    *ret_url = tvc_text_take(&text);
    return check_memory(r, *ret_url);
}

static bool make_development(reader *r, tv_service_kind service, char **ret_url)
{
    tv_slice scheme = TV_LIT("http://"), host = TV_LIT("127.0.0.1");
    tv_url proxy;
    tvc_text text = {0};

    if (has(r, TVC_DEVELOPMENT_STORAGE_PROXY_URI)) {
        if (!parse_url(r->settings->values[TVC_DEVELOPMENT_STORAGE_PROXY_URI], &proxy))
            return tvc_complain(&r->complaint,
                                "DevelopmentStorageProxyUri is not an http or https URL");
        /* Its port is not used: there are three. */
        scheme = scheme_of(&proxy);
        host = tv_url_written_host(&proxy);
    }
    tvc_text_add(&text, scheme);
    tvc_text_add(&text, host);
    tvc_text_add_char(&text, ':');
    tvc_text_add_int64(&text, development_ports[service]);
    tvc_text_add_char(&text, '/');
    tvc_text_add(&text, tv_slice_of(development_account));
    *ret_url = tvc_text_take(&text);
    return check_memory(r, *ret_url);
}

static bool has_path_style(const reader *r)
{
    tv_url parts;

    for (int i = 0; i < TVC_SERVICES; i++) {
        tv_slice url = r->settings->values[TVC_ENDPOINT + i];

        if (url.data && parse_url(url, &parts) && tv_url_base_path(&parts).len)
            return true;
    }
    return false;
}

static bool has_endpoint(const reader *r)
{
    bool found = false;

    for (int i = 0; i < TVC_SERVICES; i++)
        found |= has(r, TVC_ENDPOINT + i);
    return found;
}

/* Whether endpoints that are not given are where Azure has them. */
static bool has_defaults(const reader *r)
{
    if (r->to->credentials.account[0] == '\0')
        return false;
    return !has_endpoint(r) ||
           ((has(r, TVC_DEFAULT_ENDPOINTS_PROTOCOL) || has(r, TVC_ENDPOINT_SUFFIX)) &&
            !has_path_style(r));
}

static bool read_service(reader *r, tv_service_kind service)
{
    char **primary = &r->to->primary[service], **secondary = &r->to->secondary[service];
    tv_url parts, ignored;

    if (has(r, TVC_ENDPOINT + service)) {
        if (!read_url(r, TVC_ENDPOINT + service, primary, &parts))
            return false;
    } else if (has(r, TVC_USE_DEVELOPMENT_STORAGE)) {
        if (!make_development(r, service, primary))
            return false;
    } else if (has_defaults(r)) {
        if (!make_default(r, service, primary))
            return false;
    } else if (has(r, TVC_SECONDARY_ENDPOINT + service)) {
        return tvc_complain(&r->complaint, "%s needs %s",
                            tvc_setting_name(TVC_SECONDARY_ENDPOINT + service),
                            tvc_setting_name(TVC_ENDPOINT + service));
    } else {
        return true;
    }

    if (has(r, TVC_SECONDARY_ENDPOINT + service))
        return read_url(r, TVC_SECONDARY_ENDPOINT + service, secondary, &ignored);
    if (!parse_url(tv_slice_of(*primary), &parts)) /* put together: the host ends with the suffix */
        return tvc_complain(&r->complaint, "EndpointSuffix is not the end of a host's name");
    return make_secondary(r, service, &parts);
}

/* --- the whole --- */

/* What makes no sense together; which of two was meant we do not guess. */
static bool check_settings(reader *r)
{
    static const tvc_setting not_with_development[] = {
        TVC_ACCOUNT_NAME,
        TVC_ACCOUNT_KEY,
        TVC_SHARED_ACCESS_SIGNATURE,
        TVC_ENDPOINT_SUFFIX,
        TVC_DEFAULT_ENDPOINTS_PROTOCOL,
    };
    const tv_slice *values = r->settings->values;
    tv_slice protocol = values[TVC_DEFAULT_ENDPOINTS_PROTOCOL];

    if (has(r, TVC_USE_DEVELOPMENT_STORAGE)) {
        if (!tv_slice_eq_nocase(values[TVC_USE_DEVELOPMENT_STORAGE], TV_LIT("true")))
            return tvc_complain(&r->complaint, "UseDevelopmentStorage can only be true");
        for (size_t i = 0; i < sizeof not_with_development / sizeof *not_with_development; i++) {
            if (has(r, not_with_development[i]))
                return tvc_complain(&r->complaint, "UseDevelopmentStorage excludes %s",
                                    tvc_setting_name(not_with_development[i]));
        }
    } else if (has(r, TVC_DEVELOPMENT_STORAGE_PROXY_URI)) {
        return tvc_complain(&r->complaint,
                            "DevelopmentStorageProxyUri needs UseDevelopmentStorage=true");
    }
    if (protocol.data && !tv_slice_eq_nocase(protocol, TV_LIT("http")) &&
        !tv_slice_eq_nocase(protocol, TV_LIT("https")))
        return tvc_complain(&r->complaint, "DefaultEndpointsProtocol is neither http nor https");
    if (has(r, TVC_ENDPOINT_SUFFIX) && !is_name(values[TVC_ENDPOINT_SUFFIX], "-.:"))
        return tvc_complain(&r->complaint, "EndpointSuffix is not the end of a host's name");
    if (has(r, TVC_ACCOUNT_KEY) && !has(r, TVC_ACCOUNT_NAME))
        return tvc_complain(&r->complaint, "AccountKey needs AccountName");
    if (!has(r, TVC_USE_DEVELOPMENT_STORAGE) && !has(r, TVC_ACCOUNT_NAME) && !has_endpoint(r))
        return tvc_complain(&r->complaint, "neither AccountName nor an endpoint is given");
    return true;
}

static bool read_credentials(reader *r)
{
    const tv_slice *values = r->settings->values;

    if (has(r, TVC_USE_DEVELOPMENT_STORAGE))
        return read_account(r, tv_slice_of(development_account)) &&
               read_key(r, tv_slice_of(development_key));
    return read_account(r, values[TVC_ACCOUNT_NAME]) &&
           (!has(r, TVC_ACCOUNT_KEY) || read_key(r, values[TVC_ACCOUNT_KEY])) &&
           (!has(r, TVC_SHARED_ACCESS_SIGNATURE) ||
            read_sas(r, tvc_setting_name(TVC_SHARED_ACCESS_SIGNATURE),
                     values[TVC_SHARED_ACCESS_SIGNATURE]));
}

/* There is one way to be let in. */
static bool check_credentials(reader *r)
{
    const tvc_credentials *credentials = &r->to->credentials;

    if (credentials->has_key && credentials->sas)
        return tvc_complain(&r->complaint,
                            "an account key and a shared access signature exclude each other");
    if (!r->has_tokens)
        return credentials->has_key || credentials->sas ||
               tvc_complain(&r->complaint, "neither AccountKey nor SharedAccessSignature is given");
    if (credentials->has_key || credentials->sas)
        return tvc_complain(&r->complaint, "%s and bearer tokens exclude each other",
                            credentials->sas ? "a shared access signature" : "an account key");
    return true;
}

static bool read_all(reader *r)
{
    if (!check_settings(r) || !read_credentials(r))
        return false;
    for (int i = 0; i < TVC_SERVICES; i++) {
        if (!read_service(r, (tv_service_kind)i))
            return false;
    }
    return check_credentials(r);
}

tavola_err tvc_connection_parse(const char *text, bool has_tokens, tvc_connection *ret_connection)
{
    tvc_settings settings;
    tvc_connection connection = {0};
    reader r = {.settings = &settings, .has_tokens = has_tokens, .to = &connection};

    if (tvc_settings_parse(text, &settings, &r.complaint) && read_all(&r)) {
        *ret_connection = connection;
        tv_hmac_key_done(&connection.credentials.key); /* the copy on our stack */
        return TAVOLA_OK;
    }

    tvc_connection_done(&connection);
    if (r.is_short)
        return TAVOLA_ERR_NO_MEMORY;
    return tvc_refuse(TAVOLA_ERR_INVALID, "%s", r.complaint.text);
}

void tvc_connection_done(tvc_connection *connection)
{
    tvc_release(connection->credentials.account);
    tvc_release_secret(connection->credentials.sas);
    if (connection->credentials.has_key)
        tv_hmac_key_done(&connection->credentials.key);
    for (int i = 0; i < TVC_SERVICES; i++) {
        tvc_release(connection->primary[i]);
        tvc_release(connection->secondary[i]);
    }
    *connection = (tvc_connection){0};
}
