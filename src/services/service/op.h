/*
 * Operations.  All that is known of one is a row of its service's table: what it
 * is called, which requests ask for it, who may do it, and the functions that do
 * it.  To add an operation is to add a row and its function.
 *
 * A service keeps its table in a file ops.def, whose rows it makes into an enum and
 * into an array of tv_op (queue/ops.h has the shortest one):
 *
 *     OP(PEEK, "PeekMessages", ...the rest of tv_op, by the names of its members)
 */
#ifndef TV_SERVICES_SERVICE_OP_H
#define TV_SERVICES_SERVICE_OP_H

#include "model/auth/identity.h"
#include "wire/http/request.h"

typedef struct tv_call tv_call;

/** Bits of tv_op.flags. */
typedef enum tv_op_flag {
    TV_OP_READS = 1,           /* changes nothing: the secondary has it, any web page may ask */
    TV_OP_SECONDARY_ONLY = 2,  /* of those that read: the primary does not have it */
    TV_OP_HEAD = 4,            /* a HEAD asks for it as well as its method */
    TV_OP_IN_CONTAINER = 8,    /* in a table, queue or container that must exist */
    TV_OP_NEEDS_LENGTH = 16,   /* a request that does not give the length of its body is refused */
    TV_OP_PUBLIC_OBJECT = 32,  /* for everybody, where the objects of a container are public */
    TV_OP_PUBLIC_LISTING = 64, /* for everybody, where the container itself is public, too */
    TV_OP_BY_PARTS = 128,      /* a batch, for every identity: its run function checks each part */
    TV_OP_TELLS_CATALOG = 256, /* answers what the catalogue knows: what is in the store, now */
    TV_OP_ON_ANALYTICS = 512,  /* of changes, one that owners may make to what Storage Analytics writes */
} tv_op_flag;

/** For tv_op.where: no request asks for it by its path; another row's `choose` may turn to it. */
enum { TV_OP_NOWHERE = -1 };

/** What a body may take where a row does not say: XML of properties and access policies. */
enum { TV_OP_BODY_BYTES_MAX = 128 * 1024 };

typedef struct tv_op {
    const char *name; /* that of Storage Analytics, for metrics and logs */

    /* Which requests: what the path addresses (an enum of the service), the method, and comp. */
    int where;
    tv_method method;
    const char *comp; /* "" without one */

    /* What it needs of a SAS; keys may do everything.  See tv_need. */
    unsigned sas;
    tv_resource_type type;
    unsigned all_of, any_of;

    unsigned flags;
    uint64_t body_bytes_max; /* 0: TV_OP_BODY_BYTES_MAX */

    /**
     * Read what tells it from operations with the same path, method and comp, and
     * turn to another row if it is one of those (tv_call_turn_to).  Called before it
     * is known whether the identity may do it.  May be NULL.
     */
    tv_err (*choose)(tv_call *call);

    /**
     * Check the rest of the head, or set a sink, before the body is read.  The
     * identity may do it, and call->container is set if the row says so.  May be NULL.
     */
    tv_err (*head)(tv_call *call);

    /** The body is here.  TV_OK: answered, or will be; an error is answered by the caller. */
    tv_err (*run)(tv_call *call);
} tv_op;

/* For the rows of a table: which requests, and what they need of a SAS. */
#define TV_OP_ASKED_BY(where_, method_, comp_)                                                     \
    .where = (where_), .method = TV_METHOD_##method_, .comp = (comp_)
#define TV_OP_BY_SAS(kinds_, type_, all_of_, any_of_)                                              \
    .sas = (kinds_), .type = TV_TYPE_##type_, .all_of = (all_of_), .any_of = (any_of_)

#endif
