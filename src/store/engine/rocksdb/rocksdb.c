/*
 * The embedded engine's operations.
 *
 * How the promises of engine.h are kept:
 *
 *  - Durable before visible: every write is a synced RocksDB write, which puts
 *    the batch into the log, syncs the log and only then fills the write buffer
 *    that readers look into.
 *  - All or nothing: a batch is one record of the log.
 *  - Expectations: nobody else writes this store, so committers send none; when
 *    there are some, they are checked under `write_lock` held alone, while
 *    batches without them share it.
 *  - After an error whose outcome is unknown nothing is written any more:
 *    `is_stopped` latches, and only opening the store again, which replays the
 *    log, tells what the outcome was.
 */
#include "store/engine/rocksdb/rocksdb.h"

#include <pthread.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/space.h"
#include "rocksdb_version.h"
#include "store/engine/key.h"
#include "store/engine/rocksdb/internal.h"
#include "store/engine/rocksdb/wal.h"

enum {
    DEFAULT_RESERVE_BYTES = 512 << 20,
    READ_LOG_INTERVAL_NS = 1000000000,
    START_BYTES_MIN = 256 << 10, /* a start writes a manifest, settings, and a log */
};

typedef struct rocks_engine {
    tv_engine base;
    rocksdb_t *db;
    tv_rocksdb_settings settings;
    tv_rocksdb_folder folder;
    tv_space space;
    pthread_rwlock_t write_lock;
    atomic_bool is_stopped;
    bool is_read_only;
    tv_wal_mark mark; /* of the records in the log */
    tv_rocksdb_reads reads;
    tv_rocksdb_watch watch;
} rocks_engine;

static rocks_engine *of(tv_engine *engine)
{
    return (rocks_engine *)engine;
}

static bool contains(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

tv_err tv_rocksdb_err(const char *text)
{
    if (text == NULL)
        return TV_OK;
    if (strncmp(text, "Corruption", 10) == 0)
        return TV_ERR_CORRUPT;
    if (strncmp(text, "Result incomplete", 17) == 0)
        return TV_ERR_WOULD_BLOCK;
    return TV_ERR_IO;
}

tv_err tv_rocksdb_read_err(tv_rocksdb_reads *reads, const char *text)
{
    tv_err err = tv_rocksdb_err(text);

    if (err != TV_ERR_CORRUPT && err != TV_ERR_IO)
        return err;

    atomic_fetch_add(&reads->failed, 1);
    if (err == TV_ERR_CORRUPT)
        atomic_store(&reads->has_damage, true);
    if (reads->told)
        reads->told(reads->told_ctx, text);

    /* A damaged block can be met by every request: one line a second says enough. */
    int64_t now = tv_clock_mono_ns(), next = atomic_load(&reads->next_log_ns);

    if (now >= next &&
        atomic_compare_exchange_strong(&reads->next_log_ns, &next, now + READ_LOG_INTERVAL_NS))
        tv_log(TV_LOG_ERROR, "read_failed", "err=%s detail=\"%s\"", tv_err_name(err), text);
    return err;
}

static tv_err get(tv_engine *engine, tv_read_mode mode, tv_slice key, tv_arena *arena,
                  tv_slice *ret_value)
{
    rocks_engine *rocks = of(engine);
    const rocksdb_readoptions_t *options =
        mode == TV_READ_CACHED ? rocks->settings.read_cached : rocks->settings.read_any;
    char *text = NULL;
    rocksdb_pinnableslice_t *pinned =
        rocksdb_get_pinned(rocks->db, options, key.data, key.len, &text);

    if (text) {
        tv_err err = tv_rocksdb_read_err(&rocks->reads, text);

        rocksdb_free(text);
        return err;
    }
    if (pinned == NULL)
        return TV_ERR_NOT_FOUND;

    tv_slice value;
    tv_err err;

    value.data = rocksdb_pinnableslice_value(pinned, &value.len);
    err = tv_arena_try_dup(arena, value, ret_value);
    rocksdb_pinnableslice_destroy(pinned);
    return err;
}

static tv_err iter_new(tv_engine *engine, tv_slice from, tv_slice to, tv_iter **ret_iter)
{
    return tv_rocksdb_iter_new(of(engine)->db, &of(engine)->reads, from, to, false, ret_iter);
}

static tv_err iter_across(tv_engine *engine, tv_slice from, tv_slice to, tv_iter **ret_iter)
{
    return tv_rocksdb_iter_new(of(engine)->db, &of(engine)->reads, from, to, true, ret_iter);
}

/* Does the store hold what the batch's author has read?  With `write_lock` held alone. */
static tv_err check_expectations(rocks_engine *rocks, const tv_write_batch *batch)
{
    tv_arena arena;
    tv_err err = TV_OK;

    tv_arena_init(&arena);
    for (size_t i = 0; i < batch->count && err == TV_OK; i++) {
        const tv_change *change = &batch->changes[i];
        tv_slice value = TV_NONE;

        if (change->kind == TV_CHANGE_PUT || change->kind == TV_CHANGE_DELETE)
            continue;

        err = get(&rocks->base, TV_READ_ANY, change->key, &arena, &value);
        if (err && err != TV_ERR_NOT_FOUND)
            break;

        bool is_absent = err == TV_ERR_NOT_FOUND;
        bool holds = change->kind == TV_CHANGE_EXPECT_ABSENT
                         ? is_absent
                         : !is_absent && tv_slice_eq(value, change->value);

        err = holds ? TV_OK : TV_ERR_CONFLICT;
    }
    tv_arena_done(&arena);
    return err;
}

/* Does an error name a log file, "/…/000012.log"?  A folder may be called .log too. */
static bool names_log(const char *text)
{
    for (const char *at = text; (at = strstr(at, ".log")); at++) {
        const char *digits = at;

        while (digits > text && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        if (digits < at && digits > text && digits[-1] == '/' && at[4] != '/')
            return true;
    }
    return false;
}

/*
 * Is it the lack of space of a flush, for which RocksDB refuses writes before it touches the log?
 * An error of a folder may be that of the log's name, which is synced after the log was written.
 */
static bool is_refusal(const char *text)
{
    return contains(text, "No space left") && !names_log(text) && !contains(text, "a directory");
}

/* What an operator can do about it. */
static const char *advice(const char *text)
{
    if (contains(text, "Too many open files"))
        return "raise the limit of open files (ulimit -n), then restart";
    if (contains(text, "No space left"))
        return "make room, then restart";
    if (strncmp(text, "Corruption", 10) == 0)
        return "restart; if that names damage, restore a backup";
    return "check the disk and the kernel's log, then restart";
}

/*
 * Write one RocksDB batch and make sense of a failure.  RocksDB refuses writes
 * at the door while a flush waits for disk space; that error names a table file
 * (or the manifest), nothing was written, and RocksDB goes on by itself once
 * there is space.  After any other error the log may or may not hold the batch.
 * The C interface cannot make RocksDB go on after such an error, nor can the C++
 * one after most: an error of a flush other than a full disk counts as fatal.
 */
static tv_err write_synced(rocks_engine *rocks, rocksdb_writebatch_t *batch, bool has_zeros)
{
    char *text = NULL, seal = tv_wal_seal(has_zeros);
    tv_err err;

    rocksdb_writebatch_put_log_data(batch, &seal, sizeof seal);
    rocksdb_write(rocks->db, rocks->settings.write, batch, &text);
    if (text == NULL)
        return TV_OK;

    if (is_refusal(text)) {
        err = TV_ERR_DISK_FULL;
        tv_space_refused(&rocks->space, text);
    } else {
        err = TV_ERR_IO;
        if (!atomic_exchange(&rocks->is_stopped, true))
            tv_log(TV_LOG_ERROR, "write_failed",
                   "detail=\"%s\" effect=\"writes are refused until a restart, reads go on\" "
                   "todo=\"%s\"",
                   text, advice(text));
    }
    rocksdb_free(text);
    return err;
}

/* Every record of the log says whose it is and when it was written: see wal.h. */
static rocksdb_writebatch_t *new_batch(const rocks_engine *rocks)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    char stamp[TV_WAL_STAMP_BYTES];

    tv_wal_stamp(tv_clock_ticks(), rocks->mark, stamp);
    rocksdb_writebatch_put_log_data(batch, stamp, sizeof stamp);
    return batch;
}

/* A batch for RocksDB, and what has to be known of it. */
typedef struct rocks_batch {
    rocksdb_writebatch_t *changes;
    size_t bytes; /* of keys and values */
    bool has_expectations;
    bool has_zeros; /* see tv_wal_seal */
} rocks_batch;

static rocks_batch to_rocksdb(const rocks_engine *rocks, const tv_write_batch *batch)
{
    rocks_batch made = {.changes = new_batch(rocks)};

    for (size_t i = 0; i < batch->count; i++) {
        const tv_change *change = &batch->changes[i];

        tv_assert(change->key.len > 0 && change->key.len <= TV_KEY_BYTES_MAX);
        switch (change->kind) {
        case TV_CHANGE_PUT:
            rocksdb_writebatch_put(made.changes, change->key.data, change->key.len,
                                   change->value.data, change->value.len);
            made.bytes += change->key.len + change->value.len;
            made.has_zeros |= tv_wal_has_zeros(change->key) || tv_wal_has_zeros(change->value);
            break;
        case TV_CHANGE_DELETE:
            rocksdb_writebatch_delete(made.changes, change->key.data, change->key.len);
            made.bytes += change->key.len;
            made.has_zeros |= tv_wal_has_zeros(change->key);
            break;
        case TV_CHANGE_EXPECT_VALUE:
        case TV_CHANGE_EXPECT_ABSENT:
            made.has_expectations = true;
            break;
        }
    }
    return made;
}

/*
 * A full disk is the one fault that RocksDB cannot be trusted with: Debian's
 * build aborts when the write-ahead log cannot be written.  So the reserve is
 * checked before RocksDB hears of a write.  A group of writes costs an fsync, so
 * the file system can be asked each time, and the reserve cannot be eaten
 * between two questions by our own log.
 *
 * What eats into the reserve all the same is RocksDB's background work, which
 * is why it is large: flushing all write buffers and preallocating the next
 * log file must fit.  If it was chosen too small, this is what RocksDB 7.8 was
 * seen to do: a compaction that finds no room keeps its inputs and is tried
 * again; a flush that finds none makes RocksDB refuse all writes at the door,
 * before its log is touched, until its own watch (it looks every five seconds)
 * finds room and the flush succeeds.  The C interface cannot hurry it.  Only a
 * log that cannot grow is fatal, and that is what the reserve is for.
 */
static tv_err write_batch(tv_engine *engine, const tv_write_batch *batch)
{
    rocks_engine *rocks = of(engine);
    tv_err err;

    if (atomic_load(&rocks->is_stopped))
        return TV_ERR_IO;

    rocks_batch made = to_rocksdb(rocks, batch);

    if (made.has_expectations)
        pthread_rwlock_wrlock(&rocks->write_lock);
    else
        pthread_rwlock_rdlock(&rocks->write_lock);
    /* Twice: each byte goes into the log now and into a table file later. */
    err = batch->is_freeing ? tv_space_check_freeing(&rocks->space, 2 * (uint64_t)made.bytes)
                            : tv_space_check(&rocks->space, 2 * (uint64_t)made.bytes);
    if (err == TV_OK && made.has_expectations)
        err = check_expectations(rocks, batch);
    if (err == TV_OK)
        err = write_synced(rocks, made.changes, made.has_zeros);
    pthread_rwlock_unlock(&rocks->write_lock);
    if (err == TV_OK && batch->is_freeing)
        tv_rocksdb_watch_freed(&rocks->watch);
    else if (err == TV_OK)
        tv_space_accepted(&rocks->space);
    rocksdb_writebatch_destroy(made.changes);
    return err;
}

/*
 * Unlink the table files that lie wholly within [from, to).  RocksDB takes the
 * end of the range as part of it, so it gets one that is surely less than `to`:
 * `to` with its last byte lowered (and a tail, to be near it), or shortened.
 * What lies between that and `to` is left to the tombstone.
 */
static tv_err drop_files(rocks_engine *rocks, tv_slice from, tv_slice to)
{
    char end[TV_KEY_BYTES_MAX + 8];
    char *text = NULL;

    tv_assert(to.len > 0 && to.len <= TV_KEY_BYTES_MAX);
    memcpy(end, to.data, to.len);
    size_t len = to.len;
    if (end[len - 1] == 0) {
        len--;
    } else {
        end[len - 1]--;
        memset(end + len, 0xFF, 8);
        len += 8;
    }
    if (tv_slice_cmp((tv_slice){end, len}, from) <= 0)
        return TV_OK;

    rocksdb_delete_file_in_range(rocks->db, from.data, from.len, end, len, &text);
    tv_err err = tv_rocksdb_read_err(&rocks->reads, text);
    rocksdb_free(text);
    return err;
}

/*
 * First the files, which gives their space back at once, then one tombstone
 * over what is left.  A crash between the two leaves a part of the range; its
 * owner still has it noted as to be dropped and will call again.  Only the
 * smaller reserve is kept: this is how an operator frees space.
 */
static tv_err drop_range(tv_engine *engine, tv_slice from, tv_slice to)
{
    rocks_engine *rocks = of(engine);
    tv_err err;

    if (atomic_load(&rocks->is_stopped))
        return TV_ERR_IO;
    if (tv_slice_cmp(from, to) >= 0)
        return TV_OK;

    err = drop_files(rocks, from, to);
    if (err == TV_OK)
        err = tv_space_check_freeing(&rocks->space, 2 * (uint64_t)(from.len + to.len));
    if (err)
        return err;

    rocksdb_writebatch_t *changes = new_batch(rocks);

    rocksdb_writebatch_delete_range(changes, from.data, from.len, to.data, to.len);
    pthread_rwlock_rdlock(&rocks->write_lock);
    err = write_synced(rocks, changes, tv_wal_has_zeros(from) || tv_wal_has_zeros(to));
    pthread_rwlock_unlock(&rocks->write_lock);
    rocksdb_writebatch_destroy(changes);
    if (err == TV_OK)
        tv_rocksdb_watch_freed(&rocks->watch);
    return err;
}

/*
 * A checkpoint: links to the table files (copies where the folder is on another
 * file system) and a new manifest, after a flush of the write buffers.
 */
static tv_err backup(tv_engine *engine, const char *dir)
{
    rocks_engine *rocks = of(engine);
    struct stat stat_ignored;
    char *text = NULL;

    if (stat(dir, &stat_ignored) == 0)
        return TV_ERR_IO;

    rocksdb_checkpoint_t *checkpoint = rocksdb_checkpoint_object_create(rocks->db, &text);

    if (text == NULL) {
        rocksdb_checkpoint_create(checkpoint, dir, 0, &text);
        rocksdb_checkpoint_object_destroy(checkpoint);
    }
    if (text)
        tv_log(TV_LOG_ERROR, "backup_failed", "dir=\"%s\" detail=\"%s\"", dir, text);
    tv_err err = text ? TV_ERR_IO : TV_OK;
    rocksdb_free(text);
    return err;
}

static tv_err check_reads(tv_engine *engine)
{
    tv_arena arena;
    tv_slice format;
    tv_err err;

    tv_arena_init(&arena);
    err = get(engine, TV_READ_ANY, TV_KEY_FORMAT, &arena, &format);
    tv_arena_done(&arena);
    return err ? TV_ERR_CORRUPT : TV_OK;
}

static tv_err check(tv_engine *engine)
{
    rocks_engine *rocks = of(engine);
    tv_err err;

    if (atomic_load(&rocks->is_stopped))
        return TV_ERR_IO;
    err = check_reads(engine);
    if (err)
        return err;
    if (atomic_load(&rocks->reads.has_damage))
        return TV_ERR_CORRUPT;

    err = tv_space_check(&rocks->space, 0);
    if (err || !atomic_load(&rocks->space.is_full))
        return err;

    /* There is room again; an empty write shows whether RocksDB has noticed. */
    return write_batch(engine, &(tv_write_batch){0});
}

bool tv_rocksdb_is_quiet(tv_engine *engine)
{
    static const char *const properties[] = {
        "rocksdb.mem-table-flush-pending", "rocksdb.num-running-flushes",
        "rocksdb.compaction-pending", "rocksdb.num-running-compactions"};

    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        uint64_t value = 0;

        if (rocksdb_property_int(of(engine)->db, properties[i], &value) != 0 || value > 0)
            return false;
    }
    return true;
}

static void metrics(tv_engine *engine, tv_metric_fn *report, void *ctx)
{
    static const struct {
        const char *name, *help, *property;
    } gauges[] = {
        {"rocksdb_live_bytes", "Bytes of live table files.", "rocksdb.live-sst-files-size"},
        {"rocksdb_table_bytes", "Bytes of all table files.", "rocksdb.total-sst-files-size"},
        {"rocksdb_keys_estimate", "Estimated number of rows.", "rocksdb.estimate-num-keys"},
        {"rocksdb_write_buffer_bytes", "Bytes in write buffers.",
         "rocksdb.cur-size-all-mem-tables"},
        {"rocksdb_block_cache_bytes", "Bytes in the block cache.", "rocksdb.block-cache-usage"},
        {"rocksdb_pending_compaction_bytes", "Bytes that compaction has to rewrite.",
         "rocksdb.estimate-pending-compaction-bytes"},
        {"rocksdb_running_flushes", "Flushes under way.", "rocksdb.num-running-flushes"},
        {"rocksdb_running_compactions", "Compactions under way.",
         "rocksdb.num-running-compactions"},
        {"rocksdb_writes_stopped", "1 while RocksDB stalls writes.", "rocksdb.is-write-stopped"},
        {"rocksdb_background_errors", "Errors of flushes and compactions since the start.",
         "rocksdb.background-errors"},
    };
    rocks_engine *rocks = of(engine);

    for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++) {
        uint64_t value;

        if (rocksdb_property_int(rocks->db, gauges[i].property, &value) == 0)
            report(ctx, gauges[i].name, gauges[i].help, (double)value);
    }
    report(ctx, "rocksdb_failed_reads", "Reads since the start that met damage or an error.",
           (double)atomic_load(&rocks->reads.failed));
    report(ctx, "disk_free_bytes", "Free bytes on the data folder's file system.",
           (double)tv_space_free(&rocks->space));
    report(ctx, "disk_reserve_bytes", "Free bytes below which writes are refused.",
           (double)rocks->space.reserve_bytes);
    report(ctx, "disk_is_full", "1 while writes are refused for lack of disk space.",
           atomic_load(&rocks->space.is_full) ? 1 : 0);
}

/* Flush, so that the next start has no log to replay.  Failing is no loss: the log is there. */
static void flush(rocks_engine *rocks)
{
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    char *text = NULL;

    rocksdb_flushoptions_set_wait(options, 1);
    rocksdb_flush(rocks->db, options, &text);
    if (text)
        tv_log(TV_LOG_WARN, "flush_failed", "detail=\"%s\"", text);
    rocksdb_free(text);
    rocksdb_flushoptions_destroy(options);
}

/* Free what has been built so far; also the end of a failed open. */
static void dispose(rocks_engine *rocks)
{
    if (rocks->db)
        rocksdb_close(rocks->db);
    tv_rocksdb_settings_done(&rocks->settings);
    tv_rocksdb_folder_done(&rocks->folder);
    pthread_rwlock_destroy(&rocks->write_lock);
    free(rocks);
}

static void close_engine(tv_engine *engine)
{
    rocks_engine *rocks = of(engine);

    if (!rocks->is_read_only)
        tv_rocksdb_watch_stop(&rocks->watch);
    if (!atomic_load(&rocks->is_stopped) && tv_space_check(&rocks->space, 0) == TV_OK)
        flush(rocks);
    dispose(rocks);
}

static const tv_engine_ops rocksdb_ops = {
    .name = "rocksdb",
    .library = "RocksDB " TV_ROCKSDB_VERSION,
    .is_shared = false,
    .has_snapshots = true,
    .get = get,
    .iter_new = iter_new,
    .iter_across = iter_across,
    .write = write_batch,
    .drop_range = drop_range,
    .backup = backup,
    .check = check,
    .check_reads = check_reads,
    .metrics = metrics,
    .close = close_engine,
};

/* Say in one line why RocksDB would not open the folder. */
static tv_err explain(const char *dir, const char *rocksdb_text, char *reterr_text,
                      size_t reterr_size)
{
    if (contains(rocksdb_text, "While lock file") || contains(rocksdb_text, "lock hold by")) {
        snprintf(reterr_text, reterr_size, "the data folder %s is in use by another server", dir);
        return TV_ERR_IN_USE;
    }
    /* A file that the store's own records name and that is gone is damage, too. */
    if (strncmp(rocksdb_text, "IO error", 8) != 0 || contains(rocksdb_text, "No such file")) {
        snprintf(reterr_text, reterr_size,
                 "the store in %s is damaged and was left as it is; restore a backup (%s)", dir,
                 rocksdb_text);
        return TV_ERR_CORRUPT;
    }
    snprintf(reterr_text, reterr_size, "cannot open the store in %s: %s", dir, rocksdb_text);
    return TV_ERR_IO;
}

/*
 * Open RocksDB.  A library built without lz4 refuses it; the store then goes
 * without compression.
 */
static tv_err open_db(rocks_engine *rocks, const char *dir, char *reterr_text, size_t reterr_size)
{
    rocksdb_options_t *options = rocks->settings.db;
    char *text = NULL;

    rocksdb_options_set_create_if_missing(options, rocks->folder.is_new);
    rocks->db = rocks->is_read_only ? rocksdb_open_for_read_only(options, dir, 0, &text)
                                    : rocksdb_open(options, dir, &text);
    if (text && contains(text, "is not linked with the binary")) {
        tv_log(TV_LOG_WARN, "no_compression", "detail=\"%s\"", text);
        rocksdb_free(text);
        text = NULL;
        rocksdb_options_set_compression(options, rocksdb_no_compression);
        rocks->db = rocksdb_open(options, dir, &text);
    }
    if (text == NULL)
        return TV_OK;

    tv_err err = explain(dir, text, reterr_text, reterr_size);

    rocksdb_free(text);
    return err;
}

/* A store that this server does not read, and the way across. */
static void explain_format(const char *dir, tv_slice format, char *reterr_text, size_t reterr_size)
{
    int32_t number = 0, oldest = 0;
    bool is_older = tv_parse_int32(format, &number) && tv_parse_int32(TV_FORMAT_BEFORE, &oldest) &&
                    number < oldest;

    snprintf(reterr_text, reterr_size,
             "the store in %s has format %.*s; this server reads formats %.*s and %.*s only: %s",
             dir, format.len > 20 ? 20 : (int)format.len, format.data, TV_FMT(TV_FORMAT_BEFORE),
             TV_FMT(TV_FORMAT),
             is_older ? "serve it with the tavolad that wrote it, and copy the data to a new store "
                        "(docs/operations.md, Stores of older formats)"
                      : "a newer tavolad wrote it, and can read it");
}

static bool is_known_format(tv_slice format)
{
    return tv_slice_eq(format, TV_FORMAT) || tv_slice_eq(format, TV_FORMAT_BEFORE);
}

/* A new store gets its format row; any other must have the one that we can read. */
static tv_err check_format(rocks_engine *rocks, const char *dir, char *reterr_text,
                           size_t reterr_size)
{
    tv_slice format = TV_NONE;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    err = get(&rocks->base, TV_READ_ANY, TV_KEY_FORMAT, &arena, &format);
    if (err == TV_ERR_NOT_FOUND && rocks->folder.is_new) {
        rocksdb_writebatch_t *row = new_batch(rocks);

        rocksdb_writebatch_put(row, TV_KEY_FORMAT.data, TV_KEY_FORMAT.len, TV_FORMAT.data,
                               TV_FORMAT.len);
        err = write_synced(rocks, row, false);
        rocksdb_writebatch_destroy(row);
        if (err)
            snprintf(reterr_text, reterr_size, "cannot write to the data folder %s", dir);
    } else if (err == TV_ERR_NOT_FOUND) {
        snprintf(reterr_text, reterr_size,
                 "the data folder %s holds a RocksDB database that is not a Tavola store", dir);
        err = TV_ERR_CORRUPT;
    } else if (err == TV_ERR_CORRUPT && rocks->is_read_only) {
        err = TV_OK; /* who looks for damage has just been told, and wants to see the rest */
    } else if (err) {
        snprintf(reterr_text, reterr_size,
                 "the store in %s is damaged: its format row cannot be read; restore a backup",
                 dir);
    } else if (!is_known_format(format)) {
        explain_format(dir, format, reterr_text, reterr_size);
        err = TV_ERR_CORRUPT;
    }
    tv_arena_done(&arena);
    return err;
}

/* What can be said before the folder is looked at. */
static rocks_engine *new_engine(const tv_rocksdb_options *options)
{
    rocks_engine *rocks = tv_calloc(1, sizeof *rocks);

    rocks->base.ops = &rocksdb_ops;
    rocks->folder.fd = -1;
    tv_assert(pthread_rwlock_init(&rocks->write_lock, NULL) == 0);
    tv_rocksdb_settings_init(&rocks->settings, options);
    rocks->is_read_only = options->is_read_only;
    rocks->is_stopped = options->is_read_only;
    rocks->reads.told = options->read_failed;
    rocks->reads.told_ctx = options->read_failed_ctx;
    return rocks;
}

/*
 * RocksDB rewrites files as soon as it opens a store, so the store of another format is told
 * by a look that changes nothing.  What else is wrong comes to light when it is opened.
 */
static tv_err look_at_format(const tv_rocksdb_options *options, const tv_rocksdb_folder *folder,
                             char *reterr_text, size_t reterr_size)
{
    tv_rocksdb_options look_options = {
        .dir = options->dir, .open_files_max = options->open_files_max, .is_read_only = true};
    rocks_engine *look = new_engine(&look_options);
    tv_slice format;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    err = tv_wal_recover(folder->fd, options->dir, TV_WAL_LOOK, reterr_text, reterr_size);
    if (err == TV_OK)
        err = open_db(look, options->dir, reterr_text, reterr_size);
    if (err == TV_OK)
        err = get(&look->base, TV_READ_ANY, TV_KEY_FORMAT, &arena, &format);
    bool is_other = err == TV_OK && !is_known_format(format);
    if (is_other)
        explain_format(options->dir, format, reterr_text, reterr_size);
    tv_arena_done(&arena);
    dispose(look);
    return is_other ? TV_ERR_CORRUPT : TV_OK;
}

tv_err tv_rocksdb_engine_open(const tv_rocksdb_options *options, tv_engine **ret_engine,
                              char *reterr_text, size_t reterr_size)
{
    rocks_engine *rocks = new_engine(options);
    tv_err err;

    err = tv_rocksdb_folder_open(options->dir, options->is_read_only, &rocks->folder, reterr_text,
                                 reterr_size);
    if (err)
        goto fail;

    rocks->space.fd = rocks->folder.fd;
    rocks->space.store = "rows";
    rocks->space.reserve_bytes =
        options->disk_reserve_bytes ? options->disk_reserve_bytes : DEFAULT_RESERVE_BYTES;
    /* Not a matter of the reserve: below that a server starts, and reads go on. */
    if (!rocks->is_read_only && tv_space_free(&rocks->space) < START_BYTES_MIN) {
        snprintf(reterr_text, reterr_size,
                 "the disk of the data folder %s is full, and a start has to write: make room",
                 options->dir);
        err = TV_ERR_DISK_FULL;
        goto fail;
    }
    if (!rocks->is_read_only && !rocks->folder.is_new) {
        err = look_at_format(options, &rocks->folder, reterr_text, reterr_size);
        if (err)
            goto fail;
    }
    /* Also of a new store: the first start may have been cut off while it wrote the format row. */
    err = tv_wal_recover(rocks->folder.fd, options->dir,
                         options->is_read_only       ? TV_WAL_LOOK
                         : options->drop_damaged_log ? TV_WAL_DROP
                                                     : TV_WAL_CUT,
                         reterr_text, reterr_size);
    if (err)
        goto fail;

    err = open_db(rocks, options->dir, reterr_text, reterr_size);
    if (err)
        goto fail;

    rocks->mark = tv_wal_mark_of(rocks->folder.fd); /* RocksDB has made an identity by now */
    err = check_format(rocks, options->dir, reterr_text, reterr_size);
    if (err)
        goto fail;

    if (rocks->folder.is_new) {
        err = tv_rocksdb_folder_created(&rocks->folder);
        if (err) {
            snprintf(reterr_text, reterr_size, "cannot write to the data folder %s", options->dir);
            goto fail;
        }
    }
    if (!rocks->is_read_only)
        tv_rocksdb_watch_start(&rocks->watch, rocks->db, &rocks->base, &rocks->space);
    *ret_engine = &rocks->base;
    return TV_OK;

fail:
    dispose(rocks);
    return err;
}
