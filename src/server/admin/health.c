/* Reasons, gathered from the engine and the services. */
#include "server/admin/health.h"

#include "base/json.h"

/* Where reasons are written to. */
typedef struct report {
    tv_buf *out;
    const char *bad; /* the word for a server that has one */
    bool is_json;
    size_t count;
} report;

static void add_reason(report *r, const char *part, tv_slice text)
{
    if (r->is_json) {
        tv_json_open(r->out, NULL, '{');
        tv_json_text(r->out, "part", tv_slice_of(part));
        tv_json_text(r->out, "text", text);
        tv_buf_add_char(r->out, '}');
    } else {
        tv_buf_printf(r->out, "%s: %.*s\n", r->bad, TV_FMT(text));
    }
    r->count++;
}

const char *tv_admin_meaning_of(const tv_engine *engine, tv_err err)
{
    switch (err) {
    case TV_ERR_DISK_FULL:
        return engine->ops->is_shared
                   ? "the pool is nearly full; writes are refused, reads and deletes go on"
                   : "the disk is nearly full; writes are refused, reads and deletes go on";
    case TV_ERR_IO:
        return "a write has failed; writes are refused until a restart, see write_failed in the "
               "log";
    case TV_ERR_CORRUPT:
        return "stored data cannot be read, see read_failed in the log";
    case TV_ERR_OVERLOADED:
        return "an operation on the pool has been under way for more than 10 s; what needs the "
               "same part of it waits, all else goes on";
    case TV_ERR_TIMED_OUT:
        return "the pool has answered nothing for 10 s";
    default:
        return "see the log";
    }
}

static void add_engine(report *r, const tv_engine *engine, tv_err err)
{
    char text[300];

    if (err == TV_OK)
        return;

    snprintf(text, sizeof text, "the %s engine says %s: %s", engine->ops->name, tv_err_name(err),
             tv_admin_meaning_of(engine, err));
    add_reason(r, "engine", tv_slice_of(text));
}

static void add_source(report *r, const tv_admin_source *source)
{
    tv_buf text = TV_BUF_EMPTY;

    if (!source->check(source->ctx, &text))
        add_reason(r, source->name, tv_buf_slice(&text));
    tv_buf_done(&text);
}

/* Of the services; `only_ready`: those whose word keeps clients away. */
static void add_sources(report *r, const tv_admin *admin, bool only_ready)
{
    for (size_t i = 0; i < TV_ADMIN_SOURCES_MAX && admin->sources[i].write; i++) {
        const tv_admin_source *source = &admin->sources[i];

        if (source->check && (source->is_for_ready || !only_ready))
            add_source(r, source);
    }
}

static void add_health(report *r, const tv_admin *admin)
{
    add_engine(r, admin->engine, tv_engine_check(admin->engine));
    add_sources(r, admin, false);
}

bool tv_admin_add_health(tv_admin *admin, tv_buf *out)
{
    report r = {.out = out, .bad = "unhealthy"};

    add_health(&r, admin);
    if (r.count == 0)
        tv_buf_add_lit(out, "ok\n");
    return r.count == 0;
}

static void begin(report *r, tv_request *req, const char *bad)
{
    *r = (report){
        .out = &req->out, .bad = bad, .is_json = tv_admin_accepts(req, TV_LIT("application/json"))};
    if (r->is_json)
        tv_buf_add_lit(r->out, "{\"reasons\":[");
}

static void end(const report *r, tv_request *req)
{
    if (r->is_json)
        tv_buf_printf(r->out, "],\"status\":\"%s\"}\n", r->count ? r->bad : "ok");
    else if (r->count == 0)
        tv_buf_add_lit(r->out, "ok\n");
    tv_admin_respond_as(req, r->count ? 503 : 200, r->is_json);
}

void tv_admin_get_health(tv_admin *admin, tv_request *req)
{
    report r;

    begin(&r, req, "unhealthy");
    add_health(&r, admin);
    end(&r, req);
}

void tv_admin_get_ready(tv_admin *admin, tv_request *req)
{
    report r;

    begin(&r, req, "not ready");
    add_engine(&r, admin->engine, tv_engine_check_reads(admin->engine));
    add_sources(&r, admin, true);
    end(&r, req);
}
