/*
 * A simulation of several cluster engines on one cluster.
 *
 * Actors on three nodes write to a few partitions that lie in several ranges, each
 * write on the condition of what its author has read; meanwhile another node fences
 * ranges, pools refuse, and nodes die in the middle of a write and come back.  Who
 * goes on is decided by the seed at each step of each operation, so a seed
 * always gives the same run: TAVOLA_SEED=n repeats the run that printed n, and only that.
 *
 * A write makes version n + 1 of its partition out of version n:
 *
 *     v   "n tag stamp"    always
 *     a   "tag"            always
 *     b   "tag"            when n is even; it is deleted otherwise
 *
 * so that the rows tell what happened:
 *
 *  - no read finds rows of two versions together: batches are not torn;
 *  - no two writes are answered TV_OK for the same version, and a version that was
 *    answered is there, as it was written, until the next one: nothing is lost;
 *  - a read or scan that begins after a write was answered finds that version or a later one;
 *  - a scan meets every partition once;
 *  - stamps grow with versions, though the nodes' clocks differ.
 *
 * Beside them, in two partitions, is an entity:
 *
 *     e   "stamp"          put where it is absent, put over, or deleted
 *
 * whose writes may be late in the store of every second seed.  Each is later than all that were
 * there before, also than those that are gone.
 */
#include "base/clock.h"
#include "base/log.h"
#include "check.h"
#include "fake_pool.h"
#include "seed.h"
#include "store/engine/rados/rados.h"

enum {
    SEEDS = 150,
    PARTITIONS = 6,
    ACTORS = 4, /* two of them on one node, which does not die */
    STEPS = 25,
    FENCES = 8,
    VERSIONS_MAX = ACTORS * STEPS * 2,
    TAG_SIZE = 24,
};

static const tv_slice cuts[] = {{"p2", 2}, {"p3", 2}, {"p5", 2}};

typedef struct partition {
    char acked[VERSIONS_MAX][TAG_SIZE]; /* "" for those nobody was told of */
    int latest;                         /* that somebody was told of */
    int64_t entity_stamp;               /* the latest that somebody has seen of its entity */
} partition;

typedef struct world {
    fake_cluster *cluster;
    partition partitions[PARTITIONS];
    bool has_late;
    int writes, conflicts, deaths, unknown, inserts, deletes, late;
    char failure[300]; /* the first */
} world;

typedef struct node {
    world *world;
    tv_pool *pool;
    tv_engine *engine;
    bool is_mortal;
    int64_t skew; /* of its clock, in ticks */
} node;

typedef struct actor {
    node *node;
    int id, turn;
} actor;

static void note_failure(world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note_failure(world *w, const char *format, ...)
{
    va_list args;

    if (w->failure[0])
        return;
    va_start(args, format);
    vsnprintf(w->failure, sizeof w->failure, format, args);
    va_end(args);
}

/* --- nodes --- */

static void node_start(node *n)
{
    char text[300] = "";
    tv_rados_options options = {
        .cuts = cuts, .cut_count = sizeof cuts / sizeof *cuts, .has_no_keeper = true};

    n->pool = options.pool = fake_client_new(n->world->cluster);
    if (tv_rados_engine_open(&options, &n->engine, text, sizeof text) != TV_OK)
        note_failure(n->world, "cannot open: %s", text);
}

static void node_stop(node *n)
{
    tv_engine_close(n->engine);
    n->pool->ops->close(n->pool);
}

/* Start again if it is dead. */
static void node_revive(node *n)
{
    if (!fake_client_is_out(n->pool))
        return;

    n->world->deaths++;
    node_stop(n);
    node_start(n);
}

/* --- what is read --- */

typedef struct version {
    int number; /* 0: there is none yet */
    char tag[TAG_SIZE];
    int64_t stamp;
    tv_slice rows[3]; /* v, a, b */
} version;

static bool text_is(tv_slice value, const char *text)
{
    return value.data && tv_slice_eq(value, tv_slice_of(text));
}

/* Take the rows of a partition for a version, and check that they are of one. */
static void understand(world *w, int which, const tv_slice rows[3], version *ret)
{
    long long stamp = 0;

    *ret = (version){.rows = {rows[0], rows[1], rows[2]}};
    if (rows[0].data == NULL) {
        if (rows[1].data || rows[2].data)
            note_failure(w, "p%d: rows without a version", which);
        return;
    }

    char text[80];

    snprintf(text, sizeof text, "%.*s", TV_FMT(rows[0]));
    if (sscanf(text, "%d %23s %lld", &ret->number, ret->tag, &stamp) != 3)
        note_failure(w, "p%d: cannot read '%s'", which, text);
    ret->stamp = stamp;
    if (!text_is(rows[1], ret->tag) ||
        (ret->number % 2 == 0 ? !text_is(rows[2], ret->tag) : rows[2].data != NULL))
        note_failure(w, "p%d: torn: v '%s' a '%.*s' b '%.*s'", which, text, TV_FMT(rows[1]),
                     TV_FMT(rows[2]));

    const char *acked = w->partitions[which].acked[ret->number];

    if (acked[0] && strcmp(acked, ret->tag) != 0)
        note_failure(w, "p%d: version %d was answered to %s and is %s's", which, ret->number, acked,
                     ret->tag);
}

static tv_slice key_of(tv_arena *arena, int which, char row)
{
    return tv_arena_printf(arena, "p%d\x01%c", which, row);
}

static tv_err read_partition(actor *a, tv_arena *arena, int which, version *ret)
{
    world *w = a->node->world;
    tv_engine *engine = a->node->engine;
    int at_least = w->partitions[which].latest;
    tv_slice keys[3], rows[3];
    tv_err err;

    for (int i = 0; i < 3; i++)
        keys[i] = key_of(arena, which, "vab"[i]);
    err = engine->ops->get_many(engine, keys, 3, arena, rows);
    if (err)
        return err;

    understand(w, which, rows, ret);
    if (ret->number < at_least)
        note_failure(w, "p%d: read version %d after %d was answered", which, ret->number, at_least);
    return TV_OK;
}

/* --- what actors do --- */

static void write_next(actor *a, tv_arena *arena)
{
    static const char names[] = "vab";
    world *w = a->node->world;
    int which = (int)fake_random(w->cluster, PARTITIONS);
    partition *p = &w->partitions[which];
    tv_write_batch batch = {0};
    version old;

    if (read_partition(a, arena, which, &old) != TV_OK)
        return;

    int number = old.number + 1;
    tv_slice tag = tv_arena_printf(arena, "w%d.%d", a->id, ++a->turn);

    int64_t stamp = batch.stamp = tv_clock_ticks() + a->node->skew;
    for (int i = 0; i < 3; i++)
        tv_write_batch_add(
            &batch,
            old.rows[i].data
                ? (tv_change){TV_CHANGE_EXPECT_VALUE, key_of(arena, which, names[i]), old.rows[i]}
                : (tv_change){TV_CHANGE_EXPECT_ABSENT, key_of(arena, which, names[i]), TV_NONE});
    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, key_of(arena, which, 'v'),
                                           tv_arena_printf(arena, "%d %.*s %lld", number,
                                                           TV_FMT(tag), (long long)batch.stamp)});
    tv_write_batch_add(&batch, (tv_change){TV_CHANGE_PUT, key_of(arena, which, 'a'), tag});
    tv_write_batch_add(&batch,
                       number % 2 == 0
                           ? (tv_change){TV_CHANGE_PUT, key_of(arena, which, 'b'), tag}
                           : (tv_change){TV_CHANGE_DELETE, key_of(arena, which, 'b'), TV_NONE});

    tv_err err = tv_engine_write(a->node->engine, &batch);

    tv_write_batch_done(&batch);
    if (err == TV_OK) {
        if (p->acked[number][0])
            note_failure(w, "p%d: version %d was answered twice", which, number);
        if (old.stamp >= stamp)
            note_failure(w, "p%d: stamp %lld is not later than %lld", which, (long long)stamp,
                         (long long)old.stamp);
        snprintf(p->acked[number], TAG_SIZE, "%.*s", TV_FMT(tag));
        p->latest = number > p->latest ? number : p->latest;
        w->writes++;
    } else if (err == TV_ERR_CONFLICT) {
        w->conflicts++;
    } else if (err == TV_ERR_IO) {
        w->unknown++;
    } else if (err != TV_ERR_DISK_FULL) {
        note_failure(w, "p%d: a write failed with %s", which, tv_err_name(err));
    }
}

static int64_t stamp_in(tv_slice value)
{
    char text[32];

    snprintf(text, sizeof text, "%.*s", TV_FMT(value));
    return strtoll(text, NULL, 10);
}

static void see_stamp(partition *p, int64_t stamp)
{
    if (p->entity_stamp < stamp)
        p->entity_stamp = stamp;
}

/* Put the entity of a partition, put it over, or delete it, as services do. */
static void write_entity(actor *a, tv_arena *arena)
{
    world *w = a->node->world;
    int which = (int)fake_random(w->cluster, 2);
    partition *p = &w->partitions[which];
    tv_slice key = key_of(arena, which, 'e'), old;
    int64_t now = tv_clock_ticks() + a->node->skew, had = 0;
    tv_err err = a->node->engine->ops->get_many(a->node->engine, &key, 1, arena, &old);

    if (err)
        return;
    if (old.data)
        see_stamp(p, had = stamp_in(old));

    bool is_delete = old.data && fake_random(w->cluster, 2), is_behind = now < p->entity_stamp;
    int64_t stamp = now > had ? now : had + 1, before = p->entity_stamp;
    tv_write_batch batch = {
        .first_stamp = now, .stamp = stamp, .may_be_late = true, .gone = is_delete ? had : 0};

    tv_write_batch_add(&batch, old.data ? (tv_change){TV_CHANGE_EXPECT_VALUE, key, old}
                                        : (tv_change){TV_CHANGE_EXPECT_ABSENT, key, TV_NONE});
    tv_write_batch_add(&batch, is_delete
                                   ? (tv_change){TV_CHANGE_DELETE, key, TV_NONE}
                                   : (tv_change){TV_CHANGE_PUT, key,
                                                 tv_arena_printf(arena, "%lld", (long long)stamp)});
    err = tv_engine_write(a->node->engine, &batch);
    tv_write_batch_done(&batch);
    if (err)
        return;
    w->deletes += is_delete;
    w->inserts += !is_delete && !old.data;
    w->late += is_behind;
    if (is_delete)
        return;
    if (stamp <= before)
        note_failure(w, "p%d: an entity was put at %lld where there was one of %lld", which,
                     (long long)stamp, (long long)before);
    see_stamp(p, stamp);
}

/* Every partition that has a version is met, once, and is no older than when the scan began. */
static void scan_all(actor *a, tv_arena *arena)
{
    world *w = a->node->world;
    int latest[PARTITIONS], met[PARTITIONS] = {0};
    tv_iter *iter;

    (void)arena;
    for (int i = 0; i < PARTITIONS; i++)
        latest[i] = w->partitions[i].latest;
    if (tv_engine_iter(a->node->engine, TV_LIT("p"), TV_LIT("q"), &iter) != TV_OK)
        return;
    for (tv_iter_seek(iter, TV_LIT("p")); tv_iter_is_valid(iter); tv_iter_next(iter)) {
        tv_slice key = tv_iter_key(iter);
        char value[80];

        if (key.len != 4 || key.data[3] != 'v')
            continue;

        int which = key.data[1] - '0';

        snprintf(value, sizeof value, "%.*s", TV_FMT(tv_iter_value(iter)));
        if (met[which]++)
            note_failure(w, "p%d: met twice by a scan", which);
        if (strtol(value, NULL, 10) < latest[which])
            note_failure(w, "p%d: a scan met '%s' after %d was answered", which, value,
                         latest[which]);
    }
    if (tv_iter_status(iter) == TV_OK) {
        for (int i = 0; i < PARTITIONS; i++) {
            if (latest[i] && !met[i])
                note_failure(w, "p%d: not met by a scan", i);
        }
    }
    tv_iter_free(iter);
}

static void act(void *ctx)
{
    actor *a = ctx;
    world *w = a->node->world;

    for (int step = 0; step < STEPS && !w->failure[0]; step++) {
        version seen;
        tv_arena arena;

        tv_arena_init(&arena);
        if (a->node->is_mortal && fake_random(w->cluster, 8) == 0)
            fake_client_kill_at(a->node->pool, 1 + fake_random(w->cluster, 3),
                                fake_random(w->cluster, 2));
        switch (fake_random(w->cluster, 8)) {
        case 0:
            scan_all(a, &arena);
            break;
        case 1:
            (void)!read_partition(a, &arena, (int)fake_random(w->cluster, PARTITIONS), &seen);
            break;
        case 2:
            fake_refuse_changes(w->cluster, 1, 1,
                                fake_random(w->cluster, 2) ? TV_ERR_DISK_FULL : TV_ERR_IO);
            break;
        case 3:
        case 4:
            write_entity(a, &arena);
            break;
        default:
            write_next(a, &arena);
        }
        tv_arena_done(&arena);
        if (a->node->is_mortal)
            node_revive(a->node);
    }
}

/* New epochs, again and again. */
static void fence(void *ctx)
{
    node *n = ctx;

    for (int i = 0; i < FENCES && !n->world->failure[0]; i++) {
        uint64_t from = fake_random(n->world->cluster, PARTITIONS);
        char keys[2][16];

        snprintf(keys[0], sizeof keys[0], "p%d", (int)from);
        snprintf(keys[1], sizeof keys[1], "p%d", (int)from + 1);
        /* A refusal that somebody asked for may meet it: it is then begun again. */
        while (n->engine->ops->fence(n->engine, tv_slice_of(keys[0]), tv_slice_of(keys[1])))
            n->pool->ops->pause(n->pool, 1);
        n->pool->ops->pause(n->pool, 5);
    }
}

static void check_end(world *w, node *n)
{
    actor reader = {.node = n};
    tv_arena arena;

    tv_arena_init(&arena);
    for (int i = 0; i < PARTITIONS; i++) {
        version last;

        if (read_partition(&reader, &arena, i, &last) != TV_OK)
            note_failure(w, "p%d: cannot be read in the end", i);
    }
    scan_all(&reader, &arena);
    tv_arena_done(&arena);
}

static void run_seed(uint64_t seed, world *w)
{
    node nodes[4];
    actor actors[ACTORS];
    fake_actor all[ACTORS + 1];

    w->cluster = fake_cluster_new(
        &(fake_options){.seed = seed, .has_short_pages = true, .drops_notices = true});
    w->has_late = seed % 2;
    for (int i = 0; i < 4; i++) {
        nodes[i] = (node){
            .world = w,
            .is_mortal = i == 1 || i == 2,
            .skew = (int64_t)fake_random(w->cluster, TV_TICKS_PER_SECOND / (w->has_late ? 2 : 20)),
        };
        node_start(&nodes[i]);
        if (i == 0 && w->has_late && tv_route_raise_level(nodes[0].pool, TV_ROUTE_LEVEL_LATE))
            note_failure(w, "cannot raise the level");
    }
    for (int i = 0; i < ACTORS; i++) {
        actors[i] = (actor){.node = &nodes[i < 3 ? i : 0], .id = i};
        all[i] = (fake_actor){act, &actors[i]};
    }
    all[ACTORS] = (fake_actor){fence, &nodes[3]};
    fake_run(w->cluster, all, ACTORS + 1);
    fake_refuse_changes(w->cluster, 0, 0, TV_OK);
    check_end(w, &nodes[0]);
    for (int i = 0; i < 4; i++)
        node_stop(&nodes[i]);
    fake_cluster_free(w->cluster);
}

TEST(nothing_is_lost_or_torn_whatever_the_order)
{
    uint64_t first = seed_start();
    int count = seed_given() ? 1 : SEEDS;
    world total = {0};

    for (int i = 0; i < count; i++) {
        world *w = tv_calloc(1, sizeof *w);

        run_seed(first + (uint64_t)i, w);
        total.writes += w->writes;
        total.conflicts += w->conflicts;
        total.deaths += w->deaths;
        total.unknown += w->unknown;
        total.inserts += w->inserts;
        total.deletes += w->deletes;
        total.late += w->late;
        snprintf(total.failure, sizeof total.failure, "%s", w->failure);
        free(w);
        if (total.failure[0])
            CHECK_FAIL("TAVOLA_SEED=%llu: %s", (unsigned long long)first + (unsigned long long)i,
                       total.failure);
    }
    printf(
        "# %d runs: %d writes, %d conflicts, %d of unknown outcome, %d deaths; %d inserts and %d "
        "deletes of entities, %d by a clock behind them\n",
        count, total.writes, total.conflicts, total.unknown, total.deaths, total.inserts,
        total.deletes, total.late);
    CHECK(total.writes > 0);
    if (count > 1)
        CHECK(total.conflicts > 0 && total.deaths > 0 && total.unknown > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_or_torn_whatever_the_order),
    };

    tv_log_set_level(TV_LOG_OFF);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
