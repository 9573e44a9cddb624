/*
 * TLS 1.2 and 1.3 for listeners with a certificate.  A session turns bytes into
 * bytes: what came from the socket goes in at one end, what must go to it comes
 * out at the other, and it never sees the socket itself.  Only stream.c uses
 * sessions.
 */
#ifndef TV_WIRE_NET_TLS_H
#define TV_WIRE_NET_TLS_H

#include <stddef.h>

#include "base/slice.h"

/** A certificate with its key, shared by listeners on all threads. */
typedef struct tv_tls tv_tls;

/** Where a certificate and its key are.  The strings outlive the call alone. */
typedef struct tv_tls_files {
    const char *cert;     /* a PEM chain; without `key`, both in PKCS#12 */
    const char *key;      /* PEM, or NULL */
    const char *password; /* of a PKCS#12 file; NULL is none */
} tv_tls_files;

/**
 * Load a certificate chain and its key.  On failure returns NULL and
 * writes one line that names the file and the reason to `reterr_text`.
 */
tv_tls *tv_tls_new(tv_tls_files files, char *reterr_text, size_t reterr_size);

/**
 * Read certificate and key again, for connections from now on; those that are
 * open keep what they have.  False, and nothing changed, when the files cannot
 * be used.  Any thread.
 */
bool tv_tls_reload(tv_tls *tls, tv_tls_files files, char *reterr_text, size_t reterr_size);

/** After the last listener that uses it is gone.  Accepts NULL. */
void tv_tls_free(tv_tls *tls);

/** The TLS state of one connection, used by its thread alone. */
typedef struct tv_tls_session tv_tls_session;

tv_tls_session *tv_tls_session_new(tv_tls *tls);
void tv_tls_session_free(tv_tls_session *session); /* accepts NULL */

/** Take in bytes from the socket; they are copied. */
void tv_tls_session_feed(tv_tls_session *session, tv_slice bytes);

typedef enum tv_tls_result {
    TV_TLS_DATA,   /* some bytes were decrypted */
    TV_TLS_MORE,   /* nothing until more is fed */
    TV_TLS_END,    /* the peer said goodbye */
    TV_TLS_FAILED, /* not TLS, no common version, a broken record */
} tv_tls_result;

/**
 * Decrypt what was fed, shaking hands first.  Call it until it stops returning
 * TV_TLS_DATA.  Any result can leave bytes to send.
 */
tv_tls_result tv_tls_session_read(tv_tls_session *session, char *to, size_t size, size_t *ret_len);

/** Encrypt all of `bytes`.  False when the session has failed or not begun. */
bool tv_tls_session_write(tv_tls_session *session, tv_slice bytes);

/** Say goodbye (close_notify). */
void tv_tls_session_end(tv_tls_session *session);

/** What must go to the socket; valid until the next call on this session. */
tv_slice tv_tls_session_output(tv_tls_session *session);

/** Forget the output: it has been sent or copied. */
void tv_tls_session_output_clear(tv_tls_session *session);

#endif
