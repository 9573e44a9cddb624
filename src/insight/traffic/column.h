/*
 * A column as it is in a file: what all tables were asked for in one minute, ten or an hour.
 * Numbers are little-endian, varints seven bits a byte, the lowest first:
 *
 *     "TVC1" | u32 bytes of what follows the crc | u64 crc64 of that
 *     u32 minute since 1970 | u16 minutes | u16 flags
 *     varint tables, then for each, by (account, id): varint length, account, varint id,
 *         varint place of its block behind this list
 *     blocks: u8 0: bounds as in the table's last block of this file; 1: they follow:
 *                 varint buckets, for each but the first: varint bytes in common with the one
 *                 before, varint more bytes, these
 *             u8 mask of measures, and for each: varint zeros, varint values, the values as
 *                 varints, and so on, until all buckets have one
 *
 * Nothing here trusts a byte that it reads.
 */
#ifndef TV_INSIGHT_TRAFFIC_COLUMN_H
#define TV_INSIGHT_TRAFFIC_COLUMN_H

#include "base/buf.h"
#include "base/err.h"
#include "insight/traffic/axis.h"

enum {
    TV_COLUMN_APPROXIMATE = 1, /* counts were divided between buckets */
    TV_COLUMN_RESTARTED = 2,   /* the first since a start: it may lack a part of its time */
};

enum {
    TV_COLUMN_BUCKETS_MAX = 512,
    TV_COLUMN_BOUND_BYTES_MAX = 65,
    TV_COLUMN_TABLES_MAX = 16384,
    TV_COLUMN_ACCOUNT_BYTES_MAX = 255,
};

typedef struct tv_column_head {
    uint32_t minute;
    uint16_t grain, flags;
} tv_column_head;

/* Writing. */

/** All zeros, and reusable after tv_column_finish. */
typedef struct tv_column_writer {
    tv_buf list, blocks;
    size_t count;
} tv_column_writer;

void tv_column_writer_done(tv_column_writer *writer);

/**
 * A table, after those before it by (account, id).  `has_bounds`: false when the file has a block
 * of the table with this axis, and none with another after it.
 */
void tv_column_add(tv_column_writer *writer, tv_slice account, int64_t table_id,
                   const tv_axis *axis, bool has_bounds, const tv_counts *counts);

/** Append the column to `out`; the writer is empty again. */
void tv_column_finish(tv_column_writer *writer, const tv_column_head *head, tv_buf *out);

/* Reading. */

/** A column in the bytes of a file. */
typedef struct tv_column {
    tv_column_head head;
    size_t gap_bytes; /* before it that are of no column: if any, earlier axes are not known */
    size_t count;     /* of tables */
    tv_slice list, blocks;
} tv_column;

/** One of its tables. */
typedef struct tv_column_table {
    tv_slice account;
    int64_t id;
    tv_slice block; /* from its beginning to the end of all blocks */
} tv_column_table;

/**
 * The next whole column in `file` from *at on, which is moved behind it.  Damage is skipped.
 * False, with *at left alone, when there is none.
 */
bool tv_column_next(tv_slice file, size_t *at, tv_column *ret_column);

/** Take the next table off column->list.  TV_ERR_NOT_FOUND after the last, TV_ERR_CORRUPT. */
tv_err tv_column_next_table(tv_column *column, tv_column_table *ret_table) TV_WARN_UNUSED;

/**
 * Read a block.  `last` is the axis of the table's block before it, or NULL.  `ret_axis` is counted
 * for the caller, who frees `ret_counts`, one for each bucket.  TV_ERR_CORRUPT.
 */
tv_err tv_column_read_block(tv_slice block, tv_axis *last, tv_axis **ret_axis,
                            tv_counts **ret_counts) TV_WARN_UNUSED;

#endif
