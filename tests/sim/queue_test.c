/*
 * A queue against a simple model.
 *
 * Random operations in random groups, with a clock that stands still, creeps and
 * leaps, receipts that are right, stale or another's, and an engine that
 * refuses groups, makes them run again, or breaks off and leaves it unknown
 * what it holds; now and then the store is opened again.  After each group the
 * model does the same in its own simple way, and must agree on every answer.
 * So, among other things:
 *
 *  - no message that was acknowledged is lost, until it is deleted, cleared or
 *    expired, and none comes back after that;
 *  - none is given out twice within its timeout;
 *  - gets and peeks keep the order of visibility and leave no message out;
 *  - a receipt is valid until the next get or update, and then never again;
 *  - the count is never below the truth, and is the truth after a collection;
 *  - the bounds of the indexes hold after every group (see queue/store/bound.h);
 *  - when everything is deleted and collected, no row is left but the counts.
 *
 * TAVOLA_SEED=n repeats the run that printed n.
 */
#include "../engine/fixture.h"
#include "../unit/services/queue/store/store.h"
#include "queue_model.h"
#include "seed.h"
#include "services/queue/store/records.h"

enum { GROUP_MAX = 8, GROUPS = 2000, BURST = 100 };

typedef enum step_kind { PUT, GET, UPDATE, DELETE, CLEAR, GC } step_kind;

/* One write of a group. */
typedef struct step {
    union { /* first, so that the context of a run leads to its step */
        tv_queue_put put;
        tv_queue_get get;
        tv_queue_update update;
        tv_queue_delete delete_op;
        tv_queue_gc_step gc;
    } op;
    step_kind kind;
    tv_write write;
    tv_update_fn *run;
    int64_t now;    /* of the last run */
    tv_err own_err; /* of the last run, whatever became of the group */
} step;

static step *clear_step; /* its context is the queue, so there is at most one in a group */

/* --- an engine with faults --- */

typedef enum fault { NO_FAULT, REFUSE, CONFLICT, BREAK_BEFORE, BREAK_AFTER } fault;

static const tv_engine_ops *real_ops;
static tv_engine_ops faulty_ops;
static fault fault_kind;
static uint64_t fault_writes; /* a bit for each write to come: whether it meets the fault */

static tv_err write_faulty(tv_engine *of, const tv_write_batch *batch)
{
    bool meets_fault = fault_writes & 1;

    fault_writes >>= 1;
    if (!meets_fault || fault_kind == NO_FAULT)
        return real_ops->write(of, batch);

    if (fault_kind == REFUSE)
        return TV_ERR_DISK_FULL;
    if (fault_kind == CONFLICT)
        return TV_ERR_CONFLICT;
    if (fault_kind == BREAK_AFTER)
        CHECK_OK(real_ops->write(of, batch));
    return TV_ERR_IO;
}

static void make_faulty(tv_engine *of)
{
    real_ops = of->ops;
    faulty_ops = *real_ops;
    faulty_ops.write = write_faulty;
    of->ops = &faulty_ops;
}

static void choose_fault(void)
{
    fault_kind = NO_FAULT;
    if (seed_below(8))
        return;

    fault_kind = (fault)seed_below(BREAK_AFTER + 1);
    /* Of a group that was refused, some members may fare better alone.  Nothing is tried again
     * after a break. */
    fault_writes = fault_kind == REFUSE || fault_kind == CONFLICT ? seed_below(1 << 12) | 1 : 1;
}

/* --- steps --- */

static char text_room[GROUP_MAX][TV_MESSAGE_TEXT_BYTES_MAX];
static uint64_t next_text = 1;

/* A text that no other message has: mostly short, sometimes as long as can be. */
static tv_slice random_text(int slot)
{
    static const size_t sizes[] = {8,
                                   8,
                                   20,
                                   100,
                                   TV_MESSAGE_TEXT_INLINE_MAX,
                                   TV_MESSAGE_TEXT_INLINE_MAX + 1,
                                   5000,
                                   TV_MESSAGE_TEXT_BYTES_MAX};
    size_t size = seed_below(4) ? 12 : sizes[seed_below(sizeof sizes / sizeof *sizes)];

    memset(text_room[slot], 'a' + (char)(next_text % 26), size);
    memcpy(text_room[slot], &next_text, sizeof next_text);
    next_text++;
    return (tv_slice){text_room[slot], size};
}

static int64_t random_timeout(void)
{
    switch (seed_below(8)) {
    case 0:
        return TV_MESSAGE_TIMEOUT_S_MAX;
    case 1:
    case 2:
        return 0;
    default:
        return (int64_t)seed_below(20);
    }
}

/* A message to update or delete, mostly one that is there, and a receipt, mostly the right one. */
static void random_target(tv_guid *ret_id, tv_receipt *ret_receipt)
{
    const model_message *m;

    if (model.count == 0 || seed_below(12) == 0) {
        const tv_message *grave = &model.graves[seed_below(GRAVES)];

        *ret_id = seed_below(2) ? grave->id : tv_guid_new();
        *ret_receipt = grave->receipt;
        return;
    }
    m = model.messages[seed_below(model.count)];
    *ret_id = m->message.id;
    *ret_receipt = m->message.receipt;
    if (seed_below(8) == 0)
        *ret_receipt = m->last_receipt;
    else if (seed_below(12) == 0)
        *ret_receipt = model.messages[seed_below(model.count)]->message.receipt;
}

/* Notes what a run saw and said. */
static tv_err run_noting(tv_txn *in, void *ctx)
{
    step *s = ctx == &queue ? clear_step : ctx;
    tv_queue_counts counts;

    CHECK_OK(tv_store_read_counts(in, &queue, &counts));
    s->now = tv_store_now(in, &counts);
    CHECK(s->now - tv_txn_now(in) <= GROUP_MAX); /* ticks, for moves at one instant */
    s->own_err = s->run(in, ctx);
    return s->own_err;
}

static tv_err prepare_put(step *s, int slot)
{
    static const int64_t ttls[] = {-1, -1, 7 * DAY_S, 7 * DAY_S, 3600, 20, 5, 1};
    int64_t ttl_s = ttls[seed_below(sizeof ttls / sizeof *ttls)], timeout_s = random_timeout();

    if (seed_below(2) || (ttl_s != -1 && timeout_s >= ttl_s))
        timeout_s = 0;
    s->op.put = (tv_queue_put){
        .queue = &queue, .text = random_text(slot), .timeout_s = timeout_s, .ttl_s = ttl_s};
    return tv_queue_prepare_put(&s->op.put, &s->write);
}

static tv_err prepare_update(step *s, int slot)
{
    s->op.update = (tv_queue_update){.queue = &queue, .timeout_s = random_timeout()};
    random_target(&s->op.update.id, &s->op.update.receipt);
    if (seed_below(2))
        s->op.update.text = random_text(slot);
    return tv_queue_prepare_update(&s->op.update, &s->write);
}

static void prepare_step(step *s, int slot, bool is_put)
{
    uint64_t dice = is_put ? 0 : seed_below(1000);
    tv_err err = TV_OK;

    *s = (step){.kind = PUT};
    if (dice < 420) {
        err = prepare_put(s, slot);
    } else if (dice < 640) {
        s->kind = GET;
        s->op.get = (tv_queue_get){
            .queue = &queue,
            .arena = &arena,
            .count = seed_below(3) ? 1 : 1 + (int64_t)seed_below(seed_below(4) ? 4 : 32),
            .timeout_s = 1 + (int64_t)seed_below(30)};
        err = tv_queue_prepare_get(&s->op.get, &s->write);
    } else if (dice < 780) {
        s->kind = UPDATE;
        err = prepare_update(s, slot);
    } else if (dice < 970 || (dice >= 998 && clear_step)) {
        s->kind = DELETE;
        s->op.delete_op = (tv_queue_delete){.queue = &queue};
        random_target(&s->op.delete_op.id, &s->op.delete_op.receipt);
        tv_queue_prepare_delete(&s->op.delete_op, &s->write);
    } else if (dice < 998) {
        s->kind = GC;
        s->op.gc = (tv_queue_gc_step){.queue = &queue};
        err = tv_queue_prepare_gc(&s->op.gc, &s->write);
    } else {
        s->kind = CLEAR;
        clear_step = s;
        tv_queue_prepare_clear(&queue, &s->write);
    }
    CHECK_OK(err);
    s->run = s->write.run;
    s->write.run = run_noting;
}

/* --- the model does the same --- */

static void check_same(const tv_message *got, const tv_message *want)
{
    CHECK(memcmp(&got->id, &want->id, sizeof want->id) == 0);
    CHECK_INT(got->inserted, want->inserted);
    CHECK_INT(got->expires, want->expires);
    CHECK_INT(got->next_visible, want->next_visible);
    CHECK_INT(got->receipt.sequence, want->receipt.sequence);
    CHECK(got->receipt.secret == want->receipt.secret);
    CHECK_INT(got->dequeue_count, want->dequeue_count);
    CHECK(tv_slice_eq(got->text, want->text));
}

static void follow_put(const step *s)
{
    const tv_queue_put *op = &s->op.put;
    const tv_message *message = &op->message;

    CHECK(model_find(&message->id) == NULL);
    CHECK_INT(message->inserted, s->now);
    CHECK_INT(message->next_visible, s->now + op->timeout_s * SECOND);
    CHECK_INT(message->expires, op->ttl_s == -1 ? TV_MESSAGE_NEVER : s->now + op->ttl_s * SECOND);
    CHECK_INT(message->dequeue_count, 0);
    CHECK_INT(message->receipt.sequence, model.next_sequence);
    model.next_sequence++;
    model_put(message);
}

/* A get or an update makes a new receipt; `secret` is what it said. */
static void renew_receipt(model_message *m, uint64_t secret)
{
    CHECK(secret != m->message.receipt.secret);
    m->last_receipt = m->message.receipt;
    m->message.receipt.secret = secret;
}

static void follow_get(const step *s)
{
    const tv_queue_get *op = &s->op.get;
    model_message *want[TV_MESSAGES_MAX];
    size_t count = model_visible(s->now, (size_t)op->count, want);

    CHECK_INT(op->message_count, count);
    for (size_t i = 0; i < count; i++) {
        tv_message *m = &want[i]->message;

        renew_receipt(want[i], op->messages[i].receipt.secret);
        m->dequeue_count++;
        m->next_visible = s->now + op->timeout_s * SECOND;
        check_same(&op->messages[i], m);
    }
}

/* What an update or a delete must say. */
static tv_err judge(const tv_guid *id, const tv_receipt *receipt, int64_t now,
                    model_message **ret_message)
{
    model_message *m = model_find(id);

    *ret_message = m;
    if (m == NULL || m->message.expires <= now)
        return TV_ERR_MESSAGE_NOT_FOUND;
    if (m->message.receipt.sequence != receipt->sequence)
        return TV_ERR_POP_RECEIPT_MISMATCH;
    return m->message.receipt.secret == receipt->secret ? TV_OK : TV_ERR_MESSAGE_NOT_FOUND;
}

static void follow_update(const step *s)
{
    const tv_queue_update *op = &s->op.update;
    model_message *m;
    tv_err want = judge(&op->id, &op->receipt, s->now, &m);

    CHECK_ERR(s->own_err, want);
    if (want)
        return;

    renew_receipt(m, op->message.receipt.secret);
    m->message.next_visible = s->now + op->timeout_s * SECOND;
    CHECK_INT(op->message.next_visible, m->message.next_visible);
    if (op->text.data)
        model_set_text(m, op->text);
}

static void follow_delete(const step *s)
{
    model_message *m;
    tv_err want = judge(&s->op.delete_op.id, &s->op.delete_op.receipt, s->now, &m);

    CHECK_ERR(s->own_err, want);
    if (want == TV_OK)
        model_delete(&m->message.id);
}

static void follow(const step *s)
{
    switch (s->kind) {
    case PUT:
        CHECK_OK(s->own_err);
        follow_put(s);
        break;
    case GET:
        CHECK_OK(s->own_err);
        follow_get(s);
        break;
    case UPDATE:
        follow_update(s);
        break;
    case DELETE:
        follow_delete(s);
        break;
    case CLEAR:
        CHECK_OK(s->own_err);
        model_clear();
        break;
    case GC:
        CHECK_OK(s->own_err);
        break;
    }
}

/* Whether what the step did is in the store now. */
static bool has_happened(const step *s)
{
    switch (s->write.result) {
    case TV_ERR_IO:
        return fault_kind == BREAK_AFTER;
    case TV_ERR_DISK_FULL:
    case TV_ERR_CONFLICT:
        return false;
    default:
        CHECK_ERR(s->write.result, s->own_err);
        return true;
    }
}

/* --- the course of a run --- */

typedef tv_engine *reopen_fn(tv_engine *old);

static void check_peek(void)
{
    tv_message got[TV_MESSAGES_MAX];
    model_message *want[TV_MESSAGES_MAX];
    size_t wanted = 1 + seed_below(TV_MESSAGES_MAX), count;

    CHECK_OK(tv_queue_peek(&queue, &arena, (int64_t)wanted, got, &count));
    CHECK_INT(count, model_visible(tv_instant_now(), wanted, want));
    for (size_t i = 0; i < count; i++)
        check_same(&got[i], &want[i]->message);
}

static void check_count(bool is_collected)
{
    int64_t stored = count_messages(), live = 0;

    for (size_t i = 0; i < model.count; i++)
        live += model.messages[i]->message.expires > tv_instant_now();
    CHECK(is_collected ? stored == live : stored >= live);
}

static void move_clock(void)
{
    uint64_t dice = seed_below(60);

    if (dice == 0)
        pass(8 * DAY_S);
    else if (dice == 1)
        pass(400 * DAY_S);
    else if (dice < 10)
        pass(1 + (int64_t)seed_below(30));
    else if (dice < 26)
        pass_ticks((int64_t)seed_below(2 * (uint64_t)SECOND));
    /* Otherwise it stands still, and groups differ by a tick. */
}

/* Run a group of random steps, or of puts alone. */
static void run_group(bool puts_only)
{
    static step steps[GROUP_MAX];
    tv_write *writes[GROUP_MAX];
    size_t count = puts_only ? GROUP_MAX : 1 + seed_below(GROUP_MAX);

    clear_step = NULL;
    for (size_t i = 0; i < count; i++) {
        prepare_step(&steps[i], (int)i, puts_only);
        writes[i] = &steps[i].write;
    }
    choose_fault();
    (void)commit_group(writes, count); /* the writes have their own results */
    for (size_t i = 0; i < count; i++) {
        if (has_happened(&steps[i]))
            follow(&steps[i]);
    }
    fault_kind = NO_FAULT;
}

/*
 * Many messages at once.  Some of them live a few seconds: more than a get
 * removes in passing, and than a step of the gc does.
 */
static void run_burst(void)
{
    for (int i = 0; i < BURST; i++)
        run_group(true);
    pass((int64_t)seed_below(60));
}

/* Open the store again, as by a restart. */
static void open_again(reopen_fn *reopen)
{
    tv_engine *old = store_leave();

    if (reopen) {
        old->ops = real_ops;
        old = reopen(old);
        make_faulty(old);
    }
    store_open(old);
}

/* Get and delete whatever there is; then there must be nothing. */
static void empty_queue(void)
{
    tv_queue_get op;

    pass(8 * DAY_S);
    model_bury_expired(tv_instant_now());
    do {
        CHECK_OK(get_messages(32, 3600, &op));
        for (size_t i = 0; i < op.message_count; i++) {
            CHECK(model_find(&op.messages[i].id) != NULL);
            CHECK_OK(delete_message(&op.messages[i]));
            model_delete(&op.messages[i].id);
        }
    } while (op.message_count);
    CHECK_INT(model.count, 0);
    gc_all();
    check_bounds();
    CHECK_INT(count_messages(), 0);
    CHECK(count_rows() <= 1);
}

static void simulate(tv_engine *over, reopen_fn *reopen, int groups)
{
    size_t most = 0;

    seed_start();
    memset(&model, 0, sizeof model);
    make_faulty(over);
    store_open(over);
    for (int i = 0; i < groups; i++) {
        move_clock();
        if (seed_below(700) == 0)
            run_burst();
        run_group(false);
        if (seed_below(8) == 0)
            model_bury_expired(tv_instant_now());
        check_bounds();
        check_count(false);
        if (seed_below(3) == 0)
            check_peek();
        if (seed_below(40) == 0) {
            gc_all();
            check_count(true);
        }
        if (seed_below(150) == 0)
            open_again(reopen);
        if (seed_below(400) == 0)
            empty_queue();
        if (model.count > most)
            most = model.count;
        tv_arena_reset(&arena);
        queue.prefix = tv_key_queue(&arena, TV_LIT("acct"), 1);
    }
    empty_queue();
    print_message("# at most %zu messages at a time, %lld put\n", most,
                  (long long)model.next_sequence);
    over = store_leave();
    over->ops = real_ops;
    tv_engine_close(over);
}

TEST(a_queue_over_memory_agrees_with_the_model)
{
    simulate(tv_memory_engine_new(NULL), NULL, GROUPS);
}

TEST(a_queue_over_shared_memory_agrees_with_the_model)
{
    simulate(tv_memory_engine_new(&(tv_memory_options){.is_shared = true}), NULL, GROUPS);
}

TEST(a_queue_over_memory_with_ranges_agrees_with_the_model)
{
    simulate(tv_memory_engine_new(&(tv_memory_options){.has_ranges = true, .page_rows = 5}), NULL,
             GROUPS);
}

static char folder[64];

static tv_engine *reopen_rocksdb(tv_engine *old)
{
    tv_engine_close(old);
    return open_rocksdb(folder);
}

TEST(a_queue_over_rocksdb_agrees_with_the_model)
{
    make_folder(folder);
    simulate(open_rocksdb(folder), reopen_rocksdb, GROUPS / 4);
    remove_folder(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_over_memory_agrees_with_the_model),
        cmocka_unit_test(a_queue_over_shared_memory_agrees_with_the_model),
        cmocka_unit_test(a_queue_over_memory_with_ranges_agrees_with_the_model),
        cmocka_unit_test(a_queue_over_rocksdb_agrees_with_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
