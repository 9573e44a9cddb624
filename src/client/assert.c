/*
 * What base/assert.c is to the server.  A library does not print: the broken promise is left where
 * a debugger or a core file shows it.
 */
#include "base/assert.h"

#include "client/memory.h"

/* Read it in a debugger after an abort inside the library. */
char tvc_broken_promise[512];

_Noreturn void tv_assert_failed(const char *file, int line, const char *text)
{
    snprintf(tvc_broken_promise, sizeof tvc_broken_promise, "%s:%d: %s", file, line, text);
    abort();
}

/* Shared code takes what was reserved before (README.md), so these do not meet a lack of memory. */

static void *must(void *memory)
{
    tv_assert(memory != NULL);
    return memory;
}

void *tv_malloc(size_t size)
{
    return must(tvc_alloc(size));
}

void *tv_calloc(size_t count, size_t size)
{
    return must(tvc_calloc(count, size));
}

void *tv_realloc(void *old, size_t size)
{
    return must(tvc_resize(old, size));
}
