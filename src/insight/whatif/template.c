/* Reading templates, and making keys with them. */
#include "insight/whatif/template.h"

#include <openssl/sha.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/number.h"
#include "base/utf8.h"

/* --- reading --- */

static const struct {
    const char *name;
    tv_template_step_kind kind;
    bool has_argument;
} steps[] = {
    {"pad", TV_STEP_PAD, true},   {"ticks", TV_STEP_TICKS, false}, {"inv", TV_STEP_INV, false},
    {"date", TV_STEP_DATE, true}, {"lower", TV_STEP_LOWER, false}, {"first", TV_STEP_FIRST, true},
    {"hash", TV_STEP_HASH, true},
};

static bool parse_step(tv_slice text, tv_template_step *ret_step)
{
    size_t open = tv_slice_find(text, '(');
    tv_slice name = tv_slice_take(text, open);
    bool has_argument = open < text.len;
    tv_slice argument = has_argument ? tv_slice_skip(text, open + 1) : TV_NONE;
    int32_t number = 0;

    if (has_argument && (argument.len == 0 || argument.data[argument.len - 1] != ')'))
        return false;
    if (has_argument)
        argument.len--;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (!tv_slice_eq(name, tv_slice_of(steps[i].name)))
            continue;
        if (steps[i].has_argument != has_argument)
            return false;
        *ret_step = (tv_template_step){.kind = steps[i].kind, .format = argument};
        if (!has_argument || steps[i].kind == TV_STEP_DATE)
            return !has_argument || argument.len > 0;
        if (!tv_parse_int32(argument, &number) || number < 1 ||
            (steps[i].kind == TV_STEP_PAD && number > 20))
            return false;
        ret_step->number = (uint32_t)number;
        return true;
    }
    return false;
}

/* "Name:lower:first(2)", the inside of braces. */
static bool parse_placeholder(tv_slice text, tv_template_part *ret_part)
{
    tv_slice word;

    if (!tv_slice_next(&text, ':', &word) || word.len == 0)
        return false;
    *ret_part = (tv_template_part){.text = word};
    while (tv_slice_next(&text, ':', &word)) {
        if (ret_part->step_count == TV_TEMPLATE_STEPS_MAX ||
            !parse_step(word, &ret_part->steps[ret_part->step_count++]))
            return false;
    }
    return true;
}

static const char *parse_template(tv_slice text, tv_template *ret_template)
{
    *ret_template = (tv_template){.count = 0};
    while (text.len) {
        tv_template_part *part = &ret_template->parts[ret_template->count++];
        size_t open = tv_slice_find(text, '{');

        if (ret_template->count == TV_TEMPLATE_PARTS_MAX)
            return "has too many parts";
        if (open) {
            *part = (tv_template_part){.is_text = true, .text = tv_slice_take(text, open)};
            if (tv_slice_find(part->text, '}') < part->text.len)
                return "has a } without its {";
            text = tv_slice_skip(text, open);
            continue;
        }

        size_t close = tv_slice_find(text, '}');

        if (close == text.len)
            return "has a { without its }";
        if (!parse_placeholder(tv_slice_skip(tv_slice_take(text, close), 1), part))
            return "has a placeholder that is not {Property} with :pad(n), :ticks, :inv, "
                   ":date(yyyyMMdd), :lower, :first(n) or :hash(n)";
        text = tv_slice_skip(text, close + 1);
    }
    return NULL;
}

static const char *parse_columns(tv_slice text, tv_design *design)
{
    tv_slice name;

    while (tv_slice_next(&text, ',', &name)) {
        if (design->column_count == TV_DESIGN_COLUMNS_MAX || name.len == 0)
            return "is a list of properties: Columns=a,b";
        design->columns[design->column_count++] = name;
    }
    return NULL;
}

/* What it says goes into keys, and back to a terminal. */
static bool is_text(tv_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7F)
            return false;
    }
    return tv_utf8_is_valid(text);
}

bool tv_design_parse(tv_slice text, tv_design *ret_design, char *reterr_text, size_t reterr_size)
{
    tv_slice rest = text, item;
    const char *why = NULL;

    *ret_design = (tv_design){.text = text};
    if (!is_text(text)) {
        snprintf(reterr_text, reterr_size, "a design is UTF-8 text without control characters");
        return false;
    }
    while (tv_slice_next(&rest, ';', &item)) {
        size_t equals = tv_slice_find(item, '=');
        tv_slice name = tv_slice_trim(tv_slice_take(item, equals));
        tv_slice value = tv_slice_skip(item, equals < item.len ? equals + 1 : equals);

        if (tv_slice_eq(name, TV_LIT("PartitionKey")))
            why = parse_template(value, &ret_design->partition);
        else if (tv_slice_eq(name, TV_LIT("RowKey")))
            why = parse_template(value, &ret_design->row);
        else if (tv_slice_eq(name, TV_LIT("Columns")))
            why = parse_columns(value, ret_design);
        else
            why = "is not PartitionKey, RowKey or Columns";
        if (why) {
            snprintf(reterr_text, reterr_size, "%.*s in '%.*s' %s", TV_FMT(name), TV_FMT(text),
                     why);
            return false;
        }
    }
    if (ret_design->partition.count && ret_design->row.count)
        return true;
    snprintf(reterr_text, reterr_size,
             "'%.*s' needs both keys: \"PartitionKey=email_{Email};RowKey={RowKey}\"",
             TV_FMT(text));
    return false;
}

/* --- values --- */

static const tv_template_step *find_step(const tv_template_part *part, tv_template_step_kind kind)
{
    for (size_t i = 0; i < part->step_count; i++) {
        if (part->steps[i].kind == kind)
            return &part->steps[i];
    }
    return NULL;
}

static bool is_key(tv_slice name)
{
    return tv_slice_eq(name, TV_LIT("PartitionKey")) || tv_slice_eq(name, TV_LIT("RowKey"));
}

/* What may not stand in a key, written as %XX. */
static tv_slice escape(tv_arena *arena, tv_slice text)
{
    char *copy = tv_arena_bytes(arena, 3 * text.len + 1), *to = copy;

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        /* U+0080 to U+009F are C2 80 to C2 9F. */
        bool is_c1 = c == 0xC2 && i + 1 < text.len && (unsigned char)text.data[i + 1] < 0xA0;

        if (c < 0x20 || c == 0x7F || memchr("%/\\#?", c, 5)) {
            to += snprintf(to, 4, "%%%02X", c);
        } else if (is_c1) {
            to += snprintf(to, 4, "%%%02X", (unsigned char)text.data[++i]);
        } else {
            *to++ = (char)c;
        }
    }
    return (tv_slice){copy, (size_t)(to - copy)};
}

static tv_slice first_characters(tv_slice text, uint32_t count)
{
    size_t at = 0;

    for (; at < text.len && count; count--) {
        at++;
        while (at < text.len && ((unsigned char)text.data[at] & 0xC0) == 0x80)
            at++;
    }
    return tv_slice_take(text, at);
}

static tv_slice lower(tv_arena *arena, tv_slice text)
{
    char *copy = tv_arena_bytes(arena, text.len + 1);

    for (size_t i = 0; i < text.len; i++)
        copy[i] = tv_ascii_lower(text.data[i]);
    return (tv_slice){copy, text.len};
}

/* As tavola_key_spread: the first 32 bits of SHA-256, in as many digits as the last bucket has. */
static tv_slice bucket_of(tv_arena *arena, tv_slice text, uint32_t buckets)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    uint32_t number;
    int width = 1;

    SHA256((const unsigned char *)text.data, text.len, digest);
    number = (uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 | (uint32_t)digest[2] << 8 |
             digest[3];
    for (uint32_t last = buckets - 1; last >= 10; last /= 10)
        width++;
    return tv_arena_printf(arena, "%0*u", width, number % buckets);
}

static tv_slice date_text(tv_arena *arena, tv_slice format, int64_t ticks)
{
    tv_date date = tv_date_of(ticks);
    const struct {
        const char *name;
        int width, value;
    } fields[] = {{"yyyy", 4, date.year}, {"MM", 2, date.month},  {"dd", 2, date.day},
                  {"HH", 2, date.hour},   {"mm", 2, date.minute}, {"ss", 2, date.second}};
    tv_buf text = TV_BUF_EMPTY;

    while (format.len) {
        size_t i = 0;

        while (i < 6 && !tv_slice_starts_with(format, tv_slice_of(fields[i].name)))
            i++;
        if (i < 6)
            tv_buf_printf(&text, "%0*d", fields[i].width, fields[i].value);
        else
            tv_buf_add_char(&text, format.data[0]);
        format = tv_slice_skip(format, i < 6 ? strlen(fields[i].name) : 1);
    }

    tv_slice copy = tv_arena_dup(arena, tv_buf_slice(&text));

    tv_buf_done(&text);
    return copy;
}

static bool padded(tv_arena *arena, int64_t number, uint32_t width, tv_slice *ret_text)
{
    *ret_text = tv_arena_printf(arena, "%0*lld", (int)width, (long long)number);
    return number >= 0 && ret_text->len == width;
}

static bool time_text(tv_arena *arena, const tv_template_part *part, int64_t ticks,
                      tv_slice *ret_text)
{
    const tv_template_step *date = find_step(part, TV_STEP_DATE);
    bool is_inverted = find_step(part, TV_STEP_INV) != NULL;

    if (date)
        *ret_text = date_text(arena, date->format, ticks);
    else
        *ret_text = tv_arena_printf(arena, "%019lld",
                                    (long long)(is_inverted ? TV_TICKS_MAX - ticks : ticks));
    return true;
}

/* The text before what :lower, :first and :hash make of it. */
static bool plain_text(tv_arena *arena, const tv_template_part *part, const tv_property *value,
                       tv_slice *ret_text)
{
    const tv_template_step *pad = find_step(part, TV_STEP_PAD);
    bool is_time = find_step(part, TV_STEP_TICKS) || find_step(part, TV_STEP_INV) ||
                   find_step(part, TV_STEP_DATE);
    char guid[TV_GUID_TEXT_LEN];

    if (is_time != (value->type == TV_EDM_DATETIME) && (is_time || pad))
        return false;
    switch (value->type) {
    case TV_EDM_STRING:
        *ret_text = value->bytes;
        return pad == NULL;
    case TV_EDM_BOOLEAN:
        *ret_text = value->boolean ? TV_LIT("true") : TV_LIT("false");
        return pad == NULL;
    case TV_EDM_INT32:
        if (pad)
            return padded(arena, value->int32, pad->number, ret_text);
        *ret_text = tv_arena_printf(arena, "%010lld", (long long)value->int32 + (INT64_C(1) << 31));
        return true;
    case TV_EDM_INT64:
        if (pad)
            return padded(arena, value->int64, pad->number, ret_text);
        *ret_text = tv_arena_printf(arena, "%020llu",
                                    (unsigned long long)value->int64 + (UINT64_C(1) << 63));
        return true;
    case TV_EDM_DATETIME:
        return time_text(arena, part, value->ticks, ret_text);
    case TV_EDM_GUID: {
        char *digits = tv_arena_bytes(arena, 32), *to = digits;

        tv_guid_format(guid, &value->guid);
        for (size_t i = 0; i < sizeof guid; i++) {
            if (guid[i] != '-')
                *to++ = guid[i];
        }
        *ret_text = (tv_slice){digits, 32};
        return pad == NULL;
    }
    case TV_EDM_DOUBLE:
    case TV_EDM_BINARY:
        break;
    }
    return false;
}

bool tv_template_value(tv_arena *arena, const tv_template_part *part, const tv_property *value,
                       tv_slice *ret_text)
{
    const tv_template_step *first = find_step(part, TV_STEP_FIRST);
    const tv_template_step *hash = find_step(part, TV_STEP_HASH);

    if (!plain_text(arena, part, value, ret_text))
        return false;
    if (find_step(part, TV_STEP_LOWER))
        *ret_text = lower(arena, *ret_text);
    if (first)
        *ret_text = first_characters(*ret_text, first->number);
    if (hash)
        *ret_text = bucket_of(arena, *ret_text, hash->number);
    else if (value->type == TV_EDM_STRING && !is_key(part->text))
        *ret_text = escape(arena, *ret_text);
    return true;
}

bool tv_template_keeps_order(const tv_template_part *part, tv_edm_type type, bool *ret_is_reversed)
{
    bool is_number = type == TV_EDM_INT32 || type == TV_EDM_INT64;

    *ret_is_reversed = find_step(part, TV_STEP_INV) != NULL;
    if (find_step(part, TV_STEP_FIRST) || find_step(part, TV_STEP_HASH) ||
        find_step(part, TV_STEP_LOWER) || find_step(part, TV_STEP_DATE))
        return false;
    return is_number || type == TV_EDM_DATETIME;
}

bool tv_template_apply(tv_arena *arena, const tv_template *template_, tv_template_find *find,
                       void *ctx, tv_slice *ret_text, tv_slice *reterr_missing)
{
    tv_buf text = TV_BUF_EMPTY;
    bool is_whole = true;

    for (size_t i = 0; i < template_->count && is_whole; i++) {
        const tv_template_part *part = &template_->parts[i];
        tv_property value;
        tv_slice piece = part->text;

        is_whole = part->is_text || (find(ctx, part->text, &value) &&
                                     tv_template_value(arena, part, &value, &piece));
        if (is_whole)
            tv_buf_add(&text, piece);
        else
            *reterr_missing = part->text;
    }
    *ret_text = tv_arena_dup(arena, tv_buf_slice(&text));
    tv_buf_done(&text);
    return is_whole;
}
