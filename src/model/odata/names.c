/* Sets of names. */
#include "model/odata/names.h"

/* Where a name is among the sorted ones, or would have to be. */
static int place_of(const tv_names *names, tv_slice name, bool *ret_is_there)
{
    int from = 0, to = names->count;

    while (from < to) {
        int middle = (from + to) / 2;
        int order = tv_slice_cmp(names->list[names->sorted[middle]], name);

        if (order == 0) {
            *ret_is_there = true;
            return middle;
        }
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    *ret_is_there = false;
    return from;
}

/* Most sets are small; then comparing lengths rules nearly all out. */
enum { FEW = 4 };

int tv_names_find(const tv_names *names, tv_slice name)
{
    bool is_there;

    if (names->count <= FEW) {
        for (int i = 0; i < names->count; i++) {
            if (tv_slice_eq(names->list[i], name))
                return i;
        }
        return -1;
    }

    int place = place_of(names, name, &is_there);

    return is_there ? names->sorted[place] : -1;
}

int tv_names_add(tv_names *names, tv_slice name)
{
    bool is_there;
    int place = place_of(names, name, &is_there), index = names->count;

    if (is_there)
        return names->sorted[place];
    if (index == TV_NAMES_MAX)
        return -1;

    memmove(names->sorted + place + 1, names->sorted + place, (size_t)(index - place));
    names->sorted[place] = (uint8_t)index;
    names->list[index] = name;
    names->count++;
    return index;
}
