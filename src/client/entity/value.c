/* Values of each type. */
#include "client/memory.h"

tavola_value tavola_string(const char *text)
{
    return (tavola_value){
        .type = TAVOLA_STRING, .size = text ? strlen(text) : 0, .as = {.ptr = text}};
}

tavola_value tavola_int32(int32_t value)
{
    return (tavola_value){.type = TAVOLA_INT32, .as = {.int32 = value}};
}

tavola_value tavola_int64(int64_t value)
{
    return (tavola_value){.type = TAVOLA_INT64, .as = {.int64 = value}};
}

tavola_value tavola_double(double value)
{
    return (tavola_value){.type = TAVOLA_DOUBLE, .as = {.real = value}};
}

tavola_value tavola_boolean(bool value)
{
    return (tavola_value){.type = TAVOLA_BOOLEAN, .as = {.boolean = value}};
}

tavola_value tavola_datetime(tavola_ticks value)
{
    return (tavola_value){.type = TAVOLA_DATETIME, .as = {.ticks = value}};
}

tavola_value tavola_guid_value(tavola_guid value)
{
    return (tavola_value){.type = TAVOLA_GUID, .as = {.guid = value}};
}

tavola_value tavola_binary(const void *data, size_t size)
{
    return (tavola_value){.type = TAVOLA_BINARY, .size = size, .as = {.ptr = data}};
}
