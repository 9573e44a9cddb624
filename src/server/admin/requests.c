/* See requests.h. */
#include "server/admin/requests.h"

#include "base/clock.h"
#include "base/log_ring.h"
#include "base/number.h"
#include "server/admin/admin.h"

enum { COUNT_DEFAULT = 500 };

bool tv_admin_has_requests(const tv_admin *admin)
{
    return admin->recent != NULL;
}

/* What is wrong with the parameters; NULL when nothing is. */
static const char *read_query(tv_request *req, tv_recent_query *query)
{
    tv_slice after = TV_NONE, count = TV_NONE;
    uint64_t number = COUNT_DEFAULT;

    *query = (tv_recent_query){.after = 0};
    if (!tv_parameters_get(&req->query, &req->arena, TV_LIT("after"), &after) ||
        !tv_parameters_get(&req->query, &req->arena, TV_LIT("count"), &count))
        return "the query string cannot be read";
    if (after.data && (!tv_parse_uint64(after, &query->after) || query->after == UINT64_MAX))
        return "after is the number of a request";
    if (count.data &&
        (!tv_parse_uint64(count, &number) || number == 0 || number > TV_LOG_RING_LINES))
        return "count is 1 to 2048";
    query->count_max = (size_t)number;
    return NULL;
}

int tv_admin_get_requests(tv_admin *admin, tv_request *req)
{
    tv_recent_query query;
    const char *why = read_query(req, &query);

    if (why)
        return tv_admin_refuse(req, 400, why);

    tv_buf_add_lit(&req->out, "{\"requests\":[");
    tv_recent_read(admin->recent, &query, tv_clock_mono_ns(), &req->out);
    tv_buf_printf(&req->out, "],\"first\":%llu,\"last\":%llu,\"wasOff\":%s}\n",
                  (unsigned long long)query.first, (unsigned long long)query.last,
                  query.was_off ? "true" : "false");
    return 200;
}
