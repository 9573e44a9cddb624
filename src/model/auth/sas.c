/* Reading shared access signatures. */
#include "model/auth/sas.h"

#include <arpa/inet.h>

#include "base/datetime.h"
#include "base/uri.h"

#define FIELD(name) offsetof(tv_sas, name)

static const struct {
    tv_slice name;
    size_t offset;
} parameters[] = {
    {{"sv", 2}, FIELD(version)},
    {{"sig", 3}, FIELD(signature)},
    {{"sp", 2}, FIELD(permission)},
    {{"st", 2}, FIELD(start)},
    {{"se", 2}, FIELD(expiry)},
    {{"sip", 3}, FIELD(ip)},
    {{"spr", 3}, FIELD(protocol)},
    {{"si", 2}, FIELD(policy_id)},
    {{"tn", 2}, FIELD(table)},
    {{"spk", 3}, FIELD(start_partition)},
    {{"srk", 3}, FIELD(start_row)},
    {{"epk", 3}, FIELD(end_partition)},
    {{"erk", 3}, FIELD(end_row)},
    {{"sr", 2}, FIELD(resource)},
    {{"snapshot", 8}, FIELD(snapshot)},
    {{"rscc", 4}, FIELD(cache_control)},
    {{"rscd", 4}, FIELD(content_disposition)},
    {{"rsce", 4}, FIELD(content_encoding)},
    {{"rscl", 4}, FIELD(content_language)},
    {{"rsct", 4}, FIELD(content_type)},
    {{"skoid", 5}, FIELD(user)},
    {{"ss", 2}, FIELD(services)},
    {{"srt", 3}, FIELD(resource_types)},
    {{"ses", 3}, FIELD(encryption_scope)},
};

static tv_slice *find_field(tv_sas *sas, tv_slice name)
{
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        if (tv_slice_eq(name, parameters[i].name))
            return (tv_slice *)((char *)sas + parameters[i].offset);
    }
    return NULL;
}

tv_err tv_sas_parse(tv_arena *arena, const tv_parameters *query, tv_sas *ret_sas, bool *ret_is_sas)
{
    tv_sas sas = {0};

    *ret_is_sas = false;
    if (query->is_malformed)
        return TV_ERR_AUTHENTICATION_FAILED;

    for (size_t i = 0; i < query->count; i++) {
        tv_slice *field = find_field(&sas, query->items[i].name), value;

        if (field == NULL)
            continue;
        if (!tv_uri_decode_query(arena, query->items[i].value, &value))
            return TV_ERR_AUTHENTICATION_FAILED;
        /* Lines are what separates the fields in the signed text, so none may bring its own. */
        if (field->data || tv_slice_find(value, '\n') < value.len)
            return TV_ERR_AUTHENTICATION_FAILED;
        *field = value;
    }
    *ret_is_sas = sas.signature.data != NULL;
    *ret_sas = sas;
    return TV_OK;
}

bool tv_sas_is_account(const tv_sas *sas)
{
    return sas->services.data || sas->resource_types.data;
}

bool tv_sas_parse_time(tv_slice text, int64_t *ret_ticks)
{
    static const char midnight[] = "T00:00:00Z";
    enum { DATE_LEN = 10 };
    char full[DATE_LEN + sizeof midnight];

    if (text.len != DATE_LEN)
        return tv_datetime_parse(text, ret_ticks);

    memcpy(full, text.data, DATE_LEN);
    memcpy(full + DATE_LEN, midnight, sizeof midnight);
    return tv_datetime_parse(tv_slice_of(full), ret_ticks);
}

/* An address of either family as 16 bytes, IPv4 in its place within IPv6. */
static bool parse_ip(tv_slice text, unsigned char ret_bytes[16])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    char copy[INET6_ADDRSTRLEN];

    if (text.len == 0 || text.len >= sizeof copy)
        return false;

    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    if (inet_pton(AF_INET6, copy, ret_bytes) == 1)
        return true;
    memcpy(ret_bytes, mapped, sizeof mapped);
    return inet_pton(AF_INET, copy, ret_bytes + sizeof mapped) == 1;
}

/* Without its port and brackets. */
static tv_slice address_of(const char *peer)
{
    tv_slice text = tv_slice_of(peer);
    size_t colon = text.len;

    while (colon > 0 && text.data[colon - 1] != ':')
        colon--;
    text = tv_slice_take(text, colon ? colon - 1 : text.len);
    if (text.len >= 2 && text.data[0] == '[' && text.data[text.len - 1] == ']')
        text = (tv_slice){text.data + 1, text.len - 2};
    return text;
}

bool tv_sas_ip_matches(tv_slice range, const char *peer)
{
    unsigned char first[16], last[16], address[16];
    size_t dash = tv_slice_find(range, '-');
    tv_slice end = dash < range.len ? tv_slice_skip(range, dash + 1) : range;

    return parse_ip(tv_slice_take(range, dash), first) && parse_ip(end, last) &&
           parse_ip(address_of(peer), address) && memcmp(first, address, sizeof address) <= 0 &&
           memcmp(address, last, sizeof address) <= 0;
}
