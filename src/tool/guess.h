/* What a mistyped word may mean: the name that takes the fewest typing mistakes to make it. */
#ifndef TOOL_GUESS_H
#define TOOL_GUESS_H
#include "text.h"

/* {.word = ...} has no guess yet. */
typedef struct tool_guess {
    const char *word;
    tool_text name;  /* the nearest so far; empty: none is near */
    size_t mistakes; /* from it to the word */
} tool_guess;

void tool_guess_try(tool_guess *guess, const char *name);
/* "; did you mean 'name'?", or nothing; in the memory of the guess. */
const char *tool_guess_text(tool_guess *guess);
void tool_guess_done(tool_guess *guess);

#endif
