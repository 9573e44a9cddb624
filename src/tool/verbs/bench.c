/*
 * A small load, for the question whether a server is well: how many operations a second, and how
 * long the slow ones take.  It works in a table of its own, which it deletes at the end.
 */
#include "../output/output.h"
#include "../text.h"
#include "../verbs.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define PARTITIONS 16
#define PARALLEL_MAX 256

typedef tavola_err (*bench_fn)(tavola_table *table, size_t i, tavola_call *call);

/* One kind of operation, done `count` times by several threads that take the numbers in turn. */
typedef struct load {
    tavola_table *table;
    bench_fn operation;
    size_t count;
    atomic_size_t next;
    double *took_ms;                  /* of each */
    tavola_call *calls[PARALLEL_MAX]; /* of each thread */
    atomic_size_t threads;
    _Atomic tavola_err err; /* the first error; the others stop then */
} load;

static void name_of(size_t i, char partition[16], char row[24])
{
    snprintf(partition, 16, "p%02zu", i % PARTITIONS);
    tavola_key_padded(i, 12, row, 24);
}

static tavola_err insert(tavola_table *table, size_t i, tavola_call *call)
{
    char partition[16], row[24];
    tavola_entity *entity;
    tavola_err err;

    name_of(i, partition, row);
    entity = tavola_entity_new(partition, row);
    tavola_entity_set_string(entity, "Name", "Jun Cao, Sales, junc@contoso.com");
    tavola_entity_set_int32(entity, "Age", (int32_t)(i % 100));
    tavola_entity_set_double(entity, "Rate", (double)i / 7);
    err = tavola_insert(table, entity, call);
    tavola_entity_free(entity);
    return err;
}

static tavola_err get(tavola_table *table, size_t i, tavola_call *call)
{
    char partition[16], row[24];
    tavola_entity *entity = NULL;
    tavola_err err;

    name_of(i, partition, row);
    err = tavola_get(table, partition, row, call, &entity);
    tavola_entity_free(entity);
    return err;
}

/* Ten of a partition, from a row on. */
static tavola_err query(tavola_table *table, size_t i, tavola_call *call)
{
    char partition[16], row[24];
    tavola_page *page = NULL;
    tavola_query *ten;
    tavola_err err;

    name_of(i, partition, row);
    ten = tavola_query_new(TAVOLA_BIND("PartitionKey eq ? and RowKey ge ?",
                                       tavola_string(partition), tavola_string(row)));
    tavola_query_set_page_size(ten, 10);
    err = tavola_query_page(table, ten, NULL, call, &page);
    tavola_page_free(page);
    tavola_query_free(ten);
    return err;
}

static tavola_err delete (tavola_table *table, size_t i, tavola_call *call)
{
    char partition[16], row[24];

    name_of(i, partition, row);
    return tavola_delete(table, partition, row, TAVOLA_ANY, call);
}

typedef struct worker {
    pthread_t thread;
    load *load;
    tavola_call *call;
} worker;

static void *work(void *user)
{
    worker *self = user;
    load *load_of = self->load;
    size_t i;

    while (!load_of->err && !tool_stop_signal() && (i = load_of->next++) < load_of->count) {
        double began_ms = tool_now_ms();
        tavola_err err = load_of->operation(load_of->table, i, self->call);

        load_of->took_ms[i] = tool_now_ms() - began_ms;
        if (err)
            load_of->err = err;
    }
    return NULL;
}

/* Wait for the workers; what they wait for ends with Ctrl-C. */
static void join(worker *workers, size_t count)
{
    enum { LOOK_MS = 50 };

    for (size_t i = 0; i < count; i++) {
        struct timespec until;

        do {
            clock_gettime(CLOCK_MONOTONIC, &until);
            until.tv_nsec += LOOK_MS * 1000 * 1000;
            until.tv_sec += until.tv_nsec / 1000000000;
            until.tv_nsec %= 1000000000;
            for (size_t k = i; tool_stop_signal() && k < count; k++)
                tavola_call_cancel(workers[k].call);
        } while (pthread_clockjoin_np(workers[i].thread, NULL, CLOCK_MONOTONIC, &until) ==
                 ETIMEDOUT);
        tavola_call_free(workers[i].call);
    }
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static tavola_value milliseconds(const load *done, double share)
{
    size_t at = (size_t)(share * (double)(done->count - 1));

    return tavola_double((double)(int64_t)(done->took_ms[at] * 1000) / 1000);
}

static void print(tool_output *output, const char *name, load *done, double seconds)
{
    qsort(done->took_ms, done->count, sizeof *done->took_ms, compare);
    tool_field fields[] = {
        {"Operation", tavola_string(name)},
        {"Count", tavola_int64((int64_t)done->count)},
        {"PerSecond", tavola_int64((int64_t)((double)done->count / seconds))},
        {"P50ms", milliseconds(done, 0.50)},
        {"P95ms", milliseconds(done, 0.95)},
        {"P99ms", milliseconds(done, 0.99)},
        {"MaxMs", milliseconds(done, 1)},
    };
    tool_output_record(output, fields, sizeof fields / sizeof fields[0]);
}

static tavola_err run_load(tool_output *output, const char *name, load *all, size_t parallel)
{
    worker workers[PARALLEL_MAX];
    double began_ms = tool_now_ms();
    size_t started = 0;
    int error = 0;

    while (started < parallel && !error) {
        worker *next = &workers[started];

        *next = (worker){.load = all, .call = tavola_call_new()};
        error = pthread_create(&next->thread, NULL, work, next);
        if (error)
            tavola_call_free(next->call);
        started += !error;
    }
    join(workers, started);
    if (started == 0)
        return TAVOLA_ERR_NO_MEMORY;
    if (!all->err && !tool_stop_signal())
        print(output, name, all, (tool_now_ms() - began_ms) / 1e3);
    return all->err;
}

static const struct {
    const char *name;
    bench_fn operation;
} operations[] = {{"insert", insert}, {"get", get}, {"query", query}, {"delete", delete}};

/* Also after Ctrl-C, if that takes no second. */
static void delete_table(const tool_run *run, tavola_table *table)
{
    tavola_call *last = tool_stop_signal() ? tavola_call_new() : NULL;

    tavola_call_set_timeout_ms(last, 1000);
    if (tavola_table_delete_if_present(table, last ? last : run->call) != TAVOLA_OK)
        tool_note("table %s could not be deleted", tavola_table_name(table));
    tavola_call_free(last);
}

static tool_exit bench(tool_run *run)
{
    int64_t number = 1000, parallel = 8;
    char name[64], guid[37];
    tavola_table *table = NULL;
    tool_output *output = NULL;
    tavola_err err = TAVOLA_OK;
    tool_exit exit = tool_number_of(run, TOOL_FLAG_NUMBER, 1, 10000000, &number);

    if (!exit)
        exit = tool_number_of(run, TOOL_FLAG_PARALLEL, 1, PARALLEL_MAX, &parallel);
    tavola_guid_format(tavola_guid_random(), guid);
    snprintf(name, sizeof name, "tavolabench%.8s", guid);
    if (!exit)
        exit = tool_table(run, name, &table);
    if (!exit)
        exit = tool_output_open(run, true, &output);
    if (exit)
        goto out;
    err = tavola_table_create(table, run->call);
    if (err) {
        exit = tool_fail(run, err, NULL);
        goto out;
    }
    for (size_t i = 0; !err && !tool_stop_signal() && i < sizeof operations / sizeof operations[0];
         i++) {
        load all = {.table = table,
                    .operation = operations[i].operation,
                    .count = (size_t)number,
                    .took_ms = tool_alloc((size_t)number * sizeof(double))};

        err = run_load(output, operations[i].name, &all, (size_t)parallel);
        free(all.took_ms);
    }
    delete_table(run, table);
    if (tool_stop_signal()) {
        exit = tool_stopped();
    } else if (err) {
        tool_trouble("%s: the load was stopped by this error", tavola_err_name(err));
        exit = tool_exit_of(err);
    }

out:
    tool_output_close(output);
    tavola_table_close(table);
    return exit;
}

const tool_verb tool_bench_verbs[] = {
    {"bench", "", "A small load in a table of its own, with the percentiles of its latency", 0, 0,
     TOOL_BIT(NUMBER) | TOOL_BIT(PARALLEL), .run = bench,
     .examples = "  tavola bench --number 500 --parallel 16\n"},
    {0},
};
