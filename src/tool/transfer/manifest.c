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
#include "input.h"

static const char ENDING[] = ".manifest", DATA_ENDING[] = ".json";

/* ---- the object ---- */

/* Bytes of JSON that are still to be read. */
typedef struct json_rest {
    const char *at, *end;
} json_rest;

/* A name or a value as it is written; strings without their quotes. */
typedef struct json_piece {
    const char *at;
    size_t size;
    bool is_string;
} json_piece;

static int peek(json_rest *rest)
{
    while (rest->at < rest->end && memchr(" \t\r\n", *rest->at, 4))
        rest->at++;
    return rest->at < rest->end ? (unsigned char)*rest->at : -1;
}

/* Go over a character that must come next, after blanks. */
static bool take(json_rest *rest, char c)
{
    if (peek(rest) != c)
        return false;
    rest->at++;
    return true;
}

static bool take_string(json_rest *rest, json_piece *ret_piece)
{
    if (!take(rest, '"'))
        return false;
    *ret_piece = (json_piece){.at = rest->at, .is_string = true};
    for (; rest->at < rest->end && *rest->at != '"'; rest->at++)
        if (*rest->at == '\\' && rest->at + 1 < rest->end)
            rest->at++;
    ret_piece->size = (size_t)(rest->at - ret_piece->at);
    return take(rest, '"');
}

static bool is_of_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
           c == '-' || c == '.';
}

/* A number, true, false or null; objects and arrays have no place in a manifest. */
static bool take_word(json_rest *rest, json_piece *ret_piece)
{
    *ret_piece = (json_piece){.at = rest->at};
    while (rest->at < rest->end && is_of_word(*rest->at))
        rest->at++;
    ret_piece->size = (size_t)(rest->at - ret_piece->at);
    return ret_piece->size > 0;
}

static bool is_text(const json_piece *piece, const char *text)
{
    return piece->is_string && piece->size == strlen(text) &&
           strncasecmp(piece->at, text, piece->size) == 0;
}

static bool read_count(const json_piece *piece, uint64_t *ret_count)
{
    uint64_t count = 0;

    if (piece->is_string)
        return false;
    for (size_t i = 0; i < piece->size; i++) {
        if (piece->at[i] < '0' || piece->at[i] > '9')
            return false;
        count = count * 10 + (uint64_t)(piece->at[i] - '0');
        if (count > XFER_MANIFEST_FILES_MAX)
            return false;
    }
    *ret_count = count;
    return true;
}

const char *xfer_manifest_parse(const char *text, size_t size, xfer_manifest *ret_manifest)
{
    static const char not_json[] = "it is not a manifest of AzCopy: not an object of JSON";
    json_rest rest = {.at = text, .end = text + size};
    xfer_manifest manifest = {.is_json = true};
    json_piece name, value;
    bool has_count = false;

    if (!take(&rest, '{'))
        return not_json;
    if (peek(&rest) != '}') {
        do {
            if (!take_string(&rest, &name) || !take(&rest, ':'))
                return not_json;
            if (peek(&rest) == '"' ? !take_string(&rest, &value) : !take_word(&rest, &value))
                return not_json;
            if (is_text(&name, "PayloadFormat"))
                manifest.is_json = is_text(&value, "Json");
            if (is_text(&name, "TotalDataFiles")) {
                has_count = read_count(&value, &manifest.file_count);
                if (!has_count)
                    return "TotalDataFiles is not a number of files";
            }
        } while (take(&rest, ','));
    }
    if (!take(&rest, '}') || peek(&rest) >= 0)
        return not_json;
    if (!has_count)
        return "it is not a manifest of AzCopy: it has no TotalDataFiles";
    *ret_manifest = manifest;
    return NULL;
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
