/*
 * How the cost of the store's operations grows with the number of rows.
 *
 *     growth DIR KEYS CACHE_MB ROWS...
 *
 * Fills a new store in DIR up to each of the numbers ROWS in turn and measures
 * there: reads of a row that is there and of one that is not, as a server does
 * them (from memory first, from the disk when it must), conditional updates in
 * groups of 64, and pages of 1,000 rows.  Everything is the engine's default
 * except the cache, unless that is 0.  KEYS is how rows arrive:
 *
 *     sensor   from 1,000 devices in turn, each with growing times
 *     random   anywhere
 *
 * CPU is that of the whole process, in microseconds per operation (pages: per
 * row), so that compactions count; reads begin when the store has come to rest.
 * Prints a JSON object per size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "store/engine/key.h"
#include "store/engine/rocksdb/rocksdb.h"
#include "store/engine/txn.h"

enum {
    LOAD_GROUP = 1000,
    UPDATE_GROUP = 64,
    READS = 100000,
    UPDATES = 40000 / UPDATE_GROUP * UPDATE_GROUP,
    PAGES = 300,
    PAGE_ROWS = 1000,
    MEASURE_US_MAX = 10 * 1000 * 1000,
    DEVICES = 1000,
    VALUE_BYTES = 90, /* a small entity: a timestamp and three or four properties */
};

typedef struct bench {
    tv_engine *engine;
    tv_txn *txn;
    tv_arena arena; /* of the operation under way */
    bool is_random;
    uint64_t seed;
} bench;

typedef struct cost {
    double cpu_us, wall_us;
} cost;

static double cpu_us(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return 1e6 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static cost now(void)
{
    return (cost){cpu_us(), (double)tv_clock_mono_ns() / 1000};
}

/* Long enough for a measurement: a cliff must not make it last for hours. */
static bool is_over(cost start)
{
    return now().wall_us - start.wall_us > MEASURE_US_MAX;
}

static cost since(cost start, double operations)
{
    cost end = now();

    return (cost){(end.cpu_us - start.cpu_us) / operations,
                  (end.wall_us - start.wall_us) / operations};
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t any(bench *b, uint64_t below)
{
    b->seed += UINT64_C(0x9E3779B97F4A7C15);
    return mix(b->seed) % below;
}

/* The partition and the key of row `number`; `is_absent` makes one next to it that is never there.
 */
static tv_slice key_of(bench *b, uint64_t number, bool is_absent, tv_slice *ret_partition)
{
    char partition_key[32], row_key[32];
    tv_slice key;

    if (b->is_random) {
        uint64_t spread = mix(number);

        snprintf(partition_key, sizeof partition_key, "%04x", (unsigned)(spread >> 52));
        snprintf(row_key, sizeof row_key, "%016llx%s", (unsigned long long)spread,
                 is_absent ? "x" : "");
    } else {
        snprintf(partition_key, sizeof partition_key, "device%04u", (unsigned)(number % DEVICES));
        snprintf(row_key, sizeof row_key, "%019llu%s",
                 (unsigned long long)(UINT64_C(639000000000000000) +
                                      number / DEVICES * UINT64_C(600000000)),
                 is_absent ? "x" : "");
    }
    tv_assert(tv_key_partition(&b->arena, TV_LIT("bench"), 1, tv_slice_of(partition_key),
                               ret_partition) == TV_OK);
    tv_assert(tv_key_row(&b->arena, *ret_partition, tv_slice_of(row_key), &key) == TV_OK);
    return key;
}

/*
 * A small entity as services store it: a time, names, and a few digits that
 * differ from row to row.  It compresses well, so that a table file holds
 * millions of rows: what tests indexes and filters most.
 */
static void make_value(uint64_t number, char ret_value[VALUE_BYTES])
{
    uint64_t time = UINT64_C(639000000000000000) + number * 10000, noise = mix(number);

    memset(ret_value, 'v', VALUE_BYTES);
    memcpy(ret_value, &time, sizeof time);
    memcpy(ret_value + VALUE_BYTES / 2, &noise, 2);
}

static void load(bench *b, uint64_t from, uint64_t to)
{
    tv_write_batch batch = {0};

    while (from < to) {
        static char values[LOAD_GROUP][VALUE_BYTES];

        tv_write_batch_clear(&batch);
        tv_arena_reset(&b->arena);
        for (int i = 0; i < LOAD_GROUP && from < to; i++, from++) {
            tv_slice partition, key = key_of(b, from, false, &partition);

            make_value(from, values[i]);
            tv_write_batch_add(&batch,
                               (tv_change){TV_CHANGE_PUT, key, (tv_slice){values[i], VALUE_BYTES}});
        }
        tv_assert(tv_engine_write(b->engine, &batch) == TV_OK);
    }
    tv_write_batch_done(&batch);
}

static void note_busy(void *ctx, const char *name, const char *help, double value)
{
    (void)help;
    if (strcmp(name, "rocksdb_running_flushes") == 0 ||
        strcmp(name, "rocksdb_running_compactions") == 0)
        *(double *)ctx += value;
}

/* Wait until nothing has been compacted for a second. */
static void rest(bench *b)
{
    for (int quiet = 0; quiet < 10;) {
        double running = 0;

        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        b->engine->ops->metrics(b->engine, note_busy, &running);
        quiet = running > 0 ? 0 : quiet + 1;
    }
}

static cost read_rows(bench *b, uint64_t rows, bool is_absent, int count)
{
    cost start = now();
    int done = 0;

    for (; done < count && (done % 100 || !is_over(start)); done++) {
        tv_slice partition, value;

        tv_arena_reset(&b->arena);
        tv_slice key = key_of(b, any(b, rows), is_absent, &partition);
        tv_err err = tv_engine_get(b->engine, TV_READ_CACHED, key, &b->arena, &value);

        if (err == TV_ERR_WOULD_BLOCK)
            err = tv_engine_get(b->engine, TV_READ_ANY, key, &b->arena, &value);
        tv_assert(err == (is_absent ? TV_ERR_NOT_FOUND : TV_OK));
    }
    return since(start, done);
}

static tv_err update(tv_txn *txn, void *ctx)
{
    char changed[VALUE_BYTES];
    tv_slice key = *(tv_slice *)ctx, old;
    tv_err err;

    err = tv_txn_get(txn, key, &old);
    if (err)
        return err;

    memcpy(changed, old.data, VALUE_BYTES);
    changed[0]++;
    tv_txn_put(txn, key, (tv_slice){changed, VALUE_BYTES});
    return TV_OK;
}

static cost update_rows(bench *b, uint64_t rows)
{
    cost start = now();
    int done = 0;

    for (; done < UPDATES && !is_over(start); done += UPDATE_GROUP) {
        tv_txn_begin(b->txn);
        tv_arena_reset(&b->arena);
        for (int i = 0; i < UPDATE_GROUP; i++) {
            tv_slice partition, key = key_of(b, any(b, rows), false, &partition);

            tv_assert(tv_txn_run(b->txn, partition, update, &key) == TV_OK);
        }
        tv_assert(tv_txn_commit(b->txn) == TV_OK);
    }
    return since(start, done);
}

static cost read_pages(bench *b, uint64_t rows)
{
    cost start = now();
    uint64_t met = 0;

    for (int i = 0; i < PAGES; i++) {
        tv_slice partition, from, table;
        tv_iter *iter;

        tv_arena_reset(&b->arena);
        from = key_of(b, any(b, rows), false, &partition);
        table = tv_key_table(&b->arena, TV_LIT("bench"), 1);
        tv_assert(tv_engine_iter(b->engine, from, tv_key_after(&b->arena, table), &iter) == TV_OK);
        tv_iter_seek(iter, from);
        for (int n = 0; n < PAGE_ROWS && tv_iter_is_valid(iter); n++, met++)
            tv_iter_next(iter);
        tv_iter_free(iter);
    }
    return since(start, (double)met);
}

static double resident_mib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long size, resident = 0;

    if (file && fscanf(file, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return (double)resident * 4096 / (1 << 20);
}

static void measure(bench *b, uint64_t rows, cost loaded)
{
    rest(b);
    read_rows(b, rows, false, READS); /* the first pass fills the cache */
    cost found = read_rows(b, rows, false, READS);
    cost absent = read_rows(b, rows, true, READS);
    cost page = read_pages(b, rows);
    cost updated = update_rows(b, rows);

    printf("{\"rows\": %llu, \"load_us\": %.2f, \"load_rows_per_s\": %.0f, \"read_us\": %.2f, "
           "\"read_wall_us\": %.2f, \"absent_us\": %.2f, \"page_us\": %.3f, "
           "\"update_us\": %.2f, \"update_wall_us\": %.2f, \"resident_mib\": %.0f}\n",
           (unsigned long long)rows, loaded.cpu_us, 1e6 / loaded.wall_us, found.cpu_us,
           found.wall_us, absent.cpu_us, page.cpu_us, updated.cpu_us, updated.wall_us,
           resident_mib());
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char text[TV_ROCKSDB_ERROR_TEXT_MAX];
    bench b = {.seed = 1};
    uint64_t rows = 0;

    if (argc < 5 || (strcmp(argv[2], "sensor") != 0 && strcmp(argv[2], "random") != 0)) {
        fprintf(stderr, "usage: %s DIR sensor|random CACHE_MB ROWS...\n", argv[0]);
        return 2;
    }
    b.is_random = argv[2][0] == 'r';
    tv_rocksdb_options options = {.dir = argv[1],
                                  .block_cache_bytes = (size_t)strtoul(argv[3], NULL, 10) << 20};
    if (tv_rocksdb_engine_open(&options, &b.engine, text, sizeof text)) {
        fprintf(stderr, "%s\n", text);
        return 2;
    }
    b.txn = tv_txn_new(b.engine);
    tv_arena_init(&b.arena);
    for (int i = 4; i < argc; i++) {
        uint64_t target = strtoull(argv[i], NULL, 10);
        cost start = now();

        tv_assert(target > rows);
        load(&b, rows, target);
        cost loaded = since(start, (double)(target - rows));
        rows = target;
        measure(&b, rows, loaded);
    }
    tv_arena_done(&b.arena);
    tv_txn_free(b.txn);
    tv_engine_close(b.engine);
    return 0;
}
