/*
 * The budget: one counter for all, one for each share.
 *
 * A reservation is added first and looked at then, so that no two threads can
 * both take the last of it; a thread that finds that it was too much takes it
 * back.  Between the two another thread may see too little room and refuse; it
 * would have been refused a moment later anyhow.
 */
#include "base/budget.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/assert.h"

enum {
    NAME_BYTES_MAX = 64,
    LITTLE_CHARGE_BYTES = 256 * 1024, /* a request that holds no more is a small one */
};

struct tv_share {
    tv_budget *budget;
    tv_share *next;
    size_t bytes_max; /* SIZE_MAX when what is free decides */
    atomic_size_t held;
    size_t name_len;
    char name[NAME_BYTES_MAX];
};

struct tv_budget {
    size_t size;
    size_t common; /* without the last eighth */
    size_t charge_max;
    atomic_size_t held;
    _Atomic uint64_t refused;
    tv_share strangers;
    pthread_mutex_t lock; /* guards the list, not the shares */
    tv_share *shares;
};

tv_budget *tv_budget_new(size_t bytes)
{
    tv_budget *budget = tv_calloc(1, sizeof *budget);

    budget->size = bytes;
    budget->common = bytes - bytes / 8;
    budget->charge_max = bytes / 8 * 3;
    budget->strangers.budget = budget;
    budget->strangers.bytes_max = bytes / 16;
    tv_assert(pthread_mutex_init(&budget->lock, NULL) == 0);
    return budget;
}

void tv_budget_free(tv_budget *budget)
{
    if (budget == NULL)
        return;

    tv_assert(atomic_load(&budget->held) == 0);
    while (budget->shares) {
        tv_share *next = budget->shares->next;

        tv_assert(atomic_load(&budget->shares->held) == 0);
        free(budget->shares);
        budget->shares = next;
    }
    pthread_mutex_destroy(&budget->lock);
    free(budget);
}

/* --- shares --- */

tv_share *tv_budget_share(tv_budget *budget, tv_slice name)
{
    tv_assert(name.len <= NAME_BYTES_MAX);
    pthread_mutex_lock(&budget->lock);
    tv_share *share = budget->shares;

    while (share && !tv_slice_eq((tv_slice){share->name, share->name_len}, name))
        share = share->next;
    if (share == NULL) {
        share = tv_calloc(1, sizeof *share);
        share->budget = budget;
        share->bytes_max = SIZE_MAX;
        share->name_len = name.len;
        if (name.len)
            memcpy(share->name, name.data, name.len);
        share->next = budget->shares;
        budget->shares = share;
    }
    pthread_mutex_unlock(&budget->lock);
    return share;
}

tv_share *tv_budget_strangers(tv_budget *budget)
{
    return &budget->strangers;
}

tv_budget_metrics tv_budget_read(const tv_budget *budget)
{
    return (tv_budget_metrics){
        .size = budget->size,
        .held = atomic_load(&budget->held),
        .refused = atomic_load(&budget->refused),
    };
}

static void add(tv_share *share, size_t bytes)
{
    atomic_fetch_add(&share->held, bytes);
    atomic_fetch_add(&share->budget->held, bytes);
}

static void subtract(tv_share *share, size_t bytes)
{
    size_t of_share = atomic_fetch_sub(&share->held, bytes);
    size_t of_all = atomic_fetch_sub(&share->budget->held, bytes);

    tv_assert(of_share >= bytes && of_all >= bytes);
}

/*
 * Whether one charge may hold `charged` of a share that holds `own` when all together
 * hold `all`, each including the others.
 */
static bool is_within(const tv_share *share, size_t charged, size_t own, size_t all)
{
    const tv_budget *budget = share->budget;

    if (own <= TV_BUDGET_LITTLE_BYTES && share->bytes_max == SIZE_MAX)
        return all <= budget->size;
    if (charged <= LITTLE_CHARGE_BYTES && share->bytes_max == SIZE_MAX)
        return all <= budget->size - budget->size / 16;
    if (own > share->bytes_max || all > budget->common)
        return false;
    return share->bytes_max != SIZE_MAX || own / 2 <= budget->common - all;
}

/* --- charges --- */

void tv_charge_init(tv_charge *charge, tv_share *share)
{
    *charge = (tv_charge){.share = share};
}

void tv_charge_done(tv_charge *charge)
{
    if (charge->held)
        subtract(charge->share, charge->held);
    charge->held = charge->used = 0;
}

tv_err tv_charge_reserve(tv_charge *charge, size_t bytes)
{
    tv_share *share = charge->share;
    size_t unused = charge->held - charge->used;

    if (share == NULL || bytes <= unused)
        return TV_OK;

    size_t wanted = bytes - unused;
    bool is_too_much = wanted > share->budget->charge_max ||
                       charge->held > share->budget->charge_max - wanted;

    if (!is_too_much) {
        size_t own = atomic_fetch_add(&share->held, wanted) + wanted;
        size_t all = atomic_fetch_add(&share->budget->held, wanted) + wanted;

        if (is_within(share, charge->held + wanted, own, all)) {
            charge->held += wanted;
            return TV_OK;
        }
        subtract(share, wanted);
    }
    atomic_fetch_add(&share->budget->refused, 1);
    return TV_ERR_OVERLOADED;
}

void tv_charge_trim(tv_charge *charge)
{
    if (charge->held > charge->used)
        subtract(charge->share, charge->held - charge->used);
    charge->held = charge->used;
}

void tv_charge_use(tv_charge *charge, size_t bytes)
{
    if (charge->share == NULL)
        return;

    charge->used += bytes;
    if (charge->used > charge->held) {
        add(charge->share, charge->used - charge->held);
        charge->held = charge->used;
    }
}

void tv_charge_unuse(tv_charge *charge, size_t bytes)
{
    if (charge->share == NULL)
        return;

    tv_assert(charge->used >= bytes);
    charge->used -= bytes;
    charge->held -= bytes;
    subtract(charge->share, bytes);
}

bool tv_charge_is_strangers(const tv_charge *charge)
{
    return charge->share && charge->share == &charge->share->budget->strangers;
}

bool tv_charge_is_over(const tv_charge *charge)
{
    return charge->share && atomic_load(&charge->share->held) > charge->share->bytes_max;
}

void tv_charge_move(tv_charge *charge, tv_share *share)
{
    tv_assert((charge->share == NULL) == (share == NULL) || charge->held == 0);
    if (charge->held && charge->share != share) {
        add(share, charge->held);
        subtract(charge->share, charge->held);
    }
    charge->share = share;
}
