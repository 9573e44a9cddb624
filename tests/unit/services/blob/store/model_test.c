/*
 * Random changes next to a simple model: contents as lists of data, blocks and
 * snapshots as arrays.  After every group of changes the store must return the
 * same contents, ETags, blocks and snapshots, and the extents that rows refer to
 * and those reported as garbage must be all that were ever given, none in both.
 * How much a change does at once varies; what it leaves is found at one time and
 * removed at another, after more changes.
 */
#include "blobs.h"
#include "random.h"

enum {
    BLOBS = 3,
    PIECES_MAX = 24,
    BLOCKS_MAX = 12,
    SNAPSHOTS_MAX = 5,
    DATA_MAX = 65536,
    DATA_LEN_MAX = 20,
    ROUNDS = 4000
};

/* Data that was given once: bytes in a row, or an extent that has them. */
typedef struct datum {
    char bytes[DATA_LEN_MAX];
    size_t len;
    bool is_extent;
    enum { UNUSED, GIVEN, GARBAGE, REFUSED } fate; /* of an extent */
    bool is_marked;
} datum;

typedef struct part {
    int datum;
    int block; /* number of its block id, -1 for none */
} part;

typedef struct content {
    part parts[PIECES_MAX];
    int count;
} content;

typedef struct snapshot {
    int64_t ticks, etag;
    content content;
} snapshot;

typedef struct model {
    bool exists;
    tv_blob_type type;
    int64_t etag;
    content content;
    int blocks[BLOCKS_MAX]; /* datum of the uncommitted block with this id, -1 for none */
    snapshot snapshots[SNAPSHOTS_MAX];
    int snapshot_count;
} model;

static const char *const names[BLOBS] = {"a", "a/b", "c"};
static const char *const block_ids[BLOCKS_MAX] = {
    "MDA=", "MDE=", "MDI=", "MDM=", "MDQ=", "MDU=", "MDY=", "MDc=", "MDg=", "MDk=", "MTA=", "MTE="};
static model models[BLOBS];
static datum *data;
static int data_count;
static int planned_count, unplanned_count, step_count, gc_count;

static int below(int limit)
{
    return (int)(t_random() % (uint64_t)limit);
}

/* New data, half of it small; its extent's number is its own. */
static int new_datum(tv_blob_data *ret_data)
{
    datum *one = &data[data_count];

    tv_assert(data_count < DATA_MAX);
    one->len = 1 + (size_t)below(DATA_LEN_MAX);
    for (size_t i = 0; i < one->len; i++)
        one->bytes[i] = (char)('a' + below(26));
    one->is_extent = below(2);
    one->fate = one->is_extent ? GIVEN : UNUSED;
    *ret_data = one->is_extent
                    ? extent_data((uint64_t)data_count, one->len)
                    : (tv_blob_data){.bytes = {one->bytes, one->len}, .length = one->len};
    return data_count++;
}

static void note_garbage(const tv_blob_change *change)
{
    for (size_t i = 0; i < change->garbage_count; i++) {
        datum *one = &data[change->garbage[i].number];

        CHECK_INT(one->fate, GIVEN);
        one->fate = GARBAGE;
    }
}

/* A change that failed: the extents from `first` on are its author's again. */
static void note_refused(int first)
{
    for (int i = first; i < data_count; i++)
        data[i].fate = REFUSED;
}

static void forget_blocks(model *m)
{
    for (int i = 0; i < BLOCKS_MAX; i++)
        m->blocks[i] = -1;
}

static bool has_blocks(const model *m)
{
    for (int i = 0; i < BLOCKS_MAX; i++) {
        if (m->blocks[i] >= 0)
            return true;
    }
    return false;
}

/* Sometimes a condition that holds, sometimes one that does not; returns whether it does. */
static bool add_condition(tv_blob_change *change, const model *m)
{
    if (below(4) || !m->exists)
        return true;

    bool holds = below(2);

    change->conditions.if_match =
        (tv_etag_condition){.test = TV_ETAG_IS, .etag = m->etag + (holds ? 0 : 1)};
    return holds;
}

static void check_etag(model *m, int64_t etag)
{
    CHECK(etag > m->etag);
    m->etag = etag;
}

static void do_put(tv_txn *txn, int number)
{
    model *m = &models[number];
    tv_blob_data given[PIECES_MAX];
    tv_put_blob put = {.change = change_of(names[number]), .type = TV_BLOB_BLOCK, .data = given};
    content next = {.count = below(3) ? below(3) : below(PIECES_MAX)};
    bool holds = add_condition(&put.change, m);
    int first = data_count;

    if (below(3) == 0) {
        put.type = TV_BLOB_APPEND;
        next.count = 0;
    }
    for (int i = 0; i < next.count; i++) {
        next.parts[i] = (part){new_datum(&given[i]), below(2) ? below(BLOCKS_MAX) : -1};
        if (next.parts[i].block >= 0)
            given[i].block_id = tv_slice_of(block_ids[next.parts[i].block]);
    }
    put.data_count = (size_t)next.count;

    tv_err err = tv_txn_run(txn, put.change.partition, tv_put_blob_run, &put);
    bool is_other = m->exists && m->type != put.type;

    CHECK_ERR(err, !holds ? TV_ERR_CONDITION_NOT_MET : is_other ? TV_ERR_BLOB_TYPE : TV_OK);
    if (err) {
        note_refused(first);
        return;
    }
    note_garbage(&put.change);
    check_etag(m, put.change.etag);
    m->exists = true;
    m->type = put.type;
    m->content = next;
    forget_blocks(m);
}

static void do_put_block(tv_txn *txn, int number)
{
    model *m = &models[number];
    int block = below(BLOCKS_MAX), first = data_count;
    tv_put_block put = {.change = change_of(names[number])};
    int one = new_datum(&put.data);
    tv_err want = m->exists && m->type == TV_BLOB_APPEND ? TV_ERR_BLOB_TYPE : TV_OK;

    put.data.block_id = tv_slice_of(block_ids[block]);
    CHECK_ERR(tv_txn_run(txn, put.change.partition, tv_put_block_run, &put), want);
    if (want) {
        note_refused(first);
        return;
    }
    note_garbage(&put.change);
    m->blocks[block] = one;
}

/* The datum of a block that is in the content, -1 when there is none. */
static int find_committed(const model *m, int block)
{
    for (int i = 0; m->exists && i < m->content.count; i++) {
        if (m->content.parts[i].block == block)
            return m->content.parts[i].datum;
    }
    return -1;
}

static int find_block(const model *m, tv_block_source source, int block)
{
    if (source == TV_BLOCK_COMMITTED)
        return find_committed(m, block);
    if (source == TV_BLOCK_UNCOMMITTED || m->blocks[block] >= 0)
        return m->blocks[block];
    return find_committed(m, block);
}

static void do_put_block_list(tv_txn *txn, int number)
{
    model *m = &models[number];
    tv_block_choice choices[PIECES_MAX];
    tv_put_block_list put = {.change = change_of(names[number]), .choices = choices};
    content next = {0};
    tv_err want = add_condition(&put.change, m) ? TV_OK : TV_ERR_CONDITION_NOT_MET;

    if (m->exists && m->type == TV_BLOB_APPEND)
        want = TV_ERR_BLOB_TYPE;
    for (int tries = below(2 * PIECES_MAX); tries > 0 && next.count < PIECES_MAX; tries--) {
        tv_block_source source = (tv_block_source)below(3);
        int block = below(BLOCKS_MAX), found = find_block(m, source, block);

        /* Mostly blocks that are there. */
        if (found < 0 && below(40))
            continue;
        if (found < 0 && want == TV_OK)
            want = TV_ERR_BLOCK_LIST;
        choices[next.count] = (tv_block_choice){source, tv_slice_of(block_ids[block])};
        next.parts[next.count++] = (part){found, block};
    }
    put.choice_count = (size_t)next.count;

    /* A plan of what is durable helps, unless the group has changed the blob. */
    tv_err err = tv_txn_run(txn, put.change.partition, tv_put_block_list_run, &put);

    if (err == TV_ERR_UNPLANNED && tv_put_block_list_plan(engine, &put) == TV_OK)
        err = tv_txn_run(txn, put.change.partition, tv_put_block_list_run, &put);
    unplanned_count += err == TV_ERR_UNPLANNED;
    planned_count += err != TV_ERR_UNPLANNED && put.plan != NULL;
    if (err == TV_ERR_UNPLANNED)
        return;
    CHECK_ERR(err, want);
    if (want)
        return;

    note_garbage(&put.change);
    check_etag(m, put.change.etag);
    m->exists = true;
    m->type = TV_BLOB_BLOCK;
    m->content = next;
    forget_blocks(m);
}

static void do_append(tv_txn *txn, int number)
{
    model *m = &models[number];
    tv_append_block append = {.change = change_of(names[number])};
    int first = data_count;

    if (m->content.count == PIECES_MAX)
        return;

    int one = new_datum(&append.data);
    tv_err want = !m->exists                  ? TV_ERR_BLOB_NOT_FOUND
                  : m->type != TV_BLOB_APPEND ? TV_ERR_BLOB_TYPE
                                              : TV_OK;

    if (want == TV_OK && !add_condition(&append.change, m))
        want = TV_ERR_CONDITION_NOT_MET;
    CHECK_ERR(tv_txn_run(txn, append.change.partition, tv_append_block_run, &append), want);
    if (want) {
        note_refused(first);
        return;
    }
    CHECK_INT(append.change.garbage_count, 0);
    check_etag(m, append.change.etag);
    m->content.parts[m->content.count++] = (part){one, -1};
    CHECK_INT(append.block_count, m->content.count);
}

static void do_set(tv_txn *txn, int number)
{
    model *m = &models[number];
    tv_set_blob_metadata set = {.change = change_of(names[number])};

    CHECK_ERR(tv_txn_run(txn, set.change.partition, tv_set_blob_metadata_run, &set),
              m->exists ? TV_OK : TV_ERR_BLOB_NOT_FOUND);
    if (m->exists)
        check_etag(m, set.change.etag);
}

static void do_snapshot(tv_txn *txn, int number)
{
    model *m = &models[number];
    tv_snapshot_blob take = {.change = change_of(names[number])};

    if (m->snapshot_count == SNAPSHOTS_MAX)
        return;

    tv_err err = tv_txn_run(txn, take.change.partition, tv_snapshot_blob_run, &take);

    if (err == TV_ERR_UNPLANNED) {
        CHECK_OK(tv_snapshot_blob_plan(engine, &take));
        err = tv_txn_run(txn, take.change.partition, tv_snapshot_blob_run, &take);
        if (err == TV_ERR_UNPLANNED)
            return; /* the first snapshots are of this group */
    }
    CHECK_ERR(err, m->exists ? TV_OK : TV_ERR_BLOB_NOT_FOUND);
    if (!m->exists)
        return;

    if (m->snapshot_count)
        CHECK(take.snapshot > m->snapshots[m->snapshot_count - 1].ticks);
    m->snapshots[m->snapshot_count++] = (snapshot){take.snapshot, take.change.etag, m->content};
    CHECK_INT(take.change.etag, m->etag);
}

static void do_delete(tv_txn *txn, int number)
{
    model *m = &models[number];
    tv_delete_blob delete = {.change = change_of(names[number]),
                             .scope = (tv_delete_scope)below(4)};
    int at = 0;
    bool is_whole = delete.scope == TV_DELETE_BLOB || delete.scope == TV_DELETE_WITH_SNAPSHOTS;
    tv_err want = m->exists || (is_whole && has_blocks(m)) ? TV_OK : TV_ERR_BLOB_NOT_FOUND;

    if (delete.scope == TV_DELETE_ONE_SNAPSHOT) {
        if (m->snapshot_count == 0)
            return;
        at = below(m->snapshot_count);
        delete.snapshot = m->snapshots[at].ticks;
    }
    if (delete.scope == TV_DELETE_BLOB && m->snapshot_count)
        want = TV_ERR_SNAPSHOTS_PRESENT;
    do {
        CHECK_ERR(tv_txn_run(txn, delete.change.partition, tv_delete_blob_run, &delete), want);
        if (want)
            return;
        note_garbage(&delete.change);
        step_count += delete.change.is_partial;
    } while (delete.change.is_partial);
    if (delete.scope == TV_DELETE_ONE_SNAPSHOT) {
        m->snapshot_count--;
        memmove(&m->snapshots[at], &m->snapshots[at + 1],
                (size_t)(m->snapshot_count - at) * sizeof m->snapshots[0]);
        return;
    }
    m->snapshot_count = 0;
    if (delete.scope != TV_DELETE_SNAPSHOTS) {
        /* Nothing remembers a blob that is gone: ETags of the next one start again. */
        *m = (model){0};
        forget_blocks(m);
    }
}

/* --- comparing --- */

static void check_content(const char *name, int64_t ticks, int64_t etag, const content *want)
{
    char bytes[PIECES_MAX * DATA_LEN_MAX];
    tv_blob_reader *reader;
    uint64_t length = 0;

    for (int i = 0; i < want->count; i++) {
        const datum *one = &data[want->parts[i].datum];

        memcpy(bytes + length, one->bytes, one->len);
        length += one->len;
    }

    CHECK_OK(tv_blob_reader_open(engine, partition_of(name), ticks, &reader));
    CHECK_INT(tv_blob_reader_head(reader)->etag, etag);
    CHECK_INT(tv_blob_reader_head(reader)->length, length);
    CHECK_INT(tv_blob_reader_head(reader)->piece_count, want->count);
    for (uint64_t offset = 0; offset < length;) {
        tv_blob_piece piece;
        tv_slice got;

        CHECK_OK(tv_blob_reader_piece(reader, offset, &piece));
        CHECK(piece.end > offset && piece.end - piece.length <= offset);
        if (piece.is_chunk) {
            CHECK_OK(tv_blob_reader_chunk(reader, &piece, &got));
        } else {
            CHECK_INT(data[piece.id.number].fate, GIVEN);
            got = (tv_slice){data[piece.id.number].bytes, data[piece.id.number].len};
        }
        CHECK_SLICE(got, ((tv_slice){bytes + piece.end - piece.length, piece.length}));
        /* Now to the next piece, now into the middle of any. */
        offset = below(2) ? piece.end : offset + 1 + (uint64_t)below(DATA_LEN_MAX);
    }
    tv_blob_reader_close(reader);
}

static void check_blocks(const char *name, const model *m)
{
    tv_block_lists lists = {0};
    size_t at = 0;
    tv_err err =
        tv_blob_get_block_lists(engine, partition_of(name), 0, TV_BLOCK_LIST_ALL, &arena, &lists);

    if (m->exists && m->type == TV_BLOB_APPEND) {
        CHECK_ERR(err, TV_ERR_BLOB_TYPE);
        return;
    }
    CHECK_ERR(err, m->exists || has_blocks(m) ? TV_OK : TV_ERR_BLOB_NOT_FOUND);
    CHECK_INT(lists.has_head, m->exists);

    for (int i = 0; i < BLOCKS_MAX; i++) {
        if (m->blocks[i] < 0)
            continue;
        CHECK(at < lists.uncommitted_count);
        CHECK_TEXT(lists.uncommitted[at].id, block_ids[i]);
        CHECK_INT(lists.uncommitted[at++].length, data[m->blocks[i]].len);
    }
    CHECK_INT(at, lists.uncommitted_count);

    at = 0;
    for (int i = 0; i < m->content.count; i++) {
        if (m->content.parts[i].block < 0)
            continue;
        CHECK(at < lists.committed_count);
        CHECK_TEXT(lists.committed[at].id, block_ids[m->content.parts[i].block]);
        CHECK_INT(lists.committed[at++].length, data[m->content.parts[i].datum].len);
    }
    CHECK_INT(at, lists.committed_count);
}

static tv_err mark(void *ctx, tv_slice blob, tv_extent_id id)
{
    (void)ctx, (void)blob;
    CHECK_INT(data[id.number].fate, GIVEN);
    data[id.number].is_marked = true;
    return TV_OK;
}

/* --- garbage collection --- */

/* What was found some time ago. */
static tv_blob_garbage garbages[BLOBS];
static tv_arena garbage_arena;

static void find_garbage(void)
{
    tv_arena_reset(&garbage_arena);
    for (int i = 0; i < BLOBS; i++) {
        tv_slice partition = tv_arena_dup(&garbage_arena, partition_of(names[i]));

        CHECK_OK(tv_blob_find_garbage(engine, partition, &garbage_arena, &garbages[i]));
    }
}

/* A change may have been quick to remove data that was found here, too. */
static void remove_garbage(void)
{
    for (int i = 0; i < BLOBS; i++) {
        tv_blob_garbage *garbage = &garbages[i];

        for (size_t at = 0; at < garbage->key_count;) {
            size_t count = 1 + (size_t)below(8);
            tv_blob_gc_step step = {.change = change_of(names[i]), .keys = garbage->keys + at};

            step.key_count = count < garbage->key_count - at ? count : garbage->key_count - at;
            CHECK_OK(RUN(tv_blob_gc_run, &step));
            at += step.key_count;
        }
        for (size_t j = 0; j < garbage->extent_count; j++) {
            datum *one = &data[garbage->extents[j].number];

            CHECK(one->fate == GIVEN || one->fate == GARBAGE);
            one->fate = GARBAGE;
        }
        gc_count += garbage->key_count > 0;
        *garbage = (tv_blob_garbage){0};
    }
}

/* Every extent that was given and is not garbage is referred to, once all garbage is collected. */
static void check_extents(bool is_clean)
{
    for (int i = 0; i < data_count; i++)
        data[i].is_marked = false;
    CHECK_OK(tv_blob_visit_all_extents(engine, &(tv_blob_extent_visitor){.found = mark}));
    for (int i = 0; is_clean && i < data_count; i++)
        CHECK_INT(data[i].is_marked, data[i].fate == GIVEN);
}

static void check_models(bool is_clean)
{
    for (int i = 0; i < BLOBS; i++) {
        const model *m = &models[i];
        tv_blob_head head;

        if (m->exists)
            check_content(names[i], 0, m->etag, &m->content);
        else
            CHECK_ERR(
                tv_blob_get_head(engine, TV_READ_ANY, partition_of(names[i]), 0, &arena, &head),
                TV_ERR_BLOB_NOT_FOUND);
        for (int j = 0; j < m->snapshot_count; j++)
            check_content(names[i], m->snapshots[j].ticks, m->snapshots[j].etag,
                          &m->snapshots[j].content);
        check_blocks(names[i], m);
    }
    check_extents(is_clean);
}

/* Remove what was found before these changes; sometimes look again, and remove that, too. */
static bool collect_garbage(void)
{
    bool is_clean = below(4) == 0;

    remove_garbage();
    if (below(2) || is_clean)
        find_garbage();
    if (is_clean)
        remove_garbage();
    return is_clean;
}

TEST(random_changes_do_what_the_model_does)
{
    static void (*const changes[])(tv_txn *, int) = {
        do_put,    do_put_block, do_put_block, do_put_block, do_put_block, do_put_block_list,
        do_append, do_append,    do_append,    do_append,    do_append,    do_append,
        do_append, do_set,       do_snapshot,  do_snapshot,  do_delete,
    };
    static const size_t at_once[] = {0, 0, 4, 16, 1024};
    size_t at_once_max = tv_blob_at_once_max;
    tv_txn *txn = tv_txn_new(engine);

    t_random_seed(0xb10b);
    tv_arena_init(&garbage_arena);
    data = tv_calloc(DATA_MAX, sizeof *data);
    for (int i = 0; i < BLOBS; i++)
        forget_blocks(&models[i]);
    for (int round = 0; round < ROUNDS; round++) {
        tv_arena_reset(&arena);
        container = tv_key_container(&arena, TV_LIT("acct"), 1);
        tv_blob_at_once_max = at_once[below(COUNT(at_once))];
        tv_txn_begin(txn);
        for (int i = 1 + below(3); i > 0; i--)
            changes[below(COUNT(changes))](txn, below(BLOBS));
        CHECK_OK(tv_txn_commit(txn));
        check_models(collect_garbage());
    }
    tv_blob_at_once_max = at_once_max;
    t_row = "every way of doing it was taken";
    CHECK(planned_count > 50 && unplanned_count > 5);
    CHECK(step_count > 5 && gc_count > 100);

    /* Everything is removed: nothing is left. */
    for (int i = 0; i < BLOBS; i++) {
        tv_delete_blob delete = {.change = change_of(names[i]), .scope = TV_DELETE_WITH_SNAPSHOTS};

        put_text(names[i], "last");
        CHECK_OK(RUN(tv_delete_blob_run, &delete));
    }
    find_garbage();
    remove_garbage();
    CHECK_INT(row_count(), 0);
    tv_arena_done(&garbage_arena);
    tv_txn_free(txn);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_changes_do_what_the_model_does, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
