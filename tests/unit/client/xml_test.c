/* XML, read in place and written. */
#include "client/xml/xml.h"

#include "check.h"
#include "client/memory_faults.h"

/* A document of <r> with texts in <t>, others skipped: "text|text|", or NULL when it is refused. */
static char *read_texts(const char *document, size_t len)
{
    /* Memory of just this size lets the address sanitizer see what goes past the end. */
    char *copy = tvc_alloc(len);
    tvc_text texts = {0};
    tvc_xml xml;
    tv_slice name;

    assert_non_null(copy);
    if (len)
        memcpy(copy, document, len);
    tvc_xml_open(&xml, copy, len, TV_LIT("r"));
    while (tvc_xml_child(&xml, &name)) {
        if (tv_slice_eq(name, TV_LIT("t"))) {
            tv_slice text = tvc_xml_text(&xml);

            tvc_text_add(&texts, text);
            tvc_text_add_char(&texts, '|');
            CHECK(text.data[text.len] == '\0');
        } else {
            tvc_xml_skip(&xml);
        }
    }

    bool is_read = tvc_xml_close(&xml);
    char *taken = tvc_text_take(&texts);

    tvc_release(copy);
    if (!is_read) {
        tvc_release(taken);
        return NULL;
    }
    return taken;
}

static void check_texts(const char *document, size_t len, const char *wanted)
{
    char *texts = read_texts(document, len);

    if ((texts == NULL) != (wanted == NULL) || (texts && strcmp(texts, wanted) != 0))
        CHECK_FAIL("got %s, want %s", texts ? texts : "(refused)", wanted ? wanted : "(refused)");
    tvc_release(texts);
}

TEST(reads_what_services_send)
{
    static const struct {
        const char *label, *document, *texts;
    } cases[] = {
        {"one text", "<r><t>a</t></r>", "a|"},
        {"byte order mark and declaration",
         "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?>\r\n<r><t>a</t></r>\n", "a|"},
        {"empty elements", "<r><t/><t /><t></t></r>", "|||"},
        {"empty root", "<r/>", ""},
        {"empty root with attributes", "<r a='/' b=\">\" />", ""},
        {"blanks of a text are kept", "<r> <t> a\tb\n </t> </r>", " a\tb\n |"},
        {"line ends become LF", "<r><t>a\r\nb\rc\r</t></r>", "a\nb\nc\n|"},
        {"a CR that was escaped stays", "<r><t>a&#xD;&#13;\n</t></r>", "a\r\r\n|"},
        {"the five entities", "<r><t>&lt;&gt;&amp;&quot;&apos;</t></r>", "<>&\"'|"},
        {"an entity is read once", "<r><t>&amp;lt;</t></r>", "&lt;|"},
        {"numbers", "<r><t>&#65;&#x42;&#x1F600;&#xe9;</t></r>", "AB\xf0\x9f\x98\x80\xc3\xa9|"},
        {"CDATA", "<r><t>a<![CDATA[<&]]&amp;>]]>b</t></r>", "a<&]]&amp;>b|"},
        {"comment in a text", "<r><t>a<!-- <t> -->b</t></r>", "ab|"},
        {"comments around", "<!-- a --><r><!----><t>a</t></r><!-- b --> ", "a|"},
        {"instruction in a text", "<r><t>a<?do it?>b</t></r>", "ab|"},
        {"a name that XML cannot hold",
         "<r><t Encoded=\"true\">a%EF%BF%BF%2fb%25</t><t>%41</t><t Encoded='true'/></r>",
         "a\xef\xbf\xbf/b%|%41||"},
        {"a name that XML can hold", "<r><t Encoded=\"false\">%41</t></r>", "%41|"},
        {"attributes are skipped", "<r x=\"<>\"><t y='a>b' z=\"'\">a</t></r>", "a|"},
        {"unknown elements are skipped", "<r><x><t>1</t><y/>and<t/></x><t>2</t><x/></r>", "2|"},
        {"prefixes of names are ignored", "<n:r xmlns:n='u'><n:t>a</n:t></n:r>", "a|"},
        {"blanks in an end tag", "<r><t>a</t ></r\n>", "a|"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i].label;
        check_texts(cases[i].document, strlen(cases[i].document), cases[i].texts);
    }
}

TEST(refuses_what_is_not_xml)
{
    static const struct {
        const char *label, *document;
    } cases[] = {
        {"nothing", ""},
        {"blanks", "  "},
        {"text", "text"},
        {"JSON", "{\"a\":1}"},
        {"HTML", "<html><body>Bad gateway</body></html>"},
        {"another root", "<x><t>a</t></x>"},
        {"a DOCTYPE", "<!DOCTYPE r><r><t>a</t></r>"},
        {"an entity of its own", "<!DOCTYPE r [<!ENTITY e 'a'>]><r><t>&e;</t></r>"},
        {"an unknown entity", "<r><t>&nbsp;</t></r>"},
        {"an entity without end", "<r><t>&lt</t></r>"},
        {"an entity that is too long", "<r><t>&#x0000000000000000000041;</t></r>"},
        {"an ampersand at the end", "<r><t>&"},
        {"NUL", "<r><t>&#0;</t></r>"},
        {"half of a pair", "<r><t>&#xD800;</t></r>"},
        {"beyond Unicode", "<r><t>&#x110000;</t></r>"},
        {"no digits", "<r><t>&#;</t></r>"},
        {"no hexadecimal digits", "<r><t>&#x;</t></r>"},
        {"a letter as a digit", "<r><t>&#6a;</t></r>"},
        {"not UTF-8", "<r><t>\xff</t></r>"},
        {"half a character at the end", "<r><t>\xc3</t></r>"},
        {"an element in a text", "<r><t>a<b/></t></r>"},
        {"text among elements", "<r>a<t>b</t></r>"},
        {"text behind elements", "<r><t>b</t>a</r>"},
        {"text behind the root", "<r/>a"},
        {"text before the root", "a<r/>"},
        {"two roots", "<r/><r/>"},
        {"no end tag", "<r><t>a</t>"},
        {"another end tag", "<r><t>a</x></r>"},
        {"an end tag too many", "<r/></r>"},
        {"an end tag in what is skipped", "<r><x><y></x></y></r>"},
        {"cut in a tag", "<r><t"},
        {"cut behind '<'", "<r><"},
        {"cut in an end tag", "<r></"},
        {"cut in an attribute", "<r><t a='"},
        {"half an escape", "<r><t Encoded=\"true\">a%4</t></r>"},
        {"no escape", "<r><t Encoded=\"true\">%zz</t></r>"},
        {"an escaped NUL", "<r><t Encoded=\"true\">%00</t></r>"},
        {"escapes that are not UTF-8", "<r><t Encoded=\"true\">%C3</t></r>"},
        {"cut in a comment", "<r><!-- "},
        {"cut in CDATA", "<r><t><![CDATA[a]]"},
        {"cut in an instruction", "<?xml "},
        {"no name", "<r><></></r>"},
        {"a blank before a name", "<r>< t>a</t></r>"},
        {"a stray character in a tag", "<r><t!>a</t!></r>"},
        {"a tag in a tag", "<r><t <t>a</t></r>"},
        {"17 deep",
         "<r><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a>"
         "</a></a></a></a></a></a></a></a></a></r>"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i].label;
        check_texts(cases[i].document, strlen(cases[i].document), NULL);
    }
    t_row = "a NUL byte";
    check_texts("<r><t>a\0b</t></r>", sizeof "<r><t>a\0b</t></r>" - 1, NULL);
}

TEST(refuses_every_beginning_of_a_document)
{
    static const char document[] = "<?xml version='1.0'?><r a='b'><x><y/>z</x><t>a&amp;b<!--c-->"
                                   "<![CDATA[d]]></t></r>";

    for (size_t len = 0; len < sizeof document - 1; len++) {
        t_row = document + len;
        check_texts(document, len, NULL);
    }
    check_texts(document, sizeof document - 1, "a&bd|");
}

TEST(reads_numbers)
{
    static const struct {
        const char *label, *text;
        bool is_number;
        uint64_t number;
    } cases[] = {
        {"zero", "0", true, 0},
        {"many digits", "18446744073709551615", true, UINT64_MAX},
        {"too many digits", "18446744073709551616", false, 0},
        {"nothing", "", false, 0},
        {"negative", "-1", false, 0},
        {"blank", " 1", false, 0},
        {"letters", "1a", false, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char document[64];
        tvc_xml xml;

        t_row = cases[i].label;
        snprintf(document, sizeof document, "<n>%s</n>", cases[i].text);
        tvc_xml_open(&xml, document, strlen(document), TV_LIT("n"));

        uint64_t number = tvc_xml_number(&xml);

        CHECK(tvc_xml_close(&xml) == cases[i].is_number);
        CHECK(number == cases[i].number || !cases[i].is_number);
    }
}

TEST(writes_what_comes_back)
{
    static const char *const texts[] = {
        "", "a", "<&>\"'", "]]>", "a\r\nb\tc\n", " a ", "\xf0\x9f\x98\x80",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        t_row = texts[i];
        MEMORY_FAULTS(fault)
        {
            tvc_text text = {0};

            tvc_text_add_lit(&text, "<r>");
            tvc_xml_add_element(&text, "t", tv_slice_of(texts[i]));
            tvc_text_add_lit(&text, "</r>");
            if (!text.has_failed) {
                tv_slice written = tvc_text_slice(&text);
                tvc_xml xml;
                tv_slice name;

                tvc_xml_open(&xml, text.buf.data, written.len, TV_LIT("r"));
                CHECK(tvc_xml_child(&xml, &name));
                CHECK_SLICE(tvc_xml_text(&xml), tv_slice_of(texts[i]));
                CHECK(!tvc_xml_child(&xml, &name) && tvc_xml_close(&xml));
            }
            CHECK(!text.has_failed || memory_fault_was_hit());
            tvc_text_done(&text);
        }
    }
}

TEST(knows_what_xml_can_hold)
{
    static const struct {
        const char *label, *text;
        bool can_hold;
    } cases[] = {
        {"nothing", "", true},
        {"line ends and tabs", "\r\n\t", true},
        {"what is escaped", "<&>", true},
        {"beyond the first plane", "\xf0\x9f\x98\x80", true},
        {"the last that it can hold", "\xef\xbf\xbd", true},
        {"U+0001", "\x01", false},
        {"U+001F", "a\x1f", false},
        {"U+FFFE", "\xef\xbf\xbe", false},
        {"U+FFFF", "a\xef\xbf\xbf", false},
        {"not UTF-8", "\xc0\x80", false},
        {"half of a pair", "\xed\xa0\x80", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        t_row = cases[i].label;
        CHECK(tvc_xml_can_hold(tv_slice_of(cases[i].text)) == cases[i].can_hold);
    }
    t_row = "NUL";
    CHECK(!tvc_xml_can_hold((tv_slice){"a\0", 2}));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_services_send),
        cmocka_unit_test(refuses_what_is_not_xml),
        cmocka_unit_test(refuses_every_beginning_of_a_document),
        cmocka_unit_test(reads_numbers),
        cmocka_unit_test(writes_what_comes_back),
        cmocka_unit_test(knows_what_xml_can_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
