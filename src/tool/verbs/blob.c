/* Containers and blobs.  Uploads and downloads are streamed: any length, in a few MiB. */
#include "../output/output.h"
#include "../text.h"
#include "../verbs.h"
#include "resource.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_blob(tool_output *output, const tavola_blob_info *info)
{
    tavola_value none = {.type = TAVOLA_NONE};
    bool is_prefix = info->is_prefix;
    tool_field fields[] = {
        {"Name", tavola_string(info->name)},
        {"Size", is_prefix ? none : tavola_int64((int64_t)info->size)},
        {"LastModified", is_prefix ? none : tavola_datetime(info->last_modified)},
        {"ContentType", tool_text_value(info->content_type)},
        {"ETag", tool_text_value(info->etag)},
        {"Kind", tavola_string(is_prefix         ? "prefix"
                               : info->is_append ? "append"
                                                 : "block")},
    };

    tool_output_record(output, fields, sizeof fields / sizeof fields[0]);
}

typedef struct listing {
    tavola_container *container;
    tool_output *output;
    uint64_t left; /* of --limit */
    uint32_t page_size;
    char *token;
} listing;

static tavola_err list_page(tool_run *run, listing *at)
{
    uint32_t size = at->left < at->page_size ? (uint32_t)at->left : at->page_size;
    tavola_blobs *blobs = NULL;
    const char *token;
    tavola_err err = tavola_blob_list(at->container, tool_value_of(run, TOOL_FLAG_PREFIX),
                                      tool_value_of(run, TOOL_FLAG_DELIMITER), size, at->token,
                                      run->call, &blobs);

    if (err)
        return err;
    for (size_t i = 0; i < tavola_blobs_count(blobs); i++)
        print_blob(at->output, tavola_blobs_at(blobs, i));
    at->left -= tavola_blobs_count(blobs);
    token = tavola_blobs_token(blobs);
    free(at->token);
    at->token = token ? tool_copy(token) : NULL;
    tavola_blobs_free(blobs);
    return TAVOLA_OK;
}

static tool_exit list(tool_run *run)
{
    int64_t limit = INT64_MAX, page_size = 5000;
    const char *token = tool_value_of(run, TOOL_FLAG_TOKEN);
    listing at = {0};
    tool_exit exit = tool_number_of(run, TOOL_FLAG_LIMIT, 1, INT64_MAX, &limit);
    tavola_err err = TAVOLA_OK;

    if (!exit)
        exit = tool_number_of(run, TOOL_FLAG_PAGE_SIZE, 1, 5000, &page_size);
    if (!exit)
        exit = tool_container(run, &at.container);
    if (!exit)
        exit = tool_output_open(run, true, &at.output);
    if (exit)
        goto out;
    at.left = (uint64_t)limit;
    at.page_size = (uint32_t)page_size;
    at.token = token ? tool_copy(token) : NULL;
    do
        err = list_page(run, &at);
    while (!err && at.token && at.left);
    tool_output_close(at.output);
    at.output = NULL;
    fflush(stdout);
    if (!err && at.token)
        tool_note("next token: %s", at.token);
    if (err)
        exit = tool_fail(run, err, NULL);

out:
    tool_output_close(at.output);
    tavola_container_close(at.container);
    free(at.token);
    return exit;
}

static bool read_source(void *user, void *to, size_t size, size_t *ret_len)
{
    FILE *file = user;

    *ret_len = fread(to, 1, size, file);
    return !ferror(file);
}

static tool_exit upload(tool_run *run)
{
    const char *path = run->args[2];
    bool is_stdin = strcmp(path, "-") == 0;
    tavola_blob_options options = {.struct_size = sizeof options,
                                   .content_type = tool_value_of(run, TOOL_FLAG_CONTENT_TYPE),
                                   .if_match = tool_value_of(run, TOOL_FLAG_IF_MATCH),
                                   .if_absent = tool_has(run, TOOL_FLAG_IF_ABSENT)};
    tavola_container *container = NULL;
    FILE *file = NULL;
    tool_exit exit = tool_container(run, &container);
    tavola_err err;

    if (!exit && !(file = is_stdin ? stdin : fopen(path, "re")))
        exit = tool_refuse("cannot read %s: %s", path, strerror(errno));
    if (!exit) {
        errno = 0;
        err = tavola_blob_write(container, run->args[1], read_source, file, &options, run->call);
        if (err == TAVOLA_ERR_CANCELLED && !tool_stop_signal())
            exit = tool_trouble("cannot read %s: %s; nothing was uploaded",
                                is_stdin ? "standard input" : path, strerror(errno));
        else if (err)
            exit = tool_fail(run, err, NULL);
    }
    if (file && !is_stdin)
        fclose(file);
    tavola_container_close(container);
    return exit;
}

static bool write_sink(void *user, const void *bytes, size_t len)
{
    return fwrite(bytes, 1, len, user) == len;
}

/* Whoever looks at it does not read it with a program: no controls. */
static bool show_sink(void *user, const void *bytes, size_t len)
{
    tool_text shown = {0};
    bool has_worked;

    tool_text_show(&shown, bytes, len);
    has_worked = write_sink(user, shown.at, shown.size);
    tool_text_done(&shown);
    return has_worked;
}

static tool_exit read_blob(tool_run *run, tavola_container *container, FILE *to, const char *path)
{
    tavola_err err;

    errno = 0;
    err = tavola_blob_read(container, run->args[1], isatty(fileno(to)) ? show_sink : write_sink, to,
                           run->call);
    if (!err && fflush(to) == 0 && !ferror(to))
        return TOOL_OK;
    return err && (err != TAVOLA_ERR_CANCELLED || tool_stop_signal())
               ? tool_fail(run, err, NULL)
               : tool_trouble("cannot write %s: %s", path, strerror(errno));
}

/* Into a file beside the wanted one, which takes its name when all is there: nobody sees half. */
static tool_exit download_file(tool_run *run, tavola_container *container, const char *path)
{
    tool_text part = {0};
    tool_exit exit;
    FILE *file = NULL;
    int fd;

    tool_text_printf(&part, "%s.XXXXXX", path);
    fd = mkstemp(part.at);
    if (fd >= 0)
        file = fdopen(fd, "w");
    if (!file) {
        exit = tool_refuse("cannot write %s: %s", path, strerror(errno));
        goto out;
    }
    exit = read_blob(run, container, file, path);
    if (!exit) {
        mode_t mask = umask(0);
        umask(mask);
        fchmod(fd, 0666 & ~mask);
    }
    if (fclose(file) != 0 && !exit)
        exit = tool_trouble("cannot write %s: %s", path, strerror(errno));
    if (!exit && rename(part.at, path) != 0)
        exit = tool_trouble("cannot write %s: %s", path, strerror(errno));
    if (exit)
        unlink(part.at);

out:
    tool_text_done(&part);
    return exit;
}

/* A device or pipe is written to as it is, and never replaced by a file. */
static tool_exit download_to(tool_run *run, tavola_container *container, const char *path)
{
    tool_exit exit;
    FILE *file = fopen(path, "we");

    if (!file)
        return tool_refuse("cannot write %s: %s", path, strerror(errno));
    exit = read_blob(run, container, file, path);
    fclose(file);
    return exit;
}

static tool_exit download(tool_run *run)
{
    const char *path = run->args[2];
    tavola_container *container = NULL;
    char *behind_links = realpath(path, NULL);
    struct stat stat_of;
    tool_exit exit = tool_container(run, &container);

    if (exit)
        ;
    else if (strcmp(path, "-") == 0)
        exit = read_blob(run, container, stdout, "standard output");
    else if (stat(path, &stat_of) == 0 && !S_ISREG(stat_of.st_mode))
        exit = download_to(run, container, path);
    else
        exit = download_file(run, container, behind_links ? behind_links : path);
    free(behind_links);
    tavola_container_close(container);
    return exit;
}

static tool_exit show(tool_run *run)
{
    tavola_container *container = NULL;
    tavola_blob_info *info = NULL;
    tool_output *output = NULL;
    tool_exit exit = tool_container(run, &container);
    tavola_err err;

    if (!exit)
        exit = tool_output_open(run, false, &output);
    if (!exit) {
        err = tavola_blob_stat(container, run->args[1], run->call, &info);
        if (err)
            exit = tool_fail(run, err, NULL);
        else
            print_blob(output, info);
    }
    tool_output_close(output);
    tavola_blob_info_free(info);
    tavola_container_close(container);
    return exit;
}

static tool_exit exists(tool_run *run)
{
    tavola_container *container = NULL;
    bool does_exist = false;
    tool_exit exit = tool_container(run, &container);
    tavola_err err;

    if (exit)
        return exit;
    err = tavola_blob_exists(container, run->args[1], run->call, &does_exist);
    tavola_container_close(container);
    return tool_print_exists(run, err, does_exist);
}

static tool_exit delete (tool_run *run)
{
    tavola_container *container = NULL;
    tool_exit exit = tool_container(run, &container);
    tavola_err err;

    if (!exit)
        exit = tool_confirm(run, "Delete blob %s of container %s?", run->args[1], run->args[0]);
    if (!exit) {
        err = tavola_blob_delete(container, run->args[1], tool_value_of(run, TOOL_FLAG_IF_MATCH),
                                 run->call);
        if (err == TAVOLA_ERR_NOT_FOUND && tool_has(run, TOOL_FLAG_IF_EXISTS))
            err = TAVOLA_OK;
        exit = err ? tool_fail(run, err, NULL) : TOOL_OK;
    }
    tavola_container_close(container);
    return exit;
}

const tool_verb tool_blob_verbs[] = {
    TOOL_RESOURCE_ROWS("container", "CONTAINER", "photos", 0),
    {"blob list", "CONTAINER", "The blobs of a container", 1, 1,
     TOOL_BIT(PREFIX) | TOOL_BIT(DELIMITER) | TOOL_BIT(LIMIT) | TOOL_BIT(PAGE_SIZE) |
         TOOL_BIT(TOKEN) | TOOL_BIT(SELECT),
     .run = list, .examples = "  tavola blob list photos --prefix 2026/ --delimiter /\n"},
    {"blob upload", "CONTAINER BLOB FILE|-", "Write a file or standard input to a blob", 3, 3,
     TOOL_BIT(CONTENT_TYPE) | TOOL_BIT(IF_MATCH) | TOOL_BIT(IF_ABSENT), .run = upload,
     .examples = "  tavola blob upload photos ada.jpg portrait.jpg --content-type image/jpeg\n"},
    {"blob download", "CONTAINER BLOB FILE|-", "Write a blob to a file or standard output", 3, 3, 0,
     .run = download,
     .examples = "  tavola blob download photos ada.jpg copy.jpg\n"
                 "  tavola blob download photos notes.txt - | wc -l\n"},
    {"blob show", "CONTAINER BLOB", "Size, type, time and ETag of a blob", 2, 2, TOOL_BIT(SELECT),
     .run = show, .examples = "  tavola blob show photos ada.jpg\n"},
    {"blob exists", "CONTAINER BLOB", "Whether there is a blob: true, or false with exit code 3", 2,
     2, 0, .run = exists, .is_plain = true, .examples = "  tavola blob exists photos ada.jpg\n"},
    {"blob delete", "CONTAINER BLOB", "Delete a blob and its snapshots", 2, 2,
     TOOL_BIT(YES) | TOOL_BIT(IF_MATCH) | TOOL_BIT(IF_EXISTS), .run = delete,
     .examples = "  tavola blob delete photos ada.jpg --yes\n"},
    {0},
};
