/*
 * Online backup: a copy of rows and extents in a new folder, from which a server
 * can start, while reads and writes go on.  One at a time, on a thread of its own.
 *
 * It is one point in time, that of the engine's copy (a checkpoint).  An extent
 * that a row of it refers to was durable before the row; it may lose its row
 * afterwards, but its removal is requested after the hold began and waits for
 * its end:
 *
 *     hold removals -> copy of the rows -> copy of the extents -> end the hold
 *
 * Extents that came later are copied too; no row of the copy refers to them and
 * its first start removes them.  All is synced before the folder gets its name,
 * so a folder of that name is a whole backup.  While damage is known, of rows or of
 * extents, there is none.
 *
 * A backup to another file system may share files with an earlier one there, its
 * base: those that no server ever changes (table files of the engine, extents), if
 * every byte is the same.
 */
#ifndef TV_SERVER_ADMIN_BACKUP_H
#define TV_SERVER_ADMIN_BACKUP_H

#include "server/admin/backup_target.h"
#include "store/engine/engine.h"
#include "store/extent/extent.h"

typedef struct tv_backup tv_backup;

typedef enum tv_backup_state {
    TV_BACKUP_NONE, /* since the start */
    TV_BACKUP_RUNNING,
    TV_BACKUP_DONE,
    TV_BACKUP_FAILED,
} tv_backup_state;

enum { TV_BACKUP_PROBLEM_SIZE = 512 };

/** The last backup, or the one that runs. */
typedef struct tv_backup_status {
    uint64_t id; /* counts them from 1; 0 with TV_BACKUP_NONE */
    tv_backup_state state;
    uint64_t files, bytes; /* in the copy so far */
    uint64_t written;      /* of these bytes: the others are links */
    int64_t elapsed_ms;
    char problem[TV_BACKUP_PROBLEM_SIZE]; /* a line, without the path, when it has failed */
} tv_backup_status;

/**
 * Ready for backups of the store in the folder `data`, which the caller has locked;
 * what a crash has left of one there is removed.  Engine and extents outlive it.
 * NULL with one line that says what is wrong.
 */
tv_backup *tv_backup_new(const char *data, tv_engine *engine, tv_extents *extents,
                         char *reterr_text, size_t reterr_size);

/** End the backup that runs, without a trace of it, and take no other.  Accepts NULL. */
void tv_backup_stop(tv_backup *backup);

/** Accepts NULL. */
void tv_backup_free(tv_backup *backup);

/**
 * Begin a backup to the folder `path` (tv_backup_path_parse), which must not exist;
 * that and everything else that waits for the disk is found out on the thread.
 * `base` is the folder of an earlier one, or "".  False when one is under way, or the
 * server stops.  Any thread.
 */
bool tv_backup_start(tv_backup *backup, const char *path, const char *base);

/** Any thread; accepts NULL, which has made none. */
tv_backup_status tv_backup_read(tv_backup *backup);

#endif
