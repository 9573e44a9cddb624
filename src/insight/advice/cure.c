/* See cure.h. */
#include "insight/advice/cure_parts.h"

/* ---- cures ----------------------------------------------------------------------------------- */

/* What makes parts of keys, each once. */
static void add_makers(tv_cure *c)
{
    static const char *const makers[] = {"text", "padded", "guid", "bucket", "ticks", "inverted"};
    tv_slice templates[] = {c->proposal->partition_key, c->proposal->row_key};
    bool is_used[sizeof makers / sizeof *makers] = {false}, has_time = false;
    tv_cure_piece one;

    for (int i = 0; i < 2; i++) {
        while (tv_cure_next_piece(&templates[i], &one)) {
            for (size_t k = 0; !one.is_text && k < sizeof makers / sizeof *makers; k++) {
                bool is_it = strcmp(makers[k], tv_cure_maker(c, &one)) == 0;

                is_used[k] |= is_it;
                has_time |= is_it && k > 3 && !tv_slice_eq(one.text, TV_LIT("Timestamp"));
            }
        }
    }
    tv_cure_add_section(c, "key_size");
    tv_cure_add_section(c, "key");
    if (has_time)
        tv_cure_add_section(c, "time_of");
    for (size_t k = 0; k < sizeof makers / sizeof *makers; k++) {
        if (is_used[k])
            tv_cure_add_section(c, makers[k]);
    }
}

/* What stands between the parts of the keys. */
static char separator_of(const tv_proposal *proposal)
{
    for (const char *at = "_|~"; *at; at++) {
        if (tv_slice_find(proposal->partition_key, *at) < proposal->partition_key.len ||
            tv_slice_find(proposal->row_key, *at) < proposal->row_key.len)
            return *at;
    }
    return '\0';
}

/* The range of RowKeys that finds. */
static void look(tv_cure *c)
{
    tv_slice row = c->proposal->row_key, value = TV_LIT(""), values[2];
    tv_buf low = TV_BUF_EMPTY, high = TV_BUF_EMPTY;
    size_t lead = row.len;
    const char *keys[] = {"{PartitionKey}", "{RowKey}"};

    for (int i = 0; i < 2; i++) {
        const char *at = memmem(row.data, row.len, keys[i], strlen(keys[i]));

        if (at && (size_t)(at - row.data) < lead)
            lead = (size_t)(at - row.data);
    }
    for (size_t i = 0; i < c->view.part_count && c->range_count < 2; i++) {
        const tv_view_part *part = &c->view.parts[i];
        tv_slice open = tv_arena_printf(c->arena, "{%.*s:", TV_FMT(part->name));
        const char *at = memmem(row.data, row.len, open.data, open.len);

        if (part->op == TV_OP_EQ || part->op == TV_OP_NE || !at ||
            (c->range_count && tv_is_lower_bound(part->op) == tv_is_lower_bound(c->ranges[0]->op)))
            continue;
        lead = (size_t)(at - row.data);
        value = tv_slice_skip(row, lead);
        value = tv_slice_take(value, tv_slice_find(value, '}') + 1);
        c->ranges[c->range_count++] = part;
    }
    if (lead == 0 && c->range_count == 0)
        return;
    values[0] = values[1] = value;
    c->is_reversed = memmem(value.data, value.len, ":inv", 4) != NULL;
    tv_add_bounds(&low, &high,
                  &(tv_bounds){tv_slice_take(row, lead), c->ranges, values, c->range_count,
                               c->separator, c->is_reversed});
    c->low = tv_arena_dup(c->arena, tv_buf_slice(&low));
    c->high = tv_arena_dup(c->arena, tv_buf_slice(&high));
    tv_buf_done(&low);
    tv_buf_done(&high);
}

/* tavola_indexed_put does it: one String, and all of the copy or columns. */
static bool is_of_library(const tv_cure *c)
{
    tv_slice names[TV_CURE_NAMES_MAX];

    return c->language == TV_LANGUAGE_C && c->is_near && c->is_unique &&
           tv_cure_names(c, false, names) == 1 &&
           tv_slice_find(c->proposal->row_key, ':') == c->proposal->row_key.len &&
           !tv_cure_is_guid(c, names[0]);
}

static void add_copies(tv_cure *c)
{
    c->is_near = tv_slice_eq(c->proposal->partition_key, TV_LIT("{PartitionKey}"));
    c->is_unique = !tv_cure_has(c->proposal->row_key, TV_LIT("RowKey")) &&
                   !tv_cure_has(c->proposal->partition_key, TV_LIT("RowKey"));
    if (is_of_library(c)) {
        tv_cure_add_section(c, "intra_library");
        tv_cure_add_section(c, "fill_by_library");
        return;
    }
    tv_cure_add_section(c, "head");
    add_makers(c);
    tv_cure_add_section(c, "partition_of");
    tv_cure_add_section(c, "copies");
    tv_cure_add_section(c, c->is_near ? "intra" : c->is_unique ? "inter_unique" : "inter");
    tv_cure_add_section(c, c->is_unique  ? "find_point"
                           : c->high.len ? "find_range"
                                         : "find_partition");
    tv_cure_add_section(c, "make_copy");
    tv_cure_add_section(c, "fill");
    tv_cure_add_section(c, "foot");
}

/* Rules whose cure is the same whatever they have found. */
static const struct {
    tv_rule rule;
    const char *section;
    bool is_scan; /* C has its helper */
} plain[] = {
    {TV_RULE_Q03, "range", true},  {TV_RULE_Q08, "range", true},
    {TV_RULE_Q09, "select", true}, {TV_RULE_C01, "top", true},
    {TV_RULE_C02, "pages", true},  {TV_RULE_W01, "deletes", false},
    {TV_RULE_W03, "batch", false}, {TV_RULE_W04, "batch", false},
    {TV_RULE_W05, "batch", false}, {TV_RULE_C03, "backoff", false},
    {TV_RULE_D01, "wide", false},  {TV_RULE_Q10, "kept_table", false},
};

static void add_plain(tv_cure *c)
{
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (plain[i].rule != c->finding->rule)
            continue;
        tv_cure_add_section(c, "head");
        if (plain[i].is_scan)
            tv_cure_add_section(c, "scan");
        tv_cure_add_section(c, plain[i].section);
        tv_cure_add_section(c, "foot");
    }
}

/* Some sections, without anything that is made for their keys. */
static void add_sections(tv_cure *c, const char *const *sections)
{
    tv_cure_add_section(c, "head");
    for (; *sections; sections++)
        tv_cure_add_section(c, *sections);
    tv_cure_add_section(c, "foot");
}

#define ADD_SECTIONS(c, ...) add_sections((c), (const char *const[]){__VA_ARGS__, NULL})

/* Many comparisons joined by or: points, partitions, or whatever they are. */
static void add_list(tv_cure *c)
{
    if (c->view.has_row_list && c->view.fixes_partition)
        ADD_SECTIONS(c, "points");
    else if (c->view.has_partition_list && c->view.has_row && !c->view.has_row_range)
        ADD_SECTIONS(c, "points");
    else if (c->view.has_partition_list)
        ADD_SECTIONS(c, "partitions");
    else
        ADD_SECTIONS(c, "several");
}

/* One type of those that a value has, when all of them can be written as each other. */
static void add_rewrite(tv_cure *c)
{
    static const struct {
        const char *type, *section;
    } types[] = {{"Edm.String", "rewrite_string"},
                 {"Edm.Int32", "rewrite_int32"},
                 {"Edm.Int64", "rewrite_int64"},
                 {"Edm.Double", "rewrite_double"}};
    tv_slice most = tv_cure_text_of(c, "mostly");

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (tv_slice_eq(most, tv_slice_of(types[i].type)))
            ADD_SECTIONS(c, "rewrite", types[i].section, "rewrite_all");
    }
}

/* Keys that have other parts than now. */
static void add_moved(tv_cure *c, const char *section)
{
    tv_cure_add_section(c, "head");
    add_makers(c);
    tv_cure_add_section(c, "insert_under");
    tv_cure_add_section(c, "partition_of");
    tv_cure_add_section(c, section);
    tv_cure_add_section(c, "foot");
}

/* Keys that are made sortable: by a function, and then as all such. */
static void add_sorted(tv_cure *c, const char *sortable)
{
    tv_cure_add_section(c, "head");
    tv_cure_add_section(c, "key_size");
    tv_cure_add_section(c, "insert_under");
    tv_cure_add_section(c, sortable);
    tv_cure_add_section(c, "sorted_scan");
    tv_cure_add_section(c, "sorted_insert");
    tv_cure_add_section(c, tv_cure_is_of_rows(c) ? "sorted_row" : "sorted_partition");
    tv_cure_add_section(c, "foot");
}

/* Keys without an order that is of use: one case, or something that leads. */
static void add_ordered(tv_cure *c)
{
    if (!tv_slice_eq(tv_cure_text_of(c, "class"), TV_LIT("GUID"))) {
        add_sorted(c, "lowered");
        return;
    }
    ADD_SECTIONS(c, "key_size", "insert_under", "sorted_scan", "led",
                 tv_cure_is_of_rows(c) ? "led_row" : "led_partition");
}

/* Rules whose cure depends on what they have found. */
static void add_by_rule(tv_cure *c)
{
    tv_slice period = tv_cure_text_of(c, "period");

    switch (c->finding->rule) {
    case TV_RULE_W02:
        ADD_SECTIONS(c, "period",
                     tv_slice_eq(period, TV_LIT("month"))  ? "period_month"
                     : tv_slice_eq(period, TV_LIT("week")) ? "period_week"
                                                           : "period_day",
                     "periods");
        break;
    case TV_RULE_Q05:
    case TV_RULE_Q06:
        add_list(c);
        break;
    case TV_RULE_P02:
        if (tv_cure_number_of(c, "reads") > tv_cure_number_of(c, "writes"))
            ADD_SECTIONS(c, "kept");
        break;
    case TV_RULE_P05:
        tv_cure_add_section(c, "blobs");
        ADD_SECTIONS(c, "log_blob");
        break;
    case TV_RULE_D02:
        if (c->finding->text.len == 0)
            break; /* of what was refused the property is not known */
        tv_cure_add_section(c, "blobs");
        ADD_SECTIONS(c, "large");
        break;
    case TV_RULE_D03:
        add_rewrite(c);
        break;
    case TV_RULE_K02:
        if (tv_cure_is_dated(c))
            add_sorted(c, "dated");
        break;
    case TV_RULE_K03:
        add_ordered(c);
        break;
    default:
        add_plain(c);
    }
}

static void add_cure(tv_cure *c)
{
    tv_slice pattern = c->proposal->is_set ? c->proposal->pattern : TV_NONE;

    if (tv_slice_eq(pattern, TV_LIT("intra-partition-secondary-index")) ||
        tv_slice_eq(pattern, TV_LIT("inter-partition-secondary-index"))) {
        look(c);
        add_copies(c);
    } else if (tv_slice_eq(pattern, TV_LIT("log-tail"))) {
        look(c);
        tv_cure_add_section(c, "head");
        add_makers(c);
        tv_cure_add_section(c, "log_tail");
        tv_cure_add_section(c, "foot");
    } else if (tv_slice_starts_with(c->proposal->partition_key, TV_LIT("{RowKey before"))) {
        ADD_SECTIONS(c, "key_size", "insert_under", "split");
    } else if (tv_slice_eq(pattern, TV_LIT("finer-partition-key"))) {
        add_moved(c, "finer");
    } else if (tv_slice_eq(pattern, TV_LIT("spread-partition"))) {
        add_moved(c, "spread");
    } else if (tv_slice_eq(pattern, TV_LIT("padded-number"))) {
        add_sorted(c, "widened");
    } else if (tv_slice_eq(pattern, TV_LIT("split-counter"))) {
        tv_cure_add_section(c, "head");
        tv_cure_add_section(c, "counter");
        tv_cure_add_section(c, "foot");
    } else {
        add_by_rule(c);
    }
}

void tv_cure_add(tv_buf *out, const tv_finding *finding, tv_language language)
{
    size_t before = out->len;
    tv_arena arena;
    tv_cure c = {.out = out,
                 .language = language,
                 .finding = finding,
                 .proposal = &finding->proposal,
                 .arena = &arena};

    tv_arena_init(&arena);
    c.view = tv_shape_view_of(&arena, finding->text);
    c.separator = separator_of(c.proposal);
    add_cure(&c);
    while (out->len > before && out->data[out->len - 1] == '\n')
        out->len--;
    tv_arena_done(&arena);
}
