/* Accounts and their buckets, and what is asked of them. */
#include "model/targets/targets.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/metrics.h"
#include "model/targets/bucket_table.h"

struct tv_target_account {
    struct tv_target_account *next;
    tv_targets *targets;
    uint64_t hash; /* of its name */
    char *name;
    _Atomic uint32_t rates[TV_TARGET_SCOPES]; /* units a second */
    pthread_mutex_t lock;                     /* of these two */
    tv_bucket requests, units;
};

struct tv_targets {
    tv_target_choices choices;
    tv_target_account *accounts;
    tv_bucket_table *_Atomic buckets; /* when the first account has targets */
    _Atomic uint64_t throttled[TV_TARGET_SCOPES];
};

const char *tv_target_scope_name(tv_target_scope scope)
{
    static const char *const names[] = {
        [TV_TARGET_REQUESTS] = "requests",   [TV_TARGET_ACCOUNT] = "account",
        [TV_TARGET_PARTITION] = "partition", [TV_TARGET_QUEUE] = "queue",
        [TV_TARGET_BLOB] = "blob",           [TV_TARGET_BLOB_BYTES] = "blob-bytes",
    };

    return names[scope];
}

tv_targets *tv_targets_new(tv_target_choices choices)
{
    tv_targets *targets = tv_calloc(1, sizeof *targets);

    targets->choices = choices;
    return targets;
}

const tv_target_choices *tv_target_choices_of(const tv_target_account *account)
{
    return &account->targets->choices;
}

void tv_targets_free(tv_targets *targets)
{
    if (targets == NULL)
        return;
    while (targets->accounts) {
        tv_target_account *next = targets->accounts->next;

        pthread_mutex_destroy(&targets->accounts->lock);
        free(targets->accounts->name);
        free(targets->accounts);
        targets->accounts = next;
    }
    tv_bucket_table_free(atomic_load(&targets->buckets));
    free(targets);
}

static tv_target_account *account_new(tv_targets *targets, tv_slice name)
{
    tv_target_account *account = tv_calloc(1, sizeof *account);

    account->targets = targets;
    account->hash = tv_hash(name);
    account->name = tv_calloc(1, name.len + 1);
    memcpy(account->name, name.data, name.len);
    pthread_mutex_init(&account->lock, NULL);
    account->next = targets->accounts;
    targets->accounts = account;
    if (atomic_load(&targets->buckets) == NULL)
        atomic_store(&targets->buckets, tv_bucket_table_new());
    return account;
}

static void set_rate(tv_target_account *account, tv_target_scope scope, uint32_t rate,
                     uint32_t published)
{
    atomic_store(&account->rates[scope], rate ? rate : published);
}

tv_target_account *tv_targets_account(tv_targets *targets, tv_slice name, tv_target_rates rates)
{
    tv_target_account *account = targets->accounts;

    while (account && !tv_slice_eq(tv_slice_of(account->name), name))
        account = account->next;
    if (account == NULL)
        account = account_new(targets, name);
    set_rate(account, TV_TARGET_REQUESTS, rates.account, TV_TARGET_ACCOUNT_RATE);
    set_rate(account, TV_TARGET_ACCOUNT, rates.account, TV_TARGET_ACCOUNT_RATE);
    set_rate(account, TV_TARGET_PARTITION, rates.partition, TV_TARGET_PARTITION_RATE);
    set_rate(account, TV_TARGET_QUEUE, rates.queue, TV_TARGET_QUEUE_RATE);
    set_rate(account, TV_TARGET_BLOB, rates.blob, TV_TARGET_BLOB_RATE);
    set_rate(account, TV_TARGET_BLOB_BYTES, 0, TV_TARGET_BLOB_BYTES_RATE);
    return account;
}

uint64_t tv_target_hash(const tv_target_account *account, tv_target_scope scope, tv_slice container,
                        tv_slice name)
{
    uint64_t hashes[] = {account->hash, (uint64_t)scope, tv_hash(container), tv_hash(name)};

    return tv_hash((tv_slice){(const char *)hashes, sizeof hashes});
}

static uint64_t rate_of(tv_target_account *account, tv_target_scope scope)
{
    return atomic_load_explicit(&account->rates[scope], memory_order_relaxed);
}

static bool is_of_account(tv_target_scope scope)
{
    return scope == TV_TARGET_REQUESTS || scope == TV_TARGET_ACCOUNT;
}

/* The bucket, locked; NULL when it has none. */
static tv_bucket *lock(tv_target_account *account, tv_target_scope scope, uint64_t hash,
                       int64_t now_ns)
{
    if (!is_of_account(scope))
        return tv_bucket_table_lock(atomic_load(&account->targets->buckets), hash, now_ns);
    pthread_mutex_lock(&account->lock);
    return scope == TV_TARGET_REQUESTS ? &account->requests : &account->units;
}

static void unlock(tv_target_account *account, tv_target_scope scope, uint64_t hash)
{
    if (is_of_account(scope))
        pthread_mutex_unlock(&account->lock);
    else
        tv_bucket_table_unlock(atomic_load(&account->targets->buckets), hash);
}

static bool has_room(tv_target_account *account, const tv_target_ask *ask, int64_t now_ns,
                     tv_throttle *ret_throttle)
{
    tv_bucket *bucket = lock(account, ask->scope, ask->hash, now_ns);
    int64_t wait_ns;

    if (bucket == NULL)
        return true;

    tv_bucket_ask(bucket, ask->units ? ask->units : 1, now_ns);

    bool has = tv_bucket_has_room(bucket, now_ns, &wait_ns);

    if (!has)
        *ret_throttle = (tv_throttle){.scope = ask->scope,
                                      .rate = tv_bucket_rate(bucket, now_ns),
                                      .target = rate_of(account, ask->scope),
                                      .wait_ns = wait_ns};
    unlock(account, ask->scope, ask->hash);
    return has;
}

bool tv_target_admit(tv_target_account *account, const tv_target_ask *asks, size_t count,
                     int64_t now_ns, tv_throttle *ret_throttle)
{
    for (size_t i = 0; i < count; i++) {
        if (!has_room(account, &asks[i], now_ns, ret_throttle)) {
            atomic_fetch_add_explicit(&account->targets->throttled[asks[i].scope], 1,
                                      memory_order_relaxed);
            return false;
        }
    }
    for (size_t i = 0; i < count; i++)
        tv_target_charge(account, asks[i].scope, asks[i].hash, (int64_t)asks[i].units, now_ns);
    return true;
}

void tv_target_charge(tv_target_account *account, tv_target_scope scope, uint64_t hash,
                      int64_t units, int64_t now_ns)
{
    tv_bucket *bucket = units ? lock(account, scope, hash, now_ns) : NULL;

    if (bucket == NULL)
        return;
    tv_bucket_charge(bucket, rate_of(account, scope), units, now_ns);
    unlock(account, scope, hash);
}

void tv_targets_write_metrics(void *ctx, tv_buf *out)
{
    tv_targets *targets = ctx;
    const tv_bucket_table *buckets = atomic_load(&targets->buckets);

    if (buckets == NULL)
        return;
    tv_metric_open(
        out, "throttled_total",
        "Requests refused because they were over a scalability target (--emulate-targets).");
    for (int i = 0; i < TV_TARGET_SCOPES; i++)
        tv_metric_add_of(out, "throttled_total", "scope", tv_target_scope_name((tv_target_scope)i),
                         (double)atomic_load(&targets->throttled[i]));
    tv_metric_add(out, "targets_untracked_total",
                  "Times that a target was not looked at, because too many partitions, queues and "
                  "blobs were busy at once.",
                  (double)tv_bucket_table_untracked(buckets));
}
