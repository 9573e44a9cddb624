/* Entities into a file: what all formats share. */
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct xfer_writer {
    xfer_out out;
    xfer_format format;
    bool with_timestamps;
    char *spare_path; /* or NULL */
    xfer_sheet *sheet;
    uint64_t count;
};

xfer_writer *xfer_writer_open(xfer_format format, int fd, const char *const *names,
                              bool with_timestamps, const char *spare_path)
{
    xfer_writer *writer = tool_alloc(sizeof *writer);

    writer->format = format;
    writer->with_timestamps = with_timestamps;
    writer->spare_path = spare_path ? tool_copy(spare_path) : NULL;
    xfer_out_open(&writer->out, fd);
    if (format == XFER_FORMAT_CSV || format == XFER_FORMAT_TYPED_CSV)
        writer->sheet = xfer_sheet_open(format == XFER_FORMAT_TYPED_CSV, names, with_timestamps);
    return writer;
}

void xfer_writer_add(xfer_writer *writer, const tavola_entity *entity)
{
    xfer_out *out = &writer->out;
    bool is_first = writer->count++ == 0;

    if (writer->sheet) {
        xfer_sheet_add(writer->sheet, out, entity);
        return;
    }
    if (writer->format == XFER_FORMAT_JSON)
        xfer_out_add(out, is_first ? "[\n" : ",\n", 2);
    xfer_json_write(out, entity, writer->with_timestamps);
    if (writer->format == XFER_FORMAT_NDJSON)
        xfer_out_add(out, "\n", 1);
}

const char *xfer_writer_trouble(const xfer_writer *writer)
{
    if (writer->out.error)
        return strerror(writer->out.error);
    if (writer->sheet && xfer_sheet_is_too_wide(writer->sheet))
        return "there are more than 10,000 names of properties; use ndjson";
    return NULL;
}

bool xfer_writer_mark(xfer_writer *writer, xfer_mark *mark)
{
    if (writer->count == 0 || xfer_writer_trouble(writer))
        return false;
    if (writer->sheet && !xfer_sheet_mark(writer->sheet, mark))
        return false;
    if (!xfer_out_flush(&writer->out))
        return false;
    mark->tally.count = writer->count;
    mark->bytes = writer->out.written;
    mark->digest = xfer_digest_value(&writer->out.digest);
    return true;
}

void xfer_writer_resume(xfer_writer *writer, const xfer_mark *mark, const xfer_digest *digest)
{
    writer->count = mark->tally.count;
    writer->out.written = mark->bytes;
    writer->out.digest = *digest;
    if (writer->sheet)
        xfer_sheet_resume(writer->sheet, mark);
}

void xfer_writer_abandon(xfer_writer *writer)
{
    if (writer == NULL)
        return;

    xfer_out_done(&writer->out);
    xfer_sheet_close(writer->sheet);
    free(writer->spare_path);
    free(writer);
}

static const char *write_again(xfer_writer *writer)
{
    int fd = tool_new_file(writer->spare_path);
    xfer_out out;
    const char *why;

    if (fd < 0)
        return strerror(errno);
    xfer_out_open(&out, fd);
    why = xfer_sheet_rewrite(writer->sheet, writer->out.fd, &out);
    if (!xfer_out_done(&out) && why == NULL)
        why = strerror(out.error);
    if ((fsync(fd) != 0 || close(fd) != 0) && why == NULL && errno != EINVAL)
        why = strerror(errno);
    return why;
}

const char *xfer_writer_close(xfer_writer *writer, bool *ret_is_spare)
{
    const char *why;

    *ret_is_spare = false;
    if (writer->sheet)
        xfer_sheet_finish(writer->sheet, &writer->out);
    else if (writer->format == XFER_FORMAT_JSON)
        xfer_out_add(&writer->out, writer->count ? "\n]\n" : "[]\n", 3);
    xfer_out_flush(&writer->out);
    why = xfer_writer_trouble(writer);
    if (why == NULL && writer->sheet && xfer_sheet_has_grown(writer->sheet)) {
        why = write_again(writer);
        *ret_is_spare = true;
    }
    xfer_writer_abandon(writer);
    return why;
}
