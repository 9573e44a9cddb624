/*
 * Random tables and random filters for query_test.c, and the text of a filter.
 */
#ifndef TV_TESTS_SIM_QUERY_RANDOM_H
#define TV_TESTS_SIM_QUERY_RANDOM_H

#include "query_naive.h"

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
    tv_write_batch batch = {0};

    tv_write_batch_add(&batch, change);
    CHECK_OK(tv_engine_write(engine, &batch));
    tv_write_batch_done(&batch);
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
    tv_entity_properties properties = {list, 1};

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

    /* The neighbours have the same keys, and ids that must not be seen. */
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
    case 1: /* just after */
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
    if (die < 62) {
        expr *e = leaf_of(0, TV_OP_EQ, random_value(TV_EDM_BOOLEAN));

        e->kind = CONSTANT;
        return e;
    }
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
    case CONSTANT:
        add_literal(out, &e->literal);
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

#endif
