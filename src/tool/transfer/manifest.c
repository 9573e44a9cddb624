/* Manifests of AzCopy 7. */
#include "manifest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../text.h"
#include "base/json.h"
#include "base/number.h"
#include "input.h"

static const char ENDING[] = ".manifest", DATA_ENDING[] = ".json";

/* ---- the object ---- */

static const char not_json[] = "it is not a manifest of AzCopy: not an object of JSON";

/* A name or a text, in any case of its letters. */
static bool is_text(tv_slice text, const char *wanted)
{
    return text.len == strlen(wanted) && strncasecmp(text.data, wanted, text.len) == 0;
}

/* What one member says; NULL, or why it is not one of a manifest. */
static const char *read_member(const tv_json_member *member, xfer_manifest *manifest,
                               bool *ret_has_count)
{
    if (member->kind == TV_JSON_NESTED)
        return not_json;
    if (is_text(member->name, "PayloadFormat"))
        manifest->is_json = member->kind == TV_JSON_STRING && is_text(member->text, "Json");
    if (!is_text(member->name, "TotalDataFiles"))
        return NULL;
    *ret_has_count = member->kind == TV_JSON_NUMBER &&
                     tv_parse_uint64(member->text, &manifest->file_count) &&
                     manifest->file_count <= XFER_MANIFEST_FILES_MAX;
    return *ret_has_count ? NULL : "TotalDataFiles is not a number of files";
}

const char *xfer_manifest_parse(const char *text, size_t size, xfer_manifest *ret_manifest)
{
    xfer_manifest manifest = {.is_json = true};
    const char *why = NULL;
    bool has_count = false;
    tv_json_member member;
    tv_json_reader reader;
    tv_arena arena;

    tv_arena_init(&arena);
    tv_json_reader_init(&reader, &arena, (tv_slice){text, size});
    while (!why && tv_json_next(&reader, &member))
        why = read_member(&member, &manifest, &has_count);
    if (!why && reader.failed)
        why = not_json;
    else if (!why && !has_count)
        why = "it is not a manifest of AzCopy: it has no TotalDataFiles";
    tv_arena_done(&arena);
    if (!why)
        *ret_manifest = manifest;
    return why;
}

bool xfer_manifest_is(const char *path)
{
    size_t size = strlen(path), ending = sizeof ENDING - 1;

    return size > ending && strcasecmp(path + size - ending, ENDING) == 0;
}

static tool_exit read_manifest(const char *path, xfer_manifest *ret_manifest)
{
    xfer_input *input = tool_alloc(sizeof *input);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const char *why = fd < 0 ? strerror(errno) : xfer_input_open(input, fd);

    if (why == NULL) {
        while (xfer_input_more(input))
            ;
        if (input->error)
            why = strerror(input->error);
        else if (!input->is_end)
            why = "it is too long for a manifest";
        else
            why = xfer_manifest_parse(input->data + input->begin, input->end - input->begin,
                                      ret_manifest);
    }
    if (why == NULL && !ret_manifest->is_json)
        why = "its data files are not of PayloadFormat Json, which is the only one that is read";
    if (fd >= 0)
        xfer_input_close(input);
    free(input);
    return why ? tool_trouble("%s: %s", path, why) : TOOL_OK;
}

/* ---- the files ---- */

/* NAME_I_J_CHECKSUM.json; `size` is that of NAME. */
static bool is_data_file(const char *file, const char *name, size_t size)
{
    size_t rest;

    if (strncmp(file, name, size) != 0 || file[size] != '_')
        return false;
    rest = strspn(file + size, "_0123456789abcdefABCDEF");
    return rest > 1 && strcasecmp(file + size + rest, DATA_ENDING) == 0;
}

/* By their numbers: _0_2_ is before _0_10_. */
static int compare_files(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* The data files beside a manifest: a list that ends with NULL; or NULL, with errno. */
static char **list_files(const char *path, size_t *ret_count)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t size = strlen(name) - (sizeof ENDING - 1), count = 0, room = 8;
    char *folder = slash ? tool_copy_part(path, (size_t)(slash + 1 - path)) : tool_copy("./");
    DIR *directory = opendir(folder);
    char **files = NULL;
    struct dirent *entry;

    if (directory) {
        files = tool_alloc(room * sizeof *files);
        while ((entry = readdir(directory)) != NULL) {
            tool_text file = {0};

            if (!is_data_file(entry->d_name, name, size))
                continue;
            if (count + 1 == room) {
                room *= 2;
                files = tool_resize(files, room * sizeof *files);
            }
            tool_text_printf(&file, "%s%s", slash ? folder : "", entry->d_name);
            files[count++] = file.at;
        }
        files[count] = NULL;
        closedir(directory);
        qsort(files, count, sizeof *files, compare_files);
    }
    free(folder);
    *ret_count = count;
    return files;
}

tool_exit xfer_manifest_files(const char *path, char ***ret_paths, size_t *ret_count)
{
    xfer_manifest manifest = {0};
    tool_exit exit = read_manifest(path, &manifest);
    size_t count = 0;
    char **files;

    if (exit)
        return exit;
    files = list_files(path, &count);
    if (files == NULL)
        return tool_trouble("%s: %s", path, strerror(errno));
    if (count != manifest.file_count) {
        tool_names_free(files);
        return tool_trouble("%s: it is about %" PRIu64 " data files, beside it there are %zu: "
                            "%.*s_..%s",
                            path, manifest.file_count, count,
                            (int)(strlen(path) - (sizeof ENDING - 1)), path, DATA_ENDING);
    }
    *ret_paths = files;
    *ret_count = count;
    return TOOL_OK;
}
