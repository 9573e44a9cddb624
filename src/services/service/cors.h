/*
 * Cross-origin resource sharing: what a browser may do here for a page of
 * another site.  The rules are those of the account's service properties; the
 * first that fits decides.  They grant nothing but what the browser itself
 * withholds: every request but the preflight is authorised like any other.
 *
 * An account with the well-known key is the exception, because there every page
 * can sign: browsers send simple requests without asking first, so what has an
 * effect has to be allowed by a rule here.
 */
#ifndef TV_SERVICES_SERVICE_CORS_H
#define TV_SERVICES_SERVICE_CORS_H

#include "model/auth/identity.h"
#include "model/catalog/catalog.h"
#include "wire/http/request.h"

/** How a request's origin fits a rule. */
typedef enum tv_cors_fit {
    TV_CORS_NO_FIT,
    TV_CORS_ANY_ORIGIN, /* by "*" */
    TV_CORS_ORIGIN,     /* by its name */
} tv_cors_fit;

/**
 * The rule for a request.  `origin` may be empty, which only "*" fits;
 * `headers`, with commas, are those that the browser asks to send, empty when it
 * sends the request itself.  TV_CORS_NO_FIT without a rule.
 */
tv_cors_fit tv_cors_match(const tv_cors_settings *cors, tv_slice origin, tv_slice method,
                          tv_slice headers, const tv_cors_rule **ret_rule);

/**
 * Append the names of the headers that a rule shows to the page: those it names,
 * and of the response's, which are the lines of `head` after its first, those
 * that begin as it says.
 */
void tv_cors_add_exposed(tv_buf *buf, const tv_cors_rule *rule, tv_slice head);

/** What a preflight is granted; the texts are the request's own. */
typedef struct tv_cors_grant {
    tv_slice origin, method, headers; /* headers may be empty */
    int32_t max_age_seconds;
} tv_cors_grant;

/**
 * What a preflight (OPTIONS), which browsers do not sign, is granted by the
 * account that its URL names.  TV_ERR_CORS_HEADER when it is not complete,
 * TV_ERR_CORS_PREFLIGHT when no rule fits.
 */
tv_err tv_cors_preflight(tv_catalog *catalog, tv_service_kind service, tv_request *req,
                         tv_cors_grant *ret_grant) TV_WARN_UNUSED;

/**
 * For a request that has an effect: TV_ERR_CROSS_SITE, with the reason, when
 * `identity` is of an account whose key everybody knows and a browser sent it for
 * a page of another origin that no rule allows this method.  The same for a GET
 * that a browser sent without a word about the page and that any page could have
 * caused.  What no browser sent is never refused, unless it calls itself one and
 * sends a SAS without x-ms-version.
 */
tv_err tv_cors_check_page(tv_catalog *catalog, tv_service_kind service, const tv_identity *identity,
                          tv_request *req, tv_error_info *reterr_info) TV_WARN_UNUSED;

/** Add a grant's headers to the response. */
void tv_cors_add_grant(tv_request *req, const tv_cors_grant *grant);

/** Add what the rules say to a response (not to a preflight) that has all its other headers. */
void tv_cors_add_headers(tv_catalog *catalog, tv_service_kind service, tv_request *req);

#endif
