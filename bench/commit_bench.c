/*
 * Durable conditional updates through the commit pipeline onto RocksDB.
 *
 *     commit_bench DIR [SUBMITTERS] [COMMITTERS] [SECONDS] [VALUE_BYTES] [ROWS]
 *
 * Each submitter is one slot that always has a write under way, as a connection
 * does: read a row, compare a counter in it, write it back.  Four threads of 16
 * slots each stand for the network threads; an answer lets its slot submit
 * again in the same round.  Prints updates per second, the mean group, CPU
 * microseconds of the whole process per update, and latencies.
 *
 * Two cores, a disk of about 0.3 ms per sync, 64 submitters, 200 byte values:
 *
 *     1 committer:  60,000-67,000 updates/s at 10-11 us CPU, groups of 40
 *     2 committers: 60,000-61,000 updates/s at 14-16 us CPU, groups of 21
 *
 * Hence one committer by default.  Two do win (28,000 against 16,000) while
 * something else keeps the disk so busy that a sync takes milliseconds.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/assert.h"
#include "base/clock.h"
#include "store/commit/pipeline.h"
#include "store/engine/key.h"
#include "store/engine/rocksdb/rocksdb.h"

enum { THREADS_MAX = 4, LATENCIES_MAX = 1 << 22 };

static int submitter_count = 64, committer_count = 1, seconds = 5, value_bytes = 200,
           row_count = 100000;
static atomic_bool is_over;
static atomic_ulong update_count, failure_count;
static atomic_size_t latency_count;
static uint32_t *latencies_us;

typedef struct loop {
    pthread_t thread;
    tv_outbox *outbox;
    tv_mailbox mailbox;
    sem_t woken;
    int in_flight;
} loop;

typedef struct slot {
    tv_write write;
    loop *loop;
    uint64_t random;
    int64_t start_ns;
    tv_arena arena;
    tv_slice key;
} slot;

static tv_err update(tv_txn *txn, void *ctx)
{
    slot *s = ctx;
    char value[4096];
    tv_slice old;
    uint64_t counter = 0;
    tv_err err;

    err = tv_txn_get(txn, s->key, &old);
    if (err && err != TV_ERR_NOT_FOUND)
        return err;
    if (err == TV_OK)
        memcpy(&counter, old.data, sizeof counter);
    memset(value, 'v', (size_t)value_bytes);
    counter++;
    memcpy(value, &counter, sizeof counter);
    tv_txn_put(txn, s->key, (tv_slice){value, (size_t)value_bytes});
    return TV_OK;
}

static void submit(slot *s)
{
    char text[32];
    tv_slice partition;

    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    tv_arena_reset(&s->arena);
    snprintf(text, sizeof text, "%08llu",
             (unsigned long long)(s->random >> 33) % (unsigned)row_count);
    tv_assert(tv_key_partition(&s->arena, TV_LIT("bench"), 1, (tv_slice){text, 5}, &partition) ==
              TV_OK);
    tv_assert(tv_key_row(&s->arena, partition, tv_slice_of(text), &s->key) == TV_OK);
    s->write.partition = partition;
    s->start_ns = tv_clock_mono_ns();
    s->loop->in_flight++;
    tv_outbox_add(s->loop->outbox, &s->write);
}

static void deliver(tv_mail *mail)
{
    slot *s = (slot *)mail;
    size_t at = atomic_fetch_add(&latency_count, 1);

    s->loop->in_flight--;
    if (at < LATENCIES_MAX)
        latencies_us[at] = (uint32_t)((tv_clock_mono_ns() - s->start_ns) / 1000);
    atomic_fetch_add(s->write.result ? &failure_count : &update_count, 1);
    if (!atomic_load(&is_over))
        submit(s);
}

static void wake(void *ctx)
{
    sem_post(ctx);
}

static void *run_loop(void *arg)
{
    loop *l = arg;

    tv_outbox_flush(l->outbox);
    while (l->in_flight > 0) {
        sem_wait(&l->woken);
        tv_mailbox_deliver(&l->mailbox);
        tv_outbox_flush(l->outbox);
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static double cpu_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static int number(int argc, char **argv, int at, int fallback)
{
    return argc > at ? (int)strtol(argv[at], NULL, 10) : fallback;
}

static void report(tv_pipeline *pipeline, double took, double cpu)
{
    size_t count = atomic_load(&latency_count);
    tv_pipeline_metrics metrics;

    count = count < LATENCIES_MAX ? count : LATENCIES_MAX;
    qsort(latencies_us, count, sizeof *latencies_us, compare);
    tv_pipeline_read_metrics(pipeline, &metrics);
    printf("submitters=%d committers=%d value_bytes=%d updates_per_s=%.0f cpu_us_per_update=%.1f "
           "group=%.1f commits_per_s=%.0f commit_us=%.0f p50_us=%u p99_us=%u failed=%lu\n",
           submitter_count, committer_count, value_bytes, (double)atomic_load(&update_count) / took,
           1e6 * cpu / (double)atomic_load(&update_count),
           (double)metrics.writes / (double)metrics.groups, (double)metrics.groups / took,
           (double)metrics.commit_us_sum / (double)metrics.groups, latencies_us[count / 2],
           latencies_us[count * 99 / 100], atomic_load(&failure_count));
}

int main(int argc, char **argv)
{
    char text[TV_ROCKSDB_ERROR_TEXT_MAX];
    tv_engine *engine;

    if (argc < 2) {
        fprintf(stderr, "usage: %s DIR [SUBMITTERS] [COMMITTERS] [SECONDS] [VALUE_BYTES] [ROWS]\n",
                argv[0]);
        return 2;
    }
    submitter_count = number(argc, argv, 2, submitter_count);
    committer_count = number(argc, argv, 3, committer_count);
    seconds = number(argc, argv, 4, seconds);
    value_bytes = number(argc, argv, 5, value_bytes);
    row_count = number(argc, argv, 6, row_count);
    tv_assert(submitter_count > 0 && value_bytes >= 8 && value_bytes <= 4096 && row_count > 0);
    if (tv_rocksdb_engine_open(&(tv_rocksdb_options){.dir = argv[1]}, &engine, text, sizeof text)) {
        fprintf(stderr, "%s\n", text);
        return 2;
    }

    tv_pipeline *pipeline = tv_pipeline_new(engine, committer_count, 10000);
    int loop_count = submitter_count < THREADS_MAX ? submitter_count : THREADS_MAX;
    loop loops[THREADS_MAX];
    slot *slots = tv_calloc((size_t)submitter_count, sizeof *slots);

    latencies_us = tv_malloc(LATENCIES_MAX * sizeof *latencies_us);
    for (int i = 0; i < loop_count; i++) {
        loops[i] = (loop){.outbox = tv_outbox_new(pipeline)};
        sem_init(&loops[i].woken, 0, 0);
        tv_mailbox_init(&loops[i].mailbox, wake, &loops[i].woken);
    }
    for (int i = 0; i < submitter_count; i++) {
        slots[i].loop = &loops[i % loop_count];
        slots[i].random = (uint64_t)i * 7919 + 1;
        tv_arena_init(&slots[i].arena);
        slots[i].write = (tv_write){.mail.deliver = deliver,
                                    .run = update,
                                    .ctx = &slots[i],
                                    .reply_to = &slots[i].loop->mailbox};
        submit(&slots[i]);
    }

    double cpu = cpu_seconds();
    int64_t start_ns = tv_clock_mono_ns();
    struct timespec span = {.tv_sec = seconds};

    for (int i = 0; i < loop_count; i++)
        tv_assert(pthread_create(&loops[i].thread, NULL, run_loop, &loops[i]) == 0);
    nanosleep(&span, NULL);
    atomic_store(&is_over, true);
    for (int i = 0; i < loop_count; i++)
        pthread_join(loops[i].thread, NULL);
    report(pipeline, (double)(tv_clock_mono_ns() - start_ns) * 1e-9, cpu_seconds() - cpu);

    for (int i = 0; i < loop_count; i++) {
        tv_outbox_free(loops[i].outbox);
        tv_mailbox_done(&loops[i].mailbox);
    }
    for (int i = 0; i < submitter_count; i++)
        tv_arena_done(&slots[i].arena);
    tv_pipeline_free(pipeline);
    tv_engine_close(engine);
    free(slots);
    free(latencies_us);
    return 0;
}
