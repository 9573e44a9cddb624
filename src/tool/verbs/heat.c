/*
 * A heat map in the terminal: the traffic of a table, time from left to right, keys from below. All
 * of it is one answer of the admin port (GET /traffic), which is JSON in one line.
 */
#include "../output/output.h"
#include "../verbs.h"
#include "finding.h"
#include "server.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 24, LABEL_COLUMNS = 24, WIDTH_DEFAULT = 80, SLOTS_MAX = 672, BUCKETS_MAX = 1536 };

/* The answer, taken apart.  Its last slots may have no column, since their time is not over: they are
 * left out. */
typedef struct heat {
    size_t slots, buckets;
    int64_t from, grain_s;
    uint64_t *cells; /* slot-major */
    tool_text *keys; /* of each bucket, as people read it */
} heat;

static void heat_done(heat *h)
{
    for (size_t i = 0; h->keys && i < h->buckets; i++)
        tool_text_done(&h->keys[i]);
    free(h->keys);
    free(h->cells);
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char mark[] = "\\u0002\""; /* at the end of a bound that is behind all that begin so */

/* A string: characters beyond ASCII and all that a terminal would obey as the answer has them,
 * \uXXXX; but '+' for the mark.  False when it is something else. */
static bool read_part(tool_json part, tool_text *text)
{
    if (*part.at != '"')
        return false;
    for (const char *at = part.at + 1; *at != '"'; at++) {
        if (strncmp(at, mark, sizeof mark - 1) == 0) {
            tool_text_puts(text, "+");
            break;
        }
        at += *at == '\\' && at[1] != 'u';
        tool_text_add(text, at, 1);
    }
    return true;
}

/* ["PartitionKey","RowKey"] as "PartitionKey / RowKey"; a '+' behind one that is meant exclusively,
 * and, for a third that is empty, behind a PartitionKey that all keys of it are before. */
static bool read_key(tool_json key, tool_text *ret_text)
{
    tool_json_walk part = {0};
    int parts = 0;

    tool_text_puts(ret_text, "");
    while (tool_json_each(key, &part)) {
        if (parts == 2 && tool_json_is(part.value, ""))
            tool_text_puts(ret_text, "+");
        else if (parts >= 2)
            return false;
        else if (parts == 1 && strncmp(part.value.at + 1, mark, sizeof mark - 1) != 0)
            tool_text_puts(ret_text, " / ");
        if (!read_part(part.value, ret_text))
            return false;
        parts++;
    }
    return parts > 0;
}

static bool read_keys(tool_json keys, heat *h)
{
    tool_json_walk key = {0};
    size_t count = 0;

    while (tool_json_each(keys, &key))
        if (count == h->buckets || !read_key(key.value, &h->keys[count++]))
            return false;
    return count == h->buckets;
}

static bool read_cells(tool_json columns, heat *h)
{
    size_t count = 0, all = h->slots * h->buckets;
    tool_json_walk column = {0};

    while (tool_json_each(columns, &column)) {
        tool_json_walk cell = {0};

        while (tool_json_each(column.value, &cell))
            if (count == all || !tool_json_whole(cell.value, &h->cells[count++]))
                return false;
    }
    return count == all;
}

/* How many slots are over, of an answer whose columns end at `until`. */
static size_t slots_known(const heat *h, int64_t until)
{
    int64_t slots = (until - h->from) / h->grain_s;

    return slots < 0 ? 0 : (size_t)slots < h->slots ? (size_t)slots : h->slots;
}

static bool heat_parse(tool_json answer, heat *ret_heat)
{
    int64_t slots = tool_json_int(answer, "slots"), buckets = tool_json_int(answer, "buckets");

    if (slots < 0 || slots > SLOTS_MAX || buckets < 1 || buckets > BUCKETS_MAX)
        return false;
    *ret_heat = (heat){.slots = (size_t)slots,
                       .buckets = (size_t)buckets,
                       .from = tool_json_int(answer, "from"),
                       .grain_s = tool_json_int(answer, "grainS")};
    ret_heat->cells = tool_alloc((size_t)(slots * buckets + 1) * sizeof(uint64_t));
    ret_heat->keys = tool_alloc((size_t)buckets * sizeof(tool_text));
    if (ret_heat->grain_s <= 0 || !read_keys(tool_json_get(answer, "keys"), ret_heat) ||
        !read_cells(tool_json_get(answer, "cells"), ret_heat))
        return false;
    ret_heat->slots = slots_known(ret_heat, tool_json_int(answer, "until"));
    return true;
}

/* ---- showing --------------------------------------------------------------------------------- */

/* The binary logarithm of 1 + value, straight between powers of two. */
static double rough_log(uint64_t value)
{
    int power = 63 - __builtin_clzll(value + 1);

    return power + (double)(value + 1) / (double)(UINT64_C(1) << power) - 1;
}

/* How hot, 0 to 1: the ordinary stays pale, and one request can be seen. */
static double heat_of(uint64_t value, uint64_t max)
{
    double part = value ? rough_log(value) / rough_log(max) : 0;

    return part * part;
}

static void print_cell(uint64_t value, uint64_t max, bool has_colour)
{
    static const char *const blocks[] = {"\u00b7", "\u2591", "\u2592", "\u2593", "\u2588"};
    static const int colours[] = {230, 223, 216, 209, 202, 196, 160, 124, 88};
    double hot = heat_of(value, max);

    if (value == 0)
        fputs(" ", stdout);
    else if (has_colour)
        printf("\033[48;5;%dm \033[0m", colours[(int)(hot * 8.99)]);
    else
        fputs(blocks[(int)(hot * 4.99)], stdout);
}

/* --- labels: what all keys begin with is told once, and what tells one from the next is shown ---
 */

enum { COMMON_MIN = 4 }; /* less is left where it is */

static size_t common_size(const char *a, const char *b)
{
    size_t size = 0;

    while (a[size] && a[size] == b[size])
        size++;
    return size;
}

/* What all keys but the empty first one begin with, up to the last mark in it. */
static size_t common_of_all(const heat *h)
{
    const char *first = NULL;
    size_t common = 0;

    for (size_t i = 0; i < h->buckets; i++) {
        if (h->keys[i].size == 0)
            continue;
        if (first == NULL) {
            first = h->keys[i].at;
            common = h->keys[i].size;
        } else {
            size_t size = common_size(first, h->keys[i].at);

            common = size < common ? size : common;
        }
    }
    while (common && strchr("/ :-_.|", first[common - 1]) == NULL)
        common--;
    return common < COMMON_MIN ? 0 : common;
}

/* Where a key differs from those beside it. */
static size_t differs_at(const heat *h, size_t bucket)
{
    const char *text = h->keys[bucket].at;
    size_t below = bucket > 0 ? common_size(text, h->keys[bucket - 1].at) : 0;
    size_t above = bucket + 1 < h->buckets ? common_size(text, h->keys[bucket + 1].at) : 0;

    return below > above ? below : above;
}

/* At most LABEL_COLUMNS of a key; an ellipsis stands for what is left out at either end. */
static void print_label(const heat *h, size_t bucket, size_t common)
{
    const char *text = h->keys[bucket].at;
    size_t size = h->keys[bucket].size, at = size ? common : 0, room = LABEL_COLUMNS - (at > 0);
    size_t differs = differs_at(h, bucket);

    if (size - at > room && differs >= at + room - 1) {
        at = differs + 4 < size ? differs + 4 - (LABEL_COLUMNS - 2) : size - (LABEL_COLUMNS - 1);
    }
    if (at)
        fputs("\u2026", stdout);
    room = LABEL_COLUMNS - (at > 0);
    if (size - at > room)
        printf("%.*s\u2026 \u2502", (int)room - 1, text + at);
    else
        printf("%-*s \u2502", (int)room, text + at);
}

static void print_time(int64_t seconds)
{
    struct tm parts;
    time_t when = (time_t)seconds;
    char text[24];

    gmtime_r(&when, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%MZ", &parts);
    printf("%s", text);
}

static const char *measure_of(const tool_run *run)
{
    return run->arg_count > 1 ? run->args[1] : "reads";
}

/* The largest of the slots that share a column: a line one slot thin must be seen.  Where there are
 * more columns a slot has several. */
static uint64_t column_max(const heat *h, size_t column, size_t columns, size_t bucket)
{
    size_t first = column * h->slots / columns, end = (column + 1) * h->slots / columns;
    uint64_t max = 0;

    for (size_t slot = first; slot < end || slot == first; slot++) {
        uint64_t value = h->cells[slot * h->buckets + bucket];

        max = value > max ? value : max;
    }
    return max;
}

/* "watch: Partition 's07' has 92 % of the writes, since 11:18 UTC. (advice: hot-partition)" */
static void print_findings(tool_json answer)
{
    tool_json_walk finding = {0};
    tool_json all = tool_json_get(answer, "findings");

    while (tool_json_each(all, &finding)) {
        tool_finding_put(finding.value, "verdict");
        fputs(": ", stdout);
        tool_finding_put(finding.value, "text");
        if (tool_finding_has(finding.value, "rule")) {
            fputs(" (advice: ", stdout);
            tool_finding_put(finding.value, "rule");
            putchar(')');
        }
        puts("");
    }
}

static const char *name_of_grain(const heat *h)
{
    return h->grain_s == 60 ? "minute" : h->grain_s == 600 ? "ten minutes" : "hour";
}

/* "at most 1,204 writes in 60 s" */
static void print_most(const tool_run *run, const heat *h, uint64_t max)
{
    const char *measure = measure_of(run);
    char room[TOOL_GROUPED];

    if (max == 0) {
        printf(", no %s", measure);
        if (run->arg_count == 1)
            printf("; 'tavola heat %s writes' shows the writes", run->args[0]);
        printf("\nThe %s at hand %s not in it yet.", name_of_grain(h),
               h->grain_s == 600 ? "are" : "is");
    } else {
        tool_grouped(room, (double)max);
        printf(", at most %s %s in %lld s", room, measure, (long long)h->grain_s);
    }
    puts("");
}

static void print_map(const tool_run *run, tool_json answer, const heat *h)
{
    size_t width = tool_width() ? tool_width() : WIDTH_DEFAULT, columns = 1;
    size_t common = common_of_all(h);
    bool has_colour = tool_has_colour(stdout);
    uint64_t max = 0;

    if (h->slots == 0) {
        printf("There is no picture yet: traffic is shown when its %s %s over.\n", name_of_grain(h),
               h->grain_s == 600 ? "are" : "is");
        print_findings(answer);
        return;
    }
    if (width > LABEL_COLUMNS + 3)
        columns = width - LABEL_COLUMNS - 2;
    if (columns > h->slots)
        columns -= columns % h->slots;
    for (size_t i = 0; i < h->slots * h->buckets; i++)
        max = h->cells[i] > max ? h->cells[i] : max;
    for (size_t row = h->buckets; row > 0; row--) {
        print_label(h, row - 1, common);
        for (size_t column = 0; column < columns; column++)
            print_cell(column_max(h, column, columns, row - 1), max, has_colour);
        puts("");
    }
    print_time(h->from);
    printf(" to ");
    print_time(h->from + (int64_t)h->slots * h->grain_s);
    print_most(run, h, max);
    if (common)
        printf("\u2026 stands for %.*s\n", (int)common, h->keys[h->buckets - 1].at);
    print_findings(answer);
}

/* Other formats than a picture: a record for each bucket. */
static void print_records(tool_output *output, const heat *h)
{
    uint64_t all = 0;

    for (size_t i = 0; i < h->slots * h->buckets; i++)
        all += h->cells[i];
    for (size_t b = 0; b < h->buckets; b++) {
        uint64_t sum = 0, peak = 0;

        for (size_t slot = 0; slot < h->slots; slot++) {
            uint64_t value = h->cells[slot * h->buckets + b];

            sum += value;
            peak = value > peak ? value : peak;
        }

        tool_field fields[] = {
            {"FirstKey", tavola_string(h->keys[b].at)},
            {"Sum", tavola_int64((int64_t)sum)},
            {"Share", tavola_double(all ? (double)sum / (double)all : 0)},
            {"Peak", tavola_int64((int64_t)peak)},
        };

        tool_output_record(output, fields, sizeof fields / sizeof fields[0]);
    }
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool is_word(const char *text)
{
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")] ==
           '\0';
}

static tool_exit ask(tool_run *run, const char *account, tool_answer *ret_answer)
{
    tool_text path = {0};
    const char *grain = run->arg_count > 2 ? run->args[2] : "1m";
    tool_exit exit;

    tool_text_printf(&path, "/traffic?table=%s&account=%s&measure=%s&grain=%s&buckets=%d",
                     run->args[0], account, measure_of(run), grain, ROWS);
    exit = tool_server_ask(run, "GET", path.at, 200, ret_answer);
    tool_text_done(&path);
    return exit && ret_answer->status == 404 ? TOOL_NOT_FOUND : exit;
}

static tool_exit show(tool_run *run, const tool_admin *admin, tool_json answer)
{
    tool_output *output = NULL;
    heat h = {0};
    bool is_good = heat_parse(answer, &h);
    tool_exit exit = tool_output_open(run, true, &output);

    if (!exit && !is_good)
        exit = tool_trouble("the server at %s does not answer as a tavolad does", admin->url);
    else if (!exit && tool_value_of(run, TOOL_FLAG_OUTPUT) == NULL)
        print_map(run, answer, &h);
    else if (!exit)
        print_records(output, &h);
    if (output)
        tool_output_close(output);
    heat_done(&h);
    return exit;
}

static tool_exit heat_map(tool_run *run)
{
    tavola_client *client;
    tool_answer answer = {0};
    tool_admin admin;
    tool_exit exit = tool_client(run, &client);

    for (size_t i = 0; !exit && i < run->arg_count; i++) {
        if (!is_word(run->args[i]))
            exit =
                tool_refuse("'%s' is not the name of a table, a measure or a grain", run->args[i]);
    }
    if (!exit)
        exit = tool_admin_open(run, &admin);
    if (!exit)
        exit = ask(run, tavola_client_account(client), &answer);
    if (!exit && tool_wants_json(run))
        fputs(answer.body.at, stdout);
    else if (!exit)
        exit = show(run, &admin, tool_json_of(answer.body.at));
    tool_answer_done(&answer);
    return exit;
}

const tool_verb tool_heat_verbs[] = {
    {"heat", "TABLE [MEASURE [GRAIN]]", "Traffic by key as a picture: which keys are hot, and when",
     1, 3, TOOL_BIT(ADMIN) | TOOL_BIT(TOKEN_FILE) | TOOL_BIT(DATA), .run = heat_map,
     .is_plain = true,
     .examples = "  tavola heat People writes          # reads, writes, deletes, bytes, scanned,\n"
                 "                                     # conflicts, throttled, inserts\n"
                 "  tavola heat People reads 10m       # of 1m, 10m, 1h\n"
                 "  tavola heat People -o json         # all numbers\n"},
    {0},
};
