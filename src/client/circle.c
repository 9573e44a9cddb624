/*
 * Brent's way of finding a cycle: one continuation is kept and compared with all that follow, and
 * replaced after 1, 2, 4, 8... of them.  Once it lies in the circle, and is kept for as long as the
 * circle is, it comes back.
 */
#include "client/circle.h"

bool tvc_circle_closes(tvc_circle *circle, tv_slice continuation)
{
    if (circle->kept && tv_slice_eq(tv_slice_of(circle->kept), continuation))
        return true;
    if (circle->left == 0) {
        tvc_release(circle->kept);
        circle->kept = tvc_dup(continuation);
        circle->span = circle->span ? circle->span * 2 : 1;
        circle->left = circle->span;
    }
    circle->left--;
    return false;
}

void tvc_circle_done(tvc_circle *circle)
{
    tvc_release(circle->kept);
    *circle = (tvc_circle){0};
}
