/*
 * Memory of entities: a few blocks from which pieces are taken one after the other.
 */
#ifndef TVC_ENTITY_ROOM_H
#define TVC_ENTITY_ROOM_H

#include "client/entity/entity.h"

/** Room for bytes, not aligned; NULL when there is none. */
char *tvc_room_take(tvc_entity_memory *memory, size_t size);

/** Room for properties; NULL when there is none. */
tvc_property *tvc_room_properties(tvc_entity_memory *memory, size_t count);

/** A copy that ends with NUL; NULL when there is no memory. */
const char *tvc_room_dup(tvc_entity_memory *memory, tv_slice text);

/** Take one block of at least this size at once. */
bool tvc_room_reserve(tvc_entity_memory *memory, size_t size);

/** Free everything. */
void tvc_room_done(tvc_entity_memory *memory);

#endif
