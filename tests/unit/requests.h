/*
 * For tests of operations: a request without a connection.  The account is
 * always "acct", in path style.
 */
#ifndef TV_TESTS_UNIT_REQUESTS_H
#define TV_TESTS_UNIT_REQUESTS_H

#include "services/service/endpoint.h"
#include "wire/http/request.h"

/* `target` is what follows "/acct/", with its query; `headers` are lines ended by LF. */
static inline tv_request request_new(tv_arena *arena, const char *method, const char *target,
                                     const char *headers)
{
    tv_slice url = tv_arena_printf(arena, "/acct/%s", target);
    size_t mark = tv_slice_find(url, '?');
    tv_header *list = tv_arena_zalloc(arena, 16 * sizeof *list);
    tv_slice rest = tv_slice_of(headers), line;
    tv_request request = {
        .method = tv_method_parse(tv_slice_of(method)),
        .method_text = tv_slice_of(method),
        .path = tv_slice_take(url, mark),
        .host = TV_LIT("127.0.0.1:10002"),
        .headers = list,
    };

    tv_assert(tv_parameters_parse(arena, mark < url.len ? tv_slice_skip(url, mark + 1) : TV_NONE,
                                  &request.query));
    while (rest.len && tv_slice_next(&rest, '\n', &line)) {
        size_t colon = tv_slice_find(line, ':');

        if (line.len)
            list[request.header_count++] = (tv_header){
                tv_slice_take(line, colon), tv_slice_trim(tv_slice_skip(line, colon + 1))};
    }
    return request;
}

static inline tv_endpoint request_endpoint(tv_arena *arena, const tv_request *request)
{
    tv_endpoint endpoint = {0};

    tv_assert(tv_endpoint_parse(arena, TV_LIT("table"), false, request->host, request->path,
                                &endpoint) == TV_OK);
    return endpoint;
}

#endif
