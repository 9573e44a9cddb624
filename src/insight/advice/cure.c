/* See cure.h. */
#include "insight/advice/cure.h"

#include "insight/advice/proposal.h"

enum { NAMES_MAX = TV_VIEW_PARTS_MAX };

typedef struct cure {
    tv_buf *out;
    tv_language language;
    const tv_finding *finding;
    const tv_proposal *proposal;
    tv_arena *arena;
    tv_shape_view view;
    const tv_view_part *ranges[2]; /* comparisons whose property is in the RowKey */
    size_t range_count;
    tv_slice low, high; /* templates of the range of RowKeys; `high` empty: there is none */
    char separator;
    bool is_near, is_unique, is_reversed;
} cure;

/* ---- templates of keys ----------------------------------------------------------------------- */

/* A text, or a property with what is done to it: `{Age:pad(10)}`. */
typedef struct piece {
    bool is_text;
    tv_slice text; /* or the name */
    tv_slice how;  /* `pad(10)` */
} piece;

static bool next_piece(tv_slice *rest, piece *ret_piece)
{
    size_t open = tv_slice_find(*rest, '{'), close, colon;
    tv_slice inside;

    if (rest->len == 0)
        return false;
    *ret_piece = (piece){.is_text = open > 0, .text = tv_slice_take(*rest, open)};
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

static bool is_key(tv_slice name)
{
    return tv_slice_eq(name, TV_LIT("PartitionKey")) || tv_slice_eq(name, TV_LIT("RowKey"));
}

static bool has_property(tv_slice template, tv_slice name)
{
    piece one;

    while (next_piece(&template, &one)) {
        if (!one.is_text && tv_slice_eq(one.text, name))
            return true;
    }
    return false;
}

static bool is_guid(const cure *c, tv_slice name)
{
    for (size_t i = 0; i < c->view.part_count; i++) {
        if (tv_slice_eq(c->view.parts[i].name, name))
            return c->view.parts[i].type == TV_EDM_GUID;
    }
    return false;
}

/* What makes a part of a key of a property: the name of a section of the language; empty for a key,
 * which is one as it is. */
static const char *maker_of(const cure *c, const piece *one)
{
    if (tv_slice_starts_with(one->how, TV_LIT("pad")))
        return "padded";
    if (tv_slice_eq(one->how, TV_LIT("ticks")))
        return "ticks";
    if (tv_slice_eq(one->how, TV_LIT("inv")))
        return "inverted";
    if (tv_slice_starts_with(one->how, TV_LIT("hash")))
        return "bucket";
    if (is_key(one->text))
        return "";
    return is_guid(c, one->text) ? "guid" : "text";
}

static int number_of(tv_slice how)
{
    int number = 0;

    for (size_t i = 0; i < how.len; i++) {
        if (how.data[i] >= '0' && how.data[i] <= '9')
            number = number * 10 + how.data[i] - '0';
    }
    return number;
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* A text between the quotes of a literal; `is_filled`: of one that has expressions in it. */
static void add_quoted(tv_buf *out, tv_language language, tv_slice text, bool is_filled)
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
static void add_value(cure *c, const piece *one, const char *of)
{
    bool is_partition = tv_slice_eq(one->text, TV_LIT("PartitionKey"));
    bool is_time = tv_slice_eq(one->text, TV_LIT("Timestamp"));

    if (is_time) {
        tv_buf_add_lit(c->out, "time");
        return;
    }
    switch (c->language) {
    case TV_LANGUAGE_C:
        if (is_key(one->text))
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
        if (is_key(one->text))
            tv_buf_printf(c->out, "%s.%.*s", of, TV_FMT(one->text));
        else if (is_guid(c, one->text))
            tv_buf_printf(c->out, "%s.GetGuid(\"%.*s\")", of, TV_FMT(one->text));
        else if (one->how.len == 0)
            tv_buf_printf(c->out, "%s.GetString(\"%.*s\")", of, TV_FMT(one->text));
        else if (one->how.data[0] == 'p')
            tv_buf_printf(c->out, "%s[\"%.*s\"]", of, TV_FMT(one->text));
        else
            tv_buf_printf(c->out, "%s.GetDateTimeOffset(\"%.*s\").Value", of, TV_FMT(one->text));
        break;
    default:
        if (is_key(one->text))
            tv_buf_printf(c->out, "%s.%s", of, is_partition ? "partitionKey" : "rowKey");
        else
            tv_buf_printf(c->out, "%s.%.*s", of, TV_FMT(one->text));
    }
}

/* One part of a key as an expression. */
static void add_piece(cure *c, const piece *one, const char *of)
{
    const char *maker = maker_of(c, one);
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
        tv_buf_printf(c->out, ", %d", number_of(one->how));
    if (!is_plain || c->language == TV_LANGUAGE_C)
        tv_buf_add_char(c->out, ')');
}

/* C: what is added to `key`, one after the other. */
static void add_steps(cure *c, tv_slice template, const char *range_of)
{
    bool is_first = true;
    piece one;

    if (template.len == 0)
        tv_buf_add_lit(c->out, "true");
    while (next_piece(&template, &one)) {
        if (!is_first)
            tv_buf_add_lit(c->out, " &&\n           ");
        is_first = false;
        if (one.is_text) {
            tv_buf_add_lit(c->out, "add(key, \"");
            add_quoted(c->out, c->language, one.text, false);
            tv_buf_add_lit(c->out, "\")");
        } else {
            bool is_range = c->range_count && tv_slice_eq(one.text, c->ranges[0]->name);

            add_piece(c, &one, is_range ? range_of : "e");
        }
    }
}

/* A template as an expression.  Its range is of `range_of`, all else of `e`. */
static void add_key(cure *c, tv_slice template, const char *range_of)
{
    bool has_text = template.len == 0 || tv_slice_find(template, '{') != 0 ||
                    tv_slice_find(template, '}') + 1 < template.len;
    bool is_filled = tv_slice_find(template, '{') < template.len;
    tv_slice rest = template;
    piece one;

    if (c->language == TV_LANGUAGE_C) {
        add_steps(c, template, range_of);
        return;
    }
    /* In C# a format makes a text of a Guid. */
    has_text |= c->language == TV_LANGUAGE_CSHARP && next_piece(&rest, &one) && !one.is_text &&
                is_guid(c, one.text);
    if (has_text)
        tv_buf_add(c->out, tv_slice_of(!is_filled                              ? "\""
                                       : c->language == TV_LANGUAGE_PYTHON     ? "f\""
                                       : c->language == TV_LANGUAGE_JAVASCRIPT ? "`"
                                                                               : "$\""));
    while (next_piece(&template, &one)) {
        if (one.is_text) {
            add_quoted(c->out, c->language, one.text, is_filled);
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

/* ---- what stands for a name ------------------------------------------------------------------ */

static bool is_in_keys(const cure *c, tv_slice name)
{
    return has_property(c->proposal->partition_key, name) ||
           has_property(c->proposal->row_key, name);
}

/* Properties of the keys, each once; keys among them when `with_keys`. */
static size_t names_of(const cure *c, bool with_keys, tv_slice *names)
{
    tv_slice templates[] = {c->proposal->partition_key, c->proposal->row_key};
    size_t count = 0;
    piece one;

    for (int i = 0; i < 2; i++) {
        while (next_piece(&templates[i], &one) && count < NAMES_MAX) {
            bool is_new = !one.is_text && (with_keys || !is_key(one.text));

            for (size_t k = 0; is_new && k < count; k++)
                is_new = !tv_slice_eq(names[k], one.text);
            /* The keys of an entity end those of its copy: what finds it does not need them. */
            if (is_new && with_keys && is_key(one.text) && i == 1)
                break;
            if (is_new)
                names[count++] = one.text;
        }
    }
    return count;
}

static void add_names(cure *c, const tv_slice *names, size_t count, const char *before_last)
{
    for (size_t i = 0; i < count; i++)
        tv_buf_printf(c->out, "%s%.*s",
                      i == 0          ? ""
                      : i + 1 < count ? ", "
                                      : before_last,
                      TV_FMT(names[i]));
}

/* Nothing is made of an entity without one of the properties. */
static void add_guard(cure *c)
{
    tv_slice names[NAMES_MAX];
    size_t count = names_of(c, false, names);
    static const char *const begin[] = {"    if (", "    if ", "        if (", ""};
    static const char *const one[] = {"!tavola_entity_get(e, \"%.*s\", &value)",
                                      "e.get('%.*s') is None", "e[\"%.*s\"] is null",
                                      "e.%.*s == null"};
    static const char *const between[] = {" || ", " or ", " || ", " || "};
    static const char *const end[] = {")\n        return TAVOLA_OK;\n", ":\n        return []\n",
                                      ") return new List<TableEntity>();\n", " ? [] : "};

    for (size_t i = 0; i < count; i++) {
        tv_buf_add(c->out, tv_slice_of(i ? between[c->language] : begin[c->language]));
        tv_buf_printf(c->out, one[c->language], TV_FMT(names[i]));
    }
    if (count)
        tv_buf_add(c->out, tv_slice_of(end[c->language]));
}

/* The properties of the copy: `"A", "B"`, or those of C's comparisons. */
static void add_columns(cure *c, const char *format, const char *between)
{
    tv_slice rest = c->proposal->columns, name;
    bool is_first = true;

    while (tv_slice_next(&rest, ',', &name)) {
        tv_buf_add(c->out, tv_slice_of(is_first ? "" : between));
        tv_buf_printf(c->out, format, TV_FMT(name));
        is_first = false;
    }
}

static void add_all(cure *c)
{
    static const char *const whole[] = {"", "**e", "new TableEntity(e)", "...e"};
    static const char *const begin[] = {"if (", "**{name: e[name] for name in (",
                                        "new TableEntity(e.Where(each => new[] { ",
                                        "...Object.fromEntries(["};
    static const char *const end[] = {
        ")\n            ", ",) if name in e}",
        " }.Contains(each.Key)).ToDictionary(each => each.Key, each => each.Value))",
        "].filter((name) => name in e).map((name) => [name, e[name]]))"};

    if (c->proposal->columns.len == 0) {
        tv_buf_add(c->out, tv_slice_of(whole[c->language]));
        return;
    }
    tv_buf_add(c->out, tv_slice_of(begin[c->language]));
    if (c->language == TV_LANGUAGE_C)
        add_columns(c, "strcmp(name, \"%.*s\") == 0", " || ");
    else
        add_columns(c, "\"%.*s\"", ", ");
    tv_buf_add(c->out, tv_slice_of(end[c->language]));
}

/* In another partition, the partition of the entity. */
static void add_origin(cure *c)
{
    static const char *const texts[] = {"    tavola_entity_set_string(copy, \"TavolaPartition\", "
                                        "tavola_entity_partition_key(e));\n",
                                        "\"TavolaPartition\": e[\"PartitionKey\"], ",
                                        "        copy[\"TavolaPartition\"] = e.PartitionKey;\n",
                                        "TavolaPartition: e.partitionKey, "};

    if (!c->is_near)
        tv_buf_add(c->out, tv_slice_of(texts[c->language]));
}

static void add_rest(cure *c)
{
    bool is_first = true;

    for (size_t i = 0; i < c->view.part_count; i++) {
        tv_slice name = c->view.parts[i].name;

        if (is_in_keys(c, name))
            continue;
        tv_buf_printf(c->out,
                      is_first ? " Test on what is found what is in no key: %.*s" : ", %.*s",
                      TV_FMT(name));
        is_first = false;
    }
    if (!is_first)
        tv_buf_add_char(c->out, '.');
}

static void add_arguments(cure *c, bool is_declared)
{
    static const char *const types[] = {"const tavola_entity *", "", "TableEntity ", ""};
    const char *type = is_declared ? types[c->language] : "";

    tv_buf_printf(c->out, "%se", type);
    if (c->range_count == 2)
        tv_buf_printf(c->out, ", %supto", type);
}

static void add_special(cure *c)
{
    tv_buf_add_lit(c->out, "%/\\\\#?");
    /* What stands between the parts of a key is in none of them, where several could be meant. */
    if (c->separator && !(c->is_near && c->is_unique))
        tv_buf_add_char(c->out, c->separator);
}

static void add_words(cure *c, const char *before)
{
    tv_slice names[NAMES_MAX];
    size_t count = names_of(c, false, names);

    tv_buf_add(c->out, tv_slice_of(before));
    add_names(c, names, count, " and ");
}

static void add_refused(cure *c)
{
    if (c->is_unique)
        add_words(c, c->language == TV_LANGUAGE_C
                         ? "; TAVOLA_ERR_EXISTS when another entity of the partition has this "
                         : "; refused (409) when another entity of the partition has this ");
}

static void add_unless(cure *c)
{
    tv_slice names[NAMES_MAX];

    if (names_of(c, false, names))
        add_words(c, "; none of an entity without ");
}

static void add_given(cure *c)
{
    tv_slice names[NAMES_MAX];

    add_names(c, names, names_of(c, true, names), " and ");
    tv_buf_add_lit(c->out, " of e");
    if (c->range_count == 2)
        tv_buf_printf(c->out, ", up to the %.*s of upto", TV_FMT(c->ranges[0]->name));
}

static void add_low(cure *c)
{
    add_key(c, c->low, c->range_count == 2 && c->is_reversed ? "upto" : "e");
}

static void add_high(cure *c)
{
    add_key(c, c->high, c->range_count == 2 && !c->is_reversed ? "upto" : "e");
}

static void add_partition_key(cure *c)
{
    add_key(c, c->proposal->partition_key, "e");
}

static void add_row_key(cure *c)
{
    add_key(c, c->proposal->row_key, "e");
}

static void add_partition_template(cure *c)
{
    tv_buf_add(c->out, c->proposal->partition_key);
}

static void add_row_template(cure *c)
{
    tv_buf_add(c->out, c->proposal->row_key);
}

static void add_another(cure *c)
{
    add_words(c, "a second entity with this ");
}

static void add_declared(cure *c)
{
    add_arguments(c, true);
}

static void add_passed(cure *c)
{
    add_arguments(c, false);
}

/* C: the index of tavola_indexed_put. */
static void add_prefix(cure *c)
{
    tv_buf_add(c->out,
               tv_slice_take(c->proposal->row_key, tv_slice_find(c->proposal->row_key, '{')));
}

static void add_indexed(cure *c)
{
    add_words(c, "");
}

static void add_index_columns(cure *c)
{
    if (c->proposal->columns.len == 0)
        return;
    tv_buf_add_lit(c->out, ", .columns = (const char *const[]){");
    add_columns(c, "\"%.*s\"", ", ");
    tv_buf_add_lit(c->out, ", NULL}");
}

/* ---- numbers of a proposal ------------------------------------------------------------------- */

/* How many partitions, or entities, one becomes. */
static int buckets_of(const cure *c)
{
    tv_slice template = c->proposal->partition_key;
    piece one;

    while (next_piece(&template, &one)) {
        if (!one.is_text && tv_slice_starts_with(one.how, TV_LIT("hash")))
            return number_of(one.how);
    }
    for (size_t i = 0; i < c->finding->field_count; i++) {
        if (tv_slice_eq(c->finding->fields[i].name, TV_LIT("clients")) &&
            c->finding->fields[i].number > 2)
            return (int)c->finding->fields[i].number;
    }
    return 2;
}

static void add_buckets(cure *c)
{
    tv_buf_printf(c->out, "%d", buckets_of(c));
}

/* Digits of the last bucket; those of the parts of a counter are two. */
static void add_width(cure *c)
{
    int width = 1;

    for (int last = buckets_of(c) - 1; last >= 10; last /= 10)
        width++;
    tv_buf_printf(c->out, "%d", has_property(c->proposal->row_key, TV_LIT("bucket")) ? 2 : width);
}

static void add_between(cure *c)
{
    tv_buf_add_char(c->out, c->separator);
}

static void add_behind(cure *c)
{
    if (c->separator == '|' && c->language == TV_LANGUAGE_PYTHON)
        tv_buf_add_char(c->out, '}'); /* two stand for one */
    add_quoted(c->out, c->language, (tv_slice){(char[]){(char)(c->separator + 1)}, 1}, false);
}

/* The property of a counter. */
static void add_counted(cure *c)
{
    for (size_t i = 0; i < c->finding->field_count; i++) {
        const tv_field *field = &c->finding->fields[i];

        if (tv_slice_eq(field->name, TV_LIT("changedProperties")) && field->text_count)
            tv_buf_add(c->out, field->texts[0]);
    }
}

static void add_digits(cure *c)
{
    tv_slice keys[] = {c->proposal->partition_key, c->proposal->row_key};

    for (int i = 0; i < 2; i++) {
        const char *at = memmem(keys[i].data, keys[i].len, "{n:pad(", 7);
        size_t before = at ? (size_t)(at - keys[i].data) : 0;
        tv_slice rest = tv_slice_skip(keys[i], before);

        if (at)
            tv_buf_printf(c->out, "%d", number_of(tv_slice_take(rest, tv_slice_find(rest, '}'))));
    }
}

static bool is_of_rows(const cure *c)
{
    return tv_slice_eq(c->finding->text, TV_LIT("RowKey"));
}

static void add_widened_key(cure *c)
{
    bool is_js = c->language == TV_LANGUAGE_JAVASCRIPT;

    tv_buf_add(c->out, tv_slice_of(is_of_rows(c) ? (is_js ? "rowKey" : "RowKey")
                                   : is_js       ? "partitionKey"
                                                 : "PartitionKey"));
}

static void add_class(cure *c)
{
    for (size_t i = 0; i < c->finding->table.len; i++) {
        char ch = c->finding->table.data[i]; /* dated tables have a name with other signs */

        char lower = tv_ascii_lower(ch);

        if ((lower >= 'a' && lower <= 'z') || (ch >= '0' && ch <= '9'))
            tv_buf_add_char(c->out, ch);
    }
    tv_buf_add_lit(c->out, "Keys");
}

static const struct {
    const char *name;
    void (*add)(cure *c);
} fillers[] = {
    {"behind", add_behind},
    {"between", add_between},
    {"buckets", add_buckets},
    {"counted", add_counted},
    {"digits", add_digits},
    {"names", add_indexed},
    {"widened_key", add_widened_key},
    {"width", add_width},
    {"all", add_all},
    {"another", add_another},
    {"args", add_declared},
    {"class", add_class},
    {"columns", add_index_columns},
    {"given", add_given},
    {"guard", add_guard},
    {"high", add_high},
    {"low", add_low},
    {"origin", add_origin},
    {"pass", add_passed},
    {"pk", add_partition_key},
    {"pk_template", add_partition_template},
    {"prefix", add_prefix},
    {"property", add_indexed},
    {"refused", add_refused},
    {"rest", add_rest},
    {"rk", add_row_key},
    {"rk_template", add_row_template},
    {"special", add_special},
    {"unless", add_unless},
};

static void fill(cure *c, tv_slice name)
{
    for (size_t i = 0; i < sizeof fillers / sizeof *fillers; i++) {
        if (tv_slice_eq(name, tv_slice_of(fillers[i].name))) {
            fillers[i].add(c);
            return;
        }
    }
    tv_assert(!"a text of a cure has a name that nothing stands for");
}

/* A section with its names filled in; what a language does without has none. */
static void add_section(cure *c, const char *name)
{
    for (size_t i = 0; i < tv_cure_section_count; i++) {
        const tv_cure_section *section = &tv_cure_sections[i];
        const char *at = section->text, *open, *close;

        if (section->language != c->language || strcmp(section->name, name) != 0)
            continue;
        while ((open = strstr(at, "<<")) && (close = strstr(open, ">>"))) {
            tv_buf_add(c->out, (tv_slice){at, (size_t)(open - at)});
            fill(c, (tv_slice){open + 2, (size_t)(close - open - 2)});
            at = close + 2;
        }
        tv_buf_add(c->out, tv_slice_of(at));
    }
}

/* ---- cures ----------------------------------------------------------------------------------- */

/* What makes parts of keys, each once. */
static void add_makers(cure *c)
{
    static const char *const makers[] = {"text", "padded", "guid", "bucket", "ticks", "inverted"};
    tv_slice templates[] = {c->proposal->partition_key, c->proposal->row_key};
    bool is_used[sizeof makers / sizeof *makers] = {false}, has_time = false;
    piece one;

    for (int i = 0; i < 2; i++) {
        while (next_piece(&templates[i], &one)) {
            for (size_t k = 0; !one.is_text && k < sizeof makers / sizeof *makers; k++) {
                bool is_it = strcmp(makers[k], maker_of(c, &one)) == 0;

                is_used[k] |= is_it;
                has_time |= is_it && k > 3 && !tv_slice_eq(one.text, TV_LIT("Timestamp"));
            }
        }
    }
    add_section(c, "key_size");
    add_section(c, "key");
    if (has_time)
        add_section(c, "time_of");
    for (size_t k = 0; k < sizeof makers / sizeof *makers; k++) {
        if (is_used[k])
            add_section(c, makers[k]);
    }
}

/* What stands between the parts of the keys. */
static char separator_of(const tv_proposal *proposal)
{
    for (const char *at = "_|~"; *at; at++) {
        if (tv_slice_find(proposal->partition_key, *at) < proposal->partition_key.len ||
            tv_slice_find(proposal->row_key, *at) < proposal->row_key.len)
            return *at;
    }
    return '\0';
}

/* The range of RowKeys that finds. */
static void look(cure *c)
{
    tv_slice row = c->proposal->row_key, value = TV_LIT(""), values[2];
    tv_buf low = TV_BUF_EMPTY, high = TV_BUF_EMPTY;
    size_t lead = row.len;
    const char *keys[] = {"{PartitionKey}", "{RowKey}"};

    for (int i = 0; i < 2; i++) {
        const char *at = memmem(row.data, row.len, keys[i], strlen(keys[i]));

        if (at && (size_t)(at - row.data) < lead)
            lead = (size_t)(at - row.data);
    }
    for (size_t i = 0; i < c->view.part_count && c->range_count < 2; i++) {
        const tv_view_part *part = &c->view.parts[i];
        tv_slice open = tv_arena_printf(c->arena, "{%.*s:", TV_FMT(part->name));
        const char *at = memmem(row.data, row.len, open.data, open.len);

        if (part->op == TV_OP_EQ || part->op == TV_OP_NE || !at ||
            (c->range_count && tv_is_lower_bound(part->op) == tv_is_lower_bound(c->ranges[0]->op)))
            continue;
        lead = (size_t)(at - row.data);
        value = tv_slice_skip(row, lead);
        value = tv_slice_take(value, tv_slice_find(value, '}') + 1);
        c->ranges[c->range_count++] = part;
    }
    if (lead == 0 && c->range_count == 0)
        return;
    values[0] = values[1] = value;
    c->is_reversed = memmem(value.data, value.len, ":inv", 4) != NULL;
    tv_add_bounds(&low, &high,
                  &(tv_bounds){tv_slice_take(row, lead), c->ranges, values, c->range_count,
                               c->separator, c->is_reversed});
    c->low = tv_arena_dup(c->arena, tv_buf_slice(&low));
    c->high = tv_arena_dup(c->arena, tv_buf_slice(&high));
    tv_buf_done(&low);
    tv_buf_done(&high);
}

/* tavola_indexed_put does it: one String, and all of the copy or columns. */
static bool is_of_library(const cure *c)
{
    tv_slice names[NAMES_MAX];

    return c->language == TV_LANGUAGE_C && c->is_near && c->is_unique &&
           names_of(c, false, names) == 1 &&
           tv_slice_find(c->proposal->row_key, ':') == c->proposal->row_key.len &&
           !is_guid(c, names[0]);
}

static void add_copies(cure *c)
{
    c->is_near = tv_slice_eq(c->proposal->partition_key, TV_LIT("{PartitionKey}"));
    c->is_unique = !has_property(c->proposal->row_key, TV_LIT("RowKey")) &&
                   !has_property(c->proposal->partition_key, TV_LIT("RowKey"));
    if (is_of_library(c)) {
        add_section(c, "near_library");
        add_section(c, "make_copy_by_library");
        add_section(c, "fill");
        return;
    }
    add_section(c, "head");
    add_makers(c);
    add_section(c, "partition_of");
    add_section(c, "copies");
    add_section(c, c->is_near ? "near" : c->is_unique ? "far_unique" : "far");
    add_section(c, c->is_unique ? "find_point" : c->high.len ? "find_range" : "find_partition");
    add_section(c, "make_copy");
    add_section(c, "fill");
    add_section(c, "foot");
}

/* Rules whose cure is the same whatever they have found. */
static const struct {
    tv_rule rule;
    const char *section;
    bool is_scan; /* C has its helper */
} plain[] = {
    {TV_RULE_Q03, "range", true},  {TV_RULE_Q08, "range", true},  {TV_RULE_Q09, "select", true},
    {TV_RULE_C01, "top", true},    {TV_RULE_C02, "pages", true},  {TV_RULE_W01, "deletes", false},
    {TV_RULE_W03, "batch", false}, {TV_RULE_W04, "batch", false},
};

static void add_plain(cure *c)
{
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (plain[i].rule != c->finding->rule)
            continue;
        add_section(c, "head");
        if (plain[i].is_scan)
            add_section(c, "scan");
        add_section(c, plain[i].section);
        add_section(c, "foot");
    }
}

/* Keys that have other parts than now. */
static void add_moved(cure *c, const char *section)
{
    add_section(c, "head");
    add_makers(c);
    add_section(c, "insert_under");
    add_section(c, "partition_of");
    add_section(c, section);
    add_section(c, "foot");
}

/* Keys that are made of what a key is now. */
static void add_reformed(cure *c, const char *section, const char *more)
{
    add_section(c, "head");
    add_section(c, "key_size");
    add_section(c, "insert_under");
    add_section(c, section);
    add_section(c, more);
    add_section(c, "foot");
}

static void add_cure(cure *c)
{
    tv_slice pattern = c->proposal->is_set ? c->proposal->pattern : TV_NONE;

    if (tv_slice_eq(pattern, TV_LIT("intra-partition-secondary-index")) ||
        tv_slice_eq(pattern, TV_LIT("inter-partition-secondary-index"))) {
        look(c);
        add_copies(c);
    } else if (tv_slice_eq(pattern, TV_LIT("log-tail"))) {
        look(c);
        add_section(c, "head");
        add_makers(c);
        add_section(c, "log_tail");
        add_section(c, "foot");
    } else if (tv_slice_starts_with(c->proposal->partition_key, TV_LIT("{RowKey before"))) {
        add_reformed(c, "split", "");
    } else if (tv_slice_eq(pattern, TV_LIT("finer-partition-key"))) {
        add_moved(c, "finer");
    } else if (tv_slice_eq(pattern, TV_LIT("spread-partition"))) {
        add_moved(c, "spread");
    } else if (tv_slice_eq(pattern, TV_LIT("padded-number"))) {
        add_reformed(c, "widened", is_of_rows(c) ? "widened_row" : "widened_partition");
    } else if (tv_slice_eq(pattern, TV_LIT("split-counter"))) {
        add_section(c, "head");
        add_section(c, "counter");
        add_section(c, "foot");
    } else {
        add_plain(c);
    }
}

void tv_cure_add(tv_buf *out, const tv_finding *finding, tv_language language)
{
    size_t before = out->len;
    tv_arena arena;
    cure c = {.out = out,
              .language = language,
              .finding = finding,
              .proposal = &finding->proposal,
              .arena = &arena};

    tv_arena_init(&arena);
    c.view = tv_shape_view_of(&arena, finding->text);
    c.separator = separator_of(c.proposal);
    add_cure(&c);
    while (out->len > before && out->data[out->len - 1] == '\n')
        out->len--;
    tv_arena_done(&arena);
}
