/*
 * Iterators: pages of rows, one range after the other.
 *
 * A page is one operation and so one view.  The first is short, because most
 * scans are, unless its user has said how many rows it is about; the next one is asked for when
 * little of a page is left.  A scan within a partition reads no rows behind it: its prefix goes
 * along.  (Not otherwise, because the storage compares it with each row, which costs a long page
 * more than it saves.)
 *
 * A page that is refused, because the range has another epoch, is asked for again where its rows
 * are now: rows that were there all the time are met once, because the position is a
 * key.  A seek that goes forward, to where the page at hand has all rows, needs no other one: a
 * query of many small ranges costs as many operations as its rows need.
 */
#include "base/assert.h"
#include "base/deadline.h"
#include "store/engine/key.h"
#include "store/engine/rados/internal.h"

/* The largest page of a client, and the row behind it, fit into one. */
enum { FIRST_ROWS = 128, NEXT_ROWS = 1024 };

/* A page, and the operation that gets it. */
typedef struct page {
    tv_arena arena;
    tv_map *map; /* by which it was asked for */
    const tv_range *range;
    tv_pool_read read;
    tv_rados_op op;
    bool is_asked_for;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_done;
} page;

typedef struct rados_iter {
    tv_iter base;
    tv_rados_engine *rados;
    page pages[2];
    page *now, *ahead;
    size_t at, end; /* in the rows of `now`: where it stands, where its rows of interest end */
    bool is_last;   /* nothing of interest is behind the page */
    bool is_valid;
    size_t rows_max; /* of the next page */
    size_t expected; /* rows that are of interest, as far as its user has told; or 0 */
    size_t met;      /* of them, in the pages since the last seek */
    uint64_t view;   /* counts pages */
    tv_err err;
    tv_slice value;
    tv_buf position; /* the next page begins at this key, or behind it */
    tv_buf covered;  /* `now` has all rows behind this key, up to its last one; see has_page */
    tv_buf sought;   /* the key of the last seek */
    bool has_page;
    tv_slice from, to;
    tv_slice prefix; /* of all keys between the two, see common_prefix */
    char bounds[];   /* the bytes of `from` and `to` */
} rados_iter;

/* --- pages --- */

static void page_init(page *p)
{
    tv_arena_init(&p->arena);
    tv_assert(pthread_mutex_init(&p->lock, NULL) == 0);
    tv_assert(pthread_cond_init(&p->changed, NULL) == 0);
}

static void page_read_done(tv_pool_read *read)
{
    page *p = read->ctx;

    pthread_mutex_lock(&p->lock);
    p->is_done = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

/*
 * What rows must be greater than so that a key, and all behind it, are met: the
 * last string before it that can be told without a NUL.  Rows between the two are passed over.
 */
static tv_slice before(tv_arena *arena, tv_slice key)
{
    char *bytes = tv_arena_bytes(arena, key.len + 1);

    if (key.len == 0)
        return TV_LIT("");

    tv_slice_put(bytes, key);
    if (bytes[key.len - 1] == '\x01')
        return (tv_slice){bytes, key.len - 1};
    bytes[key.len - 1] = (char)((unsigned char)bytes[key.len - 1] - 1);
    bytes[key.len] = '\xFF';
    return (tv_slice){bytes, key.len + 1};
}

/* Ask for a page from a key on, or from behind it. */
static void ask(rados_iter *iter, page *p, tv_slice key, bool is_behind)
{
    tv_rados_engine *rados = iter->rados;

    tv_arena_reset(&p->arena);
    p->map = tv_maps_get(rados->maps);
    p->range = tv_map_find(p->map, key);
    p->is_asked_for = true;
    p->is_done = false;
    p->read = (tv_pool_read){
        .object = p->range->object,
        .kind = TV_POOL_READ_PAGE,
        .attr = TV_RANGE_READ_EPOCH,
        .attr_value = p->range->epoch,
        .after = is_behind ? tv_arena_dup(&p->arena, key) : before(&p->arena, key),
        .prefix = iter->prefix,
        .rows_max = tv_range_lane_rows_max(p->range->lane, iter->rows_max),
        .arena = &p->arena,
        .until_ns = tv_deadline(),
        .done = page_read_done,
        .ctx = p,
    };
    iter->rows_max = NEXT_ROWS;
    tv_rados_op_begin(rados, &p->op);
    rados->pool->ops->read(rados->pool, &p->read);
}

/* Wait for a page that was asked for. */
static tv_err await(rados_iter *iter, page *p)
{
    tv_range_lane_use *use = &p->range->lane->use;
    size_t bytes = 0;

    pthread_mutex_lock(&p->lock);
    while (!p->is_done)
        pthread_cond_wait(&p->changed, &p->lock);
    pthread_mutex_unlock(&p->lock);

    for (size_t i = 0; i < p->read.row_count; i++)
        bytes += p->read.rows[i].key.len + p->read.rows[i].value.len;
    tv_rados_op_end(iter->rados, &p->op, &iter->rados->reads, p->read.row_count, bytes);
    if (p->read.result == TV_OK) {
        tv_range_lane_note_rows(p->range->lane, p->read.row_count, bytes);
        atomic_fetch_add(&use->read_ops, 1);
        atomic_fetch_add(&use->read_keys, p->read.row_count);
        atomic_fetch_add(&use->read_bytes, bytes);
        if (p->read.row_count)
            tv_range_lane_note_use(p->range->lane, p->read.rows[p->read.row_count / 2].key,
                                   p->read.row_count);
    }
    p->is_asked_for = false;
    return p->read.result;
}

/* The page's rows stay until it is asked for again. */
static void let_go(rados_iter *iter, page *p)
{
    if (p->is_asked_for)
        (void)!await(iter, p);
    if (p->map)
        tv_map_unref(p->map);
    p->map = NULL;
}

static void page_done(rados_iter *iter, page *p)
{
    let_go(iter, p);
    tv_arena_done(&p->arena);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
}

/* --- the way through them --- */

static void set_position(rados_iter *iter, tv_slice key)
{
    tv_buf_reset(&iter->position);
    tv_buf_add(&iter->position, key);
}

/*
 * `now` has come: which of its rows are of interest, and where the next page begins.
 * `from` is the first key that is.
 */
static void enter(rados_iter *iter, tv_slice from, bool is_behind)
{
    const tv_pool_read *read = &iter->now->read;
    const tv_range *range = iter->now->range;
    bool ends_here = range->end.data == NULL || tv_slice_cmp(iter->to, range->end) <= 0;
    tv_slice end = ends_here ? iter->to : range->end;

    iter->at = 0;
    while (iter->at < read->row_count) {
        tv_slice key = read->rows[iter->at].key;
        int order = tv_slice_cmp(key, from);

        if ((order > 0 || (order == 0 && !is_behind)) && !tv_slice_eq(key, TV_RANGE_SENTINEL))
            break;
        iter->at++;
    }
    iter->end = read->row_count;
    while (iter->end > iter->at && tv_slice_cmp(read->rows[iter->end - 1].key, end) >= 0)
        iter->end--;

    iter->met += iter->end - iter->at;

    bool is_whole = !read->has_more || iter->end < read->row_count;

    iter->is_last = is_whole && ends_here;
    if (is_whole && !ends_here)
        set_position(iter, range->end);
    else if (read->row_count)
        set_position(iter, read->rows[read->row_count - 1].key);
}

/* Whether the next page begins behind the position: it goes on in the same range. */
static bool goes_on_behind(const rados_iter *iter)
{
    const tv_range *range = iter->now->range;

    return range->end.data == NULL || tv_slice_cmp(tv_buf_slice(&iter->position), range->end) != 0;
}

static void fail_with(rados_iter *iter, tv_err err)
{
    iter->err = err == TV_ERR_STOPPED ? TV_ERR_IO : err;
    iter->is_valid = false;
}

/* Have the page from the position on in `now`, asking again as long as it is refused. */
static bool load(rados_iter *iter, bool is_behind)
{
    tv_slice from = tv_buf_slice(&iter->position);
    tv_rados_patience patience = {.key = from};

    for (;;) {
        page *p = iter->now;

        iter->has_page = false;
        if (!p->is_asked_for) {
            let_go(iter, p);
            ask(iter, p, from, is_behind);
        }

        tv_err err = await(iter, p);

        if (tv_rados_is_astray(err))
            err = tv_rados_reroute(iter->rados, p->map, &patience);
        else if (err == TV_OK)
            break;
        if (err) {
            fail_with(iter, err);
            return false;
        }
    }

    tv_arena arena; /* the position moves, and `from` is it */

    iter->view++;
    tv_buf_reset(&iter->covered);
    tv_buf_add(&iter->covered, from);
    iter->has_page = true;
    tv_arena_init(&arena);
    enter(iter, tv_arena_dup(&arena, from), is_behind);
    tv_arena_done(&arena);
    return true;
}

/* Stand on the row at `at`, or on the first of a later page. */
static void stand_on_row(rados_iter *iter)
{
    while (iter->at == iter->end) {
        if (iter->is_last) {
            iter->is_valid = false;
            return;
        }

        bool is_behind = goes_on_behind(iter);
        page *used = iter->now;

        if (iter->ahead->is_asked_for) {
            iter->now = iter->ahead;
            iter->ahead = used;
        }
        if (!load(iter, is_behind))
            return;
    }

    tv_err err = tv_rados_open_value(iter->now->read.rows[iter->at].value, &iter->value);

    if (err)
        fail_with(iter, err);
    else
        iter->is_valid = true;
}

/*
 * Little of the page is left: have the next one come.  Not earlier: whoever stops before its end,
 * as a client's page of 100 rows or of 1,000 does, would wait for rows that nobody wants.
 */
static void ask_ahead(rados_iter *iter)
{
    if (iter->is_last || iter->ahead->is_asked_for || iter->at < iter->end - iter->end / 8 ||
        iter->now->read.row_count < 2 || (iter->expected && iter->met >= iter->expected))
        return;

    let_go(iter, iter->ahead);
    ask(iter, iter->ahead, tv_buf_slice(&iter->position), goes_on_behind(iter));
}

/*
 * Whether the page at hand tells what comes first from a key on.  Only for a seek that goes
 * forward: who seeks back wants to know what is there now.
 */
static bool tells(const rados_iter *iter, tv_slice key)
{
    const tv_pool_read *read = &iter->now->read;

    return iter->has_page && iter->err == TV_OK &&
           tv_slice_cmp(key, tv_buf_slice(&iter->sought)) > 0 &&
           tv_slice_cmp(key, tv_buf_slice(&iter->covered)) > 0 &&
           (iter->is_last || (iter->end && tv_slice_cmp(key, read->rows[iter->end - 1].key) <= 0));
}

/* Stand on the first row of the page at hand from a key on. */
static void seek_in_page(rados_iter *iter, tv_slice key)
{
    const tv_pool_row *rows = iter->now->read.rows;
    size_t low = 0, high = iter->end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (tv_slice_cmp(rows[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    iter->at = low;
    stand_on_row(iter);
}

static void note_sought(rados_iter *iter, tv_slice key)
{
    tv_buf_reset(&iter->sought);
    tv_buf_add(&iter->sought, key);
}

static void iter_seek(tv_iter *base, tv_slice key)
{
    rados_iter *iter = (rados_iter *)base;

    if (tv_slice_cmp(key, iter->to) < 0 && tells(iter, key)) {
        note_sought(iter, key);
        seek_in_page(iter, key);
        return;
    }

    let_go(iter, iter->ahead);
    let_go(iter, iter->now);
    iter->has_page = false;
    iter->err = TV_OK;
    iter->is_valid = false;
    if (tv_slice_cmp(key, iter->from) < 0)
        key = iter->from;
    if (tv_slice_cmp(key, iter->to) >= 0)
        return;

    iter->rows_max = iter->expected == 0          ? FIRST_ROWS
                     : iter->expected < NEXT_ROWS ? iter->expected
                                                  : NEXT_ROWS;
    iter->met = 0;
    note_sought(iter, key);
    set_position(iter, key);
    if (load(iter, false))
        stand_on_row(iter);
}

static bool iter_is_valid(const tv_iter *base)
{
    return ((const rados_iter *)base)->is_valid;
}

static void iter_next(tv_iter *base)
{
    rados_iter *iter = (rados_iter *)base;

    tv_assert(iter->is_valid);
    iter->at++;
    ask_ahead(iter);
    stand_on_row(iter);
}

static tv_slice iter_key(const tv_iter *base)
{
    const rados_iter *iter = (const rados_iter *)base;

    return iter->now->read.rows[iter->at].key;
}

static tv_slice iter_value(const tv_iter *base)
{
    return ((const rados_iter *)base)->value;
}

static tv_err iter_status(const tv_iter *base)
{
    return ((const rados_iter *)base)->err;
}

static uint64_t iter_view(const tv_iter *base)
{
    return ((const rados_iter *)base)->view;
}

static void iter_expect(tv_iter *base, size_t rows)
{
    ((rados_iter *)base)->expected = rows;
}

static void iter_free(tv_iter *base)
{
    rados_iter *iter = (rados_iter *)base;

    page_done(iter, &iter->pages[0]);
    page_done(iter, &iter->pages[1]);
    tv_buf_done(&iter->position);
    tv_buf_done(&iter->covered);
    tv_buf_done(&iter->sought);
    free(iter);
}

static const tv_iter_ops iter_ops = {
    .seek = iter_seek,
    .is_valid = iter_is_valid,
    .next = iter_next,
    .key = iter_key,
    .value = iter_value,
    .status = iter_status,
    .view = iter_view,
    .expect = iter_expect,
    .free = iter_free,
};

/*
 * What all keys from `from` on that are before `to` begin with, if they are of one partition;
 * else "".
 */
static tv_slice common_prefix(tv_slice from, tv_slice to)
{
    tv_slice partition = tv_key_partition_of(from);
    size_t len = 0;

    while (len < from.len && len < to.len && from.data[len] == to.data[len])
        len++;
    /* `to` is often the first key behind all that begin with something. */
    if (len < from.len && len + 1 == to.len &&
        (unsigned char)from.data[len] + 1 == (unsigned char)to.data[len])
        len++;
    /* Where there is no partition in the key, it is the key itself. */
    if (len < partition.len || partition.len == 0 || partition.data[partition.len - 1] != '\x01')
        return TV_LIT("");
    return tv_slice_take(from, len);
}

tv_err tv_rados_iter_new(tv_engine *engine, tv_slice from, tv_slice to, tv_iter **ret_iter)
{
    rados_iter *iter = tv_calloc(1, sizeof *iter + from.len + to.len);

    iter->base.ops = &iter_ops;
    iter->rados = tv_rados_of(engine);
    iter->from = (tv_slice){iter->bounds, from.len};
    iter->to = (tv_slice){tv_slice_put(iter->bounds, from), to.len};
    tv_slice_put(iter->bounds + from.len, to);
    iter->prefix = common_prefix(iter->from, iter->to);
    page_init(&iter->pages[0]);
    page_init(&iter->pages[1]);
    iter->now = &iter->pages[0];
    iter->ahead = &iter->pages[1];
    *ret_iter = &iter->base;
    return TV_OK;
}
