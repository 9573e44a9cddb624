/*
 * A line on stderr while something long goes on, if that is a terminal: how many, how fast, how
 * far, how long still.
 */
#ifndef XFER_PROGRESS_H
#define XFER_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct xfer_progress {
    bool is_shown, is_drawn;
    double began_s, drawn_s;
    uint64_t begun_with; /* bytes that were there at the start: no work of this run */
} xfer_progress;

double xfer_now_s(void);
void xfer_progress_begin(xfer_progress *progress, uint64_t bytes_done);
/** Draw, ten times a second at most.  `bytes_all` 0: not known, and then there is no time left. */
void xfer_progress_show(xfer_progress *progress, uint64_t entities, uint64_t bytes_done,
                        uint64_t bytes_all);
/** Take the line away, before anything else is printed; it comes back by itself. */
void xfer_progress_clear(xfer_progress *progress);
/** "1,000,000 entities in 9.8 s (102,040/s)" */
void xfer_progress_sum(const xfer_progress *progress, uint64_t entities, char ret_text[100]);

#endif
