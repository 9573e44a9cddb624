#include "watch/traffic/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "watch/traffic/column.h"

#define FOLDER "watch"

/* Longer than any that is written: 16,384 buckets of 65 + 7 * 10 bytes, sixty times. */
static const off_t file_bytes_max = (off_t)256 << 20;

const tv_layer tv_layers[TV_LAYERS] = {
    {TV_GRAIN_MINUTE, "minute", 60, 7, 512},
    {TV_GRAIN_TEN, "ten", 24 * 60, 5, 256},
    {TV_GRAIN_HOUR, "hour", 7 * 24 * 60, 5, 128},
};

typedef struct file {
    int fd; /* -1: no file */
    uint32_t number;
    uint64_t generation; /* see tv_traffic_store_file */
    off_t size;
    uint64_t columns;
    bool is_dirty;
} file;

typedef struct layer_files {
    file files[TV_LAYER_FILES_MAX];
    bool has_last;
    uint32_t last;
} layer_files;

struct tv_traffic_store {
    int dir_fd; /* -1: in memory */
    pthread_mutex_t lock;
    layer_files layers[TV_LAYERS];
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

static file *find_file(tv_traffic_store *store, int layer, uint32_t number)
{
    for (int i = 0; i < TV_LAYER_FILES_MAX; i++) {
        file *f = &store->layers[layer].files[i];

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

/* A place for the file with this number: those that are too old for it go. */
static file *make_room(tv_traffic_store *store, int layer, uint32_t number)
{
    file *free_place = NULL;

    for (int i = 0; i < TV_LAYER_FILES_MAX; i++) {
        file *f = &store->layers[layer].files[i];

        if (f->fd >= 0 && f->number + (uint32_t)tv_layers[layer].files_kept <= number)
            drop_file(store, layer, f);
        if (f->fd < 0 && free_place == NULL)
            free_place = f;
    }
    return free_place;
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

/* Count the columns of a file and cut what follows the last whole one. */
static bool scan_file(tv_traffic_store *store, int layer, file *f)
{
    char *bytes = tv_malloc((size_t)f->size + 1);
    ssize_t got = read_whole(f->fd, bytes, (size_t)f->size);
    tv_slice all = {bytes, got < 0 ? 0 : (size_t)got};
    layer_files *files = &store->layers[layer];
    size_t at = 0, before = 0;
    tv_column column;

    while (tv_column_next(all, &at, &column)) {
        store->damaged_bytes += column.gap_bytes;
        f->columns++;
        if (!files->has_last || column.head.minute > files->last) {
            files->has_last = true;
            files->last = column.head.minute;
        }
        before = at;
    }
    free(bytes);
    if (got < 0)
        return false;
    if ((off_t)before < f->size) {
        store->damaged_bytes += (uint64_t)f->size - before;
        if (ftruncate(f->fd, (off_t)before) != 0)
            return false;
        f->size = (off_t)before;
    }
    return true;
}

/* Take up a file that an earlier start has left. */
static bool adopt(tv_traffic_store *store, int layer, uint32_t number, const char *name)
{
    struct stat st;
    file *place;
    int fd = openat(store->dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return false;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return false;
    }
    place = make_room(store, layer, number);
    if (place == NULL || st.st_size > file_bytes_max) { /* nothing that this program has written */
        store->damaged_bytes += (uint64_t)st.st_size;
        unlinkat(store->dir_fd, name, 0);
        close(fd);
        return true;
    }
    *place = (file){.fd = fd, .number = number, .size = st.st_size};
    place->generation = ++store->generations;
    return scan_file(store, layer, place);
}

static bool adopt_all(tv_traffic_store *store, uint32_t now_minute)
{
    int fd = dup(store->dir_fd);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    bool is_good = dir != NULL;

    while (is_good && (entry = readdir(dir)) != NULL) {
        uint32_t number;
        int layer;

        if (!parse_name(entry->d_name, &layer, &number))
            continue;
        if (number + (uint32_t)tv_layers[layer].files_kept <= number_of(layer, now_minute))
            unlinkat(store->dir_fd, entry->d_name, 0);
        else
            is_good = adopt(store, layer, number, entry->d_name);
    }
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return is_good;
}

tv_traffic_store *tv_traffic_store_open(const char *dir, uint32_t now_minute, char *reterr_text,
                                        size_t reterr_size)
{
    tv_traffic_store *store = tv_calloc(1, sizeof *store);
    int data_fd = -1;

    pthread_mutex_init(&store->lock, NULL);
    store->dir_fd = -1;
    for (int i = 0; i < TV_LAYERS; i++) {
        for (int k = 0; k < TV_LAYER_FILES_MAX; k++)
            store->layers[i].files[k].fd = -1;
    }
    if (dir == NULL)
        return store;

    data_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (data_fd < 0 || (mkdirat(data_fd, FOLDER, 0700) != 0 && errno != EEXIST))
        goto failed;
    store->dir_fd = openat(data_fd, FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (store->dir_fd < 0 || !adopt_all(store, now_minute))
        goto failed;
    close(data_fd);
    return store;

failed:
    snprintf(reterr_text, reterr_size, "cannot open the folder %.900s/" FOLDER ": %s", dir,
             strerror(errno));
    if (data_fd >= 0)
        close(data_fd);
    tv_traffic_store_close(store);
    return NULL;
}

void tv_traffic_store_close(tv_traffic_store *store)
{
    if (store == NULL)
        return;

    for (int i = 0; i < TV_LAYERS; i++) {
        for (int k = 0; k < TV_LAYER_FILES_MAX; k++) {
            if (store->layers[i].files[k].fd >= 0)
                close(store->layers[i].files[k].fd);
        }
    }
    if (store->dir_fd >= 0)
        close(store->dir_fd);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

bool tv_traffic_store_last(tv_traffic_store *store, int layer, uint32_t *ret_minute)
{
    bool has_last;

    pthread_mutex_lock(&store->lock);
    *ret_minute = store->layers[layer].last;
    has_last = store->layers[layer].has_last;
    pthread_mutex_unlock(&store->lock);
    return has_last;
}

/* The file of this number, made if need be; with the lock.  NULL with errno. */
static file *file_for(tv_traffic_store *store, int layer, uint32_t number)
{
    file *f = find_file(store, layer, number);
    char name[32];
    int fd;

    if (f)
        return f;

    f = make_room(store, layer, number);
    tv_assert(f); /* columns ascend, so no more than files_kept are left */
    name_of(layer, number, name);
    fd = store->dir_fd < 0
             ? memfd_create(name, MFD_CLOEXEC)
             : openat(store->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return NULL;
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
    layer_files *files = &store->layers[layer];
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
    files->has_last = true;
    files->last = minute;
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
            file *f = &store->layers[i].files[k];

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
            const file *f = &store->layers[i].files[k];

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
