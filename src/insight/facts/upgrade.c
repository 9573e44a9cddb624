/* A store of the format before this one: its tables have no sums yet. */
#include "insight/facts/facts.h"
#include "insight/facts/rows.h"
#include "model/catalog/walk.h"
#include "store/engine/key.h"

typedef struct upgrade {
    tv_write_batch batch;
    tv_arena arena;
    tv_err err;
} upgrade;

static void mark_table(void *ctx, tv_slice account, int64_t id, tv_slice name, bool is_dropped)
{
    upgrade *u = ctx;
    char key[TV_FACTS_ROW_KEY_BYTES_MAX];

    (void)name;
    if (is_dropped)
        return;

    tv_slice prefix = tv_key_table_facts(&u->arena, account, id);
    size_t len = tv_facts_row_key_format(tv_slice_skip(prefix, 1), TV_FACTS_ROW_UNCOUNTED, 0, key);

    tv_write_batch_add(&u->batch,
                       (tv_change){TV_CHANGE_PUT, tv_arena_dup(&u->arena, (tv_slice){key, len}),
                                   TV_FACTS_UNCOUNTED});
}

/* A row that the catalogue cannot read stops the start a moment later, with its name. */
static void ignore_damage(void *ctx, tv_slice account, tv_slice row, const char *what)
{
    upgrade *u = ctx;

    (void)account;
    (void)row;
    (void)what;
    u->err = TV_ERR_CORRUPT;
}

tv_err tv_facts_upgrade(tv_engine *engine)
{
    /* A few bytes for each table.  Where there is room for deletes there is for these: a server
     * that is upgraded on a disk that is nearly full goes on serving reads and deletes. */
    upgrade u = {.batch = {.is_freeing = true}, .err = TV_OK};
    tv_catalog_visitor visitor = {mark_table, ignore_damage, &u};
    tv_slice format;
    tv_err err;

    if (engine->ops->is_shared)
        return TV_OK;

    tv_arena_init(&u.arena);
    err = tv_engine_get(engine, TV_READ_ANY, TV_KEY_FORMAT, &u.arena, &format);
    if (err == TV_OK && tv_slice_eq(format, TV_FORMAT_BEFORE)) {
        err = tv_catalog_walk(engine, TV_SERVICE_TABLE, TV_SPACE_TABLES, &visitor);
        if (err == TV_OK)
            err = u.err;
        if (err == TV_OK) {
            tv_write_batch_add(&u.batch, (tv_change){TV_CHANGE_PUT, TV_KEY_FORMAT, TV_FORMAT});
            err = tv_engine_write(engine, &u.batch);
        }
    }
    tv_write_batch_done(&u.batch);
    tv_arena_done(&u.arena);
    return err == TV_ERR_NOT_FOUND ? TV_OK : err; /* the memory engine has no format */
}
