/* Bytes on their way to a file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../text.h"
#include "writer.h"

enum { FLUSH_BYTES = 1 << 18 };

void xfer_out_open(xfer_out *out, int fd)
{
    *out = (xfer_out){.fd = fd, .is_terminal = isatty(fd)};
}

/* How many of the bytes were written. */
static size_t write_all(xfer_out *out, const char *data, size_t size)
{
    size_t at = 0;

    while (at < size && out->error == 0) {
        ssize_t done = write(out->fd, data + at, size - at);

        if (done < 0 && errno != EINTR)
            out->error = errno;
        if (done > 0)
            at += (size_t)done;
    }
    return at;
}

/* Whoever looks at it does not read it with a program: no controls. */
static size_t show_all(xfer_out *out)
{
    tool_text shown = {0};

    tool_text_show(&shown, out->data, out->size);
    write_all(out, shown.at, shown.size);
    tool_text_done(&shown);
    return out->size;
}

bool xfer_out_flush(xfer_out *out)
{
    size_t done =
        out->is_terminal && out->size ? show_all(out) : write_all(out, out->data, out->size);

    if (done)
        xfer_digest_add(&out->digest, out->data, done);
    out->written += done;
    out->size = 0;
    return out->error == 0;
}

bool xfer_out_done(xfer_out *out)
{
    bool has_worked = xfer_out_flush(out);

    free(out->data);
    out->data = NULL;
    return has_worked;
}

char *xfer_out_room(xfer_out *out, size_t bytes)
{
    if (out->room - out->size < bytes) {
        if (out->size >= FLUSH_BYTES)
            xfer_out_flush(out);
        if (out->room - out->size < bytes) {
            out->room = out->size + bytes + FLUSH_BYTES * 2;
            out->data = tool_resize(out->data, out->room);
        }
    }
    return out->data + out->size;
}

void xfer_out_add(xfer_out *out, const char *data, size_t size)
{
    char *to = xfer_out_room(out, size);

    if (size)
        memcpy(to, data, size);
    out->size += size;
}
