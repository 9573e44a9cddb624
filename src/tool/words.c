/* See words.h. */
#include "words.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

char **tool_words_split(const char *line, bool is_half, size_t *ret_count)
{
    char **words = tool_alloc((strlen(line) / 2 + 3) * sizeof *words);
    size_t count = 0;
    char quote = 0;

    while (*line) {
        tool_text word = {0};

        line += strspn(line, " \t\r\n");
        if (!*line)
            break;
        tool_text_puts(&word, "");
        for (; *line && (quote || !strchr(" \t\r\n", *line)); line++) {
            if (quote ? *line == quote : *line == '\'' || *line == '"')
                quote = quote ? 0 : *line;
            else if (*line == '\\' && quote != '\'' && line[1])
                tool_text_add(&word, ++line, 1);
            else
                tool_text_add(&word, line, 1);
        }
        words[count++] = word.at;
    }
    if (quote && is_half)
        free(words[--count]);
    *ret_count = count;
    if (!quote || is_half)
        return words;
    while (count)
        free(words[--count]);
    free(words);
    return NULL;
}

void tool_words_free(char **words, size_t count)
{
    for (size_t i = 0; words && i < count; i++)
        free(words[i]);
    free(words);
}
