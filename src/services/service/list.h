/*
 * Lists of queues, containers and blobs: what a request asks for, and the frame
 * of the answer.
 */
#ifndef TV_SERVICES_SERVICE_LIST_H
#define TV_SERVICES_SERVICE_LIST_H

#include "services/service/call.h"

enum { TV_LIST_MAX = 5000 };

/** A page ends after this many bytes, whatever was requested: metadata can be large. */
enum { TV_LIST_PAGE_BYTES_MAX = 4 * 1024 * 1024 };

typedef struct tv_list_query {
    tv_slice prefix, marker; /* data is NULL when not given */
    tv_slice include;        /* words with commas, data is NULL when not given */
    int64_t max;             /* entries on a page */
    bool has_max;            /* it was given */
} tv_list_query;

/**
 * Read and check the parameters.  TV_ERR_URL_UNPARSABLE,
 * TV_ERR_INVALID_QUERY_PARAMETER (see tv_list_check_text), TV_ERR_QUERY_OUT_OF_RANGE.
 */
tv_err tv_list_query_read(tv_call *call, tv_list_query *ret_query) TV_WARN_UNUSED;

/**
 * TV_ERR_INVALID_QUERY_PARAMETER for a parameter's text with control characters, which the
 * answer, that repeats it in XML, cannot have.
 */
tv_err tv_list_check_text(tv_call *call, tv_slice name, tv_slice text) TV_WARN_UNUSED;

/** Whether `include` has a word. */
bool tv_list_includes(const tv_list_query *query, tv_slice word);

/**
 * Append <element>name</element>, or, for a name with U+FFFE or U+FFFF, which XML cannot hold,
 * <element Encoded="true"> with the name percent-encoded.
 */
void tv_list_add_name(tv_buf *out, const char *element, tv_slice name);

/**
 * Append the beginning of <EnumerationResults>, up to the list itself: what was
 * requested is repeated.  `container` and `delimiter` are for blobs, else
 * TV_NONE.
 */
void tv_list_add_opening(tv_buf *out, const tv_call *call, const tv_list_query *query,
                         tv_slice container, tv_slice delimiter);

/** Append <NextMarker> and the end; `marker` is empty on the last page. */
void tv_list_add_closing(tv_buf *out, tv_slice marker);

/*
 * A page is a task in turns (base/turns.h): begun in its first turn, ended in its
 * last, and in between it counts what it has.
 */

/** In the task, when it runs: start the answer.  TV_ERR_OVERLOADED without memory for a page. */
tv_err tv_list_begin_page(tv_call *call) TV_WARN_UNUSED;

/** In the task, at the end of every turn: hold no more memory than the page has taken. */
void tv_list_hold(tv_call *call);

/** In the task, in any case: note its result, and hold the page's memory. */
void tv_list_end_page(tv_call *call, tv_err err);

typedef enum tv_list_limit {
    TV_LIST_NONE,      /* take the next entry */
    TV_LIST_PAGE_ENDS, /* before the next entry: it goes into the marker */
    TV_LIST_TURN_ENDS, /* go on with the next entry in the next turn */
} tv_list_limit;

/** Before an entry, with `count` on the page: whether one of the limits has been reached. */
tv_list_limit tv_list_look_at_limits(tv_call *call, const tv_list_query *query, int64_t count,
                                     tv_turn *turn);

/** Send the list that a task has written: tv_call_take_turns' `then`. */
tv_err tv_list_respond(tv_call *call, tv_err err) TV_WARN_UNUSED;

#endif
