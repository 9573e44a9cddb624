#include "server/admin/traffic.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/number.h"
#include "insight/advisor/advisor.h"
#include "insight/facts/facts.h"
#include "insight/traffic/heat.h"
#include "insight/traffic/store.h"
#include "insight/traffic/traffic.h"
#include "server/admin/admin.h"

enum { BUCKETS_DEFAULT = 128 };

/* A view that is read on a scanner's thread; in the request's arena. */
typedef struct reading {
    tv_task task;
    tv_request *req;
    tv_traffic *traffic;
    tv_advisor *advisor; /* or NULL */
    tv_view_query query;
    tv_slice table; /* its name */
    tv_traffic_measure measure;
    bool is_cell, is_heat;
    tv_err err;
} reading;

bool tv_admin_has_traffic(const tv_admin *admin)
{
    return admin->traffic != NULL;
}

/* A number of seconds since 1970, as minutes. */
static bool minute_parameter(tv_request *req, const char *name, uint32_t otherwise,
                             uint32_t *ret_minute)
{
    tv_slice text;
    uint64_t seconds;

    if (!tv_admin_parameter(req, name, TV_LIT(""), &text))
        return false;
    *ret_minute = otherwise;
    if (text.len == 0)
        return true;
    if (!tv_parse_uint64(text, &seconds) || seconds / 60 > UINT32_MAX - 60)
        return false;
    *ret_minute = (uint32_t)(seconds / 60);
    return true;
}

static bool has_parameter(tv_request *req, const char *name)
{
    tv_slice text;

    return tv_admin_parameter(req, name, TV_NONE, &text) && text.data;
}

static bool grain_parameter(tv_request *req, tv_grain *ret_grain)
{
    tv_slice text;

    if (!tv_admin_parameter(req, "grain", TV_LIT("1m"), &text))
        return false;
    *ret_grain = tv_slice_eq(text, TV_LIT("1m"))    ? TV_GRAIN_MINUTE
                 : tv_slice_eq(text, TV_LIT("10m")) ? TV_GRAIN_TEN
                                                    : TV_GRAIN_HOUR;
    return *ret_grain != TV_GRAIN_HOUR || tv_slice_eq(text, TV_LIT("1h"));
}

static bool bound_parameter(tv_request *req, const char *name, tv_slice *ret_bound)
{
    tv_slice text;

    return tv_admin_parameter(req, name, TV_LIT(""), &text) &&
           tv_heat_bound_parse(&req->arena, text, ret_bound) == TV_OK;
}

/* How many rows the keys of a view have; 0 when that is not known, as of a part of the table. */
static uint64_t count_rows(tv_admin *admin, const tv_container *table, const tv_view_query *query)
{
    tv_facts_count count;

    if (admin->facts == NULL || query->low.len || query->high.len)
        return 0;
    count = tv_facts_count_of(admin->facts, table->account, table->id);
    return count.basis == TV_FACTS_UNKNOWN ? 0 : count.entities;
}

/* Which table; false when there is none. */
static bool find_table(tv_admin *admin, tv_request *req, reading *to)
{
    tv_container *table = tv_admin_find_table(admin, req, &to->query.account, &to->table);

    if (table == NULL)
        return false;
    to->query.table_id = table->id;
    to->query.row_count = count_rows(admin, table, &to->query);
    tv_container_unref(table);
    return true;
}

/* What is wrong with the parameters of time, keys and form; NULL when nothing is. */
static const char *read_parameters(tv_request *req, reading *to)
{
    static const uint32_t slots[TV_LAYERS] = {360, 576, 672};
    uint32_t now =
        (uint32_t)((tv_clock_ticks() - TV_TICKS_UNIX_EPOCH) / TV_TICKS_PER_SECOND / 60) + 1;
    tv_view_query *query = &to->query;
    tv_slice measure, buckets, format;
    int32_t count = BUCKETS_DEFAULT;
    uint32_t span, newest = tv_traffic_newest(to->traffic);

    if (newest > now)
        now = newest;
    if (!grain_parameter(req, &query->grain))
        return "grain is 1m, 10m or 1h";
    span = slots[tv_layer_of(query->grain)] * (uint32_t)query->grain;
    if (!minute_parameter(req, "to", now, &query->to) ||
        !minute_parameter(req, "from", query->to > span ? query->to - span : 0, &query->from))
        return "from and to are seconds since 1970";
    query->is_fitted = !has_parameter(req, "from");
    if (!tv_admin_parameter(req, "measure", TV_LIT("reads"), &measure) ||
        !tv_traffic_measure_parse(measure, &to->measure))
        return "measure is reads, writes, deletes, bytes, scanned, conflicts, throttled or inserts";
    if (!tv_admin_parameter(req, "buckets", TV_NONE, &buckets) ||
        (buckets.data && !tv_parse_int32(buckets, &count)) || count < 1 ||
        count > TV_VIEW_BUCKETS_MAX)
        return "buckets is a number from 1 to 1536";
    if (!bound_parameter(req, "low", &query->low) || !bound_parameter(req, "high", &query->high))
        return "low and high are bounds as in \"keys\", their parts joined with %01";
    if (query->high.len && tv_slice_cmp(query->low, query->high) >= 0)
        return "low is below high";
    if (!tv_admin_parameter(req, "format", TV_LIT("json"), &format) ||
        !(tv_slice_eq(format, TV_LIT("json")) || tv_slice_eq(format, TV_LIT("heat"))))
        return "format is json or heat";
    to->is_heat = tv_slice_eq(format, TV_LIT("heat"));
    query->buckets_max = (size_t)count;
    query->measures = 1u << to->measure;
    return NULL;
}

static void write_cell(const tv_view *view, tv_buf *out)
{
    tv_buf_printf(out, "{\"from\":%llu,\"grainS\":%d,\"recorded\":%s,\"approx\":%s",
                  (unsigned long long)view->from * 60, view->grain * 60,
                  tv_view_recorded(view) ? "true" : "false",
                  view->is_approximate ? "true" : "false");
    for (int k = 0; k < TV_MEASURES; k++)
        tv_buf_printf(out, ",\"%s\":%llu", tv_traffic_measure_name((tv_traffic_measure)k),
                      (unsigned long long)(view->slots
                                               ? tv_view_cell(view, (tv_traffic_measure)k, 0, 0)
                                               : 0));
    tv_buf_add_lit(out, "}\n");
}

static void write_view(const reading *r, const tv_view *view, tv_request *req)
{
    tv_heat heat = {.account = r->query.account,
                    .table = r->table,
                    .measure = r->measure,
                    .low = r->query.low,
                    .view = view};

    if (r->advisor)
        heat.findings = tv_advice_active(r->advisor->advice, r->query.account, r->table,
                                         &req->arena, &heat.finding_count);
    if (r->is_heat)
        tv_heat_write_bytes(&heat, &req->arena, &req->out);
    else
        tv_heat_write_json(&heat, &req->arena, &req->out);
}

/* On a scanner's thread, which owns the request meanwhile. */
static bool run(tv_task *task, tv_turn *turn)
{
    reading *r = (reading *)(void *)task;
    tv_view view;

    (void)turn;
    r->err = tv_traffic_read(r->traffic, &r->query, &view);
    if (r->err)
        return true;
    if (r->is_cell)
        write_cell(&view, &r->req->out);
    else
        write_view(r, &view, r->req);
    tv_view_done(&view);
    return true;
}

static void on_read(tv_mail *mail)
{
    reading *r = (reading *)(void *)mail;

    if (r->err)
        tv_admin_respond(r->req, tv_admin_refuse(r->req, 503, "the columns cannot be read now"));
    else if (r->is_heat)
        tv_admin_respond_bytes(r->req);
    else
        tv_admin_respond(r->req, 200);
}

static int get(tv_admin *admin, tv_request *req, bool is_cell)
{
    reading *r = tv_arena_alloc(&req->arena, sizeof *r);
    const char *why;

    *r = (reading){
        .req = req, .traffic = admin->traffic, .advisor = admin->advisor, .is_cell = is_cell};
    why = read_parameters(req, r);
    if (why)
        return tv_admin_refuse(req, 400, why);
    if (!find_table(admin, req, r))
        return tv_admin_refuse(req, 404, "there is no such table in this account");
    if (is_cell) {
        r->query.is_fitted = false;
        r->query.from -= r->query.from % (uint32_t)r->query.grain;
        r->query.to = r->query.from + (uint32_t)r->query.grain;
        r->query.buckets_max = 1;
        r->query.measures = (1u << TV_MEASURES) - 1;
        r->is_heat = false;
    }
    return tv_admin_run_later(admin, req, &r->task, run, on_read);
}

int tv_admin_get_traffic(tv_admin *admin, tv_request *req)
{
    return get(admin, req, false);
}

int tv_admin_get_traffic_cell(tv_admin *admin, tv_request *req)
{
    return get(admin, req, true);
}
