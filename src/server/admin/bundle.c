/* See bundle.h. */
#include "server/admin/bundle.h"

#include <sys/utsname.h>

#include <openssl/crypto.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "base/json.h"
#include "server/admin/admin.h"
#include "server/admin/log.h"

/* "OpenSSL 3.0.11 19 Sep 2023" without its date. */
static tv_slice tls_version(void)
{
    tv_slice text = tv_slice_of(OpenSSL_version(OPENSSL_VERSION));
    size_t name = tv_slice_find(text, ' ');
    size_t number = tv_slice_find(tv_slice_skip(text, name < text.len ? name + 1 : name), ' ');

    return tv_slice_take(text, name + 1 + number < text.len ? name + 1 + number : text.len);
}

void tv_admin_add_versions(const tv_engine *engine, tv_buf *out)
{
    struct utsname system;

    tv_buf_add_lit(out, "[\"Tavola " TV_VERSION "\"");
    if (engine->ops->library)
        tv_json_text(out, NULL, tv_slice_of(engine->ops->library));
    tv_json_text(out, NULL, tls_version());
    if (uname(&system) == 0)
        tv_buf_printf(out, ",\"%s %s %s\"", system.sysname, system.release, system.machine);
    tv_buf_add_char(out, ']');
}

static void begin_part(tv_buf *out, const char *name)
{
    tv_buf_printf(out, "\n== %s\n", name);
}

int tv_admin_get_bundle(tv_admin *admin, tv_request *req)
{
    tv_buf *out = &req->out;
    char now[TV_DATETIME_TEXT_MAX];

    tv_buf_printf(out, "Tavola support bundle, %.*s\n",
                  (int)tv_datetime_format(now, tv_clock_ticks()), now);
    begin_part(out, "versions");
    tv_admin_add_versions(admin->engine, out);
    tv_buf_add_char(out, '\n');
    begin_part(out, "settings");
    tv_buf_add(out, admin->settings);
    begin_part(out, "health");
    tv_admin_add_health(admin, out);
    if (admin->balancer) {
        begin_part(out, "cluster");
        tv_balancer_write_status(admin->balancer, out, true);
    }
    begin_part(out, "metrics");
    tv_admin_add_metrics(admin, out, true);
    begin_part(out, "log");
    tv_admin_add_log(out);
    tv_admin_respond_text(req);
    return 0;
}
