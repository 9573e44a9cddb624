/* What services ask of a request. */
#include "wire/http/conn.h"

void tv_request_index_headers(tv_request *req)
{
    uint32_t *keys = tv_arena_alloc(&req->arena, req->header_count * sizeof *keys);

    for (size_t i = 0; i < req->header_count; i++) {
        keys[i] = tv_header_key(req->headers[i].name);
        req->header_set |= UINT64_C(1) << (keys[i] & 63);
    }
    req->header_keys = keys;
}

/* The next header with a name, from place `at` on; header_count when there is none. */
static size_t find_header(const tv_request *req, tv_slice name, uint32_t key, size_t at)
{
    const uint32_t *keys = req->header_keys;
    size_t count = req->header_count;

    for (;; at++) {
        while (keys && at < count && keys[at] != key)
            at++;
        if (at >= count || tv_slice_eq(req->headers[at].name, name) ||
            tv_slice_eq_nocase(req->headers[at].name, name))
            return at;
    }
}

tv_slice tv_request_header_by_key(const tv_request *req, tv_slice name, uint32_t key)
{
    size_t at = find_header(req, name, key, 0);

    return at < req->header_count ? req->headers[at].value : TV_NONE;
}

size_t tv_request_header_repeats(const tv_request *req, tv_slice name)
{
    uint32_t key = tv_header_key(name);
    size_t count = 0;

    for (size_t at = find_header(req, name, key, 0); at < req->header_count;
         at = find_header(req, name, key, at + 1))
        count++;
    return count;
}

void tv_request_hold(tv_request *req)
{
    req->is_held = true;
}

void tv_request_resume(tv_request *req)
{
    tv_conn_take_more(tv_exchange_of(req));
}
