/* Lists of blocks as XML. */
#include "services/blob/body/block_list_xml.h"

#include "check.h"

#define HEAD "<?xml version=\"1.0\" encoding=\"utf-8\"?>"

static const struct {
    const char *what, *document;
    tv_err err;
    const char *choices; /* c, u or l, and the id */
} documents[] = {
    {"one of each, in order",
     HEAD "<BlockList><Latest>AA==</Latest><Committed>AQ==</Committed><Uncommitted>Ag==</"
          "Uncommitted></BlockList>",
     TV_OK, "l:AA== c:AQ== u:Ag== "},
    {"the same block twice", "<BlockList><Latest>AA==</Latest><Latest>AA==</Latest></BlockList>",
     TV_OK, "l:AA== l:AA== "},
    {"an empty list", "<BlockList></BlockList>", TV_OK, ""},
    {"an empty element", "<BlockList />", TV_OK, ""},
    {"a byte order mark", "\xEF\xBB\xBF<BlockList/>", TV_OK, ""},
    {"white space", "<BlockList>\r\n  <Latest>\n AA== </Latest>\n</BlockList>", TV_OK, "l:AA== "},
    {"a comment", "<BlockList><!-- x --><Latest>AA==</Latest></BlockList>", TV_OK, "l:AA== "},
    {"an id in pieces", "<BlockList><Latest>A<![CDATA[A=]]>&#61;</Latest></BlockList>", TV_OK,
     "l:AA== "},
    {"an id that is not valid is the store's to refuse", "<BlockList><Latest></Latest></BlockList>",
     TV_OK, "l: "},
    {"another element", "<BlockList><Newest>AA==</Newest></BlockList>", TV_ERR_XML_NODE_VALUE, ""},
    {"a name in another case", "<BlockList><latest>AA==</latest></BlockList>",
     TV_ERR_XML_NODE_VALUE, ""},
    {"another root", "<Blocks></Blocks>", TV_ERR_XML_DOCUMENT, ""},
    {"elements in elements", "<BlockList><Latest><Latest>AA==</Latest></Latest></BlockList>",
     TV_ERR_XML_DOCUMENT, ""},
    {"text between elements", "<BlockList>x<Latest>AA==</Latest></BlockList>", TV_ERR_XML_DOCUMENT,
     ""},
    {"no end", "<BlockList><Latest>AA==</Latest>", TV_ERR_XML_DOCUMENT, ""},
    {"two roots", "<BlockList/><BlockList/>", TV_ERR_XML_DOCUMENT, ""},
    {"nothing", "", TV_ERR_XML_DOCUMENT, ""},
    {"no XML", "AA==", TV_ERR_XML_DOCUMENT, ""},
    {"a document type",
     "<!DOCTYPE BlockList [<!ENTITY a \"AA==\">]><BlockList><Latest>&a;</Latest></BlockList>",
     TV_ERR_XML_DOCUMENT, ""},
};

TEST(documents_are_read_or_refused)
{
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        const tv_block_choice *choices = NULL;
        tv_buf text = TV_BUF_EMPTY;
        tv_arena arena;
        size_t count = 0;

        t_row = documents[i].what;
        tv_arena_init(&arena);
        CHECK_ERR(tv_block_list_parse(&arena, tv_slice_of(documents[i].document), &choices, &count),
                  documents[i].err);
        for (size_t k = 0; k < count; k++)
            tv_buf_printf(&text, "%c:%.*s ", "cul"[choices[k].source], TV_FMT(choices[k].id));
        CHECK_TEXT(tv_buf_slice(&text), documents[i].choices);
        tv_buf_done(&text);
        tv_arena_done(&arena);
    }
}

static tv_err parse_many(size_t count, size_t *ret_count)
{
    const tv_block_choice *choices;
    tv_buf text = TV_BUF_EMPTY;
    tv_arena arena;
    tv_err err;

    tv_arena_init(&arena);
    tv_buf_add_lit(&text, "<BlockList>");
    for (size_t i = 0; i < count; i++)
        tv_buf_add_lit(&text, "<Latest>AAAAAAAA</Latest>");
    tv_buf_add_lit(&text, "</BlockList>");
    err = tv_block_list_parse(&arena, tv_buf_slice(&text), &choices, ret_count);
    tv_buf_done(&text);
    tv_arena_done(&arena);
    return err;
}

TEST(a_list_has_at_most_50000_blocks)
{
    size_t count = 0;

    CHECK_OK(parse_many(TV_BLOB_COMMITTED_BLOCKS_MAX, &count));
    CHECK_INT(count, TV_BLOB_COMMITTED_BLOCKS_MAX);
    CHECK_ERR(parse_many(TV_BLOB_COMMITTED_BLOCKS_MAX + 1, &count), TV_ERR_BLOCK_LIST_TOO_LONG);
}

TEST(an_id_has_a_length_that_some_block_can_have)
{
    const tv_block_choice *choices;
    tv_buf text = TV_BUF_EMPTY;
    tv_arena arena;
    size_t count;

    tv_arena_init(&arena);
    tv_buf_add_lit(&text, "<BlockList><Latest>");
    for (int i = 0; i < 300; i++)
        tv_buf_add_char(&text, 'A');
    tv_buf_add_lit(&text, "</Latest></BlockList>");
    CHECK_ERR(tv_block_list_parse(&arena, tv_buf_slice(&text), &choices, &count),
              TV_ERR_BLOCK_LIST);
    tv_buf_done(&text);
    tv_arena_done(&arena);
}

TEST(lists_are_written_as_they_are_asked_for)
{
    tv_block blocks[] = {{.id = TV_LIT("AA=="), .length = 10},
                         {.id = TV_LIT("AQ=="), .length = 20}};
    tv_block_lists lists = {.committed = blocks, .committed_count = 2};
    tv_buf text = TV_BUF_EMPTY;

    CHECK_OK(tv_block_list_add(&text, TV_BLOCK_LIST_COMMITTED, &lists));
    CHECK_TEXT(tv_buf_slice(&text),
               "<BlockList><CommittedBlocks><Block><Name>AA==</Name><Size>10</Size></Block>"
               "<Block><Name>AQ==</Name><Size>20</Size></Block></CommittedBlocks></BlockList>");
    text.len = 0;
    CHECK_OK(tv_block_list_add(&text, TV_BLOCK_LIST_UNCOMMITTED, &lists));
    CHECK_TEXT(tv_buf_slice(&text), "<BlockList><UncommittedBlocks /></BlockList>");
    text.len = 0;
    lists.committed_count = 0;
    CHECK_OK(tv_block_list_add(&text, TV_BLOCK_LIST_ALL, &lists));
    CHECK_TEXT(tv_buf_slice(&text),
               "<BlockList><CommittedBlocks /><UncommittedBlocks /></BlockList>");
    tv_buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_are_read_or_refused),
        cmocka_unit_test(a_list_has_at_most_50000_blocks),
        cmocka_unit_test(an_id_has_a_length_that_some_block_can_have),
        cmocka_unit_test(lists_are_written_as_they_are_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
