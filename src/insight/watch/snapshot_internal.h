/* Shared by the files that make a snapshot. */
#ifndef TV_INSIGHT_WATCH_SNAPSHOT_INTERNAL_H
#define TV_INSIGHT_WATCH_SNAPSHOT_INTERNAL_H

#include "insight/watch/internal.h"
#include "insight/watch/snapshot.h"

typedef struct tv_snapshot {
    tv_watch *watch;
    tv_arena *arena;
    int mark; /* or TV_TALLY_LIVE */
    int64_t from_ns, now_ns;
    tv_evidence *evidence;
} tv_snapshot;

static inline int64_t tv_snapshot_ticks(int64_t ns)
{
    return ns ? TV_TICKS_UNIX_EPOCH + ns / 100 : 0;
}

/** The PartitionKey and the RowKey of a kept key, as clients write them. */
tv_slice tv_snapshot_partition_key(const tv_snapshot *snapshot, const tv_kept_key *key);
tv_slice tv_snapshot_row_key(const tv_snapshot *snapshot, const tv_kept_key *key);

/** A text of stored keys, CESU-8, perhaps cut, as UTF-8. */
tv_slice tv_snapshot_text(const tv_snapshot *snapshot, tv_slice stored);

tv_slice tv_snapshot_copy(const tv_snapshot *snapshot, const char *text);

static inline uint64_t tv_snapshot_sum(const tv_snapshot *s, const tv_tally *tally, int sum)
{
    return tv_tally_sum(tally, s->watch->slot, s->mark, sum);
}

static inline uint64_t tv_snapshot_max(const tv_snapshot *s, const tv_tally *tally, int max)
{
    return tv_tally_max(tally, s->watch->slot, s->mark, max);
}

/** Fill in table->shapes: snapshot_shape.c.  TV_ERR_OVERLOADED. */
tv_err tv_snapshot_shapes(tv_snapshot *snapshot, const tv_table_entry *entry,
                          tv_evidence_table *table) TV_WARN_UNUSED;

#endif
