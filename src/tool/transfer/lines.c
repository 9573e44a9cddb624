/* Lines by keys: a table with open addressing that is at most half full. */
#include "lines.h"

#include <string.h>

#include "digest.h"

enum { SIZE = 2 * XFER_LINES_MAX };

static uint64_t hash_of(const tavola_entity *entity)
{
    const char *partition_key = tavola_entity_partition_key(entity);
    const char *row_key = tavola_entity_row_key(entity);
    uint64_t hash =
        xfer_hash(xfer_hash(1, partition_key, strlen(partition_key)), row_key, strlen(row_key));

    return hash ? hash : 1;
}

/* Where it is, or would be. */
static size_t find(const xfer_lines *lines, uint64_t hash)
{
    size_t i = hash % SIZE;

    while (lines->at[i].hash && lines->at[i].hash != hash)
        i = (i + 1) % SIZE;
    return i;
}

void xfer_lines_add(xfer_lines *lines, const tavola_entity *entity, uint64_t line, uint64_t record)
{
    uint64_t hash = hash_of(entity);

    lines->at[find(lines, hash)] = (xfer_origin){hash, line, record};
}

const xfer_origin *xfer_lines_find(const xfer_lines *lines, const tavola_entity *entity)
{
    const xfer_origin *found = &lines->at[find(lines, hash_of(entity))];

    return found->hash ? found : NULL;
}

void xfer_lines_clear(xfer_lines *lines)
{
    memset(lines, 0, sizeof *lines);
}
