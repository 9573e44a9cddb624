/*
 * The request of an entity group transaction, written as every service reads it: CRLF, absolute
 * URIs, the length of each entity inside its part.
 */
#include "base/guid.h"
#include "base/hash.h"
#include "client/table/batch.h"

#define CHANGESET "changeset_"
#define BATCH "batch_"

/* ---- items ---- */

tavola_err tvc_batch_item_init(tvc_batch_item *item, tavola_write kind, const tavola_entity *entity,
                               const char *if_match)
{
    *item = (tvc_batch_item){
        .kind = kind,
        .entity = tavola_entity_copy(entity),
        .if_match = tvc_dup_text(if_match),
        .hash = tv_hash(tv_slice_of(entity->row_key)),
    };
    if (item->entity && (item->if_match || if_match == NULL))
        return TAVOLA_OK;
    tvc_batch_item_done(item);
    return TAVOLA_ERR_NO_MEMORY;
}

void tvc_batch_item_done(tvc_batch_item *item)
{
    tavola_entity_free(item->entity);
    tvc_release(item->if_match);
    tvc_release(item->part);
    *item = (tvc_batch_item){0};
}

bool tvc_batch_item_same(const tvc_batch_item *a, const tvc_batch_item *b)
{
    return a->hash == b->hash && strcmp(a->entity->row_key, b->entity->row_key) == 0;
}

static void add_url(tvc_text *text, const tavola_table *table)
{
    const tvc_endpoint *endpoint = table->client->primary[TV_SERVICE_TABLE];

    tvc_text_add(text, tvc_endpoint_is_https(endpoint) ? TV_LIT("https://") : TV_LIT("http://"));
    tvc_text_add(text, tvc_endpoint_host(endpoint));
    tvc_text_add(text, tvc_endpoint_path(endpoint));
}

static void add_part(tvc_text *text, const tavola_table *table, const tvc_write *write,
                     tv_slice json)
{
    tvc_text_add_lit(text, "Content-Type: application/http\r\n"
                           "Content-Transfer-Encoding: binary\r\n\r\n");
    tvc_text_add(text, tv_slice_of(tvc_write_method(write->kind)));
    tvc_text_add_lit(text, " ");
    add_url(text, table);
    tvc_write_add_path(text, table, write);
    tvc_text_add_lit(text, " HTTP/1.1\r\n"
                           "Accept: application/json;odata=minimalmetadata\r\n"
                           "DataServiceVersion: 3.0\r\n");
    tvc_write_add_headers(text, write);
    tvc_text_add_lit(text, "Content-Length: ");
    tvc_text_add_int64(text, (int64_t)json.len);
    tvc_text_add_lit(text, "\r\n\r\n");
    tvc_text_add(text, json);
    tvc_text_add_lit(text, "\r\n");
}

static tavola_err make_part(tvc_batch_item *item, const tavola_table *table, const tvc_write *write)
{
    tvc_text json = {0}, part = {0};
    tavola_err err = TAVOLA_ERR_NO_MEMORY;

    if (tvc_write_has_body(write->kind))
        tvc_entity_write(&json, write->entity);
    add_part(&part, table, write, tvc_text_slice(&json));
    if (!json.has_failed && !part.has_failed) {
        item->json_len = tvc_text_slice(&json).len;
        item->part_len = tvc_text_slice(&part).len;
        item->part = tvc_text_take(&part);
        if (item->part)
            err = TAVOLA_OK;
    }
    tvc_text_done(&json);
    tvc_text_done(&part);
    return err;
}

tavola_err tvc_batch_item_make_part(tvc_batch_item *item, const tavola_table *table,
                                    tavola_call *call)
{
    tvc_release(item->part);
    item->part = NULL;

    tvc_write write;
    tavola_err err = tvc_write_init(&write, table, item->kind, item->entity, item->if_match, call);

    if (err)
        return err;
    if (table->client->primary[TV_SERVICE_TABLE] == NULL)
        err = tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                              "the connection string names no table service");
    else
        err = make_part(item, table, &write);
    tvc_write_done(&write);
    return err;
}

size_t tvc_batch_item_bytes(const tvc_batch_item *item)
{
    return item->part_len + sizeof "--" CHANGESET "\r\n" - 1 + TV_GUID_TEXT_LEN;
}

size_t tvc_batch_frame_bytes(void)
{
    return sizeof "--" BATCH "\r\nContent-Type: multipart/mixed; boundary=" CHANGESET "\r\n\r\n"
                  "--" CHANGESET "--\r\n--" BATCH "--\r\n" -
           1 + 4 * TV_GUID_TEXT_LEN;
}

/* ---- the body ---- */

static void add_body(tvc_text *body, tv_slice id, const tvc_batch_item *items, size_t count)
{
    tvc_text_add_lit(body, "--" BATCH);
    tvc_text_add(body, id);
    tvc_text_add_lit(body, "\r\nContent-Type: multipart/mixed; boundary=" CHANGESET);
    tvc_text_add(body, id);
    tvc_text_add_lit(body, "\r\n\r\n");
    for (size_t i = 0; i < count; i++) {
        tvc_text_add_lit(body, "--" CHANGESET);
        tvc_text_add(body, id);
        tvc_text_add_lit(body, "\r\n");
        tvc_text_add(body, (tv_slice){items[i].part, items[i].part_len});
    }
    tvc_text_add_lit(body, "--" CHANGESET);
    tvc_text_add(body, id);
    tvc_text_add_lit(body, "--\r\n--" BATCH);
    tvc_text_add(body, id);
    tvc_text_add_lit(body, "--\r\n");
}

static size_t body_bytes(const tvc_batch_item *items, size_t count)
{
    size_t bytes = tvc_batch_frame_bytes();

    for (size_t i = 0; i < count; i++)
        bytes += tvc_batch_item_bytes(&items[i]);
    return bytes;
}

/* ---- settling ---- */

/* How well a write tells whether the batch was made: all of it was or nothing. */
static int tells(tavola_write kind)
{
    static const int order[] = {
        [TAVOLA_DELETE] = 1,  [TAVOLA_INSERT_OR_MERGE] = 2,   [TAVOLA_MERGE] = 2,
        [TAVOLA_REPLACE] = 3, [TAVOLA_INSERT_OR_REPLACE] = 3, [TAVOLA_INSERT] = 4,
    };

    return order[kind];
}

/* Of nothing but deletes the last tells most: the first is the one that a made batch fails by. */
static bool is_delete_after(const tvc_batch_item *item, const tvc_batch_item *best)
{
    return item->kind == TAVOLA_DELETE && best->kind == TAVOLA_DELETE;
}

static void choose_settling(tavola_op *op, const tavola_table *table, const tvc_batch_item *items,
                            size_t count)
{
    const tvc_batch_item *best = &items[0];

    for (size_t i = 0; i < count; i++) {
        if (tells(items[i].kind) > tells(best->kind) || is_delete_after(&items[i], best))
            best = &items[i];
    }

    size_t json_at = best->part_len - best->json_len - 2;

    op->settle.kind = tvc_write_settle_kind(best->kind);
    op->settle.is_batch = true;
    tvc_add_entity_path(&op->settle.path, table, best->entity->partition_key,
                        best->entity->row_key);
    tvc_text_add(&op->settle.entity, (tv_slice){best->part + json_at, best->json_len});
}

/* ---- the operation ---- */

tavola_op *tvc_batch_op(const tavola_table *table, const tvc_batch_item *items, size_t count,
                        tvc_batch_etags *etags, tavola_call *call)
{
    tavola_op *op = tvc_table_op(table, "POST", call);
    char id[TV_GUID_TEXT_LEN];
    tv_guid guid = tv_guid_new();

    if (op == NULL)
        return NULL;
    if (tvc_batch_expect(op, count, etags) != TAVOLA_OK) {
        tavola_op_free(op);
        return NULL;
    }

    tv_guid_format(id, &guid);
    tvc_text_add_lit(&op->request.path, "/$batch");
    tvc_text_add_lit(&op->request.headers, "Content-Type: multipart/mixed; boundary=" BATCH);
    tvc_text_add(&op->request.headers, (tv_slice){id, sizeof id});
    tvc_text_add_lit(&op->request.headers, "\r\n");
    if (tvc_text_room(&op->request.body, body_bytes(items, count)))
        add_body(&op->request.body, (tv_slice){id, sizeof id}, items, count);
    choose_settling(op, table, items, count);
    return op;
}
