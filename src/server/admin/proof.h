/*
 * GET /proof?nonce=N: {"proof": HEX}, which shows that this server knows its token; token.h has
 * what is proven.  For everybody, because it is asked for before the token is sent.
 */
#ifndef TV_SERVER_ADMIN_PROOF_H
#define TV_SERVER_ADMIN_PROOF_H

#include "server/admin/route.h"

int tv_admin_get_proof(tv_admin *admin, tv_request *req);

/**
 * GET /token-file: {"file": PATH}, where the token lies, so that a tool finds it from any folder.
 * For everybody on this machine: the file itself is for its owner alone.
 */
int tv_admin_get_token_file(tv_admin *admin, tv_request *req);

/** Whether there is a token to prove. */
bool tv_admin_has_token(const tv_admin *admin);

#endif
