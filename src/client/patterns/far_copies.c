/* The copies of the inter-partition secondary index pattern. */
#include "client/patterns/far_copies.h"

tavola_err tvc_far_check(const tavola_far *far, tavola_call *call)
{
    if (far == NULL || far->struct_size < sizeof *far || far->table == NULL || far->queue == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "the tavola_far lacks its size, its table or its queue");

    tavola_err err = tvc_indexes_check(far->indexes, far->count, call);

    if (err)
        return err;

    bool is_one_table = far->copies == NULL || tvc_table_is_same(far->table, far->copies);

    for (size_t i = 0; i < far->count; i++) {
        const tavola_index *index = &far->indexes[i];
        bool is_primary = tvc_index_is_primary(index);

        if (is_one_table && !is_primary &&
            strcmp(index->prefix, tvc_indexes_primary_prefix(far->indexes, far->count)) == 0)
            return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                                   "copies would be among the primaries: give them a prefix");
    }
    return TAVOLA_OK;
}

tavola_err tvc_spots_init(tvc_spots *spots, const tavola_far *far, const char *partition_key,
                          const char *row_key, tavola_call *call)
{
    *spots = (tvc_spots){.far = far,
                         .copies = far->copies ? far->copies : far->table,
                         .partition_key = partition_key,
                         .row_key = row_key,
                         .call = call};
    spots->primary_partition =
        tvc_joined(tvc_indexes_primary_prefix(far->indexes, far->count), partition_key);
    spots->at = tvc_calloc(TVC_SPOTS_MAX, sizeof *spots->at);
    return spots->primary_partition && spots->at ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;
}

void tvc_spots_done(tvc_spots *spots)
{
    for (size_t i = 0; i < spots->count; i++) {
        tvc_release(spots->at[i].partition_key);
        tvc_release(spots->at[i].value);
        tavola_entity_free(spots->at[i].copy);
    }
    tvc_release(spots->at);
    tvc_release(spots->primary_partition);
    spots->at = NULL;
    spots->primary_partition = NULL;
    spots->count = 0;
}

static tvc_spot *find_spot(const tvc_spots *spots, const char *partition_key, const char *value)
{
    for (size_t i = 0; i < spots->count; i++) {
        if (strcmp(spots->at[i].partition_key, partition_key) == 0 &&
            strcmp(spots->at[i].value, value) == 0)
            return &spots->at[i];
    }
    return NULL;
}

tavola_err tvc_spots_add(tvc_spots *spots, const tavola_index *index, const char *value)
{
    char *partition_key = tvc_joined(index->prefix, spots->partition_key);

    if (partition_key == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    const tvc_spot *known = find_spot(spots, partition_key, value);
    tavola_err err = TAVOLA_OK;

    if (known && known->index != index)
        err = tvc_call_refuse(spots->call, TAVOLA_ERR_INVALID,
                              "two copies would have the same keys: that for %s and another",
                              index->property);
    else if (!tavola_key_is_valid(partition_key) || !tavola_key_is_valid(value))
        err = tvc_call_refuse(spots->call, TAVOLA_ERR_INVALID, "the value of %s cannot be a RowKey",
                              index->property);
    else if (known == NULL && spots->count == TVC_SPOTS_MAX)
        err = tvc_call_refuse(spots->call, TAVOLA_ERR_INVALID, "there are too many copies");

    char *kept = err || known ? NULL : tvc_dup_text(value);

    if (kept) {
        spots->at[spots->count++] =
            (tvc_spot){.index = index, .partition_key = partition_key, .value = kept};
        return TAVOLA_OK;
    }
    tvc_release(partition_key);
    return err || known ? err : TAVOLA_ERR_NO_MEMORY;
}

tavola_err tvc_spots_add_values(tvc_spots *spots, const tavola_entity *entity, bool is_stored)
{
    for (size_t i = 0; i < spots->far->count; i++) {
        const tavola_index *index = &spots->far->indexes[i];
        const char *value = NULL;

        if (tvc_index_is_primary(index))
            continue;

        tavola_err err = tvc_index_value(index, entity, &value, spots->call);

        if (err == TAVOLA_OK && value)
            err = tvc_spots_add(spots, index, value);
        if (err && (!is_stored || err == TAVOLA_ERR_NO_MEMORY))
            return err;
    }
    return TAVOLA_OK;
}

/* ---- step (1) ---- */

static tvc_owner owner_of(const tvc_spots *spots, const tavola_entity *copy)
{
    const char *partition_key = tvc_entity_text(copy, TVC_PRIMARY_PARTITION);
    const char *row_key = tvc_entity_text(copy, TVC_PRIMARY_ROW);

    if (partition_key && row_key && strcmp(partition_key, spots->partition_key) == 0 &&
        strcmp(row_key, spots->row_key) == 0)
        return TVC_OWNER_US;
    return TVC_OWNER_OTHER;
}

static tavola_err read_spot(tvc_spots *spots, tvc_spot *spot)
{
    tavola_entity_free(spot->copy);
    spot->copy = NULL;
    spot->owner = TVC_OWNER_NOBODY;

    tavola_err err =
        tavola_get(spots->copies, spot->partition_key, spot->value, spots->call, &spot->copy);

    if (tvc_is_absent(err, spots->call))
        return TAVOLA_OK;
    if (err == TAVOLA_OK)
        spot->owner = owner_of(spots, spot->copy);
    return err;
}

tavola_err tvc_spots_read(tvc_spots *spots)
{
    tavola_err err = TAVOLA_OK;

    for (size_t i = 0; err == TAVOLA_OK && i < spots->count; i++)
        err = read_spot(spots, &spots->at[i]);
    return err;
}

static bool has_value(const tvc_spot *spot, const tavola_entity *entity)
{
    const char *value = entity ? tvc_entity_text(entity, spot->index->property) : NULL;

    return value && strcmp(value, spot->value) == 0;
}

tavola_err tvc_spots_read_empty(tvc_spots *spots, const tavola_entity *primary)
{
    tavola_err err = TAVOLA_OK;

    for (size_t i = 0; err == TAVOLA_OK && i < spots->count; i++) {
        tvc_spot *spot = &spots->at[i];

        if (spot->owner != TVC_OWNER_US && !has_value(spot, primary))
            err = read_spot(spots, spot);
    }
    return err;
}

/* ---- step (2) ---- */

tavola_err tvc_far_read_primary(const tvc_spots *spots, bool is_whole, tavola_entity **ret_primary)
{
    const tavola_far *far = spots->far;
    const char *names[TVC_INDEXES_MAX + 2];
    tavola_err err;

    tvc_indexes_names(far->indexes, far->count, names);
    if (is_whole)
        err = tavola_get(far->table, spots->primary_partition, spots->row_key, spots->call,
                         ret_primary);
    else
        err = tavola_get_select(far->table, spots->primary_partition, spots->row_key, names,
                                spots->call, ret_primary);
    if (tvc_is_absent(err, spots->call))
        return TAVOLA_OK;
    if (err == TAVOLA_OK && tavola_entity_etag(*ret_primary) == NULL)
        err = TAVOLA_ERR_PROTOCOL;
    return err;
}

/* ---- other primaries ---- */

/* Whether a primary has this value, so that the copy in the spot is rightly its own. */
static tavola_err read_claim(const tvc_spots *spots, const tvc_spot *spot,
                             const char *partition_key, const char *row_key, bool *ret_is_right)
{
    const char *const names[] = {spot->index->property, NULL};
    const tavola_far *far = spots->far;
    char *stored = tvc_joined(tvc_indexes_primary_prefix(far->indexes, far->count), partition_key);
    tavola_entity *primary = NULL;

    if (stored == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = tavola_get_select(far->table, stored, row_key, names, spots->call, &primary);

    tvc_release(stored);
    if (tvc_is_absent(err, spots->call)) {
        *ret_is_right = false;
        return TAVOLA_OK;
    }
    if (err == TAVOLA_OK) {
        const char *value = tvc_entity_text(primary, spot->index->property);

        *ret_is_right = value && strcmp(value, spot->value) == 0;
    }
    tavola_entity_free(primary);
    return err;
}

static tavola_err check_claim(const tvc_spots *spots, const tvc_spot *spot, bool *ret_is_right)
{
    const char *partition_key = tvc_entity_text(spot->copy, TVC_PRIMARY_PARTITION);
    const char *row_key = tvc_entity_text(spot->copy, TVC_PRIMARY_ROW);

    /* No copy at all, but an entity of the application: not ours to touch. */
    *ret_is_right = true;
    if (partition_key == NULL || row_key == NULL)
        return TAVOLA_OK;

    char *spot_partition = tvc_joined(spot->index->prefix, partition_key);

    if (spot_partition == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    bool is_of_index = strcmp(spot_partition, spot->partition_key) == 0;

    tvc_release(spot_partition);
    return is_of_index ? read_claim(spots, spot, partition_key, row_key, ret_is_right) : TAVOLA_OK;
}

tavola_err tvc_spots_check_free(tvc_spots *spots, const tavola_entity *entity)
{
    for (size_t i = 0; i < spots->count; i++) {
        bool is_right = false;

        if (spots->at[i].owner != TVC_OWNER_OTHER || !has_value(&spots->at[i], entity))
            continue;

        tavola_err err = check_claim(spots, &spots->at[i], &is_right);

        if (err)
            return err;
        if (is_right) {
            tvc_call_set_error(spots->call, "EntityAlreadyExists",
                               "another entity has the value of an index");
            return TAVOLA_ERR_EXISTS;
        }
    }
    return TAVOLA_OK;
}

/* ---- step (3) ---- */

/* Whether an answer means that others wrote to the spot. */
static bool is_lost_race(const tvc_spots *spots, tavola_err err)
{
    return err == TAVOLA_ERR_ETAG || err == TAVOLA_ERR_EXISTS || tvc_is_absent(err, spots->call);
}

static tavola_err put_copy(tvc_spots *spots, tvc_spot *spot, const tavola_entity *primary,
                           bool *has_inserted)
{
    bool is_foreign = false;
    tavola_err err = TAVOLA_OK;

    if (spot->owner == TVC_OWNER_OTHER)
        err = check_claim(spots, spot, &is_foreign);
    if (is_foreign)
        spots->has_conflict = true;
    if (err || is_foreign)
        return err;

    tavola_entity *copy = tvc_index_copy(primary, spot->index->columns, spot->partition_key,
                                         spot->value, spots->partition_key, spots->row_key);

    if (copy == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    err = tavola_entity_error(copy);
    if (err)
        tvc_call_refuse(spots->call, err, "%s", tavola_entity_error_text(copy));
    else if (spot->copy == NULL)
        err = tavola_insert(spots->copies, copy, spots->call);
    else
        err = tavola_replace(spots->copies, copy, tavola_entity_etag(spot->copy), spots->call);
    *has_inserted |= err == TAVOLA_OK && spot->owner != TVC_OWNER_US;
    tavola_entity_free(copy);
    return err;
}

static tavola_err delete_copy(tvc_spots *spots, const tvc_spot *spot)
{
    tavola_err err = tavola_delete(spots->copies, spot->partition_key, spot->value,
                                   tavola_entity_etag(spot->copy), spots->call);

    return tvc_is_absent(err, spots->call) ? TAVOLA_OK : err;
}

static tavola_err write_spot(tvc_spots *spots, tvc_spot *spot, const tavola_entity *primary,
                             bool *has_inserted)
{
    if (has_value(spot, primary))
        return put_copy(spots, spot, primary, has_inserted);
    return spot->owner == TVC_OWNER_US ? delete_copy(spots, spot) : TAVOLA_OK;
}

/* New copies before stale ones go: a lookup by the new value works as soon as that can be. */
tavola_err tvc_spots_write(tvc_spots *spots, const tavola_entity *primary, bool *ret_again,
                           bool *ret_has_inserted)
{
    *ret_again = *ret_has_inserted = spots->has_conflict = false;
    for (int is_stale = 0; is_stale < 2; is_stale++) {
        for (size_t i = 0; i < spots->count; i++) {
            if (has_value(&spots->at[i], primary) == (is_stale == 1))
                continue;

            tavola_err err = write_spot(spots, &spots->at[i], primary, ret_has_inserted);

            if (err && !is_lost_race(spots, err))
                return err;
            *ret_again |= err != TAVOLA_OK;
        }
    }
    return TAVOLA_OK;
}

static tavola_err repair_once(tvc_spots *spots, bool *ret_is_done)
{
    tavola_entity *primary = NULL;
    bool again = false, has_inserted = false;
    tavola_err err = tvc_spots_read(spots);

    if (err == TAVOLA_OK)
        err = tvc_far_read_primary(spots, true, &primary);
    if (err == TAVOLA_OK)
        err = tvc_spots_write(spots, primary, &again, &has_inserted);
    *ret_is_done = !again && !has_inserted;
    tavola_entity_free(primary);
    return err;
}

tavola_err tvc_spots_repair(tvc_spots *spots)
{
    for (unsigned round = 0; round < TVC_ROUNDS_MAX; round++) {
        bool is_done = false;
        tavola_err err = repair_once(spots, &is_done);

        if (err || is_done)
            return err;
        tvc_pause(round);
    }
    return tvc_call_refuse(spots->call, TAVOLA_ERR_ETAG, "others changed the copies all the time");
}
