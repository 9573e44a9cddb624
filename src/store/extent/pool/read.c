/*
 * Reading extents from a pool: the parts that hold the bytes are asked for at once.
 * Nothing is read ahead here; a download fills one buffer while the other goes out.
 */
#include "base/assert.h"
#include "store/extent/pool/internal.h"

/* Reads that are waited for together. */
typedef struct gathering {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int count; /* under way */
} gathering;

typedef struct part_read {
    tv_pool_read read;
    tv_arena arena;
    char name[TV_EXTENT_OBJECT_SIZE];
    char *to;
} part_read;

static void on_read(tv_pool_read *read)
{
    gathering *g = read->ctx;

    pthread_mutex_lock(&g->lock);
    g->count--;
    pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static void gather(tv_pool *pool, part_read *parts, int count)
{
    gathering g = {.count = count};

    tv_assert(pthread_mutex_init(&g.lock, NULL) == 0);
    tv_assert(pthread_cond_init(&g.changed, NULL) == 0);
    for (int i = 0; i < count; i++) {
        parts[i].read.ctx = &g;
        pool->ops->read(pool, &parts[i].read);
    }
    pthread_mutex_lock(&g.lock);
    while (g.count > 0)
        pthread_cond_wait(&g.changed, &g.lock);
    pthread_mutex_unlock(&g.lock);
    pthread_cond_destroy(&g.changed);
    pthread_mutex_destroy(&g.lock);
}

/* An error of the pool says nothing about the extent: another try may succeed. */
static tv_err failed(tv_extent_reader *reader, tv_err err)
{
    if (err == TV_ERR_NOT_FOUND)
        return err;

    (void)tv_pool_extents_failed(tv_pool_extents_of(reader->store), "read", reader->id, err);
    return err == TV_ERR_TIMED_OUT ? err : TV_ERR_OVERLOADED;
}

/* Up to this many parts, and what they have from `offset` on. */
static tv_err read_parts(tv_extent_reader *reader, uint64_t offset, char *to, size_t size,
                         size_t *ret_len)
{
    part_read parts[TV_EXTENT_PARTS_IN_FLIGHT];
    size_t len = 0, asked = 0;
    tv_err err = TV_OK;
    int count = 0;

    for (; asked < size && count < TV_EXTENT_PARTS_IN_FLIGHT; count++) {
        part_read *part = &parts[count];
        uint64_t at = offset + asked, within = at % TV_EXTENT_PART_BYTES;
        size_t room = TV_EXTENT_PART_BYTES - (size_t)within;

        *part = (part_read){.to = to + asked,
                            .read = {.object = part->name,
                                     .kind = TV_POOL_READ_DATA,
                                     .offset = within,
                                     .size = size - asked < room ? size - asked : room,
                                     .arena = &part->arena,
                                     .done = on_read}};
        tv_arena_init(&part->arena);
        tv_pool_extent_name(reader->id, (uint32_t)(at / TV_EXTENT_PART_BYTES), part->name);
        asked += part->read.size;
    }
    gather(tv_pool_extents_of(reader->store)->options.pool, parts, count);
    for (int i = 0; i < count; i++) {
        const tv_pool_read *read = &parts[i].read;

        /* Bytes after a gap are of no use. */
        if (err == TV_OK && len == (size_t)(parts[i].to - to)) {
            if (read->result)
                err = failed(reader, read->result);
            else
                len += read->data.len;
            if (read->result == TV_OK && read->data.len)
                memcpy(parts[i].to, read->data.data, read->data.len);
        }
        tv_arena_done(&parts[i].arena);
    }
    *ret_len = len;
    return err;
}

tv_err tv_pool_extent_read(tv_extent_reader *reader, tv_read_mode mode, uint64_t offset, char *to,
                           size_t size, size_t *ret_len)
{
    size_t done = 0, len = 1;

    if (mode == TV_READ_CACHED)
        return TV_ERR_WOULD_BLOCK;

    while (done < size && len > 0) {
        tv_err err = read_parts(reader, offset + done, to + done, size - done, &len);

        if (err)
            return err;
        done += len;
    }
    *ret_len = done;
    return TV_OK;
}

/*
 * An extent of one part was made with all it has, and its trailer is about to be read.
 * One of several parts is whole if its length says so.
 */
tv_err tv_pool_extent_open(tv_extents *store, tv_read_mode mode, tv_extent_id id, uint64_t length,
                           tv_extent_reader **ret_reader)
{
    tv_pool_extent_facts facts = {.length = length};
    tv_err err = TV_OK;

    if (mode == TV_READ_CACHED)
        return TV_ERR_WOULD_BLOCK;

    tv_extent_reader *reader = tv_extent_reader_new(sizeof *reader, store, id, length);

    if (tv_pool_extent_parts(length) > 1)
        err = tv_pool_extent_look(tv_pool_extents_of(store), id, &facts);
    if (err)
        err = failed(reader, err);
    if (err == TV_OK && facts.length != length) {
        tv_extents_note_damage(store, id,
                               facts.length == UINT64_MAX ? "it was never finished"
                                                          : "its length is wrong");
        err = TV_ERR_CORRUPT;
    }
    if (err) {
        free(reader);
        return err;
    }
    *ret_reader = reader;
    return TV_OK;
}

void tv_pool_extent_close(tv_extent_reader *reader)
{
    (void)reader;
}
