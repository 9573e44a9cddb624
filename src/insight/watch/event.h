/*
 * All that is known of one finished request to the table service, as plain data: what the
 * recorder (watch.h) is told, by the server when a request is done, and by a reader of a trace.
 * An event borrows everything it points to; nobody keeps a pointer out of it after
 * tv_watch_record has returned.
 *
 * Values of properties are never part of an event.  Keys are; they go no further than what the
 * holder of the admin token may see.
 */
#ifndef TV_INSIGHT_WATCH_EVENT_H
#define TV_INSIGHT_WATCH_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "model/entity/op.h"
#include "model/odata/plan.h"
#include "model/odata/shape.h"

/** The place of a table among those that the recorder keeps, which others have after it. */
enum { TV_WATCH_PLACE_BITS = 17 };
static inline uint32_t tv_watch_place(uint32_t table)
{
    return table & ((UINT32_C(1) << TV_WATCH_PLACE_BITS) - 1);
}

/** What became of one entity. */
typedef enum tv_watch_outcome {
    TV_WATCH_FOUND,    /* read */
    TV_WATCH_MISSING,  /* 404: there is none with this key */
    TV_WATCH_CREATED,  /* written, and there was none before */
    TV_WATCH_CHANGED,  /* written over */
    TV_WATCH_DELETED,  /* gone */
    TV_WATCH_EXISTS,   /* 409: an insert of one that is there */
    TV_WATCH_CONFLICT, /* 412: its ETag is another */
    TV_WATCH_REFUSED,  /* anything else: nothing has happened to it */
} tv_watch_outcome;

typedef enum tv_watch_condition {
    TV_WATCH_UNCONDITIONAL,
    TV_WATCH_IF_ANY,  /* If-Match: * */
    TV_WATCH_IF_ETAG, /* If-Match with an ETag */
} tv_watch_condition;

/**
 * One entity that a request names: the one of a point read or a write, each of a batch.  The key
 * is as it is stored behind the table's prefix, PartitionKey 01 RowKey in CESU-8, so that its
 * bytes sort as the keys do.
 */
typedef struct tv_watch_key {
    tv_slice key;
    uint32_t partition_len; /* of the PartitionKey, without the 01 */
    uint8_t op;             /* tv_entity_op; of a batch the part's */
    uint8_t outcome;        /* tv_watch_outcome */
    uint8_t condition;      /* tv_watch_condition */
    uint32_t units;         /* 1 KiB each, of the entity as read or stored; at least 1 */
    uint32_t bytes;         /* of the entity as read or stored, 0 when there is none */
    int64_t age_s;          /* of what was changed or deleted: since it was written; -1: unknown */
    const tv_property
        *sent; /* properties of a write: names and types are looked at, never values */
    size_t sent_count;
} tv_watch_key;

/** What is known of a page of a query; all zeros for other operations. */
typedef struct tv_watch_query {
    const tv_filter *filter; /* the tree; NULL in a trace.  What is kept of it has no values */
    const tv_shape *shape;   /* NULL: the recorder finds it by the tree's structure */
    uint8_t plan;            /* tv_plan_kind of odata/plan.h */
    uint8_t end;             /* tv_page_end */
    bool has_residual;       /* the ranges do not decide everything */
    bool is_prefix_range;    /* one range whose end is the successor of its beginning */
    bool has_top;            /* $top was given */
    bool selects_keys;       /* $select names keys only */
    tv_slice select;         /* the list as sent, decoded; data is NULL without one */
    uint32_t range_count;    /* of the plan */
    uint32_t top;            /* most entities of the page */
    uint64_t examined;       /* rows looked at */
    uint64_t returned;       /* entities sent */
    uint64_t first, last;    /* ordinals, from 1, among the examined rows of the first and the
                                last one returned; 0 when none was */
    uint64_t token_in;       /* hash of the continuation that it came with; 0: the first page */
    uint64_t token_out;      /* hash of the one that it gave; 0: the last page */
    /* Keys as in tv_watch_key, empty where there is none. */
    tv_slice from;                      /* where the first range begins */
    tv_slice partition;                 /* the PartitionKey, when all ranges are in one */
    tv_slice first_key, last_key;       /* of the entities that were returned */
    tv_slice first_looked, last_looked; /* of the rows that were examined */
} tv_watch_query;

/** Which client it was. */
typedef struct tv_watch_client {
    uint64_t hash;    /* of account, address and user agent */
    tv_slice agent;   /* User-Agent, as sent */
    uint8_t language; /* 1 + tv_language of its SDK; 0: not known */
    bool is_own_tool; /* the page or `tavola`: never judged */
} tv_watch_client;

/** Who refused a request because of the scalability targets. */
typedef enum tv_watch_throttle {
    TV_WATCH_NOT_THROTTLED,
    TV_WATCH_THROTTLED_PARTITION,
    TV_WATCH_THROTTLED_ACCOUNT,
} tv_watch_throttle;

typedef struct tv_watch_event {
    int64_t time_ns;              /* when it was done, by the recorder's clock (tv_watch_now) */
    int64_t duration_ns;          /* from its first byte */
    uint32_t table;               /* of tv_watch_table; 0: it has none, or it is not known */
    uint8_t op;                   /* tv_entity_op */
    uint16_t status;              /* HTTP; of a batch that of its parts: 4xx when one failed */
    uint16_t error;               /* tv_err, 0 for none */
    uint8_t throttle;             /* tv_watch_throttle */
    bool is_overloaded;           /* 503 of the server's own limits: not the client's doing */
    uint64_t bytes_in, bytes_out; /* bodies */
    tv_watch_client client;
    uint64_t request_id; /* hash of x-ms-client-request-id; 0 without one, or when nobody looks at
                            it: tv_watch_wants_id */
    tv_slice source;     /* x-tavola-source, checked; empty without */
    tv_watch_query query;
    const tv_watch_key *keys; /* entities that it names */
    size_t key_count;
    uint32_t across_partitions; /* of a batch refused for that: how many PartitionKeys it had */
    struct tv_watch_conn *conn; /* of its connection, or NULL: see watch.h */
} tv_watch_event;

#endif
