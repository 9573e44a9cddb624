/*
 * A file of prices.  What is read is finite, not negative and can be shown; it does not depend on
 * blanks and comments around it.  What is refused is told in one line.
 */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "tool/text.h"
#include "tool/verbs/prices.h"

static void check_again(const tool_prices *prices)
{
    char why[TOOL_PRICES_WHY_SIZE];
    tool_text text = {0};
    tool_prices again;

    tool_text_printf(&text, "\r\n#\n per_gib_month\t= %.17g # x\nper_10000_transactions=%.17g",
                     prices->per_gib_month, prices->per_10000_transactions);
    if (prices->currency[0])
        tool_text_printf(&text, "\ncurrency = %s", prices->currency);
    tv_assert(tool_prices_parse(text.at, text.size, &again, why));
    tv_assert(again.per_gib_month == prices->per_gib_month);
    tv_assert(again.per_10000_transactions == prices->per_10000_transactions);
    tv_assert(strcmp(again.currency, prices->currency) == 0);
    tool_text_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[TOOL_PRICES_WHY_SIZE] = "";
    tool_prices prices;

    if (!tool_prices_parse((const char *)data, size, &prices, why)) {
        tv_assert(why[0] && strchr(why, '\n') == NULL);
        return 0;
    }
    tv_assert(isfinite(prices.per_gib_month) && prices.per_gib_month >= 0);
    tv_assert(isfinite(prices.per_10000_transactions) && prices.per_10000_transactions >= 0);
    tv_assert(memchr(prices.currency, '\0', sizeof prices.currency));
    tv_assert(strpbrk(prices.currency, "\n\x1b#") == NULL);
    check_again(&prices);
    return 0;
}
