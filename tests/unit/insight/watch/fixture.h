/*
 * A recorder with a manual clock, and requests to tell it of, for the tests of watch/.
 */
#ifndef TV_TESTS_UNIT_WATCH_FIXTURE_H
#define TV_TESTS_UNIT_WATCH_FIXTURE_H

#include "check.h"
#include "insight/watch/conn.h"
#include "insight/watch/internal.h"
#include "insight/watch/snapshot.h"

#define SECOND TV_WATCH_SECOND_NS
#define MS (SECOND / 1000)

static tv_watch *watch;
static tv_arena arena;
static uint32_t table;
static struct tv_watch_conn conn;

static inline int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&arena);
    watch = tv_watch_new(&(tv_watch_options){
        .shard_count = 2, .samples_all = true, .is_clock_manual = true, .memory_mb = 64});
    table = tv_watch_table(watch, TV_LIT("acct"), TV_LIT("People"), 0);
    conn = (struct tv_watch_conn){0};
    return 0;
}

static inline int tear_down(__attribute__((unused)) void **state)
{
    tv_watch_free(watch);
    tv_arena_done(&arena);
    return 0;
}

static inline tv_filter *filter_of(const char *text)
{
    tv_error_info info = {0};
    tv_filter *filter;

    CHECK_OK(tv_filter_parse(&arena, tv_slice_of(text), &filter, &info));
    return filter;
}

static inline tv_watch_event event_of(tv_entity_op op, int status)
{
    return (tv_watch_event){.time_ns = tv_watch_now(watch),
                            .duration_ns = 100000,
                            .table = table,
                            .op = (uint8_t)op,
                            .status = (uint16_t)status,
                            .client = {.hash = 7, .agent = TV_LIT("tests")},
                            .conn = &conn};
}

static inline void record(const tv_watch_event *event)
{
    tv_watch_record(tv_watch_shard_at(watch, 0), event);
}

/* "p" and "r" as a stored key. */
static inline tv_watch_key key_of(const char *partition, const char *row, tv_entity_op op,
                                  tv_watch_outcome outcome)
{
    return (tv_watch_key){.key = tv_arena_printf(&arena, "%s\x01%s", partition, row),
                          .partition_len = (uint32_t)strlen(partition),
                          .op = (uint8_t)op,
                          .outcome = (uint8_t)outcome,
                          .units = 1,
                          .bytes = 100,
                          .age_s = -1};
}

/* One request for one entity. */
static inline void touch(tv_entity_op op, const char *partition, const char *row,
                         tv_watch_outcome outcome, int status)
{
    tv_watch_event event = event_of(op, status);
    tv_watch_key key = key_of(partition, row, op, outcome);

    event.keys = &key;
    event.key_count = 1;
    record(&event);
}

static inline void get(const char *partition, const char *row)
{
    touch(TV_ENTITY_OP_QUERY_ENTITY, partition, row, TV_WATCH_FOUND, 200);
}

static inline void insert(const char *partition, const char *row)
{
    touch(TV_ENTITY_OP_INSERT_ENTITY, partition, row, TV_WATCH_CREATED, 201);
}

/* A page of a query; fill in the rest and record it. */
static inline tv_watch_event query_of(const char *filter, int plan, uint64_t examined,
                                      uint64_t returned)
{
    tv_watch_event event = event_of(TV_ENTITY_OP_QUERY_ENTITIES, 200);

    event.query = (tv_watch_query){.filter = filter_of(filter),
                                   .plan = (uint8_t)plan,
                                   .range_count = 1,
                                   .top = 1000,
                                   .examined = examined,
                                   .returned = returned};
    return event;
}

static inline void pass(int64_t ns)
{
    tv_watch_advance(watch, ns);
}

/* What rules would judge now, of the only table. */
static inline const tv_evidence_table *judged(const char *mark)
{
    tv_evidence *evidence;

    tv_watch_fold(watch);
    CHECK_OK(tv_watch_take(watch, &arena, mark, &evidence));
    CHECK(evidence->table_count >= 1);
    return &evidence->tables[0];
}

static inline const tv_evidence_shape *shape_named(const tv_evidence_table *of, const char *text)
{
    for (size_t i = 0; i < of->shape_count; i++) {
        if (tv_slice_eq(of->shapes[i].text, tv_slice_of(text)))
            return &of->shapes[i];
    }
    CHECK_FAIL("there is no shape %s", text);
    return NULL;
}

#define ONE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
