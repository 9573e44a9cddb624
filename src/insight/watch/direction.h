/*
 * Whether new entities always go to one end of a table.  A reservoir of keys that were inserted
 * is compared with each that comes later: where all are greater, the table grows at its end.
 * Windows of at least a minute and 50 inserts are judged one by one.  Inserts that follow each other
 * closely may have been on their way side by side, and were done in any order: an insert is compared
 * with those that came before the last eighth of its window, and before the last eight.
 *
 * Where a window lies inside one partition (its PartitionKey is the hour), the partition that has
 * most of each minute's inserts is followed instead.
 *
 * One thread at a time.
 */
#ifndef TV_INSIGHT_WATCH_DIRECTION_H
#define TV_INSIGHT_WATCH_DIRECTION_H

#include "insight/watch/sheet.h"

enum {
    TV_DIRECTION_KEYS = 32,
    TV_DIRECTION_SEEN_MIN = 16, /* before one that is compared */
    TV_DIRECTION_LAG_MIN = 8,   /* inserts that one is not compared with, or this part of them: */
    TV_DIRECTION_LAG_PART = 8,
    TV_DIRECTION_INSERTS_MIN = 50,
    TV_DIRECTION_WINDOWS = 5,
    TV_DIRECTION_CHANGES = 64,
};

/** One window that was judged. */
typedef struct tv_direction_window {
    int64_t end_ns;
    double row;       /* (greater - less) / all, -1 to 1 */
    double partition; /* the same of the PartitionKeys that differ */
    bool has_partition;
    uint64_t inserts;
    uint64_t compared, first, last; /* of these, and of them those at the ends; as below */
} tv_direction_window;

typedef struct tv_direction {
    tv_kept_key keys[TV_DIRECTION_KEYS];
    uint64_t came[TV_DIRECTION_KEYS]; /* how many had been seen of the window before each */
    /* Comparisons with them: of whole keys, and of PartitionKeys. */
    uint64_t greater, less, equal, greater_pk, less_pk;
    uint64_t random;      /* state of a generator */
    uint64_t seen;        /* samples of the window at hand, */
    uint64_t weight;      /* and the inserts that they stand for */
    uint64_t compared;    /* of these, those that came when there were keys enough, */
    uint64_t first, last; /* of these, below or above all that they were compared with */
    int64_t begun_ns;
    tv_direction_window windows[TV_DIRECTION_WINDOWS]; /* the newest first */
    uint32_t window_count;

    /* The partition of most inserts of the minute: a candidate that others outvote. */
    tv_kept_key candidate;
    uint64_t votes, candidate_weight, minute_weight;
    tv_kept_key hot; /* of the last minute that had one */
    double hot_share;
    uint32_t changes;    /* of it, at most TV_DIRECTION_CHANGES */
    uint64_t changes_up; /* a bit for each, the newest last */

    int64_t first_ns, last_ns; /* of inserts; a gap of an hour begins anew */
    tv_few_clients clients;
} tv_direction;

/** An insert (or a delete, of another instance) that stands for `weight`. */
void tv_direction_add(tv_direction *direction, const tv_kept_key *key, uint64_t weight,
                      uint64_t client, int64_t time_ns);

/** A minute is over. */
void tv_direction_end_minute(tv_direction *direction);

/** The window at hand as if it ended now; false without enough inserts. */
bool tv_direction_look(const tv_direction *direction, int64_t time_ns,
                       tv_direction_window *ret_window);

/** 1: the window moves up, -1: down, 0: neither. */
int tv_direction_sign(const tv_direction_window *window);

#endif
