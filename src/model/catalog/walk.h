/*
 * The rows of a catalogue without a catalogue: for a look at a store that may be
 * damaged, where one bad row must not hide the others.
 */
#ifndef TV_MODEL_CATALOG_WALK_H
#define TV_MODEL_CATALOG_WALK_H

#include "model/catalog/catalog.h"

typedef struct tv_catalog_visitor {
    /** A container, or one whose rows are still to be dropped: then the name is empty.  Slices live
     * during the call. */
    void (*container)(void *ctx, tv_slice account, int64_t id, tv_slice name, bool is_dropped);
    /** A row that no catalogue can have.  `what` is a literal. */
    void (*damaged)(void *ctx, tv_slice account, tv_slice row, const char *what);
    void *ctx;
} tv_catalog_visitor;

/** Visit all rows of a service's catalogue.  The engine's errors; then some have been visited. */
tv_err tv_catalog_walk(tv_engine *engine, tv_service_kind service, tv_key_space space,
                       const tv_catalog_visitor *visitor) TV_WARN_UNUSED;

#endif
