/*
 * Large entities pattern: delete blobs that no entity names.
 *
 * The table is read first, then the blobs are listed.  A blob of which no entity was seen is either
 * left behind, or its entity was written after it was looked for: such a blob is young, unless its
 * put was under way longer than the caller's `older_than`.
 *
 * What is kept of the names in the table is a hash of each: names that collide keep a blob for one
 * more sweep, no harm is done.
 */
#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "client/circle.h"
#include "client/client.h"
#include "client/patterns/large_name.h"

typedef struct named {
    uint64_t *hashes;
    size_t count, size;
} named;

static bool named_add(named *names, const char *text)
{
    if (!tv_try_grow(&names->hashes, names->count, &names->size, 256))
        return false;

    names->hashes[names->count++] = tv_hash(tv_slice_of(text));
    return true;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static bool named_have(const named *names, const char *text)
{
    uint64_t hash = tv_hash(tv_slice_of(text));

    return names->count &&
           bsearch(&hash, names->hashes, names->count, sizeof hash, compare) != NULL;
}

static tavola_err read_table(tavola_table *table, const char *property, tavola_call *call,
                             named *names)
{
    const char *const select[] = {property, NULL};
    tavola_query *query = tavola_query_new(NULL);
    tavola_scan *scan = NULL;
    const tavola_entity *entity = NULL;

    tavola_query_select(query, select);

    tavola_err err = tavola_scan_open(table, query, call, &scan);

    while (err == TAVOLA_OK) {
        err = tavola_scan_next(scan, &entity);

        const char *text = err ? NULL : tvc_entity_text(entity, property);

        if (text && !named_add(names, text))
            err = TAVOLA_ERR_NO_MEMORY;
    }
    tavola_scan_close(scan);
    tavola_query_free(query);
    if (names->count)
        qsort(names->hashes, names->count, sizeof *names->hashes, compare);
    return err == TAVOLA_END ? TAVOLA_OK : err;
}

static tavola_err sweep_blob(tavola_container *container, const tavola_blob_info *blob,
                             const named *names, tavola_call *call, uint64_t *count)
{
    char *begin = tvc_joined(tavola_container_name(container), "/");
    char *text = begin ? tvc_joined(begin, blob->name) : NULL;
    tavola_err err = text ? TAVOLA_OK : TAVOLA_ERR_NO_MEMORY;

    if (err == TAVOLA_OK && !named_have(names, text)) {
        err = tavola_blob_delete_if_present(container, blob->name, call);
        *count += err == TAVOLA_OK;
    }
    tvc_release(text);
    tvc_release(begin);
    return err;
}

static tavola_err sweep_page(tavola_container *container, const tavola_blobs *blobs,
                             const named *names, tavola_ticks older_than, tavola_call *call,
                             uint64_t *count)
{
    for (size_t i = 0; i < tavola_blobs_count(blobs); i++) {
        const tavola_blob_info *blob = tavola_blobs_at(blobs, i);

        if (blob->last_modified == 0 || blob->last_modified >= older_than)
            continue;

        tavola_err err = sweep_blob(container, blob, names, call, count);

        if (err)
            return err;
    }
    return TAVOLA_OK;
}

static tavola_err sweep(tavola_container *container, const char *prefix, const named *names,
                        tavola_ticks older_than, tavola_call *call, uint64_t *count)
{
    tavola_blobs *blobs = NULL;
    tvc_circle circle = {0};
    tavola_err err = tavola_blob_list(container, prefix, NULL, 0, NULL, call, &blobs);

    while (err == TAVOLA_OK) {
        err = sweep_page(container, blobs, names, older_than, call, count);

        const char *token = tavola_blobs_token(blobs);

        if (err || token == NULL)
            break;
        if (tvc_circle_closes(&circle, tv_slice_of(token))) {
            err = tvc_call_refuse(call, TAVOLA_ERR_PROTOCOL, TVC_LEADS_BACK);
            break;
        }

        tavola_blobs *next = NULL;

        err = tavola_blob_list(container, prefix, NULL, 0, token, call, &next);
        tavola_blobs_free(blobs);
        blobs = next;
    }
    tvc_circle_done(&circle);
    tavola_blobs_free(blobs);
    return err;
}

tavola_err tavola_large_sweep(tavola_table *table, const char *property,
                              tavola_container *container, tavola_ticks older_than,
                              tavola_call *call, uint64_t *ret_count)
{
    tavola_err err = tvc_large_check(table, container, property, call);

    if (err)
        return err;

    tavola_call own;
    tavola_call *used = tvc_writing_call_of(call, &own);
    named names = {0};
    uint64_t count = 0;
    char *prefix = tvc_large_prefix(table, property);

    if (prefix == NULL)
        err = TAVOLA_ERR_NO_MEMORY;
    if (err == TAVOLA_OK)
        err = read_table(table, property, used, &names);
    if (err == TAVOLA_OK)
        err = sweep(container, prefix, &names, older_than, used, &count);
    if (err == TAVOLA_OK && ret_count)
        *ret_count = count;
    tvc_release(names.hashes);
    tvc_release(prefix);
    tvc_writing_call_done(call, &own);
    return err;
}
