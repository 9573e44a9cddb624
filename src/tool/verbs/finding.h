/* A finding of GET /advice as text on stdout, for those who print them. */
#ifndef TOOL_FINDING_H
#define TOOL_FINDING_H
#include "../json_find.h"

/* The value there (NULL: the object itself), as text; what a terminal would obey is shown instead.
 */
void tool_finding_put(tool_json object, const char *path);
/* Whether there is a value that says something. */
bool tool_finding_has(tool_json object, const char *path);
/* What it is about, its title and what was seen; then its chapter, cure and proposal, and the code
 * that the server shows first, or in which languages it has some. */
void tool_finding_put_reasons(tool_json finding);
void tool_finding_put_cure(tool_json finding, bool with_code);

#endif
