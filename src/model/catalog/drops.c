/*
 * Drops on an engine that other nodes share: the fence, and who sees to it.
 *
 * A drop removes the name by a write and then fences the rows; until then a node that has not heard
 * of it still writes there.  The node that drops may be slow, or die in between, and the name is
 * free for everybody who looks.  So
 *
 *  (1) the write that drops a container notes its id under its name, and the note goes after the
 *      fence.  There is one at most: a new container of the name is made only when there is none;
 *  (2) a node that finds a note fences before it goes on: whoever wants to make a container of that
 * name, and whoever is about to say that there is none (follow.c).
 *
 * A fence too many does no harm, so a note whose fence is done and which nobody has removed, as
 * by a node that died, is only treated as if it was not.
 */
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/log.h"
#include "base/number.h"
#include "model/catalog/internal.h"
#include "store/engine/mutants.h"

enum { WAIT_SECONDS = 30 }; /* for others that fence; as long as a request may take */

/* --- notes --- */

void tv_catalog_put_unfenced(tv_txn *txn, const tv_catalog *catalog, tv_arena *arena,
                             const tv_container *container)
{
    if (!tv_catalog_is_shared(catalog))
        return;

    tv_txn_put(
        txn,
        tv_key_catalog_unfenced(arena, catalog->kind->space, container->account, container->name),
        tv_arena_printf(arena, "%lld", (long long)container->id));
}

tv_err tv_catalog_check_fenced(tv_txn *txn, const tv_catalog *catalog, tv_arena *arena,
                               tv_slice account, tv_slice name)
{
    tv_slice value;
    tv_err err;

    if (!tv_catalog_is_shared(catalog) || TV_MUTANT(BLIND_CREATE))
        return TV_OK;

    err = tv_txn_get(txn, tv_key_catalog_unfenced(arena, catalog->kind->space, account, name),
                     &value);
    if (err == TV_ERR_NOT_FOUND)
        return TV_OK;
    return err ? err : TV_ERR_WOULD_BLOCK;
}

static tv_err parse_id(tv_slice value, int64_t *ret_id)
{
    return tv_parse_int64(value, ret_id) && tv_catalog_is_id(*ret_id) ? TV_OK : TV_ERR_CORRUPT;
}

tv_err tv_catalog_forget_unfenced(tv_txn *txn, const tv_catalog_kind *kind, tv_arena *arena,
                                  tv_slice account, tv_slice name, int64_t id)
{
    tv_slice key = tv_key_catalog_unfenced(arena, kind->space, account, name), value;
    int64_t noted = 0;
    tv_err err = tv_txn_get(txn, key, &value);

    if (err == TV_OK || err == TV_ERR_NOT_FOUND)
        tv_txn_declare_guarded(txn, key, TV_GUARD_OF_BLOBS); /* no instants are in it */
    if (err == TV_ERR_NOT_FOUND)
        return TV_OK;
    if (err == TV_OK)
        err = parse_id(value, &noted);
    if (err == TV_OK && noted == id)
        tv_txn_delete(txn, key);
    return err;
}

#define DROPPED "dropped"

tv_slice tv_catalog_dropped_value(tv_arena *arena, const tv_catalog *catalog, tv_slice name)
{
    return tv_catalog_is_shared(catalog) ? tv_arena_printf(arena, DROPPED " %.*s", TV_FMT(name))
                                         : TV_LIT(DROPPED);
}

tv_slice tv_catalog_dropped_name(tv_slice value)
{
    return tv_slice_starts_with(value, TV_LIT(DROPPED " ")) ? tv_slice_skip(value, sizeof DROPPED)
                                                            : TV_NONE;
}

/* --- fences --- */

/* What is fenced, for the write that removes its note. */
typedef struct fenced {
    const tv_catalog_kind *kind;
    tv_arena *arena;
    tv_slice account, name;
    int64_t id;
} fenced;

static tv_err forget(tv_txn *txn, void *ctx)
{
    const fenced *what = ctx;

    tv_txn_declare_freeing(txn);
    return tv_catalog_forget_unfenced(txn, what->kind, what->arena, what->account, what->name,
                                      what->id);
}

static void forget_note(tv_catalog *catalog, fenced *what)
{
    tv_write write = {.partition = tv_key_catalog(what->arena, what->kind->space, what->account),
                      .run = forget,
                      .ctx = what};
    tv_slice key =
        tv_key_catalog_unfenced(what->arena, what->kind->space, what->account, what->name);
    tv_waiter waiter;

    write.reads = &key;
    write.read_count = 1;
    tv_waiter_init(&waiter, catalog->pipeline);
    if (tv_waiter_run(&waiter, &write))
        tv_log(TV_LOG_INFO, "drop",
               "account=%.*s id=%lld error=%s note=\"it will be fenced again\"",
               TV_FMT(what->account), (long long)what->id, tv_err_name(write.result));
    tv_waiter_done(&waiter);
}

static tv_err fence(tv_catalog *catalog, fenced *what)
{
    tv_engine *engine = catalog->engine;
    tv_slice rows = what->kind->rows(what->arena, what->account, what->id);
    tv_err err = TV_OK;

    if (engine->ops->fence)
        err = engine->ops->fence(engine, rows, tv_key_after(what->arena, rows));
    if (err == TV_OK)
        forget_note(catalog, what);
    return err;
}

tv_err tv_catalog_fence(tv_catalog *catalog, const tv_container *container)
{
    tv_arena arena;
    tv_err err;

    if (!tv_catalog_is_shared(catalog))
        return TV_OK;

    tv_arena_init(&arena);
    err = fence(catalog, &(fenced){.kind = catalog->kind,
                                   .arena = &arena,
                                   .account = container->account,
                                   .name = container->name,
                                   .id = container->id});
    tv_arena_done(&arena);
    return err;
}

/* Many may want it at once; the others find that the first has done it. */
static tv_err begin_fencing(tv_catalog *catalog)
{
    int64_t until_ns = tv_clock_mono_ns() + WAIT_SECONDS * INT64_C(1000000000);

    if (tv_deadline() && tv_deadline() < until_ns)
        until_ns = tv_deadline();

    struct timespec until = tv_clock_system_time(until_ns);

    return pthread_mutex_clocklock(&catalog->fencing, CLOCK_MONOTONIC, &until) ? TV_ERR_TIMED_OUT
                                                                               : TV_OK;
}

tv_err tv_catalog_finish_drop(tv_catalog *catalog, tv_slice account, tv_slice name)
{
    tv_arena arena;
    tv_slice value;
    tv_err err;

    if (!tv_catalog_is_shared(catalog))
        return TV_OK;
    err = begin_fencing(catalog);
    if (err)
        return err;

    tv_arena_init(&arena);
    fenced what = {.kind = catalog->kind, .arena = &arena, .account = account, .name = name};

    err = tv_engine_get(catalog->engine, TV_READ_ANY,
                        tv_key_catalog_unfenced(&arena, catalog->kind->space, account, name),
                        &arena, &value);
    if (err == TV_OK)
        err = parse_id(value, &what.id);
    if (err == TV_OK)
        err = fence(catalog, &what);
    else if (err == TV_ERR_NOT_FOUND)
        err = TV_OK;
    tv_arena_done(&arena);
    pthread_mutex_unlock(&catalog->fencing);
    return err;
}

tv_err tv_catalog_create_now(tv_catalog_create *create, tv_waiter *waiter)
{
    tv_err err;

    do {
        tv_write write = {0};

        tv_catalog_prepare_create(create, &write);
        err = tv_waiter_run(waiter, &write);
        if (err != TV_ERR_WOULD_BLOCK)
            return err;
        err = tv_catalog_finish_drop(create->catalog, create->account, create->name);
    } while (err == TV_OK);
    return err;
}
