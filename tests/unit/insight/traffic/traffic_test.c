/*
 * All of it together: counting in shards, minutes, layers, restarts.  A model counts every
 * request by itself; the columns must have the same sums.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "folder.h"
#include "insight/traffic/traffic.h"
#include "random.h"

enum { SHARDS = 3, TABLES = 4, START = 29700000 /* a multiple of 60: minutes since 1970 */ };

static tv_traffic *open_at(const char *dir, uint32_t minute)
{
    char text[200] = "";
    tv_traffic_options options = {.dir = dir, .shard_count = SHARDS, .now_minute = minute};
    tv_traffic *traffic = tv_traffic_open(&options, text, sizeof text);

    if (traffic == NULL)
        CHECK_FAIL("%s", text);
    return traffic;
}

static void count(tv_traffic *traffic, tv_traffic_table *table, int shard, tv_slice key,
                  tv_traffic_measure measure, uint64_t n)
{
    tv_epoch *epoch = tv_traffic_epoch(traffic, shard);

    tv_epoch_enter(epoch);
    tv_traffic_bucket_add(tv_traffic_find(table, shard, key), measure, n);
    tv_epoch_leave(epoch);
}

static tv_view read_view(tv_traffic *traffic, int64_t table, tv_grain grain, uint32_t from,
                         uint32_t to, size_t buckets)
{
    tv_view_query query = {.account = TV_LIT("account"),
                           .table_id = table,
                           .grain = grain,
                           .from = from,
                           .to = to,
                           .buckets_max = buckets,
                           .measures = (1u << TV_MEASURES) - 1};
    tv_view view;

    CHECK_OK(tv_traffic_read(traffic, &query, &view));
    return view;
}

static uint64_t slot_sum(const tv_view *view, size_t slot, tv_traffic_measure measure)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < view->axis->count; i++)
        sum += tv_view_cell(view, measure, slot, i);
    return sum;
}

/* The model: every count of every minute. */
enum { MINUTES = 200 };
static tv_counts model[TABLES][MINUTES];

/* Traffic of a minute, with six steps in it: a hot key, a uniform part and an append. */
static void run_minute(tv_traffic *traffic, tv_traffic_table *const *tables, uint32_t minute)
{
    for (int part = 0; part < 6; part++) {
        for (int i = 0; i < 300; i++) {
            int table = (int)(t_random() % TABLES), kind = (int)(t_random() % 3);
            tv_traffic_measure measure = (tv_traffic_measure)(t_random() % TV_MEASURES);
            uint64_t n = measure == TV_MEASURE_BYTES ? t_random() % 100000 : 1 + t_random() % 3;
            char key[64];

            if (kind == 0)
                snprintf(key, sizeof key, "hot\x01key");
            else if (kind == 1)
                snprintf(key, sizeof key, "u%05llu\x01r", (unsigned long long)(t_random() % 99999));
            else
                snprintf(key, sizeof key, "t\x01%08u", minute * 2000 + (unsigned)(part * 300 + i));
            count(traffic, tables[table], (int)(t_random() % SHARDS), tv_slice_of(key), measure, n);
            tv_traffic_sample(traffic, tables[table], tv_slice_of(key), 1);
            model[table][minute].by[measure] += n;
        }
        if (part < 5)
            tv_traffic_step(traffic);
    }
    CHECK_OK(tv_traffic_close_minute(traffic, START + minute));
}

static void check_layer(tv_traffic *traffic, tv_grain grain, uint32_t minutes, size_t buckets)
{
    for (int table = 0; table < TABLES; table++) {
        tv_view view = read_view(traffic, table + 1, grain, START, START + minutes, buckets);

        CHECK_INT(view.slots, minutes / (uint32_t)grain);
        CHECK(view.axis->count <= buckets);
        for (size_t slot = 0; slot < view.slots; slot++) {
            tv_counts want = {{0}};

            CHECK(view.is_recorded[slot]);
            for (uint32_t m = 0; m < (uint32_t)grain; m++)
                tv_counts_add(&want, &model[table][slot * (uint32_t)grain + m]);
            for (int k = 0; k < TV_MEASURES; k++)
                CHECK_INT(slot_sum(&view, slot, (tv_traffic_measure)k), want.by[k]);
        }
        tv_view_done(&view);
    }
}

TEST(all_layers_have_the_sums_of_an_exact_count_across_restarts)
{
    static const size_t buckets[] = {1, 2, 17, 512, 1536};
    tv_traffic *traffic;

    t_random_seed(31);
    memset(model, 0, sizeof model);
    make_folder();
    for (uint32_t minute = 0; minute < 180;) {
        tv_traffic_table *tables[TABLES];

        traffic = open_at(folder, START + minute);
        for (int i = 0; i < TABLES; i++)
            tables[i] = tv_traffic_table_get(traffic, TV_LIT("account"), i + 1);
        for (int n = 0; n < 43 && minute < 180; n++, minute++)
            run_minute(traffic, tables, minute);
        CHECK(tv_traffic_read_usage(traffic).buckets > TABLES * 8);
        for (int i = 0; i < TABLES; i++)
            tv_traffic_table_unref(tables[i]);
        if (minute < 180)
            tv_traffic_free(traffic);
    }
    for (size_t i = 0; i < sizeof buckets / sizeof buckets[0]; i++) {
        check_layer(traffic, TV_GRAIN_MINUTE, 180, buckets[i]);
        check_layer(traffic, TV_GRAIN_TEN, 180, buckets[i]);
        check_layer(traffic, TV_GRAIN_HOUR, 180, buckets[i]);
    }
    CHECK_INT(tv_traffic_read_usage(traffic).damaged_bytes, 0);
    CHECK_INT(tv_traffic_read_usage(traffic).columns, 180 + 18 + 3);
    tv_traffic_free(traffic);
    remove_folder();
}

TEST(a_hot_key_has_a_bucket_of_its_own_in_the_view)
{
    tv_traffic *traffic = open_at(NULL, START);
    tv_traffic_table *table = tv_traffic_table_get(traffic, TV_LIT("account"), 1);
    char key[32];

    t_random_seed(32);
    for (uint32_t minute = 0; minute < 10; minute++) {
        for (int i = 0; i < 2000; i++) {
            snprintf(key, sizeof key, "%05llu\x01r", (unsigned long long)(t_random() % 99999));
            if (i % 2)
                snprintf(key, sizeof key, "42\x01hot");
            count(traffic, table, 0, tv_slice_of(key), TV_MEASURE_READS, 1);
            tv_traffic_sample(traffic, table, tv_slice_of(key), 1);
        }
        CHECK_OK(tv_traffic_close_minute(traffic, START + minute));
    }

    tv_view view = read_view(traffic, 1, TV_GRAIN_MINUTE, START, START + 10, 100);
    size_t at = tv_axis_find(view.axis, TV_LIT("42\x01hot"));

    CHECK(tv_axis_is_one_key(view.axis, at));
    for (size_t slot = 2; slot < 10; slot++)
        CHECK_INT(tv_view_cell(&view, TV_MEASURE_READS, slot, at), 1000);
    tv_view_done(&view);
    tv_traffic_table_unref(table);
    tv_traffic_free(traffic);
}

TEST(a_range_of_keys_has_what_lies_in_it)
{
    tv_traffic *traffic = open_at(NULL, START);
    tv_traffic_table *table = tv_traffic_table_get(traffic, TV_LIT("account"), 1);
    tv_view_query query = {.account = TV_LIT("account"),
                           .table_id = 1,
                           .grain = TV_GRAIN_MINUTE,
                           .from = START + 20,
                           .to = START + 21,
                           .buckets_max = 64,
                           .measures = 1 << TV_MEASURE_WRITES};
    tv_view view;
    char key[32];
    uint64_t sum = 0;

    t_random_seed(33);
    for (uint32_t minute = 0; minute < 21; minute++) {
        for (int i = 0; i < 1000; i++) {
            snprintf(key, sizeof key, "%c%03d\x01r", 'a' + i % 4, i);
            count(traffic, table, 0, tv_slice_of(key), TV_MEASURE_WRITES, 1);
            tv_traffic_sample(traffic, table, tv_slice_of(key), 1);
        }
        CHECK_OK(tv_traffic_close_minute(traffic, START + minute));
    }

    /* Whole buckets between two bounds that exist: nothing is divided, so all is exact. */
    tv_view all = read_view(traffic, 1, TV_GRAIN_MINUTE, START + 20, START + 21, 64);

    CHECK(all.axis->count > 16);
    query.low = all.axis->bounds[4];
    query.high = all.axis->bounds[11];
    CHECK_OK(tv_traffic_read(traffic, &query, &view));
    CHECK(view.cells[TV_MEASURE_READS] == NULL);
    for (size_t i = 4; i < 11; i++)
        sum += tv_view_cell(&all, TV_MEASURE_WRITES, 0, i);
    CHECK(sum > 0 && sum < 1000);
    CHECK_INT(slot_sum(&view, 0, TV_MEASURE_WRITES), sum);
    tv_view_done(&view);

    /* And a key that was never a bound has a part of its bucket. */
    query.low = TV_LIT("bbb");
    query.high = TV_LIT("");
    CHECK_OK(tv_traffic_read(traffic, &query, &view));
    CHECK(slot_sum(&view, 0, TV_MEASURE_WRITES) > 400);
    CHECK(slot_sum(&view, 0, TV_MEASURE_WRITES) < 600);
    tv_view_done(&view);
    tv_view_done(&all);
    tv_traffic_table_unref(table);
    tv_traffic_free(traffic);
}

TEST(times_without_columns_are_known_as_such)
{
    tv_traffic *traffic = open_at(NULL, START);
    tv_traffic_table *table = tv_traffic_table_get(traffic, TV_LIT("account"), 1);

    count(traffic, table, 0, TV_LIT("k"), TV_MEASURE_READS, 5);
    CHECK_OK(tv_traffic_close_minute(traffic, START + 3));
    count(traffic, table, 0, TV_LIT("k"), TV_MEASURE_READS, 7);
    /* The same minute again: its counts go to the next, which is earlier by a clock set back. */
    CHECK_OK(tv_traffic_close_minute(traffic, START + 3));
    CHECK_OK(tv_traffic_close_minute(traffic, START + 1));
    CHECK_OK(tv_traffic_close_minute(traffic, START + 5));

    tv_view view = read_view(traffic, 1, TV_GRAIN_MINUTE, START, START + 8, 10);
    static const bool recorded[8] = {[1] = true, [3] = true, [5] = true};

    CHECK_INT(view.slots, 8);
    for (int i = 0; i < 8; i++) {
        CHECK_INT(view.is_recorded[i], recorded[i]);
        CHECK_INT(slot_sum(&view, (size_t)i, TV_MEASURE_READS), i == 3 ? 5 : i == 1 ? 7 : 0);
    }
    tv_view_done(&view);

    /* A table nobody asked for, and times of which nothing is left. */
    view = read_view(traffic, 2, TV_GRAIN_MINUTE, START, START + 8, 10);
    CHECK_INT(view.axis->count, 1);
    CHECK_INT(slot_sum(&view, 3, TV_MEASURE_READS), 0);
    tv_view_done(&view);
    view = read_view(traffic, 1, TV_GRAIN_MINUTE, 0, UINT32_MAX, 10);
    CHECK_INT(view.slots, TV_VIEW_SLOTS_MAX);
    tv_view_done(&view);
    view = read_view(traffic, 1, TV_GRAIN_MINUTE, START + 8, START, 10);
    CHECK_INT(view.slots, 0);
    tv_view_done(&view);
    tv_traffic_table_unref(table);
    tv_traffic_free(traffic);
}

TEST(a_slot_whose_last_minute_is_missing_is_made_later)
{
    tv_traffic *traffic = open_at(NULL, START);
    tv_traffic_table *table = tv_traffic_table_get(traffic, TV_LIT("account"), 1);

    count(traffic, table, 0, TV_LIT("k"), TV_MEASURE_READS, 5);
    CHECK_OK(tv_traffic_close_minute(traffic, START + 3));
    count(traffic, table, 0, TV_LIT("k"), TV_MEASURE_READS, 6);
    CHECK_OK(tv_traffic_close_minute(traffic, START + 125));

    tv_view view = read_view(traffic, 1, TV_GRAIN_TEN, START, START + 10, 10);

    CHECK_INT(slot_sum(&view, 0, TV_MEASURE_READS), 5);
    tv_view_done(&view);
    view = read_view(traffic, 1, TV_GRAIN_HOUR, START, START + 60, 10);
    CHECK_INT(slot_sum(&view, 0, TV_MEASURE_READS), 5);
    tv_view_done(&view);
    tv_traffic_table_unref(table);
    tv_traffic_free(traffic);
}

static bool second_is_dropped(void *ctx, tv_slice account, int64_t id)
{
    (void)ctx;
    return tv_slice_eq(account, TV_LIT("account")) && id == 2;
}

TEST(dropped_tables_are_left_out_of_longer_columns)
{
    tv_traffic_options options = {
        .shard_count = 1, .now_minute = START, .is_dropped = second_is_dropped};
    tv_traffic *traffic = tv_traffic_open(&options, NULL, 0);
    tv_traffic_table *tables[3];

    for (int i = 0; i < 3; i++) {
        tables[i] = tv_traffic_table_get(traffic, TV_LIT("account"), i + 1);
        count(traffic, tables[i], 0, TV_LIT("k"), TV_MEASURE_READS, 5);
    }
    CHECK_OK(tv_traffic_close_minute(traffic, START + 9));
    for (int i = 0; i < 3; i++) {
        tv_view view = read_view(traffic, i + 1, TV_GRAIN_TEN, START, START + 10, 10);

        CHECK_INT(slot_sum(&view, 0, TV_MEASURE_READS), i == 1 ? 0 : 5);
        tv_view_done(&view);
        tv_traffic_table_unref(tables[i]);
    }
    tv_traffic_free(traffic);
}

TEST(a_table_that_nobody_counts_is_forgotten_after_its_last_column)
{
    tv_traffic *traffic = open_at(NULL, START);
    tv_traffic_table *table = tv_traffic_table_get(traffic, TV_LIT("account"), 1);

    CHECK(tv_traffic_table_get(traffic, TV_LIT("account"), 1) == table);
    tv_traffic_table_unref(table);
    count(traffic, table, 0, TV_LIT("k"), TV_MEASURE_READS, 5);
    tv_traffic_table_unref(table);
    CHECK_INT(tv_traffic_read_usage(traffic).tables, 1);
    CHECK_OK(tv_traffic_close_minute(traffic, START));
    CHECK_INT(tv_traffic_read_usage(traffic).tables, 0);
    CHECK_INT(tv_traffic_read_usage(traffic).buckets, 0);

    tv_view view = read_view(traffic, 1, TV_GRAIN_MINUTE, START, START + 1, 10);

    CHECK_INT(slot_sum(&view, 0, TV_MEASURE_READS), 5);
    tv_view_done(&view);
    tv_traffic_free(traffic);
}

/* The paths of all files of a layer, sorted. */
static int files_of(const char *layer, char names[16][400])
{
    char dir_name[80];
    struct dirent *entry;
    int count_of = 0;
    DIR *dir;

    snprintf(dir_name, sizeof dir_name, "%s/watch", folder);
    dir = opendir(dir_name);
    CHECK(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, layer, strlen(layer)) == 0)
            snprintf(names[count_of++], 400, "%s/%s", dir_name, entry->d_name);
    }
    closedir(dir);
    return count_of;
}

TEST(files_are_few_private_and_go_with_their_time)
{
    char names[16][400];
    tv_traffic *traffic;
    tv_traffic_table *table;
    struct stat st;

    make_folder();
    traffic = open_at(folder, START);
    table = tv_traffic_table_get(traffic, TV_LIT("account"), 1);
    /* 40 days, a column every 10 minutes. */
    for (uint32_t minute = 9; minute < 40 * 1440; minute += 10) {
        count(traffic, table, 0, TV_LIT("k"), TV_MEASURE_READS, 1);
        CHECK_OK(tv_traffic_close_minute(traffic, START + minute));
    }
    CHECK_INT(files_of("minute.", names), 7);
    CHECK_INT(files_of("ten.", names), 5);
    CHECK_INT(files_of("hour.", names), 5);
    CHECK(stat(names[0], &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0600);

    tv_view view = read_view(traffic, 1, TV_GRAIN_HOUR, START, START + 40 * 1440, 10);

    CHECK_INT(view.slots, 672);
    for (size_t i = 0; i < 672; i++)
        CHECK_INT(slot_sum(&view, i, TV_MEASURE_READS), 6);
    tv_view_done(&view);
    view = read_view(traffic, 1, TV_GRAIN_TEN, START + 36 * 1440, START + 40 * 1440, 10);
    CHECK_INT(view.slots, 576);
    for (size_t i = 0; i < 576; i++)
        CHECK_INT(slot_sum(&view, i, TV_MEASURE_READS), 1);
    tv_view_done(&view);
    tv_traffic_table_unref(table);
    tv_traffic_free(traffic);

    /* After a long pause, or what looks like one, the old ones go as new ones come. */
    traffic = open_at(folder, START + 100 * 1440);
    for (uint32_t hour = 0; hour < 7; hour++) {
        CHECK_INT(files_of("minute.", names), 7);
        CHECK_OK(tv_traffic_close_minute(traffic, START + 100 * 1440 + 60 * hour));
        view = read_view(traffic, 1, TV_GRAIN_MINUTE, START, START + 40 * 1440, 10);
        CHECK_INT(view.slots, 672);
        CHECK_INT(slot_sum(&view, 671, TV_MEASURE_READS), hour < 6);
        tv_view_done(&view);
    }
    tv_traffic_free(traffic);
    remove_folder();
}

TEST(a_crash_at_any_byte_loses_only_the_torn_column)
{
    char names[16][400], saved[65536];
    off_t ends[6];
    tv_traffic *traffic;
    tv_traffic_table *table;
    struct stat st;
    ssize_t len;
    int fd;

    t_random_seed(34);
    make_folder();
    traffic = open_at(folder, START);
    table = tv_traffic_table_get(traffic, TV_LIT("account"), 1);
    for (uint32_t minute = 0; minute < 6; minute++) {
        char key[16];

        for (int i = 0; i < 400; i++) {
            snprintf(key, sizeof key, "%04d\x01", i * 7 % 1000);
            count(traffic, table, 0, tv_slice_of(key), TV_MEASURE_READS, 1);
            tv_traffic_sample(traffic, table, tv_slice_of(key), 1);
        }
        CHECK_OK(tv_traffic_close_minute(traffic, START + minute));
        CHECK_INT(files_of("minute.", names), 1);
        CHECK(stat(names[0], &st) == 0);
        ends[minute] = st.st_size;
    }
    tv_traffic_table_unref(table);
    tv_traffic_free(traffic);
    fd = open(names[0], O_RDWR);
    len = pread(fd, saved, sizeof saved, 0);
    CHECK_INT(len, ends[5]);

    for (off_t cut = 0; cut <= len; cut += cut + 40 < len ? 1 + (off_t)(t_random() % 7) : 1) {
        size_t whole = 0;

        CHECK(ftruncate(fd, cut) == 0);
        CHECK_INT(pwrite(fd, saved, (size_t)cut, 0), cut);
        while (whole < 6 && ends[whole] <= cut)
            whole++;
        traffic = open_at(folder, START + 6);
        CHECK_INT(tv_traffic_read_usage(traffic).columns, whole);
        CHECK_INT(tv_traffic_read_usage(traffic).damaged_bytes,
                  cut - (whole ? ends[whole - 1] : 0));

        /* And it goes on behind them. */
        table = tv_traffic_table_get(traffic, TV_LIT("account"), 1);
        count(traffic, table, 0, TV_LIT("k"), TV_MEASURE_READS, 77);
        CHECK_OK(tv_traffic_close_minute(traffic, START + 7));

        tv_view view = read_view(traffic, 1, TV_GRAIN_MINUTE, START, START + 8, 100);

        for (size_t i = 0; i < 6; i++)
            CHECK_INT(slot_sum(&view, i, TV_MEASURE_READS), i < whole ? 400 : 0);
        CHECK_INT(slot_sum(&view, 7, TV_MEASURE_READS), 77);
        tv_view_done(&view);
        tv_traffic_table_unref(table);
        tv_traffic_free(traffic);
    }
    close(fd);
    remove_folder();
}

TEST(files_that_are_something_else_do_no_harm)
{
    static const struct {
        const char *name;
        tv_slice bytes;
    } rows[] = {{"minute.495000", {"TVC1\xff\xff\xff\xff", 8}},
                {"ten.20625", {"nothing", 7}},
                {"hour.x", {"a name that is none", 19}},
                {"notes", {"of somebody", 11}},
                {"minute.494999", {"", 0}}};
    tv_traffic *traffic;

    make_folder();
    tv_traffic_free(open_at(folder, START));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[300];
        FILE *file;

        snprintf(path, sizeof path, "%s/watch/%s", folder, rows[i].name);
        file = fopen(path, "w");
        CHECK(file && fwrite(rows[i].bytes.data, 1, rows[i].bytes.len, file) == rows[i].bytes.len);
        fclose(file);
    }
    traffic = open_at(folder, START);
    CHECK_INT(tv_traffic_read_usage(traffic).columns, 0);
    CHECK_INT(tv_traffic_read_usage(traffic).damaged_bytes, 15);
    CHECK_OK(tv_traffic_close_minute(traffic, START));
    CHECK_INT(tv_traffic_read_usage(traffic).columns, 1);
    CHECK_OK(tv_traffic_sync(traffic));
    tv_traffic_free(traffic);
    remove_folder();
}

TEST(without_a_folder_it_is_kept_in_memory_and_says_so)
{
    char text[300];
    tv_traffic_options options = {
        .dir = "/nonexistent/tavola", .shard_count = 1, .now_minute = START};
    tv_traffic *traffic = tv_traffic_open(&options, text, sizeof text);

    CHECK(strstr(text, "/nonexistent/tavola/watch"));
    CHECK_OK(tv_traffic_close_minute(traffic, START));
    CHECK_INT(tv_traffic_read_usage(traffic).columns, 1);
    tv_traffic_free(traffic);
}

/* One read of one table in this minute, by a server that starts and stops. */
static void record_read(uint32_t minute)
{
    tv_traffic *traffic = open_at(folder, minute);
    tv_traffic_table *table = tv_traffic_table_get(traffic, TV_LIT("account"), 1);

    count(traffic, table, 0, TV_LIT("k"), TV_MEASURE_READS, 1);
    CHECK_OK(tv_traffic_close_minute(traffic, minute));
    tv_traffic_table_unref(table);
    tv_traffic_free(traffic);
}

static uint64_t sum_of_reads(tv_grain grain, uint32_t from, uint32_t to)
{
    tv_traffic *traffic = open_at(folder, to);
    tv_view view = read_view(traffic, 1, grain, from, to, 10);
    uint64_t sum = 0;

    for (size_t i = 0; i < view.slots; i++)
        sum += slot_sum(&view, i, TV_MEASURE_READS);
    tv_view_done(&view);
    tv_traffic_free(traffic);
    return sum;
}

/* The last bucket of each column reaches to the end of the keys, where much is written later. */
TEST(what_is_appended_is_seen_where_it_was_written)
{
    enum { SLOTS = 40, EACH = 120 };
    tv_traffic *traffic = open_at(NULL, START);
    tv_traffic_table *table = tv_traffic_table_get(traffic, TV_LIT("account"), 1);

    for (int i = 0; i < SLOTS * EACH; i++) {
        char key[16];

        snprintf(key, sizeof key, "log\x01%06d", i);
        count(traffic, table, 0, tv_slice_of(key), TV_MEASURE_WRITES, 1);
        tv_traffic_sample(traffic, table, tv_slice_of(key), 1);
        if (i % (EACH / 6) == EACH / 6 - 1)
            tv_traffic_step(traffic);
        if (i % EACH == EACH - 1)
            CHECK_OK(tv_traffic_close_minute(traffic, START + (uint32_t)(i / EACH)));
    }

    tv_view view = read_view(traffic, 1, TV_GRAIN_MINUTE, START, START + SLOTS, 1024);

    for (size_t slot = 0; slot + 2 < SLOTS; slot++) {
        char end[16];
        uint64_t beyond = 0;
        size_t first;

        snprintf(end, sizeof end, "log\x01%06zu", (slot + 2) * EACH);
        first = tv_axis_find(view.axis, tv_slice_of(end)) + 1;
        CHECK_INT(slot_sum(&view, slot, TV_MEASURE_WRITES), EACH);
        for (size_t i = first; i < view.axis->count; i++)
            beyond += tv_view_cell(&view, TV_MEASURE_WRITES, slot, i);
        CHECK(beyond <= EACH / 20);
    }
    tv_view_done(&view);
    tv_traffic_table_unref(table);
    tv_traffic_free(traffic);
}

TEST(a_view_that_is_fitted_begins_with_its_first_column)
{
    static const struct {
        const char *what;
        uint32_t from, to, first, slots; /* minutes after the start */
    } rows[] = {
        {"before them and after", 0, 360, 100, 260},
        {"up to the last of them", 0, 120, 100, 20},
        {"ten at least", 0, 104, 94, 10},
        {"from the first of them", 100, 120, 100, 20},
        {"from a later one", 103, 120, 103, 17},
        {"without any", 200, 240, 200, 40},
        {"fewer than ten", 98, 103, 98, 5},
    };

    make_folder();
    for (uint32_t minute = 100; minute < 120; minute++)
        record_read(START + minute);

    tv_traffic *traffic = open_at(folder, START + 120);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tv_view_query query = {.account = TV_LIT("account"),
                               .table_id = 1,
                               .grain = TV_GRAIN_MINUTE,
                               .from = START + rows[i].from,
                               .to = START + rows[i].to,
                               .is_fitted = true,
                               .buckets_max = 10,
                               .measures = 1u << TV_MEASURE_READS};
        tv_view view;

        t_row = rows[i].what;
        CHECK_OK(tv_traffic_read(traffic, &query, &view));
        CHECK_INT(view.from, START + rows[i].first);
        CHECK_INT(view.slots, rows[i].slots);
        for (size_t slot = 0; slot < view.slots; slot++) {
            uint32_t minute = rows[i].first + (uint32_t)slot;

            CHECK_INT(view.is_recorded[slot], minute >= 100 && minute < 120);
            CHECK_INT(slot_sum(&view, slot, TV_MEASURE_READS), view.is_recorded[slot]);
        }
        tv_view_done(&view);
    }
    tv_traffic_free(traffic);
    remove_folder();
}

TEST(a_clock_that_was_wrong_for_a_while_costs_no_more_than_that_while)
{
    const uint32_t day = 24 * 60;
    static const int32_t wrongs[] = {40 * 24 * 60, -40 * 24 * 60, 5 * 60, 35};

    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        uint32_t wrong = START + (uint32_t)wrongs[i];

        make_folder();
        for (uint32_t minute = START; minute < START + 30; minute++)
            record_read(minute);
        record_read(wrong);
        CHECK_INT(sum_of_reads(TV_GRAIN_MINUTE, START, START + 30), 30);
        /* Ten of them a second time: those are not closed, and lost with each stop. */
        for (uint32_t minute = START + 20; minute < START + 70; minute++) {
            if (minute != wrong)
                record_read(minute);
        }
        CHECK_INT(sum_of_reads(TV_GRAIN_MINUTE, START, START + 70), 70);
        CHECK_INT(sum_of_reads(TV_GRAIN_TEN, START, START + 70), 70);
        /* The hour in which the clock was set forward ended with that. */
        CHECK_INT(sum_of_reads(TV_GRAIN_HOUR, START, START + 60), wrongs[i] >= 60 ? 30 : 60);
        CHECK_INT(sum_of_reads(TV_GRAIN_TEN, START + 2 * day, START + 3 * day), 0);
        remove_folder();
    }
}

TEST(memory_and_disk_stay_within_their_bounds_at_the_servers_limit)
{
    enum { MANY = 200 };
    tv_traffic_options options = {.shard_count = 8, .now_minute = START};
    tv_traffic *traffic = tv_traffic_open(&options, NULL, 0);
    tv_traffic_table *tables[MANY];
    uint64_t before = 0, minute_bytes = 0;

    t_random_seed(35);
    for (int i = 0; i < MANY; i++)
        tables[i] = tv_traffic_table_get(traffic, TV_LIT("account"), i + 1);
    for (uint32_t minute = 0; minute < 20; minute++) {
        for (int i = 0; i < MANY * 600; i++) {
            int table = i % MANY;
            char key[48];

            snprintf(key, sizeof key, "customer-%03d-%06llu\x01order", table,
                     (unsigned long long)(t_random() % 999999));
            count(traffic, tables[table], i % 8, tv_slice_of(key), TV_MEASURE_READS, 100);
            tv_traffic_sample(traffic, tables[table], tv_slice_of(key), 100);
        }
        CHECK_OK(tv_traffic_close_minute(traffic, START + minute));

        tv_traffic_usage usage = tv_traffic_read_usage(traffic);

        CHECK(usage.buckets <= TV_TRAFFIC_POOL_MAX);
        CHECK(usage.memory_bytes < 20u << 20);
        minute_bytes = usage.disk_bytes - before;
        before = usage.disk_bytes;
    }

    tv_traffic_usage usage = tv_traffic_read_usage(traffic);

    print_message("# %zu buckets, %zu bytes of memory, %llu bytes of the last minute\n",
                  usage.buckets, usage.memory_bytes, (unsigned long long)minute_bytes);
    CHECK(usage.buckets > TV_TRAFFIC_POOL_MAX * 9 / 10);
    CHECK(minute_bytes < 2u << 20);
    for (int i = 0; i < MANY; i++)
        tv_traffic_table_unref(tables[i]);
    tv_traffic_free(traffic);
}

TEST(a_full_pool_makes_room_for_new_tables_as_long_as_it_can)
{
    tv_traffic_options options = {.shard_count = 1, .now_minute = START, .pool_max = 20};
    tv_traffic *traffic = tv_traffic_open(&options, NULL, 0);
    tv_traffic_table *first = tv_traffic_table_get(traffic, TV_LIT("account"), 1), *other;
    char key[16];
    int64_t id = 2;

    t_random_seed(36);
    for (uint32_t minute = 0; minute < 12; minute++) {
        for (int i = 0; i < 3000; i++) {
            snprintf(key, sizeof key, "%04llu\x01", (unsigned long long)(t_random() % 9999));
            count(traffic, first, 0, tv_slice_of(key), TV_MEASURE_READS, 1);
            tv_traffic_sample(traffic, first, tv_slice_of(key), 1);
        }
        CHECK_OK(tv_traffic_close_minute(traffic, START + minute));
    }
    CHECK(tv_traffic_read_usage(traffic).buckets > 15);
    for (uint32_t minute = 12; minute < 20; minute++) {
        for (int i = 0; i < 2; i++) {
            other = tv_traffic_table_get(traffic, TV_LIT("account"), id++);
            CHECK(other);
        }
        CHECK(tv_traffic_read_usage(traffic).buckets <= 20);
    }
    while (id < 100 && (other = tv_traffic_table_get(traffic, TV_LIT("account"), id)) != NULL)
        id++;
    CHECK(id <= 21); /* each has one, and there are no more */
    CHECK(other == NULL);
    CHECK_INT(tv_traffic_read_usage(traffic).tables, id - 1);
    tv_traffic_free(traffic);
}

/* Threads that count while maps are replaced under them. */
typedef struct counter {
    tv_traffic *traffic;
    tv_traffic_table *table;
    int shard;
    uint64_t state, total;
    atomic_bool *must_stop;
} counter;

static void *count_on(void *ctx)
{
    counter *c = ctx;
    tv_epoch *epoch = tv_traffic_epoch(c->traffic, c->shard);
    char key[16];

    while (!atomic_load(c->must_stop)) {
        c->state = c->state * 6364136223846793005u + 1442695040888963407u;
        snprintf(key, sizeof key, "%05u\x01r", (unsigned)(c->state >> 40) % 99999);
        tv_epoch_enter(epoch);
        for (int i = 0; i < 8; i++)
            tv_traffic_bucket_add(tv_traffic_find(c->table, c->shard, tv_slice_of(key)),
                                  TV_MEASURE_READS, 1);
        tv_epoch_leave(epoch);
        c->total += 8;
    }
    return NULL;
}

TEST(nothing_is_lost_while_maps_are_replaced_under_the_threads_that_count)
{
    tv_traffic *traffic = open_at(NULL, START);
    tv_traffic_table *table = tv_traffic_table_get(traffic, TV_LIT("account"), 1);
    atomic_bool must_stop = false;
    counter counters[SHARDS];
    pthread_t threads[SHARDS];
    uint64_t total = 0, got = 0;
    char key[16];

    t_random_seed(37);
    for (int i = 0; i < SHARDS; i++) {
        counters[i] = (counter){traffic, table, i, t_random(), 0, &must_stop};
        pthread_create(&threads[i], NULL, count_on, &counters[i]);
    }
    for (uint32_t minute = 0; minute < 50; minute++) {
        for (int part = 0; part < 6; part++) {
            for (int i = 0; i < 500; i++) {
                snprintf(key, sizeof key, "%05llu\x01r", (unsigned long long)(t_random() % 99999));
                tv_traffic_sample(traffic, table, tv_slice_of(key), 1);
            }
            tv_traffic_step(traffic);
        }
        CHECK_OK(tv_traffic_close_minute(traffic, START + minute));
    }
    atomic_store(&must_stop, true);
    for (int i = 0; i < SHARDS; i++) {
        pthread_join(threads[i], NULL);
        total += counters[i].total;
    }
    CHECK_OK(tv_traffic_close_minute(traffic, START + 50));

    tv_view view = read_view(traffic, 1, TV_GRAIN_MINUTE, START, START + 51, 64);

    for (size_t slot = 0; slot < view.slots; slot++)
        got += slot_sum(&view, slot, TV_MEASURE_READS);
    CHECK_INT(got, total);
    tv_view_done(&view);
    tv_traffic_table_unref(table);
    tv_traffic_free(traffic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_layers_have_the_sums_of_an_exact_count_across_restarts),
        cmocka_unit_test(a_hot_key_has_a_bucket_of_its_own_in_the_view),
        cmocka_unit_test(a_range_of_keys_has_what_lies_in_it),
        cmocka_unit_test(times_without_columns_are_known_as_such),
        cmocka_unit_test(a_slot_whose_last_minute_is_missing_is_made_later),
        cmocka_unit_test(dropped_tables_are_left_out_of_longer_columns),
        cmocka_unit_test(a_table_that_nobody_counts_is_forgotten_after_its_last_column),
        cmocka_unit_test(files_are_few_private_and_go_with_their_time),
        cmocka_unit_test(a_crash_at_any_byte_loses_only_the_torn_column),
        cmocka_unit_test(files_that_are_something_else_do_no_harm),
        cmocka_unit_test(without_a_folder_it_is_kept_in_memory_and_says_so),
        cmocka_unit_test(what_is_appended_is_seen_where_it_was_written),
        cmocka_unit_test(a_view_that_is_fitted_begins_with_its_first_column),
        cmocka_unit_test(a_clock_that_was_wrong_for_a_while_costs_no_more_than_that_while),
        cmocka_unit_test(memory_and_disk_stay_within_their_bounds_at_the_servers_limit),
        cmocka_unit_test(a_full_pool_makes_room_for_new_tables_as_long_as_it_can),
        cmocka_unit_test(nothing_is_lost_while_maps_are_replaced_under_the_threads_that_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
