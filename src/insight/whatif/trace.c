/* What a trace says of a table, and filters out of shapes. */
#include "insight/whatif/trace.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/grow.h"
#include "insight/watch/trace.h"
#include "store/engine/key.h"

/* Point reads are queries of their key. */
#define POINT_TEXT "PartitionKey eq ?s and RowKey eq ?s"
#define POINT_FINGERPRINT UINT64_C(0x35e7898ff5ab90c3)

/* --- keeping what is needed --- */

typedef struct loading {
    tv_trace *trace;
    tv_slice account, table;
} loading;

static tv_trace_shape *find_shape(tv_trace *trace, uint64_t fingerprint, tv_slice text)
{
    for (size_t i = 0; i < trace->shape_count; i++) {
        if (trace->shapes[i].fingerprint == fingerprint)
            return &trace->shapes[i];
    }
    if (trace->shape_count == TV_TRACE_SHAPES_MAX || text.len == 0)
        return NULL;
    trace->shapes[trace->shape_count] =
        (tv_trace_shape){.fingerprint = fingerprint, .text = tv_arena_dup(&trace->arena, text)};
    return &trace->shapes[trace->shape_count++];
}

/* Every execution is as likely to be kept as any other. */
static void add_execution(tv_trace *trace, tv_trace_shape *shape, const tv_watch_literal *literals,
                          size_t count)
{
    tv_trace_sample sample = {tv_calloc(count + 1, sizeof *sample.values), count};
    size_t at = shape->sample_count;

    shape->executions++;
    if (at == TV_TRACE_SAMPLES_MAX) {
        at = (size_t)(shape->executions * UINT64_C(0x9E3779B97F4A7C15) >> 11) % shape->executions;
        if (at >= TV_TRACE_SAMPLES_MAX) {
            free(sample.values);
            return;
        }
        free(shape->samples[at].values);
    } else {
        shape->samples = tv_realloc(shape->samples, ++shape->sample_count * sizeof *shape->samples);
    }
    for (size_t i = 0; i < count; i++) {
        sample.values[i] = literals[i];
        sample.values[i].text = tv_arena_dup(&trace->arena, literals[i].text);
    }
    shape->samples[at] = sample;
}

static void add_query(tv_trace *trace, const tv_watch_traced *request)
{
    const tv_watch_query *query = &request->event.query;
    tv_trace_shape *shape = request->has_shape
                                ? find_shape(trace, request->shape.fingerprint, request->shape.text)
                                : NULL;

    if (shape == NULL) {
        trace->unnamed++;
        return;
    }
    shape->examined += query->examined;
    if (query->token_in == 0)
        add_execution(trace, shape, request->literals, request->literal_count);
}

/* The texts of a key; hashes without the "h:" that marks them.  False: the trace has none. */
static bool texts_of(const tv_watch_trace_head *head, tv_arena *arena, const tv_watch_key *key,
                     tv_slice *ret_partition, tv_slice *ret_row)
{
    size_t skipped = head->values == TV_WATCH_TRACE_HASH ? 2 : 0;

    if (head->values == TV_WATCH_TRACE_SHAPE ||
        tv_key_decode_text(arena, tv_slice_take(key->key, key->partition_len), ret_partition) ||
        tv_key_decode_text(arena, tv_slice_skip(key->key, key->partition_len + 1), ret_row))
        return false;
    if (ret_partition->len < skipped || ret_row->len < skipped)
        return false;
    *ret_partition = tv_slice_skip(*ret_partition, skipped);
    *ret_row = tv_slice_skip(*ret_row, skipped);
    return true;
}

static void add_read(tv_trace *trace, const tv_watch_trace_head *head, tv_arena *arena,
                     const tv_watch_traced *request)
{
    tv_trace_shape *shape = find_shape(trace, POINT_FINGERPRINT, TV_LIT(POINT_TEXT));
    bool is_hash = head->values == TV_WATCH_TRACE_HASH;
    tv_watch_literal keys[] = {{'s', is_hash, TV_LIT("")}, {'s', is_hash, TV_LIT("")}};

    if (shape == NULL || request->event.key_count != 1)
        return;
    shape->examined++;
    if (texts_of(head, arena, &request->keys[0], &keys[0].text, &keys[1].text))
        add_execution(trace, shape, keys, 2);
    else
        add_execution(trace, shape, NULL, 0);
}

static void add_writes(tv_trace *trace, const tv_watch_trace_head *head, tv_arena *arena,
                       const tv_watch_traced *request)
{
    trace->write_requests++;
    for (size_t i = 0; i < request->event.key_count; i++) {
        const tv_watch_key *key = &request->keys[i];
        tv_trace_write write = {.at_ns = request->event.time_ns,
                                .request = trace->write_requests,
                                .units = key->units,
                                .is_insert = key->outcome == TV_WATCH_CREATED};

        write.has_key = texts_of(head, arena, key, &write.partition_key, &write.row_key);
        if (write.has_key) {
            write.partition_key = tv_arena_dup(&trace->arena, write.partition_key);
            write.row_key = tv_arena_dup(&trace->arena, write.row_key);
        }
        tv_grow(&trace->writes, trace->write_count, &trace->write_size, 256);
        trace->writes[trace->write_count++] = write;
    }
}

static bool is_of_account(loading *l, tv_slice account)
{
    if (account.len == 0 || tv_slice_eq(account, l->account))
        return true;
    if (l->trace->other_account.len == 0)
        l->trace->other_account = tv_arena_dup(&l->trace->arena, account);
    return false;
}

static void take_request(void *ctx, const tv_watch_trace_head *head, tv_arena *arena,
                         tv_watch_traced *request)
{
    loading *l = ctx;
    tv_trace *trace = l->trace;
    tv_entity_op op = (tv_entity_op)request->event.op;

    trace->head = *head;
    trace->lost += request->lost;
    if (op == TV_ENTITY_OP_COUNT || request->event.status >= 400 ||
        !tv_slice_eq_nocase(request->table, l->table) || !is_of_account(l, request->account))
        return;
    if (op == TV_ENTITY_OP_QUERY_ENTITIES)
        add_query(trace, request);
    else if (op == TV_ENTITY_OP_QUERY_ENTITY ||
             (request->event.key_count &&
              !tv_entity_op_is_write((tv_entity_op)request->keys[0].op)))
        add_read(trace, head, arena, request);
    else
        add_writes(trace, head, arena, request);
}

static bool load(const char *path, loading *l, char *reterr_text, size_t reterr_size)
{
    *l->trace = (tv_trace){.shapes = tv_calloc(TV_TRACE_SHAPES_MAX, sizeof(tv_trace_shape))};
    tv_arena_init(&l->trace->arena);
    return tv_watch_trace_read_file(path, take_request, l, reterr_text, reterr_size);
}

bool tv_trace_load(const char *path, tv_slice account, tv_slice table, tv_trace *ret_trace,
                   char *reterr_text, size_t reterr_size)
{
    loading l = {ret_trace, account, table};
    tv_arena other;

    if (!load(path, &l, reterr_text, reterr_size))
        return false;
    if (ret_trace->shape_count || ret_trace->write_count || ret_trace->other_account.len == 0)
        return true;

    /* It was written for an account of another name, as one of a copied table is. */
    bool ok;

    tv_arena_init(&other);
    l.account = tv_arena_dup(&other, ret_trace->other_account);
    tv_trace_done(ret_trace);
    ok = load(path, &l, reterr_text, reterr_size);
    tv_arena_done(&other);
    return ok;
}

void tv_trace_done(tv_trace *trace)
{
    for (size_t i = 0; i < trace->shape_count; i++) {
        for (size_t j = 0; j < trace->shapes[i].sample_count; j++)
            free(trace->shapes[i].samples[j].values);
        free(trace->shapes[i].samples);
    }
    free(trace->shapes);
    free(trace->writes);
    tv_arena_done(&trace->arena);
}

/* --- filters --- */

/* A Double without a point would be read as a whole number. */
static bool is_whole(tv_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] != '-' && (text.data[i] < '0' || text.data[i] > '9'))
            return false;
    }
    return true;
}

static void add_literal(tv_buf *to, char type, tv_slice text)
{
    switch (type) {
    case 's':
        tv_buf_add_char(to, '\'');
        for (size_t i = 0; i < text.len; i++) {
            if (text.data[i] == '\'')
                tv_buf_add_char(to, '\'');
            tv_buf_add_char(to, text.data[i]);
        }
        tv_buf_add_char(to, '\'');
        break;
    case 't':
        tv_buf_printf(to, "datetime'%.*s'", TV_FMT(text));
        break;
    case 'g':
        tv_buf_printf(to, "guid'%.*s'", TV_FMT(text));
        break;
    case 'x':
        tv_buf_printf(to, "X'%.*s'", TV_FMT(text));
        break;
    default:
        tv_buf_printf(to, "%.*s%s", TV_FMT(text), type == 'l' ? "L" : "");
        if (type == 'd' && is_whole(text))
            tv_buf_add_lit(to, ".0");
        break;
    }
}

/* Stands where a value is known only by its hash. */
static tv_slice blank_of(char type)
{
    switch (type) {
    case 't':
        return TV_LIT("2000-01-01T00:00:00Z");
    case 'g':
        return TV_LIT("00000000-0000-0000-0000-000000000000");
    case 'b':
        return TV_LIT("true");
    case 'd':
        return TV_LIT("0.0");
    case 's':
    case 'x':
        return TV_LIT("");
    default:
        return TV_LIT("0");
    }
}

/* A piece of a shape with its values; false when there are too few. */
static bool fill(tv_slice text, const tv_trace_sample *sample, size_t *at, tv_buf *to)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] != '?') {
            tv_buf_add_char(to, text.data[i]);
            continue;
        }
        if (*at == sample->count || ++i == text.len)
            return false;

        const tv_watch_literal *value = &sample->values[(*at)++];

        add_literal(to, value->type, value->is_hash ? blank_of(value->type) : value->text);
    }
    return true;
}

static size_t count_marks(tv_slice text)
{
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += text.data[i] == '?';
    return count;
}

/* Where a list begins, which is any(…) or all(…), and behind its end; the length without one. */
static size_t find_list(tv_slice text, size_t *ret_end, bool *ret_is_any)
{
    for (size_t i = 0; i + 4 <= text.len; i++) {
        bool is_any = memcmp(text.data + i, "any(", 4) == 0;
        size_t depth = 1, at = i + 4;

        if ((!is_any && memcmp(text.data + i, "all(", 4) != 0) ||
            (i && text.data[i - 1] != ' ' && text.data[i - 1] != '('))
            continue;
        for (; at < text.len && depth; at++)
            depth += (text.data[at] == '(') - (text.data[at] == ')');
        *ret_end = at;
        *ret_is_any = is_any;
        return i;
    }
    return text.len;
}

static bool build_text(tv_slice text, const tv_trace_sample *sample, tv_buf *to)
{
    size_t end = 0, at = 0, other_end;
    bool is_any = false, other;
    size_t begin = find_list(text, &end, &is_any);

    if (begin == text.len)
        return fill(text, sample, &at, to) && at == sample->count;

    tv_slice body = tv_slice_skip(tv_slice_take(text, end - 1), begin + 4);
    tv_slice rest = tv_slice_skip(text, end);
    size_t each = count_marks(body);
    size_t around = count_marks(tv_slice_take(text, begin)) + count_marks(rest);

    if (each == 0 || sample->count < around + each || (sample->count - around) % each ||
        find_list(body, &other_end, &other) < body.len ||
        find_list(rest, &other_end, &other) < rest.len)
        return false;
    if (!fill(tv_slice_take(text, begin), sample, &at, to))
        return false;
    tv_buf_add_char(to, '(');
    for (size_t i = 0; i < (sample->count - around) / each; i++) {
        tv_buf_add(to, i == 0 ? TV_LIT("(") : is_any ? TV_LIT(" or (") : TV_LIT(" and ("));
        if (!fill(body, sample, &at, to))
            return false;
        tv_buf_add_char(to, ')');
    }
    tv_buf_add_char(to, ')');
    return fill(rest, sample, &at, to);
}

static tv_filter *parse(const tv_trace_shape *shape, const tv_trace_sample *sample, tv_arena *arena)
{
    tv_buf text = TV_BUF_EMPTY;
    tv_error_info info = {0};
    tv_filter *filter = NULL;
    bool ok = tv_slice_eq(shape->text, TV_LIT("*")) ||
              (shape->text.len && build_text(shape->text, sample, &text));

    if (ok && tv_filter_parse(arena, tv_arena_dup(arena, tv_buf_slice(&text)), &filter, &info))
        filter = NULL;
    tv_buf_done(&text);
    return filter;
}

/* The value of a comparison if it is known by its hash alone. */
static const tv_watch_literal *hash_of(const tv_node *node, const tv_trace_sample *sample)
{
    if (node->kind != TV_NODE_COMPARE || (size_t)node->number >= sample->count ||
        !sample->values[node->number].is_hash)
        return NULL;
    return &sample->values[node->number];
}

/* Put values of the data where the trace has hashes. */
static bool place(tv_node *node, const tv_filter *filter, const tv_trace_sample *sample,
                  tv_values *values)
{
    const tv_watch_literal *hash = hash_of(node, sample);
    bool ok = hash == NULL || tv_values_find(values, filter->names.list[node->name],
                                             node->literal.type, hash->text, &node->literal);

    for (tv_node *child = tv_node_first(node); child && ok; child = child->next)
        ok = place(child, filter, sample, values);
    return ok;
}

bool tv_trace_filter(const tv_trace_shape *shape, const tv_trace_sample *sample, tv_values *values,
                     tv_arena *arena, tv_filter **ret_filter)
{
    *ret_filter = parse(shape, sample, arena);
    return *ret_filter &&
           ((*ret_filter)->root == NULL || place((*ret_filter)->root, *ret_filter, sample, values));
}

static void count(const tv_node *node, const tv_filter *filter, const tv_trace_sample *sample,
                  tv_values *values)
{
    const tv_watch_literal *hash = hash_of(node, sample);

    if (hash)
        tv_values_count(values, filter->names.list[node->name], node->literal.type, hash->text);
    for (const tv_node *child = tv_node_first(node); child; child = child->next)
        count(child, filter, sample, values);
}

void tv_trace_count_hashes(const tv_trace *trace, tv_values *values)
{
    for (size_t i = 0; i < trace->shape_count; i++) {
        const tv_trace_shape *shape = &trace->shapes[i];

        for (size_t j = 0; j < shape->sample_count; j++) {
            tv_arena arena;
            tv_filter *filter;

            tv_arena_init(&arena);
            filter = parse(shape, &shape->samples[j], &arena);
            if (filter && filter->root)
                count(filter->root, filter, &shape->samples[j], values);
            tv_arena_done(&arena);
        }
    }
}
