/*
 * Run the C code of a cure, which is $CURE: CONNECTION TABLE and then steps, each a word and its
 * entities as JSON.  Prints a line for each: driver.py has the form.  What the code offers is
 * defined by the names below.
 */
#include CURE

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tavola_table *table;

static const char *told(tavola_err err)
{
    return err == TAVOLA_OK              ? "\"ok\""
           : err == TAVOLA_ERR_EXISTS    ? "\"409\""
           : err == TAVOLA_ERR_NOT_FOUND ? "\"404\""
           : err == TAVOLA_ERR_INVALID   ? "\"invalid\""
                                         : "\"another error\"";
}

static void print_name(const tavola_entity *entity, const char *before)
{
    const char *name = tavola_entity_row_key(entity);

    tavola_entity_get_string(entity, "TavolaPrimary", &name);
    printf("%s\"%s\"", before, name);
}

static inline void print_one(tavola_err err, tavola_entity *found)
{
    if (err) {
        printf("%s", told(err));
        return;
    }
    print_name(found, "[");
    printf("]");
    tavola_entity_free(found);
}

static inline void print_scan(tavola_err err, tavola_scan *scan)
{
    const tavola_entity *entity;
    const char *before = "[";

    if (err) {
        printf("%s", told(err));
        return;
    }
    while ((err = tavola_scan_next(scan, &entity)) == TAVOLA_OK) {
        print_name(entity, before);
        before = ",";
    }
    printf("%s]", before[0] == '[' ? "[" : "");
    tavola_scan_close(scan);
    if (err != TAVOLA_END)
        abort();
}

static tavola_entity *entity_of(const char *json)
{
    tavola_entity *entity = NULL;

    if (tavola_entity_from_json(json, strlen(json), &entity))
        abort();
    return entity;
}

static void find(char **argv)
{
    tavola_entity *e = entity_of(argv[1]);
    tavola_err err;

#if defined LIBRARY
    tavola_entity *found = NULL;
    const char *value = "";

    tavola_entity_get_string(e, by_value.property, &value);
    err = find_indexed(table, tavola_entity_partition_key(e), value, &found);
    print_one(err, found);
#elif defined LOG
    tavola_scan *scan = NULL;
    tavola_ticks time = 0;

    tavola_entity_get_datetime(e, "Time", &time);
    err = find_logged(table, tavola_entity_partition_key(e), time, &scan);
    print_scan(err, scan);
#elif defined POINT
    tavola_entity *found = NULL;

    err = find_indexed(table, e, &found);
    print_one(err, found);
#elif defined UPTO
    tavola_entity *upto = entity_of(argv[2]);
    tavola_scan *scan = NULL;

    err = find_indexed(table, e, upto, &scan);
    print_scan(err, scan);
    tavola_entity_free(upto);
#else
    tavola_scan *scan = NULL;

    err = find_indexed(table, e, &scan);
    print_scan(err, scan);
#endif
    tavola_entity_free(e);
}

static tavola_err write_step(char **argv)
{
    tavola_entity *e = entity_of(argv[1]);
    tavola_entity *e2 = strcmp(argv[0], "change") == 0 ? entity_of(argv[2]) : NULL;
    tavola_err err;

#if defined LIBRARY
    if (strcmp(argv[0], "delete") == 0)
        err = delete_indexed(table, tavola_entity_partition_key(e), tavola_entity_row_key(e));
    else
        err = put_indexed(table, e2 ? e2 : e);
#elif defined LOG
    err = insert_logged(table, e);
#else
    if (e2)
        err = change_indexed(table, e, e2);
    else if (strcmp(argv[0], "delete") == 0)
        err = delete_indexed(table, e);
    else
        err = insert_indexed(table, e);
#endif
    tavola_entity_free(e);
    tavola_entity_free(e2);
    return err;
}

int main(int argc, char **argv)
{
    tavola_client *client = NULL;

    if (tavola_client_open(argv[1], NULL, &client, NULL) ||
        tavola_table_open(client, argv[2], &table) || tavola_table_create_if_absent(table, NULL))
        return 1;
    printf("[");
    for (int i = 3; i < argc;) {
        printf("%s", i > 3 ? "," : "");
        if (strcmp(argv[i], "find") == 0)
            find(argv + i);
        else
            printf("%s", told(write_step(argv + i)));
        for (i++; i < argc && argv[i][0] == '{'; i++)
            ;
    }
    puts("]");
    tavola_table_close(table);
    tavola_client_close(client);
    return 0;
}
