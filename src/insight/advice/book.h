/*
 * The findings of a server and what has become of them:
 *
 *     seen once -> active -> quiet (an hour without it) -> resolved (a day) -> forgotten (a week)
 *
 *  (1) A finding is active when its trigger held in two judgements in a row, and again at once
 *      when it comes back while it is quiet.
 *  (2) It is resolved at once when one is found that silences it: its numbers are of another time.
 *  (3) Ignored is what somebody has said about a finding, beside what it is: it stays in the list,
 *      and comes back when the time is over.
 *  (4) There are at most TV_BOOK_MAX; the one that was seen longest ago goes first, those that are
 *      ignored last.
 *
 * Not for several threads at once.
 */
#ifndef TV_INSIGHT_ADVICE_BOOK_H
#define TV_INSIGHT_ADVICE_BOOK_H

#include "base/buf.h"
#include "insight/advice/rules.h"

enum { TV_BOOK_MAX = 1024 };

typedef enum tv_finding_state {
    TV_STATE_SEEN, /* once: not shown */
    TV_STATE_ACTIVE,
    TV_STATE_QUIET,
    TV_STATE_RESOLVED,
    TV_STATES,
} tv_finding_state;

typedef struct tv_book_entry {
    tv_slice id; /* in `data` of the entry */
    tv_finding_state state;
    int64_t first_ticks, last_ticks; /* its trigger held */
    int64_t ignored_until;           /* 0: it is not; INT64_MAX: for good */
    bool is_found;                   /* by the judgement that is being taken in */
    uint32_t judgements;             /* in a row, while it is SEEN */
    char *data;                      /* the finding, encoded */
    size_t len;
} tv_book_entry;

typedef struct tv_book {
    tv_book_entry *entries[TV_BOOK_MAX]; /* in no order */
    size_t count;
    bool is_changed; /* since it was last encoded */
} tv_book;

void tv_book_done(tv_book *book);

/**
 * Take in what a judgement at `now` has found.  Calls `on_open` for each that begins to be active:
 * the first time, and when it had been resolved.
 */
void tv_book_judge(tv_book *book, const tv_findings *found, const tv_params *params, int64_t now,
                   void (*on_open)(void *ctx, const tv_finding *finding), void *ctx);

/** False when there is no such finding.  `until` 0: it is not ignored any more. */
bool tv_book_ignore(tv_book *book, tv_slice id, int64_t until);

/** Whether it is ignored at this time. */
static inline bool tv_book_is_ignored(const tv_book_entry *entry, int64_t now)
{
    return entry->ignored_until > now;
}

const tv_book_entry *tv_book_find(const tv_book *book, tv_slice id);

/** The file: a magic number, the length, a CRC and the entries; nothing of use in a buffer that is
 * lost. */
void tv_book_encode(tv_book *book, tv_buf *out);
/** False, and an empty book, when it is damaged.  What a rule has made that is gone is left out. */
bool tv_book_decode(tv_book *book, tv_slice bytes);

/** "active", "quiet", "resolved"; "seen". */
const char *tv_finding_state_name(tv_finding_state state);

#endif
