/*
 * The newest entities of a log.  Keys of the log tail pattern have them first, which takes one
 * request.  Other keys are looked at: where they ascend with time the end is found by halving, and
 * where they do not sort by time the newest cannot be found without reading everything, which is
 * said.
 */
#include "../output/output.h"
#include "../query.h"
#include "../text.h"
#include "../verbs.h"
#include "key_middle.h"

#include <stdlib.h>
#include <string.h>

enum {
    SPARE = 100, /* read beyond what is wanted: the end need not be found to the entity */
    QUESTIONS_MAX = 400,
    PAGE_MOST = 1000,
};

/* A stretch of entities in the order of their keys: pages, and where in them each is. */
typedef struct stretch {
    tavola_page **pages;
    size_t page_count;
    const tavola_entity **list;
    size_t count;
} stretch;

typedef enum order { ASCENDS, DESCENDS, NEITHER, UNKNOWN } order;

typedef struct search {
    tool_run *run;
    tavola_table *table;
    const char *partition;
    size_t wanted;
    unsigned requests;
    tool_letters letters;
    bool is_followed; /* what is printed goes up to the newest, and on from there */
    order how;        /* of what was printed; UNKNOWN: it is all there was */
    char *low, *high; /* its first and its last RowKey; NULL: there was none */
} search;

static void stretch_done(stretch *s)
{
    for (size_t i = 0; i < s->page_count; i++)
        tavola_page_free(s->pages[i]);
    free(s->pages);
    free(s->list);
    *s = (stretch){0};
}

static void add_page(stretch *s, tavola_page *page)
{
    s->pages = tool_resize(s->pages, (s->page_count + 1) * sizeof *s->pages);
    s->pages[s->page_count++] = page;
    s->list = tool_resize(s->list, (s->count + tavola_page_count(page) + 1) * sizeof *s->list);
    for (size_t i = 0; i < tavola_page_count(page); i++)
        s->list[s->count++] = tavola_page_at(page, i);
}

/* At most `most` entities whose RowKeys pass, NULL: of all, in pages that may be short. */
static tavola_err read_rows(search *in, tavola_filter *rows, size_t most, bool keys_only,
                            stretch *ret)
{
    tavola_filter *filter = tavola_where("PartitionKey", TAVOLA_EQ, tavola_string(in->partition));
    tavola_query *query = tavola_query_new(rows ? tavola_and(filter, rows) : filter);
    const char *token = NULL;
    tavola_err err;

    if (keys_only)
        tavola_query_select(query, (const char *const[]){"RowKey", "Timestamp", NULL});
    do {
        tavola_page *page = NULL;
        size_t left = most - ret->count;

        tavola_query_set_limit(query, left < PAGE_MOST ? left : PAGE_MOST);
        in->requests++;
        err = tavola_query_page(in->table, query, token, in->run->call, &page);
        if (err)
            break;
        add_page(ret, page);
        token = tavola_page_token(page);
    } while (token && ret->count < most);
    tavola_query_free(query);
    for (size_t i = 0; !err && i < ret->count; i++)
        tool_letters_learn(&in->letters, tavola_entity_row_key(ret->list[i]));
    return err;
}

/* From a RowKey on. */
static tavola_err read_from(search *in, const char *from, size_t most, bool keys_only, stretch *ret)
{
    return read_rows(in, from ? tavola_where("RowKey", TAVOLA_GE, tavola_string(from)) : NULL, most,
                     keys_only, ret);
}

/* ---- how keys sort --------------------------------------------------------------------------- */

typedef struct steps {
    size_t newer, older; /* neighbours of which the second was written later, or earlier */
} steps;

static void count_steps(const tavola_entity *const *list, size_t count, steps *ret_steps)
{
    for (size_t i = 1; i < count; i++) {
        tavola_ticks before = tavola_entity_timestamp(list[i - 1]);
        tavola_ticks after = tavola_entity_timestamp(list[i]);

        ret_steps->newer += after > before;
        ret_steps->older += after < before;
    }
}

/* Whether all that differs between keys is digits and what dates are written with. */
static bool is_of_numbers(const stretch *some, size_t prefix)
{
    for (size_t i = 0; i < some->count; i++) {
        const char *key = tavola_entity_row_key(some->list[i]);

        if (strlen(key) <= prefix || key[prefix + strspn(key + prefix, "0123456789-:TZ._ ")])
            return false;
    }
    return true;
}

/* What was written all at once may tell by its keys: rising numbers and dates. */
static order judge_by_keys(const stretch *first, const stretch *end)
{
    const char *low = tavola_entity_row_key(first->list[0]);
    const char *high = tavola_entity_row_key(end->list[end->count - 1]);
    size_t prefix = 0;

    while (low[prefix] && low[prefix] == high[prefix])
        prefix++;
    return is_of_numbers(first, prefix) && is_of_numbers(end, prefix) ? ASCENDS : UNKNOWN;
}

static int compare_times(const void *left, const void *right)
{
    tavola_ticks a = *(const tavola_ticks *)left, b = *(const tavola_ticks *)right;

    return (a > b) - (a < b);
}

/* When most of them had been written: a few may have been changed since. */
static tavola_ticks usual_time(const tavola_entity *const *list, size_t count)
{
    tavola_ticks *times = tool_alloc((count + 1) * sizeof *times), usual;

    for (size_t i = 0; i < count; i++)
        times[i] = tavola_entity_timestamp(list[i]);
    qsort(times, count, sizeof *times, compare_times);
    usual = times[count / 2];
    free(times);
    return usual;
}

/*
 * By when the entities at both ends were written.  Where neighbours go up and down by turns they
 * are in no order; else one end is older.
 */
static order judge(const stretch *first, const stretch *last, steps *ret_steps)
{
    const stretch *end = last->count ? last : first;
    size_t half = last->count ? 0 : first->count / 2, pairs = first->count + last->count;
    tavola_ticks before, after;

    *ret_steps = (steps){0};
    count_steps(first->list, first->count, ret_steps);
    count_steps(last->list, last->count, ret_steps);
    if (ret_steps->newer * 10 > pairs && ret_steps->older * 10 > pairs)
        return NEITHER;
    if (first->count < 2)
        return ASCENDS; /* one entity is the newest */
    before = usual_time(first->list, half ? half : first->count);
    after = usual_time(end->list + half, end->count - half);
    return before < after ? ASCENDS : before > after ? DESCENDS : judge_by_keys(first, end);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Everything from there on, of which the last are kept: what halving has not decided. */
static tavola_err read_to_end(search *in, char **low, stretch *ret)
{
    for (;;) {
        tavola_err err = read_from(in, *low, PAGE_MOST + in->wanted, true, ret);
        char *next;

        if (err || ret->count < PAGE_MOST + in->wanted)
            return err;
        next = tool_copy(tavola_entity_row_key(ret->list[ret->count - in->wanted]));
        free(*low);
        *low = next;
        stretch_done(ret);
    }
}

/*
 * The keys of the last entities: `wanted` of them, and not many more.  There are that many from
 * `low` on at any time, and fewer from `high` on.
 */
static tavola_err find_end(search *in, const stretch *first, stretch *ret)
{
    size_t most = in->wanted + SPARE;
    char *low = tool_copy(tavola_entity_row_key(first->list[first->count - in->wanted]));
    char *high = NULL;
    tavola_err err = TAVOLA_OK;

    for (unsigned i = 0; i < QUESTIONS_MAX; i++) {
        tool_text middle = {0};

        if (!tool_letters_middle(&in->letters, low, high, &middle)) {
            tool_text_done(&middle);
            break;
        }
        err = read_from(in, middle.at, most, true, ret);
        if (err || (ret->count >= in->wanted && ret->count < most)) {
            tool_text_done(&middle);
            goto out;
        }
        if (ret->count == most) {
            free(low);
            low = tool_copy(tavola_entity_row_key(ret->list[most - in->wanted]));
            tool_text_done(&middle);
        } else {
            free(high);
            high = middle.at;
        }
        stretch_done(ret);
    }
    err = read_to_end(in, &low, ret);

out:
    free(low);
    free(high);
    return err;
}

/* ---- what is shown --------------------------------------------------------------------------- */

static void note_bounds(search *in, const stretch *all)
{
    for (size_t i = 0; i < all->count; i++) {
        const char *key = tavola_entity_row_key(all->list[i]);

        if (!in->low || strcmp(key, in->low) < 0) {
            free(in->low);
            in->low = tool_copy(key);
        }
        if (!in->high || strcmp(key, in->high) > 0) {
            free(in->high);
            in->high = tool_copy(key);
        }
    }
}

/* The newest of them: the first where they descend, else the last. */
static void print(search *in, tool_output *output, const stretch *all, order how)
{
    size_t count = all->count < in->wanted ? all->count : in->wanted;

    for (size_t i = 0; i < count; i++) {
        size_t nth = in->is_followed ? count - 1 - i : i;

        tool_output_entity(output, all->list[how == DESCENDS ? nth : all->count - 1 - nth]);
    }
    in->how = how;
    note_bounds(in, all);
}

/* When it was written, and of what was written at once by its key. */
static int by_time(const void *left, const void *right)
{
    const tavola_entity *a = *(const tavola_entity *const *)left;
    const tavola_entity *b = *(const tavola_entity *const *)right;
    tavola_ticks of_a = tavola_entity_timestamp(a), of_b = tavola_entity_timestamp(b);

    return of_a == of_b ? strcmp(tavola_entity_row_key(a), tavola_entity_row_key(b))
                        : (of_a > of_b) - (of_a < of_b);
}

/* A partition that is small is read, and sorted by when its entities were written. */
static tavola_err print_small(search *in, tool_output *output)
{
    stretch all = {0};
    tavola_err err = read_from(in, NULL, in->wanted + SPARE, false, &all);

    if (!err) {
        qsort(all.list, all.count, sizeof all.list[0], by_time);
        print(in, output, &all, UNKNOWN);
    }
    stretch_done(&all);
    return err;
}

static tool_exit refuse_order(const search *in, order how, const steps *by)
{
    const char *table = in->run->args[0];

    if (how == UNKNOWN)
        return tool_trouble(
            "the entities of '%s' were all written at once, so which are the "
            "newest is not known: 'tavola query %s --where \"PartitionKey eq ?\" %s' "
            "lists them by key",
            in->partition, table, in->partition);
    return tool_trouble(
        "the row keys of '%s' do not sort by time (of two neighbours the second was written later "
        "in %zu cases, earlier in %zu), so its newest entities cannot be found without reading all "
        "of them: give logs row keys of the log tail pattern, inverted ticks first",
        in->partition, by->newer, by->older);
}

static tavola_err print_end(search *in, tool_output *output, const stretch *end)
{
    const char *from = tavola_entity_row_key(end->list[end->count - in->wanted]);
    stretch all = {0};
    tavola_err err = read_from(in, from, in->wanted + SPARE, false, &all);

    if (!err)
        print(in, output, &all, ASCENDS);
    stretch_done(&all);
    if (!err)
        tool_note("the row keys of '%s' ascend with time, and tables are read from their first "
                  "keys: it took %u requests to find the end; keys of the log tail pattern, "
                  "inverted ticks first, have the newest there",
                  in->partition, in->requests);
    return err;
}

/* Keys that are none of the log tail pattern; `newest` is what stands first. */
static tavola_err look_closer(search *in, tool_output *output, const stretch *newest,
                              tool_exit *ret_exit)
{
    stretch first = {0}, last = {0};
    steps by;
    tavola_err err = read_from(in, NULL, in->wanted + SPARE, true, &first);
    bool is_small = first.count < in->wanted + SPARE;
    order how;

    if (!err && !is_small)
        err = find_end(in, &first, &last);
    how = judge(&first, &last, &by);
    if (err)
        ;
    else if (how == DESCENDS)
        print(in, output, newest, DESCENDS);
    else if (is_small && (how != UNKNOWN || first.count <= in->wanted))
        err = print_small(in, output);
    else if (how == ASCENDS)
        err = print_end(in, output, &last);
    else
        *ret_exit = refuse_order(in, how, &by);
    stretch_done(&first);
    stretch_done(&last);
    return err;
}

/* Inverted ticks of a time that may be that of an entry; other digits would be of another age. */
static bool is_of_log_tail(const stretch *newest)
{
    const tavola_ticks year = INT64_C(10000000) * 86400 * 366;
    tavola_ticks when;

    return tavola_key_from_inverted(tavola_entity_row_key(newest->list[0]), &when) &&
           when > 1900 * year && when < tavola_now() + year;
}

static tool_exit print_newest(search *in, tool_output *output)
{
    stretch newest = {0};
    tool_exit exit = TOOL_OK;
    tavola_err err = read_from(in, NULL, in->wanted, false, &newest);

    if (!err && newest.count == 0)
        tool_note("no entity of table %s has the PartitionKey '%s'", in->run->args[0],
                  in->partition);
    else if (!err && is_of_log_tail(&newest))
        print(in, output, &newest, DESCENDS);
    else if (!err)
        err = look_closer(in, output, &newest, &exit);
    stretch_done(&newest);
    return err ? tool_fail(in->run, err, NULL) : exit;
}

/* ---- following ------------------------------------------------------------------------------- */

/* Beyond what was printed, on the side where this log grows; on both where that is not known. */
static tavola_filter *beyond(const search *in)
{
    tavola_filter *before, *behind;

    if (!in->low)
        return NULL;
    before = tavola_where("RowKey", TAVOLA_LT, tavola_string(in->low));
    behind = tavola_where("RowKey", TAVOLA_GT, tavola_string(in->high));
    if (in->how == UNKNOWN)
        return tavola_or(before, behind);
    tavola_filter_free(in->how == ASCENDS ? before : behind);
    return in->how == ASCENDS ? behind : before;
}

static tavola_err print_added(search *in, tool_output *output, size_t *ret_count)
{
    stretch added = {0};
    tavola_err err = read_rows(in, beyond(in), SIZE_MAX, false, &added);

    if (!err && added.count) {
        if (in->how == UNKNOWN)
            qsort(added.list, added.count, sizeof added.list[0], by_time);
        in->wanted = added.count;
        print(in, output, &added, in->how);
    }
    *ret_count = added.count;
    stretch_done(&added);
    tool_output_flush(output);
    return err;
}

/* Look until Ctrl-C: soon after something came, since more may follow, and ever later. */
static tool_exit follow(search *in, tool_output *output)
{
    enum { SOON_MS = 250, LATE_MS = 2000 };
    tavola_err err = TAVOLA_OK;
    int pause_ms = SOON_MS;

    tool_output_flush(output);
    for (;;) {
        size_t count = 0;

        tool_stop_wait(-1, 0, pause_ms);
        if (tool_stop_signal())
            return tool_stopped();
        err = print_added(in, output, &count);
        if (err)
            return tool_fail(in->run, err, NULL);
        pause_ms = count ? SOON_MS : pause_ms * 2 < LATE_MS ? pause_ms * 2 : LATE_MS;
    }
}

static tool_exit tail(tool_run *run)
{
    int64_t number = 10;
    search in = {.run = run, .partition = run->args[1], .how = UNKNOWN};
    tool_output *output = NULL;
    tool_exit exit = tool_number_of(run, TOOL_FLAG_LIMIT, 1, 1000000, &number);

    in.wanted = (size_t)number;
    in.is_followed = tool_has(run, TOOL_FLAG_FOLLOW);
    if (!exit)
        exit = tool_table(run, run->args[0], &in.table);
    if (!exit)
        exit = tool_output_open(run, true, &output);
    if (!exit)
        exit = print_newest(&in, output);
    if (!exit && in.is_followed)
        exit = follow(&in, output);
    tool_output_close(output);
    free(in.low);
    free(in.high);
    tavola_table_close(in.table);
    return exit;
}

const tool_verb tool_tail_verbs[] = {
    {"tail", "TABLE PARTITION", "The newest entities of a log, the newest first", 2, 2,
     TOOL_BIT(LIMIT) | TOOL_BIT(SELECT) | TOOL_BIT(FOLLOW), .run = tail,
     .examples = "  tavola tail Log web-1\n"
                 "  tavola tail Log web-1 -n 100 -o ndjson\n"
                 "  tavola tail Log web-1 -f\n"},
    {0},
};
