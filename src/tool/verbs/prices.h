/*
 * What the user pays: a file of prices, since there are none built in.  Lines "name = value", and
 * comments behind '#':
 *
 *     currency = EUR
 *     per_10000_transactions = 0.00036
 *     per_gib_month = 0.045
 */
#ifndef TOOL_PRICES_H
#define TOOL_PRICES_H
#include "../tool.h"

typedef struct tool_prices {
    char currency[16];
    double per_10000_transactions, per_gib_month;
} tool_prices;

enum { TOOL_PRICES_BYTES_MAX = 64 << 10, TOOL_PRICES_WHY_SIZE = 120 };

/* The text of a file; false with what is wrong with it, on one line. */
bool tool_prices_parse(const char *text, size_t size, tool_prices *ret_prices,
                       char reterr_why[TOOL_PRICES_WHY_SIZE]);

/* The file; TOOL_USAGE with one line for what cannot be read, a name that is not known and a price
 * that is missing. */
tool_exit tool_prices_read(const char *path, tool_prices *ret_prices);

double tool_price_of_transactions(const tool_prices *prices, double count);
double tool_price_of_bytes(const tool_prices *prices, double bytes); /* a month */

#endif
