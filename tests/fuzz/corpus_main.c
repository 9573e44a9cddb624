/*
 * Runs a fuzz target once over every file of its corpus: the everyday half of
 * fuzzing, for builds without libFuzzer.  Prints TAP, one line per file.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

static int run_file(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");

    if (file == NULL)
        return -1;

    size_t len = fread(bytes, 1, sizeof bytes, file);
    fclose(file);

    /* A heap copy of just this size lets the address sanitizer see reads past the end. */
    uint8_t *exact = malloc(len ? len : 1);
    for (size_t i = 0; i < len; i++)
        exact[i] = bytes[i];
    LLVMFuzzerTestOneInput(exact, len);
    free(exact);
    return 0;
}

int main(int argc, char **argv)
{
    int count = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: %s CORPUS-DIR\n", argv[0]);
        return 2;
    }

    DIR *dir = opendir(argv[1]);
    if (dir == NULL) {
        perror(argv[1]);
        return 2;
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[4096];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        if (run_file(path) != 0) {
            printf("not ok %d - %s\n", ++count, entry->d_name);
            closedir(dir);
            return 1;
        }
        printf("ok %d - %s\n", ++count, entry->d_name);
        fflush(stdout);
    }
    closedir(dir);
    printf("1..%d\n", count);
    return count > 0 ? 0 : 1;
}
