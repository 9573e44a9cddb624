/*
 * The loads of the client library, for bench/run client: through tavola.h alone.
 *
 *   client_bench CONNECTION fill TABLE COUNT              bulk inserts, 1,000 partitions
 *   client_bench CONNECTION reads TABLE COUNT IN_FLIGHT SECONDS
 *   client_bench CONNECTION gets TABLE COUNT SECONDS      one after the other
 *   client_bench CONNECTION scan TABLE
 *
 * Prints one line of JSON: how many, how long, the CPU time of this process, its largest size.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tavola.h"
#include "usage.h"

enum { PARTITIONS = 1000 };

static void must(tavola_err err, const char *what)
{
    if (err) {
        fprintf(stderr, "client_bench: %s: %s\n", what, tavola_err_name(err));
        exit(1);
    }
}

typedef struct bench {
    tavola_client *client;
    tavola_table *table;
    usage_span span;
} bench;

/* ---- fill: 245 bytes by the service's formula ---------------------------------------------- */

static void key_of(uint64_t number, char partition[8], char row[24])
{
    snprintf(partition, 8, "p%03u", (unsigned)(number % PARTITIONS));
    snprintf(row, 24, "r%09" PRIu64, number / PARTITIONS);
}

static tavola_entity *entity_of(uint64_t number)
{
    char partition[8], row[24];
    tavola_entity *entity;

    key_of(number, partition, row);
    entity = tavola_entity_new(partition, row);
    tavola_entity_set_string(entity, "Name", "Ada Lovelace");
    tavola_entity_set_string(entity, "Email", "ada@example.org");
    tavola_entity_set_int32(entity, "Visits", (int32_t)number);
    tavola_entity_set_double(entity, "Rating", 4.5);
    tavola_entity_set_boolean(entity, "Active", true);
    return entity;
}

static void write_failed(void *user, const tavola_entity *entity, tavola_err err, const char *code)
{
    fprintf(stderr, "client_bench: insert: %s %s\n", tavola_err_name(err), code);
    exit(1);
}

static void fill(bench *b, uint64_t count)
{
    uint64_t written = 0, failed = 0;
    tavola_bulk *bulk = NULL;

    usage_begin(&b->span);
    must(tavola_bulk_open(b->table, 0, write_failed, NULL, NULL, &bulk), "bulk");
    /* As data comes in real life: partition by partition. */
    for (uint64_t partition = 0; partition < PARTITIONS; partition++) {
        for (uint64_t number = partition; number < count; number += PARTITIONS) {
            tavola_entity *entity = entity_of(number);

            must(tavola_bulk_add(bulk, TAVOLA_INSERT, entity, NULL), "add");
            tavola_entity_free(entity);
        }
    }
    must(tavola_bulk_close(bulk, &written, &failed), "close");
    usage_report(&b->span, written);
}

/* ---- reads: point reads, many in flight from one thread ----------------------------------------
 */

typedef struct reader {
    bench *bench;
    uint64_t rows, next, done;
    uint32_t in_flight;
    double until_s;
} reader;

static void start_read(reader *r);

static void on_read(void *user, tavola_op *op)
{
    reader *r = user;
    tavola_entity *entity = tavola_op_take_entity(op);

    must(tavola_op_err(op), "get");
    r->done++;
    r->in_flight--;
    tavola_entity_free(entity);
    tavola_op_free(op);
    if ((r->done & 63) || usage_now_s() < r->until_s)
        start_read(r);
}

static void start_read(reader *r)
{
    char partition[8], row[24];
    tavola_op *op;

    r->next = (r->next + 7919) % r->rows;
    key_of(r->next, partition, row);
    must(tavola_start_get(r->bench->table, partition, row, on_read, r, NULL, &op), "start");
    r->in_flight++;
}

static void reads(bench *b, uint64_t rows, uint32_t in_flight, double seconds)
{
    reader r = {.bench = b, .rows = rows};

    usage_begin(&b->span);
    r.until_s = b->span.began_s + seconds;
    for (uint32_t i = 0; i < in_flight; i++)
        start_read(&r);
    while (r.in_flight)
        tavola_poll(b->client, 1000);
    usage_report(&b->span, r.done);
}

/* ---- gets: point reads, one after the other ------------------------------------------------- */

static void gets_in_turn(bench *b, uint64_t rows, double seconds)
{
    uint64_t next = 0, done = 0;

    usage_begin(&b->span);
    while ((done & 63) || usage_now_s() < b->span.began_s + seconds) {
        char partition[8], row[24];
        tavola_entity *entity = NULL;

        next = (next + 7919) % rows;
        key_of(next, partition, row);
        must(tavola_get(b->table, partition, row, NULL, &entity), "get");
        tavola_entity_free(entity);
        done++;
    }
    usage_report(&b->span, done);
}

/* ---- scan: all of the table, reading one property
 * ------------------------------------------------ */

static void scan(bench *b)
{
    const tavola_entity *entity;
    tavola_scan *cursor = NULL;
    uint64_t count = 0;
    int64_t sum = 0;
    tavola_err err;

    usage_begin(&b->span);
    must(tavola_scan_open(b->table, NULL, NULL, &cursor), "scan");
    while ((err = tavola_scan_next(cursor, &entity)) == TAVOLA_OK) {
        int64_t visits = 0;

        if (!tavola_entity_get_int64(entity, "Visits", &visits))
            must(TAVOLA_ERR_PROTOCOL, "Visits");
        sum += visits;
        count++;
    }
    if (err != TAVOLA_END)
        must(err, "next");
    tavola_scan_close(cursor);
    if (sum < 0)
        exit(1);
    usage_report(&b->span, count);
}

int main(int argc, char **argv)
{
    tavola_client_options options = {.struct_size = sizeof options, .connections_max = 64};
    const char *what = argc > 3 ? argv[2] : "";
    bench b = {0};

    if (argc < 4) {
        fprintf(stderr, "usage: client_bench CONNECTION fill|reads|gets|scan TABLE ...\n");
        return 2;
    }
    must(tavola_client_open(argv[1], &options, &b.client), "open");
    must(tavola_table_open(b.client, argv[3], &b.table), "table");
    if (strcmp(what, "fill") == 0 && argc == 5) {
        must(tavola_table_create_if_absent(b.table, NULL), "create");
        fill(&b, strtoull(argv[4], NULL, 10));
    } else if (strcmp(what, "reads") == 0 && argc == 7) {
        reads(&b, strtoull(argv[4], NULL, 10), (uint32_t)strtoul(argv[5], NULL, 10),
              strtod(argv[6], NULL));
    } else if (strcmp(what, "gets") == 0 && argc == 6) {
        gets_in_turn(&b, strtoull(argv[4], NULL, 10), strtod(argv[5], NULL));
    } else if (strcmp(what, "scan") == 0) {
        scan(&b);
    } else {
        fprintf(stderr, "client_bench: '%s' is not a load\n", what);
        return 2;
    }
    tavola_table_close(b.table);
    tavola_client_close(b.client);
    return 0;
}
