/*
 * The files that columns are in, in the folder `watch` of the data folder, mode 600, since bounds
 * are pieces of keys:
 *
 *     minute.<hour>   columns of a minute       7 files are kept
 *     ten.<day>       columns of ten minutes    5
 *     hour.<week>     columns of an hour        5
 *
 * where hour, day and week count from 1970.  A column is added to the end of its file with one
 * write; when there is one file too many, the one farthest from now is removed.  When the server
 * dies, the open minute is lost; when the machine does, what was written since the last sync.  A
 * column of which only a part came to the disk is cut off at the next start.
 *
 * Clocks are set: columns of a file need not be in order, and some may be of a time to come.
 *
 * Nothing that is found in the folder, nor that there is none, does more than lose columns: what
 * cannot be read is left alone, until its name is needed.  Without a folder the files are anonymous
 * memory.
 *
 * One thread writes; any thread reads.
 */
#ifndef TV_INSIGHT_TRAFFIC_STORE_H
#define TV_INSIGHT_TRAFFIC_STORE_H

#include "base/buf.h"
#include "base/err.h"
#include "insight/traffic/view.h"

typedef struct tv_traffic_store tv_traffic_store;

enum { TV_LAYERS = 3, TV_LAYER_FILES_MAX = 8 };

/** How the columns of a grain are kept. */
typedef struct tv_layer {
    tv_grain grain;
    const char *name;
    uint32_t file_minutes; /* that a file covers */
    int files_kept;
    size_t buckets_max; /* of a table */
} tv_layer;

extern const tv_layer tv_layers[TV_LAYERS];

/** 0, 1, 2 for a grain. */
int tv_layer_of(tv_grain grain);

/** `dir` is the data folder, or NULL.  `ret_trouble` is one line that says what is lost, or empty.
 */
tv_traffic_store *tv_traffic_store_open(const char *dir, uint32_t now_minute, char *ret_trouble,
                                        size_t trouble_size);
/** Accepts NULL. */
void tv_traffic_store_close(tv_traffic_store *store);

/**
 * The minute of the column that was added last; after a start, of the newest that is not of a time
 * to come.  False when there is none.  Any thread.
 */
bool tv_traffic_store_last(tv_traffic_store *store, uint32_t *ret_minute);

/** Whether a layer has the column that this minute lies in.  Any thread. */
bool tv_traffic_store_has(tv_traffic_store *store, int layer, uint32_t minute);

/**
 * The number of the file that a column of this minute goes to; another one after each start.
 * Bounds that a column leaves out must be in the same.
 */
uint64_t tv_traffic_store_file(tv_traffic_store *store, int layer, uint32_t minute);

/** Add a column that the layer does not have.  Of a failed write nothing is left. */
tv_err tv_traffic_store_append(tv_traffic_store *store, int layer, uint32_t minute,
                               tv_slice column) TV_WARN_UNUSED;

/** Make all durable. */
tv_err tv_traffic_store_sync(tv_traffic_store *store) TV_WARN_UNUSED;

/**
 * The bytes of the file that columns of this minute are in, appended to `out`; nothing when there
 * is none.  Any thread.
 */
tv_err tv_traffic_store_read(tv_traffic_store *store, int layer, uint32_t minute,
                             tv_buf *out) TV_WARN_UNUSED;

typedef struct tv_traffic_store_usage {
    uint64_t bytes, columns, damaged_bytes;
} tv_traffic_store_usage;

/** Any thread. */
tv_traffic_store_usage tv_traffic_store_read_usage(tv_traffic_store *store);

#endif
