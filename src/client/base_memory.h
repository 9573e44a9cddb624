/*
 * Included before everything else (-include) where the library compiles the files that it shares
 * with the server: their memory comes from client/memory.h.
 */
#ifndef TVC_BASE_MEMORY_H
#define TVC_BASE_MEMORY_H

#include <stdlib.h>
#include <string.h>

void *tvc_alloc(size_t size);
void *tvc_calloc(size_t count, size_t size);
void *tvc_resize(void *old, size_t size);
void tvc_release(void *memory);

#define malloc tvc_alloc
#define calloc tvc_calloc
#define realloc tvc_resize
#define free tvc_release

#endif
