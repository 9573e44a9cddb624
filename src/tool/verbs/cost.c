/* See cost.h.  Asking and counting. */
#include "cost.h"

#include "../json_find.h"
#include "server.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DAY_S = 24 * 3600, MONTH_DAYS = 30, WINDOW_S_MIN = 1 };
#define COUNT_MAX 1e18 /* more than any server has counted */

double cost_per_day(const cost_bill *bill, double transactions)
{
    return transactions / bill->seconds * DAY_S;
}

double cost_of_requests(const cost_bill *bill, double transactions)
{
    return tool_price_of_transactions(bill->prices, cost_per_day(bill, transactions));
}

double cost_of_bytes(const cost_bill *bill, double bytes)
{
    return tool_price_of_bytes(bill->prices, bytes) / MONTH_DAYS;
}

static void bill_done(cost_bill *bill)
{
    for (size_t i = 0; i < bill->shape_count; i++) {
        cost_shape *shape = &bill->shapes[i];

        tool_text_done(&shape->account);
        tool_text_done(&shape->table);
        tool_text_done(&shape->operation);
        tool_text_done(&shape->filter);
        tool_text_done(&shape->fingerprint);
    }
    for (size_t i = 0; i < bill->table_count; i++) {
        tool_text_done(&bill->tables[i].account);
        tool_text_done(&bill->tables[i].name);
    }
    free(bill->shapes);
    free(bill->tables);
}

/* Room for one more in a list that grows at powers of two. */
static void *grow(void *list, size_t count, size_t size)
{
    return (count & (count - 1)) == 0 ? tool_resize(list, (count * 2 + 1) * size) : list;
}

/* False when it is no number of things. */
static bool read_count(tool_json object, const char *name, double *ret_count)
{
    tool_json value = tool_json_get(object, name);

    *ret_count = tool_json_number(value);
    return value.at && strchr("0123456789", *value.at) && *ret_count < COUNT_MAX;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool add_shape(cost_bill *bill, tool_json json)
{
    cost_shape *shape;
    bool is_good;

    bill->shapes = grow(bill->shapes, bill->shape_count, sizeof *bill->shapes);
    shape = &bill->shapes[bill->shape_count++];
    *shape = (cost_shape){0};
    tool_json_text(tool_json_get(json, "account"), &shape->account);
    tool_json_text(tool_json_get(json, "table"), &shape->table);
    tool_json_text(tool_json_get(json, "operation"), &shape->operation);
    tool_json_text(tool_json_get(json, "text"), &shape->filter);
    if (shape->filter.size)
        tool_json_text(tool_json_get(json, "fingerprint"), &shape->fingerprint);
    else
        tool_text_puts(&shape->fingerprint, "");
    is_good = read_count(json, "executions", &shape->executions);
    if (tool_json_get(json, "pages").at)
        is_good = is_good && read_count(json, "pages", &shape->transactions);
    else
        shape->transactions = shape->executions;
    bill->transactions += shape->transactions;
    return is_good && shape->account.size && shape->table.size && shape->operation.size;
}

static int compare_shapes(const void *left, const void *right)
{
    const cost_shape *one = left, *other = right;
    int order;

    if (one->transactions != other->transactions)
        return one->transactions > other->transactions ? -1 : 1;
    order = strcmp(one->account.at, other->account.at);
    if (!order)
        order = strcmp(one->table.at, other->table.at);
    if (!order)
        order = strcmp(one->operation.at, other->operation.at);
    return order ? order : strcmp(one->filter.at, other->filter.at);
}

/* False when the answer is not one of a tavolad. */
static bool read_shapes(cost_bill *bill, const char *body)
{
    tool_json answer = tool_json_of(body), all = tool_json_get(answer, "shapes");
    tool_json_walk shape = {0};

    if (!all.at || *all.at != '[' || !read_count(answer, "windowSeconds", &bill->seconds))
        return false;
    if (bill->seconds < WINDOW_S_MIN)
        bill->seconds = WINDOW_S_MIN;
    while (tool_json_each(all, &shape)) {
        if (!add_shape(bill, shape.value))
            return false;
    }
    if (bill->shape_count)
        qsort(bill->shapes, bill->shape_count, sizeof *bill->shapes, compare_shapes);
    return true;
}

/* Why the answer has no shapes. */
static tool_exit tell_no_shapes(tool_run *run, const tool_answer *answer)
{
    tool_admin admin;
    tool_exit exit = tool_admin_open(run, &admin);

    if (exit)
        return exit;
    if (answer->status == 404 && strstr(answer->body.at, "mark"))
        return tool_server_refused(&admin, answer);
    if (answer->status == 404)
        return tool_trouble("the server at %s records no requests: see its --watch", admin.url);
    if (answer->status != 200)
        return tool_server_refused(&admin, answer);
    return tool_trouble("the server at %s does not answer as a tavolad does", admin.url);
}

static tool_exit take_shapes(tool_run *run, cost_bill *bill)
{
    tool_text path = {0};
    tool_answer answer = {0};
    tool_exit exit;

    tool_text_puts(&path, "/shapes");
    if (run->arg_count)
        tool_path_add(&path, "table", run->args[0]);
    if (tool_has(run, TOOL_FLAG_SINCE))
        tool_path_add(&path, "since", tool_value_of(run, TOOL_FLAG_SINCE));
    exit = tool_server_ask(run, "GET", path.at, 0, &answer);
    if (!exit && (answer.status != 200 || !read_shapes(bill, answer.body.at)))
        exit = tell_no_shapes(run, &answer);
    tool_text_done(&path);
    tool_answer_done(&answer);
    return exit;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void add_table(cost_bill *bill, const char *account, const char *name)
{
    cost_table *table;

    for (size_t i = 0; i < bill->table_count; i++) {
        if (strcmp(bill->tables[i].account.at, account) == 0 &&
            strcmp(bill->tables[i].name.at, name) == 0)
            return;
    }
    bill->tables = grow(bill->tables, bill->table_count, sizeof *bill->tables);
    table = &bill->tables[bill->table_count++];
    *table = (cost_table){0};
    tool_text_puts(&table->account, account);
    tool_text_puts(&table->name, name);
}

/* What a table has.  A server that does not count, and a table that is gone, are no failure. */
static tool_exit take_table(tool_run *run, cost_table *table)
{
    tool_text path = {0};
    tool_answer answer = {0};
    tool_exit exit;

    tool_text_puts(&path, "/facts");
    tool_path_add(&path, "account", table->account.at);
    tool_path_add(&path, "table", table->name.at);
    exit = tool_server_ask(run, "GET", path.at, 0, &answer);
    if (!exit && answer.status == 200) {
        tool_json facts = tool_json_of(answer.body.at), exact = tool_json_get(facts, "exact");

        table->is_known = read_count(facts, "entities", &table->entities) &&
                          read_count(facts, "bytes", &table->stored) &&
                          read_count(facts, "billedBytes", &table->bytes);
        /* None is known of what was counted a while ago; then it is not exact. */
        if (!read_count(facts, "billedBytesError", &table->error))
            table->error = 0;
        table->is_exact = exact.at && strncmp(exact.at, "true", 4) == 0;
    } else if (!exit) {
        table->is_gone = answer.status == 404 && strstr(answer.body.at, "no such table");
    }
    tool_text_done(&path);
    tool_answer_done(&answer);
    return exit;
}

/* Of the tables that were asked for something, and of the one that is meant. */
static tool_exit take_tables(tool_run *run, cost_bill *bill)
{
    tool_exit exit = TOOL_OK;

    for (size_t i = 0; i < bill->shape_count; i++)
        add_table(bill, bill->shapes[i].account.at, bill->shapes[i].table.at);
    if (run->arg_count && !bill->table_count)
        add_table(bill, "devstoreaccount1", run->args[0]);
    for (size_t i = 0; !exit && i < bill->table_count; i++) {
        exit = take_table(run, &bill->tables[i]);
        if (bill->tables[i].is_known) {
            bill->bytes += bill->tables[i].bytes;
            bill->error += bill->tables[i].error;
            bill->stored += bill->tables[i].stored;
        }
    }
    if (!exit && !bill->shape_count && bill->table_count && bill->tables[0].is_gone) {
        tool_trouble("there is no table '%s' in devstoreaccount1, and no account's was used in "
                     "that time",
                     run->args[0]);
        exit = TOOL_NOT_FOUND;
    }
    return exit;
}

/* ---- the verb -------------------------------------------------------------------------------- */

/* All that can be wrong with the command itself, before anything is sent. */
static tool_exit read_command(tool_run *run, tool_prices *prices, cost_bill *ret_bill,
                              tool_output **ret_output)
{
    int64_t limit = INT64_MAX;
    tool_exit exit = tool_number_of(run, TOOL_FLAG_LIMIT, 1, INT64_MAX, &limit);

    if (!exit && tool_has(run, TOOL_FLAG_PRICES)) {
        exit = tool_prices_read(tool_value_of(run, TOOL_FLAG_PRICES), prices);
        ret_bill->prices = prices;
    }
    if (!exit && tool_has(run, TOOL_FLAG_OUTPUT) && !tool_wants_json(run))
        exit = tool_output_open(run, true, ret_output);
    ret_bill->shown_max = (uint64_t)limit;
    return exit;
}

/* Prices that are numbers may be too large for a sum of them. */
static tool_exit check_sums(const cost_bill *bill)
{
    if (bill->prices &&
        !isfinite(cost_of_requests(bill, bill->transactions) + cost_of_bytes(bill, bill->bytes)))
        return tool_trouble("the prices are too large to count with");
    return TOOL_OK;
}

tool_exit tool_advise_cost(tool_run *run)
{
    cost_bill bill = {0};
    tool_prices prices;
    tool_output *output = NULL;
    tool_exit exit = read_command(run, &prices, &bill, &output);

    if (!exit)
        exit = take_shapes(run, &bill);
    if (!exit)
        exit = take_tables(run, &bill);
    if (!exit)
        exit = check_sums(&bill);
    if (!exit && tool_wants_json(run))
        cost_show_json(&bill);
    else if (!exit && output)
        cost_show_records(&bill, output);
    else if (!exit)
        cost_show_text(&bill);
    if (output)
        tool_output_close(output);
    if (!exit && output)
        cost_show_notes(&bill);
    bill_done(&bill);
    return exit;
}
