/*
 * What librados does by itself, for bench/run --only cluster to compare tavolad with: the same
 * operations on the same kind of objects, without HTTP, rows' form or conditions that can fail.
 *
 *   raw CONF USER POOL fill RANGES ROWS              objects with rows, for get and page
 *   raw CONF USER POOL get RANGES IN_FLIGHT KEYS SECONDS
 *   raw CONF USER POOL page RANGES IN_FLIGHT ROWS SECONDS
 *   raw CONF USER POOL insert RANGES CLIENTS SECONDS [COMPARES]
 *                                                    one operation in flight for each range, with
 *                                                    a row of each of its clients: group commit;
 *                                                    and so many attributes compared with instants
 *
 * Prints a line of JSON: operations and rows per second, their median and longest time in ms, and
 * this process' CPU time per row in us.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "measure.h"

enum { VALUE_BYTES = 300, KEYS_MAX = 1024, KEY_SIZE = 24, SLOTS_MAX = 1024, TIMES_MAX = 4000000 };

typedef enum kind { GET, PAGE, INSERT } kind;

/* An operation in flight, and then the next one in its place. */
typedef struct slot {
    char object[32];
    char keys[KEYS_MAX][KEY_SIZE];
    unsigned seed;
    double began_s;
    rados_read_op_t read;
    rados_write_op_t write;
    rados_omap_iter_t rows;
    unsigned char has_more;
    int result, refused[KEYS_MAX];
} slot;

static rados_ioctx_t pool;
static kind what;
static int ranges, rows_per_op, filled, compares;
static double end_s;
static char value[VALUE_BYTES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int running;
static size_t op_count, row_count;
static double *times;

static _Atomic uint64_t next_key;

static void key_of(char *ret_key, uint64_t number)
{
    snprintf(ret_key, KEY_SIZE, "k%012llu", (unsigned long long)number);
}

static void start(slot *s);

/* The rows of a read, read to the end as its user would. */
static size_t take_rows(slot *s)
{
    size_t count = 0, key_len, value_len;
    char *key, *data;

    while (rados_omap_get_next2(s->rows, &key, &data, &key_len, &value_len) == 0 && key)
        count++;
    rados_omap_get_end(s->rows);
    return count;
}

/* On librados' own thread. */
static void on_done(rados_completion_t completion, void *ctx)
{
    slot *s = ctx;
    double took_s = now_s() - s->began_s;
    size_t rows = (size_t)rows_per_op;

    check("operation", rados_aio_get_return_value(completion));
    rados_aio_release(completion);
    if (what == INSERT) {
        rados_release_write_op(s->write);
    } else {
        rows = take_rows(s);
        rados_release_read_op(s->read);
    }

    bool is_last = now_s() >= end_s;

    pthread_mutex_lock(&lock);
    if (op_count < TIMES_MAX)
        times[op_count] = took_s;
    op_count++;
    row_count += rows;
    if (is_last && --running == 0)
        pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    if (!is_last)
        start(s);
}

static void start(slot *s)
{
    const char *keys[KEYS_MAX], *values[KEYS_MAX];
    size_t key_lens[KEYS_MAX], value_lens[KEYS_MAX];
    rados_completion_t completion;

    for (int i = 0; i < rows_per_op && what != PAGE; i++) {
        uint64_t number =
            what == INSERT ? atomic_fetch_add(&next_key, 1) : (uint64_t)(rand_r(&s->seed) % filled);

        key_of(s->keys[i], number);
        keys[i] = s->keys[i];
        key_lens[i] = strlen(keys[i]);
        values[i] = value;
        value_lens[i] = sizeof value;
    }
    if (what != INSERT)
        snprintf(s->object, sizeof s->object, "raw.g%d", rand_r(&s->seed) % ranges);
    s->began_s = now_s();
    check("completion", rados_aio_create_completion2(s, on_done, &completion));
    if (what == INSERT) {
        s->write = rados_create_write_op();
        rados_write_op_cmpxattr(s->write, "wep", LIBRADOS_CMPXATTR_OP_EQ, "e1", 2);
        for (int i = 0; i < compares; i++) {
            char name[16];

            snprintf(name, sizeof name, "clk%d", i);
            rados_write_op_cmpxattr(s->write, name, LIBRADOS_CMPXATTR_OP_GT, "0vvvvvvvvvvvv", 13);
        }
        for (int i = 0; i < rows_per_op; i++)
            rados_write_op_omap_cmp2(s->write, keys[i], LIBRADOS_CMPXATTR_OP_EQ, "", key_lens[i], 0,
                                     &s->refused[i]);
        rados_write_op_omap_set2(s->write, keys, values, key_lens, value_lens, (size_t)rows_per_op);
        check("write", rados_aio_write_op_operate(s->write, pool, completion, s->object, NULL, 0));
        return;
    }
    s->read = rados_create_read_op();
    rados_read_op_cmpxattr(s->read, "rep", LIBRADOS_CMPXATTR_OP_EQ, "e1", 2);
    if (what == GET) {
        rados_read_op_omap_get_vals_by_keys2(s->read, keys, (size_t)rows_per_op, key_lens, &s->rows,
                                             &s->result);
    } else {
        key_of(s->keys[0], (uint64_t)(rand_r(&s->seed) % (filled - rows_per_op)));
        rados_read_op_omap_get_vals2(s->read, s->keys[0], "", (uint64_t)rows_per_op, &s->rows,
                                     &s->has_more, &s->result);
    }
    check("read", rados_aio_read_op_operate(s->read, pool, completion, s->object, 0));
}

static void fill(int rows)
{
    for (int range = 0; range < ranges; range++) {
        char object[32];

        snprintf(object, sizeof object, "raw.g%d", range);
        make_object(pool, object, "e1");
        for (int first = 0; first < rows; first += 500) {
            rados_write_op_t op = rados_create_write_op();

            for (int i = first; i < first + 500 && i < rows; i++) {
                char key[KEY_SIZE];
                const char *data = value, *name = key;
                size_t len = sizeof value, name_len;

                key_of(key, (uint64_t)i);
                name_len = strlen(key);
                rados_write_op_omap_set2(op, &name, &data, &name_len, &len, 1);
            }
            check("fill", rados_write_op_operate2(op, pool, object, NULL, 0));
            rados_release_write_op(op);
        }
    }
}

static void run(int slots, double seconds)
{
    slot *all = calloc((size_t)slots, sizeof *all);
    double cpu_before = cpu_s(), began = now_s();

    times = malloc(sizeof *times * TIMES_MAX);
    if (all == NULL || times == NULL)
        abort();
    end_s = began + seconds;
    running = slots;
    for (int i = 0; i < slots; i++) {
        all[i].seed = (unsigned)i + 1;
        if (what == INSERT) {
            snprintf(all[i].object, sizeof all[i].object, "raw.w%d", i);
            make_object(pool, all[i].object, "e1");
        }
        start(&all[i]);
    }
    pthread_mutex_lock(&lock);
    while (running)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);

    double took = now_s() - began, cpu = cpu_s() - cpu_before;
    size_t kept = op_count < TIMES_MAX ? op_count : TIMES_MAX;

    qsort(times, kept, sizeof *times, by_time);
    printf("{\"ops_s\": %.1f, \"rows_s\": %.1f, \"rows\": %zu, \"p50_ms\": %.3f, "
           "\"max_ms\": %.3f, \"cpu_us_row\": %.2f}\n",
           (double)op_count / took, (double)row_count / took, row_count, times[kept / 2] * 1e3,
           times[kept - 1] * 1e3, cpu * 1e6 / (double)row_count);
    free(times);
    free(all);
}

int main(int argc, char **argv)
{
    rados_t cluster;
    uint64_t size;
    time_t changed_at;

    if (argc < 7) {
        fprintf(stderr, "usage: see the head of bench/rados/raw.c\n");
        return 2;
    }
    memset(value, 'x', sizeof value);
    open_pool(argv, &cluster, &pool);
    ranges = number(argv[5], SLOTS_MAX);
    filled = 20000;
    if (strcmp(argv[4], "fill") == 0) {
        fill(number(argv[6], 10000000));
    } else if (strcmp(argv[4], "insert") == 0 && (argc == 8 || argc == 9)) {
        what = INSERT;
        compares = argc == 9 ? number(argv[8], SLOTS_MAX) : 0;
        rows_per_op = number(argv[6], KEYS_MAX * ranges) / ranges;
        if (rows_per_op == 0)
            rows_per_op = 1;
        run(ranges, atof(argv[7]));
    } else if (argc == 9 && (strcmp(argv[4], "get") == 0 || strcmp(argv[4], "page") == 0)) {
        check("raw.g0 (fill first)", rados_stat(pool, "raw.g0", &size, &changed_at));
        what = strcmp(argv[4], "get") == 0 ? GET : PAGE;
        rows_per_op = number(argv[7], KEYS_MAX);
        run(number(argv[6], SLOTS_MAX), atof(argv[8]));
    } else {
        fprintf(stderr, "raw: '%s' with %d words; see its head\n", argv[4], argc - 5);
        return 2;
    }
    rados_ioctx_destroy(pool);
    rados_shutdown(cluster);
    return 0;
}
