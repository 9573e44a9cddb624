/*
 * Entities of their own, as the files of this folder make them.
 */
#ifndef TVC_ENTITY_OWN_H
#define TVC_ENTITY_OWN_H

#include "client/entity/entity.h"

/** The "" that stands for a key which was not there. */
extern const char tvc_no_key[];

/**
 * An empty entity with at least `room` bytes for texts and properties in the same piece of memory;
 * NULL when there is none.
 */
tavola_entity *tvc_entity_make(size_t room);

#endif
