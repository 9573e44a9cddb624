/*
 * The same query under another design of keys.  What the filter fixes by `eq` is put into the
 * templates of a design: a template that is fixed whole gives `eq`, one that is fixed up to some
 * part gives a range of all texts that begin so, and a range of the next part's property, where its
 * texts sort as the values do, narrows that.  The original filter is tested on every entity as
 * before, so a rewrite decides only which entities are looked at, never which are returned.
 *
 * An `or` is rewritten when each of its parts can be; else, and for everything that says nothing
 * about the new keys, the rewrite is all of the table.
 */
#ifndef TV_INSIGHT_WHATIF_REWRITE_H
#define TV_INSIGHT_WHATIF_REWRITE_H

#include "insight/whatif/template.h"
#include "model/odata/filter.h"

/** What is known of the data; comparisons of numbers depend on it. */
typedef struct tv_rewrite_facts {
    /** The one type that all values of a property have; 0 when there are several, or none. */
    tv_edm_type (*type_of)(void *ctx, tv_slice name);
    void *ctx;
    /** Some entities are not in this design, since a property of its keys is missing: then a filter
     * is rewritten only if it compares all these properties. */
    bool is_partial;
    /** Some are not in it although they have all properties, since a value can be no part of a key:
     * then a filter is rewritten only if it fixes all of these. */
    bool has_unusable;
} tv_rewrite_facts;

/**
 * A filter on the keys of `design`, in `ret_keys`, that no entity which passes `filter` can fail;
 * an empty text for all of the table.  False when the design cannot answer it at all.
 */
bool tv_rewrite(tv_arena *arena, const tv_filter *filter, const tv_design *design,
                const tv_rewrite_facts *facts, tv_slice *ret_keys);

/** The least text above all that begin with `prefix`; empty when there is none. */
tv_slice tv_rewrite_successor(tv_arena *arena, tv_slice prefix);

#endif
