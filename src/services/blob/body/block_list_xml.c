/*
 * Lists of blocks.  They are too long for the trees of base/xml.h, and simple
 * enough to be read as they come: two levels, and text only in the second.
 */
#include "services/blob/body/block_list_xml.h"

#include <expat.h>

#include "base/assert.h"
#include "base/grow.h"
#include "base/thread.h"
#include "base/xml.h"

/* Base 64 of the longest id, and some white space around it. */
enum { ID_TEXT_MAX = 256, CHOICES_MIN = 16 };

typedef struct reading {
    XML_Parser parser;
    tv_arena *arena;
    int depth;
    tv_block_source source;
    char text[ID_TEXT_MAX];
    size_t text_len;
    tv_block_choice *choices; /* grows by doubling; the old ones go with the arena */
    size_t count, size;
    tv_err err;
} reading;

static const struct {
    tv_slice name;
    tv_block_source source;
} sources[] = {
    {{"Latest", 6}, TV_BLOCK_LATEST},
    {{"Committed", 9}, TV_BLOCK_COMMITTED},
    {{"Uncommitted", 11}, TV_BLOCK_UNCOMMITTED},
};

static void stop(reading *r, tv_err err)
{
    if (r->err)
        return;

    r->err = err;
    XML_StopParser(r->parser, XML_FALSE);
}

static bool find_source(tv_slice name, tv_block_source *ret_source)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (tv_slice_eq(name, sources[i].name)) {
            *ret_source = sources[i].source;
            return true;
        }
    }
    return false;
}

static void XMLCALL on_start(void *ctx, const XML_Char *name, const XML_Char **attributes)
{
    reading *r = ctx;
    tv_slice element = tv_slice_of(name);

    (void)attributes;
    if (r->err)
        return;

    tv_thread_step(TV_STEP_SMALL);
    r->depth++;
    r->text_len = 0;
    if (r->depth == 1 && !tv_slice_eq(element, TV_LIT("BlockList")))
        stop(r, TV_ERR_XML_DOCUMENT);
    else if (r->depth == 2 && !find_source(element, &r->source))
        stop(r, TV_ERR_XML_NODE_VALUE);
    else if (r->depth > 2)
        stop(r, TV_ERR_XML_DOCUMENT);
}

static bool is_white(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void add_choice(reading *r)
{
    tv_slice id = {r->text, r->text_len};

    while (id.len && is_white(id.data[0]))
        id = tv_slice_skip(id, 1);
    while (id.len && is_white(id.data[id.len - 1]))
        id.len--;

    if (r->count == TV_BLOB_COMMITTED_BLOCKS_MAX) {
        stop(r, TV_ERR_BLOCK_LIST_TOO_LONG);
        return;
    }
    if (tv_arena_try_grow(r->arena, &r->choices, r->count, &r->size, CHOICES_MIN)) {
        stop(r, TV_ERR_OVERLOADED);
        return;
    }
    r->choices[r->count++] =
        (tv_block_choice){.source = r->source, .id = tv_arena_dup(r->arena, id)};
}

static void XMLCALL on_end(void *ctx, const XML_Char *name)
{
    reading *r = ctx;

    (void)name;
    if (r->err)
        return;
    if (r->depth == 2)
        add_choice(r);
    r->depth--;
    r->text_len = 0;
}

static void XMLCALL on_text(void *ctx, const XML_Char *text, int len)
{
    reading *r = ctx;

    if (r->err)
        return;
    for (int i = 0; i < len; i++) {
        if (r->depth == 2 && r->text_len < sizeof r->text)
            r->text[r->text_len++] = text[i];
        else if (r->depth == 2)
            stop(r, TV_ERR_BLOCK_LIST); /* no block has an id of that length */
        else if (!is_white(text[i]))
            stop(r, TV_ERR_XML_DOCUMENT);
    }
}

static void XMLCALL on_doctype(void *ctx, const XML_Char *name, const XML_Char *system_id,
                               const XML_Char *public_id, int has_internal_subset)
{
    (void)name, (void)system_id, (void)public_id, (void)has_internal_subset;
    stop(ctx, TV_ERR_XML_DOCUMENT);
}

tv_err tv_block_list_parse(tv_arena *arena, tv_slice document, const tv_block_choice **ret_choices,
                           size_t *ret_count)
{
    reading r = {.arena = arena};
    bool is_read;

    if (document.len == 0 || document.len > INT32_MAX)
        return TV_ERR_XML_DOCUMENT;

    r.parser = XML_ParserCreate("UTF-8");
    tv_assert(r.parser != NULL);
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, on_start, on_end);
    XML_SetCharacterDataHandler(r.parser, on_text);
    XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
    is_read = XML_Parse(r.parser, document.data, (int)document.len, 1) == XML_STATUS_OK;
    XML_ParserFree(r.parser);
    if (r.err)
        return r.err;
    if (!is_read)
        return TV_ERR_XML_DOCUMENT;

    *ret_choices = r.choices;
    *ret_count = r.count;
    return TV_OK;
}

static void add_blocks(tv_buf *buf, const char *name, const tv_block *blocks, size_t count)
{
    if (count == 0) {
        tv_buf_printf(buf, "<%s />", name);
        return;
    }
    tv_buf_printf(buf, "<%s>", name);
    for (size_t i = 0; i < count; i++) {
        tv_buf_add_lit(buf, "<Block>");
        tv_xml_add_element(buf, "Name", blocks[i].id);
        tv_buf_printf(buf, "<Size>%llu</Size></Block>", (unsigned long long)blocks[i].length);
    }
    tv_buf_printf(buf, "</%s>", name);
}

/* The most that blocks take; nothing in an id, which is base64, is escaped. */
static size_t blocks_bytes(const tv_block *blocks, size_t count)
{
    enum { BLOCK_BYTES = 80 };
    size_t bytes = BLOCK_BYTES;

    for (size_t i = 0; i < count; i++)
        bytes += BLOCK_BYTES + blocks[i].id.len;
    return bytes;
}

tv_err tv_block_list_add(tv_buf *buf, tv_block_list_type type, const tv_block_lists *lists)
{
    size_t bytes = blocks_bytes(lists->committed, lists->committed_count) +
                   blocks_bytes(lists->uncommitted, lists->uncommitted_count);
    tv_err err = tv_buf_try_reserve(buf, bytes);

    if (err)
        return err;

    tv_buf_add_lit(buf, "<BlockList>");
    if (type & TV_BLOCK_LIST_COMMITTED)
        add_blocks(buf, "CommittedBlocks", lists->committed, lists->committed_count);
    if (type & TV_BLOCK_LIST_UNCOMMITTED)
        add_blocks(buf, "UncommittedBlocks", lists->uncommitted, lists->uncommitted_count);
    tv_buf_add_lit(buf, "</BlockList>");
    return TV_OK;
}
