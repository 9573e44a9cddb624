/*
 * Characters on a terminal.  wcwidth() depends on the locale, which a service or a container often
 * does not have; the ranges here are those that matter for columns that line up.
 */
#include "text.h"

#include <string.h>

#include "base/utf8.h"

uint32_t tool_utf8_next(const char *at, size_t size, size_t *ret_bytes)
{
    tv_slice rest = {at, size};
    uint32_t c = tv_utf8_next_of_any(&rest);

    *ret_bytes = size - rest.len;
    return c;
}

typedef struct range {
    uint32_t from, to;
} range;

static bool is_in(const range *ranges, size_t count, uint32_t c)
{
    for (size_t i = 0; i < count; i++)
        if (c >= ranges[i].from && c <= ranges[i].to)
            return true;
    return false;
}
#define IS_IN(ranges, c) is_in(ranges, sizeof(ranges) / sizeof((ranges)[0]), c)

static const range no_width[] = {
    {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},     {0x610, 0x61a},     {0x64b, 0x65f},
    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d},   {0x20d0, 0x20ff},   {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0x1f3fb, 0x1f3ff}, {0xe0100, 0xe01ef},
};
static const range wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2e80, 0x303e},   {0x3041, 0x33ff},
    {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97f},
    {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
    {0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
    {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

unsigned tool_char_width(uint32_t c)
{
    if (c < 0x300)
        return 1;
    return IS_IN(no_width, c) ? 0 : IS_IN(wide, c) ? 2 : 1;
}

unsigned tool_text_width(const char *text, size_t size)
{
    unsigned width = 0;

    for (size_t i = 0, bytes; i < size; i += bytes)
        width += tool_char_width(tool_utf8_next(text + i, size - i, &bytes));
    return width;
}

void tool_text_escape(tool_text *text, const char *from, size_t size, bool with_backslash)
{
    tool_text_puts(text, "");
    for (size_t i = 0, bytes; i < size; i += bytes) {
        uint32_t c = tool_utf8_next(from + i, size - i, &bytes);

        if (c == '\n')
            tool_text_puts(text, "\\n");
        else if (c == '\r')
            tool_text_puts(text, "\\r");
        else if (c == '\t')
            tool_text_puts(text, "\\t");
        else if (c == '\\' && with_backslash)
            tool_text_puts(text, "\\\\");
        else if (tv_utf8_is_control(c))
            tool_text_printf(text, c < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)c);
        else if (c == 0xfffd && bytes == 1)
            tool_text_printf(text, "\\x%02x", (unsigned)(uint8_t)from[i]);
        else
            tool_text_add(text, from + i, bytes);
    }
}

void tool_text_show(tool_text *text, const char *from, size_t size)
{
    while (size) {
        const char *end = memchr(from, '\n', size);
        size_t line = end ? (size_t)(end - from) : size, taken = end ? line + 1 : size;

        if (end && line && from[line - 1] == '\r')
            line--;
        tool_text_escape(text, from, line, false);
        if (end)
            tool_text_puts(text, "\n");
        from += taken;
        size -= taken;
    }
}
