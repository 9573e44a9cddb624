/* What the recorder takes, counted. */
#include "insight/watch/memory.h"

#include <string.h>

static size_t text_bytes(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static size_t sketch_bytes(const tv_watch_sketch *sketch)
{
    size_t bytes = sketch->size * sizeof *sketch->list;

    for (size_t i = 0; i < sketch->count; i++)
        bytes += tv_tally_bytes(&sketch->list[i].tally);
    return bytes;
}

static size_t shape_bytes(const tv_shape_entry *shape)
{
    size_t bytes = sizeof *shape + tv_tally_bytes(&shape->tally) + text_bytes(shape->text) +
                   text_bytes(shape->example) + text_bytes(shape->select) +
                   text_bytes(shape->literal);

    for (int i = 0; i < TV_WATCH_SOURCES; i++)
        bytes += text_bytes(shape->sources[i]);
    if (shape->walkers)
        bytes += TV_WATCH_CLIENTS * sizeof *shape->walkers;
    for (size_t i = 0; i < shape->walker_count; i++)
        bytes += tv_tally_bytes(&shape->walkers[i].tally);
    return bytes;
}

size_t tv_watch_table_bytes(const tv_table_entry *table)
{
    size_t bytes = sizeof *table + text_bytes(table->account) + text_bytes(table->name) +
                   tv_tally_bytes(&table->tally) + sketch_bytes(&table->partitions) +
                   sketch_bytes(&table->rows);

    if (table->conflicts)
        bytes += TV_WATCH_CONFLICTS_MAX * sizeof *table->conflicts;
    if (table->inserts)
        bytes += sizeof *table->inserts;
    if (table->retries)
        bytes += TV_TALLY_SLOTS * sizeof *table->retries;
    for (const tv_shape_entry *shape = table->shapes; shape; shape = shape->next_of_table)
        bytes += shape_bytes(shape);
    return bytes;
}
