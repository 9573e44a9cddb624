/* Columns: what is written is read again, and damage costs no more than what it hit. */
#include <string.h>

#include "check.h"
#include "insight/traffic/gather.h"
#include "random.h"

static tv_axis *axis_of(int count)
{
    static char texts[512][24];
    tv_slice bounds[512] = {TV_LIT("")};

    for (int i = 1; i < count; i++) {
        snprintf(texts[i], sizeof texts[i], "device-%05d", i * 37);
        bounds[i] = tv_slice_of(texts[i]);
    }
    return tv_axis_new(bounds, (size_t)count);
}

static uint64_t count_of(uint32_t minute, int64_t table, size_t bucket, int measure)
{
    uint64_t mixed = (minute * 31 + (uint64_t)table * 7 + bucket * 3 + (uint64_t)measure) *
                     UINT64_C(0x9E3779B97F4A7C15);

    return mixed % 3 ? 0 : mixed >> (mixed % 60);
}

static tv_counts *counts_of(uint32_t minute, int64_t table, size_t buckets)
{
    tv_counts *counts = tv_calloc(buckets, sizeof *counts);

    for (size_t i = 0; i < buckets; i++) {
        for (int k = 0; k < TV_MEASURES; k++)
            counts[i].by[k] = count_of(minute, table, i, k);
    }
    return counts;
}

/* Three tables; the second has other bounds every fourth minute, and leaves them out between. */
static void add_column(tv_buf *file, uint32_t minute)
{
    tv_column_writer writer = {0};
    tv_column_head head = {.minute = minute, .grain = 1, .flags = minute % 2};

    for (int64_t id = 1; id <= 3; id++) {
        int buckets = id == 1 ? 1 : id == 2 ? 40 + (int)(minute / 4) : 512;
        tv_axis *axis = axis_of(buckets);
        tv_counts *counts = counts_of(minute, id, axis->count);

        tv_column_add(&writer, TV_LIT("account"), id, axis, minute % 4 == 0, counts);
        free(counts);
        tv_axis_unref(axis);
    }
    tv_column_finish(&writer, &head, file);
    tv_column_writer_done(&writer);
}

static tv_buf file_of(uint32_t columns, size_t *ends)
{
    tv_buf file = TV_BUF_EMPTY;

    for (uint32_t i = 0; i < columns; i++) {
        add_column(&file, i);
        if (ends)
            ends[i] = file.len;
    }
    return file;
}

static void check_pieces(const tv_traffic_gather *gather)
{
    for (size_t i = 0; i < gather->count; i++) {
        const tv_gathered *table = &gather->tables[i];

        for (size_t p = 0; p < table->count; p++) {
            const tv_piece *piece = &table->pieces[p];
            tv_axis *axis = axis_of((int)piece->axis->count);

            CHECK(tv_axis_eq(axis, piece->axis));
            if (table->id == 2)
                CHECK_INT(axis->count, 40 + piece->minute / 4);
            for (size_t b = 0; b < axis->count; b++) {
                for (int k = 0; k < TV_MEASURES; k++)
                    CHECK(piece->counts[b].by[k] == count_of(piece->minute, table->id, b, k));
            }
            tv_axis_unref(axis);
        }
    }
}

TEST(what_is_written_is_read)
{
    tv_buf file = file_of(12, NULL);
    tv_traffic_gather gather = {.from = 2, .to = 11};

    tv_traffic_gather_file(&gather, tv_buf_slice(&file));
    CHECK_INT(gather.count, 3);
    for (int i = 0; i < 3; i++)
        CHECK_INT(gather.tables[i].count, 9);
    check_pieces(&gather);
    tv_traffic_gather_done(&gather);

    gather = (tv_traffic_gather){.account = TV_LIT("account"), .table_id = 2, .to = 100};
    tv_traffic_gather_file(&gather, tv_buf_slice(&file));
    CHECK_INT(gather.count, 1);
    CHECK_INT(gather.tables[0].count, 12);
    CHECK_INT(gather.flags, 1);
    tv_traffic_gather_done(&gather);

    gather = (tv_traffic_gather){.account = TV_LIT("other"), .table_id = 2, .to = 100};
    tv_traffic_gather_file(&gather, tv_buf_slice(&file));
    CHECK_INT(gather.count, 0);
    tv_traffic_gather_done(&gather);
    tv_buf_done(&file);
}

TEST(a_file_that_ends_at_any_byte_loses_only_the_torn_column)
{
    size_t ends[5];
    tv_buf file = file_of(5, ends);

    for (size_t len = 0; len <= file.len; len++) {
        size_t at = 0, whole = 0;
        tv_column column;
        int count = 0;

        while (whole < 5 && ends[whole] <= len)
            whole++;
        while (tv_column_next(tv_slice_take(tv_buf_slice(&file), len), &at, &column)) {
            CHECK_INT(column.gap_bytes, 0);
            count++;
        }
        CHECK_INT(count, whole);
        CHECK_INT(at, whole ? ends[whole - 1] : 0);
    }
    tv_buf_done(&file);
}

TEST(damage_costs_what_it_hit_and_nothing_wrong_is_read)
{
    size_t ends[8];
    tv_buf file = file_of(8, ends);

    t_random_seed(21);
    for (int round = 0; round < 300; round++) {
        tv_buf damaged = TV_BUF_EMPTY;
        size_t at = t_random() % file.len, hit = 0;
        tv_traffic_gather gather = {.to = 100};

        while (ends[hit] <= at)
            hit++;
        tv_buf_add(&damaged, tv_buf_slice(&file));
        damaged.data[at] ^= (char)(1 + t_random() % 255);
        tv_traffic_gather_file(&gather, tv_buf_slice(&damaged));
        check_pieces(&gather);
        /* Bounds come again with minutes 0 and 4: until then the blocks cannot be read. */
        CHECK_INT(gather.tables[2].count, hit < 4 ? hit + 4 : hit);
        tv_traffic_gather_done(&gather);
        tv_buf_done(&damaged);
    }
    tv_buf_done(&file);
}

TEST(a_column_without_tables_is_one)
{
    tv_column_writer writer = {0};
    tv_column_head head = {.minute = 77, .grain = 60, .flags = 3};
    tv_buf out = TV_BUF_EMPTY;
    tv_column column;
    tv_column_table table;
    size_t at = 0;

    tv_column_finish(&writer, &head, &out);
    CHECK_INT(out.len, 25);
    CHECK(tv_column_next(tv_buf_slice(&out), &at, &column));
    CHECK_INT(column.head.minute, 77);
    CHECK_INT(column.head.grain, 60);
    CHECK_INT(column.head.flags, 3);
    CHECK_ERR(tv_column_next_table(&column, &table), TV_ERR_NOT_FOUND);
    tv_buf_done(&out);
    tv_column_writer_done(&writer);
}

TEST(blocks_that_are_not_as_they_must_be_are_refused)
{
    static const struct {
        const char *what;
        tv_slice block;
    } rows[] = {
        {"empty", {"", 0}},
        {"bounds of before, and there are none", {"\0\0", 2}},
        {"an unknown kind of axis", {"\2\0", 2}},
        {"no buckets", {"\1\0\0", 3}},
        {"513 buckets", {"\1\x81\x04\0", 4}},
        {"no mask", {"\1\1", 2}},
        {"a bound that shares more than there is", {"\1\2\1\0\0", 5}},
        {"two equal bounds", {"\1\3\0\1a\1\0\0", 8}},
        {"bounds that descend", {"\1\3\0\1b\0\1a\0", 9}},
        {"a bound beyond the end", {"\1\2\0\5abc", 7}},
        {"values beyond the buckets", {"\1\1\1\0\2\5\5", 7}},
        {"no values and no zeros", {"\1\1\1\0\0", 5}},
        {"a value without an end", {"\1\1\1\0\1\xff", 6}},
        {"a value of 65 bits", {"\1\1\1\0\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\2", 15}},
    };
    static const tv_slice good = {"\1\1\1\0\1\5", 6};
    tv_axis *axis;
    tv_counts *counts;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        t_row = rows[i].what;
        CHECK_ERR(tv_column_read_block(rows[i].block, NULL, &axis, &counts), TV_ERR_CORRUPT);
    }
    CHECK_OK(tv_column_read_block(good, NULL, &axis, &counts));
    CHECK_INT(counts[0].by[TV_MEASURE_READS], 5);
    free(counts);
    tv_axis_unref(axis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_file_that_ends_at_any_byte_loses_only_the_torn_column),
        cmocka_unit_test(damage_costs_what_it_hit_and_nothing_wrong_is_read),
        cmocka_unit_test(a_column_without_tables_is_one),
        cmocka_unit_test(blocks_that_are_not_as_they_must_be_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
