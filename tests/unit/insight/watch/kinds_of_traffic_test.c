/*
 * Kinds of traffic whose name is known, as clients would make them: what the heat map calls them,
 * what the rules of advice say to them, and after how long.  The clock is the test's; every ten
 * seconds and every minute it does what the advisor does.
 */
#include "fixture.h"

#include "folder.h"
#include "insight/advice/rules.h"
#include "random.h"

enum { START = 29700000, STEP_S = 10, SOON_S = 180, RESTART_S = 300 };

static tv_traffic *traffic;
static char trouble[200];
static const struct kind *kind; /* of the traffic that is made */
static int made;                /* requests so far */
static int elapsed;             /* seconds since the first */
static int made_hot;            /* requests of these for the partition s07, or the only one */

/* --- traffic --- */

static void count_hot(const char *partition)
{
    made_hot += strcmp(partition, "s07") == 0 || strcmp(partition, "all") == 0;
}

static void write_row(const char *partition, const char *row, bool is_new)
{
    count_hot(partition);
    if (is_new)
        insert(partition, row);
    else
        touch(TV_ENTITY_OP_UPDATE_ENTITY, partition, row, TV_WATCH_CHANGED, 204);
}

static const char *text(const char *form, ...) __attribute__((format(printf, 1, 2)));

static const char *text(const char *form, ...)
{
    static char texts[4][64];
    static int at;
    va_list args;

    at = (at + 1) % 4;
    va_start(args, form);
    vsnprintf(texts[at], sizeof texts[at], form, args);
    va_end(args);
    return texts[at];
}

static const char *any_row(void)
{
    return text("%016llx", (unsigned long long)t_random());
}

static const char *sensor(void)
{
    return text("s%02d", (int)(t_random() % 50));
}

static void append(void)
{
    write_row("log", text("%012d", made), true);
}

static void prepend(void)
{
    write_row("log", text("%012d", 999999999 - made), true);
}

/* A partition for each day, the time in the RowKey. */
static void append_by_day(void)
{
    write_row(text("2026-11-%02d", 1 + elapsed / 86400), text("%06d-%06d", elapsed, made), true);
}

/* A partition for each minute, rows in no order: what a partition for each day is to an hour. */
static void append_by_minute(void)
{
    write_row(text("%05d", elapsed / 60), any_row(), true);
}

static void hot(int percent)
{
    bool is_hot = made * 37 % 100 < percent; /* spread, and exactly so many of a hundred */

    write_row(is_hot ? "s07" : sensor(), any_row(), true);
}

static void hot_30(void)
{
    hot(30);
}

static void hot_60(void)
{
    hot(60);
}

static void hot_92(void)
{
    hot(92);
}

/* Rows in the order of time, of each sensor: what is new goes to fifty ends. */
static void hot_92_in_order(void)
{
    write_row(made * 37 % 100 < 92 ? "s07" : sensor(), text("%012d", made), true);
}

static void hot_row(void)
{
    bool is_hot = made % 5 < 3;

    write_row(is_hot ? "counter" : sensor(), is_hot ? "total" : any_row(), false);
}

static void hot_row_read(void)
{
    bool is_hot = made % 5 < 3;

    get(is_hot ? "counter" : sensor(), is_hot ? "visits" : any_row());
}

static void only_row_read(void)
{
    get("counter", "visits");
}

static void only_row_written(void)
{
    write_row("counter", "total", false);
}

/* Departments: six, of which one is read by all. */
static void one_of_six(void)
{
    get("all", made % 10 == 0 ? text("d%d", (int)(t_random() % 5)) : "sales");
}

static void only_one_of_six(void)
{
    get("all", "sales");
}

static void only_entity(void)
{
    if (made % 2)
        write_row("counter", "total", false);
    else
        get("counter", "total");
}

static void one_of_two(void)
{
    get("all", made % 10 == 0 ? "a" : "b");
}

/* Of fifty partitions one is asked for. */
static void only_partition_read(void)
{
    count_hot("s07");
    get("s07", any_row());
}

static void only_partition_written(void)
{
    write_row("s07", any_row(), false);
}

static void even(void)
{
    write_row(sensor(), any_row(), made % 2 == 0);
}

static void even_reads(void)
{
    get(sensor(), any_row());
}

static void every_fifth_minute(void)
{
    if (elapsed / 60 % 5 == 0)
        even();
}

/* For twenty seconds, and again and again after a longer while. */
static void in_bursts(void)
{
    for (int i = 0; i * i <= elapsed / 20; i++) {
        if (i * i == elapsed / 20)
            even();
    }
}

static void one_partition(void)
{
    write_row("all", any_row(), true);
}

/* Everything is read and changed, and what is new goes to the end. */
static void mixed(void)
{
    if (made % 4 == 0)
        write_row("z-log", text("%012d", made), true);
    else if (made % 4 == 1)
        get(sensor(), any_row());
    else
        write_row(sensor(), any_row(), false);
}

static void table_scan(void)
{
    tv_watch_event page = query_of("Email eq 'x'", TV_PLAN_TABLE, 5000, 1);

    page.query.has_residual = true;
    page.query.first_looked = TV_LIT("s00\x01");
    page.query.last_looked = TV_LIT("s49\x01zzzz");
    page.query.end = TV_PAGE_END_DONE;
    if (made % 10 == 0)
        record(&page);
    else
        even_reads();
}

static void rarely(void)
{
    if (made % 10 == 0)
        even();
}

/* --- what must be said --- */

static const struct kind {
    const char *what;
    void (*make)(void);
    int rates[3];         /* requests a second; 0: no more */
    const char *named;    /* by the map, in the order in which it tells them */
    const char *ruled;    /* by the rules about keys and table scans */
    int seconds;          /* until then; the answer must stay until the end */
    int seconds_to_end;   /* of the traffic */
    void (*before)(void); /* other traffic, until the server is started again after five minutes */
} kinds[] = {
    {"append", append, {1, 5, 20}, "rising", "P04", SOON_S, 600, NULL},
    {"append, fast", append, {300}, "rising", "P04", SOON_S, 300, NULL},
    {"prepend", prepend, {1, 5, 20}, "falling", "P04", SOON_S, 600, NULL},
    {"append by day", append_by_day, {1, 5, 20}, "rising", "P04", SOON_S, 600, NULL},
    {"append by minute", append_by_minute, {5, 20}, "rising", "P04", 250, 600, NULL},
    {"92 % in one partition", hot_92, {1, 5, 20}, "hot-line writes s07", "P01", SOON_S, 600, NULL},
    {"92 %, fast", hot_92, {300}, "hot-line writes s07", "P01", SOON_S, 300, NULL},
    {"92 %, in order",
     hot_92_in_order,
     {1, 5, 20},
     "hot-line writes s07",
     "P01",
     SOON_S,
     600,
     NULL},
    {"60 % in one partition", hot_60, {1, 5, 20}, "hot-line writes s07", "P01", SOON_S, 600, NULL},
    {"30 % in one partition", hot_30, {5, 20}, "uneven writes s07", "", SOON_S, 600, NULL},
    {"an entity that all write",
     hot_row,
     {1, 5, 20},
     "hot-line writes counter total",
     "P02",
     SOON_S,
     600,
     NULL},
    {"an entity that all read",
     hot_row_read,
     {1, 5, 20},
     "hot-line reads counter visits",
     "P02",
     SOON_S,
     600,
     NULL},
    {"one entity of many, read",
     only_row_read,
     {1, 5, 20},
     "hot-line reads counter visits",
     "P02",
     SOON_S,
     600,
     NULL},
    {"one entity of many, written",
     only_row_written,
     {1, 5, 20},
     "hot-line writes counter total",
     "P02",
     SOON_S,
     600,
     NULL},
    {"90 % for one of six",
     one_of_six,
     {1, 5, 20},
     "hot-line reads all sales",
     "P02",
     SOON_S,
     600,
     NULL},
    {"all for one of six",
     only_one_of_six,
     {1, 5, 20},
     "hot-line reads all sales",
     "P02",
     SOON_S,
     600,
     NULL},
    {"the only entity", only_entity, {1, 5, 20}, "even", "", SOON_S, 600, NULL},
    {"90 % for one of two", one_of_two, {1, 5, 20}, "even", "", SOON_S, 600, NULL},
    {"one partition of many, read",
     only_partition_read,
     {1, 5, 20},
     "uneven reads s07",
     "P01",
     SOON_S,
     600,
     NULL},
    {"one partition of many, written",
     only_partition_written,
     {1, 5, 20},
     "uneven writes s07",
     "P01",
     SOON_S,
     600,
     NULL},
    {"stripes", every_fifth_minute, {5, 20}, "stripes", "", 20 * 60, 40 * 60, NULL},
    {"table scans", table_scan, {1, 5, 20}, "wall", "Q01", SOON_S, 600, NULL},
    {"even", even, {1, 5, 20}, "even", "", SOON_S, 600, NULL},
    {"even, fast", even, {300}, "even", "", SOON_S, 300, NULL},
    {"even reads", even_reads, {1, 5, 20}, "even", "", SOON_S, 600, NULL},
    {"mixed", mixed, {5, 20}, "rising", "P04", SOON_S, 600, NULL},
    {"one partition", one_partition, {1, 5, 20}, "uneven writes all", "", SOON_S, 600, NULL},
    {"in bursts", in_bursts, {20}, "even", "", 600, 900, NULL},
    {"append after a restart", append, {5, 20}, "rising", "P04", RESTART_S + SOON_S, 900, even},
    {"append over a restart", append, {5, 20}, "rising", "P04", RESTART_S + SOON_S, 900, append},
    {"92 % after a restart",
     hot_92,
     {5, 20},
     "hot-line writes s07",
     "P01",
     RESTART_S + SOON_S,
     900,
     even},
    {"nearly nothing", rarely, {1}, "", "", SOON_S, 600, NULL},
};

/* --- what is said --- */

static tv_buf names_of(const tv_view *view)
{
    tv_buf names = TV_BUF_EMPTY;

    for (size_t i = 0; i < view->pattern_count; i++) {
        const tv_pattern *pattern = &view->patterns[i];
        tv_slice key = tv_pattern_bound_slice(&pattern->low), part;

        tv_buf_printf(&names, "%s%s", i ? ", " : "", tv_pattern_name(pattern->kind));
        if (pattern->kind != TV_PATTERN_HOT_LINE && pattern->kind != TV_PATTERN_UNEVEN)
            continue;
        tv_buf_printf(&names, " %s", tv_traffic_measure_name(pattern->measure));
        while (tv_slice_next(&key, '\x01', &part))
            tv_buf_printf(&names, " %.*s", TV_FMT(part));
    }
    return names;
}

/* What is said of a partition's share is so, or is the least of it; a percent and a half is what
 * counts are off by that were divided between buckets. */
static void check_shares(const tv_view *view)
{
    double truth = (double)made_hot / made;

    for (size_t i = 0; i < view->pattern_count; i++) {
        const tv_pattern *p = &view->patterns[i];

        if ((p->kind != TV_PATTERN_HOT_LINE && p->kind != TV_PATTERN_UNEVEN) || p->is_one_key ||
            kind->before)
            continue;
        if (p->share > truth + 0.02 || (p->share < truth - 0.015 && !p->is_at_least))
            CHECK_FAIL("%s: the map says %s%.1f %%, it is %.1f %%", kind->what,
                       p->is_at_least ? "at least " : "", 100 * p->share, 100 * truth);
    }
}

static uint64_t entities_now(void)
{
    return kind->make == only_entity                                   ? 1
           : kind->make == one_of_two                                  ? 2
           : kind->make == one_of_six || kind->make == only_one_of_six ? 6
                                                                       : 5000;
}

static tv_buf map_says(uint32_t minute)
{
    tv_view_query query = {.account = TV_LIT("acct"),
                           .table_id = 1,
                           .grain = TV_GRAIN_MINUTE,
                           .from = START,
                           .to = minute,
                           .buckets_max = 24,
                           .row_count = entities_now()};
    tv_view view;
    tv_buf names;

    CHECK_OK(tv_traffic_read(traffic, &query, &view));
    check_shares(&view);
    names = names_of(&view);
    tv_view_done(&view);
    return names;
}

/* What the rules of keys and of table scans find now; a log (P05) says what an append does (P04).
 */
static tv_buf rules_say(void)
{
    static const tv_rule ours[][2] = {{TV_RULE_P01, TV_RULE_P01},
                                      {TV_RULE_P02, TV_RULE_P02},
                                      {TV_RULE_P04, TV_RULE_P05},
                                      {TV_RULE_Q01, TV_RULE_Q01}};
    bool is_alone = kind->make == append || kind->make == prepend || kind->make == one_partition ||
                    entities_now() < 5000;
    tv_params params = tv_params_default(TV_EVIDENCE_LIVE);
    tv_buf names = TV_BUF_EMPTY;
    tv_evidence *evidence;
    tv_findings found;
    tv_arena judging;

    tv_arena_init(&judging);
    tv_watch_fold(watch);
    CHECK_OK(tv_watch_take(watch, &judging, NULL, &evidence));
    evidence->tables[0].entities_now = entities_now();
    evidence->tables[0].is_exact = true;
    evidence->tables[0].partitions_now = is_alone ? 1 : 50;
    found = tv_rules_judge(&judging, evidence, &params);
    for (size_t rule = 0; rule < sizeof ours / sizeof ours[0]; rule++) {
        bool is_found = false;

        for (size_t i = 0; i < found.count; i++)
            is_found |=
                found.items[i]->rule == ours[rule][0] || found.items[i]->rule == ours[rule][1];
        if (is_found)
            tv_buf_printf(&names, "%s%s", names.len ? " " : "",
                          tv_rule_info_of(ours[rule][0])->code);
    }
    tv_arena_done(&judging);
    return names;
}

/* --- a run --- */

/* Since when something has been said without a break; -1: it is not. */
typedef struct since {
    int second;
    char last[120]; /* what was said last */
} since;

static void note(since *s, tv_buf *said, const char *wanted)
{
    bool is_wanted = tv_slice_eq(tv_buf_slice(said), tv_slice_of(wanted));

    if (is_wanted && s->second < 0)
        s->second = elapsed;
    if (!is_wanted)
        s->second = -1;
    snprintf(s->last, sizeof s->last, "%.*s", TV_FMT(tv_buf_slice(said)));
    tv_buf_done(said);
}

static void check(int rate, const char *who, const since *s, const char *wanted)
{
    if (s->second < 0 || s->second > kind->seconds)
        CHECK_FAIL("%s at %d/s: the %s \"%s\" (since %d s), wanted \"%s\" by %d s", kind->what,
                   rate, who, s->last, s->second, wanted, kind->seconds);
}

static void pass_step(int rate)
{
    for (int i = 0; i < STEP_S * rate; i++) {
        elapsed = (int)((int64_t)made / rate);
        if (kind->before && elapsed < RESTART_S)
            kind->before();
        else
            kind->make();
        made++;
        pass(SECOND / rate);
    }
    elapsed = (int)((int64_t)made / rate);
    tv_watch_fold(watch);
    tv_traffic_step(traffic);
}

static void start(void)
{
    uint32_t now = START + (uint32_t)elapsed / 60;

    traffic =
        tv_traffic_open(&(tv_traffic_options){.dir = folder, .shard_count = 2, .now_minute = now},
                        trouble, sizeof trouble);
    set_up(NULL);
    tv_watch_free(watch);
    watch = tv_watch_new(&(tv_watch_options){
        .shard_count = 2, .samples_all = true, .is_clock_manual = true, .traffic = traffic});
    table = tv_watch_table(watch, TV_LIT("acct"), TV_LIT("People"), 1);
    pass(60 * SECOND - tv_watch_now(watch) % (60 * SECOND)); /* minutes begin with its minutes */
}

static void stop(void)
{
    tear_down(NULL);
    tv_traffic_free(traffic);
}

static void run(int rate)
{
    since map = {.second = -1}, rules = {.second = -1};

    made = elapsed = made_hot = 0;
    make_folder();
    start();
    while (elapsed < kind->seconds_to_end) {
        tv_buf said;

        if (kind->before && elapsed == RESTART_S) {
            stop();
            start();
        }

        pass_step(rate);
        said = rules_say();
        note(&rules, &said, kind->ruled);
        if (elapsed % 60)
            continue;
        CHECK_OK(tv_traffic_close_minute(traffic, START + (uint32_t)elapsed / 60 - 1));
        said = map_says(START + (uint32_t)elapsed / 60);
        note(&map, &said, kind->named);
        if (strcmp(map.last, "even") == 0 && rules.last[0])
            CHECK_FAIL("%s at %d/s: the map says even, and %s fires", kind->what, rate, rules.last);
    }
    stop();
    remove_folder();
    print_message("# %-26s %3d/s: map %4d s (%s), rules %4d s (%s)\n", kind->what, rate, map.second,
                  map.last, rules.second, rules.last);
    check(rate, "map says", &map, kind->named);
    check(rate, "rules say", &rules, kind->ruled);
}

TEST(traffic_is_named_within_three_minutes)
{
    t_random_seed(51);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        kind = &kinds[i];
        for (int k = 0; k < 3 && kind->rates[k]; k++) {
            run(kind->rates[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traffic_is_named_within_three_minutes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
