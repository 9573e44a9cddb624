/*
 * How far an export or a copy has come.
 *
 * Lines of a name, a blank and a value, always the same ones in the same order.  What is not plain
 * in a value is written as %XX.
 */
#include "mark.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../text.h"
#include "state.h"

/* ---- writing ---- */

static void add_line(tool_text *text, const char *name, const char *value)
{
    tool_text_printf(text, "%s ", name);
    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;

        if (c < ' ' || c == '%' || c == 0x7f)
            tool_text_printf(text, "%%%02X", c);
        else
            tool_text_add(text, value, 1);
    }
    tool_text_puts(text, "\n");
}

static void add_number(tool_text *text, const char *name, uint64_t number)
{
    tool_text_printf(text, "%s %" PRIu64 "\n", name, number);
}

/* No value is one sign, and every value has another before it. */
static void add_optional(tool_text *text, const char *name, const char *value)
{
    tool_text marked = {0};

    tool_text_printf(&marked, "%s%s", value ? "=" : "-", value ? value : "");
    add_line(text, name, marked.at);
    tool_text_done(&marked);
}

bool xfer_mark_write(const char *path, const char *verb, const xfer_fact *facts,
                     const xfer_mark *mark)
{
    tool_text text = {0};
    bool has_worked;
    int error;

    tool_text_printf(&text, "tavola %s 1\n", verb);
    for (; facts->name; facts++)
        add_optional(&text, facts->name, facts->value);
    add_optional(&text, "token", mark->token);
    add_number(&text, "complete", mark->is_complete);
    add_number(&text, "doubtful", mark->is_doubtful);
    add_number(&text, "entities", mark->tally.count);
    add_number(&text, "sum", mark->tally.sum[0]);
    add_number(&text, "sum", mark->tally.sum[1]);
    add_number(&text, "bytes", mark->bytes);
    add_number(&text, "digest", mark->digest);
    add_number(&text, "grown", mark->has_grown);
    add_number(&text, "columns", mark->column_count);
    for (size_t i = 0; i < mark->column_count; i++)
        add_line(&text, "column", mark->columns[i]);
    tool_text_puts(&text, "end \n");
    has_worked = xfer_state_replace(path, text.at, text.size);
    error = errno;
    tool_text_done(&text);
    errno = error;
    return has_worked;
}

/* ---- reading ---- */

/* Undo %XX in place; false when it is not right. */
static bool decode(char *text)
{
    char *to = text;

    for (; *text; text++) {
        unsigned c;

        if (*text != '%') {
            *to++ = *text;
            continue;
        }
        if (strspn(text + 1, "0123456789ABCDEF") < 2 || sscanf(text + 1, "%2X", &c) != 1 || c == 0)
            return false;
        *to++ = (char)c;
        text += 2;
    }
    *to = '\0';
    return true;
}

/* The value of the next line, which must have this name; NULL when it has not. */
static char *take_line(char **at, const char *name)
{
    char *line = *at, *end = strchr(line, '\n');
    size_t size = strlen(name);

    if (end == NULL || strncmp(line, name, size) != 0 || line[size] != ' ')
        return NULL;
    *end = '\0';
    *at = end + 1;
    return decode(line + size + 1) ? line + size + 1 : NULL;
}

static bool take_number(char **at, const char *name, uint64_t *ret_number)
{
    const char *value = take_line(at, name);
    char *end = NULL;

    if (value == NULL || *value < '0' || *value > '9')
        return false;
    errno = 0;
    *ret_number = strtoull(value, &end, 10);
    return errno == 0 && *end == '\0';
}

static bool take_flag(char **at, const char *name, bool *ret_flag)
{
    uint64_t number = 0;
    bool is_there = take_number(at, name, &number) && number <= 1;

    *ret_flag = number == 1;
    return is_there;
}

/* *ret_value points into the line; NULL: there is none. */
static bool take_optional(char **at, const char *name, const char **ret_value)
{
    const char *value = take_line(at, name);

    if (value == NULL || (*value != '=' && strcmp(value, "-") != 0))
        return false;
    *ret_value = *value == '=' ? value + 1 : NULL;
    return true;
}

static bool take_columns(char **at, xfer_mark *mark)
{
    enum { COLUMNS_MAX = 100000 };
    uint64_t count;

    if (!take_number(at, "columns", &count) || count > COLUMNS_MAX)
        return false;
    mark->columns = tool_alloc((count + 1) * sizeof *mark->columns);
    for (; mark->column_count < count; mark->column_count++) {
        const char *name = take_line(at, "column");

        if (name == NULL)
            return false;
        mark->columns[mark->column_count] = tool_copy(name);
    }
    return true;
}

static bool take_mark(char **at, xfer_mark *mark)
{
    const char *token = NULL;
    bool is_whole =
        take_optional(at, "token", &token) && take_flag(at, "complete", &mark->is_complete) &&
        take_flag(at, "doubtful", &mark->is_doubtful) &&
        take_number(at, "entities", &mark->tally.count) &&
        take_number(at, "sum", &mark->tally.sum[0]) &&
        take_number(at, "sum", &mark->tally.sum[1]) && take_number(at, "bytes", &mark->bytes) &&
        take_number(at, "digest", &mark->digest) && take_flag(at, "grown", &mark->has_grown) &&
        take_columns(at, mark) && take_line(at, "end") != NULL;

    if (is_whole && token)
        mark->token = tool_copy(token);
    return is_whole;
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static xfer_mark_found parse(char *at, const char *verb, const xfer_fact *facts,
                             xfer_mark *ret_mark, const char **ret_differs)
{
    const char *differs = NULL, *value, *version = take_line(&at, "tavola");
    size_t size = strlen(verb);

    if (version == NULL || strncmp(version, verb, size) != 0 || strcmp(version + size, " 1") != 0)
        return XFER_MARK_BROKEN;
    for (; facts->name; facts++) {
        if (!take_optional(&at, facts->name, &value))
            return XFER_MARK_BROKEN;
        if (differs == NULL && !is_same(value, facts->value))
            differs = facts->name;
    }
    if (!take_mark(&at, ret_mark))
        return XFER_MARK_BROKEN;
    *ret_differs = differs;
    return differs ? XFER_MARK_OTHER : XFER_MARK_READ;
}

xfer_mark_found xfer_mark_read(const char *path, const char *verb, const xfer_fact *facts,
                               xfer_mark *ret_mark, const char **ret_differs)
{
    tool_text text = {0};
    xfer_mark_found found;

    *ret_mark = (xfer_mark){0};
    if (!tool_text_read_own(&text, path)) {
        found = errno == ENOENT || errno == ENOTDIR ? XFER_MARK_NONE : XFER_MARK_BROKEN;
        tool_text_done(&text);
        return found;
    }
    found = text.at ? parse(text.at, verb, facts, ret_mark, ret_differs) : XFER_MARK_BROKEN;
    tool_text_done(&text);
    if (found == XFER_MARK_BROKEN)
        xfer_mark_done(ret_mark);
    return found;
}

void xfer_mark_done(xfer_mark *mark)
{
    for (size_t i = 0; i < mark->column_count; i++)
        free(mark->columns[i]);
    free(mark->columns);
    free(mark->token);
    *mark = (xfer_mark){0};
}
