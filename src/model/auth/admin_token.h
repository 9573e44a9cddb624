/*
 * The token of the admin port: whoever can read the data folder may ask for changes.
 *
 * It is new at each start and lies in the file `admin.token` of the data folder,
 * mode 600, so only the server's own user (and root) can send it; a web page, or
 * another user of the machine who can reach the port, cannot.
 *
 * Nor may it be sent to another user of the machine who listens where the server is expected.
 * So a server proves that it knows the token before it is sent any: the proof is the
 * HMAC-SHA256, by the token, of "tavola-admin-proof\n" NONCE "\n" ADDRESS, in hexadecimal.  The
 * nonce is 64 hexadecimal digits that the client has made for this connection; the address is
 * that at which the client has reached the server, as 127.0.0.1:10003 or [::1]:10003.  Both know
 * it from the connection: whoever listens on another address and passes the question on gets a
 * proof for the server's address, not for its own.  The token follows on the same connection.
 */
#ifndef TV_MODEL_AUTH_ADMIN_TOKEN_H
#define TV_MODEL_AUTH_ADMIN_TOKEN_H

#include <stddef.h>

#include "base/slice.h"

/** Each of 256 bits in hexadecimal; those of token and nonce are random. */
enum { TV_ADMIN_TOKEN_CHARS = 64, TV_ADMIN_NONCE_CHARS = 64, TV_ADMIN_PROOF_CHARS = 64 };

#define TV_ADMIN_TOKEN_FILE "admin.token"

/** All zeros is no token, which nothing matches. */
typedef struct tv_admin_token {
    int dir_fd; /* the data folder, while `is_set` */
    bool is_set;
    char text[TV_ADMIN_TOKEN_CHARS + 1];
} tv_admin_token;

/**
 * Make a token and put it into the folder `dir`, which the caller has locked,
 * in place of that of an earlier start: the file has either whole.  False with
 * one line that says what is wrong.
 */
bool tv_admin_token_open(tv_admin_token *token, const char *dir, char *reterr_text,
                         size_t reterr_size);

/** Remove the file.  From then on nothing matches.  Accepts one that was never opened. */
void tv_admin_token_close(tv_admin_token *token);

/** Whether `text` is the token.  The time it takes says nothing about the token. */
bool tv_admin_token_matches(const tv_admin_token *token, tv_slice text);

/** The proof that one knows a token, with a NUL.  Server and tool share it. */
void tv_admin_token_prove(tv_slice token, tv_slice nonce, tv_slice address,
                          char ret_proof[TV_ADMIN_PROOF_CHARS + 1]);

#endif
