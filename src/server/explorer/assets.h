/* The files of the page, which tools/embed-page.py puts into the program. */
#ifndef TV_SERVER_EXPLORER_ASSETS_H
#define TV_SERVER_EXPLORER_ASSETS_H

#include "base/slice.h"

typedef struct tv_asset {
    const char *name; /* "shell.js"; "" is the page itself */
    const char *type; /* of its content */
    tv_slice gzip;
    size_t plain_length;
} tv_asset;

extern const tv_asset tv_assets[];
extern const size_t tv_asset_count;

/** Sixteen digits that change when any file does: part of the addresses of all but the page. */
extern const char tv_assets_version[];

#endif
