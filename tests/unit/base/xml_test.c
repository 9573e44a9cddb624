/* Documents that are read, and those that are refused. */
#include "base/xml.h"

#include "check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static tv_arena arena;

static int set_up(__attribute__((unused)) void **state)
{
    tv_arena_init(&arena);
    return 0;
}

static int tear_down(__attribute__((unused)) void **state)
{
    tv_arena_done(&arena);
    return 0;
}

/* The tree as text: name(children) or name=text. */
static void show(tv_buf *buf, const tv_xml_node *node)
{
    tv_buf_add(buf, node->name);
    if (node->first_child == NULL) {
        tv_buf_add_char(buf, '=');
        tv_buf_add(buf, node->text);
        return;
    }
    tv_buf_add_char(buf, '(');
    for (const tv_xml_node *child = node->first_child; child; child = child->next) {
        show(buf, child);
        if (child->next)
            tv_buf_add_char(buf, ' ');
    }
    tv_buf_add_char(buf, ')');
}

static const struct {
    const char *what, *document;
    const char *tree; /* NULL: refused */
} documents[] = {
    {"an element", "<a/>", "a="},
    {"a text", "<a>b c</a>", "a=b c"},
    {"blanks are text", "<a> b </a>", "a= b "},
    {"elements", "<a><b>1</b><c/><b>2</b></a>", "a(b=1 c= b=2)"},
    {"white space between elements", "<a>\r\n <b> </b>\t</a>\n", "a(b= )"},
    {"a declaration", "<?xml version='1.0' encoding='utf-8'?><a/>", "a="},
    {"a declaration of another encoding", "<?xml version='1.0' encoding='utf-16'?><a/>", "a="},
    {"a byte order mark", "\xEF\xBB\xBF<a>1</a>", "a=1"},
    {"a mark and a declaration", "\xEF\xBB\xBF<?xml version=\"1.0\"?><a/>", "a="},
    {"two marks", "\xEF\xBB\xBF\xEF\xBB\xBF<a/>", NULL},
    {"the entities of XML itself", "<a>&lt;&gt;&amp;&apos;&quot;&#65;&#x42;</a>", "a=<>&'\"AB"},
    {"a comment in a text", "<a>1<!-- 2 -->3</a>", "a=13"},
    {"an instruction", "<a><?b c?>1</a>", "a=1"},
    {"attributes are skipped", "<a b='c' xmlns='d'>1</a>", "a=1"},
    {"a section of characters", "<a><![CDATA[<b>&]]></a>", "a=<b>&"},
    {"beyond ASCII", "<a>\xC3\xB4\xF0\x9F\x98\x80</a>", "a=\xC3\xB4\xF0\x9F\x98\x80"},
    {"nothing", "", NULL},
    {"no element", "text", NULL},
    {"JSON", "{}", NULL},
    {"not closed", "<a><b></a>", NULL},
    {"cut", "<a>1", NULL},
    {"two roots", "<a/><b/>", NULL},
    {"text after it", "<a/>b", NULL},
    {"text before an element", "<a>1<b/></a>", NULL},
    {"text after an element", "<a><b/>1</a>", NULL},
    {"an entity that is not defined", "<a>&b;</a>", NULL},
    {"a DOCTYPE", "<!DOCTYPE a><a/>", NULL},
    {"an entity defined", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", NULL},
    {"an entity in a file", "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
     NULL},
    {"a DTD elsewhere", "<!DOCTYPE a SYSTEM 'http://127.0.0.1/a.dtd'><a/>", NULL},
    {"not UTF-8", "<a>\xFF</a>", NULL},
    {"a surrogate", "<a>\xED\xA0\x80</a>", NULL},
    {"a control character", "<a>\x01</a>", NULL},
    {"one by its number", "<a>&#1;</a>", NULL},
    {"an invalid name", "<1/>", NULL},
    {"eight levels", "<a><a><a><a><a><a><a><a/></a></a></a></a></a></a></a>",
     "a(a(a(a(a(a(a(a=)))))))"},
    {"nine levels", "<a><a><a><a><a><a><a><a><a/></a></a></a></a></a></a></a></a>", NULL},
};

TEST(documents_are_read_or_refused)
{
    for (size_t i = 0; i < COUNT(documents); i++) {
        tv_buf tree = TV_BUF_EMPTY;
        const tv_xml_node *root;

        t_row = documents[i].what;
        if (documents[i].tree == NULL) {
            CHECK_ERR(tv_xml_parse(&arena, tv_slice_of(documents[i].document), &root),
                      TV_ERR_XML_DOCUMENT);
            continue;
        }
        CHECK_OK(tv_xml_parse(&arena, tv_slice_of(documents[i].document), &root));
        show(&tree, root);
        CHECK_TEXT(tv_buf_slice(&tree), documents[i].tree);
        tv_buf_done(&tree);
    }
}

TEST(a_nul_is_refused)
{
    const tv_xml_node *root;

    CHECK_ERR(tv_xml_parse(&arena, TV_LIT("<a>\0</a>"), &root), TV_ERR_XML_DOCUMENT);
    CHECK_ERR(tv_xml_parse(&arena, TV_LIT("<a/>\0"), &root), TV_ERR_XML_DOCUMENT);
}

/* A document of `count` children, then its bytes filled up with blanks. */
static tv_err parse_large(size_t count, size_t bytes)
{
    tv_buf buf = TV_BUF_EMPTY;
    const tv_xml_node *root;
    tv_err err;

    tv_buf_add_lit(&buf, "<a>");
    for (size_t i = 0; i < count; i++)
        tv_buf_add_lit(&buf, "<b/>");
    tv_buf_add_lit(&buf, "</a>");
    while (buf.len < bytes)
        tv_buf_add_char(&buf, ' ');
    err = tv_xml_parse(&arena, tv_buf_slice(&buf), &root);
    tv_buf_done(&buf);
    return err;
}

TEST(size_is_bounded)
{
    CHECK_OK(parse_large(TV_XML_NODES_MAX - 1, 0));
    CHECK_ERR(parse_large(TV_XML_NODES_MAX, 0), TV_ERR_XML_DOCUMENT);
    CHECK_OK(parse_large(1, TV_XML_BYTES_MAX));
    CHECK_ERR(parse_large(1, TV_XML_BYTES_MAX + 1), TV_ERR_XML_DOCUMENT);
}

TEST(children_are_found_by_name)
{
    const tv_xml_node *root;

    CHECK_OK(tv_xml_parse(&arena, TV_LIT("<a><b>1</b><B>2</B><b> \n3\t</b></a>"), &root));
    CHECK_INT(root->child_count, 3);
    CHECK_TEXT(tv_xml_child(root, TV_LIT("b"))->text, "1");
    CHECK_TEXT(tv_xml_child(root, TV_LIT("B"))->text, "2");
    CHECK(tv_xml_child(root, TV_LIT("c")) == NULL);
    CHECK_TEXT(tv_xml_word(root->last_child), "3");
}

TEST(what_is_written_is_read_as_it_was)
{
    static const char *const texts[] = {"", "a", "<&>\"'", "a\r\nb\r", "\xC3\xB4", "]]>", " "};

    for (size_t i = 0; i < COUNT(texts); i++) {
        tv_buf buf = TV_BUF_EMPTY;
        const tv_xml_node *root;

        t_row = texts[i];
        tv_xml_add_element(&buf, "a", tv_slice_of(texts[i]));
        CHECK_OK(tv_xml_parse(&arena, tv_buf_slice(&buf), &root));
        CHECK_TEXT(root->text, texts[i]);
        tv_buf_done(&buf);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const struct {
    const char *what;
    tv_slice sent;
    const char *shown;
} sent_texts[] = {
    {"plain", {"a<b\n\t", 5}, "a<b\n\t"},
    {"UTF-8", {"\xC3\xA4", 2}, "\xC3\xA4"},
    {"bytes that are not", {"a\xFF\xC3", 3}, "a??"},
    {"control characters", {"\0\x01\r\x7f\xC2\x80", 6}, "?????"},
    {"what is not a character", {"\xEF\xBF\xBE\xEF\xBF\xBF", 6}, "??"},
    {"just enough", {"12345678", 8}, "12345678"},
    {"too much", {"123456789", 9}, "12345678..."},
    {"nothing", {"", 0}, ""},
};

TEST(text_is_made_fit_for_an_answer)
{
    tv_arena own;

    tv_arena_init(&own);
    for (size_t i = 0; i < sizeof sent_texts / sizeof *sent_texts; i++) {
        t_row = sent_texts[i].what;
        CHECK_TEXT(tv_xml_clean(&own, sent_texts[i].sent, 8), sent_texts[i].shown);
    }
    tv_arena_done(&own);
}

static const struct {
    const char *what, *document;
    unsigned long line, position; /* 0: none */
} faults[] = {
    {"a document", "<a>1</a>", 0, 0},
    {"two lines", "<a>\n1</a>", 0, 0},
    {"nothing", "", 1, 1},
    {"an end that is another's", "<a></b>", 1, 6},
    {"in the second line", "<a>\n  <b>\x01</b></a>", 2, 6},
    {"a byte that is not UTF-8", "<a>\xff</a>", 1, 4},
    {"a DOCTYPE", "<!DOCTYPE a><a/>", 1, 12},
};

TEST(a_fault_has_a_line_and_a_position)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        unsigned long line = 0, position = 0;

        t_row = faults[i].what;
        CHECK_INT(tv_xml_find_fault(tv_slice_of(faults[i].document), &line, &position),
                  faults[i].line > 0);
        CHECK_INT(line, faults[i].line);
        CHECK_INT(position, faults[i].position);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_made_fit_for_an_answer),
        cmocka_unit_test(a_fault_has_a_line_and_a_position),
        CASE(documents_are_read_or_refused),
        CASE(a_nul_is_refused),
        CASE(size_is_bounded),
        CASE(children_are_found_by_name),
        CASE(what_is_written_is_read_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
