/* Templates of keys as expressions of a language: see cure_parts.h. */
#include "insight/advice/cure_parts.h"

/* ---- templates of keys ----------------------------------------------------------------------- */

bool tv_cure_next_piece(tv_slice *rest, tv_cure_piece *ret_piece)
{
    size_t open = tv_slice_find(*rest, '{'), close, colon;
    tv_slice inside;

    if (rest->len == 0)
        return false;
    *ret_piece = (tv_cure_piece){.is_text = open > 0, .text = tv_slice_take(*rest, open)};
    if (open > 0) {
        *rest = tv_slice_skip(*rest, open);
        return true;
    }
    close = tv_slice_find(*rest, '}');
    inside = tv_slice_skip(tv_slice_take(*rest, close), 1);
    colon = tv_slice_find(inside, ':');
    ret_piece->text = tv_slice_take(inside, colon);
    ret_piece->how = tv_slice_skip(inside, colon < inside.len ? colon + 1 : colon);
    *rest = tv_slice_skip(*rest, close < rest->len ? close + 1 : close);
    return true;
}

bool tv_cure_is_key(tv_slice name)
{
    return tv_slice_eq(name, TV_LIT("PartitionKey")) || tv_slice_eq(name, TV_LIT("RowKey"));
}

bool tv_cure_has(tv_slice template, tv_slice name)
{
    tv_cure_piece one;

    while (tv_cure_next_piece(&template, &one)) {
        if (!one.is_text && tv_slice_eq(one.text, name))
            return true;
    }
    return false;
}

bool tv_cure_is_guid(const tv_cure *c, tv_slice name)
{
    for (size_t i = 0; i < c->view.part_count; i++) {
        if (tv_slice_eq(c->view.parts[i].name, name))
            return c->view.parts[i].type == TV_EDM_GUID;
    }
    return false;
}

const char *tv_cure_maker(const tv_cure *c, const tv_cure_piece *one)
{
    if (tv_slice_starts_with(one->how, TV_LIT("pad")))
        return "padded";
    if (tv_slice_eq(one->how, TV_LIT("ticks")))
        return "ticks";
    if (tv_slice_eq(one->how, TV_LIT("inv")))
        return "inverted";
    if (tv_slice_starts_with(one->how, TV_LIT("hash")))
        return "bucket";
    if (tv_cure_is_key(one->text))
        return "";
    return tv_cure_is_guid(c, one->text) ? "guid" : "text";
}

int tv_cure_number(tv_slice how)
{
    int number = 0;

    for (size_t i = 0; i < how.len; i++) {
        if (how.data[i] >= '0' && how.data[i] <= '9')
            number = number * 10 + how.data[i] - '0';
    }
    return number;
}

/* ---- expressions ----------------------------------------------------------------------------- */

void tv_cure_add_quoted(tv_buf *out, tv_language language, tv_slice text, bool is_filled)
{
    char quote = language == TV_LANGUAGE_JAVASCRIPT && is_filled ? '`' : '"';

    for (size_t i = 0; i < text.len; i++) {
        unsigned char ch = (unsigned char)text.data[i];

        if (ch < ' ' || ch == 127) {
            tv_buf_printf(out, language == TV_LANGUAGE_C ? "\\%03o" : "\\u%04x", ch);
            continue;
        }
        if (ch == (unsigned char)quote || ch == '\\' || (quote == '`' && ch == '$'))
            tv_buf_add_char(out, '\\');
        else if (is_filled && language != TV_LANGUAGE_JAVASCRIPT && (ch == '{' || ch == '}'))
            tv_buf_add_char(out, (char)ch);
        tv_buf_add_char(out, (char)ch);
    }
}

/* The value of a property of `e`: in C, how it is named. */
static void add_value(tv_cure *c, const tv_cure_piece *one, const char *of)
{
    bool is_partition = tv_slice_eq(one->text, TV_LIT("PartitionKey"));
    bool is_time = tv_slice_eq(one->text, TV_LIT("Timestamp"));

    if (is_time) {
        tv_buf_add_lit(c->out, "time");
        return;
    }
    switch (c->language) {
    case TV_LANGUAGE_C:
        if (tv_cure_is_key(one->text))
            tv_buf_printf(c->out, "tavola_entity_%s_key(%s)", is_partition ? "partition" : "row",
                          of);
        else if (one->how.len && one->how.data[0] != 'p')
            tv_buf_printf(c->out, "time_of(%s, \"%.*s\")", of, TV_FMT(one->text));
        else
            tv_buf_printf(c->out, "%s, \"%.*s\"", of, TV_FMT(one->text));
        break;
    case TV_LANGUAGE_PYTHON:
        tv_buf_printf(c->out, "%s['%.*s']", of, TV_FMT(one->text));
        break;
    case TV_LANGUAGE_CSHARP:
        if (tv_cure_is_key(one->text))
            tv_buf_printf(c->out, "%s.%.*s", of, TV_FMT(one->text));
        else if (tv_cure_is_guid(c, one->text))
            tv_buf_printf(c->out, "%s.GetGuid(\"%.*s\")", of, TV_FMT(one->text));
        else if (one->how.len == 0)
            tv_buf_printf(c->out, "%s.GetString(\"%.*s\")", of, TV_FMT(one->text));
        else if (one->how.data[0] == 'p')
            tv_buf_printf(c->out, "%s[\"%.*s\"]", of, TV_FMT(one->text));
        else
            tv_buf_printf(c->out, "%s.GetDateTimeOffset(\"%.*s\").Value", of, TV_FMT(one->text));
        break;
    default:
        if (tv_cure_is_key(one->text))
            tv_buf_printf(c->out, "%s.%s", of, is_partition ? "partitionKey" : "rowKey");
        else
            tv_buf_printf(c->out, "%s.%.*s", of, TV_FMT(one->text));
    }
}

/* One part of a key as an expression. */
static void add_piece(tv_cure *c, const tv_cure_piece *one, const char *of)
{
    const char *maker = tv_cure_maker(c, one);
    bool is_plain = maker[0] == '\0';

    if (c->language == TV_LANGUAGE_C) {
        tv_buf_printf(c->out, is_plain ? "add(key, " : "add_%s(key, ", maker);
    } else if (strcmp(maker, "guid") == 0) {
        add_value(c, one, of);
        tv_buf_add(c->out, tv_slice_of(c->language == TV_LANGUAGE_PYTHON ? ".hex"
                                       : c->language == TV_LANGUAGE_CSHARP
                                           ? ":N"
                                           : ".value.replaceAll(\"-\", \"\")"));
        return;
    } else if (!is_plain) {
        if (c->language == TV_LANGUAGE_CSHARP)
            tv_buf_printf(c->out, "%c%s(", maker[0] - 'a' + 'A', maker + 1);
        else
            tv_buf_printf(c->out, "%s(", maker);
    }
    add_value(c, one, of);
    if (strcmp(maker, "padded") == 0 || strcmp(maker, "bucket") == 0)
        tv_buf_printf(c->out, ", %d", tv_cure_number(one->how));
    if (!is_plain || c->language == TV_LANGUAGE_C)
        tv_buf_add_char(c->out, ')');
}

/* C: what is added to `key`, one after the other. */
static void add_steps(tv_cure *c, tv_slice template, const char *range_of)
{
    bool is_first = true;
    tv_cure_piece one;

    if (template.len == 0)
        tv_buf_add_lit(c->out, "true");
    while (tv_cure_next_piece(&template, &one)) {
        if (!is_first)
            tv_buf_add_lit(c->out, " &&\n           ");
        is_first = false;
        if (one.is_text) {
            tv_buf_add_lit(c->out, "add(key, \"");
            tv_cure_add_quoted(c->out, c->language, one.text, false);
            tv_buf_add_lit(c->out, "\")");
        } else {
            bool is_range = c->range_count && tv_slice_eq(one.text, c->ranges[0]->name);

            add_piece(c, &one, is_range ? range_of : "e");
        }
    }
}

void tv_cure_add_key(tv_cure *c, tv_slice template, const char *range_of)
{
    bool has_text = template.len == 0 || tv_slice_find(template, '{') != 0 ||
                    tv_slice_find(template, '}') + 1 < template.len;
    bool is_filled = tv_slice_find(template, '{') < template.len;
    tv_slice rest = template;
    tv_cure_piece one;

    if (c->language == TV_LANGUAGE_C) {
        add_steps(c, template, range_of);
        return;
    }
    /* In C# a format makes a text of a Guid. */
    has_text |= c->language == TV_LANGUAGE_CSHARP && tv_cure_next_piece(&rest, &one) &&
                !one.is_text && tv_cure_is_guid(c, one.text);
    if (has_text)
        tv_buf_add(c->out, tv_slice_of(!is_filled                              ? "\""
                                       : c->language == TV_LANGUAGE_PYTHON     ? "f\""
                                       : c->language == TV_LANGUAGE_JAVASCRIPT ? "`"
                                                                               : "$\""));
    while (tv_cure_next_piece(&template, &one)) {
        if (one.is_text) {
            tv_cure_add_quoted(c->out, c->language, one.text, is_filled);
            continue;
        }
        if (has_text)
            tv_buf_add(c->out, tv_slice_of(c->language == TV_LANGUAGE_JAVASCRIPT ? "${" : "{"));
        add_piece(c, &one,
                  c->range_count && tv_slice_eq(one.text, c->ranges[0]->name) ? range_of : "e");
        if (has_text)
            tv_buf_add_char(c->out, '}');
    }
    if (has_text)
        tv_buf_add_char(c->out, c->language == TV_LANGUAGE_JAVASCRIPT && is_filled ? '`' : '"');
}
