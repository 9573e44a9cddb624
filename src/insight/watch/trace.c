/* Writing traces: see trace.h. */
#include "insight/watch/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/background.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/json.h"
#include "base/random.h"
#include "base/utf8.h"
#include "insight/advice/language.h"
#include "insight/facts/class.h"
#include "model/auth/hmac.h"
#include "model/odata/plan.h"
#include "store/engine/key.h"

enum {
    MEMORY = 8 << 20,
    WAKE_BYTES = 256 << 10, /* written at once; else after a moment */
    MOMENT_MS = 100,
    SHAPES_KNOWN_MAX = 8192, /* a power of two; shapes beyond half of them are written every time */
};

struct tv_watch_trace {
    tv_watch_trace_options options;
    tv_hmac_key key;
    int fd;
    int64_t started_ns; /* by tv_clock_mono_ns */
    tv_background thread;
    /* With the thread's lock. */
    tv_buf pending;
    uint64_t lost; /* since the last line that found room */
    bool is_broken;
    uint64_t *shapes; /* fingerprints whose text was written: a hash table */
    size_t shape_count;
};

bool tv_watch_trace_values_parse(const char *text, tv_watch_trace_values *ret_values)
{
    static const char *const names[] = {"shape", "hash", "full"};

    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret_values = (tv_watch_trace_values)i;
            return true;
        }
    }
    return false;
}

/* --- texts --- */

static void add_hash(const tv_watch_trace *trace, tv_buf *out, tv_slice text)
{
    unsigned char mac[TV_HMAC_BYTES];

    tv_hmac_sign(&trace->key, text, mac);
    for (int i = 0; i < 6; i++)
        tv_buf_printf(out, "%02x", mac[i]);
}

/* A string; what is not text is left out. */
static void add_text(tv_buf *out, const char *name, tv_slice text)
{
    if (text.len && tv_utf8_is_valid(text))
        tv_json_text(out, name, text);
}

static void add_number(tv_buf *out, const char *name, uint64_t number)
{
    if (number)
        tv_json_number(out, name, number);
}

static void add_hex(tv_buf *out, const char *name, uint64_t number)
{
    if (number)
        tv_buf_printf(out, ",\"%s\":\"%016" PRIx64 "\"", name, number);
}

/* The name of a property, a table or an account, or what stands for it. */
static tv_slice shown_name(const tv_watch_trace *trace, tv_arena *arena, tv_slice name)
{
    tv_buf hash = TV_BUF_EMPTY;
    tv_slice shown;

    if (!trace->options.hides_names || name.len == 0 || tv_slice_eq(name, TV_LIT("PartitionKey")) ||
        tv_slice_eq(name, TV_LIT("RowKey")) || tv_slice_eq(name, TV_LIT("Timestamp")))
        return name;
    tv_buf_add_char(&hash, 'n');
    add_hash(trace, &hash, name);
    shown = tv_arena_dup(arena, tv_buf_slice(&hash));
    tv_buf_done(&hash);
    return shown;
}

/* --- queries --- */

static tv_slice literal_text(tv_arena *arena, const tv_property *literal)
{
    char room[TV_DATETIME_TEXT_MAX + TV_GUID_TEXT_LEN];
    size_t len = 0;

    switch (literal->type) {
    case TV_EDM_STRING:
    case TV_EDM_BINARY:
        return literal->bytes;
    case TV_EDM_BOOLEAN:
        return literal->boolean ? TV_LIT("true") : TV_LIT("false");
    case TV_EDM_INT32:
        len = (size_t)snprintf(room, sizeof room, "%" PRId32, literal->int32);
        break;
    case TV_EDM_INT64:
        len = (size_t)snprintf(room, sizeof room, "%" PRId64, literal->int64);
        break;
    case TV_EDM_DOUBLE:
        len = (size_t)snprintf(room, sizeof room, "%.17g", literal->real);
        break;
    case TV_EDM_DATETIME:
        len = tv_datetime_format(room, literal->ticks);
        break;
    case TV_EDM_GUID:
        tv_guid_format(room, &literal->guid);
        len = TV_GUID_TEXT_LEN;
        break;
    default:
        break;
    }
    return tv_arena_dup(arena, (tv_slice){room, len});
}

static char type_letter(tv_edm_type type)
{
    static const char letters[] = {
        [TV_EDM_STRING] = 's', [TV_EDM_BOOLEAN] = 'b',  [TV_EDM_INT32] = 'i', [TV_EDM_INT64] = 'l',
        [TV_EDM_DOUBLE] = 'd', [TV_EDM_DATETIME] = 't', [TV_EDM_GUID] = 'g',  [TV_EDM_BINARY] = 'x',
    };

    return letters[type];
}

static void add_literal(const tv_watch_trace *trace, tv_arena *arena, tv_buf *out,
                        const tv_property *literal)
{
    tv_slice text = literal_text(arena, literal);

    tv_json_open(out, NULL, '{');
    tv_buf_printf(out, "\"t\":\"%c\"", type_letter(literal->type));
    if (trace->options.values == TV_WATCH_TRACE_HASH) {
        tv_buf_printf(out, ",\"n\":%zu,\"h\":\"", text.len);
        add_hash(trace, out, text);
        tv_buf_add_lit(out, "\"}");
        return;
    }
    tv_json_name(out, "v");
    if (literal->type == TV_EDM_BINARY) {
        tv_buf_add_char(out, '"');
        for (size_t i = 0; i < text.len; i++)
            tv_buf_printf(out, "%02x", (unsigned char)text.data[i]);
        tv_buf_add_char(out, '"');
    } else {
        tv_json_add_string(out, text);
    }
    tv_buf_add_char(out, '}');
}

static void add_values(const tv_watch_trace *trace, tv_arena *arena, tv_buf *out,
                       const tv_filter *filter)
{
    const tv_property *const *literals;
    size_t count;

    if (trace->options.values == TV_WATCH_TRACE_SHAPE)
        return;
    count = tv_shape_literals(arena, filter, &literals);
    tv_json_open(out, "v", '[');
    for (size_t i = 0; i < count; i++)
        add_literal(trace, arena, out, literals[i]);
    tv_buf_add_char(out, ']');
}

/* The shape with the names that the trace shows. */
static tv_shape shape_of(const tv_watch_trace *trace, tv_arena *arena, const tv_watch_query *query)
{
    tv_filter *shown = tv_arena_alloc(arena, sizeof *shown);

    *shown = *query->filter;
    for (int i = 0; i < shown->names.count; i++)
        shown->names.list[i] = shown_name(trace, arena, shown->names.list[i]);
    return tv_shape_make(arena, shown, query->select.data != NULL, query->has_top);
}

/* The names of $select. */
static void add_select(const tv_watch_trace *trace, tv_arena *arena, tv_buf *out, tv_slice list)
{
    tv_buf names = TV_BUF_EMPTY;
    tv_slice name;
    bool is_first = true;

    if (list.data == NULL)
        return;
    while (tv_slice_next(&list, ',', &name)) {
        tv_buf_add(&names, is_first ? TV_LIT("") : TV_LIT(","));
        tv_buf_add(&names, shown_name(trace, arena, tv_slice_trim(name)));
        is_first = false;
    }
    tv_json_text(out, "sel",
                 names.len && tv_utf8_is_valid(tv_buf_slice(&names)) ? tv_buf_slice(&names)
                                                                     : TV_LIT(""));
    tv_buf_done(&names);
}

/* A key's text, as far as the trace shows it. */
static void add_key_text(const tv_watch_trace *trace, tv_arena *arena, tv_buf *out,
                         const char *name, tv_slice stored)
{
    tv_slice text;

    if (trace->options.values == TV_WATCH_TRACE_SHAPE ||
        tv_key_decode_text(arena, stored, &text) != TV_OK)
        return;
    if (trace->options.values == TV_WATCH_TRACE_FULL) {
        tv_json_text(out, name, text);
        return;
    }
    tv_json_name(out, name);
    tv_buf_add_lit(out, "\"h:");
    add_hash(trace, out, text);
    tv_buf_add_char(out, '"');
}

static tv_slice row_of(tv_slice key)
{
    size_t mark = tv_slice_find(key, TV_KEY_MARK);

    return tv_slice_skip(key, mark < key.len ? mark + 1 : mark);
}

/* How far two RowKeys begin alike, in bytes. */
static unsigned prefix_of(tv_slice a, tv_slice b)
{
    tv_slice first = row_of(a), last = row_of(b);
    size_t len = 0;

    while (len < first.len && len < last.len && first.data[len] == last.data[len])
        len++;
    return (unsigned)len;
}

/* What the recorder wants to know beside the fields that are for everybody. */
static void add_details(const tv_watch_trace *trace, tv_arena *arena, tv_buf *out,
                        const tv_watch_query *query, const tv_shape *shape)
{
    tv_buf_printf(out, ",\"q\":{\"fl\":%" PRIu32, shape->flags);
    add_number(out, "li", shape->list_len);
    add_number(out, "cm", shape->comparisons);
    add_number(out, "res", query->has_residual);
    add_number(out, "pre", query->is_prefix_range);
    add_number(out, "sk", query->selects_keys);
    add_number(out, "fi", query->first);
    add_number(out, "la", query->last);
    add_hex(out, "ti", query->token_in);
    add_hex(out, "to", query->token_out);
    if (query->first_key.len && query->returned >= 2)
        tv_buf_printf(out, ",\"rp\":%u,\"lp\":%u", prefix_of(query->first_key, query->last_key),
                      prefix_of(query->first_looked, query->last_looked));
    if (query->partition.data)
        add_key_text(trace, arena, out, "pk", query->partition);
    tv_buf_add_char(out, '}');
}

static void add_query(const tv_watch_trace *trace, tv_arena *arena, tv_buf *out,
                      const tv_watch_query *query, const tv_shape *shape)
{
    add_hex(out, "fp", shape->fingerprint);
    add_select(trace, arena, out, query->select);
    if (query->has_top)
        tv_buf_printf(out, ",\"top\":%" PRIu32, query->top);
    tv_buf_printf(out, ",\"cont\":%d", query->token_in ? 1 : 0);
    add_values(trace, arena, out, query->filter);
    tv_buf_printf(out, ",\"p\":\"%s\",\"rg\":%" PRIu32 ",\"ex\":%" PRIu64 ",\"re\":%" PRIu64,
                  tv_plan_kind_name((tv_plan_kind)query->plan), query->range_count, query->examined,
                  query->returned);
    tv_buf_printf(out, ",\"end\":\"%s\"", tv_page_end_name((tv_page_end)query->end));
    add_details(trace, arena, out, query, shape);
}

/* --- keys --- */

static void add_class(tv_arena *arena, tv_buf *out, tv_slice stored_row)
{
    tv_slice text;

    if (tv_key_decode_text(arena, stored_row, &text) == TV_OK)
        add_text(out, "kc", tv_class_of(arena, text));
}

static void add_key(const tv_watch_trace *trace, tv_arena *arena, tv_buf *out,
                    const tv_watch_key *key, bool is_of_batch)
{
    tv_slice partition = tv_slice_take(key->key, key->partition_len);
    tv_slice row = key->partition_len < key->key.len
                       ? tv_slice_skip(key->key, key->partition_len + 1)
                       : TV_LIT("");

    tv_json_open(out, NULL, '{');
    tv_json_text(out, "op", tv_slice_of(tv_entity_op_name((tv_entity_op)key->op)));
    add_key_text(trace, arena, out, "pk", partition);
    add_key_text(trace, arena, out, "rk", row);
    add_class(arena, out, row);
    if (is_of_batch)
        add_number(out, "np", key->sent_count);
    tv_buf_printf(out,
                  ",\"o\":%u,\"cd\":%u,\"u\":%" PRIu32 ",\"b\":%" PRIu32 ",\"age\":%" PRId64 "}",
                  key->outcome, key->condition, key->units, key->bytes, key->age_s);
}

static void add_sent(const tv_watch_trace *trace, tv_arena *arena, tv_buf *out,
                     const tv_watch_key *key)
{
    tv_buf_printf(out, ",\"n\":{\"np\":%zu,\"kib\":%" PRIu32 ",\"types\":{", key->sent_count,
                  (key->bytes + 1023) / 1024);
    for (size_t i = 0; i < key->sent_count; i++) {
        tv_json_text(out, NULL, shown_name(trace, arena, key->sent[i].name));
        tv_buf_printf(out, ":\"%c\"", type_letter(key->sent[i].type));
    }
    tv_buf_add_lit(out, "}}");
}

static void add_keys(const tv_watch_trace *trace, tv_arena *arena, tv_buf *out,
                     const tv_watch_event *event)
{
    if (event->key_count == 0)
        return;
    tv_json_open(out, "k", '[');
    for (size_t i = 0; i < event->key_count; i++)
        add_key(trace, arena, out, &event->keys[i], event->op == TV_ENTITY_OP_BATCH);
    tv_buf_add_char(out, ']');
    if (event->op != TV_ENTITY_OP_BATCH && event->keys[0].sent_count)
        add_sent(trace, arena, out, &event->keys[0]);
}

/* --- a line --- */

/* "azsdk-python-data-tables/12.4.2", of an SDK wherever it stands: the rest may say more of a
 * machine than a trace should. */
static tv_slice product_of(tv_slice agent)
{
    tv_slice product = tv_slice_take(agent, tv_slice_find(agent, ' ')), one;

    while (tv_slice_next(&agent, ' ', &one)) {
        if (tv_language_is_sdk(one)) {
            product = one;
            break;
        }
    }
    return tv_slice_is_printable(product) && product.len <= 64 ? product : TV_LIT("");
}

static void add_rest(const tv_watch_trace *trace, tv_arena *arena, tv_buf *out, tv_slice account,
                     tv_slice table, const tv_watch_event *event, const tv_shape *shape)
{
    tv_buf_printf(out, "\"t\":%" PRId64 ",\"d\":%" PRId64 ",\"op\":\"%s\",\"s\":%u",
                  (tv_clock_mono_ns() - trace->started_ns) / 1000, event->duration_ns / 1000,
                  tv_entity_op_name((tv_entity_op)event->op), event->status);
    if (event->error)
        add_text(out, "code", tv_slice_of(tv_err_name((tv_err)event->error)));
    add_number(out, "th", event->throttle);
    add_number(out, "ov", event->is_overloaded);
    add_hex(out, "c", (uint64_t)(uintptr_t)event->conn * UINT64_C(0x9e3779b97f4a7c15));
    add_hex(out, "u", event->client.hash);
    add_text(out, "ua", product_of(event->client.agent));
    add_hex(out, "rid", event->request_id);
    add_text(out, "a", shown_name(trace, arena, account));
    add_text(out, "T", shown_name(trace, arena, table));
    if (shape)
        add_query(trace, arena, out, &event->query, shape);
    tv_buf_printf(out, ",\"by\":%" PRIu64, event->bytes_out);
    add_number(out, "bi", event->bytes_in);
    add_number(out, "ap", event->across_partitions);
    add_keys(trace, arena, out, event);
    add_text(out, "src", event->source);
    tv_buf_add_lit(out, "}\n");
}

/* Whether the text of a shape has been written; with the lock.  The place where it is noted. */
static bool is_known(tv_watch_trace *trace, uint64_t fingerprint, uint64_t **ret_place)
{
    size_t at = fingerprint % SHAPES_KNOWN_MAX;

    while (trace->shapes[at] && trace->shapes[at] != fingerprint)
        at = (at + 1) % SHAPES_KNOWN_MAX;
    *ret_place = &trace->shapes[at];
    return trace->shapes[at] != 0;
}

static void note_shape(tv_watch_trace *trace, uint64_t fingerprint, uint64_t *place)
{
    if (*place || trace->shape_count >= SHAPES_KNOWN_MAX / 2)
        return;
    *place = fingerprint;
    trace->shape_count++;
}

/* The beginning of a line, which depends on the lines before it. */
static void add_front(tv_watch_trace *trace, tv_buf *out, const tv_shape *shape,
                      uint64_t **ret_place)
{
    tv_buf_add_char(out, '{');
    add_number(out, "lost", trace->lost);
    if (shape && !is_known(trace, shape->fingerprint, ret_place))
        tv_json_text(out, "f", shape->text);
    tv_json_name(out, NULL); /* what follows is written already */
}

static void queue(tv_watch_trace *trace, const tv_shape *shape, tv_slice rest)
{
    tv_buf front = TV_BUF_EMPTY;
    uint64_t *place = NULL;

    tv_background_lock(&trace->thread);
    add_front(trace, &front, shape, &place);
    if (trace->is_broken || trace->pending.len + front.len + rest.len > trace->options.memory) {
        trace->lost++;
    } else {
        tv_buf_add(&trace->pending, tv_buf_slice(&front));
        tv_buf_add(&trace->pending, rest);
        trace->lost = 0;
        if (place)
            note_shape(trace, shape->fingerprint, place);
        if (trace->pending.len >= WAKE_BYTES)
            tv_background_wake(&trace->thread);
    }
    tv_background_unlock(&trace->thread);
    tv_buf_done(&front);
}

void tv_watch_trace_add(tv_watch_trace *trace, tv_slice account, tv_slice table,
                        const tv_watch_event *event)
{
    bool has_shape = event->op == TV_ENTITY_OP_QUERY_ENTITIES && event->query.filter;
    tv_buf rest = TV_BUF_EMPTY;
    tv_shape shape = {0};
    tv_arena arena;

    tv_arena_init(&arena);
    if (has_shape)
        shape = shape_of(trace, &arena, &event->query);
    add_rest(trace, &arena, &rest, account, table, event, has_shape ? &shape : NULL);
    queue(trace, has_shape ? &shape : NULL, tv_buf_slice(&rest));
    tv_buf_done(&rest);
    tv_arena_done(&arena);
}

/* --- the thread --- */

static bool write_all(int fd, tv_slice bytes)
{
    while (bytes.len) {
        ssize_t written = write(fd, bytes.data, bytes.len);

        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0)
            bytes = tv_slice_skip(bytes, (size_t)written);
    }
    return true;
}

static void break_off(tv_watch_trace *trace, int error)
{
    char what[200];

    snprintf(what, sizeof what, "the trace ends here: it cannot be written: %s", strerror(error));
    tv_background_lock(&trace->thread);
    trace->is_broken = true;
    tv_background_unlock(&trace->thread);
    if (trace->options.on_trouble)
        trace->options.on_trouble(what);
}

static void run(tv_background *thread, void *ctx)
{
    tv_watch_trace *trace = ctx;
    tv_buf taken = TV_BUF_EMPTY;
    bool is_last = false;

    while (!is_last) {
        tv_buf empty = taken;
        int64_t until = tv_clock_mono_ns() + INT64_C(1000000) * MOMENT_MS;

        empty.len = 0;
        tv_background_lock(thread);
        while (trace->pending.len < WAKE_BYTES && tv_background_wait(thread, until))
            ;
        is_last = tv_background_is_stopping(thread);
        if (is_last && trace->lost)
            tv_buf_printf(&trace->pending, "{\"lost\":%" PRIu64 ",\"op\":\"end\"}\n", trace->lost);
        taken = trace->pending;
        trace->pending = empty;
        tv_background_unlock(thread);
        if (taken.len && !trace->is_broken && !write_all(trace->fd, tv_buf_slice(&taken)))
            break_off(trace, errno);
    }
    tv_buf_done(&taken);
}

/* --- life --- */

static bool write_head(tv_watch_trace *trace)
{
    static const char *const values[] = {"shape", "hash", "full"};
    char started[TV_DATETIME_TEXT_MAX];
    size_t len = tv_datetime_format(started, tv_clock_ticks());
    tv_buf head = TV_BUF_EMPTY;
    bool is_written;

    tv_buf_printf(&head,
                  "{\"tavolaTrace\":%d,\"started\":\"%.*s\",\"version\":\"" TV_VERSION
                  "\",\"values\":\"%s\",\"names\":\"%s\",\"hash\":\"hmac-sha256/12\","
                  "\"targets\":%s}\n",
                  TV_WATCH_TRACE_VERSION, (int)len, started, values[trace->options.values],
                  trace->options.hides_names ? "hash" : "clear",
                  trace->options.has_targets ? "true" : "false");
    is_written = write_all(trace->fd, tv_buf_slice(&head));
    tv_buf_done(&head);
    return is_written;
}

tv_watch_trace *tv_watch_trace_open(const tv_watch_trace_options *options, char *reterr_text,
                                    size_t reterr_size)
{
    tv_watch_trace *trace = tv_calloc(1, sizeof *trace);
    unsigned char secret[32];

    trace->options = *options;
    if (trace->options.memory == 0)
        trace->options.memory = MEMORY;
    trace->started_ns = tv_clock_mono_ns();
    trace->fd = open(options->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (trace->fd < 0 || !write_head(trace)) {
        snprintf(reterr_text, reterr_size, "cannot write the trace %s: %s", options->path,
                 strerror(errno));
        if (trace->fd >= 0)
            close(trace->fd);
        free(trace);
        return NULL;
    }
    tv_random_bytes(secret, sizeof secret);
    tv_hmac_key_init(&trace->key, (tv_slice){(const char *)secret, sizeof secret});
    explicit_bzero(secret, sizeof secret);
    trace->shapes = tv_calloc(SHAPES_KNOWN_MAX, sizeof *trace->shapes);
    tv_background_start(&trace->thread,
                        &(tv_background_options){.name = "tv-trace", .run = run, .ctx = trace});
    return trace;
}

void tv_watch_trace_close(tv_watch_trace *trace)
{
    if (trace == NULL)
        return;
    tv_background_done(&trace->thread);
    close(trace->fd);
    tv_hmac_key_done(&trace->key);
    tv_buf_done(&trace->pending);
    free(trace->shapes);
    free(trace);
}
