/* The message of the inter-partition secondary index pattern. */
#include "client/patterns/inter_message.h"

#include "client/patterns/json_list.h"

#define KIND "tavola.inter-partition/1"

enum { AT_KIND, AT_TABLE, AT_PARTITION, AT_ROW, AT_SPOTS };

static bool add(tavola_names *items, const char *text)
{
    return tvc_names_add(items, tv_slice_of(text));
}

static bool add_all(tavola_names *items, const tvc_spots *spots)
{
    bool is_added = add(items, KIND) && add(items, tavola_table_name(spots->indexed->table)) &&
                    add(items, spots->partition_key) && add(items, spots->row_key);

    for (size_t i = 0; is_added && i < spots->count; i++)
        is_added = add(items, spots->at[i].index->prefix) && add(items, spots->at[i].at.row_key);
    return is_added;
}

char *tvc_inter_message(const tvc_spots *spots)
{
    tavola_names *items = tvc_names_new();
    tvc_text text = {0};

    if (items == NULL || !add_all(items, spots)) {
        tavola_names_free(items);
        return NULL;
    }
    tvc_json_list_write(&text, items);
    tavola_names_free(items);
    return tvc_text_take(&text);
}

static const tavola_index *find_index(const tavola_indexed *indexed, const char *prefix)
{
    for (size_t i = 0; i < indexed->count; i++) {
        if (strcmp(indexed->indexes[i].prefix, prefix) == 0)
            return &indexed->indexes[i];
    }
    return NULL;
}

static bool is_for(const tavola_names *items, const tavola_indexed *indexed)
{
    return items->count >= AT_SPOTS && items->count % 2 == 0 &&
           strcmp(items->items[AT_KIND], KIND) == 0 &&
           tv_slice_eq_nocase(tv_slice_of(items->items[AT_TABLE]),
                              tv_slice_of(tavola_table_name(indexed->table)));
}

static tavola_err add_spots(const tavola_names *items, tvc_spots *spots)
{
    for (size_t i = AT_SPOTS; i < items->count; i += 2) {
        const tavola_index *index = find_index(spots->indexed, items->items[i]);

        /* Of a program with other indexes: this one must not say that it is done. */
        if (index == NULL)
            return tvc_call_refuse(spots->call, TAVOLA_ERR_INVALID,
                                   "the message is about an index that is not known here");

        tavola_err err = tvc_spots_add(spots, index, items->items[i + 1]);

        if (err)
            return err;
    }
    return TAVOLA_OK;
}

tavola_err tvc_inter_message_read(const char *message, const tavola_indexed *indexed,
                                  tavola_call *call, tavola_names **ret_items, tvc_spots *ret_spots)
{
    tavola_names *items = NULL;
    tavola_err err = tvc_json_list_read(tv_slice_of(message), &items);

    if (err == TAVOLA_ERR_PROTOCOL || (err == TAVOLA_OK && !is_for(items, indexed)))
        err = tvc_call_refuse(call, TAVOLA_ERR_INVALID, "the message is not about these indexes");
    if (err) {
        tavola_names_free(items);
        return err;
    }

    err =
        tvc_spots_init(ret_spots, indexed, items->items[AT_PARTITION], items->items[AT_ROW], call);
    if (err == TAVOLA_OK)
        err = add_spots(items, ret_spots);
    if (err) {
        tvc_spots_done(ret_spots);
        tavola_names_free(items);
        return err;
    }
    *ret_items = items;
    return TAVOLA_OK;
}
