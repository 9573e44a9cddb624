/*
 * Reading entities, one after the other, into one array of properties.
 */
#ifndef TVC_ENTITY_READ_H
#define TVC_ENTITY_READ_H

#include "client/entity/entity.h"
#include "client/entity/json_scan.h"

enum {
    TVC_READ_PROPERTIES_MAX = 512, /* of an entity: twice what the service has */
    TVC_DAYS_KEPT = 8,
};

/** A type annotation that did not stand directly before its property. */
typedef struct tvc_annotation {
    tv_slice name;
    tavola_type type;
} tvc_annotation;

/** A day that was read before; all zeros when there was none. */
typedef struct tvc_day {
    char text[10]; /* "2026-01-02" */
    tavola_ticks ticks;
} tvc_day;

typedef struct tvc_entity_reader {
    tvc_scan scan;
    const char *start; /* of the text */
    tvc_property *properties;
    size_t count, size;
    tavola_err err; /* when something returned false: PROTOCOL or NO_MEMORY */
    tvc_day days[TVC_DAYS_KEPT];
    uint64_t seen;     /* of the entity that is being read: a bit by each name of a property */
    size_t late_count; /* likewise */
    tvc_annotation late[TVC_READ_PROPERTIES_MAX];
} tvc_entity_reader;

/** `json` has a NUL after json_len. */
void tvc_entity_reader_init(tvc_entity_reader *reader, char *json, size_t json_len);

/**
 * How many of something the whole text will have, when it had `count` so far: more than `count`, a
 * little too many rather than too few.
 */
size_t tvc_entity_reader_estimate(const tvc_entity_reader *reader, size_t count);

/**
 * Read an object that begins here into an entity: keys, etag, timestamp and the number of
 * properties, which are the last ones of the reader.
 */
bool tvc_entity_reader_next(tvc_entity_reader *reader, tavola_entity *entity);

/** Whether nothing but blanks is left. */
bool tvc_entity_reader_is_at_end(tvc_entity_reader *reader);

#endif
