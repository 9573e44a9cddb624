/*
 * A property bag, behind tavola_entity; and its JSON.
 *
 * An entity that the application made owns its strings one way or another (entity.c).  Those of a
 * page are views: their strings, with a NUL after each, and properties lie in the page's memory.
 */
#ifndef TVC_ENTITY_H
#define TVC_ENTITY_H

#include "client/memory.h"
#include "client/text.h"

enum {
    TVC_PROPERTIES_MAX = 252,        /* of the application, keys and Timestamp apart */
    TVC_NAME_UNITS_MAX = 255,        /* UTF-16 units of a property's name */
    TVC_KEY_UNITS_MAX = 512,         /* UTF-16 units of a key: 1 KiB */
    TVC_VALUE_BYTES_MAX = 64 * 1024, /* of a Binary; a String has half as many UTF-16 units */
    TVC_ENTITY_BYTES_MAX = 1024 * 1024,
};

typedef struct tvc_property {
    const char *name; /* NUL-terminated */
    uint32_t name_len;
    bool is_set;        /* by a setter since the entity was read: what tavola_update merges */
    bool is_secret;     /* came from a field with TAVOLA_FIELD_ENCRYPT */
    tavola_value value; /* STRING: with a NUL after it */
} tvc_property;

struct tavola_entity {
    const char *partition_key, *row_key; /* never NULL, unless error is set */
    const char *etag;                    /* or NULL */
    tavola_ticks timestamp;
    tvc_property *properties;
    uint32_t count, size;
    bool is_unset;                    /* a property that it had was unset */
    bool is_view;                     /* of a page: nothing of it is freed */
    tavola_err error;                 /* the first */
    char *error_text;                 /* or NULL */
    struct tvc_entity_memory *memory; /* of an entity of its own; see entity.c */
};

/** The index of a property, -1 when there is none. */
int tvc_entity_find(const tavola_entity *entity, tv_slice name);

/** Keep the first error, with a line for people. */
void tvc_entity_fail(tavola_entity *entity, tavola_err err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/**
 * Write an entity as the body of an insert, replace or merge: PartitionKey, RowKey, properties;
 * Int64, Double, DateTime, Guid and Binary annotated, doubles always with a point or exponent (NaN
 * and infinities as strings), never Timestamp or odata.*.  The entity has no error.
 */
void tvc_entity_write(tvc_text *text, const tavola_entity *entity);

/**
 * Read one entity (an answer of a point query, an echo of an insert).  Takes over `json`, memory
 * of tvc_alloc with room for a NUL after json_len: it becomes the memory of the entity, or is
 * freed.  PROTOCOL when it is not one, NO_MEMORY.
 */
tavola_err tvc_entity_read(char *json, size_t json_len, tavola_entity **ret_entity);

/** Whether two entities have the same properties: types and values; keys and etags apart. */
bool tvc_entity_same(const tavola_entity *a, const tavola_entity *b);

/** Whether all properties of `part` are in `whole` with type and value. */
bool tvc_entity_contains(const tavola_entity *whole, const tavola_entity *part);

/** A page behind tavola_page.  Its entities are views into `json`. */
struct tavola_page {
    char *json; /* the answer, changed while it was read */
    tavola_entity *entities;
    size_t count;
    tvc_property *properties; /* of all entities */
    char *token;              /* or NULL */
};

/**
 * Read a page: {"odata.metadata":..., "value":[...]}; members in any order, unknown ones skipped.
 * Takes over `json` like tvc_entity_read.  In one pass over the text, which is changed in place:
 * a scan of a million entities shall cost less than a microsecond for each.
 */
tavola_err tvc_page_read(char *json, size_t json_len, tavola_page **ret_page);

#endif
