/* The memory engine as a cluster: ranges, rows that are read in groups. */
#include "base/assert.h"
#include "store/engine/memory/store.h"

/* --- the map --- */

void tv_memory_map_unref(tv_memory_map *map)
{
    if (map == NULL || --map->refs > 0)
        return;

    for (size_t i = 0; i < map->count; i++)
        free((char *)map->ranges[i].start.data);
    free(map);
}

static tv_memory_map *map_new(size_t count)
{
    tv_memory_map *map = tv_calloc(1, sizeof *map + count * sizeof map->ranges[0]);

    map->refs = 1;
    map->count = count;
    return map;
}

static tv_slice copy_of(tv_slice bytes)
{
    char *copy = tv_malloc(bytes.len + 1);

    if (bytes.len)
        memcpy(copy, bytes.data, bytes.len);
    return (tv_slice){copy, bytes.len};
}

static struct tv_memory_range *range_of_key(tv_memory_map *map, tv_slice key)
{
    size_t low = 0, high = map->count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (tv_slice_cmp(map->ranges[middle].start, key) <= 0)
            low = middle;
        else
            high = middle;
    }
    return &map->ranges[low];
}

void tv_memory_map_init(tv_memory_store *store)
{
    store->map = map_new(1);
    store->map->ranges[0].start = copy_of(TV_LIT(""));
    store->map->ranges[0].number = ++store->last_number;
}

/* The clocks of all ranges are carried over: a row may come from any of them. */
void tv_memory_set_cuts(tv_engine *engine, const tv_slice *cuts, size_t count)
{
    tv_memory_store *store = tv_memory_node_of(engine)->store;
    tv_memory_map *map = map_new(count + 1);

    tv_assert(store->has_ranges);
    pthread_mutex_lock(&store->write_lock);
    pthread_mutex_lock(&store->lock);
    for (size_t i = 0; i <= count; i++) {
        tv_slice start = i == 0 ? TV_LIT("") : cuts[i - 1];
        const struct tv_memory_range *old = range_of_key(store->map, start);

        tv_assert(i == 0 || tv_slice_cmp(map->ranges[i - 1].start, start) < 0);
        map->ranges[i].start = copy_of(start);
        map->ranges[i].number = tv_slice_eq(old->start, start) ? old->number : ++store->last_number;
        for (size_t j = 0; j < store->map->count; j++) {
            if (map->ranges[i].clock < store->map->ranges[j].clock)
                map->ranges[i].clock = store->map->ranges[j].clock;
        }
    }
    tv_memory_map_unref(store->map);
    store->map = map;
    pthread_mutex_unlock(&store->lock);
    pthread_mutex_unlock(&store->write_lock);
}

/* After a refusal, or an operation that would have met one: under the lock. */
static void learn_map(tv_memory_node *node)
{
    if (node->map == node->store->map)
        return;

    tv_memory_map_unref(node->map);
    node->map = node->store->map;
    node->map->refs++;
}

tv_err tv_memory_route(tv_memory_node *node, const tv_write_batch *batch,
                       struct tv_memory_range **ret_range)
{
    struct tv_memory_range *range = NULL;

    learn_map(node);
    for (size_t i = 0; i < batch->count; i++) {
        struct tv_memory_range *own = range_of_key(node->store->map, batch->changes[i].key);

        if (range && own != range)
            return TV_ERR_MOVED;
        range = own;
    }
    *ret_range = range;
    return TV_OK;
}

uint64_t tv_memory_range_of(tv_engine *engine, tv_slice partition)
{
    tv_memory_node *node = tv_memory_node_of(engine);

    pthread_mutex_lock(&node->store->lock);
    uint64_t number = range_of_key(node->map, partition)->number;
    pthread_mutex_unlock(&node->store->lock);
    return number;
}

/* --- reads --- */

static tv_err copy_row(const tv_tree *tree, tv_slice key, tv_arena *arena, tv_slice *ret_value)
{
    tv_slice value;
    tv_err err;

    if (!tv_tree_get(tree, key, &value))
        return TV_ERR_NOT_FOUND;

    err = tv_arena_try_dup(arena, value, ret_value);
    if (err == TV_OK && ret_value->data == NULL)
        ret_value->data = ""; /* empty, not absent */
    return err;
}

tv_err tv_memory_get_many(tv_engine *engine, const tv_slice *keys, size_t count, tv_arena *arena,
                          tv_slice *ret_values)
{
    tv_memory_node *node = tv_memory_node_of(engine);
    tv_memory_store *store = node->store;
    const struct tv_memory_range *range = NULL;
    bool is_one = true;
    tv_tree *tree;
    tv_err err;

    err = tv_memory_read_rows(store, &tree);
    if (err)
        return err;

    pthread_mutex_lock(&store->lock);
    learn_map(node);
    for (size_t i = 0; i < count; i++) {
        const struct tv_memory_range *own = range_of_key(store->map, keys[i]);

        is_one = is_one && (range == NULL || own == range);
        range = own;
    }
    pthread_mutex_unlock(&store->lock);
    err = is_one ? TV_OK : TV_ERR_MOVED;
    for (size_t i = 0; err == TV_OK && i < count; i++) {
        err = copy_row(tree, keys[i], arena, &ret_values[i]);
        if (err == TV_ERR_NOT_FOUND) {
            ret_values[i] = TV_NONE;
            err = TV_OK;
        }
    }
    tv_tree_unref(tree);
    return err;
}

void tv_memory_read(tv_engine *engine, tv_engine_read *read)
{
    tv_memory_node *node = tv_memory_node_of(engine);

    read->next = NULL;
    pthread_mutex_lock(&node->reads_lock);
    *node->reads_end = read;
    node->reads_end = &read->next;
    pthread_mutex_unlock(&node->reads_lock);
    pthread_cond_signal(&node->reads_come);
}

/* All that were waiting, in one view. */
static void answer(tv_memory_node *node, tv_engine_read *read)
{
    tv_tree *tree = NULL;
    tv_err err = tv_memory_read_rows(node->store, &tree);

    while (read) {
        tv_engine_read *next = read->next;
        tv_mail_chain chain = {0};

        read->value = TV_NONE;
        read->result = err ? err : copy_row(tree, read->key, read->arena, &read->value);
        tv_mail_chain_add(&chain, &read->mail);
        tv_mailbox_post(read->reply_to, &chain);
        read = next;
    }
    tv_tree_unref(tree);
}

static void *run_reader(void *arg)
{
    tv_memory_node *node = arg;

    pthread_mutex_lock(&node->reads_lock);
    for (;;) {
        while (node->reads == NULL && !node->is_closing)
            pthread_cond_wait(&node->reads_come, &node->reads_lock);
        if (node->reads == NULL)
            break;

        tv_engine_read *reads = node->reads;

        node->reads = NULL;
        node->reads_end = &node->reads;
        pthread_mutex_unlock(&node->reads_lock);
        answer(node, reads);
        pthread_mutex_lock(&node->reads_lock);
    }
    pthread_mutex_unlock(&node->reads_lock);
    return NULL;
}

void tv_memory_node_open(tv_memory_node *node)
{
    node->map = node->store->map;
    node->map->refs++;
    node->reads_end = &node->reads;
    tv_assert(pthread_mutex_init(&node->reads_lock, NULL) == 0);
    tv_assert(pthread_cond_init(&node->reads_come, NULL) == 0);
    tv_assert(pthread_create(&node->reader, NULL, run_reader, node) == 0);
}

void tv_memory_node_close(tv_memory_node *node)
{
    pthread_mutex_lock(&node->reads_lock);
    node->is_closing = true;
    pthread_mutex_unlock(&node->reads_lock);
    pthread_cond_signal(&node->reads_come);
    pthread_join(node->reader, NULL);
    pthread_cond_destroy(&node->reads_come);
    pthread_mutex_destroy(&node->reads_lock);
}
