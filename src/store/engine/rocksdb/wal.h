/*
 * RocksDB's log files, read by ourselves before RocksDB opens them.
 *
 * After a crash the last record of the log may be damaged, and only the last:
 * every write is synced before the next one is appended, so no client has been
 * told of its success.  What it looks like depends on the file system.  Often
 * it is cut short.  On ext4 as it is mounted by default any other sync may
 * commit the file's new size before its data, so that sectors of the record are
 * zeros: at its end, in its middle, where its header should be.  RocksDB takes
 * some of these for a clean end and others for damage, and can pass over zeros
 * in the middle of the log, with records that were acknowledged, without a word.
 * So we look first:
 *
 *   whole     nothing but zeros follows the last record
 *   torn      a last record that is cut short or has lost sectors, and nothing of
 *             any other record after it: what a crash leaves
 *   doubtful  the same, but its zeros may be those that were written: what a crash
 *             leaves, or a record that was acknowledged and damaged later
 *   damaged   anything else, such as an unreadable record with another after
 *             it: acknowledged writes are lost
 *
 * A torn or doubtful end is cut off, and RocksDB is told to accept no flaw
 * whatsoever.
 *
 * The bytes of a record are a client's, who can make them look like records.  So
 * each record begins with a stamp, which holds a mark that only the store knows,
 * and after damage nothing without it counts as a record.  It ends with a seal,
 * which is never zero and says whether the record has so many zeros that a sector
 * of them could be taken for a lost one.  Logs of older servers have neither.
 * There, and in the manifest, what lies within the fragments that an unreadable
 * record claims is its own.
 *
 * The files: blocks of 32 KiB, in them fragments of a masked CRC-32C (4 bytes),
 * a length (2), a type (1: whole, 2: first, 3: middle, 4: last) and the bytes;
 * fewer than seven bytes at the end of a block are left.  Each record is a batch
 * of writes that begins with the sequence number of its first write (8 bytes) and
 * their number (4); numbers go on from record to record and from log to log.  The
 * manifest, the list of the store's files, is framed in the same way.
 */
#ifndef TV_STORE_ENGINE_ROCKSDB_WAL_H
#define TV_STORE_ENGINE_ROCKSDB_WAL_H

#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

enum {
    TV_WAL_BLOCK_BYTES = 32768,
    TV_WAL_SECTOR_BYTES = 512, /* what a disk writes whole or not at all */
    TV_WAL_HEAD_BYTES_MAX = 256,
};

typedef enum tv_wal_kind { TV_WAL_LOG, TV_WAL_MANIFEST } tv_wal_kind;
typedef enum tv_wal_state {
    TV_WAL_WHOLE,
    TV_WAL_TORN,
    TV_WAL_DOUBTFUL,
    TV_WAL_DAMAGED
} tv_wal_state;

/** A number of records and when the last of them was written. */
typedef struct tv_wal_count {
    uint64_t records;
    int64_t last_ticks; /* 0 when no record says */
} tv_wal_count;

typedef struct tv_wal_scan {
    tv_wal_state state;
    size_t good_bytes; /* up to the end of the last record before any damage */
    tv_wal_count good;
    uint64_t first_sequence, next_sequence; /* of a log with records */

    size_t bad_bytes; /* after `good_bytes`, without the zeros at the end */
    tv_wal_count bad; /* the records there that could still be read */
} tv_wal_scan;

/** The beginning of a record, up to TV_WAL_HEAD_BYTES_MAX bytes of it.  Lives during the call. */
typedef void tv_wal_record_fn(void *ctx, tv_slice head);

/** What the stamps of a store's records hold; 0 when that is not known. */
typedef struct tv_wal_mark {
    uint64_t value;
} tv_wal_mark;

/** The mark of the store in the folder `fd`: made of its identity, which no client sees. */
tv_wal_mark tv_wal_mark_of(int fd);

/**
 * Read a file's bytes.  `mark` is the store's; where records have one, theirs
 * counts.  `found`, unless it is NULL, is called for each record before any damage.
 */
void tv_wal_scan_bytes(tv_wal_kind kind, tv_slice file, tv_wal_mark mark, tv_wal_record_fn *found,
                       void *ctx, tv_wal_scan *ret_scan);

/** Bytes to write into a batch, as RocksDB's log data, before anything else: when that was. */
enum { TV_WAL_STAMP_BYTES = 16 };
void tv_wal_stamp(int64_t ticks, tv_wal_mark mark, char ret_stamp[TV_WAL_STAMP_BYTES]);

/** A byte to write into a batch, as log data, after everything else. */
char tv_wal_seal(bool has_zeros);

/** Could a sector of these bytes, wherever they begin in the log, be all zeros? */
bool tv_wal_has_zeros(tv_slice bytes);

/** The first log that is still needed, from a manifest's records: see tv_wal_record_fn. */
typedef struct tv_wal_manifest {
    uint64_t log_number;
} tv_wal_manifest;
void tv_wal_manifest_record(void *manifest, tv_slice head);

/** What to do with logs that are not whole. */
typedef enum tv_wal_cure {
    TV_WAL_LOOK, /* change nothing */
    TV_WAL_CUT,  /* cut off what is torn */
    TV_WAL_DROP, /* also drop what is damaged, and all that follows */
} tv_wal_cure;

/**
 * Look at the logs of the store in the folder `fd`, called `dir`, before RocksDB
 * opens it, and leave only whole ones: a torn end is cut off, durably, except
 * with TV_WAL_LOOK.  What is damaged gives TV_ERR_CORRUPT and one line of text,
 * and is left as it is, unless `cure` is TV_WAL_DROP: then what follows the damage
 * is removed, and the log says how much that was.  TV_ERR_IO, with a text, when a
 * file cannot be read or cut.
 */
tv_err tv_wal_recover(int fd, const char *dir, tv_wal_cure cure, char *reterr_text,
                      size_t reterr_size) TV_WARN_UNUSED;

#endif
