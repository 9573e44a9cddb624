/* See toml.h. */
#include "toml.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <stdio.h>

#include "base/utf8.h"

typedef struct parser {
    tool_toml *toml;
    const char *at, *end; /* of the line */
    unsigned line;
    tool_toml_error *error;
} parser;

static bool fail(parser *p, const char *what)
{
    p->error->line = p->line;
    snprintf(p->error->text, sizeof p->error->text, "%s", what);
    return false;
}

static void skip_blanks(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t'))
        p->at++;
}

static bool take(parser *p, char c)
{
    if (p->at >= p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* A name, with one dot in it if that is allowed; NULL when there is none. */
static char *take_key(parser *p, bool may_have_dot)
{
    const char *from = p->at;
    const char *dot = NULL;

    while (p->at < p->end && (is_key_char(*p->at) || (*p->at == '.' && may_have_dot && !dot))) {
        if (*p->at == '.')
            dot = p->at;
        p->at++;
    }
    if (p->at == from || dot == from || (dot && dot + 1 == p->at))
        return NULL;
    return tool_copy_part(from, (size_t)(p->at - from));
}

/* Nothing but a comment may follow. */
static bool end_line(parser *p)
{
    skip_blanks(p);
    return p->at == p->end || *p->at == '#' ? true : fail(p, "something follows the value");
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool take_escape(parser *p, tool_text *text)
{
    static const char letters[] = "\"\\nrt", meant[] = "\"\\\n\r\t";
    const char *letter = p->at < p->end && *p->at ? strchr(letters, *p->at) : NULL;

    if (!letter)
        return fail(p, "in a string \\ stands before one of \" \\ n r t");
    tool_text_add(text, &meant[letter - letters], 1);
    p->at++;
    return true;
}

/* "text" or 'text'; the quote has been seen. */
static bool take_string(parser *p, char **ret_text)
{
    char quote = *p->at++;
    tool_text text = {0};
    bool is_fine = true;

    tool_text_puts(&text, "");
    while (is_fine && p->at < p->end && *p->at != quote) {
        if (*p->at == '\\' && quote == '"') {
            p->at++;
            is_fine = take_escape(p, &text);
        } else {
            tool_text_add(&text, p->at++, 1);
        }
    }
    if (is_fine && !take(p, quote))
        is_fine = fail(p, "the string does not end on its line");
    if (is_fine)
        *ret_text = text.at;
    else
        tool_text_done(&text);
    return is_fine;
}

static bool is_quote(const parser *p)
{
    return p->at < p->end && (*p->at == '"' || *p->at == '\'');
}

static bool take_text(parser *p, tool_toml_row *row)
{
    if (row->text_count == TOOL_TOML_LIST_MAX)
        return fail(p, "the list is too long");
    row->texts = tool_resize(row->texts, (row->text_count + 1) * sizeof *row->texts);
    if (!take_string(p, &row->texts[row->text_count]))
        return false;
    row->text_count++;
    return true;
}

static bool take_list(parser *p, tool_toml_row *row)
{
    p->at++;
    row->kind = TOOL_TOML_LIST;
    for (;;) {
        skip_blanks(p);
        if (take(p, ']'))
            return true;
        if (!is_quote(p))
            return fail(p, "a list is of strings, on one line");
        if (!take_text(p, row))
            return false;
        skip_blanks(p);
        if (!take(p, ',') && (p->at >= p->end || *p->at != ']'))
            return fail(p, "the list does not end on its line");
    }
}

static bool take_word(parser *p, const char *word)
{
    size_t size = strlen(word);

    if ((size_t)(p->end - p->at) < size || memcmp(p->at, word, size) != 0 ||
        (p->at + size < p->end && is_key_char(p->at[size])))
        return false;
    p->at += size;
    return true;
}

static bool take_number(parser *p, tool_toml_row *row)
{
    char digits[40];
    size_t size = 0;
    char *end;

    while (p->at + size < p->end && p->at[size] && strchr("0123456789+-.eE_", p->at[size]))
        size++;
    if (size == 0 || size >= sizeof digits)
        return fail(p, "a value is \"text\", a number, true, false or a list of strings");
    memcpy(digits, p->at, size);
    digits[size] = '\0';
    errno = 0;
    row->number = strtod(digits, &end);
    if (*end || errno || !isfinite(row->number))
        return fail(p, "this is not a number");
    row->kind = TOOL_TOML_NUMBER;
    row->is_whole = strpbrk(digits, ".eE") == NULL;
    p->at += size;
    return true;
}

static bool take_value(parser *p, tool_toml_row *row)
{
    if (is_quote(p)) {
        row->kind = TOOL_TOML_STRING;
        return take_text(p, row);
    }
    if (p->at < p->end && *p->at == '[')
        return take_list(p, row);
    row->kind = TOOL_TOML_TRUTH;
    row->truth = take_word(p, "true");
    return row->truth || take_word(p, "false") || take_number(p, row);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool take_section(parser *p, tool_toml_row *row)
{
    p->at++;
    row->kind = take(p, '[') ? TOOL_TOML_MANY : TOOL_TOML_SECTION;
    skip_blanks(p);
    row->key = take_key(p, false);
    skip_blanks(p);
    if (!row->key || !take(p, ']') || (row->kind == TOOL_TOML_MANY && !take(p, ']')))
        return fail(p, "a section is [name] or [[name]]");
    return end_line(p);
}

static bool take_row(parser *p, tool_toml_row *row)
{
    if (*p->at == '[')
        return take_section(p, row);
    row->key = take_key(p, true);
    skip_blanks(p);
    if (!row->key || !take(p, '='))
        return fail(p, "a line is a [section], key = value, or a # comment");
    skip_blanks(p);
    return take_value(p, row) && end_line(p);
}

static bool is_text(const char *at, const char *end)
{
    while (at < end) {
        size_t bytes;
        uint32_t c = tool_utf8_next(at, (size_t)(end - at), &bytes);

        if ((c == 0xFFFD && bytes == 1) || (tv_utf8_is_control(c) && c != '\t'))
            return false;
        at += bytes;
    }
    return true;
}

static bool take_line(parser *p)
{
    tool_toml *toml = p->toml;

    if (p->end > p->at && p->end[-1] == '\r')
        p->end--;
    if (!is_text(p->at, p->end))
        return fail(p, "there are characters that are not text");
    skip_blanks(p);
    if (p->at == p->end || *p->at == '#')
        return true;
    if (toml->count == TOOL_TOML_ROWS_MAX)
        return fail(p, "the file has too many lines");
    if (toml->count == toml->room) {
        toml->room = toml->room ? toml->room * 2 : 32;
        toml->rows = tool_resize(toml->rows, toml->room * sizeof *toml->rows);
    }
    toml->rows[toml->count] = (tool_toml_row){.line = p->line};
    return take_row(p, &toml->rows[toml->count++]);
}

bool tool_toml_parse(tool_toml *toml, const char *text, size_t size, tool_toml_error *reterr)
{
    parser p = {.toml = toml, .error = reterr};
    const char *end = text + size;

    if (size > TOOL_TOML_BYTES_MAX)
        return fail(&p, "the file is larger than 1 MiB");
    while (text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));

        p.line++;
        p.at = text;
        p.end = line_end ? line_end : end;
        text = line_end ? line_end + 1 : end;
        if (!take_line(&p))
            return false;
    }
    return true;
}

void tool_toml_done(tool_toml *toml)
{
    for (size_t i = 0; i < toml->count; i++) {
        for (size_t j = 0; j < toml->rows[i].text_count; j++)
            free(toml->rows[i].texts[j]);
        free(toml->rows[i].texts);
        free(toml->rows[i].key);
    }
    free(toml->rows);
    *toml = (tool_toml){0};
}
