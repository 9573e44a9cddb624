/*
 * Stored access policies as XML, both ways.
 */
#ifndef TVC_RESOURCE_POLICIES_H
#define TVC_RESOURCE_POLICIES_H

#include "base/service_kind.h"
#include "client/memory.h"
#include "client/text.h"

enum { TVC_POLICIES_MAX = 5 };

struct tavola_policies {
    char *document; /* the answer, in which all texts are */
    size_t count;
    tavola_policy list[TVC_POLICIES_MAX];
};

/**
 * Write the body of a request.  NULL, or one line for people when a policy cannot be: static text.
 * Permissions are put in the order that the service wants.
 */
const char *tvc_policies_write(tvc_text *text, tv_service_kind service,
                               const tavola_policy *policies, size_t count);

/** Read an answer, which is taken over.  PROTOCOL, NO_MEMORY. */
tavola_err tvc_policies_read(char *document, size_t len, tavola_policies **ret_policies);

#endif
