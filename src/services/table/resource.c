/* Paths to resources. */
#include "services/table/resource.h"

#include "base/uri.h"

/* --- key predicates: PartitionKey='it''s',RowKey='1' --- */

static void skip_blanks(tv_slice *rest)
{
    while (rest->len && rest->data[0] == ' ')
        *rest = tv_slice_skip(*rest, 1);
}

/* A quoted string with doubled quotes, off the front of `rest`. */
static bool take_quoted(tv_arena *arena, tv_slice *rest, tv_slice *ret_text)
{
    char *text = tv_arena_bytes(arena, rest->len);
    size_t len = 0;

    if (rest->len == 0 || rest->data[0] != '\'')
        return false;

    for (size_t i = 1; i < rest->len; i++) {
        char c = rest->data[i];

        if (c == '\'') {
            bool is_doubled = i + 1 < rest->len && rest->data[i + 1] == '\'';

            if (!is_doubled) {
                *rest = tv_slice_skip(*rest, i + 1);
                *ret_text = (tv_slice){text, len};
                return true;
            }
            i++;
        }
        text[len++] = c;
    }
    return false;
}

static tv_err wrong_key_count(tv_arena *arena, tv_slice account, tv_slice table,
                              tv_error_info *reterr_info)
{
    reterr_info->text = tv_arena_printf(arena,
                                        "The number of keys specified in the URI does not match "
                                        "number of key properties for the resource '%.*s.%.*s'.",
                                        TV_FMT(account), TV_FMT(table));
    return TV_ERR_KEY_COUNT;
}

/* The inside of the parentheses, for an entity.  The two keys may come in either order. */
static tv_err parse_entity_keys(tv_arena *arena, tv_slice rest, tv_table_resource *resource)
{
    resource->partition_key = resource->row_key = TV_NONE;
    for (;;) {
        size_t equals = tv_slice_find(rest, '=');
        tv_slice name = tv_slice_trim(tv_slice_take(rest, equals));
        tv_slice *key = NULL;

        if (tv_slice_eq(name, TV_LIT("PartitionKey")))
            key = &resource->partition_key;
        else if (tv_slice_eq(name, TV_LIT("RowKey")))
            key = &resource->row_key;
        else
            return TV_ERR_KEY_COUNT; /* a lone value, t('x'), or a third key */
        if (equals == rest.len || key->data)
            return TV_ERR_QUERY_SYNTAX;

        rest = tv_slice_skip(rest, equals + 1);
        skip_blanks(&rest);
        if (!take_quoted(arena, &rest, key))
            return TV_ERR_QUERY_SYNTAX;
        skip_blanks(&rest);
        if (rest.len == 0)
            break;
        if (rest.data[0] != ',')
            return TV_ERR_QUERY_SYNTAX;
        rest = tv_slice_skip(rest, 1);
    }
    if (resource->partition_key.data == NULL || resource->row_key.data == NULL)
        return TV_ERR_KEY_COUNT;
    return TV_OK;
}

static tv_err parse_table_key(tv_arena *arena, tv_slice inside, tv_table_resource *resource)
{
    static const tv_slice name = {"TableName=", 10};

    if (tv_slice_starts_with(inside, name))
        inside = tv_slice_skip(inside, name.len);
    if (!take_quoted(arena, &inside, &resource->table) || inside.len)
        return TV_ERR_QUERY_SYNTAX;

    resource->where = TV_TABLE_AT_TABLE;
    return TV_OK;
}

/* name(...) with the parentheses at `open`. */
static tv_err parse_with_keys(tv_arena *arena, tv_slice account, tv_slice path, size_t open,
                              tv_table_resource *resource, tv_error_info *reterr_info)
{
    tv_slice name = tv_slice_take(path, open);
    tv_slice inside = tv_slice_skip(path, open + 1);
    bool is_tables = tv_slice_eq(name, TV_LIT("Tables"));
    tv_err err;

    if (inside.len == 0 || inside.data[inside.len - 1] != ')')
        return TV_ERR_QUERY_SYNTAX;

    inside.len--;
    if (is_tables && inside.len)
        return parse_table_key(arena, inside, resource);

    resource->table = is_tables ? TV_NONE : name;
    if (inside.len == 0) {
        resource->where = is_tables ? TV_TABLE_AT_TABLES : TV_TABLE_AT_ENTITIES;
        return TV_OK;
    }

    resource->where = TV_TABLE_AT_ENTITY;
    err = parse_entity_keys(arena, inside, resource);
    if (err == TV_ERR_KEY_COUNT)
        return wrong_key_count(arena, account, name, reterr_info);
    return err;
}

/* Where the first segment ends.  Two slashes do not end it: they make the name invalid. */
static size_t segment_end(tv_slice path)
{
    size_t slash = tv_slice_find(path, '/');

    return slash + 1 < path.len && path.data[slash + 1] == '/' ? path.len : slash;
}

/*
 * What comes after a table's name, when a client's account URL wrongly ends in
 * it.  The cloud service takes "table/Tables" for the table itself, and any
 * keys that follow for keys of that; "table/table" is the table as well.
 */
static tv_err parse_nested(tv_arena *arena, tv_slice account, tv_slice nested,
                           tv_table_resource *resource, tv_error_info *reterr_info)
{
    size_t open = tv_slice_find(nested, '(');
    tv_slice name = tv_slice_take(nested, open);

    if (tv_slice_eq(nested, TV_LIT("$batch")))
        return TV_ERR_MEDIA_TYPE;

    bool is_tables = tv_slice_eq(name, TV_LIT("Tables"));

    if (!is_tables && !tv_slice_eq_nocase(name, resource->table))
        return TV_ERR_INVALID_URI;
    if (open == nested.len)
        return TV_OK;
    if (is_tables)
        return wrong_key_count(arena, account, resource->table, reterr_info);
    return parse_with_keys(arena, account, nested, open, resource, reterr_info);
}

tv_err tv_table_resource_parse(tv_arena *arena, tv_slice account, tv_slice rest,
                               tv_table_resource *ret_resource, tv_error_info *reterr_info)
{
    tv_table_resource resource = {0};
    tv_slice path;
    tv_err err = TV_OK;

    if (!tv_uri_decode_path(arena, rest, &path))
        return TV_ERR_URL_UNPARSABLE;
    /* A slash at the end changes nothing. */
    if (path.len > 1 && path.data[path.len - 1] == '/' && path.data[path.len - 2] != '/')
        path.len--;

    size_t open = tv_slice_find(path, '(');
    size_t slash = segment_end(path);

    if (path.len == 0) {
        resource.where = TV_TABLE_AT_SERVICE;
    } else if (tv_slice_eq(path, TV_LIT("$batch"))) {
        resource.where = TV_TABLE_AT_BATCH;
    } else if (tv_slice_eq(path, TV_LIT("Tables"))) {
        resource.where = TV_TABLE_AT_TABLES;
    } else if (open < slash) {
        err = parse_with_keys(arena, account, path, open, &resource, reterr_info);
    } else {
        resource.where = TV_TABLE_AT_ENTITIES;
        resource.table = tv_slice_take(path, slash);
        if (slash < path.len)
            err = parse_nested(arena, account, tv_slice_skip(path, slash + 1), &resource,
                               reterr_info);
    }
    if (err == TV_OK || err == TV_ERR_KEY_COUNT)
        *ret_resource = resource;
    return err;
}
