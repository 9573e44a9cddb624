/* A list of names. */
#include "client/names.h"

#include "base/grow.h"

tavola_names *tvc_names_new(void)
{
    return tvc_zalloc(sizeof(tavola_names));
}

bool tvc_names_add(tavola_names *names, tv_slice name)
{
    if (!tv_try_grow(&names->items, names->count, &names->size, 16))
        return false;

    char *copy = tvc_dup(name);

    if (copy == NULL)
        return false;
    names->items[names->count++] = copy;
    return true;
}

size_t tavola_names_count(const tavola_names *names)
{
    return names ? names->count : 0;
}

const char *tavola_names_at(const tavola_names *names, size_t i)
{
    return i < tavola_names_count(names) ? names->items[i] : NULL;
}

void tavola_names_free(tavola_names *names)
{
    if (names == NULL)
        return;

    for (size_t i = 0; i < names->count; i++)
        tvc_release(names->items[i]);
    tvc_release(names->items);
    tvc_release(names);
}
