/* How far an import has come. */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../text.h"

char *xfer_state_path(const char *input_path, const char *table)
{
    tool_text path = {0};

    tool_text_printf(&path, "%s.%s.import", input_path, table);
    return path.at;
}

xfer_state_found xfer_state_read(const char *path, const char *target, xfer_state *ret_state)
{
    int fd = tool_own_file(path, O_RDONLY);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    char line[4096], version[32] = "";
    xfer_state state = {0};
    int found = 0;

    if (file == NULL)
        return errno == ENOENT ? XFER_STATE_NONE : XFER_STATE_BROKEN;
    if (fgets(version, sizeof version, file) && strcmp(version, "tavola import 2\n") == 0 &&
        fgets(line, sizeof line, file))
        found = fscanf(file,
                       "file %" SCNu64 "\nfiles %" SCNx64 "\noffset %" SCNu64 "\nline %" SCNu64
                       "\ndigest %" SCNx64 "\nerrors %" SCNu64 "\ndoubtful %" SCNu64,
                       &state.file, &state.files_digest, &state.place.offset, &state.place.line,
                       &state.digest, &state.errors_bytes, &state.doubtful);
    fclose(file);
    if (found != 7)
        return XFER_STATE_BROKEN;
    line[strcspn(line, "\n")] = '\0';
    *ret_state = state;
    return strncmp(line, "to ", 3) == 0 && strcmp(line + 3, target) == 0 ? XFER_STATE_READ
                                                                         : XFER_STATE_OTHER;
}

/*
 * Not synced: that would take as long as some thousand writes, several times a second.  A loss of
 * power may leave an older state, or a file that is not one, which is noticed; never a later state.
 */
bool xfer_state_replace(const char *path, const char *text, size_t size)
{
    tool_text spare = {0};
    bool has_worked = false;
    int fd, error;

    tool_text_printf(&spare, "%s.new", path);
    fd = tool_new_file(spare.at);
    if (fd >= 0) {
        ssize_t written = write(fd, text, size);

        if (written >= 0 && written < (ssize_t)size)
            errno = ENOSPC;
        has_worked = written == (ssize_t)size;
        has_worked = close(fd) == 0 && has_worked && rename(spare.at, path) == 0;
    }
    error = errno;
    if (fd >= 0 && !has_worked)
        unlink(spare.at);
    tool_text_done(&spare);
    errno = error;
    return has_worked;
}

bool xfer_state_write(const char *path, const char *target, const xfer_state *state)
{
    tool_text text = {0};
    bool has_worked;

    tool_text_printf(&text,
                     "tavola import 2\nto %s\nfile %" PRIu64 "\nfiles %016" PRIx64
                     "\noffset %" PRIu64 "\nline %" PRIu64 "\ndigest %016" PRIx64
                     "\nerrors %" PRIu64 "\ndoubtful %" PRIu64 "\n",
                     target, state->file, state->files_digest, state->place.offset,
                     state->place.line, state->digest, state->errors_bytes, state->doubtful);
    has_worked = xfer_state_replace(path, text.at, text.size);
    tool_text_done(&text);
    return has_worked;
}

void xfer_state_remove(const char *path)
{
    tool_text spare = {0};

    unlink(path);
    tool_text_printf(&spare, "%s.new", path);
    unlink(spare.at);
    tool_text_done(&spare);
}
