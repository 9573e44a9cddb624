/*
 * Mistakes that the tests must find.  They are made only in the programs that are built for that,
 * with TV_MUTANTS defined, where `tv_mutant` says which; in all others TV_MUTANT() is false.
 */
#ifndef TV_STORE_ENGINE_MUTANTS_H
#define TV_STORE_ENGINE_MUTANTS_H

#ifdef TV_MUTANTS
enum {
    TV_MUTANT_NONE,
    /* Changes of ranges. */
    TV_MUTANT_NO_SECOND_READ,       /* rows are not looked at again when they are frozen */
    TV_MUTANT_NO_MERGE_SECOND_READ, /* nor those of a merge */
    TV_MUTANT_NO_MERGE_CLEANING,    /* a merge leaves in A what lies in B's bounds */
    TV_MUTANT_PUBLISH_UNFROZEN,     /* a split is published and A frozen afterwards */
    TV_MUTANT_OPEN_B_FIRST,         /* B takes writes while A still answers */
    TV_MUTANT_SAME_EPOCH,           /* a rollback gives A its old epoch back */
    TV_MUTANT_NO_CLOCK,             /* B's clock starts over */
    TV_MUTANT_NO_GONE_MOVE,         /* B does not know what is gone */
    TV_MUTANT_CLEAN_UNGUARDED,      /* leftovers are removed whoever merges */
    TV_MUTANT_NO_FENCE,             /* a fence that does nothing */
    TV_MUTANT_RANGES_END,
    /* Writes, and what nodes know of each other's drops. */
    TV_MUTANT_NO_CLOCK_COMPARE = TV_MUTANT_RANGES_END, /* a write of any instant is taken */
    TV_MUTANT_NO_GONE,         /* a delete does not note what instant its row had */
    TV_MUTANT_NO_GONE_COMPARE, /* a row is put where there was a later one */
    TV_MUTANT_OWN_SLOT,        /* what other nodes have set is not compared */
    TV_MUTANT_EARLY_ANSWER,    /* a write is acknowledged whatever comes of it */
    TV_MUTANT_UNFENCED_DROP,   /* a drop is answered without a fence */
    TV_MUTANT_EARLY_MAP,       /* a map is used before the catalogues were read for it */
    TV_MUTANT_BLIND_CREATE, /* a name is given out again whether its last table is fenced or not */
    TV_MUTANT_BLIND_LOOK,   /* likewise it is called absent */
    /* Queues whose nodes overtake each other. */
    TV_MUTANT_NO_QUEUE_NOW, /* a message is put at the instant of its node, whatever came before */
    TV_MUTANT_NO_LATEST,    /* a put does not say when it was */
    TV_MUTANT_NO_GUARD,     /* the rows that guard others are not compared */
    /* Blobs and containers, likewise. */
    TV_MUTANT_NO_BLOB_GONE,      /* a blob is deleted and nothing says what its latest stamp was */
    TV_MUTANT_NO_SNAPSHOT_LAST,  /* a change does not look at when the last snapshot was */
    TV_MUTANT_NO_CONTAINER_GONE, /* likewise of a container */
    TV_MUTANTS_END,
};
extern int tv_mutant;
#define TV_MUTANT(which) (tv_mutant == TV_MUTANT_##which)
#else
#define TV_MUTANT(which) false
#endif

#endif
