/* The attributes of a container. */
#include "services/blob/store/container.h"

#include "base/assert.h"
#include "services/blob/store/row.h"

enum { FORM = 1 };

/* What may be written, and what is read without being damage. */
static bool are_attributes(const tv_container_attributes *attributes)
{
    return attributes->created >= 0 && attributes->created <= attributes->etag &&
           attributes->etag <= TV_BLOB_TICKS_MAX;
}

tv_slice tv_container_attributes_encode(tv_arena *arena, const tv_container_attributes *attributes)
{
    tv_buf buf = TV_BUF_EMPTY;

    tv_assert(are_attributes(attributes) && attributes->access <= TV_PUBLIC_CONTAINER);
    tv_pack_number(&buf, FORM);
    tv_pack_number(&buf, (uint64_t)attributes->created);
    tv_pack_number(&buf, (uint64_t)attributes->etag);
    tv_pack_number(&buf, attributes->access);
    tv_metadata_pack(&buf, &attributes->metadata);
    tv_lease_pack(&buf, &attributes->lease);

    tv_slice bytes = tv_arena_dup(arena, tv_buf_slice(&buf));

    tv_buf_done(&buf);
    return bytes;
}

tv_err tv_container_attributes_decode(tv_arena *arena, tv_slice bytes,
                                      tv_container_attributes *ret_attributes)
{
    tv_unpack in = {.rest = bytes};
    tv_container_attributes attributes = {0};

    if (tv_unpack_number(&in) != FORM)
        tv_unpack_fail(&in);
    attributes.created = (int64_t)tv_unpack_number_max(&in, TV_BLOB_TICKS_MAX);
    attributes.etag = (int64_t)tv_unpack_number_max(&in, TV_BLOB_TICKS_MAX);
    attributes.access = (tv_public_access)tv_unpack_number_max(&in, TV_PUBLIC_CONTAINER);
    tv_metadata_unpack(&in, arena, &attributes.metadata);
    tv_lease_unpack(&in, &attributes.lease);
    if (!tv_unpack_is_done(&in) || !are_attributes(&attributes))
        return TV_ERR_CORRUPT;

    *ret_attributes = attributes;
    return TV_OK;
}

tv_err tv_container_attributes_touch(tv_container_attributes *attributes, int64_t now)
{
    int64_t etag = now > attributes->etag ? now : attributes->etag + 1;

    if (etag > TV_BLOB_TICKS_MAX)
        return TV_ERR_CORRUPT;

    attributes->etag = etag;
    return TV_OK;
}

tv_err tv_container_lease(tv_container_attributes *attributes, const tv_lease_request *request,
                          int64_t now, int32_t *ret_seconds)
{
    return tv_lease_error_for_container(
        tv_lease_apply(&attributes->lease, request, now, ret_seconds));
}

tv_err tv_container_check_lease(const tv_container_attributes *attributes, const tv_guid *id,
                                bool is_delete, int64_t now)
{
    return tv_lease_error_for_container(is_delete
                                            ? tv_lease_check_write(&attributes->lease, id, now)
                                            : tv_lease_check_read(&attributes->lease, id, now));
}
