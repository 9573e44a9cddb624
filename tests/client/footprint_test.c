/* What the library holds in memory does not grow with what passes through it. */
#include <malloc.h>
#include <stdatomic.h>

#include "live.h"

static atomic_size_t held, peak;

static void count(size_t more, size_t less)
{
    size_t now = atomic_fetch_add(&held, more - less) + more - less;

    if (now > atomic_load(&peak)) /* a race here loses a little of the peak */
        atomic_store(&peak, now);
}

static void *counted_alloc(size_t size)
{
    void *memory = malloc(size);

    count(malloc_usable_size(memory), 0);
    return memory;
}

static void *counted_resize(void *old, size_t size)
{
    size_t before = malloc_usable_size(old);
    void *memory = realloc(old, size);

    count(malloc_usable_size(memory), before);
    return memory;
}

static void counted_release(void *memory)
{
    count(0, malloc_usable_size(memory));
    free(memory);
}

enum { KIB = 1024, MIB = 1024 * 1024, ENTITIES = 15000, ALONE = 10000, TEXT = 4000 };

/* Entities of four kilobytes, in turn to so many partitions. */
static void load(int count, int partitions)
{
    static char text[TEXT + 1];
    tavola_bulk *bulk = NULL;
    uint64_t written = 0, failed = 0;

    memset(text, 'x', TEXT);
    CHECK_OK(tavola_bulk_open(t.table, 0, NULL, NULL, NULL, &bulk));
    for (int i = 0; i < count; i++) {
        char partition_key[16], row_key[16];
        tavola_entity *entity;

        snprintf(partition_key, sizeof partition_key, "p%d", i % partitions);
        snprintf(row_key, sizeof row_key, "%06d", i);
        entity = new_entity(partition_key, row_key, i);
        tavola_entity_set_string(entity, "Text", text);
        CHECK_OK(tavola_bulk_add(bulk, TAVOLA_INSERT_OR_REPLACE, entity, NULL));
        tavola_entity_free(entity);
    }
    CHECK_OK(tavola_bulk_close(bulk, &written, &failed));
    CHECK_INT(written, count);
}

/* Deletes of entities that have much and send little of it; none of them is there. */
static void delete_large(int count, int partitions, size_t bytes)
{
    char *text = calloc(1, bytes / 8 + 1);
    tavola_bulk *bulk = NULL;
    uint64_t written = 0, failed = 0;

    memset(text, 'x', bytes / 8);
    CHECK_OK(tavola_bulk_open(t.table, 0, NULL, NULL, NULL, &bulk));
    for (int i = 0; i < count; i++) {
        char partition_key[16], row_key[16], name[] = "Text0";
        tavola_entity *entity;

        snprintf(partition_key, sizeof partition_key, "d%d", i % partitions);
        snprintf(row_key, sizeof row_key, "%06d", i);
        entity = new_entity(partition_key, row_key, i);
        for (; name[4] < '8'; name[4]++)
            tavola_entity_set_string(entity, name, text);
        CHECK_OK(tavola_bulk_add(bulk, TAVOLA_DELETE, entity, TAVOLA_ANY));
        tavola_entity_free(entity);
    }
    CHECK_OK(tavola_bulk_close(bulk, &written, &failed));
    CHECK_INT(failed, count);
    free(text);
}

static void check_peak(const char *what, size_t most)
{
    t_row = what;
    if (atomic_load(&peak) > most)
        CHECK_FAIL("held %zu KiB at once, at most %zu are allowed", atomic_load(&peak) / KIB,
                   most / KIB);
    atomic_store(&peak, atomic_load(&held));
}

/* 60 MB go through a bulk, and a scan brings them back in pages of four megabytes. */
TEST(memory_is_bounded)
{
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;
    uint64_t deleted = 0;
    int seen = 0;

    AZURITE_DIFFERS("takes many minutes for so many entities");
    load(ENTITIES, 1);
    check_peak("a bulk to one partition: eight batches of 2 MiB on their way", 16 * MIB);
    load(ENTITIES, 1000);
    check_peak("a bulk to a thousand partitions", 32 * MIB);
    load(ALONE, ALONE);
    check_peak("a bulk with a partition for each entity", 32 * MIB);
    delete_large(400, 400, 256 * KIB);
    check_peak("large entities to be deleted, each alone", 32 * MIB);
    delete_large(400, 2, 256 * KIB);
    check_peak("large entities to be deleted, many in a batch", (24 + 8 * 16) * MIB);

    CHECK_OK(tavola_scan_open(t.table, NULL, t.call, &scan));
    while (tavola_scan_next(scan, &entity) == TAVOLA_OK)
        seen++;
    tavola_scan_close(scan);
    /* Written twice: those of p0, and of those alone the first thousand. */
    CHECK_INT(seen, 2 * ENTITIES - ENTITIES / 1000 + ALONE - 1000);
    check_peak("a scan: two pages, and room for their growth", 16 * MIB);

    CHECK_OK(tavola_delete_where(t.table, tavola_where("N", TAVOLA_GE, tavola_int32(0)), t.call,
                                 &deleted));
    CHECK_INT(deleted, seen);
    check_peak("a delete of all", 24 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {LIVE_TEST(memory_is_bounded)};

    tavola_set_allocator(counted_alloc, counted_resize, counted_release);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
