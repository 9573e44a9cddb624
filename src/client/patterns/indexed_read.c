/*
 * Reading by an index: a point query for one entity, a range for many.  What is handed out is the
 * entity of the application, whichever way it was found.
 */
#include "client/key/after.h"
#include "client/patterns/indexed.h"
#include "client/query/query.h"
#include "client/table/scan.h"

static tavola_err find_index(const tavola_indexed *indexed, const char *property, tavola_call *call,
                             const tavola_index **ret_index)
{
    if (indexed == NULL || property == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "the tavola_indexed or the property is missing");
    *ret_index = tvc_indexed_find(indexed, property);
    if (*ret_index == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no index over this property");
    return TAVOLA_OK;
}

tavola_err tavola_indexed_get(tavola_indexed *indexed, const char *property,
                              const char *partition_key, const char *value, tavola_call *call,
                              tavola_entity **ret_entity)
{
    const tavola_index *index = NULL;
    tavola_err err = find_index(indexed, property, call, &index);

    if (err)
        return err;
    if (partition_key == NULL || value == NULL || ret_entity == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "a key or a place is missing");

    tvc_index_place at;
    tavola_entity *entity = NULL;

    err = tvc_index_place_init(&at, indexed, index, partition_key, value);
    if (err)
        return err;
    err = tavola_get(at.table, at.partition_key, at.row_key, call, &entity);
    tvc_index_place_done(&at);
    if (err == TAVOLA_OK && !tvc_index_restore(indexed, index, entity))
        err = tvc_call_refuse(call, TAVOLA_ERR_NOT_FOUND,
                              "what is stored there was not put by tavola_indexed_put");
    if (err)
        tavola_entity_free(entity);
    else
        *ret_entity = entity;
    return err;
}

/* ---- scans ---- */

typedef struct index_scan {
    tavola_scan scan;
    tavola_scan *stored;     /* of what is stored */
    tavola_indexed *indexed; /* a reference */
    const tavola_index *index;
    bool is_selection; /* not all properties are read */
    uint64_t left;     /* of the query's limit */
    tavola_err err;    /* once it is not OK it stays */
} index_scan;

static tavola_err next_restored(index_scan *self, const tavola_entity **ret_entity)
{
    const tavola_entity *next = NULL;

    while (self->left > 0) {
        tavola_err err = tavola_scan_next(self->stored, &next);

        if (err)
            return err;

        /* It is in the memory of a page, which is ours. */
        tavola_entity *entity = (tavola_entity *)(uintptr_t)next;

        if (!tvc_index_restore(self->indexed, self->index, entity))
            continue;
        entity->is_part |= self->is_selection;
        if (self->left != UINT64_MAX)
            self->left--;
        *ret_entity = entity;
        return TAVOLA_OK;
    }
    return TAVOLA_END;
}

static tavola_err index_next(tavola_scan *scan, const tavola_entity **ret_entity)
{
    index_scan *self = (index_scan *)scan;

    if (self->err == TAVOLA_OK)
        self->err = next_restored(self, ret_entity);
    return self->err;
}

static void index_close(tavola_scan *scan)
{
    index_scan *self = (index_scan *)scan;

    tavola_scan_close(self->stored);
    tavola_indexed_close(self->indexed);
    tvc_release(self);
}

/* Keys from `low` on, below `high`; either may be NULL. */
static tavola_filter *range_of(const char *partition_key, const char *low, const char *high)
{
    tavola_filter *filter = tavola_where("PartitionKey", TAVOLA_EQ, tavola_string(partition_key));

    if (low)
        filter = tavola_and(filter, tavola_where("RowKey", TAVOLA_GE, tavola_string(low)));
    if (high)
        filter = tavola_and(filter, tavola_where("RowKey", TAVOLA_LT, tavola_string(high)));
    return filter;
}

/* The range of an index in a partition of its own. */
static tavola_filter *range_in_other(const tavola_index *index, const char *partition_key,
                                     const char *from, const char *to)
{
    char *stored_partition = tvc_joined(index->prefix, partition_key);
    tavola_filter *filter = stored_partition ? range_of(stored_partition, from, to) : NULL;

    tvc_release(stored_partition);
    return filter;
}

/* The first key behind a range of keys that begin with a prefix: *ret_high is NULL when there is
 * none.  False: no memory. */
static bool end_of(const char *prefix, const char *to, char **ret_high)
{
    tvc_text high = {0};

    *ret_high = NULL;
    if (to)
        *ret_high = tvc_joined(prefix, to);
    else if (tvc_add_after(&high, tv_slice_of(prefix), true))
        *ret_high = tvc_text_take(&high);
    else if (!high.has_failed)
        return true;
    tvc_text_done(&high);
    return *ret_high != NULL;
}

/* That of an index beside others: those keys that begin with its prefix. */
static tavola_filter *range_in_same(const tavola_index *index, const char *partition_key,
                                    const char *from, const char *to)
{
    char *low = tvc_joined(index->prefix, from ? from : ""), *high = NULL;
    tavola_filter *filter = NULL;

    if (end_of(index->prefix, to, &high) && low)
        filter = range_of(partition_key, low, high);
    tvc_release(high);
    tvc_release(low);
    return filter;
}

/* The caller's query within the range, for what is stored; NULL: no memory. */
static tavola_query *query_of(const index_scan *self, const tavola_query *query,
                              tavola_filter *range)
{
    static const char *const own[] = {TVC_PRIMARY_ROW, TVC_PRIMARY_PARTITION, TVC_PRIMARY_ETAG,
                                      NULL};
    tavola_query *stored = range ? tvc_query_narrow(query, range) : NULL;

    if (stored == NULL)
        return NULL;
    tvc_query_select_also(stored, own);
    /* Copies are passed over here, so it is not known how many have to be read. */
    if (tvc_index_is_primary(self->index) && *self->index->prefix == '\0')
        tavola_query_set_limit(stored, UINT64_MAX);
    return stored;
}

static tavola_err open_stored(index_scan *self, const char *partition_key, const char *from,
                              const char *to, const tavola_query *query, tavola_call *call)
{
    const tavola_indexed *indexed = self->indexed;
    tavola_table *table = tvc_index_is_primary(self->index) ? indexed->table : indexed->copies;
    tavola_filter *range = indexed->queue ? range_in_other(self->index, partition_key, from, to)
                                          : range_in_same(self->index, partition_key, from, to);
    tavola_query *stored = query_of(self, query, range);

    if (stored == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = tavola_scan_open(table, stored, call, &self->stored);

    tavola_query_free(stored);
    return err;
}

tavola_err tavola_indexed_scan(tavola_indexed *indexed, const char *property,
                               const char *partition_key, const char *from, const char *to,
                               const tavola_query *query, tavola_call *call, tavola_scan **ret_scan)
{
    const tavola_index *index = NULL;
    tavola_err err = find_index(indexed, property, call, &index);

    if (err)
        return err;
    if (!tavola_key_is_valid(partition_key) || (from && !tavola_key_is_valid(from)) ||
        (to && !tavola_key_is_valid(to)) || ret_scan == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "there is no place, or the PartitionKey or a bound cannot be a key");

    index_scan *self = tvc_zalloc(sizeof *self);

    if (self == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    *self = (index_scan){
        .scan = {.next = index_next, .close = index_close},
        .indexed = tvc_indexed_ref(indexed),
        .index = index,
        .is_selection = tvc_query_is_selection(query),
        .left = tvc_query_limit(query),
    };
    err = open_stored(self, partition_key, from, to, query, call);
    if (err)
        index_close(&self->scan);
    else
        *ret_scan = &self->scan;
    return err;
}
