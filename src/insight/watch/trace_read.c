/* Reading traces: see trace.h.  A trace may come from anywhere, so every number meets its bounds.
 */
#include <stdlib.h>

#include "base/hex.h"
#include "base/json.h"
#include "base/number.h"
#include "insight/advice/language.h"
#include "insight/watch/trace.h"
#include "model/odata/plan.h"
#include "store/engine/key.h"

enum { LITERALS_MAX = 10000, SENT_MAX = 255, PREFIX_MAX = 80 };

/* A trace of more than a year is none. */
#define TIME_MAX_US INT64_C(40000000000000)

static bool is(tv_slice name, const char *wanted)
{
    return tv_slice_eq(name, tv_slice_of(wanted));
}

/* A number from 0 to `most`; 0 for anything else. */
static uint64_t number_of(const tv_json_member *member, uint64_t most)
{
    uint64_t number;

    return member->kind == TV_JSON_NUMBER && tv_parse_uint64(member->text, &number) &&
                   number <= most
               ? number
               : 0;
}

static uint64_t hex_of(tv_slice text)
{
    uint64_t number = 0;

    for (size_t i = 0; i < text.len && i < 16; i++) {
        int digit = tv_hex_value(text.data[i]);

        if (digit < 0)
            return 0;
        number = number << 4 | (unsigned)digit;
    }
    return number;
}

static tv_slice text_of(const tv_json_member *member)
{
    return member->kind == TV_JSON_STRING ? member->text : TV_LIT("");
}

static bool op_of(tv_slice name, uint8_t *ret_op)
{
    for (int i = 0; i < TV_ENTITY_OP_COUNT; i++) {
        if (is(name, tv_entity_op_name((tv_entity_op)i))) {
            *ret_op = (uint8_t)i;
            return true;
        }
    }
    return false;
}

static uint8_t plan_of(tv_slice name)
{
    for (int i = 0; i < TV_PLAN_KINDS; i++) {
        if (is(name, tv_plan_kind_name((tv_plan_kind)i)))
            return (uint8_t)i;
    }
    return 0;
}

static uint16_t error_of(tv_slice name)
{
    for (int i = 1; i < TV_ERR_COUNT; i++) {
        if (is(name, tv_err_name((tv_err)i)))
            return (uint16_t)i;
    }
    return 0;
}

static uint8_t end_of(tv_slice name)
{
    for (int i = 0; i < TV_PAGE_ENDS; i++) {
        if (is(name, tv_page_end_name((tv_page_end)i)))
            return (uint8_t)i;
    }
    return 0;
}

/* --- parts of a line --- */

static tv_slice stored(tv_arena *arena, tv_slice text)
{
    tv_slice bytes;

    return text.len && tv_key_encode_text(arena, text, &bytes) == TV_OK ? bytes : TV_LIT("");
}

/* Two keys whose RowKeys begin alike, for so many bytes that the trace does not show. */
static void make_span(tv_arena *arena, size_t len, tv_slice *ret_first, tv_slice *ret_last)
{
    tv_slice *keys[] = {ret_first, ret_last};

    for (int i = 0; i < 2; i++) {
        char *bytes = tv_arena_alloc(arena, len + 2);

        bytes[0] = TV_KEY_MARK;
        memset(bytes + 1, '?', len);
        bytes[1 + len] = (char)('a' + i);
        *keys[i] = (tv_slice){bytes, len + 2};
    }
}

static void read_details(tv_arena *arena, tv_slice text, tv_watch_traced *to)
{
    tv_watch_query *query = &to->event.query;
    tv_json_reader reader;
    tv_json_member member;
    bool has_span = false;
    size_t returned = 0, looked = 0;

    tv_json_reader_init(&reader, arena, text);
    while (tv_json_next(&reader, &member)) {
        if (is(member.name, "fl"))
            to->shape.flags = (uint32_t)number_of(&member, UINT32_MAX);
        else if (is(member.name, "li"))
            to->shape.list_len = (uint32_t)number_of(&member, 10000);
        else if (is(member.name, "cm"))
            to->shape.comparisons = (uint32_t)number_of(&member, 10000);
        else if (is(member.name, "res"))
            query->has_residual = number_of(&member, 1);
        else if (is(member.name, "pre"))
            query->is_prefix_range = number_of(&member, 1);
        else if (is(member.name, "sk"))
            query->selects_keys = number_of(&member, 1);
        else if (is(member.name, "fi"))
            query->first = number_of(&member, UINT32_MAX);
        else if (is(member.name, "la"))
            query->last = number_of(&member, UINT32_MAX);
        else if (is(member.name, "rp")) {
            has_span = true;
            returned = (size_t)number_of(&member, PREFIX_MAX);
        } else if (is(member.name, "lp"))
            looked = (size_t)number_of(&member, PREFIX_MAX);
        else if (is(member.name, "ti"))
            query->token_in = hex_of(text_of(&member));
        else if (is(member.name, "to"))
            query->token_out = hex_of(text_of(&member));
        else if (is(member.name, "pk"))
            query->partition = stored(arena, text_of(&member));
    }
    if (has_span) {
        make_span(arena, returned, &query->first_key, &query->last_key);
        make_span(arena, looked, &query->first_looked, &query->last_looked);
    }
}

/* PartitionKey 01 RowKey, as tv_watch_key has it. */
static void set_key(tv_arena *arena, tv_watch_key *key, tv_slice partition, tv_slice row)
{
    tv_slice pk = stored(arena, partition), rk = stored(arena, row);
    char *bytes = tv_arena_alloc(arena, pk.len + 1 + rk.len);
    char *at = tv_slice_put(bytes, pk);

    *at++ = TV_KEY_MARK;
    tv_slice_put(at, rk);
    key->key = (tv_slice){bytes, pk.len + 1 + rk.len};
    key->partition_len = (uint32_t)pk.len;
}

static void raise_properties(tv_watch_traced *to, const tv_json_member *member)
{
    uint32_t count = (uint32_t)number_of(member, SENT_MAX);

    if (count > to->properties_max)
        to->properties_max = count;
}

static bool read_key(tv_arena *arena, tv_slice text, tv_watch_traced *to, tv_watch_key *ret_key)
{
    tv_slice partition = TV_LIT(""), row = TV_LIT("");
    tv_json_reader reader;
    tv_json_member member;
    int64_t age;

    *ret_key = (tv_watch_key){.units = 1, .age_s = -1};
    tv_json_reader_init(&reader, arena, text);
    while (tv_json_next(&reader, &member)) {
        if (is(member.name, "op") && !op_of(text_of(&member), &ret_key->op))
            return false;
        if (is(member.name, "pk"))
            partition = text_of(&member);
        else if (is(member.name, "rk"))
            row = text_of(&member);
        else if (is(member.name, "kc") && to->event.key_count == 0)
            to->row_class = text_of(&member);
        else if (is(member.name, "np"))
            raise_properties(to, &member);
        else if (is(member.name, "o"))
            ret_key->outcome = (uint8_t)number_of(&member, TV_WATCH_REFUSED);
        else if (is(member.name, "cd"))
            ret_key->condition = (uint8_t)number_of(&member, TV_WATCH_IF_ETAG);
        else if (is(member.name, "u"))
            ret_key->units = (uint32_t)number_of(&member, 4096);
        else if (is(member.name, "b"))
            ret_key->bytes = (uint32_t)number_of(&member, 4 << 20);
        else if (is(member.name, "age") && tv_parse_int64(member.text, &age) && age >= 0 &&
                 age <= INT64_C(100000000000))
            ret_key->age_s = age;
    }
    set_key(arena, ret_key, partition, row);
    return !reader.failed;
}

/* The objects of an array of them, which is strict JSON. */
static bool next_object(tv_slice *rest, tv_slice *ret_object)
{
    size_t depth = 0, begin = tv_slice_find(*rest, '{');
    bool is_string = false;

    for (size_t at = begin; at < rest->len; at++) {
        char c = rest->data[at];

        if (is_string && c == '\\')
            at++;
        else if (c == '"')
            is_string = !is_string;
        else if (!is_string && (c == '{' || c == '['))
            depth++;
        else if (!is_string && (c == '}' || c == ']') && --depth == 0) {
            *ret_object = tv_slice_skip(tv_slice_take(*rest, at + 1), begin);
            *rest = tv_slice_skip(*rest, at + 1);
            return true;
        }
    }
    return false;
}

static bool read_keys(tv_arena *arena, tv_slice text, tv_watch_traced *to)
{
    tv_slice object;

    if (text.len < 2 || text.data[0] != '[')
        return false;
    text = tv_slice_skip(tv_slice_take(text, text.len - 1), 1);
    while (next_object(&text, &object)) {
        if (to->event.key_count == TV_WATCH_TRACE_KEYS_MAX ||
            !read_key(arena, object, to, &to->keys[to->event.key_count]))
            return false;
        to->event.key_count++;
    }
    to->event.keys = to->keys;
    return true;
}

static tv_edm_type type_of(tv_slice letter)
{
    static const struct {
        char letter;
        tv_edm_type type;
    } types[] = {{'s', TV_EDM_STRING}, {'b', TV_EDM_BOOLEAN}, {'i', TV_EDM_INT32},
                 {'l', TV_EDM_INT64},  {'d', TV_EDM_DOUBLE},  {'t', TV_EDM_DATETIME},
                 {'g', TV_EDM_GUID},   {'x', TV_EDM_BINARY}};

    for (size_t i = 0; letter.len == 1 && i < sizeof types / sizeof types[0]; i++) {
        if (types[i].letter == letter.data[0])
            return types[i].type;
    }
    return TV_EDM_STRING;
}

/* {"np":12,"kib":3,"types":{"Age":"i"}} */
static void read_sent(tv_arena *arena, tv_slice text, tv_watch_traced *to)
{
    tv_json_reader reader, types;
    tv_json_member member, one;
    tv_property *list = NULL;
    size_t count = 0;

    tv_json_reader_init(&reader, arena, text);
    while (tv_json_next(&reader, &member)) {
        if (is(member.name, "np"))
            raise_properties(to, &member);
        if (!is(member.name, "types") || member.kind != TV_JSON_NESTED)
            continue;
        list = tv_arena_alloc(arena, SENT_MAX * sizeof *list);
        count = 0;
        tv_json_reader_init(&types, arena, member.text);
        while (tv_json_next(&types, &one) && count < SENT_MAX)
            list[count++] = (tv_property){.name = one.name, .type = type_of(text_of(&one))};
    }
    if (to->event.key_count == 1) {
        to->keys[0].sent = list;
        to->keys[0].sent_count = count;
    }
}

/* {"t":"s","n":18,"h":"9f2c41d07be3"} or {"t":"s","v":"Sales"} */
static tv_watch_literal read_literal(tv_arena *arena, tv_slice text)
{
    tv_watch_literal literal = {0};
    tv_json_reader reader;
    tv_json_member member;

    tv_json_reader_init(&reader, arena, text);
    while (tv_json_next(&reader, &member)) {
        if (is(member.name, "t") && member.text.len == 1)
            literal.type = member.text.data[0];
        else if (is(member.name, "h"))
            literal = (tv_watch_literal){literal.type, true, text_of(&member)};
        else if (is(member.name, "v"))
            literal.text = text_of(&member);
    }
    return literal;
}

static bool read_literals(tv_arena *arena, tv_slice text, tv_watch_traced *to)
{
    tv_slice rest = text, object;
    tv_watch_literal *literals;
    size_t count = 0;

    if (text.len < 2 || text.data[0] != '[')
        return false;
    while (next_object(&rest, &object))
        count++;
    if (count > LITERALS_MAX)
        return false;
    literals = tv_arena_alloc(arena, (count + 1) * sizeof *literals);
    for (size_t i = 0; next_object(&text, &object); i++)
        literals[i] = read_literal(arena, object);
    to->literals = literals;
    to->literal_count = count;
    return true;
}

/* --- a line --- */

static void set_agent(tv_watch_client *client, tv_slice agent)
{
    client->agent = agent;
    client->language = tv_language_number(agent);
}

/* A member that is a number or a text; false when it is something else. */
static bool read_plain(const tv_json_member *member, tv_watch_traced *to)
{
    tv_watch_event *event = &to->event;
    tv_watch_query *query = &event->query;

    if (is(member->name, "t"))
        event->time_ns = (int64_t)number_of(member, TIME_MAX_US) * 1000;
    else if (is(member->name, "d"))
        event->duration_ns = (int64_t)number_of(member, TIME_MAX_US) * 1000;
    else if (is(member->name, "s"))
        event->status = (uint16_t)number_of(member, 999);
    else if (is(member->name, "code"))
        event->error = error_of(text_of(member));
    else if (is(member->name, "th"))
        event->throttle = (uint8_t)number_of(member, TV_WATCH_THROTTLED_ACCOUNT);
    else if (is(member->name, "ov"))
        event->is_overloaded = number_of(member, 1);
    else if (is(member->name, "c"))
        to->connection = hex_of(text_of(member));
    else if (is(member->name, "u"))
        event->client.hash = hex_of(text_of(member));
    else if (is(member->name, "ua"))
        set_agent(&event->client, text_of(member));
    else if (is(member->name, "rid"))
        event->request_id = hex_of(text_of(member));
    else if (is(member->name, "a"))
        to->account = text_of(member);
    else if (is(member->name, "T"))
        to->table = text_of(member);
    else if (is(member->name, "by"))
        event->bytes_out = number_of(member, UINT32_MAX);
    else if (is(member->name, "bi"))
        event->bytes_in = number_of(member, UINT32_MAX);
    else if (is(member->name, "ap"))
        event->across_partitions = (uint32_t)number_of(member, 100);
    else if (is(member->name, "lost"))
        to->lost = number_of(member, UINT64_MAX / 2);
    else if (is(member->name, "f"))
        to->shape.text = text_of(member);
    else if (is(member->name, "fp"))
        to->shape.fingerprint = hex_of(text_of(member));
    else if (is(member->name, "sel"))
        query->select = text_of(member);
    else if (is(member->name, "p"))
        query->plan = plan_of(text_of(member));
    else if (is(member->name, "rg"))
        query->range_count = (uint32_t)number_of(member, 100000);
    else if (is(member->name, "ex"))
        query->examined = number_of(member, UINT32_MAX);
    else if (is(member->name, "re"))
        query->returned = number_of(member, 1000);
    else if (is(member->name, "end"))
        query->end = end_of(text_of(member));
    else if (is(member->name, "src"))
        event->source = text_of(member);
    else
        return false;
    return true;
}

bool tv_watch_trace_read_line(tv_arena *arena, tv_slice line, tv_watch_traced *ret_request)
{
    tv_watch_event *event = &ret_request->event;
    tv_slice keys = TV_NONE, sent = TV_NONE, details = TV_NONE, literals = TV_NONE, op = TV_NONE;
    tv_json_reader reader;
    tv_json_member member;

    *ret_request = (tv_watch_traced){.lost = 0};
    tv_json_reader_init(&reader, arena, line);
    while (tv_json_next(&reader, &member)) {
        if (is(member.name, "op"))
            op = text_of(&member);
        else if (is(member.name, "k") && member.kind == TV_JSON_NESTED)
            keys = member.text;
        else if (is(member.name, "n") && member.kind == TV_JSON_NESTED)
            sent = member.text;
        else if (is(member.name, "q") && member.kind == TV_JSON_NESTED)
            details = member.text;
        else if (is(member.name, "v") && member.kind == TV_JSON_NESTED)
            literals = member.text;
        else if (is(member.name, "top")) {
            event->query.has_top = true;
            event->query.top = (uint32_t)number_of(&member, 1000);
        } else {
            read_plain(&member, ret_request);
        }
    }
    if (reader.failed)
        return false;
    if (is(op, "end")) {
        event->op = TV_ENTITY_OP_COUNT;
        return true;
    }
    if (!op_of(op, &event->op) || (keys.data && !read_keys(arena, keys, ret_request)) ||
        (literals.data && !read_literals(arena, literals, ret_request)))
        return false;
    if (sent.data)
        read_sent(arena, sent, ret_request);
    if (details.data)
        read_details(arena, details, ret_request);
    ret_request->has_shape = ret_request->shape.fingerprint != 0;
    if (event->query.last < event->query.first)
        event->query.first = event->query.last = 0;
    return true;
}

bool tv_watch_trace_read_head(tv_arena *arena, tv_slice line, tv_watch_trace_head *ret_head,
                              char *reterr_text, size_t reterr_size)
{
    tv_watch_trace_head head = {.values = TV_WATCH_TRACE_HASH};
    tv_json_reader reader;
    tv_json_member member;
    uint64_t version = 0;

    tv_json_reader_init(&reader, arena, line);
    while (tv_json_next(&reader, &member)) {
        if (is(member.name, "tavolaTrace"))
            version = number_of(&member, UINT32_MAX);
        else if (is(member.name, "names"))
            head.hides_names = is(text_of(&member), "hash");
        else if (is(member.name, "values"))
            head.values = is(text_of(&member), "full")    ? TV_WATCH_TRACE_FULL
                          : is(text_of(&member), "shape") ? TV_WATCH_TRACE_SHAPE
                                                          : TV_WATCH_TRACE_HASH;
    }
    if (reader.failed || version == 0) {
        snprintf(reterr_text, reterr_size, "it is not a trace: its first line has no tavolaTrace");
        return false;
    }
    if (version != TV_WATCH_TRACE_VERSION) {
        snprintf(reterr_text, reterr_size,
                 "it is a trace of version %llu, and this tavola reads version %d",
                 (unsigned long long)version, TV_WATCH_TRACE_VERSION);
        return false;
    }
    *ret_head = head;
    return true;
}
