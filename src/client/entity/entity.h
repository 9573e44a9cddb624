/*
 * A property bag, behind tavola_entity; and its JSON.
 *
 * An entity of its own keeps its strings in its memory, or in the answer that it was read from.
 * Those of a page are views: their strings and properties lie in the page's memory, which they
 * share.  Every string, also of a name, has a NUL after it.  What changes an entity works for
 * views, too: new values go to the page's memory.
 */
#ifndef TVC_ENTITY_H
#define TVC_ENTITY_H

#include "client/memory.h"
#include "client/text.h"

enum {
    TVC_PROPERTIES_MAX = 252,        /* of the application, keys and Timestamp apart */
    TVC_NAME_UNITS_MAX = 255,        /* UTF-16 units of a property's name */
    TVC_KEY_UNITS_MAX = 1024,        /* UTF-16 units of a key, by the most generous document */
    TVC_VALUE_BYTES_MAX = 64 * 1024, /* of a Binary; a String has half as many UTF-16 units */
    TVC_ENTITY_BYTES_MAX = 1024 * 1024,
    TVC_ETAG_ROOM = 64, /* services have etags of less than that */
};

typedef struct tvc_property {
    const char *name; /* NUL-terminated */
    uint32_t name_len;
    bool is_set;        /* by a setter since the entity was read: what tavola_update merges */
    bool is_secret;     /* came from a field with TAVOLA_FIELD_ENCRYPT */
    tavola_value value; /* STRING: with a NUL after it */
} tvc_property;

/** Memory of one entity, or of all views of a page: taken piece by piece, freed at once. */
typedef struct tvc_entity_memory {
    struct tvc_entity_block *blocks; /* the newest first */
    char *at, *end;                  /* what is free in it */
    size_t taken, wasted;            /* bytes handed out; of these not used any more */
    char *json;                      /* what was read, changed meanwhile; or NULL */
    tvc_property *read;              /* the properties that were read; or NULL */
} tvc_entity_memory;

/** A place for a text in an entity that has not got it yet. */
typedef struct tvc_text_slot {
    const char *name;
    char *bytes;
} tvc_text_slot;

struct tavola_entity {
    const char *partition_key, *row_key; /* never NULL; "" when there was none to read */
    const char *etag;                    /* or NULL */
    char *etag_room;        /* TVC_ETAG_ROOM bytes for the etags that writes leave; or NULL */
    tavola_ticks timestamp; /* 0: not known */
    tvc_property *properties;
    uint32_t count, size;
    bool is_unset;          /* a property that it had was unset */
    bool is_view;           /* of a page: nothing of it is freed */
    bool is_part;           /* read by an index, without some of its properties */
    bool is_wide;           /* takes more properties than can be sent as one entity */
    tavola_err error;       /* the first */
    const char *error_text; /* or NULL */
    tvc_entity_memory *memory;
};

/** The index of a property, -1 when there is none. */
int tvc_entity_find(const tavola_entity *entity, tv_slice name);

/** Keep the first error, with a line for people. */
void tvc_entity_fail(tavola_entity *entity, tavola_err err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/**
 * Whether it can be sent: its first error, NO_MEMORY for NULL, TOO_LARGE when it is longer than an
 * entity may be or has more properties.  *ret_why (may be NULL) is one line for people, which lives
 * as long as the entity.
 */
tavola_err tvc_entity_check(const tavola_entity *entity, const char **ret_why);

/** Make room for the etag that a write leaves, before it is sent.  False: no memory. */
bool tvc_entity_reserve_etag(tavola_entity *entity);

/** The etag of what was written, for which there is room; NULL: it is not known. */
void tvc_entity_take_etag(tavola_entity *entity, const char *etag);

/**
 * A property of the application, refused as a setter would and returned here, not kept; and room
 * for a String of `len` bytes in it, before what makes it so is sent.  *ret_why as above.
 */
tavola_err tvc_entity_reserve_text(tavola_entity *entity, const char *name, size_t len,
                                   tvc_text_slot *ret_slot, const char **ret_why);

/** Set it to that text, for which there is room. */
void tvc_entity_take_text(tavola_entity *entity, const tvc_text_slot *slot, const char *text);

/** The bytes of memory that a copy of it takes, but for a constant. */
size_t tvc_entity_kept_bytes(const tavola_entity *entity);

/*
 * For whoever replaces values of an entity that was read (crypto/): they work for views, check no
 * rules and do not count as changes by the application.
 */

/** Room for `size` bytes that lives as long as the entity's memory; NULL when there is none. */
char *tvc_entity_room(tavola_entity *entity, size_t size);

/**
 * Set a property to a copy of a value.  NO_MEMORY, and then nothing has changed.  The properties
 * may move.
 */
tavola_err tvc_entity_put(tavola_entity *entity, tv_slice name, tavola_value value);

/** Take a property out; those after it move up by one. */
void tvc_entity_drop(tavola_entity *entity, int index);

/**
 * Write an entity as the body of an insert, replace or merge: PartitionKey, RowKey, properties;
 * Int64, Double, DateTime, Guid and Binary annotated, doubles always with a point or exponent (NaN
 * and infinities as strings), never Timestamp or odata.*.  The entity has no error.  UTF-8 goes as
 * it is, without escapes.
 */
void tvc_entity_write(tvc_text *text, const tavola_entity *entity);

/**
 * Read one entity (an answer of a point query, an echo of an insert).  Takes over `json`, memory
 * of tvc_alloc with room for a NUL after json_len: it becomes the memory of the entity, or is
 * freed.  PROTOCOL when it is not one, NO_MEMORY.  Keys that are missing are "": an answer about
 * something else (a table) can be read, too.
 */
tavola_err tvc_entity_read(char *json, size_t json_len, tavola_entity **ret_entity);

/** Whether two entities have the same properties: types and values; keys and etags apart. */
bool tvc_entity_same(const tavola_entity *a, const tavola_entity *b);

/** Whether all properties of `part` are in `whole` with type and value. */
bool tvc_entity_contains(const tavola_entity *whole, const tavola_entity *part);

/**
 * A page behind tavola_page.  Its entities are views, which point into its memory: a page must not
 * be moved.
 */
struct tavola_page {
    tavola_entity *entities;
    size_t count;
    char *token; /* or NULL: memory of its own */
    tvc_entity_memory memory;
    size_t entities_size, properties_size; /* how many there is room for */
};

/**
 * Read a page: {"odata.metadata":..., "value":[...]}; members in any order, unknown ones skipped.
 * Takes over `json` like tvc_entity_read.  In one pass over the text, which is changed in place:
 * a scan of a million entities shall cost less than a microsecond for each.  The page has no token.
 */
tavola_err tvc_page_read(char *json, size_t json_len, tavola_page **ret_page);

/**
 * The same in the memory of a page that is not needed any more; it is taken over, and may be NULL.
 * For whoever reads many pages: giving large memory back and taking it again, which faults page by
 * page, costs more than all the reading.
 */
tavola_err tvc_page_read_into(tavola_page *spare, char *json, size_t json_len,
                              tavola_page **ret_page);

/** Free all of a page but the memory that another can be read into. */
void tvc_page_clear(tavola_page *page);

/** NULL is fine. */
void tvc_page_free(tavola_page *page);

#endif
