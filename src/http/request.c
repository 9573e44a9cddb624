/* What services ask of a request. */
#include "http/conn.h"

static const tv_slice method_texts[] = {
    [TV_METHOD_GET] = {"GET", 3},         [TV_METHOD_HEAD] = {"HEAD", 4},
    [TV_METHOD_POST] = {"POST", 4},       [TV_METHOD_PUT] = {"PUT", 3},
    [TV_METHOD_PATCH] = {"PATCH", 5},     [TV_METHOD_MERGE] = {"MERGE", 5},
    [TV_METHOD_DELETE] = {"DELETE", 6},   [TV_METHOD_OPTIONS] = {"OPTIONS", 7},
    [TV_METHOD_OTHER] = {"(unknown)", 9},
};

tv_method tv_method_parse(tv_slice text)
{
    for (int i = TV_METHOD_GET; i < TV_METHOD_OTHER; i++) {
        if (tv_slice_eq(text, method_texts[i]))
            return (tv_method)i;
    }
    return TV_METHOD_OTHER;
}

tv_slice tv_method_text(tv_method method)
{
    tv_assert(method <= TV_METHOD_OTHER);
    return method_texts[method];
}

/* Eight bytes of a name; its letters in one case, other bytes changed alike in all names. */
static uint64_t load_folded(const char *from)
{
    uint64_t word;

    memcpy(&word, from, sizeof word);
    return word | 0x2020202020202020;
}

/*
 * A number that names in any case share, and different names hardly ever: made
 * of the length and both ends of a name, where those of the services differ.
 */
static uint32_t name_key(tv_slice name)
{
    uint64_t key = name.len;

    if (name.len >= 8) {
        key += load_folded(name.data) * 0x9e3779b97f4a7c15;
        key ^= load_folded(name.data + name.len - 8) * 0xc2b2ae3d27d4eb4f;
    } else {
        for (size_t i = 0; i < name.len; i++)
            key = (key << 8 | key >> 56) ^ (unsigned char)(name.data[i] | 0x20);
        key *= 0x9e3779b97f4a7c15;
    }
    return (uint32_t)(key >> 32);
}

void tv_request_index_headers(tv_request *req)
{
    uint32_t *keys = tv_arena_alloc(&req->arena, req->header_count * sizeof *keys);

    for (size_t i = 0; i < req->header_count; i++)
        keys[i] = name_key(req->headers[i].name);
    req->header_keys = keys;
}

/* The next header with a name, from place `at` on; header_count when there is none. */
static size_t find_header(const tv_request *req, tv_slice name, uint32_t key, size_t at)
{
    for (; at < req->header_count; at++) {
        if ((req->header_keys == NULL || req->header_keys[at] == key) &&
            tv_slice_eq_nocase(req->headers[at].name, name))
            break;
    }
    return at;
}

tv_slice tv_request_header(const tv_request *req, tv_slice name)
{
    size_t at = find_header(req, name, name_key(name), 0);

    return at < req->header_count ? req->headers[at].value : TV_NONE;
}

size_t tv_request_header_repeats(const tv_request *req, tv_slice name)
{
    uint32_t key = name_key(name);
    size_t count = 0;

    for (size_t at = find_header(req, name, key, 0); at < req->header_count;
         at = find_header(req, name, key, at + 1))
        count++;
    return count;
}

void tv_request_resume(tv_request *req)
{
    tv_conn_take_more(tv_exchange_of(req));
}
