/*
 * Many threads at once: some put extents and rows that refer to them, some copy,
 * some read what a row says, some drop rows and have the extents removed.  The
 * "rows" are an array under a lock, which is all that an engine is here.
 *
 * A thread that reads a row during a visit must find its extent, whole.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "store/extent/extent.h"

#include "fixture.h"
#include "seed.h"

enum {
    ROWS = 32,
    WRITERS = 3,
    COPIERS = 2,
    READERS = 3,
    DROPPERS = 2,
    THREADS = WRITERS + COPIERS + READERS + DROPPERS,
    EXTENTS_EACH = 300, /* of a writer */
    BYTES_MAX = 20000,
};

static tv_extents *store;
static pthread_mutex_t rows_lock = PTHREAD_MUTEX_INITIALIZER;
static tv_extent_id row_ids[ROWS];
static atomic_int busy_count; /* writers that are not done */
static atomic_int trouble_count, read_count, copy_count;

/* Not CHECK, which jumps: this is no thread of cmocka's. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);              \
            atomic_fetch_add(&trouble_count, 1);                                                   \
        }                                                                                          \
    } while (0)

/* Bytes that say what they must be: a seed, a length, and what follows from the seed. */
static size_t fill(char *to, uint64_t seed)
{
    size_t len = 16 + seed % (BYTES_MAX - 16);

    memcpy(to, &seed, 8);
    memcpy(to + 8, &len, 8);
    for (size_t i = 16; i < len; i++)
        to[i] = (char)(seed >> i % 57);
    return len;
}

static bool is_whole(const char *bytes, size_t len)
{
    static _Thread_local char want[BYTES_MAX];
    uint64_t seed;

    if (len < 16)
        return false;
    memcpy(&seed, bytes, 8);
    return fill(want, seed) == len && memcmp(bytes, want, len) == 0;
}

/* Put an id into a row, and have what was there removed. */
static void set_row(size_t row, tv_extent_id id)
{
    pthread_mutex_lock(&rows_lock);
    tv_extent_id old = row_ids[row];
    row_ids[row] = id;
    pthread_mutex_unlock(&rows_lock);
    if (old.boot)
        tv_extents_remove(store, &old, 1);
}

static tv_extent_id get_row(size_t row)
{
    pthread_mutex_lock(&rows_lock);
    tv_extent_id id = row_ids[row];
    pthread_mutex_unlock(&rows_lock);
    return id;
}

static void write_one(uint64_t *seed)
{
    static _Thread_local char bytes[BYTES_MAX];
    uint64_t value = seed_next(seed);
    tv_slice rest = {bytes, fill(bytes, value)};
    tv_extent_writer *writer;
    tv_extent_id id;

    if (tv_extent_create(store, &writer)) {
        EXPECT(!"created");
        return;
    }
    while (rest.len) {
        size_t part = 1 + seed_next(seed) % BYTES_MAX;

        part = part < rest.len ? part : rest.len;
        EXPECT(tv_extent_append(writer, tv_slice_take(rest, part)) == TV_OK);
        rest = tv_slice_skip(rest, part);
    }
    if (value % 5 == 0) {
        tv_extent_discard(writer);
        return;
    }
    tv_err err = tv_extent_finish(writer, &id);

    EXPECT(err == TV_OK);
    if (err == TV_OK)
        set_row(seed_next(seed) % ROWS, id);
}

static void copy_one(uint64_t *seed)
{
    tv_extent_visit visit;
    tv_extent_id copy;
    tv_err err;

    tv_extent_visit_begin(store, &visit);
    tv_extent_id id = get_row(seed_next(seed) % ROWS);

    err = id.boot ? tv_extent_link(store, id, length_of(id), &copy) : TV_OK;
    tv_extent_visit_end(store, &visit);
    EXPECT(err == TV_OK);
    if (id.boot == 0 || err)
        return;
    EXPECT(tv_extents_sync_links(store) == TV_OK);
    set_row(seed_next(seed) % ROWS, copy);
    atomic_fetch_add(&copy_count, 1);
}

static void read_one(uint64_t *seed)
{
    static _Thread_local char bytes[BYTES_MAX + 1];
    tv_extent_visit visit;
    tv_extent_reader *reader = NULL;
    size_t len = 0, all = 0;

    tv_extent_visit_begin(store, &visit);
    tv_extent_id id = get_row(seed_next(seed) % ROWS);

    if (id.boot)
        EXPECT(tv_extent_open(store, TV_READ_ANY, id, length_of(id), &reader) == TV_OK);
    tv_extent_visit_end(store, &visit);
    if (reader == NULL)
        return;

    tv_err err;

    do {
        err = tv_extent_read(reader, TV_READ_CACHED, all, bytes + all, sizeof bytes - all, &len);
        if (err == TV_ERR_WOULD_BLOCK)
            err = tv_extent_read(reader, TV_READ_ANY, all, bytes + all, sizeof bytes - all, &len);
        all += err ? 0 : len;
    } while (!err && len);
    EXPECT(err == TV_OK && is_whole(bytes, all));
    atomic_fetch_add(&read_count, 1);
    tv_extent_close(reader);
}

typedef struct worker {
    pthread_t thread;
    int kind;
    uint64_t seed;
} worker;

static void *work(void *arg)
{
    worker *w = arg;

    if (w->kind < WRITERS) {
        for (int i = 0; i < EXTENTS_EACH; i++)
            write_one(&w->seed);
        atomic_fetch_sub(&busy_count, 1);
        return NULL;
    }
    while (atomic_load(&busy_count) > 0) {
        if (w->kind < WRITERS + COPIERS) {
            copy_one(&w->seed);
        } else if (w->kind < WRITERS + COPIERS + READERS) {
            read_one(&w->seed);
        } else {
            set_row(seed_next(&w->seed) % ROWS, (tv_extent_id){0});
            usleep(1000);
        }
    }
    return NULL;
}

TEST(a_row_that_is_read_during_a_visit_has_its_extent)
{
    worker workers[THREADS];

    seed_start();
    make_folder(temporary());
    store = open_store();
    atomic_store(&busy_count, WRITERS);
    for (int i = 0; i < THREADS; i++) {
        workers[i].kind = i;
        workers[i].seed = seed_next(&seed_state) | 1;
        CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(workers[i].thread, NULL) == 0);
    CHECK_INT(atomic_load(&trouble_count), 0);
    printf("# %d reads, %d copies\n", atomic_load(&read_count), atomic_load(&copy_count));
    CHECK(atomic_load(&read_count) > 0 && atomic_load(&copy_count) > 0);

    /* As many extents as rows, and none when the rows are gone. */
    int64_t row_count = 0;

    wait_for_removals(store, 0);
    for (size_t i = 0; i < ROWS; i++)
        row_count += row_ids[i].boot != 0;
    CHECK_INT(read_metrics(store).extents, row_count);
    for (size_t i = 0; i < ROWS; i++)
        set_row(i, (tv_extent_id){0});
    wait_for_removals(store, 0);
    CHECK_FIGURES(store, 0, 0);
    tv_extents_close(store);
    remove_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_that_is_read_during_a_visit_has_its_extent),
    };

    return cmocka_run_group_tests_name("extent/threads", tests, NULL, NULL);
}
