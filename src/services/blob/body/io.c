/* The memory of uploads and downloads, and their threads. */
#include "services/blob/body/io.h"

#include <pthread.h>

#include "base/assert.h"
#include "base/md5_lanes.h"

/* Buffers that are not in use and not freed: of the default size, 8 MiB. */
enum { KEPT_MAX = 32 };

/* A free buffer holds the link to the next one. */
typedef struct free_buffer {
    struct free_buffer *next;
} free_buffer;

struct tv_buffers {
    pthread_mutex_t lock;
    size_t size, count_max;
    free_buffer *free_list;
    size_t free_count;
    size_t used, used_max; /* now, and at most */
};

tv_buffers *tv_buffers_new(size_t buffer_bytes, size_t count_max)
{
    tv_buffers *buffers = tv_calloc(1, sizeof *buffers);

    tv_assert(buffer_bytes >= sizeof(free_buffer) && count_max > 0);
    tv_assert(pthread_mutex_init(&buffers->lock, NULL) == 0);
    buffers->size = buffer_bytes;
    buffers->count_max = count_max;
    return buffers;
}

void tv_buffers_free(tv_buffers *buffers)
{
    if (buffers == NULL)
        return;

    tv_assert(buffers->used == 0);
    while (buffers->free_list) {
        free_buffer *buffer = buffers->free_list;

        buffers->free_list = buffer->next;
        free(buffer);
    }
    pthread_mutex_destroy(&buffers->lock);
    free(buffers);
}

size_t tv_buffers_size(const tv_buffers *buffers)
{
    return buffers->size;
}

/* Locked.  NULL when all are in use, or the system has no more. */
static char *take(tv_buffers *buffers)
{
    free_buffer *buffer = buffers->free_list;

    if (buffers->used == buffers->count_max)
        return NULL;
    if (buffer) {
        buffers->free_list = buffer->next;
        buffers->free_count--;
    } else {
        buffer = malloc(buffers->size);
    }
    if (buffer == NULL)
        return NULL;

    buffers->used++;
    if (buffers->used > buffers->used_max)
        buffers->used_max = buffers->used;
    return (char *)buffer;
}

char *tv_buffers_take(tv_buffers *buffers, tv_charge *charge)
{
    if (tv_charge_reserve(charge, buffers->size) != TV_OK)
        return NULL;

    pthread_mutex_lock(&buffers->lock);
    char *buffer = take(buffers);
    pthread_mutex_unlock(&buffers->lock);
    if (buffer)
        tv_charge_use(charge, buffers->size);
    else
        tv_charge_trim(charge);
    return buffer;
}

void tv_buffers_give(tv_buffers *buffers, char *buffer, tv_charge *charge)
{
    free_buffer *freed = (free_buffer *)buffer;

    if (buffer == NULL)
        return;

    tv_charge_unuse(charge, buffers->size);
    pthread_mutex_lock(&buffers->lock);
    buffers->used--;
    if (buffers->free_count < KEPT_MAX) {
        freed->next = buffers->free_list;
        buffers->free_list = freed;
        buffers->free_count++;
        freed = NULL;
    }
    pthread_mutex_unlock(&buffers->lock);
    free(freed);
}

size_t tv_buffers_used(tv_buffers *buffers)
{
    pthread_mutex_lock(&buffers->lock);
    size_t used = buffers->used;
    pthread_mutex_unlock(&buffers->lock);
    return used;
}

size_t tv_buffers_used_max(tv_buffers *buffers)
{
    pthread_mutex_lock(&buffers->lock);
    size_t used = buffers->used_max;
    pthread_mutex_unlock(&buffers->lock);
    return used;
}

void tv_blob_io_init(tv_blob_io *io, tv_extents *extents, tv_turns *scanners, int worker_count)
{
    io->extents = extents;
    io->scanners = scanners;
    io->workers = tv_workers_new(worker_count, TV_BLOB_JOBS_MAX);
    io->hasher = tv_md5_best_way() == TV_MD5_ALONE ? NULL : tv_hasher_new(io->workers);
    io->in = tv_buffers_new(TV_BLOB_BUFFER_BYTES, SIZE_MAX);
    io->out = tv_buffers_new(TV_BLOB_BUFFER_BYTES, SIZE_MAX);
}

void tv_blob_io_stop(tv_blob_io *io)
{
    tv_hasher_stop(io->hasher);
    tv_workers_free(io->workers);
    io->workers = NULL;
}

void tv_blob_io_done(tv_blob_io *io)
{
    tv_buffers_free(io->in);
    tv_buffers_free(io->out);
    io->in = io->out = NULL;
    tv_hasher_free(io->hasher);
    io->hasher = NULL;
}
