/*
 * XML answers, as the client reads them.  What is accepted is written out plainly and read again:
 * it must come out the same.
 */
#include "fuzz.h"

#include "base/utf8.h"
#include "client/xml/xml.h"

/* By the first letter of its name an element is one of text, one to be skipped, or one of others:
 * a reader knows what it expects. */
static void write_children(tvc_xml *xml, tvc_text *to)
{
    tv_slice name;

    while (tvc_xml_child(xml, &name)) {
        tv_assert(xml->depth <= TVC_XML_DEPTH_MAX && !xml->is_bad);
        if (name.len && name.data[0] == 't') {
            tv_slice text = tvc_xml_text(xml);

            tv_assert(text.data[text.len] == '\0' && strlen(text.data) == text.len);
            tv_assert(tv_utf8_is_valid(text));
            tvc_xml_add_element(to, "t", text);
        } else if (name.len && name.data[0] == 'n') {
            tvc_xml_number(xml);
            tvc_text_add_lit(to, "<n>1</n>");
        } else if (name.len && name.data[0] == 's') {
            tvc_xml_skip(xml);
        } else {
            tvc_text_add_lit(to, "<e>");
            write_children(xml, to);
            tvc_text_add_lit(to, "</e>");
        }
    }
}

/* False when it is not XML. */
static bool write_again(char *document, size_t len, tvc_text *to)
{
    tvc_xml xml;

    tvc_xml_open(&xml, document, len, TV_LIT("r"));
    tvc_text_add_lit(to, "<r>");
    write_children(&xml, to);
    tvc_text_add_lit(to, "</r>");
    return tvc_xml_close(&xml);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *document = malloc(size ? size : 1);
    tvc_text once = {0}, twice = {0};

    for (size_t i = 0; i < size; i++)
        document[i] = (char)data[i];
    if (write_again(document, size, &once)) {
        char *copy = tvc_dup(tvc_text_slice(&once));

        tv_assert(write_again(copy, once.buf.len, &twice));
        tv_assert(tv_slice_eq(tvc_text_slice(&once), tvc_text_slice(&twice)));
        tvc_release(copy);
    }
    tvc_text_done(&once);
    tvc_text_done(&twice);
    free(document);
    return 0;
}
