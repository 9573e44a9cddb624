/*
 * What is to be seen of a cluster: GET /cluster and metrics.
 *
 * The leader writes what it knows of the ranges into the object tv.ranges, a row for each; every
 * node makes its status of that, of tv.route and of the nodes, so that any of them can be asked.
 */
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/metrics.h"
#include "server/cluster/internal.h"
#include "store/engine/key.h"

/* --- what the leader told --- */

static tv_slice encode_entry(tv_arena *arena, const tv_balance_entry *entry)
{
    const tv_policy_load *load = &entry->policy.load;
    tv_buf out = TV_BUF_EMPTY;
    tv_slice value;

    tv_words_add_number(&out, entry->is_measured);
    tv_words_add_number(&out, (int64_t)load->rows);
    tv_words_add_number(&out, (int64_t)load->bytes);
    tv_words_add_number(&out, (int64_t)load->reads_s);
    tv_words_add_number(&out, (int64_t)(load->write_ops_s * load->rows_per_op));
    tv_words_add_number(&out, (int64_t)load->rows_per_op);
    tv_words_add_number(&out, (int64_t)(load->busy * 100));
    tv_words_add(&out, tv_slice_of(tv_policy_refusal_name(entry->refused)));
    value = tv_arena_dup(arena, tv_buf_slice(&out));
    tv_buf_done(&out);
    return value;
}

/* How the pool is, and when that was: of the cluster, when it was last led. */
static tv_slice encode_pool(tv_arena *arena, const tv_balancer *balancer)
{
    tv_buf out = TV_BUF_EMPTY;
    tv_slice value;

    tv_words_add_number(&out, tv_clock_unix_ms());
    tv_words_add_number(&out, (int64_t)balancer->space.bytes);
    tv_words_add_number(&out, (int64_t)balancer->space.free_bytes);
    tv_words_add_number(&out, (int64_t)balancer->osd_count);
    tv_words_add_number(&out, (int64_t)balancer->osds_up);
    value = tv_arena_dup(arena, tv_buf_slice(&out));
    tv_buf_done(&out);
    return value;
}

tv_err tv_balancer_tell(tv_pool *pool, tv_pool_step *steps, size_t count)
{
    tv_err err = tv_pool_change_now(pool, TV_BALANCE_OBJECT, steps, count, NULL);

    if (err != TV_ERR_NOT_FOUND)
        return err;

    const tv_pool_step create = {TV_POOL_CREATE, TV_NONE, TV_NONE};

    err = tv_pool_change_now(pool, TV_BALANCE_OBJECT, &create, 1, NULL);
    if (err && err != TV_ERR_CONFLICT)
        return err;
    return tv_pool_change_now(pool, TV_BALANCE_OBJECT, steps, count, NULL);
}

void tv_balancer_publish(tv_balancer *balancer)
{
    tv_pool_step *steps = tv_calloc(balancer->entry_count + 3, sizeof *steps);
    size_t count = 0;
    tv_arena arena;

    tv_arena_init(&arena);
    steps[count++] = (tv_pool_step){TV_POOL_DELETE_ROWS, TV_LIT(TV_RANGE_OBJECT),
                                    TV_LIT(TV_RANGE_OBJECT "\xff")};
    for (size_t i = 0; i < balancer->entry_count; i++)
        steps[count++] = (tv_pool_step){TV_POOL_PUT_ROW, tv_slice_of(balancer->entries[i].object),
                                        encode_entry(&arena, &balancer->entries[i])};
    steps[count++] = (tv_pool_step){
        TV_POOL_PUT_ROW, TV_LIT("leader"),
        balancer->options.incarnation.len ? balancer->options.incarnation : TV_LIT("-")};
    steps[count++] = (tv_pool_step){TV_POOL_PUT_ROW, TV_LIT("pool"), encode_pool(&arena, balancer)};
    /* They are for people to look at, and come again in 5 s. */
    (void)!tv_balancer_tell(balancer->options.pool, steps, count);
    tv_arena_done(&arena);
    free(steps);
}

/* --- JSON --- */

/* How keys are shown: names in the order of their prefixes, none of which begins another. */
typedef struct name_table {
    tv_arena *arena;
    tv_balancer_name *list;
    size_t count;
} name_table;

static int compare_names(const void *a, const void *b)
{
    return tv_slice_cmp(((const tv_balancer_name *)a)->prefix,
                        ((const tv_balancer_name *)b)->prefix);
}

static void names_init(name_table *n, tv_balancer *balancer, tv_arena *arena)
{
    *n = (name_table){.arena = arena};
    if (balancer->options.list_names)
        n->count = balancer->options.list_names(balancer->options.ctx, arena, &n->list);
    if (n->count)
        qsort(n->list, n->count, sizeof *n->list, compare_names);
}

/* That of the last prefix that is not behind the key, if the key begins so. */
static const tv_balancer_name *find_name(const name_table *n, tv_slice key)
{
    size_t low = 0, high = n->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (tv_slice_cmp(n->list[middle].prefix, key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low && tv_slice_starts_with(key, n->list[low - 1].prefix) ? &n->list[low - 1] : NULL;
}

/*
 * A key for people, with slashes between its fields, in UTF-8 as far as it is text:
 * account/table/PartitionKey, or the kind of row and the table's id where no catalogue knows it.
 */
static void add_readable(tv_buf *out, const name_table *n, tv_slice key)
{
    const tv_balancer_name *name = find_name(n, key);
    tv_buf text = TV_BUF_EMPTY;
    tv_slice part, rest = key, utf8;

    if (name) {
        tv_buf_add(&text, name->name);
        rest = tv_slice_skip(key, name->prefix.len);
    } else if (key.len) {
        tv_buf_add(&text, tv_slice_take(key, 1));
        rest = tv_slice_skip(key, 1);
    }
    while (rest.len && tv_slice_next(&rest, TV_KEY_MARK, &part)) {
        tv_buf_add_char(&text, '/');
        if (tv_key_decode_text(n->arena, part, &utf8) == TV_OK)
            tv_buf_add(&text, utf8);
        else
            tv_buf_add_char(&text, '?');
    }
    tv_json_add_string(out, tv_buf_slice(&text));
    tv_buf_done(&text);
}

static void add_coded(tv_buf *out, tv_slice key)
{
    tv_buf word = TV_BUF_EMPTY;

    if (key.len)
        tv_words_add(&word, key);
    tv_json_add_string(out, tv_buf_slice(&word));
    tv_buf_done(&word);
}

/* The leader's row of a range. */
static void add_load(tv_buf *out, tv_arena *arena, tv_slice value)
{
    static const char *const names[] = {"measured", "rows",        "bytes",       "reads_s",
                                        "writes_s", "rows_per_op", "busy_percent"};
    tv_slice refused = TV_LIT("");

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int64_t number = 0;

        if (value.len == 0 || tv_words_next_number(&value, &number))
            number = 0;
        if (i == 0)
            tv_json_bool(out, "measured", number != 0);
        else
            tv_buf_printf(out, ",\"%s\":%lld", names[i], (long long)number);
    }
    if (value.len && tv_words_next(&value, arena, &refused))
        refused = TV_LIT("");
    tv_json_text(out, "refused", refused);
}

static tv_slice find_row(const tv_pool_row *rows, size_t count, tv_slice key)
{
    for (size_t low = 0; low < count;) {
        size_t middle = (low + count) / 2;
        int order = tv_slice_cmp(rows[middle].key, key);

        if (order == 0)
            return rows[middle].value;
        if (order < 0)
            low = middle + 1;
        else
            count = middle;
    }
    return TV_LIT("");
}

static void add_ranges(tv_buf *out, const name_table *n, const tv_routes *routes,
                       const tv_pool_row *told, size_t told_count, const tv_slice *nodes,
                       size_t node_count)
{
    for (size_t i = 0; i < routes->range_count; i++) {
        const tv_route *route = &routes->ranges[i];
        bool is_dirty = route->dirty_from.len || route->dirty_to.len;
        tv_slice usual = route->hint;

        if (usual.len == 0 && node_count)
            usual = nodes[tv_policy_usual_node(route->object, nodes, node_count)];
        tv_json_open(out, NULL, '\n');
        tv_buf_add_lit(out, "{\"start\":");
        add_readable(out, n, route->start);
        tv_json_name(out, "key");
        add_coded(out, route->start);
        tv_json_text(out, "object", route->object);
        tv_json_text(out, "epoch", route->epoch);
        tv_json_text(out, "flags", is_dirty ? TV_LIT("dirty") : TV_LIT(""));
        tv_json_text(out, "usual", usual);
        add_load(out, n->arena, find_row(told, told_count, route->object));
        tv_buf_add_char(out, '}');
    }
}

static void add_intents(tv_buf *out, const tv_routes *routes)
{
    for (size_t i = 0; i < routes->intent_count; i++) {
        const tv_intent *intent = &routes->intents[i];

        tv_buf_printf(out, "%s\n{\"op\":\"%s\",\"stage\":\"%s\",\"began_ms\":%lld", i ? "," : "",
                      tv_intent_kind_name(intent->kind).data,
                      tv_intent_stage_name(intent->stage).data, (long long)intent->began_ms);
        tv_json_text(out, "id", intent->id);
        tv_json_text(out, "by", intent->by);
        tv_json_text(out, "object", intent->object);
        tv_json_name(out, "key");
        add_coded(out, intent->start);
        tv_buf_add_char(out, '}');
    }
}

typedef struct history {
    tv_buf *out;
    const name_table *names;
} history;

static void add_event(void *ctx, const tv_route_event *event)
{
    history *h = ctx;
    tv_buf *out = h->out;

    tv_json_open(out, NULL, '\n');
    tv_buf_printf(out, "{\"at_ms\":%lld", (long long)event->at_ms);
    tv_json_text(out, "op", event->op);
    tv_json_text(out, "range", event->range);
    tv_json_name(out, "key");
    add_readable(out, h->names, event->key);
    tv_json_text(out, "reason", event->reason);
    tv_buf_printf(out, ",\"rows\":%lld,\"total_ms\":%lld,\"paused_ms\":%lld",
                  (long long)event->rows, (long long)event->total_ms, (long long)event->paused_ms);
    tv_json_text(out, "outcome", event->outcome);
    tv_buf_add_char(out, '}');
}

static void add_nodes(tv_balancer *balancer, tv_buf *out, const tv_slice *nodes, size_t count)
{
    if (balancer->options.describe_nodes) {
        balancer->options.describe_nodes(balancer->options.ctx, out);
        return;
    }
    tv_buf_add_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        tv_json_open(out, NULL, '{');
        tv_json_text(out, "incarnation", nodes[i]);
        tv_buf_add_char(out, '}');
    }
    tv_buf_add_char(out, ']');
}

static void add_job(tv_balancer *balancer, tv_buf *out)
{
    tv_background_lock(&balancer->thread);
    tv_buf_printf(out, ",\n\"force\":{\"job\":%llu,\"state\":\"%s\",\"error\":\"%s\"}",
                  (unsigned long long)balancer->job.number,
                  balancer->job.number == 0 ? "none"
                  : balancer->job.is_done   ? "done"
                                            : "running",
                  balancer->job.is_done && balancer->job.err ? tv_err_name(balancer->job.err) : "");
    tv_background_unlock(&balancer->thread);
}

/* `led_ms`: how long ago a leader has told of it. */
static void add_pool(tv_buf *out, tv_slice value)
{
    int64_t numbers[5] = {0};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && value.len; i++)
        if (tv_words_next_number(&value, &numbers[i]))
            break;
    tv_buf_printf(out,
                  ",\n\"pool\":{\"led_ms\":%lld,\"bytes\":%lld,\"free_bytes\":%lld,\"osds\":%lld,"
                  "\"osds_up\":%lld}",
                  numbers[0] ? (long long)(tv_clock_unix_ms() - numbers[0]) : -1LL,
                  (long long)numbers[1], (long long)numbers[2], (long long)numbers[3],
                  (long long)numbers[4]);
}

void tv_balancer_make_status(tv_balancer *balancer)
{
    tv_pool *pool = balancer->options.pool;
    tv_buf out = TV_BUF_EMPTY, old;
    tv_slice *nodes = NULL;
    tv_routes routes;
    size_t count;
    name_table n;
    tv_arena arena;
    tv_pool_read told = {
        .object = TV_BALANCE_OBJECT,
        .kind = TV_POOL_READ_PAGE,
        .rows_max = 20000,
        .arena = &arena,
    };

    tv_arena_init(&arena);
    if (tv_routes_load_all(pool, &arena, &routes))
        goto out;
    if (tv_pool_read_now(pool, &told))
        told.row_count = 0;
    count = balancer->options.live_nodes(balancer->options.ctx, &arena, &nodes);
    names_init(&n, balancer, &arena);

    tv_buf_printf(&out, "{\"version\":%llu,\"level\":%lld", (unsigned long long)routes.version,
                  (long long)routes.level);
    tv_json_text(&out, "leader", find_row(told.rows, told.row_count, TV_LIT("leader")));
    tv_json_text(&out, "self", balancer->options.incarnation);
    add_job(balancer, &out);
    add_pool(&out, find_row(told.rows, told.row_count, TV_LIT("pool")));
    tv_balancer_add_check(&out, &arena, find_row(told.rows, told.row_count, TV_LIT("check")));
    tv_buf_add_lit(&out, ",\n\"nodes\":");
    add_nodes(balancer, &out, nodes, count);
    tv_buf_add_lit(&out, ",\n\"ranges\":[");
    add_ranges(&out, &n, &routes, told.rows, told.row_count, nodes, count);
    tv_buf_add_lit(&out, "],\n\"intents\":[");
    add_intents(&out, &routes);
    tv_buf_add_lit(&out, "],\n\"history\":[");
    /* As far as it can be read. */
    (void)!tv_range_visit_events(pool, &arena, add_event, &(history){.out = &out, .names = &n});
    tv_buf_add_lit(&out, "]}\n");

    tv_background_lock(&balancer->thread);
    old = balancer->status;
    balancer->status = out;
    tv_background_unlock(&balancer->thread);
    tv_buf_done(&old);

out:
    tv_arena_done(&arena);
}

/*
 * Where the next string is that is a key; json.len when there is none.  A quote within a string has
 * a backslash before it, so the names are found nowhere else.
 */
static size_t find_key(tv_slice json)
{
    static const tv_slice names[] = {{"\"start\":\"", 9}, {"\"key\":\"", 7}};

    for (size_t at = 0; at < json.len; at++) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            if (tv_slice_starts_with(tv_slice_skip(json, at), names[i]))
                return at + names[i].len - 1;
        }
    }
    return json.len;
}

static void add_without_keys(tv_buf *out, tv_slice json)
{
    for (size_t at; (at = find_key(json)) < json.len;) {
        tv_buf_add(out, tv_slice_take(json, at++));
        tv_buf_add_lit(out, "null");
        while (at < json.len && json.data[at] != '"')
            at += json.data[at] == '\\' ? 2 : 1;
        json = tv_slice_skip(json, at < json.len ? at + 1 : json.len);
    }
    tv_buf_add(out, json);
}

/* Before the first beat a node knows who it is, and nothing of the others. */
static void add_nothing_yet(const tv_balancer *balancer, tv_buf *out)
{
    tv_buf_add_lit(out, "{\"version\":0,\"leader\":\"\"");
    tv_json_text(out, "self", balancer->options.incarnation);
    tv_buf_add_lit(out, ",\"nodes\":[],\"ranges\":[],\"intents\":[],\"history\":[]}\n");
}

void tv_balancer_write_status(tv_balancer *balancer, tv_buf *out, bool with_keys)
{
    tv_background_lock(&balancer->thread);
    if (balancer->status.len && with_keys)
        tv_buf_add(out, tv_buf_slice(&balancer->status));
    else if (balancer->status.len)
        add_without_keys(out, tv_buf_slice(&balancer->status));
    else
        add_nothing_yet(balancer, out);
    tv_background_unlock(&balancer->thread);
}

void tv_balancer_write_metrics(tv_balancer *balancer, tv_buf *out)
{
    tv_background_lock(&balancer->thread);
    tv_metric_open(out, "range_splits_total", "Ranges that this node has split.");
    for (int i = 0; i < 4; i++)
        tv_metric_add_of(out, "range_splits_total", "reason",
                         i ? tv_policy_reason_name((tv_policy_reason)i) : "forced",
                         (double)balancer->splits[i]);
    tv_metric_add(out, "range_merges_total", "Ranges that this node has merged.",
                  (double)balancer->merges);
    tv_metric_add(out, "range_undone_total", "Splits and merges that came to nothing.",
                  (double)balancer->undone);
    tv_metric_open(out, "range_refused_total", "Splits that would not have helped.");
    for (int i = TV_POLICY_HOT_PARTITION; i <= TV_POLICY_SINGLE_PARTITION; i++)
        tv_metric_add_of(out, "range_refused_total", "reason",
                         tv_policy_refusal_name((tv_policy_refusal)i),
                         (double)balancer->refused[i]);
    tv_metric_open_histogram(out, "range_pause_ms",
                             "Time in which a range took no writes because it was split or "
                             "merged.");
    tv_metric_add_histogram(out, "range_pause_ms", "", balancer->pause_slots, TV_PAUSE_SLOTS, 1,
                            (double)balancer->pause_ms_sum);
    tv_background_unlock(&balancer->thread);
}
