/* Lines of commands, as the shell and files of commands have them. */
#ifndef TOOL_WORDS_H
#define TOOL_WORDS_H
#include <stdbool.h>
#include <stddef.h>

/*
 * The words of a line, by the rules of a shell: blanks separate, '...' is as it is, "..." and what
 * is outside know the backslash.  NULL when a quote is not closed, unless the line `is_half`: then
 * the word with that quote is left out.  There is room for one word more.
 */
char **tool_words_split(const char *line, bool is_half, size_t *ret_count);
void tool_words_free(char **words, size_t count);

#endif
