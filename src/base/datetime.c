/*
 * Instants as text.  The calendar is the proleptic Gregorian one of .NET: day 0
 * is 0001-01-01, a Monday.
 */
#include "base/datetime.h"

#include "base/assert.h"
#include "base/clock.h"

enum { SECONDS_PER_DAY = 86400, DAYS_PER_400_YEARS = 146097 };

/* .NET accepts no zone further from UTC. */
enum { OFFSET_MINUTES_MAX = 14 * 60 };

static const char month_names[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char weekday_names[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

static bool is_leap_year(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int days_of_month(int year, int month)
{
    static const int days[13] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return days[month] + (month == 2 && is_leap_year(year));
}

/*
 * Both directions between a day and its date count years from March, so that
 * the leap day is the last of its year and 153 days make five months.
 */
static int64_t days_of_date(int year, int month, int day)
{
    int64_t march_year = month > 2 ? year : year - 1;
    int64_t march_month = month > 2 ? month - 3 : month + 9;

    /* 1st of March of year 0 lies 306 days before 0001-01-01. */
    return march_year * 365 + march_year / 4 - march_year / 100 + march_year / 400 +
           (153 * march_month + 2) / 5 + day - 1 - 306;
}

tv_date tv_date_of(int64_t ticks)
{
    tv_assert(ticks >= 0 && ticks <= TV_TICKS_MAX);

    int64_t seconds = ticks / TV_TICKS_PER_SECOND;
    int days = (int)(seconds / SECONDS_PER_DAY);
    int second = (int)(seconds % SECONDS_PER_DAY);
    int since_march = days + 306;
    int era = since_march / DAYS_PER_400_YEARS;
    int day_of_era = since_march % DAYS_PER_400_YEARS;
    int year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int march_month = (5 * day_of_year + 2) / 153;
    int month = march_month < 10 ? march_month + 3 : march_month - 9;

    return (tv_date){
        .year = era * 400 + year_of_era + (month <= 2),
        .month = month,
        .day = day_of_year - (153 * march_month + 2) / 5 + 1,
        .hour = second / 3600,
        .minute = second / 60 % 60,
        .second = second % 60,
        .ticks = (int)(ticks % TV_TICKS_PER_SECOND),
        .weekday = (days + 1) % 7,
    };
}

/* The instant of `date`, whose weekday does not matter; false when a field is out of range. */
static bool ticks_of_date(const tv_date *date, int64_t *ret_ticks)
{
    if (date->year < 1 || date->month < 1 || date->month > 12 || date->day < 1 ||
        date->day > days_of_month(date->year, date->month))
        return false;
    if (date->hour > 23 || date->minute > 59 || date->second > 59)
        return false;

    int64_t days = days_of_date(date->year, date->month, date->day);
    int64_t seconds = days * SECONDS_PER_DAY + date->hour * 3600 + date->minute * 60 + date->second;

    *ret_ticks = seconds * TV_TICKS_PER_SECOND + date->ticks;
    return true;
}

/* Take exactly `count` digits off the front of `rest`. */
static bool take_digits(tv_slice *rest, size_t count, int *ret_value)
{
    int value = 0;

    if (rest->len < count)
        return false;

    for (size_t i = 0; i < count; i++) {
        unsigned digit = (unsigned)rest->data[i] - '0';

        if (digit > 9)
            return false;
        value = value * 10 + (int)digit;
    }
    *rest = tv_slice_skip(*rest, count);
    *ret_value = value;
    return true;
}

static bool take_char(tv_slice *rest, char c)
{
    if (rest->len == 0 || rest->data[0] != c)
        return false;

    *rest = tv_slice_skip(*rest, 1);
    return true;
}

/* The fraction after the point, of which the digits beyond a tick are skipped. */
static bool take_fraction(tv_slice *rest, bool *ret_is_exact, int *ret_ticks)
{
    enum { DIGITS_OF_A_TICK = 7 };
    int ticks = 0, digit;
    size_t count = 0;

    for (; take_digits(rest, 1, &digit); count++) {
        if (count < DIGITS_OF_A_TICK)
            ticks = ticks * 10 + digit;
    }
    if (count == 0)
        return false;

    *ret_is_exact = count <= DIGITS_OF_A_TICK;
    for (; count < DIGITS_OF_A_TICK; count++)
        ticks *= 10;
    *ret_ticks = ticks;
    return true;
}

/* Nothing, 'Z', +hh:mm or -hh:mm, and then the end. */
static bool take_zone(tv_slice *rest, int *ret_minutes)
{
    int hour, minute;

    *ret_minutes = 0;
    if (rest->len == 0)
        return true;
    if (take_char(rest, 'Z'))
        return rest->len == 0;

    int sign = rest->data[0] == '-' ? -1 : 1;
    if (!take_char(rest, '+') && !take_char(rest, '-'))
        return false;
    if (!take_digits(rest, 2, &hour) || !take_char(rest, ':') || !take_digits(rest, 2, &minute))
        return false;

    *ret_minutes = sign * (hour * 60 + minute);
    return rest->len == 0 && minute <= 59 && hour * 60 + minute <= OFFSET_MINUTES_MAX;
}

static bool parse(tv_slice text, bool *ret_is_exact, int64_t *ret_ticks)
{
    tv_date date = {0};
    int offset_minutes;
    int64_t ticks;

    *ret_is_exact = true;
    if (!take_digits(&text, 4, &date.year) || !take_char(&text, '-') ||
        !take_digits(&text, 2, &date.month) || !take_char(&text, '-') ||
        !take_digits(&text, 2, &date.day) || !take_char(&text, 'T') ||
        !take_digits(&text, 2, &date.hour) || !take_char(&text, ':') ||
        !take_digits(&text, 2, &date.minute))
        return false;
    if (take_char(&text, ':')) {
        if (!take_digits(&text, 2, &date.second))
            return false;
        if (take_char(&text, '.') && !take_fraction(&text, ret_is_exact, &date.ticks))
            return false;
    }
    if (!take_zone(&text, &offset_minutes) || !ticks_of_date(&date, &ticks))
        return false;

    ticks -= offset_minutes * 60 * TV_TICKS_PER_SECOND;
    if (ticks < 0 || ticks > TV_TICKS_MAX)
        return false;

    *ret_ticks = ticks;
    return true;
}

bool tv_datetime_parse(tv_slice text, int64_t *ret_ticks)
{
    bool is_exact;

    return parse(text, &is_exact, ret_ticks);
}

bool tv_datetime_parse_exact(tv_slice text, int64_t *ret_ticks)
{
    bool is_exact;
    int64_t ticks;

    if (!parse(text, &is_exact, &ticks) || !is_exact)
        return false;

    *ret_ticks = ticks;
    return true;
}

static char *put_two(char *to, int value)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";

    memcpy(to, pairs + 2 * value, 2);
    return to + 2;
}

/* The time of a day, given in seconds. */
static char *put_time(char *to, int second)
{
    to = put_two(to, second / 3600);
    *to++ = ':';
    to = put_two(to, second / 60 % 60);
    *to++ = ':';
    return put_two(to, second % 60);
}

enum { DAY_LEN = 10, DAYS_KEPT = 16 };

/*
 * "2022-05-06".  The times of a page's rows fall on a few days, and the
 * calendar is the most expensive part of formatting one; so each thread caches
 * some texts.
 */
static char *put_day(char *to, int64_t day)
{
    static _Thread_local struct {
        int64_t day_plus_one; /* 0: none yet */
        char text[DAY_LEN];
    } kept[DAYS_KEPT];
    size_t i = (size_t)day % DAYS_KEPT;

    if (kept[i].day_plus_one != day + 1) {
        tv_date date = tv_date_of(day * SECONDS_PER_DAY * TV_TICKS_PER_SECOND);
        char *at = put_two(put_two(kept[i].text, date.year / 100), date.year % 100);

        *at++ = '-';
        at = put_two(at, date.month);
        *at++ = '-';
        put_two(at, date.day);
        kept[i].day_plus_one = day + 1;
    }
    memcpy(to, kept[i].text, DAY_LEN);
    return to + DAY_LEN;
}

/* Everything before the fraction. */
static char *put_date_time(char *to, int64_t ticks)
{
    tv_assert(ticks >= 0 && ticks <= TV_TICKS_MAX);

    int64_t seconds = ticks / TV_TICKS_PER_SECOND;

    to = put_day(to, seconds / SECONDS_PER_DAY);
    *to++ = 'T';
    return put_time(to, (int)(seconds % SECONDS_PER_DAY));
}

/* The point and seven digits. */
static char *put_fraction(char *to, int ticks)
{
    *to++ = '.';
    to = put_two(to, ticks / 100000);
    to = put_two(to, ticks / 1000 % 100);
    to = put_two(to, ticks / 10 % 100);
    *to++ = (char)('0' + ticks % 10);
    return to;
}

size_t tv_datetime_format(char to[TV_DATETIME_TEXT_MAX], int64_t ticks)
{
    char *at = put_date_time(to, ticks);
    int fraction = (int)(ticks % TV_TICKS_PER_SECOND);

    if (fraction) {
        at = put_fraction(at, fraction);
        while (at[-1] == '0')
            at--;
    }
    *at++ = 'Z';
    return (size_t)(at - to);
}

size_t tv_datetime_format7(char to[TV_DATETIME_TEXT_MAX], int64_t ticks)
{
    char *at = put_fraction(put_date_time(to, ticks), (int)(ticks % TV_TICKS_PER_SECOND));

    *at++ = 'Z';
    return (size_t)(at - to);
}

/* Position of the three letters at `text` in a list of names, -1 when they are not there. */
static int name_index(const char *text, const char names[][4], int count)
{
    for (int i = 0; i < count; i++) {
        if (memcmp(text, names[i], 3) == 0)
            return i;
    }
    return -1;
}

bool tv_http_date_parse(tv_slice text, int64_t *ret_ticks)
{
    tv_date date = {0};

    if (text.len != strlen("Fri, 06 May 2022 00:31:04 GMT"))
        return false;

    date.weekday = name_index(text.data, weekday_names, 7);
    date.month = name_index(text.data + 8, month_names, 12) + 1;
    if (date.weekday < 0 || memcmp(text.data + 3, ", ", 2) != 0 || text.data[7] != ' ' ||
        text.data[11] != ' ' || memcmp(text.data + 25, " GMT", 4) != 0)
        return false;

    tv_slice day = {text.data + 5, 2};
    tv_slice rest = {text.data + 12, 13};
    if (!take_digits(&day, 2, &date.day) || !take_digits(&rest, 4, &date.year) ||
        !take_char(&rest, ' ') || !take_digits(&rest, 2, &date.hour) || !take_char(&rest, ':') ||
        !take_digits(&rest, 2, &date.minute) || !take_char(&rest, ':') ||
        !take_digits(&rest, 2, &date.second))
        return false;

    return ticks_of_date(&date, ret_ticks);
}

size_t tv_http_date_format(char to[TV_DATETIME_TEXT_MAX], int64_t ticks)
{
    tv_date date = tv_date_of(ticks);
    char *at = to;

    memcpy(at, weekday_names[date.weekday], 3);
    memcpy(at + 3, ", ", 2);
    at = put_two(at + 5, date.day);
    *at++ = ' ';
    memcpy(at, month_names[date.month - 1], 3);
    at[3] = ' ';
    at = put_two(at + 4, date.year / 100);
    at = put_two(at, date.year % 100);
    *at++ = ' ';
    at = put_time(at, date.hour * 3600 + date.minute * 60 + date.second);
    memcpy(at, " GMT", 4);
    return (size_t)(at + 4 - to);
}

bool tv_version_is_valid(tv_slice text)
{
    static const char form[] = "dddd-dd-dd";

    if (text.len != sizeof form - 1)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        bool is_digit = text.data[i] >= '0' && text.data[i] <= '9';

        if (form[i] == 'd' ? !is_digit : text.data[i] != form[i])
            return false;
    }
    return true;
}
