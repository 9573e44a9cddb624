/*
 * The requests of clients as they are answered, for somebody who looks: GET /requests of the admin
 * port.
 *
 * They are lines of JSON in a ring of fixed size, the oldest give way.  It is filled only while
 * somebody looks: without, a request costs one load of an atomic.  Who looks gets a copy of what
 * there is and is gone, so one that does not read its answer holds nobody up, and only misses some.
 * What is kept of a request is what the access log has of it, and by whom it was sent.
 */
#ifndef TV_SERVICES_SERVICE_RECENT_H
#define TV_SERVICES_SERVICE_RECENT_H

#include "base/buf.h"

typedef struct tv_call tv_call;
typedef struct tv_recent tv_recent;

enum { TV_RECENT_LOOKED_S = 60 }; /* so long it is filled after somebody has looked */

tv_recent *tv_recent_new(void);
/** NULL is accepted. */
void tv_recent_free(tv_recent *recent);

/** A request is done, by the monotonic clock at `end_ns`, and took `ns`.  The network thread. */
void tv_recent_note(tv_recent *recent, const tv_call *call, int64_t end_ns, int64_t ns);

/** Keep an object of JSON of at most TV_LOG_LINE_BYTES_MAX bytes, with at least one member. */
void tv_recent_add(tv_recent *recent, tv_slice object);

typedef struct tv_recent_query {
    uint64_t after;       /* the number of the last one that is known */
    size_t count_max;     /* the latest so many */
    uint64_t first, last; /* returned: the oldest that is kept, and the latest that ever was */
    bool was_off;         /* returned: nobody has looked for a while, so there may have been more */
} tv_recent_query;

/** Append those that are wanted, oldest first, with commas; each has its number as "n".  Any
 * thread.
 */
void tv_recent_read(tv_recent *recent, tv_recent_query *query, int64_t now_ns, tv_buf *out);

#endif
