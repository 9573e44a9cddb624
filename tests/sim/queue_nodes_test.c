/*
 * A simulation of one queue on several cluster engines: put, get, update and delete through three
 * nodes, whose instants overtake each other, while another node fences the range.  Who
 * goes on is decided by the seed at each step of each operation, so a seed
 * always gives the same run: TAVOLA_SEED=n repeats the run that printed n, and only that.
 *
 * A node's instant is taken some time before its operation begins, as by a clock that is behind.
 * In the store of every second seed guarded writes may be late.  In all of them:
 *
 *  - a put that begins when another one was acknowledged comes behind it;
 *  - a get that begins when a put was acknowledged, and finds no more messages, has not missed it;
 *  - each message is given out once, and once more after each time that it was let go, and its
 *    dequeue count says how often;
 *  - who holds a message can delete it or let it go;
 *  - in the end the queue counts what was put and not deleted.
 */
#include "base/clock.h"
#include "base/log.h"
#include "check.h"
#include "fake_pool.h"
#include "seed.h"
#include "services/queue/store/queue.h"
#include "store/engine/instant.h"
#include "store/engine/key.h"
#include "store/engine/rados/rados.h"

enum {
    SEEDS = 60,
    NODES = 3,
    ACTORS = 4, /* two of them on one node */
    STEPS = 30,
    FENCES = 4,
    MESSAGES_MAX = ACTORS * STEPS,
    GETS_MAX = ACTORS * STEPS,
    GIVEN_MAX = 16,
    NEVER = 1 << 30,
};

typedef struct node {
    tv_pool *pool;
    tv_engine *engine;
    tv_queue queue;
} node;

/* What clients know of a message.  Events are numbered in the order in which they happened. */
typedef struct message {
    tv_guid id;
    int acked;                /* event: its put was acknowledged */
    int first_get;            /* event: the first get that was given it began; or NEVER */
    int let_go;               /* times */
    bool is_given[GIVEN_MAX]; /* with this dequeue count */
} message;

typedef struct get {
    int began, ended; /* events */
    bool is_short;    /* it found fewer than it was to */
} get;

typedef struct world {
    fake_cluster *cluster;
    node nodes[NODES + 1]; /* the last one fences */
    tv_arena arena;
    tv_slice prefix;
    atomic_bool is_dropped;
    message messages[MESSAGES_MAX];
    get gets[GETS_MAX];
    int message_count, get_count, events, deleted, conflicts;
    tv_queue_place latest; /* of the puts that were acknowledged */
    char failure[200];     /* the first */
} world;

typedef struct actor {
    world *world;
    node *node;
    tv_txn *txn;
    tv_arena arena;
    tv_message held[MESSAGES_MAX];
    int held_count;
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

/* --- what actors do --- */

/* The instant of what comes is this one, whatever others do meanwhile.  Returns the event. */
static int begin(actor *a)
{
    int ms[] = {0, 0, 1, 20, 300, 700};

    tv_txn_begin(a->txn);
    a->node->pool->ops->pause(a->node->pool, ms[fake_random(a->world->cluster, 6)]);
    return ++a->world->events;
}

/* Until nobody was faster.  The event of its end. */
static int do_it(actor *a, tv_update_fn *fn, void *op)
{
    world *w = a->world;
    tv_err err;

    for (;;) {
        err = tv_txn_run(a->txn, w->prefix, fn, op);
        if (err == TV_OK)
            err = tv_txn_commit(a->txn);
        if (err != TV_ERR_CONFLICT)
            break;
        w->conflicts++;
        tv_txn_begin(a->txn);
    }
    if (err)
        note_failure(w, tv_err_name(err));
    return ++w->events;
}

static void put(actor *a)
{
    world *w = a->world;
    tv_queue_put op = {.queue = &a->node->queue, .text = TV_LIT("text"), .ttl_s = -1};

    note_unless(w, tv_queue_put_check(&op) == TV_OK, "a put is refused");
    begin(a);

    tv_queue_place before = w->latest;
    int ended = do_it(a, tv_queue_put_run, &op);
    tv_queue_place place = {op.message.next_visible, op.message.receipt.sequence};

    note_unless(w, tv_queue_place_cmp(place, before) > 0, "a put came before an earlier one");
    if (tv_queue_place_cmp(place, w->latest) > 0)
        w->latest = place;
    w->messages[w->message_count++] =
        (message){.id = op.message.id, .acked = ended, .first_get = NEVER};
}

/* NULL: its put is not acknowledged yet. */
static message *find_message(world *w, const tv_guid *id)
{
    for (int i = 0; i < w->message_count; i++)
        if (memcmp(&w->messages[i].id, id, sizeof *id) == 0)
            return &w->messages[i];
    return NULL;
}

static void take(actor *a, const tv_message *given, int began)
{
    world *w = a->world;
    message *m;

    a->held[a->held_count++] = *given;
    while ((m = find_message(w, &given->id)) == NULL && w->failure[0] == '\0')
        a->node->pool->ops->pause(a->node->pool, 1);
    if (m == NULL)
        return;
    if (began < m->first_get)
        m->first_get = began;
    note_unless(w, given->dequeue_count > 0 && (int)given->dequeue_count <= m->let_go + 1,
                "a message was given out again");
    if (given->dequeue_count < GIVEN_MAX) {
        note_unless(w, !m->is_given[given->dequeue_count], "a dequeue count was given out again");
        m->is_given[given->dequeue_count] = true;
    }
}

static void get_some(actor *a)
{
    world *w = a->world;
    tv_queue_get op = {.queue = &a->node->queue,
                       .arena = &a->arena,
                       .count = 1 + (int64_t)fake_random(w->cluster, 4),
                       .timeout_s = 3600};
    int began = begin(a), ended = do_it(a, tv_queue_get_run, &op);

    w->gets[w->get_count++] = (get){began, ended, op.message_count < (size_t)op.count};
    for (size_t i = 0; i < op.message_count; i++)
        take(a, &op.messages[i], began);
}

static void delete_one(actor *a)
{
    const tv_message *held = &a->held[--a->held_count];
    tv_queue_delete op = {.queue = &a->node->queue, .id = held->id, .receipt = held->receipt};

    begin(a);
    do_it(a, tv_queue_delete_run, &op);
    a->world->deleted++;
}

static void let_go(actor *a)
{
    const tv_message *held = &a->held[--a->held_count];
    tv_queue_update op = {.queue = &a->node->queue, .id = held->id, .receipt = held->receipt};

    if (a->world->failure[0])
        return;
    find_message(a->world, &held->id)->let_go++;
    begin(a);
    do_it(a, tv_queue_update_run, &op);
}

static void act(void *ctx)
{
    actor *a = ctx;

    for (int step = 0; step < STEPS && a->world->failure[0] == '\0'; step++) {
        uint64_t dice = fake_random(a->world->cluster, 10);

        if (dice < 4)
            put(a);
        else if (dice < 8 || a->held_count == 0)
            get_some(a);
        else if (dice < 9)
            delete_one(a);
        else
            let_go(a);
        tv_arena_reset(&a->arena);
    }
}

/*
 * Instants are those of the process: a day later, nothing is left of what the run before this one
 * has made of them.
 */
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
        note_unless(w, n->engine->ops->fence(n->engine, w->prefix, TV_LIT("~")) == TV_OK,
                    "a fence failed");
        n->pool->ops->pause(n->pool, 50);
    }
}

/* --- a run --- */

static void node_start(world *w, node *n)
{
    char text[300] = "";
    tv_rados_options options = {.has_no_keeper = true};

    n->pool = options.pool = fake_client_new(w->cluster);
    if (tv_rados_engine_open(&options, &n->engine, text, sizeof text) != TV_OK)
        CHECK_FAIL("%s", text);
    tv_queue_init(&n->queue, n->engine, w->prefix, &w->is_dropped);
}

static void node_stop(node *n)
{
    tv_queue_done(&n->queue);
    tv_engine_close(n->engine);
    n->pool->ops->close(n->pool);
}

/* No get that found too little has missed what was there before it began. */
static void check_gets(world *w)
{
    for (int g = 0; g < w->get_count; g++) {
        for (int m = 0; m < w->message_count && w->gets[g].is_short; m++) {
            if (w->messages[m].acked < w->gets[g].began)
                note_unless(w, w->messages[m].first_get < w->gets[g].ended,
                            "a get has missed a message");
        }
    }
}

static void run_seed(uint64_t seed, world *w)
{
    static actor actors[ACTORS];
    fake_actor all[ACTORS + 1];
    int64_t count = -1;

    tv_arena_init(&w->arena);
    w->prefix = tv_key_queue(&w->arena, TV_LIT("acct"), 1);
    w->cluster = fake_cluster_new(
        &(fake_options){.seed = seed, .has_short_pages = true, .drops_notices = true});
    for (int i = 0; i <= NODES; i++) {
        node_start(w, &w->nodes[i]);
        if (i == 0)
            CHECK_OK(tv_route_raise_level(w->nodes[0].pool,
                                          seed % 2 ? TV_ROUTE_LEVEL_GUARDED : TV_ROUTE_LEVEL_LATE));
    }
    for (int i = 0; i < ACTORS; i++) {
        node *n = &w->nodes[i % NODES];

        actors[i] = (actor){.world = w, .node = n, .txn = tv_txn_new(n->engine)};
        tv_arena_init(&actors[i].arena);
        all[i] = (fake_actor){act, &actors[i]};
    }
    all[ACTORS] = (fake_actor){fence, w};
    fake_run(w->cluster, &(fake_actor){let_a_day_pass, w}, 1);
    fake_run(w->cluster, all, ACTORS + 1);
    check_gets(w);
    CHECK_OK(tv_queue_count(&w->nodes[0].queue, TV_READ_ANY, &count));
    note_unless(w, w->failure[0] || count == w->message_count - w->deleted, "the count is wrong");
    for (int i = 0; i < ACTORS; i++) {
        tv_txn_free(actors[i].txn);
        tv_arena_done(&actors[i].arena);
    }
    for (int i = 0; i <= NODES; i++)
        node_stop(&w->nodes[i]);
    fake_cluster_free(w->cluster);
    tv_arena_done(&w->arena);
}

TEST(a_queue_keeps_its_order_on_nodes_that_overtake_each_other)
{
    uint64_t first = seed_start();
    int count = seed_given() ? 1 : SEEDS, puts = 0, deletes = 0, conflicts = 0;

    for (int i = 0; i < count; i++) {
        world *w = tv_calloc(1, sizeof *w);
        char failure[sizeof w->failure];

        run_seed(first + (uint64_t)i, w);
        puts += w->message_count;
        deletes += w->deleted;
        conflicts += w->conflicts;
        memcpy(failure, w->failure, sizeof failure);
        free(w);
        if (failure[0])
            CHECK_FAIL("TAVOLA_SEED=%llu: %s", (unsigned long long)first + (unsigned long long)i,
                       failure);
    }
    printf("# %d runs: %d puts, %d deletes, %d conflicts\n", count, puts, deletes, conflicts);
    CHECK(puts > 0 && deletes > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_keeps_its_order_on_nodes_that_overtake_each_other),
    };

    tv_log_set_level(TV_LOG_OFF);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
