/*
 * The logs of a store before RocksDB opens it: see wal.h.
 *
 * The manifest says from which log on they are needed; older ones may lie there
 * still, in any state.  Of those that are needed all but the last must be whole,
 * and each must go on where the one before it ended.  The last is the last that
 * holds anything: a new one is made before it is written to.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/datetime.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/log.h"
#include "store/engine/rocksdb/wal.h"

enum { NAME_BYTES_MAX = 32 };

typedef struct log_file {
    uint64_t number;
    size_t bytes;
    tv_wal_scan scan;
} log_file;

typedef struct logs {
    bool is_read_only; /* what would be cut is left */
    int fd;            /* of the folder */
    const char *dir;   /* its name, for messages */
    tv_wal_mark mark;  /* of its records */
    log_file *files;   /* by number */
    size_t count, size;
    char *reterr_text;
    size_t reterr_size;
} logs;

/* Where the log is damaged: everything before it can be kept. */
typedef struct log_damage {
    size_t file;
    size_t at; /* bytes of it that are good */
} log_damage;

/* --- files --- */

static void log_name(uint64_t number, char ret_name[NAME_BYTES_MAX])
{
    snprintf(ret_name, NAME_BYTES_MAX, "%06llu.log", (unsigned long long)number);
}

static tv_err cannot(const logs *all, const char *what, const char *name)
{
    snprintf(all->reterr_text, all->reterr_size, "cannot %s %s/%s: %s", what, all->dir, name,
             strerror(errno));
    return TV_ERR_IO;
}

static bool read_all(int file, char *to, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t got = read(file, to + done, len - done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = EIO; /* shorter than a moment ago */
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* The bytes of a file, for the caller to free; a log is about as large as a write buffer. */
static tv_err read_file(const logs *all, const char *name, tv_slice *ret_bytes)
{
    int file = openat(all->fd, name, O_RDONLY | O_CLOEXEC);
    struct stat stat_of;
    char *bytes = NULL;
    bool is_read = file >= 0 && fstat(file, &stat_of) == 0;

    if (is_read) {
        bytes = tv_malloc((size_t)stat_of.st_size + 1);
        is_read = read_all(file, bytes, (size_t)stat_of.st_size);
    }
    tv_err err = is_read ? TV_OK : cannot(all, "read", name);

    if (file >= 0)
        close(file);
    if (err) {
        free(bytes);
        return err;
    }
    *ret_bytes = (tv_slice){bytes, (size_t)stat_of.st_size};
    return TV_OK;
}

/* Cut a file to its first `bytes`, durably. */
static tv_err cut(const logs *all, const char *name, size_t bytes)
{
    int file = openat(all->fd, name, O_WRONLY | O_CLOEXEC);
    bool is_cut = file >= 0 && ftruncate(file, (off_t)bytes) == 0 && fsync(file) == 0;
    tv_err err = is_cut ? TV_OK : cannot(all, "cut", name);

    if (file >= 0)
        close(file);
    return err;
}

/* --- the manifest --- */

/*
 * The number of the first log that is needed, 0 when that is unknown; what is
 * wrong with a manifest is for RocksDB to say.  A torn end is cut off, as that
 * of a log is: an edit that was not synced has had no effect.
 */
static tv_err read_manifest(const logs *all, uint64_t *ret_log_number)
{
    tv_wal_manifest manifest = {0};
    char name[NAME_BYTES_MAX + 1];
    tv_slice current, bytes;
    tv_wal_scan scan;

    *ret_log_number = 0;
    if (read_file(all, "CURRENT", &current) != TV_OK)
        return TV_OK;

    size_t len = tv_slice_find(current, '\n');
    if (len > 0 && len <= NAME_BYTES_MAX && memchr(current.data, '/', len) == NULL)
        snprintf(name, sizeof name, "%.*s", (int)len, current.data);
    else
        name[0] = '\0';
    free((char *)current.data);
    if (name[0] == '\0' || read_file(all, name, &bytes) != TV_OK)
        return TV_OK;

    tv_wal_scan_bytes(TV_WAL_MANIFEST, bytes, (tv_wal_mark){0}, tv_wal_manifest_record, &manifest,
                      &scan);
    free((char *)bytes.data);
    *ret_log_number = manifest.log_number;
    if (scan.state != TV_WAL_TORN || all->is_read_only)
        return TV_OK;

    tv_log(TV_LOG_INFO, "log_tail", "file=%s kept_bytes=%zu cut_bytes=%zu", name, scan.good_bytes,
           bytes.len - scan.good_bytes);
    return cut(all, name, scan.good_bytes);
}

/* --- logs --- */

static bool parse_name(const char *name, uint64_t *ret_number)
{
    char *end;

    if (name[0] < '0' || name[0] > '9')
        return false;

    *ret_number = strtoull(name, &end, 10);
    return strcmp(end, ".log") == 0;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = ((const log_file *)a)->number, y = ((const log_file *)b)->number;

    return (x > y) - (x < y);
}

static tv_err list_logs(logs *all, uint64_t first_number)
{
    int own_fd = openat(all->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* closedir closes it */
    DIR *dir = own_fd >= 0 ? fdopendir(own_fd) : NULL;

    if (dir == NULL) {
        tv_err err = cannot(all, "list", "");

        if (own_fd >= 0)
            close(own_fd);
        return err;
    }

    for (struct dirent *entry; (entry = readdir(dir));) {
        uint64_t number;

        if (!parse_name(entry->d_name, &number) || number < first_number)
            continue;
        tv_grow(&all->files, all->count, &all->size, 8);
        all->files[all->count++] = (log_file){.number = number};
    }
    closedir(dir);
    if (all->count)
        qsort(all->files, all->count, sizeof *all->files, compare_numbers);
    return TV_OK;
}

static tv_err scan_logs(logs *all)
{
    for (size_t i = 0; i < all->count; i++) {
        char name[NAME_BYTES_MAX];
        tv_slice bytes;
        tv_err err;

        log_name(all->files[i].number, name);
        err = read_file(all, name, &bytes);
        if (err)
            return err;

        all->files[i].bytes = bytes.len;
        tv_wal_scan_bytes(TV_WAL_LOG, bytes, all->mark, NULL, NULL, &all->files[i].scan);
        free((char *)bytes.data);
    }
    return TV_OK;
}

/* Find the first damage, if any. */
static bool find_damage(const logs *all, log_damage *ret_damage)
{
    const tv_wal_scan *before = NULL; /* the last with records */
    size_t last = all->count;

    while (last > 0 && all->files[last - 1].scan.good_bytes == 0 &&
           all->files[last - 1].scan.state == TV_WAL_WHOLE)
        last--; /* nothing in it */
    for (size_t i = 0; i < last; i++) {
        const tv_wal_scan *scan = &all->files[i].scan;
        bool is_torn = scan->state == TV_WAL_TORN || scan->state == TV_WAL_DOUBTFUL;

        if (scan->good.records && before && scan->first_sequence != before->next_sequence) {
            *ret_damage = (log_damage){i, 0};
            return true;
        }
        if (scan->state == TV_WAL_DAMAGED || (is_torn && i + 1 < last)) {
            *ret_damage = (log_damage){i, scan->good_bytes};
            return true;
        }
        if (scan->good.records)
            before = scan;
    }
    return false;
}

static void tell_tail(const log_file *file, const char *name)
{
    bool is_doubtful = file->scan.state == TV_WAL_DOUBTFUL;

    tv_log(is_doubtful ? TV_LOG_WARN : TV_LOG_INFO, "log_tail",
           "file=%s kept_records=%llu cut_bytes=%zu note=\"%s\"", name,
           (unsigned long long)file->scan.good.records, file->bytes - file->scan.good_bytes,
           is_doubtful ? "a write that a crash cut short and nobody was told of, or, if there was "
                         "no crash, the last write before the stop, damaged since: it may be lost"
                       : "a write that a crash cut short and nobody was told of");
}

/* Leave no zeros and no torn record at the end of a log.  Who only looks is told of doubt. */
static tv_err cut_tails(const logs *all)
{
    for (size_t i = 0; i < all->count; i++) {
        const log_file *file = &all->files[i];
        char name[NAME_BYTES_MAX];
        tv_err err;

        if (file->bytes == file->scan.good_bytes)
            continue;

        log_name(file->number, name);
        if (file->scan.state == TV_WAL_DOUBTFUL ||
            (file->scan.state == TV_WAL_TORN && !all->is_read_only))
            tell_tail(file, name);
        if (all->is_read_only)
            continue;
        err = cut(all, name, file->scan.good_bytes);
        if (err)
            return err;
    }
    return TV_OK;
}

/* --- damage --- */

/* What is kept and what is not: up to which instant, if the records say so. */
typedef struct log_loss {
    char name[NAME_BYTES_MAX]; /* of the damaged log */
    size_t at;
    char kept_until[TV_DATETIME_TEXT_MAX], lost_until[TV_DATETIME_TEXT_MAX];
    unsigned long long records; /* that can still be read */
    size_t bytes;
} log_loss;

static void format_instant(char to[TV_DATETIME_TEXT_MAX], int64_t ticks)
{
    if (ticks)
        to[tv_datetime_format(to, ticks)] = '\0';
    else
        snprintf(to, TV_DATETIME_TEXT_MAX, "unknown");
}

static void add_lost(log_loss *loss, const tv_wal_count *count, size_t bytes, int64_t *last_ticks)
{
    loss->records += count->records;
    loss->bytes += bytes;
    if (count->last_ticks)
        *last_ticks = count->last_ticks;
}

static void measure_loss(const logs *all, log_damage damage, log_loss *ret_loss)
{
    int64_t kept_ticks = 0, lost_ticks = 0;
    log_loss loss = {.at = damage.at};

    log_name(all->files[damage.file].number, loss.name);
    for (size_t i = 0; i < all->count; i++) {
        const tv_wal_scan *scan = &all->files[i].scan;
        bool is_kept = i < damage.file || (i == damage.file && damage.at > 0);

        if (is_kept && scan->good.last_ticks)
            kept_ticks = scan->good.last_ticks;
        if (!is_kept)
            add_lost(&loss, &scan->good, scan->good_bytes, &lost_ticks);
        if (i >= damage.file)
            add_lost(&loss, &scan->bad, scan->bad_bytes, &lost_ticks);
    }
    format_instant(loss.kept_until, kept_ticks);
    format_instant(loss.lost_until, lost_ticks);
    *ret_loss = loss;
}

static tv_err refuse(const logs *all, const log_loss *loss)
{
    snprintf(
        all->reterr_text, all->reterr_size,
        "the store in %s is damaged and was left as it is: its log %s cannot be read from byte "
        "%zu on, and %llu later records can (%zu bytes, written until %s); restore a backup, "
        "or copy the folder and start once with --drop-damaged-log, which keeps what was "
        "written until %s and drops the rest",
        all->dir, loss->name, loss->at, loss->records, loss->bytes, loss->lost_until,
        loss->kept_until);
    return TV_ERR_CORRUPT;
}

/*
 * Remove the damage and what follows it.  If that is cut off by a
 * crash, the logs left over do not go on from those before: damage again, and
 * an operator decides again.
 */
static tv_err drop(const logs *all, log_damage damage, const log_loss *loss)
{
    tv_log(TV_LOG_ERROR, "log_dropped",
           "file=%s from_byte=%zu records=%llu bytes=%zu kept_until=%s dropped_until=%s "
           "note=\"writes that clients were told are durable are gone, as --drop-damaged-log asks; "
           "the records are those that could still be read\"",
           loss->name, loss->at, loss->records, loss->bytes, loss->kept_until, loss->lost_until);
    if (damage.at > 0) {
        tv_err err = cut(all, loss->name, damage.at);

        if (err)
            return err;
    }
    for (size_t i = damage.file + (damage.at > 0); i < all->count; i++) {
        char name[NAME_BYTES_MAX];

        log_name(all->files[i].number, name);
        if (unlinkat(all->fd, name, 0) != 0)
            return cannot(all, "remove", name);
    }
    return fsync(all->fd) == 0 ? TV_OK : cannot(all, "sync", "");
}

tv_wal_mark tv_wal_mark_of(int fd)
{
    static const tv_hash_key key = {UINT64_C(0x7461766f6c612077), UINT64_C(0x616c206d61726b31)};
    char text[64];
    int file = openat(fd, "IDENTITY", O_RDONLY | O_CLOEXEC);
    ssize_t len = file >= 0 ? read(file, text, sizeof text) : 0;

    if (file >= 0)
        close(file);
    return (tv_wal_mark){len > 0 ? tv_siphash(2, 4, key, (tv_slice){text, (size_t)len}) : 0};
}

tv_err tv_wal_recover(int fd, const char *dir, tv_wal_cure cure, char *reterr_text,
                      size_t reterr_size)
{
    logs all = {.fd = fd,
                .dir = dir,
                .mark = tv_wal_mark_of(fd),
                .is_read_only = cure == TV_WAL_LOOK,
                .reterr_text = reterr_text,
                .reterr_size = reterr_size};
    uint64_t first_number;
    log_damage damage;
    log_loss loss;
    tv_err err;

    err = read_manifest(&all, &first_number);
    if (err == TV_OK)
        err = list_logs(&all, first_number);
    if (err == TV_OK)
        err = scan_logs(&all);
    if (err)
        goto out;

    if (!find_damage(&all, &damage)) {
        err = cut_tails(&all);
        goto out;
    }

    measure_loss(&all, damage, &loss);
    err = cure == TV_WAL_DROP ? drop(&all, damage, &loss) : refuse(&all, &loss);

out:
    free(all.files);
    return err;
}
