/*
 * What a shared access signature signs: its fields, a line each, in the layout
 * of its version.  The layouts grew by fields and by the name of the service:
 *
 *     2012-02-12  permission, start, expiry, /account/resource, policy, version
 *     2013-08-15  and for blobs the headers that the answer is to have
 *     2015-02-21  /service/account/resource
 *     2015-04-05  address and protocol before the version
 *     2018-11-09  for blobs the kind of resource and the snapshot after it
 *     2020-12-06  for blobs and accounts the encryption scope
 *
 * Tables end with the limits on keys in all of them.  In the oldest layout nothing
 * tells a queue from a container of the same name; that is how the protocol was,
 * and why the prefix came.  sas_check.c takes neither.
 */
#include "model/auth/sas.h"

#include "base/assert.h"
#include "base/service_kind.h"

/* A text as it grows.  Room for all of it is taken at once. */
typedef struct writer {
    char *text, *to, *end;
} writer;

/* The most fields that a layout has, with what separates them. */
enum { FIELDS_MAX = 16, FIXED_MAX = FIELDS_MAX + sizeof "/table//" + 1 };

static void put(writer *w, tv_slice text)
{
    tv_assert(text.len <= (size_t)(w->end - w->to));
    if (text.len)
        memcpy(w->to, text.data, text.len);
    w->to += text.len;
}

static void put_line(writer *w, tv_slice line)
{
    put(w, line);
    put(w, TV_LIT("\n"));
}

static tv_slice done(const writer *w)
{
    return (tv_slice){w->text, (size_t)(w->to - w->text)};
}

/* Room for any of the texts: every field, the names, and what separates them. */
static writer start(tv_arena *arena, const tv_sas *sas, size_t names_len)
{
    const tv_slice *fields = (const tv_slice *)sas;
    size_t len = names_len + FIXED_MAX;

    _Static_assert(sizeof *sas % sizeof *fields == 0, "nothing but fields");
    for (size_t i = 0; i < sizeof *sas / sizeof *fields; i++)
        len += fields[i].len;

    char *text = tv_arena_bytes(arena, len);

    return (writer){text, text, text + len};
}

/* All that service SAS tokens have in common, from the permissions to the version. */
static void put_service(writer *w, const tv_sas *sas, tv_service_kind kind, tv_slice account,
                        tv_slice container, tv_slice blob)
{
    put_line(w, sas->permission);
    put_line(w, sas->start);
    put_line(w, sas->expiry);
    if (tv_sas_is_since(sas, "2015-02-21")) {
        put(w, TV_LIT("/"));
        put(w, tv_service_kind_name(kind));
    }
    put(w, TV_LIT("/"));
    put(w, account);
    put(w, TV_LIT("/"));
    put(w, container);
    if (blob.len) {
        put(w, TV_LIT("/"));
        put(w, blob);
    }
    put(w, TV_LIT("\n"));
    put_line(w, sas->policy_id);
    if (tv_sas_is_since(sas, "2015-04-05")) {
        put_line(w, sas->ip);
        put_line(w, sas->protocol);
    }
    put(w, sas->version);
}

static void put_next(writer *w, tv_slice field)
{
    put(w, TV_LIT("\n"));
    put(w, field);
}

/* Tables are named in lower case, however the URL and the token spell them. */
static tv_slice lower(tv_arena *arena, tv_slice name)
{
    char *bytes = tv_arena_bytes(arena, name.len);

    for (size_t i = 0; i < name.len; i++)
        bytes[i] = tv_ascii_lower(name.data[i]);
    return (tv_slice){bytes, name.len};
}

tv_slice tv_sas_table_text(tv_arena *arena, const tv_sas *sas, tv_slice account)
{
    writer w = start(arena, sas, account.len + sas->table.len);

    put_service(&w, sas, TV_SERVICE_TABLE, account, lower(arena, sas->table), TV_NONE);
    put_next(&w, sas->start_partition);
    put_next(&w, sas->start_row);
    put_next(&w, sas->end_partition);
    put_next(&w, sas->end_row);
    return done(&w);
}

tv_slice tv_sas_queue_text(tv_arena *arena, const tv_sas *sas, tv_slice account, tv_slice queue)
{
    writer w = start(arena, sas, account.len + queue.len);

    put_service(&w, sas, TV_SERVICE_QUEUE, account, queue, TV_NONE);
    return done(&w);
}

tv_slice tv_sas_blob_text(tv_arena *arena, const tv_sas *sas, tv_slice account, tv_slice container,
                          tv_slice blob)
{
    writer w = start(arena, sas, account.len + container.len + blob.len);

    if (tv_slice_eq(sas->resource, TV_LIT("c")))
        blob = TV_NONE;
    put_service(&w, sas, TV_SERVICE_BLOB, account, container, blob);
    if (tv_sas_is_since(sas, "2018-11-09")) {
        put_next(&w, sas->resource);
        put_next(&w, tv_sas_is_snapshot(sas) ? sas->snapshot : TV_LIT(""));
    }
    if (tv_sas_is_since(sas, "2020-12-06"))
        put_next(&w, sas->encryption_scope);
    if (tv_sas_is_since(sas, "2013-08-15")) {
        put_next(&w, sas->cache_control);
        put_next(&w, sas->content_disposition);
        put_next(&w, sas->content_encoding);
        put_next(&w, sas->content_language);
        put_next(&w, sas->content_type);
    }
    return done(&w);
}

tv_slice tv_sas_account_text(tv_arena *arena, const tv_sas *sas, tv_slice account)
{
    writer w = start(arena, sas, account.len);

    put_line(&w, account);
    put_line(&w, sas->permission);
    put_line(&w, sas->services);
    put_line(&w, sas->resource_types);
    put_line(&w, sas->start);
    put_line(&w, sas->expiry);
    put_line(&w, sas->ip);
    put_line(&w, sas->protocol);
    put_line(&w, sas->version);
    if (tv_sas_is_since(sas, "2020-12-06"))
        put_line(&w, sas->encryption_scope);
    return done(&w);
}
