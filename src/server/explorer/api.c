/*
 * The page's own functions:
 *
 *     POST /api/login    {"word": of a link}    the session's words: a cookie, and {"page": ...}
 *     POST /api/logout                          ends the session
 *     GET  /api/hello                           where the services are, which accounts there are
 *     GET  /api/tree?account=                   tables, queues and containers: tree.h
 *     POST /api/sign     {"account":, "text":}  the account's signature of a text: for a SAS
 */
#include "server/explorer/api.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/json.h"
#include "base/log.h"
#include "server/admin/bundle.h"
#include "server/explorer/tree.h"

static const tv_slice json_type = {"application/json", 16};

/* The strings of a flat object by name; false when it is not one, or has others. */
static bool read_strings(tv_request *req, const tv_slice *names, size_t count, tv_slice *ret_values)
{
    tv_json_reader reader;
    tv_json_member member;

    for (size_t i = 0; i < count; i++)
        ret_values[i] = TV_NONE;
    tv_json_reader_init(&reader, &req->arena, req->body);
    while (tv_json_next(&reader, &member)) {
        size_t at = 0;

        while (at < count && !tv_slice_eq(member.name, names[at]))
            at++;
        if (at == count || member.kind != TV_JSON_STRING || ret_values[at].data)
            return false;
        ret_values[at] = member.text;
    }
    for (size_t i = 0; i < count; i++) {
        if (ret_values[i].data == NULL)
            return false;
    }
    return !reader.failed;
}

/* --- sessions --- */

static void add_cookie(const tv_explorer *explorer, tv_request *req, const char *word,
                       const char *age)
{
    tv_buf line = TV_BUF_EMPTY;

    tv_buf_printf(&line, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s", explorer->sessions.cookie,
                  word, age);
    tv_response_header(req, TV_LIT("Set-Cookie"), tv_buf_slice(&line));
    tv_buf_done(&line);
}

/* One line a minute: whoever guesses must not push everything else out of what is kept. */
static void log_failed_login(tv_explorer *explorer, const tv_request *req)
{
    enum { SILENT_S = 60 };
    int64_t now = tv_clock_mono_ns();

    explorer->failed_logins++;
    if (now < explorer->failed_logins_quiet_until_ns)
        return;

    tv_log(TV_LOG_WARN, "explorer_login", "peer=%s problem=\"no such link\" failed=%llu", req->peer,
           (unsigned long long)explorer->failed_logins);
    explorer->failed_logins = 0;
    explorer->failed_logins_quiet_until_ns = now + SILENT_S * INT64_C(1000000000);
}

static void login(tv_explorer *explorer, tv_request *req)
{
    static const tv_slice name = {"word", 4};
    tv_session_texts texts;
    tv_slice word;

    if (!read_strings(req, &name, 1, &word)) {
        tv_explorer_refuse(req, 400, "the body is one object with the word of a link");
        return;
    }
    if (!tv_sessions_login(&explorer->sessions, word, tv_clock_ticks(), &texts)) {
        log_failed_login(explorer, req);
        tv_explorer_refuse(req, 403,
                           "This link has been used, or is too old. Run tavola server url for a "
                           "new one.");
        return;
    }
    tv_log(TV_LOG_INFO, "explorer_login", "peer=%s", req->peer);
    tv_buf_printf(&req->out, "{\"page\":\"%s\"}\n", texts.page);
    tv_response_start(req, 200);
    tv_response_header(req, TV_LIT("Content-Type"), json_type);
    add_cookie(explorer, req, texts.cookie, "; Max-Age=604800");
    tv_response_send(req);
}

static void logout(tv_explorer *explorer, tv_request *req)
{
    tv_sessions_logout(&explorer->sessions, tv_admin_guard_session_words(&explorer->sessions, req));
    tv_response_start(req, 204);
    add_cookie(explorer, req, "", "; Max-Age=0");
    tv_response_send(req);
}

/* --- what there is --- */

static void add_endpoint(tv_buf *out, const char *name, const char *url, const char *account)
{
    tv_json_name(out, name);
    tv_buf_printf(out, "\"%s/%s\"", url, account);
}

static void hello(tv_explorer *explorer, tv_request *req)
{
    const tv_accounts *accounts = atomic_load(&explorer->table->auth.accounts);
    char since[TV_DATETIME_TEXT_MAX];
    tv_buf *out = &req->out;

    tv_buf_printf(out,
                  "{\"api\":1,\"version\":\"%s\",\"engine\":\"%s\",\"startedAt\":\"%.*s\","
                  "\"versions\":",
                  TV_VERSION, explorer->engine,
                  (int)tv_datetime_format(since, explorer->start_ticks), since);
    tv_admin_add_versions(explorer->table->engine, out);
    tv_buf_add_lit(out, ",\"accounts\":[");
    for (size_t i = 0; i < accounts->count; i++) {
        const tv_account *account = &accounts->list[i];

        tv_json_open(out, NULL, '{');
        tv_json_text(out, "name", tv_slice_of(account->name));
        tv_json_bool(out, "isDevelopment", account->is_development);
        tv_json_open(out, "endpoints", '{');
        add_endpoint(out, "blob", explorer->urls[0], account->name);
        add_endpoint(out, "queue", explorer->urls[1], account->name);
        add_endpoint(out, "table", explorer->urls[2], account->name);
        tv_buf_add_lit(out, "}}");
    }
    tv_buf_add_lit(out, "]}\n");
    tv_explorer_respond(req, 200, json_type);
}

/* --- signing --- */

static void sign(tv_explorer *explorer, tv_request *req)
{
    static const tv_slice wanted[] = {{"account", 7}, {"text", 4}};
    unsigned char mac[TV_HMAC_BYTES];
    char text[(TV_HMAC_BYTES + 2) / 3 * 4];
    const tv_account *account;
    tv_slice values[2];

    if (!read_strings(req, wanted, 2, values)) {
        tv_explorer_refuse(req, 400, "the body is one object with account and text");
        return;
    }
    account = tv_accounts_find(atomic_load(&explorer->table->auth.accounts), values[0]);
    if (account == NULL) {
        tv_explorer_refuse(req, 404, "there is no such account");
        return;
    }
    tv_hmac_sign(&account->keys[0], values[1], mac);
    tv_base64_encode(text, (tv_slice){(const char *)mac, sizeof mac});
    tv_buf_printf(&req->out, "{\"signature\":\"%.*s\"}\n", (int)sizeof text, text);
    tv_explorer_respond(req, 200, json_type);
}

void tv_explorer_answer(tv_explorer *explorer, tv_request *req)
{
    static const struct {
        const char *path;
        tv_method method;
        void (*answer)(tv_explorer *explorer, tv_request *req);
    } routes[] = {
        {"/api/login", TV_METHOD_POST, login}, {"/api/logout", TV_METHOD_POST, logout},
        {"/api/hello", TV_METHOD_GET, hello},  {"/api/tree", TV_METHOD_GET, tv_explorer_tree},
        {"/api/sign", TV_METHOD_POST, sign},
    };

    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (!tv_slice_eq(req->path, tv_slice_of(routes[i].path)))
            continue;
        if (req->method == routes[i].method)
            routes[i].answer(explorer, req);
        else
            tv_explorer_refuse(req, 405, "this path is for the other method");
        return;
    }
    tv_explorer_refuse(req, 404, "the page has no such function");
}
