/* Shared access signatures: from fields to a signed query. */
#include "client/account/sas.h"
#include "client/text.h"

const char *tvc_sas_kind_name(tvc_sas_kind kind)
{
    static const char *const names[TVC_SAS_KINDS] = {"table", "account", "queue", "container",
                                                     "blob"};

    return names[kind];
}

/* The fields that are sent, in this order; any order will do. */
#define FIELD(name) offsetof(tv_sas, name)

static const struct {
    tv_slice name; /* with '=' */
    size_t offset;
} parameters[] = {
    {{"sv=", 3}, FIELD(version)},         {{"ss=", 3}, FIELD(services)},
    {{"srt=", 4}, FIELD(resource_types)}, {{"sr=", 3}, FIELD(resource)},
    {{"tn=", 3}, FIELD(table)},           {{"spk=", 4}, FIELD(start_partition)},
    {{"srk=", 4}, FIELD(start_row)},      {{"epk=", 4}, FIELD(end_partition)},
    {{"erk=", 4}, FIELD(end_row)},        {{"st=", 3}, FIELD(start)},
    {{"se=", 3}, FIELD(expiry)},          {{"sip=", 4}, FIELD(ip)},
    {{"spr=", 4}, FIELD(protocol)},       {{"si=", 3}, FIELD(policy_id)},
    {{"sp=", 3}, FIELD(permission)},      {{"sig=", 4}, FIELD(signature)},
};

static char *write_query(const tv_sas *fields)
{
    tvc_text text = {0};

    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        tv_slice value = *(const tv_slice *)((const char *)fields + parameters[i].offset);

        if (value.data == NULL)
            continue;
        if (text.buf.len)
            tvc_text_add_char(&text, '&');
        tvc_text_add(&text, parameters[i].name);
        tvc_text_add_encoded(&text, value);
    }
    return tvc_text_take(&text);
}

static tv_slice signed_text(tv_arena *arena, tvc_sas_kind kind, const tv_sas *fields,
                            tv_slice account, tv_slice container, tv_slice blob)
{
    switch (kind) {
    case TVC_SAS_TABLE:
        return tv_sas_table_text(arena, fields, account);
    case TVC_SAS_ACCOUNT:
        return tv_sas_account_text(arena, fields, account);
    case TVC_SAS_QUEUE:
        return tv_sas_queue_text(arena, fields, account, container);
    default:
        return tv_sas_blob_text(arena, fields, account, container, blob);
    }
}

/* The most that the text takes of an arena: all fields and names, a table's twice, separators. */
static size_t text_bytes_max(const tv_sas *fields, size_t names_len)
{
    enum { SEPARATORS = 128 };
    const tv_slice *list = (const tv_slice *)fields;
    size_t bytes = names_len + 2 * fields->table.len + SEPARATORS;

    for (size_t i = 0; i < sizeof *fields / sizeof *list; i++)
        bytes += list[i].len;
    return bytes;
}

char *tvc_sas_sign(const tvc_credentials *credentials, tvc_sas_kind kind, const tv_sas *fields,
                   tv_slice container, tv_slice blob)
{
    tv_slice account = tv_slice_of(credentials->account);
    unsigned char mac[TV_HMAC_BYTES];
    tv_sas complete = *fields;
    tvc_text signature = {0};
    tv_arena arena;

    tv_arena_init(&arena);
    if (tv_arena_reserve(&arena, text_bytes_max(fields, account.len + container.len + blob.len)) !=
        TV_OK)
        return NULL;

    tv_hmac_sign(&credentials->key, signed_text(&arena, kind, fields, account, container, blob),
                 mac);
    tv_arena_done(&arena);
    tvc_text_add_base64(&signature, (tv_slice){(const char *)mac, sizeof mac});
    complete.signature = tvc_text_slice(&signature);

    char *query = signature.has_failed ? NULL : write_query(&complete);

    tvc_text_done(&signature);
    return query;
}
