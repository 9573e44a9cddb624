/* For tests of queries: pages in one turn, or in turns as short as they can be. */
#ifndef TV_TESTS_UNIT_TABLE_SCANS_H
#define TV_TESTS_UNIT_TABLE_SCANS_H

#include "services/table/scan.h"

/* `run` is tv_table_scan_run or as that. */
static inline tv_err run_in_turns(tv_err (*run)(tv_table_scan *scan, tv_engine *engine,
                                                tv_turn *turn, bool *ret_is_done),
                                  tv_table_scan *scan, tv_engine *from, tv_turn first,
                                  int *ret_turns)
{
    bool is_done = false;
    tv_err err = TV_OK;
    int count = 0;

    while (err == TV_OK && !is_done) {
        tv_turn turn = first;

        err = run(scan, from, &turn, &is_done);
        count++;
    }
    if (ret_turns)
        *ret_turns = count;
    return err;
}

/* A page, in turns of a few rows. */
static inline tv_err run_scan(tv_table_scan *scan, tv_engine *from)
{
    return run_in_turns(tv_table_scan_run, scan, from, (tv_turn){.end_ns = 0}, NULL);
}

#endif
