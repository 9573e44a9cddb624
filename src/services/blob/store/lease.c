/*
 * What each lease operation does, by state; A is the lease's own id:
 *
 *                 available    leased         breaking        broken         expired
 *     acquire A   leased       leased         BREAKING        leased         leased
 *     acquire     leased       PRESENT        PRESENT         leased         leased
 *     renew A     MISMATCH     leased         BROKEN          BROKEN         leased
 *     change A    NOT_PRESENT  leased, new    BREAKING        NOT_PRESENT    NOT_PRESENT
 *     release A   MISMATCH     available      available       available      available
 *     break       NOT_PRESENT  breaking or    breaking or     broken         broken
 *                              broken         broken
 *
 * Renew, change and release with another id are MISMATCH, except that a change
 * to the id that the lease already has succeeds.
 */
#include "services/blob/store/lease.h"

#include "base/assert.h"
#include "base/clock.h"

static bool is_same(const tv_guid *a, const tv_guid *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

static bool is_locked(tv_lease_state state)
{
    return state == TV_LEASE_LEASED || state == TV_LEASE_BREAKING;
}

tv_lease_state tv_lease_state_at(const tv_lease *lease, int64_t now)
{
    if (lease->state == TV_LEASE_LEASED && lease->duration_s != TV_LEASE_INFINITE &&
        now >= lease->until)
        return TV_LEASE_EXPIRED;
    if (lease->state == TV_LEASE_BREAKING && now >= lease->until)
        return TV_LEASE_BROKEN;
    return lease->state;
}

tv_slice tv_lease_state_text(tv_lease_state state)
{
    static const char *const texts[] = {
        [TV_LEASE_AVAILABLE] = "available", [TV_LEASE_LEASED] = "leased",
        [TV_LEASE_EXPIRED] = "expired",     [TV_LEASE_BREAKING] = "breaking",
        [TV_LEASE_BROKEN] = "broken",
    };

    return tv_slice_of(texts[state]);
}

tv_slice tv_lease_status_text(tv_lease_state state)
{
    return is_locked(state) ? TV_LIT("locked") : TV_LIT("unlocked");
}

/* Give the lease out, or begin its time again. */
static void start(tv_lease *lease, tv_guid id, int32_t duration_s, int64_t now)
{
    tv_assert(duration_s == TV_LEASE_INFINITE ||
              (duration_s >= TV_LEASE_SECONDS_MIN && duration_s <= TV_LEASE_SECONDS_MAX));
    *lease = (tv_lease){.state = TV_LEASE_LEASED, .id = id, .duration_s = duration_s};
    if (duration_s != TV_LEASE_INFINITE)
        lease->until = now + duration_s * TV_TICKS_PER_SECOND;
}

static tv_err acquire(tv_lease *lease, const tv_lease_request *request, int64_t now)
{
    tv_lease_state state = tv_lease_state_at(lease, now);

    if (is_locked(state)) {
        if (!request->has_proposed || !is_same(&lease->id, &request->proposed))
            return TV_ERR_LEASE_PRESENT;
        if (state == TV_LEASE_BREAKING)
            return TV_ERR_LEASE_BREAKING_ACQUIRE;
    }
    start(lease, request->proposed, request->duration_s, now);
    return TV_OK;
}

static tv_err renew(tv_lease *lease, const tv_lease_request *request, int64_t now)
{
    tv_lease_state state = tv_lease_state_at(lease, now);

    if (state == TV_LEASE_AVAILABLE || !is_same(&lease->id, &request->id))
        return TV_ERR_LEASE_OP_ID_MISMATCH;
    if (state == TV_LEASE_BREAKING || state == TV_LEASE_BROKEN)
        return TV_ERR_LEASE_BROKEN_RENEW;

    start(lease, lease->id, lease->duration_s, now);
    return TV_OK;
}

static tv_err change(tv_lease *lease, const tv_lease_request *request, int64_t now)
{
    tv_lease_state state = tv_lease_state_at(lease, now);

    if (!is_locked(state))
        return TV_ERR_LEASE_OP_NOT_PRESENT;
    if (!is_same(&lease->id, &request->id) && !is_same(&lease->id, &request->proposed))
        return TV_ERR_LEASE_OP_ID_MISMATCH;
    if (state == TV_LEASE_BREAKING)
        return TV_ERR_LEASE_BREAKING_CHANGE;

    lease->id = request->proposed;
    return TV_OK;
}

static tv_err release(tv_lease *lease, const tv_lease_request *request)
{
    if (lease->state == TV_LEASE_AVAILABLE || !is_same(&lease->id, &request->id))
        return TV_ERR_LEASE_OP_ID_MISMATCH;

    *lease = (tv_lease){.state = TV_LEASE_AVAILABLE};
    return TV_OK;
}

/* Whole seconds, the last one begun counted. */
static int32_t seconds_until(int64_t until, int64_t now)
{
    return (int32_t)((until - now + TV_TICKS_PER_SECOND - 1) / TV_TICKS_PER_SECOND);
}

/*
 * A fixed lease breaks when it would have ended, or sooner if asked; an infinite
 * one when asked, else at once.  A second break can only shorten the first.
 */
static tv_err break_lease(tv_lease *lease, const tv_lease_request *request, int64_t now,
                          int32_t *ret_seconds)
{
    tv_lease_state state = tv_lease_state_at(lease, now);
    bool has_period = request->break_period_s != TV_LEASE_NO_PERIOD;
    int64_t until = now + (has_period ? request->break_period_s * TV_TICKS_PER_SECOND : 0);

    tv_assert(request->break_period_s >= TV_LEASE_NO_PERIOD &&
              request->break_period_s <= TV_LEASE_SECONDS_MAX);
    if (state == TV_LEASE_AVAILABLE)
        return TV_ERR_LEASE_OP_NOT_PRESENT;

    if (!is_locked(state))
        until = now;
    else if (state == TV_LEASE_BREAKING || lease->duration_s != TV_LEASE_INFINITE)
        until = !has_period || lease->until < until ? lease->until : until;

    lease->state = until > now ? TV_LEASE_BREAKING : TV_LEASE_BROKEN;
    lease->duration_s = 0;
    lease->until = until;
    *ret_seconds = seconds_until(until, now);
    return TV_OK;
}

tv_err tv_lease_apply(tv_lease *lease, const tv_lease_request *request, int64_t now,
                      int32_t *ret_seconds)
{
    *ret_seconds = 0;
    switch (request->action) {
    case TV_LEASE_ACQUIRE:
        return acquire(lease, request, now);
    case TV_LEASE_RENEW:
        return renew(lease, request, now);
    case TV_LEASE_CHANGE:
        return change(lease, request, now);
    case TV_LEASE_RELEASE:
        return release(lease, request);
    case TV_LEASE_BREAK:
        return break_lease(lease, request, now, ret_seconds);
    }
    tv_assert(!"a lease action");
    return TV_ERR_CORRUPT;
}

tv_err tv_lease_check_read(const tv_lease *lease, const tv_guid *id, int64_t now)
{
    if (id == NULL)
        return TV_OK;
    if (lease->state == TV_LEASE_AVAILABLE)
        return TV_ERR_LEASE_NOT_PRESENT;
    if (!is_same(&lease->id, id))
        return TV_ERR_LEASE_ID_MISMATCH;
    return is_locked(tv_lease_state_at(lease, now)) ? TV_OK : TV_ERR_LEASE_LOST;
}

tv_err tv_lease_check_write(const tv_lease *lease, const tv_guid *id, int64_t now)
{
    if (id == NULL && is_locked(tv_lease_state_at(lease, now)))
        return TV_ERR_LEASE_ID_MISSING;
    return tv_lease_check_read(lease, id, now);
}

void tv_lease_note_write(tv_lease *lease, int64_t now)
{
    if (!is_locked(tv_lease_state_at(lease, now)))
        *lease = (tv_lease){.state = TV_LEASE_AVAILABLE};
}

tv_err tv_lease_error_for_container(tv_err err)
{
    switch (err) {
    case TV_ERR_LEASE_ID_MISSING:
        return TV_ERR_CONTAINER_LEASE_ID_MISSING;
    case TV_ERR_LEASE_ID_MISMATCH:
        return TV_ERR_CONTAINER_LEASE_ID_MISMATCH;
    case TV_ERR_LEASE_NOT_PRESENT:
        return TV_ERR_CONTAINER_LEASE_NOT_PRESENT;
    case TV_ERR_LEASE_LOST:
        return TV_ERR_CONTAINER_LEASE_LOST;
    case TV_ERR_LEASE_OP_ID_MISMATCH:
        return TV_ERR_CONTAINER_LEASE_OP_ID_MISMATCH;
    case TV_ERR_LEASE_OP_NOT_PRESENT:
        return TV_ERR_CONTAINER_LEASE_OP_NOT_PRESENT;
    default:
        return err;
    }
}
