/* Writes the XML of requests. */
#include "client/xml/xml.h"

#include "base/utf8.h"

bool tvc_xml_can_hold(tv_slice text)
{
    enum { FIRST_VISIBLE = 0x20, NOT_A_CHARACTER = 0xfffe };

    if (!tv_utf8_is_valid(text))
        return false;

    while (text.len) {
        uint32_t c = tv_utf8_next(&text);

        if ((c < FIRST_VISIBLE && c != '\t' && c != '\n' && c != '\r') || c == NOT_A_CHARACTER ||
            c == NOT_A_CHARACTER + 1)
            return false;
    }
    return true;
}

void tvc_xml_add_text(tvc_text *to, tv_slice text)
{
    for (size_t done = 0, i = 0; i <= text.len; i++) {
        tv_slice escaped = TV_NONE;

        switch (i < text.len ? text.data[i] : '\0') {
        case '&':
            escaped = TV_LIT("&amp;");
            break;
        case '<':
            escaped = TV_LIT("&lt;");
            break;
        case '>':
            escaped = TV_LIT("&gt;");
            break;
        case '\r': /* else a reader makes LF of it */
            escaped = TV_LIT("&#xD;");
            break;
        default:
            break;
        }
        if (i < text.len && escaped.data == NULL)
            continue;

        tvc_text_add(to, tv_slice_take(tv_slice_skip(text, done), i - done));
        tvc_text_add(to, escaped);
        done = i + 1;
    }
}

void tvc_xml_add_element(tvc_text *to, const char *name, tv_slice text)
{
    tvc_text_add_char(to, '<');
    tvc_text_add(to, tv_slice_of(name));
    tvc_text_add_char(to, '>');
    tvc_xml_add_text(to, text);
    tvc_text_add_lit(to, "</");
    tvc_text_add(to, tv_slice_of(name));
    tvc_text_add_char(to, '>');
}
