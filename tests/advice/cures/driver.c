/*
 * Run the C code of a cure: CONNECTION TABLE, and for each step its function, the number of its
 * arguments, and these.  Prints what became of them: driver.py has the form.  Compiled with
 * CURE, the file, and OFFERS_name: which functions it has.
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
    printf("%s\"%s", before, name);
#if defined OFFERS_select
    const char *property;

    for (size_t i = 0; (property = tavola_entity_name_at(entity, i, NULL)); i++)
        printf("%s%s", i ? "," : ":", property);
#endif
    printf("\"");
}

static inline void print_one(tavola_entity *found)
{
    print_name(found, "[");
    printf("]");
    tavola_entity_free(found);
}

static inline void print_scan(tavola_scan *scan)
{
    const tavola_entity *entity;
    const char *before = "[";

    while (tavola_scan_next(scan, &entity) == TAVOLA_OK) {
        print_name(entity, before);
        before = ",";
    }
    printf("%s]", before[0] == '[' ? "[" : "");
    tavola_scan_close(scan);
}

static tavola_entity *entity_of(const char *json)
{
    tavola_entity *entity = NULL;

    if (tavola_entity_from_json(json, strlen(json), &entity))
        abort();
    return entity;
}

static inline bool is(const char *word, const char *wanted)
{
    return strcmp(word, wanted) == 0;
}

/* One step: its function and what it is called with. */
static void run_step(const char *name, int count, char **words)
{
    tavola_entity *e = count && words[0][0] == '{' ? entity_of(words[0]) : NULL;
    tavola_entity *e2 = count > 1 && words[1][0] == '{' ? entity_of(words[1]) : NULL;
    tavola_entity *found = NULL;
    tavola_scan *scan = NULL;
    tavola_err err = TAVOLA_ERR_UNSUPPORTED;

    (void)found, (void)scan;
#ifdef OFFERS_FILL
    uint64_t refused;

    if (is(name, "fill")) {
        err = fill(table, &refused);
        printf("\"%llu\"", (unsigned long long)refused);
        if (err)
            abort();
        return;
    }
#endif
#if defined OFFERS_library
    const char *value = "";

    tavola_entity_get_string(e, by_value.property, &value);
    if (is(name, "find"))
        err = find_indexed(table, tavola_entity_partition_key(e), value, &found);
    else if (is(name, "delete"))
        err = delete_indexed(table, tavola_entity_partition_key(e), tavola_entity_row_key(e));
    else
        err = put_indexed(table, e2 ? e2 : e);
#elif defined OFFERS_log
    tavola_ticks time = 0;

    if (count > 1 && !tavola_ticks_parse(words[1], &time))
        abort();
    err = is(name, "find") ? find_logged(table, tavola_entity_partition_key(e), time, &scan)
                           : insert_logged(table, e);
#elif defined OFFERS_batch
    tavola_entity *all[256];

    for (int i = 0; i < count; i++)
        all[i] = entity_of(words[i]);
    err = write_all(table, all, (size_t)count);
    for (int i = 0; i < count; i++)
        tavola_entity_free(all[i]);
#elif defined OFFERS_deletes
    uint64_t deleted;

    err = delete_all(table, words[0], &deleted);
#elif defined OFFERS_range
    err = find_range(table, words[0], words[1], &scan);
#elif defined OFFERS_select
    err = find_some(table, words[0], (const char *const[]){words[1], words[2], NULL}, &scan);
#elif defined OFFERS_top
    err = find_first(table, words[0], strtoull(words[1], NULL, 10), &scan);
#elif defined OFFERS_pages
    err = find_all(table, words[0], &scan);
#elif defined OFFERS_spread
    if (is(name, "insert"))
        err = insert_spread(table, e);
    else if (is(name, "get"))
        err = get_spread(table, e, &found);
    else
        err = find_spread(table, words[0], &scan);
#elif defined OFFERS_finer
    err = is(name, "insert") ? insert_finer(table, e) : find_finer(table, e, &scan);
#elif defined OFFERS_split
    if (is(name, "insert"))
        err = insert_split(table, e);
    else if (is(name, "get"))
        err = get_split(table, words[0], &found);
    else
        err = find_split(table, words[0], &scan);
#elif defined OFFERS_widened
    err = is(name, "insert") ? insert_widened(table, e)
                             : find_widened(table, words[0], words[1], words[2], &scan);
#elif defined OFFERS_widened_partition
    err = is(name, "insert") ? insert_widened(table, e)
                             : find_widened(table, words[0], words[1], &scan);
#elif defined OFFERS_counter
    int64_t sum;

    if (is(name, "total")) {
        err = total(table, words[0], words[1], &sum);
        printf("\"%lld\"", (long long)sum);
        return;
    }
    err = add_to(table, words[0], words[1], strtoll(words[2], NULL, 10));
#else
    if (is(name, "insert"))
        err = insert_indexed(table, e);
    else if (is(name, "change"))
        err = change_indexed(table, e, e2);
    else if (is(name, "delete"))
        err = delete_indexed(table, e);
#if defined OFFERS_point
    else
        err = find_indexed(table, e, &found);
#elif defined OFFERS_upto
    else
        err = find_indexed(table, e, e2, &scan);
#else
    else
        err = find_indexed(table, e, &scan);
#endif
#endif
    if (err == TAVOLA_OK && found)
        print_one(found);
    else if (err == TAVOLA_OK && scan)
        print_scan(scan);
    else
        printf("%s", told(err));
    tavola_entity_free(e);
    tavola_entity_free(e2);
}

int main(int argc, char **argv)
{
    tavola_client *client = NULL;

    if (tavola_client_open(argv[1], NULL, &client, NULL) ||
        tavola_table_open(client, argv[2], &table) || tavola_table_create_if_absent(table, NULL))
        return 1;
    printf("[");
    for (int i = 3, count; i + 1 < argc; i += 2 + count) {
        printf("%s", i > 3 ? "," : "");
        count = atoi(argv[i + 1]);
        run_step(argv[i], count, argv + i + 2);
    }
    puts("]");
    tavola_table_close(table);
    tavola_client_close(client);
    return 0;
}
