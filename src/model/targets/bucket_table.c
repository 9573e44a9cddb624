/* Sets of slots, and the locks that they share. */
#include "model/targets/bucket_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/assert.h"

enum { SETS = TV_BUCKET_SLOTS / TV_BUCKET_WAYS, LOCKS = 256 };

typedef struct slot {
    uint64_t hash;
    tv_bucket bucket;
} slot;

struct tv_bucket_table {
    pthread_mutex_t locks[LOCKS]; /* of the sets whose number ends with the lock's */
    _Atomic uint64_t untracked;
    slot sets[SETS][TV_BUCKET_WAYS];
};

tv_bucket_table *tv_bucket_table_new(void)
{
    tv_bucket_table *table = tv_calloc(1, sizeof *table);

    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&table->locks[i], NULL);
    return table;
}

void tv_bucket_table_free(tv_bucket_table *table)
{
    if (table == NULL)
        return;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_destroy(&table->locks[i]);
    free(table);
}

static pthread_mutex_t *lock_of(tv_bucket_table *table, uint64_t hash)
{
    return &table->locks[hash % SETS % LOCKS];
}

tv_bucket *tv_bucket_table_lock(tv_bucket_table *table, uint64_t hash, int64_t now_ns)
{
    slot *set = table->sets[hash % SETS];
    slot *free_slot = NULL;

    pthread_mutex_lock(lock_of(table, hash));
    for (int i = 0; i < TV_BUCKET_WAYS; i++) {
        if (set[i].hash == hash)
            return &set[i].bucket;
        if (free_slot == NULL && tv_bucket_is_empty(&set[i].bucket, now_ns))
            free_slot = &set[i];
    }
    if (free_slot) {
        *free_slot = (slot){.hash = hash};
        return &free_slot->bucket;
    }
    pthread_mutex_unlock(lock_of(table, hash));
    atomic_fetch_add_explicit(&table->untracked, 1, memory_order_relaxed);
    return NULL;
}

void tv_bucket_table_unlock(tv_bucket_table *table, uint64_t hash)
{
    pthread_mutex_unlock(lock_of(table, hash));
}

uint64_t tv_bucket_table_untracked(const tv_bucket_table *table)
{
    return atomic_load_explicit(&table->untracked, memory_order_relaxed);
}
