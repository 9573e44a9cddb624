/* What the tests of the guide's patterns share. */
#ifndef TAVOLA_TESTS_CLIENT_PATTERNS_H
#define TAVOLA_TESTS_CLIENT_PATTERNS_H

#include <pthread.h>

#include "faults.h"

static inline bool same_value(const tavola_value *a, const tavola_value *b)
{
    if (a->type != b->type || a->size != b->size)
        return false;
    switch (a->type) {
    case TAVOLA_STRING:
    case TAVOLA_BINARY:
        return memcmp(a->as.ptr, b->as.ptr, a->size) == 0;
    case TAVOLA_INT32:
        return a->as.int32 == b->as.int32;
    case TAVOLA_GUID:
        return memcmp(&a->as.guid, &b->as.guid, sizeof a->as.guid) == 0;
    case TAVOLA_BOOLEAN:
        return a->as.boolean == b->as.boolean;
    default:
        return a->as.int64 == b->as.int64;
    }
}

/* Keys and properties, in any order. */
static inline void check_same(const tavola_entity *got, const tavola_entity *want)
{
    tavola_value a, b;
    const char *name;

    CHECK_TEXT(tavola_entity_partition_key(got), tavola_entity_partition_key(want));
    CHECK_TEXT(tavola_entity_row_key(got), tavola_entity_row_key(want));
    CHECK_INT(tavola_entity_count(got), tavola_entity_count(want));
    for (size_t i = 0; (name = tavola_entity_name_at(want, i, &a)) != NULL; i++) {
        if (!tavola_entity_get(got, name, &b) || !same_value(&a, &b))
            CHECK_FAIL("%s differs", name);
    }
}

/* A handle of the test's table on another client. */
static inline tavola_table *table_on(tavola_client *client)
{
    tavola_table *table = NULL;

    CHECK_OK(tavola_table_open(client, tavola_table_name(t.table), &table));
    return table;
}

/* The same of a queue and a container. */
static inline tavola_queue *queue_on(tavola_client *client, const char *name)
{
    tavola_queue *queue = NULL;

    CHECK_OK(tavola_queue_open(client, name, &queue));
    return queue;
}

static inline tavola_container *container_on(tavola_client *client, const char *name)
{
    tavola_container *container = NULL;

    CHECK_OK(tavola_container_open(client, name, &container));
    return container;
}

static inline const char *text_of(const tavola_entity *entity, const char *name)
{
    const char *text = NULL;

    return tavola_entity_get_string(entity, name, &text) ? text : NULL;
}

/* Run a function on several threads at once, each with its number. */
static inline void run_threads(size_t count, void *(*run)(void *))
{
    pthread_t threads[32];

    CHECK(count <= 32);
    for (size_t i = 0; i < count; i++)
        CHECK(pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i) == 0);
    for (size_t i = 0; i < count; i++) {
        void *failure = NULL;

        pthread_join(threads[i], &failure);
        if (failure)
            CHECK_FAIL("thread %zu: %s", i, (const char *)failure);
    }
}

/* Pseudo-random numbers of a thread: the same in every run of the test. */
static inline uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static inline void sleep_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

#endif
