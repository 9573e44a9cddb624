/*
 * What all examples share: where the server is, and what to do when something fails.
 *
 *     examples/point_query [CONNECTION]
 *
 * The connection string is the argument, or $AZURE_STORAGE_CONNECTION_STRING, or that of a server
 * on this machine.  Each example makes its own tables and removes them.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tavola.h>

/* End the program with one line when something failed. */
static inline void check(tavola_err err, const char *what)
{
    if (err == TAVOLA_OK)
        return;
    fprintf(stderr, "%s: %s %s\n", what, tavola_err_name(err), tavola_error_text(err));
    exit(1);
}

#define CHECK(expression) check((expression), #expression)

static inline tavola_client *example_client(int argc, char **argv)
{
    const char *connection = argc > 1 ? argv[1] : getenv("AZURE_STORAGE_CONNECTION_STRING");
    tavola_client *client = NULL;

    CHECK(
        tavola_client_open(connection ? connection : "UseDevelopmentStorage=true", NULL, &client));
    return client;
}

/* A table that is new and empty. */
static inline tavola_table *example_table(tavola_client *client, const char *name)
{
    tavola_table *table = NULL;

    CHECK(tavola_table_open(client, name, &table));
    CHECK(tavola_table_delete_if_present(table, NULL));
    CHECK(tavola_table_create(table, NULL));
    return table;
}

/* Remove it. */
static inline void example_table_end(tavola_table *table)
{
    CHECK(tavola_table_delete(table, NULL));
    tavola_table_close(table);
}

/* An employee of the guide. */
static inline tavola_entity *example_employee(const char *department, const char *id,
                                              const char *first, const char *last, int32_t age,
                                              const char *email)
{
    tavola_entity *employee = tavola_entity_new(department, id);

    tavola_entity_set_string(employee, "FirstName", first);
    tavola_entity_set_string(employee, "LastName", last);
    tavola_entity_set_int32(employee, "Age", age);
    tavola_entity_set_string(employee, "Email", email);
    return employee;
}

/* Insert it, and be done with it. */
static inline void example_insert(tavola_table *table, tavola_entity *entity)
{
    CHECK(tavola_insert(table, entity, NULL));
    tavola_entity_free(entity);
}

/* Run a query and print how it was answered: by tavolad's own words, or by ours elsewhere. */
static inline void example_plan(tavola_table *table, tavola_filter *filter)
{
    char *text = tavola_filter_text(filter);
    const char *plan = tavola_filter_plan(filter);
    tavola_query *query = tavola_query_new(filter);
    tavola_call *call = tavola_call_new();
    tavola_page *page = NULL;

    check(tavola_query_page(table, query, NULL, call, &page), text);
    printf("%s\n  -> %s\n", text, tavola_call_plan(call) ? tavola_call_plan(call) : plan);
    tavola_page_free(page);
    tavola_call_free(call);
    tavola_query_free(query);
    tavola_free(text);
}

#endif
