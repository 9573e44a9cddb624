/* The library's memory, through the functions of the application. */
#include "client/memory.h"

#include <openssl/crypto.h>
#include <stdlib.h>

#include "client/why.h"

static struct {
    void *(*alloc)(size_t);
    void *(*resize)(void *, size_t);
    void (*release)(void *);
} functions = {malloc, realloc, free};

void tavola_set_allocator(void *(*alloc)(size_t), void *(*resize)(void *, size_t),
                          void (*release)(void *))
{
    functions.alloc = alloc ? alloc : malloc;
    functions.resize = resize ? resize : realloc;
    functions.release = release ? release : free;
}

void tavola_free(void *memory)
{
    tvc_release(memory);
}

/* Whatever comes of it, it is the last that has failed. */
static void *check_memory(void *memory)
{
    if (memory == NULL)
        (void)tvc_refuse(TAVOLA_ERR_NO_MEMORY, "there is no memory");
    return memory;
}

void *tvc_alloc(size_t size)
{
    return check_memory(functions.alloc(size ? size : 1));
}

void *tvc_zalloc(size_t size)
{
    void *memory = tvc_alloc(size);

    return memory ? memset(memory, 0, size) : NULL;
}

void *tvc_calloc(size_t count, size_t size)
{
    size_t bytes;

    return __builtin_mul_overflow(count, size, &bytes) ? NULL : tvc_zalloc(bytes);
}

void *tvc_resize(void *old, size_t size)
{
    return check_memory(functions.resize(old, size ? size : 1));
}

void tvc_release(void *memory)
{
    if (memory)
        functions.release(memory);
}

char *tvc_dup(tv_slice text)
{
    char *copy = tvc_alloc(text.len + 1);

    if (copy == NULL)
        return NULL;
    *tv_slice_put(copy, text) = '\0';
    return copy;
}

char *tvc_dup_text(const char *text)
{
    return text ? tvc_dup(tv_slice_of(text)) : NULL;
}

void tvc_release_secret(char *text)
{
    if (text)
        OPENSSL_cleanse(text, strlen(text));
    tvc_release(text);
}
