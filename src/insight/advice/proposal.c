/* See proposal.h. */
#include "insight/advice/proposal.h"

#include <math.h>

#include "base/clock.h"
#include "insight/advice/seen.h"
#include "store/engine/key.h"

enum { KEY_PARTS_MAX = 3, INDEX_ENTITY_BYTES = 1 << 20, LIST_MATCHES = 1000 };

static const double unique_share = 0.85; /* of values: the estimate is off by up to 13 % */
static const double selects_share = 0.1; /* of a table that one value may have */
static const double leads_share = 0.001; /* distinct values per entity that a key needs to lead */
static const double hot_share = 0.25;

const tv_evidence_property *tv_property_of(const tv_evidence_table *table, tv_slice name)
{
    for (size_t i = 0; i < table->property_count; i++) {
        if (tv_slice_eq(table->properties[i].name, name))
            return &table->properties[i];
    }
    return NULL;
}

char tv_key_separator(const tv_evidence_table *table)
{
    static const char separators[] = "_|~";

    for (int s = 0; s < 2; s++) {
        size_t used = 0;

        for (size_t i = 0; i < table->key_count; i++) {
            const tv_evidence_key *key = &table->keys[i];

            used += tv_slice_find(key->partition_key, separators[s]) < key->partition_key.len ||
                    tv_slice_find(key->row_key, separators[s]) < key->row_key.len;
        }
        if (used * 100 <= table->key_count)
            return separators[s];
    }
    return separators[2];
}

/* ---- values in keys -------------------------------------------------------------------------- */

static bool can_be_in_key(tv_edm_type type)
{
    return type != TV_EDM_DOUBLE && type != TV_EDM_BINARY && type != TV_EDM_BOOLEAN;
}

static void add_slug(tv_buf *out, tv_slice name)
{
    size_t before = out->len;

    for (size_t i = 0; i < name.len; i++) {
        char c = tv_ascii_lower(name.data[i]);

        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            tv_buf_add_char(out, c);
    }
    if (out->len == before)
        tv_buf_add_char(out, 'v');
}

static void add_template(tv_buf *out, const tv_view_part *part, bool is_newest_first)
{
    const char *how = part->type == TV_EDM_INT32      ? ":pad(10)"
                      : part->type == TV_EDM_INT64    ? ":pad(20)"
                      : part->type == TV_EDM_DATETIME ? (is_newest_first ? ":inv" : ":ticks")
                                                      : "";

    tv_buf_printf(out, "{%.*s%s}", TV_FMT(part->name), how);
}

/* The value that the sample literals of a shape have, as it stands in a key. */
static void add_sample(tv_buf *out, const tv_view_part *part, bool is_newest_first)
{
    bool is_upper = part->op == TV_OP_LT || part->op == TV_OP_LE;
    int64_t ticks = INT64_C(639028224000000000) + (is_upper ? INT64_C(864000000000) : 0);

    switch (part->type) {
    case TV_EDM_INT32:
        tv_buf_printf(out, "%010d", 1 + is_upper);
        break;
    case TV_EDM_INT64:
        tv_buf_printf(out, "%020d", 1 + is_upper);
        break;
    case TV_EDM_DATETIME:
        tv_buf_printf(out, "%019lld", (long long)(is_newest_first ? TV_TICKS_MAX - ticks : ticks));
        break;
    case TV_EDM_GUID:
        tv_buf_printf(out, "0000000000000000000000000000000%d", 1 + is_upper);
        break;
    default:
        tv_buf_add_char(out, is_upper ? 'y' : 'x');
    }
}

/* ---- what the data say ----------------------------------------------------------------------- */

/* Parts of a filter that can be in a key. */
typedef struct key_parts {
    const tv_view_part *equal[KEY_PARTS_MAX];
    size_t equal_count;
    const tv_view_part *ranges[2]; /* of one property: where it begins, where it ends */
    size_t range_count;
    double matches;  /* entities with one value */
    double presence; /* share of entities that have all of them */
    double entities;
    double distinct;    /* values of the first; 0: not known */
    size_t value_units; /* longest values together, in UTF-16 units */
    bool is_unique;
    bool is_guess; /* too few samples of a property */
} key_parts;

/* Whether texts of its values sort as the values do, whatever stands behind them. */
static bool keeps_order(tv_edm_type type)
{
    return type == TV_EDM_INT32 || type == TV_EDM_INT64 || type == TV_EDM_DATETIME;
}

/* A range of one property, of one or two comparisons. */
static bool take_range(key_parts *found, const tv_view_part *part)
{
    bool is_second = found->range_count == 1 && tv_slice_eq(found->ranges[0]->name, part->name) &&
                     tv_is_lower_bound(found->ranges[0]->op) != tv_is_lower_bound(part->op);

    if (part->op == TV_OP_EQ || part->op == TV_OP_NE || !keeps_order(part->type) ||
        (found->range_count > 0 && !is_second))
        return false;
    found->ranges[found->range_count++] = part;
    return !is_second;
}

static double entities_of(const tv_evidence_table *table, const tv_evidence_shape *shape)
{
    return (double)(table->entities_now ? table->entities_now : shape->examined_max);
}

static void take_parts(const tv_evidence_table *table, const tv_evidence_shape *shape,
                       const tv_shape_view *view, key_parts *ret_parts)
{
    double unique = 0;
    key_parts found = {.presence = 1, .entities = entities_of(table, shape)};

    for (size_t i = 0; i < view->part_count; i++) {
        const tv_view_part *part = &view->parts[i];
        const tv_evidence_property *property = tv_property_of(table, part->name);
        bool is_known = property && property->count > 0 && table->property_samples > 0;

        if (!can_be_in_key(part->type) || tv_slice_eq(part->name, TV_LIT("Timestamp")))
            continue;
        if (part->op == TV_OP_EQ && found.equal_count < KEY_PARTS_MAX) {
            double share = is_known ? property->distinct / (double)property->count : 0;

            if (is_known && share < leads_share)
                continue;
            if (found.equal_count == 0)
                found.distinct = is_known ? property->distinct : 0;
            found.equal[found.equal_count++] = part;
            unique += share;
        } else if (!take_range(&found, part)) {
            continue;
        }
        found.is_guess |= !property || property->count < 100;
        if (is_known) {
            found.presence *= fmin(1, (double)property->count / (double)table->property_samples);
            found.value_units += property->max_bytes / 2;
        }
    }
    found.is_unique = shape->returned_max <= 1 && !found.range_count &&
                      (unique >= unique_share || (found.is_guess && unique == 0));
    found.matches = shape->executions ? (double)shape->returned / (double)shape->executions : 1;
    if (found.is_unique)
        found.matches = 1;
    else if (found.distinct >= 1 && found.equal_count == 1 && !found.range_count)
        found.matches = found.presence * found.entities / found.distinct;
    found.matches = fmax(found.matches, 1);
    *ret_parts = found;
}

/* ---- ranges of keys -------------------------------------------------------------------------- */

bool tv_is_lower_bound(tv_compare_op op)
{
    return op == TV_OP_GT || op == TV_OP_GE;
}

void tv_add_bounds(tv_buf *low, tv_buf *high, const tv_bounds *bounds)
{
    size_t len = bounds->lead.len;

    tv_buf_add(low, bounds->lead);
    if (len) {
        tv_buf_add(high, tv_slice_take(bounds->lead, len - 1));
        tv_buf_add_char(high, (char)(bounds->lead.data[len - 1] + 1));
    } else {
        tv_buf_add_lit(high, "~"); /* behind all digits */
    }
    for (size_t i = 0; i < bounds->count; i++) {
        tv_compare_op op = bounds->parts[i]->op;
        bool is_from = tv_is_lower_bound(op) != bounds->is_reversed;
        /* Keys of a value begin with its text and the separator: behind all of them. */
        bool is_behind = (op == TV_OP_GT || op == TV_OP_LE) != bounds->is_reversed;
        tv_buf *out = is_from ? low : high;

        tv_buf_reset(out);
        tv_buf_add(out, bounds->lead);
        tv_buf_add(out, bounds->values[i]);
        if (is_behind)
            tv_buf_add_char(out, (char)(bounds->separator + 1));
    }
}

/* ---- putting keys together ------------------------------------------------------------------- */

/* slug and the equal parts: as a template, or as the samples of them. */
static void add_lead(tv_buf *out, const key_parts *parts, char separator, bool is_template)
{
    add_slug(out, parts->equal_count ? parts->equal[0]->name : parts->ranges[0]->name);
    for (size_t i = 0; i < parts->equal_count; i++) {
        tv_buf_add_char(out, separator);
        if (is_template)
            add_template(out, parts->equal[i], false);
        else
            add_sample(out, parts->equal[i], false);
    }
}

static tv_slice take(const tv_judging *j, tv_buf *buf)
{
    tv_slice text = tv_arena_dup(j->arena, tv_buf_slice(buf));

    tv_buf_done(buf);
    return text;
}

static void add_note(tv_proposal *proposal, tv_slice note)
{
    if (proposal->note_count < TV_PROPOSAL_NOTES_MAX)
        proposal->notes[proposal->note_count++] = note;
}

/* Write `RowKey ge '...' and RowKey lt '...'` for keys that begin with `lead`. */
static void add_range(tv_buf *out, tv_slice lead, const tv_view_part *const *ranges, size_t count,
                      char separator, bool is_newest_first)
{
    tv_buf values[2] = {TV_BUF_EMPTY, TV_BUF_EMPTY};
    tv_slice texts[2];
    tv_buf low = TV_BUF_EMPTY, high = TV_BUF_EMPTY;

    for (size_t i = 0; i < count; i++) {
        add_sample(&values[i], ranges[i], is_newest_first);
        texts[i] = tv_buf_slice(&values[i]);
    }
    tv_add_bounds(&low, &high,
                  &(tv_bounds){lead, ranges, texts, count, separator, is_newest_first});
    tv_buf_printf(out, " and RowKey ge '%.*s' and RowKey lt '%.*s'", TV_FMT(tv_buf_slice(&low)),
                  TV_FMT(tv_buf_slice(&high)));
    tv_buf_done(&low);
    tv_buf_done(&high);
    tv_buf_done(&values[0]);
    tv_buf_done(&values[1]);
}

/* "Email", "City and Name": what is compared by eq. */
static tv_slice names_of(const tv_judging *j, const key_parts *parts)
{
    tv_slice names = parts->equal[0]->name;

    for (size_t i = 1; i < parts->equal_count; i++)
        names = tv_arena_printf(j->arena, "%.*s and %.*s", TV_FMT(names),
                                TV_FMT(parts->equal[i]->name));
    return names;
}

static bool has_number(const key_parts *parts)
{
    bool has = false;

    for (size_t i = 0; i < parts->equal_count; i++)
        has |= parts->equal[i]->type == TV_EDM_INT32 || parts->equal[i]->type == TV_EDM_INT64;
    return has || (parts->range_count && parts->ranges[0]->type != TV_EDM_DATETIME);
}

/* A copy in the same partition. */
static void propose_near(const tv_judging *j, const key_parts *parts, char separator,
                         bool is_newest, tv_proposal *proposal)
{
    tv_buf row = TV_BUF_EMPTY, filter = TV_BUF_EMPTY, lead = TV_BUF_EMPTY;

    proposal->pattern = TV_LIT("intra-partition-secondary-index");
    proposal->function =
        parts->is_unique && parts->equal_count == 1 && parts->equal[0]->type == TV_EDM_STRING
            ? TV_LIT("tavola_indexed_put")
            : TV_LIT("tavola_batch_run");
    proposal->partition_key = TV_LIT("{PartitionKey}");
    add_lead(&row, parts, separator, true);
    if (parts->range_count) {
        tv_buf_add_char(&row, separator);
        add_template(&row, parts->ranges[0], is_newest);
    }
    if (!parts->is_unique)
        tv_buf_printf(&row, "%c{RowKey}", separator);
    proposal->row_key = take(j, &row);

    tv_buf_add_lit(&filter, "PartitionKey eq 'x'");
    add_lead(&lead, parts, separator, false);
    if (parts->is_unique) {
        tv_buf_printf(&filter, " and RowKey eq '%.*s'", TV_FMT(tv_buf_slice(&lead)));
    } else {
        tv_buf_add_char(&lead, separator);
        add_range(&filter, tv_buf_slice(&lead), parts->ranges, parts->range_count, separator,
                  is_newest);
    }
    tv_buf_done(&lead);
    proposal->filter_after = take(j, &filter);
    if (parts->is_unique)
        add_note(proposal,
                 tv_arena_printf(j->arena,
                                 "a second entity with the same %.*s in a partition is refused "
                                 "(409)",
                                 TV_FMT(names_of(j, parts))));
    add_note(proposal, TV_LIT("both copies change in one entity group transaction"));
}

/* A copy in a partition of its own. */
static void propose_far(const tv_judging *j, const key_parts *parts, char separator, bool is_newest,
                        tv_proposal *proposal)
{
    tv_buf partition = TV_BUF_EMPTY, row = TV_BUF_EMPTY, filter = TV_BUF_EMPTY;

    proposal->pattern = TV_LIT("inter-partition-secondary-index");
    proposal->function = TV_LIT("tavola_insert");
    add_lead(&partition, parts, separator, true);
    tv_buf_add_lit(&filter, "PartitionKey eq '");
    add_lead(&filter, parts, separator, false);
    if (parts->equal_count == 0)
        add_note(proposal, TV_LIT("all copies are in one partition"));
    tv_buf_add_char(&filter, '\'');
    if (parts->is_unique) {
        add_slug(&row, parts->equal[0]->name);
        tv_buf_printf(&filter, " and RowKey eq '%.*s'", TV_FMT(tv_buf_slice(&row)));
        add_note(proposal,
                 tv_arena_printf(j->arena,
                                 "the copy is stored first: a second entity with the same %.*s is "
                                 "refused (409)",
                                 TV_FMT(names_of(j, parts))));
        add_note(proposal, TV_LIT("the entity follows its copy a moment later"));
    } else {
        if (parts->range_count) {
            add_template(&row, parts->ranges[0], is_newest);
            tv_buf_add_char(&row, separator);
            add_range(&filter, TV_LIT(""), parts->ranges, parts->range_count, separator, is_newest);
        }
        tv_buf_printf(&row, "{PartitionKey}%c{RowKey}", separator);
        add_note(proposal, TV_LIT("the copy follows its entity a moment later"));
    }
    proposal->partition_key = take(j, &partition);
    proposal->row_key = take(j, &row);
    proposal->filter_after = take(j, &filter);
}

/* What writes there were, where they do not tell what an hour has. */
static void add_price(const tv_judging *j, double presence, tv_proposal *proposal)
{
    const tv_table_rate *rate = &j->rate;
    tv_buf note = TV_BUF_EMPTY;

    if (presence * rate->writes < 1 || (rate->has_hourly && rate->load_writes == 0))
        return;
    tv_buf_add_lit(&note, "each write becomes two; ");
    if (rate->load_writes > 0 && rate->load_writes >= rate->writes) {
        tv_buf_add_lit(&note, "all ");
    } else if (rate->load_writes > 0) {
        tv_finding_add_grouped(&note, rate->load_writes);
        tv_buf_add_lit(&note, " of the ");
    } else {
        tv_buf_add_lit(&note, "there were ");
    }
    tv_finding_add_grouped(&note, rate->writes);
    tv_buf_add_lit(&note, " writes in ");
    tv_finding_add_duration(&note, (int64_t)rate->seconds);
    if (rate->load_writes > 0)
        tv_buf_add_lit(&note, " filled the table");
    if (!rate->has_hourly)
        tv_buf_add_lit(&note, "; how many an hour has cannot be told so soon");
    else
        tv_buf_add_lit(&note, " and are not counted in the price of an hour");
    add_note(proposal, take(j, &note));
}

/* Plan it as the server would; false when it is no better than a scan with a test. */
static bool plan_after(const tv_judging *j, tv_proposal *proposal)
{
    tv_error_info info = {0};
    tv_filter *filter;
    tv_plan plan;

    if (tv_filter_parse(j->arena, proposal->filter_after, &filter, &info))
        return false;
    plan = tv_plan_make(j->arena, TV_LIT("r"), filter);
    proposal->has_plan = true;
    proposal->plan_after = plan.kind;
    return plan.count > 0 && (plan.kind <= TV_PLAN_RANGE ||
                              (plan.kind == TV_PLAN_PARTITION && plan.residual == NULL));
}

static void finish(const tv_judging *j, const tv_evidence_shape *shape, double presence,
                   tv_proposal *proposal)
{
    proposal->examined_before = tv_ratio((double)shape->examined, (double)shape->executions);
    proposal->extra_writes_per_hour = presence * j->rate.writes_per_hour;
    add_price(j, presence, proposal);
    if (shape->has_select && !shape->select_differs)
        proposal->columns = shape->select;
    proposal->is_set = plan_after(j, proposal);
}

tv_proposal tv_propose_index(const tv_judging *j, const tv_evidence_shape *shape,
                             const tv_shape_view *view, tv_slice *ret_why)
{
    tv_proposal proposal = {0};
    char separator = tv_key_separator(j->table);
    key_parts parts;
    bool is_newest;

    *ret_why = TV_LIT("");
    if (!view->is_parsed || !view->is_conjunction)
        return proposal;
    take_parts(j->table, shape, view, &parts);
    if (parts.equal_count == 0 && parts.range_count == 0) {
        if (view->part_count)
            *ret_why = TV_LIT("no compared property can lead a key");
        return proposal;
    }
    if (parts.equal_count && parts.entities > 100 &&
        parts.matches > selects_share * parts.entities) {
        *ret_why = TV_LIT("the property does not select: one value has more than a tenth of the "
                          "entities");
        return proposal;
    }
    is_newest = shape->has_top && parts.range_count && parts.ranges[0]->type == TV_EDM_DATETIME;
    proposal.filter_before = view->filter;
    if (view->fixes_partition)
        propose_near(j, &parts, separator, is_newest, &proposal);
    else
        propose_far(j, &parts, separator, is_newest, &proposal);
    proposal.examined_after = parts.is_unique ? 1 : parts.matches;
    if (has_number(&parts))
        add_note(&proposal, TV_LIT("a negative number has no place among these keys"));
    if (parts.matches > LIST_MATCHES && !parts.range_count) {
        double key_units = j->table->max_key_units > 0 ? j->table->max_key_units : 32;

        add_note(&proposal, parts.matches * (key_units + 3) < INDEX_ENTITY_BYTES
                                ? TV_LIT("many entities share a value: index entities that hold "
                                         "lists of keys take fewer writes (tavola_list_add)")
                                : TV_LIT("very many entities share a value: a table or a "
                                         "partition for each value instead"));
    }
    if (parts.distinct >= 1 && 1 / parts.distinct > hot_share && !view->fixes_partition)
        add_note(&proposal, TV_LIT("so few values make hot partitions"));
    if ((double)parts.value_units + j->table->max_key_units + 64 > TV_KEY_UNITS_MAX) {
        *ret_why = TV_LIT("the longest values do not fit into a key");
        return (tv_proposal){0};
    }
    finish(j, shape, parts.presence, &proposal);
    return proposal;
}

tv_proposal tv_propose_row_index(const tv_judging *j, const tv_evidence_shape *shape,
                                 const tv_shape_view *view)
{
    char separator = tv_key_separator(j->table);
    tv_proposal proposal = {
        .pattern = TV_LIT("inter-partition-secondary-index"),
        .function = TV_LIT("tavola_insert"),
        .partition_key = tv_arena_printf(j->arena, "rk%c{RowKey}", separator),
        .row_key = TV_LIT("{PartitionKey}"),
        .filter_before = view->filter,
        .filter_after = tv_arena_printf(j->arena, "PartitionKey eq 'rk%cx'", separator),
        .examined_after = fmax(1, tv_ratio((double)shape->returned, (double)shape->executions)),
    };

    if (!view->is_parsed || view->has_row_range || view->has_property)
        return (tv_proposal){0};
    finish(j, shape, 1, &proposal);
    return proposal;
}

tv_proposal tv_propose_time_key(const tv_judging *j, const tv_evidence_shape *shape,
                                const tv_shape_view *view)
{
    bool is_newest = view->timestamp_op == TV_OP_GE || view->timestamp_op == TV_OP_GT;
    char separator = tv_key_separator(j->table);
    const tv_view_part time = {TV_LIT("Timestamp"), view->timestamp_op, TV_EDM_DATETIME};
    const tv_view_part *const range = &time;
    tv_buf filter = TV_BUF_EMPTY;
    tv_proposal proposal = {
        .pattern = TV_LIT("log-tail"),
        .function = is_newest ? TV_LIT("tavola_key_inverted") : TV_LIT("tavola_insert"),
        .partition_key = TV_LIT("{PartitionKey}"),
        .row_key = tv_arena_printf(j->arena, "{Timestamp:%s}%c{RowKey}",
                                   is_newest ? "inv" : "ticks", separator),
        .filter_before = view->filter,
        .examined_after = fmax(1, tv_ratio((double)shape->returned, (double)shape->executions)),
    };

    if (!view->is_parsed || !view->fixes_partition || view->timestamp_op == TV_OP_EQ ||
        view->timestamp_op == TV_OP_NE)
        return (tv_proposal){0};
    tv_buf_add_lit(&filter, "PartitionKey eq 'x'");
    add_range(&filter, TV_LIT(""), &range, 1, separator, is_newest);
    proposal.filter_after = take(j, &filter);
    add_note(&proposal, TV_LIT("the time is that of the insert, which an update does not change"));
    finish(j, shape, 0, &proposal);
    return proposal;
}

/* A property with some values but not too many, that most queries of the table give with eq. */
static tv_slice spreading_property(const tv_judging *j)
{
    const tv_evidence_table *table = j->table;
    const tv_evidence_property *best = NULL;

    for (size_t i = 0; i < table->property_count; i++) {
        const tv_evidence_property *property = &table->properties[i];
        uint64_t asked = 0, all = 0;

        if (property->types[TV_EDM_STRING] != property->count || property->distinct < 16 ||
            property->distinct > (double)table->entities_now / 10)
            continue;
        for (size_t k = 0; k < table->shape_count; k++) {
            all += table->shapes[k].executions;
            if (tv_shape_view_compares(j->views[k], property->name))
                asked += table->shapes[k].executions;
        }
        if (asked * 2 > all && (!best || property->distinct > best->distinct))
            best = property;
    }
    return best ? best->name : TV_LIT("");
}

tv_proposal tv_propose_spread(const tv_judging *j, double peak_per_second)
{
    char separator = tv_key_separator(j->table);
    tv_slice property = spreading_property(j);
    tv_proposal proposal = {.is_set = true, .row_key = TV_LIT("{RowKey}")};
    int buckets = 2;

    while (buckets < 64 && buckets < ceil(peak_per_second / 1000))
        buckets *= 2;
    if (property.len) {
        proposal.pattern = TV_LIT("finer-partition-key");
        proposal.function = TV_LIT("tavola_key_join");
        proposal.partition_key =
            tv_arena_printf(j->arena, "{%.*s}%c{PartitionKey}", TV_FMT(property), separator);
    } else {
        proposal.pattern = TV_LIT("spread-partition");
        proposal.function = TV_LIT("tavola_key_spread");
        proposal.partition_key =
            tv_arena_printf(j->arena, "{RowKey:hash(%d)}%c{PartitionKey}", buckets, separator);
        add_note(&proposal, tv_arena_printf(j->arena,
                                            "a query of all reads %d partitions "
                                            "(tavola_scan_open_spread)",
                                            buckets));
    }
    return proposal;
}
