/* Keep a message hidden. */
#include "client/patterns/keeper.h"

#include "base/clock.h"
#include "client/client.h"

enum {
    HIDDEN_MAX_S = 7 * 24 * 3600,
    STOP_MS = 2000, /* the most that an extension may take yet when the keeper is stopped */
};

static const int64_t ns_per_ms = 1000 * 1000;
static int64_t test_pause_ms; /* 0: none */

void tvc_keeper_set_pause_ms(int64_t pause_ms)
{
    test_pause_ms = pause_ms;
}

uint32_t tvc_hidden_seconds(uint32_t hidden_s)
{
    if (hidden_s == 0)
        return TVC_HIDDEN_DEFAULT_S;
    return hidden_s < HIDDEN_MAX_S ? hidden_s : HIDDEN_MAX_S;
}

int64_t tvc_keeper_pause_ms(uint32_t hidden_s, tavola_err err)
{
    int64_t third_ms = test_pause_ms ? test_pause_ms : (int64_t)hidden_s * 1000 / 3;

    return err ? third_ms / 4 : third_ms;
}

/*
 * Whether the message may still be ours after an extension that failed.  One whose answer was lost
 * has brought a new receipt if it was made; then the service refuses what comes next with the old.
 */
static bool may_be_ours(tavola_err err)
{
    return err == TAVOLA_ERR_BUSY || err == TAVOLA_ERR_SERVER || err == TAVOLA_ERR_NETWORK ||
           err == TAVOLA_ERR_TIMEOUT || err == TAVOLA_ERR_UNKNOWN_OUTCOME ||
           err == TAVOLA_ERR_CANCELLED || err == TAVOLA_ERR_NO_MEMORY;
}

/* When the next extension begins, on the client's thread. */
static int64_t plan_next(tvc_keeper *keeper, tavola_err err)
{
    int64_t begin_ns = tv_clock_mono_ns() + tvc_keeper_pause_ms(keeper->hidden_s, err) * ns_per_ms;

    tvc_message_update_again(keeper->op, keeper->message, keeper->hidden_s, begin_ns);
    return begin_ns;
}

static int64_t go_on(tavola_op *op, tavola_err err)
{
    tvc_keeper *keeper =
        (tvc_keeper *)(void *)((char *)op->user_data - offsetof(tvc_keeper, update));

    err = tvc_message_update_err(op, err);
    if (err == TAVOLA_OK)
        tvc_message_take_update(keeper->message, &keeper->update);
    else if (!may_be_ours(err))
        atomic_store(&keeper->is_lost, true);
    if (atomic_load(&keeper->is_over))
        return 0;
    if (err)
        tvc_client_log(op->client, TAVOLA_LOG_WARN, "a message is not kept hidden: %s, %s%s",
                       tavola_err_name(err), op->call->message,
                       keeper->is_lost ? "; others may see it now" : "; it is tried again");
    return keeper->is_lost ? 0 : plan_next(keeper, err);
}

tavola_err tvc_keeper_start(tvc_keeper *keeper, tavola_queue *queue, tavola_message *message,
                            uint32_t hidden_s)
{
    *keeper = (tvc_keeper){.message = message, .hidden_s = hidden_s};

    tavola_op *op = tvc_message_update_op(queue, message, NULL, hidden_s, NULL, &keeper->update);

    if (op == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    /* The next is due when this one would be over; one that fails is made again by ourselves. */
    tavola_call_set_timeout_ms(op->call, hidden_s * 1000 / 3 + 1);
    op->call->retry_max = 0;
    op->repeat = go_on;
    keeper->op = op;
    op->begin_ns = plan_next(keeper, TAVOLA_OK);

    tavola_err err = tvc_op_start(op, NULL, NULL);

    if (err) {
        tavola_op_free(op);
        keeper->op = NULL;
    }
    return err;
}

bool tvc_keeper_is_lost(const tvc_keeper *keeper)
{
    return atomic_load(&keeper->is_lost);
}

bool tvc_keeper_stop(tvc_keeper *keeper)
{
    atomic_store(&keeper->is_over, true);
    tvc_op_end_at(keeper->op, tv_clock_mono_ns() + STOP_MS * ns_per_ms);

    (void)tvc_op_await(keeper->op, NULL);
    tavola_op_free(keeper->op);
    return !atomic_load(&keeper->is_lost);
}
