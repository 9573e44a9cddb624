/*
 * Inter-partition secondary index pattern.  The order: read the primary and the spots of its old
 * and new values; put the message, hidden; write the primary, on the condition that it is what was
 * read; write the copies; delete the message.  Wherever this ends, the message is there if the
 * primary may have been changed, and far_copies.h says why what it stands for can be done at any
 * time and by several at once.
 *
 * A message that is seen before the primary is written would be worked on too early.  It is kept
 * hidden while the process lives; should it have been lost meanwhile, another one is put before the
 * copies are touched.
 */
#include "client/patterns/far_message.h"
#include "client/patterns/keeper.h"

typedef struct far_write {
    tvc_spots spots;
    const tavola_entity *entity; /* NULL: it is deleted */
    tavola_entity *was;          /* the primary as it was read: the indexed properties; or NULL */
    char *text;                  /* of the message */
    uint32_t hidden_s;
    tavola_call *call;
} far_write;

static tavola_err write_primary(far_write *self)
{
    tavola_table *table = self->spots.far->table;
    const char *etag = self->was ? tavola_entity_etag(self->was) : NULL;

    if (self->entity == NULL)
        return tavola_delete(table, self->spots.primary_partition, self->spots.row_key, etag,
                             self->call);

    tavola_entity *primary =
        tvc_index_primary(self->entity, self->spots.primary_partition, self->spots.row_key);

    if (primary == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = etag ? tavola_replace(table, primary, etag, self->call)
                          : tavola_insert(table, primary, self->call);

    tavola_entity_free(primary);
    return err;
}

/* Whether the primary is still as this writer left it. */
static tavola_err is_unchanged(far_write *self, const char *etag, bool *ret_is_unchanged)
{
    tavola_entity *primary = NULL;
    tavola_err err = tvc_far_read_primary(&self->spots, false, &primary);

    if (err == TAVOLA_OK && self->entity)
        *ret_is_unchanged = primary && etag && strcmp(tavola_entity_etag(primary), etag) == 0;
    else if (err == TAVOLA_OK)
        *ret_is_unchanged = primary == NULL;
    tavola_entity_free(primary);
    return err;
}

static tavola_err write_copies(far_write *self, const char *etag)
{
    bool again = false, has_inserted = false, is_unchanged_since = true;
    tavola_err err = tvc_spots_read_empty(&self->spots, self->entity);

    if (err == TAVOLA_OK)
        err = tvc_spots_write(&self->spots, self->entity, &again, &has_inserted);
    if (err == TAVOLA_OK && has_inserted)
        err = is_unchanged(self, etag, &is_unchanged_since);
    if (err == TAVOLA_OK && (again || !is_unchanged_since))
        err = tvc_spots_repair(&self->spots);
    return err;
}

/* After the primary was written. */
static tavola_err finish(far_write *self, tvc_keeper *keeper)
{
    tavola_queue *queue = self->spots.far->queue;
    char *etag = tvc_dup_text(tavola_call_etag(self->call));
    tavola_err err = TAVOLA_OK;

    if (tvc_keeper_is_lost(keeper))
        err = tavola_message_put_later(queue, self->text, self->hidden_s, TVC_NEVER_EXPIRES,
                                       self->call, NULL);
    if (err == TAVOLA_OK)
        err = write_copies(self, etag);
    if (err == TAVOLA_OK && etag)
        (void)tvc_call_set_etag(self->call, tv_slice_of(etag));
    tvc_release(etag);
    return err;
}

/* Whether the primary has certainly not been written, so that its message is void. */
static bool is_refused(tavola_err err)
{
    return err == TAVOLA_ERR_ETAG || err == TAVOLA_ERR_EXISTS || err == TAVOLA_ERR_NOT_FOUND ||
           err == TAVOLA_ERR_INVALID || err == TAVOLA_ERR_TOO_LARGE || err == TAVOLA_ERR_DENIED ||
           err == TAVOLA_ERR_UNSUPPORTED;
}

/* Not with the caller's call: that keeps the outcome that matters.  If it fails, a worker finds
 * nothing to do. */
static void delete_message(far_write *self, const tavola_message *message)
{
    (void)!tavola_message_delete(self->spots.far->queue, message, NULL);
}

/* *ret_is_lost_race: others changed the primary since it was read; nothing was written. */
static tavola_err write_announced(far_write *self, tavola_message *message, bool *ret_is_lost_race)
{
    tvc_keeper keeper;
    tavola_err err = tvc_keeper_start(&keeper, self->spots.far->queue, message, self->hidden_s);

    if (err) {
        delete_message(self, message);
        return err;
    }
    err = write_primary(self);

    bool is_void = is_refused(err);

    *ret_is_lost_race =
        err == TAVOLA_ERR_ETAG || err == TAVOLA_ERR_EXISTS || tvc_is_absent(err, self->call);
    if (err == TAVOLA_OK)
        err = finish(self, &keeper);

    bool is_ours = tvc_keeper_stop(&keeper);

    if (is_ours && (is_void || err == TAVOLA_OK))
        delete_message(self, message);
    return err;
}

static tavola_err announce(far_write *self, bool *ret_is_lost_race)
{
    tavola_message *message = NULL;

    self->text = tvc_far_message(&self->spots);
    if (self->text == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = tavola_message_put_later(self->spots.far->queue, self->text, self->hidden_s,
                                              TVC_NEVER_EXPIRES, self->call, &message);

    if (err == TAVOLA_OK)
        err = write_announced(self, message, ret_is_lost_race);
    tavola_message_free(message);
    tvc_release(self->text);
    self->text = NULL;
    return err;
}

static tavola_err check_condition(const far_write *self)
{
    const char *etag = self->entity ? tavola_entity_etag(self->entity) : NULL;

    if (self->was == NULL && (self->entity == NULL || etag))
        return TAVOLA_ERR_NOT_FOUND;
    if (etag && strcmp(etag, tavola_entity_etag(self->was)) != 0)
        return tvc_call_refuse(self->call, TAVOLA_ERR_ETAG,
                               "the entity was changed since it was read");
    return TAVOLA_OK;
}

static tavola_err write_round(far_write *self, bool *ret_is_lost_race)
{
    tavola_err err = tvc_far_read_primary(&self->spots, false, &self->was);

    if (err == TAVOLA_OK)
        err = check_condition(self);
    if (err == TAVOLA_OK && self->entity)
        err = tvc_spots_add_values(&self->spots, self->entity, false);
    if (err == TAVOLA_OK && self->was)
        err = tvc_spots_add_values(&self->spots, self->was, true);
    if (err == TAVOLA_OK)
        err = tvc_spots_read(&self->spots);
    if (err == TAVOLA_OK && self->entity)
        err = tvc_spots_check_free(&self->spots, self->entity);
    if (err == TAVOLA_OK)
        err = announce(self, ret_is_lost_race);
    if (err == TAVOLA_OK && self->spots.has_conflict) {
        tvc_call_set_error(self->call, "EntityAlreadyExists",
                           "it was written, but another entity got the value of an index first");
        err = TAVOLA_ERR_EXISTS;
    }
    return err;
}

static tavola_err write_once(const tavola_far *far, const tavola_entity *entity,
                             const char *partition_key, const char *row_key, tavola_call *call,
                             bool *ret_is_lost_race)
{
    far_write self = {.entity = entity, .hidden_s = tvc_hidden_seconds(far->hide_ms), .call = call};
    tavola_err err = tvc_spots_init(&self.spots, far, partition_key, row_key, call);

    if (err == TAVOLA_OK)
        err = write_round(&self, ret_is_lost_race);
    tavola_entity_free(self.was);
    tvc_spots_done(&self.spots);
    return err;
}

static tavola_err write_in_rounds(const tavola_far *far, const tavola_entity *entity,
                                  const char *partition_key, const char *row_key, tavola_call *call)
{
    bool is_conditional = entity && tavola_entity_etag(entity);

    for (unsigned round = 0;; round++) {
        bool is_lost_race = false;
        tavola_err err = write_once(far, entity, partition_key, row_key, call, &is_lost_race);

        if (!is_lost_race || is_conditional || round + 1 == TVC_ROUNDS_MAX)
            return is_lost_race ? TAVOLA_ERR_ETAG : err;
        tvc_pause(round);
    }
}

tavola_err tavola_far_put(const tavola_far *far, const tavola_entity *entity, tavola_call *call)
{
    const char *why = NULL;
    tavola_err err = tvc_entity_check(entity, &why);

    if (err)
        return tvc_call_refuse(call, err, "%s", why ? why : "there is no entity");
    err = tvc_far_check(far, call);
    if (err)
        return err;

    tavola_call own;

    err = write_in_rounds(far, entity, tavola_entity_partition_key(entity),
                          tavola_entity_row_key(entity), tvc_writing_call_of(call, &own));
    tvc_writing_call_done(call, &own);
    return err;
}

tavola_err tavola_far_delete(const tavola_far *far, const char *partition_key, const char *row_key,
                             tavola_call *call)
{
    tavola_err err = tvc_far_check(far, call);

    if (err)
        return err;
    if (partition_key == NULL || row_key == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "A key is missing");

    tavola_call own;

    err = write_in_rounds(far, NULL, partition_key, row_key, tvc_writing_call_of(call, &own));
    tvc_writing_call_done(call, &own);
    return err;
}

tavola_err tavola_far_get(const tavola_far *far, const tavola_index *index,
                          const char *partition_key, const char *value, tavola_call *call,
                          tavola_entity **ret_entity)
{
    tavola_err err = tvc_far_check(far, call);

    if (err == TAVOLA_OK && index)
        err = tvc_indexes_check(index, 1, call);
    if (err)
        return err;
    if (index == NULL || partition_key == NULL || value == NULL || ret_entity == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "the index, a key or a place is missing");

    bool is_primary = tvc_index_is_primary(index);
    tavola_table *table = is_primary || far->copies == NULL ? far->table : far->copies;
    char *stored_partition = tvc_joined(index->prefix, partition_key);
    tavola_entity *entity = NULL;

    if (stored_partition == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    err = tavola_get(table, stored_partition, value, call, &entity);
    tvc_release(stored_partition);
    if (err == TAVOLA_OK)
        err = tvc_index_restore(entity, partition_key, value);
    if (err) {
        tavola_entity_free(entity);
        return err;
    }
    /* A copy may be old, so its etag is no condition for the primary. */
    if (!is_primary)
        entity->etag = NULL;
    *ret_entity = entity;
    return TAVOLA_OK;
}

tavola_err tavola_far_repair(const char *message, uint32_t dequeue_count, void *user)
{
    const tavola_far *far = user;
    tavola_err err = message ? tvc_far_check(far, NULL) : TAVOLA_ERR_INVALID;

    (void)dequeue_count;
    if (err)
        return err;

    tavola_call call;
    tvc_spots spots;
    tavola_names *items = NULL;

    (void)tvc_writing_call_of(NULL, &call);
    err = tvc_far_message_read(message, far, &call, &items, &spots);
    if (err == TAVOLA_OK) {
        err = tvc_spots_repair(&spots);
        tvc_spots_done(&spots);
        tavola_names_free(items);
    }
    tvc_call_done(&call);
    return err;
}
