/*
 * The access policies of a table, queue or container as XML: what clients send and get, and what is
 * stored.
 */
#ifndef TV_MODEL_CATALOG_ACL_H
#define TV_MODEL_CATALOG_ACL_H

#include "base/buf.h"
#include "base/service_kind.h"
#include "model/auth/policy.h"

/**
 * Read <SignedIdentifiers>; texts live in the arena, times in seven digits.
 * TV_ERR_XML_DOCUMENT for another document, more than TV_POLICIES_MAX policies
 * or two of one id; TV_ERR_XML_NODE_VALUE for an id, a time or a permission
 * that is not valid.
 */
tv_err tv_acl_parse(tv_arena *arena, tv_service_kind service, tv_slice document,
                    tv_access_policies *ret_policies) TV_WARN_UNUSED;

/** Append <SignedIdentifiers>, which tv_acl_parse reads back as it was. */
void tv_acl_add_xml(tv_buf *buf, const tv_access_policies *policies);

/** A copy in one piece of memory, for free(); NULL when there are none. */
tv_access_policies *tv_acl_new(const tv_access_policies *from);

bool tv_acl_eq(const tv_access_policies *a, const tv_access_policies *b);

/** A copy in an arena. */
void tv_acl_copy(tv_arena *arena, const tv_access_policies *from, tv_access_policies *ret_copy);

#endif
