/*
 * MD5 of several streams at once, one in each lane of wide registers.
 *
 * One MD5 is a chain in which every step waits for the one before, so a core
 * spends most of its time on one stream waiting.  Eight streams that take the
 * same steps cost hardly more than one.
 */
#ifndef TV_BASE_MD5_LANES_H
#define TV_BASE_MD5_LANES_H

#include "base/md5.h"

/** This many streams are hashed at once. */
enum { TV_MD5_LANES = 8 };

/** One stream and what comes next in it. */
typedef struct tv_md5_lane {
    tv_md5 *md5;
    tv_slice bytes;
} tv_md5_lane;

/** The ways to do it; a processor that supports one supports those before it. */
typedef enum tv_md5_way {
    TV_MD5_ALONE, /* each stream by itself, by OpenSSL */
    TV_MD5_AVX2,
    TV_MD5_AVX512,
} tv_md5_way;

/** The best way on this processor. */
tv_md5_way tv_md5_best_way(void);

/**
 * What tv_md5_update does for each of up to TV_MD5_LANES streams, all different,
 * but faster.  The lanes are consumed.  Any thread that has the streams.
 */
void tv_md5_update_lanes(tv_md5_lane *lanes, size_t count);

/** The same in a way that this processor supports; for tests. */
void tv_md5_update_lanes_by(tv_md5_way way, tv_md5_lane *lanes, size_t count);

#endif
