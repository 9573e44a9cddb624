/* What an operator or a test wants done now: one job at a time, on the balancer's thread. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/cluster/internal.h"

static const char *const names[TV_FORCE_OPS] = {"split", "merge",   "move",
                                                "fence", "collect", "check"};

bool tv_force_op_parse(tv_slice name, tv_force_op *ret_op)
{
    for (int i = 0; i < TV_FORCE_OPS; i++) {
        if (!tv_slice_eq(name, tv_slice_of(names[i])))
            continue;
        *ret_op = (tv_force_op)i;
        return true;
    }
    return false;
}

static bool keep(char to[TV_FORCE_TEXT], tv_slice text)
{
    if (text.len >= TV_FORCE_TEXT)
        return false;
    if (text.len)
        memcpy(to, text.data, text.len);
    to[text.len] = '\0';
    return true;
}

bool tv_balancer_force(tv_balancer *balancer, tv_force_op op, tv_slice range, tv_slice key,
                       uint64_t *ret_job)
{
    tv_force_job *job = &balancer->job;
    bool is_taken = false;

    tv_background_lock(&balancer->thread);
    if ((job->number == 0 || job->is_done) && keep(job->range, range) && keep(job->key, key)) {
        is_taken = job->is_waiting = true;
        job->is_done = false;
        job->op = op;
        *ret_job = ++job->number;
        tv_background_wake(&balancer->thread);
    }
    tv_background_unlock(&balancer->thread);
    return is_taken;
}

/* A key as it was given: coded, or nothing. */
static tv_err decode(tv_arena *arena, const char *coded, tv_slice *ret_key)
{
    tv_slice rest = tv_slice_of(coded);
    tv_err err;

    *ret_key = TV_LIT("");
    if (rest.len == 0)
        return TV_OK;
    err = tv_words_next(&rest, arena, ret_key);
    return err || rest.len ? TV_ERR_OUT_OF_RANGE : TV_OK;
}

/* The middle of a range by its rows. */
static tv_err find_middle(tv_balancer *balancer, tv_slice start, tv_arena *arena, tv_slice *ret_cut)
{
    const tv_growth unknown = {.kind = TV_GROWTH_UNKNOWN};
    tv_routes routes;
    tv_range_shape shape;
    tv_err err;

    err = tv_routes_load(balancer->options.pool, arena, &routes);
    if (err)
        return err;
    err = tv_balancer_measure(balancer, &routes, tv_routes_find(&routes, start), arena, &shape);
    if (err)
        return err;
    return tv_policy_cut_by_size(&shape, &unknown, ret_cut) == TV_POLICY_ALLOWED ? TV_OK
                                                                                 : TV_ERR_NOT_FOUND;
}

static tv_err collect(tv_balancer *balancer)
{
    const tv_range_changer *changer = &balancer->changer;
    tv_range_watch watch = {.count = 0};
    bool is_clean = false;
    tv_err err;

    err = tv_range_recover_old(changer, &watch, 0);
    if (!err)
        err = tv_range_recover_old(changer, &watch, TV_RANGE_INTENT_MS);
    while (!err && !is_clean)
        err = tv_range_clean(changer, &is_clean);
    if (!err)
        err = tv_range_collect(changer, INT64_MAX);
    return err;
}

static tv_err carry_out(tv_balancer *balancer, const tv_force_job *job, tv_arena *arena)
{
    const tv_range_changer *changer = &balancer->changer;
    tv_range_result result = {0};
    tv_slice range, key;
    tv_err err;

    err = decode(arena, job->range, &range);
    if (!err)
        err = decode(arena, job->key, &key);
    if (err)
        return err;
    switch (job->op) {
    case TV_FORCE_SPLIT:
        if (key.len == 0)
            err = find_middle(balancer, range, arena, &key);
        if (err)
            return err;
        err = tv_range_split(changer, key, TV_LIT("forced"), &result);
        tv_balancer_note_change(balancer, true, TV_POLICY_NO_REASON, &result);
        return err;
    case TV_FORCE_MERGE:
        err = tv_range_merge(changer, range, TV_LIT("forced"), &result);
        tv_balancer_note_change(balancer, false, TV_POLICY_NO_REASON, &result);
        return err;
    case TV_FORCE_MOVE:
        return tv_range_set_hint(changer, range, key);
    case TV_FORCE_FENCE:
        return tv_slice_cmp(range, key) < 0 ? tv_range_fence(changer, range, key)
                                            : TV_ERR_OUT_OF_RANGE;
    case TV_FORCE_COLLECT:
        return collect(balancer);
    case TV_FORCE_CHECK:
        return tv_balancer_check(balancer);
    case TV_FORCE_OPS:
        break;
    }
    return TV_ERR_NOT_IMPLEMENTED;
}

void tv_balancer_do_job(tv_balancer *balancer)
{
    static _Thread_local tv_force_job job; /* large, and there is one such thread */
    tv_arena arena;
    tv_err err;

    tv_background_lock(&balancer->thread);
    bool is_waiting = balancer->job.is_waiting;

    balancer->job.is_waiting = false;
    job = balancer->job;
    tv_background_unlock(&balancer->thread);
    if (!is_waiting)
        return;

    tv_arena_init(&arena);
    err = carry_out(balancer, &job, &arena);
    tv_arena_done(&arena);
    tv_log(TV_LOG_INFO, "forced", "op=%s range=\"%s\" key=\"%s\" result=%s", names[job.op],
           job.range, job.key, err ? tv_err_name(err) : "OK");
    tv_background_lock(&balancer->thread);
    balancer->job.err = err;
    balancer->job.is_done = true;
    tv_background_unlock(&balancer->thread);
    tv_balancer_make_status(balancer);
}
