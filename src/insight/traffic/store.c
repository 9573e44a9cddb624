#include "insight/traffic/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_copy.h"
#include "base/number.h"
#include "insight/traffic/column.h"

#define FOLDER "watch"

/* Longer than any that is written: 16,384 buckets of 65 + 7 * 10 bytes, sixty times. */
static const off_t file_bytes_max = (off_t)256 << 20;

const tv_layer tv_layers[TV_LAYERS] = {
    {TV_GRAIN_MINUTE, "minute", 60, 7, 512},
    {TV_GRAIN_TEN, "ten", 24 * 60, 5, 256},
    {TV_GRAIN_HOUR, "hour", 7 * 24 * 60, 5, 128},
};

enum { FILE_COLUMNS_MAX = 7 * 24 }; /* of any layer */

typedef struct file {
    int fd; /* -1: no file */
    uint32_t number;
    uint64_t generation; /* see tv_traffic_store_file */
    off_t size;
    uint64_t columns;
    bool has[FILE_COLUMNS_MAX]; /* a column of this time */
    bool is_dirty;
} file;

struct tv_traffic_store {
    int dir_fd; /* -1: in memory */
    pthread_mutex_t lock;
    file layers[TV_LAYERS][TV_LAYER_FILES_MAX];
    bool has_last;
    uint32_t last; /* see tv_traffic_store_last */
    uint64_t generations, damaged_bytes;
};

int tv_layer_of(tv_grain grain)
{
    return grain == TV_GRAIN_MINUTE ? 0 : grain == TV_GRAIN_TEN ? 1 : 2;
}

static uint32_t number_of(int layer, uint32_t minute)
{
    return minute / tv_layers[layer].file_minutes;
}

static void name_of(int layer, uint32_t number, char ret_name[32])
{
    snprintf(ret_name, 32, "%s.%u", tv_layers[layer].name, number);
}

static bool parse_name(const char *name, int *ret_layer, uint32_t *ret_number)
{
    tv_slice rest = tv_slice_of(name), kind;
    int32_t number;

    if (!tv_slice_next(&rest, '.', &kind) || !tv_parse_int32(rest, &number) || number < 0)
        return false;
    for (int i = 0; i < TV_LAYERS; i++) {
        if (tv_slice_eq(kind, tv_slice_of(tv_layers[i].name))) {
            *ret_layer = i;
            *ret_number = (uint32_t)number;
            return true;
        }
    }
    return false;
}

/* Where a file remembers that it has the column of this minute; NULL when that is not in it. */
static bool *place_in(file *f, int layer, uint32_t minute)
{
    if (number_of(layer, minute) != f->number)
        return NULL;
    return &f->has[minute % tv_layers[layer].file_minutes / (uint32_t)tv_layers[layer].grain];
}

static file *find_file(tv_traffic_store *store, int layer, uint32_t number)
{
    for (int i = 0; i < TV_LAYER_FILES_MAX; i++) {
        file *f = &store->layers[layer][i];

        if (f->fd >= 0 && f->number == number)
            return f;
    }
    return NULL;
}

/* Remove a file and forget it. */
static void drop_file(tv_traffic_store *store, int layer, file *f)
{
    char name[32];

    name_of(layer, f->number, name);
    if (store->dir_fd >= 0)
        unlinkat(store->dir_fd, name, 0);
    close(f->fd);
    f->fd = -1;
}

static uint32_t distance(uint32_t a, uint32_t b)
{
    return a < b ? b - a : a - b;
}

/*
 * A place for the file with this number; if need be that goes which is farthest from now.  So a
 * clock that was wrong, ahead or behind, costs a file for each that was written by it, and not all
 * that was there.  NULL when the new one is the farthest.
 */
static file *make_room(tv_traffic_store *store, int layer, uint32_t number, uint32_t now)
{
    file *files = store->layers[layer], *free_place = NULL, *farthest = NULL;
    int used = 0;

    for (int i = 0; i < TV_LAYER_FILES_MAX; i++) {
        file *f = &files[i];

        if (f->fd < 0) {
            free_place = f;
            continue;
        }
        used++;
        if (farthest == NULL || distance(f->number, now) > distance(farthest->number, now))
            farthest = f;
    }
    if (used < tv_layers[layer].files_kept)
        return free_place;
    if (distance(number, now) >= distance(farthest->number, now))
        return NULL;
    drop_file(store, layer, farthest);
    return farthest;
}

static ssize_t read_whole(int fd, char *to, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = pread(fd, to + done, size - done, (off_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -1 : (ssize_t)done;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* Note the columns of a file and cut what follows the last whole one.  Returns 0 or an errno. */
static int scan_file(tv_traffic_store *store, int layer, file *f, uint32_t now_minute)
{
    char *bytes = tv_malloc((size_t)f->size + 1);
    ssize_t got = read_whole(f->fd, bytes, (size_t)f->size);
    int error = got < 0 ? errno : 0;
    tv_slice all = {bytes, got < 0 ? 0 : (size_t)got};
    size_t at = 0, before = 0;
    tv_column column;

    while (tv_column_next(all, &at, &column)) {
        uint32_t minute = column.head.minute;
        bool *place = place_in(f, layer, minute);

        store->damaged_bytes += column.gap_bytes;
        f->columns++;
        if (place)
            *place = true;
        if (layer == 0 && minute <= now_minute && (!store->has_last || minute > store->last)) {
            store->has_last = true;
            store->last = minute;
        }
        before = at;
    }
    free(bytes);
    if (error)
        return error;
    if ((off_t)before < f->size) {
        store->damaged_bytes += (uint64_t)f->size - before;
        if (ftruncate(f->fd, (off_t)before) != 0)
            return errno;
        f->size = (off_t)before;
    }
    return 0;
}

/* Take up a file that an earlier start has left.  Returns 0 or an errno: then it is left alone. */
static int adopt(tv_traffic_store *store, int layer, uint32_t number, const char *name,
                 uint32_t now_minute)
{
    off_t size;
    file *place;
    int error, fd = tv_file_open_regular(store->dir_fd, name, O_RDWR, &size);

    if (fd < 0)
        return errno;
    place = make_room(store, layer, number, number_of(layer, now_minute));
    if (place == NULL || size > file_bytes_max) { /* too many, or no file of this program */
        store->damaged_bytes += place ? (uint64_t)size : 0;
        unlinkat(store->dir_fd, name, 0);
        close(fd);
        return 0;
    }
    *place = (file){.fd = fd, .number = number, .size = size};
    place->generation = ++store->generations;
    error = scan_file(store, layer, place, now_minute);
    if (error) {
        close(fd);
        place->fd = -1;
    }
    return error;
}

/* Returns 0 or an errno; `ret_name` says of what. */
static int adopt_all(tv_traffic_store *store, uint32_t now_minute, char ret_name[32])
{
    int fd = dup(store->dir_fd), error = 0;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    ret_name[0] = '\0';
    if (dir == NULL) {
        error = errno;
        if (fd >= 0)
            close(fd);
        return error;
    }
    while ((entry = readdir(dir)) != NULL) {
        uint32_t number;
        int layer, failed;

        if (!parse_name(entry->d_name, &layer, &number))
            continue;
        failed = adopt(store, layer, number, entry->d_name, now_minute);
        if (failed && error == 0) {
            error = failed;
            name_of(layer, number, ret_name);
        }
    }
    closedir(dir);
    return error;
}

/* The folder for the files, or -1 with errno. */
static int open_folder(const char *dir)
{
    int data_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1, error;

    if (data_fd < 0)
        return -1;
    if (mkdirat(data_fd, FOLDER, 0700) == 0 || errno == EEXIST)
        fd = openat(data_fd, FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    error = errno;
    close(data_fd);
    errno = error;
    return fd;
}

tv_traffic_store *tv_traffic_store_open(const char *dir, uint32_t now_minute, char *ret_trouble,
                                        size_t trouble_size)
{
    tv_traffic_store *store = tv_calloc(1, sizeof *store);
    char name[32];
    int error;

    pthread_mutex_init(&store->lock, NULL);
    store->dir_fd = -1;
    for (int i = 0; i < TV_LAYERS; i++) {
        for (int k = 0; k < TV_LAYER_FILES_MAX; k++)
            store->layers[i][k].fd = -1;
    }
    if (trouble_size)
        ret_trouble[0] = '\0';
    if (dir == NULL)
        return store;

    store->dir_fd = open_folder(dir);
    if (store->dir_fd < 0) {
        snprintf(ret_trouble, trouble_size,
                 "what is counted is kept in memory alone: cannot open %.900s/" FOLDER ": %s", dir,
                 strerror(errno));
        return store;
    }
    error = adopt_all(store, now_minute, name);
    if (error)
        snprintf(ret_trouble, trouble_size,
                 "some of it is lost: cannot read %.900s/" FOLDER "/%s: %s", dir, name,
                 strerror(error));
    return store;
}

void tv_traffic_store_close(tv_traffic_store *store)
{
    if (store == NULL)
        return;

    for (int i = 0; i < TV_LAYERS; i++) {
        for (int k = 0; k < TV_LAYER_FILES_MAX; k++) {
            if (store->layers[i][k].fd >= 0)
                close(store->layers[i][k].fd);
        }
    }
    if (store->dir_fd >= 0)
        close(store->dir_fd);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

bool tv_traffic_store_last(tv_traffic_store *store, uint32_t *ret_minute)
{
    bool has_last;

    pthread_mutex_lock(&store->lock);
    *ret_minute = store->last;
    has_last = store->has_last;
    pthread_mutex_unlock(&store->lock);
    return has_last;
}

bool tv_traffic_store_has(tv_traffic_store *store, int layer, uint32_t minute)
{
    file *f;
    bool has;

    pthread_mutex_lock(&store->lock);
    f = find_file(store, layer, number_of(layer, minute));
    has = f && *place_in(f, layer, minute);
    pthread_mutex_unlock(&store->lock);
    return has;
}

static int create(const tv_traffic_store *store, const char *name)
{
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    int fd;

    if (store->dir_fd < 0)
        return memfd_create(name, MFD_CLOEXEC);
    fd = openat(store->dir_fd, name, flags, 0600);
    if (fd >= 0 || errno != EEXIST || unlinkat(store->dir_fd, name, 0) != 0)
        return fd;
    return openat(store->dir_fd, name, flags, 0600); /* it was something that could not be used */
}

/* The file of this number, made if need be; with the lock.  NULL with errno. */
static file *file_for(tv_traffic_store *store, int layer, uint32_t number)
{
    file *f = find_file(store, layer, number);
    char name[32];
    int fd;

    if (f)
        return f;

    name_of(layer, number, name);
    fd = create(store, name);
    if (fd < 0)
        return NULL;
    f = make_room(store, layer, number, number);
    tv_assert(f); /* none is as near to now as the one of now */
    *f = (file){.fd = fd, .number = number, .generation = ++store->generations};
    return f;
}

uint64_t tv_traffic_store_file(tv_traffic_store *store, int layer, uint32_t minute)
{
    pthread_mutex_lock(&store->lock);

    file *f = file_for(store, layer, number_of(layer, minute));
    uint64_t generation = f ? f->generation : 0;

    pthread_mutex_unlock(&store->lock);
    return generation;
}

static tv_err err_of_errno(void)
{
    return errno == ENOSPC || errno == EDQUOT ? TV_ERR_DISK_FULL : TV_ERR_IO;
}

static tv_err append(tv_traffic_store *store, int layer, uint32_t minute, tv_slice column)
{
    file *f = file_for(store, layer, number_of(layer, minute));
    ssize_t wrote;

    if (f == NULL)
        return err_of_errno();
    if (f->size + (off_t)column.len > file_bytes_max)
        return TV_ERR_DISK_FULL;
    do
        wrote = pwrite(f->fd, column.data, column.len, f->size);
    while (wrote < 0 && errno == EINTR);
    if (wrote != (ssize_t)column.len) {
        tv_err err = wrote < 0 ? err_of_errno() : TV_ERR_DISK_FULL;

        /* If this fails too, the next column is written over it. */
        if (ftruncate(f->fd, f->size) != 0)
            err = TV_ERR_IO;
        return err;
    }
    f->size += wrote;
    f->columns++;
    f->is_dirty = true;
    *place_in(f, layer, minute) = true;
    if (layer == 0) {
        store->has_last = true;
        store->last = minute;
    }
    return TV_OK;
}

tv_err tv_traffic_store_append(tv_traffic_store *store, int layer, uint32_t minute, tv_slice column)
{
    tv_err err;

    pthread_mutex_lock(&store->lock);
    err = append(store, layer, minute, column);
    pthread_mutex_unlock(&store->lock);
    return err;
}

tv_err tv_traffic_store_sync(tv_traffic_store *store)
{
    tv_err err = TV_OK;

    /* Only this thread changes the list, so that readers need not wait for the disk. */
    for (int i = 0; i < TV_LAYERS && store->dir_fd >= 0; i++) {
        for (int k = 0; k < TV_LAYER_FILES_MAX; k++) {
            file *f = &store->layers[i][k];

            if (f->fd < 0 || !f->is_dirty)
                continue;
            if (fdatasync(f->fd) != 0)
                err = TV_ERR_IO;
            else
                f->is_dirty = false;
        }
    }
    if (store->dir_fd >= 0 && fsync(store->dir_fd) != 0)
        err = TV_ERR_IO;
    return err;
}

tv_err tv_traffic_store_read(tv_traffic_store *store, int layer, uint32_t minute, tv_buf *out)
{
    ssize_t got = 0;
    size_t size = 0;
    int fd = -1;
    file *f;

    pthread_mutex_lock(&store->lock);
    f = find_file(store, layer, number_of(layer, minute));
    if (f && f->size) {
        size = (size_t)f->size;
        fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
    }
    pthread_mutex_unlock(&store->lock);
    if (size == 0)
        return TV_OK;
    if (fd < 0)
        return TV_ERR_IO;
    if (tv_buf_try_reserve(out, size)) {
        close(fd);
        return TV_ERR_OVERLOADED;
    }
    got = read_whole(fd, tv_buf_reserve(out, size), size);
    close(fd);
    if (got < 0)
        return TV_ERR_IO;
    out->len += (size_t)got;
    return TV_OK;
}

tv_traffic_store_usage tv_traffic_store_read_usage(tv_traffic_store *store)
{
    tv_traffic_store_usage usage = {0};

    pthread_mutex_lock(&store->lock);
    for (int i = 0; i < TV_LAYERS; i++) {
        for (int k = 0; k < TV_LAYER_FILES_MAX; k++) {
            const file *f = &store->layers[i][k];

            if (f->fd < 0)
                continue;
            usage.bytes += (uint64_t)f->size;
            usage.columns += f->columns;
        }
    }
    usage.damaged_bytes = store->damaged_bytes;
    pthread_mutex_unlock(&store->lock);
    return usage;
}
