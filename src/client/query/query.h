/*
 * Filters and queries as the service reads them, behind tavola_filter and tavola_query.
 */
#ifndef TVC_QUERY_H
#define TVC_QUERY_H

#include "client/memory.h"
#include "client/text.h"

/** NULL: the first error is returned by whoever uses it. */
tavola_err tvc_query_error(const tavola_query *query);

/** What is wrong with a query that has an error. */
const char *tvc_query_why(const tavola_query *query);

/**
 * Append "$filter=...&$select=...&$top=..." percent-encoded; nothing for a NULL query.  At most
 * `limit_left` entities are asked for, `UINT64_MAX` for no limit.  `extra` are more names for the
 * $select, if there is one (the metadata of encryption), ending with NULL; or NULL.
 */
void tvc_query_write(tvc_text *text, const tavola_query *query, uint64_t limit_left,
                     const char *const *extra);

uint64_t tvc_query_limit(const tavola_query *query); /* UINT64_MAX: none, also of NULL */

/** Whether only some of the properties are asked for. */
bool tvc_query_is_selection(const tavola_query *query);

/** If only some are, these names as well, which end with NULL; an error is that of the query. */
void tvc_query_select_also(tavola_query *query, const char *const *names);

/** A copy, for an operation that outlives the caller's; NULL when there is no memory. */
tavola_query *tvc_query_copy(const tavola_query *query);

/** The same query with only the keys selected: counting, deleting.  NULL: no memory. */
tavola_query *tvc_query_keys_only(const tavola_query *query);

/** The same query with one more condition, which is taken over.  NULL: no memory. */
tavola_query *tvc_query_narrow(const tavola_query *query, tavola_filter *filter);

/*
 * Tokens: "v1;p;<NextPartitionKey>;<NextRowKey>", `p` or `s` for the location that gave it, the
 * values percent-encoded; an absent NextRowKey is left out with its semicolon.
 */
typedef struct tvc_token {
    bool is_secondary;
    tv_slice partition, row; /* percent-encoded; row.data is NULL when absent */
} tvc_token;

/** False when it is not a token. */
bool tvc_token_parse(const char *text, tvc_token *ret_token);

/** From the two headers of an answer; NULL when there is no memory. */
char *tvc_token_make(bool is_secondary, tv_slice next_partition, tv_slice next_row);

#endif
