/*
 * Filters, as the files of query/ share them.  A filter is its text; what went wrong with it is
 * known from the start and stays.
 */
#ifndef TVC_QUERY_FILTER_H
#define TVC_QUERY_FILTER_H

#include "client/memory.h"
#include "client/text.h"
#include "model/odata/filter.h"

enum {
    TVC_FILTER_BYTES_MAX = 64 * 1024,           /* longer URLs than this nobody takes */
    TVC_FILTER_DEPTH_MAX = TV_FILTER_DEPTH_MAX, /* of parentheses */
};

/** What the outermost parts of a filter are joined by. */
typedef enum tvc_joint { TVC_JOINT_NONE, TVC_JOINT_AND, TVC_JOINT_OR } tvc_joint;

struct tavola_filter {
    tavola_err error;
    char *why;      /* with an error: one line for people, or NULL */
    bool is_shared; /* one of tvc_filter_failed */
    tvc_joint joint;
    unsigned depth; /* of its parentheses */
    tvc_text text;  /* complete, unless there is an error */
};

/**
 * A filter that has failed: NO_MEMORY, INVALID or TOO_LARGE.  There is one of each, shared by all,
 * so that a lack of memory cannot turn a filter into NULL, which would mean "everything".  Freed
 * like any other.
 */
tavola_filter *tvc_filter_failed(tavola_err err);

/** A filter that has failed and says why; one that only has failed when there is no memory. */
tavola_filter *tvc_filter_refused(tavola_err err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** A filter of a text, which it takes over: one that has failed when the text has, or is too long.
 */
tavola_filter *tvc_filter_of(tvc_text *text, tvc_joint joint, unsigned depth);

/** The text of a filter, TV_NONE of one that has failed. */
tv_slice tvc_filter_slice(const tavola_filter *filter);

/** A copy; a failed one when there is no memory. */
tavola_filter *tvc_filter_copy(const tavola_filter *filter);

/** Whether a name can be that of a property in a filter or $select. */
bool tvc_filter_name_is_valid(tv_slice name);

/** Append a value as a literal.  INVALID for what has no literal. */
tavola_err tvc_literal_write(tvc_text *text, const tavola_value *value);

/** What is wrong with a value that was not written: "a String that is NULL". */
const char *tvc_literal_fault(tavola_err err, const tavola_value *value);

/**
 * The parts of a filter's text that must be told apart by whoever changes it: strings, and the
 * rest.  tvc_piece_next cuts the next one off; false at the end.
 */
typedef enum tvc_piece_kind {
    TVC_PIECE_PLAIN,  /* a run without any of the others */
    TVC_PIECE_QUOTED, /* 'it''s', its quotes included */
    TVC_PIECE_OPEN,   /* ( */
    TVC_PIECE_CLOSE,  /* ) */
    TVC_PIECE_MARK,   /* ? */
    TVC_PIECE_BROKEN, /* a string without an end: the last piece */
} tvc_piece_kind;

typedef struct tvc_piece {
    tvc_piece_kind kind;
    tv_slice text;
} tvc_piece;

bool tvc_piece_next(tv_slice *rest, tvc_piece *ret_piece);

/** Whether strings end and parentheses match, and how deep these are. */
bool tvc_filter_is_balanced(tv_slice text, unsigned *ret_depth);

#endif
