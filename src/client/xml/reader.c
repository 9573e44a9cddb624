/*
 * Reads XML in place.  Text only becomes shorter when its references are decoded, so it is moved
 * to the front of where it stood, and the NUL behind it takes the place of the '<' of the next tag
 * at most: that is why the reader remembers to be behind one.
 */
#include "client/xml/xml.h"

#include "base/hex.h"
#include "base/number.h"
#include "base/utf8.h"

void tvc_xml_fail(tvc_xml *xml)
{
    xml->is_bad = true;
    xml->at = xml->end;
}

static bool is_white(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static tv_slice rest_of(const tvc_xml *xml)
{
    return (tv_slice){xml->at, (size_t)(xml->end - xml->at)};
}

/* Skip a known beginning, if it is there. */
static bool take(tvc_xml *xml, tv_slice token)
{
    if (!tv_slice_starts_with(rest_of(xml), token))
        return false;
    xml->at += token.len;
    return true;
}

/* Skip everything up to and with a token. */
static bool take_until(tvc_xml *xml, tv_slice token)
{
    char *found = memmem(xml->at, (size_t)(xml->end - xml->at), token.data, token.len);

    if (found == NULL) {
        tvc_xml_fail(xml);
        return false;
    }
    xml->at = found + token.len;
    return true;
}

static bool parse_code_point(tv_slice digits, uint32_t *ret_code_point)
{
    enum { MAX = 0x10ffff, SURROGATES = 0xd800, SURROGATES_END = 0xdfff };
    unsigned base = 10;
    uint32_t value = 0;

    if (digits.len && digits.data[0] == 'x') {
        digits = tv_slice_skip(digits, 1);
        base = 16;
    }
    if (digits.len == 0)
        return false;

    for (size_t i = 0; i < digits.len; i++) {
        char c = tv_ascii_lower(digits.data[i]);
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                                : base;

        if (digit >= base)
            return false;
        value = value * base + digit;
        if (value > MAX)
            return false;
    }
    *ret_code_point = value;
    return value != 0 && (value < SURROGATES || value > SURROGATES_END);
}

/* Decode what stands between '&' and ';'; behind what was written, NULL when it is unknown. */
static char *put_reference(char *to, tv_slice name)
{
    static const struct {
        tv_slice name;
        char c;
    } known[] = {
        {{"lt", 2}, '<'},   {{"gt", 2}, '>'},    {{"amp", 3}, '&'},
        {{"quot", 4}, '"'}, {{"apos", 4}, '\''},
    };
    uint32_t code_point;

    if (name.len && name.data[0] == '#')
        return parse_code_point(tv_slice_skip(name, 1), &code_point)
                   ? to + tv_utf8_put(to, code_point)
                   : NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (tv_slice_eq(name, known[i].name)) {
            *to = known[i].c;
            return to + 1;
        }
    }
    return NULL;
}

/* xml->at is at '&'. */
static char *read_reference(tvc_xml *xml, char *to)
{
    /* No more than "&#x10FFFF;" with a few zeros. */
    enum { LEN_MAX = 16 };
    size_t left = (size_t)(xml->end - xml->at) - 1;
    char *name = xml->at + 1;
    char *end = memchr(name, ';', left < LEN_MAX ? left : LEN_MAX);
    char *behind = end ? put_reference(to, (tv_slice){name, (size_t)(end - name)}) : NULL;

    if (behind == NULL) {
        tvc_xml_fail(xml);
        return to;
    }
    xml->at = end + 1;
    return behind;
}

/* Behind "<![CDATA[". */
static char *read_cdata(tvc_xml *xml, char *to)
{
    char *from = xml->at;

    if (!take_until(xml, TV_LIT("]]>")))
        return to;

    size_t len = (size_t)(xml->at - from) - 3;

    memmove(to, from, len);
    return to + len;
}

/* xml->at is at '<'.  False when a tag begins there. */
static bool read_markup(tvc_xml *xml, char **to)
{
    if (take(xml, TV_LIT("<!--")))
        take_until(xml, TV_LIT("-->"));
    else if (take(xml, TV_LIT("<?")))
        take_until(xml, TV_LIT("?>"));
    else if (take(xml, TV_LIT("<![CDATA[")))
        *to = read_cdata(xml, *to);
    else if (tv_slice_starts_with(rest_of(xml), TV_LIT("<!")))
        tvc_xml_fail(xml);
    else
        return false;
    return true;
}

/* Line ends that are written out become LF, as XML has it. */
static char *read_char(tvc_xml *xml, char *to)
{
    char c = *xml->at++;

    if (c == '\r') {
        if (xml->at < xml->end && *xml->at == '\n')
            xml->at++;
        c = '\n';
    }
    *to = c;
    return to + 1;
}

/* The text up to the next tag, behind whose '<' the reader is then; or up to the end. */
static tv_slice read_text(tvc_xml *xml)
{
    char *text = xml->at, *to = xml->at;
    bool is_at_tag = false;

    while (xml->at < xml->end && !is_at_tag) {
        if (*xml->at == '<')
            is_at_tag = !read_markup(xml, &to);
        else if (*xml->at == '&')
            to = read_reference(xml, to);
        else
            to = read_char(xml, to);
    }

    tv_slice read = {text, (size_t)(to - text)};

    if (xml->is_bad || !tv_utf8_is_valid(read) || memchr(text, '\0', read.len) ||
        is_at_tag != (xml->depth > 0 || xml->is_before_root)) {
        tvc_xml_fail(xml);
        return TV_LIT("");
    }
    if (is_at_tag) {
        xml->at++;
        *to = '\0';
    }
    return read;
}

static bool is_blank(tv_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!is_white(text.data[i]))
            return false;
    }
    return true;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':' || (unsigned char)c >= 0x80;
}

static tv_slice read_name(tvc_xml *xml)
{
    char *from = xml->at;

    while (xml->at < xml->end && is_name_char(*xml->at))
        xml->at++;

    tv_slice name = {from, (size_t)(xml->at - from)};

    if (name.len == 0 || !tv_utf8_is_valid(name))
        tvc_xml_fail(xml);
    return name;
}

static void skip_white(tvc_xml *xml)
{
    while (xml->at < xml->end && is_white(*xml->at))
        xml->at++;
}

/* Attributes up to and with the '>' of a start tag; a '>' in quotes is not the end. */
static void skip_attributes(tvc_xml *xml)
{
    char quote = '\0';

    while (xml->at < xml->end) {
        char c = *xml->at++;

        if (quote) {
            if (c == quote)
                quote = '\0';
            continue;
        }
        if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '>') {
            xml->is_empty = xml->at[-2] == '/';
            return;
        } else if (c == '<') {
            break;
        }
    }
    tvc_xml_fail(xml);
}

/* Whether attributes say that the text is percent-encoded, since XML cannot hold it. */
static bool says_encoded(tv_slice attributes)
{
    static const char with_quotes[] = "Encoded=\"true\"", with_others[] = "Encoded='true'";

    return memmem(attributes.data, attributes.len, with_quotes, sizeof with_quotes - 1) ||
           memmem(attributes.data, attributes.len, with_others, sizeof with_others - 1);
}

/* Behind the '<' of a start tag. */
static void read_start(tvc_xml *xml)
{
    tv_slice name = read_name(xml);

    if (xml->is_bad || xml->depth == TVC_XML_DEPTH_MAX || xml->at == xml->end ||
        (!is_white(*xml->at) && *xml->at != '>' && *xml->at != '/')) {
        tvc_xml_fail(xml);
        return;
    }

    char *attributes = xml->at;

    skip_attributes(xml);
    xml->is_encoded = says_encoded((tv_slice){attributes, (size_t)(xml->at - attributes)});
    xml->names[xml->depth++] = name;
}

/* Behind the '<' of an end tag. */
static void read_end(tvc_xml *xml)
{
    xml->at++;

    tv_slice name = read_name(xml);

    skip_white(xml);
    if (xml->is_bad || !tv_slice_eq(name, xml->names[xml->depth - 1]) || !take(xml, TV_LIT(">")))
        tvc_xml_fail(xml);
    else
        xml->depth--;
}

static bool is_end_tag(const tvc_xml *xml)
{
    return xml->at < xml->end && *xml->at == '/';
}

/* Whether the innermost element has no content; then it is closed. */
static bool close_empty(tvc_xml *xml)
{
    if (!xml->is_empty)
        return false;
    xml->is_empty = false;
    xml->depth--;
    return true;
}

static tv_slice local_name(tv_slice name)
{
    size_t colon = tv_slice_find(name, ':');

    return colon < name.len ? tv_slice_skip(name, colon + 1) : name;
}

void tvc_xml_open(tvc_xml *xml, char *document, size_t len, tv_slice root)
{
    *xml = (tvc_xml){.at = document, .end = document, .is_before_root = true};
    if (len == 0) {
        tvc_xml_fail(xml);
        return;
    }
    xml->end += len;
    take(xml, TV_LIT("\xef\xbb\xbf"));
    if (!is_blank(read_text(xml)))
        tvc_xml_fail(xml);
    xml->is_before_root = false;
    if (xml->is_bad)
        return;

    read_start(xml);
    if (!xml->is_bad && !tv_slice_eq(local_name(xml->names[0]), root))
        tvc_xml_fail(xml);
}

bool tvc_xml_child(tvc_xml *xml, tv_slice *ret_name)
{
    if (xml->is_bad || close_empty(xml))
        return false;
    if (!is_blank(read_text(xml)))
        tvc_xml_fail(xml);
    if (xml->is_bad)
        return false;

    if (is_end_tag(xml)) {
        read_end(xml);
        return false;
    }
    read_start(xml);
    if (xml->is_bad)
        return false;

    *ret_name = local_name(xml->names[xml->depth - 1]);
    return true;
}

/* Decode a percent-encoded text where it stands; false when it is not one. */
static bool decode(tv_slice *text)
{
    char *start = (char *)text->data, *to = start;

    for (size_t i = 0; i < text->len; i++) {
        char c = start[i];

        if (c == '%') {
            int high = i + 2 < text->len ? tv_hex_value(start[i + 1]) : -1;
            int low = high >= 0 ? tv_hex_value(start[i + 2]) : -1;

            if (low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        *to++ = c;
    }
    *to = '\0';
    text->len = (size_t)(to - start);
    return tv_utf8_is_valid(*text) && !memchr(start, '\0', text->len);
}

tv_slice tvc_xml_text(tvc_xml *xml)
{
    bool is_encoded = xml->is_encoded;

    if (xml->is_bad || close_empty(xml))
        return TV_LIT("");

    tv_slice text = read_text(xml);

    if (is_encoded && !xml->is_bad && !decode(&text))
        tvc_xml_fail(xml);

    if (!xml->is_bad && is_end_tag(xml))
        read_end(xml);
    else
        tvc_xml_fail(xml);
    return xml->is_bad ? TV_LIT("") : text;
}

void tvc_xml_skip(tvc_xml *xml)
{
    unsigned outer = xml->depth - 1;

    while (!xml->is_bad && xml->depth > outer) {
        if (close_empty(xml))
            continue;
        read_text(xml);
        if (is_end_tag(xml))
            read_end(xml);
        else if (!xml->is_bad)
            read_start(xml);
    }
}

bool tvc_xml_close(tvc_xml *xml)
{
    if (!xml->is_bad && (xml->depth > 0 || !is_blank(read_text(xml))))
        tvc_xml_fail(xml);
    return !xml->is_bad;
}

uint64_t tvc_xml_number(tvc_xml *xml)
{
    uint64_t number = 0;

    if (!tv_parse_uint64(tvc_xml_text(xml), &number))
        tvc_xml_fail(xml);
    return number;
}
