/*
 * Run the C code of a cure: CONNECTION TABLE, and for each step its function, the number of its
 * arguments, and these.  Prints what became of them: driver.py has the form.  Compiled with
 * CURE, the file, and OFFERS_name: which functions it has.
 */
#include CURE

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tavola_client *client;
static tavola_table *table;
#if defined OFFERS_log_blob || defined OFFERS_large
static tavola_container *container;
#endif
#ifdef OFFERS_library
static tavola_indexed *indexed;
#endif

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
#if defined OFFERS_select || defined OFFERS_wide_select
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

#ifdef OFFERS_wide_select
    char partition[16], row[16], name[16];
    int number;

    /* It has too many properties for any other entity: whole numbers, in these tests. */
    if (sscanf(json, "{\"PartitionKey\": \"%15[^\"]\", \"RowKey\": \"%15[^\"]\"", partition, row) !=
        2)
        abort();
    entity = tavola_entity_new_wide(partition, row);
    for (const char *at = json; (at = strstr(at, "\"P")); at++) {
        if (sscanf(at, "\"%15[^\"]\": %d", name, &number) == 2)
            tavola_entity_set_int32(entity, name, number);
    }
    return entity;
#endif
    if (tavola_entity_from_json(json, strlen(json), &entity))
        abort();
    return entity;
}

static inline bool is(const char *word, const char *wanted)
{
    return strcmp(word, wanted) == 0;
}

/* One step: its function, what it is called with, and what it gives. */
typedef struct step {
    const char *name;
    int count;
    char **words;
    tavola_entity *e, *e2; /* the first two, where they are entities */
    tavola_entity *found;
    tavola_scan *scan;
    char number[32];
    bool is_list; /* of what was taken */
    bool is_told; /* it was printed already */
    int taken;
} step;

static inline tavola_err take_found(void *user, const tavola_entity *e)
{
    step *s = user;

    print_name(e, s->taken++ ? "," : "[");
    return TAVOLA_OK;
}

#if defined OFFERS_library
static tavola_err call(step *s)
{
    const char *partition = tavola_entity_partition_key(s->e), *value = "";

    tavola_entity_get_string(s->e, by_value.property, &value);
    if (is(s->name, "find"))
        return find_indexed(indexed, partition, value, &s->found);
    if (is(s->name, "delete"))
        return delete_indexed(indexed, partition, tavola_entity_row_key(s->e));
    return put_indexed(indexed, s->e2 ? s->e2 : s->e);
}
#elif defined OFFERS_log
static tavola_err call(step *s)
{
    tavola_ticks time = 0;

    if (is(s->name, "insert"))
        return insert_logged(table, s->e);
    if (!tavola_ticks_parse(s->words[1], &time))
        abort();
    return find_logged(table, tavola_entity_partition_key(s->e), time, &s->scan);
}
#elif defined OFFERS_batch
static tavola_err call(step *s)
{
    tavola_entity *all[256];
    tavola_err err;

    for (int i = 0; i < s->count; i++)
        all[i] = entity_of(s->words[i]);
    err = write_all(table, all, (size_t)s->count);
    for (int i = 0; i < s->count; i++)
        tavola_entity_free(all[i]);
    return err;
}
#elif defined OFFERS_spread
static tavola_err call(step *s)
{
    return is(s->name, "insert") ? insert_spread(table, s->e)
           : is(s->name, "get")  ? get_spread(table, s->e, &s->found)
                                 : find_spread(table, s->words[0], &s->scan);
}
#elif defined OFFERS_finer
static tavola_err call(step *s)
{
    return is(s->name, "insert") ? insert_finer(table, s->e) : find_finer(table, s->e, &s->scan);
}
#elif defined OFFERS_split
static tavola_err call(step *s)
{
    return is(s->name, "insert") ? insert_split(table, s->e)
           : is(s->name, "get")  ? get_split(table, s->words[0], &s->found)
                                 : find_split(table, s->words[0], &s->scan);
}
#elif defined OFFERS_sorted || defined OFFERS_lowered
static tavola_err call(step *s)
{
#ifdef OFFERS_lowered
    if (is(s->name, "get"))
        return get_sorted(table, s->words[0], s->words[1], &s->found);
#endif
    return is(s->name, "insert")
               ? insert_sorted(table, s->e)
               : find_sorted(table, s->words[0], s->words[1], s->words[2], &s->scan);
}
#elif defined OFFERS_sorted_partition
static tavola_err call(step *s)
{
    return is(s->name, "insert") ? insert_sorted(table, s->e)
                                 : find_sorted(table, s->words[0], s->words[1], &s->scan);
}
#elif defined OFFERS_led
static tavola_err call(step *s)
{
    return is(s->name, "insert") ? insert_led(table, s->e, s->words[1])
                                 : find_led(table, s->words[0], s->words[1], s->words[2], &s->scan);
}
#elif defined OFFERS_led_partition
static tavola_err call(step *s)
{
    return is(s->name, "insert") ? insert_led(table, s->e, s->words[1])
                                 : find_led(table, s->words[0], s->words[1], &s->scan);
}
#elif defined OFFERS_period
static tavola_err call(step *s)
{
    tavola_ticks time = 0;

    if (!tavola_ticks_parse(s->words[is(s->name, "insert")], &time))
        abort();
    return is(s->name, "insert") ? insert_dated(client, s->e, time)
           : is(s->name, "find") ? find_dated(client, time, s->words[1], &s->scan)
                                 : drop_dated(client, time);
}
#elif defined OFFERS_points
static tavola_err call(step *s)
{
    const char *partitions[64], *rows[64];
    tavola_entity *found[64];
    size_t count = (size_t)s->count / 2;
    tavola_err err;

    for (size_t i = 0; i < count; i++) {
        partitions[i] = s->words[2 * i];
        rows[i] = s->words[2 * i + 1];
    }
    err = find_points(table, partitions, rows, count, found);
    for (size_t i = 0; err == TAVOLA_OK && i < count; i++) {
        if (found[i])
            take_found(s, found[i]);
        tavola_entity_free(found[i]);
    }
    s->is_list = true;
    return err;
}
#elif defined OFFERS_partitions
static tavola_err call(step *s)
{
    s->is_list = true;
    return find_partitions(table, (const char *const *)s->words, (size_t)s->count, take_found, s);
}
#elif defined OFFERS_several
static tavola_err call(step *s)
{
    s->is_list = true;
    return find_several(table, s->words[0], (const char *const *)s->words + 1, (size_t)s->count - 1,
                        take_found, s);
}
#elif defined OFFERS_kept
static tavola_err call(step *s)
{
    static kept keeper;
    const tavola_entity *found;
    tavola_err err;

    if (!is(s->name, "get"))
        return change_kept(&keeper, table, s->e);
    err = get_kept(&keeper, table, s->words[0], s->words[1], (uint32_t)atoi(s->words[2]), &found);
    if (err == TAVOLA_OK)
        s->found = tavola_entity_copy(found);
    return err;
}
#elif defined OFFERS_kept_table
static tavola_err call(step *s)
{
    static kept keeper;
    tavola_err err;

    if (!is(s->name, "find"))
        return change_kept(&keeper, table, s->e);
    err = find_kept(&keeper, table, (uint32_t)atoi(s->words[0]));
    for (size_t i = 0; err == TAVOLA_OK && i < keeper.count; i++)
        take_found(s, keeper.list[i]);
    s->is_list = true;
    return err;
}
#elif defined OFFERS_backoff
static tavola_err call(step *s)
{
    return get_again(table, s->words[0], s->words[1], &s->found);
}
#elif defined OFFERS_wide_select
static tavola_err call(step *s)
{
    return is(s->name, "put") ? put_wide(table, s->e)
                              : get_wide(table, s->words[0], s->words[1], &s->found);
}
#elif defined OFFERS_log_blob
static tavola_err print_lines(void *user, const char *lines, size_t size)
{
    (void)user;
    for (size_t i = 0; i < size; i++)
        lines[i] == '\n' ? printf("\\n") : putchar(lines[i]);
    return TAVOLA_OK;
}

static tavola_err call(step *s)
{
    tavola_ticks time = 0;
    tavola_err err;

    if (is(s->name, "append")) {
        if (!tavola_ticks_parse(s->words[0], &time))
            abort();
        return append_lines(container, time, s->words[1]);
    }
    printf("\"");
    err = find_lines(container, s->words[0], print_lines, NULL);
    printf("\"");
    s->is_told = true;
    return err;
}
#elif defined OFFERS_large
static tavola_err call(step *s)
{
    tavola_blobs *blobs = NULL;
    void *data = NULL;
    size_t size;
    tavola_err err;

    if (is(s->name, "put"))
        return put_large(table, container, s->e, s->words[1], strlen(s->words[1]));
    if (is(s->name, "delete"))
        return delete_large(table, s->words[0], s->words[1]);
    if (is(s->name, "blobs")) {
        err = tavola_blob_list(container, NULL, NULL, 0, NULL, NULL, &blobs);
        if (err == TAVOLA_OK)
            printf("\"%zu\"", tavola_blobs_count(blobs));
        tavola_blobs_free(blobs);
    } else {
        err = get_large(table, s->words[0], s->words[1], &data, &size);
        if (err == TAVOLA_OK)
            printf("\"%.*s\"", (int)size, (char *)data);
        tavola_free(data);
    }
    s->is_told = true;
    return err;
}
#elif defined OFFERS_rewrite
static tavola_err call(step *s)
{
    uint64_t left = 0;
    tavola_err err = rewrite(table, &left);

    snprintf(s->number, sizeof s->number, "%llu", (unsigned long long)left);
    return err;
}
#elif defined OFFERS_counter
static tavola_err call(step *s)
{
    int64_t sum = 0;
    tavola_err err;

    if (is(s->name, "add"))
        return add_to(table, s->words[0], s->words[1], strtoll(s->words[2], NULL, 10));
    err = total(table, s->words[0], s->words[1], &sum);
    snprintf(s->number, sizeof s->number, "%lld", (long long)sum);
    return err;
}
#elif defined OFFERS_scan || defined OFFERS_point || defined OFFERS_upto
static tavola_err call(step *s)
{
    if (is(s->name, "insert"))
        return insert_indexed(table, s->e);
    if (is(s->name, "change"))
        return change_indexed(table, s->e, s->e2);
    if (is(s->name, "delete"))
        return delete_indexed(table, s->e);
#if defined OFFERS_point
    return find_indexed(table, s->e, &s->found);
#elif defined OFFERS_upto
    return find_indexed(table, s->e, s->e2, &s->scan);
#else
    return find_indexed(table, s->e, &s->scan);
#endif
}
#else /* one function */
static tavola_err call(step *s)
{
#if defined OFFERS_deletes
    uint64_t deleted;

    return delete_all(table, s->words[0], &deleted);
#elif defined OFFERS_range
    return find_range(table, s->words[0], s->words[1], &s->scan);
#elif defined OFFERS_select
    return find_some(table, s->words[0], (const char *const[]){s->words[1], s->words[2], NULL},
                     &s->scan);
#elif defined OFFERS_top
    return find_first(table, s->words[0], strtoull(s->words[1], NULL, 10), &s->scan);
#else
    return find_all(table, s->words[0], &s->scan);
#endif
}
#endif

static tavola_err call_or_fill(step *s)
{
#ifdef OFFERS_FILL
    uint64_t refused;
    tavola_err err;

    if (is(s->name, "fill")) {
#ifdef OFFERS_library
        err = fill(indexed, &refused);
#else
        err = fill(table, &refused);
#endif
        snprintf(s->number, sizeof s->number, "%llu", (unsigned long long)refused);
        return err;
    }
#endif
    if (is(s->name, "behind"))
        return tavola_delete(table, s->words[0], s->words[1], TAVOLA_ANY, NULL);
    return call(s);
}

static void run_step(const char *name, int count, char **words)
{
    step s = {.name = name, .count = count, .words = words};
    tavola_err err;

    if (count && words[0][0] == '{')
        s.e = entity_of(words[0]);
    if (count > 1 && words[1][0] == '{')
        s.e2 = entity_of(words[1]);
    err = call_or_fill(&s);
    if (err)
        printf("%s", told(err));
    else if (s.is_told)
        ;
    else if (s.found)
        print_one(s.found);
    else if (s.scan)
        print_scan(s.scan);
    else if (s.is_list)
        printf("%s]", s.taken ? "" : "[");
    else if (s.number[0])
        printf("\"%s\"", s.number);
    else
        printf("%s", told(TAVOLA_OK));
    tavola_entity_free(s.e);
    tavola_entity_free(s.e2);
}

int main(int argc, char **argv)
{
    if (tavola_client_open(argv[1], NULL, &client) || tavola_table_open(client, argv[2], &table) ||
        tavola_table_create_if_absent(table, NULL))
        return 1;
#ifdef OFFERS_library
    if (open_indexed(table, &indexed))
        return 1;
#endif
#if defined OFFERS_log_blob || defined OFFERS_large
    for (char *at = argv[2]; *at; at++)
        *at = (char)tolower(*at);
    if (tavola_container_open(client, argv[2], &container) ||
        tavola_container_create(container, NULL))
        return 1;
#endif
    printf("[");
    for (int i = 3, count; i + 1 < argc; i += 2 + count) {
        printf("%s", i > 3 ? "," : "");
        count = atoi(argv[i + 1]);
        run_step(argv[i], count, argv + i + 2);
    }
    puts("]");
#ifdef OFFERS_library
    tavola_indexed_close(indexed);
#endif
#if defined OFFERS_log_blob || defined OFFERS_large
    tavola_container_close(container);
#endif
    tavola_table_close(table);
    tavola_client_close(client);
    return 0;
}
