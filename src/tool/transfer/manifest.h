/*
 * Manifests of AzCopy 7, the last that knew tables.
 *
 * An export of a table was ACCOUNT_TABLE_TIME.manifest, one object of JSON, and beside it the data
 * files ACCOUNT_TABLE_TIME_I_J_CHECKSUM.json.  The manifest says how many they are, which is
 * checked.  How the checksums are made was never told, so they are not looked at.
 */
#ifndef XFER_MANIFEST_H
#define XFER_MANIFEST_H

#include "../tool.h"

enum { XFER_MANIFEST_FILES_MAX = 1000000 };

typedef struct xfer_manifest {
    uint64_t file_count;
    bool is_json; /* the data files; else CSV */
} xfer_manifest;

/** By its name. */
bool xfer_manifest_is(const char *path);

/** NULL, or why the text is not a manifest. */
const char *xfer_manifest_parse(const char *text, size_t size, xfer_manifest *ret_manifest);

/**
 * Read a manifest and find its data files, in their order.  Free the list with tool_names_free.
 * Says what is wrong when something is.
 */
tool_exit xfer_manifest_files(const char *path, char ***ret_paths, size_t *ret_count);

#endif
