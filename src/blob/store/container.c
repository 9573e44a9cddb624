/* The attributes of a container. */
#include "blob/store/container.h"

#include "base/assert.h"
#include "blob/store/row.h"

enum { FORM = 1 };

/* What may be written, and what is read without being damage. */
static bool are_facts(const tv_container_facts *facts)
{
    return facts->created >= 0 && facts->created <= facts->etag && facts->etag <= TV_BLOB_TICKS_MAX;
}

tv_slice tv_container_facts_encode(tv_arena *arena, const tv_container_facts *facts)
{
    tv_buf buf = TV_BUF_EMPTY;

    tv_assert(are_facts(facts) && facts->access <= TV_PUBLIC_CONTAINER);
    tv_pack_number(&buf, FORM);
    tv_pack_number(&buf, (uint64_t)facts->created);
    tv_pack_number(&buf, (uint64_t)facts->etag);
    tv_pack_number(&buf, facts->access);
    tv_metadata_pack(&buf, &facts->metadata);
    tv_lease_pack(&buf, &facts->lease);

    tv_slice bytes = tv_arena_dup(arena, tv_buf_slice(&buf));

    tv_buf_done(&buf);
    return bytes;
}

tv_err tv_container_facts_decode(tv_arena *arena, tv_slice bytes, tv_container_facts *ret_facts)
{
    tv_unpack in = {.rest = bytes};
    tv_container_facts facts = {0};

    if (tv_unpack_number(&in) != FORM)
        tv_unpack_fail(&in);
    facts.created = (int64_t)tv_unpack_number_max(&in, TV_BLOB_TICKS_MAX);
    facts.etag = (int64_t)tv_unpack_number_max(&in, TV_BLOB_TICKS_MAX);
    facts.access = (tv_public_access)tv_unpack_number_max(&in, TV_PUBLIC_CONTAINER);
    tv_metadata_unpack(&in, arena, &facts.metadata);
    tv_lease_unpack(&in, &facts.lease);
    if (!tv_unpack_is_done(&in) || !are_facts(&facts))
        return TV_ERR_CORRUPT;

    *ret_facts = facts;
    return TV_OK;
}

tv_err tv_container_facts_touch(tv_container_facts *facts, int64_t now)
{
    int64_t etag = now > facts->etag ? now : facts->etag + 1;

    if (etag > TV_BLOB_TICKS_MAX)
        return TV_ERR_CORRUPT;

    facts->etag = etag;
    return TV_OK;
}

tv_err tv_container_lease(tv_container_facts *facts, const tv_lease_request *request, int64_t now,
                          int32_t *ret_seconds)
{
    return tv_lease_error_for_container(tv_lease_apply(&facts->lease, request, now, ret_seconds));
}

tv_err tv_container_check_lease(const tv_container_facts *facts, const tv_guid *id, bool is_delete,
                                int64_t now)
{
    return tv_lease_error_for_container(is_delete ? tv_lease_check_write(&facts->lease, id, now)
                                                  : tv_lease_check_read(&facts->lease, id, now));
}
