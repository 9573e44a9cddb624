/* Read, change, write if nobody else did meanwhile; else again. */
#include <time.h>

#include "base/clock.h"
#include "base/random.h"
#include "client/table/table.h"

enum { ROUNDS_MAX = 10, PAUSE_MS = 4, PAUSE_DOUBLINGS_MAX = 5 };

/* Others do the same: without chance in it they would all meet again. */
static void pause_before(int round)
{
    int doublings = round < PAUSE_DOUBLINGS_MAX ? round : PAUSE_DOUBLINGS_MAX;
    uint64_t range_ns = (uint64_t)(PAUSE_MS << doublings) * 1000000;
    struct timespec span = {.tv_nsec = (long)(tv_random_u64() % range_ns)};

    nanosleep(&span, NULL);
}

/* A merge of what was set; nothing at all when nothing was. */
static tavola_err merge_changes(tavola_table *table, const tavola_entity *entity, tavola_call *call)
{
    tavola_entity part = *entity;
    tvc_property *changed = tvc_calloc(entity->count + 1, sizeof *changed);

    if (changed == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    part.properties = changed;
    part.count = 0;
    for (uint32_t i = 0; i < entity->count; i++) {
        if (entity->properties[i].is_set)
            changed[part.count++] = entity->properties[i];
    }

    tavola_err err = entity->error;

    if (part.count || err)
        err = tvc_write_run(table, TAVOLA_MERGE, &part, NULL, call);
    tvc_release(changed);
    return err;
}

static tavola_err write_changes(tavola_table *table, const tavola_entity *entity, tavola_call *call)
{
    if (entity->is_unset || tvc_table_crypto(table, call))
        return tvc_write_run(table, TAVOLA_REPLACE, entity, NULL, call);
    return merge_changes(table, entity, call);
}

static tavola_err make_round(tavola_table *table, const char *partition_key, const char *row_key,
                             tavola_change_fn change, void *user, tavola_call *call)
{
    tavola_entity *entity = NULL;
    tavola_err err = tavola_get(table, partition_key, row_key, call, &entity);

    if (err)
        return err;
    err = change(user, entity);
    if (err == TAVOLA_OK)
        err = write_changes(table, entity, call);
    tavola_entity_free(entity);
    return err;
}

/* When there are to be no more rounds: each of them is bounded by itself. */
static int64_t last_round_ns(const tavola_table *table, const tavola_call *call)
{
    uint32_t total_ms = call && call->total_timeout_ms ? call->total_timeout_ms
                                                       : table->client->options.total_timeout_ms;

    return tv_clock_mono_ns() + (int64_t)total_ms * 1000000;
}

tavola_err tavola_update(tavola_table *table, const char *partition_key, const char *row_key,
                         tavola_change_fn change, void *user, tavola_call *call)
{
    tavola_err err = tvc_table_check_keys(table, partition_key, row_key, call);

    if (err)
        return err;
    if (change == NULL)
        return tvc_call_refuse(call, TAVOLA_ERR_INVALID, "there is no function that changes it");

    int64_t until_ns = last_round_ns(table, call);

    for (int round = 0; round < ROUNDS_MAX; round++) {
        if (round > 0)
            pause_before(round);
        err = make_round(table, partition_key, row_key, change, user, call);
        if (err != TAVOLA_ERR_ETAG || tv_clock_mono_ns() > until_ns)
            break;
    }
    return err;
}
