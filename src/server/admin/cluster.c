/* See cluster.h. */
#include "server/admin/cluster.h"

#include "base/json.h"
#include "base/number.h"
#include "base/point.h"

static int refuse(tv_request *req, int status, const char *why)
{
    tv_buf_printf(&req->out, "%s\n", why);
    return status;
}

int tv_admin_force(tv_balancer *balancer, tv_request *req)
{
    tv_slice op_name = TV_LIT(""), range = TV_LIT(""), key = TV_LIT("");
    tv_json_reader reader;
    tv_json_member member;
    tv_force_op op;
    uint64_t job;

    tv_json_reader_init(&reader, &req->arena, req->body);
    while (tv_json_next(&reader, &member)) {
        tv_slice *to = tv_slice_eq(member.name, TV_LIT("op"))      ? &op_name
                       : tv_slice_eq(member.name, TV_LIT("range")) ? &range
                       : tv_slice_eq(member.name, TV_LIT("key"))   ? &key
                                                                   : NULL;

        if (to == NULL || member.kind != TV_JSON_STRING)
            return refuse(req, 400,
                          "the body is {\"op\": \"split\", \"range\": \"\", \"key\": \"\"}");
        *to = member.text;
    }
    if (reader.failed || !tv_force_op_parse(op_name, &op))
        return refuse(req, 400, "\"op\" is split, merge, move, fence, collect or check");
    if (!tv_balancer_force(balancer, op, range, key, &job))
        return refuse(req, 409, "another change is under way, or a key is too long");
    tv_buf_printf(&req->out, "{\"job\":%llu}\n", (unsigned long long)job);
    return 202;
}

int tv_admin_point(tv_request *req)
{
    tv_slice at = TV_LIT(""), action_name = TV_LIT("");
    int64_t ms = 0, count = 0;
    tv_json_reader reader;
    tv_json_member member;
    tv_point_action action;

    tv_json_reader_init(&reader, &req->arena, req->body);
    while (tv_json_next(&reader, &member)) {
        bool is_good;

        if (tv_slice_eq(member.name, TV_LIT("ms")))
            is_good = tv_parse_int64(member.text, &ms) && ms >= 0;
        else if (tv_slice_eq(member.name, TV_LIT("count")))
            is_good = tv_parse_int64(member.text, &count) && count >= 0;
        else if (tv_slice_eq(member.name, TV_LIT("at")))
            is_good = member.kind == TV_JSON_STRING, at = member.text;
        else if (tv_slice_eq(member.name, TV_LIT("do")))
            is_good = member.kind == TV_JSON_STRING, action_name = member.text;
        else
            is_good = false;
        if (!is_good)
            return refuse(req, 400,
                          "the body is {\"at\": \"split.4\", \"do\": \"exit\", \"ms\": 0, "
                          "\"count\": 1}");
    }
    if (tv_slice_eq(action_name, TV_LIT("clear")) && !reader.failed) {
        tv_point_clear();
    } else if (tv_slice_eq(action_name, TV_LIT("look")) && !reader.failed) {
        ; /* the answer has it */
    } else if (reader.failed || at.len == 0 || !tv_point_action_parse(action_name, &action)) {
        return refuse(req, 400,
                      "\"at\" is a point, \"do\" is exit, pause, fail, count, look or clear");
    } else if (!tv_point_set(at, action, ms, (uint64_t)count)) {
        return refuse(req, 409, "too many points are set");
    }
    tv_buf_printf(&req->out, "{\"met\":%llu}\n", (unsigned long long)tv_point_met(at));
    return 202;
}
