/*
 * Log tail pattern.  An entry's RowKey is made of its time and of a hash of what it says: the same
 * entry again gets the same key, so that a program may add what it is not sure to have added.
 */
#include "client/circle.h"
#include "client/patterns/pattern.h"

#include <inttypes.h>

enum {
    DIGITS = 8,
    ROW_KEY_SIZE = TAVOLA_INVERTED_SIZE + 1 + DIGITS,
    NEWEST_DEFAULT = 1000,
};

static tavola_err make_row_key(const tavola_entity *entity, tavola_ticks when, unsigned attempt,
                               char ret_row_key[ROW_KEY_SIZE])
{
    char *json = tavola_entity_json(entity);

    if (json == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    uint8_t digest[32];
    uint64_t number = 0;
    char inverted[TAVOLA_INVERTED_SIZE];

    tvc_sha256(tv_slice_of(json), digest);
    tavola_free(json);
    for (size_t i = 0; i < 7; i++)
        number = number << 8 | digest[i];
    tavola_key_inverted(when, inverted);
    snprintf(ret_row_key, ROW_KEY_SIZE, "%s_%08" PRIu64, inverted,
             (number + attempt) % UINT64_C(100000000));
    return TAVOLA_OK;
}

/* Whether what has the key is the entry itself: EXISTS when it is another. */
static tavola_err compare(tavola_table *table, const tavola_entity *entry, tavola_call *call)
{
    tavola_entity *there = NULL;
    tavola_err err = tavola_get(table, tavola_entity_partition_key(entry),
                                tavola_entity_row_key(entry), call, &there);

    if (err == TAVOLA_OK && !tvc_entity_same(there, entry))
        err = TAVOLA_ERR_EXISTS;
    tavola_entity_free(there);
    return err;
}

static tavola_err add_as(tavola_table *table, const tavola_entity *entity, const char *row_key,
                         tavola_call *call)
{
    tavola_entity *entry = tvc_entity_copy_as(entity, tavola_entity_partition_key(entity), row_key);

    if (entry == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = tavola_insert(table, entry, call);

    if (err == TAVOLA_ERR_EXISTS)
        err = compare(table, entry, call);
    tavola_entity_free(entry);
    return err;
}

/* A key that another entry has is rare: one of 100,000,000 within 100 ns. */
static tavola_err add(tavola_table *table, const tavola_entity *plain, tavola_ticks when,
                      tavola_call *call)
{
    tavola_err err = TAVOLA_OK;

    for (unsigned attempt = 0; attempt < TVC_ROUNDS_MAX; attempt++) {
        char row_key[ROW_KEY_SIZE];

        err = make_row_key(plain, when, attempt, row_key);
        if (err == TAVOLA_OK)
            err = add_as(table, plain, row_key, call);
        if (err != TAVOLA_ERR_EXISTS)
            break;
    }
    return err;
}

tavola_err tavola_log_add(tavola_table *table, const tavola_entity *entity, tavola_ticks when,
                          tavola_call *call)
{
    const char *why = NULL;
    tavola_err err = tvc_entity_check(entity, &why);

    if (err)
        return tvc_call_refuse(call, err, "%s", why ? why : "there is no entity");
    if (table == NULL || when < 0)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no table or no time");

    /* The entity's own RowKey, etag and time are no part of what it says. */
    tavola_entity *plain = tvc_entity_copy_as(entity, tavola_entity_partition_key(entity), "");

    if (plain == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    plain->timestamp = 0;
    err = add(table, plain, when, call);
    tavola_entity_free(plain);
    return err;
}

/* The rest of a page that ended early is put behind it. */
static tavola_err add_rest(tavola_table *table, tavola_query *query, uint32_t newest_max,
                           tavola_call *call, tavola_page *page)
{
    tvc_circle circle = {0};
    tavola_err err = TAVOLA_OK;

    while (err == TAVOLA_OK && page->count < newest_max && tavola_page_token(page)) {
        tavola_page *next = NULL;

        if (tvc_circle_closes(&circle, tv_slice_of(page->token))) {
            err = tvc_call_refuse(call, TAVOLA_ERR_PROTOCOL, TVC_LEADS_BACK);
            break;
        }
        tavola_query_set_limit(query, newest_max - page->count);
        err = tavola_query_page(table, query, page->token, call, &next);
        if (err == TAVOLA_OK)
            err = tvc_page_append(page, next);
    }
    tvc_circle_done(&circle);
    return err;
}

tavola_err tavola_tail(tavola_table *table, const char *partition_key, uint32_t newest_max,
                       tavola_call *call, tavola_page **ret_page)
{
    if (partition_key == NULL || ret_page == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "A key or a place is missing");
    if (newest_max == 0)
        newest_max = NEWEST_DEFAULT;

    tavola_query *query =
        tavola_query_new(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string(partition_key)));

    if (query == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    tavola_query_set_limit(query, newest_max);

    tavola_page *page = NULL;
    tavola_err err = tavola_query_page(table, query, NULL, call, &page);

    if (err == TAVOLA_OK)
        err = add_rest(table, query, newest_max, call, page);
    tavola_query_free(query);
    if (err)
        tavola_page_free(page);
    else
        *ret_page = page;
    return err;
}
