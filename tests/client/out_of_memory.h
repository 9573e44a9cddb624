/*
 * Let every allocation of the library fail once, in what a client does with a running server:
 *
 *     run_state run;
 *
 *     WITH_FAULTS(run)
 *     {
 *         check_end(tavola_insert_or_replace(run.table, ...), TAVOLA_OK);
 *     }
 */
#ifndef TAVOLA_TESTS_CLIENT_OUT_OF_MEMORY_H
#define TAVOLA_TESTS_CLIENT_OUT_OF_MEMORY_H

#include "live.h"

#include "../unit/client/memory_faults.h"

/* ---- one run: a client of its own, in which any step may fail ---- */

typedef struct run {
    tavola_client *client;
    tavola_table *table;
} run_state;

static char table_name[63];

static inline bool open_run(run_state *run)
{
    *run = (run_state){0};
    return tavola_client_open(connection_string(), NULL, &run->client) == TAVOLA_OK &&
           tavola_table_open(run->client, table_name, &run->table) == TAVOLA_OK;
}

static inline void close_run(run_state *run)
{
    tavola_table_close(run->table);
    tavola_client_close(run->client);
}

/* Without a fault it is `want`; with one it may have run out of memory on its way. */
static inline void check_end(tavola_err err, tavola_err want)
{
    if (err == want)
        return;
    if (!memory_fault_was_hit() ||
        (err != TAVOLA_ERR_NO_MEMORY && err != TAVOLA_ERR_UNKNOWN_OUTCOME))
        CHECK_FAIL("got %s, want %s", tavola_err_name(err), tavola_err_name(want));
}

/* Each operation is run with every fault. */
#define WITH_FAULTS(run)                                                                           \
    MEMORY_FAULTS(fault)                                                                           \
    for (bool is_open = open_run(&(run)), once = true; once; close_run(&(run)), once = false)      \
        if (!is_open)                                                                              \
            CHECK(memory_fault_was_hit());                                                         \
        else

static inline int open_named(void **state)
{
    int code = open_live(state);

    snprintf(table_name, sizeof table_name, "%s", tavola_table_name(t.table));
    return code;
}

#define FAULT_TEST(name) cmocka_unit_test_setup_teardown(name, open_named, close_live)

#endif
