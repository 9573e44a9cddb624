/* See guess.h. */
#include "guess.h"

#include <string.h>

#include "base/slice.h"

enum { LENGTH_MAX = 63 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters that are missing, too many, wrong or swapped with their neighbour; case costs nothing. */
static size_t distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t rows[3][LENGTH_MAX + 1];

    for (size_t k = 0; k <= b_size; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= a_size; i++) {
        size_t *row = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t k = 1; k <= b_size; k++) {
            char left = tv_ascii_lower(a[i - 1]), right = tv_ascii_lower(b[k - 1]);

            row[k] = least(before[k - 1] + (left != right), least(before[k], row[k - 1]) + 1);
            if (i > 1 && k > 1 && left == tv_ascii_lower(b[k - 2]) &&
                tv_ascii_lower(a[i - 2]) == right)
                row[k] = least(row[k], earlier[k - 2] + 1);
        }
    }
    return rows[a_size % 3][b_size];
}

void tool_guess_try(tool_guess *guess, const char *name)
{
    size_t word_size = strlen(guess->word), size = strlen(name), mistakes;
    size_t letters = word_size - strspn(guess->word, "-");

    if (word_size > LENGTH_MAX || size > LENGTH_MAX || strcmp(name, guess->word) == 0)
        return;
    mistakes = distance(guess->word, word_size, name, size);
    /* A third of the letters may be wrong, two of a word of three or four may not. */
    if (mistakes > (letters + 1) / 3 || mistakes > 3 ||
        (guess->name.size && mistakes >= guess->mistakes))
        return;
    guess->mistakes = mistakes;
    guess->name.size = 0;
    tool_text_add(&guess->name, name, size);
}

const char *tool_guess_text(tool_guess *guess)
{
    tool_text text = {0};

    if (!guess->name.size)
        return "";
    tool_text_printf(&text, "; did you mean '%s'?", guess->name.at);
    tool_text_done(&guess->name);
    guess->name = text;
    return text.at;
}

void tool_guess_done(tool_guess *guess)
{
    tool_text_done(&guess->name);
}
