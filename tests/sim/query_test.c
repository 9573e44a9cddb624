/*
 * Planned queries against a naive reader.
 *
 * Random tables and random filters; what the planner, the scan and its pages
 * return must be what a reader returns who looks at every row in order and knows
 * nothing of plans: he walks his own tree (the filter's text is printed from
 * it), decodes strings to UTF-16 himself, and has his own copy of the rules of
 * comparison.  A query is read
 *
 *  - page by page, with a random $top, following the tokens: the pages make the
 *    naive list, in its order, and all but the last are full;
 *  - by the point path as well, when its plan is one point;
 *  - once more while rows come and go between the pages: rows that were there
 *    all the time are returned exactly once, and nothing that does not match.
 *
 * TAVOLA_SEED=n repeats the run that printed n.
 */
#include <math.h>

#include "check.h"
#include "engine/key.h"
#include "engine/memory/memory.h"
#include "seed.h"
#include "table/scan.h"
#include "table/token.h"

enum {
    TABLES = 40,
    FILTERS = 100, /* for each table */
    ROWS_MAX = 300,
    ROWS_ROOM = 4 * ROWS_MAX, /* with those that come later */
    PROPERTIES = 5,
    NAMES = 3 + PROPERTIES,
    PARTITIONS_MAX = 6,
    IDS_MAX = 100000,
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define ACCOUNT TV_LIT("acct")

static const char *const names[NAMES] = {"PartitionKey", "RowKey", "Timestamp", "p0",
                                         "p1",           "p2",     "p3",        "p4"};

typedef struct row {
    tv_property values[NAMES]; /* type 0: not there */
    tv_slice key;              /* in the engine */
    int id;
    bool is_there;
} row;

typedef enum expr_kind { AND, OR, NOT, COMPARE, BARE } expr_kind;

typedef struct expr {
    expr_kind kind;
    struct expr **kids;
    size_t count;
    int name;
    tv_compare_op op;
    tv_property literal;
} expr;

static tv_engine *engine;
static tv_arena arena; /* of one table */
static tv_table table;
static row rows[ROWS_ROOM]; /* in key order where is_there */
static size_t row_count;
static int next_id;
static tv_slice partitions[PARTITIONS_MAX];
static size_t partition_count;

/* What the run has met, so that a change that makes it toothless is seen. */
static struct {
    int plans[TV_PLAN_KINDS], without_residual, single_points, empty, pages;
} met;

static bool chance(unsigned percent)
{
    return seed_below(100) < percent;
}

/* --- the naive reader --- */

static size_t to_utf16(tv_slice text, uint16_t *units)
{
    const unsigned char *in = (const unsigned char *)text.data;
    size_t count = 0;

    for (size_t i = 0; i < text.len;) {
        uint32_t c = in[i];
        int more = c < 0x80 ? 0 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;

        c = more == 0 ? c : c & (0x3Fu >> more);
        for (i++; more > 0; more--)
            c = c << 6 | (in[i++] & 0x3F);
        if (c >= 0x10000) {
            units[count++] = (uint16_t)(0xD800 + ((c - 0x10000) >> 10));
            units[count++] = (uint16_t)(0xDC00 + ((c - 0x10000) & 0x3FF));
        } else {
            units[count++] = (uint16_t)c;
        }
    }
    return count;
}

static int naive_strings(tv_slice a, tv_slice b)
{
    uint16_t x[64], y[64];
    size_t x_count = to_utf16(a, x), y_count = to_utf16(b, y);

    for (size_t i = 0; i < x_count && i < y_count; i++) {
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    }
    return x_count < y_count ? -1 : x_count > y_count;
}

static int naive_bytes(const void *a, size_t a_len, const void *b, size_t b_len)
{
    const unsigned char *x = a, *y = b;

    for (size_t i = 0; i < a_len && i < b_len; i++) {
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    }
    return a_len < b_len ? -1 : a_len > b_len;
}

static bool naive_number(tv_compare_op op, double p, double l)
{
    switch (op) {
    case TV_OP_EQ:
        return p == l;
    case TV_OP_NE:
        return p != l;
    case TV_OP_GT:
        return p > l;
    case TV_OP_GE:
        return p >= l;
    case TV_OP_LT:
        return p < l;
    case TV_OP_LE:
        return p <= l;
    }
    abort();
}

static bool naive_order(tv_compare_op op, int order)
{
    return naive_number(op, order, 0);
}

static int sign_of(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static bool naive_compare(const tv_property *p, tv_compare_op op, const tv_property *l)
{
    if (p->type == 0)
        return false;
    if (p->type == TV_EDM_DOUBLE && l->type == TV_EDM_INT32)
        return naive_number(op, p->real, (double)l->int32);
    if (p->type == TV_EDM_DOUBLE && l->type == TV_EDM_INT64)
        return naive_number(op, p->real, (double)l->int64);
    if (p->type == TV_EDM_INT64 && l->type == TV_EDM_INT32)
        return naive_order(op, sign_of(p->int64, l->int32));
    if (p->type != l->type)
        return op == TV_OP_NE || op == TV_OP_LT || op == TV_OP_LE;

    switch (p->type) {
    case TV_EDM_STRING:
        return naive_order(op, naive_strings(p->bytes, l->bytes));
    case TV_EDM_BINARY:
        return naive_order(op,
                           naive_bytes(p->bytes.data, p->bytes.len, l->bytes.data, l->bytes.len));
    case TV_EDM_GUID:
        return naive_order(op, naive_bytes(p->guid.bytes, 16, l->guid.bytes, 16));
    case TV_EDM_BOOLEAN:
        return naive_order(op, sign_of(p->boolean, l->boolean));
    case TV_EDM_INT32:
        return naive_order(op, sign_of(p->int32, l->int32));
    case TV_EDM_INT64:
        return naive_order(op, sign_of(p->int64, l->int64));
    case TV_EDM_DATETIME:
        return naive_order(op, sign_of(p->ticks, l->ticks));
    case TV_EDM_DOUBLE:
        return naive_number(op, p->real, l->real);
    }
    abort();
}

static bool naive_matches(const expr *e, const row *r)
{
    bool all = true, any = false;

    switch (e->kind) {
    case COMPARE:
        return naive_compare(&r->values[e->name], e->op, &e->literal);
    case BARE:
        return r->values[e->name].type == TV_EDM_BOOLEAN && r->values[e->name].boolean;
    case NOT:
        return !naive_matches(e->kids[0], r);
    case AND:
    case OR:
        break;
    }
    for (size_t i = 0; i < e->count; i++) {
        bool is_true = naive_matches(e->kids[i], r);

        all = all && is_true;
        any = any || is_true;
    }
    return e->kind == AND ? all : any;
}

/* --- random values --- */

/* Few, odd characters, so that keys share beginnings; some on either side of the surrogates. */
static tv_slice random_text(size_t chars_max)
{
    static const char *const characters[] = {"a",
                                             "b",
                                             "b",
                                             "c",
                                             " ",
                                             "'",
                                             "~",
                                             "\xC3\xB4",
                                             "\xED\x9F\xBF",
                                             "\xEE\x80\x80",
                                             "\xEF\xBF\xBD",
                                             "\xF0\x90\x80\x80",
                                             "\xF0\x9F\x98\x80"};
    tv_slice text = TV_LIT("");

    for (uint64_t i = seed_below(chars_max + 1); i > 0; i--)
        text = tv_arena_printf(&arena, "%.*s%s", TV_FMT(text),
                               characters[seed_below(COUNT(characters))]);
    return text;
}

static const struct {
    const char *text;
    int64_t ticks;
} dates[] = {
    {"1601-01-01T00:00:00Z", INT64_C(504911232000000000)},
    {"2000-01-01T00:00:00Z", INT64_C(630822816000000000)},
    {"2000-01-01T00:00:00.0000001Z", INT64_C(630822816000000001)},
    {"2000-01-01T01:00:00", INT64_C(630822852000000000)},
};

static tv_property random_value(tv_edm_type type)
{
    static const int64_t integers[] = {INT32_MIN, -1, 0, 1, 2, 3, INT32_MAX};
    static const int64_t wide[] = {INT64_MIN, -1, 0, 2, INT64_C(1) << 53, INT64_MAX};
    static const double reals[] = {-INFINITY, -1.5, -0.0, 0, 1, 2, 3.25, 1e20, INFINITY, NAN};
    tv_property value = {.type = type};

    switch (type) {
    case TV_EDM_STRING:
        value.bytes = random_text(2);
        break;
    case TV_EDM_BINARY:
        value.bytes = random_text(2);
        break;
    case TV_EDM_BOOLEAN:
        value.boolean = chance(50);
        break;
    case TV_EDM_INT32:
        value.int32 = (int32_t)integers[seed_below(COUNT(integers))];
        break;
    case TV_EDM_INT64:
        value.int64 =
            chance(50) ? integers[seed_below(COUNT(integers))] : wide[seed_below(COUNT(wide))];
        break;
    case TV_EDM_DOUBLE:
        value.real = reals[seed_below(COUNT(reals))];
        break;
    case TV_EDM_DATETIME:
        value.ticks = dates[seed_below(COUNT(dates))].ticks;
        break;
    case TV_EDM_GUID:
        memset(value.guid.bytes, (int)seed_below(3) * 0x7f, sizeof value.guid.bytes);
        value.guid.bytes[15] = (uint8_t)seed_below(2);
        break;
    }
    return value;
}

/* --- random tables --- */

static void write_change(tv_change change)
{
    tv_batch batch = {0};

    tv_batch_add(&batch, change);
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_batch_done(&batch);
}

static tv_slice key_of(int64_t table_id, const row *r)
{
    tv_slice partition, key;

    CHECK_OK(tv_key_partition(&arena, ACCOUNT, table_id, r->values[0].bytes, &partition));
    CHECK_OK(tv_key_row(&arena, partition, r->values[1].bytes, &key));
    return key;
}

static void store(tv_slice key, const row *r)
{
    tv_property list[1 + PROPERTIES] = {
        {.name = TV_LIT("id"), .type = TV_EDM_INT32, .int32 = r->id}};
    tv_properties properties = {list, 1};

    for (int i = 3; i < NAMES; i++) {
        if (r->values[i].type == 0)
            continue;
        list[properties.count] = r->values[i];
        list[properties.count++].name = tv_slice_of(names[i]);
    }
    tv_slice value = tv_entity_encode(&arena, &properties);
    tv_entity_set_timestamp(value, r->values[2].ticks);
    write_change((tv_change){TV_CHANGE_PUT, key, value});
}

static int row_order(const row *a, const row *b)
{
    int order = naive_strings(a->values[0].bytes, b->values[0].bytes);

    return order ? order : naive_strings(a->values[1].bytes, b->values[1].bytes);
}

/* Make a row and put it where it belongs; false when there is one with its keys. */
static bool add_row(void)
{
    tv_property partition = {.type = TV_EDM_STRING};
    row r = {.is_there = true};
    size_t at = 0;

    partition.bytes = partitions[seed_below(partition_count)];
    r.values[0] = partition;
    r.values[1] = (tv_property){.type = TV_EDM_STRING, .bytes = random_text(4)};
    while (at < row_count && row_order(&rows[at], &r) < 0)
        at++;
    if (row_count == ROWS_ROOM || next_id == IDS_MAX ||
        (at < row_count && row_order(&rows[at], &r) == 0))
        return false;

    r.id = next_id++;
    r.values[2] = random_value(TV_EDM_DATETIME);
    for (int i = 3; i < NAMES; i++) {
        if (chance(70))
            r.values[i] = random_value((tv_edm_type)(TV_EDM_STRING + seed_below(8)));
    }
    r.key = key_of(table.id, &r);
    memmove(&rows[at + 1], &rows[at], (row_count - at) * sizeof r);
    rows[at] = r;
    row_count++;
    store(r.key, &r);
    return true;
}

static void make_table(void)
{
    size_t wanted = 50 + seed_below(ROWS_MAX - 50);

    row_count = 0;
    next_id = 1;
    table.account = ACCOUNT;
    table.prefix = tv_key_table(&arena, ACCOUNT, table.id);
    partition_count = 1 + seed_below(PARTITIONS_MAX);
    partitions[0] = random_text(2);
    for (size_t i = 1; i < partition_count; i++) {
        tv_slice more = random_text(2);

        /* Often another one is its beginning. */
        partitions[i] = chance(50) ? tv_arena_printf(&arena, "%.*s%.*s", TV_FMT(partitions[i - 1]),
                                                     TV_FMT(more))
                                   : more;
    }
    for (size_t tries = 0; row_count < wanted && tries < 4 * wanted; tries++)
        add_row();

    /* The neighbours have the same keys, and ids that nobody may see. */
    for (size_t i = 0; i < row_count; i += 7) {
        row stranger = rows[i];

        stranger.id = -1;
        store(key_of(table.id - 1, &stranger), &stranger);
        store(key_of(table.id + 1, &stranger), &stranger);
    }
}

/* --- random filters --- */

static tv_slice random_key_literal(int name)
{
    tv_slice stored = rows[seed_below(row_count)].values[name].bytes;

    switch (seed_below(10)) {
    case 0:
        return random_text(4);
    case 1: /* just behind */
        return tv_arena_printf(&arena, "%.*s ", TV_FMT(stored));
    case 2: /* a beginning, cut between characters */
        for (size_t len = stored.len / 2; len < stored.len; len++) {
            if (((unsigned char)stored.data[len] & 0xC0) != 0x80)
                return tv_slice_take(stored, len);
        }
        return TV_LIT("");
    case 3: /* what no key can be */
        return chance(20) ? tv_arena_printf(&arena, "%.*s\x02", TV_FMT(stored)) : stored;
    default:
        return stored;
    }
}

static expr *leaf_of(int name, tv_compare_op op, tv_property literal)
{
    expr *e = tv_arena_zalloc(&arena, sizeof *e);

    e->kind = COMPARE;
    e->name = name;
    e->op = op;
    e->literal = literal;
    return e;
}

static expr *random_key_leaf(int name)
{
    tv_compare_op op = chance(45) ? TV_OP_EQ : (tv_compare_op)seed_below(6);

    return leaf_of(name, op,
                   (tv_property){.type = TV_EDM_STRING, .bytes = random_key_literal(name)});
}

static expr *random_leaf(void)
{
    uint64_t die = seed_below(100);
    int name = 3 + (int)seed_below(PROPERTIES);

    if (die < 30)
        return random_key_leaf(0);
    if (die < 60)
        return random_key_leaf(1);
    if (die < 65)
        return leaf_of(2, (tv_compare_op)seed_below(6), random_value(TV_EDM_DATETIME));
    if (die < 72) {
        expr *e = leaf_of(name, TV_OP_EQ, (tv_property){0});

        e->kind = BARE;
        return e;
    }

    tv_property stored = rows[seed_below(row_count)].values[name];

    if (stored.type == 0 || chance(40))
        stored = random_value((tv_edm_type)(TV_EDM_STRING + seed_below(8)));
    return leaf_of(name, (tv_compare_op)seed_below(6), stored);
}

static expr *node_of(expr_kind kind, size_t count)
{
    expr *e = tv_arena_zalloc(&arena, sizeof *e);

    e->kind = kind;
    e->count = count;
    e->kids = tv_arena_zalloc(&arena, count * sizeof(expr *));
    return e;
}

static expr *random_expr(int depth)
{
    if (depth == 0 || chance(25))
        return random_leaf();

    uint64_t die = seed_below(100);
    expr *e = die < 15   ? node_of(NOT, 1)
              : die < 60 ? node_of(AND, 2 + seed_below(3))
                         : node_of(OR, 2 + seed_below(3));

    for (size_t i = 0; i < e->count; i++)
        e->kids[i] = random_expr(depth - 1);
    return e;
}

/* What well-behaved clients send: a partition, ranges of its rows, and perhaps something more. */
static expr *partition_expr(void)
{
    expr *all = node_of(AND, 2 + seed_below(2)), *any = node_of(OR, 1 + seed_below(4));

    for (size_t i = 0; i < any->count; i++) {
        expr *range = node_of(AND, 2);

        range->kids[0] = random_key_leaf(1);
        range->kids[0]->op = chance(50) ? TV_OP_GE : TV_OP_GT;
        range->kids[1] = random_key_leaf(1);
        range->kids[1]->op = chance(50) ? TV_OP_LE : TV_OP_LT;
        any->kids[i] = chance(70) ? range : random_key_leaf(1);
    }
    all->kids[0] = random_key_leaf(0);
    all->kids[0]->op = TV_OP_EQ;
    all->kids[1] = any;
    if (all->count == 3)
        all->kids[2] = random_expr(1);
    return all;
}

/* Chains that are longer than the planner keeps ranges for, and products of them. */
static expr *huge_expr(void)
{
    expr *all = node_of(AND, 1 + seed_below(3));
    bool is_about_keys = chance(60);

    for (size_t i = 0; i < all->count; i++) {
        expr *any = node_of(OR, all->count == 1 ? 1000 + seed_below(400) : 60 + seed_below(200));
        int name = (int)seed_below(2);
        unsigned strange_percent = chance(50) ? 90 : 100;
        bool has_only_eq = chance(70); /* a few others may let everything through */

        for (size_t k = 0; k < any->count; k++) {
            expr *leaf = random_key_leaf(name);

            if (has_only_eq || chance(98))
                leaf->op = TV_OP_EQ;
            /* Many different ones, most of which are nowhere. */
            if (chance(strange_percent))
                leaf->literal.bytes =
                    tv_arena_printf(&arena, "%.*s%zu", TV_FMT(leaf->literal.bytes), k);
            any->kids[k] = leaf;
            if (!is_about_keys && chance(30)) {
                any->kids[k] = node_of(AND, 2);
                any->kids[k]->kids[0] = leaf;
                any->kids[k]->kids[1] = random_leaf();
            }
        }
        all->kids[i] = any;
    }
    return all;
}

/* --- filters as text --- */

static void add_quoted(tv_buf *out, tv_slice text)
{
    tv_buf_add_char(out, '\'');
    for (size_t i = 0; i < text.len; i++) {
        tv_buf_add_char(out, text.data[i]);
        if (text.data[i] == '\'')
            tv_buf_add_char(out, '\'');
    }
    tv_buf_add_char(out, '\'');
}

static void add_double(tv_buf *out, double value)
{
    if (isnan(value))
        tv_buf_add_lit(out, "NaN");
    else if (isinf(value))
        tv_buf_add(out, value < 0 ? TV_LIT("-INF") : TV_LIT("INF"));
    else if (chance(50))
        tv_buf_printf(out, "%.3fd", value);
    else
        tv_buf_printf(out, "%.17e", value);
}

static void add_literal(tv_buf *out, const tv_property *l)
{
    switch (l->type) {
    case TV_EDM_STRING:
        add_quoted(out, l->bytes);
        break;
    case TV_EDM_BINARY:
        tv_buf_add(out, chance(50) ? TV_LIT("X'") : TV_LIT("binary'"));
        for (size_t i = 0; i < l->bytes.len; i++)
            tv_buf_printf(out, chance(50) ? "%02x" : "%02X", (unsigned char)l->bytes.data[i]);
        tv_buf_add_char(out, '\'');
        break;
    case TV_EDM_BOOLEAN:
        tv_buf_add(out, l->boolean ? TV_LIT("true") : TV_LIT("false"));
        break;
    case TV_EDM_INT32:
        tv_buf_printf(out, "%d", l->int32);
        break;
    case TV_EDM_INT64:
        tv_buf_printf(out, "%lld%c", (long long)l->int64, chance(50) ? 'L' : 'l');
        break;
    case TV_EDM_DOUBLE:
        add_double(out, l->real);
        break;
    case TV_EDM_DATETIME:
        for (size_t i = 0; i < COUNT(dates); i++) {
            if (dates[i].ticks == l->ticks)
                tv_buf_printf(out, "datetime'%s'", dates[i].text);
        }
        break;
    case TV_EDM_GUID:
        tv_buf_add_lit(out, "guid'");
        for (int i = 0; i < 16; i++)
            tv_buf_printf(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                          l->guid.bytes[i]);
        tv_buf_add_char(out, '\'');
        break;
    }
}

static void add_comparison(tv_buf *out, const expr *e)
{
    static const char *const words[] = {"eq", "ne", "gt", "ge", "lt", "le"};
    static const char *const mirrors[] = {"eq", "ne", "lt", "le", "gt", "ge"};

    if (chance(20)) {
        add_literal(out, &e->literal);
        tv_buf_printf(out, " %s %s", mirrors[e->op], names[e->name]);
    } else {
        tv_buf_printf(out, "%s %s ", names[e->name], words[e->op]);
        add_literal(out, &e->literal);
    }
}

/* How tightly a kind binds. */
static int strength(expr_kind kind)
{
    return kind == OR ? 0 : kind == AND ? 1 : 2;
}

/* With the parentheses that it needs, and now and then with some that it does not need. */
static void add_expr(tv_buf *out, const expr *e, int outer)
{
    bool has_parentheses = strength(e->kind) < outer || chance(10);

    if (has_parentheses)
        tv_buf_add_char(out, '(');
    switch (e->kind) {
    case COMPARE:
        add_comparison(out, e);
        break;
    case BARE:
        tv_buf_add(out, tv_slice_of(names[e->name]));
        break;
    case NOT:
        tv_buf_add_lit(out, "not ");
        add_expr(out, e->kids[0], 2);
        break;
    case AND:
    case OR:
        for (size_t i = 0; i < e->count; i++) {
            if (i)
                tv_buf_add(out, e->kind == AND ? TV_LIT(" and ") : TV_LIT(" or "));
            add_expr(out, e->kids[i], strength(e->kind));
        }
        break;
    }
    if (has_parentheses)
        tv_buf_add_char(out, ')');
}

/* --- planned execution --- */

typedef struct answer {
    int ids[ROWS_ROOM];
    size_t count;
    size_t examined;
} answer;

static tv_table_op op = {.kind = TV_TABLE_OP_QUERY_ENTITIES, .level = TV_METADATA_NONE};

static tv_scan scan_of(const tv_query *query, tv_buf *out)
{
    tv_scan scan = {.table = &table,
                    .op = &op,
                    .query = query,
                    .time_max_ns = INT64_C(600000000000),
                    .arena = &arena,
                    .out = out};

    out->len = 0;
    tv_scan_plan(&scan);
    return scan;
}

/* {"value":[{"id":3},{"id":4}]} */
static size_t read_ids(tv_slice page, answer *into)
{
    size_t count = 0;

    CHECK(tv_slice_starts_with(page, TV_LIT("{\"value\":[")));
    page = tv_slice_skip(page, 10);
    while (tv_slice_starts_with(page, TV_LIT("{\"id\":"))) {
        size_t end = tv_slice_find(page, '}');

        CHECK(into->count < ROWS_ROOM);
        into->ids[into->count++] = (int)strtol(page.data + 6, NULL, 10);
        count++;
        page = tv_slice_skip(page, end + 1);
        if (page.len && page.data[0] == ',')
            page = tv_slice_skip(page, 1);
    }
    CHECK_TEXT(page, "]}");
    return count;
}

/* What every plan promises. */
static void check_plan(const tv_plan *plan)
{
    tv_slice end = tv_key_after(&arena, table.prefix);
    tv_plan_kind worst = TV_PLAN_POINT;

    for (size_t i = 0; i < plan->count; i++) {
        const tv_key_range *range = &plan->ranges[i];

        CHECK(tv_slice_starts_with(range->from, table.prefix));
        CHECK(tv_slice_cmp(range->from, range->to) < 0);
        CHECK(tv_slice_cmp(range->to, end) <= 0);
        CHECK(i == 0 || tv_slice_cmp(plan->ranges[i - 1].to, range->from) < 0);
        if (range->kind > worst)
            worst = range->kind;
    }
    CHECK_INT(plan->kind, worst);
}

/* Read one page; false on the last. */
static bool read_page(tv_query *query, answer *into)
{
    tv_buf out = TV_BUF_EMPTY;
    tv_scan scan = scan_of(query, &out);

    met.pages++;
    check_plan(&scan.plan);
    CHECK_OK(tv_scan_run(&scan, engine));
    size_t returned = read_ids(tv_buf_slice(&out), into);
    tv_buf_done(&out);

    CHECK_INT(scan.page.returned, returned);
    CHECK(scan.page.examined >= returned);
    CHECK(scan.plan.residual || scan.page.examined == returned);
    CHECK(returned <= query->top);
    into->examined += scan.page.examined;

    CHECK_INT(scan.next.next_partition.data != NULL, scan.next.next_row.data != NULL);
    if (scan.next.next_partition.data == NULL)
        return false;
    CHECK_INT(returned, query->top);
    CHECK_OK(tv_token_parse(&arena, scan.next.next_partition, &query->next_partition));
    CHECK_OK(tv_token_parse(&arena, scan.next.next_row, &query->next_row));
    return true;
}

static void check_point(const tv_query *query, const answer *want)
{
    tv_buf out = TV_BUF_EMPTY;
    tv_scan scan = scan_of(query, &out);
    answer got = {0};

    met.plans[scan.plan.kind]++;
    met.without_residual += scan.plan.residual == NULL;
    if (tv_scan_is_point(&scan)) {
        met.single_points++;
        CHECK_OK(tv_scan_run_point(&scan, engine, TV_READ_CACHED));
        read_ids(tv_buf_slice(&out), &got);
        CHECK_INT(got.count, want->count);
        CHECK(got.count <= 1);
        CHECK_INT(got.ids[0], want->ids[0]);
        CHECK_INT(scan.page.returned, got.count);
        CHECK(scan.next.next_partition.data == NULL);
    }
    tv_buf_done(&out);
}

static size_t random_top(void)
{
    return chance(30) ? 1000 : 1 + seed_below(chance(50) ? 5 : 60);
}

static void check_pages(const expr *e, tv_query query)
{
    static answer want, got;

    want.count = got.count = got.examined = 0;
    want.ids[0] = got.ids[0] = 0;
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].is_there && naive_matches(e, &rows[i]))
            want.ids[want.count++] = rows[i].id;
    }
    met.empty += want.count == 0;
    check_point(&query, &want);
    query.top = random_top();
    while (read_page(&query, &got))
        ;
    for (size_t i = 0; i < want.count && i < got.count; i++)
        CHECK_INT(got.ids[i], want.ids[i]);
    CHECK_INT(got.count, want.count);
    CHECK(got.examined <= row_count);
}

/* --- rows that come and go --- */

static bool was_deleted[IDS_MAX]; /* by id */

static void change_some_rows(void)
{
    for (uint64_t i = seed_below(6); i > 0; i--) {
        if (chance(50)) {
            add_row();
            continue;
        }

        row *victim = &rows[seed_below(row_count)];

        if (victim->is_there) {
            write_change((tv_change){TV_CHANGE_DELETE, victim->key, TV_NONE});
            victim->is_there = false;
            was_deleted[victim->id] = true;
        }
    }
}

static const row *row_by_id(int id)
{
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].id == id)
            return &rows[i];
    }
    CHECK_FAIL("an id that no row of the table ever had: %d", id);
    return NULL;
}

static void forget_deleted(void)
{
    size_t kept = 0;

    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].is_there)
            rows[kept++] = rows[i];
    }
    row_count = kept;
}

static void check_pages_under_change(const expr *e, tv_query query)
{
    int first_new_id = next_id;
    const row *last = NULL;
    static answer got;
    size_t seen = 0;

    got.count = got.examined = 0;
    query.top = random_top();
    while (read_page(&query, &got))
        change_some_rows();

    /* In order, and so nothing twice; and nothing that does not match. */
    for (size_t i = 0; i < got.count; i++) {
        const row *r = row_by_id(got.ids[i]);

        CHECK(naive_matches(e, r));
        CHECK(last == NULL || row_order(last, r) < 0);
        last = r;
        seen += r->id < first_new_id && !was_deleted[r->id];
    }
    /* All that were there from the beginning to the end. */
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].id < first_new_id && !was_deleted[rows[i].id] && naive_matches(e, &rows[i]))
            seen--;
    }
    CHECK_INT(seen, 0);
    forget_deleted();
}

static void check_filter(const expr *e)
{
    tv_buf text = TV_BUF_EMPTY;
    tv_query query = {.top = 1000};
    tv_error_info info = {0};
    char shown[400];

    add_expr(&text, e, 0);
    snprintf(shown, sizeof shown, "%.*s", TV_FMT(tv_buf_slice(&text)));
    t_row = shown;
    CHECK_OK(tv_filter_parse(&arena, tv_buf_slice(&text), &query.filter, &info));
    check_pages(e, query);
    if (chance(25))
        check_pages_under_change(e, query);
    tv_buf_done(&text);
    t_row = "";
}

static int set_up(__attribute__((unused)) void **state)
{
    seed_start();
    return 0;
}

TEST(planned_queries_return_what_a_naive_reader_returns)
{
    for (int i = 0; i < TABLES; i++) {
        engine = tv_memory_engine_new(NULL);
        tv_arena_init(&arena);
        table.id = 7;
        CHECK_OK(tv_select_parse(&arena, TV_LIT("id"), &op.select));
        memset(was_deleted, 0, sizeof was_deleted);
        make_table();
        for (int k = 0; k < FILTERS; k++) {
            check_filter(k % 20 == 19 ? huge_expr()
                         : k % 4 == 0 ? partition_expr()
                                      : random_expr((int)seed_below(5)));
            if (row_count < 30) {
                while (row_count < 50)
                    add_row();
            }
        }
        tv_engine_close(engine);
        tv_arena_done(&arena);
    }
    for (int kind = 0; kind < TV_PLAN_KINDS; kind++) {
        printf("# %s: %d\n", tv_plan_kind_name((tv_plan_kind)kind), met.plans[kind]);
        CHECK(met.plans[kind] > FILTERS * TABLES / 100);
    }
    printf("# without residual: %d, one point: %d, empty: %d, pages: %d\n", met.without_residual,
           met.single_points, met.empty, met.pages);
    CHECK(met.single_points > 0 && met.empty < FILTERS * TABLES * 3 / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planned_queries_return_what_a_naive_reader_returns),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
