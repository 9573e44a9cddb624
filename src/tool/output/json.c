/* JSON of records.  That of entities is the library's, tavola_entity_json. */
#include "../values.h"
#include "row.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"

void tool_json_string(tool_text *text, const char *from, size_t size)
{
    tool_text_puts(text, "\"");
    for (size_t i = 0, bytes; i < size; i += bytes) {
        uint32_t c = tool_utf8_next(from + i, size - i, &bytes);

        if (c == '"' || c == '\\')
            tool_text_printf(text, "\\%c", (char)c);
        else if (c == '\n')
            tool_text_puts(text, "\\n");
        else if (tv_utf8_is_control(c) || c == 0xfffd)
            tool_text_printf(text, "\\u%04x", (unsigned)c);
        else
            tool_text_add(text, from + i, bytes);
    }
    tool_text_puts(text, "\"");
}

void tool_json_record(tool_text *text, const tool_field *fields, size_t count)
{
    size_t written = 0;

    tool_text_puts(text, "{");
    for (size_t i = 0; i < count; i++) {
        const tavola_value *value = &fields[i].value;
        tool_text plain = {0};

        if (value->type == TAVOLA_NONE)
            continue;
        if (written++)
            tool_text_puts(text, ",");
        tool_json_string(text, fields[i].name, strlen(fields[i].name));
        tool_text_puts(text, ":");
        tool_value_write(&plain, value);
        if (value->type == TAVOLA_BOOLEAN || value->type == TAVOLA_INT32 ||
            value->type == TAVOLA_INT64 ||
            (value->type == TAVOLA_DOUBLE && isfinite(value->as.real)))
            tool_text_puts(text, plain.at);
        else
            tool_json_string(text, plain.at, plain.size);
        tool_text_done(&plain);
    }
    tool_text_puts(text, "}");
}
