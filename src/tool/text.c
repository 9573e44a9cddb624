#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"

static void *check(void *memory)
{
    if (memory)
        return memory;
    fputs("tavola: out of memory\n", stderr);
    exit(1);
}

void *tool_alloc(size_t size)
{
    return check(calloc(1, size ? size : 1));
}

void *tool_resize(void *memory, size_t size)
{
    return check(realloc(memory, size ? size : 1));
}

char *tool_copy_part(const char *text, size_t size)
{
    char *copy = tool_alloc(size + 1);

    memcpy(copy, text, size);
    return copy;
}

char *tool_copy(const char *text)
{
    return tool_copy_part(text, strlen(text));
}

static void make_room(tool_text *text, size_t more)
{
    size_t needed = text->size + more + 1;

    if (needed <= text->room)
        return;
    text->room = needed < 64 ? 64 : needed + needed / 2;
    text->at = tool_resize(text->at, text->room);
}

void tool_text_add(tool_text *text, const void *bytes, size_t size)
{
    make_room(text, size);
    if (size)
        memcpy(text->at + text->size, bytes, size);
    text->size += size;
    text->at[text->size] = '\0';
}

void tool_text_puts(tool_text *text, const char *more)
{
    tool_text_add(text, more, strlen(more));
}

void tool_text_printf(tool_text *text, const char *format, ...)
{
    char *more = NULL;
    va_list list;
    int size;

    va_start(list, format);
    size = vasprintf(&more, format, list);
    va_end(list);
    check(size < 0 ? NULL : more);
    tool_text_add(text, more, (size_t)size);
    free(more);
}

void tool_text_done(tool_text *text)
{
    free(text->at);
    *text = (tool_text){0};
}

bool tool_state_folder(tool_text *ret_path)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (state && state[0] == '/')
        tool_text_puts(ret_path, state);
    else if (home && *home)
        tool_text_printf(ret_path, "%s/.local/state", home);
    else
        return false;
    tool_text_puts(ret_path, "/tavola");
    for (char *slash = strchr(ret_path->at + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(ret_path->at, 0700);
        *slash = '/';
    }
    mkdir(ret_path->at, 0700);
    return true;
}

static bool read_all(tool_text *text, FILE *file)
{
    tool_text_puts(text, "");
    for (;;) {
        make_room(text, 65536);
        errno = 0;
        size_t size = fread(text->at + text->size, 1, 65536, file);
        text->size += size;
        if (size == 0)
            break;
    }
    text->at[text->size] = '\0';
    return !ferror(file);
}

static bool read_and_close(tool_text *text, FILE *file)
{
    bool has_worked = file && read_all(text, file);
    int error = errno;

    if (file)
        fclose(file);
    errno = error;
    return has_worked;
}

bool tool_text_read_file(tool_text *text, const char *path)
{
    return strcmp(path, "-") == 0 ? read_all(text, stdin) : read_and_close(text, fopen(path, "re"));
}

bool tool_text_read_own(tool_text *text, const char *path)
{
    int fd = tool_own_file(path, O_RDONLY);

    return fd >= 0 && read_and_close(text, fdopen(fd, "r"));
}

int tool_new_file(const char *path)
{
    if (unlink(path) != 0 && errno != ENOENT)
        return -1;
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

int tool_own_file(const char *path, int flags)
{
    return open(path, flags | O_NOFOLLOW | O_CLOEXEC);
}

bool tool_has_signature(const char *text)
{
    return strcasestr(text, "sig=") || strcasestr(text, "sig%3d");
}

void tool_text_base64(tool_text *text, const void *bytes, size_t size)
{
    make_room(text, tv_base64_encoded_len(size));
    tv_base64_encode(text->at + text->size, (tv_slice){bytes, size});
    text->size += tv_base64_encoded_len(size);
    text->at[text->size] = '\0';
}

bool tool_text_unbase64(tool_text *text, const char *base64, size_t size)
{
    size_t decoded;

    make_room(text, tv_base64_decoded_max(size));
    text->at[text->size] = '\0';
    if (!tv_base64_decode(text->at + text->size, (tv_slice){base64, size}, &decoded))
        return false;
    text->size += decoded;
    text->at[text->size] = '\0';
    return true;
}

const char *tool_grouped(char room[TOOL_GROUPED], double number)
{
    char decimal[24];
    size_t size = (size_t)snprintf(decimal, sizeof decimal, "%.0f", number), to = 0;

    for (size_t i = 0; i < size && to < TOOL_GROUPED - 2; i++) {
        if (i && (size - i) % 3 == 0)
            room[to++] = ',';
        room[to++] = decimal[i];
    }
    room[to] = '\0';
    return room;
}

void tool_text_grouped(tool_text *text, double number)
{
    char room[TOOL_GROUPED];

    tool_text_puts(text, tool_grouped(room, number));
}

void tool_text_amount(tool_text *text, double number)
{
    int before = number > 0 ? (int)floor(log10(number)) + 1 : 1; /* digits in front of the point */
    char digits[64];
    size_t size;

    if (before > 3) {
        tool_text_grouped(text, number);
        return;
    }
    size = (size_t)snprintf(digits, sizeof digits, "%.*f", before < -30 ? 36 : 6 - before, number);
    while (digits[size - 1] == '0')
        size--;
    tool_text_add(text, digits, digits[size - 1] == '.' ? size - 1 : size);
}
