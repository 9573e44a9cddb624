/* See log.h. */
#include "server/admin/log.h"

#include "base/json.h"
#include "base/log.h"
#include "base/log_ring.h"
#include "base/number.h"

enum { LINES_DEFAULT = 200, TEXT_BYTES_MAX = 256 };

static void add_line(void *ctx, uint64_t number, tv_log_level level, tv_slice line)
{
    tv_json_open(ctx, NULL, '{');
    tv_json_number(ctx, "n", number);
    tv_json_text(ctx, "level", tv_slice_of(tv_log_level_name(level)));
    tv_json_text(ctx, "text", line);
    tv_buf_add_char(ctx, '}');
}

/* What is wrong with the parameters; NULL when nothing is. */
static const char *read_query(tv_request *req, tv_log_query *query)
{
    tv_slice after = TV_NONE, level = TV_NONE, lines = TV_NONE;
    uint64_t count = LINES_DEFAULT;

    *query = (tv_log_query){.level = TV_LOG_DEBUG};
    if (!tv_parameters_get(&req->query, &req->arena, TV_LIT("after"), &after) ||
        !tv_parameters_get(&req->query, &req->arena, TV_LIT("level"), &level) ||
        !tv_parameters_get(&req->query, &req->arena, TV_LIT("lines"), &lines) ||
        !tv_parameters_get(&req->query, &req->arena, TV_LIT("text"), &query->text))
        return "the query string cannot be read";
    if (after.data && !tv_parse_uint64(after, &query->after))
        return "after is the number of a line";
    if (level.data && !tv_log_level_parse(level, &query->level))
        return "level is debug, info, warn or error";
    if (lines.data && (!tv_parse_uint64(lines, &count) || count == 0 || count > TV_LOG_RING_LINES))
        return "lines is 1 to 2048";
    if (query->text.len > TEXT_BYTES_MAX)
        return "text is too long: 256 bytes at most";
    query->lines_max = (size_t)count;
    return NULL;
}

int tv_admin_get_log(tv_admin *admin, tv_request *req)
{
    tv_log_query query;
    const char *why = read_query(req, &query);

    (void)admin;
    if (why)
        return tv_admin_refuse(req, 400, why);

    tv_buf_add_lit(&req->out, "{\"lines\":[");
    tv_log_read(&query, add_line, &req->out);
    tv_buf_printf(&req->out, "],\"first\":%llu,\"last\":%llu,\"cut\":%s}\n",
                  (unsigned long long)query.first, (unsigned long long)query.last,
                  query.is_cut ? "true" : "false");
    return 200;
}

static void add_text(void *ctx, uint64_t number, tv_log_level level, tv_slice line)
{
    (void)number;
    (void)level;
    tv_buf_add(ctx, line);
    tv_buf_add_char(ctx, '\n');
}

void tv_admin_add_log(tv_buf *out)
{
    tv_log_query query = {.lines_max = TV_LOG_RING_LINES};

    tv_log_read(&query, add_text, out);
}
