/*
 * Text that is written piece by piece: a URL, a request's head, a body.  When memory is short it
 * stays as it is and remembers, so only the end needs a check.
 */
#ifndef TVC_TEXT_H
#define TVC_TEXT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/slice.h"

/** An empty text is all zeros. */
typedef struct tvc_text {
    tv_buf buf;
    bool has_failed; /* some of it is missing */
} tvc_text;

void tvc_text_done(tvc_text *text);

/** Empty it, keep its memory, forget a failure. */
void tvc_text_reset(tvc_text *text);

/** Whether `count` more bytes can be appended to text->buf now; false also after a failure. */
bool tvc_text_room(tvc_text *text, size_t count);

void tvc_text_add(tvc_text *text, tv_slice bytes);
void tvc_text_add_char(tvc_text *text, char c);
void tvc_text_add_int64(tvc_text *text, int64_t number);
#define tvc_text_add_lit(text, literal) tvc_text_add((text), TV_LIT(literal))

/** Append a string in quotes and escaped, as JSON.  `string` is valid UTF-8. */
void tvc_text_add_json(tvc_text *text, tv_slice string);

/** Append a value percent-encoded: unreserved characters as they are, all others %XX. */
void tvc_text_add_encoded(tvc_text *text, tv_slice value);

/** Append an entity key percent-encoded for a URL's path, its quotes doubled. */
void tvc_text_add_key(tvc_text *text, tv_slice key);

/** Append "name: value" and a line end.  Neither has one. */
void tvc_text_add_header(tvc_text *text, tv_slice name, tv_slice value);

/** Append base64 of bytes. */
void tvc_text_add_base64(tvc_text *text, tv_slice bytes);

/** What has been written; valid until the next append. */
static inline tv_slice tvc_text_slice(const tvc_text *text)
{
    return tv_buf_slice(&text->buf);
}

/** Take the text away, with a NUL after it: NULL when something failed.  The text is empty then. */
char *tvc_text_take(tvc_text *text);

#endif
