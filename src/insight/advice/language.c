/* See language.h. */
#include "insight/advice/language.h"

const char *tv_language_name(tv_language language)
{
    static const char *const names[] = {"C", "Python", "C#", "JavaScript"};

    return names[language];
}

static uint8_t number_of(tv_slice product)
{
    static const char *const products[] = {"tavola/", "azsdk-python-", "azsdk-net-", "azsdk-js-"};

    for (int i = 0; i < TV_LANGUAGES; i++) {
        if (tv_slice_starts_with(product, tv_slice_of(products[i])))
            return (uint8_t)(1 + i);
    }
    return 0;
}

bool tv_language_is_sdk(tv_slice product)
{
    return number_of(product) > 0;
}

uint8_t tv_language_number(tv_slice agent)
{
    tv_slice product;

    while (tv_slice_next(&agent, ' ', &product)) {
        uint8_t number = number_of(product);

        if (number)
            return number;
    }
    return 0;
}
