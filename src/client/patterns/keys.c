/* Denormalization and compound keys: what needs no request. */
#include "client/patterns/pattern.h"
#include "client/why.h"

static void embed(tavola_entity *to, const char *prefix, const tvc_property *property)
{
    char *name = tvc_joined(prefix, property->name);

    if (name == NULL) {
        tvc_entity_fail(to, TAVOLA_ERR_NO_MEMORY, "there is no memory");
        return;
    }
    tavola_entity_set(to, name, property->value);

    /* What was to be encrypted there is to be encrypted here, too. */
    int at = tvc_entity_find(to, tv_slice_of(name));

    if (at >= 0 && property->is_secret)
        to->properties[at].is_secret = true;
    tvc_release(name);
}

void tavola_entity_embed(tavola_entity *to, const char *prefix, const tavola_entity *from,
                         const char *const *names)
{
    if (to == NULL)
        return;
    if (tavola_entity_error(from)) {
        tvc_entity_fail(to, tavola_entity_error(from), "what is to be embedded: %s",
                        tavola_entity_error_text(from));
        return;
    }
    if (to == from) {
        tvc_entity_fail(to, TAVOLA_ERR_INVALID, "an entity cannot be embedded in itself");
        return;
    }

    for (uint32_t i = 0; names == NULL && i < from->count; i++)
        embed(to, prefix ? prefix : "", &from->properties[i]);
    for (; names && *names; names++) {
        int at = tvc_entity_find(from, tv_slice_of(*names));

        if (at >= 0)
            embed(to, prefix ? prefix : "", &from->properties[at]);
    }
}

char *tavola_key_part(char separator, const char *key, size_t i)
{
    tv_slice rest = key ? tv_slice_of(key) : TV_NONE;
    tv_slice part;

    while (tv_slice_next(&rest, separator, &part)) {
        if (i-- == 0)
            return tvc_dup(part);
    }
    (void)tvc_refuse(key ? TAVOLA_END : TAVOLA_ERR_INVALID,
                     key ? "the key has no such part" : "there is no key: it is NULL");
    return NULL;
}
