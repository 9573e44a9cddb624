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

tv_slice tv_request_header(const tv_request *req, tv_slice name)
{
    for (size_t i = 0; i < req->header_count; i++) {
        if (tv_slice_eq_nocase(req->headers[i].name, name))
            return req->headers[i].value;
    }
    return TV_NONE;
}

size_t tv_request_header_repeats(const tv_request *req, tv_slice name)
{
    size_t count = 0;

    for (size_t i = 0; i < req->header_count; i++)
        count += tv_slice_eq_nocase(req->headers[i].name, name);
    return count;
}

void tv_request_resume(tv_request *req)
{
    tv_conn_take_more(tv_exchange_of(req));
}
