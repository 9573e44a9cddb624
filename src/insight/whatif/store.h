/*
 * A scratch store: entities as they are, and under the keys of other designs; and what queries
 * would look at there.  It plans with the server's planner and tests with its evaluation, over
 * sorted keys in memory.  One thread.
 */
#ifndef TV_INSIGHT_WHATIF_STORE_H
#define TV_INSIGHT_WHATIF_STORE_H

#include "base/err.h"
#include "insight/whatif/template.h"
#include "model/odata/plan.h"

enum { TV_SCRATCH_DESIGNS_MAX = 9, TV_SCRATCH_SHOWN_MAX = 5 };

typedef struct tv_scratch tv_scratch;

tv_scratch *tv_scratch_new(void);
void tv_scratch_free(tv_scratch *scratch);

/**
 * Hold no more than this; without limits, all that is added.  Beyond them it is a sample of whole
 * partitions: those of half, a quarter, ... of all hashes of PartitionKeys.
 */
void tv_scratch_limit(tv_scratch *scratch, size_t entities_max, uint64_t bytes_max);

/** Add an entity; everything is copied.  Before any design.  A timestamp of 0 is not known. */
void tv_scratch_add(tv_scratch *scratch, tv_slice partition_key, tv_slice row_key,
                    int64_t timestamp, const tv_property *properties, size_t count);

size_t tv_scratch_count(const tv_scratch *scratch); /* that it holds */
size_t tv_scratch_added(const tv_scratch *scratch); /* all that there were */
/** How many of all entities, or bytes, each that it holds stands for: 1 when it holds all. */
double tv_scratch_factor(const tv_scratch *scratch);
double tv_scratch_bytes_factor(const tv_scratch *scratch);
/** Whether it would hold the entities of this partition. */
bool tv_scratch_holds(const tv_scratch *scratch, tv_slice partition_key);

/** How the entities fit a design. */
typedef struct tv_scratch_fit {
    size_t missing;   /* entities without a property of the keys, or whose key is not valid */
    size_t colliding; /* entities whose keys another one has, too */
    tv_slice missing_name;
    tv_slice shown[TV_SCRATCH_SHOWN_MAX]; /* "PartitionKey, RowKey" of the first that collide */
    size_t shown_count;
    uint64_t bytes; /* of the entities under these keys, by the service's formula */
    size_t partitions;
    size_t largest; /* entities of the largest partition */
} tv_scratch_fit;

/** Put all entities under the keys of a design, which is the number returned; NULL, which comes
 * first: as they are. */
size_t tv_scratch_add_design(tv_scratch *scratch, const tv_design *design, tv_scratch_fit *ret_fit);

/** What a query does in a design.  In a sample, entities of a partition that the filter names
 * count once, since all of them are there; others for as many as they stand for. */
typedef struct tv_scratch_result {
    tv_plan_kind plan;
    double examined, returned, pages;
    uint64_t matches, sum; /* of the entities held that are returned, whatever their order: equal
                              for equal sets */
    tv_slice keys;         /* the filter on the keys of this design, as text; empty: all of them */
} tv_scratch_result;

/** Whether the filter names a PartitionKey that is not in the sample, so that nothing can be said
 * of it. */
bool tv_scratch_is_outside(const tv_scratch *scratch, const tv_filter *filter);

/** Run `filter`, whose names are those of the entities as they are.  False when the design cannot
 * answer it. */
bool tv_scratch_run(tv_scratch *scratch, size_t design, const tv_filter *filter, tv_arena *arena,
                    tv_scratch_result *ret_result);

/** The one type that all values of a property have; 0 when there are several, or none. */
tv_edm_type tv_scratch_type_of(void *scratch, tv_slice name);

/** All values of a property, which live as long as the store. */
void tv_scratch_each(tv_scratch *scratch, tv_slice name,
                     void (*visit)(void *ctx, const tv_property *value), void *ctx);

/** The number of the entity with these keys; false when there is none.  There is a design 0. */
bool tv_scratch_find(tv_scratch *scratch, tv_slice partition_key, tv_slice row_key,
                     size_t *ret_number);

/** The keys of an entity in a design; false when it has none there. */
bool tv_scratch_keys_of(tv_scratch *scratch, size_t number, size_t design, tv_slice *ret_partition,
                        tv_slice *ret_row);

/** The partitions of the entities as they are, the largest first. */
typedef struct tv_scratch_partition {
    size_t first, count; /* places of its entities, for tv_scratch_at */
} tv_scratch_partition;
size_t tv_scratch_partitions(tv_scratch *scratch, tv_arena *arena,
                             const tv_scratch_partition **ret_list);
/** The number of the entity at a place in the order of the keys as they are. */
size_t tv_scratch_at(const tv_scratch *scratch, size_t place);

#endif
