/* What the commit pipeline is to run for each change, over which partition. */
#include "services/queue/writes.h"

static void set_up(tv_write *write, const tv_queue *queue, tv_update_fn *run, void *ctx)
{
    write->partition = queue->prefix;
    write->run = run;
    write->ctx = ctx;
    write->reads = &queue->counts;
    write->read_count = 1;
}

/* Of a change to one message that is there. */
static void set_reads(tv_write *write, tv_queue_reads *reads, tv_queue *queue, const tv_guid *id)
{
    tv_queue_reads_init(reads, queue, id);
    write->reads = reads->keys;
    write->read_count = 2;
}

tv_err tv_queue_prepare_put(tv_queue_put *put, tv_write *write)
{
    tv_err err = tv_queue_put_check(put);

    if (err == TV_OK)
        set_up(write, put->queue, tv_queue_put_run, put);
    return err;
}

static void settle_get(tv_write *write)
{
    tv_queue_get_settle(write->ctx);
}

tv_err tv_queue_prepare_get(tv_queue_get *get, tv_write *write)
{
    tv_err err = tv_queue_get_check(get);

    if (err)
        return err;

    set_up(write, get->queue, tv_queue_get_run, get);
    write->settle = settle_get;
    return TV_OK;
}

tv_err tv_queue_prepare_update(tv_queue_update *update, tv_write *write)
{
    tv_err err = tv_queue_update_check(update);

    if (err)
        return err;

    set_up(write, update->queue, tv_queue_update_run, update);
    set_reads(write, &update->reads, update->queue, &update->id);
    return TV_OK;
}

void tv_queue_prepare_delete(tv_queue_delete *delete_op, tv_write *write)
{
    set_up(write, delete_op->queue, tv_queue_delete_run, delete_op);
    set_reads(write, &delete_op->reads, delete_op->queue, &delete_op->id);
}

void tv_queue_prepare_clear(tv_queue *queue, tv_write *write)
{
    set_up(write, queue, tv_queue_clear_run, queue);
}

static void settle_gc(tv_write *write)
{
    tv_queue_gc_settle(write->ctx);
}

tv_err tv_queue_prepare_gc(tv_queue_gc_step *step, tv_write *write)
{
    tv_err err = tv_queue_gc_drop_cleared(step);

    if (err)
        return err;

    set_up(write, step->queue, tv_queue_gc_run, step);
    write->settle = settle_gc;
    return TV_OK;
}
