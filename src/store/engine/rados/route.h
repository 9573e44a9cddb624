/*
 * The object tv.route: which ranges there are, and what is being done to them.
 *
 * Its rows, each a few words with a blank between them (see "words" below):
 *
 *     f         format level            of all that lies in the pool
 *     v         version                 of this object: grows with every change to it
 *     drops     number                  grows when something was dropped, see map.h
 *     r|start   object epoch flags hint dirty-from dirty-to      a range
 *     i|start   kind stage id …         something is being done to the range, see tv_intent
 *     l|start   id                      a second range that the intent of this id works on
 *     g|object  id                      an object that is made and not routed yet
 *     h|number  at op …                 what was done in the past, see tv_route_event
 *
 * A range begins at its start and ends where the next one starts; the first
 * starts at "".  So there is a range for every key.
 *
 * Every change compares `v` with the version at which its author has read, and raises
 * it: changes follow each other as if there were one writer, and one that was
 * thought out on an older state is refused as a whole (TV_ERR_CONFLICT).  They are
 * rare: a split, a merge, a drop of a table.
 *
 * A range's object has attributes: `wep`, the epoch that writes must name; `rep`, that
 * reads must name; `clk` and `clk1` to `clk7`, of which the latest is the range's clock, the latest
 * instant written to it but for batches that may be late (write.c); `gone` and `gone1` to `gone7`,
 * in the same way, what rows had that were deleted soon after.  Instants are 13 digits of base 32.
 * Epochs are words that are never used again; a `wep` that begins with F is that of a frozen
 * range, one that begins with B that of an object which is not in use yet.  The object's first row
 * is TV_RANGE_SENTINEL, so that iterators open at a row that is there.  Values of rows have one
 * byte before them, TV_RANGE_FORM.
 */
#ifndef TV_STORE_ENGINE_RADOS_ROUTE_H
#define TV_STORE_ENGINE_RADOS_ROUTE_H

#include "base/buf.h"
#include "store/pool/pool.h"

#define TV_ROUTE_OBJECT "tv.route"
/** Range objects are called this and an id. */
#define TV_RANGE_OBJECT "tv.R."

#define TV_RANGE_WRITE_EPOCH TV_LIT("wep")
#define TV_RANGE_READ_EPOCH TV_LIT("rep")
/**
 * Any of them says it.  The first is set when ranges are changed, and below TV_ROUTE_LEVEL_LATE;
 * each other one by few nodes.
 */
enum { TV_RANGE_SLOTS = 8 };
extern const tv_slice tv_range_clks[TV_RANGE_SLOTS], tv_range_gones[TV_RANGE_SLOTS];
#define TV_RANGE_SENTINEL TV_LIT("!")
#define TV_RANGE_FORM '.'

/** What this source reads and writes; a pool of another format, or a higher level, is refused. */
enum { TV_ROUTE_FORMAT = 1, TV_ROUTE_LEVEL = 4 };

/** From which on writes may be late: all nodes keep tv_range_gones, and look at all slots. */
enum { TV_ROUTE_LEVEL_LATE = 2 };
/**
 * From which on guarded ones may: all nodes keep in rows what their order goes by.  First queues,
 * and from the next level on blobs and catalogues: the order of tv_guard.
 */
enum { TV_ROUTE_LEVEL_GUARDED = 3, TV_ROUTE_LEVEL_GUARDED_BLOBS = 4 };

/** A new store has this level; the leader raises it when all nodes understand more. */
enum { TV_ROUTE_LEVEL_FIRST = 1 };

#define TV_ROUTE_FORMAT_ROW TV_LIT("f")
#define TV_ROUTE_VERSION_ROW TV_LIT("v")
#define TV_ROUTE_DROPS_ROW TV_LIT("drops")

/** What the name of a row begins with. */
typedef enum tv_route_kind {
    TV_ROUTE_RANGE = 'r',
    TV_ROUTE_INTENT = 'i',
    TV_ROUTE_LOCK = 'l',
    TV_ROUTE_MADE = 'g',
    TV_ROUTE_EVENT = 'h',
} tv_route_kind;

/** The name of a row: "r|" and `name`. */
tv_slice tv_route_key(tv_arena *arena, tv_route_kind kind, tv_slice name);

/* --- words: a value is words with a blank between them --- */

/** Append a word that may hold any byte, and may be empty. */
void tv_words_add(tv_buf *out, tv_slice word);
void tv_words_add_number(tv_buf *out, int64_t number);

/**
 * Take the next word off; it lies in the arena or in `rest`.  TV_ERR_CORRUPT when there is none
 * or it is not of this form.
 */
tv_err tv_words_next(tv_slice *rest, tv_arena *arena, tv_slice *ret_word) TV_WARN_UNUSED;
/** The same for a number from 0 to INT64_MAX. */
tv_err tv_words_next_number(tv_slice *rest, int64_t *ret_number) TV_WARN_UNUSED;

/* --- rows --- */

/** A range: r|start. */
typedef struct tv_route {
    tv_slice start;
    tv_slice object;
    tv_slice epoch;
    tv_slice flags; /* letters, for the balancer */
    tv_slice hint;  /* the incarnation that usually writes it, or "" */
    /** If not both empty: its object holds rows of [dirty_from, dirty_to) that are nobody's. */
    tv_slice dirty_from, dirty_to;
} tv_route;

/** What an intent is for, by its letter in the row. */
typedef enum tv_intent_kind {
    TV_INTENT_SPLIT = 'S',
    TV_INTENT_MERGE = 'M',
    TV_INTENT_FENCE = 'N',
    TV_INTENT_DROP = 'D',
} tv_intent_kind;

/** How far it has come, by its letter in the row. */
typedef enum tv_intent_stage {
    TV_INTENT_BEGUN = 'b',
    TV_INTENT_PUBLISHED = 'p', /* can only go forward */
    TV_INTENT_UNDONE = 'r',    /* is being rolled back */
} tv_intent_stage;

/** "split", "begun": for people. */
tv_slice tv_intent_kind_name(tv_intent_kind kind);
tv_slice tv_intent_stage_name(tv_intent_stage stage);

/** What is being done to a range: i|start. */
typedef struct tv_intent {
    tv_slice start;
    tv_intent_kind kind;
    tv_intent_stage stage;
    tv_slice id;
    tv_slice by;               /* incarnation that began it */
    tv_slice object, epoch;    /* of the range */
    tv_slice cut;              /* split, merge: start of the right half */
    tv_slice end;              /* of the range, or of both; "" is the end of all keys */
    tv_slice other, new_epoch; /* the same: its object; the epoch to come */
    tv_slice other_epoch;      /* merge */
    int64_t began_ms;          /* since 1970 */
} tv_intent;

/** A second range that an intent works on: l|start. */
typedef struct tv_route_lock {
    tv_slice start;
    tv_slice id; /* of the intent */
} tv_route_lock;

/** An object that is made and not routed yet: g|object. */
typedef struct tv_route_made {
    tv_slice object;
    tv_slice id; /* of the intent */
    int64_t at_ms;
} tv_route_made;

/** Something that was done: h|version, 13 digits of base 32. */
typedef struct tv_route_event {
    int64_t version;
    int64_t at_ms; /* since 1970 */
    tv_slice op, range, key, reason, outcome;
    int64_t rows, total_ms, paused_ms;
} tv_route_event;

/*
 * Values out of these, and back.  The name of the row (start, object) is not in the value, and
 * decoding takes it from `name`, the row's name without its first two characters.
 * TV_ERR_CORRUPT.
 */
tv_slice tv_route_encode(tv_arena *arena, const tv_route *route);
tv_err tv_route_decode(tv_arena *arena, tv_slice name, tv_slice value,
                       tv_route *ret_route) TV_WARN_UNUSED;
tv_slice tv_intent_encode(tv_arena *arena, const tv_intent *intent);
tv_err tv_intent_decode(tv_arena *arena, tv_slice name, tv_slice value,
                        tv_intent *ret_intent) TV_WARN_UNUSED;
tv_slice tv_route_lock_encode(tv_arena *arena, const tv_route_lock *lock);
tv_err tv_route_lock_decode(tv_arena *arena, tv_slice name, tv_slice value,
                            tv_route_lock *ret_lock) TV_WARN_UNUSED;
tv_slice tv_route_made_encode(tv_arena *arena, const tv_route_made *made);
tv_err tv_route_made_decode(tv_arena *arena, tv_slice name, tv_slice value,
                            tv_route_made *ret_made) TV_WARN_UNUSED;
tv_slice tv_route_event_encode(tv_arena *arena, const tv_route_event *event);
tv_err tv_route_event_decode(tv_arena *arena, tv_slice name, tv_slice value,
                             tv_route_event *ret_event) TV_WARN_UNUSED;

/* --- all of it --- */

/** What tv.route held at one version.  Everything is in the arena it was read into. */
typedef struct tv_routes {
    uint64_t version, drops;
    int64_t format, level;
    tv_route *ranges; /* in the order of their starts; the first starts at "" */
    size_t range_count;
    /* Only by tv_routes_load_all. */
    tv_intent *intents;
    size_t intent_count;
    tv_route_lock *locks;
    size_t lock_count;
    tv_route_made *made;
    size_t made_count;
} tv_routes;

/** Read the ranges.  TV_ERR_NOT_FOUND when nobody has started on this pool yet.  Waits. */
tv_err tv_routes_load(tv_pool *pool, tv_arena *arena, tv_routes *ret_routes) TV_WARN_UNUSED;

/** The same with all that is being done to them. */
tv_err tv_routes_load_all(tv_pool *pool, tv_arena *arena, tv_routes *ret_routes) TV_WARN_UNUSED;

/** Only version, drops, format and level: one small read. */
tv_err tv_routes_load_version(tv_pool *pool, tv_routes *ret_routes) TV_WARN_UNUSED;

/** Where a key is: the index of its range. */
size_t tv_routes_find(const tv_routes *routes, tv_slice key);

/** Where a range ends; "" for the last. */
tv_slice tv_routes_end(const tv_routes *routes, size_t index);

/** The key that all keys from `key` on, and no others, are greater than: see tv_pool_read.after. */
tv_slice tv_route_before(tv_arena *arena, tv_slice key);

/** An end beyond all keys in place of an empty one. */
static inline tv_slice tv_route_end(tv_slice to)
{
    return to.len ? to : TV_LIT("\xff");
}

/**
 * A change to tv.route, made by these and committed as a whole.  A row is put or deleted once.
 */
typedef struct tv_route_change {
    tv_arena *arena;
    tv_pool_step *steps;
    size_t count, size;
} tv_route_change;

void tv_route_change_init(tv_route_change *change, tv_arena *arena);
void tv_route_change_put(tv_route_change *change, tv_slice key, tv_slice value);
void tv_route_change_delete(tv_route_change *change, tv_slice key);

/**
 * Commit it, if the object still has this version; it then has the next one.
 * TV_ERR_CONFLICT: it does not, read again.  Waits.
 */
tv_err tv_route_change_commit(tv_route_change *change, tv_pool *pool,
                              uint64_t version) TV_WARN_UNUSED;

/**
 * Let the store have this level, unless it has it already or a higher one.  Whoever calls this has
 * seen to it that every node understands it (tv_nodes_require_level).  Waits.
 */
tv_err tv_route_raise_level(tv_pool *pool, int64_t level) TV_WARN_UNUSED;

/**
 * Make a pool a store, unless it is one: the ranges that are cut at `cuts`, which grow.  Any
 * number of nodes may do so at the same time.  Waits.
 */
tv_err tv_routes_create(tv_pool *pool, const tv_slice *cuts, size_t cut_count) TV_WARN_UNUSED;

#endif
