/* Type names and sizes. */
#include "model/odata/edm.h"

#include "base/assert.h"
#include "base/utf8.h"

static const char *const names[] = {
    [TV_EDM_STRING] = "Edm.String", [TV_EDM_BOOLEAN] = "Edm.Boolean",
    [TV_EDM_INT32] = "Edm.Int32",   [TV_EDM_INT64] = "Edm.Int64",
    [TV_EDM_DOUBLE] = "Edm.Double", [TV_EDM_DATETIME] = "Edm.DateTime",
    [TV_EDM_GUID] = "Edm.Guid",     [TV_EDM_BINARY] = "Edm.Binary",
};

tv_slice tv_edm_name(tv_edm_type type)
{
    tv_assert(type >= TV_EDM_STRING && type <= TV_EDM_BINARY);
    return tv_slice_of(names[type]);
}

bool tv_edm_parse(tv_slice name, tv_edm_type *ret_type)
{
    for (int type = TV_EDM_STRING; type <= TV_EDM_BINARY; type++) {
        if (tv_slice_eq(name, tv_slice_of(names[type]))) {
            *ret_type = (tv_edm_type)type;
            return true;
        }
    }
    return false;
}

static size_t value_cost(const tv_property *property)
{
    switch (property->type) {
    case TV_EDM_STRING:
        return 2 * tv_utf8_units(property->bytes) + 4;
    case TV_EDM_BINARY:
        return property->bytes.len + 4;
    case TV_EDM_BOOLEAN:
        return 1;
    case TV_EDM_INT32:
        return 4;
    case TV_EDM_INT64:
    case TV_EDM_DOUBLE:
    case TV_EDM_DATETIME:
        return 8;
    case TV_EDM_GUID:
        return 16;
    }
    tv_assert(!"a property type");
    return 0;
}

size_t tv_property_cost(const tv_property *property)
{
    return 8 + 2 * tv_utf8_units(property->name) + value_cost(property);
}
