/* The two strings to sign of the table service. */
#include "model/auth/canonical.h"

static char *put_line(char *to, tv_slice text)
{
    to = tv_slice_put(to, text);
    *to++ = '\n';
    return to;
}

static size_t resource_len_max(const tv_signed_parts *parts)
{
    return parts->account.len + parts->path.len + parts->comp.len + 8;
}

/* "/account/path[?comp=value]"; in path style the account is there twice. */
static char *put_resource(char *to, const tv_signed_parts *parts)
{
    *to++ = '/';
    to = tv_slice_put(to, parts->account);
    to = tv_slice_put(to, parts->path.len ? parts->path : TV_LIT("/"));
    if (parts->comp.data) {
        to = tv_slice_put(to, TV_LIT("?comp="));
        to = tv_slice_put(to, parts->comp);
    }
    return to;
}

tv_slice tv_canonical_shared_key(tv_arena *arena, const tv_signed_parts *parts)
{
    size_t len_max = parts->method.len + parts->content_md5.len + parts->content_type.len +
                     parts->date.len + 4 + resource_len_max(parts);
    char *text = tv_arena_bytes(arena, len_max);
    char *to = text;

    to = put_line(to, parts->method);
    to = put_line(to, parts->content_md5);
    to = put_line(to, parts->content_type);
    to = put_line(to, parts->date);
    to = put_resource(to, parts);
    return (tv_slice){text, (size_t)(to - text)};
}

tv_slice tv_canonical_shared_key_lite(tv_arena *arena, const tv_signed_parts *parts)
{
    char *text = tv_arena_bytes(arena, parts->date.len + 1 + resource_len_max(parts));
    char *to = text;

    to = put_line(to, parts->date);
    to = put_resource(to, parts);
    return (tv_slice){text, (size_t)(to - text)};
}
