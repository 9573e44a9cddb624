/*
 * The strings to sign of the queue and blob services.
 *
 * Two rules are read differently by clients.  Names of headers are sorted by
 * their bytes, or as the service's own library of collation would: there
 * punctuation comes before digits, and a dash before all or not at all until
 * nothing else decides.  And blanks inside a value become one, by the book, or
 * stay as they are, which is what the SDKs do.  A client that made a signature
 * had the key and meant these headers, in whatever order, so each reading is
 * good.
 */
#include "model/auth/canonical.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/datetime.h"
#include "base/uri.h"

/* In the order of the text. */
enum {
    CONTENT_ENCODING,
    CONTENT_LANGUAGE,
    CONTENT_LENGTH,
    CONTENT_MD5,
    CONTENT_TYPE,
    DATE,
};

static const tv_slice standard_names[TV_CANONICAL_STANDARD_COUNT] = {
    {"content-encoding", 16},
    {"content-language", 16},
    {"content-length", 14},
    {"content-md5", 11},
    {"content-type", 12},
    {"date", 4},
    {"if-modified-since", 17},
    {"if-match", 8},
    {"if-none-match", 13},
    {"if-unmodified-since", 19},
    {"range", 5},
};

/* --- sorting out --- */

static bool has_prefix(tv_slice name)
{
    return name.len >= 5 && tv_slice_eq_nocase(tv_slice_take(name, 5), TV_LIT("x-ms-"));
}

static tv_slice lower(tv_arena *arena, tv_slice text)
{
    char *bytes = tv_arena_bytes(arena, text.len);

    for (size_t i = 0; i < text.len; i++)
        bytes[i] = tv_ascii_lower(text.data[i]);
    return (tv_slice){bytes, text.len};
}

/* The first of a name counts, as it does for the service. */
static void keep_standard(tv_canonical *canonical, const tv_header *header)
{
    for (size_t i = 0; i < TV_CANONICAL_STANDARD_COUNT; i++) {
        if (tv_slice_eq_nocase(header->name, standard_names[i])) {
            if (canonical->standard[i].data == NULL)
                canonical->standard[i] = header->value;
            return;
        }
    }
}

static tv_slice find_header(const tv_canonical *canonical, tv_slice name)
{
    for (size_t i = 0; i < canonical->header_count; i++) {
        if (tv_slice_eq(canonical->headers[i].name, name))
            return canonical->headers[i].value;
    }
    return TV_NONE;
}

static void drop_empty(tv_canonical *canonical)
{
    size_t kept = 0;

    for (size_t i = 0; i < canonical->header_count; i++) {
        if (canonical->headers[i].value.len)
            canonical->headers[kept++] = canonical->headers[i];
    }
    canonical->header_count = kept;
}

/*
 * Two rules came with versions.  A request that names none, or not a valid
 * one, is taken to follow the newest: nobody writes clients for the old.
 */
static void apply_version(tv_canonical *canonical)
{
    tv_slice version = find_header(canonical, TV_LIT("x-ms-version"));
    tv_slice *length = &canonical->standard[CONTENT_LENGTH];

    if (!tv_version_is_valid(version))
        version = TV_LIT("9999-12-31");
    if (tv_slice_cmp(version, TV_LIT("2015-02-21")) >= 0 && tv_slice_eq(*length, TV_LIT("0")))
        *length = TV_LIT("");
    if (tv_slice_cmp(version, TV_LIT("2016-05-31")) < 0)
        drop_empty(canonical);
}

static void read_headers(tv_arena *arena, tv_canonical *canonical)
{
    const tv_signed_parts *parts = canonical->parts;

    canonical->headers = tv_arena_alloc(arena, parts->header_count * sizeof *canonical->headers);
    for (size_t i = 0; i < parts->header_count; i++) {
        const tv_header *header = &parts->headers[i];

        if (has_prefix(header->name))
            canonical->headers[canonical->header_count++] =
                (tv_signed_pair){lower(arena, header->name), header->value, i};
        else
            keep_standard(canonical, header);
    }
    apply_version(canonical);
    if (find_header(canonical, TV_LIT("x-ms-date")).len)
        canonical->standard[DATE] = TV_LIT("");
}

/*
 * In the text a line is "name:value".  A name with a colon or a line in it, or
 * a value with a line that has a colon, could be cut out of what was signed for
 * other parameters.
 */
static bool is_plain(tv_slice name, tv_slice value)
{
    size_t line = tv_slice_find(value, '\n');

    return tv_slice_find(name, ':') == name.len && tv_slice_find(name, '\n') == name.len &&
           (line == value.len || memchr(value.data + line, ':', value.len - line) == NULL);
}

static int compare_parameters(const void *left, const void *right)
{
    const tv_signed_pair *a = left, *b = right;
    int order = tv_slice_cmp(a->name, b->name);

    return order ? order : tv_slice_cmp(a->value, b->value);
}

static bool read_parameters(tv_arena *arena, tv_canonical *canonical)
{
    const tv_parameters *query = &canonical->parts->query;
    tv_signed_pair *pairs = tv_arena_alloc(arena, query->count * sizeof *pairs);

    if (query->is_malformed)
        return false;

    for (size_t i = 0; i < query->count; i++) {
        tv_slice name = query->items[i].name, value;

        if (!tv_uri_decode_query(arena, query->items[i].value, &value) || !is_plain(name, value))
            return false;
        pairs[i] = (tv_signed_pair){lower(arena, name), value, i};
    }
    qsort(pairs, query->count, sizeof *pairs, compare_parameters);
    canonical->parameters = pairs;
    canonical->parameter_count = query->count;
    return true;
}

static size_t pairs_len(const tv_signed_pair *pairs, size_t count)
{
    size_t len = 0;

    for (size_t i = 0; i < count; i++)
        len += pairs[i].name.len + pairs[i].value.len + 2;
    return len;
}

bool tv_canonical_read(tv_arena *arena, const tv_signed_parts *parts, tv_canonical *ret_canonical)
{
    tv_canonical canonical = {.parts = parts};

    read_headers(arena, &canonical);
    if (!read_parameters(arena, &canonical))
        return false;

    canonical.len_max = parts->method.len + parts->account.len + parts->path.len + sizeof "/" +
                        sizeof "/?comp=" + TV_CANONICAL_STANDARD_COUNT +
                        pairs_len(canonical.headers, canonical.header_count) +
                        pairs_len(canonical.parameters, canonical.parameter_count);
    for (size_t i = 0; i < TV_CANONICAL_STANDARD_COUNT; i++)
        canonical.len_max += canonical.standard[i].len;
    *ret_canonical = canonical;
    return true;
}

/* --- the orders of headers --- */

typedef int compare_fn(const void *left, const void *right);

static int compare_bytes(const void *left, const void *right)
{
    const tv_signed_pair *a = left, *b = right;
    int order = tv_slice_cmp(a->name, b->name);

    return order ? order : (a->place > b->place) - (a->place < b->place);
}

/* Of what a name can be made of, all in lower case: marks, digits, letters; 0 for its end. */
static int rank(tv_slice name, size_t at)
{
    static const char marks[] = "-'!#$%&*.^_`|~+";
    const char *found;

    if (at == name.len)
        return 0;

    char c = name.data[at];

    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
        return 0x100 + c;
    found = memchr(marks, c, sizeof marks - 1);
    return found ? 1 + (int)(found - marks) : 0x200 + (unsigned char)c;
}

static int compare_ranks(const void *left, const void *right)
{
    const tv_signed_pair *a = left, *b = right;

    for (size_t i = 0; i < a->name.len || i < b->name.len; i++) {
        int order = rank(a->name, i) - rank(b->name, i);

        if (order)
            return order;
    }
    return compare_bytes(left, right);
}

static bool is_light(tv_slice name, size_t at)
{
    return at < name.len && (name.data[at] == '-' || name.data[at] == '\'');
}

/* Dashes and apostrophes do not count until all else is equal; then they come late. */
static int compare_weights(const void *left, const void *right)
{
    tv_slice a = ((const tv_signed_pair *)left)->name, b = ((const tv_signed_pair *)right)->name;
    size_t i = 0, j = 0;

    for (;; i++, j++) {
        while (is_light(a, i))
            i++;
        while (is_light(b, j))
            j++;
        if (rank(a, i) != rank(b, j))
            return rank(a, i) - rank(b, j);
        if (i == a.len)
            break;
    }
    for (i = 0; i < a.len && i < b.len && a.data[i] == b.data[i]; i++)
        continue;

    /* A dash has rank 1, an apostrophe 2: the other way round here, and both after the rest. */
    int light_a = is_light(a, i) ? 3 - rank(a, i) : 0;
    int light_b = is_light(b, i) ? 3 - rank(b, i) : 0;

    return light_a != light_b ? light_a - light_b : compare_bytes(left, right);
}

/* --- writing --- */

static char *put_line(char *to, tv_slice text)
{
    to = tv_slice_put(to, text);
    *to++ = '\n';
    return to;
}

/* Blanks become one, but not between quotes. */
static char *put_folded(char *to, tv_slice text)
{
    bool is_quoted = false, was_blank = false;

    for (size_t i = 0; i < text.len; i++) {
        bool is_blank = !is_quoted && (text.data[i] == ' ' || text.data[i] == '\t');

        if (text.data[i] == '"')
            is_quoted = !is_quoted;
        if (!is_blank)
            *to++ = text.data[i];
        else if (!was_blank)
            *to++ = ' ';
        was_blank = is_blank;
    }
    return to;
}

/* "name:value" and a line for each; values of the same name after each other, with commas. */
static char *put_headers(char *to, const tv_signed_pair *headers, size_t count, bool is_folded)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && tv_slice_eq(headers[i].name, headers[i - 1].name)) {
            to[-1] = ',';
        } else {
            to = tv_slice_put(to, headers[i].name);
            *to++ = ':';
        }
        to = is_folded ? put_folded(to, headers[i].value) : tv_slice_put(to, headers[i].value);
        *to++ = '\n';
    }
    return to;
}

static char *put_parameters(char *to, const tv_signed_pair *parameters, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && tv_slice_eq(parameters[i].name, parameters[i - 1].name)) {
            *to++ = ',';
        } else {
            *to++ = '\n';
            to = tv_slice_put(to, parameters[i].name);
            *to++ = ':';
        }
        to = tv_slice_put(to, parameters[i].value);
    }
    return to;
}

/* The first that was sent, as the service takes it. */
static char *put_comp(char *to, const tv_canonical *canonical)
{
    const tv_signed_pair *comp = NULL;

    for (size_t i = 0; i < canonical->parameter_count; i++) {
        const tv_signed_pair *pair = &canonical->parameters[i];

        if (tv_slice_eq(pair->name, TV_LIT("comp")) && (comp == NULL || pair->place < comp->place))
            comp = pair;
    }
    return comp ? tv_slice_put(tv_slice_put(to, TV_LIT("?comp=")), comp->value) : to;
}

tv_slice tv_canonical_text(tv_arena *arena, tv_canonical *canonical, bool is_lite, unsigned reading)
{
    static compare_fn *const orders[] = {compare_bytes, compare_weights, compare_ranks};
    const tv_signed_parts *parts = canonical->parts;
    char *text = tv_arena_bytes(arena, canonical->len_max);
    char *to = put_line(text, parts->method);

    tv_assert(reading < TV_CANONICAL_READINGS);
    qsort(canonical->headers, canonical->header_count, sizeof *canonical->headers,
          orders[reading / 2]);

    for (size_t i = 0; i < TV_CANONICAL_STANDARD_COUNT; i++) {
        if (!is_lite || i == CONTENT_MD5 || i == CONTENT_TYPE || i == DATE)
            to = put_line(to, canonical->standard[i]);
    }
    to = put_headers(to, canonical->headers, canonical->header_count, reading % 2);
    *to++ = '/';
    to = tv_slice_put(to, parts->account);
    to = tv_slice_put(to, parts->path.len ? parts->path : TV_LIT("/"));
    if (is_lite)
        to = put_comp(to, canonical);
    else
        to = put_parameters(to, canonical->parameters, canonical->parameter_count);

    tv_assert((size_t)(to - text) <= canonical->len_max);
    return (tv_slice){text, (size_t)(to - text)};
}
