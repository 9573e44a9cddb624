/* See advice.h. */
#include "server/admin/advice.h"

#include "base/clock.h"
#include "base/datetime.h"
#include "base/json.h"
#include "base/number.h"
#include "server/admin/admin.h"

bool tv_admin_has_advice(const tv_admin *admin)
{
    return admin->advisor != NULL;
}

/* ---- GET ------------------------------------------------------------------------------------- */

static bool read_limit(tv_slice text, size_t *ret_limit)
{
    uint64_t limit;

    if (!tv_parse_uint64(text, &limit))
        return false;
    *ret_limit = limit;
    return true;
}

static bool is_state(tv_slice text)
{
    return tv_slice_eq(text, TV_LIT("active")) || tv_slice_eq(text, TV_LIT("quiet")) ||
           tv_slice_eq(text, TV_LIT("resolved")) || tv_slice_eq(text, TV_LIT("ignored"));
}

static bool is_rule(tv_slice text)
{
    tv_rule rule;

    return tv_rule_parse(text, &rule) ||
           (text.len == 1 && memchr("QPWDKC", text.data[0], 6) != NULL);
}

/*
 * What GET /advice asks for, with the thresholds that it sets for a run; or a mark.  Evidence of a
 * run has what is known of the data of tables, for which entities may have to be read, a list may
 * be long, and a mark looks at all tables: so it is answered on a scanner's thread.  In the
 * request's arena.
 */
typedef struct asked {
    tv_task task;
    tv_request *req;
    tv_advisor *advisor;
    tv_advice_query query;
    tv_slice since; /* a mark: judge everything after it */
    tv_params params;
    bool has_params;
    bool is_mark;
    bool is_known; /* result: whether there is a mark as the query says */
} asked;

/* "rule.name=number,rule.name=number" */
static const char *take_thresholds(asked *a, tv_slice list)
{
    tv_slice one;

    a->has_params = true;
    while (tv_slice_next(&list, ',', &one)) {
        size_t equals = tv_slice_find(one, '=');
        double number;

        if (equals == one.len || !tv_parse_double(tv_slice_skip(one, equals + 1), &number))
            return "thresholds are rule.name=number, with commas between";
        switch (tv_params_set(&a->params, tv_slice_take(one, equals), number)) {
        case TV_PARAMS_SET:
            break;
        case TV_PARAMS_NO_SUCH:
            return "there is no such threshold; see docs/advice.md";
        case TV_PARAMS_FIXED:
            return "the recorder counts by this threshold: it cannot be set";
        case TV_PARAMS_NOT_A_NUMBER:
            return "a threshold is a number that is not negative";
        }
    }
    return NULL;
}

/* What is wrong with a parameter, or NULL. */
static const char *take_parameter(asked *a, tv_slice name, tv_slice value)
{
    tv_advice_query *query = &a->query;

    if (tv_slice_eq(name, TV_LIT("account"))) {
        query->account = value;
    } else if (tv_slice_eq(name, TV_LIT("table"))) {
        query->table = value;
    } else if (tv_slice_eq(name, TV_LIT("since"))) {
        a->since = value;
    } else if (tv_slice_eq(name, TV_LIT("rule"))) {
        query->rule = value;
        return is_rule(value) ? NULL : "there is no such rule; see docs/advice.md";
    } else if (tv_slice_eq(name, TV_LIT("state"))) {
        query->state = value;
        return is_state(value) ? NULL : "a state is active, quiet, resolved or ignored";
    } else if (tv_slice_eq(name, TV_LIT("limit"))) {
        return read_limit(value, &query->limit) ? NULL : "limit is a number";
    } else if (tv_slice_eq(name, TV_LIT("redact"))) {
        query->is_redacted = tv_slice_eq(value, TV_LIT("1"));
        return query->is_redacted || tv_slice_eq(value, TV_LIT("0")) ? NULL : "redact is 0 or 1";
    } else if (tv_slice_eq(name, TV_LIT("thresholds"))) {
        return take_thresholds(a, value);
    } else {
        return "the parameters are account, table, rule, state, since, limit, redact and "
               "thresholds";
    }
    return NULL;
}

/* On a scanner's thread, which owns the request meanwhile. */
static bool run(tv_task *task, tv_turn *turn)
{
    asked *a = (asked *)(void *)task;
    char mark[TV_WATCH_MARK_SIZE];

    (void)turn;
    a->is_known = true;
    if (a->is_mark) {
        tv_watch_mark(a->advisor->watch, mark);
        tv_buf_printf(&a->req->out, "{\"mark\":\"%s\"}\n", mark);
    } else if (a->since.len) {
        a->is_known =
            tv_advisor_judge_run(a->advisor, a->since, &a->params, &a->query, &a->req->out);
    } else {
        tv_advice_write(a->advisor->advice, &a->query, &a->req->out);
    }
    return true;
}

static void on_answered(tv_mail *mail)
{
    static const char no_mark[] = "there is no such mark: eight are kept, and none over a restart";
    asked *a = (asked *)(void *)mail;

    tv_admin_respond(a->req, !a->is_known ? tv_admin_refuse(a->req, 404, no_mark)
                             : a->is_mark ? 201
                                          : 200);
}

int tv_admin_get_advice(tv_admin *admin, tv_request *req)
{
    asked *a = tv_arena_alloc(&req->arena, sizeof *a);

    *a = (asked){.req = req,
                 .advisor = admin->advisor,
                 .query = {.limit = SIZE_MAX},
                 .params = tv_params_default(TV_EVIDENCE_RUN)};
    for (size_t i = 0; i < req->query.count; i++) {
        const char *why;
        tv_slice value;

        if (!tv_parameters_get(&req->query, &req->arena, req->query.items[i].name, &value))
            return tv_admin_refuse(req, 400, "a parameter cannot be decoded");
        why = take_parameter(a, req->query.items[i].name, value);
        if (why)
            return tv_admin_refuse(req, 400, why);
    }
    if (a->has_params && a->since.len == 0)
        return tv_admin_refuse(req, 400, "thresholds are of a run: they need since");
    return tv_admin_run_later(admin, req, &a->task, run, on_answered);
}

/* ---- POST ------------------------------------------------------------------------------------ */

int tv_admin_post_mark(tv_admin *admin, tv_request *req)
{
    asked *a = tv_arena_alloc(&req->arena, sizeof *a);

    *a = (asked){.req = req, .advisor = admin->advisor, .is_mark = true};
    return tv_admin_run_later(admin, req, &a->task, run, on_answered);
}

int tv_admin_post_ignore(tv_admin *admin, tv_request *req)
{
    static const char form[] = "the body is {\"id\": \"rule@account/Table/...\", \"until\": "
                               "\"2027-01-31T00:00:00Z\"}; without \"until\" it is for good, and "
                               "with a time that has passed it is shown again";
    tv_slice id = TV_NONE, until_text = TV_NONE;
    int64_t until = INT64_MAX;
    tv_json_reader reader;
    tv_json_member member;

    tv_json_reader_init(&reader, &req->arena, req->body);
    while (tv_json_next(&reader, &member)) {
        tv_slice *to = tv_slice_eq(member.name, TV_LIT("id"))      ? &id
                       : tv_slice_eq(member.name, TV_LIT("until")) ? &until_text
                                                                   : NULL;

        if (to == NULL || to->data || member.kind != TV_JSON_STRING)
            return tv_admin_refuse(req, 400, form);
        *to = member.text;
    }
    if (reader.failed || id.len == 0 || (until_text.data && !tv_datetime_parse(until_text, &until)))
        return tv_admin_refuse(req, 400, form);
    if (until <= tv_clock_ticks())
        until = 0;
    if (!tv_advice_ignore(admin->advisor->advice, id, until))
        return tv_admin_refuse(req, 404, "there is no such finding");
    tv_buf_printf(&req->out, "{\"ignored\":%s}\n", until ? "true" : "false");
    return 202;
}
