/*
 * What recording a request takes: point reads of 1 and of 1,000 tables, over 1,000,000 keys, and
 * queries.  Prints nanoseconds of CPU a record: the median of 9 rounds, and the fastest.  As in a
 * server, the key was touched by the request before, and the time is known.
 *
 *     build-check/tests/watch_bench, or that of a release build
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "insight/watch/conn.h"
#include "insight/watch/watch.h"

enum { ROUNDS = 9, RECORDS = 200000, KEYS = 1000000, TABLES = 1000, FOLD_EVERY = 50000, HOT = 500 };

static char keys[KEYS][24], hot_keys[HOT][24];
static uint32_t tables[TABLES];

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of this thread alone: other load of the machine does not count. */
static int64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static uint64_t next_random(void)
{
    static uint64_t random = 1;

    random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return random >> 20;
}

/* Bring the next keys into the cache. */
static void choose_keys(void)
{
    for (int i = 0; i < HOT; i++)
        memcpy(hot_keys[i], keys[next_random() % KEYS], sizeof hot_keys[i]);
}

/* A fold is no part of a request: it is left out of the time. */
static double round_of(tv_watch *watch, size_t table_count, bool is_query, const tv_filter *filter)
{
    struct tv_watch_conn conn = {0};
    tv_watch_shard *shard = tv_watch_shard_at(watch, 0);
    int64_t spent = 0;

    for (int done = 0; done < RECORDS; done += HOT) {
        choose_keys();

        int64_t now = tv_watch_now(watch), start = cpu_ns();

        for (int i = 0; i < HOT; i++) {
            const char *key = hot_keys[i];
            tv_watch_key touched = {.key = {key, 21},
                                    .partition_len = 10,
                                    .op = TV_ENTITY_OP_QUERY_ENTITY,
                                    .outcome = TV_WATCH_FOUND,
                                    .units = 1,
                                    .bytes = 300,
                                    .age_s = -1};
            tv_watch_event event = {.time_ns = now,
                                    .duration_ns = 50000,
                                    .table = tables[next_random() % table_count],
                                    .op = is_query ? TV_ENTITY_OP_QUERY_ENTITIES
                                                   : TV_ENTITY_OP_QUERY_ENTITY,
                                    .status = 200,
                                    .bytes_out = 400,
                                    .client = {.hash = 7},
                                    .conn = &conn};

            if (is_query) {
                event.query = (tv_watch_query){.filter = filter,
                                               .plan = 2,
                                               .range_count = 1,
                                               .top = 1000,
                                               .examined = 100,
                                               .returned = 10,
                                               .partition = {key, 10}};
            } else {
                event.keys = &touched;
                event.key_count = 1;
            }
            tv_watch_record(shard, &event);
        }
        spent += cpu_ns() - start;
        if (done % FOLD_EVERY == 0)
            tv_watch_fold(watch);
    }
    return (double)spent / RECORDS;
}

static void measure(const char *what, size_t table_count, bool is_query)
{
    tv_watch *watch = tv_watch_new(&(tv_watch_options){.shard_count = 1});
    double rounds[ROUNDS];
    tv_error_info info = {0};
    tv_filter *filter;
    tv_arena arena;

    tv_arena_init(&arena);
    for (size_t i = 0; i < table_count; i++)
        tables[i] = tv_watch_table(watch, TV_LIT("account"), tv_arena_printf(&arena, "T%zu", i), 0);
    if (tv_filter_parse(&arena, TV_LIT("PartitionKey eq 'p' and Email eq 'a@b' and Age gt 30"),
                        &filter, &info))
        abort();
    round_of(watch, table_count, is_query, filter); /* so that the period fits the rate */
    for (int i = 0; i < ROUNDS; i++)
        rounds[i] = round_of(watch, table_count, is_query, filter);
    qsort(rounds, ROUNDS, sizeof *rounds, by_number);
    printf("%-40s median %6.1f ns  fastest %6.1f ns\n", what, rounds[ROUNDS / 2], rounds[0]);
    tv_watch_free(watch);
    tv_arena_done(&arena);
}

int main(void)
{
    for (int i = 0; i < KEYS; i++)
        snprintf(keys[i], sizeof keys[i], "p%09d\x01r%09d", i % 1000, i);
    measure("point reads, 1 table, 1M keys", 1, false);
    measure("point reads, 1,000 tables, 1M keys", TABLES, false);
    measure("queries, 1 table", 1, true);
    measure("queries, 1,000 tables", TABLES, true);
    return 0;
}
