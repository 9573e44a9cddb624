/*
 * Shared access signatures as applications ask for them.  What the service would refuse in any
 * case, or what the signature would not cover, is refused here: a signature that does less than
 * was asked for is worse than none.
 */
#include "client/account/sas.h"

#include "base/clock.h"
#include "base/datetime.h"
#include "base/utf8.h"
#include "client/text.h"
#include "client/why.h"

enum { LETTERS_MAX = 16, POLICY_UNITS_MAX = 64, TIME_LEN = 20, NAME_BYTES_MAX = 4096 };

/* The letters of each kind in the order in which they must be. */
static const char *const letters_of[TVC_SAS_KINDS] = {
    [TVC_SAS_TABLE] = "raud",         [TVC_SAS_ACCOUNT] = "rwdxylacuptfi",
    [TVC_SAS_QUEUE] = "raup",         [TVC_SAS_CONTAINER] = "racwdxyltfmeopi",
    [TVC_SAS_BLOB] = "racwdxytmeopi",
};

/* A signature while it is made: the fields point to what is here and to the caller's texts. */
typedef struct maker {
    tvc_sas_kind kind;
    tavola_sas_options options;
    tv_sas fields;
    char permissions[LETTERS_MAX + 1], services[LETTERS_MAX + 1], types[LETTERS_MAX + 1];
    char start[TV_DATETIME_TEXT_MAX], expiry[TV_DATETIME_TEXT_MAX];
} maker;

/* Letters in their order and once each; false when there are others, or none. */
static bool order_letters(const char *letters, const char *order, char *ret_ordered)
{
    if (letters == NULL || letters[0] == '\0' || letters[strspn(letters, order)] != '\0')
        return false;

    for (; *order; order++) {
        if (strchr(letters, *order))
            *ret_ordered++ = *order;
    }
    *ret_ordered = '\0';
    return true;
}

/* Text without line breaks, which separate the fields in what is signed, or other controls. */
static bool is_plain(const char *text)
{
    tv_slice slice = tv_slice_of(text);

    for (size_t i = 0; i < slice.len; i++) {
        if ((unsigned char)slice.data[i] < 0x20 || slice.data[i] == 0x7F)
            return false;
    }
    return slice.len <= NAME_BYTES_MAX && tv_utf8_is_valid(slice);
}

static bool refuse(const char *why)
{
    (void)tvc_refuse(TAVOLA_ERR_INVALID, "%s", why);
    return false;
}

/* An optional text, which stays NULL when it is not given. */
static bool set_text(tv_slice *field, const char *text)
{
    if (text == NULL)
        return true;
    *field = tv_slice_of(text);
    return is_plain(text) ||
           refuse("a text of the signature has control characters, is not UTF-8, or is too long");
}

/* "2026-01-02T03:04:05Z": the fraction of a second is cut off. */
static bool set_time(tv_slice *field, tavola_ticks ticks, char *text)
{
    if (ticks == 0)
        return true;
    if (ticks < 0 || ticks > TV_TICKS_MAX)
        return refuse("start or expiry lies outside of the years 1 to 9999");

    tv_datetime_format7(text, ticks);
    text[TIME_LEN - 1] = 'Z';
    *field = (tv_slice){text, TIME_LEN};
    return true;
}

static bool set_version(maker *m)
{
    const char *oldest = m->kind == TVC_SAS_ACCOUNT ? "2015-04-05" : "2012-02-12";
    const char *version = m->options.version ? m->options.version : "2019-02-02";

    m->fields.version = tv_slice_of(version);
    return (tv_version_is_valid(m->fields.version) && tv_sas_is_since(&m->fields, oldest)) ||
           refuse("the version is none, or older than such signatures are");
}

static bool set_limits(maker *m)
{
    const tavola_sas_options *options = &m->options;
    const char *range = options->ip_range;
    /* Older texts do not have them: anybody could take them off. */
    bool can_limit = tv_sas_is_since(&m->fields, "2015-04-05");

    if (options->https_only)
        m->fields.protocol = TV_LIT("https");
    if ((options->https_only || range) && !can_limit)
        return refuse("https_only and ip_range need a version from 2015-04-05 on");
    if (range && (range[0] == '\0' || range[strspn(range, "0123456789abcdefABCDEF.:-")] != '\0'))
        return refuse("ip_range is not an address, or two with '-' between them");
    return set_text(&m->fields.ip, range);
}

/* Who signs with a policy may leave to it what the others must say themselves. */
static bool set_grant(maker *m)
{
    const tavola_sas_options *options = &m->options;
    bool has_policy = options->policy_id != NULL;

    if (has_policy && (m->kind == TVC_SAS_ACCOUNT || options->policy_id[0] == '\0'))
        return refuse(
            "policy_id is empty, or the signature is of an account, which has no policies");
    if (has_policy && !set_text(&m->fields.policy_id, options->policy_id))
        return false;
    if (has_policy && tv_utf8_units(m->fields.policy_id) > POLICY_UNITS_MAX)
        return refuse("policy_id has more than 64 characters");
    if (!has_policy && options->expiry == 0)
        return refuse("without a policy the signature needs an expiry");
    if (options->start && options->expiry && options->start >= options->expiry)
        return refuse("the signature would expire before it starts");
    if (options->permissions || !has_policy) {
        if (!order_letters(options->permissions, letters_of[m->kind], m->permissions))
            return refuse("permissions are missing, or have letters that there are not here");
        m->fields.permission = tv_slice_of(m->permissions);
    }
    return set_time(&m->fields.start, options->start, m->start) &&
           set_time(&m->fields.expiry, options->expiry, m->expiry);
}

static bool set_bounds(maker *m)
{
    const tavola_sas_options *options = &m->options;

    if (m->kind != TVC_SAS_TABLE)
        return (!options->start_pk && !options->start_rk && !options->end_pk && !options->end_rk) ||
               refuse("only the signature of a table can have first and last keys");
    if ((options->start_rk && !options->start_pk) || (options->end_rk && !options->end_pk))
        return refuse("a row key needs its partition key");
    /* The signed text is the same for an empty end and for none: whoever has it could drop it. */
    if ((options->end_pk && !options->end_pk[0]) || (options->end_rk && !options->end_rk[0]))
        return refuse("the end of a range of keys cannot be empty");
    return set_text(&m->fields.start_partition, options->start_pk) &&
           set_text(&m->fields.start_row, options->start_rk) &&
           set_text(&m->fields.end_partition, options->end_pk) &&
           set_text(&m->fields.end_row, options->end_rk);
}

/* Read what the application's version of the struct has; the rest stays zero. */
static bool copy_options(tavola_sas_options *to, const tavola_sas_options *from)
{
    if (from == NULL || from->struct_size < sizeof from->struct_size)
        return refuse("there are no options, or their struct_size is not set");
    memcpy(to, from, from->struct_size < sizeof *to ? from->struct_size : sizeof *to);
    return true;
}

static tavola_err make(maker *m, const tavola_client *client, const tavola_sas_options *options,
                       tv_slice container, tv_slice blob, char **ret_query)
{
    if (ret_query == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "there is no place for the signature");
    if (!client->credentials.has_key)
        return tvc_refuse(TAVOLA_ERR_INVALID, "the client has no key to sign with");
    if (!copy_options(&m->options, options) || !set_version(m) || !set_limits(m) || !set_grant(m) ||
        !set_bounds(m))
        return TAVOLA_ERR_INVALID;

    char *query = tvc_sas_sign(&client->credentials, m->kind, &m->fields, container, blob);

    if (query == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    *ret_query = query;
    return TAVOLA_OK;
}

tavola_err tvc_sas_make(tvc_sas_kind kind, const tavola_client *client, const char *container,
                        const char *blob, const tavola_sas_options *options, char **ret_query)
{
    maker m = {.kind = kind};

    if (blob && (blob[0] == '\0' || !is_plain(blob)))
        return tvc_refuse(TAVOLA_ERR_INVALID, "the name of the blob is empty, or is not one");
    if (kind == TVC_SAS_CONTAINER || kind == TVC_SAS_BLOB)
        m.fields.resource = kind == TVC_SAS_BLOB ? TV_LIT("b") : TV_LIT("c");
    return make(&m, client, options, tv_slice_of(container), blob ? tv_slice_of(blob) : TV_NONE,
                ret_query);
}

tavola_err tavola_table_sas(tavola_table *table, const tavola_sas_options *options,
                            char **ret_query)
{
    maker m = {.kind = TVC_SAS_TABLE};

    if (table == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "there is no table: it is NULL");
    m.fields.table = tv_slice_of(table->name);
    return make(&m, table->client, options, TV_NONE, TV_NONE, ret_query);
}

tavola_err tavola_account_sas(tavola_client *client, const char *services,
                              const char *resource_types, const tavola_sas_options *options,
                              char **ret_query)
{
    maker m = {.kind = TVC_SAS_ACCOUNT};

    if (client == NULL)
        return tvc_refuse(TAVOLA_ERR_INVALID, "there is no client: it is NULL");
    if (!order_letters(services, "bqtf", m.services) ||
        !order_letters(resource_types, "sco", m.types))
        return tvc_refuse(TAVOLA_ERR_INVALID,
                          "services are letters of \"bqtf\", resource types of \"sco\"");
    m.fields.services = tv_slice_of(m.services);
    m.fields.resource_types = tv_slice_of(m.types);
    return make(&m, client, options, TV_NONE, TV_NONE, ret_query);
}
