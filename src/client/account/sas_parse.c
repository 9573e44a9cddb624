/* Shared access signatures taken apart, for people and programs that were handed one. */
#include <openssl/crypto.h>

#include "base/uri.h"
#include "base/url.h"
#include "client/account/sas.h"
#include "client/text.h"
#include "client/why.h"

enum { SAS_BYTES_MAX = 64 * 1024 };

struct tavola_sas {
    const char *kind;
    char *text; /* "name\0value\0" for each parameter, and a NUL */
    size_t len; /* without that */
};

/* The query of a URL, or the text itself without a '?' before it. */
static tv_slice find_query(tv_slice text)
{
    const char *why;
    tv_url url;

    text = tv_slice_take(text, tv_slice_find(text, '#'));
    if (tv_url_parse(text, &url, &why))
        return url.query;
    return text.len && text.data[0] == '?' ? tv_slice_skip(text, 1) : text;
}

/* The value of a name in "name\0value\0"..., NULL when it is not there. */
static const char *value_of(const char *text, size_t len, tv_slice name)
{
    for (size_t at = 0; at < len;) {
        const char *value = text + at + strlen(text + at) + 1;

        if (tv_slice_eq(tv_slice_of(text + at), name))
            return value;
        at = (size_t)(value - text) + strlen(value) + 1;
    }
    return NULL;
}

/* Whether a text can be a C string and a field. */
static bool is_plain(tv_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.data[i] < 0x20)
            return false;
    }
    return true;
}

/* Gather the decoded parameters.  One that is there twice is not a signature that anybody takes. */
static tavola_err gather(tv_arena *arena, const tv_parameters *parameters, tvc_text *text)
{
    if (parameters->is_malformed)
        return TAVOLA_ERR_INVALID;

    for (size_t i = 0; i < parameters->count; i++) {
        tv_slice name = parameters->items[i].name, value;

        if (!tv_uri_decode_query(arena, parameters->items[i].value, &value) || !is_plain(name) ||
            !is_plain(value) || value_of(text->buf.data, text->buf.len, name))
            return TAVOLA_ERR_INVALID;
        if (!tvc_text_room(text, name.len + value.len + 2))
            return TAVOLA_ERR_NO_MEMORY;
        tvc_text_add(text, name);
        tvc_text_add_char(text, '\0');
        tvc_text_add(text, value);
        tvc_text_add_char(text, '\0');
    }
    return TAVOLA_OK;
}

static tavola_err read_parameters(tv_slice query, tvc_text *text)
{
    enum { ALIGNMENT = 16 };
    tv_parameters parameters;
    tavola_err err = TAVOLA_ERR_INVALID;
    tv_arena arena;

    tv_arena_init(&arena);
    /* The list, and names and values decoded. */
    if (tv_arena_reserve(&arena, (TV_PARAMETERS_MAX + 1) * sizeof(tv_parameter) + ALIGNMENT +
                                     2 * query.len) != TV_OK)
        return TAVOLA_ERR_NO_MEMORY;
    if (tv_parameters_parse(&arena, query, &parameters))
        err = gather(&arena, &parameters, text);
    tv_arena_done(&arena);
    return err;
}

static bool is_value(const tavola_sas *sas, const char *name, const char *value)
{
    const char *field = tavola_sas_field(sas, name);

    return field && strcmp(field, value) == 0;
}

/* What a signature is for, by the parameters that only such ones have; NULL: for nothing known. */
static const char *kind_of(const tavola_sas *sas)
{
    bool has_grant = tavola_sas_field(sas, "sp") || tavola_sas_field(sas, "si");

    if (!has_grant || !tavola_sas_field(sas, "sig") || !tavola_sas_field(sas, "sv"))
        return NULL;
    if (tavola_sas_field(sas, "ss") && tavola_sas_field(sas, "srt"))
        return tvc_sas_kind_name(TVC_SAS_ACCOUNT);
    if (tavola_sas_field(sas, "tn"))
        return tvc_sas_kind_name(TVC_SAS_TABLE);
    if (is_value(sas, "sr", "c"))
        return tvc_sas_kind_name(TVC_SAS_CONTAINER);
    if (is_value(sas, "sr", "b") || is_value(sas, "sr", "bs") || is_value(sas, "sr", "bv"))
        return tvc_sas_kind_name(TVC_SAS_BLOB);
    return tavola_sas_field(sas, "sr") ? NULL : tvc_sas_kind_name(TVC_SAS_QUEUE);
}

tavola_err tavola_sas_parse(const char *query_or_url, tavola_sas **ret_sas)
{
    tvc_text text = {0};
    tavola_sas *sas;
    tavola_err err;

    if (query_or_url == NULL || ret_sas == NULL || strlen(query_or_url) > SAS_BYTES_MAX)
        return tvc_refuse(TAVOLA_ERR_INVALID,
                          "there is no text of a signature, it is too long, or it has no place");

    sas = tvc_zalloc(sizeof *sas);
    if (sas == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    err = read_parameters(find_query(tv_slice_of(query_or_url)), &text);
    if (err == TAVOLA_OK) {
        sas->len = text.buf.len;
        sas->text = tvc_text_take(&text);
        sas->kind = sas->text ? kind_of(sas) : NULL;
        if (sas->kind == NULL)
            err = sas->text ? TAVOLA_ERR_INVALID : TAVOLA_ERR_NO_MEMORY;
    }
    tvc_text_done(&text);
    if (err == TAVOLA_ERR_INVALID)
        (void)tvc_refuse(err, "this is not a shared access signature: a parameter is missing, is "
                              "there twice, or is not percent-encoded");
    if (err) {
        tavola_sas_free(sas);
        return err;
    }
    *ret_sas = sas;
    return TAVOLA_OK;
}

const char *tavola_sas_kind(const tavola_sas *sas)
{
    return sas ? sas->kind : NULL;
}

const char *tavola_sas_field(const tavola_sas *sas, const char *parameter)
{
    return sas && parameter ? value_of(sas->text, sas->len, tv_slice_of(parameter)) : NULL;
}

void tavola_sas_free(tavola_sas *sas)
{
    if (sas == NULL)
        return;
    if (sas->text)
        OPENSSL_cleanse(sas->text, sas->len);
    tvc_release(sas->text);
    tvc_release(sas);
}
