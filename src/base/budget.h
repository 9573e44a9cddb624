/*
 * One budget of bytes for everything that a client can make large and that has to
 * wait: bodies that are being gathered, what requests have made of them, writes in
 * the committer's queue, answers that are not sent yet, buffers of uploads and
 * downloads.  What is beyond it is refused with TV_ERR_OVERLOADED before memory is
 * taken, so the server's memory is the budget and a fixed rest, whatever clients do.
 *
 * The budget is divided into shares, one for each account.  A share may hold up to
 * twice what nobody holds: alone, two thirds of the budget; next to another that takes
 * all it can get, two fifths; and something is always left for a third.  The last
 * eighth is for shares that hold little, so that a small request of one account is
 * never refused because of what others hold; of its first half small requests of any
 * share may use what is left.  A charge, which is the part of one request and with it
 * of one connection, is at most three eighths of the budget: of the least one (64 MiB)
 * that is what the largest batch takes, four times its 4 MiB.
 *
 * A charge belongs to the current owner of the request.  An arena or a buffer
 * that is given a charge counts what it takes by itself and gives it back when it is
 * freed (base/arena.h, base/buf.h), so that handlers have nothing to remember; they
 * only ask for room (tv_charge_reserve) before they do what takes much.
 */
#ifndef TV_BASE_BUDGET_H
#define TV_BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

typedef struct tv_budget tv_budget;
typedef struct tv_share tv_share;

/** A share that holds no more than this, what is asked for included, may use the last eighth. */
enum { TV_BUDGET_LITTLE_BYTES = 1024 * 1024 };

tv_budget *tv_budget_new(size_t bytes);

/** Everything must have been given back; that is asserted.  Accepts NULL. */
void tv_budget_free(tv_budget *budget);

/** The share of that name, made when there is none.  It lives as long as the budget.  Any thread.
 */
tv_share *tv_budget_share(tv_budget *budget, tv_slice name);

/**
 * The share of clients that are not authenticated yet: heads of requests before
 * their signature was checked.  A sixteenth of the budget, whatever is free.
 */
tv_share *tv_budget_strangers(tv_budget *budget);

/** For metrics and tests.  Any thread. */
typedef struct tv_budget_metrics {
    size_t size, held;
    uint64_t refused; /* reservations */
} tv_budget_metrics;

tv_budget_metrics tv_budget_read(const tv_budget *budget);

/**
 * What one request has of a share.  All zeros is a charge that counts nothing and
 * refuses nothing.  `held` is what is taken from the share: what is in use, and what
 * is reserved in addition.
 */
typedef struct tv_charge {
    tv_share *share;
    size_t held, used;
} tv_charge;

/** A charge that holds nothing.  `share` may be NULL: then nothing is counted. */
void tv_charge_init(tv_charge *charge, tv_share *share);

/** Give everything back.  The charge holds nothing then and may be used again. */
void tv_charge_done(tv_charge *charge);

/** Make room for `bytes` more than are in use.  TV_ERR_OVERLOADED, and nothing has changed. */
tv_err tv_charge_reserve(tv_charge *charge, size_t bytes) TV_WARN_UNUSED;

/** Give back what is reserved and not in use. */
void tv_charge_trim(tv_charge *charge);

/**
 * `bytes` have been taken: out of what is reserved, and what goes beyond it is added
 * without asking.  For what comes in small pieces after a reservation.
 */
void tv_charge_use(tv_charge *charge, size_t bytes);

/** `bytes` that were in use are free again. */
void tv_charge_unuse(tv_charge *charge, size_t bytes);

/** Whether it is charged to clients that are not authenticated yet. */
bool tv_charge_is_strangers(const tv_charge *charge);

/**
 * Whether its share holds more than it may, of which some was taken without
 * asking.  Only the strangers' share has such a limit.
 */
bool tv_charge_is_over(const tv_charge *charge);

/** What is held goes to another share, without asking: a stranger has authenticated. */
void tv_charge_move(tv_charge *charge, tv_share *share);

#endif
