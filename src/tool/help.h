/* Help, made of the tables of verbs and flags, so that it cannot lag behind them. */
#ifndef TOOL_HELP_H
#define TOOL_HELP_H
#include "tool.h"

void tool_help(FILE *to);
void tool_help_verb(const tool_verb *verb, FILE *to);
/* The help of the verb of this name, or of all verbs that begin with it. */
tool_exit tool_help_words(const char *const *words, size_t count);

/* All verbs that help lists, group by group: first the title alone, with NULL for the verb. */
void tool_each_verb(void (*visit)(void *user, const char *title, const tool_verb *verb),
                    void *user);

#endif
