/*
 * Containers and blobs, behind tavola_container and the functions of blobs.
 *
 * Everything moves in pieces of a bounded size, each a request of its own that is repeated on its
 * own: a broken upload or download goes on where it was.
 */
#ifndef TVC_BLOB_H
#define TVC_BLOB_H

#include "base/md5.h"
#include "client/resource/resource.h"

enum {
    TVC_BLOB_PIECE = 4 * 1024 * 1024,        /* of a download, and of most blocks */
    TVC_BLOB_LARGE_PIECE = 64 * 1024 * 1024, /* of blocks when half of them are used up */
    TVC_BLOB_BLOCKS_MAX = 50 * 1000,
    TVC_BLOB_SINGLE_MAX = 16 * 1024 * 1024, /* of a put in one request */
    TVC_BLOB_APPEND_MAX = 4 * 1024 * 1024,
};

struct tavola_container {
    tvc_resource resource;
};

/** Refuse a NULL container and what is not the name of a blob. */
tavola_err tvc_blob_check(tavola_container *container, const char *name, tavola_call *call);

/** A request to a blob, with comp if that is not NULL.  NULL when there is no memory. */
tavola_op *tvc_blob_ask(tavola_container *container, const char *name, tavola_call *call,
                        const char *method, const char *comp);

/** Refuse an etag that cannot be a header; NULL is fine. */
tavola_err tvc_blob_check_etag(tavola_call *call, const char *etag);

/** A caller's options, complete; NULL: the defaults.  INVALID when they cannot be used. */
tavola_err tvc_blob_options_read(const tavola_blob_options *options, tavola_call *call,
                                 tavola_blob_options *ret_options);

/** Add their headers. */
void tvc_blob_options_add(tavola_op *op, const tavola_blob_options *options);

void tvc_blob_add_header_number(tavola_op *op, tv_slice name, uint64_t number);

/** Add a header with an MD5 in base64. */
void tvc_blob_add_md5(tavola_op *op, tv_slice name, const unsigned char md5[TV_MD5_BYTES]);

/** Send bytes of the caller's, which are not copied and outlive the operation's run. */
void tvc_blob_send(tavola_op *op, const tv_slice *bytes);

/** What a blob is, as HEAD tells. */
typedef struct tvc_blob_seen {
    tavola_blob_info info; /* first: tavola_blob_info_free frees the whole */
    bool has_md5;
    unsigned char md5[TV_MD5_BYTES];
    char texts[]; /* of the info */
} tvc_blob_seen;

tavola_err tvc_blob_look(tavola_container *container, const char *name, tavola_call *call,
                         tvc_blob_seen **ret_seen);

/**
 * A call for finding out what became of a write that `op` made: with its time, and without retries
 * after all of its own were made.
 */
void tvc_blob_settle_call(tavola_call *ret_call, const tavola_op *op, bool is_exhausted);

/** What a blob is to be, and under which condition. */
typedef struct tvc_blob_wanted {
    uint64_t size;
    unsigned char md5[TV_MD5_BYTES];
    tavola_blob_options options;
} tvc_blob_wanted;

/**
 * Run a write that makes a whole blob, and if it is not known whether it was made, find out.  Frees
 * the operation; NULL: NO_MEMORY.
 */
tavola_err tvc_blob_run_put(tavola_op *op, tavola_container *container, const char *name,
                            const tvc_blob_wanted *wanted);

/** Put in blocks what comes from a callback. */
tavola_err tvc_blob_put_blocks(tavola_container *container, const char *name,
                               tavola_source_fn source, void *user,
                               const tavola_blob_options *options, tavola_call *call);

/** Put from memory in one request.  Options are complete. */
tavola_err tvc_blob_put_single(tavola_container *container, const char *name, tv_slice bytes,
                               const tavola_blob_options *options, tavola_call *call);

/** Read a page of a list.  Takes over `document`.  PROTOCOL, NO_MEMORY. */
tavola_err tvc_blobs_read(char *document, size_t len, bool is_secondary, tavola_blobs **ret_blobs);

#endif
