/*
 * Inter-partition secondary index pattern.  The order: read the primary and the spots of its old
 * and new values; put the message, hidden; write the primary, on the condition that it is what was
 * read; write the copies; delete the message.  Wherever this ends, the message is there if the
 * primary may have been changed, and inter_copies.h says why what it stands for can be done at any
 * time and by several at once.
 *
 * A message that is seen before the primary is written would be worked on too early.  It is kept
 * hidden while the process lives; should it have been lost meanwhile, another one is put before the
 * copies are touched.
 */
#include "client/patterns/inter_message.h"
#include "client/patterns/keeper.h"
#include "client/table/table.h"

typedef struct inter {
    const tavola_indexed *indexed;
    const tvc_indexed_edit *edit;
    tvc_spots spots;
    tavola_entity *state; /* ours; what it is to be, with the etag that it gets; NULL: deleted */
    tavola_entity *was;   /* the primary as it was read: the indexed properties; or NULL */
    tvc_index_place primary;
    char *text; /* of the message */
    tavola_call *call;
} inter;

static tavola_err write_primary(inter *self)
{
    const tvc_index_place *at = &self->primary;
    const char *etag = self->was ? self->was->etag : NULL;

    if (self->state == NULL)
        return tavola_delete(at->table, at->partition_key, at->row_key, etag, self->call);

    tavola_entity *primary = tvc_index_primary(self->state, at->partition_key, at->row_key);

    if (primary == NULL || !tvc_entity_reserve_etag(self->state)) {
        tavola_entity_free(primary);
        return TAVOLA_ERR_NO_MEMORY;
    }

    tavola_err err = etag ? tavola_replace(at->table, primary, etag, self->call)
                          : tavola_insert(at->table, primary, self->call);

    if (err == TAVOLA_OK)
        tvc_entity_take_etag(self->state, primary->etag);
    tavola_entity_free(primary);
    return err;
}

/* Whether the primary is still as this writer left it. */
static tavola_err is_unchanged(inter *self, bool *ret_is_unchanged)
{
    tavola_entity *primary = NULL;
    tavola_err err = tvc_indexed_read_primary(self->indexed, self->edit->partition_key,
                                              self->edit->row_key, false, self->call, &primary);

    if (err == TAVOLA_OK && self->state)
        *ret_is_unchanged = primary && strcmp(primary->etag, self->state->etag) == 0;
    else if (err == TAVOLA_OK)
        *ret_is_unchanged = primary == NULL;
    tavola_entity_free(primary);
    return err;
}

static tavola_err write_copies(inter *self)
{
    bool again = false, has_inserted = false, is_unchanged_since = true;

    if (self->state && self->state->etag == NULL)
        return tvc_spots_repair(&self->spots);

    tavola_err err = tvc_spots_read_empty(&self->spots, self->state);

    if (err == TAVOLA_OK)
        err = tvc_spots_write(&self->spots, self->state, &again, &has_inserted);
    if (err == TAVOLA_OK && has_inserted)
        err = is_unchanged(self, &is_unchanged_since);
    if (err == TAVOLA_OK && (again || !is_unchanged_since))
        err = tvc_spots_repair(&self->spots);
    return err;
}

/* After the primary was written. */
static tavola_err finish(inter *self, tvc_keeper *keeper)
{
    const char *etag = self->state ? self->state->etag : NULL;
    tavola_err err = TAVOLA_OK;

    if (tvc_keeper_is_lost(keeper))
        err = tavola_message_put_later(self->indexed->queue, self->text, self->indexed->hidden_s,
                                       TVC_NEVER_EXPIRES, self->call, NULL);
    if (err == TAVOLA_OK)
        err = write_copies(self);
    if (err == TAVOLA_OK)
        (void)tvc_call_set_etag(self->call, etag ? tv_slice_of(etag) : TV_NONE);
    return err;
}

/* Whether the primary has certainly not been written, so that its message is void. */
static bool is_refused(tavola_err err)
{
    return err == TAVOLA_ERR_ETAG || err == TAVOLA_ERR_EXISTS || err == TAVOLA_ERR_NOT_FOUND ||
           err == TAVOLA_ERR_INVALID || err == TAVOLA_ERR_TOO_LARGE || err == TAVOLA_ERR_DENIED ||
           err == TAVOLA_ERR_UNSUPPORTED;
}

/* The caller's call keeps the outcome that matters.  If it fails, a worker finds nothing to do. */
static void delete_message(inter *self, const tavola_message *message)
{
    tavola_call call;

    tvc_call_init(&call);
    tvc_call_copy_options(&call, self->call);
    (void)!tavola_message_delete(self->indexed->queue, message, &call);
    tvc_call_done(&call);
}

/* *ret_is_lost_race: others changed the primary since it was read; nothing was written. */
static tavola_err write_announced(inter *self, tavola_message *message, bool *ret_is_lost_race)
{
    tvc_keeper keeper;
    tavola_err err =
        tvc_keeper_start(&keeper, self->indexed->queue, message, self->indexed->hidden_s);

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

static tavola_err announce(inter *self, bool *ret_is_lost_race)
{
    tavola_message *message = NULL;

    self->text = tvc_inter_message(&self->spots);
    if (self->text == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err =
        tavola_message_put_later(self->indexed->queue, self->text, self->indexed->hidden_s,
                                 TVC_NEVER_EXPIRES, self->call, &message);

    if (err == TAVOLA_OK)
        err = write_announced(self, message, ret_is_lost_race);
    tavola_message_free(message);
    tvc_release(self->text);
    self->text = NULL;
    return err;
}

static tavola_err check_condition(const inter *self)
{
    const char *etag = self->edit->if_match;

    if (self->was == NULL && (self->edit->entity == NULL || etag))
        return TAVOLA_ERR_NOT_FOUND;
    if (etag && strcmp(etag, TAVOLA_ANY) != 0 && strcmp(etag, self->was->etag) != 0)
        return tvc_call_refuse(self->call, TAVOLA_ERR_ETAG,
                               "the entity was changed since it was read, or it was read by a copy "
                               "that is old");
    return TAVOLA_OK;
}

/* *ret_is_same: nothing was changed. */
static tavola_err make_state(inter *self, bool *ret_is_same)
{
    const tvc_indexed_edit *edit = self->edit;

    if (edit->entity == NULL && edit->change == NULL)
        return TAVOLA_OK;
    self->state = tavola_entity_copy(edit->entity ? edit->entity : self->was);
    if (self->state == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    if (edit->change == NULL)
        return TAVOLA_OK;

    tavola_err err = edit->change(edit->user, self->state);

    if (err == TAVOLA_OK)
        err = tvc_indexed_check_entity(self->indexed, self->state, self->call);
    *ret_is_same = err == TAVOLA_OK && !tvc_indexed_is_changed(self->state);
    return err;
}

static tavola_err write_state(inter *self, bool *ret_is_lost_race)
{
    tavola_err err = TAVOLA_OK;

    if (self->state)
        err = tvc_spots_add_values(&self->spots, self->state, false);
    if (err == TAVOLA_OK && self->was)
        err = tvc_spots_add_values(&self->spots, self->was, true);
    if (err == TAVOLA_OK)
        err = tvc_spots_read(&self->spots);
    if (err == TAVOLA_OK && self->state)
        err = tvc_spots_check_free(&self->spots, self->state);
    if (err == TAVOLA_OK)
        err = announce(self, ret_is_lost_race);
    if (err == TAVOLA_OK && self->spots.has_conflict) {
        tvc_call_set_error(self->call, "EntityAlreadyExists",
                           "it was written, but another entity got the value of an index first");
        err = TAVOLA_ERR_EXISTS;
    }
    return err;
}

static tavola_err write_round(inter *self, bool *ret_is_lost_race)
{
    const tvc_indexed_edit *edit = self->edit;
    bool is_same = false;
    tavola_err err = tvc_indexed_read_primary(self->indexed, edit->partition_key, edit->row_key,
                                              edit->change != NULL, self->call, &self->was);

    if (err == TAVOLA_OK)
        err = check_condition(self);
    if (err == TAVOLA_OK)
        err = make_state(self, &is_same);
    if (err == TAVOLA_OK && !is_same)
        err = write_state(self, ret_is_lost_race);
    return err;
}

static tavola_err write_once(const tavola_indexed *indexed, const tvc_indexed_edit *edit,
                             tavola_call *call, bool *ret_is_lost_race)
{
    inter self = {.indexed = indexed, .edit = edit, .call = call};
    tavola_err err = tvc_spots_init(&self.spots, indexed, edit->partition_key, edit->row_key, call);

    if (err == TAVOLA_OK)
        err = tvc_index_place_init(&self.primary, indexed, &indexed->primary, edit->partition_key,
                                   edit->row_key);
    if (err == TAVOLA_OK)
        err = write_round(&self, ret_is_lost_race);
    tavola_entity_free(self.was);
    tavola_entity_free(self.state);
    tvc_index_place_done(&self.primary);
    tvc_spots_done(&self.spots);
    return err;
}

tavola_err tvc_inter_partition_edit(const tavola_indexed *indexed, const tvc_indexed_edit *edit,
                                    tavola_call *call)
{
    bool is_once = edit->if_match && strcmp(edit->if_match, TAVOLA_ANY) != 0;

    for (unsigned round = 0;; round++) {
        bool is_lost_race = false;
        tavola_err err = write_once(indexed, edit, call, &is_lost_race);

        if (!is_lost_race || is_once || round + 1 == TVC_ROUNDS_MAX)
            return is_lost_race ? TAVOLA_ERR_ETAG : err;
        tvc_pause(round);
    }
}

/* ---- repairing ---- */

tavola_err tvc_inter_partition_repair(const tavola_indexed *indexed, const char *partition_key,
                                      const char *row_key, const tavola_index *index,
                                      const char *value, tavola_call *call)
{
    tavola_entity *primary = NULL;
    tvc_spots spots;
    tavola_err err = tvc_spots_init(&spots, indexed, partition_key, row_key, call);

    if (err == TAVOLA_OK && index)
        err = tvc_spots_add(&spots, index, value);
    if (err == TAVOLA_OK)
        err = tvc_indexed_read_primary(indexed, partition_key, row_key, false, call, &primary);
    if (err == TAVOLA_OK && primary)
        err = tvc_spots_add_values(&spots, primary, true);
    if (err == TAVOLA_OK)
        err = tvc_spots_repair(&spots);
    tavola_entity_free(primary);
    tvc_spots_done(&spots);
    return err;
}

tavola_err tavola_indexed_job(void *user, const char *message, uint32_t dequeue_count)
{
    const tavola_indexed *indexed = user;

    (void)dequeue_count;
    if (message == NULL || indexed == NULL || indexed->queue == NULL)
        return tvc_call_refuse(NULL, TAVOLA_ERR_INVALID,
                               "there is no message, or no object of inter-partition indexes");

    tavola_call call;
    tvc_spots spots;
    tavola_names *items = NULL;

    (void)tvc_writing_call_of(NULL, &call);

    tavola_err err = tvc_inter_message_read(message, indexed, &call, &items, &spots);

    if (err == TAVOLA_OK) {
        err = tvc_spots_repair(&spots);
        tvc_spots_done(&spots);
        tavola_names_free(items);
    }
    tvc_call_done(&call);
    return err;
}
