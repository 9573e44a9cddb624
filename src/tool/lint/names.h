/* Names that somebody has misspelt. */
#ifndef TOOL_LINT_NAMES_H
#define TOOL_LINT_NAMES_H
#include <stddef.h>

/* The known name (the list ends with NULL) that is most like this one; NULL when none is near. */
const char *tool_nearest(const char *name, const char *const *known);

#endif
