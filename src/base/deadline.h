/*
 * Until when this thread waits for shared storage, on behalf of the request it works for.
 *
 * A request may wait for several things one after the other, in code that knows nothing of
 * requests: rows, maps, its turn.  So the deadline is the thread's, from where its work begins to
 * where it ends, and whatever waits for the storage looks at it.  A thread that works for nobody
 * has none, and waits as long as it takes.
 */
#ifndef TV_BASE_DEADLINE_H
#define TV_BASE_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

/** By the monotonic clock; 0: none.  Returns the one before, which is to be set again. */
int64_t tv_deadline_set(int64_t until_ns);

/** 0: none. */
int64_t tv_deadline(void);

bool tv_deadline_is_over(void);

#endif
