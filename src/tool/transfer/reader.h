/*
 * Entities out of a file, one by one, in memory that does not grow with it.
 *
 * A record is what one entity is read from: a line of NDJSON, a row of CSV (which may have line
 * ends within quotes), an object of a JSON array.  A record that cannot be used is XFER_READ_BAD
 * with a reason, and the next call goes on behind it.
 */
#ifndef XFER_READER_H
#define XFER_READER_H

#include <tavola.h>

#include "../text.h"
#include "input.h"

typedef enum xfer_format {
    XFER_FORMAT_NONE, /* not known: by what the file looks like */
    XFER_FORMAT_NDJSON,
    XFER_FORMAT_JSON, /* of AzCopy: an array, an object with "value", or objects in a row */
    XFER_FORMAT_TYPED_CSV,
    XFER_FORMAT_CSV,
} xfer_format;

/** XFER_FORMAT_NONE when there is no format of that name. */
xfer_format xfer_format_of_name(const char *name);
/** By how the name of a file ends; XFER_FORMAT_NONE when that says nothing. */
xfer_format xfer_format_of_path(const char *path);

typedef struct xfer_reader_options {
    xfer_format format;
    char delimiter;       /* of CSV; 0: a comma */
    const char *types;    /* of plain CSV: "Age:int32,Due:datetime", the others are Strings; NULL */
    bool first_row_types; /* typed CSV: what has no type has that of the first row */
} xfer_reader_options;

typedef enum xfer_read {
    XFER_READ_ENTITY,
    XFER_READ_SKIPPED, /* a record that was not asked for */
    XFER_READ_BAD,
    XFER_READ_END,
    XFER_READ_FAILED, /* the file cannot be read on: input.error */
} xfer_read;

typedef struct xfer_csv xfer_csv;

typedef struct xfer_reader {
    xfer_input input;
    xfer_format format;
    xfer_csv *csv;      /* of CSV */
    bool is_array;      /* of JSON: between [ and ] */
    bool is_over;       /* nothing more is to come */
    xfer_place place;   /* where the last record begins */
    const char *record; /* its text, until the next call; NUL-terminated only if it says so */
    size_t record_size;
    size_t held;   /* bytes of the input that are consumed by the next call */
    char why[200]; /* what is wrong with it */
} xfer_reader;

/**
 * Begin to read: takes the descriptor over and looks at the first bytes, with CSV at the first
 * row.  NULL, or why it cannot be read; close it in both cases.
 */
const char *xfer_reader_open(xfer_reader *reader, int fd, const xfer_reader_options *options);
void xfer_reader_close(xfer_reader *reader);

/** The next record; it is not looked into when no entity is wanted (NULL). */
xfer_read xfer_reader_next(xfer_reader *reader, tavola_entity **ret_entity);

/** Behind the last record: all before this place was read. */
const xfer_place *xfer_reader_end(xfer_reader *reader);

/* ---- for the formats ---- */

/** Refuse the record. */
xfer_read xfer_reader_refuse(xfer_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Take `size` bytes at the beginning of the input as the record; they stay until the next call. */
void xfer_reader_take(xfer_reader *reader, size_t size);

/** Take a record that ended in no proper way; up to the next line. */
xfer_read xfer_reader_take_rest_of_line(xfer_reader *reader, const char *why);

/** csv_read.c; reads the first row. */
const char *xfer_csv_open(xfer_reader *reader, const xfer_reader_options *options);
xfer_read xfer_csv_next(xfer_reader *reader, tavola_entity **ret_entity);
void xfer_csv_close(xfer_csv *csv);

/** json_read.c */
const char *xfer_json_open(xfer_reader *reader);
xfer_read xfer_json_next(xfer_reader *reader, tavola_entity **ret_entity);
xfer_read xfer_ndjson_next(xfer_reader *reader, tavola_entity **ret_entity);

#endif
