#include "reply.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void reply_init(reply *r)
{
    r->state = REPLY_STATUS;
    r->status = 0;
    r->is_chunked = r->has_length = false;
    r->left = r->body_bytes = 0;
    r->line_length = r->text_length = 0;
    r->text[0] = '\0';
}

static const char *value_of(const char *line, const char *name)
{
    size_t length = strlen(name);

    if (strncasecmp(line, name, length) != 0 || line[length] != ':')
        return NULL;
    line += length + 1;
    return line + strspn(line, " \t");
}

static void on_header(reply *r)
{
    const char *value = value_of(r->line, "Content-Length");
    if (value) {
        r->has_length = true;
        r->left = strtoull(value, NULL, 10);
    }
    value = value_of(r->line, "Transfer-Encoding");
    if (value)
        r->is_chunked = strcasecmp(value, "chunked") == 0;
}

static void on_head_end(reply *r)
{
    if (r->is_chunked)
        r->state = REPLY_CHUNK_SIZE;
    else if (r->has_length && r->left > 0)
        r->state = REPLY_BODY;
    else if (r->has_length || r->status == 204 || r->status == 304)
        r->state = REPLY_DONE;
    else
        r->state = REPLY_BROKEN;
}

/* A whole line, without its end. */
static void on_line(reply *r)
{
    bool is_empty = r->line[0] == '\0';

    switch (r->state) {
    case REPLY_STATUS:
        r->status = strncmp(r->line, "HTTP/1.1 ", 9) == 0 ? atoi(r->line + 9) : 0;
        r->state = r->status >= 200 ? REPLY_HEADER : REPLY_BROKEN;
        break;
    case REPLY_HEADER:
        if (is_empty)
            on_head_end(r);
        else
            on_header(r);
        break;
    case REPLY_CHUNK_SIZE:
        r->left = strtoull(r->line, NULL, 16);
        r->state = r->left > 0 ? REPLY_CHUNK : REPLY_TRAILER;
        break;
    case REPLY_CHUNK_END:
        r->state = is_empty ? REPLY_CHUNK_SIZE : REPLY_BROKEN;
        break;
    case REPLY_TRAILER:
        if (is_empty)
            r->state = REPLY_DONE;
        break;
    default:
        r->state = REPLY_BROKEN;
    }
}

static size_t feed_line(reply *r, const char *data, size_t length)
{
    const char *end = memchr(data, '\n', length);
    size_t used = end ? (size_t)(end - data) : length;

    if (used >= sizeof(r->line) - r->line_length) {
        r->state = REPLY_BROKEN;
        return length;
    }
    memcpy(r->line + r->line_length, data, used);
    r->line_length += used;
    if (!end)
        return length;

    if (r->line_length > 0 && r->line[r->line_length - 1] == '\r')
        r->line_length--;
    r->line[r->line_length] = '\0';
    r->line_length = 0;
    on_line(r);
    return used + 1;
}

static size_t feed_body(reply *r, const char *data, size_t length)
{
    size_t used = length < r->left ? length : (size_t)r->left;
    size_t room = sizeof(r->text) - 1 - r->text_length;
    size_t kept = used < room ? used : room;

    memcpy(r->text + r->text_length, data, kept);
    r->text_length += kept;
    r->text[r->text_length] = '\0';
    r->body_bytes += used;
    r->left -= used;
    if (r->left == 0)
        r->state = r->state == REPLY_CHUNK ? REPLY_CHUNK_END : REPLY_DONE;
    return used;
}

void reply_feed(reply *r, const char *data, size_t length)
{
    while (length > 0 && r->state != REPLY_BROKEN) {
        size_t used;

        if (r->state == REPLY_DONE) {
            r->state = REPLY_BROKEN;
            return;
        }
        if (r->state == REPLY_BODY || r->state == REPLY_CHUNK)
            used = feed_body(r, data, length);
        else
            used = feed_line(r, data, length);
        data += used;
        length -= used;
    }
}
