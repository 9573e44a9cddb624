/* Bad lines. */
#include "bad.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "../tool.h"

enum { TOLD_MAX = 20, TEXT_MAX = 1 << 16 };

const char *xfer_bad_open(xfer_bad *bad, const char *input_path, const char *path, uint64_t keep)
{
    *bad = (xfer_bad){.input_path = input_path, .fd = -1};
    if (path == NULL)
        return NULL;
    bad->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (bad->fd < 0 || ftruncate(bad->fd, (off_t)keep) != 0 ||
        lseek(bad->fd, (off_t)keep, SEEK_SET) < 0) {
        const char *why = strerror(errno);

        xfer_bad_close(bad);
        return why;
    }
    xfer_out_open(&bad->out, bad->fd);
    bad->out.written = keep;
    return NULL;
}

void xfer_bad_add(xfer_bad *bad, uint64_t line, const char *why, const char *text, size_t size)
{
    if (bad->count < TOLD_MAX)
        tool_note("%s:%" PRIu64 ": %s", bad->input_path, line, why);
    else if (bad->count == TOLD_MAX)
        tool_note("%s: more bad lines follow, which are not told here", bad->input_path);
    bad->count++;
    if (bad->fd < 0)
        return;

    char number[64];
    int digits = snprintf(number, sizeof number, "\"line\":%" PRIu64 ",\"error\":", line);

    xfer_out_add(&bad->out, "{", 1);
    if (bad->is_of_many) {
        xfer_out_add(&bad->out, "\"file\":", 7);
        xfer_json_string(&bad->out, bad->input_path, strlen(bad->input_path));
        xfer_out_add(&bad->out, ",", 1);
    }
    xfer_out_add(&bad->out, number, (size_t)digits);
    xfer_json_string(&bad->out, why, strlen(why));
    if (text) {
        xfer_out_add(&bad->out, ",\"text\":", 8);
        xfer_json_string(&bad->out, text, size < TEXT_MAX ? size : TEXT_MAX);
    }
    xfer_out_add(&bad->out, "}\n", 2);
}

uint64_t xfer_bad_sync(xfer_bad *bad)
{
    if (bad->fd < 0)
        return 0;
    xfer_out_flush(&bad->out);
    return bad->out.written;
}

void xfer_bad_close(xfer_bad *bad)
{
    if (bad->fd < 0)
        return;
    xfer_out_done(&bad->out);
    close(bad->fd);
    bad->fd = -1;
}
