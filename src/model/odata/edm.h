/*
 * The eight property types of the table service, their names, and one property
 * in memory.
 */
#ifndef TV_MODEL_ODATA_EDM_H
#define TV_MODEL_ODATA_EDM_H

#include <stdint.h>

#include "base/guid.h"
#include "base/slice.h"

/** The numbers are stored on disk: never change one. */
typedef enum tv_edm_type {
    TV_EDM_STRING = 1,
    TV_EDM_BOOLEAN = 2,
    TV_EDM_INT32 = 3,
    TV_EDM_INT64 = 4,
    TV_EDM_DOUBLE = 5,
    TV_EDM_DATETIME = 6,
    TV_EDM_GUID = 7,
    TV_EDM_BINARY = 8,
} tv_edm_type;

/** "Edm.Int64". */
tv_slice tv_edm_name(tv_edm_type type);

/** False for any other name. */
bool tv_edm_parse(tv_slice name, tv_edm_type *ret_type);

typedef struct tv_property {
    tv_slice name;
    tv_edm_type type;
    union {
        tv_slice bytes; /* String (valid UTF-8) and Binary */
        bool boolean;
        int32_t int32;
        int64_t int64;
        double real;
        int64_t ticks; /* DateTime */
        tv_guid guid;
    };
} tv_property;

/**
 * What a property counts towards the size of its entity, by Microsoft's
 * published formula: 8 + 2 per UTF-16 unit of the name + the value.
 */
size_t tv_property_cost(const tv_property *property);

#endif
