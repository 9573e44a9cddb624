/* Instants as text. */
#include "base/datetime.h"

#include "base/clock.h"
#include "check.h"
#include "random.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define SECOND TV_TICKS_PER_SECOND

static const struct {
    const char *what, *text;
    const char *again; /* as we write it; NULL when it is refused */
} datetimes[] = {
    {"seven digits", "2026-01-02T03:04:05.1234567Z", "2026-01-02T03:04:05.1234567Z"},
    {"eight digits are cut", "2026-01-02T03:04:05.12345678Z", "2026-01-02T03:04:05.1234567Z"},
    {"so are nine", "2026-01-02T03:04:05.999999999+01:00", "2026-01-02T02:04:05.9999999Z"},
    {"trailing zeros go", "2026-01-02T03:04:05.1200000Z", "2026-01-02T03:04:05.12Z"},
    {"a fraction of zeros goes", "1973-10-04T00:00:00.000000Z", "1973-10-04T00:00:00Z"},
    {"one digit", "2026-01-02T03:04:05.5Z", "2026-01-02T03:04:05.5Z"},
    {"no fraction", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"},
    {"no seconds", "2026-01-02T03:04Z", "2026-01-02T03:04:00Z"},
    {"no zone is UTC", "2008-07-10T00:00:00", "2008-07-10T00:00:00Z"},
    {"east of Greenwich", "2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05Z"},
    {"west of Greenwich", "2026-01-02T03:04:05.25-05:30", "2026-01-02T08:34:05.25Z"},
    {"an offset over midnight and new year", "2026-01-01T00:30+01:00", "2025-12-31T23:30:00Z"},
    {"the widest offset", "2026-01-02T00:00:00+14:00", "2026-01-01T10:00:00Z"},
    {"a leap day", "2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"},
    {"a leap day of a leap century", "2000-02-29T00:00:00Z", "2000-02-29T00:00:00Z"},
    {"the first instant", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
    {"the last instant", "9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.9999999Z"},
    {"before the first instant", "0001-01-01T00:00:00+00:01", NULL},
    {"after the last instant", "9999-12-31T23:59:59-00:01", NULL},
    {"the year 0", "0000-01-01T00:00:00Z", NULL},
    {"no leap day", "2023-02-29T00:00:00Z", NULL},
    {"no leap day of a century", "2100-02-29T00:00:00Z", NULL},
    {"the 31st of April", "2026-04-31T00:00:00Z", NULL},
    {"month 0", "2026-00-01T00:00:00Z", NULL},
    {"month 13", "2026-13-01T00:00:00Z", NULL},
    {"day 0", "2026-01-00T00:00:00Z", NULL},
    {"hour 24", "2026-01-01T24:00:00Z", NULL},
    {"minute 60", "2026-01-01T00:60:00Z", NULL},
    {"second 60", "2026-01-01T00:00:60Z", NULL},
    {"a point without digits", "2026-01-02T03:04:05.Z", NULL},
    {"a fraction of a minute", "2026-01-02T03:04.5Z", NULL},
    {"a date alone", "2026-01-02", NULL},
    {"a blank instead of T", "2026-01-02 03:04:05Z", NULL},
    {"lower case", "2026-01-02t03:04:05z", NULL},
    {"trailing text", "2026-01-02T03:04:05Zx", NULL},
    {"two zones", "2026-01-02T03:04:05Z+01:00", NULL},
    {"an offset without minutes", "2026-01-02T03:04:05+01", NULL},
    {"an offset of 60 minutes", "2026-01-02T03:04:05+01:60", NULL},
    {"an offset too wide", "2026-01-02T03:04:05+14:01", NULL},
    {"a sign where a digit belongs", "2026-+1-02T03:04:05Z", NULL},
    {"a short year", "226-01-02T03:04:05Z", NULL},
    {"nothing", "", NULL},
};

TEST(datetimes_are_read_strictly)
{
    char again[TV_DATETIME_TEXT_MAX];

    for (size_t i = 0; i < COUNT(datetimes); i++) {
        int64_t ticks = -1;

        t_row = datetimes[i].what;
        CHECK_INT(tv_datetime_parse(tv_slice_of(datetimes[i].text), &ticks),
                  datetimes[i].again != NULL);
        if (datetimes[i].again)
            CHECK_TEXT(((tv_slice){again, tv_datetime_format(again, ticks)}), datetimes[i].again);
        else
            CHECK_INT(ticks, -1);
    }
}

TEST(what_is_between_ticks_is_not_exact)
{
    int64_t ticks = -1;

    CHECK(!tv_datetime_parse_exact(TV_LIT("2026-01-02T03:04:05.12345678Z"), &ticks));
    CHECK(!tv_datetime_parse_exact(TV_LIT("2026-01-02T03:04:05.12345670Z"), &ticks));
    CHECK(!tv_datetime_parse_exact(TV_LIT("2026-01-02"), &ticks));
    CHECK_INT(ticks, -1);
    CHECK(tv_datetime_parse_exact(TV_LIT("0001-01-01T00:00:00.1234567Z"), &ticks));
    CHECK_INT(ticks, 1234567);
    CHECK(tv_datetime_parse_exact(TV_LIT("0001-01-01T00:00Z"), &ticks));
    CHECK_INT(ticks, 0);
}

TEST(the_constants_of_the_clock_are_the_dates_they_say)
{
    int64_t ticks;

    CHECK(tv_datetime_parse(TV_LIT("0001-01-01T00:00:00Z"), &ticks));
    CHECK_INT(ticks, 0);
    CHECK(tv_datetime_parse(TV_LIT("1601-01-01T00:00:00Z"), &ticks));
    CHECK_INT(ticks, TV_TICKS_MIN);
    CHECK(tv_datetime_parse(TV_LIT("1970-01-01T00:00:00Z"), &ticks));
    CHECK_INT(ticks, TV_TICKS_UNIX_EPOCH);
    CHECK(tv_datetime_parse(TV_LIT("9999-12-31T23:59:59.9999999Z"), &ticks));
    CHECK_INT(ticks, TV_TICKS_MAX);
}

TEST(seven_digits_are_always_written_where_asked)
{
    char text[TV_DATETIME_TEXT_MAX];

    CHECK_TEXT(((tv_slice){text, tv_datetime_format7(text, TV_TICKS_UNIX_EPOCH)}),
               "1970-01-01T00:00:00.0000000Z");
    CHECK_TEXT(((tv_slice){text, tv_datetime_format7(text, TV_TICKS_UNIX_EPOCH + 1200000)}),
               "1970-01-01T00:00:00.1200000Z");
}

static const struct {
    const char *what, *text;
    const char *again; /* NULL when it is refused */
} http_dates[] = {
    {"as the SDKs send it", "Fri, 06 May 2022 00:31:04 GMT", "Fri, 06 May 2022 00:31:04 GMT"},
    {"the weekday need not match", "Mon, 06 May 2022 00:31:04 GMT",
     "Fri, 06 May 2022 00:31:04 GMT"},
    {"a leap day", "Thu, 29 Feb 2024 23:59:59 GMT", "Thu, 29 Feb 2024 23:59:59 GMT"},
    {"the first instant", "Mon, 01 Jan 0001 00:00:00 GMT", "Mon, 01 Jan 0001 00:00:00 GMT"},
    {"the last second", "Fri, 31 Dec 9999 23:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"},
    {"no leap day", "Thu, 29 Feb 2023 00:00:00 GMT", NULL},
    {"an unknown weekday", "Xxx, 06 May 2022 00:31:04 GMT", NULL},
    {"an unknown month", "Fri, 06 Mai 2022 00:31:04 GMT", NULL},
    {"a month in lower case", "Fri, 06 may 2022 00:31:04 GMT", NULL},
    {"a day of one digit", "Fri, 6 May 2022 00:31:04 GMT", NULL},
    {"a day with a blank", "Fri,  6 May 2022 00:31:04 GMT", NULL},
    {"another zone", "Fri, 06 May 2022 00:31:04 CET", NULL},
    {"an offset", "Fri, 06 May 2022 00:31:04 +0000", NULL},
    {"the form of RFC 850", "Friday, 06-May-22 00:31:04 GMT", NULL},
    {"the form of asctime", "Fri May  6 00:31:04 2022", NULL},
    {"dashes", "Fri, 06-May-2022 00:31:04 GMT", NULL},
    {"hour 24", "Fri, 06 May 2022 24:00:00 GMT", NULL},
    {"no colon", "Fri, 06 May 2022 00.31.04 GMT", NULL},
    {"a trailing blank", "Fri, 06 May 2022 00:31:04 GMT ", NULL},
    {"year 0", "Fri, 06 May 0000 00:31:04 GMT", NULL},
    {"nothing", "", NULL},
};

TEST(http_dates_are_read_strictly)
{
    char again[TV_DATETIME_TEXT_MAX];

    for (size_t i = 0; i < COUNT(http_dates); i++) {
        int64_t ticks = -1;

        t_row = http_dates[i].what;
        CHECK_INT(tv_http_date_parse(tv_slice_of(http_dates[i].text), &ticks),
                  http_dates[i].again != NULL);
        if (http_dates[i].again)
            CHECK_TEXT(((tv_slice){again, tv_http_date_format(again, ticks)}), http_dates[i].again);
    }
}

TEST(random_instants_survive_format_and_parse)
{
    char text[TV_DATETIME_TEXT_MAX];
    int64_t again;

    t_random_seed(0xda7e);
    for (int i = 0; i < 200000; i++) {
        int64_t ticks = (int64_t)(t_random() % ((uint64_t)TV_TICKS_MAX + 1));
        tv_slice got = {text, tv_datetime_format(text, ticks)};

        CHECK(tv_datetime_parse(got, &again));
        CHECK_INT(again, ticks);
        got.len = tv_datetime_format7(text, ticks);
        CHECK(tv_datetime_parse(got, &again));
        CHECK_INT(again, ticks);
        got.len = tv_http_date_format(text, ticks);
        CHECK(tv_http_date_parse(got, &again));
        CHECK_INT(again, ticks - ticks % SECOND);
    }
}

/* The C library knows the same calendar; it counts seconds from 1970, before it negatively. */
static void check_against_timegm(int64_t ticks)
{
    tv_date date = tv_date_of(ticks);
    time_t seconds = (time_t)(ticks / SECOND - TV_TICKS_UNIX_EPOCH / SECOND);
    struct tm tm;

    CHECK(gmtime_r(&seconds, &tm) != NULL);
    CHECK_INT(date.year, tm.tm_year + 1900);
    CHECK_INT(date.month, tm.tm_mon + 1);
    CHECK_INT(date.day, tm.tm_mday);
    CHECK_INT(date.hour, tm.tm_hour);
    CHECK_INT(date.minute, tm.tm_min);
    CHECK_INT(date.second, tm.tm_sec);
    CHECK_INT(date.weekday, tm.tm_wday);
    CHECK_INT(date.ticks, ticks % SECOND);
    CHECK_INT(timegm(&tm), seconds);
}

TEST(every_day_of_the_calendar_is_the_one_of_the_c_library)
{
    char text[TV_DATETIME_TEXT_MAX];
    int64_t again;

    for (int64_t ticks = 0; ticks < TV_TICKS_MAX; ticks += 86400 * SECOND) {
        check_against_timegm(ticks);
        CHECK(tv_datetime_parse((tv_slice){text, tv_datetime_format(text, ticks)}, &again));
        CHECK_INT(again, ticks);
    }
}

TEST(random_instants_are_those_of_the_c_library)
{
    t_random_seed(0x71c5);
    for (int i = 0; i < 200000; i++)
        check_against_timegm((int64_t)(t_random() % ((uint64_t)TV_TICKS_MAX + 1)));
}

static const struct {
    const char *text;
    bool is_valid;
} versions[] = {
    {"2019-02-02", true},   {"9999-99-99", true},  {"", false},           {"2019-02-2", false},
    {"2019-02-022", false}, {"2019/02/02", false}, {"2019-0a-02", false}, {"-019-02-02", false},
};

TEST(versions_have_the_form_of_dates)
{
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        t_row = versions[i].text;
        CHECK_INT(tv_version_is_valid(tv_slice_of(versions[i].text)), versions[i].is_valid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_have_the_form_of_dates),
        cmocka_unit_test(datetimes_are_read_strictly),
        cmocka_unit_test(what_is_between_ticks_is_not_exact),
        cmocka_unit_test(the_constants_of_the_clock_are_the_dates_they_say),
        cmocka_unit_test(seven_digits_are_always_written_where_asked),
        cmocka_unit_test(http_dates_are_read_strictly),
        cmocka_unit_test(random_instants_survive_format_and_parse),
        cmocka_unit_test(every_day_of_the_calendar_is_the_one_of_the_c_library),
        cmocka_unit_test(random_instants_are_those_of_the_c_library),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
