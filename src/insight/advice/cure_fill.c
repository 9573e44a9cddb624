/* What stands for the names in the texts of cures/. */
#include "base/chars.h"
#include "insight/advice/cure_parts.h"
#include "insight/advice/key_forms.h"

/* ---- what stands for a name ------------------------------------------------------------------ */

static bool is_in_keys(const tv_cure *c, tv_slice name)
{
    return tv_cure_has(c->proposal->partition_key, name) || tv_cure_has(c->proposal->row_key, name);
}

size_t tv_cure_names(const tv_cure *c, bool with_keys, tv_slice *names)
{
    tv_slice templates[] = {c->proposal->partition_key, c->proposal->row_key};
    size_t count = 0;
    tv_cure_piece one;

    for (int i = 0; i < 2; i++) {
        while (tv_cure_next_piece(&templates[i], &one) && count < TV_CURE_NAMES_MAX) {
            bool is_new = !one.is_text && (with_keys || !tv_cure_is_key(one.text));

            for (size_t k = 0; is_new && k < count; k++)
                is_new = !tv_slice_eq(names[k], one.text);
            /* The keys of an entity end those of its copy: what finds it does not need them. */
            if (is_new && with_keys && tv_cure_is_key(one.text) && i == 1)
                break;
            if (is_new)
                names[count++] = one.text;
        }
    }
    return count;
}

static void add_names(tv_cure *c, const tv_slice *names, size_t count, const char *before_last)
{
    for (size_t i = 0; i < count; i++)
        tv_buf_printf(c->out, "%s%.*s",
                      i == 0          ? ""
                      : i + 1 < count ? ", "
                                      : before_last,
                      TV_FMT(names[i]));
}

/* Nothing is made of an entity without one of the properties. */
static void add_guard(tv_cure *c)
{
    tv_slice names[TV_CURE_NAMES_MAX];
    size_t count = tv_cure_names(c, false, names);
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
static void add_columns(tv_cure *c, const char *format, const char *between)
{
    tv_slice rest = c->proposal->columns, name;
    bool is_first = true;

    while (tv_slice_next(&rest, ',', &name)) {
        tv_buf_add(c->out, tv_slice_of(is_first ? "" : between));
        tv_buf_printf(c->out, format, TV_FMT(name));
        is_first = false;
    }
}

static void add_all(tv_cure *c)
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
static void add_origin(tv_cure *c)
{
    static const char *const texts[] = {("    tavola_entity_set_string(copy, \"TavolaPartition\", "
                                         "tavola_entity_partition_key(e));\n"),
                                        "\"TavolaPartition\": e[\"PartitionKey\"], ",
                                        "        copy[\"TavolaPartition\"] = e.PartitionKey;\n",
                                        "TavolaPartition: e.partitionKey, "};

    if (!c->is_near)
        tv_buf_add(c->out, tv_slice_of(texts[c->language]));
}

static void add_rest(tv_cure *c)
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

static void add_arguments(tv_cure *c, bool is_declared)
{
    static const char *const types[] = {"const tavola_entity *", "", "TableEntity ", ""};
    const char *type = is_declared ? types[c->language] : "";

    tv_buf_printf(c->out, "%se", type);
    if (c->range_count == 2)
        tv_buf_printf(c->out, ", %supto", type);
}

static void add_special(tv_cure *c)
{
    tv_buf_add_lit(c->out, "%/\\\\#?");
    /* What stands between the parts of a key is in none of them, where several could be meant. */
    if (c->separator && !(c->is_near && c->is_unique))
        tv_buf_add_char(c->out, c->separator);
}

static void add_words(tv_cure *c, const char *before)
{
    tv_slice names[TV_CURE_NAMES_MAX];
    size_t count = tv_cure_names(c, false, names);

    tv_buf_add(c->out, tv_slice_of(before));
    add_names(c, names, count, " and ");
}

static void add_refused(tv_cure *c)
{
    if (c->is_unique)
        add_words(c, c->language == TV_LANGUAGE_C
                         ? "; TAVOLA_ERR_EXISTS when another entity of the partition has this "
                         : "; refused (409) when another entity of the partition has this ");
}

static void add_unless(tv_cure *c)
{
    tv_slice names[TV_CURE_NAMES_MAX];

    if (tv_cure_names(c, false, names))
        add_words(c, "; none of an entity without ");
}

static void add_given(tv_cure *c)
{
    tv_slice names[TV_CURE_NAMES_MAX];

    add_names(c, names, tv_cure_names(c, true, names), " and ");
    tv_buf_add_lit(c->out, " of e");
    if (c->range_count == 2)
        tv_buf_printf(c->out, ", up to the %.*s of upto", TV_FMT(c->ranges[0]->name));
}

static void add_low(tv_cure *c)
{
    tv_cure_add_key(c, c->low, c->range_count == 2 && c->is_reversed ? "upto" : "e");
}

static void add_high(tv_cure *c)
{
    tv_cure_add_key(c, c->high, c->range_count == 2 && !c->is_reversed ? "upto" : "e");
}

static void add_partition_key(tv_cure *c)
{
    tv_cure_add_key(c, c->proposal->partition_key, "e");
}

static void add_row_key(tv_cure *c)
{
    tv_cure_add_key(c, c->proposal->row_key, "e");
}

static void add_partition_template(tv_cure *c)
{
    tv_buf_add(c->out, c->proposal->partition_key);
}

static void add_row_template(tv_cure *c)
{
    tv_buf_add(c->out, c->proposal->row_key);
}

static void add_another(tv_cure *c)
{
    add_words(c, "a second entity with this ");
}

static void add_declared(tv_cure *c)
{
    add_arguments(c, true);
}

static void add_passed(tv_cure *c)
{
    add_arguments(c, false);
}

/* C: the index of tavola_indexed_put. */
static void add_prefix(tv_cure *c)
{
    tv_buf_add(c->out,
               tv_slice_take(c->proposal->row_key, tv_slice_find(c->proposal->row_key, '{')));
}

static void add_indexed(tv_cure *c)
{
    add_words(c, "");
}

static void add_index_columns(tv_cure *c)
{
    if (c->proposal->columns.len == 0)
        return;
    tv_buf_add_lit(c->out, ", .columns = (const char *const[]){");
    add_columns(c, "\"%.*s\"", ", ");
    tv_buf_add_lit(c->out, ", NULL}");
}

/* ---- fields of the finding ------------------------------------------------------------------- */

static const tv_field *field_of(const tv_cure *c, const char *name)
{
    for (size_t i = 0; i < c->finding->field_count; i++) {
        if (tv_slice_eq(c->finding->fields[i].name, tv_slice_of(name)))
            return &c->finding->fields[i];
    }
    return NULL;
}

tv_slice tv_cure_text_of(const tv_cure *c, const char *name)
{
    const tv_field *field = field_of(c, name);

    return field && field->text_count ? field->texts[0] : TV_LIT("");
}

double tv_cure_number_of(const tv_cure *c, const char *name)
{
    const tv_field *field = field_of(c, name);

    return field ? field->number : 0;
}

/* ---- numbers of a proposal ------------------------------------------------------------------- */

/* How many partitions, or entities, one becomes. */
static int buckets_of(const tv_cure *c)
{
    tv_slice template = c->proposal->partition_key;
    tv_cure_piece one;

    while (tv_cure_next_piece(&template, &one)) {
        if (!one.is_text && tv_slice_starts_with(one.how, TV_LIT("hash")))
            return tv_cure_number(one.how);
    }
    return tv_cure_number_of(c, "clients") > 2 ? (int)tv_cure_number_of(c, "clients") : 2;
}

static void add_buckets(tv_cure *c)
{
    tv_buf_printf(c->out, "%d", buckets_of(c));
}

/* Digits of the last bucket; those of the parts of a counter are two. */
static void add_width(tv_cure *c)
{
    int width = 1;

    for (int last = buckets_of(c) - 1; last >= 10; last /= 10)
        width++;
    tv_buf_printf(c->out, "%d", tv_cure_has(c->proposal->row_key, TV_LIT("bucket")) ? 2 : width);
}

static void add_between(tv_cure *c)
{
    tv_buf_add_char(c->out, c->separator);
}

static void add_behind(tv_cure *c)
{
    if (c->separator == '|' && c->language == TV_LANGUAGE_PYTHON)
        tv_buf_add_char(c->out, '}'); /* two stand for one */
    tv_cure_add_quoted(c->out, c->language, (tv_slice){(char[]){(char)(c->separator + 1)}, 1},
                       false);
}

/* The property of a counter. */
static void add_counted(tv_cure *c)
{
    tv_buf_add(c->out, tv_cure_text_of(c, "changedProperties"));
}

static void add_digits(tv_cure *c)
{
    tv_slice keys[] = {c->proposal->partition_key, c->proposal->row_key};

    for (int i = 0; i < 2; i++) {
        const char *at = memmem(keys[i].data, keys[i].len, "{n:pad(", 7);
        size_t before = at ? (size_t)(at - keys[i].data) : 0;
        tv_slice rest = tv_slice_skip(keys[i], before);

        if (at)
            tv_buf_printf(c->out, "%d",
                          tv_cure_number(tv_slice_take(rest, tv_slice_find(rest, '}'))));
    }
}

bool tv_cure_is_of_rows(const tv_cure *c)
{
    return tv_slice_eq(c->finding->text, TV_LIT("RowKey"));
}

static void add_sorted_key(tv_cure *c)
{
    bool is_js = c->language == TV_LANGUAGE_JAVASCRIPT;

    tv_buf_add(c->out, tv_slice_of(tv_cure_is_of_rows(c) ? (is_js ? "rowKey" : "RowKey")
                                   : is_js               ? "partitionKey"
                                                         : "PartitionKey"));
}

/* The parts of a date, in the order that the keys have them; NULL when they are of another kind. */
static const char *const *date_parts(const tv_cure *c)
{
    static const char *const day_first[] = {"day", "month", "year"},
                             *const month_first[] = {"month", "day", "year"},
                             *const year_first[] = {"year", "month", "day"};
    tv_slice pattern = tv_cure_text_of(c, "pattern"), key = tv_cure_text_of(c, "examples");

    if (tv_slice_eq(pattern, tv_slice_of(tv_date_form_name(TV_DATE_DAY_FIRST))))
        return day_first;
    if (tv_slice_eq(pattern, tv_slice_of(tv_date_form_name(TV_DATE_MONTH_FIRST))))
        return month_first;
    if (tv_slice_eq(pattern, tv_slice_of(tv_date_form_name(TV_DATE_UNPADDED))))
        return year_first;
    if (!tv_slice_eq(pattern, tv_slice_of(tv_date_form_name(TV_DATE_MONTH_NAME))) || key.len < 5)
        return NULL;
    return !tv_is_digit(key.data[0])                              ? month_first
           : tv_is_digit(key.data[1]) && tv_is_digit(key.data[2]) ? year_first
                                                                  : day_first;
}

bool tv_cure_is_dated(const tv_cure *c)
{
    return date_parts(c) != NULL;
}

static void add_date_parts(tv_cure *c)
{
    const char *const *parts = date_parts(c);

    for (int i = 0; parts && i < 3; i++) {
        tv_buf_printf(c->out, "%s%s", i ? ", " : "", parts[i]);
        if (c->language == TV_LANGUAGE_CSHARP)
            tv_buf_printf(c->out, " = parts[%d].Value", i + 1);
    }
}

static void add_only_keys(tv_cure *c)
{
    static const char *const texts[] = {
        "\"PartitionKey\", \"RowKey\", ", "select=[\"PartitionKey\", \"RowKey\"]",
        "select: new[] { \"PartitionKey\", \"RowKey\" }",
        "{ queryOptions: { select: [\"PartitionKey\", \"RowKey\"] } }"};

    if (tv_cure_number_of(c, "onlyKeysSelected") != 0)
        tv_buf_add(c->out, tv_slice_of(texts[c->language]));
}

static void add_property(tv_cure *c)
{
    tv_buf_add(c->out, c->finding->text);
}

/* The table's name, or what those of a family have in common. */
static void add_stem(tv_cure *c)
{
    for (size_t i = 0; i < c->finding->table.len; i++) {
        char ch = c->finding->table.data[i]; /* dated tables have a name with other signs */

        char lower = tv_ascii_lower(ch);

        if ((lower >= 'a' && lower <= 'z') || (ch >= '0' && ch <= '9'))
            tv_buf_add_char(c->out, ch);
    }
}

static void add_class(tv_cure *c)
{
    add_stem(c);
    tv_buf_add_lit(c->out, "Keys");
}

static const struct {
    const char *name;
    void (*add)(tv_cure *c);
} fillers[] = {
    {"behind", add_behind},
    {"between", add_between},
    {"buckets", add_buckets},
    {"counted", add_counted},
    {"date_parts", add_date_parts},
    {"drifting", add_property},
    {"only_keys", add_only_keys},
    {"stem", add_stem},
    {"digits", add_digits},
    {"names", add_indexed},
    {"sorted_key", add_sorted_key},
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

static void fill(tv_cure *c, tv_slice name)
{
    for (size_t i = 0; i < sizeof fillers / sizeof *fillers; i++) {
        if (tv_slice_eq(name, tv_slice_of(fillers[i].name))) {
            fillers[i].add(c);
            return;
        }
    }
    tv_assert(!"a text of a cure has a name that nothing stands for");
}

void tv_cure_add_section(tv_cure *c, const char *name)
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
