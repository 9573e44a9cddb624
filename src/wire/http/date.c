/* The cached Date header. */
#include "wire/http/date.h"

#include "base/assert.h"
#include "base/clock.h"

/* Not strftime, whose names follow the locale. */
static void format(char to[static 32], time_t second)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm utc;

    tv_assert(gmtime_r(&second, &utc));
    int len = snprintf(to, 32, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT", days + 3 * utc.tm_wday,
                       utc.tm_mday, months + 3 * utc.tm_mon, utc.tm_year + 1900, utc.tm_hour,
                       utc.tm_min, utc.tm_sec);
    tv_assert(len == TV_HTTP_DATE_LEN);
}

tv_slice tv_http_clock_text(tv_http_clock *clock)
{
    int64_t second = (tv_clock_ticks() - TV_TICKS_UNIX_EPOCH) / TV_TICKS_PER_SECOND;

    if (second != clock->second || clock->text[0] == '\0') {
        format(clock->text, (time_t)second);
        clock->second = second;
    }
    return (tv_slice){clock->text, TV_HTTP_DATE_LEN};
}
