/* A folder of a test: made with a name of its own, and removed with all that is in it. */
#ifndef TV_TESTS_UNIT_FOLDER_H
#define TV_TESTS_UNIT_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

static char folder[64];

static inline int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static inline void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/tavola-test-XXXXXX");
    CHECK(mkdtemp(folder));
}

static inline void remove_folder(void)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
