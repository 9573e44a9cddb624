/* See literals.h; the rules of comparison are those of odata/eval.c. */
#include "insight/facts/literals.h"

#include <math.h>

#include "model/odata/literal.h"

enum { TEXT_MAX = 64 }; /* of a literal that is written as another type */

typedef struct search {
    const tv_facts_table *table;
    const tv_filter *filter;
    tv_arena *arena;
    tv_slice *mistakes;
    int names[TV_FACTS_MISTAKES_MAX]; /* one for each mistake */
    size_t count;
} search;

/* Whether values of the two types are compared as one expects. */
static bool is_comparable(tv_edm_type stored, tv_edm_type literal)
{
    return stored == literal || (stored == TV_EDM_INT64 && literal == TV_EDM_INT32) ||
           (stored == TV_EDM_DOUBLE && (literal == TV_EDM_INT32 || literal == TV_EDM_INT64));
}

/* What entities have under a name: 0 when that is not known, or when some can be compared. */
static tv_edm_type other_type(const search *s, tv_slice name, tv_edm_type literal,
                              uint64_t *ret_count)
{
    tv_edm_type most = 0;

    *ret_count = 0;
    for (size_t i = 0; i < s->table->property_count; i++) {
        const tv_evidence_property *property = &s->table->properties[i];

        if (!tv_slice_eq(property->name, name))
            continue;
        for (tv_edm_type type = TV_EDM_STRING; type <= TV_EDM_BINARY; type++) {
            if (property->types[type] && is_comparable(type, literal))
                return 0;
            if (property->types[type] > *ret_count) {
                *ret_count = property->types[type];
                most = type;
            }
        }
    }
    return most;
}

/* A literal without what says its type; nothing of one that is too long to be shown. */
static tv_slice plain_text(const search *s, const tv_property *literal)
{
    tv_buf printed = TV_BUF_EMPTY;
    tv_slice text;

    switch (literal->type) {
    case TV_EDM_STRING:
        return literal->bytes.len <= TEXT_MAX ? literal->bytes : TV_LIT("");
    case TV_EDM_INT64:
        return tv_arena_printf(s->arena, "%lld", (long long)literal->int64);
    case TV_EDM_DOUBLE:
        if (literal->real == floor(literal->real) && fabs(literal->real) < 1e15)
            return tv_arena_printf(s->arena, "%.0f", literal->real);
        break;
    case TV_EDM_BINARY:
        return TV_LIT("");
    default:
        break;
    }
    tv_literal_print(&printed, literal);
    text = tv_arena_dup(s->arena, tv_buf_slice(&printed));
    tv_buf_done(&printed);
    /* datetime'…' and guid'…' */
    if (literal->type == TV_EDM_DATETIME || literal->type == TV_EDM_GUID) {
        text = tv_slice_skip(text, tv_slice_find(text, '\'') + 1);
        text.len--;
    }
    return text;
}

/* Whether a text is one literal that can be compared with the type. */
static bool is_literal_for(const search *s, tv_edm_type stored, tv_slice text)
{
    tv_error_info info = {0};
    tv_filter *filter;
    tv_slice compared = tv_arena_printf(s->arena, "x eq %.*s", TV_FMT(text));

    return tv_filter_parse(s->arena, compared, &filter, &info) == TV_OK && filter->root &&
           filter->root->kind == TV_NODE_COMPARE &&
           is_comparable(stored, filter->root->literal.type);
}

/* The literal as one of the type; NULL data when it cannot be one. */
static tv_slice write_as(const search *s, tv_edm_type stored, const tv_property *literal)
{
    static const struct {
        const char *before, *after;
    } forms[] = {{"", ""}, {"", "L"}, {"datetime'", "'"}, {"guid'", "'"}};
    tv_slice text = plain_text(s, literal);

    if (text.len == 0)
        return TV_NONE;
    if (stored == TV_EDM_STRING)
        return tv_arena_printf(s->arena, "'%.*s'", TV_FMT(text));
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        tv_slice form =
            tv_arena_printf(s->arena, "%s%.*s%s", forms[i].before, TV_FMT(text), forms[i].after);

        if (is_literal_for(s, stored, form))
            return form;
    }
    return TV_NONE;
}

/* 3600 as 3,600. */
static tv_slice grouped(tv_arena *arena, uint64_t number)
{
    if (number < 1000)
        return tv_arena_printf(arena, "%llu", (unsigned long long)number);

    tv_slice thousands = grouped(arena, number / 1000);

    return tv_arena_printf(arena, "%.*s,%03llu", TV_FMT(thousands),
                           (unsigned long long)(number % 1000));
}

/* The property whose name differs in case alone, when there is none of the name itself. */
static tv_slice other_case(const search *s, tv_slice name)
{
    tv_slice other = TV_NONE;

    for (size_t i = 0; i < s->table->property_count; i++) {
        tv_slice known = s->table->properties[i].name;

        if (tv_slice_eq(known, name))
            return TV_NONE;
        if (tv_slice_eq_nocase(known, name))
            other = known;
    }
    return other;
}

static void look_at(search *s, const tv_node *node)
{
    tv_slice name = s->filter->names.list[node->name], other = other_case(s, name);
    bool is_truth = node->kind == TV_NODE_TRUTH; /* a bare name is a Boolean */
    uint64_t count;
    tv_edm_type type = other_type(s, name, is_truth ? TV_EDM_BOOLEAN : node->literal.type, &count);

    for (size_t i = 0; i < s->count; i++) {
        if (s->names[i] == node->name)
            return;
    }
    if (other.data) {
        s->names[s->count] = node->name;
        s->mistakes[s->count++] = tv_arena_printf(
            s->arena, "%.*s is in none of %.*s sampled entities; write %.*s", TV_FMT(name),
            TV_FMT(grouped(s->arena, s->table->property_samples)), TV_FMT(other));
    }
    if (type == 0)
        return;

    tv_slice type_name = tv_slice_skip(tv_edm_name(type), sizeof "Edm." - 1);
    tv_slice have = grouped(s->arena, count);
    tv_slice all = grouped(s->arena, s->table->property_samples);
    tv_slice write = is_truth ? TV_NONE : write_as(s, type, &node->literal);

    s->names[s->count] = node->name;
    s->mistakes[s->count++] = tv_arena_printf(
        s->arena, "%.*s is %.*s in %.*s of %.*s sampled entities%s%.*s", TV_FMT(name),
        TV_FMT(type_name), TV_FMT(have), TV_FMT(all), write.data ? "; write " : "", TV_FMT(write));
}

/* Filters are at most TV_FILTER_DEPTH_MAX deep. */
static void walk(search *s, const tv_node *node)
{
    if (node->kind == TV_NODE_COMPARE || node->kind == TV_NODE_TRUTH)
        look_at(s, node);
    for (const tv_node *child = tv_node_first(node); child; child = child->next) {
        if (s->count == TV_FACTS_MISTAKES_MAX)
            return;
        walk(s, child);
    }
}

size_t tv_facts_find_mistakes(const tv_facts_table *table, const tv_filter *filter, tv_arena *arena,
                              tv_slice ret_mistakes[TV_FACTS_MISTAKES_MAX])
{
    search s = {.table = table, .filter = filter, .arena = arena, .mistakes = ret_mistakes};

    if (filter->root)
        walk(&s, filter->root);
    return s.count;
}
