/* What is recorded of a page of a query: by its shape. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "insight/watch/record.h"
#include "model/odata/plan.h"
#include "store/engine/key.h"

static char *dup(tv_slice text, size_t bytes_max)
{
    size_t len = text.len < bytes_max ? text.len : bytes_max;
    char *copy = tv_malloc(len + 1);

    if (len)
        memcpy(copy, text.data, len);
    copy[len] = '\0';
    return copy;
}

static const tv_shape *find_shape(tv_watch_shard *shard, const tv_watch_query *query)
{
    if (query->shape)
        return query->shape;

    bool has_select = query->select.data != NULL;
    uint64_t structure = tv_shape_structure(query->filter, has_select, query->has_top);
    tv_shape_cache *entry;
    tv_arena arena;

    entry = &shard->shapes[structure % TV_SHAPE_CACHE_SIZE];
    if (entry->structure == structure && entry->shape.text.data)
        return &entry->shape;

    tv_arena_init(&arena);
    entry->structure = structure;
    entry->shape = tv_shape_make(&arena, query->filter, has_select, query->has_top);
    memcpy(entry->text, entry->shape.text.data, entry->shape.text.len);
    entry->shape.text.data = entry->text;
    tv_arena_done(&arena);
    return &entry->shape;
}

/* What is known of a shape by its last execution; once for each page of the recorder. */
static void describe(tv_watch_shape_page *page, const tv_watch_event *event, const tv_shape *shape)
{
    const tv_watch_query *query = &event->query;

    page->flags = shape->flags;
    page->comparisons = shape->comparisons;
    page->has_select = query->select.data != NULL;
    page->has_top = query->has_top;
    page->selects_keys = query->selects_keys;
    page->first_ns = event->time_ns;
    page->text = dup(shape->text, TV_SHAPE_TEXT_MAX);
    page->select = dup(query->select, 256);
    page->select_hash = tv_hash(query->select);
    if (query->filter) {
        tv_arena arena;

        tv_arena_init(&arena);
        page->example = dup(tv_shape_example(&arena, query->filter, 512), 512);
        tv_arena_done(&arena);
    }
}

static void add_source(tv_watch_shape_page *page, tv_slice source)
{
    uint64_t hash = tv_hash(source);

    for (int i = 0; i < TV_WATCH_SOURCES; i++) {
        if (page->sources[i] && page->source_hashes[i] == hash)
            return;
        if (page->sources[i] == NULL) {
            page->sources[i] = dup(source, TV_WATCH_SOURCE_BYTES);
            page->source_hashes[i] = hash;
            return;
        }
    }
}

static tv_slice row_key_of(tv_slice key)
{
    size_t at = tv_slice_find(key, TV_KEY_MARK);

    return at < key.len ? tv_slice_skip(key, at + 1) : TV_NONE;
}

static size_t common_prefix(tv_slice a, tv_slice b)
{
    size_t len = 0;

    while (len < a.len && len < b.len && a.data[len] == b.data[len])
        len++;
    return len;
}

/* The text that a key would show of a literal; empty for types that keys are not made of. */
static tv_slice literal_text(const tv_property *literal, char room[24])
{
    switch (literal->type) {
    case TV_EDM_STRING:
        return literal->bytes;
    case TV_EDM_INT32:
        return (tv_slice){room, (size_t)snprintf(room, 24, "%d", (int)literal->int32)};
    case TV_EDM_INT64:
        return (tv_slice){room, (size_t)snprintf(room, 24, "%lld", (long long)literal->int64)};
    default:
        return TV_NONE;
    }
}

/* The first place where a text of two bytes or more stands in another. */
static size_t find_text(tv_slice in, tv_slice text)
{
    const char *at = text.len >= 2 && in.len ? memmem(in.data, in.len, text.data, text.len) : NULL;

    return at ? (size_t)(at - in.data) : SIZE_MAX;
}

/*
 * The RowKeys that a partition scan returned begin alike: does a literal of the filter stand there,
 * always at the same place?  Then a range of RowKeys could have been asked for.
 */
static void look_for_literal(tv_watch_shape_page *page, const tv_watch_query *query,
                             tv_slice prefix)
{
    enum { TRIES = 16 };
    const tv_node *root = query->filter ? query->filter->root : NULL;
    const tv_node *node = root && root->kind == TV_NODE_AND ? root->first : root;

    if (page->literal_tries == TRIES) {
        page->literal_tries /= 2;
        page->literal_hits /= 2;
    }
    page->literal_tries++;
    for (; node; node = root->kind == TV_NODE_AND ? node->next : NULL) {
        char room[24];

        if (node->kind != TV_NODE_COMPARE || node->op != TV_OP_EQ ||
            tv_filter_is_key(query->filter, node->name))
            continue;

        tv_slice name = query->filter->names.list[node->name];
        size_t at = find_text(prefix, literal_text(&node->literal, room));

        if (at == SIZE_MAX)
            continue;
        if (page->literal == NULL || page->literal_at != at ||
            !tv_slice_eq(tv_slice_of(page->literal), name)) {
            free(page->literal);
            page->literal = dup(name, 255);
            page->literal_at = (uint32_t)at;
            page->literal_hits = 0;
        }
        page->literal_hits++;
        return;
    }
}

/* How close together lies what a partition scan returned. */
static void record_span(tv_watch_shape_page *page, const tv_watch_query *query)
{
    tv_slice first = row_key_of(query->first_key), last = row_key_of(query->last_key);

    page->sums[TV_SHAPE_SPANS]++;
    page->sums[TV_SHAPE_SPAN_ROWS] += query->last - query->first + 1;
    page->sums[TV_SHAPE_SPAN_RETURNED] += query->returned;
    tv_kept_key_set(&page->span_first, first, 0);
    tv_kept_key_set(&page->span_last, last, 0);
    tv_kept_key_set(&page->looked_first, row_key_of(query->first_looked), 0);
    tv_kept_key_set(&page->looked_last, row_key_of(query->last_looked), 0);
    look_for_literal(page, query, tv_slice_take(first, common_prefix(first, last)));
}

/* A query may go on by key where another page of it ended, without a token. */
static void record_bounds(tv_watch_shape_page *page, const tv_watch_query *query)
{
    tv_shape_case letters;

    if (query->is_prefix_range)
        page->sums[TV_SHAPE_PREFIX_RANGES]++;
    if (!(page->flags & (TV_SHAPE_ROW_SPAN | TV_SHAPE_PARTITION_SPAN)))
        return;
    /* `RowKey gt 'x'` begins with the first key behind x, which is x and 01. */
    if (query->from.len > 1 && page->last_key &&
        page->last_key == tv_hash(tv_slice_take(query->from, query->from.len - 1)))
        page->sums[TV_SHAPE_WALKS_BY_KEY]++;
    if (query->filter) {
        letters = tv_shape_bounds_case(query->filter);
        page->sums[TV_SHAPE_UPPER_BOUNDS] += letters == TV_SHAPE_CASE_UPPER;
        page->sums[TV_SHAPE_LOWER_BOUNDS] += letters == TV_SHAPE_CASE_LOWER;
    }
    if (query->last_key.len)
        page->last_key = tv_hash(query->last_key);
}

static void record_partition(tv_watch_shape_page *page, const tv_watch_query *query)
{
    uint64_t hash = tv_hash(query->partition);

    page->partitions[hash >> 6 & 3] |= UINT64_C(1) << (hash & 63);
    if (page->largest.len == 0 || query->examined > page->largest_looked) {
        page->largest_looked = query->examined;
        tv_kept_key_set(&page->largest, query->partition, query->partition.len);
    }
}

/* The first page of a query stands for all of them. */
static void record_execution(tv_watch_shape_page *page, const tv_watch_event *event,
                             const tv_shape *shape)
{
    const tv_watch_query *query = &event->query;

    page->sums[TV_SHAPE_EXECUTIONS]++;
    page->sums[TV_SHAPE_PLANS + query->plan]++;
    page->sums[TV_SHAPE_RESIDUAL] += query->has_residual;
    page->sums[TV_SHAPE_RANGES] += query->range_count;
    page->sums[TV_SHAPE_LIST] += shape->list_len;
    tv_raise(&page->maxima[TV_SHAPE_RANGES_MAX], query->range_count);
    tv_raise(&page->maxima[TV_SHAPE_LIST_MAX], shape->list_len);
    if (page->comparisons < shape->comparisons)
        page->comparisons = shape->comparisons;
    record_bounds(page, query);
    if (query->partition.data)
        record_partition(page, query);
}

static void record_share(tv_watch_shape_page *page, float share)
{
    if (page->share_low > share)
        page->share_low = share;
    if (page->share_high < share)
        page->share_high = share;
}

static void record_page(tv_watch_shape_page *page, const tv_watch_event *event,
                        const tv_shape *shape, tv_walks *walks)
{
    const tv_watch_query *query = &event->query;
    uint64_t examined = query->examined, returned = query->returned;

    if (event->status >= 300) {
        page->sums[TV_SHAPE_FAILURES]++;
        return;
    }
    if (query->token_in || query->token_out || query->plan == TV_PLAN_TABLE)
        tv_walks_page(walks, event, shape->fingerprint, &examined, &returned);
    if (query->token_in == 0)
        record_execution(page, event, shape);
    page->sums[TV_SHAPE_PAGES]++;
    page->sums[TV_SHAPE_EXAMINED] += query->examined;
    page->sums[TV_SHAPE_RETURNED] += query->returned;
    page->sums[TV_SHAPE_BYTES_OUT] += event->bytes_out;
    tv_raise(&page->maxima[TV_SHAPE_EXAMINED_MAX], examined);
    tv_raise(&page->maxima[TV_SHAPE_RETURNED_MAX], returned);
    page->latencies[tv_latency_slot(event->duration_ns)]++;
    if (query->examined)
        record_share(page, (float)query->returned / (float)query->examined);
    if (query->returned >= 2 && query->plan == TV_PLAN_PARTITION && query->first_key.len)
        record_span(page, query);
}

static bool is_point(const tv_watch_query *query)
{
    return query->plan == TV_PLAN_POINT && query->range_count == 1 && query->token_in == 0;
}

void tv_record_query(tv_watch_shard *shard, tv_page *page, tv_watch_table_page *table,
                     const tv_watch_event *event)
{
    const tv_watch_query *query = &event->query;
    uint64_t fingerprint = 0;
    bool is_new;

    if (query->filter || query->shape) {
        const tv_shape *shape = find_shape(shard, query);
        tv_watch_shape_page *found = tv_page_shape(page, event->table, shape->fingerprint, &is_new);

        fingerprint = shape->fingerprint;
        if (found == NULL) {
            page->shape_overflows++;
        } else {
            if (is_new)
                describe(found, event, shape);
            found->last_ns = event->time_ns;
            found->select_differs =
                found->select_differs || found->select_hash != tv_hash(query->select);
            if (event->source.len)
                add_source(found, event->source);
            record_page(found, event, shape, &shard->watch->walks);
        }
    }
    table->sums[TV_WATCH_TABLE_UNITS] += tv_record_query_units(event);
    if (is_point(query))
        table->sums[TV_WATCH_TABLE_POINT_READS]++;
    else if (query->token_in == 0)
        table->sums[TV_WATCH_TABLE_EXECUTIONS]++;
    tv_record_sample_query(shard, page, event, fingerprint);
}
