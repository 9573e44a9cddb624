/* Completion in shells. */
#ifndef TOOL_COMPLETE_H
#define TOOL_COMPLETE_H
#include "../tool.h"

typedef void (*tool_candidate_fn)(void *user, const char *word);
/* What may stand for the last of the words; asks the service for names of tables and properties. */
void tool_candidates(tool_run *run, const char *const *words, size_t count, tool_candidate_fn found,
                     void *user);
/* Print what may stand for the last of the words, one per line. */
tool_exit tool_complete(tool_run *run);
/* Print the script for a shell. */
tool_exit tool_completion(tool_run *run);

#endif
