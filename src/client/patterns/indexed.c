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
#include "client/patterns/index.h"

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

typedef struct indexed {
    tavola_table *table;
    const tavola_index *indexes;
    size_t count;
    const char *partition_key, *row_key; /* as the application knows them */
    const tavola_entity *entity;         /* NULL: it is deleted */
    char *primary_row;                   /* as it is stored */
    tavola_call *call;
    copy_keys now; /* of `entity` */
    lesson learnt[TVC_ROUNDS_MAX];
    size_t learnt_count;
} indexed;

/** The writes of one transaction; row_keys[i] is that of write i, borrowed. */
typedef struct writes {
    tavola_batch *batch;
    const char *row_keys[TVC_BATCH_WRITES];
    size_t count;
} writes;

/** The primary as it is stored now. */
typedef struct stored {
    tavola_entity *entity; /* NULL: there is none; only the indexed properties */
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
static tavola_err add_copy_key(const indexed *self, const tavola_index *index,
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
    if (copy_keys_have(keys, row_key) || strcmp(row_key, self->primary_row) == 0) {
        tvc_release(row_key);
        return tvc_call_refuse(self->call, TAVOLA_ERR_INVALID,
                               "two copies would have one RowKey: that for %s and another",
                               index->property);
    }
    keys->items[keys->count++] = (copy_key){row_key, index};
    return TAVOLA_OK;
}

static tavola_err add_copy_keys(const indexed *self, const tavola_entity *entity, copy_keys *keys)
{
    for (size_t i = 0; i < self->count; i++) {
        if (tvc_index_is_primary(&self->indexes[i]))
            continue;

        tavola_err err = add_copy_key(self, &self->indexes[i], entity, keys);

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

static tavola_err read_primary(const indexed *self, stored *ret_was)
{
    const char *names[TVC_INDEXES_MAX + 2];

    tvc_indexes_names(self->indexes, self->count, names);

    tavola_err err = tavola_get_select(self->table, self->partition_key, self->primary_row, names,
                                       self->call, &ret_was->entity);

    if (tvc_is_absent(err, self->call))
        return TAVOLA_OK;
    if (err)
        return err;

    /* What cannot be a copy's key has none: it was written by other means. */
    for (size_t i = 0; i < self->count; i++) {
        if (tvc_index_is_primary(&self->indexes[i]))
            continue;
        err = add_copy_key(self, &self->indexes[i], ret_was->entity, &ret_was->copies);
        if (err == TAVOLA_ERR_NO_MEMORY)
            return err;
    }
    return TAVOLA_OK;
}

/* ---- what was learnt about copies ---- */

static const lesson *lesson_of(const indexed *self, const char *row_key)
{
    for (size_t i = self->learnt_count; i-- > 0;) {
        if (strcmp(self->learnt[i].row_key, row_key) == 0)
            return &self->learnt[i];
    }
    return NULL;
}

static void forget_lessons(indexed *self)
{
    for (size_t i = 0; i < self->learnt_count; i++) {
        tvc_release(self->learnt[i].row_key);
        tvc_release(self->learnt[i].etag);
    }
    self->learnt_count = 0;
}

static tavola_err learn(indexed *self, const char *row_key, const char *etag)
{
    lesson one = {tvc_dup_text(row_key), tvc_dup_text(etag)};

    tv_assert(self->learnt_count < TVC_ROUNDS_MAX);
    if (one.row_key == NULL || (etag && one.etag == NULL)) {
        tvc_release(one.row_key);
        tvc_release(one.etag);
        return TAVOLA_ERR_NO_MEMORY;
    }
    self->learnt[self->learnt_count++] = one;
    return TAVOLA_OK;
}

/* An insert of a copy met one: ours, or of another entity, or gone by now. */
static tavola_err look_at_copy(indexed *self, const char *row_key)
{
    static const char *const names[] = {TVC_PRIMARY_ROW, NULL};
    tavola_entity *copy = NULL;
    tavola_err err =
        tavola_get_select(self->table, self->partition_key, row_key, names, self->call, &copy);

    if (tvc_is_absent(err, self->call))
        return TAVOLA_OK;
    if (err)
        return err;

    const char *primary = tvc_entity_text(copy, TVC_PRIMARY_ROW);

    if (primary && strcmp(primary, self->row_key) == 0) {
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

static tavola_err add_write(const indexed *self, writes *to, tavola_write kind,
                            tavola_entity *entity, const char *row_key, const char *if_match)
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

static tavola_err add_primary(const indexed *self, const stored *was, writes *to)
{
    if (self->entity == NULL)
        return add_write(self, to, TAVOLA_DELETE,
                         tavola_entity_new(self->partition_key, self->primary_row),
                         self->primary_row, tavola_entity_etag(was->entity));

    return add_write(self, to, was->entity ? TAVOLA_REPLACE : TAVOLA_INSERT,
                     tvc_index_primary(self->entity, self->partition_key, self->primary_row),
                     self->primary_row, was->entity ? tavola_entity_etag(was->entity) : NULL);
}

static tavola_err add_copy(const indexed *self, const stored *was, const copy_key *key, writes *to)
{
    const lesson *known = lesson_of(self, key->row_key);
    bool is_there = known ? known->etag != NULL : copy_keys_have(&was->copies, key->row_key);
    const char *etag = known && known->etag ? known->etag : TAVOLA_ANY;

    return add_write(self, to, is_there ? TAVOLA_REPLACE : TAVOLA_INSERT,
                     tvc_index_copy(self->entity, key->index->columns, self->partition_key,
                                    key->row_key, NULL, self->row_key),
                     key->row_key, is_there ? etag : NULL);
}

static tavola_err add_stale(const indexed *self, const stored *was, writes *to)
{
    for (size_t i = 0; i < was->copies.count; i++) {
        const char *row_key = was->copies.items[i].row_key;
        const lesson *known = lesson_of(self, row_key);

        if (copy_keys_have(&self->now, row_key) || (known && known->etag == NULL))
            continue;

        tavola_err err =
            add_write(self, to, TAVOLA_DELETE, tavola_entity_new(self->partition_key, row_key),
                      row_key, TAVOLA_ANY);

        if (err)
            return err;
    }
    return TAVOLA_OK;
}

static tavola_err add_writes(const indexed *self, const stored *was, writes *to)
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
static tavola_err learn_from(indexed *self, const writes *made, tavola_err err)
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

static tavola_err run_writes(indexed *self, const stored *was, bool *ret_is_done)
{
    writes made = {.batch = tavola_batch_new(self->table)};

    if (made.batch == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tavola_err err = add_writes(self, was, &made);

    if (err == TAVOLA_OK) {
        err = tavola_batch_run(made.batch, self->call);
        if (err) {
            err = learn_from(self, &made, err);
        } else {
            const char *etag = tavola_batch_etag(made.batch, 0);

            *ret_is_done = true;
            (void)tvc_call_set_etag(self->call, etag ? tv_slice_of(etag) : TV_NONE);
        }
    }
    tavola_batch_free(made.batch);
    return err;
}

/*
 * Whether a copy still says what the primary says: who has written to the primary alone, by other
 * means, has left the copies and their etags as they were.
 */
static tavola_err check_copy(const indexed *self, const stored *was, const tavola_index *index,
                             const tavola_entity *copy)
{
    tavola_entity *primary = NULL;
    bool is_right = false;
    tavola_err err =
        tavola_get(self->table, self->partition_key, self->primary_row, self->call, &primary);

    if (err == TAVOLA_OK &&
        strcmp(tavola_entity_etag(primary), tavola_entity_etag(was->entity)) == 0)
        err = tvc_index_restore(primary, self->partition_key, self->row_key);
    if (err == TAVOLA_OK)
        err = tvc_index_compare(index, primary, copy, &is_right);
    tavola_entity_free(primary);
    if (tvc_is_absent(err, self->call) || (err == TAVOLA_OK && !is_right))
        err = tvc_call_refuse(self->call, TAVOLA_ERR_ETAG,
                              "the entity was changed since it was read");
    return err;
}

/* Whether the entity that the caller read, by whichever copy, is the one that is stored. */
static tavola_err check_condition(const indexed *self, const stored *was)
{
    const char *etag = self->entity ? tavola_entity_etag(self->entity) : NULL;

    if (etag == NULL || strcmp(etag, tavola_entity_etag(was->entity)) == 0)
        return TAVOLA_OK;

    for (size_t i = 0; i < was->copies.count; i++) {
        const copy_key *key = &was->copies.items[i];
        tavola_entity *copy = NULL;
        tavola_err err =
            tavola_get(self->table, self->partition_key, key->row_key, self->call, &copy);
        bool is_it = err == TAVOLA_OK && tavola_entity_etag(copy) &&
                     strcmp(etag, tavola_entity_etag(copy)) == 0;

        if (is_it)
            err = check_copy(self, was, key->index, copy);
        tavola_entity_free(copy);
        if (is_it || (err && !tvc_is_absent(err, self->call)))
            return err;
    }
    return tvc_call_refuse(self->call, TAVOLA_ERR_ETAG, "the entity was changed since it was read");
}

static tavola_err try_once(indexed *self, bool *ret_is_done)
{
    stored was = {0};
    bool must_exist = self->entity == NULL || tavola_entity_etag(self->entity) != NULL;
    tavola_err err = read_primary(self, &was);

    if (err == TAVOLA_OK && was.entity == NULL && must_exist)
        err = TAVOLA_ERR_NOT_FOUND;
    if (err == TAVOLA_OK && was.entity && tavola_entity_etag(was.entity) == NULL)
        err = TAVOLA_ERR_PROTOCOL;
    if (err == TAVOLA_OK && was.entity)
        err = check_condition(self, &was);
    if (err == TAVOLA_OK)
        err = run_writes(self, &was, ret_is_done);
    stored_done(&was);
    return err;
}

static tavola_err run_rounds(indexed *self)
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

static tavola_err run(indexed *self)
{
    tavola_err err = tvc_indexes_check(self->indexes, self->count, self->call);

    if (err)
        return err;
    if (self->table == NULL || self->partition_key == NULL || self->row_key == NULL)
        return tvc_call_refuse(self->call, TAVOLA_ERR_INVALID, "the table or a key is missing");

    self->primary_row =
        tvc_joined(tvc_indexes_primary_prefix(self->indexes, self->count), self->row_key);
    if (self->primary_row == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    if (self->entity)
        err = add_copy_keys(self, self->entity, &self->now);
    if (err == TAVOLA_OK)
        err = run_rounds(self);
    forget_lessons(self);
    copy_keys_done(&self->now);
    tvc_release(self->primary_row);
    return err;
}

tavola_err tavola_indexed_put(tavola_table *table, const tavola_index *indexes, size_t count,
                              const tavola_entity *entity, tavola_call *call)
{
    tavola_call own;
    indexed self = {.table = table, .indexes = indexes, .count = count, .entity = entity};

    self.call = tvc_writing_call_of(call, &own);

    const char *why = NULL;
    tavola_err err = tvc_entity_check(entity, &why);

    if (err) {
        err = tvc_call_refuse(self.call, err, "%s", why ? why : "there is no entity");
    } else {
        self.partition_key = tavola_entity_partition_key(entity);
        self.row_key = tavola_entity_row_key(entity);
        err = run(&self);
    }
    tvc_writing_call_done(call, &own);
    return err;
}

tavola_err tavola_indexed_delete(tavola_table *table, const tavola_index *indexes, size_t count,
                                 const char *partition_key, const char *row_key, tavola_call *call)
{
    tavola_call own;
    indexed self = {.table = table,
                    .indexes = indexes,
                    .count = count,
                    .partition_key = partition_key,
                    .row_key = row_key};

    self.call = tvc_writing_call_of(call, &own);

    tavola_err err = run(&self);

    tvc_writing_call_done(call, &own);
    return err;
}

tavola_err tavola_indexed_get(tavola_table *table, const tavola_index *index,
                              const char *partition_key, const char *value, tavola_call *call,
                              tavola_entity **ret_entity)
{
    tavola_err err = index ? tvc_indexes_check(index, 1, call) : TAVOLA_ERR_INVALID;

    if (err || value == NULL || partition_key == NULL || ret_entity == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "the index, a key or a place is missing");

    char *row_key = tvc_joined(index->prefix, value);
    tavola_entity *entity = NULL;

    if (row_key == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    err = tavola_get(table, partition_key, row_key, call, &entity);
    if (err == TAVOLA_OK)
        err =
            tvc_index_restore(entity, partition_key, tvc_index_is_primary(index) ? value : row_key);
    if (err)
        tavola_entity_free(entity);
    else
        *ret_entity = entity;
    tvc_release(row_key);
    return err;
}
