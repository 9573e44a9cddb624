/* Keys as classes. */
#include "insight/facts/class.h"

#include <stdio.h>
#include <strings.h>

#include "base/chars.h"

/* How many characters at the beginning are of a kind. */
static size_t run_of(tv_slice text, bool (*is_kind)(char c))
{
    size_t len = 0;

    while (len < text.len && is_kind(text.data[len]))
        len++;
    return len;
}

tv_slice tv_class_of(tv_arena *arena, tv_slice key)
{
    enum { PART_MAX = 24 };
    char *out = tv_arena_bytes(arena, TV_CLASS_BYTES_MAX + PART_MAX);
    size_t len = 0;

    while (key.len && len < TV_CLASS_BYTES_MAX - 3) {
        size_t run = 1;

        if (tv_begins_with_guid(key)) {
            run = TV_GUID_CHARS;
            out[len++] = 'G';
        } else if (tv_is_digit(key.data[0])) {
            run = run_of(key, tv_is_digit);
            len += (size_t)snprintf(out + len, PART_MAX, "9{%zu}", run);
        } else if (tv_is_lower(key.data[0])) {
            run = run_of(key, tv_is_lower);
            out[len++] = 'a';
        } else if (tv_is_upper(key.data[0])) {
            run = run_of(key, tv_is_upper);
            out[len++] = 'A';
        } else {
            out[len++] = key.data[0];
        }
        key = tv_slice_skip(key, run);
    }
    if (key.len) {
        memcpy(out + len, "\xE2\x80\xA6", 3);
        len += 3;
    }
    return (tv_slice){out, len};
}

bool tv_class_has_leading_zero(tv_slice key)
{
    for (size_t i = 0; i + 1 < key.len; i++) {
        bool begins = i == 0 || !tv_is_digit(key.data[i - 1]);

        if (begins && key.data[i] == '0' && tv_is_digit(key.data[i + 1]))
            return true;
    }
    return false;
}

bool tv_class_has_month(tv_slice key)
{
    static const char *const names[] = {"january",   "february", "march",    "april",
                                        "may",       "june",     "july",     "august",
                                        "september", "october",  "november", "december"};

    for (size_t i = 0; i < key.len;) {
        size_t run = 0;

        while (i + run < key.len &&
               (tv_is_lower(key.data[i + run]) || tv_is_upper(key.data[i + run])))
            run++;
        for (size_t m = 0; run >= 3 && m < 12; m++) {
            if ((run == 3 || run == strlen(names[m])) &&
                strncasecmp(key.data + i, names[m], run) == 0)
                return true;
        }
        i += run ? run : 1;
    }
    return false;
}

size_t tv_class_list_add(tv_class_list *classes, tv_arena *arena, tv_slice key)
{
    tv_slice text = tv_class_of(arena, key);
    size_t at = 0;

    while (at < classes->count && !tv_slice_eq(classes->list[at].text, text))
        at++;
    if (at == classes->count) {
        if (classes->count >= TV_FACTS_CLASSES_MAX) {
            at = TV_FACTS_CLASSES_MAX;
            if (classes->count == TV_FACTS_CLASSES_MAX) {
                classes->count++;
                classes->list[at] = (tv_facts_class){.length_min = UINT32_MAX};
            }
        } else {
            classes->count++;
            classes->list[at] = (tv_facts_class){.text = text, .length_min = UINT32_MAX};
        }
    }

    tv_facts_class *class = &classes->list[at];
    uint32_t len = (uint32_t)key.len;

    class->count++;
    class->length_min = len < class->length_min ? len : class->length_min;
    class->length_max = len > class->length_max ? len : class->length_max;
    class->leading_zeros += tv_class_has_leading_zero(key);
    class->month_names += tv_class_has_month(key);
    return at;
}
