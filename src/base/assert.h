/*
 * What cannot happen is asserted, in release builds too: a server that knows
 * its state is wrong must not write another byte of somebody's data.
 */
#ifndef TV_BASE_ASSERT_H
#define TV_BASE_ASSERT_H

#include "base/banned.h"

/** Print the place and the broken promise, then abort.  Never returns. */
_Noreturn void tv_assert_failed(const char *file, int line, const char *text);

#define tv_assert(condition)                                                                       \
    ((condition) ? (void)0 : tv_assert_failed(__FILE__, __LINE__, #condition))

/** malloc and friends for sizes that have met their limit already: failure aborts. */
void *tv_malloc(size_t size);
void *tv_calloc(size_t count, size_t size);
void *tv_realloc(void *old, size_t size);

#endif
