/*
 * A simulation of a few blobs and a container on several cluster engines: they are put, changed,
 * read, deleted and made again through three nodes, whose instants overtake each other, while
 * another node fences the range and collects garbage.  Who goes on is decided by the seed at each
 * step of each operation, so a seed always gives the same run: TAVOLA_SEED=n repeats the run that
 * printed n, and only that.
 *
 * A node's instant is taken some time before its operation begins, as by a clock that is behind.
 * In the store of every second seed writes of blobs and catalogues may be late, and in every
 * third one nearly all that is removed is left for later.  In all of them:
 *
 *  - ETags and snapshots of a name never come twice, and whoever begins when one was acknowledged
 *    gets a later one, also when the blob was deleted meanwhile and is another one;
 *  - the same holds for the ETags of containers of one name;
 *  - what is read of a blob or a snapshot is what was put as that content, whole;
 *  - a read finds no earlier ETag than what was acknowledged before it began.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "check.h"
#include "fake_pool.h"
#include "model/catalog/internal.h"
#include "seed.h"
#include "services/blob/store/change.h"
#include "services/blob/store/gc.h"
#include "services/blob/store/reader.h"
#include "services/blob/store/row.h"
#include "store/engine/instant.h"
#include "store/engine/key.h"
#include "store/engine/rados/rados.h"

enum {
    SEEDS = 60,
    NODES = 3,
    ACTORS = 4, /* two of them on one node */
    STEPS = 40,
    FENCES = 4,
    COLLECTIONS = 12,
    TURNS = 20,
    BLOBS = 2,
    STAMPS_MAX = ACTORS * STEPS,
    READS_MAX = 4 * ACTORS * STEPS,
    TEXT_MAX = 16,
};

typedef struct node {
    tv_pool *pool;
    tv_engine *engine;
    tv_catalog catalog; /* as much of one as its changes need */
} node;

/* The instants that a name has shown to clients. */
typedef struct history {
    int64_t stamps[STAMPS_MAX];
    int count;
    int64_t latest;
} history;

/* A content, as it was put or read. */
typedef struct content {
    uint64_t id;
    char text[TEXT_MAX];
} content;

typedef struct blob {
    tv_slice partition;
    history stamps; /* ETags and snapshots */
    int64_t etag;   /* the latest that was acknowledged */
    content put[STAMPS_MAX], read[READS_MAX];
    int put_count, read_count;
} blob;

typedef struct world {
    fake_cluster *cluster;
    node nodes[NODES + 1]; /* the last one fences and collects */
    tv_arena arena;
    tv_slice rows;
    atomic_bool is_dropped;
    tv_catalog_kind kind;
    blob blobs[BLOBS];
    history container;
    int64_t container_id; /* of the last one that was acknowledged */
    int texts, deletes, conflicts, snapshots;
    char failure[200]; /* the first */
} world;

typedef struct actor {
    world *world;
    node *node;
    tv_txn *txn;
    tv_arena arena;
    int number;
    char block[BLOBS][TEXT_MAX]; /* what this actor has put as a block */
} actor;

static void note_failure(world *w, const char *text)
{
    if (w->failure[0] == '\0')
        snprintf(w->failure, sizeof w->failure, "%s", text);
}

static void note_unless(world *w, bool is_so, const char *text)
{
    if (!is_so)
        note_failure(w, text);
}

static int below(world *w, int limit)
{
    return (int)fake_random(w->cluster, (uint64_t)limit);
}

/* --- what is known --- */

/* A client was told of this instant, in answer to what it began when `before` was the latest. */
static void note_stamp(world *w, history *h, int64_t stamp, int64_t before)
{
    note_unless(w, stamp > before, "an instant is not later than one of before");
    for (int i = 0; i < h->count; i++)
        note_unless(w, h->stamps[i] != stamp, "an instant came twice");
    h->stamps[h->count++] = stamp;
    if (stamp > h->latest)
        h->latest = stamp;
}

static void note_content(content *list, int *count, uint64_t id, tv_slice text)
{
    content *c = &list[(*count)++];

    c->id = id;
    snprintf(c->text, sizeof c->text, "%.*s", TV_FMT(text));
}

/* --- what actors do --- */

/* The instant of what comes is this one, whatever others do meanwhile, which may be much. */
static void begin(actor *a)
{
    static const int ms[] = {0, 0, 0, 1, 4, 12};
    int pause = ms[below(a->world, 6)], turns = pause ? TURNS : 1;

    tv_txn_begin(a->txn);
    while (turns--)
        a->node->pool->ops->pause(a->node->pool, pause);
}

/* Until nobody was faster: the function's result. */
static tv_err do_it(actor *a, tv_slice partition, tv_update_fn *fn, void *op)
{
    for (;;) {
        tv_err own = tv_txn_run(a->txn, partition, fn, op), err = tv_txn_commit(a->txn);

        if (err == TV_OK)
            return own;
        if (err != TV_ERR_CONFLICT) {
            note_failure(a->world, tv_err_name(err));
            return err;
        }
        a->world->conflicts++;
        tv_txn_begin(a->txn);
    }
}

/* TV_ERR_UNPLANNED: others have changed the blob since a plan was made. */
static void note_unexpected(actor *a, tv_err err)
{
    if (err != TV_ERR_BLOB_NOT_FOUND && err != TV_ERR_SNAPSHOTS_PRESENT &&
        err != TV_ERR_BLOCK_LIST && err != TV_ERR_UNPLANNED)
        note_failure(a->world, tv_err_name(err));
}

static tv_slice new_text(actor *a, char text[TEXT_MAX])
{
    int len = snprintf(text, TEXT_MAX, "text %d", a->world->texts++);

    return (tv_slice){text, (size_t)len};
}

static tv_blob_change change_of(actor *a, const blob *b)
{
    return (tv_blob_change){
        .is_dropped = &a->world->is_dropped, .partition = b->partition, .arena = &a->arena};
}

/* A change that gives the blob a new ETag; with a new content, which is `text`. */
static void change_blob(actor *a, blob *b, tv_update_fn *fn, tv_blob_change *change, tv_slice text)
{
    begin(a);

    int64_t before = b->stamps.latest;
    tv_err err = do_it(a, b->partition, fn, change);

    if (err) {
        note_unexpected(a, err);
        return;
    }
    note_stamp(a->world, &b->stamps, change->etag, before);
    if (change->etag > b->etag)
        b->etag = change->etag;
    if (text.len)
        note_content(b->put, &b->put_count, (uint64_t)change->etag, text);
}

static void put(actor *a, blob *b)
{
    char text[TEXT_MAX];
    tv_slice bytes = new_text(a, text);
    tv_blob_data data = {.bytes = bytes, .length = bytes.len};
    tv_put_blob op = {
        .change = change_of(a, b), .type = TV_BLOB_BLOCK, .data = &data, .data_count = 1};

    change_blob(a, b, tv_put_blob_run, &op.change, bytes);
}

/* Each actor has a block id of its own, of one length. */
static tv_slice block_id(actor *a)
{
    static const char *const ids[ACTORS] = {"AAAA", "BBBB", "CCCC", "DDDD"};

    return tv_slice_of(ids[a->number]);
}

static void put_block(actor *a, blob *b, int number)
{
    char *text = a->block[number];
    tv_slice bytes = new_text(a, text);
    tv_put_block op = {.change = change_of(a, b),
                       .data = {.bytes = bytes, .length = bytes.len, .block_id = block_id(a)}};
    tv_err err;

    begin(a);
    err = do_it(a, b->partition, tv_put_block_run, &op);
    if (err)
        note_failure(a->world, tv_err_name(err));
}

static void put_list(actor *a, blob *b, int number)
{
    tv_block_choice choice = {TV_BLOCK_UNCOMMITTED, block_id(a)};
    tv_put_block_list op = {.change = change_of(a, b), .choices = &choice, .choice_count = 1};

    if (tv_put_block_list_plan(a->node->engine, &op) == TV_OK)
        change_blob(a, b, tv_put_block_list_run, &op.change, tv_slice_of(a->block[number]));
}

static void set_metadata(actor *a, blob *b)
{
    tv_set_blob_metadata op = {.change = change_of(a, b)};

    change_blob(a, b, tv_set_blob_metadata_run, &op.change, TV_LIT(""));
}

static void take_snapshot(actor *a, blob *b)
{
    tv_snapshot_blob op = {.change = change_of(a, b)};

    begin(a);

    int64_t before = b->stamps.latest;
    tv_err err = do_it(a, b->partition, tv_snapshot_blob_run, &op);

    if (err) {
        note_unexpected(a, err);
        return;
    }
    note_stamp(a->world, &b->stamps, op.snapshot, before);
    note_unless(a->world, op.snapshot > op.change.etag, "a snapshot is before its blob");
    a->world->snapshots++;
}

static void delete_blob(actor *a, blob *b)
{
    static const tv_delete_scope scopes[] = {TV_DELETE_WITH_SNAPSHOTS, TV_DELETE_WITH_SNAPSHOTS,
                                             TV_DELETE_BLOB, TV_DELETE_SNAPSHOTS};
    tv_delete_blob op = {.change = change_of(a, b), .scope = scopes[below(a->world, 4)]};
    tv_err err;

    begin(a);
    do {
        err = do_it(a, b->partition, tv_delete_blob_run, &op);
        tv_txn_begin(a->txn);
    } while (err == TV_OK && op.change.is_partial);
    if (err)
        note_unexpected(a, err);
    a->world->deletes += err == TV_OK;
}

/* What a head says must be there, unless the head is another one by now. */
static void read_blob(world *w, tv_engine *engine, tv_arena *arena, blob *b, int64_t snapshot)
{
    int64_t etag = snapshot ? 0 : b->etag;
    tv_blob_head head, again = {0};
    tv_slice bytes;
    tv_err err;

    err = tv_blob_get_head(engine, TV_READ_ANY, b->partition, snapshot, arena, &head);
    if (err) {
        note_unless(w, err == TV_ERR_BLOB_NOT_FOUND, tv_err_name(err));
        return;
    }
    note_unless(w, head.etag >= etag, "a read found an earlier blob");
    note_unless(w, head.piece_count == 1 && head.pieces, "a content is another one");
    if (w->failure[0])
        return;

    err = tv_blob_get_chunk(engine, TV_READ_ANY, b->partition, head.pieces, arena, &bytes);
    if (err == TV_OK) {
        note_content(b->read, &b->read_count, head.content_id, bytes);
        return;
    }
    note_unless(w, err == TV_ERR_NOT_FOUND, tv_err_name(err));
    err = tv_blob_get_head(engine, TV_READ_ANY, b->partition, snapshot, arena, &again);
    note_unless(w, err == TV_ERR_BLOB_NOT_FOUND || again.content_id != head.content_id,
                "data is gone");
}

/* --- the container of one name --- */

static int64_t etag_of(tv_slice attributes)
{
    int64_t etag = 0;

    return tv_parse_int64(attributes, &etag) ? etag : 0;
}

static void decide_create(tv_catalog_create *create, int64_t now)
{
    create->attributes = tv_arena_printf(create->arena, "%lld", (long long)now);
}

static tv_err decide_change(tv_catalog_change *change, int64_t now)
{
    int64_t etag = etag_of(change->attributes);

    change->attributes =
        tv_arena_printf(change->arena, "%lld", (long long)(now > etag ? now : etag + 1));
    return TV_OK;
}

static tv_err decide_delete(tv_catalog_delete *delete_op, tv_slice attributes, int64_t now)
{
    (void)now;
    delete_op->latest = etag_of(attributes);
    return TV_OK;
}

static tv_err forget_unfenced(tv_txn *txn, void *ctx)
{
    actor *a = ctx;

    return tv_catalog_forget_unfenced(txn, &a->world->kind, &a->arena, TV_LIT("acct"), TV_LIT("c"),
                                      a->world->container_id);
}

/* As if its rows had been fenced: a container of that name can be made again. */
static void forget_drop(actor *a, tv_slice partition)
{
    tv_txn_begin(a->txn);
    note_unless(a->world, do_it(a, partition, forget_unfenced, a) == TV_OK, "a note stays");
}

static void create_container(actor *a)
{
    world *w = a->world;
    tv_catalog_create op = {.catalog = &a->node->catalog,
                            .account = TV_LIT("acct"),
                            .name = TV_LIT("c"),
                            .arena = &a->arena,
                            .decide = decide_create};
    tv_write write = {0};

    tv_catalog_prepare_create(&op, &write);
    begin(a);

    int64_t before = w->container.latest;
    tv_err err = do_it(a, write.partition, write.run, write.ctx);
    if (err == TV_OK) {
        note_stamp(w, &w->container, etag_of(op.attributes), before);
        w->container_id = op.id > w->container_id ? op.id : w->container_id;
        return;
    }
    note_unless(w, err == w->kind.exists || err == TV_ERR_WOULD_BLOCK, tv_err_name(err));
    if (err == TV_ERR_WOULD_BLOCK)
        forget_drop(a, write.partition);
}

/* It is changed, or deleted. */
static void change_container(actor *a, bool is_deleted)
{
    world *w = a->world;
    tv_container *container =
        tv_container_new(&w->kind, TV_LIT("acct"), TV_LIT("c"), w->container_id, TV_LIT(""));
    tv_catalog_change change = {.catalog = &a->node->catalog,
                                .container = container,
                                .arena = &a->arena,
                                .decide = decide_change};
    tv_catalog_delete delete_op = {.catalog = &a->node->catalog,
                                   .container = container,
                                   .arena = &a->arena,
                                   .decide = decide_delete};
    tv_write write = {0};

    if (is_deleted)
        tv_catalog_prepare_delete(&delete_op, &write);
    else
        tv_catalog_prepare_change(&change, &write);
    begin(a);

    int64_t before = w->container.latest;
    tv_err err = do_it(a, write.partition, write.run, write.ctx);

    if (err == TV_OK && !is_deleted)
        note_stamp(w, &w->container, etag_of(change.attributes), before);
    note_unless(w, err == TV_OK || err == TV_ERR_NOT_FOUND || err == w->kind.not_found,
                tv_err_name(err));
    if (err == TV_OK && is_deleted)
        forget_drop(a, write.partition);
    tv_container_unref(container);
}

/* --- a run --- */

static void act(void *ctx)
{
    actor *a = ctx;
    world *w = a->world;

    for (int step = 0; step < STEPS && w->failure[0] == '\0'; step++) {
        int number = below(w, BLOBS), dice = below(w, 24);
        blob *b = &w->blobs[number];

        if (dice < 5)
            put(a, b);
        else if (dice < 7)
            put_block(a, b, number);
        else if (dice < 8)
            put_list(a, b, number);
        else if (dice < 9)
            set_metadata(a, b);
        else if (dice < 11)
            take_snapshot(a, b);
        else if (dice < 14)
            delete_blob(a, b);
        else if (dice < 16)
            read_blob(w, a->node->engine, &a->arena, b, 0);
        else if (dice < 20 || w->container_id == 0)
            create_container(a);
        else
            change_container(a, dice < 22);
        tv_arena_reset(&a->arena);
    }
}

/* Instants are those of the process: a day later, nothing is left of the run before this one. */
static void let_a_day_pass(void *ctx)
{
    world *w = ctx;

    while (tv_clock_ticks() < tv_instant_now() + INT64_C(86400) * TV_TICKS_PER_SECOND)
        w->nodes[0].pool->ops->pause(w->nodes[0].pool, 1 << 30);
}

/* New epochs, again and again. */
static void fence(void *ctx)
{
    world *w = ctx;
    node *n = &w->nodes[NODES];

    for (int i = 0; i < FENCES; i++) {
        note_unless(w, n->engine->ops->fence(n->engine, w->rows, TV_LIT("~")) == TV_OK,
                    "a fence failed");
        n->pool->ops->pause(n->pool, 50);
    }
}

/* Much later than it has looked. */
static void collect(void *ctx)
{
    world *w = ctx;
    node *n = &w->nodes[NODES];
    actor a = {.world = w, .node = n, .txn = tv_txn_new(n->engine)};

    tv_arena_init(&a.arena);
    for (int i = 0; i < COLLECTIONS && w->failure[0] == '\0'; i++) {
        const blob *b = &w->blobs[i % BLOBS];
        tv_blob_gc_step step = {.change = change_of(&a, b)};
        tv_blob_garbage garbage;

        note_unless(w, tv_blob_find_garbage(n->engine, b->partition, &a.arena, &garbage) == TV_OK,
                    "garbage is not found");
        n->pool->ops->pause(n->pool, 100);
        step.keys = garbage.keys;
        step.key_count = garbage.key_count;
        begin(&a);
        if (garbage.key_count && w->failure[0] == '\0')
            note_unless(w, do_it(&a, b->partition, tv_blob_gc_run, &step) == TV_OK,
                        "garbage stays");
        tv_arena_reset(&a.arena);
    }
    tv_txn_free(a.txn);
    tv_arena_done(&a.arena);
}

static void node_start(world *w, node *n)
{
    char text[300] = "";
    tv_rados_options options = {.has_no_keeper = true};

    n->pool = options.pool = fake_client_new(w->cluster);
    if (tv_rados_engine_open(&options, &n->engine, text, sizeof text) != TV_OK)
        CHECK_FAIL("%s", text);
    n->catalog.kind = &w->kind;
    n->catalog.engine = n->engine;
    pthread_rwlock_init(&n->catalog.lock, NULL);
}

static void node_stop(node *n)
{
    pthread_rwlock_destroy(&n->catalog.lock);
    tv_engine_close(n->engine);
    n->pool->ops->close(n->pool);
}

/* All that is there can be read, and all that was read is what was put. */
static void check_blob(world *w, blob *b)
{
    tv_engine *engine = w->nodes[0].engine;
    tv_slice from = tv_arena_printf(&w->arena, "%.*sa", TV_FMT(b->partition));
    tv_slice to = tv_key_after(&w->arena, from);
    tv_iter *iter;

    read_blob(w, engine, &w->arena, b, 0);
    CHECK_OK(tv_engine_iter(engine, from, to, &iter));
    for (tv_iter_seek(iter, from); tv_iter_is_valid(iter); tv_iter_next(iter)) {
        int64_t snapshot = 0;

        note_unless(w,
                    tv_blob_snapshot_parse(tv_slice_skip(tv_iter_key(iter), from.len), &snapshot),
                    "a snapshot has no time");
        if (b->read_count < READS_MAX)
            read_blob(w, engine, &w->arena, b, snapshot);
    }
    CHECK_OK(tv_iter_status(iter));
    tv_iter_free(iter);
    for (int i = 0; i < b->read_count; i++) {
        int at = 0;

        while (at < b->put_count && b->put[at].id != b->read[i].id)
            at++;
        note_unless(w, at < b->put_count, "what was read was never put");
        if (at < b->put_count)
            note_unless(w, strcmp(b->put[at].text, b->read[i].text) == 0,
                        "what was read is something else");
    }
}

static void run_seed(uint64_t seed, world *w)
{
    static actor actors[ACTORS];
    fake_actor all[ACTORS + 2];

    tv_arena_init(&w->arena);
    w->kind = (tv_catalog_kind){.service = TV_SERVICE_BLOB,
                                .space = TV_SPACE_CONTAINERS,
                                .rows = tv_key_container,
                                .exists = TV_ERR_CONTAINER_EXISTS,
                                .not_found = TV_ERR_CONTAINER_NOT_FOUND};
    w->rows = tv_key_container(&w->arena, TV_LIT("acct"), 1);
    for (int i = 0; i < BLOBS; i++)
        CHECK_OK(tv_key_blob(&w->arena, w->rows, tv_arena_printf(&w->arena, "b%d", i),
                             &w->blobs[i].partition));
    tv_blob_at_once_max = seed / 2 % 3 ? 1024 : 4;
    w->cluster = fake_cluster_new(
        &(fake_options){.seed = seed, .has_short_pages = true, .drops_notices = true});
    for (int i = 0; i <= NODES; i++) {
        node_start(w, &w->nodes[i]);
        if (i == 0)
            CHECK_OK(tv_route_raise_level(w->nodes[0].pool, seed % 2 ? TV_ROUTE_LEVEL_GUARDED_BLOBS
                                                                     : TV_ROUTE_LEVEL_GUARDED));
    }
    for (int i = 0; i < ACTORS; i++) {
        node *n = &w->nodes[i % NODES];

        actors[i] = (actor){.world = w, .node = n, .txn = tv_txn_new(n->engine), .number = i};
        tv_arena_init(&actors[i].arena);
        all[i] = (fake_actor){act, &actors[i]};
    }
    all[ACTORS] = (fake_actor){fence, w};
    all[ACTORS + 1] = (fake_actor){collect, w};
    fake_run(w->cluster, &(fake_actor){let_a_day_pass, w}, 1);
    fake_run(w->cluster, all, ACTORS + 2);
    for (int i = 0; i < BLOBS && w->failure[0] == '\0'; i++)
        check_blob(w, &w->blobs[i]);
    for (int i = 0; i < ACTORS; i++) {
        tv_txn_free(actors[i].txn);
        tv_arena_done(&actors[i].arena);
    }
    for (int i = 0; i <= NODES; i++)
        node_stop(&w->nodes[i]);
    fake_cluster_free(w->cluster);
    tv_arena_done(&w->arena);
}

TEST(blobs_and_containers_keep_their_order_on_nodes_that_overtake_each_other)
{
    uint64_t first = seed_start();
    int count = seed_given() ? 1 : SEEDS, stamps = 0, deletes = 0, snapshots = 0, conflicts = 0;

    for (int i = 0; i < count; i++) {
        world *w = tv_calloc(1, sizeof *w);
        char failure[sizeof w->failure];

        run_seed(first + (uint64_t)i, w);
        for (int b = 0; b < BLOBS; b++)
            stamps += w->blobs[b].stamps.count;
        deletes += w->deletes;
        snapshots += w->snapshots;
        conflicts += w->conflicts;
        memcpy(failure, w->failure, sizeof failure);
        free(w);
        if (failure[0])
            CHECK_FAIL("TAVOLA_SEED=%llu: %s", (unsigned long long)first + (unsigned long long)i,
                       failure);
    }
    printf("# %d runs: %d ETags and snapshots (%d), %d deletes, %d conflicts\n", count, stamps,
           snapshots, deletes, conflicts);
    CHECK(stamps > 0 && deletes > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blobs_and_containers_keep_their_order_on_nodes_that_overtake_each_other),
    };

    tv_log_set_level(TV_LOG_OFF);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
