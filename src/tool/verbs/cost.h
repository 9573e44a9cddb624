/*
 * What the traffic of the last hour, or since a mark, amounts to: transactions by the shape of
 * queries and by other operations, bytes of tables, and what both cost by prices of the user's own.
 * cost.c asks a tavolad and counts, cost_show.c shows.
 */
#ifndef TOOL_COST_H
#define TOOL_COST_H
#include "../output/output.h"
#include "../text.h"
#include "prices.h"

/* advise --cost */
tool_exit tool_advise_cost(tool_run *run);

/* Requests of one kind. */
typedef struct cost_shape {
    tool_text account, table, operation;
    tool_text filter, fingerprint; /* of queries; else empty */
    double executions;
    double transactions; /* requests: each page of a query is one, and so is a whole batch */
} cost_shape;

typedef struct cost_table {
    tool_text account, name;
    bool is_gone;  /* deleted since */
    bool is_known; /* how much is in it */
    bool is_exact;
    double entities, stored; /* keys and values as the server stores them */
    double bytes, error;     /* by the service's formula; half of the 95 % interval */
} cost_table;

typedef struct cost_bill {
    cost_shape *shapes; /* most transactions first */
    size_t shape_count;
    cost_table *tables;
    size_t table_count;
    double seconds;            /* that the window has; one at least */
    double transactions;       /* in it */
    double bytes, stored;      /* of the tables where they are known */
    double error;              /* of the bytes: all errors as if they were in one direction */
    const tool_prices *prices; /* or NULL */
    uint64_t shown_max;        /* of the shapes */
} cost_bill;

/* Requests of the window as those of a day. */
double cost_per_day(const cost_bill *bill, double transactions);
/* What a day costs; a month has 30.  With prices only. */
double cost_of_requests(const cost_bill *bill, double transactions);
double cost_of_bytes(const cost_bill *bill, double bytes);

void cost_show_text(const cost_bill *bill);
void cost_show_json(const cost_bill *bill);
/* A record for each shape; the sums are notes on stderr, behind them. */
void cost_show_records(const cost_bill *bill, tool_output *output);
void cost_show_notes(const cost_bill *bill);

#endif
