/*
 * Index entities pattern in a blob: a list of any length.  Read, change, write with the etag: the
 * blob is replaced as a whole or not at all.
 */
#include "base/utf8.h"
#include "client/patterns/json_list.h"
#include "client/patterns/pattern.h"

enum { LIST_BYTES_MAX = 256 * 1024 * 1024 };

typedef struct blob_list {
    tavola_container *container;
    const char *blob;
    tavola_call *call;
} blob_list;

/* The items and the etag that they were read with; an empty list and NULL when there is no blob. */
static tavola_err read_items(const blob_list *self, tavola_names **ret_items, char **ret_etag)
{
    void *json = NULL;
    size_t size = 0;
    tavola_err err =
        tavola_blob_get(self->container, self->blob, LIST_BYTES_MAX, self->call, &json, &size);

    if (tvc_is_absent(err, self->call))
        return tvc_json_list_read(TV_NONE, ret_items);
    if (err)
        return err;

    char *etag = tvc_dup_text(tavola_call_etag(self->call));

    if (etag == NULL)
        err = tavola_call_etag(self->call) ? TAVOLA_ERR_NO_MEMORY : TAVOLA_ERR_PROTOCOL;
    if (err == TAVOLA_OK)
        err = tvc_json_list_read((tv_slice){json, size}, ret_items);
    if (err == TAVOLA_ERR_PROTOCOL)
        tvc_call_refuse(self->call, err, "the blob is not a list");
    if (err)
        tvc_release(etag);
    else
        *ret_etag = etag;
    tvc_release(json);
    return err;
}

static tavola_err write_items(const blob_list *self, const tavola_names *items, const char *etag)
{
    tavola_blob_options options = {.struct_size = sizeof options,
                                   .content_type = "application/json",
                                   .if_match = etag,
                                   .if_absent = etag == NULL};
    tvc_text json = {0};

    tvc_json_list_write(&json, items);

    tavola_err err = json.has_failed ? TAVOLA_ERR_NO_MEMORY
                                     : tavola_blob_put(self->container, self->blob, json.buf.data,
                                                       json.buf.len, &options, self->call);

    tvc_text_done(&json);
    return err;
}

static tavola_err change_once(const blob_list *self, const char *item, bool is_removal)
{
    tavola_names *items = NULL;
    char *etag = NULL;
    tavola_err err = read_items(self, &items, &etag);

    if (err)
        return err;

    size_t before = items->count;

    if (is_removal)
        tvc_json_list_remove(items, item);
    else if (!tvc_json_list_add(items, item))
        err = TAVOLA_ERR_NO_MEMORY;
    if (err == TAVOLA_OK && items->count != before)
        err = write_items(self, items, etag);
    tavola_names_free(items);
    tvc_release(etag);
    return err;
}

static tavola_err change(const blob_list *self, const char *item, bool is_removal)
{
    for (unsigned round = 0;; round++) {
        tavola_err err = change_once(self, item, is_removal);
        bool is_lost_race = err == TAVOLA_ERR_ETAG || err == TAVOLA_ERR_EXISTS;

        if (!is_lost_race)
            return err;
        if (round + 1 == TVC_ROUNDS_MAX)
            return tvc_call_refuse(self->call, TAVOLA_ERR_ETAG,
                                   "others changed the list all the time");
        tvc_pause(round);
    }
}

static tavola_err run(tavola_container *container, const char *blob, const char *item,
                      bool is_removal, tavola_call *call)
{
    if (item == NULL || !tv_utf8_is_valid(tv_slice_of(item)))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no item in UTF-8");

    tavola_call own;
    blob_list self = {container, blob, tvc_writing_call_of(call, &own)};
    tavola_err err = change(&self, item, is_removal);

    tvc_writing_call_done(call, &own);
    return err;
}

tavola_err tavola_list_blob_add(tavola_container *container, const char *blob, const char *item,
                                tavola_call *call)
{
    return run(container, blob, item, false, call);
}

tavola_err tavola_list_blob_remove(tavola_container *container, const char *blob, const char *item,
                                   tavola_call *call)
{
    return run(container, blob, item, true, call);
}

tavola_err tavola_list_blob_get(tavola_container *container, const char *blob, tavola_call *call,
                                tavola_names **ret_items)
{
    if (ret_items == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no place for the items");

    tavola_call own;
    blob_list self = {container, blob, tvc_call_of(call, &own)};
    char *etag = NULL;
    tavola_err err = read_items(&self, ret_items, &etag);

    tvc_release(etag);
    tvc_call_done(&own);
    return err;
}
