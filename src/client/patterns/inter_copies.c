/* The copies of the inter-partition secondary index pattern. */
#include "client/patterns/inter_copies.h"

tavola_err tvc_spots_init(tvc_spots *spots, const tavola_indexed *indexed,
                          const char *partition_key, const char *row_key, tavola_call *call)
{
    *spots = (tvc_spots){
        .indexed = indexed, .partition_key = partition_key, .row_key = row_key, .call = call};
    spots->at = tvc_calloc(TVC_SPOTS_MAX, sizeof *spots->at);
    return spots->at ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;
}

void tvc_spots_done(tvc_spots *spots)
{
    for (size_t i = 0; i < spots->count; i++) {
        tvc_index_place_done(&spots->at[i].at);
        tavola_entity_free(spots->at[i].copy);
    }
    tvc_release(spots->at);
    spots->at = NULL;
    spots->count = 0;
}

static bool has_spot(const tvc_spots *spots, const tavola_index *index, const char *value)
{
    for (size_t i = 0; i < spots->count; i++) {
        if (spots->at[i].index == index && strcmp(spots->at[i].at.row_key, value) == 0)
            return true;
    }
    return false;
}

tavola_err tvc_spots_add(tvc_spots *spots, const tavola_index *index, const char *value)
{
    tvc_index_place at;

    if (has_spot(spots, index, value))
        return TAVOLA_OK;
    if (spots->count == TVC_SPOTS_MAX)
        return tvc_call_refuse(spots->call, TAVOLA_ERR_INVALID, "there are too many copies");

    tavola_err err = tvc_index_place_init(&at, spots->indexed, index, spots->partition_key, value);

    if (err)
        return err;
    if (!tavola_key_is_valid(at.partition_key) || !tavola_key_is_valid(at.row_key)) {
        tvc_index_place_done(&at);
        return tvc_call_refuse(spots->call, TAVOLA_ERR_INVALID,
                               "the value of %s cannot be a RowKey", index->property);
    }
    spots->at[spots->count++] = (tvc_spot){.index = index, .at = at};
    return TAVOLA_OK;
}

tavola_err tvc_spots_add_values(tvc_spots *spots, const tavola_entity *entity, bool is_stored)
{
    for (size_t i = 0; i < spots->indexed->count; i++) {
        const tavola_index *index = &spots->indexed->indexes[i];
        const char *value = NULL;
        tavola_err err = tvc_index_value(index, entity, &value, spots->call);

        if (err == TAVOLA_OK && value)
            err = tvc_spots_add(spots, index, value);
        if (err && (!is_stored || err == TAVOLA_ERR_NO_MEMORY))
            return err;
    }
    return TAVOLA_OK;
}

/* ---- step (1) ---- */

static tavola_err read_spot(tvc_spots *spots, tvc_spot *spot)
{
    tavola_entity_free(spot->copy);
    spot->copy = NULL;
    spot->owner = TVC_OWNER_NOBODY;

    tavola_err err = tavola_get(spot->at.table, spot->at.partition_key, spot->at.row_key,
                                spots->call, &spot->copy);

    if (tvc_is_absent(err, spots->call))
        return TAVOLA_OK;
    if (err == TAVOLA_OK)
        spot->owner =
            tvc_index_is_of(spots->indexed, spot->copy, spots->partition_key, spots->row_key)
                ? TVC_OWNER_US
                : TVC_OWNER_OTHER;
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
    return tvc_index_has_value(spot->index, entity, spot->at.row_key);
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

/* ---- other primaries ---- */

/* Whether another primary has the value, so that the copy in the spot is rightly its own. */
static tavola_err check_claim(const tvc_spots *spots, const tvc_spot *spot, bool *ret_is_right)
{
    const char *partition_key = tvc_entity_text(spot->copy, TVC_PRIMARY_PARTITION);
    const char *row_key = tvc_entity_text(spot->copy, TVC_PRIMARY_ROW);

    /* No copy at all, but an entity of the application: not ours to touch. */
    *ret_is_right = true;
    if (partition_key == NULL || row_key == NULL ||
        strcmp(spot->at.partition_key + strlen(spot->index->prefix), partition_key) != 0)
        return TAVOLA_OK;

    tavola_entity *primary = NULL;
    tavola_err err = tvc_indexed_read_primary(spots->indexed, partition_key, row_key, false,
                                              spots->call, &primary);

    if (err == TAVOLA_OK)
        *ret_is_right = has_value(spot, primary);
    tavola_entity_free(primary);
    return err;
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

    tavola_entity *copy = tvc_index_copy(spots->indexed, spot->index, primary,
                                         spot->at.partition_key, spot->at.row_key, primary->etag);

    if (copy == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    err = tavola_entity_error(copy);
    if (err)
        tvc_call_refuse(spots->call, err, "%s", tavola_entity_error_text(copy));
    else if (spot->copy == NULL)
        err = tavola_insert(spot->at.table, copy, spots->call);
    else
        err = tavola_replace(spot->at.table, copy, tavola_entity_etag(spot->copy), spots->call);
    *has_inserted |= err == TAVOLA_OK && spot->owner != TVC_OWNER_US;
    tavola_entity_free(copy);
    return err;
}

static tavola_err delete_copy(tvc_spots *spots, const tvc_spot *spot)
{
    tavola_err err = tavola_delete(spot->at.table, spot->at.partition_key, spot->at.row_key,
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
        err = tvc_indexed_read_primary(spots->indexed, spots->partition_key, spots->row_key, true,
                                       spots->call, &primary);
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
