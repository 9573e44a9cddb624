/* See cost.h.  Text for people, JSON, and records for the formats of -o. */
#include "cost.h"

#include "../output/row.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 10 };

static size_t shown_of(const cost_bill *bill)
{
    return bill->shape_count < bill->shown_max ? bill->shape_count : (size_t)bill->shown_max;
}

static double share_of(const cost_bill *bill, const cost_shape *shape)
{
    return bill->transactions > 0 ? shape->transactions / bill->transactions * 100 : 0;
}

/* A whole number; what no server can have counted is the greatest. */
static tavola_value count_value(double number)
{
    return tavola_int64(number < 9e18 ? (int64_t)(number + 0.5) : INT64_MAX);
}

static tavola_value money_value(const cost_bill *bill, double cost)
{
    return bill->prices ? tavola_double(cost) : (tavola_value){0};
}

/* "0.0036 EUR a day" */
static void write_money(const cost_bill *bill, double cost, tool_text *line)
{
    tool_text_amount(line, cost);
    tool_text_printf(line, "%s%s a day", *bill->prices->currency ? " " : "",
                     bill->prices->currency);
}

/* ---- records and JSON ------------------------------------------------------------------------ */

static void describe_shape(const cost_bill *bill, const cost_shape *shape,
                           tool_field ret_fields[COLUMNS])
{
    const tool_prices *prices = bill->prices;
    double cost = prices ? cost_of_requests(bill, shape->transactions) : 0;
    tool_field fields[COLUMNS] = {
        {"SharePercent", tavola_double(share_of(bill, shape))},
        {"Transactions", count_value(shape->transactions)},
        {"TransactionsPerDay", count_value(cost_per_day(bill, shape->transactions))},
        {"CostPerDay", money_value(bill, cost)},
        {"Executions", count_value(shape->executions)},
        {"Account", tool_text_value(shape->account.at)},
        {"Table", tool_text_value(shape->table.at)},
        {"Operation", tool_text_value(shape->operation.at)},
        {"Filter", tool_text_value(shape->filter.size ? shape->filter.at : NULL)},
        {"Fingerprint", tool_text_value(shape->fingerprint.size ? shape->fingerprint.at : NULL)},
    };

    memcpy(ret_fields, fields, sizeof fields);
}

static void add_shapes(const cost_bill *bill, tool_text *json)
{
    for (size_t i = 0; i < shown_of(bill); i++) {
        tool_field fields[COLUMNS];

        describe_shape(bill, &bill->shapes[i], fields);
        tool_text_puts(json, i ? ",\n" : "\n");
        tool_json_record(json, fields, COLUMNS);
    }
}

static void add_tables(const cost_bill *bill, tool_text *json)
{
    for (size_t i = 0; i < bill->table_count; i++) {
        const cost_table *table = &bill->tables[i];
        tavola_value none = {0};
        bool is_known = table->is_known;
        double cost = is_known && bill->prices ? cost_of_bytes(bill, table->bytes) : 0;
        tool_field fields[] = {
            {"Account", tool_text_value(table->account.at)},
            {"Table", tool_text_value(table->name.at)},
            {"IsGone", tavola_boolean(table->is_gone)},
            {"IsExact", tavola_boolean(table->is_exact)},
            {"Entities", is_known ? count_value(table->entities) : none},
            {"BilledBytes", is_known ? count_value(table->bytes) : none},
            {"BilledBytesError", is_known ? count_value(table->error) : none},
            {"StoredBytes", is_known ? count_value(table->stored) : none},
            {"CostPerDay", is_known ? money_value(bill, cost) : none},
        };

        tool_text_puts(json, i ? ",\n" : "\n");
        tool_json_record(json, fields, sizeof fields / sizeof fields[0]);
    }
}

static void add_sums(const cost_bill *bill, tool_text *json)
{
    const tool_prices *prices = bill->prices;
    double requests = prices ? cost_of_requests(bill, bill->transactions) : 0;
    double bytes = prices ? cost_of_bytes(bill, bill->bytes) : 0;
    tool_field fields[] = {
        {"WindowSeconds", tavola_double(bill->seconds)},
        {"Transactions", count_value(bill->transactions)},
        {"TransactionsPerDay", count_value(cost_per_day(bill, bill->transactions))},
        {"BilledBytes", count_value(bill->bytes)},
        {"BilledBytesError", count_value(bill->error)},
        {"StoredBytes", count_value(bill->stored)},
        {"Currency", tool_text_value(prices && *prices->currency ? prices->currency : NULL)},
        {"CostPerDayOfTransactions", money_value(bill, requests)},
        {"CostPerDayOfBytes", money_value(bill, bytes)},
        {"CostPerDay", money_value(bill, requests + bytes)},
    };

    tool_json_record(json, fields, sizeof fields / sizeof fields[0]);
}

void cost_show_json(const cost_bill *bill)
{
    tool_text json = {0};

    tool_text_puts(&json, "{\"Version\":1,\n\"Sum\":");
    add_sums(bill, &json);
    tool_text_puts(&json, ",\n\"Shapes\":[");
    add_shapes(bill, &json);
    tool_text_puts(&json, "],\n\"Tables\":[");
    add_tables(bill, &json);
    tool_text_puts(&json, "]}\n");
    fwrite(json.at, 1, json.size, stdout);
    tool_text_done(&json);
}

/* ---- sums as text ---------------------------------------------------------------------------- */

static const char *plural(double count)
{
    return count == 1 ? "" : "s";
}

/* From less nothing can be told of a day. */
enum { DAY_FROM_S = 600 };

/* "35 seconds", "30 minutes" */
static void write_duration(double seconds, tool_text *line)
{
    bool is_short = seconds < 120;
    double number = floor((is_short ? seconds : seconds / 60) + 0.5);

    tool_text_printf(line, "%.0f %s%s", number, is_short ? "second" : "minute", plural(number));
}

/* "62 transactions in 30 minutes, 2,976 a day: 0.0001 EUR a day" */
static void write_requests(const cost_bill *bill, tool_text *line)
{
    tool_text_grouped(line, bill->transactions);
    tool_text_printf(line, " transaction%s in ", plural(bill->transactions));
    write_duration(bill->seconds, line);
    tool_text_puts(line, ", ");
    tool_text_grouped(line, cost_per_day(bill, bill->transactions));
    tool_text_puts(line, " a day");
    if (bill->seconds < DAY_FROM_S)
        tool_text_puts(line, " if it stayed so");
    if (bill->prices) {
        tool_text_puts(line, ": ");
        write_money(bill, cost_of_requests(bill, bill->transactions), line);
    }
}

static void write_bytes(const cost_bill *bill, tool_text *line)
{
    size_t unknown = 0;

    for (size_t i = 0; i < bill->table_count; i++)
        unknown += !bill->tables[i].is_known && !bill->tables[i].is_gone;
    tool_text_grouped(line, bill->bytes);
    tool_text_puts(line, " bytes as the service bills them");
    if (bill->error >= 1) {
        tool_text_puts(line, " (+/- ");
        tool_text_grouped(line, bill->error);
        tool_text_puts(line, ")");
    }
    tool_text_printf(line, ", %zu table%s", bill->table_count, plural((double)bill->table_count));
    if (unknown)
        tool_text_printf(line, " (%zu not counted)", unknown);
    if (bill->prices) {
        tool_text_puts(line, ": ");
        write_money(bill, cost_of_bytes(bill, bill->bytes), line);
    }
}

static void write_sum(const cost_bill *bill, tool_text *line)
{
    tool_text_puts(line, "together ");
    write_money(bill, cost_of_requests(bill, bill->transactions) + cost_of_bytes(bill, bill->bytes),
                line);
}

typedef void write_line(const cost_bill *bill, tool_text *line);

/* The lines below a list, on stdout or as notes on stderr. */
static void show_sums(const cost_bill *bill, bool as_notes)
{
    static write_line *const lines[] = {write_requests, write_bytes, write_sum};
    size_t count = bill->prices ? 3 : 2;

    for (size_t i = 0; i < count; i++) {
        tool_text line = {0}, safe = {0};

        lines[i](bill, &line);
        tool_text_escape(&safe, line.at, line.size, false);
        if (as_notes)
            tool_note("%s", safe.at);
        else
            puts(safe.at);
        tool_text_done(&line);
        tool_text_done(&safe);
    }
}

void cost_show_records(const cost_bill *bill, tool_output *output)
{
    for (size_t i = 0; i < shown_of(bill); i++) {
        tool_field fields[COLUMNS];

        describe_shape(bill, &bill->shapes[i], fields);
        tool_output_record(output, fields, COLUMNS);
    }
}

void cost_show_notes(const cost_bill *bill)
{
    show_sums(bill, true);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* What a terminal would obey is shown instead. */
static void put(const tool_text *text)
{
    tool_text safe = {0};

    tool_text_escape(&safe, text->at, text->size, false);
    fputs(safe.at ? safe.at : "", stdout);
    tool_text_done(&safe);
}

/* " 61.2 %      74,482 a day     0.0027  People  QueryEntities Age eq ?i" */
static void put_shape(const cost_bill *bill, const cost_shape *shape, bool has_accounts)
{
    char room[2][TOOL_GROUPED];

    if (share_of(bill, shape) < 0.05)
        printf(" <0.1 %%");
    else
        printf("%5.1f %%", share_of(bill, shape));
    printf("  %13s a day  ", tool_grouped(room[0], cost_per_day(bill, shape->transactions)));
    if (bill->prices) {
        tool_text cost = {0};

        tool_text_amount(&cost, cost_of_requests(bill, shape->transactions));
        printf("%10s  ", cost.at);
        tool_text_done(&cost);
    }
    if (has_accounts) {
        put(&shape->account);
        putchar('/');
    }
    put(&shape->table);
    printf("  ");
    put(&shape->operation);
    if (shape->filter.size) {
        putchar(' ');
        put(&shape->filter);
    }
    if (shape->transactions > shape->executions)
        printf("  (%s pages of %s quer%s)", tool_grouped(room[0], shape->transactions),
               tool_grouped(room[1], shape->executions), shape->executions == 1 ? "y" : "ies");
    putchar('\n');
}

void cost_show_text(const cost_bill *bill)
{
    bool has_accounts = false; /* more than one: they are named */

    for (size_t i = 1; i < bill->shape_count; i++)
        has_accounts |= strcmp(bill->shapes[0].account.at, bill->shapes[i].account.at) != 0;
    for (size_t i = 0; i < shown_of(bill); i++)
        put_shape(bill, &bill->shapes[i], has_accounts);
    if (shown_of(bill))
        putchar('\n');
    show_sums(bill, false);
}
