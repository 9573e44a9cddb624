/*
 * The naive reader of query_test.c: rows, filters as a tree of its own, and
 * whether a row passes, by its own copy of the service's rules.  It shares no
 * code with the planner, the evaluator or the order of keys.
 */
#ifndef TV_TESTS_SIM_QUERY_NAIVE_H
#define TV_TESTS_SIM_QUERY_NAIVE_H

#include <math.h>

#include "check.h"
#include "seed.h"
#include "services/table/scan.h"
#include "services/table/token.h"
#include "store/engine/key.h"
#include "store/engine/memory/memory.h"

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

typedef enum expr_kind { AND, OR, NOT, COMPARE, BARE, CONSTANT } expr_kind;

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
static tv_container table;
static row rows[ROWS_ROOM]; /* in key order where is_there */
static size_t row_count;
static int next_id;
static tv_slice partitions[PARTITIONS_MAX];
static size_t partition_count;

/* What the run has met, so that a change that makes it toothless is noticed. */
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
    case CONSTANT:
        return e->literal.boolean;
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

#endif
