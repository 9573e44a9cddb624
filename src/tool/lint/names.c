/* See names.h. */
#include "names.h"

#include <string.h>

enum { NAME_MAX_BYTES = 80 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many characters must be changed, added or left out to make one of the other. */
static size_t distance(const char *a, const char *b)
{
    size_t row[NAME_MAX_BYTES + 1];
    size_t len = strlen(b);

    for (size_t j = 0; j <= len; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];

        row[0] = i;
        for (size_t j = 1; j <= len; j++) {
            size_t above = row[j];

            row[j] = least(least(row[j] + 1, row[j - 1] + 1), corner + (a[i - 1] != b[j - 1]));
            corner = above;
        }
    }
    return row[len];
}

const char *tool_nearest(const char *name, const char *const *known)
{
    const char *nearest = NULL;
    size_t best = strlen(name) / 3 + 2;

    if (strlen(name) > NAME_MAX_BYTES)
        return NULL;
    for (; *known; known++) {
        size_t d = strlen(*known) <= NAME_MAX_BYTES ? distance(name, *known) : best;

        if (d < best) {
            best = d;
            nearest = *known;
        }
    }
    return nearest;
}
