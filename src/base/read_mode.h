/*
 * Whether a read may wait for the disk.
 */
#ifndef TV_BASE_READ_MODE_H
#define TV_BASE_READ_MODE_H

typedef enum tv_read_mode {
    TV_READ_ANY,    /* may wait for the disk */
    TV_READ_CACHED, /* TV_ERR_WOULD_BLOCK rather than wait: for network threads */
} tv_read_mode;

#endif
