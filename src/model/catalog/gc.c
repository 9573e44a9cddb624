/* One thread, one queue of dropped containers. */
#include "model/catalog/gc.h"

#include "base/assert.h"
#include "base/background.h"
#include "base/clock.h"
#include "base/log.h"
#include "model/catalog/internal.h"
#include "store/commit/waiter.h"
#include "store/engine/key.h"

enum {
    RETRY_SECONDS = 10,
    LOOK_MS = 5000, /* on a shared engine: for what other nodes have deleted */
    SOON_MS = 100,  /* after a deletion here: its own fence comes first */
};

/* A dropped container in the queue. */
typedef struct dropped {
    struct dropped *next;
    int64_t id;
    size_t account_len, name_len;
    char text[]; /* both, one behind the other; the name is empty where nobody needs it */
} dropped;

struct tv_catalog_gc {
    tv_catalog *catalog;
    const tv_catalog_kind *kind;
    tv_engine *engine;
    tv_pipeline *pipeline;
    tv_waiter waiter;
    tv_background thread; /* its lock guards what follows */
    dropped *queue, **queue_end;
    /* On a shared engine. */
    const tv_lead *lead; /* NULL: not yet */
    int64_t look_ns;     /* when to look next, by the monotonic clock */
};

/* What is said of a dropped container in the store. */
typedef struct note {
    const tv_catalog_kind *kind;
    tv_arena *arena;
    const dropped *item;
} note;

static tv_slice account_of(const dropped *item)
{
    return (tv_slice){item->text, item->account_len};
}

static tv_slice name_of(const dropped *item)
{
    return (tv_slice){item->text + item->account_len, item->name_len};
}

static tv_err forget_note(tv_txn *txn, void *ctx)
{
    const note *old = ctx;
    const dropped *item = old->item;

    tv_txn_declare_freeing(txn);
    tv_txn_delete(
        txn, tv_key_catalog_dropped_id(old->arena, old->kind->space, account_of(item), item->id));
    return item->name_len ? tv_catalog_forget_unfenced(txn, old->kind, old->arena, account_of(item),
                                                       name_of(item), item->id)
                          : TV_OK;
}

static tv_err drop_rows(tv_catalog_gc *gc, const dropped *item)
{
    const tv_catalog_kind *kind = gc->kind;
    tv_arena arena;
    tv_err err = TV_OK;

    tv_arena_init(&arena);
    note old = {.kind = kind, .arena = &arena, .item = item};
    tv_slice rows = kind->rows(&arena, account_of(item), item->id);
    tv_write write = {.partition = tv_key_catalog(&arena, kind->space, account_of(item)),
                      .run = forget_note,
                      .ctx = &old};

    /* Whoever found it earlier is through, on this node and on all others. */
    tv_pipeline_drain(gc->pipeline);
    if (gc->engine->ops->fence)
        err = gc->engine->ops->fence(gc->engine, rows, tv_key_after(&arena, rows));
    if (err == TV_OK && kind->before_drop)
        err = kind->before_drop(kind->ctx, rows, &gc->thread);
    if (err == TV_OK)
        err = tv_engine_drop_range(gc->engine, rows, tv_key_after(&arena, rows));
    if (err == TV_OK && kind->after_drop)
        kind->after_drop(kind->ctx);
    if (err == TV_OK)
        err = tv_waiter_run(&gc->waiter, &write);
    tv_arena_done(&arena);
    return err;
}

static dropped *dropped_new(tv_slice account, int64_t id, tv_slice name)
{
    dropped *item = tv_malloc(sizeof *item + account.len + name.len);

    item->next = NULL;
    item->id = id;
    item->account_len = account.len;
    item->name_len = name.len;
    memcpy(item->text, account.data, account.len);
    if (name.len)
        memcpy(item->text + account.len, name.data, name.len);
    return item;
}

static void append(tv_catalog_gc *gc, dropped *item)
{
    item->next = NULL;
    tv_background_lock(&gc->thread);
    *gc->queue_end = item;
    gc->queue_end = &item->next;
    tv_background_wake(&gc->thread);
    tv_background_unlock(&gc->thread);
}

/* NULL when it is time to stop. */
static dropped *wait_for_next(tv_catalog_gc *gc)
{
    dropped *next = NULL;

    tv_background_lock(&gc->thread);
    while (gc->queue == NULL && tv_background_wait(&gc->thread, TV_BACKGROUND_NEVER))
        ;
    if (!tv_background_is_stopping(&gc->thread)) {
        next = gc->queue;
        gc->queue = next->next;
        if (gc->queue == NULL)
            gc->queue_end = &gc->queue;
    }
    tv_background_unlock(&gc->thread);
    return next;
}

static void warn(const tv_catalog_gc *gc, const dropped *item, tv_err err)
{
    tv_log(TV_LOG_WARN, "drop",
           "service=%.*s account=%.*s id=%lld error=%s note=\"trying again in %d s\"",
           TV_FMT(tv_service_kind_name(gc->kind->service)), TV_FMT(account_of(item)),
           (long long)item->id, tv_err_name(err), RETRY_SECONDS);
}

/* What a stop leaves in the queue has its note in the catalogue, and the next start finds it. */
static void run_queue(tv_background *thread, void *ctx)
{
    tv_catalog_gc *gc = ctx;
    dropped *next;

    while ((next = wait_for_next(gc))) {
        tv_err err = drop_rows(gc, next);

        if (err == TV_OK || err == TV_ERR_STOPPED) {
            free(next);
            continue;
        }
        warn(gc, next, err);
        append(gc, next);
        tv_background_sleep(thread, RETRY_SECONDS * 1000); /* the disk may recover meanwhile */
    }
}

/* --- on a shared engine --- */

/* The notes of an account, as a list that the caller frees. */
static tv_err find_notes(tv_catalog_gc *gc, tv_slice account, dropped **ret_list)
{
    dropped **end = ret_list;
    tv_arena arena;
    tv_iter *iter;
    tv_err err;

    tv_arena_init(&arena);
    tv_slice prefix = tv_key_catalog_dropped(&arena, gc->kind->space, account);

    err = tv_engine_iter(gc->engine, prefix, tv_key_after(&arena, prefix), &iter);
    if (err == TV_OK) {
        for (tv_iter_seek(iter, prefix); err == TV_OK && tv_iter_is_valid(iter);
             tv_iter_next(iter)) {
            int64_t id;

            err = tv_key_split_dropped(prefix, tv_iter_key(iter), &id);
            if (err == TV_OK) {
                *end = dropped_new(account, id, tv_catalog_dropped_name(tv_iter_value(iter)));
                end = &(*end)->next;
            }
        }
        if (err == TV_OK)
            err = tv_iter_status(iter);
        tv_iter_free(iter);
    }
    tv_arena_done(&arena);
    return err;
}

static bool is_leading(tv_catalog_gc *gc)
{
    tv_background_lock(&gc->thread);
    const tv_lead *lead = gc->lead;
    tv_background_unlock(&gc->thread);
    return lead && tv_lead_is_here(lead) && !tv_background_is_stopping(&gc->thread);
}

/* What cannot be done now keeps its note, and is tried again in the next round. */
static void collect_account(tv_catalog_gc *gc, tv_slice account)
{
    dropped *list = NULL;
    tv_err err = find_notes(gc, account, &list);

    if (err)
        tv_log(TV_LOG_WARN, "drop", "service=%.*s account=%.*s error=%s note=\"trying again\"",
               TV_FMT(tv_service_kind_name(gc->kind->service)), TV_FMT(account), tv_err_name(err));
    while (list) {
        dropped *next = list->next;

        if (is_leading(gc)) {
            err = drop_rows(gc, list);
            if (err && err != TV_ERR_STOPPED)
                warn(gc, list, err);
        }
        free(list);
        list = next;
    }
}

static int64_t after_ms(int ms)
{
    return tv_clock_mono_ns() + ms * INT64_C(1000000);
}

static void run_notes(tv_background *thread, void *ctx)
{
    tv_catalog_gc *gc = ctx;

    for (;;) {
        tv_catalog_account *account = NULL;

        tv_background_lock(thread);
        while (tv_background_wait(thread, gc->look_ns))
            ;
        gc->look_ns = after_ms(LOOK_MS);
        tv_background_unlock(thread);
        if (tv_background_is_stopping(thread))
            return;

        tv_err err = is_leading(gc) ? tv_catalog_find_accounts(gc->catalog) : TV_OK;

        if (err)
            tv_log(TV_LOG_WARN, "drop", "service=%.*s error=%s note=\"trying again\"",
                   TV_FMT(tv_service_kind_name(gc->kind->service)), tv_err_name(err));
        while (is_leading(gc) && (account = tv_catalog_next_account(gc->catalog, account)))
            collect_account(gc, (tv_slice){account->name, account->name_len});
    }
}

void tv_catalog_gc_lead(tv_catalog_gc *gc, const tv_lead *lead)
{
    tv_background_lock(&gc->thread);
    gc->lead = lead;
    gc->look_ns = 0;
    tv_background_wake(&gc->thread);
    tv_background_unlock(&gc->thread);
}

void tv_catalog_gc_look_soon(tv_catalog_gc *gc)
{
    int64_t soon_ns = after_ms(SOON_MS);

    tv_background_lock(&gc->thread);
    if (soon_ns < gc->look_ns)
        gc->look_ns = soon_ns;
    tv_background_wake(&gc->thread);
    tv_background_unlock(&gc->thread);
}

tv_catalog_gc *tv_catalog_gc_new(tv_catalog *catalog, tv_pipeline *pipeline)
{
    tv_catalog_gc *gc = tv_calloc(1, sizeof *gc);
    const tv_catalog_kind *kind = catalog->kind;
    char name[TV_THREAD_NAME_SIZE];

    gc->catalog = catalog;
    gc->kind = kind;
    gc->engine = catalog->engine;
    gc->pipeline = pipeline;
    tv_waiter_init(&gc->waiter, pipeline);
    gc->queue_end = &gc->queue;
    gc->look_ns = after_ms(LOOK_MS);
    snprintf(name, sizeof name, "tv-gc-cat-%.*s", TV_FMT(tv_service_kind_name(kind->service)));
    tv_background_start(
        &gc->thread,
        &(tv_background_options){.name = name,
                                 .gives_way = true,
                                 .run = tv_catalog_is_shared(catalog) ? run_notes : run_queue,
                                 .ctx = gc});
    return gc;
}

void tv_catalog_gc_free(tv_catalog_gc *gc)
{
    if (gc == NULL)
        return;

    tv_background_done(&gc->thread);
    while (gc->queue) {
        dropped *next = gc->queue->next;

        free(gc->queue);
        gc->queue = next;
    }
    tv_waiter_done(&gc->waiter);
    free(gc);
}

void tv_catalog_gc_add(tv_catalog_gc *gc, tv_slice account, int64_t id)
{
    append(gc, dropped_new(account, id, TV_LIT("")));
}
