/*
 * Copies compared with their entities, and made equal to them.  Who writes to the rows of an index
 * by other means leaves faults; so does a program that died, until a worker has finished its work.
 *
 * A fault is reported when it was there at one moment: the primary (or the copy) is read before and
 * after what it is compared with, and has the same etag.  A repair goes the way of every other
 * write, with its conditions, so it can run beside any of them.  Stale copies go first: they hold
 * values that other entities have now.
 */
#include "client/patterns/indexed.h"

enum { COPIES = 1, PRIMARIES = 2 };

typedef struct check {
    const tavola_indexed *indexed;
    int what; /* is looked at in this pass */
    bool is_repair;
    tavola_index_fault_fn found; /* or NULL */
    void *user;
    tavola_call *call;
    uint64_t count;
} check;

static void report(check *self, const tavola_index_fault *fault)
{
    if (!fault->is_repaired)
        self->count++;
    if (self->found)
        self->found(self->user, fault);
}

/* ---- entities: whether their copies are right ---- */

/* The faults of one entity: those of copy i at i, 0 when there is none. */
typedef struct faults {
    tavola_index_fault_kind of[TVC_INDEXES_MAX];
    const char *values[TVC_INDEXES_MAX]; /* of the entity */
    bool is_any;
} faults;

static tavola_err look_at_spot(const check *self, const tavola_entity *primary,
                               const tavola_index *index, const char *value,
                               tavola_index_fault_kind *ret_kind)
{
    tvc_index_place at;
    tavola_entity *copy = NULL;
    bool is_right = false;
    tavola_err err = tvc_index_place_init(&at, self->indexed, index, primary->partition_key, value);

    if (err)
        return err;
    /* What cannot be a key has no copy. */
    if (!tavola_key_is_valid(at.row_key)) {
        tvc_index_place_done(&at);
        return TAVOLA_OK;
    }
    err = tavola_get(at.table, at.partition_key, at.row_key, self->call, &copy);
    tvc_index_place_done(&at);
    if (tvc_is_absent(err, self->call)) {
        *ret_kind = TAVOLA_INDEX_MISSING;
        return TAVOLA_OK;
    }
    if (err)
        return err;

    if (!tvc_index_is_of(self->indexed, copy, primary->partition_key, primary->row_key)) {
        *ret_kind = TAVOLA_INDEX_TAKEN;
    } else {
        err = tvc_index_compare(self->indexed, index, primary, copy, &is_right);
        if (err == TAVOLA_OK && !is_right)
            *ret_kind = TAVOLA_INDEX_DIFFERS;
    }
    tavola_entity_free(copy);
    return err;
}

static tavola_err look_at_copies(const check *self, const tavola_entity *primary, faults *ret)
{
    tavola_err err = TAVOLA_OK;

    *ret = (faults){0};
    for (size_t i = 0; err == TAVOLA_OK && i < self->indexed->count; i++) {
        const tavola_index *index = &self->indexed->indexes[i];

        ret->values[i] = tvc_entity_text(primary, index->property);
        if (ret->values[i])
            err = look_at_spot(self, primary, index, ret->values[i], &ret->of[i]);
        ret->is_any |= ret->of[i] != 0;
    }
    return err;
}

/* *ret_is_done: what could be made right is. */
static tavola_err repair_copies(const check *self, const tavola_entity *primary,
                                const faults *known, bool *ret_is_done)
{
    bool is_missing[TVC_INDEXES_MAX];
    tavola_err err;

    if (self->indexed->queue) {
        *ret_is_done = true;
        return tvc_inter_partition_repair(self->indexed, primary->partition_key, primary->row_key,
                                          NULL, NULL, self->call);
    }
    for (size_t i = 0; i < self->indexed->count; i++)
        is_missing[i] = known->of[i] == TAVOLA_INDEX_MISSING;
    err = tvc_intra_partition_edit(self->indexed,
                                   &(tvc_indexed_edit){.partition_key = primary->partition_key,
                                                       .row_key = primary->row_key,
                                                       .entity = primary,
                                                       .if_match = primary->etag,
                                                       .is_missing = is_missing},
                                   self->call);
    *ret_is_done = err == TAVOLA_OK;
    /* It cannot have its copies; or others have changed it meanwhile, with its copies. */
    if (err == TAVOLA_ERR_EXISTS || err == TAVOLA_ERR_ETAG || err == TAVOLA_ERR_TOO_LARGE ||
        err == TAVOLA_ERR_INVALID || tvc_is_absent(err, self->call))
        return TAVOLA_OK;
    return err;
}

static tavola_err take_faults(check *self, const tavola_entity *primary, const faults *known)
{
    bool is_done = false;
    tavola_err err = self->is_repair ? repair_copies(self, primary, known, &is_done) : TAVOLA_OK;

    for (size_t i = 0; err == TAVOLA_OK && i < self->indexed->count; i++) {
        if (known->of[i])
            report(self, &(tavola_index_fault){.kind = known->of[i],
                                               .property = self->indexed->indexes[i].property,
                                               .partition_key = primary->partition_key,
                                               .row_key = primary->row_key,
                                               .value = known->values[i],
                                               .is_repaired =
                                                   is_done && known->of[i] != TAVOLA_INDEX_TAKEN});
    }
    return err;
}

/* Read it whole and look at its copies; *ret_is_over: there is nothing more to look for. */
static tavola_err check_at_rest(check *self, const char *partition_key, const char *row_key,
                                bool *ret_is_over)
{
    tavola_entity *primary = NULL, *after = NULL;
    faults known = {0};
    tavola_err err =
        tvc_indexed_read_primary(self->indexed, partition_key, row_key, true, self->call, &primary);

    if (err == TAVOLA_OK && primary)
        err = look_at_copies(self, primary, &known);
    if (err == TAVOLA_OK && known.is_any)
        err = tvc_indexed_read_primary(self->indexed, partition_key, row_key, false, self->call,
                                       &after);
    *ret_is_over = !known.is_any || (after && strcmp(after->etag, primary->etag) == 0);
    if (err == TAVOLA_OK && *ret_is_over && known.is_any)
        err = take_faults(self, primary, &known);
    tavola_entity_free(primary);
    tavola_entity_free(after);
    return err;
}

static tavola_err check_primary(check *self, const tavola_entity *scanned)
{
    faults first;
    bool is_over = false;
    tavola_err err = look_at_copies(self, scanned, &first);

    /* What others are about to change is looked at again. */
    for (unsigned round = 0; first.is_any && !is_over && err == TAVOLA_OK; round++) {
        if (round == TVC_ROUNDS_MAX)
            return TAVOLA_OK;
        tvc_pause(round);
        err = check_at_rest(self, scanned->partition_key, scanned->row_key, &is_over);
    }
    return err;
}

/* ---- copies: whether their entities have these values ---- */

/* One copy, by what it says of itself. */
typedef struct claim {
    const tavola_index *index;
    const char *partition_key, *row_key, *value; /* of its primary */
} claim;

/* False for what is no copy: an entity that somebody has put there. */
static bool read_claim(const check *self, const tavola_index *index, const tavola_entity *copy,
                       claim *ret_claim)
{
    size_t prefix_len = strlen(index->prefix);
    const char *partition_key =
        self->indexed->queue ? copy->partition_key + prefix_len : copy->partition_key;

    *ret_claim = (claim){
        .index = index,
        .partition_key = partition_key,
        .row_key = tvc_entity_text(copy, TVC_PRIMARY_ROW),
        .value = self->indexed->queue ? copy->row_key : copy->row_key + prefix_len,
    };
    return tavola_key_is_valid(ret_claim->row_key) &&
           tvc_index_is_of(self->indexed, copy, partition_key, ret_claim->row_key);
}

static tavola_err is_claimed(const check *self, const claim *of, bool *ret_is_claimed)
{
    tavola_entity *primary = NULL;
    tavola_err err = tvc_indexed_read_primary(self->indexed, of->partition_key, of->row_key, false,
                                              self->call, &primary);

    *ret_is_claimed = tvc_index_has_value(of->index, primary, of->value);
    tavola_entity_free(primary);
    return err;
}

/* The etag of a copy; *ret_etag is NULL when it is not there, or that of another entity. */
static tavola_err read_etag(const check *self, const claim *of, const tvc_index_place *at,
                            char **ret_etag)
{
    static const char *const names[] = {TVC_PRIMARY_ROW, TVC_PRIMARY_PARTITION, NULL};
    tavola_entity *copy = NULL;
    tavola_err err =
        tavola_get_select(at->table, at->partition_key, at->row_key, names, self->call, &copy);

    *ret_etag = NULL;
    if (tvc_is_absent(err, self->call))
        return TAVOLA_OK;
    if (err == TAVOLA_OK && copy->etag &&
        tvc_index_is_of(self->indexed, copy, of->partition_key, of->row_key)) {
        *ret_etag = tvc_dup_text(copy->etag);
        err = *ret_etag ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;
    }
    tavola_entity_free(copy);
    return err;
}

static tavola_err drop_stale(const check *self, const claim *of, const tvc_index_place *at,
                             const char *etag)
{
    if (self->indexed->queue)
        return tvc_inter_partition_repair(self->indexed, of->partition_key, of->row_key, of->index,
                                          of->value, self->call);

    tavola_err err = tavola_delete(at->table, at->partition_key, at->row_key, etag, self->call);

    /* Others have changed it, or were faster. */
    return err == TAVOLA_ERR_ETAG || tvc_is_absent(err, self->call) ? TAVOLA_OK : err;
}

/* Its entity did not have the value: whether that was so while the copy was there. */
static tavola_err check_at_spot(check *self, const claim *of, const tvc_index_place *at)
{
    char *before = NULL, *after = NULL;
    bool is_right = true;
    tavola_err err = read_etag(self, of, at, &before);

    if (err == TAVOLA_OK && before)
        err = is_claimed(self, of, &is_right);
    if (err == TAVOLA_OK && !is_right)
        err = read_etag(self, of, at, &after);

    bool is_stale = err == TAVOLA_OK && after && strcmp(before, after) == 0;

    if (is_stale && self->is_repair)
        err = drop_stale(self, of, at, after);
    if (is_stale && err == TAVOLA_OK)
        report(self, &(tavola_index_fault){.kind = TAVOLA_INDEX_STALE,
                                           .property = of->index->property,
                                           .partition_key = of->partition_key,
                                           .row_key = of->row_key,
                                           .value = of->value,
                                           .is_repaired = self->is_repair});
    tvc_release(before);
    tvc_release(after);
    return err;
}

static tavola_err check_copy(check *self, const tavola_index *index, const tavola_entity *copy)
{
    bool is_right = false;
    claim of;

    if (!read_claim(self, index, copy, &of))
        return TAVOLA_OK;

    tvc_index_place at;
    tavola_err err = is_claimed(self, &of, &is_right);

    if (err || is_right)
        return err;
    err = tvc_index_place_init(&at, self->indexed, index, of.partition_key, of.value);
    if (err)
        return err;
    err = check_at_spot(self, &of, &at);
    tvc_index_place_done(&at);
    return err;
}

/* ---- all rows ---- */

/* What is stored under this key in one of the tables; NULL: nothing of ours. */
static const tavola_index *index_of(const check *self, const tavola_entity *stored,
                                    bool is_of_copies)
{
    const tavola_indexed *indexed = self->indexed;
    const char *key = indexed->queue ? stored->partition_key : stored->row_key;
    const tavola_index *index = tvc_indexed_of_key(indexed, key);

    if (!indexed->is_separate)
        return index;
    if (is_of_copies)
        return index && !tvc_index_is_primary(index) ? index : NULL;
    return &indexed->primary;
}

static tavola_err check_row(check *self, tavola_entity *stored, bool is_of_copies)
{
    const tavola_index *index = index_of(self, stored, is_of_copies);

    if (index == NULL)
        return TAVOLA_OK;
    if (!tvc_index_is_primary(index))
        return self->what & COPIES ? check_copy(self, index, stored) : TAVOLA_OK;
    return self->what & PRIMARIES && tvc_index_restore(self->indexed, index, stored)
               ? check_primary(self, stored)
               : TAVOLA_OK;
}

static tavola_err check_rows(check *self, tavola_table *table, const char *partition_key,
                             bool is_of_copies)
{
    tavola_query *query = tavola_query_new(
        partition_key ? tavola_where("PartitionKey", TAVOLA_EQ, tavola_string(partition_key))
                      : NULL);
    const tavola_entity *next = NULL;
    tavola_scan *scan = NULL;
    tavola_err err = tavola_scan_open(table, query, self->call, &scan);

    while (err == TAVOLA_OK && (err = tavola_scan_next(scan, &next)) == TAVOLA_OK)
        err = check_row(self, (tavola_entity *)(uintptr_t)next, is_of_copies);
    tavola_scan_close(scan);
    tavola_query_free(query);
    return err == TAVOLA_END ? TAVOLA_OK : err;
}

/* The partition of one index, by that of its entities. */
static tavola_err check_partition(check *self, const tavola_index *index, const char *partition_key)
{
    bool is_of_copies = !tvc_index_is_primary(index);
    char *stored = tvc_joined(index->prefix, partition_key);
    tavola_err err = TAVOLA_ERR_NO_MEMORY;

    if (stored)
        err = check_rows(self, is_of_copies ? self->indexed->copies : self->indexed->table, stored,
                         is_of_copies);
    tvc_release(stored);
    return err;
}

static tavola_err pass(check *self, const char *partition_key, int what)
{
    const tavola_indexed *indexed = self->indexed;
    tavola_err err = TAVOLA_OK;

    self->what = what;
    if (indexed->queue == NULL || partition_key == NULL) {
        err = check_rows(self, indexed->table, partition_key, false);
        return err || !indexed->is_separate ? err : check_rows(self, indexed->copies, NULL, true);
    }
    for (size_t i = 0; err == TAVOLA_OK && what & COPIES && i < indexed->count; i++)
        err = check_partition(self, &indexed->indexes[i], partition_key);
    return err || !(what & PRIMARIES) ? err
                                      : check_partition(self, &indexed->primary, partition_key);
}

static tavola_err run(check *self, const char *partition_key, tavola_call *call,
                      uint64_t *ret_count)
{
    if (self->indexed == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no tavola_indexed");
    if (partition_key && !tavola_key_is_valid(partition_key))
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "the PartitionKey is not a key");

    tavola_call own;
    tavola_err err;

    self->call = tvc_writing_call_of(call, &own);
    if (self->is_repair) {
        err = pass(self, partition_key, COPIES);
        if (err == TAVOLA_OK)
            err = pass(self, partition_key, PRIMARIES);
    } else {
        err = pass(self, partition_key, COPIES | PRIMARIES);
    }
    tvc_writing_call_done(call, &own);
    if (err == TAVOLA_OK && ret_count)
        *ret_count = self->count;
    return err;
}

tavola_err tavola_indexed_check(tavola_indexed *indexed, const char *partition_key,
                                tavola_index_fault_fn found, void *user, tavola_call *call,
                                uint64_t *ret_count)
{
    check self = {.indexed = indexed, .found = found, .user = user};

    return run(&self, partition_key, call, ret_count);
}

tavola_err tavola_indexed_repair(tavola_indexed *indexed, const char *partition_key,
                                 tavola_index_fault_fn found, void *user, tavola_call *call,
                                 uint64_t *ret_count)
{
    check self = {.indexed = indexed, .is_repair = true, .found = found, .user = user};

    return run(&self, partition_key, call, ret_count);
}
