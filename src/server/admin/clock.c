/* See clock.h. */
#include "server/admin/clock.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "server/admin/admin.h"
#include "store/engine/instant.h"

static const int64_t ms_max = INT64_C(366) * 24 * 3600 * 1000;

static bool parse_ms(tv_request *req, int64_t *ret_ms)
{
    int64_t ms = -1;
    tv_json_reader reader;
    tv_json_member member;

    tv_json_reader_init(&reader, &req->arena, req->body);
    while (tv_json_next(&reader, &member)) {
        if (!tv_slice_eq(member.name, TV_LIT("ms")) || !tv_parse_int64(member.text, &ms))
            return false;
    }
    if (reader.failed || ms < 0 || ms > ms_max)
        return false;
    *ret_ms = ms;
    return true;
}

int tv_admin_post_clock(tv_admin *admin, tv_request *req)
{
    int64_t ms, unix_ms;

    if (!parse_ms(req, &ms))
        return tv_admin_refuse(req, 400, "the body is {\"ms\": 1000}");
    if (admin->advisor && tv_watch_is_manual(admin->watch)) {
        tv_advisor_advance(admin->advisor, ms * 1000000);
        unix_ms = tv_watch_now(admin->watch) / 1000000;
    } else {
        tv_clock_raise(tv_clock_steady_ticks() + ms * (TV_TICKS_PER_SECOND / 1000));
        unix_ms = tv_ticks_unix_ms(tv_instant_now());
    }
    tv_buf_printf(&req->out, "{\"unixMs\":%lld}\n", (long long)unix_ms);
    return 200;
}
