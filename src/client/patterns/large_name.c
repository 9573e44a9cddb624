/* The names of blobs that hold large values. */
#include "client/patterns/large_name.h"

#include "client/blob/blob.h"
#include "client/client.h"

enum { HASH_DIGITS = 32 };

/* Tables have one name in any case of letters; blobs do not. */
static void add_table(tvc_text *text, const tavola_table *table)
{
    for (const char *at = table->name; *at; at++)
        tvc_text_add_char(text, tv_ascii_lower(*at));
    tvc_text_add_char(text, '/');
}

char *tvc_large_prefix(const tavola_table *table, const char *property)
{
    tvc_text text = {0};

    add_table(&text, table);
    tvc_text_add(&text, tv_slice_of(property));
    tvc_text_add_char(&text, '/');
    return tvc_text_take(&text);
}

/* Of both keys; neither has a NUL in it. */
static bool hash_keys(const char *partition_key, const char *row_key, char ret_hex[65])
{
    tvc_text both = {0};

    tvc_text_add(&both, (tv_slice){partition_key, strlen(partition_key) + 1});
    tvc_text_add(&both, tv_slice_of(row_key));

    bool is_made = !both.has_failed;

    if (is_made)
        tvc_sha256_hex(tvc_text_slice(&both), ret_hex);
    tvc_text_done(&both);
    return is_made;
}

char *tvc_large_new_name(const tavola_table *table, const char *property, const char *partition_key,
                         const char *row_key)
{
    char hex[65], guid[37];
    char *prefix = tvc_large_prefix(table, property);
    tvc_text text = {0};

    if (prefix == NULL || !hash_keys(partition_key, row_key, hex)) {
        tvc_release(prefix);
        return NULL;
    }
    tavola_guid_format(tavola_guid_random(), guid);
    tvc_text_add(&text, tv_slice_of(prefix));
    tvc_text_add(&text, (tv_slice){hex, HASH_DIGITS});
    tvc_text_add_char(&text, '/');
    tvc_text_add(&text, tv_slice_of(guid));
    tvc_release(prefix);
    return tvc_text_take(&text);
}

tavola_err tvc_large_parse(const char *text, char **ret_container, const char **ret_blob)
{
    tv_slice all = tv_slice_of(text);
    size_t at = tv_slice_find(all, '/');

    if (at == 0 || at + 1 >= all.len)
        return TAVOLA_ERR_INVALID;

    char *container = tvc_dup(tv_slice_take(all, at));

    if (container == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    *ret_container = container;
    *ret_blob = text + at + 1;
    return TAVOLA_OK;
}

tavola_err tvc_large_check(const tavola_table *table, const tavola_container *container,
                           const char *property, tavola_call *call)
{
    if (table == NULL || container == NULL || property == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "the table, the container or the property is missing");

    const char *of_table = table->client->credentials.account;
    const char *of_container = container->resource.client->credentials.account;

    /* "" is one that is not known. */
    if (*of_table && *of_container && strcmp(of_table, of_container) != 0)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "the container is not of the table's account");
    return TAVOLA_OK;
}
