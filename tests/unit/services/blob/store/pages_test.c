/*
 * Looking at all rows of a blob on an engine that has no snapshots: rows come in pages, and
 * between any two of them the blob is changed.
 */
#include "blobs.h"

/* --- an engine whose iterators have pages --- */

/* What happens while rows are being read. */
static struct {
    size_t page_rows;
    bool has_view;  /* iterators say which view a row is of */
    bool is_hidden; /* the engine claims to have snapshots: the mistake that must be noticed */
    int change_at;  /* the page before which the blob is changed */
    int pages;      /* loaded so far */
    void (*change)(void);
} world;

typedef struct paged_engine {
    tv_engine base;
    tv_engine_ops ops;
    tv_engine *inner;
} paged_engine;

typedef struct paged_iter {
    tv_iter base;
    tv_engine *inner;
    tv_iter *page; /* an iterator of the inner engine: a snapshot */
    size_t left;   /* rows of the page that may be shown */
    tv_slice from, to;
    tv_arena arena; /* for the bounds and the place */
    uint64_t view;
} paged_iter;

/* The rows from `key` on; without `key` itself if `is_after`. */
static void load_page(paged_iter *iter, tv_slice key, bool is_after)
{
    key = tv_arena_dup(&iter->arena, key);
    tv_iter_free(iter->page);
    iter->page = NULL;
    if (world.pages++ == world.change_at)
        world.change();
    CHECK_OK(tv_engine_iter(iter->inner, iter->from, iter->to, &iter->page));
    tv_iter_seek(iter->page, key);
    if (is_after && tv_iter_is_valid(iter->page) && tv_slice_eq(tv_iter_key(iter->page), key))
        tv_iter_next(iter->page);
    iter->left = world.page_rows;
    iter->view++;
}

static void paged_seek(tv_iter *base, tv_slice key)
{
    load_page((paged_iter *)base, key, false);
}

static bool paged_is_valid(const tv_iter *base)
{
    return tv_iter_is_valid(((const paged_iter *)base)->page);
}

static void paged_next(tv_iter *base)
{
    paged_iter *iter = (paged_iter *)base;

    if (--iter->left == 0)
        load_page(iter, tv_iter_key(iter->page), true);
    else
        tv_iter_next(iter->page);
}

static tv_slice paged_key(const tv_iter *base)
{
    return tv_iter_key(((const paged_iter *)base)->page);
}

static tv_slice paged_value(const tv_iter *base)
{
    return tv_iter_value(((const paged_iter *)base)->page);
}

static tv_err paged_status(const tv_iter *base)
{
    (void)base;
    return TV_OK;
}

static uint64_t paged_view(const tv_iter *base)
{
    return ((const paged_iter *)base)->view;
}

static void paged_free(tv_iter *base)
{
    paged_iter *iter = (paged_iter *)base;

    tv_iter_free(iter->page);
    tv_arena_done(&iter->arena);
    free(iter);
}

static const tv_iter_ops viewing_ops = {
    .seek = paged_seek,
    .is_valid = paged_is_valid,
    .next = paged_next,
    .key = paged_key,
    .value = paged_value,
    .status = paged_status,
    .view = paged_view,
    .free = paged_free,
};
static const tv_iter_ops blind_ops = {
    .seek = paged_seek,
    .is_valid = paged_is_valid,
    .next = paged_next,
    .key = paged_key,
    .value = paged_value,
    .status = paged_status,
    .free = paged_free,
};

static tv_err paged_iter_new(tv_engine *base, tv_slice from, tv_slice to, tv_iter **ret_iter)
{
    paged_iter *iter = tv_calloc(1, sizeof *iter);

    iter->base.ops = world.has_view ? &viewing_ops : &blind_ops;
    iter->inner = ((paged_engine *)base)->inner;
    tv_arena_init(&iter->arena);
    iter->from = tv_arena_dup(&iter->arena, from);
    iter->to = tv_arena_dup(&iter->arena, to);
    *ret_iter = &iter->base;
    return TV_OK;
}

static tv_err paged_get(tv_engine *base, tv_read_mode mode, tv_slice key, tv_arena *to,
                        tv_slice *ret_value)
{
    return tv_engine_get(((paged_engine *)base)->inner, mode, key, to, ret_value);
}

static paged_engine paged;

/* The rows of `engine` in pages. */
static tv_engine *in_pages(void)
{
    paged.ops = (tv_engine_ops){.name = "paged",
                                .is_shared = true,
                                .has_snapshots = world.is_hidden,
                                .get = paged_get,
                                .iter_new = paged_iter_new};
    paged.base.ops = &paged.ops;
    paged.inner = engine;
    world.pages = 0;
    return &paged.base;
}

/* --- blobs, and changes that move references --- */

enum { EXTENTS = 64 };

static void append(const char *name, uint64_t first, uint64_t end)
{
    tv_append_block change = {.change = change_of(name)};

    for (uint64_t i = first; i < end; i++) {
        change.data = extent_data(i, 1);
        CHECK_OK(RUN(tv_append_block_run, &change));
    }
}

static void put_extent(const char *name, uint64_t number)
{
    tv_blob_data data = extent_data(number, 1);
    tv_put_blob put = {
        .change = change_of(name), .type = TV_BLOB_BLOCK, .data = &data, .data_count = 1};

    CHECK_OK(RUN(tv_put_blob_run, &put));
}

/* Blocks of extents 1, 2, 3 and a blob before and after them. */
static void begin_blocks(void)
{
    put_extent("a", 10);
    put_extent("b", 11);
    CHECK_OK(put_block("b", "MDA=", extent_data(1, 1)));
    CHECK_OK(put_block("b", "MDE=", extent_data(2, 1)));
    CHECK_OK(put_block("b", "MDI=", extent_data(3, 1)));
    put_extent("c", 12);
}

static void commit_blocks(void)
{
    const tv_block_choice choices[] = {
        {.id = TV_LIT("MDA="), .source = TV_BLOCK_LATEST},
        {.id = TV_LIT("MDE="), .source = TV_BLOCK_LATEST},
        {.id = TV_LIT("MDI="), .source = TV_BLOCK_LATEST},
    };
    tv_put_block_list put = {.change = change_of("b"), .choices = choices, .choice_count = 3};

    CHECK_OK(RUN(tv_put_block_list_run, &put));
}

/* A content in rows of its own (extents 1 to 20), an older one in a snapshot. */
static void begin_snapshots(void)
{
    put_extent("a", 40);
    put_text("b", NULL);
    append("b", 30, 32);
    snapshot_of("b");
    put_text("b", NULL);
    append("b", 1, 21);
}

/* The content goes on in a snapshot only. */
static void snapshot_and_replace(void)
{
    snapshot_of("b");
    put_text("b", NULL);
    append("b", 22, 23);
}

/* Run a change that leaves all it drops to garbage collection. */
static void leave_garbage_of(void (*change)(void))
{
    size_t at_once_max = tv_blob_at_once_max;

    tv_blob_at_once_max = 0;
    change();
    tv_blob_at_once_max = at_once_max;
}

static void replace_b(void)
{
    put_text("b", NULL);
}

static void delete_b(void)
{
    tv_delete_blob delete = {.change = change_of("b")};

    CHECK_OK(RUN(tv_delete_blob_run, &delete));
}

/* The same, with garbage of an earlier content (extents 50 to 60). */
static void begin_garbage(void)
{
    put_text("b", NULL);
    append("b", 50, 60);
    leave_garbage_of(replace_b);
    begin_snapshots();
}

/* Blocks, of an earlier generation and of none; the ledger is another one after the change. */
static void begin_generations(void)
{
    put_extent("b", 11);
    CHECK_OK(put_block("b", "MDA=", extent_data(1, 1)));
    CHECK_OK(put_block("b", "MDE=", extent_data(2, 1)));
    leave_garbage_of(delete_b);
}

static void put_new_blocks(void)
{
    CHECK_OK(put_block("b", "MDA=", extent_data(3, 1)));
    CHECK_OK(put_block("b", "MDE=", extent_data(4, 1)));
}

static const struct {
    const char *what;
    void (*begin)(void);
    void (*change)(void);
} scenes[] = {
    {"blocks become a content", begin_blocks, commit_blocks},
    {"a content goes on in a snapshot", begin_snapshots, snapshot_and_replace},
    {"the same beside garbage", begin_garbage, snapshot_and_replace},
    {"blocks of a new generation", begin_generations, put_new_blocks},
};

/* --- what is found --- */

static tv_err note_found(void *ctx, tv_slice blob, tv_extent_id id)
{
    (void)blob;
    CHECK(id.number < EXTENTS);
    ((bool *)ctx)[id.number] = true;
    return TV_OK;
}

/* What the rows refer to now. */
static void read_live(bool live[EXTENTS])
{
    memset(live, 0, EXTENTS);
    CHECK_OK(tv_blob_visit_all_extents(
        engine, &(tv_blob_extent_visitor){.found = note_found, .ctx = live}));
}

/*
 * An extent that is referred to before and after the change must be met: whether it loses one is
 * returned.
 */
static bool visit_loses(void)
{
    bool before[EXTENTS], after[EXTENTS], met[EXTENTS] = {0};

    read_live(before);
    CHECK_OK(tv_blob_visit_all_extents(in_pages(),
                                       &(tv_blob_extent_visitor){.found = note_found, .ctx = met}));
    read_live(after);
    for (int i = 0; i < EXTENTS; i++) {
        if (before[i] && after[i] && !met[i])
            return true;
    }
    return false;
}

/* Whether something is taken for garbage that is live after the change. */
static bool collection_loses(void)
{
    bool live[EXTENTS], still[EXTENTS];
    tv_blob_garbage garbage;

    CHECK_OK(tv_blob_find_garbage(in_pages(), partition_of("b"), &arena, &garbage));
    read_live(live);
    for (size_t i = 0; i < garbage.extent_count; i++) {
        if (live[garbage.extents[i].number])
            return true;
    }
    for (size_t at = 0; at < garbage.key_count; at += TV_BLOB_GC_ROWS) {
        size_t left = garbage.key_count - at;
        tv_blob_gc_step step = {
            .change = {.is_dropped = &is_dropped, .partition = partition_of("b")},
            .keys = garbage.keys + at,
            .key_count = left < TV_BLOB_GC_ROWS ? left : TV_BLOB_GC_ROWS};

        CHECK_OK(RUN(tv_blob_gc_run, &step));
    }
    read_live(still);
    return memcmp(live, still, sizeof live) != 0;
}

/* Change the blob before each page of each size; returns how often something was lost. */
static int count_losses(bool (*loses)(void))
{
    int losses = 0;

    for (size_t i = 0; i < COUNT(scenes); i++) {
        t_row = scenes[i].what;
        for (world.page_rows = 1; world.page_rows < 9; world.page_rows++) {
            for (world.change_at = 0;; world.change_at++) {
                tear_down(NULL);
                set_up(NULL);
                scenes[i].begin();
                world.change = scenes[i].change;
                losses += loses();
                if (world.pages <= world.change_at)
                    break; /* all pages were read before it */
            }
        }
    }
    t_row = "";
    return losses;
}

TEST(no_reference_is_missed_when_rows_come_in_pages)
{
    world.is_hidden = world.has_view = false;
    CHECK_INT(count_losses(visit_loses), 0);
    world.has_view = true;
    CHECK_INT(count_losses(visit_loses), 0);
}

TEST(what_lives_is_not_collected_when_rows_come_in_pages)
{
    world.is_hidden = world.has_view = false;
    CHECK_INT(count_losses(collection_loses), 0);
}

/* The tests above would notice it if pages were taken for one view. */
TEST(pages_that_are_taken_for_a_snapshot_lose_data)
{
    world.is_hidden = true;
    world.has_view = false;
    CHECK(count_losses(visit_loses) > 0);
    CHECK(count_losses(collection_loses) > 0);
    world.is_hidden = false;
}

/* Which uncommitted blocks there are keeps changing; that does not hold up the visit. */
static int blocks_put;

static void put_another_block(void)
{
    char id[16];

    snprintf(id, sizeof id, "%04d", blocks_put++);
    CHECK_OK(put_block("b", id, extent_data(9, 1)));
    world.change_at = world.pages; /* and again at the next page */
}

TEST(a_stream_of_blocks_does_not_hold_up_the_visit)
{
    blocks_put = 0;
    world.page_rows = 4;
    world.change_at = 0;
    world.has_view = world.is_hidden = false;
    put_extent("b", 1);
    for (int i = 0; i < 20; i++)
        put_another_block();
    world.change_at = 0;
    world.change = put_another_block;
    CHECK(!visit_loses());
    CHECK(blocks_put > 20 && world.pages < 1000);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(no_reference_is_missed_when_rows_come_in_pages),
        T(what_lives_is_not_collected_when_rows_come_in_pages),
        T(pages_that_are_taken_for_a_snapshot_lose_data),
        T(a_stream_of_blocks_does_not_hold_up_the_visit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
