/*
 * The library's memory: all of it comes from here, and all of it can fail.
 */
#ifndef TVC_MEMORY_H
#define TVC_MEMORY_H

#include "base/slice.h"
#include "tavola.h"

/** NULL when there is none.  tvc_alloc(0) gives memory, too. */
void *tvc_alloc(size_t size);
void *tvc_zalloc(size_t size);
void *tvc_calloc(size_t count, size_t size);
void *tvc_resize(void *old, size_t size);
void tvc_release(void *memory); /* NULL is fine */

/** A copy that ends with NUL; NULL when there is no memory. */
char *tvc_dup(tv_slice text);

/** The same for a C string; NULL for NULL. */
char *tvc_dup_text(const char *text);

/** Free text that was secret, wiped first.  NULL is fine. */
void tvc_release_secret(char *text);

#endif
