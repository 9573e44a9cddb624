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

/* What is known of a shape by its last execution; once for each sheet. */
static void describe(tv_sheet_shape *sheet, const tv_watch_event *event, const tv_shape *shape)
{
    const tv_watch_query *query = &event->query;

    sheet->flags = shape->flags;
    sheet->comparisons = shape->comparisons;
    sheet->has_select = query->select.data != NULL;
    sheet->has_top = query->has_top;
    sheet->selects_keys = query->selects_keys;
    sheet->first_ns = event->time_ns;
    sheet->text = dup(shape->text, TV_SHAPE_TEXT_MAX);
    sheet->select = dup(query->select, 256);
    sheet->select_hash = tv_hash(query->select);
    if (query->filter) {
        tv_arena arena;

        tv_arena_init(&arena);
        sheet->example = dup(tv_shape_example(&arena, query->filter, 512), 512);
        tv_arena_done(&arena);
    }
}

static void add_source(tv_sheet_shape *sheet, tv_slice source)
{
    uint64_t hash = tv_hash(source);

    for (int i = 0; i < TV_WATCH_SOURCES; i++) {
        if (sheet->sources[i] && sheet->source_hashes[i] == hash)
            return;
        if (sheet->sources[i] == NULL) {
            sheet->sources[i] = dup(source, TV_WATCH_SOURCE_BYTES);
            sheet->source_hashes[i] = hash;
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
static void look_for_literal(tv_sheet_shape *sheet, const tv_watch_query *query, tv_slice prefix)
{
    enum { TRIES = 16 };
    const tv_node *root = query->filter ? query->filter->root : NULL;
    const tv_node *node = root && root->kind == TV_NODE_AND ? root->first : root;

    if (sheet->literal_tries == TRIES) {
        sheet->literal_tries /= 2;
        sheet->literal_hits /= 2;
    }
    sheet->literal_tries++;
    for (; node; node = root->kind == TV_NODE_AND ? node->next : NULL) {
        char room[24];

        if (node->kind != TV_NODE_COMPARE || node->op != TV_OP_EQ ||
            tv_filter_is_key(query->filter, node->name))
            continue;

        tv_slice name = query->filter->names.list[node->name];
        size_t at = find_text(prefix, literal_text(&node->literal, room));

        if (at == SIZE_MAX)
            continue;
        if (sheet->literal == NULL || sheet->literal_at != at ||
            !tv_slice_eq(tv_slice_of(sheet->literal), name)) {
            free(sheet->literal);
            sheet->literal = dup(name, 255);
            sheet->literal_at = (uint32_t)at;
            sheet->literal_hits = 0;
        }
        sheet->literal_hits++;
        return;
    }
}

/* How close together lies what a partition scan returned. */
static void record_span(tv_sheet_shape *sheet, const tv_watch_query *query)
{
    tv_slice first = row_key_of(query->first_key), last = row_key_of(query->last_key);

    sheet->sums[TV_SHAPE_SPANS]++;
    sheet->sums[TV_SHAPE_SPAN_ROWS] += query->last - query->first + 1;
    sheet->sums[TV_SHAPE_SPAN_RETURNED] += query->returned;
    tv_kept_key_set(&sheet->span_first, first, 0);
    tv_kept_key_set(&sheet->span_last, last, 0);
    tv_kept_key_set(&sheet->looked_first, row_key_of(query->first_looked), 0);
    tv_kept_key_set(&sheet->looked_last, row_key_of(query->last_looked), 0);
    look_for_literal(sheet, query, tv_slice_take(first, common_prefix(first, last)));
}

/* A query may go on by key where another page of it ended, without a token. */
static void record_bounds(tv_sheet_shape *sheet, const tv_watch_query *query)
{
    tv_shape_case letters;

    if (query->is_prefix_range)
        sheet->sums[TV_SHAPE_PREFIX_RANGES]++;
    if (!(sheet->flags & (TV_SHAPE_ROW_SPAN | TV_SHAPE_PARTITION_SPAN)))
        return;
    /* `RowKey gt 'x'` begins with the first key behind x, which is x and 01. */
    if (query->from.len > 1 && sheet->last_key &&
        sheet->last_key == tv_hash(tv_slice_take(query->from, query->from.len - 1)))
        sheet->sums[TV_SHAPE_WALKS_BY_KEY]++;
    if (query->filter) {
        letters = tv_shape_bounds_case(query->filter);
        sheet->sums[TV_SHAPE_UPPER_BOUNDS] += letters == TV_SHAPE_CASE_UPPER;
        sheet->sums[TV_SHAPE_LOWER_BOUNDS] += letters == TV_SHAPE_CASE_LOWER;
    }
    if (query->last_key.len)
        sheet->last_key = tv_hash(query->last_key);
}

static void record_partition(tv_sheet_shape *sheet, const tv_watch_query *query)
{
    uint64_t hash = tv_hash(query->partition);

    sheet->partitions[hash >> 6 & 3] |= UINT64_C(1) << (hash & 63);
    if (sheet->largest.len == 0 || query->examined > sheet->largest_looked) {
        sheet->largest_looked = query->examined;
        tv_kept_key_set(&sheet->largest, query->partition, query->partition.len);
    }
}

/* The first page of a query stands for all of them. */
static void record_execution(tv_sheet_shape *sheet, const tv_watch_event *event,
                             const tv_shape *shape)
{
    const tv_watch_query *query = &event->query;

    sheet->sums[TV_SHAPE_EXECUTIONS]++;
    sheet->sums[TV_SHAPE_PLANS + query->plan]++;
    sheet->sums[TV_SHAPE_RESIDUAL] += query->has_residual;
    sheet->sums[TV_SHAPE_RANGES] += query->range_count;
    sheet->sums[TV_SHAPE_LIST] += shape->list_len;
    tv_raise(&sheet->maxima[TV_SHAPE_RANGES_MAX], query->range_count);
    tv_raise(&sheet->maxima[TV_SHAPE_LIST_MAX], shape->list_len);
    if (sheet->comparisons < shape->comparisons)
        sheet->comparisons = shape->comparisons;
    record_bounds(sheet, query);
    if (query->partition.data)
        record_partition(sheet, query);
}

static void record_share(tv_sheet_shape *sheet, float share)
{
    if (sheet->share_low > share)
        sheet->share_low = share;
    if (sheet->share_high < share)
        sheet->share_high = share;
}

static void record_page(tv_sheet_shape *sheet, const tv_watch_event *event, const tv_shape *shape,
                        tv_walks *walks)
{
    const tv_watch_query *query = &event->query;
    uint64_t examined = query->examined, returned = query->returned;

    if (event->status >= 300) {
        sheet->sums[TV_SHAPE_FAILURES]++;
        return;
    }
    if (query->token_in || query->token_out || query->plan == TV_PLAN_TABLE)
        tv_walks_page(walks, event, shape->fingerprint, &examined, &returned);
    if (query->token_in == 0)
        record_execution(sheet, event, shape);
    sheet->sums[TV_SHAPE_PAGES]++;
    sheet->sums[TV_SHAPE_LANGUAGES + event->client.language]++;
    sheet->sums[TV_SHAPE_EXAMINED] += query->examined;
    sheet->sums[TV_SHAPE_RETURNED] += query->returned;
    sheet->sums[TV_SHAPE_BYTES_OUT] += event->bytes_out;
    tv_raise(&sheet->maxima[TV_SHAPE_EXAMINED_MAX], examined);
    tv_raise(&sheet->maxima[TV_SHAPE_RETURNED_MAX], returned);
    sheet->latencies[tv_latency_slot(event->duration_ns)]++;
    if (query->examined)
        record_share(sheet, (float)query->returned / (float)query->examined);
    if (query->returned >= 2 && query->plan == TV_PLAN_PARTITION && query->first_key.len)
        record_span(sheet, query);
}

static bool is_point(const tv_watch_query *query)
{
    return query->plan == TV_PLAN_POINT && query->range_count == 1 && query->token_in == 0;
}

void tv_record_query(tv_watch_shard *shard, tv_sheet *sheet, tv_sheet_table *table,
                     const tv_watch_event *event)
{
    const tv_watch_query *query = &event->query;
    uint64_t fingerprint = 0;
    bool is_new;

    if (query->filter || query->shape) {
        const tv_shape *shape = find_shape(shard, query);
        tv_sheet_shape *found = tv_sheet_shape_of(sheet, event->table, shape->fingerprint, &is_new);

        fingerprint = shape->fingerprint;
        if (found == NULL) {
            sheet->shape_overflows++;
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
    tv_record_sample_query(shard, sheet, event, fingerprint);
}
