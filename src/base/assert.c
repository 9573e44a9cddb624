/* Assertions and the allocator that does not fail. */
#include "base/assert.h"

#include <signal.h>

_Noreturn void tv_assert_failed(const char *file, int line, const char *text)
{
    fprintf(stderr, "level=fatal event=assert file=%s line=%d promise=\"%s\"\n", file, line, text);
    signal(SIGABRT, SIG_DFL); /* all is said */
    abort();
}

void *tv_malloc(size_t size)
{
    void *memory = malloc(size ? size : 1);

    tv_assert(memory != NULL);
    return memory;
}

void *tv_calloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);

    tv_assert(memory != NULL);
    return memory;
}

void *tv_realloc(void *old, size_t size)
{
    void *memory = realloc(old, size ? size : 1);

    tv_assert(memory != NULL);
    return memory;
}
