/* Reading a file of prices. */
#include "prices.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 256 };

static char *trim(char *text)
{
    char *end;

    text += strspn(text, " \t\r\n");
    end = text + strlen(text);
    while (end > text && strchr(" \t\r\n", end[-1]))
        *--end = '\0';
    return text;
}

static bool read_price(const char *text, double *ret_price)
{
    char *end;

    *ret_price = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*ret_price) && *ret_price >= 0;
}

/* NULL, or what is wrong with the line. */
static const char *read_line(char *line, tool_prices *prices)
{
    char *equals, *name, *value;

    line[strcspn(line, "#")] = '\0';
    name = trim(line);
    if (*name == '\0')
        return NULL;
    equals = strchr(name, '=');
    if (equals == NULL)
        return "is not 'name = value'";
    *equals = '\0';
    value = trim(equals + 1);
    name = trim(name);
    if (strcmp(name, "currency") == 0) {
        snprintf(prices->currency, sizeof prices->currency, "%s", value);
        return strlen(value) < sizeof prices->currency && *value
                   ? NULL
                   : "has no currency of 1 to 15 letters";
    }
    if (strcmp(name, "per_10000_transactions") == 0)
        return read_price(value, &prices->per_10000_transactions) ? NULL : "has no price";
    if (strcmp(name, "per_gib_month") == 0)
        return read_price(value, &prices->per_gib_month) ? NULL : "has no price";
    return "names neither currency, per_10000_transactions nor per_gib_month";
}

tool_exit tool_prices_read(const char *path, tool_prices *ret_prices)
{
    FILE *file = fopen(path, "r");
    char line[LINE_SIZE];
    const char *why = NULL;
    int number = 0;

    *ret_prices = (tool_prices){.per_10000_transactions = -1, .per_gib_month = -1};
    if (!file)
        return tool_refuse("cannot read the prices of %s: %s", path, strerror(errno));
    while (!why && fgets(line, sizeof line, file)) {
        number++;
        why = strlen(line) == sizeof line - 1 ? "is too long" : read_line(line, ret_prices);
    }
    fclose(file);
    if (why)
        return tool_refuse("%s line %d %s", path, number, why);
    if (ret_prices->per_10000_transactions < 0 || ret_prices->per_gib_month < 0)
        return tool_refuse("%s needs per_10000_transactions and per_gib_month", path);
    return TOOL_OK;
}

double tool_price_of_transactions(const tool_prices *prices, double count)
{
    return count / 10000 * prices->per_10000_transactions;
}

double tool_price_of_bytes(const tool_prices *prices, double bytes)
{
    return bytes / (1 << 30) * prices->per_gib_month;
}
