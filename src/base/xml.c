/* Reading XML with expat, and writing it. */
#include "base/xml.h"

#include <expat.h>

#include "base/assert.h"
#include "base/utf8.h"

typedef struct builder {
    XML_Parser parser;
    tv_arena *arena;
    tv_xml_node *root;
    tv_xml_node *open; /* innermost element */
    size_t depth, nodes;
    tv_buf text; /* of the innermost element, since its start or its last child's end */
    bool failed;
} builder;

static bool is_white(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static tv_slice trim(tv_slice text)
{
    while (text.len && is_white(text.data[0]))
        text = tv_slice_skip(text, 1);
    while (text.len && is_white(text.data[text.len - 1]))
        text.len--;
    return text;
}

static void fail(builder *b)
{
    b->failed = true;
    XML_StopParser(b->parser, XML_FALSE);
}

/* White space between elements means nothing; any other text there is a mistake. */
static bool drop_white(builder *b)
{
    bool is_blank = trim(tv_buf_slice(&b->text)).len == 0;

    b->text.len = 0;
    return is_blank;
}

static void XMLCALL on_start(void *ctx, const XML_Char *name, const XML_Char **attributes)
{
    builder *b = ctx;

    (void)attributes;
    if (b->failed)
        return; /* expat may report what it had read before it stopped */
    if (b->depth == TV_XML_DEPTH_MAX || b->nodes == TV_XML_NODES_MAX || !drop_white(b)) {
        fail(b);
        return;
    }

    tv_xml_node *node = tv_arena_zalloc(b->arena, sizeof *node);

    node->name = tv_arena_dup(b->arena, tv_slice_of(name));
    node->text = TV_LIT("");
    node->parent = b->open;
    if (b->open == NULL) {
        b->root = node;
    } else {
        if (b->open->last_child)
            b->open->last_child->next = node;
        else
            b->open->first_child = node;
        b->open->last_child = node;
        b->open->child_count++;
    }
    b->open = node;
    b->depth++;
    b->nodes++;
}

static void XMLCALL on_end(void *ctx, const XML_Char *name)
{
    builder *b = ctx;

    (void)name;
    if (b->failed)
        return;

    tv_xml_node *node = b->open;

    if (node->first_child == NULL && b->text.len)
        node->text = tv_arena_dup(b->arena, tv_buf_slice(&b->text));
    else if (!drop_white(b))
        fail(b);
    b->text.len = 0;
    b->open = node->parent;
    b->depth--;
}

static void XMLCALL on_text(void *ctx, const XML_Char *text, int len)
{
    builder *b = ctx;

    if (!b->failed)
        tv_buf_add(&b->text, (tv_slice){text, (size_t)len});
}

static void XMLCALL on_doctype(void *ctx, const XML_Char *name, const XML_Char *system_id,
                               const XML_Char *public_id, int has_internal_subset)
{
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_internal_subset;
    fail(ctx);
}

tv_err tv_xml_parse(tv_arena *arena, tv_slice document, const tv_xml_node **ret_root)
{
    builder b = {.arena = arena};
    bool is_read;

    if (document.len == 0 || document.len > TV_XML_BYTES_MAX)
        return TV_ERR_XML_DOCUMENT;

    /* The encoding that the document names is ignored: it is UTF-8.  Expat skips its mark. */
    b.parser = XML_ParserCreate("UTF-8");
    tv_assert(b.parser != NULL);
    XML_SetUserData(b.parser, &b);
    XML_SetElementHandler(b.parser, on_start, on_end);
    XML_SetCharacterDataHandler(b.parser, on_text);
    XML_SetStartDoctypeDeclHandler(b.parser, on_doctype);
    is_read = XML_Parse(b.parser, document.data, (int)document.len, 1) == XML_STATUS_OK;
    XML_ParserFree(b.parser);
    tv_buf_done(&b.text);
    if (!is_read || b.failed)
        return TV_ERR_XML_DOCUMENT;

    tv_assert(b.root != NULL && b.open == NULL);
    *ret_root = b.root;
    return TV_OK;
}

static void XMLCALL stop_at_doctype(void *ctx, const XML_Char *name, const XML_Char *system_id,
                                    const XML_Char *public_id, int has_internal_subset)
{
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_internal_subset;
    XML_StopParser(ctx, XML_FALSE);
}

/* Read a second time, since errors are rare and positions cost time: expat counts on demand. */
bool tv_xml_find_fault(tv_slice document, unsigned long *ret_line, unsigned long *ret_position)
{
    bool is_fault;
    XML_Parser parser;

    if (document.len > TV_XML_BYTES_MAX)
        return false;

    parser = XML_ParserCreate("UTF-8");
    tv_assert(parser != NULL);
    XML_SetUserData(parser, parser);
    XML_SetStartDoctypeDeclHandler(parser, stop_at_doctype);
    is_fault = XML_Parse(parser, document.data, (int)document.len, 1) != XML_STATUS_OK;
    if (is_fault) {
        *ret_line = (unsigned long)XML_GetCurrentLineNumber(parser);
        *ret_position = (unsigned long)XML_GetCurrentColumnNumber(parser) + 1;
    }
    XML_ParserFree(parser);
    return is_fault;
}

const tv_xml_node *tv_xml_child(const tv_xml_node *node, tv_slice name)
{
    const tv_xml_node *child = node->first_child;

    while (child && !tv_slice_eq(child->name, name))
        child = child->next;
    return child;
}

tv_slice tv_xml_word(const tv_xml_node *node)
{
    return trim(node->text);
}

/* What XML cannot hold, escaped or not; and the other control characters, which are of no use. */
static bool is_shown(uint32_t c)
{
    return (c >= 0x20 || c == '\n' || c == '\t') && !(c >= 0x7f && c <= 0x9f) && c != 0xfffe &&
           c != 0xffff;
}

tv_slice tv_xml_clean(tv_arena *arena, tv_slice text, size_t bytes_max)
{
    bool is_utf8 = tv_utf8_is_valid(text);
    tv_buf buf = TV_BUF_EMPTY;
    char bytes[4];

    while (text.len && buf.len < bytes_max) {
        uint32_t c = (unsigned char)text.data[0];

        if (is_utf8)
            c = tv_utf8_next(&text);
        else
            text = tv_slice_skip(text, 1);
        if (!is_shown(c) || (!is_utf8 && c >= 0x80))
            c = '?';
        tv_buf_add(&buf, (tv_slice){bytes, tv_utf8_put(bytes, c)});
    }
    if (text.len)
        tv_buf_add_lit(&buf, "...");

    tv_slice copy = tv_arena_dup(arena, tv_buf_slice(&buf));

    tv_buf_done(&buf);
    return copy;
}

size_t tv_xml_text_len(tv_slice text)
{
    size_t len = text.len;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];

        len += c == '<' || c == '>' ? 3 : c == '&' || c == '\r' ? 4 : 0;
    }
    return len;
}

void tv_xml_add_text(tv_buf *buf, tv_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '<')
            tv_buf_add_lit(buf, "&lt;");
        else if (text.data[i] == '>')
            tv_buf_add_lit(buf, "&gt;");
        else if (text.data[i] == '&')
            tv_buf_add_lit(buf, "&amp;");
        else if (text.data[i] == '\r')
            tv_buf_add_lit(buf, "&#xD;"); /* bare, a reader would take it for a line feed */
        else
            tv_buf_add_char(buf, text.data[i]);
    }
}

void tv_xml_add_element(tv_buf *buf, const char *name, tv_slice text)
{
    if (text.len == 0) {
        tv_buf_printf(buf, "<%s />", name);
        return;
    }
    tv_buf_printf(buf, "<%s>", name);
    tv_xml_add_text(buf, text);
    tv_buf_printf(buf, "</%s>", name);
}
