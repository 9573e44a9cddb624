/* A wide entity in parts. */
#include "client/patterns/wide_parts.h"

/*
 * Of a part, with its two properties of ours.  Encryption adds two more and makes short values
 * longer, and Azurite counts binaries by their base64: what is left out here is room for that.
 */
enum { PART_PROPERTIES_MAX = 248, PART_BYTES_MAX = 704 * 1024 };

void tvc_wide_parts_done(tvc_wide_parts *parts)
{
    for (size_t i = 0; i < TVC_WIDE_PARTS_MAX; i++)
        tavola_entity_free(parts->at[i]);
    *parts = (tvc_wide_parts){0};
}

char *tvc_wide_row_key(const char *row_key, const char *number)
{
    tvc_text text = {0};

    for (; *row_key; row_key++) {
        tvc_text_add_char(&text, *row_key);
        if (*row_key == '~')
            tvc_text_add_char(&text, '~');
    }
    tvc_text_add_char(&text, '~');
    tvc_text_add(&text, tv_slice_of(number));
    return tvc_text_take(&text);
}

char *tvc_wide_part_key(const char *row_key, size_t part)
{
    char number[16];

    snprintf(number, sizeof number, "%zu", part);
    return tvc_wide_row_key(row_key, number);
}

/* ---- cutting ---- */

static bool is_ours(const char *name)
{
    return strcmp(name, TVC_WIDE_PUT) == 0 || strcmp(name, TVC_WIDE_COUNT) == 0;
}

static tavola_err begin_part(const tavola_entity *wide, tavola_guid put, tvc_wide_parts *parts,
                             tavola_call *call)
{
    if (parts->count == TVC_WIDE_PARTS_MAX)
        return tvc_call_refuse(call, TAVOLA_ERR_TOO_LARGE, "the entity needs more than 100 parts");

    char *row_key = tvc_wide_part_key(tavola_entity_row_key(wide), parts->count);
    tavola_entity *part =
        row_key ? tavola_entity_new(tavola_entity_partition_key(wide), row_key) : NULL;

    tvc_release(row_key);
    if (part == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    tavola_entity_set(part, TVC_WIDE_PUT, tavola_guid_value(put));
    if (parts->count == 0)
        tavola_entity_set_int32(part, TVC_WIDE_COUNT, 0);
    parts->at[parts->count++] = part;
    return TAVOLA_OK;
}

static void set_property(tavola_entity *part, const tvc_property *property)
{
    tavola_entity_set(part, property->name, property->value);

    int at = tvc_entity_find(part, (tv_slice){property->name, property->name_len});

    if (at >= 0)
        part->properties[at].is_secret = property->is_secret;
}

/* Whether a property still goes into a part: counted, as the service counts, when it is in it. */
static bool takes(tavola_entity *part, const tvc_property *property)
{
    if (part->count >= PART_PROPERTIES_MAX)
        return false;
    set_property(part, property);
    if (tavola_entity_bytes(part) <= PART_BYTES_MAX)
        return true;
    tvc_entity_forget(part, property->name);
    return false;
}

static tavola_err add_property(const tavola_entity *wide, const tvc_property *property,
                               tavola_guid put, tvc_wide_parts *parts, tavola_call *call)
{
    if (is_ours(property->name) || takes(parts->at[parts->count - 1], property))
        return TAVOLA_OK;

    tavola_err err = begin_part(wide, put, parts, call);

    if (err == TAVOLA_OK)
        set_property(parts->at[parts->count - 1], property);
    return err;
}

static tavola_err check_parts(const tvc_wide_parts *parts, tavola_call *call)
{
    for (size_t i = 0; i < parts->count; i++) {
        tavola_err err = tavola_entity_error(parts->at[i]);

        if (err)
            return tvc_call_refuse(call, err, "%s", tavola_entity_error_text(parts->at[i]));
    }
    return TAVOLA_OK;
}

tavola_err tvc_wide_split(const tavola_entity *wide, tvc_wide_parts *ret_parts, tavola_call *call)
{
    tavola_guid put = tavola_guid_random();
    tavola_err err = begin_part(wide, put, ret_parts, call);

    for (uint32_t i = 0; err == TAVOLA_OK && i < wide->count; i++)
        err = add_property(wide, &wide->properties[i], put, ret_parts, call);
    if (err == TAVOLA_OK) {
        tavola_entity_set_int32(ret_parts->at[0], TVC_WIDE_COUNT, (int32_t)ret_parts->count);
        err = check_parts(ret_parts, call);
    }
    return err;
}

/* ---- putting together ---- */

/* The number of a part after "key~": one or two digits as we write them; else -1. */
static int part_number(tv_slice text)
{
    if (text.len == 0 || text.len > 2 || (text.len == 2 && text.data[0] == '0'))
        return -1;

    int number = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return -1;
        number = number * 10 + (text.data[i] - '0');
    }
    return number;
}

tavola_err tvc_wide_collect(tvc_wide_parts *parts, const char *row_key, const tavola_entity *entity)
{
    char *begin = tvc_wide_row_key(row_key, "");

    if (begin == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    tv_slice key = tv_slice_of(tavola_entity_row_key(entity));
    tv_slice prefix = tv_slice_of(begin);
    int number = -1;

    if (tv_slice_starts_with(key, prefix))
        number = part_number(tv_slice_skip(key, prefix.len));
    tvc_release(begin);
    if (number < 0 || tvc_entity_find(entity, TV_LIT(TVC_WIDE_PUT)) < 0)
        return TAVOLA_OK;

    tavola_entity *copy = tavola_entity_copy(entity);

    if (copy == NULL)
        return TAVOLA_ERR_NO_MEMORY;
    /* Once only, unless a page was read twice. */
    parts->count += parts->at[number] == NULL;
    tavola_entity_free(parts->at[number]);
    parts->at[number] = copy;
    return TAVOLA_OK;
}

size_t tvc_wide_count(const tavola_entity *first)
{
    int32_t count = 0;

    if (!tavola_entity_get_int32(first, TVC_WIDE_COUNT, &count) || count < 0 ||
        count > TVC_WIDE_PARTS_MAX)
        return 0;
    return (size_t)count;
}

bool tvc_wide_is_whole(const tvc_wide_parts *parts)
{
    size_t count = parts->at[0] ? tvc_wide_count(parts->at[0]) : 0;
    tavola_guid first, other;

    if (count == 0 || count != parts->count ||
        !tavola_entity_get_guid(parts->at[0], TVC_WIDE_PUT, &first))
        return false;

    for (size_t i = 1; i < count; i++) {
        if (parts->at[i] == NULL || !tavola_entity_get_guid(parts->at[i], TVC_WIDE_PUT, &other) ||
            memcmp(&first, &other, sizeof first) != 0)
            return false;
    }
    return true;
}

static void join_part(tavola_entity *wide, const tavola_entity *part)
{
    for (uint32_t i = 0; i < part->count; i++) {
        if (!is_ours(part->properties[i].name))
            set_property(wide, &part->properties[i]);
    }
}

tavola_err tvc_wide_join(const tvc_wide_parts *parts, const char *partition_key,
                         const char *row_key, tavola_entity **ret_wide)
{
    tavola_entity *wide = tavola_entity_new_wide(partition_key, row_key);

    if (wide == NULL)
        return TAVOLA_ERR_NO_MEMORY;

    for (size_t i = 0; i < parts->count; i++)
        join_part(wide, parts->at[i]);
    tavola_entity_set_etag(wide, tavola_entity_etag(parts->at[0]));
    wide->timestamp = parts->at[0]->timestamp;

    tavola_err err = tavola_entity_error(wide);

    if (err)
        tavola_entity_free(wide);
    else
        *ret_wide = wide;
    return err;
}
