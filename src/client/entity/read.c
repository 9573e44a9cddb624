/*
 * JSON to entities.
 *
 * In one pass: a type annotation nearly always stands directly before its property, whose value is
 * then read as that type.  Any other annotation is kept until the object is over; then its property
 * is read again.  That works because nothing was lost: a string is still there, and a number can be
 * found behind its name.
 */
#include "client/entity/read.h"

#include <math.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/guid.h"
#include "base/number.h"
#include "client/entity/own.h"

enum {
    PROPERTIES_FIRST = 16,
    AT_LEAST_MORE = 16,
    MANY = 32 * 1024, /* what follows a dense beginning need not be like it */
};

/*
 * Whether two texts of the same length are equal.  Names are short, and lengths often known to the
 * compiler: two loads that overlap are faster than a call.
 */
static inline bool is_equal(const char *a, const char *b, size_t len)
{
    uint64_t a_first, a_last, b_first, b_last;

    if (len > 16)
        return memcmp(a, b, len) == 0;
    if (len >= 8) {
        memcpy(&a_first, a, 8);
        memcpy(&b_first, b, 8);
        memcpy(&a_last, a + len - 8, 8);
        memcpy(&b_last, b + len - 8, 8);
        return ((a_first ^ b_first) | (a_last ^ b_last)) == 0;
    }
    for (size_t i = 0; i < len; i++) {
        if (a[i] != b[i])
            return false;
    }
    return true;
}

#define IS(slice, literal)                                                                         \
    ((slice).len == sizeof(literal) - 1 && is_equal((slice).data, literal, sizeof(literal) - 1))
#define BEGINS(slice, literal)                                                                     \
    ((slice).len >= sizeof(literal) - 1 && is_equal((slice).data, literal, sizeof(literal) - 1))

/* What a value is in JSON. */
typedef enum token_kind { STRING, NUMBER, TRUE, FALSE } token_kind;

typedef struct json_token {
    token_kind kind;
    bool is_integer; /* NUMBER */
    tv_slice text;   /* STRING and NUMBER */
} json_token;

void tvc_entity_reader_init(tvc_entity_reader *reader, char *json, size_t json_len)
{
    json[json_len] = '\0';
    reader->scan = (tvc_scan){json, json + json_len};
    reader->start = json;
    reader->properties = NULL;
    reader->count = reader->size = 0;
    reader->err = TAVOLA_OK;
    memset(reader->days, 0, sizeof reader->days);
    reader->late_count = 0;
}

static bool fail(tvc_entity_reader *reader, tavola_err err)
{
    reader->err = err;
    return false;
}

static bool malformed(tvc_entity_reader *reader)
{
    return fail(reader, TAVOLA_ERR_PROTOCOL);
}

size_t tvc_entity_reader_estimate(const tvc_entity_reader *reader, size_t count)
{
    size_t done = (size_t)(reader->scan.at - reader->start) + 1;
    size_t left = (size_t)(reader->scan.end - reader->scan.at);
    double more = 1.05 * (double)count * (double)left / (double)done;
    size_t most = count < MANY ? MANY : 7 * count;

    return count + (more < (double)most ? (size_t)more : most) + AT_LEAST_MORE;
}

static bool grow(tvc_entity_reader *reader)
{
    size_t size =
        reader->count ? tvc_entity_reader_estimate(reader, reader->count) : PROPERTIES_FIRST;
    tvc_property *properties = tvc_resize(reader->properties, size * sizeof *properties);

    if (properties == NULL)
        return fail(reader, TAVOLA_ERR_NO_MEMORY);
    reader->properties = properties;
    reader->size = size;
    return true;
}

/* --- one value of each type --- */

static bool read_double(const json_token *token, tavola_value *value)
{
    if (token->kind == NUMBER || token->kind == STRING) {
        if (tv_parse_double(token->text, &value->as.real))
            return true;
        if (token->kind == STRING && tv_slice_eq(token->text, TV_LIT("NaN"))) {
            value->as.real = NAN;
            return true;
        }
        if (token->kind == STRING && tv_slice_eq(token->text, TV_LIT("Infinity"))) {
            value->as.real = INFINITY;
            return true;
        }
        if (token->kind == STRING && tv_slice_eq(token->text, TV_LIT("-Infinity"))) {
            value->as.real = -INFINITY;
            return true;
        }
    }
    return false;
}

static bool read_boolean(const json_token *token, tavola_value *value)
{
    bool is_true = token->kind == TRUE, is_false = token->kind == FALSE;

    if (token->kind == STRING) {
        is_true = tv_slice_eq_nocase(token->text, TV_LIT("true"));
        is_false = tv_slice_eq_nocase(token->text, TV_LIT("false"));
    }
    value->as.boolean = is_true;
    return is_true || is_false;
}

/* In place: what is decoded is shorter than its text. */
static bool read_binary(const json_token *token, tavola_value *value)
{
    char *bytes = (char *)(uintptr_t)token->text.data;

    if (token->kind != STRING || !tv_base64_decode(bytes, token->text, &value->size))
        return false;
    bytes[value->size] = '\0';
    value->as.ptr = bytes;
    return true;
}

/* `count` digits at `at`; more than nine give nonsense. -1 when something else is among them. */
static int read_digits(const char *at, size_t count)
{
    int number = 0;

    for (size_t i = 0; i < count; i++) {
        unsigned digit = (unsigned char)at[i] - (unsigned)'0';

        if (digit > 9)
            return -1;
        number = number * 10 + (int)digit;
    }
    return number;
}

/*
 * "T03:04:05.1234567Z" as ticks; -1 when it is anything else, which need not be wrong: other forms
 * are left to tv_datetime_parse_exact: an answer that would have to be cut is not the service's.
 */
static tavola_ticks read_time(tv_slice text)
{
    static const int powers[] = {10000000, 1000000, 100000, 10000, 1000, 100, 10, 1};
    enum { SECONDS_LEN = sizeof "T03:04:05" - 1 };
    const char *at = text.data;
    int fraction = 0;

    if (text.len <= SECONDS_LEN || at[0] != 'T' || at[3] != ':' || at[6] != ':' ||
        at[text.len - 1] != 'Z')
        return -1;

    int hours = read_digits(at + 1, 2), minutes = read_digits(at + 4, 2),
        seconds = read_digits(at + 7, 2);

    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || seconds < 0 || seconds > 59)
        return -1;
    if (text.len > SECONDS_LEN + 1) {
        size_t digits = text.len - SECONDS_LEN - 2;

        if (at[SECONDS_LEN] != '.' || digits < 1 || digits > 7)
            return -1;
        fraction = read_digits(at + SECONDS_LEN + 1, digits);
        if (fraction < 0)
            return -1;
        fraction *= powers[digits];
    }
    return (hours * 3600 + minutes * 60 + seconds) * TV_TICKS_PER_SECOND + fraction;
}

/* The calendar is slow, and the times of a page fall on few days: these are kept. */
static bool read_datetime(tvc_entity_reader *reader, tv_slice text, tavola_ticks *ret_ticks)
{
    const tavola_ticks ticks_per_day = 86400 * TV_TICKS_PER_SECOND;
    enum { DAY_LEN = sizeof reader->days->text };
    tavola_ticks time = text.len > DAY_LEN ? read_time(tv_slice_skip(text, DAY_LEN)) : -1;

    if (time < 0)
        return tv_datetime_parse_exact(text, ret_ticks);

    tvc_day *day = &reader->days[(text.data[9] ^ text.data[6] << 1) & (TVC_DAYS_KEPT - 1)];

    if (!is_equal(text.data, day->text, DAY_LEN)) {
        if (!tv_datetime_parse_exact(text, ret_ticks))
            return false;
        memcpy(day->text, text.data, DAY_LEN);
        day->ticks = *ret_ticks - *ret_ticks % ticks_per_day;
    }
    *ret_ticks = day->ticks + time;
    return true;
}

static bool read_as(tvc_entity_reader *reader, const json_token *token, tavola_type type,
                    tavola_value *ret_value)
{
    tavola_value value = {.type = type};
    bool has_digits = token->kind == STRING || token->kind == NUMBER;
    tv_guid guid;
    bool ok = false;

    switch (type) {
    case TAVOLA_STRING:
        value.size = token->text.len;
        value.as.ptr = token->text.data;
        ok = token->kind == STRING;
        break;
    case TAVOLA_BINARY:
        ok = read_binary(token, &value);
        break;
    case TAVOLA_BOOLEAN:
        ok = read_boolean(token, &value);
        break;
    case TAVOLA_INT32:
        ok = has_digits && tv_parse_int32(token->text, &value.as.int32);
        break;
    case TAVOLA_INT64:
        ok = has_digits && tv_parse_int64(token->text, &value.as.int64);
        break;
    case TAVOLA_DOUBLE:
        ok = read_double(token, &value);
        break;
    case TAVOLA_DATETIME:
        ok = token->kind == STRING && read_datetime(reader, token->text, &value.as.ticks);
        break;
    case TAVOLA_GUID:
        ok = token->kind == STRING && tv_guid_parse(token->text, &guid);
        if (ok)
            memcpy(value.as.guid.bytes, guid.bytes, sizeof guid.bytes);
        break;
    case TAVOLA_NONE:
        break;
    }
    *ret_value = value;
    return ok || malformed(reader);
}

/* By the text of the token: 20 is an Int32, 20.0 a Double, and so is what an Int32 cannot hold. */
static bool read_plain(tvc_entity_reader *reader, const json_token *token, tavola_value *ret_value)
{
    tavola_value value = {.type = TAVOLA_INT32};

    if (token->kind == STRING)
        return read_as(reader, token, TAVOLA_STRING, ret_value);
    if (token->kind != NUMBER)
        return read_as(reader, token, TAVOLA_BOOLEAN, ret_value);
    if (token->is_integer && tv_parse_int32(token->text, &value.as.int32)) {
        *ret_value = value;
        return true;
    }
    return read_as(reader, token, TAVOLA_DOUBLE, ret_value);
}

/* --- members --- */

static tavola_type type_of(tv_slice name)
{
    return IS(name, "Edm.Int64")      ? TAVOLA_INT64
           : IS(name, "Edm.DateTime") ? TAVOLA_DATETIME
           : IS(name, "Edm.Guid")     ? TAVOLA_GUID
           : IS(name, "Edm.Binary")   ? TAVOLA_BINARY
           : IS(name, "Edm.Double")   ? TAVOLA_DOUBLE
           : IS(name, "Edm.Int32")    ? TAVOLA_INT32
           : IS(name, "Edm.Boolean")  ? TAVOLA_BOOLEAN
           : IS(name, "Edm.String")   ? TAVOLA_STRING
                                      : TAVOLA_NONE;
}

/* A value that a property or key can have; false at a null, too, and then *ret_is_null. */
static bool read_token(tvc_entity_reader *reader, json_token *ret_token, bool *ret_is_null)
{
    tvc_scan *scan = &reader->scan;
    bool ok;

    *ret_is_null = false;
    switch (*scan->at) {
    case '"':
        ret_token->kind = STRING;
        ok = tvc_scan_string(scan, true, &ret_token->text);
        break;
    case 't':
        *ret_token = (json_token){.kind = TRUE};
        ok = tvc_scan_word(scan, TV_LIT("true"));
        break;
    case 'f':
        *ret_token = (json_token){.kind = FALSE};
        ok = tvc_scan_word(scan, TV_LIT("false"));
        break;
    case 'n':
        *ret_is_null = tvc_scan_word(scan, TV_LIT("null"));
        return *ret_is_null ? false : malformed(reader);
    default: /* an object or array is not a number, either */
        ret_token->kind = NUMBER;
        ok = tvc_scan_number(scan, &ret_token->text, &ret_token->is_integer);
        break;
    }
    return ok || malformed(reader);
}

/* A key or etag, which is `none` until it comes, and comes once; a null leaves it as it is. */
static bool read_text(tvc_entity_reader *reader, const char **text, const char *none)
{
    tv_slice slice;

    if (*reader->scan.at == 'n')
        return tvc_scan_word(&reader->scan, TV_LIT("null")) || malformed(reader);
    if (*text != none || !tvc_scan_string(&reader->scan, false, &slice))
        return malformed(reader);
    *text = slice.data;
    return true;
}

static bool read_timestamp(tvc_entity_reader *reader, tavola_ticks *ticks)
{
    tv_slice text;

    if (*reader->scan.at == 'n')
        return tvc_scan_word(&reader->scan, TV_LIT("null")) || malformed(reader);
    return (*ticks == 0 && tvc_scan_string(&reader->scan, false, &text) &&
            read_datetime(reader, text, ticks)) ||
           malformed(reader);
}

/*
 * Whether the entity has a property of this name already.  What is read by the first of them may
 * not be what was checked by the last.  Most names have a bit of their own, so few are compared.
 */
static bool is_repeated(tvc_entity_reader *reader, const tavola_entity *entity, tv_slice name)
{
    unsigned mixed = (unsigned)name.len * 7u;

    if (name.len)
        mixed += (unsigned char)name.data[0] * 5u + (unsigned char)name.data[name.len - 1] * 3u +
                 (unsigned char)name.data[name.len / 2];

    uint64_t bit = UINT64_C(1) << (mixed & 63);
    bool may_be = reader->seen & bit;

    reader->seen |= bit;
    if (!may_be)
        return false;

    const tavola_entity view = {.properties = reader->properties + reader->count - entity->count,
                                .count = entity->count};

    return tvc_entity_find(&view, name) >= 0;
}

static bool add_property(tvc_entity_reader *reader, tavola_entity *entity, tv_slice name,
                         tavola_type type)
{
    json_token token;
    bool is_null;

    if (!read_token(reader, &token, &is_null))
        return is_null;
    if (entity->count == TVC_READ_PROPERTIES_MAX || is_repeated(reader, entity, name))
        return malformed(reader);
    if (reader->count == reader->size && !grow(reader))
        return false;

    tvc_property *property = &reader->properties[reader->count];

    property->name = name.data;
    property->name_len = (uint32_t)name.len;
    property->is_set = property->is_secret = false;
    if (type == TAVOLA_NONE ? !read_plain(reader, &token, &property->value)
                            : !read_as(reader, &token, type, &property->value))
        return false;
    reader->count++;
    entity->count++;
    return true;
}

/* The annotation stands where it should not: its turn is at the end of the object. */
static bool keep_for_later(tvc_entity_reader *reader, tvc_annotation annotation)
{
    if (reader->late_count == TVC_READ_PROPERTIES_MAX)
        return malformed(reader);

    reader->late[reader->late_count++] = annotation;
    return true;
}

/* The number that follows a property's name; the text between them is still there. */
static bool find_number(const tvc_property *property, json_token *ret_token)
{
    char *after_name = (char *)(uintptr_t)property->name + property->name_len + 1;
    tvc_scan scan = {after_name, NULL};

    if (!tvc_scan_pass(&scan, ':'))
        return false;
    tvc_scan_blanks(&scan);
    ret_token->kind = NUMBER;
    return tvc_scan_number(&scan, &ret_token->text, &ret_token->is_integer);
}

static bool read_again(tvc_entity_reader *reader, tvc_property *property, tavola_type type)
{
    json_token token = {.kind = STRING, .text = {property->value.as.ptr, property->value.size}};

    if (property->value.type == TAVOLA_BOOLEAN)
        token.kind = property->value.as.boolean ? TRUE : FALSE;
    else if (property->value.type != TAVOLA_STRING && !find_number(property, &token))
        return malformed(reader);
    return read_as(reader, &token, type, &property->value);
}

static bool read_late(tvc_entity_reader *reader, const tavola_entity *entity)
{
    if (entity->count == 0)
        return true;

    const tavola_entity view = {.properties = reader->properties + reader->count - entity->count,
                                .count = entity->count};

    for (size_t i = 0; i < reader->late_count; i++) {
        const tvc_annotation *late = &reader->late[i];
        int index = tvc_entity_find(&view, late->name);

        if (index >= 0 && !read_again(reader, &view.properties[index], late->type))
            return false;
    }
    return true;
}

/* A member that belongs to the protocol. */
static bool read_metadata(tvc_entity_reader *reader, tavola_entity *entity, tv_slice name)
{
    if (IS(name, "odata.etag"))
        return read_text(reader, &entity->etag, NULL);
    return tvc_scan_skip(&reader->scan) || malformed(reader);
}

/* Whether a name is "P@odata.type"; then it is cut to "P". */
static bool is_type_annotation(tv_slice *name)
{
    enum { SUFFIX_LEN = sizeof "@odata.type" - 1 };

    if (name->len < SUFFIX_LEN ||
        !is_equal(name->data + name->len - SUFFIX_LEN, "@odata.type", SUFFIX_LEN))
        return false;
    name->len -= SUFFIX_LEN;
    return true;
}

/* Names are short: a loop is faster than a call. */
static bool has_at(tv_slice name)
{
    bool found = false;

    for (size_t i = 0; i < name.len; i++)
        found |= name.data[i] == '@';
    return found;
}

static bool read_annotation(tvc_entity_reader *reader, tvc_annotation *annotation)
{
    tv_slice type;

    if (!tvc_scan_string(&reader->scan, false, &type))
        return malformed(reader);
    annotation->type = type_of(type);
    return annotation->type != TAVOLA_NONE || malformed(reader);
}

/*
 * One member after its name.  `annotation` is that of the member before, of type NONE if that was
 * none; then that of this one.
 */
static bool read_member(tvc_entity_reader *reader, tavola_entity *entity, tv_slice name,
                        tvc_annotation *annotation)
{
    tavola_type type = annotation->type;

    annotation->type = TAVOLA_NONE;
    if (type != TAVOLA_NONE && (name.len != annotation->name.len ||
                                !is_equal(name.data, annotation->name.data, name.len))) {
        if (!keep_for_later(reader, (tvc_annotation){annotation->name, type}))
            return false;
        type = TAVOLA_NONE;
    }

    if (is_type_annotation(&name)) {
        annotation->name = name;
        return read_annotation(reader, annotation);
    }
    if (IS(name, "PartitionKey"))
        return read_text(reader, &entity->partition_key, tvc_no_key);
    if (IS(name, "RowKey"))
        return read_text(reader, &entity->row_key, tvc_no_key);
    if (IS(name, "Timestamp"))
        return read_timestamp(reader, &entity->timestamp);
    if (BEGINS(name, "odata.") || has_at(name))
        return read_metadata(reader, entity, name);
    return add_property(reader, entity, name, type);
}

bool tvc_entity_reader_next(tvc_entity_reader *reader, tavola_entity *entity)
{
    tvc_scan *scan = &reader->scan;
    tvc_annotation annotation = {.type = TAVOLA_NONE};
    tv_slice name;

    reader->late_count = 0;
    reader->seen = 0;
    if (!tvc_scan_pass(scan, '{'))
        return malformed(reader);
    if (tvc_scan_pass(scan, '}'))
        return true;

    do {
        tvc_scan_blanks(scan);
        if (!tvc_scan_string(scan, false, &name) || !tvc_scan_pass(scan, ':'))
            return malformed(reader);
        tvc_scan_blanks(scan);
        if (!read_member(reader, entity, name, &annotation))
            return false;
    } while (tvc_scan_pass(scan, ','));

    if (!tvc_scan_pass(scan, '}'))
        return malformed(reader);
    if (annotation.type != TAVOLA_NONE && !keep_for_later(reader, annotation))
        return false;
    return reader->late_count == 0 || read_late(reader, entity);
}

bool tvc_entity_reader_is_at_end(tvc_entity_reader *reader)
{
    tvc_scan_blanks(&reader->scan);
    return reader->scan.at == reader->scan.end || malformed(reader);
}

tavola_err tvc_entity_read(char *json, size_t json_len, tavola_entity **ret_entity)
{
    tavola_entity *entity = json ? tvc_entity_make(0) : NULL;
    tvc_entity_reader reader;

    if (entity == NULL) {
        tvc_release(json);
        return json ? TAVOLA_ERR_NO_MEMORY : TAVOLA_ERR_PROTOCOL;
    }

    tvc_entity_reader_init(&reader, json, json_len);
    if (tvc_entity_reader_next(&reader, entity))
        tvc_entity_reader_is_at_end(&reader);
    entity->memory->json = json;
    entity->memory->taken = json_len;
    entity->memory->read = entity->properties = reader.properties;
    entity->size = (uint32_t)reader.size;
    if (reader.err) {
        tavola_entity_free(entity);
        return reader.err;
    }
    *ret_entity = entity;
    return TAVOLA_OK;
}
