/*
 * What happens in the background, once a second.
 *
 * RocksDB flushes and compacts by itself, and when that fails it may refuse all
 * further writes.  The next write would find out; the watch finds out first,
 * so that the log and /healthz report it even if nobody writes.
 *
 * Deleted rows give their space back when they are compacted, and RocksDB is in
 * no hurry: what was deleted may stay in a write buffer for days.  On a full disk
 * that would be too late, so deletes there are flushed and compacted soon.
 */
#include "base/log.h"
#include "store/engine/rocksdb/internal.h"

enum { LOOK_MS = 1000, RELIEF_LOOKS = 5 };

/* A background error is new: does RocksDB still take writes?  An empty one shows. */
static void probe(tv_rocksdb_watch *watch, uint64_t errors)
{
    tv_err err = tv_engine_write(watch->engine, &(tv_write_batch){.is_freeing = true});

    /* What else is wrong has been logged by the write. */
    if (err == TV_OK)
        tv_log(TV_LOG_WARN, "background_error",
               "errors=%llu effect=\"a flush or compaction has failed and is tried again\" "
               "todo=\"see the file LOG in the data folder\"",
               (unsigned long long)errors);
}

/* Neither of the two waits for what it starts. */
static void relieve(tv_rocksdb_watch *watch)
{
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    char *text = NULL;

    rocksdb_flushoptions_set_wait(options, 0);
    rocksdb_flush(watch->db, options, &text);
    rocksdb_flushoptions_destroy(options);
    if (text == NULL)
        rocksdb_suggest_compact_range(watch->db, NULL, 0, NULL, 0, &text);
    if (text)
        tv_log(TV_LOG_WARN, "flush_failed", "detail=\"%s\"", text);
    rocksdb_free(text);
}

static void run(tv_background *thread, void *ctx)
{
    tv_rocksdb_watch *watch = ctx;
    uint64_t errors_seen = 0, errors;

    for (unsigned look = 1; tv_background_sleep(thread, LOOK_MS); look++) {
        if (rocksdb_property_int(watch->db, "rocksdb.background-errors", &errors) == 0 &&
            errors > errors_seen) {
            errors_seen = errors;
            probe(watch, errors);
        }
        if (look % RELIEF_LOOKS == 0 && atomic_load(&watch->space->is_full) &&
            atomic_exchange(&watch->has_freed, false) &&
            tv_space_check_freeing(watch->space, 0) == TV_OK)
            relieve(watch);
    }
}

void tv_rocksdb_watch_start(tv_rocksdb_watch *watch, rocksdb_t *db, tv_engine *engine,
                            tv_space *space)
{
    watch->db = db;
    watch->engine = engine;
    watch->space = space;
    tv_background_start(
        &watch->thread,
        &(tv_background_options){.name = "tv-watch", .gives_way = true, .run = run, .ctx = watch});
}

void tv_rocksdb_watch_stop(tv_rocksdb_watch *watch)
{
    tv_background_done(&watch->thread);
}

void tv_rocksdb_watch_freed(tv_rocksdb_watch *watch)
{
    /* A plain load first: every delete passes here. */
    if (atomic_load_explicit(&watch->space->is_full, memory_order_relaxed))
        atomic_store(&watch->has_freed, true);
}
