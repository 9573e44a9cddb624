/*
 * Between two keys.  A service lists the keys of a partition from the first to the last and from no
 * other end, so the last one is found by halving: what is above a key that lies in the middle?
 * A middle is made of characters that keys were seen to have, so each question decides much.
 */
#ifndef TOOL_KEY_MIDDLE_H
#define TOOL_KEY_MIDDLE_H
#include "../text.h"

/* {0} has seen nothing. */
typedef struct tool_letters {
    struct {
        uint32_t code;
        char bytes[5];
    } list[256]; /* in the order of their codes; what comes after so many is not used */
    size_t count;
} tool_letters;

/* Learn the characters of a key; of one digit, all digits. */
void tool_letters_learn(tool_letters *letters, const char *key);

/* A text above `low` and below `high` (NULL: there is no such bound), about half way; false when
 * there is none of these characters that is not much longer than both. */
bool tool_letters_middle(const tool_letters *letters, const char *low, const char *high,
                         tool_text *ret_middle);

#endif
