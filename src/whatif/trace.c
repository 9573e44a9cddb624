/* Lines of JSON, and filters out of shapes. */
#include "whatif/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/json.h"
#include "base/number.h"

/* --- JSON --- */

/* The next element of an array, whose brackets are gone; it has been checked to be strict JSON. */
static bool next_element(tv_slice *rest, tv_slice *ret_element)
{
    size_t depth = 0, at = 0;
    bool is_string = false;

    if (rest->len == 0)
        return false;
    for (; at < rest->len; at++) {
        char c = rest->data[at];

        if (is_string && c == '\\')
            at++;
        else if (c == '"')
            is_string = !is_string;
        else if (!is_string && (c == '{' || c == '['))
            depth++;
        else if (!is_string && (c == '}' || c == ']'))
            depth--;
        else if (!is_string && c == ',' && depth == 0)
            break;
    }
    *ret_element = tv_slice_trim(tv_slice_take(*rest, at));
    *rest = tv_slice_skip(*rest, at < rest->len ? at + 1 : at);
    return ret_element->len > 0;
}

static tv_slice inside(tv_slice array)
{
    return array.len >= 2 ? tv_slice_skip(tv_slice_take(array, array.len - 1), 1) : TV_LIT("");
}

/* One line; what is not in it is empty or 0. */
typedef struct line {
    tv_slice table, op, shape, fingerprint, values, keys, continuation;
    int64_t at_us, examined, lost, status;
} line;

static int64_t number_of(const tv_json_member *member)
{
    int64_t number = 0;

    return member->kind == TV_JSON_NUMBER && tv_parse_int64(member->text, &number) ? number : 0;
}

static bool read_line(tv_arena *arena, tv_slice text, line *ret_line)
{
    tv_json_reader reader;
    tv_json_member member;

    *ret_line = (line){.status = 0};
    tv_json_reader_init(&reader, arena, text);
    while (tv_json_next(&reader, &member)) {
        const struct {
            const char *name;
            tv_slice *text;
            int64_t *number;
        } fields[] = {
            {"T", &ret_line->table, NULL},           {"op", &ret_line->op, NULL},
            {"f", &ret_line->shape, NULL},           {"fp", &ret_line->fingerprint, NULL},
            {"v", &ret_line->values, NULL},          {"k", &ret_line->keys, NULL},
            {"cont", &ret_line->continuation, NULL}, {"t", NULL, &ret_line->at_us},
            {"ex", NULL, &ret_line->examined},       {"lost", NULL, &ret_line->lost},
            {"s", NULL, &ret_line->status},
        };

        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            if (!tv_slice_eq(member.name, tv_slice_of(fields[i].name)))
                continue;
            if (fields[i].text)
                *fields[i].text = member.text;
            else
                *fields[i].number = number_of(&member);
        }
    }
    return !reader.failed;
}

static tv_trace_value read_value(tv_arena *arena, tv_slice text)
{
    tv_trace_value value = {0};
    tv_json_reader reader;
    tv_json_member member;

    tv_json_reader_init(&reader, arena, text);
    while (tv_json_next(&reader, &member)) {
        if (tv_slice_eq(member.name, TV_LIT("t")) && member.text.len == 1)
            value.type = member.text.data[0];
        if (tv_slice_eq(member.name, TV_LIT("h")))
            value.is_hash = true;
        if (tv_slice_eq(member.name, TV_LIT("h")) || tv_slice_eq(member.name, TV_LIT("v")))
            value.text = member.kind == TV_JSON_TRUE    ? TV_LIT("true")
                         : member.kind == TV_JSON_FALSE ? TV_LIT("false")
                                                        : member.text;
    }
    return value;
}

/* --- keeping what is needed --- */

static tv_trace_shape *find_shape(tv_trace *trace, const line *of)
{
    for (size_t i = 0; i < trace->shape_count; i++) {
        if (tv_slice_eq(trace->shapes[i].fingerprint, of->fingerprint))
            return &trace->shapes[i];
    }
    if (trace->shape_count == TV_TRACE_SHAPES_MAX || of->shape.len == 0)
        return NULL;
    trace->shapes[trace->shape_count] =
        (tv_trace_shape){.fingerprint = tv_arena_dup(&trace->arena, of->fingerprint),
                         .text = tv_arena_dup(&trace->arena, of->shape)};
    return &trace->shapes[trace->shape_count++];
}

static tv_trace_sample read_sample(tv_trace *trace, tv_slice values)
{
    tv_trace_sample sample = {0};
    tv_slice rest = inside(values), element;

    while (next_element(&rest, &element)) {
        tv_trace_value value = read_value(&trace->arena, element);

        sample.values = tv_realloc(sample.values, (sample.count + 1) * sizeof *sample.values);
        value.text = tv_arena_dup(&trace->arena, value.text);
        sample.values[sample.count++] = value;
    }
    return sample;
}

/* Every execution is as likely to be kept as any other. */
static void add_query(tv_trace *trace, const line *of)
{
    tv_trace_shape *shape = find_shape(trace, of);
    size_t at;

    if (shape == NULL)
        return;
    shape->examined += (uint64_t)of->examined;
    if (of->continuation.len && !tv_slice_eq(of->continuation, TV_LIT("0")))
        return;
    shape->executions++;
    at = shape->sample_count;
    if (at == TV_TRACE_SAMPLES_MAX) {
        at = (size_t)(shape->executions * UINT64_C(0x9E3779B97F4A7C15) >> 11) % shape->executions;
        if (at >= TV_TRACE_SAMPLES_MAX)
            return;
        free(shape->samples[at].values);
    } else {
        shape->samples = tv_realloc(shape->samples, ++shape->sample_count * sizeof *shape->samples);
    }
    shape->samples[at] = read_sample(trace, of->values);
}

static void add_writes(tv_trace *trace, const line *of)
{
    tv_slice rest = inside(of->keys), element;

    while (next_element(&rest, &element)) {
        tv_trace_write write = {.at_us = of->at_us, .request = (uint32_t)trace->lines};
        tv_json_reader reader;
        tv_json_member member;

        tv_json_reader_init(&reader, &trace->arena, element);
        while (tv_json_next(&reader, &member)) {
            if (tv_slice_eq(member.name, TV_LIT("pk")))
                write.partition_key = tv_arena_dup(&trace->arena, member.text);
            if (tv_slice_eq(member.name, TV_LIT("rk")))
                write.row_key = tv_arena_dup(&trace->arena, member.text);
        }
        write.is_hash = tv_slice_starts_with(write.partition_key, TV_LIT("h:"));
        if (trace->write_count == trace->write_size) {
            trace->write_size = trace->write_size ? 2 * trace->write_size : 256;
            trace->writes = tv_realloc(trace->writes, trace->write_size * sizeof *trace->writes);
        }
        trace->writes[trace->write_count++] = write;
    }
}

static bool is_write(tv_slice op)
{
    return tv_slice_eq(op, TV_LIT("InsertEntity")) || tv_slice_eq(op, TV_LIT("UpdateEntity")) ||
           tv_slice_eq(op, TV_LIT("MergeEntity")) || tv_slice_eq(op, TV_LIT("DeleteEntity")) ||
           tv_slice_eq(op, TV_LIT("InsertOrReplaceEntity")) ||
           tv_slice_eq(op, TV_LIT("InsertOrMergeEntity")) ||
           tv_slice_eq(op, TV_LIT("EntityGroupTransaction"));
}

static bool take_line(tv_trace *trace, tv_slice table, tv_slice text)
{
    tv_arena scratch;
    line of;
    bool ok;

    tv_arena_init(&scratch);
    ok = read_line(&scratch, text, &of);
    trace->lines++;
    if (ok) {
        trace->lost += (uint64_t)of.lost;
        if (of.at_us > trace->span_us)
            trace->span_us = of.at_us;
    }
    if (ok && tv_slice_eq_nocase(of.table, table) && of.status < 400) {
        if (tv_slice_eq(of.op, TV_LIT("QueryEntities")))
            add_query(trace, &of);
        else if (is_write(of.op))
            add_writes(trace, &of);
    }
    tv_arena_done(&scratch);
    return ok;
}

bool tv_trace_load(const char *path, tv_slice table, tv_trace *ret_trace, char *reterr_text,
                   size_t reterr_size)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    ssize_t len;
    bool ok = true;

    *ret_trace = (tv_trace){.shapes = tv_calloc(TV_TRACE_SHAPES_MAX, sizeof(tv_trace_shape))};
    tv_arena_init(&ret_trace->arena);
    if (file == NULL) {
        snprintf(reterr_text, reterr_size, "cannot read %s: %s", path, strerror(errno));
        return false;
    }
    while (ok && (len = getline(&text, &size, file)) > 0) {
        tv_slice line_text = tv_slice_trim((tv_slice){text, (size_t)len});

        if (line_text.len && line_text.data[line_text.len - 1] == '\n')
            line_text.len--;
        if (ret_trace->lines == 0 && tv_slice_starts_with(line_text, TV_LIT("\x1f\x8b"))) {
            snprintf(reterr_text, reterr_size, "%s is packed; unpack it with gzip -d first", path);
            ok = false;
        } else if (ret_trace->lines == 0 &&
                   !tv_slice_starts_with(line_text, TV_LIT("{\"tavolaTrace\":1"))) {
            snprintf(reterr_text, reterr_size,
                     "%s is not a trace: its first line has no tavolaTrace", path);
            ok = false;
        } else if (line_text.len && !take_line(ret_trace, table, line_text)) {
            snprintf(reterr_text, reterr_size, "%s line %llu is not JSON", path,
                     (unsigned long long)ret_trace->lines);
            ok = false;
        }
    }
    if (ok && (ferror(file) || ret_trace->lines == 0)) {
        snprintf(reterr_text, reterr_size, "%s: %s", path,
                 ferror(file) ? strerror(errno) : "it is empty");
        ok = false;
    }
    free(text);
    fclose(file);
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

        const tv_trace_value *value = &sample->values[(*at)++];

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
static const tv_trace_value *hash_of(const tv_node *node, const tv_trace_sample *sample)
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
    const tv_trace_value *hash = hash_of(node, sample);
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
    const tv_trace_value *hash = hash_of(node, sample);

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
