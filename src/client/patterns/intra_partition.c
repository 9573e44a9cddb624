/*
 * Intra-partition secondary index pattern: an entity and its copies change in one entity group
 * transaction, so there is no state in between and nothing to recover.
 *
 * The primary is the first write of the transaction, and its condition is the etag that was read:
 * the copies change only together with it, so if it is what was read, they are where its values
 * say.  From that:
 *
 *  (1) A copy under a value that the entity did not have is inserted.  EXISTS there means another
 *      entity has the value; look_at_copy tells that from a copy of our own.
 *  (2) A copy under a value that it has and keeps is replaced, whatever its etag.
 *  (3) A copy under a value that it had is deleted, whatever its etag.
 *
 * Copies that are not where they should be (made by other means, or under other indexes) answer
 * EXISTS or NOT_FOUND; what was learnt about them is kept in `learnt` for the next round.
 */
#include "client/patterns/indexed.h"

typedef struct copy_key {
    char *row_key;
    const tavola_index *index;
} copy_key;

typedef struct copy_keys {
    copy_key items[TVC_INDEXES_MAX];
    size_t count;
} copy_keys;

/** What an answer told about a copy. */
typedef struct lesson {
    char *row_key;
    char *etag; /* there is one, ours; NULL: there is none */
} lesson;

typedef struct intra {
    const tavola_indexed *indexed;
    const tvc_indexed_edit *edit;
    tavola_entity *changed;      /* ours; what edit->change has made in this round, or NULL */
    const tavola_entity *entity; /* what it is to be; NULL: it is deleted */
    tvc_index_place primary;
    tavola_call *call;
    copy_keys now; /* of `entity` */
    lesson learnt[TVC_ROUNDS_MAX + TVC_INDEXES_MAX];
    size_t learnt_count;
} intra;

/** The writes of one transaction; row_keys[i] is that of write i, borrowed. */
typedef struct writes {
    tavola_batch *batch;
    const char *row_keys[TVC_BATCH_WRITES];
    size_t count;
} writes;

/** The primary as it is stored now. */
typedef struct stored {
    tavola_entity *entity; /* NULL: there is none; whole only if it is to be changed */
    copy_keys copies;
} stored;

static void copy_keys_done(copy_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        tvc_release(keys->items[i].row_key);
    keys->count = 0;
}

static bool copy_keys_have(const copy_keys *keys, const char *row_key)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (strcmp(keys->items[i].row_key, row_key) == 0)
            return true;
    }
    return false;
}

/* Append where the copy for one index is; nothing when the entity has no value for it. */
static tavola_err add_copy_key(const intra *self, const tavola_index *index,
                               const tavola_entity *entity, copy_keys *keys)
{
    const char *value = NULL;
    tavola_err err = tvc_index_value(index, entity, &value, self->call);

    if (err || value == NULL)
        return err;

    char *row_key = tvc_joined(index->prefix, value);

    if (row_key == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    if (!tavola_key_is_valid(row_key)) {
        tvc_release(row_key);
        return tvc_call_refuse(self->call, TAVOLA_ERR_INVALID,
                               "the value of %s cannot be a part of a RowKey", index->property);
    }
    if (copy_keys_have(keys, row_key) || strcmp(row_key, self->primary.row_key) == 0) {
        tvc_release(row_key);
        return tvc_call_refuse(self->call, TAVOLA_ERR_INVALID,
                               "two copies would have one RowKey: that for %s and another",
                               index->property);
    }
    keys->items[keys->count++] = (copy_key){row_key, index};
    return TAVOLA_OK;
}

static tavola_err add_copy_keys(const intra *self, const tavola_entity *entity, copy_keys *keys)
{
    for (size_t i = 0; i < self->indexed->count; i++) {
        tavola_err err = add_copy_key(self, &self->indexed->indexes[i], entity, keys);

        if (err)
            return err;
    }
    return TAVOLA_OK;
}

static void stored_done(stored *was)
{
    copy_keys_done(&was->copies);
    tavola_entity_free(was->entity);
    was->entity = NULL;
}

static tavola_err read_primary(const intra *self, stored *ret_was)
{
    tavola_err err =
        tvc_indexed_read_primary(self->indexed, self->edit->partition_key, self->edit->row_key,
                                 self->edit->change != NULL, self->call, &ret_was->entity);

    if (err || ret_was->entity == NULL)
        return err;

    /* What cannot be a copy's key has none: it was written by other means. */
    for (size_t i = 0; i < self->indexed->count; i++) {
        err = add_copy_key(self, &self->indexed->indexes[i], ret_was->entity, &ret_was->copies);
        if (err == TAVOLA_ERR_NO_MEMORY)
            return err;
    }
    return TAVOLA_OK;
}

/* ---- what was learnt about copies ---- */

static const lesson *lesson_of(const intra *self, const char *row_key)
{
    for (size_t i = self->learnt_count; i-- > 0;) {
        if (strcmp(self->learnt[i].row_key, row_key) == 0)
            return &self->learnt[i];
    }
    return NULL;
}

static void forget_lessons(intra *self)
{
    for (size_t i = 0; i < self->learnt_count; i++) {
        tvc_release(self->learnt[i].row_key);
        tvc_release(self->learnt[i].etag);
    }
    self->learnt_count = 0;
}

static tavola_err learn(intra *self, const char *row_key, const char *etag)
{
    lesson one = {tvc_dup_text(row_key), tvc_dup_text(etag)};

    tv_assert(self->learnt_count < sizeof self->learnt / sizeof *self->learnt);
    if (one.row_key == NULL || (etag && one.etag == NULL)) {
        tvc_release(one.row_key);
        tvc_release(one.etag);
        return TAVOLA_ERR_NO_MEMORY;
    }
    self->learnt[self->learnt_count++] = one;
    return TAVOLA_OK;
}

/* An insert of a copy met one: ours, or of another entity, or gone by now. */
static tavola_err look_at_copy(intra *self, const char *row_key)
{
    static const char *const names[] = {TVC_PRIMARY_ROW, NULL};
    tavola_entity *copy = NULL;
    tavola_err err = tavola_get_select(self->primary.table, self->primary.partition_key, row_key,
                                       names, self->call, &copy);

    if (tvc_is_absent(err, self->call))
        return TAVOLA_OK;
    if (err)
        return err;

    if (tvc_index_is_of(self->indexed, copy, self->edit->partition_key, self->edit->row_key)) {
        err = learn(self, row_key, tavola_entity_etag(copy));
    } else {
        tvc_call_set_error(self->call, "EntityAlreadyExists",
                           "another entity has the value of an index");
        err = TAVOLA_ERR_EXISTS;
    }
    tavola_entity_free(copy);
    return err;
}

/* ---- one transaction ---- */

static tavola_err add_write(const intra *self, writes *to, tavola_write kind, tavola_entity *entity,
                            const char *row_key, const char *if_match)
{
    tavola_err err = tavola_entity_error(entity);

    if (entity == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    if (err)
        tvc_call_refuse(self->call, err, "%s", tavola_entity_error_text(entity));
    if (err == TAVOLA_OK && to->count == TVC_BATCH_WRITES)
        err = tvc_call_refuse(self->call, TAVOLA_ERR_TOO_LARGE,
                              "the entity, its copies and its stale copies are more than 100");
    if (err == TAVOLA_OK) {
        tavola_batch_add(to->batch, kind, entity, if_match);
        to->row_keys[to->count++] = row_key;
    }
    tavola_entity_free(entity);
    return err;
}

static tavola_err add_primary(const intra *self, const stored *was, writes *to)
{
    const tvc_index_place *at = &self->primary;

    if (self->entity == NULL)
        return add_write(self, to, TAVOLA_DELETE, tavola_entity_new(at->partition_key, at->row_key),
                         at->row_key, was->entity->etag);

    return add_write(self, to, was->entity ? TAVOLA_REPLACE : TAVOLA_INSERT,
                     tvc_index_primary(self->entity, at->partition_key, at->row_key), at->row_key,
                     was->entity ? was->entity->etag : NULL);
}

static tavola_err add_copy(const intra *self, const stored *was, const copy_key *key, writes *to)
{
    const lesson *known = lesson_of(self, key->row_key);
    bool is_there = known ? known->etag != NULL : copy_keys_have(&was->copies, key->row_key);
    const char *etag = known && known->etag ? known->etag : TAVOLA_ANY;

    return add_write(self, to, is_there ? TAVOLA_REPLACE : TAVOLA_INSERT,
                     tvc_index_copy(self->indexed, key->index, self->entity,
                                    self->primary.partition_key, key->row_key, NULL),
                     key->row_key, is_there ? etag : NULL);
}

static tavola_err add_stale(const intra *self, const stored *was, writes *to)
{
    for (size_t i = 0; i < was->copies.count; i++) {
        const char *row_key = was->copies.items[i].row_key;
        const lesson *known = lesson_of(self, row_key);

        if (copy_keys_have(&self->now, row_key) || (known && known->etag == NULL))
            continue;

        tavola_err err =
            add_write(self, to, TAVOLA_DELETE,
                      tavola_entity_new(self->primary.partition_key, row_key), row_key, TAVOLA_ANY);

        if (err)
            return err;
    }
    return TAVOLA_OK;
}

static tavola_err add_writes(const intra *self, const stored *was, writes *to)
{
    tavola_err err = add_primary(self, was, to);

    for (size_t i = 0; err == TAVOLA_OK && i < self->now.count; i++)
        err = add_copy(self, was, &self->now.items[i], to);
    return err ? err : add_stale(self, was, to);
}

/*
 * What a refused transaction means: OK when another round may help, else the caller's error.  The
 * first write is the primary: it was changed in between, and so may be the copies.
 */
static tavola_err learn_from(intra *self, const writes *made, tavola_err err)
{
    int at = tavola_call_failed_index(self->call);
    bool is_ours =
        err == TAVOLA_ERR_ETAG || err == TAVOLA_ERR_EXISTS || tvc_is_absent(err, self->call);

    if (!is_ours || at < 0 || (size_t)at >= made->count)
        return err;
    if (at == 0 || err == TAVOLA_ERR_ETAG) {
        forget_lessons(self);
        return TAVOLA_OK;
    }
    return err == TAVOLA_ERR_EXISTS ? look_at_copy(self, made->row_keys[at])
                                    : learn(self, made->row_keys[at], NULL);
}

/* The etag of the primary.  One that was only found by reading back is that of a copy, if need be:
 * each of them is a condition for all. */
static void keep_etag(const intra *self, const tavola_batch *made)
{
    const char *etag = tavola_batch_etag(made, 0);

    if (etag || !tavola_call_was_confirmed(self->call) || self->entity == NULL)
        (void)tvc_call_set_etag(self->call, etag ? tv_slice_of(etag) : TV_NONE);
}

static tavola_err run_writes(intra *self, const stored *was, bool *ret_is_done)
{
    writes made = {.batch = tavola_batch_new(self->primary.table)};

    if (made.batch == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = add_writes(self, was, &made);

    if (err == TAVOLA_OK) {
        err = tavola_batch_run(made.batch, self->call);
        if (err) {
            err = learn_from(self, &made, err);
        } else {
            *ret_is_done = true;
            keep_etag(self, made.batch);
        }
    }
    tavola_batch_free(made.batch);
    return err;
}

/* ---- the condition ---- */

static tavola_err refuse_changed(const intra *self)
{
    return tvc_call_refuse(self->call, TAVOLA_ERR_ETAG, "the entity was changed since it was read");
}

/*
 * Whether a copy still says what the primary says: who has written to the primary alone, by other
 * means, has left the copies and their etags as they were.
 */
static tavola_err check_copy(const intra *self, const stored *was, const tavola_index *index,
                             const tavola_entity *copy)
{
    tavola_entity *primary = NULL;
    bool is_right = false;
    tavola_err err = tvc_indexed_read_primary(self->indexed, self->edit->partition_key,
                                              self->edit->row_key, true, self->call, &primary);

    if (err == TAVOLA_OK && primary && strcmp(primary->etag, was->entity->etag) == 0)
        err = tvc_index_compare(self->indexed, index, primary, copy, &is_right);
    tavola_entity_free(primary);
    return err || is_right ? err : refuse_changed(self);
}

/* Whether the entity that the caller read, by whichever copy, is the one that is stored. */
static tavola_err check_condition(const intra *self, const stored *was)
{
    const char *etag = self->edit->if_match;

    if (etag == NULL || strcmp(etag, TAVOLA_ANY) == 0 || strcmp(etag, was->entity->etag) == 0)
        return TAVOLA_OK;

    for (size_t i = 0; i < was->copies.count; i++) {
        const copy_key *key = &was->copies.items[i];
        tavola_entity *copy = NULL;
        tavola_err err = tavola_get(self->primary.table, self->primary.partition_key, key->row_key,
                                    self->call, &copy);
        bool is_it = err == TAVOLA_OK && copy->etag && strcmp(etag, copy->etag) == 0;

        if (is_it)
            err = check_copy(self, was, key->index, copy);
        tavola_entity_free(copy);
        if (is_it || (err && !tvc_is_absent(err, self->call)))
            return err;
    }
    return refuse_changed(self);
}

/* ---- rounds ---- */

static void forget_change(intra *self)
{
    copy_keys_done(&self->now);
    tavola_entity_free(self->changed);
    self->changed = NULL;
    self->entity = NULL;
}

/* *ret_is_done: nothing was changed. */
static tavola_err make_change(intra *self, const stored *was, bool *ret_is_done)
{
    forget_change(self);
    self->entity = self->changed = tavola_entity_copy(was->entity);
    if (self->changed == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = self->edit->change(self->edit->user, self->changed);

    if (err == TAVOLA_OK)
        err = tvc_indexed_check_entity(self->indexed, self->changed, self->call);
    if (err == TAVOLA_OK)
        err = add_copy_keys(self, self->changed, &self->now);
    *ret_is_done = err == TAVOLA_OK && !tvc_indexed_is_changed(self->changed);
    return err;
}

static tavola_err try_once(intra *self, bool *ret_is_done)
{
    stored was = {0};
    bool must_exist = self->edit->entity == NULL || self->edit->if_match;
    tavola_err err = read_primary(self, &was);

    if (err == TAVOLA_OK && was.entity == NULL && must_exist)
        err = TAVOLA_ERR_NOT_FOUND;
    if (err == TAVOLA_OK && was.entity)
        err = check_condition(self, &was);
    if (err == TAVOLA_OK && self->edit->change)
        err = make_change(self, &was, ret_is_done);
    if (err == TAVOLA_OK && !*ret_is_done)
        err = run_writes(self, &was, ret_is_done);
    stored_done(&was);
    return err;
}

static tavola_err run_rounds(intra *self)
{
    for (unsigned round = 0; round < TVC_ROUNDS_MAX; round++) {
        bool is_done = false;
        tavola_err err = try_once(self, &is_done);

        if (err || is_done)
            return err;
        tvc_pause(round);
    }
    return tvc_call_refuse(self->call, TAVOLA_ERR_ETAG, "others changed the entity all the time");
}

/* What the caller has seen is known from the start. */
static tavola_err learn_missing(intra *self)
{
    tavola_err err = TAVOLA_OK;

    for (size_t i = 0; err == TAVOLA_OK && i < self->now.count; i++) {
        if (self->edit->is_missing[self->now.items[i].index - self->indexed->indexes])
            err = learn(self, self->now.items[i].row_key, NULL);
    }
    return err;
}

tavola_err tvc_intra_partition_edit(const tavola_indexed *indexed, const tvc_indexed_edit *edit,
                                    tavola_call *call)
{
    intra self = {.indexed = indexed, .edit = edit, .entity = edit->entity, .call = call};
    tavola_err err = tvc_index_place_init(&self.primary, indexed, &indexed->primary,
                                          edit->partition_key, edit->row_key);

    if (err == TAVOLA_OK && edit->entity)
        err = add_copy_keys(&self, edit->entity, &self.now);
    if (err == TAVOLA_OK && edit->is_missing)
        err = learn_missing(&self);
    if (err == TAVOLA_OK)
        err = run_rounds(&self);
    forget_lessons(&self);
    forget_change(&self);
    tvc_index_place_done(&self.primary);
    return err;
}
