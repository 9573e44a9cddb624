/*
 * Entities into a file, one by one.
 *
 * CSV has all its columns in the first row, and a service tells of a property when it comes.  So
 * the columns are those of the first thousand entities.  If later ones have more, these go behind
 * the others, and when everything is there the file is written once more with all columns in their
 * order: twice the disk for a while, but no more memory.
 */
#ifndef XFER_WRITER_H
#define XFER_WRITER_H

#include "mark.h"
#include "reader.h"

/** Bytes on their way to a descriptor. */
typedef struct xfer_out {
    int fd;
    char *data;
    size_t size, room;
    uint64_t written;   /* to the descriptor, by an interrupted run as well */
    xfer_digest digest; /* of all that was written */
    int error;          /* errno of the first write that failed; the rest is dropped */
    bool is_terminal;   /* gets no controls */
} xfer_out;

void xfer_out_open(xfer_out *out, int fd);
bool xfer_out_flush(xfer_out *out);
/** Flush and free; does not close the descriptor. */
bool xfer_out_done(xfer_out *out);
/** Room for so many bytes, at out->data + out->size; whoever fills it adds to the size. */
char *xfer_out_room(xfer_out *out, size_t bytes);
void xfer_out_add(xfer_out *out, const char *data, size_t size);

typedef struct xfer_writer xfer_writer;

/**
 * `fd` is where the entities go.  `names` are all properties there can be, ending with NULL, or
 * NULL when they are not known; CSV whose columns are not known needs `spare_path`, the name of a
 * file that it may make beside the other one, and then `fd` can be read and rewound.
 */
xfer_writer *xfer_writer_open(xfer_format format, int fd, const char *const *names,
                              bool with_timestamps, const char *spare_path);
void xfer_writer_add(xfer_writer *writer, const tavola_entity *entity);

/**
 * Write what there is and say how far the file has come, so that a later run can go on from there;
 * token and doubts are the caller's.  False when that cannot be: rows are held back for the sake of
 * the first one, or a write has failed.  The columns belong to the writer.
 */
bool xfer_writer_mark(xfer_writer *writer, xfer_mark *mark);
/** Go on at a mark: `fd` is at the end of the bytes that it tells of, `digest` is theirs. */
void xfer_writer_resume(xfer_writer *writer, const xfer_mark *mark, const xfer_digest *digest);

/**
 * Write what is left.  *ret_is_spare: the result is in the spare file, and not in the first one.
 * NULL, or what went wrong.  Frees the writer.
 */
const char *xfer_writer_close(xfer_writer *writer, bool *ret_is_spare);

/** Why nothing more can be written; NULL: it can. */
const char *xfer_writer_trouble(const xfer_writer *writer);
/** End without a result: nothing more is written but what is there. */
void xfer_writer_abandon(xfer_writer *writer);

/* ---- for the formats ---- */

/** json_write.c: keys, Timestamp if asked for, properties; without a line end. */
void xfer_json_write(xfer_out *out, const tavola_entity *entity, bool with_timestamp);

/** A string with its quotes. */
void xfer_json_string(xfer_out *out, const char *text, size_t size);

/** csv_write.c */
typedef struct xfer_sheet xfer_sheet;
xfer_sheet *xfer_sheet_open(bool is_typed, const char *const *names, bool with_timestamps);
void xfer_sheet_add(xfer_sheet *sheet, xfer_out *out, const tavola_entity *entity);
/** Write what was held back for the sake of the first row. */
void xfer_sheet_finish(xfer_sheet *sheet, xfer_out *out);
/** Whether columns came after the first row was written. */
bool xfer_sheet_has_grown(const xfer_sheet *sheet);
/** There are more columns than can be. */
bool xfer_sheet_is_too_wide(const xfer_sheet *sheet);
/** The columns so far; false when the first row is not written yet. */
bool xfer_sheet_mark(const xfer_sheet *sheet, xfer_mark *mark);
void xfer_sheet_resume(xfer_sheet *sheet, const xfer_mark *mark);
/** Write all that is in `fd` once more, with the columns in their order. */
const char *xfer_sheet_rewrite(xfer_sheet *sheet, int fd, xfer_out *out);
void xfer_sheet_close(xfer_sheet *sheet);

#endif
