#include "query.h"
#include "explained.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_MAX 1000

char **tool_select_of(const tool_run *run)
{
    char **names = tool_names_of(run, TOOL_FLAG_SELECT);

    if (names && !names[0]) { /* "--select ,": nothing chosen is everything */
        tool_names_free(names);
        return NULL;
    }
    for (char **name = names; name && *name; name++)
        if (strcmp(*name, "odata.etag") == 0) {
            free(*name);
            *name = tool_copy("PartitionKey");
        }
    return names;
}

/* What tavolad has told about all pages: "range; ranges=1; examined=12; returned=10". */
typedef struct pages_plan {
    char word[64]; /* "" when the service does not tell */
    uint64_t examined, returned, requests;
} pages_plan;

static uint64_t number_behind(const char *text, const char *name)
{
    const char *found = text ? strstr(text, name) : NULL;

    return found ? strtoull(found + strlen(name), NULL, 10) : 0;
}

static void add_plan(pages_plan *plan, const char *header, size_t returned)
{
    plan->requests++;
    plan->returned += returned;
    plan->examined += number_behind(header, "examined=");
    /* The header says "partition" where the guide says "partition scan". */
    if (header)
        snprintf(plan->word, sizeof plan->word, "%.*s%s", (int)strcspn(header, ";"), header,
                 strncmp(header, "partition", 9) == 0 || strncmp(header, "table", 5) == 0 ? " scan"
                                                                                          : "");
}

/* `guess` is NULL for a filter that our own parser does not take. */
static void tell_plan(const pages_plan *plan, const char *guess)
{
    if (*plan->word)
        tool_note("plan: %s; examined %llu, returned %llu, requests %llu", plan->word,
                  (unsigned long long)plan->examined, (unsigned long long)plan->returned,
                  (unsigned long long)plan->requests);
    else
        tool_note("plan: %s (by its filter; the service does not tell); returned %llu, requests "
                  "%llu",
                  guess ? guess : "not known", (unsigned long long)plan->returned,
                  (unsigned long long)plan->requests);
}

const char *tool_plan_advice(const char *plan)
{
    static const struct {
        const char *plan, *advice;
    } advices[] = {
        {"point", "one entity by both keys: nothing is faster"},
        {"range", "a range of row keys in one partition: fast, and costs what is in the range"},
        {"partition", "reads the whole partition: put what you filter by into the RowKey, or keep "
                      "a second copy under it (intra-partition secondary index)"},
        {"table", "reads the whole table, every partition: give the PartitionKey, or keep a copy "
                  "of the entities under what you look for (inter-partition secondary index)"},
    };

    for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++)
        if (strncmp(plan, advices[i].plan, strlen(advices[i].plan)) == 0)
            return advices[i].advice;
    return "";
}

typedef struct page_reader {
    tavola_table *table;
    tavola_query *query;
    tool_output *output;
    tool_print_fn print;
    uint64_t limit; /* UINT64_MAX: none */
    uint32_t page_size;
    bool has_filter;
    char *token; /* NULL: at the beginning, or at the end */
    pages_plan plan;
} page_reader;

/* One page; *ret_is_done when there are no more, or the limit is reached. */
static tavola_err read_page(tool_run *run, page_reader *reading, bool *ret_is_done)
{
    uint32_t size =
        reading->limit < reading->page_size ? (uint32_t)reading->limit : reading->page_size;
    tavola_page *page = NULL;
    const char *token;
    size_t count;
    tavola_err err;

    tavola_query_set_page_size(reading->query, size);
    err = tavola_query_page(reading->table, reading->query, reading->token, run->call, &page);
    if (err)
        return err;
    count = tavola_page_count(page);
    for (size_t i = 0; i < count; i++)
        reading->print(reading->output, tavola_page_at(page, i));
    add_plan(&reading->plan, tavola_call_plan(run->call), count);
    if (reading->limit != UINT64_MAX)
        reading->limit -= count;
    token = tavola_page_token(page);
    free(reading->token);
    reading->token = token ? tool_copy(token) : NULL;
    tavola_page_free(page);
    *ret_is_done = !reading->token || reading->limit == 0;
    if (reading->has_filter && reading->plan.requests == 1 && *reading->plan.word)
        tool_warn_of(run, reading->table, reading->query);
    return TAVOLA_OK;
}

static tool_exit read_pages(tool_run *run, page_reader *reading)
{
    bool is_done = false;

    while (!is_done && !tool_stop_signal()) {
        tavola_err err = read_page(run, reading, &is_done);

        if (!err)
            continue;
        /* What came so far is shown, and where to go on. */
        tool_output_close(reading->output);
        reading->output = NULL;
        fflush(stdout);
        if (reading->token && reading->plan.requests)
            tool_note("next token: %s", reading->token);
        return tool_fail(run, err, NULL);
    }
    return is_done ? TOOL_OK : tool_stopped();
}

tool_exit tool_query_run(tool_run *run, const char *table, tavola_filter *filter,
                         const char *const *select, tool_print_fn print)
{
    page_reader reading = {
        .limit = UINT64_MAX, .page_size = PAGE_MAX, .has_filter = filter != NULL, .print = print};
    const char *guess = filter ? tavola_filter_plan(filter) : "table scan";
    const char *token = tool_value_of(run, TOOL_FLAG_TOKEN);
    int64_t limit = 0, page_size = PAGE_MAX;
    tool_exit exit;

    reading.query = tavola_query_new(filter);
    if (select)
        tavola_query_select(reading.query, select);
    exit = tool_number_of(run, TOOL_FLAG_LIMIT, 1, INT64_MAX, &limit);
    if (!exit)
        exit = tool_number_of(run, TOOL_FLAG_PAGE_SIZE, 1, PAGE_MAX, &page_size);
    if (!exit)
        exit = tool_table(run, table, &reading.table);
    if (!exit)
        exit = tool_output_open(run, true, &reading.output);
    if (exit)
        goto out;

    reading.page_size = (uint32_t)page_size;
    reading.limit = limit ? (uint64_t)limit : UINT64_MAX;
    reading.token = token ? tool_copy(token) : NULL;
    exit = read_pages(run, &reading);
    if (exit)
        goto out;
    tool_output_close(reading.output);
    reading.output = NULL;
    fflush(stdout);
    if (reading.token)
        tool_note("next token: %s", reading.token);
    if (tool_has(run, TOOL_FLAG_PLAN))
        tell_plan(&reading.plan, guess);

out:
    tool_output_close(reading.output);
    free(reading.token);
    tavola_query_free(reading.query);
    tavola_table_close(reading.table);
    return exit;
}
