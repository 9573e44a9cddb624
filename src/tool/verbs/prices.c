/* Reading a file of prices. */
#include "prices.h"

#include "../text.h"

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

/* Digits, perhaps with a point and an exponent; not all that strtod takes. */
static bool read_price(const char *text, double *ret_price)
{
    double price;
    char *end;

    if (text[strspn(text, "0123456789.eE+-")] != '\0')
        return false;
    price = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(price) || price < 0)
        return false;
    *ret_price = price;
    return true;
}

/* It is shown on a terminal. */
static bool read_currency(const char *text, tool_prices *prices)
{
    size_t size = strlen(text);

    if (size == 0 || size >= sizeof prices->currency)
        return false;
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7F)
            return false;
    }
    memcpy(prices->currency, text, size + 1);
    return true;
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
    if (strcmp(name, "currency") == 0)
        return read_currency(value, prices) ? NULL : "has no currency of 1 to 15 letters";
    if (strcmp(name, "per_10000_transactions") == 0)
        return read_price(value, &prices->per_10000_transactions) ? NULL : "has no price";
    if (strcmp(name, "per_gib_month") == 0)
        return read_price(value, &prices->per_gib_month) ? NULL : "has no price";
    return "names neither currency, per_10000_transactions nor per_gib_month";
}

bool tool_prices_parse(const char *text, size_t size, tool_prices *ret_prices,
                       char reterr_why[TOOL_PRICES_WHY_SIZE])
{
    tool_prices prices = {.per_10000_transactions = -1, .per_gib_month = -1};
    size_t at = 0;

    if (size > TOOL_PRICES_BYTES_MAX || (size && memchr(text, '\0', size))) {
        snprintf(reterr_why, TOOL_PRICES_WHY_SIZE, "is not a file of prices");
        return false;
    }
    for (int number = 1; at < size; number++) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end ? (size_t)(end - text) - at : size - at;
        char line[LINE_SIZE];
        const char *why = "is too long";

        if (length < sizeof line) {
            memcpy(line, text + at, length);
            line[length] = '\0';
            why = read_line(line, &prices);
        }
        if (why) {
            snprintf(reterr_why, TOOL_PRICES_WHY_SIZE, "line %d %s", number, why);
            return false;
        }
        at += length + 1;
    }
    if (prices.per_10000_transactions < 0 || prices.per_gib_month < 0) {
        snprintf(reterr_why, TOOL_PRICES_WHY_SIZE,
                 "needs per_10000_transactions and per_gib_month");
        return false;
    }
    *ret_prices = prices;
    return true;
}

tool_exit tool_prices_read(const char *path, tool_prices *ret_prices)
{
    char why[TOOL_PRICES_WHY_SIZE];
    tool_text text = {0};
    tool_exit exit = TOOL_OK;

    if (!tool_text_read_file(&text, path))
        exit = tool_refuse("cannot read the prices of %s: %s", path, strerror(errno));
    else if (!tool_prices_parse(text.at, text.size, ret_prices, why))
        exit = tool_refuse("%s %s", path, why);
    tool_text_done(&text);
    return exit;
}

double tool_price_of_transactions(const tool_prices *prices, double count)
{
    return count / 10000 * prices->per_10000_transactions;
}

double tool_price_of_bytes(const tool_prices *prices, double bytes)
{
    return bytes / (1 << 30) * prices->per_gib_month;
}
