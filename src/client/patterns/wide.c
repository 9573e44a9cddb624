/*
 * Wide entities pattern: all parts of one put are written in one entity group transaction, whose
 * condition is the etag of the first part: there is no state in between.  wide_parts.h has the
 * layout.
 */
#include "client/patterns/wide_parts.h"

typedef struct wide_write {
    tavola_table *table;
    const char *partition_key, *row_key;
    const char *if_match;                /* of the first part, or NULL */
    tvc_wide_parts parts;                /* none: it is deleted */
    bool is_missing[TVC_WIDE_PARTS_MAX]; /* a part that the first one promises and is not there */
    tavola_call *call;
} wide_write;

/* What is there: *ret_count is 0 and *ret_etag NULL when there is nothing. */
static tavola_err read_first(const wide_write *self, size_t *ret_count, char **ret_etag)
{
    static const char *const names[] = {TVC_WIDE_COUNT, NULL};
    char *row_key = tvc_wide_part_key(self->row_key, 0);
    tavola_entity *first = NULL;

    if (row_key == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err =
        tavola_get_select(self->table, self->partition_key, row_key, names, self->call, &first);

    tvc_release(row_key);
    if (tvc_is_absent(err, self->call)) {
        *ret_count = 0;
        return TAVOLA_OK;
    }
    if (err)
        return err;

    *ret_count = tvc_wide_count(first);
    *ret_etag = tvc_dup_text(tavola_entity_etag(first));
    if (*ret_count == 0)
        err = tvc_call_refuse(self->call, TAVOLA_ERR_CONFLICT,
                              "there is an entity under the key that is no part");
    else if (*ret_etag == NULL)
        err = TAVOLA_ERR_NO_MEMORY;
    tavola_entity_free(first);
    return err;
}

static tavola_err add_delete(const wide_write *self, tavola_batch *to, size_t part,
                             const char *etag)
{
    char *row_key = tvc_wide_part_key(self->row_key, part);
    tavola_entity *entity = row_key ? tavola_entity_new(self->partition_key, row_key) : NULL;

    tvc_release(row_key);
    if (entity == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    tavola_batch_add(to, TAVOLA_DELETE, entity, etag);
    tavola_entity_free(entity);
    return TAVOLA_OK;
}

/* ret_parts[i] is the number of the part that write i is about. */
static tavola_err add_writes(const wide_write *self, tavola_batch *to, size_t was_count,
                             const char *etag, size_t ret_parts[TVC_BATCH_WRITES])
{
    size_t writes = 0;

    for (size_t i = 0; i < self->parts.count; i++) {
        tavola_write first = etag ? TAVOLA_REPLACE : TAVOLA_INSERT;

        tavola_batch_add(to, i == 0 ? first : TAVOLA_INSERT_OR_REPLACE, self->parts.at[i],
                         i == 0 ? etag : NULL);
        ret_parts[writes++] = i;
    }
    for (size_t i = self->parts.count; i < was_count; i++) {
        if (self->is_missing[i])
            continue;

        tavola_err err = add_delete(self, to, i, i == 0 ? etag : TAVOLA_ANY);

        if (err)
            return err;
        ret_parts[writes++] = i;
    }
    return TAVOLA_OK;
}

/* Whether another round may help; remembers a part that is missing. */
static bool may_try_again(wide_write *self, tavola_err err, const size_t parts[TVC_BATCH_WRITES])
{
    int at = tavola_call_failed_index(self->call);
    bool is_absent = tvc_is_absent(err, self->call);

    if ((err != TAVOLA_ERR_ETAG && err != TAVOLA_ERR_EXISTS && !is_absent) || at < 0 ||
        at >= TVC_BATCH_WRITES)
        return false;

    if (at == 0)
        memset(self->is_missing, 0, sizeof self->is_missing);
    else if (is_absent)
        self->is_missing[parts[at]] = true;
    return true;
}

static tavola_err write_over(wide_write *self, size_t was_count, const char *etag,
                             bool *ret_try_again)
{
    size_t parts[TVC_BATCH_WRITES] = {0};
    tavola_batch *batch = tavola_batch_new(self->table);

    if (batch == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = add_writes(self, batch, was_count, etag, parts);

    if (err == TAVOLA_OK) {
        err = tavola_batch_run(batch, self->call);
        if (err) {
            *ret_try_again = may_try_again(self, err, parts);
        } else {
            const char *new_etag = tavola_batch_etag(batch, 0);

            /* What was only found by reading back is the first part. */
            if (new_etag || !tavola_call_was_confirmed(self->call) || self->parts.count == 0)
                (void)tvc_call_set_etag(self->call, new_etag ? tv_slice_of(new_etag) : TV_NONE);
        }
    }
    tavola_batch_free(batch);
    return err;
}

static tavola_err write_once(wide_write *self, bool *ret_try_again)
{
    size_t was_count = 0;
    char *etag = NULL;
    bool must_exist = self->parts.count == 0 || self->if_match;
    tavola_err err = read_first(self, &was_count, &etag);

    if (err == TAVOLA_OK && etag == NULL && must_exist)
        err = TAVOLA_ERR_NOT_FOUND;
    if (err == TAVOLA_OK && self->if_match && strcmp(self->if_match, etag) != 0)
        err = tvc_call_refuse(self->call, TAVOLA_ERR_ETAG,
                              "the entity was changed since it was read");
    if (err == TAVOLA_OK)
        err = write_over(self, was_count, etag, ret_try_again);
    tvc_release(etag);
    return err;
}

static tavola_err write_in_rounds(wide_write *self)
{
    for (unsigned round = 0;; round++) {
        bool try_again = false;
        tavola_err err = write_once(self, &try_again);

        if (!try_again)
            return err;
        if (round + 1 == TVC_ROUNDS_MAX)
            return tvc_call_refuse(self->call, TAVOLA_ERR_ETAG,
                                   "others changed the entity all the time");
        tvc_pause(round);
    }
}

tavola_err tavola_wide_put(tavola_table *table, tavola_entity *wide, tavola_call *call)
{
    tavola_err err = wide ? tavola_entity_error(wide) : TAVOLA_ERR_NO_MEMORY;

    if (err)
        return tvc_call_refuse(call, err, "%s",
                               wide ? tavola_entity_error_text(wide) : "there is no entity");
    if (!tvc_entity_reserve_etag(wide))
        return TAVOLA_ERR_NO_MEMORY;

    tavola_call own;
    wide_write self = {.table = table,
                       .partition_key = tavola_entity_partition_key(wide),
                       .row_key = tavola_entity_row_key(wide),
                       .if_match = tavola_entity_etag(wide),
                       .call = tvc_writing_call_of(call, &own)};

    err = tvc_wide_split(wide, &self.parts, self.call);
    if (err == TAVOLA_OK)
        err = write_in_rounds(&self);
    if (err == TAVOLA_OK)
        tvc_entity_take_etag(wide, tavola_call_etag(self.call));
    tvc_wide_parts_done(&self.parts);
    tvc_writing_call_done(call, &own);
    return err;
}

tavola_err tavola_wide_delete(tavola_table *table, const char *partition_key, const char *row_key,
                              tavola_call *call)
{
    if (partition_key == NULL || row_key == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "A key is missing");

    tavola_call own;
    wide_write self = {.table = table,
                       .partition_key = partition_key,
                       .row_key = row_key,
                       .call = tvc_writing_call_of(call, &own)};
    tavola_err err = write_in_rounds(&self);

    tvc_writing_call_done(call, &own);
    return err;
}

/* ---- reading ---- */

static tavola_query *parts_query(const char *partition_key, const char *row_key)
{
    char *from = tvc_wide_row_key(row_key, "0"), *to = tvc_wide_row_key(row_key, ":");
    tavola_query *query = NULL;

    if (from && to)
        query = tavola_query_new(
            tavola_and(tavola_where("PartitionKey", TAVOLA_EQ, tavola_string(partition_key)),
                       tavola_and(tavola_where("RowKey", TAVOLA_GE, tavola_string(from)),
                                  tavola_where("RowKey", TAVOLA_LT, tavola_string(to)))));
    tvc_release(from);
    tvc_release(to);
    return query;
}

static tavola_err read_parts(tavola_table *table, const tavola_query *query, const char *row_key,
                             tavola_call *call, tvc_wide_parts *parts)
{
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    tavola_err err = tavola_scan_open(table, query, call, &scan);

    while (err == TAVOLA_OK) {
        err = tavola_scan_next(scan, &entity);
        if (err == TAVOLA_OK)
            err = tvc_wide_collect(parts, row_key, entity);
    }
    tavola_scan_close(scan);
    return err == TAVOLA_END ? TAVOLA_OK : err;
}

static tavola_err read_in_rounds(tavola_table *table, const tavola_query *query,
                                 const char *row_key, tavola_call *call, tvc_wide_parts *parts)
{
    for (unsigned round = 0; round < TVC_ROUNDS_MAX; round++) {
        tavola_err err = read_parts(table, query, row_key, call, parts);

        if (err || tvc_wide_is_whole(parts))
            return err;
        if (parts->count == 0)
            return tvc_call_refuse(call, TAVOLA_ERR_NOT_FOUND, "there is no such wide entity");

        /* Some pages are of before a put and some of after it. */
        tvc_wide_parts_done(parts);
        tvc_pause(round);
    }
    return tvc_call_refuse(call, TAVOLA_ERR_PROTOCOL, "the parts do not belong together");
}

tavola_err tavola_wide_get(tavola_table *table, const char *partition_key, const char *row_key,
                           tavola_call *call, tavola_entity **ret_wide)
{
    if (partition_key == NULL || row_key == NULL || ret_wide == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "A key or a place is missing");

    tavola_query *query = parts_query(partition_key, row_key);

    if (query == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tvc_wide_parts parts = {0};
    tavola_err err = read_in_rounds(table, query, row_key, call, &parts);

    if (err == TAVOLA_OK)
        err = tvc_wide_join(&parts, partition_key, row_key, ret_wide);
    tvc_wide_parts_done(&parts);
    tavola_query_free(query);
    return err;
}
