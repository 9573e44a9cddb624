/*
 * What may be called what: table names, property names, keys.  Each check
 * returns the service's own error for the rule that is broken.
 */
#ifndef TV_SERVICES_TABLE_NAMES_H
#define TV_SERVICES_TABLE_NAMES_H

#include "base/arena.h"
#include "base/err.h"

/** 3 to 63 letters and digits, a letter first, not "tables"; and the tables of Storage
 * Analytics.  Length is checked before characters.
 */
tv_err tv_check_table_name(tv_slice name) TV_WARN_UNUSED;

/** At most 255 UTF-16 units, and like an identifier of C#: letters, digits, '_', no digit first. */
tv_err tv_check_property_name(tv_slice name) TV_WARN_UNUSED;

/**
 * A PartitionKey or RowKey (valid UTF-8) out of a URL: at most 1,024 UTF-16
 * units, no / \ # ? and no control characters.
 */
tv_err tv_check_url_key(tv_slice key) TV_WARN_UNUSED;

/** The same for a key in an inserted entity: `property` names it in the error's text. */
tv_err tv_check_body_key(tv_arena *arena, tv_slice property, tv_slice key,
                         tv_error_info *reterr_info) TV_WARN_UNUSED;

#endif
