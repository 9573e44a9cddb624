/* Threads record while another takes their sheets and others ask: nothing is lost. */
#include "base/background.h"
#include "fixture.h"

#include <pthread.h>

enum { THREADS = 3, RECORDS = 20000 };

static tv_filter *shared_filter;

static void *record_many(void *ctx)
{
    int index = *(int *)ctx;
    tv_watch_shard *shard = tv_watch_shard_at(watch, index);
    struct tv_watch_conn own = {0};
    char stored[32];

    for (int i = 0; i < RECORDS; i++) {
        tv_watch_event event = {.time_ns = tv_watch_now(watch),
                                .duration_ns = 1000,
                                .table = table,
                                .op = TV_ENTITY_OP_QUERY_ENTITY,
                                .status = 200,
                                .client = {.hash = (uint64_t)index + 1},
                                .request_id = (uint64_t)i + 1,
                                .conn = &own};
        tv_watch_key key = {
            .partition_len = 1, .op = TV_ENTITY_OP_QUERY_ENTITY, .units = 1, .age_s = -1};

        snprintf(stored, sizeof stored, "p\x01%d", i % 100);
        key.key = tv_slice_of(stored);
        event.keys = &key;
        event.key_count = 1;
        if (i % 4 == 0) {
            event.op = TV_ENTITY_OP_QUERY_ENTITIES;
            event.key_count = 0;
            event.query = (tv_watch_query){.filter = shared_filter,
                                           .plan = TV_PLAN_TABLE,
                                           .range_count = 1,
                                           .examined = 10,
                                           .returned = 1,
                                           .token_out = i % 8 ? 0 : (uint64_t)i + 1};
        }
        if (i % 100 == 99)
            event.status = 500;
        tv_watch_record(shard, &event);
    }
    return NULL;
}

static tv_background stepper;

static void run_steps(tv_background *thread, void *ctx)
{
    (void)ctx;
    while (tv_background_sleep(thread, 5))
        tv_watch_step(watch);
}

static void start_steps(void)
{
    tv_background_start(&stepper, &(tv_background_options){.name = "steps", .run = run_steps});
}

static void stop_steps(void)
{
    tv_background_done(&stepper);
}

TEST(nothing_is_lost_between_threads)
{
    pthread_t threads[THREADS];
    int indexes[THREADS];
    char mark[TV_WATCH_MARK_SIZE];
    tv_buf out = TV_BUF_EMPTY;

    watch = tv_watch_new(&(tv_watch_options){.shard_count = THREADS, .samples_all = true});
    table = tv_watch_table(watch, TV_LIT("acct"), TV_LIT("People"), 0);
    tv_arena_init(&arena);
    shared_filter = filter_of("Age gt 30");
    start_steps();
    for (int i = 0; i < THREADS; i++) {
        indexes[i] = i;
        pthread_create(&threads[i], NULL, record_many, &indexes[i]);
    }
    for (int i = 0; i < 20; i++) {
        tv_watch_mark(watch, mark);
        judged(NULL);
        tv_buf_reset(&out);
        tv_watch_list_shapes(watch, &(tv_watch_list){0}, &out);
        tv_watch_table(watch, TV_LIT("acct"), tv_arena_printf(&arena, "T%d", i), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    stop_steps();

    const tv_evidence_table *of = judged(NULL);
    const tv_evidence_shape *shape = shape_named(of, "Age gt ?i");

    CHECK_INT(of->requests, THREADS * RECORDS);
    CHECK_INT(of->point_reads, THREADS * RECORDS * 3 / 4);
    CHECK_INT(shape->pages, THREADS * RECORDS / 4);
    CHECK_INT(shape->examined, THREADS * RECORDS / 4 * 10);
    tv_buf_done(&out);
    tv_watch_free(watch);
    tv_arena_done(&arena);
}

enum { NAMES = 700 }; /* of each thread; more than there is room for */

/* A key of its own for each table, so that what went to another is seen. */
static void *record_in_turns(void *ctx)
{
    int index = *(int *)ctx;
    uint32_t numbers[NAMES] = {0};

    for (int i = 0; i < RECORDS; i++) {
        uint32_t *number = &numbers[i % NAMES];
        char name[32], stored[40];
        tv_watch_key key = {.op = TV_ENTITY_OP_QUERY_ENTITY, .units = 1, .age_s = -1};
        tv_watch_event event = {.time_ns = tv_watch_now(watch),
                                .op = TV_ENTITY_OP_QUERY_ENTITY,
                                .status = 200,
                                .keys = &key,
                                .key_count = 1};

        key.partition_len = (uint32_t)snprintf(name, sizeof name, "T%dn%d", index, i % NAMES);
        snprintf(stored, sizeof stored, "%s\x01r", name);
        key.key = tv_slice_of(stored);
        if (!tv_watch_has_table(watch, *number))
            *number = tv_watch_table(watch, TV_LIT("acct"), tv_slice_of(name),
                                     index * NAMES + i % NAMES + 1);
        event.table = *number;
        tv_watch_record(tv_watch_shard_at(watch, index), &event);
        if (i % 5 == 0)
            tv_watch_drop_table(watch, *number, index * NAMES + i % NAMES + 1);
    }
    return NULL;
}

TEST(requests_stay_with_their_table_while_tables_make_room)
{
    pthread_t threads[THREADS];
    int indexes[THREADS];
    uint64_t requests = 0;
    tv_traffic *traffic =
        tv_traffic_open(&(tv_traffic_options){.shard_count = THREADS, .now_minute = 1}, NULL, 0);

    watch = tv_watch_new(&(tv_watch_options){
        .shard_count = THREADS, .samples_all = true, .memory_mb = 8, .traffic = traffic});
    tv_arena_init(&arena);
    start_steps();
    for (int i = 0; i < THREADS; i++) {
        indexes[i] = i;
        pthread_create(&threads[i], NULL, record_in_turns, &indexes[i]);
    }
    for (uint32_t i = 0; i < 100; i++) {
        tv_watch_fold(watch);
        CHECK_OK(tv_traffic_close_minute(traffic, i + 1));
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    stop_steps();

    tv_watch_fold(watch);
    tv_evidence *evidence;

    CHECK_OK(tv_watch_take(watch, &arena, NULL, &evidence));

    CHECK_INT(evidence->table_count, 512);
    for (size_t i = 0; i < evidence->table_count; i++) {
        const tv_evidence_table *of = &evidence->tables[i];

        requests += of->requests;
        CHECK(of->partition_count <= 1);
        if (of->partition_count)
            CHECK_SLICE(of->partitions[0].partition_key, of->name);
    }
    CHECK(requests > 0);
    CHECK_OK(tv_traffic_close_minute(traffic, 101));
    CHECK(tv_traffic_read_usage(traffic).tables <= 512);
    tv_watch_free(watch);
    tv_traffic_free(traffic);
    tv_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_between_threads),
        cmocka_unit_test(requests_stay_with_their_table_while_tables_make_room),
    };

    (void)set_up;
    (void)tear_down;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
