/*
 * A prototype of the other way to write: a journal for each node.  For bench/run --only cluster to
 * compare with raw.c, which writes each range's rows to its own object.
 *
 *   journal CONF USER POOL RANGES CLIENTS APPLY_ROWS SECONDS
 *
 * Each client has one row under way, of any range.  All that wait go as one operation to the end of
 * the node's journal, under the epoch of its owner, and are acknowledged when it is durable.  Then
 * they lie in memory, by range; a range that has APPLY_ROWS of them gets them in one operation on
 * its object, which also notes up to where the journal has been applied.  A segment of the journal
 * goes when all of its rows have been applied.
 *
 * At the end it does what a successor would have to do, which is to read what is left of the
 * journal and check it, and then what a clean stop does, which is to apply the rest.  Prints a line
 * of JSON: rows acknowledged per second, median and longest time of an append in ms, this process'
 * CPU time per row in us, the most rows that waited in memory, and the two ends.  The operations of
 * the background are in the CPU time, to the last row.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "measure.h"

enum {
    VALUE_BYTES = 300,
    KEY_SIZE = 24,
    CLIENTS_MAX = 1024,
    RANGES_MAX = 1024,
    APPLY_MAX = 4096,
    SEGMENT_BYTES = 4 << 20,
    SEGMENTS_MAX = 10000,
    BEHIND_ROWS_MAX = 200000, /* then clients wait until something has been applied */
    TIMES_MAX = 1000000,
};

/* As it lies in the journal, behind the head of its group. */
typedef struct row {
    uint32_t range, segment;
    uint64_t number;
    char value[VALUE_BYTES];
} row;

/* Before the rows of an append. */
typedef struct head {
    uint32_t magic, rows;
    uint64_t sum;
} head;

typedef struct range {
    char object[32];
    row *waiting; /* a ring of rows that are acknowledged and not applied */
    size_t first, count, size, applying;
    bool is_under_way;
} range;

static const uint32_t magic = 0x4a4f5552;
static const char *const epoch = "e1";

static rados_ioctx_t pool;
static int range_count, client_count;
static size_t apply_rows;
static double end_s;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all that follows */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static range ranges[RANGES_MAX];
static uint32_t segment; /* that is appended to */
static size_t segment_bytes;
static size_t segment_rows[SEGMENTS_MAX]; /* that have not been applied */
static bool segment_is_gone[SEGMENTS_MAX];
static row group[CLIENTS_MAX]; /* the append under way */
static double append_began_s;
static bool is_appending, is_over;
static size_t behind, behind_max, row_count, append_count, apply_count, removed_count;
static uint64_t next_number;
static unsigned seed = 1;
static double *times;

static void segment_name(char ret_name[32], uint32_t number)
{
    snprintf(ret_name, 32, "journal.%u", number);
}

static uint64_t sum_of(const row *rows, size_t count)
{
    const unsigned char *bytes = (const unsigned char *)rows;
    uint64_t sum = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < count * sizeof *rows; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(1099511628211);
    return sum;
}

/* --- applying: with the lock held, but for the completions --- */

typedef struct apply {
    range *target;
    rados_write_op_t op;
} apply;

static void apply_some(range *target);
static void append(void);

static void remove_segment(uint32_t number)
{
    rados_completion_t completion;
    char name[32];

    segment_name(name, number);
    segment_is_gone[number] = true;
    removed_count++;
    check("completion", rados_aio_create_completion2(NULL, NULL, &completion));
    check("remove", rados_aio_remove(pool, name, completion));
    rados_aio_release(completion);
}

static void on_applied(rados_completion_t completion, void *ctx)
{
    apply *done = ctx;
    range *target = done->target;

    check("apply", rados_aio_get_return_value(completion));
    rados_aio_release(completion);
    rados_release_write_op(done->op);
    free(done);

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < target->applying; i++) {
        uint32_t of = target->waiting[(target->first + i) % target->size].segment;

        if (--segment_rows[of] == 0 && of < segment)
            remove_segment(of);
    }
    target->first = (target->first + target->applying) % target->size;
    target->count -= target->applying;
    behind -= target->applying;
    apply_count++;
    target->is_under_way = false;
    apply_some(target);
    if (!is_appending && !is_over)
        append();
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* One operation for each range at a time, with enough rows to be worth it; at the end, with any. */
static void apply_some(range *target)
{
    static const char *keys[APPLY_MAX], *values[APPLY_MAX];
    static size_t key_sizes[APPLY_MAX], value_sizes[APPLY_MAX];
    static char texts[APPLY_MAX][KEY_SIZE];
    size_t count = target->count < APPLY_MAX ? target->count : APPLY_MAX;
    rados_completion_t completion;
    apply *doing;
    char position[24];

    if (target->is_under_way || count == 0 || (count < apply_rows && !is_over))
        return;

    doing = malloc(sizeof *doing);
    if (doing == NULL)
        abort();
    *doing = (apply){target, rados_create_write_op()};
    for (size_t i = 0; i < count; i++) {
        const row *one = &target->waiting[(target->first + i) % target->size];

        snprintf(texts[i], KEY_SIZE, "k%012llu", (unsigned long long)one->number);
        keys[i] = texts[i];
        key_sizes[i] = strlen(texts[i]);
        values[i] = one->value;
        value_sizes[i] = VALUE_BYTES;
    }
    snprintf(
        position, sizeof position, "%llu",
        (unsigned long long)target->waiting[(target->first + count - 1) % target->size].number);
    rados_write_op_cmpxattr(doing->op, "wep", LIBRADOS_CMPXATTR_OP_EQ, epoch, strlen(epoch));
    rados_write_op_omap_set2(doing->op, keys, values, key_sizes, value_sizes, count);
    rados_write_op_setxattr(doing->op, "jrn", position, strlen(position));
    check("completion", rados_aio_create_completion2(doing, on_applied, &completion));
    target->is_under_way = true;
    target->applying = count;
    check("apply",
          rados_aio_write_op_operate(doing->op, pool, completion, target->object, NULL, 0));
}

static void keep(const row *one)
{
    range *target = &ranges[one->range];

    if (target->count == target->size) {
        size_t size = target->size ? 2 * target->size : 1024;
        row *bigger = malloc(size * sizeof *bigger);

        if (bigger == NULL)
            abort();
        for (size_t i = 0; i < target->count; i++)
            bigger[i] = target->waiting[(target->first + i) % target->size];
        free(target->waiting);
        target->waiting = bigger;
        target->first = 0;
        target->size = size;
    }
    target->waiting[(target->first + target->count++) % target->size] = *one;
    segment_rows[one->segment]++;
}

/* --- appending --- */

static rados_write_op_t append_op;

static void on_appended(rados_completion_t completion, void *ctx)
{
    (void)ctx;
    check("append", rados_aio_get_return_value(completion));
    rados_aio_release(completion);

    pthread_mutex_lock(&lock);
    rados_release_write_op(append_op);
    if (append_count < TIMES_MAX)
        times[append_count] = now_s() - append_began_s;
    append_count++;
    row_count += (size_t)client_count;
    behind += (size_t)client_count;
    behind_max = behind > behind_max ? behind : behind_max;
    for (int i = 0; i < client_count; i++)
        keep(&group[i]);
    is_appending = false;
    for (int i = 0; i < range_count; i++)
        apply_some(&ranges[i]);
    append();
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* The next rows of all clients, who have just been answered. */
static void append(void)
{
    head before = {magic, (uint32_t)client_count, 0};
    rados_completion_t completion;
    char name[32];

    if (now_s() >= end_s) {
        is_over = true;
        return;
    }
    if (behind >= BEHIND_ROWS_MAX)
        return; /* until something has been applied */
    if (segment_bytes >= SEGMENT_BYTES && segment + 1 < SEGMENTS_MAX) {
        segment++;
        segment_bytes = 0;
    }
    for (int i = 0; i < client_count; i++) {
        group[i].range = (uint32_t)(rand_r(&seed) % range_count);
        group[i].segment = segment;
        group[i].number = next_number++;
        memset(group[i].value, 'x', sizeof group[i].value);
    }
    before.sum = sum_of(group, (size_t)client_count);
    segment_name(name, segment);
    append_op = rados_create_write_op();
    if (segment_bytes)
        rados_write_op_cmpxattr(append_op, "wep", LIBRADOS_CMPXATTR_OP_EQ, epoch, strlen(epoch));
    else
        rados_write_op_setxattr(append_op, "wep", epoch, strlen(epoch));
    rados_write_op_append(append_op, (const char *)&before, sizeof before);
    rados_write_op_append(append_op, (const char *)group, (size_t)client_count * sizeof *group);
    segment_bytes += sizeof before + (size_t)client_count * sizeof *group;
    is_appending = true;
    append_began_s = now_s();
    check("completion", rados_aio_create_completion2(NULL, on_appended, &completion));
    check("append", rados_aio_write_op_operate(append_op, pool, completion, name, NULL, 0));
}

/* --- the end --- */

/* Read what is left of the journal as a successor would.  Returns the rows that it holds. */
static size_t replay(void)
{
    size_t rows = 0, room = SEGMENT_BYTES + sizeof(head) + CLIENTS_MAX * sizeof(row);
    char *bytes = malloc(room), name[32];

    if (bytes == NULL)
        abort();
    for (uint32_t i = 0; i <= segment; i++) {
        if (segment_is_gone[i])
            continue;
        segment_name(name, i);

        int length = rados_read(pool, name, bytes, room, 0);

        check(name, length);
        for (size_t at = 0; at < (size_t)length;) {
            head found;

            memcpy(&found, bytes + at, sizeof found);
            at += sizeof found;

            row *of_group = malloc(found.rows * sizeof *of_group);

            if (found.magic != magic || of_group == NULL)
                abort();
            memcpy(of_group, bytes + at, found.rows * sizeof *of_group);
            if (sum_of(of_group, found.rows) != found.sum)
                abort();
            free(of_group);
            at += found.rows * sizeof *of_group;
            rows += found.rows;
        }
    }
    free(bytes);
    return rows;
}

static void run(double seconds)
{
    double cpu_before = cpu_s(), began = now_s();

    times = malloc(sizeof *times * TIMES_MAX);
    if (times == NULL)
        abort();
    end_s = began + seconds;
    for (int i = 0; i < range_count; i++) {
        snprintf(ranges[i].object, sizeof ranges[i].object, "raw.j%d", i);
        make_object(pool, ranges[i].object, epoch);
    }
    began = now_s();
    end_s = began + seconds;
    pthread_mutex_lock(&lock);
    append();
    while (!is_over)
        pthread_cond_wait(&changed, &lock);

    double took = now_s() - began, replay_began = now_s();

    pthread_mutex_unlock(&lock);

    size_t left = replay(), kept = append_count < TIMES_MAX ? append_count : TIMES_MAX;
    double replay_s = now_s() - replay_began, drain_began = now_s();

    pthread_mutex_lock(&lock);
    size_t drained = behind;

    for (int i = 0; i < range_count; i++)
        apply_some(&ranges[i]);
    while (behind)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    qsort(times, kept, sizeof *times, by_time);
    printf(
        "{\"rows_s\": %.1f, \"rows\": %zu, \"appends\": %zu, \"applies\": %zu, \"p50_ms\": %.3f, "
        "\"max_ms\": %.3f, \"cpu_us_row\": %.2f, \"behind_rows_max\": %zu, "
        "\"replay_rows\": %zu, \"replay_ms\": %.1f, \"drained_rows\": %zu, "
        "\"drain_ms\": %.1f}\n",
        (double)row_count / took, row_count, append_count, apply_count, times[kept / 2] * 1e3,
        times[kept - 1] * 1e3, (cpu_s() - cpu_before) * 1e6 / (double)row_count, behind_max, left,
        replay_s * 1e3, drained, (now_s() - drain_began) * 1e3);
    for (uint32_t i = 0; i <= segment; i++) {
        char name[32];

        segment_name(name, i);
        if (!segment_is_gone[i])
            rados_remove(pool, name);
    }
    free(times);
}

int main(int argc, char **argv)
{
    rados_t cluster;

    if (argc != 8) {
        fprintf(stderr, "usage: see the head of bench/rados/journal.c\n");
        return 2;
    }
    range_count = number(argv[4], RANGES_MAX);
    client_count = number(argv[5], CLIENTS_MAX);
    apply_rows = (size_t)number(argv[6], APPLY_MAX);
    open_pool(argv, &cluster, &pool);
    run(atof(argv[7]));
    rados_ioctx_destroy(pool);
    rados_shutdown(cluster);
    return 0;
}
