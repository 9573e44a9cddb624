/*
 * Values as cells of a CSV file.
 */
#ifndef XFER_CELL_H
#define XFER_CELL_H

#include <tavola.h>

#include "../text.h"

/**
 * A value of a type from its text, which has a NUL after it.  A String points to the text, a Binary
 * to `scratch`.  False when the text is not one.
 */
bool xfer_cell_parse(tavola_type type, const char *text, size_t size, tool_text *scratch,
                     tavola_value *ret_value);

#endif
