/* Ranges of bytes. */
#include "services/blob/body/range.h"

#include "check.h"

static const struct {
    const char *what, *text;
    uint64_t length;
    enum { REFUSED, IGNORED, RANGE } kind;
    tv_err err;
    uint64_t offset, count;
} ranges[] = {
    {"a part", "bytes=2-5", 10, RANGE, TV_OK, 2, 4},
    {"one byte", "bytes=0-0", 10, RANGE, TV_OK, 0, 1},
    {"the last byte", "bytes=9-9", 10, RANGE, TV_OK, 9, 1},
    {"the rest", "bytes=3-", 10, RANGE, TV_OK, 3, 7},
    {"an end after the last byte", "bytes=3-99", 10, RANGE, TV_OK, 3, 7},
    {"the largest end", "bytes=3-18446744073709551615", 10, RANGE, TV_OK, 3, 7},
    {"the unit in any case", "Bytes=1-1", 10, RANGE, TV_OK, 1, 1},
    {"a start after the last byte", "bytes=10-", 10, RANGE, TV_ERR_BLOB_RANGE, 0, 0},
    {"anything of an empty blob", "bytes=0-", 0, RANGE, TV_ERR_BLOB_RANGE, 0, 0},
    {"an end before the start", "bytes=5-4", 10, REFUSED, TV_OK, 0, 10},
    {"the last bytes", "bytes=-5", 10, IGNORED, TV_OK, 0, 10},
    {"several ranges", "bytes=0-1,3-4", 10, REFUSED, TV_OK, 0, 10},
    {"another unit", "lines=0-1", 10, REFUSED, TV_OK, 0, 10},
    {"no unit", "0-1", 10, REFUSED, TV_OK, 0, 10},
    {"an offset below zero", "bytes=-1-", 10, IGNORED, TV_OK, 0, 10},
    {"no numbers", "bytes=-", 10, IGNORED, TV_OK, 0, 10},
    {"blanks", "bytes= 0-1", 10, REFUSED, TV_OK, 0, 10},
    {"a sign", "bytes=+0-1", 10, REFUSED, TV_OK, 0, 10},
    {"too large a number", "bytes=18446744073709551616-", 10, REFUSED, TV_OK, 0, 10},
    {"nothing", "", 10, REFUSED, TV_OK, 0, 10},
};

TEST(ranges_are_read_and_resolved)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        tv_blob_range range = {0};
        uint64_t offset = 0, count = 0;

        t_row = ranges[i].what;
        CHECK_INT(tv_blob_range_parse(tv_slice_of(ranges[i].text), &range),
                  ranges[i].kind != REFUSED);
        CHECK_INT(range.is_given, ranges[i].kind == RANGE);
        CHECK_ERR(tv_blob_range_resolve(&range, ranges[i].length, &offset, &count), ranges[i].err);
        CHECK_INT(offset, ranges[i].offset);
        CHECK_INT(count, ranges[i].count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_read_and_resolved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
