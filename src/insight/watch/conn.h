/*
 * What the recorder keeps of a connection: runs of requests to one partition.  A run of point
 * reads ends after a second of silence, one of single writes after 50 ms, with a read or with a
 * key that comes twice in a row; both when the table or the partition changes.  From its tenth
 * request on a run counts, so that nothing has to be done when a connection ends.
 */
#ifndef TV_INSIGHT_WATCH_CONN_H
#define TV_INSIGHT_WATCH_CONN_H

#include "insight/watch/sheet.h"

enum { TV_RUN_MIN = 10 };

/* What every request looks at comes first, in as few lines of the cache as it takes. */
typedef struct tv_watch_run {
    int64_t first_ns, last_ns;
    uint32_t table, count;
    bool is_ordered;   /* each key is greater than the one before */
    bool is_one_key;   /* all are the same */
    tv_kept_key last;  /* of the keys */
    tv_kept_key first; /* of two or more */
} tv_watch_run;

struct tv_watch_conn {
    tv_watch_run reads, writes;
};

/** A point read, or a single write, of a key. */
void tv_watch_run_add(struct tv_watch_conn *conn, tv_sheet_table *sheet,
                      const tv_watch_event *event, const tv_watch_key *key);

#endif
