/*
 * tavola table stats: of the service, how far its second copy is; of a table, what is in it.  The
 * service keeps no numbers of a table, so these come from reading all of it, once and in order; a
 * tavolad does keep them, and who has the token of one can ask for them (stats_facts.c).
 */
#include "../explained.h"
#include "../output/output.h"
#include "../text.h"
#include "../transfer/progress.h"
#include "../values.h"
#include "resource.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Memory must not grow with the table: names beyond these are only counted. */
enum { PROPERTIES_MAX = 10000, SLOTS = 1 << 15 };

/* A name with one of its types. */
typedef struct typed_name {
    char *name;
    tavola_type type;
    uint64_t entities;
} typed_name;

typedef struct partition {
    tool_text key;
    uint64_t entities, bytes;
} partition;

typedef struct tally {
    uint64_t entities, partitions, bytes, largest_entity;
    partition current, largest; /* the largest by its bytes */
    typed_name *properties;     /* PROPERTIES_MAX of them at most */
    size_t property_count;
    uint64_t unlisted; /* values whose name came after that many */
    uint16_t *slots;   /* a hash table: index + 1 of a property, 0: none */
} tally;

/* ---- properties ------------------------------------------------------------------------------ */

static size_t hash(const char *name, tavola_type type)
{
    uint64_t hash = tv_fnv(tv_slice_of(name)) + (uint64_t)type;

    return (size_t)(hash ^ (hash >> 32)) % SLOTS;
}

static void count_property(tally *stats, const char *name, tavola_type type)
{
    size_t slot = hash(name, type);
    typed_name *found;

    for (; stats->slots[slot]; slot = (slot + 1) % SLOTS) {
        found = &stats->properties[stats->slots[slot] - 1];
        if (found->type == type && strcmp(found->name, name) == 0) {
            found->entities++;
            return;
        }
    }
    if (stats->property_count == PROPERTIES_MAX) {
        stats->unlisted++;
        return;
    }
    stats->properties =
        tool_resize(stats->properties, (stats->property_count + 1) * sizeof *stats->properties);
    stats->properties[stats->property_count++] = (typed_name){tool_copy(name), type, 1};
    stats->slots[slot] = (uint16_t)stats->property_count;
}

static int compare(const void *a, const void *b)
{
    const typed_name *left = a, *right = b;
    int order = strcmp(left->name, right->name);

    return order ? order : (int)left->type - (int)right->type;
}

/* ---- entities -------------------------------------------------------------------------------- */

/* The current partition has ended. */
static void end_partition(tally *stats)
{
    partition swapped = stats->largest;

    if (stats->current.bytes > stats->largest.bytes) {
        stats->largest = stats->current;
        stats->current = swapped;
    }
}

static void count_entity(tally *stats, const tavola_entity *entity)
{
    const char *key = tavola_entity_partition_key(entity);
    size_t bytes = tavola_entity_bytes(entity), count = tavola_entity_count(entity);

    if (stats->entities == 0 || strcmp(stats->current.key.at, key) != 0) {
        end_partition(stats);
        stats->partitions++;
        stats->current.key.size = 0;
        tool_text_puts(&stats->current.key, key);
        stats->current.entities = stats->current.bytes = 0;
    }
    stats->entities++;
    stats->bytes += bytes;
    stats->current.entities++;
    stats->current.bytes += bytes;
    if (bytes > stats->largest_entity)
        stats->largest_entity = bytes;
    for (size_t i = 0; i < count; i++) {
        tavola_value value;
        const char *name = tavola_entity_name_at(entity, i, &value);

        count_property(stats, name, value.type);
    }
}

static tool_exit read_all(tool_run *run, tavola_table *table, const tavola_query *query,
                          tally *stats)
{
    enum { LOOK_UP_EACH = 256 };
    const tavola_entity *entity;
    tavola_scan *scan = NULL;
    xfer_progress progress;
    tavola_err err = tavola_scan_open(table, query, run->call, &scan);
    tool_exit exit = TOOL_OK;

    xfer_progress_begin(&progress, 0);
    while (!err && (err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        count_entity(stats, entity);
        if (stats->entities % LOOK_UP_EACH)
            continue;
        if (tool_stop_signal())
            break;
        xfer_progress_show(&progress, stats->entities, 0, 0);
    }
    xfer_progress_clear(&progress);
    end_partition(stats);
    if (err && err != TAVOLA_END) {
        exit = tool_fail(run, err, NULL);
    } else if (err != TAVOLA_END) {
        exit = tool_stopped();
        tool_note("stopped after %" PRIu64 " entities; there are more", stats->entities);
    }
    tavola_scan_close(scan);
    return exit;
}

/* ---- what is printed ------------------------------------------------------------------------- */

/* "Age:int32,Name:string": as import --types takes it. */
static void list_properties(const tally *stats, tool_text *ret_text)
{
    tool_text_puts(ret_text, "");
    for (size_t i = 0; i < stats->property_count; i++)
        tool_text_printf(ret_text, "%s%s:%s", i ? "," : "", stats->properties[i].name,
                         tool_type_name(stats->properties[i].type));
}

static tool_exit print_table(const tool_run *run, const tally *stats)
{
    bool is_empty = stats->entities == 0;
    tool_text properties = {0};
    tool_field fields[] = {
        {"Entities", tavola_int64((int64_t)stats->entities)},
        {"Partitions", tavola_int64((int64_t)stats->partitions)},
        {"Bytes", tavola_int64((int64_t)stats->bytes)},
        {"LargestEntityBytes", tavola_int64((int64_t)stats->largest_entity)},
        {"LargestPartition", tool_text_value(is_empty ? NULL : stats->largest.key.at)},
        {"LargestPartitionEntities", tavola_int64((int64_t)stats->largest.entities)},
        {"LargestPartitionBytes", tavola_int64((int64_t)stats->largest.bytes)},
        {"Properties", {0}},
    };
    tool_exit exit;

    list_properties(stats, &properties);
    fields[7].value = tavola_string(properties.at);
    exit = tool_output_one(run, fields, sizeof fields / sizeof fields[0]);
    tool_text_done(&properties);
    return exit;
}

static tool_exit print_properties(const tool_run *run, const tally *stats)
{
    tool_output *output = NULL;
    tool_exit exit = tool_output_open(run, true, &output);

    for (size_t i = 0; !exit && i < stats->property_count; i++) {
        const typed_name *property = &stats->properties[i];
        tool_field fields[] = {
            {"Property", tavola_string(property->name)},
            {"Type", tavola_string(tool_type_name(property->type))},
            {"Entities", tavola_int64((int64_t)property->entities)},
        };

        tool_output_record(output, fields, sizeof fields / sizeof fields[0]);
    }
    tool_output_close(output);
    return exit;
}

static tool_exit print(const tool_run *run, tally *stats)
{
    if (stats->property_count)
        qsort(stats->properties, stats->property_count, sizeof *stats->properties, compare);
    if (stats->unlisted)
        tool_note("there are more than %d properties; %" PRIu64 " values of others are not listed",
                  PROPERTIES_MAX, stats->unlisted);
    return tool_has(run, TOOL_FLAG_PROPERTIES) ? print_properties(run, stats)
                                               : print_table(run, stats);
}

/* ---- the verb -------------------------------------------------------------------------------- */

static tool_exit table_stats(tool_run *run)
{
    tally stats = {.slots = tool_alloc(SLOTS * sizeof *stats.slots)};
    tavola_table *table = NULL;
    tavola_filter *filter = NULL;
    tavola_query *query = NULL;
    tool_exit exit = tool_filter_of(run, &filter);
    tavola_err err;

    memset(stats.slots, 0, SLOTS * sizeof *stats.slots);
    if (!exit) {
        query = tavola_query_new(filter);
        exit = tool_table(run, run->args[0], &table);
    }
    if (!exit && filter && (err = tool_warn(run, table, query)) != TAVOLA_OK)
        exit = tool_fail(run, err, NULL);
    if (!exit)
        exit = read_all(run, table, query, &stats);
    if (!exit)
        exit = print(run, &stats);
    for (size_t i = 0; i < stats.property_count; i++)
        free(stats.properties[i].name);
    free(stats.properties);
    free(stats.slots);
    tool_text_done(&stats.current.key);
    tool_text_done(&stats.largest.key);
    tavola_query_free(query);
    tavola_table_close(table);
    return exit;
}

static tool_exit service_stats(tool_run *run)
{
    char status[TAVOLA_GEO_STATUS_SIZE];
    tavola_ticks last_sync = 0;
    tavola_client *client;
    tool_exit exit = tool_client(run, &client);
    tavola_err err;

    if (exit)
        return exit;
    err = tavola_service_stats(client, TAVOLA_SERVICE_TABLE, run->call, status, &last_sync);
    if (err)
        return tool_fail(run, err, NULL);
    tool_field fields[] = {
        {"GeoReplication", tavola_string(status)},
        {"LastSyncTime", tool_time_value(last_sync)},
    };
    return tool_output_one(run, fields, sizeof fields / sizeof fields[0]);
}

tool_exit tool_table_stats(tool_run *run)
{
    bool has_server = tool_has(run, TOOL_FLAG_ADMIN) || tool_has(run, TOOL_FLAG_DATA) ||
                      tool_has(run, TOOL_FLAG_TOKEN_FILE);

    if (run->arg_count)
        return has_server ? tool_table_facts(run) : table_stats(run);
    if (tool_has(run, TOOL_FLAG_PROPERTIES))
        return tool_refuse("--properties are those of a table: name it");
    return service_stats(run);
}
