/*
 * Key rotation: content keys are unwrapped by the old key and wrapped by the new one.  Only the
 * envelope of an entity changes, by a merge with the etag that was read; its data stay sealed.
 *
 * Made of public functions, on a table without a crypto.  Entities of one partition are merged
 * together; when one of them has changed meanwhile, each is read again and merged alone.
 */
#include <openssl/crypto.h>
#include <openssl/err.h>

#include "client/circle.h"
#include "client/client.h"
#include "client/crypto/metadata.h"
#include "client/op/op.h"

enum { BATCH_MAX = 100, ROUNDS_MAX = 10 };

/* Without Timestamp some services leave the etag out. */
static const char *const selected[] = {"PartitionKey", "RowKey", "Timestamp", TVC_CRYPTO_METADATA1,
                                       NULL};

typedef struct key_rotation {
    const tavola_crypto *crypto;
    tavola_table *table;
    tavola_call *call;
    uint64_t count;
    uint64_t unusable; /* entities whose key could not be unwrapped */
} key_rotation;

static tavola_err rewrap_envelope(const tavola_crypto *crypto, tv_slice json,
                                  const tvc_envelope *old, char **ret_json)
{
    uint8_t content_key[TVC_CONTENT_KEY_BYTES];
    tvc_wrapped_key key;
    tvc_text text = {0};
    tavola_err err;

    err = tvc_key_unwrap(crypto, old->format, &old->key, content_key);
    if (err == TAVOLA_OK)
        err = tvc_key_wrap(crypto, old->format, content_key, &key);
    OPENSSL_cleanse(content_key, sizeof content_key);
    if (err == TAVOLA_OK)
        err = tvc_envelope_rewrite(&text, json, &key);
    if (err == TAVOLA_OK) {
        *ret_json = tvc_text_take(&text);
        err = *ret_json ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;
    }
    tvc_text_done(&text);
    return err;
}

/* The envelope with the new key; *ret_json stays NULL when the entity has it already. */
static tavola_err renew_envelope(const tavola_crypto *crypto, tv_slice json, char **ret_json)
{
    tvc_envelope old;
    tavola_err err;

    err = tvc_envelope_read(json, &old);
    if (err)
        return err;

    if (!tvc_crypto_has_kid(crypto, old.key.kid))
        err = rewrap_envelope(crypto, json, &old, ret_json);
    tvc_envelope_done(&old);
    return err;
}

/* What is to be merged into an entity; *ret_change stays NULL when there is nothing to do. */
static tavola_err make_change(const tavola_crypto *crypto, const tavola_entity *entity,
                              tavola_entity **ret_change)
{
    tavola_value envelope;
    char *json = NULL;
    tavola_err err;

    if (!tavola_entity_get(entity, TVC_CRYPTO_METADATA1, &envelope))
        return TAVOLA_OK;
    if (envelope.type != TAVOLA_STRING)
        return TAVOLA_ERR_CRYPTO;

    ERR_set_mark();
    err = renew_envelope(crypto, (tv_slice){envelope.as.ptr, envelope.size}, &json);
    ERR_pop_to_mark();
    if (err || json == NULL)
        return err;

    tavola_entity *change =
        tavola_entity_new(tavola_entity_partition_key(entity), tavola_entity_row_key(entity));

    tavola_entity_set_string(change, TVC_CRYPTO_METADATA1, json);
    tavola_entity_set_etag(change, tavola_entity_etag(entity));
    err = tavola_entity_error(change);
    if (err)
        tavola_entity_free(change);
    else
        *ret_change = change;
    tvc_release(json);
    return err;
}

/* The same, where what cannot be unwrapped is counted and left alone. */
static tavola_err make_change_or_count(key_rotation *rotation, const tavola_entity *entity,
                                       tavola_entity **ret_change)
{
    tavola_err err = make_change(rotation->crypto, entity, ret_change);

    if (err != TAVOLA_ERR_CRYPTO)
        return err;
    rotation->unusable++;
    return TAVOLA_OK;
}

/* One attempt with what the service has now.  ETAG when somebody was faster. */
static tavola_err rewrap_once(key_rotation *rotation, const char *partition_key,
                              const char *row_key)
{
    tavola_entity *entity = NULL, *change = NULL;
    tavola_err err = tavola_get_select(rotation->table, partition_key, row_key, selected,
                                       rotation->call, &entity);

    if (err == TAVOLA_OK)
        err = make_change_or_count(rotation, entity, &change);
    if (err == TAVOLA_OK && change) {
        err = tavola_merge(rotation->table, change, NULL, rotation->call);
        rotation->count += err == TAVOLA_OK;
    }
    tavola_entity_free(change);
    tavola_entity_free(entity);
    return err == TAVOLA_ERR_NOT_FOUND ? TAVOLA_OK : err;
}

static tavola_err rewrap_alone(key_rotation *rotation, const tavola_entity *entity)
{
    tavola_err err = TAVOLA_ERR_ETAG;

    for (int i = 0; i < ROUNDS_MAX && err == TAVOLA_ERR_ETAG; i++)
        err = rewrap_once(rotation, tavola_entity_partition_key(entity),
                          tavola_entity_row_key(entity));
    return err;
}

/* Add changes of entities i to end - 1 to a batch. */
static tavola_err fill_batch(key_rotation *rotation, const tavola_page *page, size_t i, size_t end,
                             tavola_batch *batch)
{
    for (; i < end; i++) {
        tavola_entity *change = NULL;
        tavola_err err = make_change_or_count(rotation, tavola_page_at(page, i), &change);

        if (err)
            return err;
        if (change)
            tavola_batch_add(batch, TAVOLA_MERGE, change, NULL);
        tavola_entity_free(change);
    }
    return TAVOLA_OK;
}

/* Rewrap entities of one partition. */
static tavola_err rewrap_group(key_rotation *rotation, const tavola_page *page, size_t begin,
                               size_t end)
{
    tavola_batch *batch = tavola_batch_new(rotation->table);
    uint64_t unusable = rotation->unusable;
    tavola_err err = batch ? fill_batch(rotation, page, begin, end, batch) : TAVOLA_ERR_NO_MEMORY;
    size_t count = batch ? tavola_batch_count(batch) : 0;

    if (err == TAVOLA_OK && count) {
        err = tavola_batch_run(batch, rotation->call);
        rotation->count += err == TAVOLA_OK ? count : 0;
    }
    tavola_batch_free(batch);

    /* INVALID: a service that gave no etag with the page. */
    if (err == TAVOLA_ERR_ETAG || err == TAVOLA_ERR_NOT_FOUND || err == TAVOLA_ERR_INVALID) {
        err = TAVOLA_OK;
        rotation->unusable = unusable;
        for (size_t i = begin; i < end && err == TAVOLA_OK; i++)
            err = rewrap_alone(rotation, tavola_page_at(page, i));
    }
    return err;
}

/* The end of the group that begins here: one partition, and as much as fits into a batch. */
static size_t group_end(const tavola_page *page, size_t begin)
{
    const char *partition = tavola_entity_partition_key(tavola_page_at(page, begin));
    size_t end = begin + 1, count = tavola_page_count(page);

    while (end < count && end - begin < BATCH_MAX &&
           strcmp(tavola_entity_partition_key(tavola_page_at(page, end)), partition) == 0)
        end++;
    return end;
}

static tavola_err rewrap_page(key_rotation *rotation, const tavola_page *page)
{
    tavola_err err = TAVOLA_OK;

    for (size_t begin = 0, end; begin < tavola_page_count(page) && err == TAVOLA_OK; begin = end) {
        end = group_end(page, begin);
        err = rewrap_group(rotation, page, begin, end);
    }
    return err;
}

static tavola_err rewrap_all(key_rotation *rotation, const tavola_query *query)
{
    tvc_circle circle = {0};
    char *token = NULL;
    tavola_err err;

    do {
        tavola_page *page = NULL;

        err = tavola_query_page(rotation->table, query, token, rotation->call, &page);
        tvc_release(token);
        token = NULL;
        if (err == TAVOLA_OK)
            err = rewrap_page(rotation, page);
        if (err == TAVOLA_OK && tavola_page_token(page)) {
            token = tvc_dup_text(tavola_page_token(page));
            err = token ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;
        }
        tavola_page_free(page);
        if (token && tvc_circle_closes(&circle, tv_slice_of(token)))
            err = tvc_call_refuse(rotation->call, TAVOLA_ERR_PROTOCOL, TVC_LEADS_BACK);
    } while (token && err == TAVOLA_OK);
    tvc_release(token);
    tvc_circle_done(&circle);

    if (err == TAVOLA_OK && rotation->unusable)
        err = tvc_call_refuse(rotation->call, TAVOLA_ERR_CRYPTO,
                              "The keys of %llu entities could not be unwrapped.",
                              (unsigned long long)rotation->unusable);
    return err;
}

/* Which entities: those that are encrypted, and pass the filter.  Takes it over. */
static tavola_query *make_query(tavola_filter *filter)
{
    /* An entity without the property passes no comparison with it. */
    tavola_filter *encrypted = tavola_where(TVC_CRYPTO_METADATA1, TAVOLA_NE, tavola_string("any"));

    if (filter)
        encrypted = tavola_and(filter, encrypted);
    if (encrypted == NULL)
        return NULL;

    tavola_query *query = tavola_query_new(encrypted);

    tavola_query_select(query, selected);
    return query;
}

tavola_err tavola_crypto_rewrap(tavola_table *table, tavola_crypto *crypto, tavola_filter *filter,
                                tavola_call *call, uint64_t *ret_count)
{
    key_rotation rotation = {.crypto = crypto, .call = call};
    tavola_crypto *call_crypto = call ? call->crypto : NULL;
    tavola_err err;

    if (ret_count)
        *ret_count = 0;
    if (table == NULL || crypto == NULL) {
        tavola_filter_free(filter);
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no table, or no crypto");
    }

    tavola_query *query = make_query(filter);

    /* A table and a call without a crypto: encrypted entities are seen as they are, and merged. */
    if (call)
        call->crypto = NULL;
    err = tavola_table_open(table->client, table->name, &rotation.table);
    if (err == TAVOLA_OK)
        err = query ? rewrap_all(&rotation, query) : TAVOLA_ERR_NO_MEMORY;
    tavola_table_close(rotation.table);
    if (call)
        call->crypto = call_crypto;
    tavola_query_free(query);
    if (ret_count)
        *ret_count = rotation.count;
    return err;
}
