/* Completion in shells. */
#ifndef TOOL_COMPLETE_H
#define TOOL_COMPLETE_H
#include "../tool.h"

/* Print what may stand for the last of the words, one per line. */
tool_exit tool_complete(tool_run *run);
/* Print the script for a shell. */
tool_exit tool_completion(tool_run *run);

#endif
