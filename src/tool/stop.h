/*
 * Ctrl-C: it ends the verb that runs, at once, and not the shell around it.
 *
 * SIGINT and SIGTERM leave a note, the first time, and cancel the call of the verb, so that what
 * waits for an answer ends and what was sent is told.  Whoever waits for something else does it by
 * tool_stop_wait; whoever works for long looks at tool_stop_signal.  A second one ends the tool.
 */
#ifndef TOOL_STOP_H
#define TOOL_STOP_H
#include <stdbool.h>
#include <tavola.h>

/* From now on, for a verb; a signal that is ignored stays so. */
void tool_stop_begin(tavola_call *call);
/* As it was before; does nothing where nothing has begun. */
void tool_stop_end(void);
/* From now on `call`, that of writes, is cancelled a second after the signal: long enough for those
 * that are on their way to a service that is well, so that it is known what was written. */
void tool_stop_gently(tavola_call *call);
/* The signal that came, 0: none. */
int tool_stop_signal(void);
/* Wait for a descriptor (-1: none), at most so many milliseconds (-1: for ever).  False when the
 * time is over, and when a signal came. */
bool tool_stop_wait(int fd, short events, int ms);

#endif
