/* Values of each type, for tests of filters. */
#ifndef TEST_CLIENT_VALUES_H
#define TEST_CLIENT_VALUES_H

#include <string.h>

#include "tavola.h"

static inline tavola_value string_of(const char *text)
{
    return (tavola_value){.type = TAVOLA_STRING, .size = text ? strlen(text) : 0, .as.ptr = text};
}

static inline tavola_value int32_of(int32_t number)
{
    return (tavola_value){.type = TAVOLA_INT32, .as.int32 = number};
}

#endif
