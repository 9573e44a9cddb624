/*
 * Which tables are kept.  A table has a place, and its number is the place with a count of the
 * place's tenants, so that a number that somebody still has is not taken for the next tenant's.
 *
 *  (1) `places` has the number of a place's table, or 0.  A request is recorded only if its number
 *      is that one, which it looks at inside of its shard's epoch.
 *  (2) Tables leave before sheets are taken, under the lock that nobody gets a place without until
 *      these were folded.  So no sheet has two tables of one place; what it has of a table that is
 *      gone is skipped.
 *  (3) Traffic by key of a table that leaves or was dropped is taken from its place first, and
 *      given back when sheets have been taken: then nobody counts in it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/grow.h"
#include "base/hash.h"
#include "insight/watch/memory.h"

/* --- by name --- */

static uint64_t table_hash(tv_slice account, tv_slice name)
{
    return tv_hash(account) * 31 + tv_hash_nocase(name);
}

static bool is_table(const tv_table_entry *table, tv_slice account, tv_slice name)
{
    return tv_slice_eq(tv_slice_of(table->account), account) &&
           tv_slice_eq_nocase(tv_slice_of(table->name), name);
}

static void index_table(tv_watch *watch, const tv_table_entry *table)
{
    size_t at = (size_t)table_hash(tv_slice_of(table->account), tv_slice_of(table->name)) %
                watch->table_index_size;

    while (watch->table_index[at])
        at = (at + 1) % watch->table_index_size;
    watch->table_index[at] = table->number;
}

static void index_all(tv_watch *watch)
{
    while (2 * (watch->table_count + 1) > watch->table_index_size)
        watch->table_index_size = watch->table_index_size ? 2 * watch->table_index_size : 64;
    free(watch->table_index);
    watch->table_index = tv_calloc(watch->table_index_size, sizeof *watch->table_index);
    for (tv_table_entry *table = NULL; (table = tv_watch_next_table(watch, table));)
        index_table(watch, table);
}

static uint32_t find_table(const tv_watch *watch, tv_slice account, tv_slice name)
{
    if (watch->table_index == NULL)
        return 0;

    size_t at = (size_t)table_hash(account, name) % watch->table_index_size;

    for (; watch->table_index[at]; at = (at + 1) % watch->table_index_size) {
        uint32_t number = watch->table_index[at];

        if (is_table(&watch->tables[tv_watch_place(number)], account, name))
            return number;
    }
    return 0;
}

/* --- by place --- */

size_t tv_watch_places(size_t tables_max)
{
    /* As many more as may come between two folds; and place 0, which nobody has. */
    return tables_max + tables_max / 16 + 2;
}

tv_table_entry *tv_watch_entry(const tv_watch *watch, uint32_t number)
{
    size_t place = tv_watch_place(number);

    return number && place < watch->place_count && watch->tables[place].number == number
               ? &watch->tables[place]
               : NULL;
}

tv_table_entry *tv_watch_next_table(const tv_watch *watch, const tv_table_entry *after)
{
    for (size_t i = after ? (size_t)(after - watch->tables) + 1 : 1; i < watch->place_count; i++) {
        if (watch->tables[i].number)
            return &watch->tables[i];
    }
    return NULL;
}

static char *copy(tv_slice text)
{
    char *made = tv_malloc(text.len + 1);

    *tv_slice_put(made, text) = '\0';
    return made;
}

/* A free place, or 0. */
static size_t take_place(tv_watch *watch)
{
    size_t place = watch->free_place;

    if (place) {
        watch->free_place = watch->tables[place].next_free;
        return place;
    }
    if (watch->place_count == watch->places_max)
        return 0;
    if (watch->place_count == watch->place_size) {
        watch->place_size = watch->place_size ? 2 * watch->place_size : 16;
        if (watch->place_size > watch->places_max)
            watch->place_size = watch->places_max;
        watch->tables = tv_realloc(watch->tables, watch->place_size * sizeof *watch->tables);
    }
    if (watch->place_count == 0)
        watch->tables[watch->place_count++] = (tv_table_entry){0};
    watch->tables[watch->place_count] = (tv_table_entry){0};
    return watch->place_count++;
}

/* --- traffic by key --- */

static tv_watch_place_entry *place_of(tv_watch *watch, const tv_table_entry *table)
{
    return &watch->places[tv_watch_place(table->number)];
}

static void find_traffic(tv_watch *watch, const tv_table_entry *table)
{
    if (watch->options.traffic && table->id &&
        atomic_load(&place_of(watch, table)->traffic) == NULL)
        atomic_store(
            &place_of(watch, table)->traffic,
            tv_traffic_table_get(watch->options.traffic, tv_slice_of(table->account), table->id));
}

void tv_watch_find_traffic(tv_watch *watch)
{
    for (tv_table_entry *table = NULL; (table = tv_watch_next_table(watch, table));) {
        if (table->dropped_ns < table->last_ns)
            find_traffic(watch, table);
    }
}

static void leave_traffic(tv_watch *watch, tv_table_entry *table)
{
    tv_traffic_table *traffic = atomic_exchange(&place_of(watch, table)->traffic, NULL);

    if (traffic) {
        tv_grow(&watch->leaving, watch->leaving_count, &watch->leaving_size, 16);
        watch->leaving[watch->leaving_count++] = traffic;
    }
}

void tv_watch_release_traffic(tv_watch *watch)
{
    while (watch->leaving_count)
        tv_traffic_table_unref(watch->leaving[--watch->leaving_count]);
}

/* --- coming and going --- */

static uint32_t add_table(tv_watch *watch, tv_slice account, tv_slice name)
{
    size_t place = take_place(watch);
    tv_table_entry *table = &watch->tables[place];

    if (place == 0)
        return 0;
    *table = (tv_table_entry){
        .number = (table->tenants << TV_WATCH_PLACE_BITS) | (uint32_t)place,
        .tenants = table->tenants + 1,
        .account = copy(account),
        .name = copy(name),
        .known_ns = tv_watch_now(watch),
    };
    tv_tally_init(&table->tally, TV_WATCH_TABLE_SUMS, TV_WATCH_TABLE_MAXIMA);
    watch->table_count++;
    if (2 * (watch->table_count + 1) > watch->table_index_size)
        index_all(watch);
    else
        index_table(watch, table);
    atomic_store(&watch->places[place].number, table->number);
    return table->number;
}

uint32_t tv_watch_table(tv_watch *watch, tv_slice account, tv_slice name, int64_t id)
{
    tv_table_entry *table;
    uint32_t number;

    pthread_mutex_lock(&watch->lock);
    number = find_table(watch, account, name);
    if (number == 0)
        number = add_table(watch, account, name);
    table = tv_watch_entry(watch, number);
    if (table) {
        if (table->id != id)
            leave_traffic(watch, table);
        table->id = id;
        find_traffic(watch, table);
    }
    pthread_mutex_unlock(&watch->lock);
    return number;
}

bool tv_watch_has_table(const tv_watch *watch, uint32_t number)
{
    return number && atomic_load(&watch->places[tv_watch_place(number)].number) == number;
}

void tv_watch_drop_table(tv_watch *watch, uint32_t number, int64_t id)
{
    pthread_mutex_lock(&watch->lock);

    tv_table_entry *table = tv_watch_entry(watch, number);

    if (table && table->id == id) {
        table->dropped_ns = tv_watch_now(watch);
        leave_traffic(watch, table);
    }
    pthread_mutex_unlock(&watch->lock);
}

/* --- making room --- */

typedef struct candidate {
    const char *account;
    bool is_there; /* was not dropped, or is there again under its name */
    int64_t silent_ns;
    uint32_t place;
    size_t bytes;
} candidate;

/* By account; then dropped tables first, then those that were silent for longest. */
static int by_worth(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    int order = strcmp(x->account, y->account);

    if (order)
        return order;
    if (x->is_there != y->is_there)
        return x->is_there ? 1 : -1;
    return (x->silent_ns > y->silent_ns) - (x->silent_ns < y->silent_ns);
}

/* The tables of an account that are left: the first of these is the next to leave. */
typedef struct share {
    size_t first, end;
    size_t bytes;
} share;

static size_t list_candidates(const tv_watch *watch, candidate *list)
{
    size_t count = 0;

    for (tv_table_entry *table = NULL; (table = tv_watch_next_table(watch, table));) {
        int64_t last = table->last_ns > table->known_ns ? table->last_ns : table->known_ns;

        list[count++] = (candidate){.account = table->account,
                                    .is_there = table->dropped_ns < last,
                                    .silent_ns = last,
                                    .place = tv_watch_place(table->number),
                                    .bytes = tv_watch_table_bytes(table)};
    }
    qsort(list, count, sizeof *list, by_worth);
    return count;
}

static size_t list_shares(const candidate *list, size_t count, share *shares)
{
    size_t share_count = 0;

    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(list[i].account, list[i - 1].account) != 0)
            shares[share_count++] = (share){.first = i};
        shares[share_count - 1].end = i + 1;
        shares[share_count - 1].bytes += list[i].bytes;
    }
    return share_count;
}

static share *largest_share(share *shares, size_t count)
{
    share *largest = shares;

    for (size_t i = 1; i < count; i++) {
        if (shares[i].bytes > largest->bytes)
            largest = &shares[i];
    }
    return largest;
}

static void free_place(tv_watch *watch, tv_table_entry *table)
{
    uint32_t tenants = table->tenants, place = tv_watch_place(table->number);

    atomic_store(&watch->places[place].number, 0);
    leave_traffic(watch, table);
    while (table->shapes)
        tv_watch_forget_shape(watch, table->shapes);
    tv_table_entry_done(table);
    *table = (tv_table_entry){.tenants = tenants, .next_free = watch->free_place};
    watch->free_place = place;
    watch->table_count--;
    watch->forgotten++;
}

/*
 * Of the account that takes most: so one that takes no more than its part, when all is divided by
 * the accounts that want it, loses nothing to others.  A sixteenth more leaves than has to, so that
 * this is not done every second.
 */
static void let_go(tv_watch *watch, const candidate *list, size_t count)
{
    size_t bytes_max = watch->bytes > watch->bytes_max ? watch->bytes_max / 16 * 15 : SIZE_MAX;
    share *shares = tv_calloc(count, sizeof *shares);
    size_t share_count = list_shares(list, count, shares);

    while (watch->table_count > watch->tables_max ||
           (watch->table_count && watch->bytes > bytes_max)) {
        share *from = largest_share(shares, share_count);
        const candidate *leaves = &list[from->first++];

        from->bytes -= leaves->bytes;
        watch->bytes -= leaves->bytes - sizeof *watch->tables; /* its place stays */
        free_place(watch, &watch->tables[leaves->place]);
    }
    free(shares);
    index_all(watch);
}

void tv_watch_make_room(tv_watch *watch)
{
    candidate *list;

    watch->bytes = watch->place_size * sizeof *watch->tables;
    for (tv_table_entry *table = NULL; (table = tv_watch_next_table(watch, table));)
        watch->bytes += tv_watch_table_bytes(table) - sizeof *table;
    if (watch->table_count <= watch->tables_max && watch->bytes <= watch->bytes_max)
        return;

    list = tv_malloc(watch->table_count * sizeof *list);
    let_go(watch, list, list_candidates(watch, list));
    free(list);
}

void tv_table_entry_done(tv_table_entry *table)
{
    free(table->account);
    free(table->name);
    tv_tally_done(&table->tally);
    tv_watch_sketch_done(&table->partitions);
    tv_watch_sketch_done(&table->rows);
    free(table->conflicts);
    free(table->inserts);
    free(table->retries);
}

size_t tv_watch_sketch_size(const tv_watch *watch)
{
    return watch->table_count < 128   ? TV_WATCH_SKETCH_KEYS
           : watch->table_count < 512 ? TV_WATCH_SKETCH_KEYS / 2
                                      : TV_WATCH_SKETCH_KEYS / 4;
}
