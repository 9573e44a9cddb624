/*
 * Large entities pattern: the value is a blob, the entity holds its name.
 *
 *  put     a blob under a new name; the entity, with the etag that was read as its condition; the
 *          old blob is deleted
 *  delete  the entity, then its blob
 *
 * At every point the name in the entity is that of a whole blob.  What can be left behind is a blob
 * that no entity names: large_sweep.c.  Because the entity's write is conditional, the writer that
 * takes a name out of an entity is one and knows it: of two writers neither leaves a blob.
 */
#include "client/client.h"
#include "client/patterns/large_name.h"
#include "client/table/table.h"

typedef struct large {
    tavola_table *table;
    const char *partition_key, *row_key, *property;
    tavola_call *call;
} large;

/* What is there: the name that the property holds (NULL: none) and the etag (NULL: no entity). */
typedef struct there {
    char *etag, *text;
} there;

static void there_done(there *is)
{
    tvc_release(is->etag);
    tvc_release(is->text);
    *is = (there){0};
}

static tavola_err look(const large *self, there *ret_there)
{
    const char *const names[] = {self->property, NULL};
    tavola_entity *entity = NULL;
    tavola_err err = tavola_get_select(self->table, self->partition_key, self->row_key, names,
                                       self->call, &entity);

    if (tvc_is_absent(err, self->call))
        return TAVOLA_OK;
    if (err)
        return err;

    const char *text = tvc_entity_text(entity, self->property);

    ret_there->etag = tvc_dup_text(tavola_entity_etag(entity));
    ret_there->text = tvc_dup_text(text);
    if (ret_there->etag == NULL || (text && ret_there->text == NULL))
        err = TAVOLA_ERR_NO_MEMORY;
    tavola_entity_free(entity);
    return err;
}

/* A blob that nobody names any more.  If this fails the sweep does it. */
static void delete_blob(const large *self, const char *text)
{
    tavola_container *container = NULL;
    const char *blob = NULL;
    char *name = NULL;
    tavola_call call;

    /* The caller's call keeps the outcome of what matters. */
    tvc_call_init(&call);
    tvc_call_copy_options(&call, self->call);
    if (tvc_large_parse(text, &name, &blob) == TAVOLA_OK &&
        tavola_container_open(self->table->client, name, &container) == TAVOLA_OK)
        (void)!tavola_blob_delete_if_present(container, blob, &call);
    tavola_container_close(container);
    tvc_release(name);
    tvc_call_done(&call);
}

/* ---- put ---- */

static tavola_err write_entity_once(const large *self, tavola_entity *entity, there *ret_was)
{
    const char *if_match = tavola_entity_etag(entity);
    tavola_err err = look(self, ret_was);

    if (err)
        return err;
    if (if_match)
        return tavola_replace(self->table, entity, if_match, self->call);
    if (ret_was->etag)
        return tavola_replace(self->table, entity, ret_was->etag, self->call);
    return tavola_insert(self->table, entity, self->call);
}

/* *ret_old is the name that the entity had before. */
static tavola_err write_entity(const large *self, tavola_entity *entity, char **ret_old)
{
    bool is_conditional = tavola_entity_etag(entity) != NULL;

    for (unsigned round = 0;; round++) {
        there was = {0};
        tavola_err err = write_entity_once(self, entity, &was);
        bool is_lost_race =
            !is_conditional &&
            (err == TAVOLA_ERR_ETAG || err == TAVOLA_ERR_EXISTS || tvc_is_absent(err, self->call));

        if (err == TAVOLA_OK) {
            *ret_old = was.text;
            was.text = NULL;
        }
        there_done(&was);
        if (!is_lost_race || round + 1 == TVC_ROUNDS_MAX)
            return err;
        tvc_pause(round);
    }
}

/* Whether a write has certainly not been made. */
static bool is_refused(tavola_err err)
{
    return err == TAVOLA_ERR_ETAG || err == TAVOLA_ERR_EXISTS || err == TAVOLA_ERR_NOT_FOUND ||
           err == TAVOLA_ERR_INVALID || err == TAVOLA_ERR_TOO_LARGE || err == TAVOLA_ERR_DENIED;
}

/* The entity gets the name, and its etag, when it is written: before, a copy has it. */
static tavola_err write_named(const large *self, tavola_entity *entity, const char *text,
                              char **ret_old)
{
    tavola_entity *copy = tavola_entity_copy(entity);
    tvc_text_slot slot = {0};
    const char *why = "there is no memory";
    tavola_err err = TAVOLA_ERR_NO_MEMORY;

    if (copy && tvc_entity_reserve_etag(entity))
        err = tvc_entity_reserve_text(entity, self->property, strlen(text), &slot, &why);
    if (err) {
        tvc_call_refuse(self->call, err, "property '%s': %s", self->property, why);
    } else {
        tavola_entity_set_string(copy, self->property, text);
        err = write_entity(self, copy, ret_old); /* which returns an error of the copy */
    }
    if (err == TAVOLA_OK) {
        tvc_entity_take_text(entity, &slot, text);
        tvc_entity_take_etag(entity, tavola_entity_etag(copy));
    }
    tavola_entity_free(copy);
    return err;
}

static tavola_err put_named(const large *self, tavola_entity *entity, const char *text)
{
    char *old = NULL;
    tavola_err err = write_named(self, entity, text, &old);

    if (err == TAVOLA_OK && old && strcmp(old, text) != 0)
        delete_blob(self, old);
    else if (is_refused(err))
        delete_blob(self, text);
    tvc_release(old);
    return err;
}

static tavola_err put(const large *self, tavola_entity *entity, tavola_container *container,
                      const void *data, size_t size)
{
    char *blob =
        tvc_large_new_name(self->table, self->property, self->partition_key, self->row_key);
    char *begin = tvc_joined(tavola_container_name(container), "/");
    char *text = blob && begin ? tvc_joined(begin, blob) : NULL;
    tavola_err err = text ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;

    if (err == TAVOLA_OK)
        err = tavola_blob_put(container, blob, data, size, NULL, self->call);
    if (err == TAVOLA_OK)
        err = put_named(self, entity, text);
    tvc_release(text);
    tvc_release(begin);
    tvc_release(blob);
    return err;
}

tavola_err tavola_large_put(tavola_table *table, tavola_entity *entity, const char *property,
                            tavola_container *container, const void *data, size_t size,
                            tavola_call *call)
{
    const char *why = NULL;
    tavola_err err = tvc_entity_check(entity, &why);

    if (err)
        return tvc_call_refuse(call, err, "%s", why ? why : "there is no entity");
    err = tvc_large_check(table, container, property, call);
    if (err)
        return err;
    if (data == NULL && size > 0)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there are no data: they are NULL");

    tavola_call own;
    large self = {table, tavola_entity_partition_key(entity), tavola_entity_row_key(entity),
                  property, tvc_writing_call_of(call, &own)};

    err = put(&self, entity, container, data ? data : "", size);
    tvc_writing_call_done(call, &own);
    return err;
}

/* ---- get ---- */

static tavola_err get_blob(const large *self, const char *text, void **ret_data, size_t *ret_size)
{
    tavola_container *container = NULL;
    const char *blob = NULL;
    char *name = NULL;
    tavola_err err = tvc_large_parse(text, &name, &blob);

    if (err == TAVOLA_ERR_INVALID)
        return tvc_call_refuse(self->call, err, "%s does not name a blob", self->property);
    if (err)
        return err;
    err = tavola_container_open(self->table->client, name, &container);
    tvc_release(name);
    if (err == TAVOLA_OK)
        err = tavola_blob_get(container, blob, 0, self->call, ret_data, ret_size);
    tavola_container_close(container);
    return err;
}

/* The blob was replaced since the entity was read: its name is in the entity now. */
static tavola_err get_again(const large *self, void **ret_data, size_t *ret_size)
{
    char *last = NULL;
    tavola_err err = TAVOLA_ERR_NOT_FOUND;

    for (unsigned round = 0; err == TAVOLA_ERR_NOT_FOUND && round < TVC_ROUNDS_MAX; round++) {
        there is = {0};

        err = look(self, &is);
        if (err == TAVOLA_OK && (is.text == NULL || (last && strcmp(last, is.text) == 0))) {
            there_done(&is);
            err = TAVOLA_ERR_NOT_FOUND;
            break;
        }
        if (err == TAVOLA_OK)
            err = get_blob(self, is.text, ret_data, ret_size);
        tvc_release(last);
        last = is.text;
        is.text = NULL;
        there_done(&is);
    }
    tvc_release(last);
    return err;
}

tavola_err tavola_large_get(tavola_table *table, const tavola_entity *entity, const char *property,
                            tavola_call *call, void **ret_data, size_t *ret_size)
{
    if (table == NULL || entity == NULL || property == NULL || ret_data == NULL || ret_size == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID,
                               "the table, entity, property or a place is missing");

    tavola_call own;
    large self = {table, tavola_entity_partition_key(entity), tavola_entity_row_key(entity),
                  property, tvc_call_of(call, &own)};
    const char *text = tvc_entity_text(entity, property);
    tavola_err err = text ? get_blob(&self, text, ret_data, ret_size) : TAVOLA_ERR_NOT_FOUND;

    if (text && tvc_is_absent(err, self.call))
        err = get_again(&self, ret_data, ret_size);
    tvc_call_done(&own);
    return err;
}

/* ---- delete ---- */

static tavola_err delete_once(const large *self)
{
    there was = {0};
    tavola_err err = look(self, &was);

    if (err == TAVOLA_OK && was.etag == NULL)
        err = TAVOLA_ERR_NOT_FOUND;
    if (err == TAVOLA_OK)
        err = tavola_delete(self->table, self->partition_key, self->row_key, was.etag, self->call);
    if (err == TAVOLA_OK && was.text)
        delete_blob(self, was.text);
    there_done(&was);
    return err;
}

tavola_err tavola_large_delete(tavola_table *table, const char *partition_key, const char *row_key,
                               const char *property, tavola_call *call)
{
    if (table == NULL || property == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "the table or the property is missing");

    tavola_call own;
    large self = {table, partition_key, row_key, property, tvc_writing_call_of(call, &own)};
    tavola_err err = TAVOLA_ERR_ETAG;

    for (unsigned round = 0; err == TAVOLA_ERR_ETAG && round < TVC_ROUNDS_MAX; round++) {
        if (round > 0)
            tvc_pause(round);
        err = delete_once(&self);
    }
    tvc_writing_call_done(call, &own);
    return err;
}
