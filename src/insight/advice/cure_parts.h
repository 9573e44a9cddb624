/*
 * What the files that write cures share: the finding whose cure is written, and the templates of
 * its keys.  Only for this folder.
 */
#ifndef TV_INSIGHT_ADVICE_CURE_PARTS_H
#define TV_INSIGHT_ADVICE_CURE_PARTS_H

#include "insight/advice/cure.h"
#include "insight/advice/proposal.h"

enum { TV_CURE_NAMES_MAX = TV_VIEW_PARTS_MAX };

typedef struct tv_cure {
    tv_buf *out;
    tv_language language;
    const tv_finding *finding;
    const tv_proposal *proposal;
    tv_arena *arena;
    tv_shape_view view;
    const tv_view_part *ranges[2]; /* comparisons whose property is in the RowKey */
    size_t range_count;
    tv_slice low, high; /* templates of the range of RowKeys; `high` empty: there is none */
    char separator;
    bool is_near, is_unique, is_reversed;
} tv_cure;

/* ---- keys: cure_key.c ------------------------------------------------------------------------ */

/** A text, or a property with what is done to it: `{Age:pad(10)}`. */
typedef struct tv_cure_piece {
    bool is_text;
    tv_slice text; /* or the name */
    tv_slice how;  /* `pad(10)` */
} tv_cure_piece;

/** Take the next piece off a template; false at its end. */
bool tv_cure_next_piece(tv_slice *rest, tv_cure_piece *ret_piece);

/** PartitionKey, RowKey */
bool tv_cure_is_key(tv_slice name);

/** Whether a template has a property. */
bool tv_cure_has(tv_slice template, tv_slice name);

bool tv_cure_is_guid(const tv_cure *c, tv_slice name);

/**
 * What makes a part of a key of a property: the name of a section of the language; empty for a key,
 * which is one as it is.
 */
const char *tv_cure_maker(const tv_cure *c, const tv_cure_piece *one);

/** That of `pad(10)`. */
int tv_cure_number(tv_slice how);

/** A text between the quotes of a literal; `is_filled`: of one that has expressions in it. */
void tv_cure_add_quoted(tv_buf *out, tv_language language, tv_slice text, bool is_filled);

/** A template as an expression.  Its range is of `range_of`, all else of `e`. */
void tv_cure_add_key(tv_cure *c, tv_slice template, const char *range_of);

/* ---- texts: cure_fill.c ---------------------------------------------------------------------- */

/** Add a section with its names filled in; what a language does without has none. */
void tv_cure_add_section(tv_cure *c, const char *name);

/** Properties of the keys, each once; keys among them when `with_keys`. */
size_t tv_cure_names(const tv_cure *c, bool with_keys, tv_slice *names);

/** Whether it is about RowKeys. */
bool tv_cure_is_of_rows(const tv_cure *c);

/** A field of the finding: empty, or 0, when it has none. */
tv_slice tv_cure_text_of(const tv_cure *c, const char *name);
double tv_cure_number_of(const tv_cure *c, const char *name);

/** Whether its keys are dates whose parts can be put in another order. */
bool tv_cure_is_dated(const tv_cure *c);

#endif
