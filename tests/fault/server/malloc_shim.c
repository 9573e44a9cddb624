/*
 * Preloaded into a server under test: when the server's own code (not a library) asks
 * for LARGE_BYTES or more, it gets nothing as often as the first byte of the file
 * TAVOLA_TEST_MALLOC says, in 256ths, at any moment; the second byte tells whether that
 * has happened.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LARGE_BYTES = 64 * 1024 };

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static volatile uint8_t *chance;
static uintptr_t code_start, code_end;
static _Thread_local uint32_t state;

/* The first object is the program. */
static int note_program(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    (void)ctx;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X))
            continue;
        code_start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        code_end = code_start + info->dlpi_phdr[i].p_memsz;
    }
    return 1;
}

__attribute__((constructor)) static void map_chance(void)
{
    const char *path = getenv("TAVOLA_TEST_MALLOC");
    int fd = path ? open(path, O_RDWR) : -1;
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 2, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    dl_iterate_phdr(note_program, NULL);
    if (map != MAP_FAILED)
        chance = map;
}

static bool fails(size_t size, const void *caller)
{
    uintptr_t at = (uintptr_t)caller;

    if (size < LARGE_BYTES || chance == NULL || *chance == 0 || at < code_start || at >= code_end)
        return false;
    if (state == 0)
        state = (uint32_t)(uintptr_t)&state | 1;
    state = state * 1664525 + 1013904223;
    if ((state >> 24) >= *chance)
        return false;
    chance[1] = 1;
    return true;
}

void *malloc(size_t size)
{
    return fails(size, __builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(count * size, __builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails(size, __builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}
