/* The prompt. */
#ifndef TOOL_SHELL_H
#define TOOL_SHELL_H
#include "../tool.h"

tool_exit tool_shell(tool_run *run);
/* What 'tavola' alone does on a terminal: a prompt if a service answers, else one line that says
 * what to do. */
tool_exit tool_shell_bare(tool_run *run);

#endif
