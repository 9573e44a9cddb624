/*
 * What libtavola takes to read a page of entities, and to write them again.
 *
 *     client_page FILE [ROUNDS]
 *
 * FILE is the body of a query's answer.  Each round copies it, as a receive would, reads it into
 * the memory of the round before, as a scan does, and looks at one property of each entity.  Prints
 * nanoseconds of CPU per entity: for the copy alone, for all of it, for copies of single entities
 * out of the page, and for writing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/assert.h"
#include "client/entity/entity.h"

static char *file_text;
static size_t file_len;

static void read_file(const char *path)
{
    FILE *file = fopen(path, "rb");

    tv_assert(file != NULL);
    file_text = tv_malloc(64 << 20);
    file_len = fread(file_text, 1, 64 << 20, file);
    fclose(file);
}

static int64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static char *receive(void)
{
    char *copy = tvc_alloc(file_len + 1);

    tv_assert(copy != NULL);
    memcpy(copy, file_text, file_len);
    return copy;
}

static tavola_page *read_page(void)
{
    tavola_page *page = NULL;

    if (tvc_page_read(receive(), file_len, &page) != TAVOLA_OK) {
        fprintf(stderr, "that is not a page\n");
        exit(1);
    }
    return page;
}

static void do_receive(const tavola_page *page)
{
    char *copy = receive();

    __asm__ volatile("" : : "r"(copy) : "memory");
    tvc_release(copy);
}

static void do_read(const tavola_page *unused)
{
    static tavola_page *spare;
    tavola_page *page = NULL;
    int64_t sum = 0, number;

    tv_assert(tvc_page_read_into(spare, receive(), file_len, &page) == TAVOLA_OK);

    for (size_t i = 0; i < page->count; i++) {
        if (tavola_entity_get_int64(&page->entities[i], "Visits", &number))
            sum += number;
    }
    __asm__ volatile("" : : "r"(sum));
    spare = page;
}

static void do_copy(const tavola_page *page)
{
    for (size_t i = 0; i < page->count; i++)
        tavola_entity_free(tavola_entity_copy(&page->entities[i]));
}

static void do_write(const tavola_page *page)
{
    static tvc_text text;

    tvc_text_reset(&text);
    for (size_t i = 0; i < page->count; i++)
        tvc_entity_write(&text, &page->entities[i]);
    tv_assert(!text.has_failed);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *what;
        void (*run)(const tavola_page *page);
    } tasks[] = {{"receive", do_receive},
                 {"receive and read", do_read},
                 {"copy", do_copy},
                 {"write", do_write}};
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 2000;

    if (argc < 2 || rounds < 1) {
        fprintf(stderr, "usage: client_page FILE [ROUNDS]\n");
        return 2;
    }
    read_file(argv[1]);

    tavola_page *page = read_page();

    printf("%zu entities of %zu bytes\n", page->count, file_len / page->count);
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        tasks[i].run(page);

        int64_t start = cpu_ns();

        for (long round = 0; round < rounds; round++)
            tasks[i].run(page);
        printf("%-20s %6.0f ns\n", tasks[i].what,
               (double)(cpu_ns() - start) / (double)rounds / (double)page->count);
    }
    tvc_page_free(page);
    free(file_text);
    return 0;
}
