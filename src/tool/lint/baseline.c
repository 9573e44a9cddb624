/* See baseline.h. */
#include "baseline.h"

#include "../json_find.h"
#include "../output/row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that was cut off, or that somebody has merged badly, must not silence less or more. */
bool tool_baseline_parse(tool_baseline *baseline, const char *text)
{
    tool_json_walk one = {0};
    tool_json all = tool_json_of(text), ids = tool_json_get(all, "ids");

    if (tool_json_number(tool_json_get(all, "version")) != 1 || !ids.at || *ids.at != '[')
        return false;
    while (tool_json_each(ids, &one)) {
        tool_text id = {0};

        if (*one.value.at != '"')
            return false;
        tool_json_text(one.value, &id);
        baseline->ids = tool_resize(baseline->ids, (baseline->count + 1) * sizeof(char *));
        baseline->ids[baseline->count++] = id.at;
    }
    return true;
}

tool_exit tool_baseline_read(tool_baseline *baseline, const char *config_path)
{
    const char *slash = config_path ? strrchr(config_path, '/') : NULL;
    tool_text text = {0};
    tool_exit exit = TOOL_OK;

    if (slash)
        tool_text_add(&baseline->path, config_path, (size_t)(slash + 1 - config_path));
    tool_text_puts(&baseline->path, "tavola-lint.baseline.json");
    if (!tool_text_read_file(&text, baseline->path.at)) {
        if (errno != ENOENT)
            exit = tool_refuse("cannot read %s: %s", baseline->path.at, strerror(errno));
    } else if (!tool_baseline_parse(baseline, text.at ? text.at : "")) {
        exit = tool_refuse("%s is not a baseline; --update-baseline writes a new one where there "
                           "is none",
                           baseline->path.at);
    }
    baseline->is_found = tool_alloc((baseline->count + 1) * sizeof *baseline->is_found);
    memset(baseline->is_found, 0, (baseline->count + 1) * sizeof *baseline->is_found);
    tool_text_done(&text);
    return exit;
}

void tool_baseline_done(tool_baseline *baseline)
{
    for (size_t i = 0; i < baseline->count; i++)
        free(baseline->ids[i]);
    free(baseline->ids);
    free(baseline->is_found);
    tool_text_done(&baseline->path);
}

bool tool_baseline_take(tool_baseline *baseline, const char *id)
{
    for (size_t i = 0; i < baseline->count; i++) {
        if (strcmp(baseline->ids[i], id) == 0) {
            baseline->is_found[i] = true;
            return true;
        }
    }
    return false;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool write_file(const char *path, const tool_text *text)
{
    FILE *file = fopen(path, "w");
    bool is_fine = file && fwrite(text->at, 1, text->size, file) == text->size &&
                   fflush(file) == 0 && fsync(fileno(file)) == 0;

    return file && fclose(file) == 0 && is_fine;
}

void tool_baseline_format(char **ids, size_t count, tool_text *ret_text)
{
    const char *before = NULL;

    if (count)
        qsort(ids, count, sizeof *ids, compare);
    tool_text_puts(ret_text, "{\"version\": 1,\n \"ids\": [");
    for (size_t i = 0; i < count; i++) {
        if (before && strcmp(before, ids[i]) == 0)
            continue;
        tool_text_puts(ret_text, before ? ",\n  " : "\n  ");
        tool_json_string(ret_text, ids[i], strlen(ids[i]));
        before = ids[i];
    }
    tool_text_puts(ret_text, "]}\n");
}

tool_exit tool_baseline_write(const tool_baseline *baseline, char **ids, size_t count)
{
    tool_text text = {0}, new_path = {0};
    tool_exit exit = TOOL_OK;

    tool_baseline_format(ids, count, &text);
    /* Whoever reads it meanwhile sees the old one or the new one. */
    tool_text_printf(&new_path, "%s.new", baseline->path.at);
    if (!write_file(new_path.at, &text) || rename(new_path.at, baseline->path.at) != 0)
        exit = tool_refuse("cannot write %s: %s", baseline->path.at, strerror(errno));
    tool_text_done(&text);
    tool_text_done(&new_path);
    return exit;
}
