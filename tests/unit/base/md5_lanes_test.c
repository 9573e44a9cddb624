/* MD5 of several streams at once. */
#include "base/md5_lanes.h"

#include "check.h"
#include "random.h"

enum { STREAM_BYTES = 4096 };

static char streams[TV_MD5_LANES][STREAM_BYTES];

static size_t at_most(size_t max)
{
    return t_random() % (max + 1);
}

/*
 * Take random streams of random lengths on in random steps, a few of them at a
 * time and each by any length, until all have ended.
 */
static void check_streams(tv_md5_way way, size_t step_max)
{
    tv_md5 states[TV_MD5_LANES];
    tv_slice rest[TV_MD5_LANES];
    unsigned char want[TV_MD5_LANES][TV_MD5_BYTES], got[TV_MD5_BYTES];
    bool has_more = true;

    for (size_t i = 0; i < TV_MD5_LANES; i++) {
        rest[i] = (tv_slice){streams[i], at_most(STREAM_BYTES)};
        tv_md5_of(rest[i], want[i]);
        tv_md5_init(&states[i]);
    }
    while (has_more) {
        tv_md5_lane lanes[TV_MD5_LANES];
        size_t count = 0;

        has_more = false;
        for (size_t i = 0; i < TV_MD5_LANES; i++) {
            size_t len = at_most(step_max);

            if (t_random() % 3 > 0) {
                len = len < rest[i].len ? len : rest[i].len;
                lanes[count++] = (tv_md5_lane){&states[i], tv_slice_take(rest[i], len)};
                rest[i] = tv_slice_skip(rest[i], len);
            }
            has_more |= rest[i].len > 0;
        }
        tv_md5_update_lanes_by(way, lanes, count);
    }
    for (size_t i = 0; i < TV_MD5_LANES; i++) {
        tv_md5_final(&states[i], got);
        CHECK(memcmp(got, want[i], sizeof got) == 0);
    }
}

static const char *const ways[] = {"alone", "AVX2", "AVX-512"};

TEST(every_lane_gives_what_its_stream_gives_alone)
{
    t_random_seed(7);
    for (size_t i = 0; i < TV_MD5_LANES; i++) {
        for (size_t b = 0; b < STREAM_BYTES; b++)
            streams[i][b] = (char)t_random();
    }
    for (tv_md5_way way = TV_MD5_ALONE; way <= tv_md5_best_way(); way++) {
        t_row = ways[way];
        for (int round = 0; round < 300; round++)
            check_streams(way, (size_t[]){100, 1000, STREAM_BYTES}[round % 3]);
    }
}

/* The length of a stream is counted in bits, in two words. */
TEST(streams_of_more_than_half_a_gigabyte_are_counted_right)
{
    static char bytes[1 << 20];
    enum { ROUNDS = 513 };

    for (size_t b = 0; b < sizeof bytes; b++)
        bytes[b] = (char)(b * 7 + b / 251);
    tv_md5 alone, first, second;
    unsigned char want[TV_MD5_BYTES], got[TV_MD5_BYTES];
    tv_slice all = {bytes, sizeof bytes};

    tv_md5_init(&alone);
    tv_md5_init(&first);
    tv_md5_init(&second);
    for (int i = 0; i < ROUNDS; i++) {
        tv_md5_lane lanes[] = {{&first, all}, {&second, all}};

        tv_md5_update(&alone, all);
        tv_md5_update_lanes(lanes, 2);
    }
    tv_md5_final(&alone, want);
    tv_md5_final(&first, got);
    CHECK(memcmp(got, want, sizeof got) == 0);
    tv_md5_final(&second, got);
    CHECK(memcmp(got, want, sizeof got) == 0);
}

TEST(no_streams_are_no_work)
{
    tv_md5_update_lanes(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_lane_gives_what_its_stream_gives_alone),
        cmocka_unit_test(streams_of_more_than_half_a_gigabyte_are_counted_right),
        cmocka_unit_test(no_streams_are_no_work),
    };

    return cmocka_run_group_tests_name("base/md5_lanes", tests, NULL, NULL);
}
