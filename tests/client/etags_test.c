/* Conditions: what was changed since it was read is not overwritten. */
#include <pthread.h>

#include "live.h"

static char *kept_etag(void)
{
    CHECK(tavola_call_etag(t.call) != NULL);
    return strdup(tavola_call_etag(t.call));
}

TEST(a_write_gives_the_etag_of_what_it_wrote)
{
    tavola_entity *entity = new_entity("p", "r", 1), *got = NULL;
    char *first, *second;

    CHECK_OK(tavola_insert(t.table, entity, t.call));
    first = kept_etag();
    CHECK_OK(tavola_get(t.table, "p", "r", t.call, &got));
    CHECK_TEXT(tavola_entity_etag(got), first);
    CHECK_TEXT(tavola_call_etag(t.call), first);

    CHECK_OK(tavola_replace(t.table, entity, first, t.call));
    second = kept_etag();
    CHECK(strcmp(first, second) != 0);
    CHECK_OK(tavola_merge(t.table, entity, second, t.call));
    CHECK(tavola_call_etag(t.call) != NULL);
    CHECK_OK(tavola_insert_or_replace(t.table, entity, t.call));
    CHECK(tavola_call_etag(t.call) != NULL);
    CHECK_OK(tavola_insert_or_merge(t.table, entity, t.call));
    CHECK(tavola_call_etag(t.call) != NULL);
    free(first);
    free(second);
    tavola_entity_free(got);
    tavola_entity_free(entity);
}

static tavola_err write_single(tavola_write write, tavola_entity *entity, const char *if_match)
{
    if (write == TAVOLA_REPLACE)
        return tavola_replace(t.table, entity, if_match, t.call);
    if (write == TAVOLA_MERGE)
        return tavola_merge(t.table, entity, if_match, t.call);
    return tavola_delete(t.table, tavola_entity_partition_key(entity),
                         tavola_entity_row_key(entity), if_match, t.call);
}

static tavola_err write_batch(tavola_write write, tavola_entity *entity, const char *if_match)
{
    tavola_batch *batch = tavola_batch_new(t.table);

    tavola_batch_add(batch, write, entity, if_match);

    tavola_err err = tavola_batch_run(batch, t.call);

    tavola_batch_free(batch);
    return err;
}

static void keep_error(void *user, const tavola_entity *entity, tavola_err err, const char *code)
{
    (void)entity, (void)code;
    *(tavola_err *)user = err;
}

static tavola_err write_bulk(tavola_write write, tavola_entity *entity, const char *if_match)
{
    tavola_bulk *bulk = NULL;
    tavola_err failed = TAVOLA_OK;

    CHECK_OK(tavola_bulk_open(t.table, 0, keep_error, &failed, NULL, &bulk));

    tavola_err err = tavola_bulk_add(bulk, write, entity, if_match);

    CHECK_OK(tavola_bulk_close(bulk, NULL, NULL));
    return err ? err : failed;
}

static tavola_err write_started(tavola_write write, tavola_entity *entity, const char *if_match)
{
    tavola_op *op = NULL;
    tavola_err err = tavola_start_write(t.table, write, entity, if_match, NULL, NULL, NULL, &op);

    if (err == TAVOLA_OK)
        err = tavola_op_wait(op, UINT32_MAX);
    tavola_op_free(op);
    return err;
}

static const struct {
    const char *what;
    tavola_err (*write)(tavola_write write, tavola_entity *entity, const char *if_match);
} ways[] = {
    {"single", write_single},
    {"batch", write_batch},
    {"bulk", write_bulk},
    {"started", write_started},
};

TEST(no_condition_is_the_etag_of_the_entity_in_every_kind_of_write)
{
    static const tavola_write writes[] = {TAVOLA_REPLACE, TAVOLA_MERGE, TAVOLA_DELETE};
    tavola_entity *stored = new_entity("p", "r", 1);

    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        for (size_t k = 0; k < COUNT_OF(writes); k++) {
            tavola_entity *fresh = new_entity("p", "r", 2), *stale, *last;

            t_row = ways[i].what;
            CHECK_OK(tavola_insert_or_replace(t.table, stored, t.call));
            CHECK_ERR(ways[i].write(writes[k], fresh, NULL), TAVOLA_ERR_INVALID);
            stale = tavola_entity_copy(stored);
            CHECK_OK(tavola_replace(t.table, stored, NULL, t.call));
            last = tavola_entity_copy(stored);
            if (writes[k] == TAVOLA_DELETE && ways[i].write == write_single) {
                /* Keys have no etag. */
                CHECK_ERR(write_single(TAVOLA_DELETE, stored, NULL), TAVOLA_ERR_INVALID);
            } else {
                CHECK_ERR(ways[i].write(writes[k], stale, NULL), TAVOLA_ERR_ETAG);
                CHECK_INT(stored_n("p", "r"), 1);
                CHECK_OK(ways[i].write(writes[k], last, NULL));
                CHECK_OK(tavola_insert_or_replace(t.table, stored, t.call));
            }
            CHECK_OK(ways[i].write(writes[k], fresh, TAVOLA_ANY));
            tavola_entity_free(fresh);
            tavola_entity_free(stale);
            tavola_entity_free(last);
        }
    }
    tavola_entity_free(stored);
}

TEST(a_write_leaves_its_etag_in_the_entity)
{
    tavola_entity *entity = new_entity("p", "r", 1), *other = NULL;
    char *before;

    CHECK(tavola_entity_etag(entity) == NULL);
    CHECK_OK(tavola_insert(t.table, entity, NULL));
    CHECK_OK(tavola_get(t.table, "p", "r", t.call, &other));
    CHECK_TEXT(tavola_entity_etag(entity), tavola_entity_etag(other));

    /* So that it can be written again, by any of them, and again. */
    for (int i = 2; i < 200; i += 4) {
        tavola_entity_set_int32(entity, "N", i);
        CHECK_OK(tavola_replace(t.table, entity, NULL, t.call));
        CHECK_TEXT(tavola_entity_etag(entity), tavola_call_etag(t.call));
        CHECK_OK(tavola_merge(t.table, entity, NULL, NULL));
        CHECK_OK(tavola_insert_or_replace(t.table, entity, NULL));
        CHECK_OK(tavola_replace(t.table, entity, tavola_entity_etag(entity), t.call));
        CHECK_OK(tavola_insert_or_merge(t.table, entity, t.call));
        CHECK_TEXT(tavola_entity_etag(entity), tavola_call_etag(t.call));
    }

    /* Somebody else's change is not lost, and an entity that was not written keeps its etag. */
    CHECK_OK(tavola_replace(t.table, other, TAVOLA_ANY, t.call));
    before = strdup(tavola_entity_etag(entity));
    CHECK_ERR(tavola_replace(t.table, entity, NULL, t.call), TAVOLA_ERR_ETAG);
    CHECK_TEXT(tavola_entity_etag(entity), before);
    CHECK_INT(stored_n("p", "r"), 1);

    tavola_entity *copy = tavola_entity_copy(other);

    CHECK_TEXT(tavola_entity_etag(copy), tavola_entity_etag(other));
    tavola_entity_set_int32(copy, "N", 7);
    CHECK_OK(tavola_replace(t.table, copy, NULL, t.call));
    CHECK_INT(stored_n("p", "r"), 7);
    free(before);
    tavola_entity_free(copy);
    tavola_entity_free(other);
    tavola_entity_free(entity);
}

TEST(a_stale_etag_writes_nothing)
{
    tavola_entity *entity = new_entity("p", "r", 1);
    char *stale;

    CHECK_OK(tavola_insert(t.table, entity, t.call));
    stale = kept_etag();
    tavola_entity_set_int32(entity, "N", 2);
    CHECK_OK(tavola_replace(t.table, entity, stale, t.call));
    tavola_entity_set_int32(entity, "N", 3);
    CHECK_ERR(tavola_replace(t.table, entity, stale, t.call), TAVOLA_ERR_ETAG);
    CHECK_INT(tavola_call_status(t.call), 412);
    CHECK_TEXT(tavola_call_code(t.call), "UpdateConditionNotSatisfied");
    CHECK_ERR(tavola_merge(t.table, entity, stale, t.call), TAVOLA_ERR_ETAG);
    CHECK_ERR(tavola_delete(t.table, "p", "r", stale, t.call), TAVOLA_ERR_ETAG);
    CHECK_INT(stored_n("p", "r"), 2);
    free(stale);
    tavola_entity_free(entity);
}

TEST(the_entitys_own_etag_is_the_default)
{
    tavola_entity *first = NULL, *second = NULL;

    insert_new("p", "r", 1);
    CHECK_OK(tavola_get(t.table, "p", "r", t.call, &first));
    CHECK_OK(tavola_get(t.table, "p", "r", t.call, &second));
    tavola_entity_set_int32(first, "N", 2);
    CHECK_OK(tavola_replace(t.table, first, NULL, t.call));
    CHECK_ERR(tavola_replace(t.table, second, NULL, t.call), TAVOLA_ERR_ETAG);
    CHECK_ERR(tavola_merge(t.table, second, NULL, t.call), TAVOLA_ERR_ETAG);
    CHECK_OK(tavola_replace(t.table, second, TAVOLA_ANY, t.call));
    tavola_entity_free(first);
    tavola_entity_free(second);
}

static const char *const bad_etags[] = {"", "a\r\nX-Evil: 1", "a\nb", "\x7f", "\xc3\xa4"};

TEST(conditions_that_are_none_are_refused)
{
    tavola_entity *entity = new_entity("p", "r", 1);

    CHECK_REFUSED(tavola_replace(t.table, entity, NULL, t.call), TAVOLA_ERR_INVALID);
    CHECK_REFUSED(tavola_merge(t.table, entity, NULL, t.call), TAVOLA_ERR_INVALID);
    for (size_t i = 0; i < COUNT_OF(bad_etags); i++) {
        t_row = bad_etags[i];
        CHECK_REFUSED(tavola_replace(t.table, entity, bad_etags[i], t.call), TAVOLA_ERR_INVALID);
        CHECK_REFUSED(tavola_merge(t.table, entity, bad_etags[i], t.call), TAVOLA_ERR_INVALID);
        CHECK_REFUSED(tavola_delete(t.table, "p", "r", bad_etags[i], t.call), TAVOLA_ERR_INVALID);
    }
    tavola_entity_free(entity);
}

/* ---- update ---- */

static tavola_err add_one(void *user, tavola_entity *entity)
{
    int32_t n;

    (void)user;
    if (!tavola_entity_get_int32(entity, "N", &n))
        return TAVOLA_ERR_INVALID;
    tavola_entity_set_int32(entity, "N", n + 1);
    return TAVOLA_OK;
}

enum { THREADS = 4, ROUNDS = 25 };

static void *add_many(void *user)
{
    (void)user;
    for (int i = 0; i < ROUNDS; i++) {
        tavola_err err;

        /* Ten rounds may not be enough against three others. */
        do
            err = tavola_update(t.table, "p", "r", add_one, NULL, NULL);
        while (err == TAVOLA_ERR_ETAG);
        if (err)
            return (void *)(intptr_t)err;
    }
    return NULL;
}

TEST(racing_updates_lose_nothing)
{
    pthread_t threads[THREADS];

    insert_new("p", "r", 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, add_many, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        void *err = NULL;

        pthread_join(threads[i], &err);
        CHECK_ERR((tavola_err)(intptr_t)err, TAVOLA_OK);
    }
    CHECK_INT(stored_n("p", "r"), THREADS * ROUNDS);
}

static tavola_err set_other(void *user, tavola_entity *entity)
{
    (void)user;
    tavola_entity_set_string(entity, "Other", "x");
    return TAVOLA_OK;
}

static tavola_err unset_n(void *user, tavola_entity *entity)
{
    (void)user;
    tavola_entity_unset(entity, "N");
    return TAVOLA_OK;
}

static tavola_err change_nothing(void *user, tavola_entity *entity)
{
    (void)entity;
    ++*(int *)user;
    return TAVOLA_OK;
}

static tavola_err give_up(void *user, tavola_entity *entity)
{
    (void)entity;
    (void)user;
    return TAVOLA_ERR_CANCELLED;
}

static tavola_err always_too_late(void *user, tavola_entity *entity)
{
    tavola_entity *other = new_entity("p", "r", ++*(int *)user);

    CHECK_OK(tavola_insert_or_merge(t.table, other, NULL));
    tavola_entity_free(other);
    tavola_entity_set_string(entity, "Other", "y");
    return TAVOLA_OK;
}

TEST(an_update_merges_what_was_set)
{
    tavola_entity *got = NULL;
    const char *text;

    insert_new("p", "r", 5);
    CHECK_OK(tavola_update(t.table, "p", "r", set_other, NULL, t.call));
    CHECK_INT(stored_n("p", "r"), 5);
    CHECK_OK(tavola_update(t.table, "p", "r", unset_n, NULL, t.call));
    CHECK_OK(tavola_get(t.table, "p", "r", t.call, &got));
    CHECK_INT(tavola_entity_count(got), 1);
    CHECK(tavola_entity_get_string(got, "Other", &text));
    tavola_entity_free(got);
}

TEST(an_update_ends_by_itself)
{
    int calls = 0;

    CHECK_ERR(tavola_update(t.table, "p", "r", give_up, NULL, t.call), TAVOLA_ERR_NOT_FOUND);
    insert_new("p", "r", 1);
    CHECK_ERR(tavola_update(t.table, "p", "r", give_up, NULL, t.call), TAVOLA_ERR_CANCELLED);
    CHECK_OK(tavola_update(t.table, "p", "r", change_nothing, &calls, t.call));
    CHECK_INT(calls, 1);
    calls = 0;
    CHECK_ERR(tavola_update(t.table, "p", "r", always_too_late, &calls, t.call), TAVOLA_ERR_ETAG);
    CHECK_INT(calls, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE_TEST(a_write_gives_the_etag_of_what_it_wrote),
        LIVE_TEST(no_condition_is_the_etag_of_the_entity_in_every_kind_of_write),
        LIVE_TEST(a_write_leaves_its_etag_in_the_entity),
        LIVE_TEST(a_stale_etag_writes_nothing),
        LIVE_TEST(the_entitys_own_etag_is_the_default),
        LIVE_TEST(conditions_that_are_none_are_refused),
        LIVE_TEST(racing_updates_lose_nothing),
        LIVE_TEST(an_update_merges_what_was_set),
        LIVE_TEST(an_update_ends_by_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
