/*
 * What a key looks like: digits become 9{n}, runs of letters a or A, a GUID G; other characters
 * stay.  `emp_00012` is of the class `a_9{5}`.
 */
#ifndef TV_INSIGHT_FACTS_CLASS_H
#define TV_INSIGHT_FACTS_CLASS_H

#include "insight/facts/facts.h"

enum { TV_CLASS_BYTES_MAX = 64 }; /* a longer one is cut, with an ellipsis */

/** The class of a key's text, in the arena. */
tv_slice tv_class_of(tv_arena *arena, tv_slice key);

/** Whether digits anywhere in it begin with 0 and have another behind it. */
bool tv_class_has_leading_zero(tv_slice key);

/** Whether it has the English name of a month, in full or three letters of it. */
bool tv_class_has_month(tv_slice key);

/** Classes of keys; room for one more, which all others share: its text is empty. */
typedef struct tv_class_list {
    tv_facts_class list[TV_FACTS_CLASSES_MAX + 1];
    size_t count;
} tv_class_list;

/** Add a key; returns the number of its class, TV_FACTS_CLASSES_MAX for one that has no place. */
size_t tv_class_list_add(tv_class_list *classes, tv_arena *arena, tv_slice key);

#endif
