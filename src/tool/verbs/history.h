/*
 * The lines of earlier shells, in a file that all shells add to: a line is there at once, whatever
 * ends its shell, and the next shell that begins has those of all others.
 */
#ifndef TOOL_HISTORY_H
#define TOOL_HISTORY_H
#include "../text.h"

enum { TOOL_HISTORY_MAX = 1000 }; /* lines; the file has up to twice as many */

/* Find the file, which is its owner's alone, and have it read.  Its path is "" where there is no
 * place for it. */
void tool_history_open(tool_text *ret_path, int (*read)(const char *path));
/* Add a line to it; false when it has a secret, or nothing, so that it is not worth keeping. */
bool tool_history_keep(const char *path, const char *line);

#endif
