/* Taking query strings apart. */
#include "base/parameters.h"

#include "base/uri.h"

/* How many parts `text` has; stops counting above the limit. */
static size_t count_parts(tv_slice text)
{
    size_t count = 0;
    tv_slice part;

    while (count <= TV_PARAMETERS_MAX && tv_slice_next(&text, '&', &part))
        count++;
    return count;
}

bool tv_parameters_parse(tv_arena *arena, tv_slice text, tv_parameters *ret_parameters)
{
    tv_parameters parameters = {.text = text};
    size_t part_count = count_parts(text);
    tv_slice rest = text, part;

    if (part_count > TV_PARAMETERS_MAX)
        return false;

    tv_parameter *items = tv_arena_alloc(arena, part_count * sizeof *items);

    while (tv_slice_next(&rest, '&', &part)) {
        size_t equals = tv_slice_find(part, '=');
        tv_parameter *item = &items[parameters.count];

        if (part.len == 0)
            continue;
        item->value = tv_slice_skip(part, equals < part.len ? equals + 1 : equals);
        if (!tv_uri_decode_query(arena, tv_slice_take(part, equals), &item->name))
            parameters.is_malformed = true;
        else
            parameters.count++;
    }
    parameters.items = items;
    *ret_parameters = parameters;
    return true;
}

static bool find(const tv_parameters *parameters, tv_arena *arena, tv_slice name,
                 bool (*is_name)(tv_slice a, tv_slice b), tv_slice *ret_value)
{
    if (parameters->is_malformed)
        return false;

    for (size_t i = 0; i < parameters->count; i++) {
        if (is_name(parameters->items[i].name, name))
            return tv_uri_decode_query(arena, parameters->items[i].value, ret_value);
    }
    *ret_value = TV_NONE;
    return true;
}

bool tv_parameters_get(const tv_parameters *parameters, tv_arena *arena, tv_slice name,
                       tv_slice *ret_value)
{
    return find(parameters, arena, name, tv_slice_eq, ret_value);
}

bool tv_parameters_get_nocase(const tv_parameters *parameters, tv_arena *arena, tv_slice name,
                              tv_slice *ret_value)
{
    return find(parameters, arena, name, tv_slice_eq_nocase, ret_value);
}
