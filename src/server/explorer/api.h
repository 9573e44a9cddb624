/* What the page asks of the server itself; of a service it asks through a door (explorer.h). */
#ifndef TV_SERVER_EXPLORER_API_H
#define TV_SERVER_EXPLORER_API_H

#include "server/explorer/explorer.h"

/** Answer a request to /api/ that the guard has let through. */
void tv_explorer_answer(tv_explorer *explorer, tv_request *req);

/** Send what is in req->out. */
void tv_explorer_respond(tv_request *req, int status, tv_slice content_type);

/** {"message": why}; `why` is a literal without quotes. */
void tv_explorer_refuse(tv_request *req, int status, const char *why);

#endif
