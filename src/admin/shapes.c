/* See shapes.h. */
#include "admin/shapes.h"

#include "admin/admin.h"
#include "base/json.h"
#include "base/number.h"

bool tv_admin_has_watch(const tv_admin *admin)
{
    return admin->watch != NULL;
}

int tv_admin_get_shapes(tv_admin *admin, tv_request *req)
{
    tv_watch_list asked;

    if (!tv_parameters_get(&req->query, &req->arena, TV_LIT("account"), &asked.account) ||
        !tv_parameters_get(&req->query, &req->arena, TV_LIT("table"), &asked.table) ||
        !tv_parameters_get(&req->query, &req->arena, TV_LIT("since"), &asked.since))
        return tv_admin_refuse(req, 400, "the query string cannot be read");
    if (!tv_watch_list_shapes(admin->watch, &asked, &req->out))
        return tv_admin_refuse(req, 404,
                               "there is no such mark: eight are kept, and none over a restart");
    return 200;
}

bool tv_admin_has_manual_clock(const tv_admin *admin)
{
    return admin->watch && tv_watch_is_manual(admin->watch);
}

int tv_admin_post_clock(tv_admin *admin, tv_request *req)
{
    const int64_t ms_max = INT64_C(366) * 24 * 3600 * 1000;
    int64_t ms = -1;
    tv_json_reader reader;
    tv_json_member member;

    tv_json_reader_init(&reader, &req->arena, req->body);
    while (tv_json_next(&reader, &member)) {
        if (!tv_slice_eq(member.name, TV_LIT("ms")) || !tv_parse_int64(member.text, &ms) ||
            ms < 0 || ms > ms_max)
            return tv_admin_refuse(req, 400, "the body is {\"ms\": 1000}");
    }
    if (reader.failed || ms < 0)
        return tv_admin_refuse(req, 400, "the body is {\"ms\": 1000}");
    tv_watch_advance(admin->watch, ms * 1000000);
    tv_buf_printf(&req->out, "{\"unixMs\":%lld}\n",
                  (long long)(tv_watch_now(admin->watch) / 1000000));
    return 200;
}
