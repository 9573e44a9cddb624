/* See history.h.  The format is libedit's: a first line of its own, and characters as \ooo. */
#include "history.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define FIRST_LINE "_HiStOrY_V2_\n"

/* Nobody else changes it until it is closed; -1 when it cannot be had. */
static int open_locked(const char *path)
{
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd >= 0 && flock(fd, LOCK_EX) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void write_text(int fd, const tool_text *text)
{
    (void)!write(fd, text->at, text->size); /* a history that cannot be written is none */
}

/* The newest lines, in the place of all, once there are too many. */
static void keep_newest(int fd, const tool_text *all)
{
    const char *from = all->at + all->size;
    tool_text newest = {0};
    size_t lines = 0, kept = 0;

    for (const char *at = all->at; *at; at++)
        lines += *at == '\n';
    if (lines > 2 * TOOL_HISTORY_MAX) {
        while (kept <= TOOL_HISTORY_MAX)
            kept += *--from == '\n';
        tool_text_puts(&newest, FIRST_LINE);
        tool_text_puts(&newest, from + 1);
        if (ftruncate(fd, 0) == 0)
            write_text(fd, &newest);
        tool_text_done(&newest);
    }
}

void tool_history_open(tool_text *ret_path, int (*read)(const char *path))
{
    tool_text all = {0};
    int fd = -1;

    tool_text_puts(ret_path, "");
    if (tool_state_folder(ret_path)) {
        tool_text_puts(ret_path, "/history");
        fd = open_locked(ret_path->at);
    }
    if (fd < 0 || !tool_text_read_own(&all, ret_path->at)) {
        ret_path->size = 0;
        ret_path->at[0] = '\0';
    } else if (all.size == 0) {
        tool_text_puts(&all, FIRST_LINE);
        write_text(fd, &all);
    } else {
        keep_newest(fd, &all);
        read(ret_path->at);
    }
    tool_text_done(&all);
    if (fd >= 0)
        close(fd);
}

bool tool_history_keep(const char *path, const char *line)
{
    tool_text text = {0};
    int fd;

    if (!line[strspn(line, " \t")] || strcasestr(line, "AccountKey=") || tool_has_signature(line))
        return false;
    for (const char *at = line; *at; at++)
        tool_text_printf(&text, *at > ' ' && *at < 0x7f && *at != '\\' ? "%c" : "\\%03o",
                         (unsigned char)*at);
    tool_text_puts(&text, "\n");
    fd = *path ? open_locked(path) : -1;
    if (fd >= 0) {
        write_text(fd, &text);
        close(fd);
    }
    tool_text_done(&text);
    return true;
}
