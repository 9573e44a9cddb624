/*
 * Conditional headers: If-Match, If-None-Match, If-Modified-Since and
 * If-Unmodified-Since, as the Blob service reads them.  Dates compare whole
 * seconds.
 *
 * For a read all of them count:
 *
 *     If-Match && If-Unmodified-Since && (If-None-Match || If-Modified-Since)
 *
 * For a change, an ETag condition wins over the date that belongs to it: If-Match
 * over If-Unmodified-Since and If-None-Match over If-Modified-Since.
 *
 * The lease is checked before all of them, by every operation that has both.
 */
#ifndef TV_SERVICES_BLOB_STORE_CONDITION_H
#define TV_SERVICES_BLOB_STORE_CONDITION_H

#include <stdint.h>

#include "base/err.h"
#include "base/guid.h"

typedef enum tv_etag_test {
    TV_ETAG_ABSENT,
    TV_ETAG_ANY,   /* "*" */
    TV_ETAG_IS,    /* `etag` */
    TV_ETAG_LIST,  /* any of `list` */
    TV_ETAG_OTHER, /* one that no blob has */
} tv_etag_test;

typedef struct tv_etag_condition {
    tv_etag_test test;
    int64_t etag;
    tv_slice list; /* with commas between them */
} tv_etag_condition;

/** All zeros asks for nothing. */
typedef struct tv_blob_conditions {
    tv_etag_condition if_match, if_none_match;
    int64_t modified_since, unmodified_since; /* ticks; 0 when not sent */
    tv_guid lease_id;
    bool has_lease_id;
    bool must_be_new; /* the client may make a blob but not replace one, whatever it sends */
} tv_blob_conditions;

/**
 * The value of an If-Match or If-None-Match header, which must live as long as
 * the condition.  An unknown form is an ETag that nothing has.
 */
tv_etag_condition tv_etag_condition_parse(tv_slice text);

/** A read of something that was last changed at `etag`: TV_ERR_NOT_MODIFIED (304) or
 * TV_ERR_CONDITION_NOT_MET. */
tv_err tv_conditions_check_read(const tv_blob_conditions *conditions, int64_t etag) TV_WARN_UNUSED;

/** A change of something that exists: TV_ERR_CONDITION_NOT_MET. */
tv_err tv_conditions_check_write(const tv_blob_conditions *conditions, int64_t etag) TV_WARN_UNUSED;

/**
 * A change that makes or replaces a blob, whose lease allows it; `etag` is 0 when
 * there is none yet.  TV_ERR_BLOB_EXISTS for If-None-Match: * on one that exists,
 * else TV_ERR_CONDITION_NOT_MET.  A client that sent the id of the blob's lease
 * knows that it exists: its * says nothing.
 */
tv_err tv_conditions_check_put(const tv_blob_conditions *conditions, int64_t etag) TV_WARN_UNUSED;

/**
 * The same where there are blocks and no blob yet, as recorded at the cloud service: nothing
 * matches an ETag, but If-Modified-Since is compared with the time of the last block.
 */
tv_err tv_conditions_check_commit(const tv_blob_conditions *conditions,
                                  int64_t last_block) TV_WARN_UNUSED;

/** The source of a copy: every failure is TV_ERR_SOURCE_CONDITION. */
tv_err tv_conditions_check_source(const tv_blob_conditions *conditions,
                                  int64_t etag) TV_WARN_UNUSED;

#endif
