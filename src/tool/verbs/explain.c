/* How a query will be answered: by the server where it is a Tavola, else by the filter alone. */
#include "../explained.h"
#include "../json_find.h"
#include "../output/output.h"
#include "../query.h"
#include "../values.h"
#include "../verbs.h"

#include <string.h>

#include "base/err.h"
#include "model/odata/filter.h"

typedef struct explanation {
    const char *plan;
    tool_text filter, warnings, advice;
    tool_json estimate;
    bool has_values;
} explanation;

/* The names of an estimate's number, of its bounds and of what it goes by. */
typedef struct bounds {
    const char *about, *low, *high, *basis;
} bounds;

static const bounds examined = {"examined", "low", "high", "basis"};
static const bounds returned = {"returned", "returnedLow", "returnedHigh", "returnedBasis"};

/* Without a type where nothing is known: a service that does not tell, or null, which is no bound.
 */
static tavola_value number_of(const explanation *told, const char *name)
{
    tool_json value = tool_json_get(told->estimate, name);

    return value.at && strchr("0123456789", *value.at)
               ? tavola_int64((int64_t)tool_json_number(value))
               : (tavola_value){0};
}

/* The server's word for what an estimate goes by. */
static const char *basis_of(const explanation *told, const char *name)
{
    static const char *const words[][2] = {
        {"partition fact", "by what is known of partitions"}, {"key sample", "by a sample of keys"},
        {"mean partition", "by the mean of all partitions"},  {"sample", "by a sample of entities"},
        {"history", "by earlier queries of this kind"},       {"beginning", "by the first of them"},
    };
    tool_json basis = tool_json_get(told->estimate, name);

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (tool_json_is(basis, words[i][0]))
            return words[i][1];
    return "by an estimate";
}

/* "412 entities", or "about 1,204 entities (1,100 to 1,310), by a sample of keys". */
static void put_bounds(const char *label, const explanation *told, bounds names)
{
    tavola_value about = number_of(told, names.about), low = number_of(told, names.low);
    tavola_value high = number_of(told, names.high);
    char room[3][TOOL_GROUPED];

    tool_grouped(room[0], (double)about.as.int64);
    tool_grouped(room[1], (double)low.as.int64);
    tool_grouped(room[2], (double)high.as.int64);
    if (!high.type)
        printf("%s %s %s or more: the table is not counted yet\n", label, room[1],
               low.as.int64 == 1 ? "entity" : "entities");
    else if (low.as.int64 == high.as.int64)
        printf("%s %s %s\n", label, room[1], low.as.int64 == 1 ? "entity" : "entities");
    else if (about.as.int64 == 0)
        printf("%s few entities or none (%s at most), %s\n", label, room[2],
               basis_of(told, names.basis));
    else
        printf("%s about %s %s (%s to %s), %s\n", label, room[0],
               about.as.int64 == 1 ? "entity" : "entities", room[1], room[2],
               basis_of(told, names.basis));
}

static void put_text(const char *label, const char *text)
{
    tool_text shown = {0};

    tool_text_escape(&shown, text, strlen(text), false);
    printf("%s %s\n", label, shown.at);
    tool_text_done(&shown);
}

/* The server's word for a plan as the guide has it. */
static const char *plan_word(tool_json plan)
{
    static const char *const plans[] = {"point", "range", "partition scan", "table scan"};

    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        if (plan.size > 2 && strncmp(plan.at + 1, plans[i], plan.size - 2) == 0)
            return plans[i];
    }
    return "";
}

static void put_azure(const explanation *told)
{
    tool_json plan = tool_json_get(told->estimate, "azure.plan");
    tool_json documented = tool_json_get(told->estimate, "azure.documented");
    bool is_guess = documented.at && *documented.at == 'f';
    char room[TOOL_GROUPED];

    if (tool_json_is(plan, "refused"))
        printf("azure:   refused, for more than 15 comparisons\n");
    else
        printf("azure:   %s, reads %s%s\n", plan_word(plan),
               tool_grouped(room, (double)number_of(told, "azure.examined").as.int64),
               is_guess ? "; a guess, since its plan for such filters is not documented" : "");
}

static void put_estimate(const explanation *told)
{
    char room[TOOL_GROUPED];

    put_bounds("reads:  ", told, examined);
    if (tool_json_is(tool_json_get(told->estimate, returned.basis), "all"))
        printf("returns: all of them\n");
    else
        put_bounds("returns:", told, returned);
    printf("pages:   %s\n", tool_grouped(room, (double)number_of(told, "pages").as.int64));
    put_azure(told);
}

static tool_exit print(const tool_run *run, const explanation *told)
{
    if (tool_has(run, TOOL_FLAG_OUTPUT)) {
        tool_field fields[] = {
            {"Plan", tavola_string(told->plan)},
            {"Filter", tavola_string(told->filter.at)},
            {"Examined", number_of(told, examined.about)},
            {"ExaminedLow", number_of(told, examined.low)},
            {"ExaminedHigh", number_of(told, examined.high)},
            {"Returned", number_of(told, returned.about)},
            {"ReturnedLow", number_of(told, returned.low)},
            {"ReturnedHigh", number_of(told, returned.high)},
            {"Pages", number_of(told, "pages")},
            {"Warnings", tool_text_value(told->warnings.at)},
            {"Advice", tavola_string(told->advice.at)},
        };

        return tool_output_one(run, fields, sizeof fields / sizeof fields[0]);
    }
    put_text("plan:   ", told->plan);
    put_text("filter: ", told->filter.at && *told->filter.at ? told->filter.at : "none");
    if (told->estimate.at && strcmp(told->plan, "none") != 0)
        put_estimate(told);
    if (told->warnings.at)
        put_text("warning:", told->warnings.at);
    if (told->warnings.at && told->has_values)
        put_text("warning:", TOOL_VALUES_NEED_TYPES);
    put_text("advice: ", told->advice.at);
    return TOOL_OK;
}

/* Of a filter that no entity can pass nothing is read. */
static const char *plan_of(tool_json answer)
{
    tool_json_walk range = {0};
    tool_json ranges = tool_json_get(answer, "ranges");

    return tool_json_each(ranges, &range) ? plan_word(tool_json_get(answer, "plan")) : "none";
}

static void read_answer(const char *json, explanation *told)
{
    tool_json_walk warning = {0};
    tool_json answer = tool_json_of(json);
    tool_json advice = tool_json_get(answer, "advice");

    told->plan = plan_of(answer);
    told->estimate = tool_json_get(answer, "estimate");
    while (tool_json_each(tool_json_get(answer, "warnings"), &warning)) {
        if (told->warnings.size)
            tool_text_puts(&told->warnings, ". ");
        tool_json_text(warning.value, &told->warnings);
    }
    tool_json_text(advice.at && *advice.at == '"' ? advice : tool_json_get(answer, "description"),
                   &told->advice);
}

/* The filter of a service that does not tell: what it would refuse, in the words of tavolad. */
static tool_exit refuse_filter(const char *text)
{
    tv_error_info info = {0};
    tool_text line = {0};
    tv_filter *parsed;
    tool_exit exit;
    tv_arena arena;

    tv_arena_init(&arena);
    if (tv_filter_parse(&arena, tv_slice_of(text), &parsed, &info) != TV_OK)
        tool_text_add(&line, info.text.data, info.text.len);
    exit = tool_refuse("the service refuses this filter%s%s", line.size ? ": " : "",
                       line.size ? line.at : "");
    tool_text_done(&line);
    tv_arena_done(&arena);
    return exit;
}

static tool_exit explain(tool_run *run)
{
    tavola_filter *filter = NULL;
    tavola_query *query;
    tavola_table *table = NULL;
    explanation told = {.has_values = run->where_count > 1};
    char *text, *json = NULL;
    tavola_err err;
    tool_exit exit = tool_filter_of(run, &filter);

    if (exit)
        return exit;
    told.plan = filter ? tavola_filter_plan(filter) : "table scan";
    text = filter ? tavola_filter_text(filter) : NULL;
    tool_text_puts(&told.filter, text ? text : "");
    query = tavola_query_new(filter);
    exit = tool_table(run, run->args[0], &table);
    if (exit)
        goto out;

    err = tool_explain(run, table, query, &json);
    if (err && err != TAVOLA_ERR_UNSUPPORTED) {
        exit = tool_fail(run, err, NULL);
        goto out;
    }
    if (json) {
        read_answer(json, &told);
    } else if (!told.plan) {
        exit = refuse_filter(told.filter.at);
        goto out;
    } else {
        tool_text_puts(&told.advice, tool_plan_advice(told.plan));
        tool_note("by the filter alone: the service does not tell");
    }
    exit = print(run, &told);

out:
    tavola_free(text);
    tavola_free(json);
    tool_text_done(&told.filter);
    tool_text_done(&told.warnings);
    tool_text_done(&told.advice);
    tavola_query_free(query);
    tavola_table_close(table);
    return exit;
}

const tool_verb tool_explain_verbs[] = {
    {"explain", TOOL_TABLE_WHERE,
     "How a query will be answered, what it will read and what to do about it; does not run it", 1,
     1, TOOL_BIT(WHERE), .run = explain, .is_plain = true,
     .examples = "  tavola explain Employees --where \"Email eq 'junc@contoso.com'\"\n"
                 "  tavola explain Employees --where \"PartitionKey eq ?\" Sales\n"},
    {0},
};
